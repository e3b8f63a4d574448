"""Views in exact integers: other columns, the same people, and the same bound on each.

What is derived of a person follows from their own rows, so that one person more or less changes
nothing for the others; in a table of people each of them counts once.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.vault.obvious import Obvious, People
from tests.vault.views import (
    EVERY,
    OF_PEOPLE,
    ORDERED,
    UNORDERED,
    VIEWS,
    shown,
    slowly_shown,
    viewed,
)
from tests.vault.worlds import KEY, obvious, opened, person_rows, worlds
from understudy.audit import FixedEntropy
from understudy.budget import Budget, Currency, Norm, Sample, Unit, Weights, mu_upper
from understudy.door import (
    Candidate,
    Derived,
    Distances,
    Measure,
    Merge,
    Query,
    View,
    ViewDoor,
    describe,
    plan,
    viewed_schema,
)
from understudy.engine import DuckDB
from understudy.errors import QuestionError, SchemaError
from understudy.ledger import Ledger
from understudy.schema import Id, Integer, Schema, Timestamp
from understudy.vault import PrivateDoor, PrivateTable, derivation
from understudy.vault.counts import exact
from understudy.vault.sensitivity import charge

# As the slow version has it


@pytest.mark.parametrize("schema", [ORDERED, UNORDERED], ids=["ordered", "unordered"])
@given(people=worlds, view=st.sampled_from(VIEWS))
@tried(12, usual=3)
def test_the_engine_derives_what_the_obvious_version_does(
    people: People, view: View, schema: Schema
) -> None:
    with opened(people, schema) as table:
        assert shown(table, view) == slowly_shown(people, schema, view)


@given(worlds, person_rows, st.sampled_from(VIEWS))
@tried(12, usual=3)
def test_one_person_more_adds_exactly_their_rows(
    people: People, rows: list[tuple[int, ...]], view: View
) -> None:
    """Nobody else's derived value moves; in a table of people, one row comes."""
    with opened(people, ORDERED) as fewer, opened({**people, "new": rows}, ORDERED) as more:
        before, after = shown(fewer, view), shown(more, view)
    assert before <= after
    added = after - before
    assert added == slowly_shown({"new": rows}, ORDERED, view)
    assert added.total() == (1 if view.people else len(rows))


