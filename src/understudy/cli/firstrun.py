"""The run file that `init` drafts: who is protected, how strongly, and where tables are."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from understudy.budget import Budget
from understudy.cli.runfile import located
from understudy.errors import UsageError
from understudy.public import PublicTable
from understudy.schema.importers.files import toml_value
from understudy.schema.importers.people import numbered
from understudy.synth.adagrid import AdaGrid

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from understudy.budget import Unit
    from understudy.schema import Array, Schema

RUNFILE, SCHEMA = "understudy.toml", "schema.toml"
EPSILON, DELTA = 1.0, 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTables:
    """What anyone may see: a table of rows, perhaps with one of people beside it."""

    rows: Mapping[str, Array] | None = None
    people: Mapping[str, Array] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """What was drafted, and the initial values of the run file."""

    options: argparse.Namespace
    folder: Path
    schema: Schema
    unit: Unit
    public: PublicTables

    def people(self) -> int | None:
        """Return the public table's number of people, if it is known."""
        table = self.public.rows if self.public.people is None else self.public.people
        if table is None:
            return None
        if self.unit.is_row:
            return len(next(iter(table.values())))
        named = [name.partition(":")[0] for name in self.unit.columns]
        if not set(named) <= set(table):
            return None
        return int(numbered(table, named).max(initial=-1)) + 1

    def bounding(self, budget: Budget, people: int | None) -> tuple[str, str]:
        """Choose a contribution bounding, and say why."""
        if self.unit.is_row:
            return "weights:1", "every row is a different person"
        if budget.delta:
            known = "usually has the smaller error"
            if people is None:
                known = (
                    "nothing public says how many rows people have. Compare boundings with\n# "
                    "'understudy check understudy.toml --people-count N --rows-per-person R'"
                )
            return "norm", f"it needs no cap, and {known}"
        if people is None:
            raise UsageError(
                "pure epsilon needs a cap on rows per person, and no public table suggests one",
                got="--delta 0",
                hint="choose a delta above 0, or a public table with the unit's columns",
            )
        named = _both(self.options.public, self.options.public_people)
        public = PublicTable.read(named, schema=self.schema, unit=self.unit)
        cap = AdaGrid().weights(public, budget=budget).cap
        return (
            f"weights:{cap}",
            "this C has the smallest sum of noise and clipping error on public rows",
        )

    def text(self, unit: str) -> str:
        """Return the run file's text, with a comment on every line."""
        options, people, name = self.options, self.people(), self.schema.name or "table"
        budget = Budget(
            epsilon=EPSILON if options.epsilon is None else options.epsilon,
            delta=_delta(people) if options.delta is None else options.delta,
        )
        bounding, why = self.bounding(budget, people)
        public = '# public = "last-year.csv"'
        if options.public is not None:
            named = self._placed(options.public, options.public_people)
            public = f"public = {toml_value(named)}"
        ours = options.people
        if options.public_people is not None:
            ours = ours or "PRIVATE-people.csv"
        written = {
            "private": self._placed(options.private or "PRIVATE.csv", ours),
            "schema": SCHEMA,
            "unit": unit,
            "bounding": bounding,
            "ledger": f"{name}.ledger",
            "out": f"{name}-release",
        }
        return Template((files("understudy.cli") / RUNFILE).read_text(encoding="utf-8")).substitute(
            {key: toml_value(value) for key, value in written.items()},
            public=public,
            why=why,
            epsilon=f"{budget.epsilon:g}",
            delta=f"{budget.delta:g}",
            people="number unknown" if people is None else f"{people:,} in the public table",
        )

    def _placed(self, rows: str, people: str | None) -> str | dict[str, str]:
        """Return a table's path, or those of two, relative to the run file."""
        return _both(
            relative_to(rows, self.folder),
            None if people is None else relative_to(people, self.folder),
        )


def _both(rows: str, people: str | None) -> str | dict[str, str]:
    return rows if people is None else {"people": people, "rows": rows}


def _delta(people: int | None) -> float:
    """Return a delta far below 1 / people, or a default if their number is unknown."""
    return DELTA if people is None else 10.0 ** -math.ceil(math.log10(max(people, 1)) + 2)


def relative_to(path: str, folder: Path) -> str:
    """Return a path relative to the run file's folder; what is not a file stays as it is."""

    def seen(file: Path) -> str:
        # Resolved first: a symbolic link on the way would change what ".." means.
        where = file.parent.resolve() / file.name
        return str(file) if file.is_absolute() else os.path.relpath(where, folder.resolve())

    return located(path, seen)
