"""What a raw value is taken to mean: its text, its number, its moment and that moment's parts."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.audit.effort import effort
from understudy.schema.encoding import reading
from understudy.schema.encoding.calendar import PARTS

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
PROPERTY = settings(max_examples=effort(30, 100), deadline=None, database=None, derandomize=True)


def objects(*values: object) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out


class Unwritable:
    """An object whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError


class Incomparable:
    """An object that cannot be compared with itself."""

    __hash__ = None  # type: ignore[assignment]  # nor hashed

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __str__(self) -> str:
        return "me"


@pytest.mark.parametrize(
    "value",
    [1, "1", 1.0, " 1.0", "1 ", "1.000", b"1", b" 1.0 ", np.int8(1), np.float32(1), Decimal("1.0")],
    ids=repr,
)
def test_one_is_one_however_written(value: object) -> None:
    assert reading.text(value) == "1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (np.bool_(False), "false"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (np.float32(0.1), "0.1"),
        (np.float16(0.1), "0.09997559"),
        (np.longdouble("1e4000"), "inf"),
        (2.0**53 - 1, "9007199254740991"),
        (2.0**53, "9007199254740992"),
        (-9999999999999998.0, "-9999999999999998"),
        (1e16, "1e+16"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        ("01", "01"),
        ("+1", "+1"),
        ("1e3", "1e3"),
        ("1.", "1."),
        ("\t1", "\t1"),
        ("1\n", "1\n"),
        ("\u00a01", "\u00a01"),
        ("", ""),
        ("  ", ""),
        (b"\xff", "FF"),
        ("\ud800", "\\ud800"),
        (Incomparable(), "me"),
        ([1], "[1]"),
        (np.array([1, 2]), "[1 2]"),
        (dt.date(2020, 2, 3), "2020-02-03"),
        (np.datetime64("2020-02-03"), "2020-02-03"),
        (np.datetime64("2020-02"), "2020-02-01"),
        (np.datetime64("2020-02-03T00"), "2020-02-03 00:00:00"),
        (dt.datetime(2020, 2, 3, 4, 5, 6, 7, tzinfo=dt.UTC), "2020-02-03 04:05:06"),
        (
            dt.datetime(2020, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=-3))),
            "2020-02-03 03:00:00",
        ),
        (dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-3))), None),
        (dt.time(1, 2, 3, 4), "01:02:03"),
        (dt.timedelta(days=1, milliseconds=500), "86400.5"),
        (np.timedelta64(1500, "ms"), "1.5"),
        (np.timedelta64(2, "W"), "1209600"),
        (np.timedelta64(1, "M"), None),
        (np.timedelta64("NaT"), None),
        (Decimal("1E+2"), "100"),
        (Decimal("sNaN"), None),
        (Decimal("-0.00"), "0"),
        ("-0.0", "0"),
        ("-0", "0"),
        ("-05.0", "-05"),
        (np.datetime64("2020-02-03T04:05:06.789"), "2020-02-03 04:05:06"),
        (np.datetime64("-0044-03-15"), None),
        (np.datetime64("NaT"), None),
        (None, None),
        (float("nan"), None),
        (Decimal("NaN"), None),
    ],
    ids=str,
)
def test_text(value: object, text: str | None) -> None:
    assert reading.text(value) == text


@PROPERTY
@given(st.one_of(st.floats(), st.integers(), st.text(), st.booleans(), st.binary(), st.none()))
def test_the_text_of_a_text_is_itself(value: object) -> None:
    # So a value may be declared by its text, and a table's texts be read twice.
    text = reading.text(value)
    assert reading.text(text) == text


def test_what_cannot_be_written_is_the_empty_text() -> None:
    # Python itself refuses to write a number of so many digits.
    assert [reading.text(Unwritable()), reading.text(10**5000)] == ["", ""]


def test_the_na_of_pandas_is_absent() -> None:
    assert reading.text(pd.NA) is None
    assert reading.text(pd.NaT) is None


@pytest.mark.parametrize("dtype", ["i1", "u8", "f4", "f8", "M8[s]", "M8[us]", "?", "U9", "S9", "O"])
def test_an_array_reads_as_its_values_do(dtype: str) -> None:
    values = np.array([0, 1, 100], dtype="i8").astype(dtype)
    assert reading.texts(values).tolist() == [reading.text(v) for v in values]


