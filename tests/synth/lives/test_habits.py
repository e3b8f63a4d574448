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


@pytest.mark.parametrize(("noise", "alike"), [(1e-6, True), (0.3, True), (0.3, False)])
def test_public_people_have_as_much_of_a_say_as_they_are_alike(
    noise: float, *, alike: bool
) -> None:
    """Seven columns of codes that people have mostly; in another table, hardly ever."""
    names = "abcdefg"

    def people(seed: int, staying: float) -> tuple[PublicTable, Habits]:
        draws = np.random.default_rng(seed)
        who = np.repeat(np.arange(400), draws.integers(1, 9, 400))
        codes, first, found = {}, np.diff(who, prepend=-1) != 0, {}
        for name in names:
            usual, other = draws.integers(0, 5, 400)[who], draws.integers(0, 5, len(who))
            codes[name] = np.where(draws.random(len(who)) < staying, usual, other)
            found[name] = Habit(differing(first, codes[name]), apart(first, codes[name]) / 4)
        sizes = dict.fromkeys(names, 5)
        return crowd(who, sizes, **codes), Habits(found, distinct=False)

    public, _ = people(1, 0.8 if alike else 0.1)
    _, true = people(2, 0.8)
    draws = np.random.default_rng(3)
    noisy = {
        n: Habit(
            h.differ + noise * draws.normal(), (h.apart or 0) + noise * draws.normal(), noise, noise
        )
        for n, h in true.columns.items()
    }
    found = Habits(noisy, distinct=False).beside(public, public.schema).columns

    def off(habits: Mapping[str, Habit]) -> float:
        return float(np.mean([abs(habits[n].differ - h.differ) for n, h in true.columns.items()]))

    if noise < 0.1:
        assert off(found) < 2 * noise
    else:
        assert off(found) < (0.3 if alike else 1.0) * off(noisy)
    assert all(0 < found[n].noise <= noise for n in names)
