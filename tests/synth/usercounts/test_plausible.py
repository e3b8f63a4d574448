"""Plausible cells against loops over all of them; whole numbers, smoothing and levels."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import tried
from understudy.schema import Domain
from understudy.synth.usercounts.plausible import TimedDomain, whole_numbers

Floats = NDArray[np.float64]
Cell = dict[str, int]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@st.composite
def spaces(draw: st.DrawFn) -> TimedDomain:
    """Up to four columns in any order, of which some tell the period, in any order too."""
    names = draw(st.permutations(["area", "year", "month", "kind"]))
    kept = names[: draw(st.integers(1, 4))]
    domain = {name: draw(st.integers(1, 4)) for name in kept}
    time = draw(st.permutations([n for n in kept if n in {"year", "month"}]))
    return TimedDomain(Domain(domain), tuple(time[: draw(st.integers(0, 2))]))


def cells(space: TimedDomain) -> list[Cell]:
    """All cells, in the order of their numbers."""
    ranges = [range(size) for size in space.domain.values()]
    return [dict(zip(space.domain, values, strict=True)) for values in product(*ranges)]


def period(space: TimedDomain, cell: Cell) -> int:
    """The number of a cell's period, the last column of time fastest."""
    number = 0
    for name in space.time:
        number = number * space.domain[name] + cell[name]
    return number


def kind(space: TimedDomain, cell: Cell) -> Cell:
    return {n: v for n, v in cell.items() if n not in space.time}


def slow_support(space: TimedDomain, there: list[Cell], neighbours: int) -> list[bool]:
    """Look, for every cell, for one that agrees with a public one and is near enough."""
    matched = [
        cell
        for cell in cells(space)
        if any(all(cell[n] == public[n] for n in space.matched) for public in there)
    ]
    return [
        any(
            kind(space, cell) == kind(space, other)
            and abs(period(space, cell) - period(space, other)) <= (neighbours if space.time else 0)
            for other in matched
        )
        for cell in cells(space)
    ]


@given(spaces(), st.integers(0, 5), st.data())
@tried(100)
def test_the_support_is_that_of_the_slow_way(
    space: TimedDomain, neighbours: int, data: st.DataObject
) -> None:
    # A public table of other years: only the matched columns are looked at.
    public = data.draw(st.lists(st.sampled_from(cells(space)), max_size=4))
    there = np.zeros([space.domain[n] for n in space.matched], dtype=bool)
    for cell in public:
        there[tuple(cell[n] for n in space.matched)] = True
    assert there.size == space.matched_size
    found = space.near(space.spread(there.reshape(-1)), neighbours)
    assert found.tolist() == slow_support(space, public, neighbours)


def test_a_month_is_near_those_around_it_in_every_year_and_over_the_turn_of_it() -> None:
    """Public people were there in January of whatever year: month 0 of 12, in three years."""
    space = TimedDomain(Domain({"year": 3, "month": 12}), ("year", "month"))
    there = np.zeros(12, dtype=bool)
    there[0] = True
    found = space.near(space.spread(there), 2).reshape(3, 12)
    assert [np.flatnonzero(year).tolist() for year in found] == [
        [0, 1, 2, 10, 11],
        [0, 1, 2, 10, 11],
        [0, 1, 2],
    ]


@pytest.mark.parametrize(
    ("domain", "time", "wraps"),
    [
        ({"month": 12}, ("month",), True),
        ({"year": 1, "call_month": 12}, ("year", "call_month"), True),
        ({"year": 2, "month": 12}, ("year", "month"), False),
        ({"month": 11}, ("month",), False),
        ({"period": 12}, ("period",), False),
    ],
    ids=str,
)
def test_december_is_near_january_where_no_year_tells_them_apart(
    domain: dict[str, int], time: tuple[str, ...], wraps: bool
) -> None:
    space = TimedDomain(Domain(domain), time)
    last = domain[time[-1]]
    there = np.zeros(last, dtype=bool)
    there[0] = True
    found = np.flatnonzero(space.near(space.spread(there), 3)[:last])
    before = [last - 3, last - 2, last - 1] if wraps or domain.get("year") == 2 else []
    assert space.wraps == wraps
    assert found.tolist() == [0, 1, 2, 3, *before]