def test_equal_values_keep_their_own_texts() -> None:
    # What one row reads must not depend on the rows before it.
    pairs = [(Decimal("1.5"), Decimal("1.50")), ((1,), (1.0,)), (1, True), (0, False)]
    for first, second in pairs:
        texts = reading.texts(objects(first, second)).tolist()
        assert texts == reading.texts(objects(second, first)).tolist()[::-1]
        assert texts[0] != texts[1]


@PROPERTY
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_a_short_float_is_near_its_text(values: list[float]) -> None:
    short = np.array(values, dtype=np.float32)
    read, absent = reading.numbers(short, ())
    assert not absent.any()
    assert [float(t) for t in reading.texts(short)] == read.tolist()
    exact = short.astype(np.float64)
    assert np.all(np.abs(read - exact) <= 5e-7 * np.abs(exact) + 1e-51)
    whole = np.floor(exact) == exact
    assert np.array_equal(read[whole], exact[whole])


def test_numbers_of_texts() -> None:
    texts = [
        "1",
        " 1.50 ",
        "+1",
        "1e3",
        ".5",
        "5.",
        "-Infinity",
        "1e400",
        "0x10",
        "1_0",
        "１",
        "nan",
    ]
    read, absent = reading.numbers(objects(*texts, None, "NA"), ("NA",))
    wanted = [1, 1.5, 1, 1000, 0.5, 5, -np.inf, np.inf, *[np.nan] * 6]
    assert np.array_equal(read, np.array(wanted), equal_nan=True)
    assert absent.tolist() == [False] * 12 + [True] * 2


@pytest.mark.parametrize("dtype", ["i8", "f4", "f8", "O"])
def test_a_null_that_is_a_number_is_one_in_every_array(dtype: str) -> None:
    values = np.array([-1, 0, 7]).astype(dtype)
    read, absent = reading.numbers(values, ("-1.0", "x", "7"))
    assert absent.tolist() == [True, False, True]
    assert read.tolist() == [-1.0, 0.0, 7.0]


def test_numbers_of_booleans_and_moments() -> None:
    assert reading.numbers(np.array([True, False]), ())[0].tolist() == [1.0, 0.0]
    read, absent = reading.numbers(np.array(["2020-01-01", "NaT"], dtype="M8[s]"), ())
    assert np.isnan(read).all()
    assert absent.tolist() == [False, True]


def test_null_numbers() -> None:
    assert reading.null_numbers(("1", "1.0", "NA", "", "-inf")) == [-np.inf, 1.0]


UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


