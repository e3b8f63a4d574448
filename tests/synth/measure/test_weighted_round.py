"""A weighted round, one person more or less: it moves by its price at most, in exact numbers.

A round is asked of a real door; what it asked is counted again with one person more, and how far
that is, each answer in units of its own noise, is added up in fractions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import THOROUGH, one_in, tried
from tests.synth.crowds import events, random_crowd
from tests.vault.normed import EXTREME, scales
from tests.vault.obvious import People, Row
from tests.vault.worlds import DOMAIN, domain, merge, merges, opened, person_rows, worlds
from understudy.audit import FixedEntropy
from understudy.audit.tape import Tape
from understudy.budget import (
    Bounding,
    Budget,
    Capped,
    Currency,
    Norm,
    Sample,
    Weights,
    price_grains,
)
from understudy.budget.budget import GRAIN
from understudy.door import Clique, Measure, Measurement, Merge, MergedDoor, Question
from understudy.public import PublicTable
from understudy.synth.measure.noise_levels import norm_scales
from understudy.synth.measure.population import Crowd
from understudy.synth.measure.rules import SLACK
from understudy.synth.measure.weighted_round import WeightedMarginal, _rows, weighted_round
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault.counts import exact

BUDGETS: dict[Currency, Budget] = {
    Currency.GDP: Budget(epsilon=1e9, delta=1e-9),
    Currency.PURE: Budget(epsilon=1e9, delta=0),
}
CROWD = Crowd(rows=200.0, sizes=None, typical=3, bounding=Weights(3))
CLIQUES = [("a",), ("b",), ("c",), ("a", "b"), ("c", "a"), ("b", "c"), ("a", "b", "c")]


class Watched(PrivateDoor):
    """A door that keeps what it was asked."""

    def __init__(self, table: PrivateTable, budget: Budget, bounding: Bounding) -> None:
        super().__init__(table, run=Tape(budget), bounding=bounding, entropy=FixedEntropy(1))
        self.asked: list[Question] = []

    def _ask(self, question: Question, what: str) -> NDArray[np.int64]:
        self.asked.append(question)
        return super()._ask(question, what)

    @property
    def measure_asked(self) -> Measure:
        """The one question there was, which cost no more than it was to."""
        (question,) = self.asked
        assert isinstance(question, Measure)
        return question


@contextmanager
def watched(
    people: People, *, bounding: Bounding, currency: Currency = Currency.GDP
) -> Iterator[Watched]:
    with opened(people) as table:
        yield Watched(table, BUDGETS[currency], bounding)


def ask(
    door: PrivateDoor | MergedDoor,
    asked: Sequence[WeightedMarginal],
    price: float,
    *,
    public: PublicTable | None = None,
    sigma: float | None = None,
) -> list[Measurement]:
    return weighted_round(door, asked, price=price, crowd=CROWD, public=public, sigma=sigma)


def distance(question: Measure, change: NDArray[np.int64], currency: Currency) -> Fraction:
    """How far an answer moved in units of its noise: the square in L2, or L1 for Laplace."""
    power = 2 if currency == Currency.GDP else 1
    unit = question.bounding.unit_weight
    parts = zip(change.tolist(), scales(question), strict=True)
    return sum(((abs(Fraction(v, unit)) / s) ** power for v, s in parts), Fraction(0))


def allowed(price: float, currency: Currency) -> Fraction:
    return Fraction(price) ** (2 if currency == Currency.GDP else 1)


@dataclass(frozen=True)
class Round:
    """What is asked, for a price, of which merged codes."""

    asked: tuple[WeightedMarginal, ...]
    price: float
    merged: tuple[Merge, ...] = ()


@st.composite
def rounds(draw: st.DrawFn) -> Round:
    """Any cliques with any weights, some of them in coarse groups, some codes merged before."""
    merged = draw(st.one_of(st.just(()), merges()))
    sizes = domain(merged)
    cliques = draw(st.lists(st.sampled_from(CLIQUES), min_size=1, max_size=5, unique=True))
    asked = []
    for clique in cliques:
        starts = {}
        for name in clique:
            inner = st.sets(st.integers(1, max(1, sizes[name] - 1)))
            if draw(st.booleans()):
                starts[name] = (0, *sorted(n for n in draw(inner) if n < sizes[name]))
        weight = draw(st.one_of(st.just(1.0), st.floats(0.01, 100)))
        asked.append(WeightedMarginal(clique=clique, weight=weight, starts=starts))
    return Round(tuple(asked), 10 ** draw(st.floats(-2, 2)), merged)


capped: st.SearchStrategy[Any] = st.sampled_from(
    [Weights(1), Weights(5), Weights(40), Sample(1), Sample(4)]
)
noises = st.one_of(
    st.tuples(capped, st.sampled_from([Currency.GDP, Currency.PURE])),
    st.tuples(st.just(Norm()), st.just(Currency.GDP)),
)


# One person more


@given(worlds, person_rows, st.lists(st.tuples(rounds(), noises), min_size=2, max_size=6))
@tried(20)
def test_one_person_more_moves_a_whole_round_by_no_more_than_its_price(
    people: People, newcomer: list[Row], asked: list[tuple[Round, tuple[Bounding, Currency]]]
) -> None:
    with opened(people) as before, opened({**people, "newcomer": newcomer}) as after:
        for round_, (bounding, currency) in asked:
            door = Watched(before, BUDGETS[currency], bounding)
            small = MergedDoor(door, round_.merged) if round_.merged else door
            ask(small, round_.asked, round_.price)
            question = door.measure_asked
            assert question.merged == round_.merged
            change = exact(question, after) - exact(question, before)
            assert distance(question, change, currency) <= allowed(round_.price, currency)
            ((_, spent),) = events(door)
            assert spent <= math.ceil(allowed(round_.price, currency) / GRAIN)


ONE_ROW: list[Row] = [(1, 0, 2)]
ROUND = Round(
    (
        WeightedMarginal(clique=("a",), weight=3.0),
        WeightedMarginal(clique=("c", "a"), starts={"c": (0, 1)}),
        WeightedMarginal(clique=("a", "b", "c"), weight=0.2, starts={"a": (0,), "c": (0, 2, 3)}),
        WeightedMarginal(clique=("b",)),
    ),
    0.7,
)


HELD: list[tuple[Capped, list[Row]]] = [
    (Weights(1), ONE_ROW),
    (Sample(1), ONE_ROW),
    (Sample(4), ONE_ROW * 9),
    (Weights(4), ONE_ROW * 4),
    (Weights(4), ONE_ROW * 1000),
]


@pytest.mark.parametrize(
    ("held", "currency", "merged"),
    # Every third has all of each.
    one_in(3, itertools.product(HELD, Currency, [(), (merge("b", [0, 0]),)])),
    ids=str,
)
def test_the_price_is_reached_so_that_no_less_noise_would_do(
    held: tuple[Capped, list[Row]], currency: Currency, merged: tuple[Merge, ...]
) -> None:
    """By rows all in one cell, as many as the cap; a weight's last bit is lost in a thousand."""
    bounding, own = held
    with watched({"p": own}, bounding=bounding, currency=currency) as door:
        ask(MergedDoor(door, merged) if merged else door, ROUND.asked, ROUND.price)
        question = door.measure_asked
        moved = distance(question, exact(question, door._table), currency)
    lost = Fraction(len(own), 2**14) if len(own) > bounding.cap else Fraction(1, 10**11)
    assert (1 - lost) * allowed(ROUND.price, currency) <= moved <= allowed(ROUND.price, currency)


