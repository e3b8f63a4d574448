"""The guarantee says what (ε, δ) says and no more, and every figure in it is an upper bound."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import understudy as us
from understudy.budget import epsilon_upper
from understudy.release.guarantee import FALSE_POSITIVES, guarantee, rounded_up
from understudy.schema import PARTS, Categorical

PROMISE = Path(__file__).parents[2] / "docs" / "promise.md"
DELTA = 1e-9
SCHEMA = us.Schema("t", (Categorical(name="colour", values=("red",)),))


def promised(
    epsilon: float = 1, delta: float = DELTA, unit: us.Unit | None = None
) -> dict[str, Any]:
    budget = us.Budget(epsilon=epsilon, delta=delta)
    person = (unit or us.Unit("taxi_id")).resolved(SCHEMA)
    return guarantee(budget, unit=person, bounding=us.Norm())


def plain(text: str) -> str:
    """Give a page's text as one line, without the marks of quotations."""
    return " ".join(re.sub(r"^> ?", "", text, flags=re.MULTILINE).split())


# Words


def test_the_words_are_those_of_epsilon_and_delta_and_no_stronger() -> None:
    words = promised()["words"]
    assert "any one 'taxi_id' was in it" in words
    assert (
        "with epsilon = 1 and delta = 1e-09 for one 'taxi_id' with all of its rows: for every set "
        "S of outcomes, P(S with it) ≤ e^epsilon · P(S without it) + delta, and "
        "P(S without it) ≤ e^epsilon · P(S with it) + delta; e^epsilon is about 2.72."
    ) in words
    assert "likely" not in words
    assert "finds at most 7.18 % of those who are" in words
    # What was said before was stronger, and is false by a factor of 33.
    assert "does not say that the odds change by at most e^epsilon except with probability" in words
    assert words.endswith("(mu = 0.182) that probability is 3.26e-08.")


def test_the_stronger_statement_would_be_false_and_the_one_made_is_true() -> None:
    """Hold both against the Gaussian mechanism itself, whose worst sets are half-lines."""
    promise = promised()
    mu, factor = promise["mu"], math.exp(promise["epsilon"])
    ends = np.linspace(-12, 12, 100_001)
    without, present = norm.sf(ends), norm.sf(ends - mu)
    assert (present <= factor * without + DELTA * (1 + 1e-6)).all()
    assert (present - factor * without).max() == pytest.approx(DELTA, rel=1e-3)
    # Where the density of N(μ, 1) is more than e^ε times that of N(0, 1):
    passed = norm.sf(promise["epsilon"] / mu + mu / 2 - mu)
    assert passed == pytest.approx(promise["probabilistic_delta"], rel=1e-9)
    assert passed > 32 * DELTA


@pytest.mark.parametrize(("epsilon", "times"), [(1, 33), (0.1, 271)])
def test_the_odds_pass_e_to_the_epsilon_far_more_often_than_delta(
    epsilon: float, times: int
) -> None:
    assert round(promised(epsilon)["probabilistic_delta"] / DELTA) == times


def test_pure_words_are_multiplicative_and_without_exception() -> None:
    promise = promised(1000, 0, us.Unit.each_row())
    assert "any one row was in it" in promise["words"]
    assert (
        "with epsilon = 1000 and delta = 0 for one row: every outcome is at most e^epsilon "
        "(more than 1e300) times more or less likely with it than without it, without exception."
    ) in promise["words"]
    assert not promise.keys() & {"curve", "mu", "probabilistic_delta"}


@pytest.mark.parametrize("delta", [DELTA, 0])
def test_the_page_on_the_promise_quotes_the_manifest(delta: float) -> None:
    assert promised(delta=delta)["words"] in plain(PROMISE.read_text(encoding="utf-8"))


# Figures


def test_the_curve_falls_through_the_budget() -> None:
    curve = promised()["curve"]
    falling = [point["epsilon"] for point in curve]
    assert falling == sorted(falling)
    assert {p["delta"]: p["epsilon"] for p in curve}[1e-9] == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1, 5, 30, 1e6])
