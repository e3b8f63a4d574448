"""Whose synthetic rows they are: public people's, or people of noisy sizes, within the cap."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import one_in, tried
from tests.synth.crowds import door_to, events, random_crowd
from tests.vault.obvious import People
from understudy.budget import Budget, Currency, Gaussian, Norm, Sample, Weights, price_grains
from understudy.schema import Id, Integer, Schema
from understudy.synth.generate.assignment import Donors
from understudy.synth.measure.population import Crowd, best_cap, meet
from understudy.synth.measure.sizes import Classes, Sizes

if TYPE_CHECKING:
    from pathlib import Path

SIZES = {"a": 3, "b": 4}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Sizes


@given(
    st.lists(st.floats(0, 50), min_size=1, max_size=8).filter(lambda s: sum(s) > 0.1),
    st.integers(0, 500),
    st.none() | st.integers(1, 12),
)
@tried(100)
def test_there_are_as_many_people_as_were_found_who_share_all_rows_within_the_cap(
    people: list[float], rows: int, most: int | None
) -> None:
    each = Sizes(np.array(people)).each(rows, most)
    assert each.sum() == rows
    assert (each >= 1).all()
    assert each.max(initial=0) <= (most or rows)
    # Where there are too few rows everyone has one, and where too many for the cap, all have that.
    fewest = -(-rows // (most or max(rows, 1)))
    assert len(each) == min(max(round(sum(people)), fewest), rows)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any))
def test_sizes_are_those_that_were_found_if_there_are_as_many_rows(people: list[int]) -> None:
    sizes = Sizes(np.array(people, dtype=np.float64))
    each = sizes.each(round(sizes.rows))
    assert np.bincount(each, minlength=len(people) + 1)[1:].tolist() == people


def test_sizes_are_scaled_to_the_rows_there_are() -> None:
    each = Sizes(np.array([500.0, 0, 200, 300])).each(4600)
    assert np.bincount(each).tolist() == [0, 0, 500, 0, 0, 0, 200, 0, 300]
    # What is beyond the cap is others'.
    assert np.bincount(Sizes(np.array([500.0, 0, 0, 500])).each(2500, 3)).tolist() == [
        *(0, 0, 500, 500)
    ]


def test_public_sizes_are_those_of_public_people() -> None:
    public = random_crowd(rng(4), SIZES, 50)
    assert sorted(Sizes.public(public, len(public)).each(len(public))) == sorted(public.sizes())
    assert len(Sizes.public(public, 3 * len(public)).each(3 * len(public))) == 150


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
        assert [what for what, _ in events(door)] == [
            "people by number of rows",
            "number of people",
        ]
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
        assert sizes.each(100).sum() == 100


# Meeting the crowd


def test_under_a_cap_without_a_price_nothing_is_asked() -> None:
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
        assert booked.grains <= price_grains(0.5, Currency.GDP)
        assert (met.typical, met.bounding) == (cap, Weights(cap))
        assert met.rows is not None
        assert met.rows >= 1
        scales.add(event.sigma)
    assert len(scales) == 1


@pytest.mark.parametrize("bounding", [Norm(), Weights(45)], ids=lambda b: b.kind)
def test_with_public_people_too_the_sizes_are_those_of_the_private_table(bounding: Any) -> None:
    public = random_crowd(rng(2), SIZES, 200)
    with door_to(CROWD, bounding=bounding) as door:
        met = meet(door, public, rows_price=1e4, people_price=1e4)
        asked = [what for what, _ in events(door)]
    assert asked[:2] == ["people by number of rows", "number of people"]
    assert met.sizes is not None
    assert met.sizes.people[:3] == pytest.approx([6, 0, 3], abs=0.01)
    assert met.sizes.people.sum() == pytest.approx(10, abs=0.01)
    # Public people have fewer rows: the private person of forty is counted all the same.
    assert met.typical == 45 if asked[2:] == [] else 40 <= met.typical <= 46


@given(st.integers(0, 2**32), st.integers(1, 300), st.none() | st.integers(3, 40))
@tried(40)
def test_rows_are_given_to_as_many_people_as_were_found_with_public_people_and_without(
    seed: int, people: int, most: int | None
) -> None:
    public, draws = random_crowd(rng(seed), SIZES, 40), rng(seed)
    sizes = Sizes(people * np.array([0.5, 0.2, 0.3]))
    rows = max(1, round(sizes.rows))
    codes = {n: draws.integers(0, size, rows).astype(np.int32) for n, size in SIZES.items()}
    met = Crowd(rows=rows, sizes=sizes, typical=3, bounding=Weights(3))
    with door_to(CROWD, bounding=Norm()) as door:
        for table, by in ((public, ("a",)), (public, ()), (None, ())):
            way = met.given(rows, door, public=table, by=by, most=most, rng=draws)
            found = way.begin()(codes, draws)
            assert found is not None
            held = np.bincount(found)
            assert way.people == len(held) == min(rows, people)
            assert 1 <= held.min() <= held.max() <= 4


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


def test_the_number_of_rows_is_as_counted_where_sizes_lie_unevenly_within_their_class() -> None:
    """Sizes from 25 to 32 are one class, whose people would have 28.5 rows on average."""
    panel: People = {f"p{i}": [(0, 0, 0)] * 26 for i in range(40)}
    with door_to(panel, bounding=Norm()) as door:
        met = meet(door, None, rows_price=1e4, people_price=1e4)
    assert met.rows == pytest.approx(1040, abs=0.5)


def test_where_every_row_is_a_person_the_cap_is_one() -> None:
    class Rowwise:
        """A door whose unit is the row."""

        def __init__(self) -> None:
            self.caps: list[int] = []
            self.bounding, self.currency = Norm(), Currency.GDP
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


@pytest.mark.parametrize("by", one_in(2, [(), ("a",), ("a", "b")]))
def test_many_people_are_given_rows_in_no_time(by: tuple[str, ...]) -> None:
    """A hundred thousand of them; a loop over people would take minutes."""
    public = random_crowd(rng(1), SIZES, 30_000)
    codes = {n: np.tile(c, 3) for n, c in public.codes.items()}
    rows = len(codes["a"])
    start = time.process_time()
    found = (
        Donors(public, by, rng(1))
        .given(Sizes.public(public, rows).each(rows))
        .begin()(codes, rng(2))
    )
    assert found is not None
    assert found.max() + 1 == 90_000
    assert time.process_time() - start < 6


@pytest.mark.parametrize("each", [1, 4, 40])
def test_public_people_of_another_period_do_not_hide_rows(tmp_path: Path, each: int) -> None:
    """A year is private; what is public are people of a month, or of some years."""
    who, other = np.repeat(np.arange(400), 12), np.repeat(np.arange(400), each)
    release = us.open(
        private={"who": who, "a": np.arange(len(who)) % 5},
        public={"who": other, "a": np.arange(len(other)) % 5},
        schema=Schema("t", (Id(name="who"), Integer(name="a", min=0, max=4, missing=False))),
        unit=us.Unit("who"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=5.0, delta=1e-6),
        ledger=tmp_path / "t.ledger",
    ).run(us.Pairs())
    assert len(release) == pytest.approx(len(who), rel=0.15)
