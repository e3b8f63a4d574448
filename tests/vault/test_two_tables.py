"""Two tables in exact integers: people with and without rows, and the same bound on each."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.vault.obvious import Row
from tests.vault.two_tables import (
    EVERYONE,
    OF_TWO,
    World,
    joined,
    opened,
    own_of,
    slowly_shown,
    somebody,
    tables,
    worlds,
)
from tests.vault.views import ORDERED, UNORDERED, shown
from tests.vault.worlds import KEY, questions
from tests.vault.worlds import opened as opened_flat
from understudy.audit import FixedEntropy
from understudy.audit.distance import check_distance
from understudy.budget import Budget, Norm, Unit, Weights
from understudy.door import (
    Derived,
    Measure,
    Query,
    Question,
    View,
    ViewDoor,
    describe,
    plan,
    viewed_schema,
)
from understudy.engine import CodedTable, DuckDB
from understudy.errors import MissingColumnError, QuestionError, SchemaError, UsageError
from understudy.ledger import Ledger
from understudy.schema import Integer, Schema
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault.counts import exact

SOME: World = {
    "ann": ([1, 1, 0], [(0, 0), (1, 2)]),
    "bob": ([0], []),
    "cy": ([1], [(2, 3)] * 7),
    "dee": ([0, 1], [(0, 1)]),
    "eve": ([], [(1, 1)] * 3),
}


def rows_of(table: PrivateTable) -> Counter[Row]:
    found = table.engine.fetch(f"SELECT {', '.join(table.code.values())} FROM rows")
    codes = np.stack([found[c] for c in table.code.values()], axis=1)
    return Counter(map(tuple, codes.tolist()))


@pytest.mark.parametrize("schema", [ORDERED, UNORDERED], ids=["ordered", "unordered"])
@given(world=worlds, view=st.sampled_from(OF_TWO))
@tried(12, usual=3)
def test_the_engine_joins_and_derives_what_the_obvious_version_does(
    world: World, view: View, schema: Schema
) -> None:
    with opened(world, schema) as table:
        assert table.two_tables
        assert rows_of(table) == Counter(r for rows in joined(world).people.values() for r in rows)
        assert shown(table, view) == slowly_shown(world, schema, view)


@given(worlds, somebody, st.sampled_from(OF_TWO))
@tried(20, usual=3)
def test_one_person_more_adds_exactly_their_line_and_their_rows(
    world: World, new: Any, view: View
) -> None:
    """Nobody else's codes move; who is in no table of people adds nothing."""
    with opened(world) as fewer, opened({**world, "new": new}) as more:
        before, after = rows_of(fewer), rows_of(more)
        assert before <= after
        assert (after - before).total() == (len(new[1]) if new[0] else 0)
        for each in {view, EVERYONE}:
            before, after = shown(fewer, each), shown(more, each)
            assert before <= after
            assert after - before == slowly_shown({"new": new}, ORDERED, each)
            known = bool(new[0]) and (each.everyone or bool(new[1]))
            assert (after - before).total() == known * (1 if each.people else len(new[1]))


@given(worlds, somebody, questions())
@tried(25, usual=3)
def test_a_person_moves_an_answer_by_no_more_than_is_charged(
    world: World, new: Any, question: Question
) -> None:
    with opened(world) as fewer, opened({**world, "new": new}) as more:
        apart = exact(question, more) - exact(question, fewer)
        check_distance(question, apart, ORDERED)
        everyone = asked(EVERYONE)
        apart = exact(everyone, more) - exact(everyone, fewer)
        check_distance(everyone, apart, ORDERED)
        assert np.abs(apart).sum() == (2**16 * len(everyone.queries) if new[0] else 0)


def asked(view: View) -> Measure:
    names = list(viewed_schema(ORDERED, view).domain)
    cliques = [("b",), ("rows ", "b"), (names[-1], "first c"), ()]
    return Measure(
        queries=tuple(Query(clique=c, scale=1.0 + i) for i, c in enumerate(cliques)),
        bounding=Weights(1),
        price=1e9,
        view=view,
    )


@given(worlds, questions())
@tried(25, usual=3)
def test_questions_are_answered_as_of_one_table_with_all_columns(
    world: World, question: Question
) -> None:
    flat = {who: rows for who, rows in joined(world).people.items() if rows}
    if not flat:
        return
    with opened(world) as two, opened_flat(flat, ORDERED) as one:
        assert exact(question, two).tolist() == exact(question, one).tolist()


