"""How many people of each size are to be expected, where noise hides the larger classes.

People with many rows are few in each class, so that noise hides them, and have much of the rows.
What is known of them comes from the shape of all classes together: the number of people with one
row is free, and the others follow one of a thousand shapes (lognormal, gamma, falling with a power,
even up to a largest size, or all in one class, as in a panel).  Each shape has a likelihood, given
the noisy counts, the noisy number of people and, once it is asked, that of rows.  Before any count,
a shape with a larger mean size is less likely, and nobody having several rows is much likelier than
all shapes together: so noise alone makes up no people with many rows.  Of the shapes that remain,
the middle half by the number of rows is averaged.  All here is post-processing; tied by
``tests/synth/measure/test_sizes.py``.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MEDIANS = np.geomspace(0.25, 4096, 57)
DEVIATIONS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.05, 1.2, 1.4, 1.6, 1.8, 2.0)
"""The standard deviations of logarithms of sizes."""
GAMMA_SHAPES = (1, 2, 4, 10)
"""Whole ones; that of a half is added."""
POWERS = (1.2, 1.5, 2.0, 3.0)
"""The powers that tails fall with, where a few people have much of the rows."""
MOST_EVEN = 2**11
"""The largest size up to which people may be spread evenly over sizes."""
FEWEST = 1e-3
"""A shape of which less than this share has several rows says nothing of these."""
LARGER = 2.0
"""A shape is less likely beforehand by this power of its mean size."""
ALONE = 6.0
"""That nobody has several rows is likelier beforehand than all shapes together, by this power of e:
in many tables a row is a person, and then noise must not say otherwise."""
MIDDLE = (0.25, 0.75)
_ERF = np.vectorize(math.erf, otypes=[float])


@cache
def shapes(starts: tuple[int, ...]) -> Floats:
    """Return the shares of people with several rows in each class but the first, shape by shape.

    >>> shapes((1, 2, 3, 4, 5)).sum(axis=1).round(6).min()
    np.float64(1.0)
    """
    edges = np.append(np.array(starts, dtype=np.float64), np.inf) - 0.5
    logs = [(np.log(edges) - np.log(MEDIANS)[:, None]) / each for each in DEVIATIONS]
    scaled = (edges - edges[0]) / MEDIANS[:, None]
    even = [np.minimum(edges, end) for end in edges[2:-1] if end < MOST_EVEN]
    reached = [
        *((1 + _ERF(each / math.sqrt(2))) / 2 for each in logs),
        _ERF(np.sqrt(scaled / 2)),
        *(_gamma_below(shape, shape * scaled) for shape in GAMMA_SHAPES),
        *(1 - (1 + scaled) ** -power for power in POWERS),
        np.array(even).reshape(-1, len(edges)),
    ]
    several = np.diff(np.vstack(reached), axis=1)[:, 1:]
    alike = np.eye(len(starts) - 1)
    several = np.vstack([several[several.sum(axis=1) > FEWEST], alike])
    return np.asarray(several / several.sum(axis=1, keepdims=True), dtype=np.float64)


def _gamma_below(shape: int, x: Floats) -> Floats:
    """Return the distribution function of a gamma distribution, whose shape is a whole number.

    >>> _gamma_below(2, np.array([0.0, 1.0, np.inf])).round(4).tolist()
    [0.0, 0.2642, 1.0]
    """
    finite = np.minimum(x, 700.0)
    terms = [finite**k / math.factorial(k) for k in range(shape)]
    return np.asarray(1 - np.exp(-finite) * np.sum(terms, axis=0), dtype=np.float64)


def expected(
    counts: Floats,
    *,
    error: float,
    starts: tuple[int, ...],
    means: Floats,
    totals: Floats,
    alone: float = ALONE,
) -> Floats:
    """Return the expected number of people in each class.

    Each of ``totals`` is a noisy sum of all classes: its value, its noise, and the weight of each
    class in it.  The mean sizes of classes are ``means``; how much likelier it is beforehand that
    nobody has several rows is ``alone``, a power of e.
    """
    several = np.vstack([shapes(starts), np.zeros(len(starts) - 1)])
    values, errors, weights = totals[:, 0], totals[:, 1], totals[:, 2:]
    # Least squares in two unknowns: the people with one row, and those with several.
    one, more = weights[:, 0], several @ weights[:, 1:].T
    curves = (
        error**-2.0 + float(np.square(one / errors).sum()),
        (one * more / errors**2).sum(axis=1),
    )
    last = np.square(several).sum(axis=1) * error**-2.0 + np.square(more / errors).sum(axis=1)
    first = counts[0] * error**-2.0 + float((one * values / errors**2).sum())
    slope = several @ counts[1:] * error**-2.0 + (more * values / errors**2).sum(axis=1)
    solved = _non_negative(curves[0], curves[1], np.maximum(last, error**-4.0), first, slope)
    gain = first * solved[0] + slope * solved[1]
    gain -= (curves[0] * solved[0] ** 2 + last * solved[1] ** 2) / 2
    gain -= curves[1] * solved[0] * solved[1]
    rows = means[0] * solved[0] + (several @ means[1:]) * solved[1]
    sizes = np.maximum(1.0, rows / np.maximum(1.0, solved[0] + solved[1]))
    gain[:-1] -= LARGER * np.log(sizes[:-1]) + alone + math.log(max(1, len(several) - 1))
    likely = _middle(np.exp(gain - gain.max()), rows)
    return np.append(likely @ solved[0], (likely * solved[1]) @ several)


def _non_negative(
    a: float, b: Floats, c: Floats, first: float, slope: Floats
) -> tuple[Floats, Floats]:
    """Solve a·x + b·y = first and b·x + c·y = slope, or the best where one would be negative."""
    det = a * c - b**2
    x, y = (first * c - slope * b) / det, (a * slope - b * first) / det
    x = np.where(y < 0, first / a, x)
    y = np.where(x < 0, np.maximum(0.0, slope / c), np.maximum(0.0, y))
    return np.maximum(0.0, x), y


def _middle(likely: Floats, rows: Floats) -> Floats:
    """Return the weights of the middle half, in the order of rows."""
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(likely[order]) / likely.sum()
    low, high = MIDDLE
    within = np.minimum(ends, high) - np.maximum(np.append(0.0, ends[:-1]), low)
    weights = np.empty(len(rows))
    weights[order] = np.maximum(0.0, within) / (high - low)
    return weights
