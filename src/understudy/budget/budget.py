"""The budget: (ε, δ), and the currency it is counted in.

What a ledger adds up is held as whole *grains* of 2⁻⁸⁰ (of μ² in the currency ``gdp``, of
ε in ``pure``), so that shares of a budget add up to it exactly and no run dies of an ulp.
Failure probabilities are held in grains of the same size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from understudy.budget.currency import Currency
from understudy.budget.gaussian import epsilon_upper, mu_lower
from understudy.errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Sequence

GRAIN = Fraction(1, 2**80)
MOST_EPSILON = 1_000_000_000
"""A larger budget protects nobody, and accounting for it would take forever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The (ε, δ) that may be spent; δ = 0 asks for pure differential privacy.

    Take δ far below 1 / (number of people).

    >>> print(Budget(epsilon=1.0, delta=1e-9).currency, Budget(epsilon=1.0, delta=0).currency)
    gdp pure

    ``failure`` is the part of δ that pays for the failure probabilities of questions; without it
    questions that have one are refused.  Gaussian noise has what is left of δ.

    >>> Budget(epsilon=1.0, delta=4e-9, failure=1e-9).gaussian_delta
    3e-09
    """

    epsilon: float
    delta: float
    failure: float = 0.0

    def __post_init__(self) -> None:
        """Raise unless epsilon is positive and finite and delta is a probability below 1."""
        if not _is_number(self.epsilon) or not 0 < self.epsilon <= MOST_EPSILON:
            raise BudgetError(
                "epsilon must be positive and finite",
                got=repr(self.epsilon),
                allowed=f"a number above 0, at most {MOST_EPSILON:,}",
            )
        if not _is_number(self.delta) or not 0 <= self.delta < 1:
            raise BudgetError(
                "delta must be a probability below 1",
                got=repr(self.delta),
                allowed="0 (pure) or a number between 0 and 1",
                hint="choose delta far below 1 / (number of people)",
            )
        if not _is_number(self.failure) or not 0 <= self.failure < (self.delta or math.inf):
            raise BudgetError(
                "the failure probability must be a part of delta",
                got=f"{self.failure} of delta {self.delta}",
                allowed="0, or a number above 0 and below delta",
            )
        if self.failure and not self.delta:
            raise BudgetError(
                "pure epsilon-DP has no failure probability",
                got=self.failure,
                allowed="0",
                hint="choose a delta above 0",
            )

    @property
    def currency(self) -> Currency:
        """What is added up: μ² of Gaussian differential privacy, or ε."""
        return Currency.PURE if self.delta == 0 else Currency.GDP

    @property
    def gaussian_delta(self) -> float:
        """The part of δ that Gaussian noise may use, rounded down; 0 in ``pure``."""
        exact = Fraction(self.delta) - Fraction(self.failure)
        near = float(exact)
        return near if Fraction(near) <= exact else math.nextafter(near, 0.0)

    @property
    def price(self) -> float:
        """The whole budget as a price: μ in ``gdp``, ε in ``pure``; rounded down."""
        return mu_lower(self.epsilon, self.gaussian_delta) if self.delta else float(self.epsilon)

    @property
    def grains(self) -> int:
        """The whole budget in grains, rounded down."""
        return math.floor(self.currency.cost(self.price) / GRAIN)

    @property
    def failure_grains(self) -> int:
        """The failure probability in grains, rounded down."""
        return math.floor(Fraction(self.failure) / GRAIN)

    def to_dict(self) -> dict[str, Any]:
        """Write the budget as plain data; a failure probability only where there is one."""
        told = {"epsilon": self.epsilon, "delta": self.delta}
        return told | {"failure": self.failure} if self.failure else told

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read the budget from plain data."""
        return cls(epsilon=data["epsilon"], delta=data["delta"], failure=data.get("failure", 0.0))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def price_grains(price: float, currency: Currency) -> int:
    """Return what a price allows to be spent, in grains, rounded down."""
    if not _is_number(price) or not 0 < price < math.inf:
        raise BudgetError("a price must be positive", got=price, allowed="a number above 0")
    return math.floor(currency.cost(price) / GRAIN)


def grains_upper(cost: Fraction) -> int:
    """Return an exact cost in grains, rounded up."""
    return math.ceil(cost / GRAIN)


def price_lower(grains: int, currency: Currency) -> float:
    """Return the greatest price that costs at most this number of grains.

    >>> price_lower(2**82, Currency.GDP), price_lower(2**80, Currency.PURE)
    (2.0, 1.0)
    """
    cost = max(0, grains) * GRAIN
    root = Fraction(math.isqrt(math.floor(cost * 2**200)), 2**100)
    near = float(root if currency.power == 2 else cost)
    while currency.cost(near) > cost:
        near = math.nextafter(near, 0.0)
    return near


def split(grains: int, currency: Currency, shares: Sequence[float]) -> list[float]:
    """Split grains into prices by shares; together they cost no more than the whole.

    >>> a, b = split(2**80, Currency.GDP, [0.36, 0.64])
    >>> round(a, 12), round(b, 12)
    (0.6, 0.8)
    """
    if not shares or not all(s > 0 for s in shares):
        raise BudgetError("shares of a budget must be positive", got=list(shares))
    exact = [Fraction(s) for s in shares]
    whole = sum(exact)
    return [price_lower(math.floor(grains * s / whole), currency) for s in exact]


def epsilon_of(grains: int, currency: Currency, delta: float) -> float:
    """Return the ε of a number of grains at δ, rounded up."""
    if currency == Currency.PURE:
        near = float(grains * GRAIN)
        return near if Fraction(near) >= grains * GRAIN else math.nextafter(near, math.inf)
    return epsilon_upper(mu_upper(grains), delta)


def failure_of(grains: int) -> float:
    """Return the probability that a number of grains is, rounded up."""
    exact = grains * GRAIN
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def mu_upper(grains: int) -> float:
    """Return the μ of a number of grains of μ², rounded up."""
    near = price_lower(grains, Currency.GDP)
    while Fraction(near) ** 2 < grains * GRAIN:
        near = math.nextafter(near, math.inf)
    return near
