"""Merged codes in exact integers: other cells, the same people, and the same bound on each.

A row's new code follows from its own, so that who is merged counts for no more than before:
under `Weights` and `Sample` merged counts are sums of those that were merged, and under `Norm`
a person is weighed by the cells that are asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import few, tried
from tests.vault.normed import EXTREME, ONE, counts, moved, scales, slowly
from tests.vault.obvious import People, Row
from tests.vault.worlds import (
    DOMAIN,
    KEY,
    SCHEMA,
    domain,
    merge,
    merged_questions,
    merges,
    obvious,
    opened,
    person_rows,
    queries,
    worlds,
)
from understudy.audit import FixedEntropy
from understudy.budget import (
    Bounding,
    Budget,
    Capped,
    Currency,
    Norm,
    ResolvedUnit,
    Sample,
    Weights,
)
from understudy.door import Candidate, Distances, Measure, Merge, Query, Rows, Select, merged_schema
from understudy.errors import LedgerMismatchError, QuestionError
from understudy.ledger import Ledger
from understudy.noise import Shape, draw, steps_per_unit
from understudy.schema import Integer, Schema
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault import marginals as vault_marginals
from understudy.vault.counts import check, exact
from understudy.vault.sensitivity import charge

PEOPLE: People = {
    "ann": [(0, 0, 0)] * 5 + [(1, 1, 2)],
    "bob": [(2, 1, 3)],
    "cy": [(i, j, k) for i in range(3) for j in range(2) for k in range(4)],
}
ENDS = (Merge(column="a", codes=np.array([0, 1, 0])),)
"""The first and the last code of column a are one."""
MANY = (merge("c", [1, 0, 1, 0]), *ENDS)
CAPS: list[Capped] = [Weights(5), Sample(5)]
BOUNDINGS: list[Bounding] = [*CAPS, Norm()]
RICH = Budget(epsilon=1e9, delta=1e-9)


# As the slow version counts


@given(worlds, st.lists(merged_questions(), min_size=2, max_size=6))
@tried(30, usual=5)
def test_the_engine_counts_merged_codes_as_the_obvious_version_does(
    people: People, asked: list[Measure | Select | Distances]
) -> None:
    """One after the other, of the same table: nothing of a question is left for the next."""
    with opened(people) as table:
        for question in asked:
            check(SCHEMA, question)
            assert exact(question, table).tolist() == obvious(people).exact(question).tolist()


@st.composite
def normed(draw: st.DrawFn) -> Measure:
    merged = draw(merges())
    asked = draw(st.lists(queries(domain(merged)), min_size=1, max_size=4))
    price = 10 ** draw(st.floats(-6, 4.5))
    return Measure(queries=tuple(asked), bounding=Norm(), price=price, merged=merged)


@given(worlds, person_rows, st.lists(normed(), min_size=2, max_size=4))
@tried(20, usual=3)
def test_under_norm_an_arrival_moves_merged_codes_by_at_most_the_price_and_nobody_else(
    people: People, newcomer: list[Row], asked: list[Measure]
) -> None:
    more = {**people, "newcomer": newcomer}
    with opened(people) as before, opened(more) as after:
        for question in asked:
            check(SCHEMA, question)
            old = exact(question, before)
            assert old.tolist() == slowly(people, question)
            change = (exact(question, after) - old).tolist()
            assert change == slowly({"newcomer": newcomer}, question)
            assert moved(change, question) <= Fraction(question.price) ** 2


@given(worlds, person_rows, st.lists(merged_questions(), min_size=2, max_size=6))
@tried(20, usual=3)
def test_an_arrival_adds_their_own_merged_counts_and_moves_nobody_elses(
    people: People, newcomer: list[Row], asked: list[Measure | Select | Distances]
) -> None:
    with opened(people) as before, opened({**people, "newcomer": newcomer}) as after:
        for question in asked:
            change = exact(question, after) - exact(question, before)
            if isinstance(question, (Select, Distances)):
                # Distances are no sums; a person moves each by their rows at most.
                assert np.abs(change).max() <= question.bounding.cap * ONE
            else:
                own = obvious({"newcomer": newcomer}).exact(question)
                assert change.tolist() == own.tolist()


@given(person_rows, merged_questions(), st.sampled_from([Currency.GDP, Currency.PURE]))
@tried(200, usual=25)
def test_a_person_alone_moves_merged_codes_by_no_more_than_is_charged(
    own: list[Row], question: Measure | Select | Distances, currency: Currency
) -> None:
    cost = charge(question, SCHEMA, currency).grains(currency)
    change = np.abs(obvious({"someone": own}).exact(question) - obvious({}).exact(question))
    if isinstance(question, Select):
        assert change.max() <= question.bounding.cap * ONE
        return
    unit, power = question.bounding.unit_weight, 2 if currency == Currency.GDP else 1
    if isinstance(question, Distances):
        unit, noise = ONE, [Fraction(question.scale)] * len(change)
    else:
        noise = scales(question)
    steps = zip(change.tolist(), noise, strict=True)
    spent = sum((Fraction(v, unit) / s) ** power for v, s in steps)
    assert spent <= Fraction(cost, 2**80)


def test_the_bound_is_reached_by_rows_that_only_merging_brings_together() -> None:
    """Five rows in two codes that are one: neither weighs the cap, and the two together do."""
    queries = (Query(clique=("a",), scale=1.0),)
    question = Measure(queries=queries, bounding=Sample(5), price=5.0, merged=ENDS)
    people: People = {"p": [(0, 0, 0)] * 2 + [(2, 0, 0)] * 3}
    assert charge(question, SCHEMA, Currency.GDP).grains(Currency.GDP) == 25 * 2**80
    with opened(people) as table:
        assert exact(question, table).tolist() == [5, 0]


# Sums of what was merged


def plain(clique: tuple[str, ...], bounding: Bounding, merged: tuple[Merge, ...] = ()) -> Measure:
    queries = (Query(clique=clique, scale=1.0),)
    return Measure(queries=queries, bounding=bounding, price=1e9, merged=merged)


@pytest.fixture(scope="module")
def everybody() -> Iterator[PrivateTable]:
    with opened(EXTREME) as table:
        yield table


@pytest.mark.parametrize("bounding", CAPS, ids=str)
@pytest.mark.parametrize("clique", [("a",), ("c", "a"), ("b", "c"), ("a", "b", "c"), ()], ids=str)
def test_merged_counts_are_sums_of_those_that_were_merged(
    everybody: PrivateTable, clique: tuple[str, ...], bounding: Capped
) -> None:
    own = exact(plain(clique, bounding), everybody).reshape([DOMAIN[n] for n in clique])
    sizes = domain(MANY)
    wanted = np.zeros([sizes[n] for n in clique], dtype=np.int64)
    codes = {m.column: m.codes for m in MANY}
    for cell, count in np.ndenumerate(own):
        seen = tuple(
            int(codes[n][c]) if n in codes else c for n, c in zip(clique, cell, strict=True)
        )
        wanted[seen] += count
    found = exact(plain(clique, bounding, MANY), everybody)
    assert found.tolist() == wanted.reshape(-1).tolist()
    assert found.sum() == own.sum() > 0


@pytest.mark.parametrize("bounding", BOUNDINGS, ids=str)
def test_codes_that_only_get_other_names_are_counted_under_these(
    everybody: PrivateTable, bounding: Bounding
) -> None:
    """A merge of nothing, the other way round: not even `Norm` weighs anyone differently."""
    renamed = (Merge(column="c", codes=np.array([3, 2, 1, 0])),)
    own = exact(plain(("a", "c"), bounding), everybody).reshape(3, 4)
    found = exact(plain(("a", "c"), bounding, renamed), everybody).reshape(3, 4)
    assert found.tolist() == own[:, ::-1].tolist()


@pytest.mark.parametrize("bounding", BOUNDINGS, ids=str)
def test_a_column_of_one_code_tells_nothing_but_the_number_of_rows(
    everybody: PrivateTable, bounding: Bounding
) -> None:
    alone = tuple(merge(name, [0] * size) for name, size in DOMAIN.items())
    (total,) = exact(plain((), bounding), everybody)
    assert exact(plain(("a", "b", "c"), bounding, alone), everybody).tolist() == [total]


def test_under_norm_people_are_weighed_by_the_cells_that_are_asked() -> None:
    """Three rows in three codes are √3 long; in one code they are 3 long."""
    people: People = {"p": [(0, 0, 0), (1, 0, 0), (2, 0, 0)]}
    one = (merge("a", [0, 0, 0]),)
    price = math.nextafter(math.sqrt(3), 2)
    with opened(people) as table:

        def asked(merged: tuple[Merge, ...]) -> list[int]:
            query = Query(clique=("a",), scale=1.0)
            question = Measure(queries=(query,), bounding=Norm(), price=price, merged=merged)
            return [int(n) for n in exact(question, table)]

        assert asked(()) == [ONE] * 3
        assert asked(one) == [3 * math.isqrt(ONE**2 // 3)]
        assert asked(()) == [ONE] * 3


@pytest.mark.parametrize("price", few((0.3, 4e4, 1e-4, 7.0), usual=2))
def test_extreme_people_are_weighed_as_the_slow_version_weighs_them(
    everybody: PrivateTable, price: float
) -> None:
    rows = Rows(np.array([0, 3, 4]), np.array([0, 1, 3, 2]))
    queries = (
        Query(clique=("a", "c"), scale=3.7),
        Query(clique=("c", "b"), scale=1.1, rows=rows),
        Query(clique=("a", "b", "c"), scale=0.3),
        Query(clique=(), scale=9.0),
    )
    question = Measure(queries=queries, bounding=Norm(), price=price, merged=MANY)
    assert exact(question, everybody).tolist() == slowly(EXTREME, question)
    for own in EXTREME.values():
        alone = slowly({"p": own}, question)
        assert moved(alone, question) <= Fraction(price) ** 2
        assert any(counts(list(own), question))


# Many cliques, and wide columns

WIDE = {f"x{i}": 2 + i % 3 for i in range(9)}
WIDE_SCHEMA = Schema(
    "world", tuple(Integer(name=n, min=0, max=s - 1, missing=False) for n, s in WIDE.items())
)
PAIRS = list(combinations(WIDE, 2))
WIDE_MERGED = (merge("x8", [0, 1, 0, 1]), merge("x1", [1, 0, 1]), merge("x3", [0, 0]))


def crowd(rows: int) -> People:
    cells = np.random.default_rng(5).integers(0, 2**16, (rows, len(WIDE))) % list(WIDE.values())
    return {str(i): [tuple(map(int, row)) for row in cells[i::4]] for i in range(4)}


AT_ONCE = (5, vault_marginals.AT_ONCE, 1)
# Each of the three of either first, and then all pairs.
TURNS = [(b, AT_ONCE[(i + j) % 3]) for j in range(3) for i, b in enumerate(BOUNDINGS)]


@pytest.mark.parametrize(("bounding", "at_once"), few(TURNS, usual=3), ids=str)
def test_more_cliques_than_are_counted_at_once(
    bounding: Bounding, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in other orders and those within others too."""
    monkeypatch.setattr(vault_marginals, "AT_ONCE", at_once)
    people = crowd(60)
    cliques = [*PAIRS, ("x5", "x1"), ("x8",), ("x2",), ("x0", "x1", "x8")]
    assert len(cliques) > vault_marginals.AT_ONCE
    queries = tuple(Query(clique=c, scale=20.0) for c in cliques)
    question = Measure(queries=queries, bounding=bounding, price=2.0, merged=WIDE_MERGED)
    with opened(people, WIDE_SCHEMA) as table:
        found = exact(question, table).tolist()
    if isinstance(bounding, Capped):
        assert found == obvious(people, WIDE).exact(question).tolist()
    else:
        assert found == slowly(people, question, WIDE)
    assert max(found) > bounding.unit_weight


