"""One person more or less, in exact integers: what is charged is what they can move.

Counts are additive over people (the first test), so what a person can move is what a table
of that person alone holds (the second).  Distances are not: each is held against the cap.  The
proofs are in `understudy.vault.sensitivity`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import tried
from tests.vault.obvious import People
from tests.vault.worlds import DOMAIN, SCHEMA, obvious, opened, person_rows, questions, worlds
from understudy.budget import Currency, Gaussian, Laplace, Norm, Sample, Weights
from understudy.door import (
    Candidate,
    Distances,
    Measure,
    Query,
    Question,
    Rows,
    Select,
    Total,
    UnitCounts,
    UnitMode,
)
from understudy.errors import BudgetError
from understudy.vault.counts import exact
from understudy.vault.sensitivity import charge

currencies = st.sampled_from([Currency.GDP, Currency.PURE])


@given(worlds, st.lists(questions(), min_size=3, max_size=8))
@tried(40, usual=4)
def test_the_engine_counts_what_the_obvious_version_counts(
    people: People, asked: list[Question]
) -> None:
    with opened(people) as table:
        for question in asked:
            assert exact(question, table).tolist() == obvious(people).exact(question).tolist()


@given(worlds, person_rows, st.lists(questions(), min_size=3, max_size=8))
@tried(40, usual=4)
def test_one_persons_arrival_adds_their_own_counts_and_moves_nobody_elses(
    people: People, newcomer: list[tuple[int, ...]], asked: list[Question]
) -> None:
    more = {**people, "newcomer": newcomer}
    with opened(people) as before, opened(more) as after:
        for question in asked:
            moved = exact(question, after) - exact(question, before)
            if isinstance(question, (Select, Distances)):
                # A distance is not additive; it moves by the cap at most, up or down.
                assert np.abs(moved).max() <= question.bounding.cap * 2**16
            else:
                assert moved.tolist() == obvious({"newcomer": newcomer}).exact(question).tolist()


def scales_of(question: Question) -> NDArray[np.float64]:
    """The noise scale of every number of an answer."""
    if not isinstance(question, Measure):
        assert not isinstance(question, Select)
        return np.array([question.scale])
    parts = []
    for query in question.queries:
        size = int(np.prod([DOMAIN[n] for n in query.clique]))
        parts.append(np.full(size if query.rows is None else query.rows.count, query.scale))
    return np.concatenate(parts)


def moved_by(own: list[tuple[int, ...]], question: Question) -> list[int]:
    """How far someone alone moves every number from where it is with nobody, in its own steps."""
    moved = obvious({"someone": own}).exact(question) - obvious({}).exact(question)
    return [int(step) for step in moved]


def unit_of(question: Question) -> int:
    """The steps a row or a person of an exact answer."""
    if isinstance(question, Measure):
        return question.bounding.unit_weight
    return 2**16 if isinstance(question, (Select, Distances)) else 1


@given(person_rows, questions(), currencies)
@tried(400, usual=30)
def test_a_person_alone_moves_no_more_than_is_charged(
    own: list[tuple[int, ...]], question: Question, currency: Currency
) -> None:
    cost = charge(question, SCHEMA, currency).grains(currency)
    moved = [Fraction(step, unit_of(question)) for step in moved_by(own, question)]
    if isinstance(question, Select):
        weights = [Fraction(c.weight) for c in question.candidates]
        reach = max(weights) * question.bounding.cap
        assert all(w * abs(m) <= reach for w, m in zip(weights, moved, strict=True))
        return
    scales = [Fraction(s) for s in np.broadcast_to(scales_of(question), len(moved)).tolist()]
    power = 2 if currency == Currency.GDP else 1
    spent = sum((abs(m) / s) ** power for m, s in zip(moved, scales, strict=True))
    assert spent <= Fraction(cost, 2**80)


@given(person_rows, person_rows, questions(), currencies)
@tried(200, usual=25)
def test_someone_within_an_id_that_others_share_moves_at_most_twice_what_is_charged(
    own: list[tuple[int, ...]],
    others: list[tuple[int, ...]],
    question: Question,
    currency: Currency,
) -> None:
    """The unit goes from one state to another: as if it left and came again with other rows."""
    together, without = obvious({"id": others + own}), obvious({"id": others})
    steps = together.exact(question) - without.exact(question)
    moved = [Fraction(int(step), unit_of(question)) for step in steps]
    if isinstance(question, Select):
        weights = [Fraction(c.weight) for c in question.candidates]
        reach = max(weights) * question.bounding.cap
        assert all(w * abs(m) <= 2 * reach for w, m in zip(weights, moved, strict=True))
        return
    cost = charge(question, SCHEMA, currency).grains(currency)
    scales = [Fraction(s) for s in np.broadcast_to(scales_of(question), len(moved)).tolist()]
    power = 2 if currency == Currency.GDP else 1
    spent = sum((abs(m) / s) ** power for m, s in zip(moved, scales, strict=True))
    assert spent <= 2**power * Fraction(cost, 2**80)


@pytest.mark.parametrize("bounding", [Weights(1), Sample(1)], ids=str)
def test_and_can_move_more_than_once_the_bound(bounding: Weights | Sample) -> None:
    """So it has to be told: 1 and 1.0 are one id, and one of the two has a thousand rows."""
    query = Query(clique=("a",), scale=1.0)
    question = Measure(queries=(query,), bounding=bounding, price=1e9)
    others, own = [(0, 0, 0)], [(1, 0, 0)] * 1000
    with opened({"1": others, "1.0": own}) as both, opened({"1": others}) as one:
        moved = exact(question, both) - exact(question, one)
    squared = sum(Fraction(int(m), unit_of(question)) ** 2 for m in moved)
    assert Fraction(19, 10) < squared <= 2


@given(person_rows, questions())
@tried(200, usual=25)
def test_and_the_largest_single_count_is_within_the_bound(
    own: list[tuple[int, ...]], question: Question
) -> None:
    most = 1
    if isinstance(question, (Measure, Select, Distances)):
        assert not isinstance(question.bounding, Norm)
        most = question.bounding.cap * unit_of(question)
    elif isinstance(question, Total):
        most = question.cap
    assert max(map(abs, moved_by(own, question))) <= most


def test_the_bound_is_reached_so_no_smaller_charge_would_do() -> None:
    """A person with C rows in one cell: the declared sensitivity is exact."""
    question = Measure(
        queries=(Query(clique=("a",), scale=2.0), Query(clique=("b",), scale=4.0)),
        bounding=Weights(5),
        price=1e9,
    )
    moved = obvious({"p": [(0, 0, 0)] * 9}).exact(question) / 2**16
    spent = (moved[:3] ** 2 / 4).sum() + (moved[3:] ** 2 / 16).sum()
    cost = charge(question, SCHEMA, Currency.GDP).grains(Currency.GDP) / 2**80
    # Nine weights of floor(2¹⁶·5/9) fall short of 5 by less than 9·2⁻¹⁶.
    assert spent <= cost <= spent * 1.0001


def apart(scale: float, bounding: Weights | Sample) -> Distances:
    """Distances of three marginals, of which a person in the first cell moves the second down."""
    candidates = (
        Candidate(clique=("a",), expected=np.zeros(3)),
        Candidate(clique=("b",), expected=np.array([100.0, 0.0]), weight=7.0, penalty=3.0),
        Candidate(clique=("c", "a"), expected=np.zeros(12), weight=0.5, penalty=-2.0),
    )
    return Distances(candidates=candidates, scale=scale, bounding=bounding)


def test_distances_cost_the_cap_for_every_candidate_and_one_person_moves_them_all() -> None:
    """Nine rows in one cell and a cap of five, by the engine: no smaller charge would do."""
    question = apart(3.7, Sample(5))
    people: People = {"q": [(0, 0, 0), (2, 1, 1)]}
    with opened(people) as before, opened({**people, "p": [(0, 0, 0)] * 9}) as after:
        moved = ((exact(question, after) - exact(question, before)) / 2**16).tolist()
    assert moved == [5, -5, 5]
    (pure,), (gaussian,) = (
        charge(question, SCHEMA, c).events for c in (Currency.PURE, Currency.GDP)
    )
    assert pure == Laplace(sensitivity=Fraction(15), scale=3.7)
    assert gaussian == Gaussian(squared_sensitivity=Fraction(75), sigma=3.7)
    assert sum(map(abs, moved)) == 15
    assert sum(m**2 for m in moved) == 75


@pytest.mark.parametrize("bounding", [Weights(5), Sample(7), Weights(2**31 - 1)], ids=str)
@pytest.mark.parametrize("scale", [0.01, 1 / 3, 2.0, 1e6])
def test_distances_are_charged_to_the_last_grain(bounding: Weights | Sample, scale: float) -> None:
    """Three candidates, whatever their weights and penalties are: L1 is 3·C, squared L2 3·C²."""
    question, cap = apart(scale, bounding), bounding.cap
    gdp = 3 * Fraction(cap) ** 2 / Fraction(scale) ** 2
    assert charge(question, SCHEMA, Currency.GDP).grains(Currency.GDP) == math.ceil(gdp * 2**80)
    pure = 3 * Fraction(cap) / Fraction(scale)
    assert charge(question, SCHEMA, Currency.PURE).grains(Currency.PURE) == math.ceil(pure * 2**80)


def test_a_person_one_beyond_every_cap_counts_for_no_more_than_the_cap() -> None:
    """Seven rows in seven cells and a cap of six, counted by the engine."""
    own = [(i % 3, i % 2, i % 4) for i in range(7)]
    clique, cells = ("a", "b", "c"), np.arange(24)
    query = Query(clique=clique, scale=1.0)
    with opened({"p": own}) as table:

        def whole(question: Question) -> int:
            return int(exact(question, table).sum())

        weighed = whole(Measure(queries=(query,), bounding=Weights(6), price=99.0))
        assert 6 * 2**16 - 7 < weighed <= 6 * 2**16
        assert whole(Measure(queries=(query,), bounding=Sample(6), price=99.0)) == 6
        assert whole(Total(cap=6, scale=1.0)) == 6
        assert whole(UnitCounts(clique=clique, cells=cells, times=(1,), most=6, scale=1.0)) == 6
        assert whole(UnitMode(clique=clique, scale=1.0)) == 1


def test_a_person_with_twenty_cells_costs_twenty_not_one() -> None:
    """The UserCounts document's claim of sensitivity 1 for the whole vector."""
    cells = np.arange(20)
    question = UnitCounts(clique=("a", "b", "c"), cells=cells, times=(1,), most=20, scale=1.0)
    own = [(i, j, k) for i in range(3) for j in range(2) for k in range(4)]
    moved = obvious({"p": own}).exact(question)
    assert moved.sum() == 20
    (pure,) = charge(question, SCHEMA, Currency.PURE).events
    (gaussian,) = charge(question, SCHEMA, Currency.GDP).events
    assert isinstance(pure, Laplace)
    assert isinstance(gaussian, Gaussian)
    assert pure.sensitivity == gaussian.squared_sensitivity == 20


