"""Every row a person, on both engines: all questions answered as the obvious versions do.

Such a person has no name, so nothing may be put together by one.  Spark works rows out again, in
whatever order they then come; no answer may follow from their order.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tests.audit.effort import THOROUGH, effort, few
from tests.engine.by_place import after_weighing, counted_by_place, unstable, weigh_by_place
from tests.vault.normed import ASKED, EXTREME, OVERLAPPING, normed, sets, slowly
from tests.vault.worlds import DOMAIN, KEY, SCHEMA, domain, merge, obvious
from understudy.budget import Norm, Sample, Unit, Weights
from understudy.door import (
    Candidate,
    Distances,
    Measure,
    Merge,
    Query,
    Question,
    Select,
    Total,
    UnitCounts,
    UnitMode,
    Units,
)
from understudy.engine import engine_for
from understudy.vault import PrivateTable
from understudy.vault.counts import exact

if TYPE_CHECKING:
    from tests.vault.obvious import People, Row
    from understudy.budget import Capped

ROWS: list[Row] = [row for own in EXTREME.values() for row in list(own)[:90]]
PEOPLE: People = {f"row {i}": [row] for i, row in enumerate(ROWS)}
MERGED = (merge("a", [0, 1, 0]), merge("c", [1, 0, 0, 1]))
CAPPED: tuple[Capped, ...] = (Weights(1), Weights(7), Sample(1), Sample(7))
BOTH = ("a", "b")


def measures(merged: tuple[Merge, ...]) -> list[Measure]:
    """Ask under every bounding, about cells of the codes as they are seen."""
    wide = domain(merged)["a"] * 2
    queries = (
        Query(clique=("c", "a"), scale=2.0),
        Query(clique=BOTH, scale=3.0, rows=sets([0, wide - 1], [1], list(range(wide)))),
        Query(clique=(), scale=5.0),
    )
    asked = [Measure(queries=queries, bounding=b, price=1e9, merged=merged) for b in CAPPED]
    return [*asked, *(replace(asked[0], bounding=Norm(), price=p) for p in (0.3, 1e4))]


def of_distances(merged: tuple[Merge, ...]) -> list[Select | Distances]:
    wide = domain(merged)["a"] * 2
    expected = np.linspace(-3.0, 120.0, wide)
    candidates = (
        Candidate(clique=BOTH, expected=expected, penalty=0.5),
        Candidate(clique=BOTH, expected=expected[::-1], weight=2.5),
    )
    return [
        question
        for bounding in (Weights(2), Sample(3))
        for question in (
            Select(candidates=candidates, epsilon=1.0, bounding=bounding, merged=merged),
            Distances(candidates=candidates, scale=2.0, bounding=bounding, merged=merged),
        )
    ]


QUESTIONS: list[Question] = [
    *(question for merged in ((), MERGED) for question in measures(merged)),
    *(question for merged in ((), MERGED) for question in of_distances(merged)),
    *(normed(asked, 0.3) for asked in ASKED.values()),
    UnitMode(clique=BOTH, scale=1.0),
    UnitMode(clique=("c",), scale=1.0, labels=np.array([1, -1, 1, 0])),
    *(
        UnitCounts(clique=c, cells=cells, times=times, most=most, scale=1.0, upwards=upwards)
        for c, cells in ((BOTH, np.array([4, 0, 1])), (("c",), np.arange(4)))
        for times, most, upwards in (((1,), 1, False), ((2, 1), 3, True), ((2,), 1, False))
    ),
    Total(cap=1, scale=1.0),
    Total(cap=9, scale=1.0),
    Units(scale=1.0),
]


def table(rows: list[Row]) -> Any:
    columns = zip(DOMAIN, zip(*rows, strict=True), strict=True)
    return pa.table({name: pa.array(column) for name, column in columns})


def asked_of(data: Any, questions: list[Question]) -> list[list[int]]:
    with closing(engine_for(data)) as engine:
        read = PrivateTable(engine, data, schema=SCHEMA, unit=Unit.each_row(), key=KEY)
        return [exact(question, read).tolist() for question in questions]


def test_all_questions_of_rows_that_are_people_are_answered_as_the_obvious_version_does(
    spark: Any,
) -> None:
    world = obvious(PEOPLE)
    expected = [
        slowly(PEOPLE, question)
        if isinstance(question, Measure) and isinstance(question.bounding, Norm)
        else world.exact(question).tolist()
        for question in QUESTIONS
    ]
    assert asked_of(table(ROWS), QUESTIONS) == expected
    some = effort(5, 1)
    assert asked_of(table(ROWS[::-1]), QUESTIONS[::some]) == expected[::some]
    # In several parts, and so in an order of Spark's own.
    parts = spark.createDataFrame(table(ROWS)).repartition(3)
    asked = range(len(QUESTIONS)) if THOROUGH else (10, 15, 27, 31)
    kinds = {type(QUESTIONS[i]) for i in asked}
    assert kinds >= {Measure, Distances, UnitMode, UnitCounts}
    assert asked_of(parts, [QUESTIONS[i] for i in asked]) == [expected[i] for i in asked]


def test_rows_of_different_weights_are_among_them() -> None:
    """Where all rows weighed the same, one that had another's weight would not be seen."""
    question = normed((Query(clique=BOTH, scale=5.0, rows=OVERLAPPING),), 0.1)
    single = [slowly({"": [row]}, question) for row in sorted(set(ROWS))]
    assert len({max(answer) for answer in single}) > 2