PEOPLE = random_crowd(np.random.default_rng(3), DOMAIN, 30)


@pytest.mark.parametrize(
    ("person", "public"),
    list(itertools.product(EXTREME, [None, PEOPLE]))
    if THOROUGH
    else list(zip(EXTREME, itertools.cycle([None, PEOPLE]), strict=False)),
)
def test_under_norm_nobody_moves_a_round_by_more_than_its_price(
    person: str, public: PublicTable | None
) -> None:
    with watched({person: EXTREME[person]}, bounding=Norm()) as door:
        ask(door, ROUND.asked, ROUND.price, public=public)
        question = door.measure_asked
        counted = exact(question, door._table)
        assert events(door) == [
            ("4 marginals", math.ceil(allowed(ROUND.price, Currency.GDP) / GRAIN))
        ]
    assert counted.any()
    assert distance(question, counted, Currency.GDP) <= allowed(ROUND.price, Currency.GDP)


# The noise of each query

WEIGHTED = [[1.0], [1.0] * 7, [2.0, 2.0, 1.0], [0.1, 0.7, 3.3, 1e-3], [1e3, 1e-3]]
# Every seventh has all weights, all caps and all prices.
NOISY = one_in(7, itertools.product(WEIGHTED, [1, 17], [0.01, 0.7, 30.0]))


