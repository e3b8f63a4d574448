"""Ranges and bins of numbers and moments, from noisy weights over cells of a public grid.

The grid is fixed: numbers by sign and binary exponent, moments by years.  Cells that stand out of
their noise are cut in halves, or into months and then days, and asked about again.  All here is
post-processing.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.schema.columns.timestamp import Resolution

    Noisy = NDArray[np.float64]

STANDS_OUT = 4.0
"""A cell stands out of its noise if it weighs this many times as much, or more among many cells."""
BY_CHANCE = 5e-4
"""The probability that noise alone makes any one cell of a grid stand out by itself, at most."""
WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Where no cell stands out alone, this many neighbours may do so together."""
MOST_TOGETHER, BESIDE = 4, 2.5
"""Beside a range, as many cells are looked at together, and belong to it if they weigh this many
times their noise: what is left out would be clipped."""
NEAR_ZERO = 1 / 8
"""A range that begins at a smaller share of its end begins at 0."""
EXPONENTS = range(-20, 51)
MOST_HALVES = 5
"""A cell is cut in halves at most so many times: 32 parts."""
MOST_CELLS = 600
"""As many cells are asked about at most; a long range has coarser ones."""
YEARS = range(1700, 2201)
DECADES = range(1900, 2060, 10)
DAY = 86400.0
CERTAIN = 3.0
"""Days weigh something if together they have as many times their noise."""
OFTEN_CERTAIN = 4.5
"""The same of sums that are looked at for every day: by chance alone, one of 130 of them exceeds 3
times its noise in one table of fifty, and this in one of ten thousand."""
MOST_MOMENTS = 0.75
"""The share of moments at the first second of a day that makes it a table of days."""
FIRST_SECOND = (0.0, 1.0)
"""The edges of the first second of a day, an hour or a minute."""


def powers(*, whole: bool) -> tuple[float, ...]:
    """Return the coarse grid of numbers: 0, and powers of two on both sides of it.

    Whole numbers may be years, which lie close together: they are also cut by decades.

    >>> powers(whole=True)[48:54]
    (-4.0, -2.0, -1.0, 0.0, 1.0, 2.0)
    """
    sizes = [2.0**e for e in EXPONENTS if e >= 0 or not whole]
    decades = map(float, DECADES if whole else ())
    return (*(-size for size in reversed(sizes)), 0.0, *sorted({*sizes, *decades}))


def span(weights: Noisy, scale: float) -> tuple[int, int] | None:
    """Return the first and the last cell between edges that stands out; None if none does.

    Where people are spread thinly, as birthdays are over years, cells stand out with neighbours.

    Cell i lies between edge i − 1 and edge i; what lies beyond all edges counts as the outermost.
    """
    inner = _inner(weights)
    found = _standing_out(inner, scale)
    if found is None:
        return None
    low, high = found
    return low - _beside(inner[:low][::-1], scale), high + _beside(inner[high + 1 :], scale)


def _inner(weights: Noisy) -> Noisy:
    """Return the weights between edges; what lies beyond them is in the outermost."""
    inner = weights[1:-1].copy()
    inner[0] += weights[0]
    inner[-1] += weights[-1]
    return inner


def _standing_out(inner: Noisy, scale: float) -> tuple[int, int] | None:
    """Return the first and the last cell that stands out, alone or with neighbours."""
    found, width = np.zeros(0, dtype=np.intp), 1
    # One of 500 years weighs 4 times its noise in one table of sixty.
    least = max(STANDS_OUT, NormalDist().inv_cdf(1 - BY_CHANCE / len(inner)))
    for width in WIDTHS:
        sums = np.convolve(inner, np.ones(min(width, len(inner))), "valid")
        (found,) = np.nonzero(sums > least * scale * math.sqrt(width))
        if len(found) > 0:
            break
    if len(found) == 0:
        return None
    return int(found[0]), min(int(found[-1]) + width, len(inner)) - 1


def _beside(weights: Noisy, scale: float) -> int:
    """Return how many cells beside a range belong to it: those that stand out together."""
    reached = 0
    for count in range(1, len(weights) + 1):
        here = weights[reached:count]
        if len(here) > MOST_TOGETHER:
            break
        if float(here.sum()) > BESIDE * scale * math.sqrt(len(here)):
            reached = count
    return reached


def halved(
    edges: Sequence[float], weights: Noisy, scale: float, *, whole: bool
) -> tuple[float, ...] | None:
    """Cut the cells that stand out in halves, as often as their parts still would; None if none."""
    ends = span(weights, scale)
    if ends is None:
        return None
    near = 0 < edges[ends[0]] <= NEAR_ZERO * edges[ends[1] + 1]
    finer: set[float] = set()
    for most in range(MOST_HALVES, -1, -1):
        finer = {0.0} if near else set()
        for cell in range(ends[0], ends[1] + 1):
            worth = float(weights[cell + 1]) / (STANDS_OUT * scale)
            halves = min(most, int(math.log2(max(1.0, worth))))
            cuts = np.linspace(edges[cell], edges[cell + 1], 2**halves + 1).tolist()
            finer |= {cut for cut in cuts if not whole or cut == int(cut)}
        if len(finer) <= MOST_CELLS:
            break
    return tuple(sorted(finer))


