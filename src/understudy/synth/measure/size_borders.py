"""Size borders: the classes that numbers of rows per person are counted in.

Small numbers have a class each, larger ones share classes that grow by a ratio.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

RATIO = 1.3
"""The ratio by which classes grow."""
EXACT = 24
"""Sizes up to this have a class each: many people may have a row of every period, such as all waves
of a panel or all months of two years, and few have one less."""
LARGEST = 2**20
"""Without a cap, people with more rows than this are all in one class."""


def class_starts(most: int) -> Ints:
    """Return the smallest size of each class, up to the largest size that is distinguished.

    >>> class_starts(60).tolist()[22:]
    [23, 24, 25, 33, 43, 56]
    """
    starts = [1]
    while (start := next_start(starts[-1])) <= most:
        starts.append(start)
    return np.array(starts)


def next_start(start: int) -> int:
    """Return the smallest size of the class after the one that begins there."""
    return start + 1 if start <= EXACT else math.floor(start * RATIO + 0.5)


def apart(starts: Ints) -> Ints:
    """Return sizes of which each is larger than the one before by about a ratio, or by one.

    >>> apart(class_starts(30)).tolist()
    [1, 2, 3, 4, 5, 7, 9, 12, 16, 21]
    """
    kept = [int(starts[0])]
    for start in starts[1:].tolist():
        if start >= math.floor(kept[-1] * RATIO + 0.5):
            kept.append(start)
    return np.array(kept)
