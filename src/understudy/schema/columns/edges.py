"""Edges of bins, for numbers whose file declares a range and no bins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def regular_edges(low: float, high: float, bins: int) -> tuple[float, ...]:
    """Cut a range into bins of equal width.

    >>> regular_edges(0, 10, 4)
    (0.0, 2.5, 5.0, 7.5, 10.0)
    """
    return tuple(float(e) for e in np.linspace(low, high, bins + 1))


def ladder_edges(low: int, high: int) -> tuple[float, ...]:
    """Cut a long range at 0 and at 1, 2 and 5 times every power of ten, on both sides.

    >>> ladder_edges(0, 20)
    (0.0, 1.0, 2.0, 5.0, 10.0, 20.0)
    """
    steps = [m * 10.0**k for k in range(19) for m in (1, 2, 5)]
    inner: Sequence[float] = sorted({0.0, *steps, *(-s for s in steps)})
    # Ends are compared as the floats they become, or one might meet a step.
    first, last = float(low), float(high)
    return (first, *(s for s in inner if first < s < last), last)


def as_float(number: float) -> float:
    """Convert a number to a float, infinite where it overflows.

    >>> as_float(10**400), as_float(7)
    (inf, 7.0)
    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