def trimmed(edges: Sequence[float], weights: Noisy, scale: float) -> tuple[int, int]:
    """Return the first and the last cell of a range: those that stand out, or else all.

    A range that begins near 0 begins at 0: that costs nothing, and loses nobody.
    """
    first, last = span(weights, scale) or (0, len(edges) - 2)
    near = edges[0] == 0 < edges[first] <= NEAR_ZERO * edges[last + 1]
    return (0 if near else first), last


def equal_mass(
    edges: Sequence[float], weights: Noisy, scale: float, *, bins: int
) -> tuple[float, ...]:
    """Return edges of bins of about equal weight, within the range that stands out.

    >>> equal_mass((0.0, 1.0, 2.0, 3.0, 4.0), np.array([0, 10, 10, 10, 10, 0.0]), 0.1, bins=2)
    (0.0, 2.0, 4.0)
    """
    first, last = trimmed(edges, weights, scale)
    inner = np.maximum(weights[1:-1], 0.0)[first : last + 1]
    cut = np.asarray(edges[first : last + 2], dtype=np.float64)
    reached = np.concatenate(([0.0], np.cumsum(inner)))
    whole = max(float(reached[-1]), np.finfo(float).tiny)
    wanted = [int(np.searchsorted(reached, whole * i / bins - 1e-9)) for i in range(1, bins)]
    kept = sorted({0, len(cut) - 1, *(min(place, len(cut) - 1) for place in wanted)})
    return tuple(float(cut[place]) for place in kept)


def years() -> tuple[float, ...]:
    """Return the coarse grid of moments: the first second of each year."""
    return tuple(_second(year, 1) for year in YEARS)


def months(weights: Noisy, scale: float) -> tuple[float, ...] | None:
    """Cut the years between the first and the last that stands out into months; None if none.

    Many years are cut into quarters, halves, or not at all.
    """
    ends = span(weights, scale)
    if ends is None:
        return None
    first, last = (YEARS[0] + place for place in ends)
    step = next(n for n in (1, 3, 6, 12) if 12 / n * (last - first + 1) <= MOST_CELLS)
    starts = [
        _second(year, month) for year in range(first, last + 1) for month in range(1, 13, step)
    ]
    return (*starts, _second(last + 1, 1))


def days(edges: Sequence[float], weights: Noisy, scale: float) -> tuple[float, ...]:
    """Cut both ends of what stands out into days; cells between them stay as they are.

    Cells beside those that stand out may be noise, so the ends reach from there to the first and
    the last one that does.
    """
    first, last = trimmed(edges, weights, scale)
    low, high = _standing_out(_inner(weights), scale) or (first, last)
    finer = set(edges[first : last + 2])
    for cell in {*range(first, low + 1), *range(high, last + 1)}:
        finer |= set(np.arange(edges[cell], edges[cell + 1], DAY).tolist())
    return tuple(sorted(finer))


def ends(edges: Sequence[float], weights: Noisy, scale: float) -> tuple[str, str]:
    """Return the first and the last day, given weights of days at both ends of a range.

    >>> weights = np.zeros(33)
    >>> weights[10:17] = 50.0
    >>> ends(tuple(DAY * day for day in range(32)), weights, 1.0)
    ('1970-01-10', '1970-01-16')
    """
    inner = weights[1:-1]
    first = _begins(inner[: _daily(edges)], scale)
    rest = list(reversed(edges[first:]))
    last = len(inner) - 1 - _begins(inner[first:][::-1][: _daily(rest)], scale)
    low, high = (datetime.fromtimestamp(s, UTC) for s in (edges[first], edges[last + 1] - 1))
    return f"{low:%Y-%m-%d}", f"{high:%Y-%m-%d}"


def _daily(edges: Sequence[float]) -> int:
    """Return how many cells, from the first one on, are days."""
    longer = np.abs(np.diff(np.asarray(edges))) > DAY
    return int(np.argmax(longer)) if longer.any() else len(longer)


def _begins(weights: Noisy, scale: float) -> int:
    """Return the cell with which weights begin, where those before it may be noise.

    That is the likeliest place of a step up from 0, if it is much likelier than none, and unless
    those before it weigh together far more than their noise: then some of them are people.
    """
    count = len(weights)
    before = np.concatenate(([0.0], np.cumsum(weights)))[:count]
    after = np.maximum(weights.sum() - before, 0.0)
    heavy = before > OFTEN_CERTAIN * scale * np.sqrt(np.arange(count))
    allowed = int(np.argmax(heavy)) if heavy.any() else count
    gains = (np.square(after) / np.arange(count, 0, -1))[: max(1, allowed)]
    best = int(np.argmax(gains)) if count else 0
    return best if best and gains[best] - gains[0] > (CERTAIN * scale) ** 2 else 0


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


def _second(year: int, month: int) -> float:
    return datetime(year, month, 1, tzinfo=UTC).timestamp()
