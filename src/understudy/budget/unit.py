"""The unit: whose arrival or departure must not be told from the output."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from understudy.errors import BudgetError
from understudy.schema import PARTS

if TYPE_CHECKING:
    from understudy.schema import Schema

Nulls = Literal["drop", "one"]

EACH_ROW = "(each row)"
UNTOLD = "(as the schema says)"
"""The format of a part in an older ledger, which did not store formats."""
_FINEST_FIRST = (
    *("minute", "hour", "date", "day", "weekday"),
    *("week", "month_index", "month", "quarter", "year"),
)


@dataclass(frozen=True, slots=True, init=False)
class Unit:
    """One person with all of their rows, named by one or several columns.

    A name may be a column of the schema, which means what the schema declares (a date-time
    column is its part), a column of the table, or ``"column:part"``; a column of the table that is
    itself called so must be declared.  Ids are compared as
    texts without outer blanks; a whole number is the same with or without ``.0``.  Rows
    without an id are dropped, or with ``nulls="one"`` together form a single person; they
    are never a person each.  Someone who is only a part of what these rules make one unit (their
    rows lie under an id that others share) can move answers by up to twice the bound, and so has
    2μ, or 2ε in pure differential privacy.

    >>> print(Unit("tailnum", "time_hour:week"))
    tailnum × time_hour:week
    """

    columns: tuple[str, ...]
    nulls: Nulls

    def __init__(self, *columns: str, nulls: Nulls = "drop") -> None:
        """Name the columns that identify a person."""
        if (
            not columns
            or not all(isinstance(name, str) and name for name in columns)
            or len(set(columns)) < len(columns)
        ):
            raise BudgetError(
                "a unit needs at least one column name, each only once",
                got=", ".join(map(repr, columns)) or "none",
                hint="Unit.each_row() protects each row by itself",
            )
        if nulls not in ("drop", "one"):
            raise BudgetError("unknown rule for null ids", got=repr(nulls), allowed="'drop', 'one'")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "nulls", nulls)

    @classmethod
    def each_row(cls) -> Self:
        """Declare that every row is its own unit: row-level privacy."""
        return cls(EACH_ROW)

    def resolved(self, schema: Schema) -> ResolvedUnit:
        """Resolve the names to columns of the table, by the schema alone.

        A name of the schema always means what the schema declares, so that a date-time
        column stands for its part and not for its moment; and what a ledger is bound to
        does not change its meaning with the schema, nor with what else is in the table.
        """
        if self.is_row:
            return ResolvedUnit((), self.nulls)
        parts = tuple(_resolved(name, schema) for name in self.columns)
        if len(set(parts)) < len(parts):
            raise BudgetError(
                "two names of the unit refer to the same column of the table",
                got=str(self),
                hint="a schema column stands for the table column it is read from",
            )
        return ResolvedUnit(parts, self.nulls)

    @property
    def is_row(self) -> bool:
        """Whether every row is its own unit."""
        return self.columns == (EACH_ROW,)

    def __str__(self) -> str:
        """Name the unit in one short phrase."""
        return "row" if self.is_row else " × ".join(self.columns)


@dataclass(frozen=True, slots=True)
class UnitColumn:
    """A column of the table that identifies people, or a part of its date-times."""

    column: str
    part: str | None = None
    format: str | None = None
    """How a text of a date-time is read; ISO 8601 where it is None."""

    def __str__(self) -> str:
        """Name the column, and the part."""
        return self.column if self.part is None else f"{self.column}:{self.part}"


@dataclass(frozen=True, slots=True)
class ResolvedUnit:
    """A unit in the table's own terms: all that defines who a person is.

    It cannot be resolved again: a name may mean one thing in a schema and another in a table.
    """

    parts: tuple[UnitColumn, ...]
    """The table's columns; empty where every row is its own unit."""
    nulls: Nulls

    @classmethod
    def of(cls, *columns: str, nulls: Nulls = "drop") -> Self:
        """Name columns of the table as they are; none where every row is its own unit."""
        return cls(tuple(map(UnitColumn, columns)), nulls)

    @property
    def is_row(self) -> bool:
        """Whether every row is its own unit."""
        return not self.parts

    @property
    def period(self) -> str | None:
        """The finest part of a date that the unit names: ``week`` of ``"time:week"``."""
        named = {each.part for each in self.parts}
        return next((part for part in _FINEST_FIRST if part in named), None)

    @property
    def is_part(self) -> bool:
        """Whether one person may have several of these units: rows, periods or combinations."""
        return self.is_row or len(self.parts) > 1 or self.period is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, each perhaps with the part of a date-time."""
        return tuple(map(str, self.parts))

    def __str__(self) -> str:
        """Name the unit in one short phrase."""
        return "row" if self.is_row else " × ".join(self.columns)

    @property
    def described(self) -> str:
        """The unit with all that defines it, so that two units can be told apart."""
        told = [
            each.column
            if each.part is None
            else f"{each.part} of {each.column} ({each.format or 'ISO 8601'})"
            for each in self.parts
        ]
        rows = {"drop": "dropped", "one": "one person together"}[self.nulls]
        return f"{' × '.join(told) or 'row'}; rows without an id are {rows}"

    def completed(self, schema: Schema) -> Self:
        """Take formats from the schema where an older ledger did not store them."""
        parts = (
            replace(each, format=_format(each.column, schema)) if each.format == UNTOLD else each
            for each in self.parts
        )
        return replace(self, parts=tuple(parts))

    def to_dict(self) -> dict[str, Any]:
        """Write the unit as plain data."""
        return {"columns": [asdict(part) for part in self.parts], "nulls": self.nulls}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read the unit from plain data."""
        parts = [_from_plain(part) for part in data["columns"] if part != EACH_ROW]
        return cls(tuple(parts), data["nulls"])


AnyUnit = Unit | ResolvedUnit


def _resolved(name: str, schema: Schema) -> UnitColumn:
    declared = {c.name: c for c in (*schema.columns, *schema.modelled)}
    column = declared.get(name)
    if column is not None and column.date_part is not None:
        return UnitColumn(column.table_column, *column.date_part)
    base, _, part = name.rpartition(":")
    if column is not None or not base or part not in PARTS:
        return UnitColumn(getattr(column, "table_column", name))
    source = getattr(declared.get(base), "table_column", base)
    return UnitColumn(source, part, _format(source, schema))


def _format(source: str, schema: Schema) -> str | None:
    """Return how date-times of a table's column are written."""
    return next(
        (
            c.date_part.format
            for c in schema.modelled
            if c.date_part is not None and c.table_column == source
        ),
        None,
    )


def _from_plain(part: str | dict[str, Any]) -> UnitColumn:
    if isinstance(part, dict):
        return UnitColumn(**part)
    # Older ledgers stored the names only.
    base, _, last = part.rpartition(":")
    return UnitColumn(base, last, UNTOLD) if base and last in PARTS else UnitColumn(part)


def resolve(unit: AnyUnit, schema: Schema) -> ResolvedUnit:
    """Resolve a declared unit; a resolved one is returned as it is."""
    return unit.resolved(schema) if isinstance(unit, Unit) else unit
