"""Tables with several date-times in a row, between which the time is not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.schema.columns import Timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.schema.columns import Declaration


def between_dates(columns: Iterable[Declaration]) -> dict[str, str]:
    """Return what is to be said of date-times after the first one of a row.

    Dates of other years than all before, such as those of birth, and a person's own are no ends of
    what a row is about.

    >>> dates = [Timestamp(name=n, min="2024-01-01", max="2024-12-31") for n in ("start", "end")]
    >>> list(between_dates(dates)), between_dates(dates[:1])
    (['end'], {})
    """
    dates = [c for c in columns if isinstance(c, Timestamp) and c.of == "row"]
    found = {}
    for place, column in enumerate(dates):
        before = (c for c in dates[:place] if c.min <= column.max and column.min <= c.max)
        first = next(before, None)
        if first is not None:
            found[column.name] = (
                f"the time from {first.name} to it is not kept, since month, weekday and hour of "
                "each are modelled. If it matters, have a column of the days or hours since "
                f"{first.name} instead, as a number, in the private table too"
            )
    return found
