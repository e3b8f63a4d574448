"""One suite over both engines: the same codes, and the same whole numbers, to the last one."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.tables import arrow, counted, rows, schema
from tests.schema.encoders import (
    FLOATS,
    FORMATS,
    KEEPING,
    SOURCE,
    TEXTS,
    UNITS,
    by_numpy,
    by_sql,
    marks,
    of_every_kind,
)
from tests.vault.normed import questions as normed_questions
from tests.vault.normed import slowly
from tests.vault.obvious import People
from tests.vault.views import ORDERED, VIEWS, shown, slowly_shown
from tests.vault.worlds import KEY, SCHEMA, merged_questions, obvious, questions, worlds
from understudy.budget import Unit
from understudy.engine import engine_for
from understudy.evaluate import read_private
from understudy.public import PublicTable
from understudy.schema import Schema
from understudy.vault import PrivateTable
from understudy.vault.counts import exact

if TYPE_CHECKING:
    from collections.abc import Callable

    from understudy.door import Measure, Question

    Placed = Callable[[Any], Any]
    """Puts an Arrow table where an engine is to read it from."""

ENGINES = ("duckdb", "spark")
FEW = settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
"""A table in Spark takes seconds, however small it is."""


@pytest.fixture(params=ENGINES)
def placed(request: pytest.FixtureRequest) -> Placed:
    if request.param == "duckdb":
        return lambda table: table
    placed: Placed = request.getfixturevalue("spark").createDataFrame
    return placed


def as_arrow(people: People) -> Any:
    flat = [(person, *row) for person, own in people.items() for row in own]
    made = zip(("id", *SCHEMA.domain), zip(*flat, strict=True), strict=True)
    return pa.table({name: pa.array(column) for name, column in made})


@pytest.mark.parametrize(
    "unit", [Unit("id"), Unit.each_row(), Unit("id", "when:week"), Unit("id", nulls="one")], ids=str
)
def test_a_table_is_counted_alike(spark: Any, unit: Unit) -> None:
    table = arrow(rows())
    assert counted(spark.createDataFrame(table), schema(), unit) == counted(table, schema(), unit)


@FEW
@given(worlds, st.lists(questions() | merged_questions(), min_size=8, max_size=8))
def test_questions_are_counted_as_the_obvious_version_does(
    placed: Placed, people: People, asked: list[Question]
) -> None:
    data = placed(as_arrow(people))
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=SCHEMA, unit=Unit("id"), key=KEY)
        for question in asked:
            assert exact(question, table).tolist() == obvious(people).exact(question).tolist()


@FEW
@given(worlds, st.lists(normed_questions(), min_size=4, max_size=4))
def test_people_are_weighed_as_the_slow_version_does(
    placed: Placed, people: People, asked: list[Measure]
) -> None:
    data = placed(as_arrow(people))
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=SCHEMA, unit=Unit("id"), key=KEY)
        for question in asked:
            assert exact(question, table).tolist() == slowly(people, question)


@FEW
@given(worlds)
def test_views_are_derived_as_the_obvious_version_does(placed: Placed, people: People) -> None:
    data = placed(as_arrow(people))
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=ORDERED, unit=Unit("id"), key=KEY)
        for view in VIEWS[:2]:
            assert shown(table, view) == slowly_shown(people, ORDERED, view)


@pytest.mark.parametrize("rules", KEEPING, ids=str)
def test_every_text_is_encoded_alike(placed: Placed, rules: dict[str, Any]) -> None:
    # In two parts: a query of so many columns takes Spark long to plan.
    columns = of_every_kind(rules, FORMATS)
    for part in (columns[:20], columns[20:]):
        agree(placed, Schema("t", tuple(part)), TEXTS, pa.array(TEXTS.tolist(), pa.string()))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool"])
def test_every_number_is_encoded_alike(placed: Placed, dtype: str) -> None:
    numbers = np.array(FLOATS) if dtype.startswith("float") else np.array([0, 1, 3, 100])
    with np.errstate(over="ignore"):
        values = numbers.astype(dtype)
    for rules in KEEPING:
        columns = tuple(of_every_kind(rules, FORMATS[:1]))
        agree(placed, Schema("t", columns), values, pa.array(values))


def test_every_stamp_is_encoded_alike(placed: Placed) -> None:
    values = np.array(marks(UNITS["us"])).astype("datetime64[us]")
    for rules in KEEPING:
        columns = tuple(of_every_kind(rules, FORMATS[:1]))
        agree(placed, Schema("t", columns), values, pa.array(values))


def agree(placed: Placed, declared: Schema, values: Any, column: Any) -> None:
    """Hold an engine's codes against NumPy's."""
    table = placed(pa.table({SOURCE: column, "row": np.arange(len(values))}))
    with closing(engine_for(table)) as engine:
        assert by_sql(engine, declared, table) == by_numpy(declared, values)


def test_a_public_table_is_read_alike(spark: Any) -> None:
    table = arrow(rows())
    for unit in (Unit("id"), Unit.each_row()):
        here, there = (
            PublicTable.read(data, schema=schema(), unit=unit)
            for data in (table, spark.createDataFrame(table))
        )
        assert {n: c.tolist() for n, c in here.codes.items()} == {
            n: c.tolist() for n, c in there.codes.items()
        }
        assert {n: str(v.tolist()) for n, v in here.numbers.items()} == {
            n: str(v.tolist()) for n, v in there.numbers.items()
        }
        assert str(here.people) == str(there.people)


def test_a_table_is_evaluated_alike(spark: Any) -> None:
    table = arrow(rows())
    for unit in (Unit("id"), Unit.each_row()):
        here, there = (
            read_private(data, schema=schema(), unit=unit)
            for data in (table, spark.createDataFrame(table))
        )
        assert {n: c.tolist() for n, c in here.codes.items()} == {
            n: c.tolist() for n, c in there.codes.items()
        }
        assert str(here.people) == str(there.people)
