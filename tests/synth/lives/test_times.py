"""Times: between first and last, or one a period; every period has its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.synth.lives.supports import support
from understudy.synth.lives import times as module
from understudy.synth.lives.gaps import Gaps, gap_classes
from understudy.synth.lives.persons import People
from understudy.synth.lives.times import Periods


def people(sizes: Any, first: Any, last: Any = None) -> People:
    return People(
        np.asarray(sizes),
        {},
        np.asarray(first, dtype=np.int32),
        None if last is None else np.asarray(last, dtype=np.int32),
    )


@given(st.data())
@tried(50)
def test_times_lie_between_first_and_last_in_order(data: st.DataObject) -> None:
    spans = data.draw(
        st.lists(
            st.tuples(st.integers(1, 6), st.integers(0, 9), st.integers(0, 9)),
            min_size=1,
            max_size=8,
        )
    )
    sizes = np.array([n for n, _, _ in spans])
    first, last = (np.array([f(a, b) for _, a, b in spans]) for f in (min, max))
    periods = Periods.of(np.ones(10), support(10), waves=False)
    times = periods.between(people(sizes, first, last), np.random.default_rng(0))
    ends = np.cumsum(sizes)
    for i, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        mine = times[end - size : end].tolist()
        assert mine == sorted(mine)
        assert mine[0] == first[i]
        assert mine[-1] == (last[i] if size > 1 else first[i])


@given(st.data())
@tried(50)
def test_times_are_distinct_where_there_is_room(data: st.DataObject) -> None:
    sizes = np.array(data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=12)))
    first = np.array([data.draw(st.integers(0, 9)) for _ in sizes])
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    periods = Periods.of(np.ones(10), support(10), waves=True)
    follows = rng.gamma(0.3, size=(11, 10))
    times = periods.one_each(people(sizes, first), follows, rng)
    ends = np.cumsum(sizes)
    for i, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        mine = times[end - size : end].tolist()
        assert mine[0] == min(first[i], max(0, 10 - size))
        if size <= 10:
            assert (np.diff(mine) > 0).all()


def test_periods_follow_one_another_as_wanted_and_have_their_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody comes in two periods running, and some periods have three times the rows."""
    count = 4000
    likely = np.array([3.0, 1, 1, 3, 1, 1, 3, 1, 1, 3, 1, 1])
    follows = np.vstack([np.triu(np.ones((12, 12)), 2), np.ones(12)])
    periods = Periods.of(likely, support(12), waves=True)

    def off() -> float:
        rng = np.random.default_rng(1)
        who = people(np.full(count, 4), rng.choice(4, count, p=[0.6, 0.1, 0.1, 0.2]))
        times = periods.one_each(who, follows, rng).reshape(-1, 4)
        assert np.mean(np.diff(times, axis=1) == 1) < 0.01
        there = np.bincount(times.reshape(-1), minlength=12) / times.size
        return float(np.abs(there - likely / likely.sum()).sum() / 2)

    raked = off()
    assert raked < 0.04
    monkeypatch.setattr(module, "RAKED", 0)
    assert off() > 3 * raked


@pytest.mark.parametrize("waves", [True, False])
def test_years_between_two_waves_have_no_rows(waves: bool) -> None:
    counts = np.array([100.0, 5.0, 100.0, 5.0, 100.0])
    held = Periods.of(counts, support(5), waves=waves).held.tolist()
    assert held == ([0, 2, 4] if waves else [0, 1, 2, 3, 4])


def weekly(count: int, rng: np.random.Generator) -> tuple[People, Any, Any]:
    """Visits a week apart, seldom two a day: people, the truth's times, and counts of gaps."""
    sizes = rng.integers(2, 7, count)
    first = rng.integers(0, 20, count)
    steps = rng.choice([0, 7], int(sizes.sum()), p=[0.2, 0.8])
    starts = np.cumsum(sizes) - sizes
    steps[starts] = first
    times = np.cumsum(steps)
    times -= np.repeat(times[starts] - first, sizes)
    gaps = Gaps(gap_classes(64), np.zeros(64), 1.0)
    return people(sizes, first, times[starts + sizes - 1]), times, gaps


