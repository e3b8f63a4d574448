"""What a declaration may not say: each refusal tells what was asked, got and allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from understudy.errors import SchemaError
from understudy.schema import (
    Categorical,
    Column,
    Compound,
    DateTime,
    Declaration,
    Integer,
    Numeric,
    Released,
)
from understudy.schema.columns import KINDS
from understudy.schema.encoding.calendar import compile_format
from understudy.schema.encoding.dialect import literal

if TYPE_CHECKING:
    from collections.abc import Callable

NAN = float("nan")
INF = float("inf")


@pytest.mark.parametrize(
    ("make", "outside", "allowed"),
    [
        (Categorical, "nearest", "'other', 'drop'"),
        (Categorical, "keep", "'other', 'drop'"),
        (Integer, "clip", "'nearest', 'other', 'drop'"),
        (Numeric, "", "'nearest', 'other', 'drop'"),
        (DateTime, "last", "'nearest', 'other', 'drop'"),
    ],
)
def test_unknown_rules(make: Callable[..., object], outside: str, allowed: str) -> None:
    needed: dict[object, dict[str, Any]] = {
        Categorical: {"values": ("a",)},
        Integer: {"min": 0, "max": 1},
        Numeric: {"edges": (0.0, 1.0)},
        DateTime: {"part": "hour"},
    }
    with pytest.raises(SchemaError) as caught:
        make(name="price", outside=outside, **needed[make])
    assert caught.value.what == "column 'price': unknown rule for values outside the domain"
    assert caught.value.got == repr(outside)
    assert caught.value.allowed == allowed


@pytest.mark.parametrize("values", [(), (NAN,), ("a", NAN)], ids=str)
def test_lists_without_values(values: tuple[Any, ...]) -> None:
    with pytest.raises(SchemaError) as caught:
        Categorical(name="colour", values=values)
    assert caught.value.what == "column 'colour' has no values, or an invalid one"
    assert caught.value.allowed == "at least one value, and no NaN"


@pytest.mark.parametrize(
    "values", [("a", "a"), (1, "1"), (1, 1.0), ("a", " a"), (True, "true"), (0.0, -0.0)], ids=str
)
def test_lists_with_a_value_twice(values: tuple[Any, ...]) -> None:
    with pytest.raises(SchemaError) as caught:
        Categorical(name="colour", values=values)
    assert caught.value.what == "column 'colour' has duplicate values"
    assert caught.value.hint == "1, '1' and 1.0 are the same value"


@pytest.mark.parametrize("value", ["b", 2, "", 1.5])
def test_a_missing_value_that_is_not_listed(value: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Categorical(name="colour", values=("a", 1), missing_value=value)
    assert caught.value.what == "column 'colour': missing_value is not in values"
    assert caught.value.got == value


@pytest.mark.parametrize(
    ("ends", "rules"),
    [
        ((1, 0), {}),
        ((0, 2**31 - 1), {"missing": False}),
        ((0, 2**31 - 2), {"missing": True}),
        ((0, 2**31 - 3), {"missing": True, "outside": "other"}),
        ((2**52 - 1, 2**52), {}),
        ((-(2**52), 0), {}),
        ((10**400, 10**400), {}),
    ],
    ids=["empty", "long", "long with missing", "long with other", "high", "low", "far"],
)
def test_ranges(ends: tuple[int, int], rules: dict[str, Any]) -> None:
    with pytest.raises(SchemaError) as caught:
        Integer(name="age", min=ends[0], max=ends[1], **rules)
    error = caught.value
    assert error.what == "column 'age': the range is empty, too long or too far from 0"
    assert error.got == f"{ends[0]} to {ends[1]}"
    assert error.allowed == "min <= max, fewer than 2^31 codes, and ends between -2^52 and 2^52"
    assert error.hint == "for a long range, declare a numeric column with bins"


def test_the_longest_range_is_allowed() -> None:
    longest = Integer(name="age", min=0, max=2**31 - 4, outside="other")
    values = np.array([0, 2**31 - 4, 2**31, np.nan])
    codes = longest.encode(values)
    assert codes.tolist() == [0, 2**31 - 4, 2**31 - 2, 2**31 - 3]


@pytest.mark.parametrize(
    "edges", [(), (1.0,), (1.0, 1.0), (0.0, -0.0), (0.0, 2.0, 1.0), (0.0, INF), (NAN, 1.0)], ids=str
)
def test_edges(edges: tuple[float, ...]) -> None:
    with pytest.raises(SchemaError) as caught:
        Numeric(name="fare", edges=edges)
    assert caught.value.what == "column 'fare': edges must be finite and increasing"
    assert caught.value.got == f"{len(edges)} edges"
    assert caught.value.allowed == "at least two edges, each above the one before"


@pytest.mark.parametrize(
    "edges", [(0.1, 0.9), (0.0, 0.5, 0.9), (0.5, 1.0, 2.0), (0.0, 1e19), (-1e19, 0.0)], ids=str
)
def test_bins_without_whole_numbers(edges: tuple[float, ...]) -> None:
    Numeric(name="fare", edges=edges)
    with pytest.raises(SchemaError) as caught:
        Numeric(name="fare", edges=edges, whole=True)
    assert caught.value.what == "column 'fare': a bin contains no 64-bit integer"
    assert caught.value.allowed == "bins that contain integers between -2^63 and 2^63"


@pytest.mark.parametrize(
    ("special", "got"),
    [
        ((1.0,), "1"),
        ((99.0, 4.0, -1.0), "99, 4, -1"),
        ((9.0,), "9"),
        ((4.5,), "4.5"),
        ((99.0, 99.0), "99, 99"),
        ((0.0, -0.0), "0, -0"),
        ((INF,), "inf"),
        ((-INF,), "-inf"),
        ((NAN, 99.0), "nan, 99"),
        ((2.0**52,), "4.5036e+15"),
        ((-(2.0**52),), "-4.5036e+15"),
        ((1e300,), "1e+300"),
    ],
    ids=str,
)
@pytest.mark.parametrize("whole", [False, True])
def test_special_values_that_cannot_be(
    special: tuple[float, ...], got: str, *, whole: bool
) -> None:
    with pytest.raises(SchemaError) as caught:
        Numeric(name="fare", edges=(1.0, 5.0, 9.0), special=special, whole=whole)
    error = caught.value
    assert error.what == "column 'fare': special values must be distinct numbers outside the bins"
    assert error.got == got
    assert error.allowed == "numbers between -2^52 and 2^52, whole if the column is"
    assert error.hint == "a special value within the range can have its own bin, by its edges"


def test_special_values_of_whole_numbers_are_whole() -> None:
    Numeric(name="fare", edges=(0.0, 9.0), special=(-0.5,))
    with pytest.raises(SchemaError) as caught:
        Numeric(name="fare", edges=(0.0, 9.0), special=(99.0, -0.5), whole=True)
    assert caught.value.what == (
        "column 'fare': special values must be distinct numbers outside the bins"
    )
    assert caught.value.got == "99, -0.5"


def test_special_values_may_be_written_without_a_point() -> None:
    column = Numeric(name="fare", edges=(0, 9), special=(99, -1), whole=True)
    assert column.encode(np.array([99, -1, 5])).tolist() == [1, 2, 0]


@pytest.mark.parametrize("told", ["groups", "names"])
@pytest.mark.parametrize("listed", [("x",), ("x", "y", "z")], ids=str)
def test_groups_and_names_of_other_values(told: str, listed: tuple[str, ...]) -> None:
    with pytest.raises(SchemaError) as caught:
        Categorical(name="city", values=("a", "b"), **{told: listed})  # type: ignore[arg-type]
    assert caught.value.what == f"column 'city': {told} must have one entry per value"
    assert caught.value.got == f"{len(listed)} for 2 values"


def test_unknown_parts() -> None:
    with pytest.raises(SchemaError) as caught:
        DateTime(name="when", part="fortnight")
    assert caught.value.what == "column 'when': unknown date-time part"
    assert caught.value.got == "'fortnight'"
    assert caught.value.allowed is not None
    assert caught.value.allowed.startswith("year, quarter, month, day, weekday, hour")


@pytest.mark.parametrize("part", ["year", "date", "week", "month_index"])
@pytest.mark.parametrize("ends", [{}, {"min": 0}, {"max": 0}], ids=str)
def test_parts_that_need_ends(part: str, ends: dict[str, Any]) -> None:
    with pytest.raises(SchemaError) as caught:
        DateTime(name="when", part=part, **ends)
    assert caught.value.what == f"column 'when': part {part!r} needs min and max"
    assert caught.value.hint == "the calendar does not define where your table begins and ends"


def test_a_part_whose_ends_are_the_wrong_way_round() -> None:
    with pytest.raises(SchemaError, match="the range is empty"):
        DateTime(name="when", part="year", min=2020, max=2019)


@pytest.mark.parametrize(
    "written",
    [
        *("%Y-%m-%d %Q", "%Y-%m-%d %", "%Y-%m-%d %%", "%Y-%m-%d%\n", "%A %d %m %Y"),
        *("%Y %Y %m %d", "%Y %y %m %d", "%m %b %d %Y", "%d %m %Y %H %I %p"),
    ],
)
def test_formats_that_cannot_be_read(written: str) -> None:
    with pytest.raises(SchemaError) as caught:
        DateTime(name="when", part="hour", format=written)
    assert caught.value.what == "invalid date-time format"
    assert caught.value.got == repr(written)
    assert caught.value.allowed is not None
    assert "%Y %y %m %b %d" in caught.value.allowed
    assert caught.value.allowed.endswith("one of %Y %y, of %m %b and of %H %I")


@pytest.mark.parametrize("kind", ["timestamp", "datetime", "text"])
def test_seconds_since_1970_have_no_format_and_a_hint_says_what_to_do(kind: str) -> None:
    ends = {"min": "2024-01-01", "max": "2024-12-31"}
    more: dict[str, Any] = {"timestamp": ends, "datetime": {"part": "hour"}, "text": {}}[kind]
    declared: Any = KINDS[kind]
    with pytest.raises(SchemaError) as caught:
        declared(name="ts", format="%s", **more)
    assert caught.value.what == "column 'ts': seconds since 1970 have no format of a date-time"
    assert caught.value.got == "'%s'"
    assert caught.value.hint is not None
    assert 'pandas.to_datetime(column, unit="s")' in caught.value.hint
    assert "declare the column numeric" in caught.value.hint


@pytest.mark.parametrize(
    "written", ["", "%H:%M", "%m/%d", "%Y-%m", "%Y %d", "[%Y] %m %d", "%Y\\%m\\%d", "%Y\x00%m%d"]
)
def test_formats_that_name_no_date(written: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_format(written)
    assert caught.value.what == "the date-time format has no full date"
    assert caught.value.got == repr(written)
    assert caught.value.allowed == "a year, a month and a day, with plain characters between them"


def test_sql_takes_no_text_with_a_nul() -> None:
    with pytest.raises(SchemaError, match=r"^a declared value contains a NUL character$"):
        literal("a\x00b")


def test_what_all_columns_share_is_no_column_itself() -> None:
    kinds: list[Any] = [Declaration, Released, Compound, Column]
    for shared in kinds:
        with pytest.raises(TypeError, match="abstract"):
            shared(name="x")


@pytest.mark.parametrize(("digits", "whole"), [(-1, False), (13, False), (2, True)])
def test_digits_are_decimals_of_numbers_that_are_not_whole(digits: int, whole: bool) -> None:
    with pytest.raises(SchemaError, match="digits are the decimals"):
        Numeric(name="fare", edges=(0.0, 10.0), digits=digits, whole=whole)
