"""Charges: what a question cost, as frozen data from which the cost can be recomputed.

A charge is a tuple of events.  The cost of a Gaussian event is Δ²/σ² of μ²; its squared
sensitivity is kept exact, so √k is never rounded.  A charge is computed from what was
*really drawn*, whatever rule chose σ.  An event may also have a failure probability, which is
added up by itself.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from understudy.budget.budget import grains_upper
from understudy.budget.currency import Currency
from understudy.budget.gaussian import mu_of_pure_upper, mu_of_selection_upper
from understudy.budget.threshold import failure_upper
from understudy.errors import BudgetError


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian:
    """Gaussian noise of one σ on a vector with this squared L2 sensitivity."""

    squared_sensitivity: Fraction
    sigma: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    """Laplace noise of one scale on a vector with this L1 sensitivity."""

    sensitivity: Fraction
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """An exponential mechanism with exp(ε·score / 2Δ)."""

    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Values that are told where their weight, with Gaussian noise, reaches a threshold.

    The weights of one person's values, at most ``most``, have squares that sum to at most 1.
    """

    most: int
    sigma: float
    steps: int
    """The steps of the noise's lattice to a weight of 1."""
    least: int
    """The threshold, in steps: the least noisy weight that is told."""


Event = Gaussian | Laplace | Selection | Threshold


def _cost(event: Event, currency: Currency) -> Fraction:
    match event:
        case Gaussian():
            if currency == Currency.PURE:
                raise BudgetError("Gaussian noise cannot be charged to a ledger of pure epsilon")
            return event.squared_sensitivity / Fraction(event.sigma) ** 2
        case Laplace():
            epsilon = event.sensitivity / Fraction(event.scale)
            if currency == Currency.PURE:
                return epsilon
            return Fraction(mu_of_pure_upper(_float_upper(epsilon))) ** 2
        case Selection():
            if currency == Currency.PURE:
                return Fraction(event.epsilon)
            return Fraction(mu_of_selection_upper(event.epsilon)) ** 2
        case Threshold():
            if currency == Currency.PURE:
                raise BudgetError(
                    "a question with a failure probability cannot be charged to a ledger of pure "
                    "epsilon"
                )
            return 1 / Fraction(event.sigma) ** 2


def _float_upper(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


@dataclass(frozen=True, slots=True)
class Charge:
    """What one door call costs: the sum of its events."""

    events: tuple[Event, ...]

    def grains(self, currency: Currency) -> int:
        """Return the cost in grains of the currency, rounded up.

        >>> noise = Gaussian(squared_sensitivity=Fraction(4), sigma=2.0)
        >>> Charge((noise,)).grains(Currency.GDP) == 2**80
        True
        """
        return grains_upper(sum((_cost(e, currency) for e in self.events), Fraction(0)))

    @property
    def failure(self) -> int:
        """The failure probability in grains, rounded up: the sum of those of its events."""
        return sum(
            failure_upper(most=e.most, sigma=e.sigma, steps=e.steps, least=e.least)
            for e in self.events
            if isinstance(e, Threshold)
        )

    def to_dict(self) -> list[dict[str, Any]]:
        """Write the charge as plain data."""
        return [_to_dict(e) for e in self.events]

    @classmethod
    def from_dict(cls, data: list[dict[str, Any]]) -> Charge:
        """Read a charge from plain data."""
        return cls(tuple(_from_dict(e) for e in data))


def _to_dict(event: Event) -> dict[str, Any]:
    match event:
        case Gaussian():
            squared = str(event.squared_sensitivity)
            return {"noise": "gaussian", "squared_sensitivity": squared, "sigma": event.sigma}
        case Laplace():
            return {"noise": "laplace", "sensitivity": str(event.sensitivity), "scale": event.scale}
        case Selection():
            return {"noise": "selection", "epsilon": event.epsilon}
        case Threshold():
            return {"noise": "threshold", **asdict(event)}


def _from_dict(data: dict[str, Any]) -> Event:
    match data["noise"]:
        case "gaussian":
            squared = Fraction(data["squared_sensitivity"])
            return Gaussian(squared_sensitivity=squared, sigma=data["sigma"])
        case "laplace":
            return Laplace(sensitivity=Fraction(data["sensitivity"]), scale=data["scale"])
        case "threshold":
            told = {name: data[name] for name in ("most", "sigma", "steps", "least")}
            return Threshold(**told)
        case "selection":
            return Selection(epsilon=data["epsilon"])
        case other:
            raise BudgetError(
                "a charge is of an unknown kind",
                got=repr(other),
                hint="a newer Understudy may have written it",
            )
