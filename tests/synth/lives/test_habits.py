"""Habits: of rows, as the obvious version has them; and of people, as noisy counts tell them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.door.views import DIFFERENCES_OF
from understudy.synth.lives.habits import SHARES, Habit, agreeing, differing


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=7), min_size=1, max_size=6))
@tried(60)
def test_habits_of_rows_are_those_of_the_obvious_version(people: list[list[int]]) -> None:
    first = np.array([i == 0 for rows in people for i in range(len(rows))])
    codes = np.array([code for rows in people for code in rows])
    several = [rows for rows in people if len(rows) > 1]

    def mean(of: Any, *, every: bool) -> float:
        found = []
        for rows in several:
            pairs = [
                (rows[i], rows[j])
                for i in range(len(rows))
                for j in (range(i + 1, len(rows)) if every else range(i + 1, min(i + 2, len(rows))))
            ]
            found.append(float(np.mean([of(a, b) for a, b in pairs])))
        return float(np.mean(found)) if found else 0.0

    def same(a: int, b: int) -> bool:
        return a == b

    def apart(a: int, b: int) -> int:
        return abs(a - b)

    assert agreeing(first, codes) == pytest.approx(
        (mean(same, every=True), mean(same, every=False))
    )
    assert differing(first, codes) == pytest.approx(
        (mean(apart, every=True), mean(apart, every=False))
    )


def test_a_habit_is_read_from_counts_of_people() -> None:
    counts = np.zeros(len(SHARES) + 1)
    counts[[0, -2, -1]] = 30, 10, 1000
    assert Habit.of([counts, counts], ordered=False).step == pytest.approx(0.75)
    counts = np.zeros(len(DIFFERENCES_OF) + 1)
    counts[[0, -2]] = 10, 10
    assert Habit.of([counts], ordered=True).apart == pytest.approx(DIFFERENCES_OF[-1] / 2)
