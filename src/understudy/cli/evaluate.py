"""The evaluate command: synthetic rows against private ones, for the custodian's eyes only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from understudy.cli import arguments
from understudy.cli.progress import shown
from understudy.contests import Recipe
from understudy.contests.submission import manifest_path
from understudy.errors import MalformedFileError, MissingFileError, QuestionError, UsageError
from understudy.evaluate import (
    CENSUS_COLUMNS,
    CHOOSING,
    NOTICE,
    Raw,
    check_targets,
    compare,
    read_counts,
    read_private,
    read_synthetic,
    read_values,
    worth_predicting,
)
from understudy.pages.custodian import check_place, custodian_report
from understudy.release import MANIFEST
from understudy.schema import Schema

if TYPE_CHECKING:
    import argparse

    from understudy.budget import Unit
    from understudy.evaluate import Coded, Comparison
    from understudy.public import Progress

_SCORES = {
    "a trip": {"place": "COLUMN", "time": "COLUMN", "edge": "COLUMN,COLUMN"},
    "a pie": {"pie": "COLUMN,COLUMN…", "slices": "COLUMN"},
}
_LISTS = {"edge", "pie"}
_RAW = ("excerpts", "census")
"""Scores that look at raw values, of a contest's own columns."""
MOST_COUNTED = 2**16
"""Columns of more values are not counted value by value for a report."""


