"""One reading: what a cell becomes depends on that cell and on declarations alone.

The oracle is slow and obvious: a cell's text, read by itself (`reading.text`).  Every container
that can hold a cell must give its code, alone, beside a missing value, and beside every other.
"""

# ruff: noqa: DTZ001, DTZ901  most columns of date-times know no time zone
from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.audit.effort import THOROUGH, effort, one_in
from tests.schema.encoders import SOURCE, by_sql
from tests.schema.encoding.oracle import BINARY, COLUMNS, LATE, LEAP, TEXTS, oracle
from understudy.engine import DuckDB
from understudy.errors import SchemaError
from understudy.schema import DateTime, Schema
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Codes = list[tuple[int, ...]]
    Held = Callable[[list[Any], Any], Any]

SCHEMA = Schema("t", COLUMNS)
LENGTHS = [dt.timedelta(seconds=90), dt.timedelta(days=-1, microseconds=1), dt.timedelta(0)]
PRICES = [Decimal("1.50"), Decimal("1.00"), Decimal("-0.25"), Decimal("0.00")]

# Each type, with values of it and the columns of pandas, Arrow and polars that hold just them.
Typed = tuple[str, list[Any], str | None, Any, Any]
TYPES: list[Typed] = [
    ("bool", [True, False], "boolean", pa.bool_(), pl.Boolean),
    ("int8", [0, 1, -1, 127, 90], "Int8", pa.int8(), pl.Int8),
    ("int64", [0, 1, 20200229, 2**53 + 1, -(2**63)], "Int64", pa.int64(), pl.Int64),
    ("uint64", [0, 1, 2**64 - 1], "UInt64", pa.uint64(), pl.UInt64),
    ("float16", [0.1, 0.7, 1.0, 1.5, np.inf], None, None, None),
    ("float32", [0.1, 0.7, 1.0, -0.0, 1 / 3, np.inf, 3e38], "Float32", pa.float32(), pl.Float32),
    ("float64", [0.1, 0.7, 1.0, -0.0, 1e16, -np.inf, 5e-324], "Float64", pa.float64(), pl.Float64),
    ("datetime64[s]", [LATE, dt.datetime.min], None, pa.timestamp("s"), None),
    ("datetime64[us]", [LATE, dt.datetime.min, dt.datetime.max], None, pa.timestamp("us"), None),
    ("datetime64[ns]", [LATE, dt.datetime(1969, 12, 31)], None, pa.timestamp("ns"), pl.Datetime),
    ("timedelta64[us]", LENGTHS, None, pa.duration("us"), pl.Duration("us")),
    ("timedelta64[ns]", LENGTHS, None, pa.duration("ns"), pl.Duration("ns")),
    ("object", [LEAP, dt.date.min, dt.date.max], None, pa.date32(), pl.Date),
    ("object", [dt.time(12, 30), dt.time(23, 59, 59, 999_999)], None, pa.time64("us"), pl.Time),
    ("object", PRICES, None, pa.decimal128(9, 2), pl.Decimal(9, 2)),
    ("object", BINARY, None, pa.binary(), pl.Binary),
    ("object", TEXTS, "string", pa.string(), pl.String),
]
NAMES = [f"{dtype} {arrow}" for dtype, _, _, arrow, _ in TYPES]


def typed(values: list[Any], dtype: str) -> list[Any]:
    """Give values as a NumPy array of their type would hold them."""
    short = dtype in {"float16", "float32"}
    return [np.dtype(dtype).type(v) if short and v is not None else v for v in values]


def filled(values: list[Any], dtype: str) -> np.ndarray[Any, Any]:
    present = [v for v in values if v is not None]
    made = np.array([present[0] if v is None else v for v in values], dtype=dtype)
    made.flags.writeable = False
    return made


def arrow(values: list[Any], t: Typed) -> Any:
    return pa.array(values, t[3], from_pandas=False)


def masked(values: list[Any], t: Typed) -> Any:
    return np.ma.MaskedArray(filled(values, t[0]), [v is None for v in values])


def numpy(values: list[Any], t: Typed) -> Any:
    """A plain array has no place for a missing value, unless it is of floats, times or objects."""
    if None not in values:
        return np.array(values, dtype=t[0])
    if t[0][0] in "fdt":
        nothing = np.nan if t[0][0] == "f" else "NaT"
        return np.array([nothing if v is None else v for v in values], dtype=t[0])
    return np.array(values, dtype=object)


