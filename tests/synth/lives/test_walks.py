"""Walks: rows are drawn person by person, each after the one before, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.synth.lives.walks import Walk, _uniform, parts, shared_luck

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=30)


@given(SIZES)
def test_every_row_is_walked_once_after_the_one_before(sizes: list[int]) -> None:
    walk = Walk(np.array(sizes))
    rows = sum(sizes)
    assert sorted(walk.rows.tolist()) == list(range(rows))
    assert walk.first.sum() == len(sizes)
    place = np.empty(rows, dtype=np.int64)
    place[walk.rows] = np.arange(rows)
    later = np.flatnonzero(~walk.first)
    assert (place[later] > place[later - 1]).all()


@given(SIZES, st.integers(1, 40), st.integers(1, 40))
def test_parts_have_all_people_in_order(sizes: list[int], first: int, others: int) -> None:
    found = list(parts(np.array(sizes), 1, first=first, others=others))
    assert np.concatenate([part.walk.sizes for part in found]).tolist() == sizes
    for which, end in (("people", len(sizes)), ("rows", sum(sizes))):
        here = [getattr(part, which) for part in found]
        assert [each.start for each in here] == [0, *(each.stop for each in here[:-1])]
        assert here[-1].stop == end
    most = [first, *[others] * len(found)]
    assert all(len(p.walk.sizes) == 1 or len(p.walk.rows) <= most[i] for i, p in enumerate(found))


@given(st.data())
@tried(40)
def test_drawing_is_that_of_the_obvious_version(data: st.DataObject) -> None:
    """Every row's weights, times the lift of the code before, times the urn's; luck picks one."""
    sizes = np.array(data.draw(SIZES))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    codes, rows, urn = 4, int(sizes.sum()), data.draw(st.sampled_from([0.0, 0.7]))
    weights = rng.gamma(0.5, size=(rows, codes)).astype(np.float32)
    lifts = rng.gamma(1.0, size=(codes + 1, codes)).astype(np.float32)
    luck, common = rng.random(rows), np.full(codes, 0.25, dtype=np.float32)
    drawn = Walk(sizes).draw(weights, lifts, luck, urn=urn, common=common)
    row = 0
    for size in sizes:
        had: list[int] = []
        for _ in range(size):
            here = weights[row].astype(float) * lifts[had[-1] if had else codes]
            if had:
                here = here * (1 + urn * np.bincount(had, minlength=codes) / 0.25)
            ends = np.cumsum(here)
            low, high = np.concatenate(([0.0], ends))[[drawn[row], drawn[row] + 1]] / ends[-1]
            assert low - 1e-5 <= luck[row] <= high + 1e-5
            had.append(int(drawn[row]))
            row += 1


def test_two_rows_agree_as_often_however_many_a_person_has() -> None:
    """An urn of strength u makes rows agree u/(1 + u) of the time, and by chance in the rest."""
    people, urn, common = 2000, 1.5, np.array([0.4, 0.3, 0.2, 0.1], dtype=np.float32)
    for size in (2, 5, 60):
        walk, luck = Walk(np.full(people, size)), np.random.default_rng(1).random(people * size)
        weights = np.tile(common, (people * size, 1))
        drawn = walk.draw(weights, None, luck, urn=urn, common=common).reshape(people, size)
        counts = np.stack([(drawn == code).sum(axis=1) for code in range(4)], axis=1)
        agreeing = (counts * (counts - 1)).sum(axis=1).mean() / (size * (size - 1))
        assert agreeing == pytest.approx(0.6 + 0.4 * (common**2).sum(), abs=0.04)


def test_where_nothing_can_follow_the_rows_own_weights_count() -> None:
    weights = np.tile(np.array([0, 1, 0], dtype=np.float32), (4, 1))
    lifts = np.zeros((4, 3), dtype=np.float32)
    drawn = Walk(np.array([2, 2])).draw(weights, lifts, np.full(4, 0.5))
    assert drawn.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_luck_is_uniform_however_it_is_shared(share: float) -> None:
    rng, walk = np.random.default_rng(2), Walk(np.full(10_000, 6))
    luck = shared_luck(walk, share, rng.standard_normal(10_000), rng.standard_normal(60_000))
    counts, _ = np.histogram(luck, bins=10, range=(0, 1))
    # 10,000 people at least are independent of each other: five standard deviations.
    assert np.abs(counts / 60_000 - 0.1).max() < 5 * np.sqrt(0.09 / 10_000)
    if share == 1.0:
        assert np.ptp(luck.reshape(-1, 6), axis=1).max() < 1e-6


def test_the_share_of_normal_numbers_below() -> None:
    from scipy.stats import norm

    x = np.linspace(-6, 6, 1001)
    assert np.abs(_uniform(x) - norm.cdf(x)).max() < 1e-7
