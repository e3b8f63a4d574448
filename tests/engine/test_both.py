"""One suite over both engines: the same codes, and the same whole numbers, to the last one."""

from __future__ import annotations

import datetime as dt
import json
import math
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import THOROUGH, effort, few
from tests.engine.spark_tables import codes
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
from tests.vault.normed import ASKED, EVERY_CELL, EXTREME, OVERLAPPING, normed, slowly
from tests.vault.normed import questions as normed_questions
from tests.vault.obvious import People
from tests.vault.texts import SCHEMA as TEXTS_SCHEMA
from tests.vault.texts import People as TextPeople
from tests.vault.texts import columns as text_columns
from tests.vault.texts import slowly as slowly_weighed
from tests.vault.texts import weighed
from tests.vault.two_tables import EVERYONE, OF_TWO, World, tables
from tests.vault.two_tables import slowly_shown as slowly_shown_of_two
from tests.vault.two_tables import worlds as two_worlds
from tests.vault.views import EVERY, ORDERED, VIEWS, shown, slowly_shown
from tests.vault.worlds import KEY, SCHEMA, merge, merged_questions, obvious, questions, worlds
from understudy.budget import Sample, Unit, Weights
from understudy.door import (
    Candidate,
    Derived,
    Discover,
    Distances,
    Kinds,
    Measure,
    Query,
    Search,
    Select,
    Spread,
    Total,
    UnitCounts,
    UnitMode,
    Units,
    View,
)
from understudy.engine import engine_for
from understudy.engine.spark.workers import MOST_SUMMED
from understudy.evaluate import read_private
from understudy.noise import SYSTEM
from understudy.public import PublicTable
from understudy.schema import Id, Integer, Schema, Timestamp
from understudy.vault import PrivateTable, derivation
from understudy.vault.counts import exact
from understudy.vault.discovery import present, told

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from understudy.door import Question

    Placed = Callable[[Any], Any]
    """Puts an Arrow table where an engine is to read it from."""

ENGINES = ("duckdb", "spark")
FEW = settings(
    max_examples=8,
    phases=(Phase.explicit, Phase.generate) if THOROUGH else (Phase.explicit,),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
"""A table in Spark takes seconds, however small it is: one of everything, and more in an audit."""
PEOPLE: People = {
    "1": EXTREME["one row"],
    "é": [(2, 1, 3)] * 90,
    "a b": EVERY_CELL,
    "007": EXTREME["spread"],
    "ann": EXTREME["random"][:60],
}
OF_BOTH = np.linspace(-3.0, 50.0, 6)
QUESTIONS: list[Question] = [
    Measure(
        queries=(
            Query(clique=("c", "a"), scale=2.0),
            Query(clique=("a", "b"), scale=3.0, rows=OVERLAPPING),
            Query(clique=(), scale=9.0),
        ),
        bounding=Weights(7),
        price=1e9,
    ),
    Measure(
        queries=(Query(clique=("a", "b", "c"), scale=2.0),),
        bounding=Sample(3),
        price=1e9,
        merged=(merge("c", [1, 0, 0, 1]), merge("a", [0, 1, 0])),
    ),
    UnitMode(clique=("c",), scale=1.0, labels=np.array([1, -1, 1, 0])),
    UnitCounts(
        clique=("a", "b"), cells=np.array([0, 1, 4]), times=(3, 1), most=2, scale=1.0, upwards=True
    ),
    Distances(
        candidates=(Candidate(clique=("a", "b"), expected=OF_BOTH, weight=2.5),),
        scale=1.0,
        bounding=Sample(2),
    ),
    Select(
        candidates=(Candidate(clique=("a", "b"), expected=OF_BOTH[:4], penalty=0.5),),
        epsilon=1.0,
        bounding=Weights(5),
        merged=(merge("a", [0, 1, 0]),),
    ),
    Total(cap=5, scale=1.0),
    Units(scale=1.0),
]
TWO: World = {
    "1": ([1], []),
    "é": ([0, 1, 1], [(2, 3), (0, 0), (2, 3), (1, 2), (0, 3), (0, 0)]),
    "a b": ([], [(1, 1), (2, 2)]),
    "007": ([0], [(0, 1)]),
    "ann": ([1, 0], [(1, 2), (1, 0), (2, 2)]),
}
"""One without rows, one who is not in the table of people, and some with several lines there."""


def brief(placed: Placed) -> bool:
    """Say whether a long road is left to audits, as on Spark; every run goes it on DuckDB."""
    return not THOROUGH and not isinstance(placed(pa.table({"a": [1]})), pa.Table)


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


WHO = (Unit("id", "when:week"), Unit.each_row(), Unit("id"), Unit("id", nulls="one"))


@pytest.mark.parametrize("unit", few(WHO, usual=1), ids=str)
def test_a_table_is_counted_alike(spark: Any, unit: Unit) -> None:
    table, seen = arrow(rows()), counted if THOROUGH else codes
    assert seen(spark.createDataFrame(table), schema(), unit) == seen(table, schema(), unit)


@FEW
@given(worlds, st.lists(questions() | merged_questions(), min_size=8, max_size=8))
@example(PEOPLE, QUESTIONS)
def test_questions_are_counted_as_the_obvious_version_does(
    placed: Placed, people: People, asked: list[Question]
) -> None:
    data = placed(as_arrow(people))
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=SCHEMA, unit=Unit("id"), key=KEY)
        # Pairs of neighbours are asked the first on Spark, and the sixth is as the fifth.
        for question in [*asked[1:5], *asked[6:]] if brief(placed) else asked:
            assert exact(question, table).tolist() == obvious(people).exact(question).tolist()


