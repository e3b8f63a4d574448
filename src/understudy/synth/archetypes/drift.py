"""Drift: how much has changed since the public table, column by column.

The codes of a column are put into a few groups, each with about as many public rows, and codes that
no public row has into one more.  Private people are counted by their most common group, each once,
and compared with public ones.  Tied by ``tests/synth/archetypes/test_drift.py``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import price_grains, scale_upper, split
from understudy.public.shapes import rows_by_label
from understudy.synth.measure.noise_levels import MEAN_SIZE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import Door
    from understudy.public import PublicTable

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

GROUPS = (8, 4, 2)
"""The numbers of groups of codes that public rows have: fewer where there is more noise."""
LITTLE, TELLING = 0.3, 0.8
"""The most total variation that noise may cause with more than two groups, and with two."""


def drift(door: Door, public: PublicTable, *, people: float, price: float) -> dict[str, float]:
    """Ask how far people's most common groups of each column are from public people's.

    It is a total variation distance, less what noise makes of it; ``people`` is their noisy number.
    Nothing is asked, and nothing returned, where noise could hide any change.
    """
    names, found = list(door.schema.domain), {}
    each = split(price_grains(price, door.currency), door.currency, [1.0] * len(names))[0]
    scale = scale_upper(each, door.currency, bound=Fraction(1))
    noise = door.currency.deviation(scale) / people

    def floor(count: int) -> float:
        # The mean of all groups' noise, and what the largest of so many columns is above it.
        above = 1 + math.sqrt(2 * math.log(len(names)))
        return noise / 2 * (MEAN_SIZE * count + above * math.sqrt((1 - MEAN_SIZE**2) * count))

    fitting = [most for most in GROUPS if floor(most + 1) < LITTLE] or [GROUPS[-1]]
    if floor(fitting[0] + 1) > TELLING:
        return {}
    for name in names:
        labels = groups(public.marginal((name,)), fitting[0])
        asked = door.unit_mode((name,), scale=scale, labels=labels)
        known = most_common_groups(public, name, labels)
        counts = np.append(asked, np.zeros(len(known) - len(asked)))
        apart = 0.5 * float(np.abs(counts / people - known / known.sum()).sum())
        found[name] = max(0.0, apart - floor(len(known)))
    return found


def groups(rows: Ints, most: int) -> Ints:
    """Return the group of each code, given the number of public rows that have it.

    >>> groups(np.array([10, 30, 0, 39, 1, 0]), 8).tolist()
    [0, 1, 4, 2, 3, 4]
    """
    middle = (np.cumsum(rows) - rows / 2) / max(1, int(rows.sum()))
    found = np.where(rows > 0, (middle * most).astype(np.int64), most)
    labels: Ints = np.unique(found, return_inverse=True)[1]
    return labels


def most_common_groups(public: PublicTable, name: str, labels: Ints) -> Floats:
    """Count public people by their most common group; one who has several is a part of each."""
    rows = rows_by_label(public, (name,), labels, int(labels.max()) + 1)
    most = rows == rows.max(axis=1, keepdims=True)
    return np.asarray((most / most.sum(axis=1, keepdims=True)).sum(axis=0), dtype=np.float64)
