"""Likeliest: non-negative numbers that agree best with noisy ones, and with noisy sums of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """A noisy number, and the standard deviation of its noise."""

    value: float
    error: float


def likeliest(counts: Floats, sums: Floats, *, error: Floats, totals: list[Noisy]) -> Floats:
    """Minimise the whitened squares of noisy counts and of noisy sums of them, non-negative.

    By Lawson and Hanson's active sets: variables become free one by one, and are fixed at 0 again
    where the optimum of the free ones is negative.
    """
    weights = np.array([total.error**-2.0 for total in totals])
    curve = np.diag(error**-2.0) + (sums.T * weights) @ sums
    slope = counts / error**2 + sums.T @ (weights * np.array([t.value for t in totals]))
    found, free = np.zeros(len(counts)), np.zeros(len(counts), dtype=bool)
    for _ in range(10 * len(counts)):
        gain = np.where(free, 0.0, slope - curve @ found)
        if gain.max() <= 1e-12 * np.abs(slope).max():
            break
        free[int(np.argmax(gain))] = True
        while True:
            best = np.zeros(len(counts))
            best[free] = np.linalg.solve(curve[np.ix_(free, free)], slope[free])
            if (best[free] > 0).all():
                break
            # As far towards the optimum as all stay non-negative.
            down = free & (best <= 0)
            found = found + float((found[down] / (found[down] - best[down])).min()) * (best - found)
            free &= found > 1e-9 * error
        found = best
    return found