CELLS = ((("a", 3), ("b", 2)), (), (("b", 2), ("c", 1_000_003)))
WEIGHED = {"a": [0, 2, 2, 1, 0], "b": [1, 1, 1, 0, 1], "c": [7, 7, 7, 1_000_002, 0]}
SUMMED = {(0, 1): 7, (0, 5): 30, (0, 2): 3, (1, 0): 40, (2, 1_000_010): 35, (2, 1_000_002): 3}
SUMMED[2, 1_000_003] = 2


def test_weights_are_summed_by_cell_however_many_cells_there_are(placed: Placed) -> None:
    assert math.prod(size for _, size in CELLS[2]) > MOST_SUMMED
    table = placed(pa.table(WEIGHED | {"w": [5, 10, 20, 3, 2]}))
    with closing(engine_for(table)) as engine:
        engine.attach(table, name="held", delimiter=",", quote_mark='"')
        found = engine.tally(CELLS, rows="held")
    cells = zip(found["which"].tolist(), found["cell"].tolist(), strict=True)
    assert dict(zip(cells, found["n"].tolist(), strict=True)) == SUMMED


@FEW
@given(worlds, st.lists(normed_questions(), min_size=4, max_size=4))
@example(PEOPLE, [normed(ASKED[name], 0.3) for name in ("overlapping rows", "scales far apart")])
def test_people_are_weighed_as_the_slow_version_does(
    placed: Placed, people: People, asked: list[Measure]
) -> None:
    data = placed(as_arrow(people))
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=SCHEMA, unit=Unit("id"), key=KEY)
        for question in asked:
            assert exact(question, table).tolist() == slowly(people, question)


HALF = tuple({each.kind: each for each in EVERY[::-1]}.values())
"""A derived column of every kind, of a column by which rows are not ordered."""


@FEW
@given(worlds)
@example(PEOPLE)
def test_views_are_derived_as_the_obvious_version_does(placed: Placed, people: People) -> None:
    data = placed(as_arrow(people))
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=ORDERED, unit=Unit("id"), key=KEY)
        for view in [View(derived=HALF)] if brief(placed) else VIEWS[: effort(1, 2)]:
            assert shown(table, view) == slowly_shown(people, ORDERED, view)


@pytest.mark.parametrize("unit", few((Unit("id"), Unit.each_row()), usual=1), ids=str)
def test_values_are_weighed_and_told_alike(placed: Placed, unit: Unit) -> None:
    """A hash and a weight for each value leave the engine, and the values that are told."""
    odd = ("it's", '"x"', "<b>&amp;", "日本", "a\\n", "a\tb", "a\u202eb", " 1.0 ", "NA", "x" * 201)
    people: TextPeople = {
        f"p{i}": [(text, "é") for text in (*odd[: i % 11], f"own {i}", "common", "1")]
        for i in range(40)
    }
    made = {n: pa.array(c.tolist(), pa.string()) for n, c in text_columns(people).items()}
    data, search = placed(pa.table(made)), Search(column="code", most=6, scale=0.01, threshold=5.0)
    rows: TextPeople = {
        f"{person} {i}": [row] for person, own in people.items() for i, row in enumerate(own)
    }
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=TEXTS_SCHEMA, unit=unit, key=KEY)
        expected = slowly_weighed(rows if unit.is_row else people, search)
        if not brief(placed):
            # What is discovered below is weighed so too.
            assert weighed(table, search) == expected
        known = replace(search, known=("it's", "common", "not there"))
        if THOROUGH:
            # The next has known values too.
            assert weighed(table, known) == slowly_weighed(rows if unit.is_row else people, known)
        short = replace(known, prefixes=(3, 1), known=("com", "a", "1"))
        assert weighed(table, short) == slowly_weighed(rows if unit.is_row else people, short)
        numbers = Spread(column="code", reading="number", edges=(0.5, 1.5), most=2, scale=1.0)
        kinds = Kinds(columns=("code", "place"), scale=1.0)
        counted = [exact(numbers, table).tolist(), exact(kinds, table).tolist()]
        kinds_of_all = [40, 0, 0, 0, 0, 40, 40, 0, 40, 0, 0, 0, 0, 40, 40, 40]
        # Rows 1.0 and 1 are one value, or two people; "NA" and unprintable texts are no values.
        if unit.is_row:
            assert counted[0] == [0, expected["1"], 0]
        else:
            assert counted == [[0, 40 * 2**16, 0], kinds_of_all]
        searches = (search, replace(search, column="place"))
        question = Discover(searches=searches[: 1 if brief(placed) else 2])
        code, *places = json.loads(told(question, present(question, table), table, SYSTEM))
    common = sorted(value for value, weight in expected.items() if weight > 5 * 2**16)
    assert [value for value, _ in code] == common
    assert {"1", "common", "日本"} <= set(common)
    assert all([value for value, _ in place] == ["é"] for place in places)