def asked_with(weights: Sequence[float]) -> list[WeightedMarginal]:
    return [WeightedMarginal(clique=c, weight=w) for c, w in zip(CLIQUES, weights, strict=False)]


@pytest.mark.parametrize(("weights", "cap", "price"), NOISY)
def test_gaussian_noise_is_that_of_weights_of_length_one(
    weights: list[float], cap: int, price: float
) -> None:
    """σ·√Σw²/w for a query of weight w, with σ = C/price: a row moves all by 1/σ."""
    with watched({"p": ONE_ROW}, bounding=Weights(cap)) as door:
        found = ask(door, asked_with(weights), price)
    level = math.sqrt(sum(w**2 for w in weights))
    for measured, weight in zip(found, weights, strict=True):
        assert measured.scale == pytest.approx(cap / price * level / weight, rel=1e-11)
        assert measured.scale * weight / level >= cap / price
    length = sum((cap / Fraction(m.scale)) ** 2 for m in found)
    assert (
        allowed(price, Currency.GDP) * (1 - Fraction(1, 10**11))
        <= length
        <= allowed(price, Currency.GDP)
    )


@pytest.mark.parametrize(("weights", "cap", "price"), NOISY)
def test_laplace_noise_is_that_of_weights_of_sum_one(
    weights: list[float], cap: int, price: float
) -> None:
    with watched({"p": ONE_ROW}, bounding=Weights(cap), currency=Currency.PURE) as door:
        found = ask(door, asked_with(weights), price)
    for measured, weight in zip(found, weights, strict=True):
        assert measured.scale == pytest.approx(cap / price * sum(weights) / weight, rel=1e-11)
    length = sum(cap / Fraction(m.scale) for m in found)
    assert Fraction(price) * (1 - Fraction(1, 10**11)) <= length <= Fraction(price)


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
def test_only_the_ratio_of_weights_matters(currency: Currency) -> None:
    found = []
    for times in (1.0, 1000.0):
        with watched({"p": ONE_ROW}, bounding=Weights(2), currency=currency) as door:
            asked = [replace(a, weight=times * a.weight) for a in ROUND.asked]
            found.append([m.scale for m in ask(door, asked, 1.0)])
    assert found[0] == pytest.approx(found[1], rel=1e-14)


def test_a_noise_of_a_whole_round_is_taken_where_it_is_larger_than_the_prices() -> None:
    """A document's σ: what it costs is then less than the price, and is what is booked."""
    price, cap, sigma = 0.5, 3, 10.0
    with watched({"p": ONE_ROW}, bounding=Weights(cap)) as door:
        found = ask(door, ROUND.asked, price, sigma=sigma)
        ((_, spent),) = events(door)
    weights = [a.weight for a in ROUND.asked]
    level = math.sqrt(sum(w**2 for w in weights))
    for measured, weight in zip(found, weights, strict=True):
        assert measured.scale * weight / level == pytest.approx(cap * sigma, rel=1e-14)
    assert spent == pytest.approx(price_grains(1 / sigma, Currency.GDP), rel=1e-12)
    assert spent < price_grains(price, Currency.GDP) / 20


@pytest.mark.parametrize("sigma", [0.01, 1.0, 1.999])
def test_a_noise_that_is_smaller_than_the_prices_is_not_taken(sigma: float) -> None:
    found = []
    for given_ in (None, sigma):
        with watched({"p": ONE_ROW}, bounding=Weights(3)) as door:
            found.append([m.scale for m in ask(door, ROUND.asked, 0.5, sigma=given_)])
            ((_, spent),) = events(door)
            assert spent <= price_grains(0.5, Currency.GDP)
    assert found[0] == found[1]


def test_rounding_never_makes_a_round_cost_more_than_its_price() -> None:
    """Weights and prices of any last bit: the door would refuse a round by a grain too much."""
    rng = np.random.default_rng(4)
    assert 1 < SLACK < 1 + 1e-9
    with watched({"p": ONE_ROW}, bounding=Weights(7)) as door:
        for _ in range(40):
            weights = rng.uniform(0.01, 9, size=len(CLIQUES)).tolist()
            ask(door, asked_with(weights), float(rng.uniform(0.01, 3)))


