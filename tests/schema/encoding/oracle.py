"""Cells of every type, and the slow obvious reading of each."""

# ruff: noqa: DTZ001  most columns of date-times know no time zone
from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.audit.effort import THOROUGH
from tests.schema.encoders import SOURCE
from understudy.schema import Categorical, Column, DateTime, Integer, Numeric, Remainder
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from collections.abc import Callable

    Codes = list[tuple[int, ...]]
    Held = Callable[[list[Any], Any], Any]


RULES: dict[str, Any] = {"source": SOURCE, "outside": "other"}
LISTED = ["true", "0", "1", "1.5", "0.7", "0.1", "red", "2020-02-29", "2020-02-29 23:59:59", "90"]
EVERY: tuple[Column, ...] = (
    Categorical(name="listed", **RULES, values=(*LISTED, "1.50", "inf", "12:30:00", "é", "FF")),
    Categorical(name="truth", **RULES, values=("False", "True")),
    Categorical(name="other nulls", **RULES, values=("1",), nulls=("true", "0.7", "2020-02-29")),
    Integer(name="flag", **RULES, min=0, max=1),
    Integer(name="no -1", **RULES, min=-2, max=99, nulls=("-1", "true")),
    Numeric(name="bin", **RULES, edges=(-1.0, 0.0, 0.1, 0.7, 1.0, 1.5, 90.0, 1e300)),
    Remainder(name="left", **RULES, min=0, max=100, step=7),
    DateTime(name="month", **RULES, part="month"),
    DateTime(name="hour", **RULES, part="hour", format="%d/%m/%Y %H:%M"),
    DateTime(name="day", **RULES, part="day", format="%Y%m%d", nulls=("2020-02-29 23:59:59",)),
    DateTime(name="week", **RULES, part="weekday", nulls=("2020-02-29", "20200229")),
)
ASKED = ("listed", "other nulls", "no -1", "bin", "hour", "week")
"""A column of every kind of reading; to plan a query of all columns takes twice as long."""
COLUMNS = EVERY if THOROUGH else tuple(c for c in EVERY if c.name in ASKED)
LATE = dt.datetime(2020, 2, 29, 23, 59, 59, 999_999)
LEAP = dt.date(2020, 2, 29)
BINARY = [b"red", b"\xff", " é".encode(), b"1.0", b""]
TEXTS = [
    *("red", " red ", "True", "TRUE", "false", "1", "1.0", "-0", "-0.0", "01", "1.5", "1e0", "0.7"),
    *("inf", "-Infinity", "NaN", "", "NA", "2020-02-29", "2020-02-29 23:59:59", "29/02/2020 23:59"),
    *("2020-02-29T23:59:59Z", "20200229", "2020-02-30", "12:30:00", "é", "x" * 70_000, "a\x00b"),
]


def oracle(values: list[Any]) -> Codes:
    """Read each cell by itself, as its text."""
    found: Codes = []
    for value in values:
        alone = np.array([reading.text(value)], dtype=object)
        found.append(tuple(int(column.encode(alone)[0]) for column in COLUMNS))
    return found
