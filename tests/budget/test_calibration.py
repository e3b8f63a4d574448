"""The documents' noise scales come out to the printed digits, each under its own rule."""

from __future__ import annotations

import math
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.budget import (
    GRAIN,
    Budget,
    Charge,
    Currency,
    Selection,
    epsilon_of,
    epsilon_upper,
    noise_charge,
    price_grains,
    scale_upper,
    selection_epsilon_lower,
    split,
)
from understudy.errors import BudgetError, BudgetExhaustedError
from understudy.ledger import Ledger
from understudy.synth.measure.rules import RULES, RuleName

CENSUS = 2.2820610e-12


@pytest.mark.parametrize(
    ("rule", "epsilon", "cap", "sigma"),
    [
        ("rdp", 1, 150, 5739.36),
        ("rdp", 10, 200, 895.42),
        ("gdp", 1, 150, 4290.24),
        ("gdp", 10, 200, 784.12),
    ],
)
def test_adagrid_pairs(rule: RuleName, epsilon: float, cap: int, sigma: float) -> None:
    assert round(cap * RULES[rule](Budget(epsilon=epsilon, delta=2.5e-5), 66), 2) == sigma


@pytest.mark.parametrize(
    ("epsilon", "by_orders", "exact"), [(0.3, 34.61, 29.27), (1, 10.45, 9.106), (8, 1.385, 1.271)]
)
def test_two_round_figures(epsilon: float, by_orders: float, exact: float) -> None:
    budget = Budget(epsilon=epsilon, delta=CENSUS)
    digits = len(str(by_orders).split(".")[1])
    assert round(RULES["rdp_integer"](budget, 2), digits) == by_orders
    assert f"{RULES['gdp'](budget, 2):.4g}" == f"{exact:.4g}"


@pytest.mark.parametrize(
    ("epsilon", "published", "exact"),
    [(1, ("51.23", "5.194"), ("34.2", "3.9")), (10, ("5.123", "4.674"), ("4.03", "0.528"))],
)
def test_archetypes_figures(
    epsilon: float, published: tuple[str, str], exact: tuple[str, str]
) -> None:
    for share, theirs, ours in zip((0.1, 0.9), published, exact, strict=True):
        part = Budget(epsilon=share * epsilon, delta=share * 2.5e-5)
        assert f"{RULES['classical'](part, 1):.4g}" == theirs
        assert f"{RULES['gdp'](part, 1):.3g}" == ours


@pytest.mark.parametrize(("epsilon", "sigma"), [(1, "27.7"), (2, "14.2"), (10, "3.18")])
def test_user_counts_figures(epsilon: float, sigma: str) -> None:
    budget = Budget(epsilon=epsilon, delta=1.2244024187236405e-11)
    assert f"{20**0.5 * RULES['gdp'](budget, 1):.3g}" == sigma


@given(st.floats(0.05, 20), st.floats(-12, -3), st.integers(1, 100))
@tried(40)
def test_every_rule_keeps_the_budget_and_gdp_needs_least(
    epsilon: float, exponent: float, questions: int
) -> None:
    budget = Budget(epsilon=epsilon, delta=10.0**exponent)
    exact = RULES["gdp"](budget, questions)
    for name in ("gdp", "rdp", "rdp_integer", "basic"):
        sigma = RULES[name](budget, questions)
        cost = noise_charge(sigma, Currency.GDP, bound=Fraction(questions)).grains(Currency.GDP)
        assert cost <= budget.grains, name
        assert sigma >= exact * (1 - 1e-9), name


@given(st.floats(0.05, 100), st.floats(-12, -1), st.integers(1, 100))
@tried(60)
def test_the_classical_rule_keeps_the_budget_at_every_epsilon(
    epsilon: float, exponent: float, questions: int
) -> None:
    """Its proof ends at epsilon 1 and so does its use: above, it draws the noise of 1."""
    budget = Budget(epsilon=epsilon, delta=10.0**exponent)
    sigma = RULES["classical"](budget, questions)
    assert (
        noise_charge(sigma, Currency.GDP, bound=Fraction(questions)).grains(Currency.GDP)
        <= budget.grains
    )
    if epsilon / questions > 1:
        least = Budget(epsilon=questions, delta=10.0**exponent)
        assert sigma == pytest.approx(RULES["classical"](least, questions))


