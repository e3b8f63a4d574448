"""The evaluate command: synthetic rows against private ones, for the custodian's eyes only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.cli import asked
from understudy.cli.progress import shown
from understudy.errors import QuestionError, UsageError
from understudy.evaluate import compare, read_counts, read_private, read_synthetic
from understudy.recipes import Recipe, read_parameters
from understudy.schema import Schema

if TYPE_CHECKING:
    import argparse

    from understudy.budget import Unit

_SCORES = {
    "a trip": {"place": "COLUMN", "time": "COLUMN", "edge": "COLUMN,COLUMN"},
    "a pie": {"pie": "COLUMN,COLUMN…", "slices": "COLUMN"},
}
_LISTS = {"edge", "pie"}


def run(options: argparse.Namespace) -> None:
    """Compare, and print a text or an object that says first whose eyes it is for."""
    schema, unit, score = _known(options)
    named = [
        name for part in score.values() for name in ([part] if isinstance(part, str) else part)
    ]
    unknown = [name for name in named if name not in schema.domain]
    if unknown:
        raise QuestionError(
            "columns that the schema does not model",
            got=", ".join(unknown),
            allowed=", ".join(schema.domain),
        )
    with shown(quiet=options.json) as progress:
        progress("reading the synthetic rows", 0)
        path, epsilon = Path(options.synthetic), options.epsilon
        across = None if options.recipe is None else Recipe.named(options.recipe).counts
        if across is not None and path.is_file():
            synthetic = read_counts(path, schema=schema, across=across, epsilon=epsilon)
        else:
            synthetic = read_synthetic(path, schema=schema, unit=unit, epsilon=epsilon)
        progress("reading the private table", 0)
        real = read_private(options.private, schema=schema, unit=unit)
        found = compare(real, synthetic, progress=progress, **score)
    print(json.dumps(found.to_dict()) if options.json else found.table(), end="\n" * options.json)


def _known(options: argparse.Namespace) -> tuple[Schema, Unit, dict[str, Any]]:
    """Give the schema, the unit and the columns of scores, of a recipe or as named."""
    score = _score(options)
    if options.recipe is not None:
        if options.parameters is None or options.schema is not None or options.unit is not None:
            raise UsageError(
                "--recipe needs --parameters, in the place of --schema and --unit",
                allowed="--recipe NAME --parameters FILE",
            )
        recipe = Recipe.named(options.recipe)
        declared, _ = read_parameters(Path(options.parameters))
        own = {k: tuple(v) if isinstance(v, list) else v for k, v in recipe.score.items()}
        return recipe.schema(declared), recipe.person, own | score
    if options.schema is None or options.unit is None:
        raise UsageError(
            "the following arguments are required: --schema and --unit",
            allowed="--schema FILE --unit COLUMN, or --recipe NAME --parameters FILE",
        )
    return Schema.read(options.schema), asked.unit(options.unit, options.null_ids), score


def _score(options: argparse.Namespace) -> dict[str, Any]:
    """Give the columns of the scores that were asked for; a score needs all of its own."""
    score: dict[str, Any] = {}
    for what, parts in _SCORES.items():
        asked_for = {name: vars(options).get(name) for name in parts}
        given = {name: value for name, value in asked_for.items() if value is not None}
        if given and len(given) < len(parts):
            raise UsageError(
                f"{what} score needs all of its columns",
                got=", ".join(f"--{name}" for name in given),
                allowed=" ".join(f"--{k} {v}" for k, v in parts.items()) + ", or none of them",
            )
        score |= given
    for name in score.keys() & _LISTS:
        score[name] = tuple(part.strip() for part in score[name].split(","))
    if "edge" in score and len(score["edge"]) != 2:
        raise UsageError("an edge is two columns", got=options.edge, allowed="COLUMN,COLUMN")
    return score