def test_many_candidates_are_scored_each_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    people = crowd(60)
    world = obvious(people, WIDE)
    candidates = tuple(
        Candidate(clique=c, expected=np.full(world.size(c, WIDE_MERGED), 1.5)) for c in PAIRS
    )
    assert len(candidates) > vault_marginals.AT_ONCE
    question = Select(candidates=candidates, epsilon=1.0, bounding=Weights(3), merged=WIDE_MERGED)
    with opened(people, WIDE_SCHEMA) as table:
        found = exact(question, table)
        assert found.tolist() == world.exact(question).tolist()
        monkeypatch.setattr(vault_marginals, "AT_ONCE", 7)
        table.forget()
        assert exact(question, table).tolist() == found.tolist()


@pytest.mark.parametrize("size", [255, 257, 65_537])
@pytest.mark.parametrize("bounding", BOUNDINGS, ids=str)
def test_the_last_code_of_a_wide_column_is_merged_too(size: int, bounding: Bounding) -> None:
    schema = Schema("t", (Integer(name="a", min=0, max=size - 1, missing=False),))
    codes = np.zeros(size, dtype=np.int64)
    codes[[1, size - 1]] = 1
    people: People = {"p": [(0,), (1,)], "q": [(size - 1,), (size - 2,)]}
    question = plain(("a",), bounding, (Merge(column="a", codes=codes),))
    check(schema, question)
    with opened(people, schema) as table:
        found = exact(question, table)
    assert (found / bounding.unit_weight).tolist() == [2.0, 2.0]


