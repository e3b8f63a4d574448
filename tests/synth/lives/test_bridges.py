"""Bridges: all ways are added up, and times are drawn as often as their ways weigh."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.synth.lives.bridges import Bridges, hardly, most_rows, ways

WEIGHTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5)


@given(WEIGHTS, st.integers(0, 4))
@tried(50)
def test_ways_are_all_steps_that_add_up(weights: list[float], most: int) -> None:
    found = ways(np.array(weights), most)
    for steps, far in itertools.product(range(most + 1), range(len(weights))):
        paths = itertools.product(range(len(weights)), repeat=steps)
        whole = sum(math.prod(weights[s] for s in path) for path in paths if sum(path) == far)
        assert np.exp(found[steps, far]) == pytest.approx(whole)


@given(st.data())
@tried(50)
def test_times_are_in_order_near_the_first_and_the_last_row(data: st.DataObject) -> None:
    spans = data.draw(
        st.lists(
            st.tuples(st.integers(1, 6), st.integers(0, 7), st.integers(0, 7)),
            min_size=1,
            max_size=8,
        )
    )
    sizes = np.array([n for n, _, _ in spans])
    first, last = (np.array([f(a, b) for _, a, b in spans]) for f in (min, max))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    held = np.array([0, 1, 2, 4, 5, 8, 9, 10])
    bridges = Bridges(held, first, last, sizes)
    weights = rng.gamma(0.2, size=11) + 1e-4
    times = bridges.draw(weights, rng.gamma(1.0, size=8) + 1e-3, rng.random(sizes.sum()))
    ends = np.cumsum(sizes)
    for i, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        mine = times[end - size : end].tolist()
        assert mine == sorted(mine)
        half = (held[last[i]] - held[first[i]]) / max(1, size - 1) / 2
        for time, was in ((mine[0], first[i]), (mine[-1], last[i] if size > 1 else first[i])):
            assert time == was or abs(held[time] - held[was]) < half


def test_each_way_is_drawn_as_often_as_it_weighs() -> None:
    """Of four rows from 0 to 6; with 30,000 people, within 5 deviations."""
    people, weights, likely = 30_000, np.array([0.5, 3, 0.2, 1, 0.7, 1, 1]), np.linspace(1, 2, 7)
    bridges = Bridges(
        np.arange(7), np.zeros(people, dtype=np.int64), np.full(people, 6), np.full(people, 4)
    )
    luck = np.random.default_rng(1).random(4 * people)
    drawn = Counter(map(tuple, bridges.draw(weights, likely, luck).reshape(-1, 4).tolist()))
    paths = [p for p in itertools.product(range(7), repeat=2) if p[0] <= p[1]]
    # The ways to the end are weighted by gaps alone, so periods weigh only one step ahead.
    ways_on = [sum(weights[c - a] * weights[6 - c] for c in range(a, 7)) for a in range(7)]
    ahead = weights * likely * ways_on
    for a, b in paths:
        then = weights[: 7 - a] * likely[a:] * weights[6 - np.arange(a, 7)]
        share = ahead[a] / ahead.sum() * then[b - a] / then.sum()
        error = math.sqrt(people * share * (1 - share))
        assert drawn[0, a, b, 6] == pytest.approx(people * share, abs=5 * error + 1)
    assert sum(drawn[0, a, b, 6] for a, b in paths) == people


def test_of_times_with_more_codes_fewer_rows_are_bridged() -> None:
    assert most_rows(12) > 100_000
    assert most_rows(365) > 500
    assert most_rows(2048) < 50


def test_where_no_way_is_as_long_ends_move_on_and_first_rows_make_room() -> None:
    """Rows a week apart, of which noise said that they are two days apart, or begin too late."""
    weights = np.full(61, 1e-4)
    weights[7] = 1.0
    held = np.arange(61)
    first, last = np.array([0, 10, 55]), np.array([6, 38, 58])
    sizes = np.array([4, 5, 4])
    bridges = Bridges(held, first, last, sizes, unlikely=hardly(weights < 1, 4))
    luck = np.random.default_rng(0).random(int(sizes.sum()))
    times = bridges.draw(weights, np.ones(61), luck)
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        assert (np.diff(times[end - size : end]) == 7).all()
    # Ends that fit are where they were, about: half of a mean gap of seven away at most.
    assert abs(times[4] - 10) <= 3
    assert abs(times[8] - 38) <= 3