@pytest.mark.parametrize("people", [True, False], ids=["public people", "public rows"])
def test_under_norm_the_square_of_a_weight_is_a_cliques_share_of_the_noise(people: bool) -> None:
    """Without people public rows do not say how long a person is, and are not asked."""
    public = random_crowd(np.random.default_rng(5), DOMAIN, 40)
    known = public if people else None
    with watched(EXTREME, bounding=Norm()) as door:
        found = ask(
            door, ROUND.asked, 0.7, public=public if people else replace(public, people=None)
        )
    wanted = norm_scales(
        [a.grid(DOMAIN) for a in ROUND.asked],
        shares={a.clique: a.weight**2 for a in ROUND.asked},
        price=0.7,
        public=known,
        rows=200.0,
        cap=3,
    )
    assert {m.clique: m.scale for m in found} == wanted
    assert len({m.group for m in found} - {None}) == 1


def test_under_norm_a_heavier_clique_has_less_noise_and_another_number_of_rows_is_no_matter() -> (
    None
):
    found = []
    for weight, rows in ((1.0, None), (4.0, None), (4.0, 1.0)):
        crowd = replace(CROWD, rows=rows)
        asked = [WeightedMarginal(clique=("a",), weight=weight), WeightedMarginal(clique=("b",))]
        with watched(EXTREME, bounding=Norm()) as door:
            one, other = weighted_round(door, asked, price=1.0, crowd=crowd, public=None)
        found.append(one.scale / other.scale)
    assert found[1] / found[0] == pytest.approx(16 ** (-1 / 3))
    assert found[2] == found[1]


# Coarse groups


@st.composite
def grids(draw: st.DrawFn) -> tuple[WeightedMarginal, dict[str, int]]:
    names = draw(st.permutations("abc"))[: draw(st.integers(1, 3))]
    sizes = {name: draw(st.integers(1, 5)) for name in names}
    starts = {}
    for name in names:
        if draw(st.booleans()):
            inner = draw(st.sets(st.integers(1, 4)))
            starts[name] = (0, *sorted(n for n in inner if n < sizes[name]))
    return WeightedMarginal(clique=tuple(names), starts=starts), sizes


def slow_rows(asked: WeightedMarginal, sizes: Mapping[str, int]) -> list[list[int]]:
    """The cells of every combination of groups, in order, the last column fastest."""
    groups = []
    for name in asked.clique:
        starts = asked.starts.get(name, tuple(range(sizes[name])))
        groups.append([range(a, b) for a, b in pairwise((*starts, sizes[name]))])
    shape = [sizes[n] for n in asked.clique]
    return [
        [int(np.ravel_multi_index(cell, shape)) for cell in itertools.product(*parts)]
        for parts in itertools.product(*groups)
    ]


@given(grids())
@tried(200)
def test_coarse_rows_are_the_combinations_of_groups_and_every_cell_is_in_one(
    case: tuple[WeightedMarginal, dict[str, int]],
) -> None:
    asked, sizes = case
    grid, slow = asked.grid(sizes), slow_rows(*case)
    grid.check()
    assert grid.rows == len(slow)
    rows = _rows(grid)
    if not asked.starts:
        assert rows is None
        return
    assert rows is not None
    assert [rows.cells[a:b].tolist() for a, b in pairwise(rows.starts)] == slow
    assert sorted(rows.cells.tolist()) == list(range(math.prod(sizes.values())))


def test_coarse_answers_are_sums_of_fine_ones_and_come_in_the_order_asked() -> None:
    with watched(EXTREME, bounding=Weights(1000)) as door:
        fine = ask(door, [WeightedMarginal(clique=("c", "a"))], 1e8)[0].values.reshape(4, 3)
        one, both = ask(
            door,
            [
                WeightedMarginal(clique=("a",), starts={"a": (0, 1)}),
                WeightedMarginal(clique=("c", "a"), starts={"c": (0, 2), "a": (0, 2)}),
            ],
            1e8,
        )
        assert [what for what, _ in events(door)] == ["1 marginals", "2 marginals"]
    assert one.values == pytest.approx([fine[:, 0].sum(), fine[:, 1:].sum()], abs=0.01)
    wanted = [fine[:2, :2].sum(), fine[:2, 2].sum(), fine[2:, :2].sum(), fine[2:, 2].sum()]
    assert both.values == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
def test_a_clique_in_groups_has_the_noise_of_one_that_is_not(currency: Currency) -> None:
    """A row is still in one cell of each: groups cost nothing, and save nothing."""
    cliques: list[Clique] = [("a",), ("a", "b", "c")]
    scales_ = []
    for starts in ({}, {"a": (0, 2)}):
        with watched(EXTREME, bounding=Sample(2), currency=currency) as door:
            found = ask(door, [WeightedMarginal(clique=c, starts=starts) for c in cliques], 0.3)
            scales_.append([m.scale for m in found])
    assert scales_[0] == scales_[1]