# What it costs, and what is refused


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
@pytest.mark.parametrize("bounding", CAPS, ids=str)
def test_a_charge_is_that_of_a_table_declared_with_these_codes(
    bounding: Capped, currency: Currency
) -> None:
    rows = Rows(np.array([0, 2, 3]), np.array([0, 3, 3]))
    asked = (
        Query(clique=("a", "b"), scale=2.0),
        Query(clique=("a", "b"), scale=3.0, rows=rows),
        Query(clique=("c",), scale=5.0),
    )
    merged = Measure(queries=asked, bounding=bounding, price=1e9, merged=MANY)
    own = Measure(queries=asked, bounding=bounding, price=1e9)
    there = charge(own, merged_schema(SCHEMA, MANY), currency)
    assert charge(merged, SCHEMA, currency) == there


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger.create(tmp_path / "l.ledger", budget=RICH, key=KEY)) as held:
        held.bind(name="world", unit=ResolvedUnit.of("id"))
        yield held


@pytest.fixture
def door(ledger: Ledger) -> Iterator[PrivateDoor]:
    with opened(PEOPLE) as table:
        yield PrivateDoor(table, run=ledger.begin(RICH, {}), bounding=Weights(4))


class Sly(Merge):
    """Merged codes of an asker's own, which the vault would ask what they are."""

    def declaration(self) -> Integer:
        raise AssertionError("asked by the vault")


