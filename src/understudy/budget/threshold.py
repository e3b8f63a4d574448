"""Thresholds: the chance that a value which only one person has is told, exactly.

Partition selection tells the values whose weight, with Gaussian noise, reaches a threshold.  A
person with j values gives each of them the weight wⱼ = ⌊2¹⁶/√j⌋·2⁻¹⁶, so that their squares sum to
at most 1.  Noise on the lattice is round(σS·z) for S steps to a weight of 1, so a value that
nobody else has is told, of T steps or more, with probability 1 − Φ((T − ½ − S·wⱼ)/σS), and any of
j values, whose noise is independent, with

    1 − Φ((T − ½ − S·wⱼ)/σS)ʲ.

The failure probability is the largest of these for j up to k (`docs/proofs/discover.md`).  A
person may have i < j such values among their j: their weights are then below wᵢ, and so is the
chance.  Tied by ``tests/budget/test_threshold.py``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from threading import get_ident

from understudy.budget.bounding import FRACTION_BITS
from understudy.budget.budget import GRAIN
from understudy.budget.gaussian import context
from understudy.errors import BudgetError

MOST_VALUES = 1000
"""The most values of a person that may count in one column."""


def value_weight(count: int) -> int:
    """Return the weight of each of a person's values, in steps of 2⁻¹⁶, rounded down.

    >>> [value_weight(count) for count in (1, 2, 4)]
    [65536, 46340, 32768]
    """
    return math.isqrt(2 ** (2 * FRACTION_BITS) // count)


@lru_cache(maxsize=4096)
def failure_upper(*, most: int, sigma: float, steps: int, least: int) -> int:
    """Return the chance that any value which one person alone has is told, in grains, rounded up.

    >>> failure_upper(most=1, sigma=1.0, steps=2**16, least=2**16) > 2**79
    True
    """
    mp, worst = context(get_ident()), 0
    for count in range(1, most + 1):
        weight = steps * value_weight(count) // 2**FRACTION_BITS
        # The tail itself, not 1 less its complement: it may be far below the last digit of 1.
        tail = mp.ncdf((mp.mpf(weight - least) + mp.mpf("0.5")) / (mp.mpf(sigma) * steps))
        worst = max(worst, -mp.expm1(count * mp.log1p(-tail)))
    # A margin above the error of 60 digits, so that the ceiling is never below the truth.
    scaled = worst * GRAIN.denominator * (1 + mp.mpf(10) ** -50)
    return min(GRAIN.denominator, int(mp.ceil(scaled)))


def threshold_upper(failure: float, *, sigma: float, most: int) -> float:
    """Return about the least threshold whose failure probability is at most this one.

    The lattice has at least 2¹⁶ steps to a weight of 1, so half a step is less than is added here.
    What is charged is computed from the threshold itself, by `failure_upper`.

    >>> round(threshold_upper(1e-7, sigma=10.0, most=1), 2)
    52.99
    """
    if not 0 < failure < 0.5:
        raise BudgetError(
            "a failure probability must be positive", got=failure, allowed="between 0 and 1/2"
        )
    normal = NormalDist()
    return 2.0**-FRACTION_BITS + max(
        1 / math.sqrt(count) - sigma * normal.inv_cdf(-math.expm1(math.log1p(-failure) / count))
        for count in range(1, most + 1)
    ) * (1 + 1e-12)
