"""Charges: what a question cost, as frozen data from which the cost can be recomputed.

A charge is a tuple of events.  The cost of a Gaussian event is Δ²/σ² of μ²; its squared
sensitivity is kept exact, so √k is never rounded.  A charge is computed from what was
*really drawn*, whatever rule chose σ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.budget.budget import grains_upper
from understudy.budget.currency import Currency
from understudy.budget.gaussian import mu_of_pure_upper, mu_of_selection_upper
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


Event = Gaussian | Laplace | Selection


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


def _from_dict(data: dict[str, Any]) -> Event:
    match data["noise"]:
        case "gaussian":
            squared = Fraction(data["squared_sensitivity"])
            return Gaussian(squared_sensitivity=squared, sigma=data["sigma"])
        case "laplace":
            return Laplace(sensitivity=Fraction(data["sensitivity"]), scale=data["scale"])
        case _:
            return Selection(epsilon=data["epsilon"])