THREE = np.array([0, 1, 0])
WRONG: dict[str, tuple[tuple[Merge, ...], str]] = {
    "an unknown column": (
        (Merge(column="z", codes=THREE),),
        "a question names columns that the schema does not model (got z; allowed: a, b, c)",
    ),
    "too short": (
        (Merge(column="a", codes=np.array([0, 1])),),
        "merged codes of a must map every code (got 2 codes; allowed: 3)",
    ),
    "too long": (
        (*ENDS, Merge(column="b", codes=THREE)),
        "merged codes of b must map every code (got 3 codes; allowed: 2)",
    ),
    "twice": ((*ENDS, *ENDS), "a column's codes may be merged only once"),
    "of the asker's own type": (
        (Sly(column="a", codes=THREE),),
        f"a question must be made of the door's own types (got {Sly})",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_merged_codes_that_do_not_fit_are_refused_and_cost_nothing(
    door: PrivateDoor, ledger: Ledger, name: str
) -> None:
    merged, text = WRONG[name]
    with pytest.raises(QuestionError) as caught:
        door.measure([Query(clique=("b",), scale=1.0)], price=9.0, merged=merged)
    assert str(caught.value) == text
    candidate = Candidate(clique=("b",), expected=np.zeros(2))
    with pytest.raises(QuestionError) as caught:
        door.select([candidate], epsilon=1.0, bounding=Sample(2), merged=merged)
    assert str(caught.value) == text
    with pytest.raises(QuestionError) as caught:
        door.distances([candidate], scale=1.0, bounding=Sample(2), merged=merged)
    assert str(caught.value) == text
    assert not ledger.state().runs[1].reservations


looks: list[object] = []


class Shifty(tuple[Merge, ...]):
    """A tuple that shows its own records to whoever looks first, and others later."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Merge]:
        looks.append(self)
        return iter(ENDS if len(looks) < 3 else (Sly(column="a", codes=THREE),))


def test_nor_do_they_hide_in_a_tuple_of_the_askers_own(door: PrivateDoor) -> None:
    """It is looked at once, and what was seen then is checked, paid and asked."""
    looks.clear()
    (measured,) = door.measure([Query(clique=("a",), scale=0.01)], price=1e6, merged=Shifty(ENDS))
    assert len(looks) == 1
    assert measured.values.shape == (2,)
    looks.clear()
    candidate = Candidate(clique=("a",), expected=np.zeros(2))
    assert door.select([candidate], epsilon=1.0, bounding=Sample(2), merged=Shifty(ENDS)) == 0
    assert len(looks) == 1
    looks.clear()
    found = door.distances([candidate], scale=1.0, bounding=Sample(2), merged=Shifty(ENDS))
    assert found.shape == (1,)
    assert len(looks) == 1


def test_cells_are_those_of_merged_codes(door: PrivateDoor, ledger: Ledger) -> None:
    """Cell 5 of a × b is gone with the third code of a."""
    rows = Rows(np.array([0, 1]), np.array([4]))
    with pytest.raises(QuestionError, match="query rows hold cells outside a × b"):
        door.measure([Query(clique=("a", "b"), scale=1.0, rows=rows)], price=9.0, merged=ENDS)
    candidate = Candidate(clique=("a",), expected=np.zeros(3))
    with pytest.raises(QuestionError, match=r"one number per cell \(got \(3,\); allowed: \(2,\)\)"):
        door.select([candidate], epsilon=1.0, bounding=Sample(1), merged=ENDS)
    with pytest.raises(QuestionError, match=r"one number per cell \(got \(3,\); allowed: \(2,\)\)"):
        door.distances([candidate], scale=1.0, bounding=Sample(1), merged=ENDS)
    assert not ledger.state().runs[1].reservations


def test_a_marginal_too_large_is_not_when_its_codes_are_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vault_marginals, "MOST_CELLS", 5)
    with pytest.raises(QuestionError, match="a × b is too large"):
        check(SCHEMA, plain(("a", "b"), Weights(1)))
    check(SCHEMA, plain(("a", "b"), Weights(1), ENDS))


# At the door


@pytest.mark.parametrize("delta", [1e-9, 0])
def test_an_answer_of_merged_codes_is_the_count_and_the_samplers_own_noise(
    tmp_path: Path, delta: float
) -> None:
    """A number a cell of each query, with that query's scale: coarse ones are no less noisy."""
    budget = Budget(epsilon=1e6, delta=delta)
    asked = [Query(clique=("c", "a"), scale=0.3), Query(clique=("a",), scale=40.0)]
    with closing(Ledger.create(tmp_path / "n.ledger", budget=budget, key=KEY)) as held:
        held.bind(name="world", unit=ResolvedUnit.of("id"))
        with opened(PEOPLE) as table:
            run = held.begin(budget, {})
            door = PrivateDoor(table, run=run, bounding=Weights(4), entropy=FixedEntropy(3))
            measured = door.measure(asked, price=1e5, merged=MANY)
    shape: Shape = "gaussian" if delta else "laplace"
    entropy = FixedEntropy(3)
    for query, found in zip(asked, measured, strict=True):
        wanted = obvious(PEOPLE).marginal(query.clique, Weights(4), MANY)
        steps = steps_per_unit(query.scale, at_least=ONE)
        noise = draw(shape, query.scale * steps, len(wanted), entropy=entropy)
        assert (found.values * steps).tolist() == (wanted * (steps // ONE) + noise).tolist()
        assert found.scale == query.scale
        assert found.merged == {}


def test_a_selection_among_merged_codes_finds_what_is_most_wrong(door: PrivateDoor) -> None:
    right = obvious(PEOPLE).marginal(("a",), Sample(2), ENDS).astype(float)
    candidates = [
        Candidate(clique=("a",), expected=right),
        Candidate(clique=("b",), expected=np.zeros(2)),
    ]
    assert door.select(candidates, epsilon=1000.0, bounding=Sample(2), merged=ENDS) == 1


def test_the_door_and_its_table_are_as_before(door: PrivateDoor) -> None:
    query = [Query(clique=("a",), scale=0.01)]
    own = obvious(PEOPLE).marginal(("a",), Weights(4)) / ONE
    other, one = (merge("a", [0, 1, 1]),), (merge("a", [0, 0, 0]),)
    for merged, size in ((ENDS, 2), ((), 3), (other, 2), (one, 1), ((), 3)):
        (measured,) = door.measure(query, price=1e6, merged=merged)
        assert measured.values.shape == (size,)
        assert abs(measured.values.sum() - own.sum()) < 0.5
        assert size != 3 or np.abs(measured.values - own).max() < 0.5
        assert door.schema is SCHEMA


IN_TURN = (ENDS, (merge("a", [0, 1, 1]),), ENDS, (), (merge("a", [1, 0, 0]),), ENDS)
"""The same column merged in several ways into as many codes, some of them again."""


@pytest.mark.parametrize("bounding", BOUNDINGS, ids=str)
def test_ways_to_merge_a_column_that_are_asked_in_turn_are_each_seen_in_their_own_way(
    bounding: Bounding,
) -> None:
    """What was put together for one question does not put codes together for another."""
    found = []
    with opened(PEOPLE) as table:
        for merged in IN_TURN:
            asked = Query(clique=("a", "b"), scale=9.0)
            question = Measure(queries=(asked,), bounding=bounding, price=2.0, merged=merged)
            found.append(exact(question, table).tolist())
            if isinstance(bounding, Norm):
                assert found[-1] == slowly(PEOPLE, question)
            else:
                assert found[-1] == obvious(PEOPLE).exact(question).tolist()
    assert found[0] == found[2] == found[5]
    assert len({tuple(counted) for counted in found}) == 4


def test_and_so_are_their_distances() -> None:
    """Both where counts are kept, and where a bounding is new and they are not."""
    world, cliques = obvious(PEOPLE), (("a",), ("b", "a"), ("c",))
    with opened(PEOPLE) as table:
        for turn, merged in enumerate(IN_TURN, 1):
            candidates = tuple(
                Candidate(clique=c, expected=np.arange(world.size(c, merged), dtype=float))
                for c in cliques
            )
            given: dict[str, Any] = {"candidates": candidates, "merged": merged}
            for bounding in (Weights(4), Sample(turn)):
                for question in (
                    Select(**given, bounding=bounding, epsilon=1.0),
                    Distances(**given, bounding=bounding, scale=1.0),
                ):
                    assert exact(question, table).tolist() == world.exact(question).tolist()


def ask(door: PrivateDoor, merged: tuple[Merge, ...]) -> list[Any]:
    (measured,) = door.measure([Query(clique=("b",), scale=3.0)], price=9.0, merged=merged)
    candidates = [Candidate(clique=("b",), expected=np.array([0.0, 3.0])) for _ in range(9)]
    chosen = door.select(candidates, epsilon=0.1, bounding=Sample(2), merged=merged)
    apart = door.distances(candidates, scale=3.0, bounding=Sample(2), merged=merged)
    return [measured.values.tolist(), chosen, apart.tolist(), door.grains]


def test_a_stored_answer_is_replayed_for_the_same_merged_codes_and_no_others(
    ledger: Ledger,
) -> None:
    """Column b has no merged code: only what the question says tells the answers apart."""
    run = ledger.begin(RICH, {})

    def opened_door(table: PrivateTable, entropy: Any) -> PrivateDoor:
        return PrivateDoor(table, run=run, bounding=Weights(4), entropy=entropy)

    def refuse(count: int) -> bytes:
        raise AssertionError(f"{count} bytes were drawn on replay")

    with opened(PEOPLE) as table:
        first = ask(opened_door(table, FixedEntropy(1)), ENDS)
        spent = run.state().spent
        same = (Merge(column="a", codes=np.array([0, 1, 0], dtype=np.int8)),)
        assert ask(opened_door(table, refuse), same) == first
        assert run.state().spent == spent
        for other in ((), (merge("a", [0, 1, 1]),), (merge("c", [0, 1, 1, 1]),), MANY):
            with pytest.raises(
                LedgerMismatchError, match="question 0 of run 1 is not the one that it asked before"
            ):
                ask(opened_door(table, refuse), other)
        assert run.state().spent == spent