class _Counted(NamedTuple):
    """How many people a table has, and how many rows each value."""

    people: int | None
    columns: dict[str, list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is asked of every synthetic table."""

    options: argparse.Namespace
    schema: Schema
    unit: Unit
    score: dict[str, Any]
    """The columns of scores."""
    raw: dict[str, bool]
    """Which scores of raw values there are to be."""
    paths: list[Path]
    manifests: list[dict[str, Any] | None]
    """What each says of itself, for a report."""

    @classmethod
    def of(cls, options: argparse.Namespace) -> _Asked:
        """Refuse what cannot be, before anything is read."""
        schema, unit, score = _known(options)
        raw = {name: bool(score.pop(name, False)) for name in _RAW}
        _check_columns(schema, score, raw)
        if options.target is not None:
            check_targets(schema.domain, _listed(options.target))
        if options.report is not None:
            check_place(Path(options.report))
        paths = _several(options.synthetic)
        wanted = paths if options.report is not None else []
        return cls(
            options=options,
            schema=schema,
            unit=unit,
            score=score,
            raw=raw,
            paths=paths,
            manifests=[_manifest(path, options.epsilon) for path in wanted],
        )

    def read(self, path: Path) -> Coded:
        """Read the rows of a release, of a file, or of a submission of counts."""
        recipe, epsilon = self.options.recipe, self.options.epsilon
        across = None if recipe is None else Recipe.named(recipe).counts
        if across is not None and path.is_file():
            return read_counts(path, schema=self.schema, across=across, epsilon=epsilon)
        return read_synthetic(path, schema=self.schema, unit=self.unit, epsilon=epsilon)

    def read_raw(self, path: Path, before: Raw | None, progress: Progress) -> Raw | None:
        """Read raw values of both tables, where a score asks for them; the real ones once."""
        if not any(self.raw.values()):
            return None
        progress("reading raw values", 0)
        spans = {c.name: c.span for c in self.schema.modelled if c.codes_are_values}
        private, released = self.options.private, self.schema.released()
        return Raw(
            real=read_values(private, schema=self.schema) if before is None else before.real,
            synthetic=read_values(path, schema=released, epsilon=self.options.epsilon),
            largest={n: int(span[1]) for n, span in spans.items() if span and span[0] == 0},
            **self.raw,
        )

    def targets(self, real: Coded) -> list[str] | None:
        """Name the columns to predict: those asked for, or for a report those worth it."""
        if self.options.target is not None:
            return _listed(self.options.target)
        if self.options.report is None:
            return None
        named = [c.name for c in self.schema.modelled if c.codes_are_values]
        return worth_predicting(real, named)

    def count(self, table: Coded) -> _Counted:
        """Count what a report tells of a table."""
        if self.options.report is None:
            return _Counted(None, {})
        # Synthetic rows that do not tell whose they are would be taken for a person each.
        told = table.people is not None or self.unit.is_row
        few = [name for name, size in table.sizes.items() if size <= MOST_COUNTED]
        counts = {name: table.counts([name]).tolist() for name in few}
        return _Counted(table.headcount if told else None, counts)


class _Run(NamedTuple):
    """A synthetic table that was compared."""

    path: Path
    counted: _Counted
    found: Comparison


def run(options: argparse.Namespace) -> None:
    """Compare, and print a text or an object that says first whose eyes it is for.

    With a report, figures are in its file and nowhere else.
    """
    all_asked = _Asked.of(options)
    with shown(quiet=options.json) as progress:
        real, runs = _compared(all_asked, progress)
        if options.report is not None:
            progress("writing the report", 0)
            custodian_report(_facts(all_asked, real, runs), options.report)
    if options.report is not None:
        facts = {"notice": NOTICE, "choosing": CHOOSING, "report": options.report}
        said = f"{options.report}: {NOTICE} It is readable by its owner alone; open it in a browser"
        print(json.dumps(facts) if options.json else said)
    elif options.json:
        each = [{"file": str(run.path), **run.found.to_dict()} for run in runs]
        print(json.dumps(each if len(runs) > 1 else runs[0].found.to_dict()))
    else:
        titles = [str(run.path) if len(runs) > 1 else None for run in runs]
        texts = [run.found.table(title) for run, title in zip(runs, titles, strict=True)]
        print("\n\n".join(texts), end="")


def _several(given: list[str]) -> list[Path]:
    """Of several tables, refuse one that is not there or is named twice, before any is read."""
    paths = [Path(text) for text in given]
    if len(paths) == 1:
        return paths
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError(
            "a synthetic table is named twice", got=", ".join(given), allowed="each table once"
        )
    for path in paths:
        if not path.exists():
            raise MissingFileError(f"no such file or folder: {path}")
    return paths


def _compared(asked_for: _Asked, progress: Progress) -> tuple[_Counted, list[_Run]]:
    """Compare one table after the other, so that one of them is held at a time."""
    options, runs = asked_for.options, list[_Run]()
    progress("reading the synthetic rows", 0)
    synthetic = asked_for.read(asked_for.paths[0])
    progress("reading the private table", 0)
    real = read_private(options.private, schema=asked_for.schema, unit=asked_for.unit)
    targets, raw = asked_for.targets(real), None
    for path in asked_for.paths:
        tell = progress if len(asked_for.paths) == 1 else partial(_prefixed, progress, path.name)
        if runs:
            tell("reading the synthetic rows", 0)
            synthetic = asked_for.read(path)
        raw = asked_for.read_raw(path, raw, tell)
        found = compare(
            real,
            synthetic,
            raw=raw,
            targets=targets,
            yardsticks=runs[0].found.yardsticks if runs else None,
            progress=tell,
            **asked_for.score,
        )
        runs.append(_Run(path, asked_for.count(synthetic), found))
    return asked_for.count(real), runs


def _prefixed(progress: Progress, name: str, stage: str, done: float) -> None:
    progress(f"{name}: {stage}", done)


def _facts(asked_for: _Asked, real: _Counted, runs: list[_Run]) -> dict[str, Any]:
    """Give what a report is made of, as plain data."""
    options, schema = asked_for.options, asked_for.schema
    return {
        "private": options.private,
        "schema": options.schema or f"that of the recipe {options.recipe}",
        "unit": str(asked_for.unit),
        "rows": runs[0].found.rows,
        "people": real.people,
        "runs": [
            {
                "name": run.path.resolve().name,
                "file": str(run.path),
                "people": run.counted.people,
                "manifest": manifest,
                "comparison": run.found.to_dict(),
            }
            for run, manifest in zip(runs, asked_for.manifests, strict=True)
        ],
        "counts": {
            name: {
                "labels": schema[name].labels(),
                "real": counts,
                "runs": [run.counted.columns[name] for run in runs],
            }
            for name, counts in real.columns.items()
        },
    }


def _manifest(path: Path, epsilon: float | None) -> dict[str, Any] | None:
    """Read what a release or a submission says of its mechanism and its promise, if it does."""
    beside = path / MANIFEST if path.is_dir() else manifest_path(path)
    if not beside.is_file():
        return None
    try:
        told = json.loads(beside.read_text(encoding="utf-8"))
        runs = [told] if path.is_dir() else told["runs"]
        found: list[dict[str, dict[str, Any]]] = [
            {
                "mechanism": {k: dict(run["mechanism"]).get(k) for k in ("name", "chosen")},
                "guarantee": {k: float(run["guarantee"][k]) for k in ("epsilon", "delta")},
            }
            for run in runs
        ]
    except (ValueError, TypeError, KeyError):
        raise MalformedFileError(f"{beside} is no manifest of ours") from None
    if epsilon is not None:
        found = [run for run in found if run["guarantee"]["epsilon"] == epsilon]
    return found[0] if len(found) == 1 else None


def _listed(text: str) -> list[str]:
    """Read names with commas between them."""
    return list(dict.fromkeys(part.strip() for part in text.split(",")))


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
        schema, _ = recipe.read(Path(options.parameters), **arguments.of_recipe(options))
        own = {k: tuple(v) if isinstance(v, list) else v for k, v in recipe.score.items()}
        return schema, recipe.person, own | score
    if options.schema is None or options.unit is None:
        raise UsageError(
            "the following arguments are required: --schema and --unit",
            allowed="--schema FILE --unit COLUMN, or --recipe NAME --parameters FILE",
        )
    return Schema.read(options.schema), arguments.unit(options.unit, options.null_ids), score


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
