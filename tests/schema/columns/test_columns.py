"""Columns: how many codes they have, where each value goes, and what comes back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.audit.effort import effort
from understudy.schema import Categorical, Column, DateTime, Integer, Numeric, Remainder
from understudy.schema.columns import LARGEST
from understudy.schema.columns.column import DROP
from understudy.schema.encoding import reading
from understudy.schema.encoding.calendar import PARTS

PROPERTY = settings(max_examples=effort(30, 80), deadline=None, database=None, derandomize=True)
NAN = float("nan")


def objects(*values: object) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def rng() -> np.random.Generator:
    return np.random.default_rng(20200229)


# --- sizes and labels ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "size"),
    [
        (Categorical(name="c", values=("a", "b")), 4),
        (Categorical(name="c", values=("a", "b"), missing=False), 3),
        (Categorical(name="c", values=("a", "b"), outside="drop"), 3),
        (Categorical(name="c", values=("a", "b"), outside="drop", missing=False), 2),
        (Categorical(name="c", values=("a", "b"), other="c"), 4),
        (Categorical(name="c", values=("a", "b"), other="b"), 3),
        (Categorical(name="c", values=("a", "b"), other="b", outside="drop"), 3),
        (Categorical(name="c", values=(-1, 1), missing_value=-1), 3),
        (Categorical(name="c", values=(-1, 1), missing_value=-1, other=1), 2),
        (Categorical(name="c", values=(-1, 1), missing_value=-1, missing=False), 3),
        (Integer(name="i", min=0, max=0), 2),
        (Integer(name="i", min=-3, max=3, outside="other"), 9),
        (Integer(name="i", min=-3, max=3, missing=False), 7),
        (Numeric(name="n", edges=(0.0, 1.0, 2.0)), 3),
        (Numeric(name="n", edges=(0.0, 1.0), outside="other", missing=False), 2),
        (Numeric(name="n", edges=(0.0, 1.0, 2.0), special=(9.0, -0.5)), 5),
        (Numeric(name="n", edges=(0.0, 1.0), special=(9.0,), outside="other", top_coded=True), 4),
        (Categorical(name="c", values=("a", "b"), groups=("x", "")), 4),
        (Remainder(name="r", step=3, min=0, max=9), 4),
        (Remainder(name="r", step=3, min=0, max=10, special=(-5, 99), outside="other"), 6),
        (DateTime(name="d", part="hour"), 25),
        (DateTime(name="d", part="weekday", missing=False), 7),
        (DateTime(name="d", part="year", min=1999, max=2001, outside="other"), 5),
    ],
    ids=repr,
)
def test_size(column: Column, size: int) -> None:
    assert column.size == size
    labels = column.labels()
    assert len(labels) == size
    assert len(set(labels)) == size
    ends = (column.if_missing, column.if_invalid)
    assert all(DROP <= code < size for code in ends)


def test_labels_are_for_people() -> None:
    colour = Categorical(name="c", values=("red", 2.0, True))
    assert colour.labels() == ["red", "2", "true", "(missing)", "(other)"]
    fare = Numeric(name="n", edges=(0.0, 0.5, 1e6), outside="other")
    assert fare.labels() == ["[0, 0.5)", "[0.5, 1e+06]", "(missing)", "(other)"]
    income = Numeric(name="n", edges=(0.0, 5e3, 9e5), special=(999_998.0, -0.25), missing=False)
    assert income.labels() == ["[0, 5000)", "[5000, 900000]", "999998", "-0.25"]
    age = Integer(name="i", min=-1, max=1, missing=False)
    assert age.labels() == ["-1", "0", "1"]
    year = DateTime(name="d", part="year", min=1999, max=2000, missing=False)
    assert year.labels() == ["1999", "2000"]
    month = DateTime(name="d", part="month_index", min=-1, max=1)
    assert month.labels() == ["1969-12", "1970-01", "1970-02", "(missing)"]


@pytest.mark.parametrize("part", [p for p, ends in PARTS.items() if None not in ends])
def test_the_calendar_gives_the_ends_of_a_part(part: str) -> None:
    column = DateTime(name="d", part=part, missing=False)
    assert (column.min, column.max) == PARTS[part]
    assert column.size == column.values_count == len(column.labels())


def test_a_column_is_found_by_its_own_name_or_its_source() -> None:
    assert Integer(name="i", min=0, max=1).table_column == "i"
    assert Integer(name="i", source="s", min=0, max=1).table_column == "s"


# --- where values go ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        #  1, 9 (outside), "x" (no value at all), None and "NA" (missing)
        ({"outside": "nearest"}, [1, 3, 4, 4, 4]),
        ({"outside": "nearest", "missing": False}, [1, 3, DROP, DROP, DROP]),
        ({"outside": "other"}, [1, 5, 5, 4, 4]),
        ({"outside": "other", "missing": False}, [1, 4, 4, 4, 4]),
        ({"outside": "drop"}, [1, DROP, DROP, 4, 4]),
        ({"outside": "drop", "missing": False}, [1, DROP, DROP, DROP, DROP]),
        ({"outside": "other", "nulls": ("9",)}, [1, 4, 5, 4, 5]),
    ],
    ids=str,
)
def test_rules_of_numbers(rules: dict[str, Any], codes: list[int]) -> None:
    values = objects("1", "9", "x", None, "NA")
    assert Integer(name="i", min=0, max=3, **rules).encode(values).tolist() == codes
    bins = Numeric(name="n", edges=(0.0, 1.0, 2.0, 3.0, 4.0), **rules)
    assert bins.encode(values).tolist() == codes


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        ({"outside": "nearest"}, [1, 2, 3, 3]),
        ({"outside": "nearest", "missing": False}, [1, 2, DROP, DROP]),
        ({"outside": "other"}, [1, 4, 4, 3]),
        ({"outside": "drop"}, [1, DROP, DROP, 3]),
    ],
    ids=str,
)
def test_rules_of_moments(rules: dict[str, Any], codes: list[int]) -> None:
    column = DateTime(name="d", part="year", min=2019, max=2021, **rules)
    values = objects("2020-06-30", "2050-01-01", "30 June", "NULL")
    assert column.encode(values).tolist() == codes


def test_moments_of_every_source() -> None:
    column = DateTime(name="d", part="day", format="%Y%m%d", outside="other", nulls=("0",))
    whole = np.array([20200229, 20210229, 0])
    for values in (whole, whole.astype(float), whole.astype(str).astype(object)):
        assert column.encode(values).tolist() == [28, 32, 31]
    stamps = np.array(["2020-02-29T23:59:59", "NaT"], dtype="datetime64[us]")
    assert column.encode(stamps).tolist() == [28, 31]


def test_whole_numbers_round_halves_up() -> None:
    column = Integer(name="i", min=-2, max=2)
    values = np.array([-1.5, -0.5, 0.49, 0.5, 1.5, 2.4, np.inf, -np.inf, np.nan])
    assert column.encode(values).tolist() == [1, 2, 2, 3, 4, 4, 4, 0, 5]


def test_a_null_is_the_number_and_not_what_rounds_to_it() -> None:
    column = Integer(name="i", min=0, max=3, nulls=("1",))
    assert column.encode(np.array([1.0, 0.9, 1.1])).tolist() == [4, 1, 1]


@pytest.mark.parametrize("null", ["-9", "-9.0", " -9 ", "-9.00"])
def test_a_null_is_read_as_a_value_is(null: str) -> None:
    values = objects("-9", "-9.0", -9, -9.0, " -9")
    listed = Categorical(name="c", values=("a",), nulls=(null,))
    assert listed.encode(values).tolist() == [1] * 5
    assert Integer(name="i", min=-10, max=0, nulls=(null,)).encode(values).tolist() == [11] * 5


def test_bins_are_closed_on_the_left_and_the_last_on_both_sides() -> None:
    column = Numeric(name="n", edges=(0.0, 0.1, 0.3, 0.7), outside="other", missing=False)
    edge = np.array([0.0, 0.1, 0.3, 0.7])
    assert column.encode(edge).tolist() == [0, 1, 2, 2]
    assert column.encode(np.nextafter(edge, -1)).tolist() == [3, 0, 1, 2]
    assert column.encode(np.nextafter(edge, 1)).tolist() == [0, 1, 2, 3]
    assert column.encode(edge.astype(np.float32)).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        #  -0.5 and 9 (special), 1.5, 8 (outside), "x" (no value at all), None (missing)
        ({"outside": "nearest"}, [2, 3, 1, 1, 4, 4]),
        ({"outside": "nearest", "missing": False}, [2, 3, 1, 1, DROP, DROP]),
        ({"outside": "other"}, [2, 3, 1, 5, 5, 4]),
        ({"outside": "drop"}, [2, 3, 1, DROP, DROP, 4]),
        ({"outside": "drop", "nulls": ("9", "1.5")}, [2, 4, 4, DROP, DROP, 4]),
    ],
    ids=str,
)
def test_a_special_number_has_its_code_on_either_side_of_the_bins(
    rules: dict[str, Any], codes: list[int]
) -> None:
    """But a null is a null, even if it is a special number too."""
    column = Numeric(name="n", edges=(0.0, 1.0, 2.0), special=(-0.5, 9.0), **rules)
    assert column.encode(objects("-0.5", 9, 1.5, 8, "x", None)).tolist() == codes


@pytest.mark.parametrize("value", [1, "1", 1.0, " 1.0", b"1", np.float32(1), np.int64(1)], ids=repr)
def test_a_listed_value_is_found_however_written(value: object) -> None:
    for declared in (1, "1", 1.0, "1.0"):
        column = Categorical(name="c", values=("x", declared))
        assert column.encode(objects(value)).tolist() == [1]


def test_rules_of_lists() -> None:
    values = objects("a", "z", None, "NA", "")
    listed: dict[str, Any] = {"name": "c", "values": ("a", "b")}
    assert Categorical(**listed).encode(values).tolist() == [0, 3, 2, 2, 2]
    assert Categorical(**listed, missing=False).encode(values).tolist() == [0, 2, 2, 2, 2]
    dropping = Categorical(**listed, outside="drop")
    assert dropping.encode(values).tolist() == [0, DROP, 2, 2, 2]
    strict = Categorical(**listed, outside="drop", missing=False)
    assert strict.encode(values).tolist() == [0, DROP, DROP, DROP, DROP]


def test_a_declared_value_that_reads_like_a_null_wins() -> None:
    column = Categorical(name="c", values=("NA", ""))
    assert column.encode(objects("NA", "", "null", None)).tolist() == [0, 1, 2, 2]


def test_missing_value_takes_the_nulls() -> None:
    column = Categorical(name="c", values=(7, -1), missing_value="-1", missing=False)
    assert column.missing_code == 1
    assert column.encode(objects(7, -1, None, "", 8)).tolist() == [0, 1, 1, 1, 2]
    column = Categorical(name="c", values=("a", "b"), missing_value="b", outside="drop")
    assert column.size == 2
    assert column.encode(objects("a", None, "z")).tolist() == [0, 1, DROP]


def test_missing_value_is_the_listed_value_of_that_text() -> None:
    # To Python 1 equals True; to a table they are different texts.
    column = Categorical(name="c", values=(True, 1), missing_value=1)
    assert column.missing_code == 1


def test_other_shares_the_code_of_a_listed_value() -> None:
    column = Categorical(name="c", values=("a", "Other"), other="Other")
    assert (column.size, column.other_code) == (3, 1)
    assert column.encode(objects("a", "Other", "z", None)).tolist() == [0, 1, 1, 2]
    assert column.decode(np.array([0, 1, 2], dtype=np.int32), rng()).tolist() == [
        "a",
        "Other",
        None,
    ]


def test_other_of_numbers_comes_out_as_nothing() -> None:
    column = Categorical(name="c", values=(1, 2), missing=False)
    codes = np.array([0, 1, 2], dtype=np.int32)
    assert column.decode(codes, rng()).tolist() == [1, 2, None]
    assert column.decode(codes[:2], rng()).dtype == np.int64
    named = Categorical(name="c", values=("x",), missing=False)
    assert named.decode(codes[:2], rng()).tolist() == ["x", "(other)"]


def test_nothing_may_fail_because_of_a_value() -> None:
    values = objects([1], {"a": 1}, (1,), object(), np.array([1, 2]), 1j, b"\xff", "\ud800", "\x00")
    columns: list[Column] = [
        Categorical(name="c", values=("a",), missing=False),
        Integer(name="i", min=0, max=0, outside="other", missing=False),
        Numeric(name="n", edges=(0.0, 1.0), outside="other", missing=False),
        DateTime(name="d", part="hour", outside="other", missing=False),
    ]
    for column in columns:
        assert column.encode(values).tolist() == [column.other_code] * len(values)


# --- there and back -----------------------------------------------------------------------


def scalars() -> st.SearchStrategy[Any]:
    words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
    numbers = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False))
    return st.one_of(words, numbers, st.booleans())


@st.composite
def lists(draw: st.DrawFn) -> Categorical:
    values = draw(st.lists(scalars(), min_size=1, max_size=8, unique_by=reading.text))
    # No nulls: an "other" that reads as one would rightly come back as missing.
    return Categorical(
        name="c",
        values=tuple(values),
        missing=draw(st.booleans()),
        other=draw(st.sampled_from(["somewhere else", *values])),
        missing_value=draw(st.sampled_from([None, *values])),
        nulls=(),
        prefixes=draw(st.sampled_from([(), (3, 1), (2,)])),
    )


@PROPERTY
@given(lists())
def test_lists_there_and_back(column: Categorical) -> None:
    codes = np.arange(column.size, dtype=np.int32)
    assert column.encode(column.decode(codes, rng())).tolist() == codes.tolist()


@PROPERTY
@given(
    low=st.integers(1 - LARGEST, LARGEST - 21),
    span=st.integers(0, 20),
    missing=st.booleans(),
    outside=st.sampled_from(["nearest", "other", "drop"]),
)
def test_whole_numbers_there_and_back(low: int, span: int, missing: bool, outside: Any) -> None:
    column = Integer(name="i", min=low, max=low + span, missing=missing, outside=outside)
    codes = np.arange(column.values_count + int(missing), dtype=np.int32)
    back = column.decode(codes, rng())
    assert column.encode(back).tolist() == codes.tolist()
    assert [int(v) for v in back if v is not None] == list(range(low, low + span + 1))


@st.composite
def bins(draw: st.DrawFn) -> Numeric:
    whole = draw(st.booleans())
    ends = st.integers(-(2**63), 2**63).map(float) if whole else st.floats(-1.7e308, 1.7e308)
    near = st.integers(-50, 50).map(float)
    edges = draw(st.lists(near | ends, min_size=2, max_size=8, unique_by=lambda e: e + 0.0))
    return Numeric(
        name="n",
        edges=tuple(sorted(edges)),
        whole=whole,
        missing=draw(st.booleans()),
        outside=draw(st.sampled_from(["nearest", "other", "drop"])),
    )


@PROPERTY
@given(bins())
def test_bins_there_and_back(column: Numeric) -> None:
    codes = np.arange(column.values_count + int(column.missing), dtype=np.int32).repeat(25)
    back = column.decode(codes, rng())
    assert column.encode(back).tolist() == codes.tolist()
    drawn = back[codes < column.values_count]
    low, high = np.array(list(pairwise(column.edges))).repeat(25, axis=0).T
    assert np.all(drawn >= low)
    assert np.all(drawn <= high)
    if column.whole:
        assert all(isinstance(v, int) for v in drawn.tolist())
    else:
        assert back.dtype == np.float64


def test_whole_numbers_of_a_bin_are_all_drawn() -> None:
    column = Numeric(name="n", edges=(0.5, 3.0, 5.0), whole=True, missing=False)
    back = column.decode(np.array([0, 1], dtype=np.int32).repeat(500), rng())
    assert set(back[:500].tolist()) == {1, 2}
    assert set(back[500:].tolist()) == {3, 4, 5}


@st.composite
def specials(draw: st.DrawFn) -> Numeric:
    """Draw columns whose special numbers lie beyond their bins, on either side."""
    whole = draw(st.booleans())
    edges = sorted(draw(st.sets(st.integers(-50, 50), min_size=2, max_size=6)))
    beyond = st.integers(51, 10**6) | st.integers(-(10**6), -51)
    near = beyond if whole else beyond | st.floats(51, LARGEST, exclude_max=True)
    return Numeric(
        name="n",
        edges=tuple(map(float, edges)),
        whole=whole,
        special=tuple(map(float, draw(st.sets(near, min_size=1, max_size=3)))),
        top_coded=draw(st.booleans()),
        missing=draw(st.booleans()),
        outside=draw(st.sampled_from(["nearest", "other", "drop"])),
    )


@PROPERTY
@given(specials())
def test_special_numbers_and_top_codes_there_and_back(column: Numeric) -> None:
    codes = np.arange(column.values_count + int(column.missing), dtype=np.int32).repeat(25)
    back = column.decode(codes, rng())
    assert column.encode(back).tolist() == codes.tolist()
    for place, value in enumerate(column.special):
        assert set(back[codes == column.bins + place].tolist()) == {value}
    top = set(back[codes == column.bins - 1].tolist())
    assert top == {column.edges[-2]} if column.top_coded else column.whole or len(top) == 25


@pytest.mark.parametrize(
    "rules",
    [
        {"whole": True, "special": (-1.0, 10.0)},
        {"special": (-5e-324, 9.000000000000002)},
        {"top_coded": True, "special": (LARGEST - 0.5, 0.5 - LARGEST)},
    ],
    ids=str,
)
def test_special_numbers_next_to_the_bins_and_far_off_there_and_back(rules: dict[str, Any]) -> None:
    column = Numeric(name="n", edges=(0.0, 2.0, 9.0), **rules)
    codes = np.arange(column.size, dtype=np.int32).repeat(100)
    assert column.encode(column.decode(codes, rng())).tolist() == codes.tolist()


def test_groups_say_nothing_about_codes() -> None:
    plain = Categorical(name="c", values=(10, 20), outside="drop")
    grouped = Categorical(name="c", values=(10, 20), outside="drop", groups=("CO", ""))
    values = objects(10, 20, 30, None)
    assert grouped.encode(values).tolist() == plain.encode(values).tolist() == [0, 1, DROP, 2]
    assert grouped.labels() == plain.labels()


def test_a_last_bin_of_one_whole_number() -> None:
    column = Numeric(name="n", edges=(0.0, 0.5, 1.0), whole=True, missing=False)
    assert column.decode(np.array([0, 1], dtype=np.int32), rng()).tolist() == [0, 1]


def test_bins_as_long_as_numbers_go() -> None:
    wide = Numeric(name="n", edges=(-1.7e308, 1.7e308), missing=False)
    back = wide.decode(np.zeros(1000, dtype=np.int32), rng())
    assert np.isfinite(back).all()
    assert (back > 0).mean() == pytest.approx(0.5, abs=0.1)
    longest = Numeric(name="n", edges=(-(2.0**63), 2.0**63), whole=True, missing=False)
    back = longest.decode(np.zeros(1000, dtype=np.int32), rng())
    assert back.dtype == np.int64
    assert (back > 0).mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("part", PARTS)
def test_parts_come_back_as_whole_numbers(part: str) -> None:
    low, high = PARTS[part]
    ends = {"min": -3, "max": 3} if low is None or high is None else {}
    column = DateTime(name="d", part=part, outside="other", **ends)  # type: ignore[arg-type]
    back = column.decode(np.arange(column.size, dtype=np.int32), rng()).tolist()
    assert back[:-2] == list(range(column.min or 0, (column.max or 0) + 1))
    assert back[-2:] == [None, None]


def test_other_and_missing_numbers_come_back_as_nothing() -> None:
    codes = np.array([0, 1, 2], dtype=np.int32)
    whole = Integer(name="i", min=5, max=5, outside="other")
    assert whole.decode(codes, rng()).tolist() == [5, None, None]
    number = Numeric(name="n", edges=(0.0, 1.0), outside="other")
    assert np.isnan(number.decode(codes, rng())).tolist() == [False, True, True]
    binned = Numeric(name="n", edges=(0.0, 1.0), outside="other", whole=True)
    assert binned.decode(codes, rng()).tolist()[1:] == [None, None]


def test_a_boolean_is_known_by_the_spellings_that_csv_writers_use() -> None:
    column = Categorical(name="member", values=(False, True), missing=False)
    texts = np.array(["True", "TRUE", "true", True, "False", "FALSE", "yes"], dtype=object)
    assert column.encode(texts).tolist() == [1, 1, 1, 1, 0, 0, 2]


def test_numbers_have_their_digits_where_edges_have_more() -> None:
    column = Numeric(name="x", edges=(-0.06, 0.04, 1.2499, 1.26, 1.2666), digits=1)
    out = column.decode(np.repeat(np.arange(4, dtype=np.int32), 99), np.random.default_rng(0))
    tenths = np.round(np.arange(1, 13) / 10, 1).tolist()
    # The last two bins have no such number: their lower edges come out.
    bins = [np.unique(each).tolist() for each in out.reshape(4, 99)]
    assert bins == [[0.0], tenths, [1.2499], [1.26]]
    assert not np.signbit(out).any()
