"""Days and months, as numbers from January 1970 on."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from understudy.schema.encoding.reading import Array


def number_of(day: date) -> int:
    """Return the number of a day."""
    return day.toordinal() - date(1970, 1, 1).toordinal()


def month_of(day: date) -> int:
    """Return the number of a day's month."""
    return (day.year - 1970) * 12 + day.month - 1


def first_days(month: Array) -> Array:
    """Return the number of the first day of each month."""
    day: Array = month.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return day


def months_of(day: Array) -> Array:
    """Return the number of each day's month."""
    month: Array = day.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return month


def until(day: Array, weekday: Array) -> Array:
    """Count the days from a day to the next one with this weekday."""
    ahead: Array = (weekday - day - 3) % 7
    return ahead
