"""From noisy counts to whole ones: projection, rounding, and dealing rows to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def simplex(values: NDArray[np.float64], *, total: float) -> NDArray[np.float64]:
    """Give the nearest non-negative numbers (in L2) that sum to a total.

    >>> simplex(np.array([3.0, 1.0, -2.0]), total=3).tolist()
    [2.5, 0.5, 0.0]
    """
    if total <= 0:
        return np.zeros(len(values))
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(falling > excess)[-1]
    projected: NDArray[np.float64] = np.maximum(values - excess[last], 0)
    return projected


def whole(
    counts: NDArray[np.float64], *, total: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Round counts to whole ones with the same total, each up or down by less than one.

    The remainders go by systematic sampling: a count is rounded up with the probability
    of its own fraction.

    >>> int(whole(np.array([0.5, 0.25, 0.25]), total=1, rng=np.random.default_rng(0)).sum())
    1
    """
    # Cumulative sums, shifted by one uniform number and floored, differ by whole numbers
    # that are each count's floor or ceiling; fixing the last makes the total exact.
    edges = np.floor(np.cumsum(counts) + rng.random())
    edges[-1:] = total
    steps = np.diff(np.minimum(edges, total), prepend=0.0)
    return steps.astype(np.int64)


def deal(rows: int, *, people: int, cap: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Deal rows evenly to people in a random order, at most ``cap`` each.

    >>> np.bincount(deal(5, people=2, cap=2, rng=np.random.default_rng(0))).tolist()
    [2, 2, 1]
    """
    enough = max(1, people, -(-rows // cap))
    return rng.permutation(np.arange(rows, dtype=np.int64) % enough)
