"""Size shares: people of one class differ as classes do, and what is not known of them is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.synth.measure.size_shares import PARTS, Parts, learned
from understudy.synth.measure.sizes import Sizes

STARTS = (1, 4, 13)


def crowd(seed: int, most: int = 60) -> Sizes:
    """Return people of whom each class of sizes has some."""
    rng = np.random.default_rng(seed)
    people = rng.poisson(200 / np.arange(1, most + 1)).astype(np.float64)
    people[np.array(STARTS) - 1] += 1
    return Sizes(people)


@given(st.integers(0, 999))
def test_parts_have_all_rows_of_their_class(seed: int) -> None:
    sizes = crowd(seed)
    parts = Parts.of(sizes, STARTS)
    rows = sizes.people * np.arange(1, len(sizes.people) + 1)
    assert set(STARTS) <= set(parts.starts.tolist())
    assert parts.counts.max() <= PARTS
    assert (parts.rows > 0).all()
    np.testing.assert_allclose(parts.classes, np.add.reduceat(rows, np.array(STARTS) - 1))
    assert (np.diff(parts.logs) > 0).all()


@given(st.integers(0, 999))
def test_what_a_class_has_of_a_code_remains_and_parts_have_their_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts, rows = Parts.of(crowd(seed), STARTS), rng.uniform(10, 1000, 5)
    shares = np.array([rng.dirichlet(np.ones(3)) for _ in rows])
    # Codes that have all rows between them, and classes their part of each.
    scaled = parts.times((rows @ shares) / parts.classes)
    found = scaled.tilted(rows, shares)
    np.testing.assert_allclose(np.add.reduceat(found, scaled.firsts, axis=1), shares)
    np.testing.assert_allclose(rows @ found, scaled.rows, rtol=0.15)


def test_codes_of_all_people_alike_are_as_common_in_every_part() -> None:
    parts = Parts.of(crowd(1), STARTS)
    mix = parts.classes / parts.classes.sum()
    found = parts.tilted(np.array([5.0, 9.0]), np.array([mix, mix]))
    np.testing.assert_allclose(found, [parts.rows / parts.rows.sum()] * 2)


@pytest.mark.parametrize("slope", [0.5, 2.0])
def test_people_of_a_class_differ_as_classes_do(slope: float) -> None:
    """Three values, of which the larger people are the more often have the last."""
    sizes = crowd(2)
    parts, each = Parts.of(sizes, STARTS), np.arange(1, len(sizes.people) + 1)
    chance = np.exp(slope * np.log(each)[:, None] * np.array([0.0, 0.5, 1.0]))
    rows = (sizes.people * each)[:, None] * chance / chance.sum(axis=1, keepdims=True)
    true = np.add.reduceat(rows, parts.starts - 1).T
    whole, classes = true.sum(axis=1), np.add.reduceat(true, parts.firsts, axis=1)
    found = parts.tilted(whole, classes / whole[:, None]) * whole[:, None]
    even = np.repeat(classes / parts.classes, parts.counts, axis=1) * parts.rows
    assert np.abs(found - true).sum() < 0.35 * np.abs(even - true).sum()


def test_shares_lie_as_far_from_what_is_learned_of_them_as_is_told() -> None:
    """Of 200 columns; some codes are of people of one class alone, unlike all others."""
    rng = np.random.default_rng(3)
    mix, left, apart, away = np.array([0.4, 0.35, 0.25]), np.array([1.0, 0.6, 0.2]), [], []
    for _ in range(200):
        true = np.array([rng.dirichlet(60 * mix) for _ in range(12)])
        true[0] = [0.01, 0.01, 0.98]
        rows = rng.uniform(500, 3000, 12)
        noise = np.full(12, 40.0)
        counts = rows[:, None] * true * left + rng.normal(0, 40.0, true.shape)
        found = learned(counts, noise, left, mix)
        assert (found.shares > 0).all()
        np.testing.assert_allclose(found.shares.sum(axis=1), 1)
        apart.append((found.shares - true) / (found.shares * np.sqrt(found.doubts)))
        away.append(found.shares[0, 2])
    assert 0.6 < np.sqrt(np.mean(np.square(np.array(apart)[:, 1:]))) < 1.3
    # One that stands out is not taken for the noise of the others.
    assert np.mean(away) > 0.75
    assert (np.abs(np.array(apart)[:, 0, 2]) < 3).mean() > 0.95


def test_a_code_unlike_all_others_is_not_taken_for_their_noise() -> None:
    mix, rng = np.array([0.5, 0.5]), np.random.default_rng(4)
    counts = 50.0 + rng.normal(0, 30.0, (400, 2))
    found = learned(counts, np.full(400, 30.0), np.ones(2), mix).shares
    assert np.median(np.abs(found / mix - 1)) < 0.1
    counts[0] = [500.0, 10.0]
    assert learned(counts, np.full(400, 30.0), np.ones(2), mix).shares[0, 0] > 0.75
