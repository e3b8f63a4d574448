"""Bins of a drafted column of numbers: about as many public rows in each, and none across a gap.

Numbers are drawn uniformly within a bin.  So a bin must not hold a few payments of -5 and reach to
salaries of 1,000, and none should hold numbers of both signs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.columns import LARGEST

if TYPE_CHECKING:
    from understudy.schema.encoding.reading import Array

BINS = 20
FEW, SEEN = 20, 10
"""Up to 20 distinct numbers, each in 10 rows on average, have a bin each."""
FAR = 4.0
"""An outermost bin more than 4 times as wide as the next one is cut again; a number is far from
all others, such as -999 for none, if the gap is more than a quarter of their range; and a gap is
wide if it is 4 times as wide as most are, and as those in its bin would be on average."""
TAILS = (0.01, 0.001)
"""The shares of rows that are cut off in an outermost bin.  Bins of fewer rows than the first
share are not searched for gaps: between a few rows there always are some."""
WIDE, EMPTY = 0.1, 0.5
"""A wide gap is more than a tenth of its bin, and a bin is cut if they are more than half of it."""
GAPS = 10
"""The most gaps that have a bin of their own: those in which most rows would be drawn."""
SLIVER = 1e-3
"""A few rows on one side of 0 have no bin of their own if it would be narrower than this share of
the bin that is cut: -1e-17 is an error of rounding."""


def cut(
    read: Array, low: float, high: float, *, whole: bool, digits: int | None
) -> tuple[float, ...]:
    """Cut a range where about as many rows lie in each bin, and around numbers that are apart.

    These are common ones, those far from all others if seen often, or all if there are few.  All
    edges are 0, values of the table, or as near to one as they are written, so that nothing
    overflows.

    >>> cut(np.repeat([0.0, 0.05, 0.19], 20), 0.0, 0.19, whole=False, digits=2)
    (0.0, 0.01, 0.05, 0.06, 0.19, 0.2)
    """
    values, counts = np.unique(read, return_counts=True)
    few = len(values) <= FEW and len(read) >= SEEN * len(values)
    common = values if few else values[_apart_from_others(values, counts)]
    parts = np.zeros(0) if few else np.linspace(0, 1, BINS + 1)[1:-1]
    edges = [low, *np.quantile(read, parts, method="lower"), *common, high]
    if whole and max(abs(low), abs(high)) < LARGEST:
        edges += [*(common + 1)[common < high], *_beside(values, common, values + 1)]
        # The last bin has both of its edges.
        edges += [high - 0.5] if high in common else []
    elif digits is not None:
        after = np.round(values + 10.0**-digits, digits)
        edges += [*after[np.isin(values, common)], *_beside(values, common, after)]
    elif not whole:
        edges += values[1:][np.isin(values[:-1], common)].tolist()
        edges += [values[-2] / 2 + high / 2] if high in common and len(values) > 1 else []
    if not few:
        edges += _tails(read, np.unique(edges))
        edges += _zero(read, np.unique(edges))
        after = _after(values, whole=whole, digits=digits)
        found = _gaps(values, counts, np.unique(edges), after)
        edges += found
        if high in found and counts[-1] >= SEEN:
            # The last bin has both of its edges, and would be the gap and the number after it.
            beside = np.nextafter(high, -np.inf) if digits is None else after[-1]
            edges.append(high - 0.5 if whole else beside)
    return tuple(np.unique(edges).tolist())


def _after(values: Array, *, whole: bool, digits: int | None) -> Array:
    """Return the next number after each that the column may have."""
    beyond = np.nextafter(values, np.inf)
    if digits is not None:
        return np.round(values + 10.0**-digits, digits)
    return np.maximum(values + 1, beyond) if whole else beyond


def _beside(values: Array, common: Array, after: Array) -> list[float]:
    """Return the edges that leave the neighbours of a first or last number where they are."""
    first = values[1:2] if values[0] in common else ()
    last = after[-2:-1] if values[-1] in common else ()
    return [*first, *last]


def _apart_from_others(values: Array, counts: Array) -> Array:
    """Whether each number has more rows than a bin, or is the first or last and far from others.

    >>> _apart_from_others(np.array([-999.0, 1, 2, 3]), np.array([30, 5000, 200, 200])).tolist()
    [True, True, False, False]
    """
    found: Array = counts > max(SEEN, counts.sum() / BINS)
    if len(values) > 2:
        with np.errstate(over="ignore"):
            gaps, rest = np.diff(values)[[0, -1]], values[[-1, -2]] - values[[1, 0]]
        found[[0, -1]] |= (counts[[0, -1]] > SEEN) & (gaps > rest / FAR)
    return found


def _tails(read: Array, edges: Array) -> list[float]:
    """Return where outermost bins are cut that are much wider than those beside them.

    >>> _tails(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 900.0]), np.array([0.0, 1.0, 2.0, 3.0, 900.0]))
    [4.0, 4.0]
    """
    if len(edges) <= 2:
        return []
    with np.errstate(over="ignore"):
        wide = np.diff(edges)
    below = TAILS if wide[0] / FAR > wide[1] else ()
    above = [1 - tail for tail in TAILS] if wide[-1] / FAR > wide[-2] else ()
    found: list[float] = np.quantile(read, [*below, *above], method="lower").tolist()
    return found


def _zero(read: Array, edges: Array) -> list[float]:
    """Return 0 where there are numbers on both sides, and it cuts more than a sliver of rows.

    >>> _zero(np.array([-4.0, -1.0, 9.0]), np.array([-4.0, 9.0]))
    [0.0]
    >>> _zero(np.array([-1e-17, 1.0, 9.0]), np.array([-1e-17, 9.0]))
    []
    """
    place = int(np.searchsorted(edges, 0.0))
    if not read.min() < 0 < read.max() or edges[place] == 0:
        return []
    low, high = edges[place - 1 : place + 1].tolist()
    end = read <= high if place == len(edges) - 1 else read < high
    rows = read[(low <= read) & end]
    below = int((rows < 0).sum())
    for width, count, other in ((-low, below, high), (high, len(rows) - below, -low)):
        if width < SLIVER * other and count < SEEN:
            return []
    return [0.0] if len(rows) else []


def _gaps(values: Array, counts: Array, edges: Array, after: Array) -> list[float]:
    """Return where wide gaps begin and end, in bins that they leave empty for most of their width.

    >>> values = np.array([1.0, 2.0, 3.0, 4.0, 900.0, 901.0])
    >>> _gaps(values, np.full(6, 50), np.array([1.0, 3.0, 901.0]), values + 1)
    [5.0, 900.0]
    """
    if len(values) < 2:
        return []
    # Between two neighbours among numbers and edges; so no gap lies in two bins.
    points = np.union1d(values, edges)
    begins = points.copy()
    begins[np.isin(points, values)] = after
    begins, ends = begins[:-1], points[1:]
    of = np.searchsorted(edges[1:-1], points[:-1], side="right")
    rows = np.bincount(np.searchsorted(edges[1:-1], values, side="right"), counts, len(edges) - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        gaps, width = ends - begins, np.diff(edges)[of]
        wide = gaps > np.maximum(WIDE, FAR / np.maximum(rows[of], 1)) * width
        wide &= gaps > FAR * np.median(np.diff(values))
        empty = np.bincount(of, np.where(wide, gaps, 0.0), len(edges) - 1)[of]
        wide &= (empty > EMPTY * width) & (rows[of] >= max(SEEN, TAILS[0] * counts.sum()))
        worst = np.argsort(np.where(wide, -rows[of] * gaps / width, np.inf), kind="stable")
    found = worst[: min(GAPS, int(wide.sum()))]
    return [*begins[found].tolist(), *ends[found].tolist()]


def for_single(edges: tuple[float, ...], read: Array) -> tuple[float, ...]:
    """Move edges a little, so that 32-bit floats are on the same side as the decimals they were.

    >>> for_single((0.1, 0.2, 0.5, 0.6), np.array([0.1, 0.5]))
    (0.1, 0.2, 0.5, 0.6)
    >>> for_single((0.3, 0.7), np.array([0.3, 0.7])), float(np.float32(0.7))
    ((0.3, 0.7), 0.699999988079071)
    >>> for_single((0.7, 0.8), np.array([0.7, 0.8]))
    (0.6999999, 0.8000001)
    """
    exact, places = np.array(edges), single_places(read)
    step, off = 10.0**-places, exact.astype(np.float32) - exact
    moved = np.where(off < 0, np.round(exact - step, places), exact)
    if exact[-1] == read.max():
        moved[-1] = np.round(exact[-1] + step, places) if off[-1] > 0 else exact[-1]
    return tuple(moved.tolist())


def single_places(read: Array) -> int:
    """Return the decimals to which 32-bit floats as large as these are surely right."""
    return -math.ceil(math.log10(np.abs(read).max() * 2.0**-23))
