"""The evaluate command: synthetic rows compared with private ones, for the custodian only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from understudy.cli import arguments
from understudy.cli.metrics import all_metrics, given_settings
from understudy.cli.progress import shown
from understudy.cli.runfile import ENDING, with_runfile
from understudy.contests import Recipe
from understudy.contests.submission import manifest_path
from understudy.engine.two_tables import tables_of
from understudy.errors import MalformedFileError, MissingFileError, UsageError
from understudy.evaluate import (
    CHOOSING,
    NOTICE,
    Raw,
    compare,
    page_facts,
    read_counts,
    read_private,
    read_synthetic,
    read_values,
)
from understudy.pages.custodian import check_place, custodian_report
from understudy.release import MANIFEST
from understudy.schema import Schema

if TYPE_CHECKING:
    import argparse

    from understudy.budget import Unit
    from understudy.evaluate import Coded, Comparison, Metric
    from understudy.public import Progress

MOST_COUNTED = 2**16
"""Columns with more values than this are not counted value by value for a report."""


class _Counted(NamedTuple):
    """A table's number of people, and the number of rows of each value."""

    people: int | None
    columns: dict[str, list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evaluation:
    """An evaluation, validated: the tables to read, and the metrics to compute for each."""

    options: argparse.Namespace
    schema: Schema
    unit: Unit
    metrics: dict[str, Metric[Any]]
    settings: dict[str, Any]
    """The metrics' settings, from a recipe or from options."""
    paths: list[Path]
    manifests: list[dict[str, Any] | None]
    """What each says about its mechanism and its promise, for a report."""

    @classmethod
    def of(cls, options: argparse.Namespace) -> _Evaluation:
        """Raise if something cannot be evaluated, before any table is read."""
        metrics = all_metrics()
        schema, unit, settings = _known(options, given_settings(options, metrics))
        for metric in metrics.values():
            own = metric.settings(settings)
            if own is not None:
                metric.check_settings(schema, own)
        if options.report is not None:
            check_place(Path(options.report))
        paths = _several(options.synthetic)
        wanted = paths if options.report is not None else []
        return cls(
            options=options,
            schema=schema,
            unit=unit,
            metrics=metrics,
            settings=settings,
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
        """Read raw values of both tables, where a score needs them; the real ones once."""
        if not any(m.raw and m.settings(self.settings) is not None for m in self.metrics.values()):
            return None
        progress("reading raw values", 0)
        spans = {c.name: c.span for c in self.schema.unconstrained.modelled if c.codes_are_values}
        private, released = arguments.private(self.options), self.schema.released()
        return Raw(
            real=read_values(private, schema=self.schema) if before is None else before.real,
            synthetic=read_values(path, schema=released, epsilon=self.options.epsilon),
            largest={n: int(span[1]) for n, span in spans.items() if span and span[0] == 0},
        )

    def suggested(self, real: Coded) -> dict[str, Any]:
        """Return the settings that metrics choose for a report, where none are given."""
        found: dict[str, Any] = {}
        for metric in self.metrics.values() if self.options.report is not None else ():
            if metric.suggest is not None and metric.settings(self.settings) is None:
                found |= metric.suggest(real, self.schema)
        return found

    def count(self, table: Coded) -> _Counted:
        """Count what a report shows of a table."""
        if self.options.report is None:
            return _Counted(None, {})
        # Synthetic rows without ids would each count as a person.
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
    """Compare, and print text or JSON that begins with a notice: for the custodian only.

    With a report, figures are written to its file and nowhere else.
    """
    if str(options.private).endswith(ENDING) and options.recipe is None:
        with_runfile(options, only=("private", "schema", "unit", "null_ids"))
    evaluation = _Evaluation.of(options)
    with shown(quiet=options.json or options.quiet) as progress:
        real, runs = _compared(evaluation, progress)
        if options.report is not None:
            progress("writing the report", 0)
            custodian_report(_facts(evaluation, real, runs), options.report)
    if options.report is not None:
        facts = {"notice": NOTICE, "choosing": CHOOSING, "report": options.report}
        said = f"{options.report}: {NOTICE} Only its owner can read it; open it in a browser"
        print(json.dumps(facts) if options.json else said)
    elif options.json:
        each = [{"file": str(run.path), **run.found.to_dict()} for run in runs]
        print(json.dumps(each if len(runs) > 1 else runs[0].found.to_dict()))
    else:
        titles = [str(run.path) if len(runs) > 1 else None for run in runs]
        texts = [run.found.table(title) for run, title in zip(runs, titles, strict=True)]
        print("\n\n".join(texts), end="")


def _several(given: list[str]) -> list[Path]:
    """Raise if one of several tables is missing or named twice, before any is read."""
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


def _compared(evaluation: _Evaluation, progress: Progress) -> tuple[_Counted, list[_Run]]:
    """Compare one table after the other, so that only one is in memory at a time."""
    options, runs = evaluation.options, list[_Run]()
    progress("reading the synthetic rows", 0)
    synthetic = evaluation.read(evaluation.paths[0])
    progress("reading the private table", 0)
    private = arguments.private(options)
    real = read_private(private, schema=evaluation.schema, unit=evaluation.unit)
    suggested, raw = evaluation.suggested(real), None
    for path in evaluation.paths:
        tell = progress if len(evaluation.paths) == 1 else partial(_prefixed, progress, path.name)
        if runs:
            tell("reading the synthetic rows", 0)
            synthetic = evaluation.read(path)
        # The private table need not have what constraints compute.
        synthetic = synthetic.among(real.sizes)
        raw = evaluation.read_raw(path, raw, tell)
        found = compare(
            real,
            synthetic,
            metrics=evaluation.metrics,
            raw=raw,
            yardsticks=runs[0].found.yardsticks if runs else None,
            progress=tell,
            **evaluation.settings,
            **suggested,
        )
        runs.append(_Run(path, evaluation.count(synthetic), found))
    return evaluation.count(real), runs


def _prefixed(progress: Progress, name: str, stage: str, done: float) -> None:
    progress(f"{name}: {stage}", done)


def _facts(evaluation: _Evaluation, real: _Counted, runs: list[_Run]) -> dict[str, Any]:
    """Return the contents of a report as plain data."""
    options, schema = evaluation.options, evaluation.schema
    return {
        "private": ", ".join(map(str, tables_of(arguments.private(options)))),
        "schema": options.schema or f"of the recipe {options.recipe}",
        "unit": str(evaluation.unit),
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
            for run, manifest in zip(runs, evaluation.manifests, strict=True)
        ],
        "counts": {
            name: {
                "labels": schema.unconstrained[name].readable(),
                "real": counts,
                "runs": [run.counted.columns[name] for run in runs],
                "ordered": schema.unconstrained[name].ordered_count,
            }
            for name, counts in real.columns.items()
        },
        "metrics": page_facts([run.found for run in runs]),
    }


def _manifest(path: Path, epsilon: float | None) -> dict[str, Any] | None:
    """Return the mechanism and the promise of a release or submission, where it has a manifest."""
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
        raise MalformedFileError(f"{beside} is not an Understudy manifest") from None
    if epsilon is not None:
        found = [run for run in found if run["guarantee"]["epsilon"] == epsilon]
    return found[0] if len(found) == 1 else None


def _known(
    options: argparse.Namespace, given: dict[str, Any]
) -> tuple[Schema, Unit, dict[str, Any]]:
    """Return the schema, the unit and the metrics' settings, from a recipe or from options."""
    if options.recipe is not None:
        if options.parameters is None or options.schema is not None or options.unit is not None:
            raise UsageError(
                "--recipe needs --parameters, and replaces --schema and --unit",
                allowed="--recipe NAME --parameters FILE",
            )
        recipe = Recipe.named(options.recipe)
        schema, _ = recipe.read(Path(options.parameters), **arguments.lists_of_recipe(options))
        own = {k: tuple(v) if isinstance(v, list) else v for k, v in recipe.score.items()}
        return schema, recipe.person, own | given
    if options.schema is None or options.unit is None:
        raise UsageError(
            "the following arguments are required: --schema and --unit",
            allowed="--schema FILE --unit COLUMN, or --recipe NAME --parameters FILE",
        )
    return Schema.read(options.schema), arguments.unit(options.unit, options.null_ids), given
