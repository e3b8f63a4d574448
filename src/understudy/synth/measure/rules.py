"""Calibration rules: the σ of Gaussian noise for k equal queries under one budget.

Each is for sensitivity 1, and rounds towards more noise.  `gdp` is exact; the others are what the
documents used, kept to reproduce their figures (`docs/corrections.md`).  Only mechanisms use them:
whatever noise they choose, the ledger charges its exact cost.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from understudy.budget import Budget, mu_lower
from understudy.errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Callable

RuleName = Literal["gdp", "rdp", "rdp_integer", "classical", "basic"]

SLACK = 1 + 1e-12
"""Noise is widened by this factor, so that rounding never makes a cost exceed its price."""


def _check(budget: Budget, questions: int) -> None:
    if budget.delta == 0:
        raise BudgetError("Gaussian noise needs a delta above 0", got=0)
    if questions < 1:
        raise BudgetError("the number of queries must be positive", got=questions)


def gdp(budget: Budget, questions: int) -> float:
    """Calibrate exactly: √k/μ with μ from the analytic Gaussian formula.

    >>> round(150 * gdp(Budget(epsilon=1, delta=2.5e-5), 66), 2)
    4290.24
    """
    _check(budget, questions)
    return math.sqrt(questions) / mu_lower(budget.epsilon, budget.gaussian_delta) * SLACK


def rdp(budget: Budget, questions: int) -> float:
    """Calibrate by the classical Rényi conversion ε = ρ + 2√(ρ ln 1/δ), ρ = k/2σ².

    >>> round(150 * rdp(Budget(epsilon=1, delta=2.5e-5), 66), 2)
    5739.36
    """
    _check(budget, questions)
    log = -math.log(budget.gaussian_delta)
    root = math.sqrt(log + budget.epsilon) - math.sqrt(log)
    return math.sqrt(questions / 2) / root * SLACK


def rdp_integer(budget: Budget, questions: int) -> float:
    """Calibrate by Rényi orders 2, 3, … only: ε = min over α of αk/2σ² + ln(1/δ)/(α−1).

    >>> round(rdp_integer(Budget(epsilon=8, delta=2.2820610e-12), 2), 3)
    1.385
    """
    _check(budget, questions)
    log, epsilon = -math.log(budget.gaussian_delta), budget.epsilon
    # ρ = (ε − log/(α−1))/α has one peak, at this α; the best whole order is beside it.
    peak = 1 + (log + math.sqrt(log * (log + epsilon))) / epsilon
    orders = (max(2, math.floor(peak)), max(2, math.ceil(peak)))
    best = max((epsilon - log / (order - 1)) / order for order in orders)
    return math.sqrt(questions / (2 * best)) * SLACK


def classical(budget: Budget, questions: int) -> float:
    """Calibrate one query by √(2 ln(1.25/δ))/ε, ε capped at 1; several by basic composition.

    >>> round(classical(Budget(epsilon=0.1, delta=2.5e-6), 1), 2)
    51.23
    """
    _check(budget, questions)
    epsilon, delta = min(1.0, budget.epsilon / questions), budget.gaussian_delta / questions
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon * SLACK


def basic(budget: Budget, questions: int) -> float:
    """Calibrate each query exactly at (ε/k, δ/k): basic composition."""
    _check(budget, questions)
    return SLACK / mu_lower(budget.epsilon / questions, budget.gaussian_delta / questions)


RULES: dict[RuleName, Callable[[Budget, int], float]] = {
    "gdp": gdp,
    "rdp": rdp,
    "rdp_integer": rdp_integer,
    "classical": classical,
    "basic": basic,
}