def test_from_two_private_tables_to_a_report_without_a_line_by_hand(
    placed: Placed, tmp_path: Path
) -> None:
    """Discovery, release and report; of values that few have nothing is written anywhere."""
    if brief(placed):
        pytest.skip("takes long on Spark: `make audit` runs it")
    who = [f"p{i}" for i in range(300)]
    people = {
        "id": [*who, "p1"],
        "sex": ["FM"[i % 2] for i in range(300)] + ["M"],
        "since": [f"201{i % 8}-02-03" for i in range(301)],
    }
    whose = [*(who[i] for i in range(240) for _ in range(4)), "nobody"]
    count = len(whose)
    rows = {
        "id": whose,
        "ward": [("heart", "eyes", "it's", f"secret {i}")[i % 4] for i in range(count)],
        "when": [f"2024-05-{13 + i % 7} {8 + i % 9:02d}:30" for i in range(count)],
    }
    private = {"people": placed(pa.table(people)), "rows": placed(pa.table(rows))}
    total = us.Budget(epsilon=4000.0, delta=2e-6, failure=1e-6)
    given: dict[str, Any] = {
        "private": private, "unit": Unit("id"), "ledger": tmp_path / "l",
    }  # fmt: skip
    budget = us.Budget(epsilon=2000.0, delta=2e-6, failure=1e-6)
    schema = us.discover(**given, budget=budget, name="clinic", total=total, i_know=True)
    assert (schema.own, schema.order_by) == (("sex", "since_month", "since_weekday"), ("when",))
    assert schema["ward"].labels()[:3] == ["eyes", "heart", "it's"]
    when = schema.timestamps[1]
    assert (when.min, when.resolution) == ("2024-05-13", "minute")
    # Where noise hides the last day, the month's is taken.
    assert when.max in {"2024-05-19", "2024-05-31"}
    release = us.open(
        **given,
        schema=schema,
        bounding=us.Norm(),
        budget=us.Budget(epsilon=50.0, delta=1e-6),
        i_know=True,
    ).run(us.Auto() if isinstance(private["people"], pa.Table) else us.Independent())
    if isinstance(private["people"], pa.Table):
        assert release.manifest["mechanism"]["chosen"]["name"] == "lives"
        assert abs(len(release.people) - 300) < 20
    folder = release.save(tmp_path / "out", format="csv")
    us.report(us.Release.read(folder), tmp_path / "out.html")
    for path in (*folder.iterdir(), tmp_path / "out.html", tmp_path / "l"):
        assert b"secret" not in path.read_bytes()


@FEW
@given(two_worlds)
@example(TWO)
def test_two_tables_are_joined_as_the_obvious_version_does(placed: Placed, world: World) -> None:
    # Spark infers no type of a table without rows.
    types = pa.schema([("id", pa.string()), *((name, pa.int64()) for name in "abc")])
    data = {
        name: placed(pa.table(table, schema=pa.schema([types.field(n) for n in table])))
        for name, table in tables(world).items()
    }
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=ORDERED, unit=Unit("id"), key=KEY)
        half = tuple(each for each in EVERYONE.derived if each in HALF or each.starts)
        less = (replace(EVERYONE, derived=half),)
        for view in less if brief(placed) else (EVERYONE, OF_TWO[0])[: effort(1, 2)]:
            assert shown(table, view) == slowly_shown_of_two(world, ORDERED, view)


