"""Precision: how a round's is shared among pairs, and what columns have of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Norm
from understudy.synth.measure.noise_levels import MEAN_SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique, Door, MergedDoor
    from understudy.synth.measure.compression import Compressed

    Floats = NDArray[np.float64]

SHARES = tuple(i / 10 for i in range(10))
"""The shares of the remaining budget that are tried for measuring columns again."""


def pair_weight(door: Door | MergedDoor, cells: int, share: float = 1.0) -> float:
    """Return the weight in a round of a marginal with a share of the precision of the largest."""
    if isinstance(door.bounding, Norm):
        # Under `Norm` cells count in any case, and σ scales with the power ⅔ of a weight.
        return math.pow(share, 3 / 4)
    return math.sqrt(share) * math.pow(cells, door.currency.weight_power)


def filled(had: Floats, widths: Floats, left: float) -> Floats:
    """Return how much each needs, so that what is left raises the lowest to one level.

    >>> filled(np.array([0.0, 1.0, 5.0]), np.array([1.0, 1.0, 1.0]), 3.0).tolist()
    [2.0, 1.0, 0.0]
    """
    order = np.argsort(had)
    levels = (left + np.cumsum((had * widths)[order])) / np.cumsum(widths[order])
    needed: Floats = np.maximum(levels.min() - had, 0.0)
    return needed


def columns_noise(columns: Compressed, rows: float) -> dict[str, Floats]:
    """Return the noise of each column's codes, in rows of a model of so many."""
    total, found = max(1.0, rows), {}
    for support, m in zip(columns.supports, columns.measured, strict=False):
        counted = max(1.0, float(m.values.sum())) / total
        found[support.column] = m.scale / counted * np.sqrt(np.bincount(support.codes))
    return found


def columns_share(
    sigmas: Mapping[str, Floats],
    columns: Mapping[str, Floats],
    chosen: Mapping[Clique, Floats],
    off: Mapping[Clique, float],
    *,
    pairs: Sequence[Clique],
    spent: tuple[float, float, float],
    power: float,
) -> float:
    """Return the best share of what is left for measuring columns again.

    A column's error is in all of its pairs, a pair's error in itself alone; both fall with the
    square root of precision, and pairs inform their columns too.  ``sigmas`` is the noise of
    columns, and ``off`` that of pairs; ``columns`` and ``chosen`` are what is expected of them;
    ``spent`` on columns, on pairs, and left.
    """
    first, before, left = spent
    ones = {n: MEAN_SIZE * float(np.minimum(s, columns[n]).sum()) for n, s in sigmas.items()}
    in_pairs, told = 0.0, dict.fromkeys(columns, 0.0)
    for (a, b), table in chosen.items():
        in_pairs += float(np.minimum(off[a, b], table).sum())
        precision = (MEAN_SIZE / off[a, b]) ** 2
        told[a] += precision / len(columns[b])
        told[b] += precision / len(columns[a])

    def total(share: float) -> float:
        of_pairs = (before**2 + (1 - share) ** power * left**2) / (before**2 + left**2)
        again = 1 + share**power * (left / first) ** 2
        now = {
            n: each / math.sqrt(again + of_pairs * told[n] * float(sigmas[n].min()) ** 2)
            for n, each in ones.items()
        }
        in_columns = math.fsum(math.hypot(now[a], now[b]) for a, b in pairs)
        return in_columns + in_pairs / math.sqrt(of_pairs)

    return min(SHARES, key=total)
