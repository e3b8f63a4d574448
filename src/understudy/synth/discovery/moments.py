"""Ranges of date-times, from noisy weights over a public grid of years and then over finer cells.

A step has cells that are as fine as noise allows: those of more people than the noise tell where a
range begins, and finer ones only add noise.  All here is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from understudy.synth.discovery.kinds import INTERVAL
from understudy.synth.discovery.ranges import (
    MOST_CELLS,
    STANDS_OUT,
    Standing,
    beside,
    between,
    standing,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from understudy.schema import Timestamp
    from understudy.schema.columns.timestamp import Resolution

    Noisy = NDArray[np.float64]

YEARS = range(1700, 2201)
DAY = 86400.0
YEAR = 365.2425 * DAY
DAYS = (1, 2, 4, 8, 16)
MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 480)
"""Lengths of cells, in days and in months."""
ENOUGH = 2.0
"""Cells are so long that on average they weigh as many times their noise."""
MOST_AT_ENDS = 350
"""As many parts of cells are asked about at most at either end of a range."""
CERTAIN = 3.0
"""Days weigh something if together they have as many times their noise."""
OFTEN_CERTAIN = 4.5
"""The same of sums that are looked at for every day: by chance alone, one of 130 of them exceeds 3
times its noise in one table of fifty, and this in one of ten thousand."""
CLEARLY = 0.5
"""A range is found well if at least this share of people's dates surely lies within it."""
MOST_MOMENTS = 0.75
"""The share of moments at the first second of a day that makes it a table of days."""
FIRST_SECOND = (0.0, 1.0)
"""The edges of the first second of a day, an hour or a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells to ask about: those of a range, and longer and longer ones around it."""

    edges: tuple[float, ...]
    first: int
    """The first cell of the range, between the first two edges being 0."""
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Cells at both ends of a range, and one between them."""

    edges: tuple[float, ...]
    before: int
    """With one of the first cells, as many, the range begins."""
    after: int
    """With one of the last cells, as many, it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """The first and the last day of a column, and about the share of people's dates within."""

    first: str
    last: str
    share: float
    error: float
    """The half-width of the share's 95 % interval."""

    @property
    def well(self) -> bool:
        """Whether most dates surely lie within."""
        return self.share - self.error >= CLEARLY

    @property
    def told(self) -> str:
        """Say how well the range was found.

        >>> Days(first="2019-01-01", last="2019-12-31", share=0.97, error=0.05).told
        "about 97 % of people's dates lie from its first to its last day (95 % interval: 92 % to \
100 %)"
        """
        low, high = max(0.0, self.share - self.error), min(1.0, self.share + self.error)
        about = f"about {100 * self.share:.0f} % of people's dates lie"
        interval = f"(95 % interval: {100 * low:.0f} % to {100 * high:.0f} %)"
        if self.well:
            return f"{about} from its first to its last day {interval}"
        return (
            f"its range could not be found well: {about} within it {interval}; declare it if you "
            "know it"
        )


def years() -> tuple[float, ...]:
    """Return the coarse grid of moments: the first second of each year."""
    return tuple(_second(year) for year in YEARS)


