"""Rare codes: what their counts are expected to be, given noisy ones and the mean of their group.

Counts of the codes that are merged into one are their group's mean m times t, where t follows one
of a few shapes of mean 1: all alike, or gamma distributions down to a few codes that have nearly
everything (hours of work, where 20 and 35 are common and 21 to 34 rare).  Each shape is as likely
as the noisy counts of a column's rare codes say; what is expected is the mean over shapes.  Where
noise hides all, shapes are equally likely, codes nearly alike, and a code that stands out of the
noise keeps nearly all of its count.  All here is post-processing; tied by
``tests/synth/measure/test_rare_codes.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from understudy.synth.measure.noise_levels import MEAN_SIZE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.budget import Currency

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

GAMMA_SHAPES = (8.0, 3.0, 1.5, 0.7, 0.3, 0.1)
"""The shapes of gamma distributions that counts may have, from nearly alike to few codes of all."""
STEP, LEAST, MOST = 1.05, -200, 85
"""Multiples of the mean are powers of a step: from 1/17,000 to 63."""
AT_ONCE = 10_000
"""The number of codes that are looked at together, for their memory's sake."""


@cache
def _shapes() -> tuple[Floats, Floats]:
    """Return multiples of the mean, and the probability of each, shape by shape."""
    times = STEP ** np.arange(LEAST, MOST + 1, dtype=np.float64)
    found = [np.where(times == 1.0, 1.0, 0.0)]
    for shape in GAMMA_SHAPES:
        # On a grid of logarithms a density has a factor of its argument more.
        logs = shape * np.log(times) - shape * times
        likely = np.exp(logs - logs.max())
        likely /= likely.sum()
        # The grid has the smallest multiples as one, so that the mean is still 1.
        likely /= max(1.0, float(likely @ times))
        likely[0] += 1 - likely.sum()
        found.append(likely)
    return times, np.array(found)


@dataclass(frozen=True, slots=True, eq=False)
class RareCodes:
    """What is known of the counts of a column's rare codes."""

    counts: Floats
    """The expected count of every rare code, 0 for others."""
    means: Floats
    """The mean of the group of every rare code that is not the only one of its group."""
    likely: Floats
    """How likely each shape is: all alike, then those of `GAMMA_SHAPES`."""

    def error(self, deviation: float) -> float:
        """Return about the L1 error of the counts, if they are measured with this noise."""
        deviations = (0.0, *(1 / math.sqrt(shape) for shape in GAMMA_SHAPES))
        total = 0.0
        for share, each in zip(self.likely, deviations, strict=True):
            spread = each * self.means
            left = spread * deviation / np.sqrt(spread**2 + deviation**2 + 1e-300)
            total += float(share) * float(np.minimum(MEAN_SIZE * left, 2 * self.means).sum())
        return total


def rare_codes(
    noisy: Floats, codes: Ints, rare: Mask, *, scale: float, currency: Currency
) -> RareCodes:
    """Return what noisy counts say of rare codes, given the code that each is merged into.

    >>> from understudy.budget import Currency
    >>> noisy, codes = np.array([9.0, 31.0, 11.0, 10.0, 9.0]), np.zeros(5, dtype=np.int64)
    >>> rare_codes(noisy, codes, codes == 0, scale=2.0, currency=Currency.GDP).counts.round(1)
    array([ 9.1, 30.3, 10.9, 10. ,  9.1])
    >>> rare_codes(noisy, codes, codes == 0, scale=20.0, currency=Currency.GDP).counts.round(1)
    array([11.7, 14.9, 11.9, 11.8, 11.7])
    """
    held = np.maximum(np.bincount(codes, weights=rare), 1.0)
    mean = np.maximum(np.bincount(codes, weights=np.where(rare, noisy, 0.0)), 0.0) / held
    several = rare & (held > 1)[codes] & (mean > 0)[codes]
    counts, means = np.where(rare, mean[codes], 0.0), np.where(several, mean[codes], 0.0)
    times, shapes = _shapes()
    places, logs = np.flatnonzero(several), np.zeros(len(shapes))
    found = np.zeros((len(shapes), len(places)))
    for begin in range(0, len(places), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        at = places[part]
        apart = np.abs(noisy[at, None] - means[at, None] * times) / scale
        fits = -apart if currency.noise == "laplace" else -(apart**2) / 2
        best = fits.max(axis=1)
        each = np.exp(fits - best[:, None])
        likely = np.maximum(shapes @ each.T, 1e-300)
        logs += (np.log(likely) + best).sum(axis=1)
        found[:, part] = means[at] * ((shapes * times) @ each.T) / likely
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    counts[places] = weights @ found
    return RareCodes(counts=counts, means=means, likely=weights)