def test_people_who_have_no_rows_are_people_and_rows_of_nobody_are_dropped() -> None:
    assert set(own_of(SOME)) == {"ann", "bob", "cy", "dee"}
    view = View(
        derived=(Derived(name="n", kind="rows", starts=(0, 1, 2)),), people=True, everyone=True
    )
    with opened(SOME) as table:
        by_size = Measure(
            queries=(Query(clique=("n",), scale=1.0),), bounding=Weights(1), price=1e9, view=view
        )
        assert (exact(by_size, table) // 2**16).tolist() == [1, 1, 2]


def test_ids_of_two_types_are_compared_as_texts() -> None:
    world: World = {"1": ([1], [(0, 0)]), "2": ([0], [(1, 1)]), "007": ([1], [(2, 2)])}
    with closing(DuckDB()) as engine:
        table = PrivateTable(
            engine, tables(world, ids=int), schema=ORDERED, unit=Unit("id"), key=KEY
        )
        # 007 as a number is 7, and no row's text is that.
        assert rows_of(table).total() == 2


@pytest.mark.parametrize(("nulls", "people"), [("drop", 1), ("one", 2)])
def test_null_ids_of_both_tables_follow_the_units_rule(nulls: Any, people: int) -> None:
    data = {
        "people": {"id": ["ann", None, ""], "b": [1, 1, 1]},
        "rows": {"id": ["ann", "NA", None], "a": [0, 1, 2], "c": [0, 1, 2]},
    }
    with closing(DuckDB()) as engine:
        table = PrivateTable(engine, data, schema=ORDERED, unit=Unit("id", nulls=nulls), key=KEY)
        assert shown(table, View(people=True, everyone=True)).total() == people
        assert rows_of(table).total() == (1 if nulls == "drop" else 3)


def test_a_line_that_the_schema_drops_is_nobody() -> None:
    strict = ORDERED.with_columns(
        Integer(name="b", min=0, max=1, missing=False, outside="drop", of="person")
    )
    data = {
        "people": {"id": ["ann", "ann", "bob"], "b": [1, 9, 9]},
        "rows": {"id": ["ann", "bob"], "a": [0, 1], "c": [0, 1]},
    }
    with closing(DuckDB()) as engine:
        table = PrivateTable(engine, data, schema=strict, unit=Unit("id"), key=KEY)
        assert shown(table, View(people=True, everyone=True)) == {(1,): 1}
        assert rows_of(table) == {(0, 1, 0): 1}


# The door


def test_a_door_onto_everyone_counts_people_without_rows(tmp_path: Path) -> None:
    engine, budget = DuckDB(), Budget(epsilon=1e6, delta=1e-9)
    private = PrivateTable(engine, tables(SOME), schema=ORDERED, unit=Unit("id"), key=KEY)
    run = Ledger.create(tmp_path / "ledger", budget=budget, key=KEY).begin(budget, {})
    with closing(
        PrivateDoor(private, run=run, bounding=Norm(), entropy=FixedEntropy(1), let_go=engine.close)
    ) as base:
        assert base.two_tables
        everyone, some = ViewDoor(base, EVERYONE), ViewDoor(base, replace(EVERYONE, everyone=False))
        assert everyone.two_tables
        assert base.units(scale=0.05) == pytest.approx(3, abs=0.4)
        assert some.total(cap=1, scale=0.05) == pytest.approx(3, abs=0.4)
        left = base.grains
        assert everyone.total(cap=1, scale=0.05) == pytest.approx(4, abs=0.4)
        first = left - base.grains
        base.units(scale=0.05)
        assert left - base.grains - first == first


def test_a_view_of_people_with_rows_is_asked_as_before_there_were_others() -> None:
    without = asked(replace(EVERYONE, everyone=False))
    assert "everyone" not in describe(without)["view"]
    assert plan(without) != plan(asked(EVERYONE))


# What is refused


@pytest.mark.parametrize("lost", ["id", "b"])
def test_a_table_of_people_that_lacks_a_column(lost: str) -> None:
    data = tables(SOME)
    # It does not help that the table of rows has such a column.
    data["rows"]["b"] = data["rows"]["a"]
    del data["people"][lost]
    with closing(DuckDB()) as engine:
        with pytest.raises(MissingColumnError, match="table of people lacks") as caught:
            CodedTable(engine, data, schema=ORDERED, unit=Unit("id"), rows=False)
        assert caught.value.got == f"no '{lost}'"
        assert 'of = "person"' in str(caught.value)


@pytest.mark.parametrize("lost", ["id", "a"])
def test_a_table_of_rows_that_lacks_a_column(lost: str) -> None:
    data = tables(SOME)
    del data["rows"][lost]
    with closing(DuckDB()) as engine:
        with pytest.raises(MissingColumnError, match="table of rows lacks") as caught:
            CodedTable(engine, data, schema=ORDERED, unit=Unit("id"), rows=False)
        assert caught.value.got == f"no '{lost}'"


@pytest.mark.parametrize("of", ["row", "person"])
def test_a_schema_that_does_not_say_whose_columns_are(of: Any) -> None:
    columns = tuple(replace(c, of=of) for c in ORDERED.released_columns)
    refused = pytest.raises(SchemaError, match="columns of people, and columns of rows")
    with closing(DuckDB()) as engine, refused:
        CodedTable(engine, tables(SOME), schema=Schema("world", columns), unit=Unit("id"))


@pytest.mark.parametrize("unit", [Unit.each_row(), Unit("b"), Unit("id:week")], ids=str)
def test_a_unit_that_has_no_id(unit: Unit) -> None:
    refused = pytest.raises(UsageError, match="joined on the ids of people")
    with closing(DuckDB()) as engine, refused:
        CodedTable(engine, tables(SOME), schema=ORDERED, unit=unit)


def test_views_of_everyone_that_make_no_sense() -> None:
    with pytest.raises(QuestionError, match="in no table of rows"):
        View(everyone=True)
    with pytest.raises(QuestionError, match="classes from 1"):
        Derived(name="x", kind="nth", starts=(0, 1))
