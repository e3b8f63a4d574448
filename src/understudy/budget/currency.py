"""The currency: what a ledger adds up, and the noise that goes with it.

``gdp`` adds up μ² of Gaussian differential privacy (twice the ρ of zCDP), and its noise is
Gaussian; ``pure`` adds up ε, and its noise is Laplace's.  An answer of sensitivity Δ (in L2 for
``gdp``, in L1 for ``pure``) with noise of scale s costs (Δ/s)^power.
"""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable


class Currency(StrEnum):
    """The privacy definition that is composed: ``gdp`` or ``pure``."""

    GDP = "gdp"
    PURE = "pure"

    @property
    def power(self) -> Literal[1, 2]:
        """The power of a price that adds up."""
        return 2 if self is Currency.GDP else 1

    @property
    def noise(self) -> Literal["gaussian", "laplace"]:
        """The shape of the noise."""
        return "gaussian" if self is Currency.GDP else "laplace"

    def cost(self, price: float) -> Fraction:
        """Return what a price (μ or ε) adds to the ledger, exactly.

        >>> Currency.GDP.cost(0.5), Currency.PURE.cost(0.5)
        (Fraction(1, 4), Fraction(1, 2))
        """
        return Fraction(price) ** self.power

    def norm(self, values: Iterable[float]) -> float:
        """Return the norm in which sensitivities and prices add up: L2, or L1.

        >>> Currency.GDP.norm([3, 4]), Currency.PURE.norm([3, 4])
        (5.0, 7.0)
        """
        return math.hypot(*values) if self is Currency.GDP else math.fsum(map(abs, values))

    def root(self, cost: float) -> float:
        """Return the price of a cost, √cost or the cost itself.

        Each of n equal questions has the root of n times the noise that one would have.

        >>> Currency.GDP.root(9), Currency.PURE.root(9)
        (3.0, 9.0)
        """
        return math.sqrt(cost) if self is Currency.GDP else float(cost)

    def deviation(self, scale: float) -> float:
        """Return the standard deviation of noise of a scale."""
        return scale if self is Currency.GDP else scale * math.sqrt(2)

    @property
    def weight_power(self) -> float:
        """The power of its number of cells by which a marginal is best weighted.

        Noise ∝ n^(−1/(power + 1)) makes Σ n·s least for a given Σ s^(−power).
        """
        return 1 / (self.power + 1)
