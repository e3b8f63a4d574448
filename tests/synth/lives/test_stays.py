"""Stays: people are there when rows are, and as they were where that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from understudy.synth.lives.stays import KEPT, PARTS, Stays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


def crowd(seed: int, people: int = 3000, *, begin: float = 1.0) -> Stays:
    """Return people who begin anywhere up to a point, and end at the end of time if not before."""
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, begin * 0.99, people)
    high = np.minimum(1.0, low + 0.01 + rng.exponential(0.2, people))
    return Stays(low, high, rng.geometric(0.1, people))


def rows(stays: Stays, whose: Ints) -> Floats:
    """Return the shares of all rows in each part of time."""
    parts = Stays(stays.low[whose], stays.high[whose], stays.sizes).parts(np.arange(len(whose)))
    found: Floats = stays.sizes @ parts / stays.sizes.sum()
    return found


@given(st.integers(0, 999))
def test_all_of_a_persons_rows_lie_in_their_stay(seed: int) -> None:
    stays = crowd(seed, 50)
    parts = stays.parts(np.arange(50))
    np.testing.assert_allclose(parts.sum(axis=1), 1)
    assert (parts >= 0).all()
    borders = np.linspace(0, 1, PARTS + 1)
    outside = (borders[1:] <= stays.low[:, None]) | (borders[:-1] >= stays.high[:, None])
    assert not parts[outside].any()


def test_parts_of_time_have_as_many_rows_as_they_should() -> None:
    stays = crowd(1)
    rng, everyone = np.random.default_rng(2), np.arange(3000)
    before = np.abs(rows(stays, everyone) * PARTS - 1)
    whose = stays.evened(rng)
    after = np.abs(rows(stays, whose) * PARTS - 1)
    assert before.max() > 1
    assert after.mean() < before.mean() / 4
    # Of about as many rows, and nobody leaves without need.
    assert np.abs(stays.sizes[whose] - stays.sizes).mean() < 1.5
    assert (whose == everyone).mean() > 0.4


def test_people_stay_as_they_were_where_time_has_its_rows() -> None:
    rng = np.random.default_rng(3)
    high = rng.uniform(0.2, 1.2, 4000)
    low = np.clip(high - 0.2, 0, 1 - 0.01)
    even = Stays(low, np.clip(high, low + 0.01, 1), np.full(4000, 5))
    kept = even.evened(rng) == np.arange(4000)
    assert kept.mean() > KEPT - 0.2


def test_one_person_and_those_of_one_time_stay() -> None:
    rng = np.random.default_rng(4)
    one = Stays(np.array([0.2]), np.array([0.4]), np.array([3]))
    assert one.evened(rng).tolist() == [0]
    all_of_time = Stays(np.zeros(40), np.ones(40), np.arange(1, 41))
    assert set(all_of_time.evened(rng).tolist()) <= set(range(40))