def test_no_number_of_rows_makes_a_class_fail() -> None:
    """A person may have as many rows as an engine counts: all rows without an id, for one."""
    n, widest = 2**40, 3
    largest = {"agreement": (n * (n - 1), 11), "spread": (n * (n - 1) // 2 * widest, 15)}
    with opened({"ann": [(0, 0, 0)]}, ORDERED) as table:
        for kind, (part, code) in largest.items():
            derived = Derived(name="x", kind=kind, column="c")  # type: ignore[arg-type]
            sql = derivation._of_person(derived, 0, table).replace("p.y0", "p.x0")
            held = f"(SELECT CAST({n} AS BIGINT) AS n, n AS z0, CAST({part} AS HUGEINT) AS x0) AS p"
            assert table.engine.fetch(f"SELECT {sql} AS code FROM {held}")["code"].tolist() == [
                code
            ]


def test_rows_that_tie_are_shuffled() -> None:
    """Whatever their time, each of three is first for a third of 3,000 people, within 5 σ."""
    view = View(derived=(Derived(name="first", kind="first", column="a"),), people=True)
    for time in (0, 3):
        people = {f"p{i}": [(a, 0, time) for a in range(3)] for i in range(3000)}
        with opened(people, ORDERED) as table:
            rows = derivation.viewed(table, view)
            found = table.engine.fetch(f"SELECT {rows.code['first']} AS code FROM {rows.rows}")
        counts = np.bincount(found["code"], minlength=3)
        assert counts.sum() == 3000
        assert np.abs(counts - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)


# Questions


def asked(view: View, **more: object) -> Measure:
    names = list(viewed_schema(ORDERED, view).domain)
    cliques = [(names[0],), (names[-1], names[0])] if len(names) > 1 else [(names[0],)]
    given_ = {"bounding": Weights(2), "price": 1e9, **more}
    return Measure(
        queries=tuple(Query(clique=c, scale=1.0 + i) for i, c in enumerate(cliques)),
        view=view,
        **given_,  # type: ignore[arg-type]
    )


@given(
    worlds, st.sampled_from(VIEWS), st.sampled_from([Weights(1), Weights(3), Sample(1), Sample(3)])
)
@tried(12, usual=3)
def test_questions_of_a_view_are_counted_as_the_obvious_version_does(
    people: People, view: View, bounding: Weights | Sample
) -> None:
    question = asked(view, bounding=bounding)
    world = viewed(obvious(people), ORDERED, view)
    expected = np.full(world.size((next(iter(world.domain)),)), 1.5)
    apart = Distances(
        candidates=(Candidate(clique=(next(iter(world.domain)),), expected=expected),),
        scale=1.0,
        bounding=bounding,
        view=view,
    )
    with opened(people, ORDERED) as table:
        if isinstance(bounding, Weights):
            assert exact(question, table).tolist() == world.exact(question).tolist()
            assert exact(apart, table).tolist() == world.exact(apart).tolist()
        else:
            # Which rows are kept goes by the hash of all codes of the view.
            assert (
                exact(question, table).sum()
                == 2 * sum(min(len(rows), bounding.cap) for rows in world.people.values())
                or len(question.queries) == 1
            )


@given(worlds, person_rows, st.sampled_from(VIEWS))
@tried(12, usual=3)
def test_a_person_moves_a_view_by_no_more_than_is_charged(
    people: People, rows: list[tuple[int, ...]], view: View
) -> None:
    people_question = asked(view, bounding=Weights(1))
    cost = charge(people_question, ORDERED, Currency.GDP).grains(Currency.GDP)
    with opened(people, ORDERED) as fewer, opened({**people, "new": rows}, ORDERED) as more:
        apart = exact(people_question, more) - exact(people_question, fewer)
    scales = np.concatenate(
        [
            np.full(Obvious({}, viewed_schema(ORDERED, view).domain, KEY).size(q.clique), q.scale)
            for q in people_question.queries
        ]
    )
    length = float(np.sqrt(((apart / 2**16 / scales) ** 2).sum()))
    assert length <= mu_upper(cost) * (1 + 1e-12)
    if view.people:
        assert length == pytest.approx(np.sqrt(sum(q.scale**-2 for q in people_question.queries)))


def door(folder: Path, people: People, schema: Schema = ORDERED) -> PrivateDoor:
    flat = [(person, *row) for person, own in people.items() for row in own]
    table = {"id": np.array([r[0] for r in flat], dtype=object)}
    for i, name in enumerate(schema.domain, 1):
        table[name] = np.array([r[i] for r in flat], dtype=np.int64)
    engine, budget = DuckDB(), Budget(epsilon=1e6, delta=1e-9)
    private = PrivateTable(engine, table, schema=schema, unit=Unit("id"), key=KEY)
    ledger = Ledger.create(folder / "ledger", budget=budget, key=KEY)
    run = ledger.begin(budget, {})
    return PrivateDoor(
        private, run=run, bounding=Norm(), entropy=FixedEntropy(1), let_go=engine.close
    )


PEOPLE: People = {
    "ann": [(0, 0, 0)] * 5 + [(1, 1, 2)],
    "bob": [(2, 1, 3)],
    "cy": [(i, j, k) for i in range(3) for j in range(2) for k in range(4)],
}


def test_a_door_onto_people_counts_each_of_them_once(tmp_path: Path) -> None:
    with closing(door(tmp_path, PEOPLE)) as base:
        people = ViewDoor(base, View(derived=OF_PEOPLE, people=True))
        assert people.unit.is_row
        assert people.bounding == Weights(1)
        (by_size,) = people.measure([Query(clique=("rows ",), scale=0.05)], price=100.0)
        assert np.rint(by_size.values).tolist() == [1, 0, 2, 0]
        assert people.total(cap=1, scale=0.05) == pytest.approx(3, abs=0.4)
        rows = ViewDoor(base, View(derived=EVERY))
        assert rows.bounding == Norm()
        (before,) = rows.measure([Query(clique=("previous c",), scale=0.05)], price=1000.0)
        # Nobody is clipped at such a price: three first rows, and 28 others.
        assert round(float(before.values[-1])) == 3
        assert round(float(before.values.sum())) == 31


def test_a_view_has_no_views_of_its_own(tmp_path: Path) -> None:
    with closing(door(tmp_path, PEOPLE)) as base:
        people = ViewDoor(base, View(derived=OF_PEOPLE, people=True), reserve=base.grains)
        assert people.grains == 0
        query = Query(clique=("rows ",), scale=1.0)
        with pytest.raises(QuestionError, match="no views of its own"):
            people.measure([query], price=1.0, view=View())


def test_a_run_without_views_is_asked_as_it_was_before_there_were_any() -> None:
    without = Measure(queries=(Query(clique=("a",), scale=1.0),), bounding=Weights(1), price=1.0)
    told = describe(without)
    assert not {"view", "merged"} & set(told)
    assert plan(without) != plan(asked(View(people=True)))


def test_views_do_not_share_what_is_kept_of_their_rows() -> None:
    """Two views that are asked in turn, and the table between them, each count their own rows."""
    own = Measure(queries=(Query(clique=("a",), scale=1.0),), bounding=Weights(2), price=1e9)
    questions = [asked(VIEWS[0]), own, asked(VIEWS[4]), asked(VIEWS[0]), own]
    with opened(PEOPLE, ORDERED) as table:
        for question in questions:
            world = obvious(PEOPLE)
            if question.view is not None:
                world = viewed(world, ORDERED, question.view)
            assert exact(question, table).tolist() == world.exact(question).tolist()


# What is refused


def test_a_row_that_is_a_person_has_no_view(tmp_path: Path) -> None:
    table = {name: np.zeros(2, dtype=np.int64) for name in "abc"}
    with closing(DuckDB()) as engine:
        private = PrivateTable(engine, table, schema=ORDERED, unit=Unit.each_row(), key=KEY)
        with pytest.raises(QuestionError, match="people with rows of their own"):
            exact(asked(View(people=True)), private)
        budget = Budget(epsilon=1.0, delta=1e-9)
        run = Ledger.create(tmp_path / "ledger", budget=budget, key=KEY).begin(budget, {})
        base = PrivateDoor(private, run=run, bounding=Weights(1))
        with pytest.raises(QuestionError, match="people with rows of their own"):
            ViewDoor(base, View(people=True))


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "median", "column": "a"},
        {"kind": "rows", "column": "a", "starts": (1,)},
        {"kind": "rows"},
        {"kind": "rows", "starts": (2, 3)},
        {"kind": "nth", "starts": (1, 1)},
        {"kind": "mode"},
        {"kind": "mode", "column": "a", "starts": (1,)},
    ],
)
def test_derived_columns_that_make_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(QuestionError):
        Derived(name="x", **wrong)  # type: ignore[arg-type]


