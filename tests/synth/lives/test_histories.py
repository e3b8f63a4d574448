"""Histories: whatever the scores, cells get their counts; habits come out as they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.door import Measurement
from understudy.door.views import DIFFERENCES_OF, SHARES_OF
from understudy.schema import Integer
from understudy.synth.lives.habits import Habit, agreeing, differing
from understudy.synth.lives.histories import Dealer, _apart, _normal_scores, _uniform, _urn_scores
from understudy.synth.measure.support import Rule, find_support

Floats = NDArray[np.float64]


def support(size: int, seen: int | None = None) -> Any:
    """A support in which every code stands for itself, or all from ``seen`` on are merged."""
    values = np.full(size, 1e4)
    if seen is not None:
        values[seen:] = 0.0
    return find_support(
        Integer(name="x", min=0, max=size - 1, missing=False),
        Measurement(clique=("x",), values=values, scale=1.0),
        Rule(threshold=3.0, rare="neighbours", most=100, bins=100),
        None,
    )


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_the_scores_cells_get_their_counts(data: st.DataObject) -> None:
    """Every count is its expectation, rounded up or down, where a cell has more rows than one."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    cells, size, rows = (data.draw(st.integers(1, n)) for n in (5, 6, 200))
    table = rng.gamma(0.5, size=(cells, size))
    group = rng.integers(0, cells, rows)
    scores = data.draw(
        st.sampled_from(
            [rng.random(rows), np.zeros(rows), np.full(rows, 0.999), rng.random(1)[[0] * rows]]
        )
    )
    merged, codes = Dealer(group, table, support(size)).deal(scores, rng)
    assert merged.tolist() == codes.tolist()
    for cell in range(cells):
        here = merged[group == cell]
        wanted = len(here) * table[cell] / table[cell].sum()
        if len(here) > 1:
            assert np.abs(np.bincount(here, minlength=size) - wanted).max() < 1 + 1e-6


def test_rows_of_one_score_get_one_value_wherever_they_are() -> None:
    """Cells of the same distribution give the same value to the same score."""
    rng, people = np.random.default_rng(0), 3000
    scores = np.repeat(rng.random(people), 4)
    group = rng.integers(0, 5, 4 * people)
    table = np.tile([5.0, 3.0, 2.0], (5, 1))
    codes = Dealer(group, table, support(3)).deal(scores, rng)[1].reshape(people, 4)
    assert np.mean(codes == codes[:, :1]) > 0.97
    alone = Dealer(np.arange(4 * people), np.ones((4 * people, 3)), support(3))
    codes = alone.deal(scores, rng)[1].reshape(people, 4)
    assert (codes == codes[:, :1]).all()


def test_merged_codes_are_spread_by_score_too() -> None:
    rng, merged = np.random.default_rng(1), support(9, seen=3)
    assert merged.size < 9
    scores = np.repeat(rng.random(2000), 3)
    table = np.ones((1, merged.size))
    codes = Dealer(np.zeros(6000, dtype=np.int64), table, merged).deal(scores, rng)[1]
    assert np.mean(codes.reshape(-1, 3) == codes.reshape(-1, 3)[:, :1]) > 0.97


@pytest.mark.parametrize("make", [_urn_scores, _normal_scores])
@pytest.mark.parametrize(("kept", "stays"), [(0.0, 0.0), (1.0, 0.0), (0.3, 0.6), (0.0, 0.95)])
def test_scores_are_uniform_however_they_are_shared(make: Any, kept: float, stays: float) -> None:
    rng = np.random.default_rng(2)
    first = np.arange(60_000) % 6 == 0
    scores = make(first, kept, stays, rng)
    counts, _ = np.histogram(scores, bins=10, range=(0, 1))
    # 10,000 people at least are independent of each other: five standard deviations.
    assert np.abs(counts / 60_000 - 0.1).max() < 5 * np.sqrt(0.09 / 10_000)
    of_people = scores.reshape(-1, 6)
    if kept == 1.0:
        assert np.abs(of_people - of_people[:, :1]).max() < 1e-6


def test_the_share_of_normal_numbers_below() -> None:
    from scipy.stats import norm

    x = np.linspace(-6, 6, 1001)
    assert np.abs(_uniform(x) - norm.cdf(x)).max() < 1e-7


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=7), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
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
    counts = np.zeros(len(SHARES_OF) + 1)
    counts[[0, -2, -1]] = 30, 10, 1000
    assert Habit.of([counts, counts], ordered=False).step == pytest.approx(0.75)
    counts = np.zeros(len(DIFFERENCES_OF) + 1)
    counts[[0, -2]] = 10, 10
    assert Habit.of([counts], ordered=True).apart == pytest.approx(DIFFERENCES_OF[-1] / 2)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 9), min_size=1, max_size=6)), min_size=1, max_size=5)
)
@settings(max_examples=60, deadline=None)
def test_times_are_moved_apart_where_there_is_room(people: list[tuple[list[int]]]) -> None:
    rows = [sorted(times) for (times,) in people]
    who = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
    nth = np.concatenate([np.arange(len(r)) for r in rows])
    sizes = np.array([len(r) for r in rows])[who]
    moved = _apart(np.concatenate(rows), who, nth, sizes)
    for i, before in enumerate(rows):
        after = moved[who == i].tolist()
        assert (after[0], after[-1]) == (before[0], before[-1])
        assert after == sorted(after)
        if before[-1] - before[0] >= len(before) - 1:
            assert len(set(after)) == len(after)
