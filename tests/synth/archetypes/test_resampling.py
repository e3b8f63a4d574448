"""Casting: counts that agree, people who are as many as counted, rows that weigh what they must."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import tried
from tests.synth.crowds import crowd, random_crowd
from understudy.door import Measurement
from understudy.synth.archetypes.resampling import (
    MOST_WEIGHT,
    ArchetypeCounts,
    cast,
    consistent,
    raked,
    rows_of,
    weights,
)

SIZES = {"a": 3, "b": 4}
noisy = st.lists(st.floats(-200, 5000), min_size=1, max_size=20).map(np.array)
Floats = NDArray[np.float64]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Counts that agree


@given(noisy, noisy, st.floats(0.1, 100), st.floats(0.1, 100))
def test_counts_are_not_negative_and_have_one_total_between_theirs(
    one: Floats, other: Floats, sigma: float, tau: float
) -> None:
    found = consistent([one, other], [sigma, tau])
    totals = [float(c.sum()) for c in found]
    assert all(c.min() >= 0 for c in found)
    assert totals[0] == pytest.approx(totals[1])
    low, high = sorted((float(one.sum()), float(other.sum())))
    assert max(low, 1.0) - 1e-6 <= totals[0] <= max(high, 1.0) + 1e-6
    # As much of each as it is less noisy than the other.
    trust = [1 / (len(one) * sigma**2), 1 / (len(other) * tau**2)]
    wanted = (one.sum() * trust[0] + other.sum() * trust[1]) / sum(trust)
    assert totals[0] == pytest.approx(max(wanted, 1.0))


def test_counts_that_agree_stay_as_they_are() -> None:
    found = consistent([np.array([4.0, 0.0, 6.0]), np.array([7.0, 3.0])], [1.0, 9.0])
    assert [c.tolist() for c in found] == [[4.0, 0.0, 6.0], [7.0, 3.0]]


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 6))
@tried()
def test_a_raked_table_has_the_sums_that_were_asked_for(seed: int, rows: int, columns: int) -> None:
    draws = rng(seed)
    table = draws.integers(0, 9, size=(rows, columns)) * (draws.random((rows, columns)) < 0.7)
    down = draws.integers(0, 50, size=rows).astype(np.float64)
    down[0] += 1
    across = draws.multinomial(int(down.sum()), np.full(columns, 1 / columns)).astype(np.float64)
    found = raked(table.astype(np.float64), down, across)
    assert found.min() >= 0
    assert np.allclose(found.sum(axis=0), across, atol=1e-6)
    # Rows nearly, where public people are of other pairs.
    assert np.abs(found.sum(axis=1) - down).sum() <= 0.1 * down.sum() + 1e-6
    assert found.sum() == pytest.approx(down.sum())


def test_raking_keeps_what_goes_together_in_public() -> None:
    table = np.array([[30.0, 10.0], [10.0, 30.0]])
    found = raked(table, np.array([80.0, 20.0]), np.array([50.0, 50.0]))
    assert found.sum(axis=1) == pytest.approx([80, 20], abs=1e-3)
    assert found.sum(axis=0) == pytest.approx([50, 50], abs=1e-3)
    ratio = found[0, 0] * found[1, 1] / found[0, 1] / found[1, 0]
    assert ratio == pytest.approx(9, rel=1e-2)


# People


def test_there_are_as_many_people_of_a_kind_and_value_as_wanted() -> None:
    draws = rng(1)
    kinds, values = draws.integers(3, size=200), draws.integers(4, size=200)
    wanted = draws.random((3, 4)) * 30
    people, given_ = cast(kinds, values, wanted, draws)
    found = np.zeros((3, 4))
    np.add.at(found, (kinds[people], given_), 1)
    assert np.abs(found - wanted).max() < 1
    assert values[people].tolist() == given_.tolist()


def test_fractions_of_people_are_there_by_chance() -> None:
    """A great many cells of a small share each come to their sum."""
    people, given_ = cast(
        np.zeros(5, dtype=int), np.zeros(5, dtype=int), np.full((1, 9000), 0.1), rng()
    )
    assert len(people) == len(given_) == pytest.approx(900, abs=120)
    assert len(set(given_.tolist())) == len(given_)


def test_where_nobody_has_both_one_of_the_kind_stands_in_or_anyone() -> None:
    kinds, values = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    wanted = np.zeros((3, 3))
    wanted[1, 0], wanted[0, 2], wanted[2, 1] = 50, 40, 30
    people, given_ = cast(kinds, values, wanted, rng())
    by_value = {v: set(people[given_ == v].tolist()) for v in (0, 1, 2)}
    assert by_value == {0: {2, 3}, 1: {0, 1, 2, 3}, 2: {0, 1}}
    assert np.bincount(given_).tolist() == [50, 30, 40]


def test_nobody_wanted_is_nobody() -> None:
    people, given_ = cast(np.array([0]), np.array([0]), np.zeros((1, 1)), rng())
    assert (len(people), len(given_)) == (0, 0)
    place, who = rows_of(crowd([0], {"a": 2}, a=[1]), people, np.ones(1), rng())
    assert (len(place), len(who)) == (0, 0)


# Rows


def measured(values: Floats, scale: float, *clique: str) -> Measurement:
    return Measurement(clique=clique, values=values, scale=scale)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_rows_follow_a_marginal_as_far_as_it_can_be_told_from_noise(scale: float) -> None:
    public = random_crowd(rng(3), SIZES, 80)
    times = rng(4).integers(0, 4, size=len(public)).astype(np.float64)
    cells = public.cells(("a", "b"))
    now = np.bincount(cells, times, minlength=12)
    wanted = now * rng(5).uniform(0.6, 1.6, size=12)
    wanted *= 1.5 * now.sum() / wanted.sum()
    each = weights(public, times, [measured(wanted, scale, "a", "b")], float(wanted.sum()))
    found = np.bincount(cells, times * each, minlength=12)
    if scale < 1:
        assert found == pytest.approx(wanted, rel=1e-6)
    else:
        assert each == pytest.approx(np.full(len(public), 1.5), rel=1e-6)


def test_rows_follow_several_marginals_together() -> None:
    public = random_crowd(rng(6), SIZES, 200)
    times, tilt = np.ones(len(public)), rng(7).uniform(0.7, 1.4, size=4)
    true = tilt[public.codes["b"]] * np.where(public.codes["a"] == 0, 1.3, 0.9)
    asked = []
    for clique in (("a",), ("b",)):
        counted = np.bincount(public.cells(clique), true)
        # Noisy totals need not agree with the number of rows.
        asked.append(measured(np.asarray(1.1 * counted, dtype=np.float64), 1e-6, *clique))
    each = weights(public, times, asked, float(true.sum()))
    for m in asked:
        found = np.bincount(public.cells(m.clique), each)
        assert found == pytest.approx(m.values / 1.1, rel=1e-3)


def test_no_row_weighs_too_much_and_without_marginals_all_weigh_the_same() -> None:
    public = crowd(np.arange(50), {"a": 2}, a=[0] * 49 + [1])
    wanted = np.array([10.0, 90.0])
    each = weights(public, np.ones(50), [measured(wanted, 1e-9, "a")], 100.0)
    assert each[-1] == MOST_WEIGHT
    assert each[:-1] == pytest.approx(np.full(49, 10 / 49))
    assert weights(public, np.full(50, 2.0), [], 300.0).tolist() == [3.0] * 50


@given(st.integers(0, 2**32))
@tried(25)
def test_everyone_chosen_has_their_rows_as_often_as_these_weigh(seed: int) -> None:
    draws = rng(seed)
    public = random_crowd(draws, SIZES, 12)
    assert public.people is not None
    people = draws.integers(12, size=20)
    each = draws.random(len(public)) * 3
    place, who = rows_of(public, people, each, draws)
    got: dict[tuple[int, int], int] = {}
    for row, number in zip(place.tolist(), who.tolist(), strict=True):
        got[number, row] = got.get((number, row), 0) + 1
    for number, person in enumerate(people.tolist()):
        for row in range(len(public)):
            often = got.pop((number, row), 0)
            if public.people[row] == person:
                assert math.floor(each[row]) <= often <= math.floor(each[row]) + 1
            else:
                assert often == 0
    assert not got


def test_where_nobody_chosen_has_a_row_weights_stay_finite() -> None:
    """As of last year's people, none of whom has a row of this year."""
    public = random_crowd(rng(3), SIZES, 50)
    assert public.people is not None
    times = (np.bincount(public.people, public.codes["a"] == 0) == 0)[public.people] * 1.0
    wanted = np.zeros(SIZES["a"])
    wanted[0] = 500.0
    each = weights(public, times, [measured(wanted, 1e-3, "a")] * 3, 500.0)
    assert np.isfinite(each).all()
    assert (each >= 0).all()


def test_rows_of_weight_one_are_there_once_and_fractions_by_chance() -> None:
    public = random_crowd(rng(1), SIZES, 30)
    assert public.people is not None
    place, who = rows_of(public, np.arange(30), np.ones(len(public)), rng())
    assert place.tolist() == list(range(len(public)))
    assert who.tolist() == public.people.tolist()
    many = np.tile(np.arange(30), 200)
    place, _ = rows_of(public, many, np.full(len(public), 0.3), rng(2))
    assert len(place) == pytest.approx(0.3 * 200 * len(public), rel=0.05)


def test_a_release_says_if_other_than_as_many_people_came_out_as_were_counted() -> None:
    asked = ArchetypeCounts(kinds=np.array([60.0, 45.0, -5.0]), values=None, scales=(2.0,))
    for made in (80, 100, 120):
        (usual,) = asked.notes(made)
        assert usual.endswith("the number of people of each kind follows the private table.")
    for made in (0, 70, 140):
        (other,) = asked.notes(made)
        assert f"{made:,} people came out where about 100 were counted" in other
