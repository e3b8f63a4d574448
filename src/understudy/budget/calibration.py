"""Calibration: the noise that a price pays for.

Scales are rounded towards more noise, so that their exact cost, which is what the ledger books, is
within the price.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from understudy.budget.budget import GRAIN, price_grains
from understudy.budget.charges import Charge, Gaussian, Laplace, Selection
from understudy.budget.currency import Currency
from understudy.errors import BudgetError

if TYPE_CHECKING:
    from fractions import Fraction


MOST_SELECTIVE = 60.0


def scale_upper(price: float, currency: Currency, *, bound: Fraction) -> float:
    """Return the least noise scale whose exact cost is within a price.

    ``bound`` is the squared L2 sensitivity in ``gdp`` (the scale is σ), the L1 sensitivity
    in ``pure`` (the scale is Laplace's).

    >>> from fractions import Fraction
    >>> scale_upper(0.5, Currency.GDP, bound=Fraction(9))
    6.0
    >>> scale_upper(0.5, Currency.PURE, bound=Fraction(3))
    6.0
    """
    allowed = price_grains(price, currency) * GRAIN
    if bound <= 0 or allowed == 0:
        raise BudgetError(
            "sensitivity must be positive, and price worth at least one grain",
            got=f"sensitivity {float(bound):g}, price {price:g}",
        )
    near = currency.root(float(bound / allowed))
    while noise_charge(near, currency, bound=bound).grains(currency) * GRAIN > allowed:
        near = math.nextafter(near, math.inf)
    return near


def selection_epsilon_lower(price: float, currency: Currency) -> float:
    """Return the ε of a selection whose exact cost is within a price, and close to it.

    >>> round(selection_epsilon_lower(0.5, Currency.GDP), 6)
    0.800155
    >>> selection_epsilon_lower(0.5, Currency.PURE)
    0.5
    """
    allowed = price_grains(price, currency)
    epsilon = price
    if currency == Currency.GDP:
        # The inverse of μ = 2Φ⁻¹(1/(1+e^(−ε/2))).
        # Far beyond any use, where the tail would be 0, less than the price is taken.
        far = min(price, MOST_SELECTIVE) / math.sqrt(8)
        epsilon = 2 * math.log(math.erfc(-far) / math.erfc(far))
    step = 1e-12
    while Charge((Selection(epsilon=epsilon),)).grains(currency) > allowed:
        epsilon, step = epsilon * (1 - step), 2 * step
    return epsilon


def noise_charge(scale: float, currency: Currency, *, bound: Fraction) -> Charge:
    """Return the charge of noise of one scale: Gaussian in ``gdp``, Laplace in ``pure``."""
    if not isinstance(scale, (int, float)) or not 0 < scale < math.inf:
        raise BudgetError("a noise scale must be positive", got=scale, allowed="a number above 0")
    if currency.noise == "gaussian":
        return Charge((Gaussian(squared_sensitivity=bound, sigma=float(scale)),))
    return Charge((Laplace(sensitivity=bound, scale=float(scale)),))
