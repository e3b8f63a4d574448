"""Whose synthetic rows they are: public people's, or people of noisy sizes, within the cap."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.synth.crowds import door_to, events, random_crowd
from tests.vault.obvious import People
from understudy.budget import Budget, Gaussian, Norm, Sample, Weights, price_grains
from understudy.synth.people import best_cap, meet
from understudy.synth.sizes import Classes, Sizes

SIZES = {"a": 3, "b": 4}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Sizes


@given(
    st.lists(st.floats(0, 50), min_size=1, max_size=8).filter(lambda s: sum(s) > 0.1),
    st.integers(0, 500),
    st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_dealing_gives_every_row_a_person_and_nobody_a_size_that_is_not(
    shares: list[float], rows: int, seed: int
) -> None:
    dealt = Sizes(np.array(shares)).deal(rows, rng(seed))
    assert len(dealt) == rows
    sizes = np.bincount(dealt, minlength=1)
    possible = {n for n, share in enumerate(shares, 1) if share > 0}
    # One person may have had rows left when there were no more.
    odd = [n for n in sizes.tolist() if n and n not in possible]
    assert len(odd) <= 1
    assert sizes.max() <= len(shares)


@pytest.mark.parametrize("people", [1, 2000])
def test_sizes_follow_their_shares_whatever_these_sum_to(people: int) -> None:
    shares = people * np.array([0.5, 0, 0.2, 0.3])
    dealt = Sizes(shares).deal(40_000, rng(9))
    found = np.bincount(np.bincount(dealt), minlength=5)[1:]
    assert found / found.sum() == pytest.approx([0.5, 0, 0.2, 0.3], abs=0.02)
    # Rows of one person are not all together.
    assert np.diff(dealt).any()
    assert np.mean(dealt[1:] == dealt[:-1]) < 0.01


@pytest.mark.parametrize(("share", "rows"), [(0.4, 1), (0.5, 1), (0.51, 3), (0.7, 3), (1.0, 4)])
def test_a_quantile_is_the_rows_that_a_share_of_people_does_not_pass(
    share: float, rows: int
) -> None:
    assert Sizes(np.array([50.0, 0, 20, 30])).quantile(share) == rows


CROWD: People = {
    **{f"one {i}": [(0, 0, 0)] for i in range(6)},
    **{f"three {i}": [(1, 1, i % 4)] * 3 for i in range(3)},
    "many": [(2, 0, 1)] * 40,
}


@pytest.mark.parametrize("delta", [1e-9, 0])
def test_sizes_are_asked_of_the_door_and_those_beyond_are_the_last(delta: float) -> None:
    budget = Budget(epsilon=1e9, delta=delta)
    with door_to(CROWD, bounding=Weights(5), budget=budget) as door:
        sizes = Classes.ask(door, price=1e4, most=5).sizes()
        assert [what for what, _ in events(door)] == ["people by  and times", "number of people"]
        # Nothing of the price is left over, and no more is spent.
        spent = sum(grains for _, grains in events(door))
        whole = price_grains(1e4, door.currency)
        assert 0.999 * whole <= spent <= whole
    # Of ten people six have one row, three have three, and one has more than five.
    shares = sizes.people / sizes.people.sum()
    assert shares[:4] == pytest.approx([0.6, 0, 0.3, 0], abs=0.01)
    assert shares[4:].sum() == pytest.approx(0.1, abs=0.01)


def test_noisy_sizes_are_sizes_even_where_noise_is_all_there_is() -> None:
    for seed in range(10):
        budget = Budget(epsilon=1, delta=1e-9)
        with door_to(CROWD, bounding=Weights(5), budget=budget, seed=seed) as door:
            sizes = Classes.ask(door, price=0.01, most=5).sizes()
        assert sizes.people.min() >= 0
        assert sizes.people.sum() > 0
        assert 1 <= sizes.quantile(0.9) <= 6
        assert len(sizes.deal(100, rng(seed))) == 100


# Meeting the crowd


def test_under_a_cap_with_public_people_nothing_is_asked() -> None:
    with door_to(CROWD, bounding=Sample(4)) as door:
        met = meet(door, random_crowd(rng(1), SIZES, 9), rows_price=None, people_price=None)
        assert events(door) == []
    assert (met.rows, met.sizes, met.typical, met.bounding) == (None, None, 4, Sample(4))


def test_under_norm_rows_are_counted_with_the_cap_that_public_people_suggest() -> None:
    """The cap, and so the charge's noise, is the same whoever is in the private table."""
    public = random_crowd(rng(2), SIZES, 200)
    cap = best_cap(public, 0.5)
    scales = set()
    for world in (CROWD, {"p": [(0, 0, 0)]}, {"p": [(0, 0, 0)] * 900}):
        with door_to(world, bounding=Norm()) as door:
            met = meet(door, public, rows_price=0.5, people_price=None)
            (booked,) = door._run.state().reservations
        (event,) = booked.charge.events
        assert isinstance(event, Gaussian)
        assert event.squared_sensitivity == Fraction(cap) ** 2
        assert booked.grains <= price_grains(0.5, "gdp")
        assert (met.typical, met.bounding) == (cap, Weights(cap))
        assert met.rows is not None
        assert met.rows >= 1
        scales.add(event.sigma)
    assert len(scales) == 1


def test_under_norm_without_public_people_the_noisy_sizes_give_the_cap() -> None:
    with door_to(CROWD, bounding=Norm()) as door:
        met = meet(door, None, rows_price=1e4, people_price=1e4)
        assert [what for what, _ in events(door)][-1] == "number of rows"
    assert met.sizes is not None
    # Nine of ten have at most three rows, and the tenth forty: with hardly any noise, nobody is
    # weighed down, and forty is one of the sizes of its class.
    assert 40 <= met.typical <= 46
    assert met.bounding == Weights(met.typical)
    assert met.rows == pytest.approx(6 + 9 + 40, abs=0.5)


def test_where_every_row_is_a_person_the_cap_is_one() -> None:
    class Rowwise:
        """A door whose unit is the row."""

        def __init__(self) -> None:
            self.caps: list[int] = []
            self.bounding, self.currency = Norm(), "gdp"
            self.unit = type("Each", (), {"is_row": True})()

        def total(self, *, cap: int, scale: float) -> float:
            self.caps.append(cap)
            return 100 * scale

    door = Rowwise()
    met = meet(door, None, rows_price=0.5, people_price=None)  # type: ignore[arg-type]
    assert (door.caps, met.typical, met.rows) == ([1], 1, 200.0)


# The best cap


def test_the_best_cap_is_that_of_the_least_error_by_the_slow_way() -> None:
    public = random_crowd(rng(3), SIZES, 300)
    assert public.people is not None
    sizes = np.bincount(public.people)
    for price in (1e-4, 0.01, 0.1, 1.0, 100.0):
        found = best_cap(public, price)

        def error(cap: int, price: float = price) -> float:
            return float(sum(max(0, s - cap) for s in sizes) ** 2 + (cap / price) ** 2)

        assert error(found) <= min(error(c) for c in range(int(np.median(sizes)), 31)) * 1.1
    assert best_cap(public, 1e6) == sizes.max()
    assert best_cap(public, 1e-6) == np.median(sizes)


def test_many_people_are_dealt_in_no_time() -> None:
    """A hundred thousand of them; a loop that draws one at a time would take minutes."""
    start = time.process_time()
    Sizes(np.array([0.5, 0.3, 0.2])).deal(170_000, rng(1))
    assert time.process_time() - start < 2
