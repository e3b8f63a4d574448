"""The posterior mean of a count: against sums by hand, at its limits, and at its extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import tried
from understudy.budget import Currency
from understudy.synth.usercounts import posterior as module
from understudy.synth.usercounts.posterior import SPREADS, UNFORESEEN, posterior

Floats = NDArray[np.float64]
SHAPES: list[Currency] = [Currency.GDP, Currency.PURE]
shapes = st.sampled_from(SHAPES)


def chance(count: int, expected: float, spread: float) -> float:
    """The log of a chance: negative binomial as in a textbook (size r, success p), or anything."""
    r, p = 1 / spread, 1 / (1 + spread * expected)
    choose = math.lgamma(count + r) - math.lgamma(r) - math.lgamma(count + 1)
    foreseen = math.exp(choose + r * math.log(p) + count * math.log1p(-p))
    anything = 6 / (math.pi * (1 + count)) ** 2
    return math.log((1 - UNFORESEEN) * foreseen + UNFORESEEN * anything)


def density(away: float, scale: float, currency: Currency) -> float:
    if currency == Currency.GDP:
        return -((away / scale) ** 2) / 2 - math.log(scale * math.sqrt(2 * math.pi))
    return -abs(away) / scale - math.log(2 * scale)


def slow(
    noisy: list[float], expected: list[float], *, scale: float, currency: Currency, most: int
) -> list[float]:
    """Add up over every count there could be, for every spread, and keep the likeliest."""
    tried = []
    for spread in SPREADS:
        means, likely = [], 0.0
        for y, m in zip(noisy, expected, strict=True):
            logs = [chance(x, m, spread) + density(y - x, scale, currency) for x in range(most + 1)]
            top = max(logs)
            weights = [math.exp(w - top) for w in logs]
            whole = math.fsum(weights)
            means.append(math.fsum(x * w for x, w in enumerate(weights)) / whole)
            likely += top + math.log(whole)
        tried.append((likely, means))
    return max(tried, key=lambda t: t[0])[1]


@given(
    st.lists(st.tuples(st.floats(-30, 90), st.floats(1e-3, 12)), min_size=1, max_size=4),
    st.floats(0.3, 9),
    shapes,
)
@tried(40)
def test_means_are_those_of_adding_up_over_all_counts(
    answers: list[tuple[float, float]], scale: float, currency: Currency
) -> None:
    noisy, expected = [a for a, _ in answers], [b for _, b in answers]
    found = posterior(np.array(noisy), np.array(expected), scale=scale, currency=currency)
    wanted = slow(noisy, expected, scale=scale, currency=currency, most=600)
    assert found == pytest.approx(wanted, rel=1e-3, abs=1e-3)


@given(st.lists(st.tuples(st.integers(0, 5000), st.floats(0, 50)), min_size=1, max_size=20), shapes)
@tried(40)
def test_without_noise_to_speak_of_counts_are_what_they_are(
    people: list[tuple[int, float]], currency: Currency
) -> None:
    true, expected = np.array([float(n) for n, _ in people]), np.array([m for _, m in people])
    # What is not expected at all is only believed where it is certain.
    found = posterior(true, expected, scale=1e-6, currency=currency)
    assert found == pytest.approx(true, abs=0.01)


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0.1, 50)), min_size=1, max_size=20), shapes)
@tried(40)
def test_where_all_is_noise_counts_are_what_is_expected(
    answers: list[tuple[float, float]], currency: Currency
) -> None:
    scale = 1e6
    noisy, expected = np.array([scale * y for y, _ in answers]), np.array([m for _, m in answers])
    found = posterior(noisy, expected, scale=scale, currency=currency)
    assert found == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("currency", SHAPES)
@pytest.mark.parametrize("scale", [1.0, 10.0, 50.0])
def test_adding_up_and_the_straight_line_agree_where_counts_are_large(
    monkeypatch: pytest.MonkeyPatch, scale: float, currency: Currency
) -> None:
    expected = np.linspace(300, 1000, 30)
    noisy = expected + 2 * scale * np.sin(np.arange(30))

    def found() -> Floats:
        return module._updated(noisy, expected, spread=0.1, scale=scale, currency=currency)[0]

    summed = found()
    monkeypatch.setattr(module, "WIDEST", 1)
    assert not np.array_equal(found(), summed)
    # A line does not fit Laplace noise as well.
    assert np.abs(found() - summed).max() < (0.15 if currency == Currency.GDP else 0.3) * scale


@pytest.mark.parametrize("currency", SHAPES)
def test_large_counts_are_moved_by_their_share_of_all_variance(currency: Currency) -> None:
    noisy, expected, scale = np.array([9000.0, 12_000.0]), np.full(2, 10_000.0), 1000.0
    found, _ = module._updated(noisy, expected, spread=0.01, scale=scale, currency=currency)
    own, noise = 10_000 + 0.01 * 10_000**2, scale**2 * (1 if currency == Currency.GDP else 2)
    assert found == pytest.approx(10_000 + own / (own + noise) * np.array([-1000, 2000]))


@pytest.mark.parametrize("currency", SHAPES)
def test_there_is_no_jump_where_the_straight_line_begins(currency: Currency) -> None:
    """It begins where 8 standard deviations reach beyond 2048: here at a noisy 1248."""
    noise = 100.0
    scale = noise if currency == Currency.GDP else noise / math.sqrt(2)
    noisy, expected = np.linspace(900.0, 1300.0, 801), np.full(801, 1000.0)
    found, _ = module._updated(noisy, expected, spread=0.01, scale=scale, currency=currency)
    assert np.abs(np.diff(found)).max() < 0.1 * noise


@pytest.mark.parametrize("currency", SHAPES)
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("expected", [0.0, 1e-300, 1e-6, 1.0, 1e6, 1e12])
def test_extremes_give_numbers_that_are_not_negative(
    expected: float, scale: float, currency: Currency
) -> None:
    noisy = np.array([-1e12, -1e6, -1.0, 0.0, 0.5, 1e6, 1e12])
    found = posterior(noisy, np.full(7, expected), scale=scale, currency=currency)
    assert np.isfinite(found).all()
    assert found.min() >= 0


@pytest.mark.parametrize("currency", SHAPES)
def test_what_is_certain_is_not_explained_away(currency: Currency) -> None:
    """With noise of a tenth, seven were there, whether one was expected or five hundred."""
    found = posterior(np.full(2, 7.0), np.array([1.0, 500.0]), scale=0.1, currency=currency)
    assert found == pytest.approx(np.full(2, 7.0), abs=0.01)


@pytest.mark.parametrize("currency", SHAPES)
@pytest.mark.parametrize("many", [200.0, 1900.0, 2100.0, 1e5])
def test_what_nobody_expected_is_believed_where_noise_cannot_explain_it(
    many: float, currency: Currency
) -> None:
    noisy, expected = np.array([many, 4.0, -6.0]), np.full(3, 0.5)
    found = posterior(noisy, expected, scale=5.0, currency=currency)
    assert found[0] == pytest.approx(many, rel=0.05)
    assert (found[1:] < 2).all()


def test_the_spread_is_that_of_the_counts() -> None:
    """Where counts keep close to what is expected noise is taken out, and else left alone."""
    rng = np.random.default_rng(0)
    expected = np.full(2000, 40.0)
    near = rng.poisson(40, 2000) + rng.normal(0, 20, 2000)
    far = rng.negative_binomial(0.5, 0.5 / 40.5, 2000) + rng.normal(0, 20, 2000)
    shrunk = [
        posterior(y, expected, scale=20.0, currency=Currency.GDP).std() / y.std()
        for y in (near, far)
    ]
    assert shrunk[0] < 0.3
    assert shrunk[1] > 0.8


def test_many_answers_are_updated_in_pieces_that_do_not_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    noisy, expected = rng.normal(5, 9, 500), rng.gamma(2, 3, 500)
    whole = posterior(noisy, expected, scale=3.0, currency=Currency.PURE)
    monkeypatch.setattr(module, "AT_ONCE", 2**11 + 1)
    assert posterior(noisy, expected, scale=3.0, currency=Currency.PURE) == pytest.approx(
        whole, rel=1e-12
    )
