"""The evaluate command: synthetic rows against private ones, for the custodian's eyes only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.cli import asked
from understudy.cli.progress import shown
from understudy.errors import QuestionError, UsageError
from understudy.evaluate import compare, read_private, read_synthetic
from understudy.schema import Schema
from understudy.session import Recipe, read_parameters

if TYPE_CHECKING:
    import argparse

    from understudy.budget import Unit


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
        synthetic = read_synthetic(
            Path(options.synthetic), schema=schema, unit=unit, epsilon=options.epsilon
        )
        progress("reading the private table", 0)
        real = read_private(options.private, schema=schema, unit=unit)
        found = compare(real, synthetic, progress=progress, **score)
    print(json.dumps(found.to_dict()) if options.json else found.table(), end="\n" * options.json)


def _known(options: argparse.Namespace) -> tuple[Schema, Unit, dict[str, Any]]:
    """Give the schema, the unit and the columns of the trip score, of a recipe or as named."""
    given = {"place": options.place, "time": options.time, "edge": options.edge}
    score: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if score and len(score) < len(given):
        raise UsageError(
            "a trip score needs a place, a time and an edge",
            got=", ".join(f"--{name}" for name in score),
            allowed="--place COLUMN --time COLUMN --edge COLUMN,COLUMN, or none of them",
        )
    if score:
        score["edge"] = tuple(name.strip() for name in options.edge.split(","))
        if len(score["edge"]) != 2:
            raise UsageError("an edge is two columns", got=options.edge, allowed="COLUMN,COLUMN")
    if options.recipe is not None:
        if options.parameters is None or options.schema is not None or options.unit is not None:
            raise UsageError(
                "--recipe needs --parameters, in the place of --schema and --unit",
                allowed="--recipe NAME --parameters FILE",
            )
        recipe = Recipe.named(options.recipe)
        declared, _ = read_parameters(Path(options.parameters))
        own = {**recipe.score, "edge": tuple(recipe.score["edge"])}
        return recipe.schema(declared), recipe.person, score or own
    if options.schema is None or options.unit is None:
        raise UsageError(
            "the following arguments are required: --schema and --unit",
            allowed="--schema FILE --unit COLUMN, or --recipe NAME --parameters FILE",
        )
    return Schema.read(options.schema), asked.unit(options.unit, options.null_ids), score
