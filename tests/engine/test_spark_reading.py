"""One reading on Spark: what a cell becomes follows from the cell, in a column of every type.

The oracle is that of ``tests/schema/encoding/test_one_reading.py``: a cell's text, read by itself.
"""

# ruff: noqa: DTZ001  most columns of date-times know no time zone
from __future__ import annotations

import datetime as dt
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.audit.effort import THOROUGH, few
from tests.schema.encoders import SOURCE, by_sql
from tests.schema.encoding.oracle import ASKED, BINARY, COLUMNS, LATE, LEAP, TEXTS
from tests.schema.encoding.oracle import oracle as of_all
from understudy.budget import Unit
from understudy.engine import engine_for
from understudy.engine.spark.engine import _kind
from understudy.errors import UsageError
from understudy.schema import Integer, Schema
from understudy.vault import PrivateTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.engine import Engine

Codes = list[tuple[int, ...]]
SCHEMA = Schema("t", tuple(c for c in COLUMNS if c.name in ASKED))
NOON = dt.datetime(2020, 2, 29, 12, 30)
LONG = 10**4 * 366
"""More days than seconds of them fit into 32 bits."""
LENGTHS = [
    dt.timedelta(seconds=90),
    dt.timedelta(days=-1, microseconds=1),
    dt.timedelta(0),
    dt.timedelta(days=LONG),
    dt.timedelta(days=-LONG),
]
FINE = [Decimal("1E-20"), Decimal("-0.25"), Decimal(0), Decimal(1), Decimal("12345678.5")]
TYPES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "tinyint": [0, 1, -1, 127, 90],
    "smallint": [0, 1, -1, 90, 2**15 - 1],
    "int": [0, 1, 20200229, -(2**31)],
    "bigint": [0, 1, 20200229, 2**53 + 1, -(2**63)],
    "float": [0.1, 0.7, 1.0, -0.0, 1 / 3, np.inf, -np.inf, np.nan, 3e38, 1e-45],
    "double": [0.1, 0.7, 1.0, -0.0, 1e16, -np.inf, np.nan, 5e-324, 1.5, 90.0],
    "decimal(9,2)": [Decimal("1.50"), Decimal("1.00"), Decimal("-0.25"), Decimal("0.00")],
    "decimal(38,20)": FINE,
    "string": TEXTS,
    "string collate UTF8_LCASE": ["red", "RED", " true", "True", "NA", "na", "inf", "É", "é"],
    "binary": BINARY,
    "date": [LEAP, dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1582, 10, 10)],
    "timestamp": [LATE, NOON, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)],
    "timestamp_ntz": [LATE, NOON, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59)],
    "interval day to second": LENGTHS,
    "interval minute to second": LENGTHS,
    "interval day": [dt.timedelta(days=n) for n in (0, 1, -3, LONG)],
    "time(6)": [dt.time(12, 30), dt.time(23, 59, 59, 999_999), dt.time(0)],
    "void": [None],
    "array<int>": [[1, 2], [], [None]],
}
NEVER_MISSING = ("string", "double", "boolean", "float", "timestamp", "interval day to second")
"""Types of columns that are declared to be full.  A type of Spark's never follows from cells."""
BEYOND = {
    "date": "date_add(DATE'1970-01-01', {})",
    "timestamp": "timestamp_micros({})",
    "timestamp_ntz": "CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)",
}
"""Date-times of no calendar year; a number of days, or of microseconds, makes them."""