def coarse(weights: Noisy, scale: float) -> Cells | None:
    """Cut the years of a range that stands out into months, or longer cells; None if none does.

    Around the range there are cells as well, should it be too short.
    """
    found = standing(weights, scale)
    if found is None:
        return None
    first, end = YEARS[0] + found.first, YEARS[0] + found.last + 1
    a_month = float(between(weights)[found.low : found.high + 1].sum())
    a_month /= 12 * (found.high + 1 - found.low)
    fitting = [step for step in MONTHS if 12 * (end - first) <= MOST_CELLS * step]
    step = next((n for n in fitting if n * a_month >= ENOUGH * scale), MONTHS[-1])
    starts = [_second(first, month) for month in range(0, 12 * (end - first), step)]
    # 1, 3, 7, 15 years away, or as many times the length of longer cells.
    around = [max(1, step // 12) * (2**i - 1) for i in range(1, 10)]
    before = [_second(max(YEARS[0], first - away)) for away in around]
    after = [_second(min(YEARS[-1], end + away)) for away in around]
    edges = sorted({*before, *starts, _second(end), *after})
    return Cells(edges=tuple(edges), first=edges.index(starts[0]), last=edges.index(starts[-1]))


def fine(cells: Cells, weights: Noisy, scale: float, finer: float) -> Ends:
    """Cut both ends of what stands out into days, or longer cells; finer is the noise of these.

    Where nothing stands out, the range is that of the cells, and may begin and end anywhere in it.
    """
    # What lies beyond all cells is left out: with its noise, the outermost would often stand out.
    inner = weights[1:-1]
    part = inner[cells.first : cells.last + 1]
    found = standing(np.pad(part, 1), scale) or Standing(
        first=0, low=len(part) - 1, high=0, last=len(part) - 1
    )
    first, low, high, last = (
        cells.first + place for place in (found.first, found.low, found.high, found.last)
    )
    if cells.first > (around := _around(inner[: cells.first], scale)):
        first = low = around
    beyond = inner[cells.last + 1 :][::-1]
    if len(beyond) > (around := _around(beyond, scale)):
        last = high = len(inner) - 1 - around
    edges = cells.edges
    least, most = min(low, high), max(low, high)
    a_second = max(0.0, float(inner[least : most + 1].sum())) / (edges[most + 1] - edges[least])
    zones = [edges[first : low + 2], edges[high : last + 2]]
    begins, stops = (_cut(zone, ENOUGH * finer, a_second) for zone in zones)
    every = sorted({*begins, *stops})
    return Ends(
        edges=tuple(every),
        before=every.index(begins[-1]),
        after=len(every) - 1 - every.index(stops[0]),
    )


def _around(cells: Noisy, scale: float) -> int:
    """Return the first of the cells before a range that belong to it; their number if none do.

    They are long: noise must not make a range of a year one of a century.
    """
    first = beside(cells, len(cells), scale, least=STANDS_OUT)
    (heavy,) = np.nonzero(cells[:first] > STANDS_OUT * scale)
    return int(heavy[0]) if len(heavy) else first


def _cut(zone: Sequence[float], least: float, a_second: float) -> list[float]:
    """Cut the cells of a zone, as finely as parts still have the least weight that is given."""
    length = zone[-1] - zone[0]
    units = [n * DAY for n in DAYS] + [n * YEAR / 12 for n in MONTHS]
    unit = next(
        (u for u in units if u * a_second >= least and length / u <= MOST_AT_ENDS - len(zone)),
        math.inf,
    )
    if unit == math.inf:
        return list(zone)
    cut = {zone[-1]}
    for start, end in pairwise(zone):
        cut |= set(_parts(start, end, unit))
    return sorted(cut)


def _parts(start: float, end: float, unit: float) -> list[float]:
    """Return the starts of parts of a cell, each a number of days or of calendar months."""
    if unit <= DAYS[-1] * DAY:
        found: list[float] = np.arange(start, end, unit).tolist()
        return found
    begin, step = datetime.fromtimestamp(start, UTC), round(unit / YEAR * 12)
    # All longer cells begin with a month.
    months = range(begin.month - 1, begin.month - 1 + math.ceil((end - start) / YEAR * 12), step)
    starts = [_second(begin.year, month) for month in months]
    return [second for second in starts if second < end]


def ends(cells: Ends, weights: Noisy, scale: float) -> Days:
    """Return the first and the last day, given weights of cells at both ends of a range.

    >>> weights = np.zeros(33)
    >>> weights[10:17] = 50.0
    >>> month = Ends(edges=tuple(DAY * day for day in range(32)), before=31, after=31)
    >>> found = ends(month, weights, 1.0)
    >>> found.first, found.last, found.share
    ('1970-01-10', '1970-01-16', 1.0)
    """
    inner, edges = weights[1:-1], cells.edges
    first = _begins(inner[: cells.before], scale)
    last = len(inner) - 1 - _begins(inner[first:][::-1][: cells.after], scale)
    low, high = (datetime.fromtimestamp(s, UTC) for s in (edges[first], edges[last + 1] - 1))
    within = inner[first : last + 1]
    inside = max(0.0, float(within.sum()))
    outside = max(0.0, float(weights.sum() - within.sum()))
    both = max(inside + outside, scale)
    noises = inside**2 * (len(weights) - len(within)) + outside**2 * len(within)
    return Days(
        first=f"{low:%Y-%m-%d}",
        last=f"{high:%Y-%m-%d}",
        share=inside / both,
        error=INTERVAL * scale * math.sqrt(noises) / both**2,
    )


def _begins(weights: Noisy, scale: float) -> int:
    """Return the cell with which weights begin, where those before it may be noise.

    That is the likeliest place of a step up from 0, or the first that is nearly as likely, unless
    those before it, or right before it, weigh far more than their noise: then some are people.
    """
    count = len(weights)
    before = np.concatenate(([0.0], np.cumsum(weights)))[:count]
    after = np.maximum(weights.sum() - before, 0.0)
    heavy = before > OFTEN_CERTAIN * scale * np.sqrt(np.arange(count))
    allowed = int(np.argmax(heavy)) if heavy.any() else count
    gains = (np.square(after) / np.arange(count, 0, -1))[: max(1, allowed)]
    first = int(np.argmax(gains >= gains.max() - (CERTAIN * scale) ** 2))
    return beside(weights, first, scale, least=OFTEN_CERTAIN)


def resolution(clocks: dict[Resolution, Noisy]) -> Resolution:
    """Return the coarsest resolution: most moments are the first second of a day, hour or minute.

    Each answer has the weight before, at and after the first second.

    >>> at_midnight = np.array([0.0, 99.0, 1.0])
    >>> resolution({"day": at_midnight, "hour": at_midnight, "minute": at_midnight})
    'day'
    """
    for found, weights in clocks.items():
        if float(weights[1]) >= MOST_MOMENTS * float(weights.sum()) > 0:
            return found
    return "second"


def apart(column: Timestamp, taken: Collection[str]) -> Timestamp:
    """Name a column's modelled parts so that they do not have the names of others."""
    parts = column.part_names
    while any(part.lower() in taken for part in parts):
        parts = tuple(f"{part}_" for part in parts)
    return column if parts == column.part_names else replace(column, parts=parts)


def _second(year: int, months: int = 0) -> float:
    """Return the first second of a month, counted from a year's first."""
    return datetime(year + months // 12, 1 + months % 12, 1, tzinfo=UTC).timestamp()