EVERY_MARK = [FORMATS[i] for i in (0, 1, 2, 3, 8)]  # has every mark of a format


@pytest.mark.parametrize("rules", few(KEEPING, usual=1), ids=str)
def test_every_text_is_encoded_alike(placed: Placed, rules: dict[str, Any]) -> None:
    # In parts: a query of so many columns takes Spark long to plan.
    columns = of_every_kind(rules, EVERY_MARK if brief(placed) else FORMATS)
    for part in filter(None, (columns[:22], columns[22:])):
        agree(placed, Schema("t", tuple(part)), TEXTS, pa.array(TEXTS.tolist(), pa.string()))


@pytest.mark.parametrize("dtype", few(("float32", "bool", "float64", "int8"), usual=2))
def test_every_number_is_encoded_alike(placed: Placed, dtype: str) -> None:
    numbers = np.array(FLOATS) if dtype.startswith("float") else np.array([0, 1, 3, 100])
    with np.errstate(over="ignore"):
        values = numbers.astype(dtype)
    for rules in KEEPING[1:2] if brief(placed) else few(KEEPING, usual=2):
        columns = tuple(of_every_kind(rules, FORMATS[:1]))
        agree(placed, Schema("t", columns), values, pa.array(values))


def test_every_stamp_is_encoded_alike(placed: Placed) -> None:
    values = np.array(marks(UNITS["us"])).astype("datetime64[us]")
    for rules in KEEPING[1:2] if brief(placed) else few(KEEPING, usual=2):
        columns = tuple(of_every_kind(rules, FORMATS[:1]))
        agree(placed, Schema("t", columns), values, pa.array(values))


def agree(placed: Placed, declared: Schema, values: Any, column: Any) -> None:
    """Hold an engine's codes against NumPy's."""
    table = placed(pa.table({SOURCE: column, "row": np.arange(len(values))}))
    with closing(engine_for(table)) as engine:
        assert by_sql(engine, declared, table) == by_numpy(declared, values)


def test_a_public_table_is_read_alike(spark: Any) -> None:
    table = arrow(rows())
    for unit in few((Unit("id"), Unit.each_row()), usual=1):
        here, there = (
            PublicTable.read(data, schema=schema(), unit=unit)
            for data in (table, spark.createDataFrame(table))
        )
        assert {n: c.tolist() for n, c in here.codes.items()} == {
            n: c.tolist() for n, c in there.codes.items()
        }
        assert {n: str(v[:].tolist()) for n, v in here.numbers.items()} == {
            n: str(v[:].tolist()) for n, v in there.numbers.items()
        }
        assert str(here.people) == str(there.people)


def test_a_table_is_evaluated_alike(spark: Any) -> None:
    table = arrow(rows())
    for unit in few((Unit("id"), Unit.each_row()), usual=1):
        here, there = (
            read_private(data, schema=schema(), unit=unit)
            for data in (table, spark.createDataFrame(table))
        )
        assert {n: c.tolist() for n, c in here.codes.items()} == {
            n: c.tolist() for n, c in there.codes.items()
        }
        assert str(here.people) == str(there.people)


def test_rows_are_in_the_order_of_their_dates(placed: Placed) -> None:
    """Gaps are days, from month to month, and a row without a date comes last."""
    columns = (
        Id(name="id"),
        Timestamp(name="when", min="2024-01-01", max="2024-03-31", resolution="day"),
        Integer(name="a", min=0, max=2, missing=False),
    )
    schema = Schema("dated", columns, order_by=("when",))
    days = ["2024-01-29", "2024-02-28", "2024-01-03", None, "2024-02-29"]
    moments = pa.array([None if d is None else dt.datetime.fromisoformat(d) for d in days])
    ids = pa.array(["ann", "ann", "ann", "bob", "bob"])
    data = placed(pa.table({"id": ids, "when": moments, "a": pa.array([2, 1, 0, 2, 0])}))
    derived = (
        Derived(name="before", kind="previous", column="a"),
        Derived(name="gap", kind="gap", column="(when: date)"),
        Derived(name="spread", kind="spread", column="(when: date)"),
    )
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=schema, unit=Unit("id"), key=KEY)
        view = derivation.viewed(table, View(derived=derived))
        names = [view.code[name] for name in ("a", "before", "gap", "spread")]
        found = engine.fetch(f"SELECT {', '.join(names)} FROM {view.rows}")
    ann, bob = [(0, 3, 92, 13), (2, 0, 26, 13), (1, 2, 30, 13)], [(0, 3, 92, 16), (2, 0, 92, 16)]
    assert sorted(zip(*(found[n].tolist() for n in names), strict=True)) == sorted(ann + bob)
