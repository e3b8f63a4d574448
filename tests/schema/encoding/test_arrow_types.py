"""Columns of Arrow's types, as Parquet files hold them, get the codes of their NumPy twins."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.schema.encoders import SOURCE, by_numpy, by_sql
from understudy.engine import DuckDB
from understudy.schema import Array, Categorical, Column, DateTime, Integer, Numeric, Schema

DAYS = [dt.date(2020, 2, 29), dt.date(1899, 12, 31), None]
MOMENTS = np.array(["2020-02-29T23:59:59", "1969-12-31T23:59:59", "NaT"], dtype="datetime64[us]")
PRICES = [Decimal("1.50"), Decimal("1.00"), Decimal("-0.25"), None]
SHORT = np.array([0.1, 0.7, 16777217, np.nan, np.inf], dtype=np.float32)
DOUBLE = np.array([0.1, np.nan, np.inf, -0.0, 1e300, 2.0**53])
RULES: dict[str, Any] = {"source": SOURCE, "outside": "other", "nulls": ()}
COLUMNS: tuple[Column, ...] = (
    Categorical(
        name="text",
        **RULES,
        values=("2020-02-29 00:00:00", "1969-12-31 23:59:59", "1.50", 1, 0.1, "red", "b"),
    ),
    Integer(name="whole", **RULES, min=-1, max=2),
    Numeric(name="bin", **RULES, edges=(-0.25, 0.1, 0.7, 1.5)),
    DateTime(name="day", **RULES, part="day"),
    DateTime(name="date", **RULES, part="date", min=-30_000, max=30_000),
    DateTime(name="hour", **RULES, part="hour"),
)
CASES: dict[str, tuple[Any, Array]] = {
    "date": (pa.array(DAYS, pa.date32()), np.array(DAYS, dtype="datetime64[D]")),
    "seconds": (pa.array(MOMENTS.astype("datetime64[s]")), MOMENTS),
    "zone": (pa.array(MOMENTS, pa.timestamp("us", "America/New_York")), MOMENTS),
    "nanoseconds": (
        pa.array(np.array([-1, 10**9 - 1], dtype="datetime64[ns]")),
        np.array([-1, 10**9 - 1], dtype="datetime64[ns]"),
    ),
    "decimal": (pa.array(PRICES, pa.decimal128(9, 2)), np.array(PRICES, dtype=object)),
    "double": (pa.array(DOUBLE, from_pandas=False), DOUBLE),
    "float": (pa.array(SHORT), SHORT),
    "dictionary": (
        pa.array(["red", "b", "red", None, "1.0"]).dictionary_encode(),
        np.array(["red", "b", "red", None, "1.0"], dtype=object),
    ),
    "boolean": (pa.array([True, False]), np.array([True, False])),
    "short integer": (pa.array([1, -1, 127], pa.int8()), np.array([1, -1, 127])),
}


@pytest.mark.parametrize("case", CASES)
def test_arrow_column_agrees(case: str) -> None:
    column, twin = CASES[case]
    engine = DuckDB()
    schema = Schema("t", COLUMNS)
    table = pa.table({SOURCE: column, "row": pa.array(range(len(column)))})
    try:
        rows = by_sql(engine, schema, table)
    finally:
        engine.close()
    assert rows == by_numpy(schema, twin)
    # Not by both saying the same nothing: some value of each case is in some domain.
    sizes = [c.values_count for c in COLUMNS]
    assert any(
        code < size for codes in rows.values() for code, size in zip(codes, sizes, strict=True)
    )
