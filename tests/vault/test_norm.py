"""Norm in exact integers: nobody moves a question by more than its price, whoever they are.

The slow version weighs a person by plain whole numbers of any length; the engine must say
the same to the last unit.  The last tests hold the capped boundings to AdaGrid's own rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import effort, few, one_in, tried
from tests.vault.normed import (
    ASKED,
    EVERY_CELL,
    EXTREME,
    ONE,
    counts,
    moved,
    normed,
    questions,
    scales,
    sets,
    slowly,
    weight,
    whole_length,
)
from tests.vault.obvious import People, Row
from tests.vault.worlds import (
    CLIQUES,
    DOMAIN,
    KEY,
    SCHEMA,
    obvious,
    opened,
    person_rows,
    rows,
    worlds,
)
from understudy.audit import FixedEntropy
from understudy.budget import (
    Budget,
    Capped,
    Currency,
    Gaussian,
    Norm,
    ResolvedUnit,
    Sample,
    Unit,
    Weights,
)
from understudy.door import Clique, Measure, Measurement, Query, Select
from understudy.engine import DuckDB
from understudy.errors import BudgetError, BudgetExhaustedError, QuestionError
from understudy.ledger import Ledger
from understudy.synth.measure.granularity import Grid
from understudy.vault import PrivateDoor, PrivateTable, norm
from understudy.vault.counts import exact
from understudy.vault.norm import _bits
from understudy.vault.sensitivity import charge

# One person more or less


@given(worlds, person_rows, st.lists(questions(), min_size=2, max_size=4))
@tried(15, usual=4)
def test_one_persons_arrival_moves_a_question_by_at_most_its_price_and_nobody_else(
    people: People, newcomer: list[Row], asked: list[Measure]
) -> None:
    more = {**people, "newcomer": newcomer}
    with opened(people) as before, opened(more) as after:
        for question in asked:
            old = exact(question, before).tolist()
            assert old == slowly(people, question)
            change = (exact(question, after) - exact(question, before)).tolist()
            assert change == slowly({"newcomer": newcomer}, question)
            assert moved(change, question) <= Fraction(question.price) ** 2


@pytest.fixture(scope="module")
def everybody() -> Iterator[PrivateTable]:
    with opened(EXTREME) as table:
        yield table


@pytest.mark.parametrize("price", few((0.3, 4e4, 1e-4, 7.0), usual=2))
@pytest.mark.parametrize("name", ASKED)
def test_extreme_people_together_are_weighed_as_the_slow_version_weighs_them(
    everybody: PrivateTable, name: str, price: float
) -> None:
    question = normed(ASKED[name], price)
    assert exact(question, everybody).tolist() == slowly(EXTREME, question)


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_people_are_weighed_whole_however_few_rows_are_looked_at_together(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(norm, "PART", rows)
    # A part takes as long however few its rows: of people who are many parts, there are fewer.
    most = {1: effort(100, 500), 7: effort(500, 5000)}.get(rows, 5000)
    short = {name: own for name, own in EXTREME.items() if len(own) < most}
    with opened(short) as table:
        for asked in one_in(3, ASKED.values()):
            question = normed(asked, 0.3)
            assert exact(question, table).tolist() == slowly(short, question)


def test_who_adds_more_than_can_be_squared_weighs_nothing(
    everybody: PrivateTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(norm, "MOST_ADDED", 1000)
    few = {name: own for name, own in EXTREME.items() if len(own) < 1000}
    assert len(few) == len(EXTREME) - 1
    question = normed(ASKED["several marginals"], 0.3)
    assert exact(question, everybody).tolist() == slowly(few, question)


@given(
    st.lists(st.tuples(st.integers(0, 2**62 - 1), st.integers(1, 2**40)), min_size=1, max_size=9)
)
def test_digits_add_up_to_the_product(added: list[tuple[int, int]]) -> None:
    digits = np.zeros((4, 1), dtype=np.int64)
    for square, omega in added:
        norm._add(digits, np.array([square]), omega)
    found = sum(int(d) * 2 ** (norm.DIGIT * i) for i, (d,) in enumerate(digits))
    assert found == sum(square * omega for square, omega in added)


@pytest.fixture(scope="module")
def answers(everybody: PrivateTable) -> list[tuple[Measure, NDArray[np.int64]]]:
    asked = [normed(asked, price) for price in (0.05, 11.0) for asked in ASKED.values()]
    return [(question, exact(question, everybody)) for question in one_in(2, asked)]


@pytest.mark.parametrize("gone", EXTREME)
def test_without_any_one_of_them_no_question_moves_by_more_than_its_price(
    answers: list[tuple[Measure, NDArray[np.int64]]], gone: str
) -> None:
    left = {name: own for name, own in EXTREME.items() if name != gone}
    with opened(left) as table:
        for question, of_all in answers:
            change = (of_all - exact(question, table)).tolist()
            assert max(change) > 0 or weight(list(EXTREME[gone]), question) == 0
            assert moved(change, question) <= Fraction(question.price) ** 2


@contextmanager
def of_columns(person: NDArray[np.int64], cells: NDArray[np.int64]) -> Iterator[PrivateTable]:
    engine = DuckDB()
    columns = {name: cells[:, i] for i, name in enumerate(DOMAIN)}
    try:
        yield PrivateTable(
            engine, {"id": person, **columns}, schema=SCHEMA, unit=Unit("id"), key=KEY
        )
    finally:
        engine.close()


@pytest.mark.parametrize("spread", few([False, True], usual=1))
def test_a_person_of_a_million_rows_moves_no_more_than_the_price(spread: bool) -> None:
    """Their squares are beyond 64 bits, and the sums beyond float64."""
    many = 10**6
    own = np.repeat(np.array([(2, 1, 3)]), many, axis=0)
    if spread:
        own = np.array(EVERY_CELL)[np.arange(many) % 24]
    cells = np.concatenate([own, np.array([(0, 0, 0)])])
    person = np.concatenate([np.zeros(many, dtype=np.int64), np.ones(1, dtype=np.int64)])
    tally: list[Row] = [(int(a), int(b), int(c)) for a, b, c in own[:24]]
    with of_columns(person, cells) as table:
        for asked, price in ((ASKED["several marginals"], 3e4), (ASKED["overlapping rows"], 500.0)):
            question = normed(asked, price)
            part = [v * many // 24 for v in counts(tally, question)]
            if spread:
                # A million is no multiple of 24: the rows beyond are the first cells'.
                rest: list[Row] = [(int(a), int(b), int(c)) for a, b, c in own[: many % 24]]
                part = [v * (many // 24) for v in counts(tally, question)]
                part = [v + w for v, w in zip(part, counts(rest, question), strict=True)]
            found = exact(question, table).tolist()
            other = slowly({"1": [(0, 0, 0)]}, question)
            theirs = [f - o for f, o in zip(found, other, strict=True)]
            (w,) = {f // v for f, v in zip(theirs, part, strict=True) if v}
            assert 0 < w < ONE
            assert theirs == [w * v for v in part]
            assert moved(theirs, question) <= Fraction(price) ** 2
            assert moved([(w + 1) * v for v in part], question) > Fraction(price) ** 2


# How good the weight is


@given(person_rows, st.lists(st.tuples(st.sampled_from(CLIQUES), st.floats(1, 1e3)), min_size=1))
@tried(60)
def test_a_weight_is_within_one_unit_of_the_best_there_could_be(
    own: list[Row], asked: list[tuple[Clique, float]]
) -> None:
    """Rounding ω up costs nothing that shows, where scales are not a million times apart."""
    question = normed(tuple(Query(clique=c, scale=s) for c, s in asked), 0.37)
    length = math.sqrt(moved(counts(own, question), question, unit=1))
    best = min(ONE, math.floor(ONE * 0.37 / length * (1 + 1e-9)))
    assert best - 1 <= weight(own, question) <= best


def test_a_short_person_is_not_weighed_down_at_all() -> None:
    """24 rows in 24 cells are √24 long, not 24."""
    question = normed((Query(clique=("a", "b", "c"), scale=1.0),), 5.0)
    with opened({"p": EVERY_CELL}) as table:
        assert exact(question, table).tolist() == [ONE] * 24


def test_a_length_that_is_the_price_exactly_keeps_its_whole_weight() -> None:
    """Three rows of one cell and σ = 1: not weighed down for 3, and by a unit just below it."""
    query = Query(clique=("a",), scale=1.0)
    with opened({"p": [(0, 0, 0)] * 3}) as table:
        assert exact(normed((query,), 3.0), table)[0] == 3 * ONE
        assert exact(normed((query,), math.nextafter(3.0, 0)), table)[0] == 3 * (ONE - 1)


def test_a_weight_just_short_of_its_price_is_rounded_down() -> None:
    """Prices an ulp below where one more unit would fit: where floating point is wrong."""
    people: People = {"p": [(2, 1, 3)] * 7 + [(0, 0, 0)] * 3, "q": [(1, 1, 1)] * 1009}
    asked = (Query(clique=("a", "b"), scale=3.0), Query(clique=("c",), scale=1 / 7))
    draws = np.random.default_rng(3)
    with opened(people) as table:
        for number in range(effort(10, 24)):
            own = list(people["pq"[number % 2]])
            wanted = int(draws.integers(100, ONE))
            square = Fraction(wanted**2 * whole_length(own, normed(asked, 1.0)))
            square /= Fraction(2) ** (32 + _bits(normed(asked, 1.0)))
            price = math.sqrt(square) * (1 + 1e-15)
            while Fraction(price) ** 2 >= square:
                price = math.nextafter(price, 0)
            question = normed(asked, price)
            assert weight(own, question) == wanted - 1
            assert exact(question, table).tolist() == slowly(people, question)


def test_where_the_price_is_nothing_everybody_weighs_nothing(everybody: PrivateTable) -> None:
    question = normed(ASKED["several marginals"], 1e-9)
    assert not exact(question, everybody).any()


def test_a_huge_price_weighs_nobody_down(everybody: PrivateTable) -> None:
    question = normed(ASKED["several marginals"], 1e9)
    own = np.array([counts(list(rows), question) for rows in EXTREME.values()])
    assert exact(question, everybody).tolist() == (ONE * own.sum(axis=0)).tolist()


def test_a_person_outside_all_rows_asked_has_no_part() -> None:
    query = Query(clique=("a",), scale=1.0, rows=sets([1]))
    with opened({"p": [(0, 0, 0)] * 3, "q": [(1, 0, 0)]}) as table:
        assert exact(normed((query,), 1.0), table).tolist() == [ONE]


def test_an_empty_table_is_counted_too() -> None:
    with of_columns(np.zeros(0, dtype=np.int64), np.zeros((0, 3), dtype=np.int64)) as table:
        for asked in ASKED.values():
            assert not exact(normed(asked, 1.0), table).any()


# What it costs


@pytest.mark.parametrize("price", [1e-7, 0.1, 1.0, 3e4])
@pytest.mark.parametrize("name", ASKED)
def test_the_charge_is_exactly_the_square_of_the_price(name: str, price: float) -> None:
    (event,) = charge(normed(ASKED[name], price), SCHEMA, Currency.GDP).events
    assert event == Gaussian(squared_sensitivity=Fraction(price) ** 2, sigma=1.0)


@pytest.mark.parametrize("price", [0, -1.0, math.nan, math.inf])
def test_a_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(BudgetError, match="a price must be positive"):
        charge(normed(ASKED["one marginal"], price), SCHEMA, Currency.GDP)


def test_pure_epsilon_is_refused() -> None:
    with pytest.raises(BudgetError, match="L2, but pure epsilon-DP needs an L1 bound"):
        charge(normed(ASKED["one marginal"], 1.0), SCHEMA, Currency.PURE)


def test_a_selection_takes_no_norm() -> None:
    with pytest.raises(QuestionError, match="needs a cap on a person's rows"):
        Select(candidates=(), epsilon=1.0, bounding=Norm())  # type: ignore[arg-type]


def test_the_door_books_the_price_and_weighs_for_each_question_anew(tmp_path: Path) -> None:
    budget = Budget(epsilon=1e9, delta=1e-9)
    held = Ledger.create(tmp_path / "n.ledger", budget=budget, key=KEY)
    held.bind(name="world", unit=ResolvedUnit.of("id"))
    with opened(EXTREME) as table:
        run = held.begin(budget, {})
        door = PrivateDoor(table, run=run, bounding=Norm(), entropy=FixedEntropy(5))
        asked = [normed((Query(clique=("a",), scale=0.01),), 2.5)]
        asked.append(normed((Query(clique=("b", "a"), scale=0.01),), 700.0))
        for number, question in enumerate(asked):
            (measured,) = door.measure(question.queries, price=question.price)
            truth = np.array(slowly(EXTREME, question)) / ONE
            assert np.abs(measured.values - truth).max() < 0.1
            assert measured.group == f"question {number}"
        booked = [r.grains for r in run.state().reservations]
    held.close()
    assert booked == [math.ceil(Fraction(q.price) ** 2 * 2**80) for q in asked]


def test_the_door_refuses_a_price_beyond_what_is_left_and_pure_epsilon(tmp_path: Path) -> None:
    for number, delta in enumerate((1e-9, 0)):
        budget = Budget(epsilon=1.0, delta=delta)
        held = Ledger.create(tmp_path / f"{number}.ledger", budget=budget, key=KEY)
        held.bind(name="world", unit=ResolvedUnit.of("id"))
        with opened({"p": [(0, 0, 0)]}) as table:
            run = held.begin(budget, {})
            door = PrivateDoor(table, run=run, bounding=Norm())
            with pytest.raises((BudgetError, BudgetExhaustedError)):
                door.measure([Query(clique=("a",), scale=1e5)], price=2.0)
            assert not run.state().reservations
        held.close()


# Weights and Sample on AdaGrid's rows


def adaptive(plausible: dict[str, list[bool]], pairs: list[bool]) -> list[Grid]:
    """Grids on c × a and on a × b × c, as fine as answers with these patterns make them."""

    def settled(grid: Grid, pattern: list[bool]) -> Grid:
        wanted = np.resize(np.array(pattern), len(grid.plausible))[grid.plausible]
        values = np.where(wanted, 10.0, 0.0)
        return grid.after([Measurement(clique=grid.clique, values=values, scale=1.0)], 5.0)

    ones = [settled(Grid.of((n,), (s,), []), plausible[n]) for n, s in DOMAIN.items()]
    a, b, c = ones
    made = [
        Grid.of(("a", "b"), (3, 2), [a, b]),
        Grid.of(("c", "a"), (4, 3), [c, a]),
        Grid.of(("b", "c"), (2, 4), [b, c]),
    ]
    pairs_after = [settled(g, pairs) for g in made]
    return [made[1], Grid.of(("a", "b", "c"), (3, 2, 4), pairs_after)]


patterns = st.fixed_dictionaries(
    {n: st.lists(st.booleans(), min_size=s, max_size=s) for n, s in DOMAIN.items()}
)


@given(
    st.one_of(person_rows, rows.map(lambda r: [r] * 1000)),
    patterns,
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.one_of(st.builds(Weights, st.integers(1, 40)), st.builds(Sample, st.integers(1, 40))),
    st.floats(0.1, 1e4),
)
@tried(80)
def test_a_capped_person_moves_fine_and_coarse_rows_by_the_cap_at_most(
    own: list[Row],
    plausible: dict[str, list[bool]],
    pairs: list[bool],
    bounding: Capped,
    scale: float,
) -> None:
    """Every column has norm 1, so C rows, wherever they are, are C/σ long and no longer."""
    for grid in adaptive(plausible, pairs):
        asked = tuple(grid.queries(scale, Currency.GDP))
        question = Measure(queries=asked, bounding=bounding, price=1e9)
        change = obvious({"p": own}).exact(question).tolist()
        reach = Fraction(bounding.cap) ** 2 / Fraction(scale) ** 2
        assert moved(change, question, bounding.unit_weight) <= reach
        (event,) = charge(question, SCHEMA, Currency.GDP).events
        assert isinstance(event, Gaussian)
        assert event.squared_sensitivity / Fraction(event.sigma) ** 2 <= reach
        plain = tuple(grid.queries(scale, Currency.PURE))
        laplace = Measure(queries=plain, bounding=bounding, price=1e9)
        answer = obvious({"p": own}).exact(laplace).tolist()
        far = zip(answer, scales(laplace), strict=True)
        length = sum(Fraction(v, bounding.unit_weight) / s for v, s in far)
        assert length <= bounding.cap / Fraction(scale)


@pytest.mark.parametrize("bounding", [Weights(7), Sample(7)], ids=str)
def test_the_engine_counts_fine_and_coarse_rows_as_the_obvious_version(
    everybody: PrivateTable, bounding: Capped
) -> None:
    plausible = {"a": [True, False, True], "b": [True, False], "c": [True, True, False, True]}
    for grid in adaptive(plausible, [True, False, True]):
        asked = tuple(grid.queries(3.0, Currency.GDP))
        assert len(asked) > 1
        question = Measure(queries=asked, bounding=bounding, price=1e9)
        assert exact(question, everybody).tolist() == obvious(EXTREME).exact(question).tolist()
        (event,) = charge(question, SCHEMA, Currency.GDP).events
        assert isinstance(event, Gaussian)
        assert float(event.squared_sensitivity) == pytest.approx(49, rel=1e-12)
