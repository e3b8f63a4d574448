"""Habits: of rows, as the obvious version has them; and of people, as noisy counts tell them."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.synth.crowds import crowd
from understudy.door.views import DIFFERENCES_OF
from understudy.synth.lives.habits import (
    FEWER,
    SELDOM,
    SELDOM_SHARES,
    SHARES,
    Habit,
    Habits,
    apart,
    differing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from understudy.public import PublicTable


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=7), min_size=1, max_size=6))
@tried(60)
def test_habits_of_rows_are_those_of_the_obvious_version(people: list[list[int]]) -> None:
    first = np.array([i == 0 for rows in people for i in range(len(rows))])
    codes = np.array([code for rows in people for code in rows])
    several = [rows for rows in people if len(rows) > 1]

    def mean(of: Callable[[int, int], float]) -> float:
        found = [np.mean([of(a, b) for a, b in combinations(rows, 2)]) for rows in several]
        return float(np.mean(found)) if found else 0.0

    assert differing(first, codes) == pytest.approx(mean(lambda a, b: a != b))
    assert apart(first, codes) == pytest.approx(mean(lambda a, b: abs(a - b)))
    again = np.linspace(0.1, 0.9, 6)
    expected = mean(lambda a, b: 1 - again[a] * (a == b))
    assert differing(first, codes, again) == pytest.approx(expected)


def test_a_habit_is_read_from_counts_of_people() -> None:
    counts = np.zeros(len(SHARES) + 1)
    counts[[0, -2, -1]] = 30, 10, 1000
    apart = np.zeros(len(DIFFERENCES_OF) + 1)
    apart[[0, -2]] = 10, 10
    assert Habit.of([counts]).differ == pytest.approx(0.75)
    found = Habit.of([counts, apart])
    assert (found.differ, found.apart) == pytest.approx((0.75, DIFFERENCES_OF[-1] / 2))


@given(st.lists(st.integers(0, 12), min_size=40, max_size=60), st.integers(0, 2**32))
@tried(40)
def test_merged_classes_say_about_how_often_rows_agree(people: list[int], seed: int) -> None:
    """Whatever the shares of people are, no class is off by more than its half."""
    shares = np.array([0.0, *(np.arange(10) + np.random.default_rng(seed).random(10)) / 10, 1.0])
    several = [each for each in people if each < 12]
    counts = np.bincount(FEWER[people], minlength=len(SHARES) + 1).astype(float)
    if several:
        assert Habit.of([counts]).differ == pytest.approx(1 - shares[several].mean(), abs=0.2)
    assert len(SHARES) == FEWER[-1]
    assert len(SELDOM_SHARES) == SELDOM[-1]


NAMES = "abcdefg"


def people(seed: int, staying: float, *, rows: int = 9) -> tuple[PublicTable, dict[str, Habit]]:
    """Rows of 400 people, some of whom stay with their usual code; and their habits."""
    draws = np.random.default_rng(seed)
    who = np.repeat(np.arange(400), draws.integers(1, rows, 400))
    codes, first, found = {}, np.diff(who, prepend=-1) != 0, {}
    for name in NAMES:
        usual, other = draws.integers(0, 5, 400)[who], draws.integers(0, 5, len(who))
        codes[name] = np.where(draws.random(len(who)) < staying, usual, other)
        found[name] = Habit(differing(first, codes[name]), apart(first, codes[name]) / 4)
    return crowd(who, dict.fromkeys(NAMES, 5), **codes), found


def noisy(true: Mapping[str, Habit], noise: Mapping[str, float], seed: int) -> Habits:
    draws = np.random.default_rng(seed)
    found = {}
    for name, habit in true.items():
        off, far = noise[name] * draws.normal(size=2)
        found[name] = Habit(habit.differ + off, (habit.apart or 0) + far, noise[name], noise[name])
    return Habits(found, distinct=False)


def off(habits: Mapping[str, Habit], true: Mapping[str, Habit]) -> float:
    return float(np.mean([abs(habits[n].differ - h.differ) for n, h in true.items()]))


@pytest.mark.parametrize(("noise", "alike"), [(1e-4, False), (0.3, True), (0.3, False)])
def test_public_people_have_as_much_of_a_say_as_they_are_alike(
    noise: float, *, alike: bool
) -> None:
    """Seven columns of codes that people have mostly; in another table, hardly ever."""
    public, _ = people(1, 0.8 if alike else 0.1)
    _, true = people(2, 0.8)
    told = noisy(true, dict.fromkeys(NAMES, noise), 3)
    found = told.beside(public, public.schema).columns
    if noise < 0.1:
        assert off(found, true) < 2 * noise
    else:
        assert off(found, true) < (0.3 if alike else 1.0) * off(told.columns, true)
    assert all(0 < found[n].noise <= noise for n in NAMES)


def test_a_column_that_noise_drowns_hides_no_change_of_others() -> None:
    public, _ = people(1, 0.1)
    _, true = people(2, 0.8)
    told = noisy(true, dict.fromkeys(NAMES, 0.02) | {"c": 3.0}, 3)
    found = told.beside(public, public.schema).columns
    for name in set(NAMES) - {"c"}:
        assert found[name].differ == pytest.approx(told.columns[name].differ, abs=0.02)
    assert 0 < found["c"].differ < 1.5


def test_public_people_of_one_row_each_say_nothing_of_habits() -> None:
    public, _ = people(1, 0.8, rows=2)
    _, true = people(2, 0.8)
    told = noisy(true, dict.fromkeys(NAMES, 0.3), 3)
    assert told.beside(public, public.schema).columns == told.columns


def test_a_single_public_person_says_little() -> None:
    public, _ = people(1, 1.0)
    one = public.take(np.flatnonzero(public.people == 0))
    _, true = people(2, 0.1)
    told = noisy(true, dict.fromkeys(NAMES, 0.02), 3)
    found = told.beside(one, public.schema).columns
    assert off(found, told.columns) < 0.02
    assert all(h.noise > 0.01 for h in found.values())