def categories(values: list[Any], t: Typed) -> Any:
    known = pd.unique(pd.Series(numpy([v for v in values if v is not None], t)))
    places = [-1 if v is None else i % len(known) for i, v in enumerate(values)]
    return pd.Series(pd.Categorical.from_codes(places, categories=pd.Index(known)))


CONTAINERS: dict[str, tuple[Callable[[Typed], bool], Callable[[list[Any], Typed], Any]]] = {
    "list": (lambda _: True, lambda v, t: typed(v, t[0])),
    "tuple": (lambda _: True, lambda v, t: tuple(typed(v, t[0]))),
    "array": (lambda _: True, numpy),
    "objects": (lambda _: True, lambda v, t: np.array([*typed(v, t[0]), 0], dtype=object)[:-1]),
    "masked": (lambda t: t[0] != "object", masked),
    "masked objects": (lambda t: t[0] == "object", masked),
    "pandas": (lambda _: True, lambda v, t: pd.Series(numpy(v, t))),
    "pandas index": (lambda t: t[0] != "float16", lambda v, t: pd.Index(numpy(v, t))),
    "pandas, objects": (lambda _: True, lambda v, t: pd.Series(typed(v, t[0]), dtype=object)),
    "pandas, nullable": (lambda t: t[2] is not None, lambda v, t: pd.Series(v, dtype=t[2])),
    "pandas, Arrow": (
        lambda t: t[3] is not None,
        lambda v, t: pd.Series(pd.arrays.ArrowExtensionArray(arrow(v, t))),
    ),
    "pandas, category": (lambda t: t[0] not in {"object", "float16"} or t[1] is TEXTS, categories),
    "Arrow": (lambda t: t[3] is not None, arrow),
    "Arrow, chunks": (
        lambda t: t[3] is not None,
        lambda v, t: pa.chunked_array([arrow(v[:1], t), arrow(v[1:], t)]),
    ),
    "Arrow, dictionary": (lambda t: t[3] is not None, lambda v, t: arrow(v, t).dictionary_encode()),
    "polars": (lambda t: t[4] is not None, lambda v, t: pl.Series(v, dtype=t[4])),
}
HELD = [
    pytest.param(t, name, id=f"{name}: {called}")
    for t, called in zip(TYPES, NAMES, strict=True)
    for name, (fits, _) in CONTAINERS.items()
    if fits(t)
]
TURN = [
    [held for held in HELD if held.values[0] is t][4 * i % sum(h.values[0] is t for h in HELD)]
    for i, t in enumerate(TYPES)
]
"""Every type, and containers of every library by turns."""


FORMS = ("Arrow", "Parquet", "polars", "CSV")
STORED = [t for t in TYPES if t[3] is not None]


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    started = DuckDB()
    yield started
    started.close()


def read(engine: DuckDB, column: Any) -> Codes:
    """Encode a column of a table that mixes containers."""
    rows = by_sql(engine, SCHEMA, {SOURCE: column, "row": np.arange(len(column))})
    return [rows[i] for i in range(len(column))]


def as_stored(values: list[Any], dtype: str) -> list[Any]:
    """Give what a type keeps of values: a short float its own digits, a time its own steps."""
    return [v if v is None else np.array([v], dtype=dtype)[0] for v in values]


@pytest.mark.parametrize(("t", "container"), HELD if THOROUGH else TURN)
def test_a_cell_is_read_alike_alone_and_beside_a_missing_value(
    engine: DuckDB, t: Typed, container: str
) -> None:
    """The flaw this is about: one person's empty cell recoded everybody."""
    dtype, values, *_ = t
    if dtype == "datetime64[s]" and "Arrow" in container:
        values = [v.replace(microsecond=0) for v in values]
    make = CONTAINERS[container][1]
    expected = oracle(as_stored(values, dtype))
    assert read(engine, make(values, t)) == expected
    assert read(engine, make([*values, None], t)) == [*expected, *oracle([None])]
    assert read(engine, make([values[0]], t)) == expected[:1]


