"""The NumPy encoder and the SQL encoder give the same codes and drop the same rows.

Columns are drawn at random over arrays of every kind a table may hold.  Texts are also
handed to the engine as an Arrow table, which it reads as they stand, as it does a file;
those in an array of objects have been through our own reading first.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.audit.effort import THOROUGH, effort, few
from tests.schema.encoders import (
    FLOATS,
    FORMATS,
    KEEPING,
    MOMENTS,
    NULL_TEXTS,
    NUMBERS,
    SOURCE,
    SPOKEN,
    TEXTS,
    UNITS,
    by_numpy,
    by_sql,
    marks,
    nulls,
    of_every_kind,
)
from understudy.engine import DuckDB
from understudy.schema import (
    Array,
    Categorical,
    Column,
    DateTime,
    Integer,
    Numeric,
    Remainder,
    Schema,
    Split,
)
from understudy.schema.columns import LARGEST, NULLS
from understudy.schema.encoding import reading
from understudy.schema.encoding.calendar import PARTS
from understudy.schema.sql import encoder

if TYPE_CHECKING:
    from collections.abc import Iterator


class Raises:
    """An object that cannot be written, compared or hashed."""

    __hash__ = None  # type: ignore[assignment]  # what a careless class may do

    def __str__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError


OBJECTS: list[object] = [
    *(0, 1, -1, 7, 2**53 + 1, 10**30, 10**5000, 2.0**53, 0.1, 1.0, -0.0, 1e16, 1e300, float("nan")),
    *(float("inf"), True, False, None, b"1.0", b" red ", b"\xff", Decimal("1.50"), Decimal("1.5")),
    *(Decimal("NaN"), Decimal("sNaN"), Fraction(1, 2), (1,), (1.0,), [1], {"a": 1}, Raises()),
    *(np.float32(0.1), np.float32(4322358.5), np.float16(0.1), np.int8(3), np.bool_(True)),
    *(np.array([1, 2]), np.array(1), np.longdouble("1e4000"), pd.NA, pd.NaT, "\ud800", "1.0", " 1"),
    *(dt.datetime.fromisoformat("2020-02-03T04:05:06.000007"), dt.date(2020, 2, 3), 1 + 2j),
    *(
        dt.datetime(2020, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=-3))),
        dt.time(1, 2),
        dt.timedelta(1),
    ),
    *(np.datetime64("2020-02-03T04:05:06.789"), np.datetime64("2020"), np.datetime64("NaT")),
    *(np.datetime64(2**60, "D"), np.timedelta64(1, "s"), pd.Timestamp("2020-02-03"), b"2020-02-03"),
]


def numeric_text() -> st.SearchStrategy[str]:
    made = st.from_regex(r"\A *[+-]?[0-9]{0,12}[.]?[0-9]{0,6}([eE][+-]?[0-9]{1,3})? *\Z")
    return st.one_of(st.sampled_from(NUMBERS), made, st.floats().map(str), st.integers().map(str))


def moment_text() -> st.SearchStrategy[str]:
    made = st.datetimes().flatmap(
        lambda d: st.sampled_from(
            [d.isoformat(), d.isoformat(" ", "seconds") + "+02:00", str(d.date())]
            + [d.strftime(f) for f in FORMATS if f and d.year > 1900]
        )
    )
    return st.one_of(st.sampled_from(MOMENTS), made)


def texts() -> st.SearchStrategy[str | None]:
    spoken = st.sampled_from([*SPOKEN, *NULL_TEXTS])
    odd = st.text(st.characters(codec="utf-8"), max_size=4)
    return st.one_of(st.none(), spoken, numeric_text(), moment_text(), odd)


def floats(width: Any) -> st.SearchStrategy[float]:
    halves = st.integers(-9, 9).map(lambda n: n / 2)
    special = st.sampled_from(FLOATS)
    return st.one_of(halves, special, st.floats(width=width), st.floats(-10, 10, width=width))


def stamps(unit: str) -> st.SearchStrategy[Any]:
    """Draw moments in a unit: all that fit 64 bits, the ends of the calendar, and NaT."""
    a_second = UNITS[unit]
    spread = st.integers(-4 * 10**9, 5 * 10**9).map(lambda s: s * a_second + s % a_second)
    counts = st.sampled_from(marks(a_second)) | spread | st.integers(-(2**63), 2**63 - 1)
    return counts.map(lambda n: np.array(n).astype(f"datetime64[{unit}]"))


def column_of(values: st.SearchStrategy[Any], dtype: str) -> st.SearchStrategy[Array]:
    def held(drawn: list[Any]) -> Array:
        out = np.empty(len(drawn), dtype=dtype)
        with np.errstate(over="ignore"):
            for i, value in enumerate(drawn):
                out[i] = value
        return out

    return st.lists(values, min_size=1, max_size=40).map(held)


ARRAYS: dict[str, st.SearchStrategy[Array]] = {
    "int64": column_of(st.one_of(st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1)), "int64"),
    "int8": column_of(st.integers(-128, 127), "int8"),
    "uint64": column_of(st.one_of(st.integers(0, 20), st.integers(0, 2**64 - 1)), "uint64"),
    "dates as int64": column_of(st.integers(20191225, 20200301), "int64"),
    "float64": column_of(floats(64), "float64"),
    "float32": column_of(floats(32), "float32"),
    "float16": column_of(floats(16), "float16"),
    "bool": column_of(st.booleans(), "bool"),
    **{f"datetime64[{u}]": column_of(stamps(u), f"datetime64[{u}]") for u in UNITS},
    "texts": column_of(texts(), "object"),
    "numbers as texts": column_of(numeric_text(), "object"),
    "moments as texts": column_of(moment_text(), "object"),
    "str": column_of(numeric_text(), "U20"),
    "objects": column_of(st.one_of(st.sampled_from(OBJECTS), texts()), "object"),
}
RAW = ("texts", "numbers as texts", "moments as texts")
FIRST = ("int64", "float32", "datetime64[us]", "texts", "moments as texts", "objects")
"""A kind each that is read in its own way; tests below have the others in every run."""


@st.composite
def categoricals(draw: st.DrawFn, values: Array, *, drops: bool) -> Categorical:
    # A text with a NUL may stand in a table, and cannot be declared.
    present = [str(t) for t in _texts(values) if t is not None and "\x00" not in t]
    scalars = st.one_of(
        st.sampled_from([*present, "red", "", "nan", "NA"]),
        st.sampled_from([0, 1, -1, 0.5, 0.1, True, False, 1e16, "1.0", "\ud800"]),
    )
    listed: list[Any] = draw(
        st.lists(scalars, min_size=1, max_size=6, unique_by=lambda v: _texts([v])[0])
    )
    return Categorical(
        name="category",
        source=SOURCE,
        values=tuple(listed),
        outside=draw(st.sampled_from(["other", "drop"] if drops else ["other"])),
        missing=draw(st.booleans()),
        nulls=draw(nulls()),
        other=draw(st.sampled_from([None, "elsewhere", *listed])),
        missing_value=draw(st.sampled_from([None, *listed])),
        prefixes=draw(st.sampled_from([(), (3, 1), (2,), (200, 5, 4, 1)])),
    )


def _texts(values: Any) -> list[str | None]:
    held = values if isinstance(values, np.ndarray) else np.array([*values, None], dtype=object)
    return list(reading.texts(held))


def common(draw: st.DrawFn, name: str, *, drops: bool) -> dict[str, Any]:
    rules = [("nearest", True), ("other", True), ("other", False)]
    rules = [("nearest", False), ("drop", True), ("drop", False)] if drops else rules
    outside, missing = draw(st.sampled_from(rules))
    return {
        "name": name,
        "source": SOURCE,
        "outside": outside,
        "missing": missing,
        "nulls": draw(nulls()),
    }


@st.composite
def integers(draw: st.DrawFn, *, drops: bool) -> Integer:
    low = draw(st.one_of(st.integers(-5, 5), st.sampled_from([2**52 - 20, -(2**52) + 1, 10**9])))
    return Integer(
        **common(draw, "whole number", drops=drops), min=low, max=low + draw(st.integers(0, 9))
    )


@st.composite
def numerics(draw: st.DrawFn, *, drops: bool) -> Numeric:
    edge = st.one_of(
        st.integers(-4, 4).map(lambda n: n / 2),
        st.sampled_from([0.1, 0.7, 5e-324, 1e-310, 1e300, -1e300, 1e16, 1000.0]),
        st.floats(allow_nan=False, allow_infinity=False),
    )
    edges = draw(st.lists(edge, min_size=2, max_size=9, unique_by=lambda e: e + 0.0))
    drawn = draw(st.lists(edge, max_size=3, unique_by=lambda e: e + 0.0))
    near = [v for v in drawn if abs(v) < LARGEST]
    return Numeric(
        **common(draw, "number's bin", drops=drops),
        edges=tuple(sorted(edges)),
        special=tuple(v for v in near if not min(edges) <= v <= max(edges)),
        top_coded=draw(st.booleans()),
    )


@st.composite
def remainders(draw: st.DrawFn, *, drops: bool) -> Remainder:
    near = st.integers(-9, 9)
    low = draw(near | st.sampled_from([1 - 2**52, 2**52 - 4, -(10**9), 20_191_225]))
    span = st.integers(1, 3) | st.integers(4, 40) | st.sampled_from([10**6, 2**52])
    most = min(low + draw(span), LARGEST - 1)
    special = draw(st.sets(near | st.sampled_from([20_200_101, LARGEST - 1, 1000]), max_size=3))
    return Remainder(
        **common(draw, "what is left", drops=drops),
        step=draw(st.sampled_from([1, 2, 3, 7, 100, 2**16 - 1, 2**16])),
        min=low,
        max=most,
        special=tuple(v for v in special if not low <= v <= most),
    )


@st.composite
def datetimes(draw: st.DrawFn, *, drops: bool) -> DateTime:
    part = draw(st.sampled_from(sorted(PARTS)))
    centre = {"year": 1995, "date": 9000, "week": 1300, "month_index": 300}.get(part)
    span = draw(st.integers(0, 400))
    ends = {} if centre is None else {"min": centre - span, "max": centre + span}
    return DateTime(
        **common(draw, f"its {part}", drops=drops),
        part=part,
        format=draw(st.sampled_from(FORMATS)),
        **ends,  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    started = DuckDB()
    yield started
    started.close()


def agree(engine: DuckDB, columns: list[Column], values: Array, *, raw: bool) -> None:
    schema = Schema("t", tuple(columns))
    row = np.arange(len(values))
    table: Any = {SOURCE: values, "row": row}
    if raw:
        table = pa.table({SOURCE: pa.array(values.tolist(), pa.string()), "row": pa.array(row)})
    assert by_sql(engine, schema, table) == by_numpy(schema, values)


@pytest.mark.parametrize("kind", ARRAYS if THOROUGH else FIRST)
@settings(
    max_examples=effort(5, 25),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_codes_agree(engine: DuckDB, kind: str, data: st.DataObject) -> None:
    values = data.draw(ARRAYS[kind])
    # Only one column may drop rows, or few would be left to compare.
    which = data.draw(st.integers(0, 4))
    columns: list[Column] = [
        data.draw(categoricals(values, drops=which == 0)),
        data.draw(integers(drops=which == 1)),
        data.draw(numerics(drops=which == 2)),
        data.draw(datetimes(drops=which == 3)),
        data.draw(remainders(drops=which == 4)),
    ]
    agree(engine, columns, values, raw=kind in RAW)


DROPPING: list[dict[str, Any]] = [
    {"outside": "nearest", "missing": False, "nulls": ("0.5", "20200101")},
    {"outside": "drop", "missing": True, "nulls": ("1", "1e3")},
    {"outside": "drop", "missing": False},
]


READ = [*((rules, True) for rules in KEEPING), *((rules, False) for rules in KEEPING[::-1])]
"""Texts as they stand, and read before."""


@pytest.mark.parametrize(("rules", "raw"), few(READ, usual=4), ids=str)
def test_every_text_agrees(engine: DuckDB, rules: dict[str, Any], *, raw: bool) -> None:
    agree(engine, of_every_kind(rules, FORMATS), TEXTS, raw=raw)


@pytest.mark.parametrize("rules", DROPPING, ids=str)
def test_every_text_is_dropped_alike(engine: DuckDB, rules: dict[str, Any]) -> None:
    for column in of_every_kind(rules, FORMATS[: effort(1, 3)]):
        agree(engine, [column], TEXTS, raw=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "bool"])
@pytest.mark.parametrize("rules", KEEPING, ids=str)
def test_every_number_agrees(engine: DuckDB, rules: dict[str, Any], dtype: str) -> None:
    numbers = np.array(FLOATS) if dtype.startswith("float") else np.array([0, 1, 3, 100])
    with np.errstate(over="ignore"):
        agree(engine, of_every_kind(rules, FORMATS[:1]), numbers.astype(dtype), raw=False)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("rules", KEEPING, ids=str)
def test_every_stamp_agrees(engine: DuckDB, rules: dict[str, Any], unit: str) -> None:
    values = np.array(marks(UNITS[unit])).astype(f"datetime64[{unit}]")
    agree(engine, of_every_kind(rules, FORMATS[:1]), values, raw=False)


@pytest.mark.parametrize("rules", KEEPING, ids=str)
def test_every_object_agrees(engine: DuckDB, rules: dict[str, Any]) -> None:
    values = np.empty(len(OBJECTS), dtype=object)
    for i, value in enumerate(OBJECTS):
        values[i] = value
    agree(engine, of_every_kind(rules, FORMATS[:2]), values, raw=False)


@pytest.mark.parametrize("rules", [*KEEPING, *DROPPING], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "object"])
def test_every_number_of_a_split_agrees(engine: DuckDB, rules: dict[str, Any], dtype: str) -> None:
    """Wages of 1940: 999998 is none, wherever it is read, and not one above the top."""
    parts: tuple[str, str] = ("hundreds", "rest")
    wage = Split(
        name="w", source=SOURCE, parts=parts, step=100, top=5000, max=999_997, special=(999_998,),
        **rules,
    )  # fmt: skip
    ends = [0, 99, 100, 4999, 5000, 999_997, 999_998, 999_999]
    whole = np.array([*range(-3, 403), *(e + d for e in ends for d in (-1, 0, 1)), 2**40])
    values = whole.astype(dtype) if dtype != "object" else whole.astype(str).astype(object)
    agree(engine, list(wage.modelled), values, raw=False)
    found = by_numpy(Schema("t", (wage,)), values)
    (place,) = np.flatnonzero(whole == 999_998)[-1:]
    assert found[int(place)] == (51, 100)


def test_no_list_is_a_join(engine: DuckDB) -> None:
    """Every join holds whole rows: of a wide table there would be one for every list and nulls."""
    column = Categorical(name="c", source=SOURCE, values=MANY)
    table = {SOURCE: np.array(MANY, dtype=object)}
    kinds = engine.attach(table, name="source", delimiter=",", quote_mark='"')
    query = encoder([column], kinds, table="source", dialect=engine.dialect)
    for name, listed in query.lists.items():
        engine.declare(name, listed)
    plan = engine.fetch(f"EXPLAIN {query.sql}")["explain_value"][0]
    for name in query.lists:
        engine.run(f"DROP TYPE {name}")
    engine.run("DROP VIEW source")
    assert "Projection" in plan
    assert "join" not in plan.casefold()


SPELLED = ("true", "True", "TRUE", "1", "1.0", "t", "false", "False", "0", "0.0", "yes", "", None)
QUOTED = ("it's", "''", "'", 'a "b" c', "'); DROP", "a\\'b", "{}", "{name}", "x\ny", ";", "--")
FOREIGN = ("é", "e\u0301", "É", "日本", "ß", "SS", "\U0001f600", "\u00a0", "ı", "I", "\ufeff")
MANY = tuple(f"{i:04}" for i in range(1200))
LISTS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "booleans": ((False, True), SPELLED),
    "booleans among others": (("red", True, 0.5, False, 7), (*SPELLED, "red", "0.5", "7", "7.00")),
    "both of a boolean and a number": ((True, 0), SPELLED),
    "quotes": (QUOTED, (*QUOTED, "its", "'it''s'")),
    "an empty text": (("a", "", "b"), ("a", "", " ", "b", None)),
    "only an empty text": (("",), ("", " ", "a", None)),
    "letters of all kinds": (FOREIGN, (*FOREIGN, "é ", "e", "ss", "i", "日")),
    "1,200 codes": (MANY, (*MANY, "1200", "1", "0001.0", "01", "")),
}


RULES = [("other", NULLS, True), ("drop", (), True), ("other", (), False)]
"""The rule for other values, the nulls, and whether texts are read as they stand."""


@pytest.mark.parametrize(
    ("outside", "nulls", "raw"),
    list(product(("other", "drop"), (NULLS, ()), (True, False))) if THOROUGH else RULES,
    ids=str,
)
@pytest.mark.parametrize("name", LISTS)
def test_every_list_agrees(
    engine: DuckDB, name: str, outside: Any, nulls: tuple[str, ...], *, raw: bool
) -> None:
    """A text is found by its place in a list: all spellings of a value have the value's code."""
    values, texts = LISTS[name]
    column = Categorical(name="c", source=SOURCE, values=values, outside=outside, nulls=nulls)
    agree(engine, [column], np.array(texts, dtype=object), raw=raw)


@pytest.mark.parametrize("name", ["booleans", "booleans among others"])
def test_booleans_in_a_list_agree(engine: DuckDB, name: str) -> None:
    column = Categorical(name="c", source=SOURCE, values=LISTS[name][0])
    agree(engine, [column], np.array([True, False, True]), raw=False)
    table = {SOURCE: np.array([True, False]), "row": np.arange(2)}
    codes = by_sql(engine, Schema("t", (column,)), table)
    assert codes == {i: (column.values.index(i == 0),) for i in (0, 1)}
