"""The unit: whose arrival or departure must not be told from the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from understudy.errors import BudgetError

Nulls = Literal["drop", "one"]

EACH_ROW = "(each row)"


@dataclass(frozen=True, slots=True, init=False)
class Unit:
    """One person with all of their rows, named by one or several columns.

    A name may be a column of the table, a date-time column of the schema, or
    ``"column:part"`` for a part of a date-time.  Rows without an id are dropped, or with
    ``nulls="one"`` together form a single person; they are never a person each.

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

    @property
    def is_row(self) -> bool:
        """Whether every row is a person of its own."""
        return self.columns == (EACH_ROW,)

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
