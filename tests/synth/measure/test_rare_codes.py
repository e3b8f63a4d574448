"""Counts of rare codes: what is expected of them, given noisy ones, and how far off that is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.budget import Currency
from understudy.synth.measure.rare_codes import AT_ONCE, GAMMA_SHAPES, RareCodes, rare_codes

GDP, PURE = Currency.GDP, Currency.PURE


def one_group(size: int) -> NDArray[np.int64]:
    return np.zeros(size, dtype=np.int64)


def all_rare(noisy: NDArray[np.float64], *, scale: float, currency: Currency = GDP) -> RareCodes:
    codes = one_group(len(noisy))
    return rare_codes(noisy, codes, codes == 0, scale=scale, currency=currency)


def crowd(kind: str, rng: np.random.Generator, size: int = 40) -> NDArray[np.float64]:
    """Counts with a mean of about 100: all alike, uneven, or a few codes that have most."""
    return {
        "alike": np.full(size, 100.0),
        "uneven": rng.gamma(1.5, 100 / 1.5, size),
        "heaped": rng.gamma(0.1, 1000, size),
    }[kind]


@pytest.mark.parametrize("currency", [GDP, PURE])
@pytest.mark.parametrize("kind", ["alike", "uneven", "heaped"])
@pytest.mark.parametrize("scale", [10.0, 60.0, 300.0])
def test_expected_counts_are_nearer_than_both_noisy_and_equal_ones(
    kind: str, scale: float, currency: Currency
) -> None:
    """Mean absolute error over 60 tables, with a tenth of the smaller and of the noise to spare."""
    rng = np.random.default_rng(7)
    draw = rng.normal if currency == GDP else rng.laplace
    off = np.zeros(3)
    for _ in range(60):
        true = crowd(kind, rng)
        noisy = true + draw(0, scale, len(true))
        found = all_rare(noisy, scale=scale, currency=currency).counts
        equal = np.full(len(true), max(0.0, noisy.mean()))
        off += [np.abs(x - true).mean() for x in (found, np.maximum(noisy, 0.0), equal)]
    assert off[0] <= 1.1 * off[1:].min() + 60 * scale / 10
    if (kind, scale) in {("uneven", 60.0), ("heaped", 60.0)}:
        assert off[0] < 0.85 * off[1:].min()


def test_the_error_that_is_expected_is_the_one_that_comes() -> None:
    """For crowds that are as one of the shapes, within a quarter, with little noise or much."""
    rng = np.random.default_rng(3)
    for scale in (10.0, 60.0, 300.0):
        told, came = 0.0, 0.0
        for _ in range(60):
            true = rng.gamma(1.5, 100 / 1.5, 200)
            noisy = true + rng.normal(0, scale, len(true))
            found = all_rare(noisy, scale=scale)
            told, came = told + found.error(scale), came + np.abs(found.counts - true).sum()
        assert told == pytest.approx(came, rel=0.25)


def test_a_shape_is_found_where_there_is_little_noise() -> None:
    rng = np.random.default_rng(5)
    for place, shape in enumerate(GAMMA_SHAPES, start=1):
        true = rng.gamma(shape, 1000 / shape, 2000)
        found = all_rare(true, scale=1.0)
        assert found.likely.argmax() == place
    even = np.full(500, 1000.0) + rng.normal(0, 1, 500)
    assert all_rare(even, scale=1.0).likely[0] > 0.99


@given(
    noisy=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=12),
    scale=st.floats(1e-3, 1e9),
    currency=st.sampled_from([GDP, PURE]),
    data=st.data(),
)
def test_counts_are_finite_never_negative_and_none_for_codes_that_are_not_rare(
    noisy: list[float], scale: float, currency: Currency, data: st.DataObject
) -> None:
    size = len(noisy)
    groups = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    rare = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    found = rare_codes(np.array(noisy), np.array(groups), rare, scale=scale, currency=currency)
    assert np.isfinite(found.counts).all()
    assert (found.counts >= 0).all()
    assert not found.counts[~rare].any()
    assert found.likely.sum() == pytest.approx(1.0)
    assert 0 <= found.error(scale) < math.inf


def test_the_more_noise_the_larger_the_error_that_is_expected() -> None:
    true = np.random.default_rng(1).gamma(0.7, 100 / 0.7, 50)
    found = all_rare(true, scale=30.0)
    errors = [found.error(scale) for scale in (0.0, 1.0, 10.0, 100.0, 1e6)]
    assert errors == sorted(errors)
    assert errors[0] == 0.0
    assert errors[-1] <= 2 * true.sum()


def test_many_codes_are_looked_at_in_parts_that_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    true = np.random.default_rng(2).gamma(0.7, 100 / 0.7, 50)
    whole = all_rare(true, scale=30.0)
    assert AT_ONCE > 50
    monkeypatch.setattr("understudy.synth.measure.rare_codes.AT_ONCE", 7)
    parts = all_rare(true, scale=30.0)
    np.testing.assert_allclose(parts.counts, whole.counts, rtol=1e-9)


def test_groups_have_means_of_their_own_and_a_code_alone_has_its_own_count() -> None:
    noisy, groups = np.array([10.0, 30.0, 1000.0, 3000.0, 77.0]), np.array([0, 0, 1, 1, 2])
    found = rare_codes(noisy, groups, groups >= 0, scale=1e6, currency=GDP)
    np.testing.assert_allclose(found.counts, [20, 20, 2000, 2000, 77], rtol=1e-3)
    assert found.means.tolist() == [20, 20, 2000, 2000, 0]
