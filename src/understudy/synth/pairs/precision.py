"""Precision: how a round's is shared among pairs, and what columns have of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Norm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import Door, MergedDoor
    from understudy.synth.measure.compression import Compressed

    Floats = NDArray[np.float64]


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
