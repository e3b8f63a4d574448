"""Schemas drafted from public tables: kinds that make sense, and room for every value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.audit.effort import effort, tried
from understudy.errors import MissingColumnError, SchemaError
from understudy.schema import Array, Categorical, Id, Ignored, Integer, Numeric, Schema, Timestamp
from understudy.schema.importers.bins import BINS
from understudy.schema.importers.draft import LISTED, draft

OTHER = Integer(name="other", min=0, max=0)


def objects(*values: object) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def drafted(values: Array) -> Any:
    """Draft one column, and expect one."""
    (column,) = draft({"x": values}, ids=())
    return column


@pytest.mark.parametrize(
    ("texts", "written"),
    [
        (["01/25/2024 08:37:06 PM", "12/01/2023 01:00:00 AM"], "%m/%d/%Y %I:%M:%S %p"),
        (["01/25/2024", "12/01/2023", ""], "%m/%d/%Y"),
        (["25/01/2024 20:37", "01/12/2023 01:00"], "%d/%m/%Y %H:%M"),
        (["25.01.2024", "01.12.2023"], "%d.%m.%Y"),
        (["20240125", "20231201"], "%Y%m%d"),
        (["2024-01-25 20:37:06", "2023-12-01 00:00:00"], None),
    ],
)
def test_moments_are_found_however_they_are_written(texts: list[str], written: str | None) -> None:
    drafted = Schema.from_public({"when": np.array(texts, dtype=object)}, name="t")
    (column,) = drafted.columns
    assert isinstance(column, Timestamp)
    assert column.format == written
    assert (column.min, column.max) == ("2023-01-01", "2024-12-31")


def test_ids_are_ids() -> None:
    table = {"who": np.array([1, 2, 3]), "x": np.array([1, 2, 3])}
    schema = Schema.from_public(table, name="t", ids=("who",))
    assert schema == Schema("t", (Id(name="who"), Integer(name="x", min=1, max=3)))


def test_what_only_tells_rows_apart_is_left_out() -> None:
    table = {
        "rownames": np.arange(1, 301),
        "visit_id": np.arange(5000, 5300),
        "shop_id": np.arange(300) % 7,
        "paid": np.arange(300),
    }
    kinds = [c.kind for c in Schema.from_public(table, name="t").columns]
    assert kinds == ["ignored", "ignored", "integer", "numeric"]


def test_an_id_must_be_there() -> None:
    with pytest.raises(MissingColumnError) as caught:
        Schema.from_public({"x": np.array([1])}, name="t", ids=("x", "who"))
    assert caught.value.what == "no id column 'who' in the public table"


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, -1, 5], dtype=np.int8),
        np.array([3.0, -1.0, 5.0, np.nan]),
        objects("3", "-1", " 5.0 ", None, "NA"),
        objects(3, -1.0, "5", None),
    ],
    ids=["int8", "float", "texts", "objects"],
)
def test_few_whole_numbers(values: Array) -> None:
    assert drafted(values) == Integer(name="x", min=-1, max=5)


def test_many_whole_numbers() -> None:
    column = drafted(np.arange(1000))
    assert isinstance(column, Numeric)
    assert column.whole
    assert (column.edges[0], column.edges[-1]) == (0.0, 999.0)
    counts = np.bincount(column.encode(np.arange(1000)), minlength=BINS)
    assert counts.min() >= 40  # bins of about the same number of rows


def test_other_numbers() -> None:
    column = drafted(np.array([0.5, 1.25, 9.0, np.nan, np.inf]))
    assert isinstance(column, Numeric)
    assert not column.whole
    assert (column.edges[0], column.edges[-1]) == (0.5, 9.0)


def test_a_few_numbers_come_out_as_they_are() -> None:
    rates = np.repeat([0.0, 0.05, 0.07, 0.19], (10, 500, 380, 20))
    column = drafted(rates)
    assert isinstance(column, Numeric)
    assert column.decode(column.encode(rates), np.random.default_rng(1)).tolist() == rates.tolist()


@pytest.mark.parametrize(("none", "digits"), [(-999.0, 1), (999.9, 1), (-999.0, 0), (9999.0, 0)])
def test_a_number_for_none_moves_no_other(none: float, digits: int) -> None:
    read = np.append(np.round(np.random.default_rng(1).normal(35, 3, 2000), digits), [none] * 60)
    column = drafted(read)
    found = column.decode(column.encode(read), np.random.default_rng(2))
    assert ((found == none) == (read == none)).all()
    assert np.abs(found - read).max() < 10


@pytest.mark.parametrize("sign", [1, -1])
def test_the_few_largest_numbers_are_not_taken_for_many(sign: int) -> None:
    """With twenty bins of as many rows each, the mean was eight times as large."""
    read = sign * np.random.default_rng(1).lognormal(11, 2.5, effort(8000, 20_000))
    column = drafted(read)
    found = column.decode(column.encode(read), np.random.default_rng(2))
    assert found.mean() / read.mean() == pytest.approx(1, abs=0.8)


@given(
    st.integers(0, 2).flatmap(
        lambda digits: st.lists(
            st.floats(-1e6, 1e6).map(lambda x: round(x, digits)), min_size=1, max_size=60
        )
    ),
    st.integers(1, 40),
)
@tried(100)
def test_numbers_lie_within_the_bins_of_a_draft(read: list[float], times: int) -> None:
    column = drafted(np.repeat(np.array(read) + 0.0, times))
    low, high = min(read), max(read)
    if isinstance(column, Numeric):
        assert column.edges[0] <= low <= high <= column.edges[-1]
        found = column.decode(np.arange(column.bins, dtype=np.int32), np.random.default_rng(1))
        assert column.encode(found).tolist() == list(range(column.bins))


@given(st.integers(1001 - 2**52, 2**52 - 10), st.integers(1, 8), st.integers(10, 40))
@tried(100)
def test_whole_numbers_side_by_side_have_bins_however_large(
    first: int, apart: int, times: int
) -> None:
    read = np.repeat([first - 1000.0, first, first + 1, first + 1 + apart], times)
    column = drafted(read)
    found = column.decode(column.encode(read), np.random.default_rng(1))
    assert found.tolist() == read.tolist()


@pytest.mark.parametrize("digits", [1, 2, 5, 6, 9])
@pytest.mark.parametrize("far", [1.0, 1e6, 1e10, 1e13])
def test_few_decimals_have_a_bin_each_however_large(far: float, digits: int) -> None:
    read = np.repeat(np.round(far + np.array([0.1, 0.5, 7.3]), digits), 20)
    column = drafted(read)
    assert len(set(column.encode(read).tolist())) == 3


def test_two_numbers_of_very_many_digits_have_a_bin_each() -> None:
    read = np.repeat([1 / 3, 2 / 3], 50)
    assert len(set(drafted(read).encode(read).tolist())) == 2


PRICES = np.array([1.403, 1.445, 1.482, 0.5, 0.7, -2.3, 1.63])


@pytest.mark.parametrize("written", [repr, "{:.15g}".format, "{:.16g}".format])
def test_decimals_that_were_32_bit_floats_come_out_as_they_were(written: Any) -> None:
    single = PRICES.astype(np.float32)
    public = objects(*(written(float(x)) for x in np.repeat(single, 20)))
    column = drafted(public)
    assert (column.digits, column.bins) == (3, 2 * len(PRICES) - 1)
    # However they are stored, they are in one bin, and come out of it as decimals.
    for stored in (public, np.repeat(single, 20), np.repeat(single.astype(float), 20)):
        codes = column.encode(stored)
        assert np.array_equal(column.decode(codes, np.random.default_rng(0)), np.repeat(PRICES, 20))


def test_the_first_and_last_of_many_32_bit_floats_are_within_the_range() -> None:
    prices = np.round(np.random.default_rng(3).uniform(-40, 90, 3000), 2)
    column = drafted(objects(*(repr(float(x)) for x in prices.astype(np.float32))))
    assert column.digits == 2
    strict = replace(column, outside="drop")
    codes = strict.encode(prices.astype(np.float32).astype(float))
    assert np.array_equal(codes, strict.encode(prices))
    assert codes.min() >= 0
    out = column.decode(codes, np.random.default_rng(0))
    assert np.array_equal(out, np.round(out, 2))


def test_32_bit_floats_of_many_digits_and_others_are_no_decimals() -> None:
    drawn = np.random.default_rng(0).normal(size=100)
    assert drafted(drawn.astype(np.float32).astype(float)).digits is None
    assert drafted(np.repeat(PRICES + 1e-9, 20)).digits is None


def test_dates_are_found_among_regular_nulls_and_where_they_are_known_to_be_dates() -> None:
    days = np.array(["", "01/25/2024"] * 1000, dtype=object)
    assert isinstance(drafted(days), Timestamp)
    torn = np.array(["01/25/2024"] * 1500 + ["unknown"], dtype=object)
    (column,) = draft({"x": torn}, ids=(), kind="datetime")
    assert isinstance(column, Timestamp)
    assert column.format == "%m/%d/%Y"


def test_metadata_of_seconds_since_1970_have_the_same_hint() -> None:
    table = {"ts": np.array([1_704_067_200, 1_704_067_201])}
    with pytest.raises(SchemaError, match="column 'ts': seconds since 1970"):
        draft(table, ids=(), written="%s", kind="datetime")


def test_british_dates_are_known_by_one_day_after_the_twelfth() -> None:
    days = np.array(["01/02/2024"] * 3000 + ["13/02/2024"] + ["02/03/2024"] * 3000, dtype=object)
    column = drafted(days)
    assert isinstance(column, Timestamp)
    assert column.format == "%d/%m/%Y"


@pytest.mark.parametrize("number", [0.5, -0.25, 1e300, -1e300, 1.7e308, 5e-324, 2.0**60])
def test_a_constant_number_has_a_bin(number: float) -> None:
    column = drafted(np.full(4, number))
    assert column.encode(np.full(2, number)).tolist() == [0, 0]
    assert column.values_count == 1


@pytest.mark.parametrize(
    ("values", "column"),
    [
        (np.full(3, 7), Integer(name="x", min=7, max=7)),
        (objects("same", "same"), Categorical(name="x", values=("same",))),
        (np.array([True, True]), Categorical(name="x", values=(False, True))),
    ],
    ids=["number", "text", "boolean"],
)
def test_other_constants(values: Array, column: object) -> None:
    assert drafted(values) == column


def test_numbers_as_far_as_they_go() -> None:
    column = drafted(np.array([-1.7e308, 0.0, 1.7e308]))
    assert (column.edges[0], column.edges[-1], column.whole) == (-1.7e308, 1.7e308, False)
    far = drafted(np.array([-1.7e308, -1.6e308, 1.7e308] * 50 + list(range(100))))
    assert (far.edges[0], far.edges[-1]) == (-1.7e308, 1.7e308)
    near = drafted(np.array([2**60, 2**60 + 1024]))
    assert isinstance(near, Numeric)
    assert near.whole


def test_digits_that_begin_with_a_zero_are_codes() -> None:
    """As numbers, zip codes would come out without it, and between those that exist."""
    assert drafted(objects("02139", "10001", None)) == Categorical(
        name="x", values=("02139", "10001")
    )
    assert isinstance(drafted(objects("0", "10", "0.5")), Numeric)


def test_a_public_table_may_be_a_data_frame_of_any_library() -> None:
    held = {"age": [30, 40, None], "day": np.array(["2024-01-01"] * 3, dtype="M8[us]")}
    frame = pd.DataFrame(held)
    frame["day"] = frame["day"].dt.tz_localize("Europe/Berlin")
    wanted = Schema.from_public(frame, name="t")
    assert wanted.timestamps[0].zone == "Europe/Berlin"
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    for table in (arrow, pl.from_arrow(arrow), pl.DataFrame(arrow).lazy(), arrow.to_pandas()):
        assert Schema.from_public(table, name="t") == wanted
    assert Schema.from_public(pd.DataFrame({7: [1, 2]}), name="t").columns[0].name == "7"
    with pytest.raises(SchemaError, match="must have named columns"):
        Schema.from_public([{"age": 30}], name="t")


def test_booleans_and_texts_are_lists() -> None:
    assert drafted(np.array([True, False])) == Categorical(name="x", values=(False, True))
    words = objects("b", "a", None, "b", "", "NULL")
    assert drafted(words) == Categorical(name="x", values=("a", "b"))
    mixed = objects("1", "2", "x")
    assert drafted(mixed) == Categorical(name="x", values=("1", "2", "x"))


@pytest.mark.parametrize(
    "values",
    [
        objects(None, None),
        objects("", "NA", "NULL"),
        np.array([np.nan, np.nan]),
        np.array([np.inf, -np.inf]),
        np.array(["NaT", "NaT"], dtype="datetime64[s]"),
        np.array([], dtype=np.int64),
        objects(),
    ],
    ids=["None", "nulls", "NaN", "inf", "NaT", "no rows", "no rows of objects"],
)
def test_columns_without_a_value_are_left_out(values: Array) -> None:
    assert drafted(values) == Ignored(name="x")


def test_texts_that_hardly_repeat_are_left_out() -> None:
    unique = objects(*(f"row {i}" for i in range(LISTED + 1)))
    assert drafted(unique) == Ignored(name="x")
    few = objects(*(f"row {i}" for i in range(LISTED)))
    assert len(drafted(few).values) == LISTED


def test_of_many_texts_the_common_ones_are_listed() -> None:
    words = [f"w{i:03}" for i in range(LISTED + 44)]
    column = drafted(objects(*words, *words, *words[-5:]))
    assert isinstance(column, Categorical)
    assert len(column.values) == LISTED
    assert set(words[-5:]) <= set(column.values)


@pytest.mark.parametrize(
    "values",
    [
        np.array(["2019-12-31", "2021-01-01", "NaT"], dtype="datetime64[us]"),
        objects("2019-12-31", "2021-01-01T12:00:00Z", None, "NA"),
    ],
    ids=["datetime64", "texts"],
)
def test_moments(values: Array) -> None:
    column = drafted(values)
    assert column == Timestamp(
        name="x", min="2019-01-01", max="2021-12-31", resolution=column.resolution
    )


@pytest.mark.parametrize(
    ("last", "resolution"),
    [
        ("2020-02-03", "day"),
        ("2020-02-03T05:00", "hour"),
        ("2020-02-03T05:00:00+02:00", "hour"),
        ("2020-02-03T00:30", "minute"),
        ("2020-02-03T00:00:59", "second"),
        ("1960-02-03T00:00:59", "second"),
    ],
)
def test_moments_come_out_as_coarse_as_all_of_them_are(last: str, resolution: str) -> None:
    column = drafted(objects("2020-01-01", "2020-12-31", None, last))
    assert column.resolution == resolution


def test_moments_beyond_the_calendar_are_of_its_first_or_last_year() -> None:
    column = drafted(objects("0001-01-01T00:00:00+05:00", "9999-12-31T23:00:00-05:00"))
    assert (column.min, column.max) == ("0001-01-01", "9999-12-31")


def test_moments_may_be_of_other_days_than_the_public_ones() -> None:
    table = {"x": np.array(["2019-05-06T07:08"], dtype="datetime64[s]"), "n": np.arange(1)}
    schema = Schema.from_public(table, name="t", days=("2020-01-15", "2020-06-30"))
    assert schema.columns == (
        Timestamp(name="x", min="2020-01-15", max="2020-06-30", resolution="minute"),
        Integer(name="n", min=0, max=0),
    )


def test_parts_of_moments_do_not_take_names_that_are_there() -> None:
    when = np.array(["2020-02-29T01:00"], dtype="datetime64[s]")
    table = {"x": when, "X_Weekday": np.array([1]), "x_month": objects("a"), "x_MONTH_": when}
    schema = Schema.from_public(table, name="t")
    assert [c.name for c in schema.columns] == list(table)
    assert list(schema.domain) == [
        *("x_month__", "x_weekday_", "x_hour"),
        *("X_Weekday", "x_month"),
        *("x_MONTH__month", "x_MONTH__weekday", "x_MONTH__hour"),
    ]


def test_a_table_of_nothing_has_no_schema() -> None:
    with pytest.raises(SchemaError, match="no column to model"):
        Schema.from_public({"x": objects(None)}, name="t")


numbers = st.floats(allow_nan=True, allow_infinity=False)
wholes = st.integers(-(2**63), 2**63 - 1)
words = st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=3))
moments = st.datetimes().map(str)
mixed = st.one_of(words, wholes, numbers, moments)
ARRAYS: dict[str, st.SearchStrategy[Array]] = {
    "float64": st.lists(numbers, min_size=1).map(np.array),
    "float32": st.lists(st.floats(width=32, allow_infinity=False), min_size=1).map(
        lambda v: np.array(v, dtype=np.float32)
    ),
    "int64": st.lists(wholes, min_size=1).map(lambda v: np.array(v, dtype=np.int64)),
    "bool": st.lists(st.booleans(), min_size=1).map(np.array),
    "words": st.lists(words, min_size=1).map(lambda v: objects(*v)),
    "moments": st.lists(moments, min_size=1).map(lambda v: objects(*v)),
    "mixed": st.lists(mixed, min_size=1).map(lambda v: objects(*v)),
}


@pytest.mark.parametrize("kind", ARRAYS)
@settings(max_examples=effort(15, 40), deadline=None, database=None, derandomize=True)
@given(data=st.data())
def test_every_public_value_is_inside_the_domain(kind: str, data: st.DataObject) -> None:
    values = data.draw(ARRAYS[kind])
    schema = Schema("t", (OTHER, *draft({"x": values}, ids=())))
    table = {"x": values, "other": np.zeros(len(values))}
    codes, kept = schema.encode(table)
    assert kept.all()
    for column in schema.modelled:
        assert column.other_code not in codes[column.name].tolist()
        if isinstance(column, (Integer, Numeric)):
            strict = type(column)(**_strict(column))
            assert strict.other_code not in strict.encode(table[column.table_column]).tolist()


def _strict(column: Integer | Numeric) -> dict[str, Any]:
    """Give the parts of a column that has a code for what is outside."""
    ends: dict[str, Any] = {"name": column.name, "outside": "other"}
    if isinstance(column, Integer):
        return ends | {"min": column.min, "max": column.max}
    return ends | {"edges": column.edges}