@pytest.mark.parametrize("most", [1000, 4])
def test_gaps_come_out_as_wanted_and_periods_have_their_rows(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has more rows than are bridged has times as they come."""
    monkeypatch.setattr(module, "most_rows", lambda _: most)
    who, truth, gaps = weekly(3000, np.random.default_rng(2))
    there = np.bincount(truth, minlength=64)
    periods = Periods.of(there.astype(np.float64), support(64), waves=False)
    gaps = replace(gaps, values=gaps.counts(truth, who.sizes))
    times = periods.between(who, np.random.default_rng(3), gaps)
    ends = np.cumsum(who.sizes)
    assert (np.diff(times)[np.setdiff1d(np.arange(len(times) - 1), ends - 1)] >= 0).all()
    assert who.first is not None
    assert who.last is not None
    half = (who.last - who.first) / (who.sizes - 1) / 2
    assert (np.abs(times[ends - who.sizes] - who.first) <= half).all()
    assert (np.abs(times[ends - 1] - who.last) <= half).all()
    few = who.only(who.sizes <= most)
    mine = np.repeat(who.sizes <= most, who.sizes)
    made, real = (gaps.counts(t[mine], few.sizes) for t in (times.astype(np.int64), truth))
    assert np.abs(made - real).sum() / real.sum() < (0.06 if most > 6 else 0.3)
    shares = np.bincount(times, minlength=64) / len(times)
    assert np.abs(shares - there / there.sum()).sum() / 2 < 0.06


def test_too_many_rows_and_periods_have_gaps_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    who, truth, gaps = weekly(300, np.random.default_rng(2))
    there = np.bincount(truth, minlength=64).astype(np.float64)
    periods = Periods.of(there, support(64), waves=False)
    gaps = replace(gaps, values=gaps.counts(truth, who.sizes))
    monkeypatch.setattr(module, "MOST_CELLS", 0)
    as_they_come, asked = (
        periods.between(who, np.random.default_rng(3), told) for told in (None, gaps)
    )
    assert (as_they_come == asked).all()


def test_distinct_times_have_gaps_as_wanted() -> None:
    who, truth, gaps = weekly(3000, np.random.default_rng(2))
    # Two a day become two days running.
    first = np.cumsum(who.sizes) - who.sizes
    steps = np.diff(truth, prepend=0)
    steps[steps == 0] = 1
    steps[first] = who.first
    truth = np.cumsum(steps)
    truth -= np.repeat(truth[first] - who.first, who.sizes)
    there = np.bincount(truth, minlength=64).astype(np.float64)
    periods = Periods.of(there, support(64), waves=False)
    gaps = replace(gaps, values=gaps.counts(truth, who.sizes))
    follows = np.triu(np.ones((65, 64)))
    times = periods.one_each(who, follows, np.random.default_rng(3), gaps).astype(np.int64)
    made, real = (gaps.counts(t, who.sizes) for t in (times, truth))
    assert np.abs(made - real).sum() / real.sum() < 0.1
    without = periods.one_each(who, follows, np.random.default_rng(3)).astype(np.int64)
    assert np.abs(gaps.counts(without, who.sizes) - real).sum() / real.sum() > 1


def test_people_of_a_kind_are_there_when_it_is() -> None:
    """One kind in the first half of time, and one in the second; both begin anywhere."""
    rng = np.random.default_rng(6)
    counts = np.zeros((2, 20))
    counts[0, :10], counts[1, 10:] = 5.0, 1.0
    periods = Periods.of(counts, support(20), waves=False)
    kind = (np.arange(600) >= 500).astype(np.int64)
    first = np.where(kind == 0, rng.integers(0, 8, 600), rng.integers(8, 18, 600))
    who = replace(people(np.full(600, 3), first, first + 2), kind=kind)
    times = periods.between(who, rng).reshape(-1, 3)
    late = times[:, 1] >= 10
    assert late[kind == 0].mean() < 0.02
    assert late[kind == 1].mean() > 0.7
    placed = periods.placed(who, rng)
    assert placed.kind is not None
    assert placed.kind.tolist() == kind.tolist()
    assert placed.first is not None
    assert placed.first[kind == 1].min() >= 8


def test_people_are_moved_only_where_periods_come_closer_to_their_rows_by_that() -> None:
    rng = np.random.default_rng(8)
    first = rng.integers(0, 40, 3000)
    last = np.minimum(first + rng.integers(0, 20, 3000), 59)
    who = people(np.full(3000, 4), first, last)
    always = people(np.full(3000, 20), np.zeros(3000, int), np.full(3000, 59))
    assert Periods.of(np.ones(60), support(60), waves=False).placed(always, rng) is always
    # Half of the rows are wanted where hardly anybody is.
    late = np.where(np.arange(60) < 40, 1.0, 2.0)
    moved = Periods.of(late, support(60), waves=False).placed(who, rng)
    assert moved.first is not None
    assert moved.first.mean() > first.mean() + 2
