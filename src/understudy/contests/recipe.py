"""Recipes: a contest's files in, its submission out, one run per epsilon on one ledger.

A recipe is data, a TOML file in the folder ``recipes``: which columns are left out, how
numbers are binned, the privacy unit, the mechanism with its settings, and the submission's columns.
What it says of the table follows the contest's own parameters.json, never private rows.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from understudy.budget import Budget, Unit, bounding_from_dict
from understudy.contests.parameters import ContestRun, read_parameters, with_codes
from understudy.errors import SchemaError, UsageError
from understudy.schema import Ignored, Numeric, Schema
from understudy.synth import mechanism_from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.budget import Bounding
    from understudy.synth import Mechanism

_FOLDER = files("understudy.contests") / "recipes"


def recipe_names() -> list[str]:
    """Return the names of all recipes."""
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
    """The submission's columns, including ``epsilon``; if empty, all declared columns."""
    bins: dict[str, list[float]]
    """Bin edges of numbers, between the ends that parameters.json declares."""
    bounding: list[dict[str, Any]]
    """The bounding in the recipe's document, by epsilon."""
    settings: dict[str, Any]
    settings_with_public: dict[str, Any]
    score: dict[str, Any]
    """The columns of the contest's score."""
    counts: str | None = None
    """The column whose values become columns of counts; None where rows are submitted."""
    unmatched: list[str] = field(default_factory=list)
    """Columns in which public rows may have values outside the private table's domain."""
    noise: str = "gaussian"
    """The noise that the budgets are for; ``chosen`` may become Laplace, without a delta."""
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Declarations that replace the contest's own, such as splits and ladders."""
    runs: list[dict[str, float]] = field(default_factory=list)
    """The budgets, where the contest's files do not list them."""
    null: str = ""
    """What a missing value is written as."""

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the recipe of a name."""
        if name not in recipe_names():
            raise UsageError("unknown recipe", got=name, allowed=", ".join(recipe_names()))
        text = (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
        return cls(name=name, **tomllib.loads(text))

    @property
    def text(self) -> str:
        """The recipe's file."""
        return (_FOLDER / f"{self.name}.toml").read_text(encoding="utf-8")

    @property
    def person(self) -> Unit:
        """The privacy unit: each row where no column names it."""
        return Unit(*self.unit) if self.unit else Unit.each_row()

    def read(
        self,
        parameters: str | Path,
        *,
        lists: str | Path | None = None,
        groups: Mapping[str, str | Path] | None = None,
        budget: Budget | None = None,
    ) -> tuple[Schema, list[ContestRun]]:
        """Read a contest's files: the table's schema under this recipe, and the runs to make.

        ``lists`` is a file of codes by column, ``groups`` files that say what codes of a column
        belong to.  A ``budget`` replaces the recipe's own runs.
        """
        if budget is not None and not self.runs:
            raise UsageError(
                f"the budgets of {self.name} are set by its parameters file",
                hint="omit --epsilon and --delta",
            )
        if self.runs:
            declared = Schema.read(parameters)
            budgets = [budget] if budget else [Budget(**run) for run in self.runs]
            runs = [ContestRun(budget=b, most_rows=None, most_each=1) for b in budgets]
        else:
            declared, runs = read_parameters(Path(parameters))
            self._check_runs(runs)
        return self.schema(with_codes(declared, lists, groups or {})), runs

    def schema(self, declared: Schema) -> Schema:
        """Apply the recipe to a contest's schema: ignore columns, bin numbers, declare others."""
        known = {c.name for c in declared.columns}
        needed = {*self.unit, *self.bins, *self.output} if self.output else set(self.unit)
        absent = sorted(needed - {"epsilon"} - known)
        if absent:
            raise SchemaError(
                f"the recipe {self.name} needs columns that parameters.json does not declare",
                got="no " + ", ".join(absent),
            )
        declares = {"name": self.table, "columns": self.columns}
        own = Schema.from_dict(declares).columns if self.columns else ()
        new = [
            *(Ignored(name=name) for name in self.ignored),
            *(_cut(declared, name, inner) for name, inner in self.bins.items() if name in known),
            *(column for column in own if column.name in known),
        ]
        schema = replace(declared.with_columns(*new), name=self.table)
        made = {c.name for c in schema.released_columns}
        made |= {*self.unit} if self.counts is None else set()
        if self.output and made != set(self.output) - {"epsilon"}:
            raise SchemaError(
                f"parameters.json declares columns that the recipe {self.name} does not submit",
                got=", ".join(sorted(made ^ (set(self.output) - {"epsilon"}))),
            )
        return schema

    def public_schema(self, schema: Schema) -> Schema:
        """Return the schema that public rows are read with."""
        columns = {c.name: c for c in schema.modelled}
        loose = [replace(columns[name], outside="other") for name in self.unmatched]
        return schema.with_columns(*loose)

    def _check_runs(self, runs: Sequence[ContestRun]) -> None:
        """Raise if runs do not say how many rows may be submitted."""
        if self.counts is None and any(run.most_rows is None for run in runs):
            raise SchemaError("parameters.json does not say how many rows may be submitted")

    def bounding_at(self, epsilon: float) -> Bounding:
        """Return the bounding of the nearest epsilon in the recipe's document."""
        return bounding_from_dict(min(self.bounding, key=lambda b: abs(b["epsilon"] - epsilon)))

    def mechanism_for(
        self,
        run: ContestRun,
        *,
        schema: Schema,
        public: bool,
        published: bool,
        settings: Mapping[str, Any] | None = None,
    ) -> Mechanism:
        """Make the mechanism of one run; ``settings`` replace some of the recipe's own."""
        own = self.settings | (self.settings_with_public if public else {})
        own |= {"most_each": run.most_each, "published": published}
        if not self.output:
            own |= _of_columns(own, set(schema.domain))
        settings = own | dict(settings or {})
        return mechanism_from_dict({"name": self.mechanism, "settings": settings})


def _of_columns(settings: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Keep only the cliques, and their settings, whose columns the table has."""
    kept = {"cliques": [c for c in settings.get("cliques", []) if set(c) <= known]}
    for name in ("weights", "coarse"):
        kept[name] = [entry for entry in settings.get(name, []) if set(entry[0]) <= known]
    return kept


def _cut(declared: Schema, name: str, inner: list[float]) -> Numeric:
    column = {c.name: c for c in declared.modelled}.get(name)
    if column is None or column.span is None:
        (kind,) = (c.kind for c in declared.columns if c.name == name)
        raise SchemaError(f"parameters.json declares no range for {name}", got=kind)
    low, high = map(float, column.span)
    edges = (low, *(float(e) for e in inner if low < e < high), high)
    return Numeric(
        name=name,
        edges=edges,
        whole=column.disk_type == "BIGINT",
        outside="nearest",
        missing=column.missing,
        nulls=column.nulls,
    )
