"""Recipes: a contest's files in, its submission out, one run an epsilon on one ledger.

A recipe is data, a TOML file in the folder ``contests``: which columns are left out, where
numbers are cut, who is a person, the mechanism with its settings, and the submission's columns.
What it says of the table goes with the contest's own parameters.json, never with private rows.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

from understudy.budget import Budget, Unit, bounding_from_dict
from understudy.errors import SchemaError, UsageError
from understudy.schema import Ignored, Integer, Numeric, Schema
from understudy.synth import mechanism_from_dict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from understudy.budget import Bounding
    from understudy.synth import Mechanism

_FOLDER = files("understudy.recipes") / "contests"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestRun:
    """One entry of ``runs`` in a parameters.json."""

    budget: Budget
    most_rows: int | None
    """None where counts are submitted, and not rows."""
    most_each: int


def read_parameters(path: Path) -> tuple[Schema, list[ContestRun]]:
    """Read a contest's parameters.json: the schema it declares and the runs it asks for."""
    schema = Schema.read(path)
    try:
        read = json.loads(path.read_text(encoding="utf-8-sig"))
        _check_periods(read["schema"].get("periods", []))
        runs = [
            ContestRun(
                budget=Budget(epsilon=run["epsilon"], delta=run["delta"]),
                most_rows=_count(run["max_records"]) if "max_records" in run else None,
                most_each=_count(run["max_records_per_individual"]),
            )
            for run in read["runs"]
        ]
    except (KeyError, TypeError, ValueError):
        runs = []
    if not runs or len({run.budget.epsilon for run in runs}) < len(runs):
        raise SchemaError(
            f"{path.name} does not list runs as the contests do",
            allowed="runs of different epsilon, each with epsilon, delta, "
            "max_records_per_individual and, for rows, max_records",
        )
    return schema, runs


def _check_periods(periods: list[dict[str, int]]) -> None:
    years, months = ({p[part] for p in periods} for part in ("year", "month"))
    if len(periods) != len(years) * len(months):
        raise SchemaError("periods must be the same months of every year", got=f"{len(periods)}")


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(value)
    return value


def recipe_names() -> list[str]:
    """Name the recipes there are."""
    return sorted(f.name.removesuffix(".toml") for f in _FOLDER.iterdir())


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A recipe, as its file has it."""

    name: str
    about: str
    """What it is, in one line."""
    table: str
    unit: list[str]
    mechanism: str
    ignored: list[str]
    output: list[str]
    """The submission's columns, ``epsilon`` among them."""
    bins: dict[str, list[float]]
    """Where numbers are cut, between the ends that parameters.json declares."""
    bounding: list[dict[str, Any]]
    """The document's bounding at some epsilons."""
    settings: dict[str, Any]
    settings_with_public: dict[str, Any]
    score: dict[str, Any]
    """The columns of the contest's score."""
    counts: str | None = None
    """The column whose values are the submission's columns, with counts; None where rows are."""
    unmatched: list[str] = field(default_factory=list)
    """Columns in which public rows may have other values than the table."""
    noise: str = "gaussian"
    """What noise the budgets are for: ``chosen`` may be Laplace, without any delta."""

    @classmethod
    def named(cls, name: str) -> Self:
        """Give the recipe of a name."""
        if name not in recipe_names():
            raise UsageError("unknown recipe", got=name, allowed=", ".join(recipe_names()))
        text = (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
        return cls(name=name, **tomllib.loads(text))

    @property
    def person(self) -> Unit:
        """The unit that is protected."""
        return Unit(*self.unit)

    def schema(self, declared: Schema) -> Schema:
        """Leave columns out and cut numbers, in the schema that parameters.json declares."""
        named = {*self.unit, *self.bins, *self.output} - {"epsilon"}
        absent = sorted(named - {c.name for c in declared.columns})
        if absent:
            raise SchemaError(
                f"the recipe {self.name} needs columns that parameters.json does not declare",
                got="no " + ", ".join(absent),
            )
        left_out = [Ignored(name=name) for name in self.ignored]
        cut = [_cut(declared, name, inner) for name, inner in self.bins.items()]
        schema = replace(declared.with_columns(*left_out, *cut), name=self.table)
        made = {*schema.domain} | ({*self.unit} if self.counts is None else set())
        if made != set(self.output) - {"epsilon"}:
            raise SchemaError(
                f"parameters.json declares columns that the recipe {self.name} does not submit",
                got=", ".join(sorted(made ^ (set(self.output) - {"epsilon"}))),
            )
        return schema

    def public_schema(self, schema: Schema) -> Schema:
        """Give the schema that public rows are read by."""
        columns = {c.name: c for c in schema.modelled}
        loose = [replace(columns[name], outside="other") for name in self.unmatched]
        return schema.with_columns(*loose)

    def check_runs(self, runs: Sequence[ContestRun]) -> None:
        """Refuse runs that do not say how many rows may be submitted."""
        if self.counts is None and any(run.most_rows is None for run in runs):
            raise SchemaError("parameters.json does not say how many rows may be submitted")

    def bounding_at(self, epsilon: float) -> Bounding:
        """Give the bounding of the nearest epsilon that the document names."""
        return bounding_from_dict(min(self.bounding, key=lambda b: abs(b["epsilon"] - epsilon)))

    def mechanism_for(self, run: ContestRun, *, public: bool, published: bool) -> Mechanism:
        """Make the mechanism of one run."""
        settings = self.settings | (self.settings_with_public if public else {})
        settings |= {"most_each": run.most_each, "published": published}
        return mechanism_from_dict({"name": self.mechanism, "settings": settings})


def _cut(declared: Schema, name: str, inner: list[float]) -> Numeric:
    column = {c.name: c for c in declared.columns}[name]
    if isinstance(column, Integer):
        low, high, whole = float(column.min), float(column.max), True
    elif isinstance(column, Numeric):
        low, high, whole = column.edges[0], column.edges[-1], column.whole
    else:
        raise SchemaError(f"parameters.json declares no range for {name}", got=column.kind)
    edges = (low, *(float(e) for e in inner if low < e < high), high)
    return Numeric(name=name, edges=edges, whole=whole, outside="nearest", missing=False)
