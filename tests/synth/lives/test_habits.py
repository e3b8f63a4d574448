"""Habits: of rows, as the obvious version has them; and of people, as noisy counts tell them."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.door.views import DIFFERENCES_OF
from understudy.synth.lives.habits import (
    FEWER,
    SELDOM,
    SELDOM_SHARES,
    SHARES,
    Habit,
    apart,
    differing,
)

if TYPE_CHECKING:
    from collections.abc import Callable


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
