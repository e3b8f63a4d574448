"""The unit: whose arrival or departure must not be told from the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from understudy.errors import BudgetError
from understudy.schema import DateTime

if TYPE_CHECKING:
    from understudy.schema import Schema

Nulls = Literal["drop", "one"]

EACH_ROW = "(each row)"
_FINEST_FIRST = (
    *("minute", "hour", "date", "day", "weekday"),
    *("week", "month_index", "month", "quarter", "year"),
)


@dataclass(frozen=True, slots=True, init=False)
class Unit:
    """One person with all of their rows, named by one or several columns.

    A name may be a column of the schema, which means what the schema declares (a date-time
    column is its part), a column of the table, or ``"column:part"``.  Ids are compared as
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
        """Name the columns that tell people apart."""
        if not columns or not all(columns) or len(set(columns)) < len(columns):
            raise BudgetError(
                "a unit needs the name of at least one column, each once",
                got=", ".join(map(repr, columns)) or "none",
                hint="Unit.each_row() says that every row is a person of its own",
            )
        if nulls not in ("drop", "one"):
            raise BudgetError("unknown rule for null ids", got=repr(nulls), allowed="'drop', 'one'")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "nulls", nulls)

    @classmethod
    def each_row(cls) -> Self:
        """Declare that every row is a person of its own."""
        return cls(EACH_ROW)

    def resolved(self, schema: Schema) -> Self:
        """Name the table's own columns and parts in the place of the schema's columns.

        A name of the schema always means what the schema declares, so that a date-time
        column stands for its part and not for its moment; and what a ledger is bound to
        does not change its meaning with the schema.
        """
        if self.is_row:
            return self
        declared = {c.name: c for c in schema.modelled}
        names = []
        for name in self.columns:
            column = declared.get(name)
            if isinstance(column, DateTime):
                names.append(f"{column.table_column}:{column.part}")
            else:
                names.append(name if column is None else column.table_column)
        return type(self)(*names, nulls=self.nulls)

    @property
    def is_row(self) -> bool:
        """Whether every row is a person of its own."""
        return self.columns == (EACH_ROW,)

    @property
    def period(self) -> str | None:
        """The finest part of a date that the unit names: ``week`` of ``"time:week"``."""
        named = {name.rpartition(":")[2] for name in self.columns if name.rpartition(":")[0]}
        return next((part for part in _FINEST_FIRST if part in named), None)

    @property
    def is_part(self) -> bool:
        """Whether one person may have several of these units: rows, periods or combinations."""
        return self.is_row or len(self.columns) > 1 or self.period is not None

    def __str__(self) -> str:
        """Name the unit in one short phrase."""
        return "row" if self.is_row else " × ".join(self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Write the unit as plain data."""
        return {"columns": list(self.columns), "nulls": self.nulls}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read the unit from plain data."""
        return cls(*data["columns"], nulls=data["nulls"])