def test_what_an_attacker_gains_is_bounded_from_above_and_tightly(epsilon: float) -> None:
    promise = promised(epsilon)
    mu = promise["mu"]
    for point, rate in zip(promise["attacker"], FALSE_POSITIVES, strict=True):
        exact = norm.cdf(norm.ppf(rate) + mu)
        assert point["false_positive_rate"] == rate
        assert exact <= point["true_positive_rate"] <= min(1, exact + 3e-6)
    assert norm.cdf(mu / 2) <= promise["best_accuracy"] <= min(1, norm.cdf(mu / 2) + 3e-6)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1, 5, 30, 1e6])
def test_pure_gains_are_those_of_randomised_response(epsilon: float) -> None:
    """Its trade-off is the worst of all: a corner at 1 / (1 + e^ε), and lines to both ends."""
    promise = promised(epsilon, 0)
    corner = 1 / (1 + math.exp(min(epsilon, 700)))
    for point in promise["attacker"]:
        found = np.interp(point["false_positive_rate"], [0, corner, 1], [0, 1 - corner, 1])
        assert found <= point["true_positive_rate"] <= min(1, found + 3e-6)
    assert 1 - corner <= promise["best_accuracy"] <= min(1, 1 - corner + 3e-6)


@pytest.mark.parametrize(
    ("value", "written"),
    [(7.181, "7.19"), (7.18, "7.18"), (0.2, "0.2"), (0.1 * 3, "0.3"), (100.75, "101"), (0, "0")],
)
def test_figures_for_people_are_rounded_up(value: float, written: str) -> None:
    assert rounded_up(value) == written


# Whole people


def test_a_whole_persons_price_is_that_of_all_of_its_parts() -> None:
    """k parts are k neighbours in a row, so that μ is multiplied by k."""
    promise = promised(unit=us.Unit("tailnum", "time_hour:week"))
    assert [point["parts"] for point in promise["whole_person"]] == [2, 4, 12, 52]
    for point in promise["whole_person"]:
        exact = point["parts"] * promise["mu"]
        assert exact * (1 - 1e-15) <= point["mu"] <= exact * (1 + 1e-15)
        assert point["epsilon"] == pytest.approx(epsilon_upper(exact, DELTA), rel=1e-12)
        assert point["delta"] == DELTA
    assert promise["whole_person_words"] == (
        "The promise is for one 'tailnum × time_hour:week', which may be only a part of a person. "
        "For a person with k of them it is weaker, and costs k·mu: epsilon = 2.08 for 2, 4.37 for "
        "4, 15.1 for 12, 101 for 52, each at delta = 1e-09."
    )


def test_k_draws_of_gaussian_noise_are_what_k_parts_are_promised() -> None:
    """A person whose k parts each move an answer by 1 moves it by k: N(0, σ²) against N(k, σ²)."""
    promise = promised(unit=us.Unit("taxi", "time:month_index"))
    mu, ends = promise["mu"], np.linspace(-40, 40, 100_001)
    for point in promise["whole_person"]:
        without, present = norm.sf(ends), norm.sf(ends - point["parts"] * mu)
        beyond = (present - math.exp(point["epsilon"]) * without).max()
        assert beyond <= DELTA * (1 + 1e-6)
        # At the price of a single part the statement would be false.
        assert (present - math.exp(promise["epsilon"]) * without).max() > 100 * DELTA


def test_a_pure_whole_person_has_k_times_epsilon() -> None:
    promise = promised(0.1, 0, us.Unit.each_row())
    assert promise["whole_person"] == [
        {"parts": k, "epsilon": pytest.approx(k * 0.1, rel=1e-15)} for k in (10, 100, 1000)
    ]
    assert promise["whole_person_words"].endswith(
        "For a person with k rows it is weaker, and costs k·epsilon: epsilon = 1 for 10, 10 for "
        "100, 100 for 1,000."
    )


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_date_has_numbers_of_parts_to_price(part: str) -> None:
    whole = promised(unit=us.Unit(f"time:{part}"))["whole_person"]
    low, high = PARTS[part]
    assert len(whole) >= 2
    assert low is None or high is None or whole[-1]["parts"] == high - low + 1


def test_columns_together_are_priced_too_and_a_person_needs_no_second_price() -> None:
    assert len(promised(unit=us.Unit("patient", "hospital"))["whole_person"]) == 3
    assert not promised().keys() & {"whole_person", "whole_person_words"}
