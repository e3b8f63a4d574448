"""Ranges and bins of numbers, from noisy weights over cells of a public grid.

The grid is fixed: sign and binary exponent.  Cells that stand out of their noise are cut in halves
and asked about again.  All here is post-processing.

Where people are spread thinly, as birthdays are over decades, no single cell stands out, or only
one that is lucky.  So intervals of all lengths are compared: the one that stands out most is found
first, then as far as its ends are in doubt, then others beside it and far from it.  A range that is
too wide costs some accuracy; one that is too narrow clips people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Noisy = NDArray[np.float64]

STANDS_OUT = 4.0
"""A cell stands out of its noise if it weighs this many times as much, or more among many cells."""
BY_CHANCE = 2e-4
"""The probability that noise alone makes any one cell of a grid stand out by itself, at most.  That
any of its intervals does is some times as likely."""
DOUBT = 3.0
"""The ends of a range are in doubt as far as intervals stand out almost as much: their scores may
be this far below the best one's, in squares."""
BESIDE, FEW_TOGETHER = 3.0, 4
"""Cells beside a range belong to it if together they weigh this many times their noise: what is
left out would be clipped.  As many are looked at together as the range is long, or these few."""
NEAR_ZERO = 1 / 8
"""A range that begins at a smaller share of its end begins at 0."""
EXPONENTS = range(-20, 51)
MOST_HALVES = 5
"""A cell is cut in halves at most so many times: 32 parts."""
MOST_CELLS = 600
"""As many cells are asked about at most; a long range has coarser ones."""
DECADES = range(1900, 2060, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Cells that stand out together: from ``first`` to ``last``, with doubt about their ends."""

    first: int
    low: int
    """The last cell with which the range may begin."""
    high: int
    """The first cell with which it may end."""
    last: int


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
    found = standing(weights, scale)
    return None if found is None else (found.first, found.last)


def standing(weights: Noisy, scale: float) -> Standing | None:
    """Return the cells that stand out, alone or together; None if none do."""
    inner = between(weights)
    # One of 500 years weighs 4 times its noise in one table of sixty, and intervals more often.
    least = max(STANDS_OUT, NormalDist().inv_cdf(1 - BY_CHANCE / len(inner))) * scale
    best = _heaviest(inner, scale, least)
    if best is None:
        return None
    first, low = _reach(inner, best, scale, least)
    ends = len(inner) - 1
    mirrored = _mirrored(best, ends)
    last, high = (ends - place for place in _reach(inner[::-1], mirrored, scale, least))
    return Standing(first=first, low=low, high=high, last=last)


def between(weights: Noisy) -> Noisy:
    """Return the weights between edges; what lies beyond them is in the outermost."""
    inner = weights[1:-1].copy()
    inner[0] += weights[0]
    inner[-1] += weights[-1]
    return inner


def _heaviest(inner: Noisy, scale: float, least: float) -> Standing | None:
    """Return the interval that stands out most, with doubt about its ends; None if none does."""
    reached, count = np.concatenate(([0.0], np.cumsum(inner))), len(inner)
    scores = reached[None, 1:] - reached[:-1, None]
    scores *= _roots(max(1024, 1 << count.bit_length()))[:count, :count]
    low, high = (int(place) for place in np.unravel_index(np.argmax(scores), scores.shape))
    best = float(scores[low, high])
    if best <= least:
        return None
    almost = math.sqrt(max(0.0, best**2 - (DOUBT * scale) ** 2))
    first = int(np.argmax(scores[:, high] >= almost))
    last = len(inner) - 1 - int(np.argmax(scores[low, ::-1] >= almost))
    return Standing(first=first, low=low, high=high, last=last)


@lru_cache(maxsize=2)
def _roots(size: int) -> Noisy:
    """Return one over the root of the length of the interval from each cell to each other; or 0."""
    lengths = np.arange(1, size + 1)[None, :] - np.arange(size)[:, None]
    found: Noisy = np.where(lengths > 0, 1 / np.sqrt(np.maximum(lengths, 1)), 0.0)
    return found


def _mirrored(found: Standing, ends: int) -> Standing:
    """Return the same cells, counted from the other end."""
    first, low, high, last = (
        ends - place for place in (found.last, found.high, found.low, found.first)
    )
    return Standing(first=first, low=low, high=high, last=last)


def _reach(cells: Noisy, found: Standing, scale: float, least: float) -> tuple[int, int]:
    """Return the first cell of a range and the last with which it may begin.

    Cells before what was found belong to it if they stand out, beside it or elsewhere.
    """
    first, low = found.first, found.low
    while first > 0:
        most = max(FEW_TOGETHER, found.last + 1 - first)
        near = beside(cells, first, scale, least=BESIDE, most=most)
        others = [(near, near)] if near < first else []
        far = _heaviest(cells[:first], scale, least)
        others += [] if far is None else [(far.first, far.low)]
        if not others:
            break
        first, low = min(others)
    return first, low


def beside(cells: Noisy, first: int, scale: float, *, least: float, most: int | None = None) -> int:
    """Return the first cell of a range, given one to which those right before it may belong.

    They do if together they weigh so many times their noise; at most so many are looked at.
    """
    while first > 0:
        sums = np.cumsum(cells[:first][::-1][:most])
        scores = sums / (scale * np.sqrt(np.arange(1, len(sums) + 1)))
        if scores.max() <= least:
            break
        first -= 1 + int(np.argmax(scores))
    return first


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

    A cell of more than a bin's weight, such as that of a number which many have, is a bin.

    >>> equal_mass((0.0, 1.0, 2.0, 3.0, 4.0), np.array([0, 10, 10, 10, 10, 0.0]), 0.1, bins=2)
    (0.0, 2.0, 4.0)
    >>> equal_mass((0.0, 1.0, 2.0, 3.0, 4.0), np.array([0, 30, 0, 30, 1, 0.0]), 0.1, bins=3)
    (0.0, 1.0, 2.0, 3.0, 4.0)
    """
    first, last = trimmed(edges, weights, scale)
    inner = np.maximum(weights[1:-1], 0.0)[first : last + 1]
    cut = np.asarray(edges[first : last + 2], dtype=np.float64)
    reached = np.concatenate(([0.0], np.cumsum(inner)))
    whole = max(float(reached[-1]), np.finfo(float).tiny)
    wanted = [int(np.searchsorted(reached, whole * i / bins - 1e-9)) for i in range(1, bins)]
    heavy = np.flatnonzero(inner > whole / bins)
    wanted += [*heavy.tolist(), *(heavy + 1).tolist()]
    kept = sorted({0, len(cut) - 1, *(min(place, len(cut) - 1) for place in wanted)})
    return tuple(float(cut[place]) for place in kept)