def test_rows_that_are_worked_out_again_in_another_order_keep_their_own_weights(spark: Any) -> None:
    """As where a worker is lost with rows that it kept; a join by place then goes wrong."""
    question = normed((Query(clique=BOTH, scale=5.0, rows=OVERLAPPING),), 0.1)
    expected = slowly(PEOPLE, question)
    context = spark.sparkContext._jsc
    data = unstable(spark.createDataFrame(table(ROWS)).repartition(2))
    safe: set[int] = set()

    def lost() -> None:
        kept = dict(context.getPersistentRDDs())
        gone = [rdd.unpersist(True) for number, rdd in kept.items() if number not in safe]
        assert len(gone) >= len(("rows", "weights"))

    with closing(engine_for(data)) as engine:
        read = PrivateTable(engine, data, schema=SCHEMA, unit=Unit.each_row(), key=KEY)
        known = set(context.getPersistentRDDs())
        weigh_by_place(question, read)
        safe |= set(context.getPersistentRDDs()) - known
        if THOROUGH:
            calm = replace(question, price=0.2)
            assert exact(calm, read).tolist() == slowly(PEOPLE, calm)
            assert counted_by_place(question, read) == expected
        after_weighing(lost)
        assert exact(question, read).tolist() == expected
        assert counted_by_place(question, read) != expected


def test_no_name_of_a_person_is_kept_where_each_row_is_one(spark: Any) -> None:
    for data in (table(ROWS[:20]), spark.createDataFrame(table(ROWS[:20]))):
        with closing(engine_for(data)) as engine:
            read = PrivateTable(engine, data, schema=SCHEMA, unit=Unit.each_row(), key=KEY)
            exact(normed(ASKED["one marginal"], 0.3), read)
            assert set(engine.fetch("SELECT * FROM rows")) == set(read.code.values())
            assert set(engine.fetch("SELECT * FROM weights")) == {*read.code.values(), "w"}


@pytest.mark.parametrize("kept", few((0, 1), usual=1))
def test_few_rows_or_none(spark: Any, kept: int) -> None:
    """A part without rows, and a question to which no row adds anything, are nothing special."""
    rows, last = ROWS[:kept], sets([23])
    empty = table(ROWS[:1]).slice(0, kept)
    questions: list[Question] = [
        *measures(())[:: effort(4, 1)],
        normed((Query(clique=("a", "b", "c"), scale=1.0, rows=last),), 0.3),
        UnitMode(clique=BOTH, scale=1.0),
        Total(cap=2, scale=1.0),
    ]
    people = {str(i): [row] for i, row in enumerate(rows)}
    expected = [
        slowly(people, question)
        if isinstance(question, Measure) and isinstance(question.bounding, Norm)
        else obvious(people).exact(question).tolist()
        for question in questions
    ]
    for data in (empty, spark.createDataFrame(empty)):
        with closing(engine_for(data)) as engine:
            read = PrivateTable(engine, data, schema=SCHEMA, unit=Unit.each_row(), key=KEY)
            assert [exact(question, read).tolist() for question in questions] == expected
