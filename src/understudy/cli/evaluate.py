"""The evaluate command: synthetic rows against private ones, for the custodian's eyes only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.cli import asked
from understudy.cli.progress import shown
from understudy.errors import QuestionError, UsageError
from understudy.evaluate import (
    CENSUS_COLUMNS,
    Raw,
    compare,
    read_counts,
    read_private,
    read_synthetic,
    read_values,
)
from understudy.recipes import Recipe
from understudy.schema import Integer, Schema

if TYPE_CHECKING:
    import argparse

    from understudy.budget import Unit
    from understudy.public import Progress

_SCORES = {
    "a trip": {"place": "COLUMN", "time": "COLUMN", "edge": "COLUMN,COLUMN"},
    "a pie": {"pie": "COLUMN,COLUMN…", "slices": "COLUMN"},
}
_LISTS = {"edge", "pie"}
_RAW = ("excerpts", "census")
"""Scores that look at raw values, of a contest's own columns."""


def run(options: argparse.Namespace) -> None:
    """Compare, and print a text or an object that says first whose eyes it is for."""
    schema, unit, score = _known(options)
    asked_raw = {name: bool(score.pop(name, False)) for name in _RAW}
    _check_columns(schema, score, asked_raw)
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
        raw = _raw(options, schema, asked_raw, progress) if any(asked_raw.values()) else None
        found = compare(real, synthetic, raw=raw, progress=progress, **score)
    print(json.dumps(found.to_dict()) if options.json else found.table(), end="\n" * options.json)


def _check_columns(schema: Schema, score: dict[str, Any], asked_raw: dict[str, bool]) -> None:
    """Refuse a score of columns that the schema does not model, before anything is read."""
    named = [
        name for part in score.values() for name in ([part] if isinstance(part, str) else part)
    ]
    unknown = [name for name in named if name not in schema.domain]
    if asked_raw["census"]:
        whole = {c.name for c in schema.released_columns}
        unknown += [name for name in CENSUS_COLUMNS if name not in whole]
    if unknown:
        raise QuestionError(
            "columns that the schema does not model",
            got=", ".join(unknown),
            allowed=", ".join(schema.domain),
        )


def _raw(
    options: argparse.Namespace, schema: Schema, asked_raw: dict[str, bool], progress: Progress
) -> Raw:
    """Read the raw values of both tables, and the largest codes that the schema declares."""
    progress("reading raw values", 0)
    whole = [c for c in schema.modelled if isinstance(c, Integer) and c.min == 0]
    path = Path(options.synthetic)
    return Raw(
        real=read_values(options.private, schema=schema),
        synthetic=read_values(path, schema=schema.released(), epsilon=options.epsilon),
        largest={c.name: c.max for c in whole},
        **asked_raw,
    )


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
        schema, _ = recipe.read(Path(options.parameters), **asked.of_recipe(options))
        own = {k: tuple(v) if isinstance(v, list) else v for k, v in recipe.score.items()}
        return schema, recipe.person, own | score
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
    return score | {name: True for name in _RAW if vars(options)[name]}