@pytest.mark.parametrize("unit", UNITS)
def test_seconds_are_rounded_down(unit: str) -> None:
    a_second = UNITS[unit]
    counts = [n * a_second + d for n in (-2, -1, 0, 1) for d in {0, a_second - 1}]
    read, absent = reading.seconds(np.array(counts).astype(f"M8[{unit}]"), None, ())
    assert read.tolist() == [count // a_second for count in counts]
    assert not absent.any()


@pytest.mark.parametrize(
    "value",
    [
        np.datetime64("0000-12-31T23:59:59"),
        np.datetime64("10000-01-01T00:00:00"),
        np.datetime64(2**62, "D"),
        np.datetime64(2**63 - 1, "ns"),
        np.datetime64("NaT", "us"),
    ],
    ids=str,
)
def test_a_stamp_out_of_the_calendar_is_absent(value: np.datetime64) -> None:
    read, absent = reading.seconds(np.array([value]), None, ())
    assert np.isnan(read).all()
    assert absent.all()


@pytest.mark.parametrize(
    ("text", "written", "moment"),
    [
        ("2020-02-29", None, "2020-02-29T00:00:00"),
        ("2020-02-29 12:30", None, "2020-02-29T12:30:00"),
        ("2020-02-29T12:30:59.999999999", None, "2020-02-29T12:30:59"),
        ("2020-02-29T12:30:59Z", None, "2020-02-29T12:30:59"),
        ("2020-03-01T00:30:00+01:00", None, "2020-02-29T23:30:00"),
        ("2020-02-29T23:30:00-0130", None, "2020-03-01T01:00:00"),
        ("0001-01-01", None, "0001-01-01T00:00:00"),
        ("9999-12-31T23:59:59", None, "9999-12-31T23:59:59"),
        ("02/29/2020 12:00:00 AM", "%m/%d/%Y %I:%M:%S %p", "2020-02-29T00:00:00"),
        ("2/9/2020 12:00:00 pm", "%m/%d/%Y %I:%M:%S %p", "2020-02-09T12:00:00"),
        ("2/9/2020 1:02:03 Pm", "%m/%d/%Y %I:%M:%S %p", "2020-02-09T13:02:03"),
        ("1/2/68", "%d/%m/%y", "2068-02-01T00:00:00"),
        ("1/2/69", "%d/%m/%y", "1969-02-01T00:00:00"),
        ("20200229", "%Y%m%d", "2020-02-29T00:00:00"),
    ],
)
def test_moments_read_from_texts(text: str, written: str | None, moment: str) -> None:
    read, _ = reading.seconds(objects(text), written, ())
    assert read.tolist() == [np.datetime64(moment, "s").astype(np.int64)]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *((t, None) for t in ("2021-02-29", "2020-13-01", "2020-01-01T24:00", "2020-01-01T12")),
        *((t, None) for t in ("2020-01-01T00:00:60", "0000-01-01", "2020-1-1", "20200101", "x")),
        *((t, None) for t in ("２０２０-01-01", "2020-01-01\n", "2020-01-01T00:60", "", "NaT")),
        ("02/03/2020 13:00:00 PM", "%m/%d/%Y %I:%M:%S %p"),
        ("02/03/2020 00:00:00 AM", "%m/%d/%Y %I:%M:%S %p"),
        ("31 Sep 2020", "%d %b %Y"),
        ("1 anf 2020", "%d %b %Y"),
    ],
)
def test_what_is_no_moment_is_invalid(text: str, written: str | None) -> None:
    read, absent = reading.seconds(objects(text, None, "?"), written, ("?",))
    assert np.isnan(read).all()
    assert absent.tolist() == [False, True, True]


def test_months_have_their_english_names() -> None:
    days = [dt.date(2021, month, 1) for month in range(1, 13)]
    read, _ = reading.seconds(objects(*(f"{d:%d %b %Y}" for d in days)), "%d %b %Y", ())
    assert reading.part(read, "month").tolist() == list(range(1, 13))


def obvious(moment: dt.datetime, part: str) -> int:
    """Take a part by Python's own calendar."""
    days = (moment.date() - EPOCH.date()).days
    monday = moment.date() - dt.timedelta(days=moment.weekday())
    return {
        "year": moment.year,
        "quarter": (moment.month + 2) // 3,
        "month": moment.month,
        "day": moment.day,
        "weekday": moment.weekday(),
        "hour": moment.hour,
        "minute": moment.minute,
        "date": days,
        # The week of 1 January 1970, a Thursday, is week 0 and began on Monday 29 December.
        "week": (monday - dt.date(1969, 12, 29)).days // 7,
        "month_index": (moment.year - 1970) * 12 + moment.month - 1,
    }[part]


MONDAYS = dt.datetime(1, 1, 8), dt.datetime(9999, 12, 31)  # noqa: DTZ001  hypothesis wants them so


@PROPERTY
@given(st.lists(st.datetimes(*MONDAYS, timezones=st.just(dt.UTC)), min_size=1, max_size=20))
def test_parts_are_those_of_pythons_calendar(moments: list[dt.datetime]) -> None:
    whole = [m.replace(microsecond=0) for m in moments]
    read = np.array([(m - EPOCH).total_seconds() for m in whole])
    for part in PARTS:
        assert reading.part(read, part).tolist() == [obvious(m, part) for m in whole], part


def test_parts_of_nothing_are_nothing() -> None:
    for part in PARTS:
        assert np.isnan(reading.part(np.array([np.nan]), part)).all()


def test_narrow_keeps_whole_numbers_whole() -> None:
    codes = np.array([1, 0], dtype=np.int32)
    assert reading.narrow([5, 7], codes).dtype == np.int64
    assert reading.narrow([5, 7, None], codes).tolist() == [7, 5]
    assert reading.narrow([5, None], codes).tolist() == [None, 5]
    assert reading.narrow([-1, 2**63], codes).tolist() == [2**63, -1]
    assert reading.narrow([True, "x"], codes).tolist() == ["x", True]
