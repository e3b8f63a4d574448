"""Calibration: the noise for k equal questions under one budget, by four rules.

Each rule gives the σ for sensitivity 1 and rounds towards more noise.  `gdp` is exact and
the default; the others are what the documents used, kept to reproduce their figures and to
show what they cost (docs/corrections.md).  What the ledger books is always the exact cost
of the σ that was drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from understudy.budget.budget import GRAIN, Budget, price_grains
from understudy.budget.charges import Charge, Gaussian, Laplace, Selection
from understudy.budget.gaussian import mu_lower
from understudy.errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from understudy.budget.budget import Currency

Rule = Literal["gdp", "rdp", "rdp_integer", "classical", "basic"]

MOST_SELECTIVE = 60.0
SLACK = 1 + 1e-12
"""Rules other than `gdp` are worked out in float64 and widened by this much."""


def _check(budget: Budget, questions: int) -> None:
    if budget.delta == 0:
        raise BudgetError("Gaussian noise needs a delta above 0", got=0)
    if questions < 1:
        raise BudgetError("the number of questions must be positive", got=questions)


def gdp(budget: Budget, questions: int) -> float:
    """Calibrate exactly: √k/μ with μ from the analytic Gaussian formula.

    >>> round(150 * gdp(Budget(epsilon=1, delta=2.5e-5), 66), 2)
    4290.24
    """
    _check(budget, questions)
    return math.sqrt(questions) / mu_lower(budget.epsilon, budget.delta) * SLACK


def rdp(budget: Budget, questions: int) -> float:
    """Calibrate by Rényi's classical conversion ε = ρ + 2√(ρ ln 1/δ), ρ = k/2σ².

    >>> round(150 * rdp(Budget(epsilon=1, delta=2.5e-5), 66), 2)
    5739.36
    """
    _check(budget, questions)
    log = -math.log(budget.delta)
    root = math.sqrt(log + budget.epsilon) - math.sqrt(log)
    return math.sqrt(questions / 2) / root * SLACK


def rdp_integer(budget: Budget, questions: int) -> float:
    """Calibrate by Rényi orders 2, 3, … only: ε = min over α of αk/2σ² + ln(1/δ)/(α−1).

    >>> round(rdp_integer(Budget(epsilon=8, delta=2.2820610e-12), 2), 3)
    1.385
    """
    _check(budget, questions)
    log, epsilon = -math.log(budget.delta), budget.epsilon
    # ρ = (ε − log/(α−1))/α has one peak, at this α; the best whole order is beside it.
    peak = 1 + (log + math.sqrt(log * (log + epsilon))) / epsilon
    orders = (max(2, math.floor(peak)), max(2, math.ceil(peak)))
    best = max((epsilon - log / (order - 1)) / order for order in orders)
    return math.sqrt(questions / (2 * best)) * SLACK


def classical(budget: Budget, questions: int) -> float:
    """Calibrate one question by √(2 ln(1.25/δ))/ε, ε capped at 1; several by basic composition.

    >>> round(classical(Budget(epsilon=0.1, delta=2.5e-6), 1), 2)
    51.23
    """
    _check(budget, questions)
    epsilon, delta = min(1.0, budget.epsilon / questions), budget.delta / questions
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon * SLACK


def basic(budget: Budget, questions: int) -> float:
    """Calibrate each question exactly at (ε/k, δ/k): basic composition."""
    _check(budget, questions)
    return SLACK / mu_lower(budget.epsilon / questions, budget.delta / questions)


RULES: dict[Rule, Callable[[Budget, int], float]] = {
    "gdp": gdp,
    "rdp": rdp,
    "rdp_integer": rdp_integer,
    "classical": classical,
    "basic": basic,
}


def scale_upper(price: float, currency: Currency, *, bound: Fraction) -> float:
    """Give the least noise scale whose exact cost is within a price.

    ``bound`` is the squared L2 sensitivity in ``gdp`` (the scale is σ), the L1 sensitivity
    in ``pure`` (the scale is Laplace's).

    >>> from fractions import Fraction
    >>> scale_upper(0.5, "gdp", bound=Fraction(9)), scale_upper(0.5, "pure", bound=Fraction(3))
    (6.0, 6.0)
    """
    allowed = price_grains(price, currency) * GRAIN
    if bound <= 0 or allowed == 0:
        raise BudgetError(
            "a sensitivity must be positive, and a price more than a grain",
            got=f"{float(bound):g} and {price:g}",
        )
    near = math.sqrt(bound / allowed) if currency == "gdp" else float(bound / allowed)
    while noise_charge(near, currency, bound=bound).grains(currency) * GRAIN > allowed:
        near = math.nextafter(near, math.inf)
    return near


def selection_epsilon_lower(price: float, currency: Currency) -> float:
    """Give the ε of a selection whose exact cost is within a price, and near it.

    >>> round(selection_epsilon_lower(0.5, "gdp"), 6), selection_epsilon_lower(0.5, "pure")
    (0.800155, 0.5)
    """
    allowed = price_grains(price, currency)
    epsilon = price
    if currency == "gdp":
        # The inverse of μ = 2Φ⁻¹(1/(1+e^(−ε/2))).
        # Far beyond any use, where the tail would be 0, less than the price is taken.
        far = min(price, MOST_SELECTIVE) / math.sqrt(8)
        epsilon = 2 * math.log(math.erfc(-far) / math.erfc(far))
    step = 1e-12
    while Charge((Selection(epsilon=epsilon),)).grains(currency) > allowed:
        epsilon, step = epsilon * (1 - step), 2 * step
    return epsilon


def noise_charge(scale: float, currency: Currency, *, bound: Fraction) -> Charge:
    """Give the charge of noise of one scale: Gaussian in ``gdp``, Laplace in ``pure``."""
    if not isinstance(scale, (int, float)) or not 0 < scale < math.inf:
        raise BudgetError("a noise scale must be positive", got=scale, allowed="a number above 0")
    if currency == "gdp":
        return Charge((Gaussian(squared_sensitivity=bound, sigma=float(scale)),))
    return Charge((Laplace(sensitivity=bound, scale=float(scale)),))
