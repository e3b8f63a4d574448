"""Both encoders, and columns and cells of every kind to try them on."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from understudy.engine import DuckDB, Engine
from understudy.schema import (
    Array,
    Categorical,
    Column,
    DateTime,
    Integer,
    Numeric,
    Remainder,
    Schema,
)
from understudy.schema.columns import LARGEST, NULLS
from understudy.schema.sql import encoder

SOURCE = 'an "odd" {name}, it\'s'
Rows = dict[int, tuple[int, ...]]
NUMBERS = [
    *("0", "1", "-1", "1.0", " 1", "1 ", "+1", "1e3", "1E+3", ".5", "5.", "0.5", "1.5", "-0.5"),
    *("2.500", "-0", "-0.0", "00", "01", "1_000", "1,000", "0x10", "1e", "e1", ".", "+", "--1"),
    *("inf", "-Infinity", "+INF", "infinit", "nan", "NaN", "-nan", "NAN", "1e400", "-1e400"),
    *("1e-400", "5e-324", "0e9", "9" * 400, "0." + "3" * 900, "1" + "0" * 320 + "e-320"),
    *("9007199254740993", "9007199254740993.0", "1.7976931348623157e308", "4503599627370497"),
    *("１", "١", "१.०", "½", "1\n", "\t1", "\u00a01", "\u30001", "1\x00", "\x001", "1.0\n"),
    *("true", "True", "2.0.0", "1.", "-1.00", "1/2", "1 000", "12:30", "0b1", "1f", "1d"),
]
MOMENTS = [
    *("2020-02-29", "2021-02-29", "1900-02-29", "2000-02-29", "2020-13-01", "2020-00-10"),
    *("2020-01-00", "2020-01-32", "2020-04-31", "0000-01-01", "0001-01-01", "9999-12-31"),
    *("1969-12-31T23:59:59", "1970-01-01 00:00:00", "1899-12-31 23:59", "2020-1-1", "20200101"),
    *("2020-01-01T24:00:00", "2020-01-01T23:59:60", "2020-01-01T23:60", "2020-01-01T12"),
    *("2020-01-01 12:30", "2020-01-01T12:30:59.999999999", "2020-01-01 12:30:59.", "2020-01-01T"),
    *("2020-06-30T23:59:59Z", "2020-06-30T23:59:59z", "2020-06-30 23:59:59+05:30"),
    *("2020-01-01T00:00-0800", "2020-01-01T00:00:00.5+14:00", "2020-01-01+01:00", "2020-01-01Z"),
    *("9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+99:99", "2020-01-01T00:00:00 Z"),
    *("02/03/2020 12:00:00 AM", "2/3/2020 12:00:00 pm", "02/03/2020 01:02:03 PM"),
    *("02/03/2020 00:00:00 AM", "02/03/2020 13:00:00 PM", "02/30/2020 01:00:00 PM"),
    *("02/03/2020 1:2:3 aM", "02/03/2020 01:02:03", "02/03/2020 01:02:03 XM", "2/3/20"),
    *("3 Feb 2020", "03 FEB 2020", "31 Sep 2020", "1 anf 2020", "30 sept 2020", "1 Mai 2020"),
    *("1/2/69", "1/2/68", "31/12/99", "1/2/00", "1122020", "11122020", "2020.03.04", "04'03 2020"),
    *("13 PM 03 02 2020", "1 pm 3 2 2020", "Feb03(20)", "feb3(68)", "Feb03[20]"),
    *("２０２０-01-01", "2020-01-01\n", " 2020-01-01 ", "-2020-01-01", "12020-01-01", "20200230"),
]
FORMATS = [
    *(None, "%m/%d/%Y %I:%M:%S %p", "%d %b %Y", "%d/%m/%y", "%Y%m%d", "%d%m%Y", "%Y.%m.%d"),
    *("%d'%m %Y", "%Y-%m-%dT%H:%M:%S.%f%z", "%m/%d/%Y %I:%M:%S", "%H %p %d %m %Y", "%b%d(%y)"),
]
NULL_TEXTS = [*NULLS, "-1", "1.0", "0.5", " NA ", "1e3", "inf", "0", "-9.90", "true", "x'y", "é"]
NULL_TEXTS += ["2020-01-01 00:00:00", "1970-01-01 00:00:00", "20200101", "9" * 30]
SPOKEN = ["red", " blue", "Red", "ß", "(other)", "it's", "a\x00b", "\u00a0red", "red\n", "\tred"]
FLOATS = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.1, 0.7, 1e300, -1e300, 5e-324, 1e-310, 1e16]
FLOATS += [
    float("nan"),
    float("inf"),
    -float("inf"),
    2.0**53,
    1e15,
    2.0**52 + 1,
    0.49999999999999994,
]
UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
SECONDS = [0, -1, -2208988800, -2208985077, -62135596800, -62135596801, 253402300799, 253402300800]


def marks(a_second: int) -> list[int]:
    """Count units of so many a second to the ends of the calendar and about; NaT is the last."""
    near = [s * a_second + d for s in SECONDS for d in (-1, 0, 1, a_second - 1)]
    ends = [n for k in range(3) for n in (2**63 - 1 - k, 1 - 2**63 + k)]
    return [*(n for n in near if abs(n) < 2**63), *ends, -(2**63)]


def nulls() -> st.SearchStrategy[tuple[str, ...]]:
    some = st.lists(st.sampled_from([*NULL_TEXTS, "\ud800"]), max_size=4).map(tuple)
    return st.one_of(st.just(NULLS), st.just(()), some)


def by_numpy(schema: Schema, values: Array) -> Rows:
    codes, kept = schema.encode({SOURCE: values})
    rows = zip(*(code.tolist() for code in codes.values()), strict=True)
    return dict(zip(np.flatnonzero(kept).tolist(), rows, strict=True))


def by_sql(engine: Engine, schema: Schema, table: Any) -> Rows:
    kinds = engine.attach(table, name="source", delimiter=",", quote_mark='"')
    query = encoder(
        schema.modelled, kinds, table="source", dialect=engine.dialect, extra={"row": 's."row"'}
    )
    try:
        for name, listed in query.lists.items():
            engine.declare(name, listed)
        found = engine.fetch(query.sql)
    finally:
        if isinstance(engine, DuckDB):
            for name in query.lists:
                engine.run(f"DROP TYPE IF EXISTS {name}")
            engine.run("DROP VIEW source")
    rows = zip(*(found[c.name].tolist() for c in schema.modelled), strict=True)
    return dict(zip(found["row"].tolist(), rows, strict=True))


KEEPING: list[dict[str, Any]] = [
    {"outside": "nearest", "missing": True},
    {"outside": "other", "missing": True, "nulls": ("1.0", "inf", " 01 ", "red ")},
    {"outside": "other", "missing": False, "nulls": ()},
]
SPECIAL = (0.5, 0.0, 1.0, 1e3, -0.5, LARGEST - 1.0)
"""Numbers below all bins, above them and far off, and some that are a null by some rules."""
WHOLE = (0, 1, 100, 1000, LARGEST - 1)
LISTED = ("red", 1, 0.5, "inf", "1e3", "２０２０-01-01", "\u00a0red", "", "2020-02-29", True)
BEGINNINGS = ("2020-02", "２０", "202", "1", "re", 2, "-", "(", "\u00a0r", "日", "NA", True)
"""Some are prefixes of cells, some would be if it were not for their length or spelling."""


def of_every_kind(rules: dict[str, Any], formats: list[str | None]) -> list[Column]:
    """Declare a column of every kind, and a date-time of every format, by the same rules."""
    made: list[Column] = [
        Integer(name="i", source=SOURCE, min=-1, max=3, **rules),
        Numeric(name="n", source=SOURCE, edges=(-1.0, 0.0, 0.5, 1.0, 1e3, 1e300), **rules),
        Numeric(name="s", source=SOURCE, edges=(1.5, 2.0, 9.0), special=SPECIAL, **rules),
        Remainder(name="r", source=SOURCE, step=3, min=-4, max=999, **rules),
        Remainder(name="q", source=SOURCE, step=7, min=2, max=50, special=WHOLE, **rules),
    ]
    if rules["outside"] != "nearest":
        made.append(Categorical(name="c", source=SOURCE, values=LISTED, **rules))
        made.append(
            Categorical(name="p", source=SOURCE, values=BEGINNINGS, prefixes=(7, 4, 2, 1), **rules)
        )
    for i, written in enumerate(formats):
        for part, ends in (("year", (1900, 2020)), ("hour", (0, 23)), ("date", (-30000, 30000))):
            end = {"min": ends[0], "max": ends[1], "format": written, **rules}
            made.append(DateTime(name=f"{part} {i}", source=SOURCE, part=part, **end))
    return made


TEXTS = np.array([None, *NUMBERS, *MOMENTS, *NULL_TEXTS, *SPOKEN], dtype=object)
