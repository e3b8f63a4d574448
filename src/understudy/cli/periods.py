"""The period of `init`: which columns of dates it is of, and which keep their public range.

The first and the last day of the private table are those of its events.  People in it were born
long before, and may die after: a column whose public range is unlike the period keeps that range.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from understudy.errors import UsageError
from understudy.schema import Integer

if TYPE_CHECKING:
    from understudy.schema import Schema, Timestamp

MOST_LONGER, YEAR = 1.5, timedelta(days=366)
"""A public range of the period's kind is at most so many times as long, and a year."""
MOST_AWAY = timedelta(days=3653)
"""It is at most ten years away, or as far as the period is long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InPeriod:
    """The columns that were given the period, and those that kept their public range."""

    period: str
    given: tuple[str, ...]
    kept: tuple[Timestamp | Integer, ...]

    @property
    def told(self) -> list[str]:
        """Say which columns have the period, and which do not."""
        of = ", ".join(self.given) or "no column"
        return [
            f"  the period {self.period} is that of {of}",
            *(
                f"  {c.name} goes from {c.min} to {c.max}, the public table's range: it is too "
                "unlike the period; if the private table covers other dates, set them"
                for c in self.kept
            ),
        ]


def dated(schema: Schema, period: str | None) -> tuple[Schema, InPeriod | None]:
    """Set the first and the last day where a period is given."""
    return (schema, None) if period is None else in_period(schema, period)


def in_period(schema: Schema, period: str) -> tuple[Schema, InPeriod]:
    """Set the first and the last day of columns that the period is of."""
    days = period.split("..")
    if len(days) != 2 or not all(re.fullmatch(r"\d{4}-\d\d-\d\d", day) for day in days):
        raise UsageError(
            "a period is a first and a last day", got=period, allowed="YYYY-MM-DD..YYYY-MM-DD"
        )
    years = [c for c in schema.columns if isinstance(c, Integer) and c.name.lower() == "year"]
    if not schema.timestamps and not years:
        raise UsageError("no column has dates or years", got=f"--period {period}", hint="omit it")
    # Columns raise on days that do not exist, or are in the wrong order.
    first, last = days
    dated = [(c, replace(c, min=first, max=last)) for c in schema.timestamps]
    numbered = [(c, replace(c, min=int(first[:4]), max=int(last[:4]))) for c in years]
    pairs: list[tuple[Timestamp | Integer, Timestamp | Integer]] = [*dated, *numbered]
    given = [new for old, new in pairs if _is_of(schema, old, first, last)]
    names = tuple(column.name for column in given)
    kept = tuple(old for old, _ in pairs if old.name not in names)
    return schema.with_columns(*given), InPeriod(period=period, given=names, kept=kept)


def _is_of(schema: Schema, column: Timestamp | Integer, first: str, last: str) -> bool:
    """Whether a column has the events of a period, as its public range and its role tell."""
    if column.name in schema.order_by or (isinstance(column, Integer) and column.of != "person"):
        return True
    begins, ends = date.fromisoformat(first), date.fromisoformat(last)
    if isinstance(column, Integer):
        low, high = (date(min(max(year, 1), 9999), 7, 1) for year in (column.min, column.max))
    else:
        low, high = date.fromisoformat(column.min), date.fromisoformat(column.max)
    length, away = ends - begins, max(begins - high, low - ends)
    return high - low <= MOST_LONGER * length + YEAR and away <= max(MOST_AWAY, length)