@pytest.mark.parametrize("epsilon", [10, 20, 50])
def test_the_classical_formula_beyond_1_is_charged_for_the_noise_it_lacks(
    epsilon: float, tmp_path: Path
) -> None:
    """Used there regardless, its noise costs more than the budget: a run refuses it."""
    budget = Budget(epsilon=epsilon, delta=1e-6)
    sigma = math.sqrt(2 * math.log(1.25 / budget.delta)) / budget.epsilon
    charge = noise_charge(sigma, Currency.GDP, bound=Fraction(1))
    assert charge.grains(Currency.GDP) == math.ceil(1 / Fraction(sigma) ** 2 / GRAIN)
    assert charge.grains(Currency.GDP) > budget.grains
    assert epsilon_of(charge.grains(Currency.GDP), Currency.GDP, budget.delta) > epsilon
    with closing(Ledger.create(tmp_path / "l.ledger", budget=budget)) as ledger:
        run = ledger.begin(budget, {})
        with pytest.raises(BudgetExhaustedError):
            run.reserve(0, "plan", "a question", charge)
        run.reserve(0, "plan", "a question", noise_charge(9.0, Currency.GDP, bound=Fraction(1)))


@given(
    st.floats(1e-6, 1e3),
    st.sampled_from([Currency.GDP, Currency.PURE]),
    st.fractions(min_value=Fraction(1, 1000), max_value=10**9),
)
def test_scale_upper_is_within_its_price_and_hardly_more(
    price: float, currency: str, bound: Fraction
) -> None:
    scale = scale_upper(price, currency, bound=bound)  # type: ignore[arg-type]
    allowed = price_grains(price, currency)  # type: ignore[arg-type]
    assert noise_charge(scale, currency, bound=bound).grains(currency) <= allowed  # type: ignore[arg-type]
    less = noise_charge(scale * (1 - 1e-9), currency, bound=bound)  # type: ignore[arg-type]
    assert less.grains(currency) > allowed or allowed < 2**30  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", list(RULES))
def test_rules_refuse_pure_budgets_and_no_questions(rule: RuleName) -> None:
    with pytest.raises(BudgetError, match="delta above 0"):
        RULES[rule](Budget(epsilon=1, delta=0), 1)
    with pytest.raises(BudgetError, match="number of queries must be positive"):
        RULES[rule](Budget(epsilon=1, delta=1e-6), 0)


@given(st.floats(0.05, 20), st.floats(-12, -3))
@tried(40)
def test_integer_orders_are_searched_rightly(epsilon: float, exponent: float) -> None:
    """Against the slow obvious way: every order up to a thousand."""
    delta = 10.0**exponent
    best = max((epsilon + math.log(delta) / (a - 1)) / a for a in range(2, 2000))
    sigma = RULES["rdp_integer"](Budget(epsilon=epsilon, delta=delta), 2)
    assert sigma == pytest.approx(math.sqrt(1 / best), rel=1e-9)


@pytest.mark.parametrize("scale", [0, -1.0, float("inf"), float("nan"), "1"])
def test_scales_that_are_none(scale: float) -> None:
    with pytest.raises(BudgetError, match="noise scale must be positive"):
        noise_charge(scale, Currency.GDP, bound=Fraction(1))


def test_sensitivities_that_are_none() -> None:
    with pytest.raises(BudgetError, match="sensitivity must be positive"):
        scale_upper(1.0, Currency.GDP, bound=Fraction(0))


def test_a_tiny_price_is_calibrated_at_once_and_none_is_refused() -> None:
    tiny = Budget(epsilon=1e-9, delta=1e-9)
    (price,) = split(tiny.grains // 50, Currency.GDP, [1.0])
    scale = scale_upper(price, Currency.GDP, bound=Fraction(1))
    assert noise_charge(scale, Currency.GDP, bound=Fraction(1)).grains(Currency.GDP) <= tiny.grains
    with pytest.raises(BudgetError, match="at least one grain"):
        scale_upper(1e-30, Currency.GDP, bound=Fraction(1))


@given(st.floats(1e-3, 30), st.sampled_from([Currency.GDP, Currency.PURE]))
@tried(40)
def test_the_epsilon_of_a_selection_is_within_its_price_and_near_it(
    price: float, currency: Currency
) -> None:
    epsilon = selection_epsilon_lower(price, currency)
    allowed = price_grains(price, currency)
    assert Charge((Selection(epsilon=epsilon),)).grains(currency) <= allowed
    assert Charge((Selection(epsilon=epsilon * (1 + 1e-9)),)).grains(currency) > allowed


@pytest.mark.parametrize(
    ("sigma", "cap", "epsilon"), [(5739.36, 150, 0.7247), (895.42, 200, 8.4835)]
)
def test_what_the_documents_noise_really_satisfied(sigma: float, cap: int, epsilon: float) -> None:
    mu = math.sqrt(66) * cap / sigma
    assert epsilon_upper(mu, 2.5e-5) == pytest.approx(epsilon, abs=1e-4)