def test_fine_and_coarse_rows_of_disjoint_cells_cost_as_one() -> None:
    """Cells measured finely and the rest measured coarsely: every column has norm 1."""
    fine = Rows(np.array([0, 1, 2]), np.array([0, 1]))
    coarse = Rows(np.array([0, 4]), np.array([2, 3, 4, 5]))
    both = Measure(
        queries=(
            Query(clique=("a", "b"), scale=3.0, rows=fine),
            Query(clique=("a", "b"), scale=3.0, rows=coarse),
        ),
        bounding=Weights(1),
        price=1.0,
    )
    (event,) = charge(both, SCHEMA, Currency.GDP).events
    assert event == Gaussian(squared_sensitivity=Fraction(1), sigma=3.0)


def test_the_same_clique_in_another_order_is_priced_safely() -> None:
    twice = Measure(
        queries=(Query(clique=("a", "b"), scale=1.0), Query(clique=("b", "a"), scale=1.0)),
        bounding=Weights(1),
        price=9.0,
    )
    assert charge(twice, SCHEMA, Currency.GDP).grains(Currency.GDP) == 2 * 2**80


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
def test_queries_beyond_their_price_are_refused(currency: Currency) -> None:
    question = Measure(queries=(Query(clique=("a",), scale=1.0),), bounding=Weights(10), price=9.99)
    with pytest.raises(BudgetError, match=r"cost more than their price .*at least 10"):
        charge(question, SCHEMA, currency)