def test_views_that_make_no_sense() -> None:
    of_rows = Derived(name="x", kind="previous", column="a")
    with pytest.raises(QuestionError, match="no columns of rows"):
        View(derived=(of_rows,), people=True)
    with pytest.raises(QuestionError, match="the door's own"):
        View(derived=("x",))  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="no modelled column"):
        viewed_schema(ORDERED, View(derived=(Derived(name="x", kind="mode", column="z"),)))
    with pytest.raises(SchemaError, match="declared twice"):
        viewed_schema(ORDERED, View(derived=(Derived(name="a", kind="mode", column="a"),)))


def test_merged_codes_of_a_view_are_those_of_its_columns() -> None:
    view = View(derived=OF_PEOPLE, people=True)
    fine = Merge(column="mode c", codes=np.array([0, 0, 1, 1]))
    with opened(PEOPLE, ORDERED) as table:
        question = Measure(
            queries=(Query(clique=("mode c",), scale=1.0),),
            bounding=Weights(1),
            price=1e9,
            merged=(fine,),
            view=view,
        )
        assert (exact(question, table) // 2**16).sum() == len(PEOPLE)


# Dates


def test_rows_are_in_the_order_of_their_dates() -> None:
    """Monday the 29th comes after Wednesday the 3rd, and gaps are days, from month to month."""
    columns = (
        Id(name="id"),
        Timestamp(name="when", min="2024-01-01", max="2024-03-31", resolution="day"),
        Integer(name="a", min=0, max=2, missing=False),
    )
    schema = Schema("world", columns, order_by=("when",))
    rows = [
        ("ann", "2024-01-29", 2),
        ("ann", "2024-02-28", 1),
        ("ann", "2024-01-03", 0),
        ("bob", "2024-03-31", 1),
        ("bob", None, 2),
        ("bob", "2024-02-29", 0),
    ]
    held = {
        column.name: np.array(values, dtype=object)
        for column, values in zip(columns, zip(*rows, strict=True), strict=True)
    }
    derived = (
        Derived(name="before", kind="previous", column="a"),
        Derived(name="gap", kind="gap", column="(when: date)"),
        Derived(name="begun", kind="first", column="(when: date)"),
    )
    with closing(DuckDB()) as engine:
        table = PrivateTable(engine, held, schema=schema, unit=Unit("id"), key=KEY)
        shown_ = derivation.viewed(table, View(derived=derived))
        assert list(shown_.code) == ["when_month", "when_weekday", "a", "before", "gap", "begun"]
        names = [shown_.code[name] for name in ("a", "before", "gap", "begun")]
        found = engine.fetch(f"SELECT {', '.join(names)} FROM {shown_.rows}")
        spread = View(
            derived=(Derived(name="s", kind="spread", column="(when: date)"),), people=True
        )
        of = derivation.viewed(table, spread)
        apart = engine.fetch(f"SELECT {of.code['s']} AS s FROM {of.rows}")["s"]
    # Two rows of ann's are 37 of 91 days apart, and the two of bob's that have a date 31.
    assert sorted(apart.tolist()) == [12, 13]
    # Nothing comes before a first row, and a row without a date comes last, no days after another.
    ann = [(0, 3, 92, 2), (2, 0, 26, 2), (1, 2, 30, 2)]
    bob = [(0, 3, 92, 59), (1, 0, 31, 59), (2, 1, 92, 59)]
    assert sorted(zip(*(found[n].tolist() for n in names), strict=True)) == sorted(ann + bob)