def test_without_time_a_cell_is_near_itself_alone() -> None:
    there = np.array([True, False, False, True])
    assert TimedDomain(Domain({"a": 4}), ()).near(there, 3).tolist() == there.tolist()


def test_only_the_last_column_of_time_is_matched() -> None:
    space = TimedDomain(Domain({"area": 2, "year": 5, "month": 12, "kind": 3}), ("year", "month"))
    assert space.matched == ("area", "month", "kind")
    assert (space.size, space.matched_size, space.last) == (360, 72, 3)


@given(spaces(), st.integers(0, 2**32))
def test_laying_out_by_period_and_back_changes_nothing(space: TimedDomain, seed: int) -> None:
    values = rng(seed).random(space.size)
    laid = space._by_period(values)
    assert laid.shape[1] == math.prod(space.domain[n] for n in space.time)
    assert space._by_cell(laid).tolist() == values.tolist()
    for number, cell in enumerate(cells(space)):
        assert values[number] in laid[:, period(space, cell)]


# What is expected


@given(spaces(), st.integers(0, 2**32))
def test_smoothing_keeps_the_total_and_expects_nothing_negative(
    space: TimedDomain, seed: int
) -> None:
    people = rng(seed).poisson(0.7, space.size).astype(float)
    smoothed = space.smooth(people)
    assert smoothed.sum() == pytest.approx(people.sum(), abs=1e-9)
    assert smoothed.min() >= 0
    # Where people were, some are expected.
    assert np.all(smoothed[people > 0] > 0)


def test_smoothing_borrows_from_other_periods_and_from_columns_on_their_own() -> None:
    """Twelve people of kind 0 in month 0; none of kind 1, but in area 1."""
    space = TimedDomain(Domain({"area": 2, "month": 3, "kind": 2}), ("month",))
    people = np.zeros((2, 3, 2))
    people[0, 0, 0], people[1, 1, 1] = 12, 4
    smoothed = space.smooth(people.reshape(-1)).reshape(2, 3, 2)
    # A mean period has 4 and 4/3 of 16/3, and independent ones 3, 1, 1 and 1/3.
    mean = (3 * np.array([[4, 0], [0, 4 / 3]]) + np.array([[3, 1], [1, 1 / 3]])) / 4
    wanted = (people + 3 * mean[:, None, :]) / 4
    assert smoothed == pytest.approx(wanted)


def slow_levelled(
    space: TimedDomain, expected: list[float], noisy: list[float], asked: list[int], noise: float
) -> list[float]:
    """Scale by all cells together, and by each value of each column in turn."""
    held = dict(zip(asked, expected, strict=True))
    told = dict(zip(asked, noisy, strict=True))
    every = [asked]
    for name, size in space.domain.items():
        every += [[c for c in asked if cells(space)[c][name] == v] for v in range(size)]
    for group in (g for g in every if g):
        whole = sum(held[c] for c in group)
        spread = (whole / 2) ** 2
        gain = spread / (spread + len(group) * noise**2)
        factor = max(0.1, 1 + gain * (sum(told[c] for c in group) / whole - 1))
        for cell in group:
            held[cell] *= factor
    return list(held.values())


@given(spaces(), st.floats(0.1, 30), st.integers(0, 2**32))
@tried(50)
def test_levels_are_those_of_the_slow_way(space: TimedDomain, noise: float, seed: int) -> None:
    draws = rng(seed)
    asked = np.flatnonzero(draws.random(space.size) < 0.8)
    expected = draws.gamma(1, 5, len(asked)) + 0.1
    noisy = draws.gamma(1, 5, len(asked)) + noise * draws.normal(size=len(asked))
    wanted = slow_levelled(space, expected.tolist(), noisy.tolist(), asked.tolist(), noise)
    assert space.levelled(expected, noisy, asked, noise) == pytest.approx(np.array(wanted))


