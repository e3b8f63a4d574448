"""Moments in order: the first one with given codes that is not before another.

A moment is modelled as its month, weekday and hour.  Two of them in order, such as the start and
the end of a trip, agree in most of these; so the end is the first moment of its month, weekday and
hour that is not before the start, and a trip is minutes long, not weeks.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.columns.timestamp import RESOLUTIONS, day_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.schema.columns import Timestamp
    from understudy.schema.encoding.reading import Array, Codes

    Ints = NDArray[np.int64]

DAY, HOUR = 86400, 3600
EPOCH = date(1970, 1, 1).toordinal()
NOT = np.iinfo(np.int64).min
"""The number of NaT."""
FIRST, LAST = -(2**40), 2**40
"""Seconds before and after every moment of a calendar."""


def seconds_of(values: Array) -> Ints:
    """Return moments as whole seconds since 1970, `NOT` for none."""
    found: Ints = values.astype("datetime64[s]").astype(np.int64)
    return found


def coarser(one: Timestamp, other: Timestamp) -> int:
    """Return the step of the coarser of two resolutions, in seconds."""
    return max(RESOLUTIONS[one.resolution], RESOLUTIONS[other.resolution])


def out_of_order(low: Ints, high: Ints, step: int) -> NDArray[np.bool_]:
    """Return where two moments are in the wrong order; none is in any order."""
    found: NDArray[np.bool_] = (low // step > high // step) & (low != NOT) & (high != NOT)
    return found


def not_before(
    column: Timestamp, codes: Mapping[str, Codes], least: Ints, rng: np.random.Generator
) -> Ints:
    """Draw the first moments of a column's codes that are not before others.

    Where there are none in the month, it is some moment of the day that follows.
    """
    weekday, hour, (first, last) = _parts(column, codes)
    step = RESOLUTIONS[column.resolution]
    least = -(-least // step) * step if step < DAY else least // DAY * DAY
    day = np.maximum(least // DAY, first)
    wanted = np.where(weekday < 7, weekday, (day + 3) % 7)
    day = day + (wanted - day - 3) % 7
    start = np.where(day == least // DAY, least % DAY, 0)
    # Too late for the hour on that day: a week later.
    late = (hour < 24) & ((hour + 1) * HOUR <= start)
    day, start = np.where(late, day + 7, day), np.where(late, 0, start)
    low = np.where(hour < 24, np.maximum(hour * HOUR, start), start)
    high = np.where(hour < 24, (hour + 1) * HOUR, DAY)
    found = day * DAY + _drawn(low, high, step, rng)
    lost = (day >= last) | (found < least)
    return np.where(
        lost, least + _drawn(np.zeros_like(low), np.full_like(low, DAY), step, rng), found
    )


def not_after(
    column: Timestamp, codes: Mapping[str, Codes], most: Ints, rng: np.random.Generator
) -> Ints:
    """Draw the last moments of a column's codes that are not after others."""
    weekday, hour, (first, last) = _parts(column, codes)
    step = RESOLUTIONS[column.resolution]
    day = np.minimum(most // DAY, last - 1)
    wanted = np.where(weekday < 7, weekday, (day + 3) % 7)
    day = day - (day + 3 - wanted) % 7
    end = np.where(day == most // DAY, most % DAY + 1, DAY)
    early = (hour < 24) & (hour * HOUR >= end)
    day, end = np.where(early, day - 7, day), np.where(early, DAY, end)
    low = np.where(hour < 24, hour * HOUR, 0)
    high = np.where(hour < 24, np.minimum((hour + 1) * HOUR, end), end)
    found = day * DAY + _drawn(low, high, step, rng)
    lost = (day < first) | (found > most)
    back = _drawn(np.zeros_like(low), np.full_like(low, DAY), step, rng)
    return np.where(lost, (most - back) // step * step, found)


def _parts(column: Timestamp, codes: Mapping[str, Codes]) -> tuple[Ints, Ints, tuple[Ints, Ints]]:
    """Return weekdays, hours (24 for any), and the first day of each month and of the next."""
    months, *others = column.modelled
    month = codes[months.name].astype(np.int64) + (months.min or 0)
    days = [
        m.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        for m in (month, month + 1)
    ]
    ends = [day_of(column.name, end).toordinal() - EPOCH for end in (column.min, column.max)]
    first, last = np.maximum(days[0], ends[0]), np.minimum(days[1], ends[1] + 1)
    weekday = codes[others[0].name].astype(np.int64)
    hour = np.full(len(month), 24) if len(others) == 1 else codes[others[1].name].astype(np.int64)
    if column.resolution == "day":
        hour = np.zeros(len(month), dtype=np.int64)
    return weekday, np.minimum(hour, 24), (first, last)


def between(low: Ints, high: Ints, step: int, rng: np.random.Generator) -> Ints:
    """Draw seconds from one to another, at a resolution; the first where none is between."""
    found: Ints = low + rng.integers(0, (high - low) // step + 1) * step
    return found


def _drawn(low: Ints, high: Ints, step: int, rng: np.random.Generator) -> Ints:
    """Draw seconds of a day between two, at a resolution."""
    first = -(-low // step)
    count = np.maximum(-(-high // step) - first, 1)
    found: Ints = (first + rng.integers(0, count)) * step
    return found