@pytest.fixture(autouse=True)
def times_of_day(spark: Any) -> Iterator[None]:
    """Have Spark allow columns of times, which it does not by itself."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    yield
    spark.conf.unset("spark.sql.timeType.enabled")


@pytest.fixture(scope="module")
def engine(spark: Any) -> Iterator[Engine]:
    with closing(engine_for(spark.range(1))) as joined:
        yield joined


def framed(spark: Any, values: list[Any], declared: str, *, nullable: bool = True) -> Any:
    """Make a frame of one typed column and the number of each row."""
    from pyspark.sql import types

    (field,) = spark.sql(f"SELECT CAST(NULL AS {declared}) AS x").schema
    fields = [
        types.StructField(SOURCE, field.dataType, nullable=nullable),
        types.StructField("row", types.LongType(), nullable=False),
    ]
    cells = [v.replace(tzinfo=dt.UTC) if declared == "timestamp" and v else v for v in values]
    rows = [(cell, i) for i, cell in enumerate(cells)]
    frame = spark.createDataFrame(rows, types.StructType(fields))
    assert dict(frame.dtypes)[SOURCE] == declared
    return frame


def kept(values: list[Any], declared: str) -> list[Any]:
    """Give what a type keeps of values: a short float its own digits; a list goes by its text."""
    if declared == "float":
        return [v if v is None else np.float32(v) for v in values]
    if declared == "array<int>":
        return [v if v is None else str(v).replace("None", "null") for v in values]
    return values


def oracle(values: list[Any]) -> Codes:
    """Read each cell by itself, as its text."""
    places = [i for i, c in enumerate(COLUMNS) if c.name in ASKED]
    return [tuple(codes[i] for i in places) for codes in of_all(values)]


def read(engine: Engine, frame: Any) -> Codes:
    rows = by_sql(engine, SCHEMA, frame)
    return [rows[i] for i in sorted(rows)]


UNCOMMON = ("decimal(38,20)", "interval minute to second", "array<int>")
"""Types that no other test of Spark reads."""


@pytest.mark.parametrize("declared", TYPES if THOROUGH else UNCOMMON)
def test_a_cell_is_read_beside_a_missing_value_as_it_is_by_itself(
    spark: Any, engine: Engine, declared: str
) -> None:
    values = TYPES[declared]
    beside = framed(spark, [*values, None], declared)
    assert read(engine, beside) == oracle([*kept(values, declared), None])


@pytest.mark.parametrize("declared", few(NEVER_MISSING, usual=1))
def test_a_cell_is_read_alike_where_none_may_be_missing(
    spark: Any, engine: Engine, declared: str
) -> None:
    alone = framed(spark, TYPES[declared], declared, nullable=False)
    assert read(engine, alone) == oracle(kept(TYPES[declared], declared))


@pytest.mark.parametrize("declared", BEYOND)
def test_a_date_time_of_no_calendar_year_is_none_and_no_error(
    spark: Any, engine: Engine, declared: str
) -> None:
    most = 2**31 - 1 if declared == "date" else 2**63 - 1
    listed = ", ".join(f"({i}, {n}L)" for i, n in enumerate((most, -most, most // 2, -most // 2)))
    number = "CAST(n AS INT)" if declared == "date" else "n"
    made = f"SELECT {BEYOND[declared].format(number)} AS x, row"
    frame = spark.sql(f"{made} FROM VALUES {listed} AS t(row, n)").withColumnRenamed("x", SOURCE)
    assert dict(frame.dtypes)[SOURCE] == declared
    assert read(engine, frame) == oracle([None]) * 4


def test_a_person_is_one_text_whatever_type_the_id_has_and_however_it_compares(spark: Any) -> None:
    declared = Schema("t", (Integer(name="x", min=0, max=9),))
    cases: tuple[tuple[str, list[Any], list[str]], ...] = (
        ("string collate UTF8_LCASE", ["ann", "Ann", "ann ", None], ["Ann", "ann"]),
        ("binary", [b"ann", b"\xff", None], ["FF", "ann"]),
        ("interval second", [dt.timedelta(seconds=90), dt.timedelta(0), None], ["0", "90"]),
        ("time(6)", [dt.time(12, 30), dt.time(0), None], ["00:00:00", "12:30:00"]),
    )
    for kind, ids, people in few(cases, usual=2):
        frame = framed(spark, ids, kind).withColumnsRenamed({SOURCE: "id", "row": "x"})
        with closing(engine_for(frame)) as engine:
            PrivateTable(engine, frame, schema=declared, unit=Unit("id"), key="0" * 32)
            assert sorted(engine.fetch("SELECT id FROM people")["id"].tolist()) == people


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        *(("interval day", "duration"), ("interval hour to minute", "duration")),
        *(("interval year to month", "text"), ("interval", "text"), ("time(3)", "time")),
        *(("array<time(3)>", "text"), ("struct<a:binary>", "text"), ("char(3)", "text")),
    ],
)
def test_a_type_is_of_one_kind_however_fine_it_is(declared: str, kind: str) -> None:
    assert _kind(declared) == kind


def test_another_encoding_is_refused(engine: Engine) -> None:
    marks = {"delimiter": ",", "quote_mark": '"'}
    with pytest.raises(UsageError, match=r"read in UTF-8 on Spark .got latin-1"):
        engine.attach("rows.csv", name="source", **marks, encoding="latin-1")