@given(spaces(), st.integers(0, 2**32))
def test_levels_go_to_totals_that_have_no_noise(space: TimedDomain, seed: int) -> None:
    draws = rng(seed)
    asked = np.flatnonzero(draws.random(space.size) < 0.7)
    expected, noisy = draws.gamma(3, 5, len(asked)) + 1, draws.gamma(3, 5, len(asked)) + 1
    # No total is a tenth of what is expected, or less.
    noisy = np.maximum(noisy, 0.2 * expected)
    found = space.levelled(expected, noisy, asked, 1e-9)
    assert found.sum() == pytest.approx(noisy.sum())
    last = np.unravel_index(asked, tuple(space.domain.values()))[-1]
    assert np.bincount(last, found) == pytest.approx(np.bincount(last, noisy))


@given(spaces(), st.integers(0, 2**32))
def test_levels_stay_where_noise_hides_the_totals(space: TimedDomain, seed: int) -> None:
    draws = rng(seed)
    asked, noise = np.arange(space.size), 1e9
    expected = draws.gamma(1, 5, space.size)
    noisy = expected + noise * draws.normal(size=space.size)
    assert space.levelled(expected, noisy, asked, noise) == pytest.approx(expected, rel=1e-3)


def test_levels_of_nothing_are_nothing_and_never_negative() -> None:
    space, asked = TimedDomain(Domain({"a": 2, "b": 2}), ()), np.arange(4)
    assert space.levelled(np.zeros(4), np.full(4, 1e6), asked, 1.0).tolist() == [0.0] * 4
    assert space.levelled(np.ones(4), np.full(4, -1e6), asked, 1e-3).min() > 0


@given(spaces(), st.integers(0, 2**32))
def test_without_public_data_columns_are_expected_to_be_independent(
    space: TimedDomain, seed: int
) -> None:
    draws = rng(seed)
    shape = tuple(space.domain.values())
    product_ = np.ones(1)
    for size in shape:
        product_ = (product_[:, None] * draws.dirichlet(np.ones(size))).reshape(-1)
    true = 1000 * product_
    assert space.guessed(true) == pytest.approx(true)
    odd = space.guessed(draws.normal(0, 100, space.size))
    assert np.isfinite(odd).all()
    assert odd.min() >= 0
    assert odd.sum() >= 1 - 1e-9


# Whole numbers


@given(
    st.lists(st.tuples(st.floats(-50, 1e6), st.integers(0, 5)), min_size=1, max_size=60),
    st.booleans(),
)
def test_whole_numbers_are_next_to_the_values_and_groups_keep_their_totals(
    pairs: list[tuple[float, int]], positive: bool
) -> None:
    values = np.array([max(0.0, v) if positive else v for v, _ in pairs])
    groups = np.array([g for _, g in pairs])
    found = whole_numbers(values, groups)
    assert found.dtype == np.int64
    assert np.all((found == np.floor(values)) | (found == np.ceil(values)))
    for group in set(groups.tolist()):
        own = groups == group
        assert abs(found[own].sum() - values[own].sum()) <= 0.5 + 1e-6
    if positive:
        assert found.min() >= 0


def test_the_largest_remainders_are_rounded_up() -> None:
    values = np.array([0.2, 0.9, 0.3, 0.6, 0.5, 7.0])
    # A total of 2.5 is rounded to the even number next to it.
    assert whole_numbers(values, np.array([0, 0, 0, 0, 0, 1])).tolist() == [0, 1, 0, 1, 0, 7]


def test_groups_need_not_stand_together() -> None:
    values = np.array([0.4, 0.7, 0.4, 0.2, 0.4])
    assert whole_numbers(values, np.array([3, 0, 3, 0, 3])).tolist() == [1, 1, 0, 0, 0]