@pytest.mark.parametrize(("t", "form"), one_in(5, product(STORED, FORMS)))
def test_whole_tables_and_files_read_as_their_cells_do(
    engine: DuckDB, t: Typed, form: str, tmp_path: Path
) -> None:
    dtype, values, _, declared, polars = t
    if form == "polars" and polars is None:
        return
    if declared == pa.timestamp("s"):
        values = [v.replace(microsecond=0) for v in values]
    if form == "Parquet" and pa.types.is_duration(declared):
        return  # Parquet has no durations: it holds their number of ticks
    # Where a cell is missing is the harder case.
    for cells in ([*values, None], values)[: effort(1, 2)]:
        # No CSV file has that letter, and an empty cell of one is no text.
        column = [v for v in cells if form != "CSV" or v not in {"a\x00b", "", b""}]
        row = np.arange(len(column))
        table: Any = pa.table({SOURCE: arrow(column, t), "row": row})
        if form == "polars":
            table = pl.DataFrame({SOURCE: pl.Series(column, dtype=polars), "row": row})
        elif form == "Parquet":
            pq.write_table(table, tmp_path / "t.parquet")
            table = tmp_path / "t.parquet"
        elif form == "CSV":
            texts = [reading.text(v) or "" for v in as_stored(column, dtype)]
            pd.DataFrame({SOURCE: texts, "row": row}).to_csv(tmp_path / "t.csv", index=False)
            table = tmp_path / "t.csv"
        rows = by_sql(engine, SCHEMA, table)
        assert [v for _, v in sorted((int(k), v) for k, v in rows.items())] == oracle(
            as_stored(column, dtype)
        )


EVERY: list[Any] = [
    *(v for t in TYPES for v in as_stored(t[1], t[0])),
    *(None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), np.float32("nan"), Decimal("NaN")),
    *(10**30, 1j, [1], (1, "a"), {"a": 1}, np.array([1, 2]), pd.Timestamp(LATE, tz="Asia/Tokyo")),
    *(pd.Timedelta(seconds=90), pd.Period("2020-02", "M"), np.str_("red"), np.int8(1), np.True_),
    *(np.datetime64(2**60, "D"), np.timedelta64(2**60, "s"), np.datetime64("12020-01-01")),
]


def test_every_value_beside_every_other_in_a_column_of_objects(engine: DuckDB) -> None:
    alone = [reading.text(v) for v in EVERY]
    every = list(enumerate(EVERY))
    for (i, one), (j, other) in product(every, one_in(3, every)):
        held = np.empty(2, dtype=object)
        held[0], held[1] = one, other
        assert reading.texts(held).tolist() == [alone[i], alone[j]]
    expected = oracle(EVERY)
    for column in (list(EVERY), EVERY[::-1]):
        assert read(engine, column) == (expected if column[0] is EVERY[0] else expected[::-1])
        assert read(engine, pd.Series(column, dtype=object)) == read(engine, column)


ODD = ["red", "1", "2020-02-29", "", True, 1, 0.5, LATE, LEAP, None, np.nan, np.inf, 10**30]
WIDENED = {"float16", "float32"}
"""pandas makes longer floats of these for the sake of one odd cell, and so has decided already."""


@pytest.mark.parametrize("t", one_in(3, (t for t in TYPES if t[0] not in WIDENED)), ids=str)
def test_a_column_that_pandas_changes_for_one_odd_cell(engine: DuckDB, t: Typed) -> None:
    """As where a file with one odd cell is read, or two frames are put one below the other."""
    dtype, values, *_ = t
    if dtype in {"int64", "uint64"}:
        values = [v for v in values if abs(v) < 2**53]  # others are not whole in a float
    one = pd.Series(numpy(values, t))
    for odd in one_in(5, ODD):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas is about to change some of its ways
            both = pd.concat([one, pd.Series([odd])], ignore_index=True)
        assert read(engine, both)[: len(values)] == oracle(as_stored(values, dtype)), repr(odd)


def test_a_format_that_reads_a_typed_date_as_another_is_refused() -> None:
    for form in ("%Y-%d-%m", "%Y-%d-%m %H:%M:%S", "%Y-%m-%d %H:%S:%M", "20%y-%m-%d"):
        with pytest.raises(SchemaError, match="differently from ISO 8601"):
            DateTime(name="when", part="day", format=form)
    for form in ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d/%m/%Y", "%Y-%d-%m %H:%M"):
        DateTime(name="when", part="day", format=form)
