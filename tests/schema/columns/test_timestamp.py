"""Timestamps: date-times in, date-times out, and the codes in between come back."""

from __future__ import annotations

import tomllib
from calendar import monthrange
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import effort
from understudy.door import Measurement
from understudy.errors import SchemaError
from understudy.evaluate import read_private, read_synthetic
from understudy.ledger import Ledger
from understudy.public import Batches, Synthesis
from understudy.release import build
from understudy.schema import (
    Array,
    Categorical,
    Codes,
    Column,
    Id,
    Ignored,
    Integer,
    Schema,
    Timestamp,
)
from understudy.schema.columns import NULLS

PROPERTY = settings(max_examples=effort(30, 60), deadline=None, database=None, derandomize=True)
RULES = ["nearest", "other", "drop"]
STEPS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
YEAR: dict[str, Any] = {"name": "when", "min": "2020-01-01", "max": "2020-12-31"}


def rng() -> np.random.Generator:
    return np.random.default_rng(2020)


def plain(column: Column, codes: Codes) -> Array:
    return column.decode(codes, rng())


def objects(*values: object) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def codes_of(column: Timestamp, values: Array) -> dict[str, Codes]:
    return {part.name: part.encode(values) for part in column.modelled}


def listed(codes: dict[str, Codes]) -> list[tuple[int, ...]]:
    return list(zip(*(c.tolist() for c in codes.values()), strict=True))


def every_code(column: Timestamp) -> dict[str, Codes]:
    """Give all codes with all others."""
    sizes = [part.size for part in column.modelled]
    grid = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1)
    return {part.name: codes for part, codes in zip(column.modelled, grid, strict=True)}


def days_between(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def allowed_days(column: Timestamp, month: int, weekday: int) -> set[date]:
    """List the dates of a month and weekday, slowly: those between the ends, or else all."""
    year, number = divmod(month, 12)
    first = date(1970 + year, number + 1, 1)
    last = first.replace(day=monthrange(first.year, first.month)[1])
    among = [d for d in days_between(first, last) if d.weekday() == weekday]
    ends = date.fromisoformat(column.min), date.fromisoformat(column.max)
    return {d for d in among if ends[0] <= d <= ends[1]} or set(among)


@st.composite
def timestamps(draw: st.DrawFn) -> Timestamp:
    """Draw timestamps of a few months, some of a few days."""
    first = draw(st.dates(date(1, 1, 1), date(9990, 1, 1)))
    last = first + timedelta(days=draw(st.integers(0, 9) | st.integers(0, 400)))
    return Timestamp(
        name="when",
        min=str(first),
        max=str(last),
        resolution=draw(st.sampled_from(sorted(STEPS))),
        outside=draw(st.sampled_from(RULES)),
        missing=draw(st.booleans()),
    )


@PROPERTY
@given(timestamps())
def test_all_codes_that_go_together_come_back(column: Timestamp) -> None:
    """Those of a moment come back as they are, and of others those that are there."""
    codes = every_code(column)
    drawn = column.joined(codes, plain, rng())
    assert drawn.dtype == "datetime64[us]"
    month, *others = column.modelled
    known = codes[month.name] < month.values_count
    assert (np.isnat(drawn) == ~known).all()
    again = codes_of(column, drawn)
    for part in column.modelled:
        there = known & (codes[part.name] < part.values_count)
        assert again[part.name][there].tolist() == codes[part.name][there].tolist()
        assert (again[part.name][known] < part.values_count).all()
    if month.missing_code is not None:
        for part in (month, *others):
            assert set(again[part.name][~known].tolist()) == {part.missing_code}
    seconds = drawn[known].astype("datetime64[s]").astype(np.int64)
    assert not (seconds % STEPS[column.resolution]).any()


@PROPERTY
@given(timestamps())
def test_the_clock_has_a_code_for_every_date_and_dates_come_back(column: Timestamp) -> None:
    """It rises with time, and says the month and the weekday; what contradicts it is drawn."""
    clock = column.clock
    assert clock is not None
    first, last = (date.fromisoformat(end) for end in (column.min, column.max))
    days = days_between(first, last)
    if column.outside == "other":
        end = last.replace(day=monthrange(last.year, last.month)[1])
        days = days_between(first.replace(day=1), end)
    assert clock.values_count == len(days)
    assert clock.encode(objects(*map(str, days))).tolist() == list(range(len(days)))
    assert column.is_declared[: len(days)].tolist() == [first <= day <= last for day in days]
    codes = column.on_dates() | {clock.name: np.arange(clock.size, dtype=np.int32)}
    read = codes_of(column, objects(*map(str, days)))
    for name, part in column.on_dates().items():
        assert part[: len(days)].tolist() == read[name].tolist()
    hours = {p.name: np.zeros(clock.size, dtype=np.int32) for p in column.modelled[2:]}
    drawn = column.joined(codes | hours, plain, rng()).astype("datetime64[D]")
    assert drawn[: len(days)].astype(str).tolist() == list(map(str, days))
    assert np.isnat(drawn[len(days) :]).all()
    weekday = column.part_names[1]
    codes[weekday] = (codes[weekday] + 1) % 7
    other = column.joined(codes | hours, plain, rng()).astype("datetime64[D]")[: len(days)]
    assert (other != drawn[: len(days)]).all()
    assert (column.modelled[1].encode(other) == codes[weekday][: len(days)]).all()


def test_of_too_many_months_there_is_no_clock() -> None:
    within, beyond = (Timestamp(name="t", min="2000-01-31", max=f"2005-0{m}-01") for m in (4, 5))
    assert within.clock is not None
    assert within.in_order == ["(t: date)", "t_hour"]
    assert beyond.clock is None
    assert beyond.in_order == ["t_month", "t_weekday", "t_hour"]


@PROPERTY
@given(timestamps())
def test_dates_are_those_of_the_month_and_weekday_between_the_ends(column: Timestamp) -> None:
    month, weekday, *_ = column.modelled
    for code in {0, month.values_count - 1}:
        for day in range(7):
            codes = {part.name: np.zeros(60, dtype=np.int32) for part in column.modelled}
            codes[month.name] += code
            codes[weekday.name] += day
            drawn = column.joined(codes, plain, rng()).astype("datetime64[D]").tolist()
            wanted = allowed_days(column, code + (month.min or 0), day)
            assert set(drawn) == wanted


@pytest.mark.parametrize(
    ("ends", "first", "last"),
    [
        ({"min": "2020-01-15"}, "2020-01-15", "2020-12-31"),
        ({"max": "2020-12-10"}, "2020-01-01", "2020-12-10"),
        ({"min": "2020-03-09", "max": "2020-03-15"}, "2020-03-09", "2020-03-15"),
    ],
    ids=str,
)
def test_no_date_is_drawn_beyond_the_ends(ends: dict[str, str], first: str, last: str) -> None:
    column = Timestamp(**YEAR | ends)
    codes = {name: code.repeat(5) for name, code in every_code(column).items()}
    drawn = column.joined(codes, plain, rng())
    days = drawn[~np.isnat(drawn)].astype("datetime64[D]")
    assert (str(days.min()), str(days.max())) == (first, last)


def test_where_too_few_days_have_the_weekday_any_of_the_month_do() -> None:
    """The last two days of January 2020 are a Thursday and a Friday."""
    column = Timestamp(**YEAR | {"min": "2020-01-30"}, resolution="day")
    zeros = np.zeros(300, dtype=np.int32)
    thursdays = column.joined({"when_month": zeros, "when_weekday": zeros + 3}, plain, rng())
    assert set(thursdays.astype(str)) == {"2020-01-30T00:00:00.000000"}
    mondays = column.joined({"when_month": zeros, "when_weekday": zeros}, plain, rng())
    assert {str(d) for d in mondays.astype("datetime64[D]")} == {
        f"2020-01-{day:02}" for day in (6, 13, 20, 27)
    }
    # Where no weekday is asked for, there is no need to leave the table.
    any_day = column.joined({"when_month": zeros, "when_weekday": zeros + 7}, plain, rng())
    assert {str(d) for d in any_day.astype("datetime64[D]")} == {"2020-01-30", "2020-01-31"}


def test_what_is_not_there_beside_a_month_is_drawn_evenly() -> None:
    column = Timestamp(**YEAR, resolution="hour")
    full = np.full(31 * 24 * 40, 0, dtype=np.int32)
    codes = {"when_month": full, "when_weekday": full + 7, "when_hour": full + 24}
    drawn = column.joined(codes, plain, rng())
    hours, counts = np.unique(drawn, return_counts=True)
    assert len(hours) == 31 * 24
    # 40 are meant, six standard deviations are 38.
    assert counts.max() < 78


def test_minutes_and_seconds_are_drawn_evenly() -> None:
    zeros = np.zeros(3600 * 20, dtype=np.int32)
    codes = {"when_month": zeros, "when_weekday": zeros, "when_hour": zeros + 5}
    for resolution, kinds in (("hour", 1), ("minute", 60), ("second", 3600)):
        drawn = Timestamp(**YEAR, resolution=resolution).joined(codes, plain, rng())  # type: ignore[arg-type]
        seconds = drawn.astype("datetime64[s]").astype(np.int64) % 86400 - 5 * 3600
        found, counts = np.unique(seconds, return_counts=True)
        assert found.tolist() == list(range(0, 3600, 3600 // kinds))
        assert counts.max() < 20 * 3600 / kinds + 6 * np.sqrt(20 * 3600 / kinds) + 1


def test_no_rows_at_all() -> None:
    codes = {name: code[:0] for name, code in every_code(Timestamp(**YEAR)).items()}
    assert Timestamp(**YEAR).joined(codes, plain, rng()).tolist() == []


# --- on the way in ------------------------------------------------------------------------

STAMPS = objects(
    "2020-01-01 00:00:00",  # a Wednesday
    "2020-01-31T23:59:59.999",
    "2020-02-29",
    "2019-12-31 12:00",
    "2021-03-01 13:00",
    "never",
    None,
    "NA",
)


@pytest.mark.parametrize(
    ("outside", "before", "after", "never"),
    [
        ("nearest", (0, 1, 12), (1, 0, 13), (2, 7, 24)),
        ("other", (3, 1, 12), (3, 0, 13), (3, 8, 25)),
        ("drop", (-1, 1, 12), (-1, 0, 13), (-1, -1, -1)),
    ],
)
def test_moments_are_encoded_by_the_rule(
    outside: Any, before: tuple[int, ...], after: tuple[int, ...], never: tuple[int, ...]
) -> None:
    """Days of the first and the last month that are beyond the ends count as of that month."""
    column = Timestamp(name="when", min="2020-01-15", max="2020-02-10", outside=outside)
    inside = [(0, 2, 0), (0, 4, 23), (1, 5, 0)]
    missing = [(2, 7, 24)] * 2
    assert listed(codes_of(column, STAMPS)) == [*inside, before, after, never, *missing]


def test_rows_with_nothing_are_dropped_where_nothing_may_be_missing() -> None:
    for outside in ("nearest", "drop"):
        column = Timestamp(**YEAR, outside=outside, missing=False)
        assert listed(codes_of(column, STAMPS))[-3:] == [(-1, -1, -1)] * 3
    other = Timestamp(**YEAR, outside="other", missing=False)
    assert listed(codes_of(other, STAMPS))[-3:] == [(12, 7, 24)] * 3


def test_formats_nulls_and_sources_are_those_of_the_table() -> None:
    column = Timestamp(
        **YEAR, source="Pickup Time", format="%m/%d/%Y %I:%M:%S %p", nulls=("unknown",)
    )
    values = objects("02/03/2020 11:05:06 PM", "unknown", "NA")
    assert listed(codes_of(column, values)) == [(1, 0, 23), (12, 7, 24), (12, 7, 24)]
    assert {part.table_column for part in column.modelled} == {"Pickup Time"}
    assert column.modelled[0].labels()[:2] == ["2020-01", "2020-02"]


def test_names_of_the_parts() -> None:
    assert [c.name for c in Timestamp(**YEAR).modelled] == [
        *("when_month", "when_weekday", "when_hour")
    ]
    daily = Timestamp(**YEAR, resolution="day")
    assert [(c.name, c.size) for c in daily.modelled] == [("when_month", 13), ("when_weekday", 8)]
    renamed = Timestamp(**YEAR, parts=("m", "w", "h"))
    assert [(c.name, c.part) for c in renamed.modelled] == [
        *(("m", "month_index"), ("w", "weekday"), ("h", "hour"))
    ]


# --- releases -----------------------------------------------------------------------------

TRIPS = Schema(
    "trips",
    (
        Id(name="taxi"),
        Timestamp(
            name="start",
            min="2020-01-15",
            max="2020-12-31",
            source="Start",
            resolution="minute",
            format="%d.%m.%Y %H:%M",
            nulls=("", "never", "2020-01-20 00:00:00"),
        ),
        Categorical(name="colour", values=("red", "blue"), missing=False),
        Timestamp(name="day", min="2019-06-01", max="2020-06-30", resolution="day", missing=False),
    ),
)


def released(rows: int = 3000, unit: us.Unit | None = None) -> us.Release:
    drawn = rng()
    codes = {
        name: drawn.integers(0, size, rows).astype(np.int32) for name, size in TRIPS.domain.items()
    }
    # What a moment lacks, it lacks altogether.
    none = codes["start_month"] == TRIPS["start_month"].if_missing
    for part in (TRIPS["start_weekday"], TRIPS["start_hour"]):
        codes[part.name] = np.where(none, part.if_missing, codes[part.name] % part.values_count)
    return build(
        Synthesis(
            batches=Batches.held(codes, np.arange(rows) % 100),
            measurements=(Measurement(clique=("start_month",), values=np.zeros(13), scale=1.0),),
        ),
        schema=TRIPS,
        unit=unit or us.Unit("taxi"),
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=1, delta=1e-9),
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={},
        rng=rng(),
    )


def test_a_release_has_one_column_of_date_times() -> None:
    made = released()
    assert list(made.columns) == ["taxi", "start", "colour", "day"]
    start, day = made.columns["start"], made.columns["day"]
    assert {str(c.dtype) for c in (start, day)} == {"datetime64[us]"}
    assert np.isnat(start).any()
    assert not np.isnat(day).any()
    assert str(np.nanmin(start)) >= "2020-01-15"
    assert made.rows["start"].dtype == "datetime64[us]"
    counted = made.histogram("start_month", "start_weekday", "start_hour")
    assert counted.sum() == 3000
    assert counted[-1, -1, -1] == np.isnat(start).sum()
    assert counted[:-1, :-1, :-1].sum() == 3000 - np.isnat(start).sum()
    assert made.histogram("day_month", "day_weekday").shape == (13, 7)


def test_a_unit_may_have_a_timestamp_in_it() -> None:
    """It is a column of the rows, and no id that is given anew."""
    for unit in (us.Unit("taxi", "start"), us.Unit("taxi", "Start:week")):
        assert list(released(9, unit).columns) == ["taxi", "start", "colour", "day"]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_saved_release_is_read_back_to_the_same_codes(tmp_path: Path, form: Any) -> None:
    made = released()
    folder = made.save(tmp_path / "out", format=form)
    schema = Schema.read(folder / "schema.toml")
    assert schema == TRIPS.released()
    assert schema.domain == TRIPS.domain
    start = schema.columns[1]
    assert isinstance(start, Timestamp)
    assert (start.source, start.format, start.nulls) == ("", None, NULLS)
    found = read_synthetic(folder, schema=TRIPS, unit=us.Unit.each_row())
    wanted = read_private(dict(made.columns), schema=schema, unit=us.Unit.each_row())
    frame = read_private(made.rows, schema=schema, unit=us.Unit.each_row())
    for name in TRIPS.domain:
        assert found.codes[name].tolist() == wanted.codes[name].tolist()
        assert frame.codes[name].tolist() == wanted.codes[name].tolist()
        assert (
            np.bincount(found.codes[name], minlength=TRIPS.domain[name]).tolist()
            == made.histogram(name).tolist()
        )


def test_on_disk_it_is_a_timestamp_or_an_iso_text(tmp_path: Path) -> None:
    made = released(200)
    table = pq.read_table(made.save(tmp_path / "out") / "rows.parquet")
    assert str(table.schema.field("start").type) == "timestamp[us]"
    assert table["start"].null_count == np.isnat(made.columns["start"]).sum() > 0
    path = made.save(tmp_path / "texts", format="csv") / "rows.csv"
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    texts = [None if np.isnat(s) else f"{s}"[:19].replace("T", " ") for s in made.columns["start"]]
    assert [line.split(",")[1] or None for line in lines] == texts


def test_from_a_table_to_a_release(tmp_path: Path) -> None:
    """Months that are full stay full, and a week of a taxi can be the unit."""
    number = 4000
    begun = np.datetime64("2020-01-06T08:00", "s") + np.arange(number) * np.timedelta64(60, "s")
    private = {"taxi": np.arange(number) % 1000, "start": begun}
    schema = Schema.from_public(private, name="trips", ids=("taxi",))
    session = us.open(
        i_know=True,
        private=private,
        schema=schema,
        unit=us.Unit("taxi", "start:week"),
        bounding=us.Weights(10),
        budget=us.Budget(epsilon=50, delta=1e-9),
        ledger=tmp_path / "trips.ledger",
    )
    release = session.run(us.Independent())
    ledger = Ledger(tmp_path / "trips.ledger")
    assert ledger.state().unit == us.Unit("taxi", "start:week").resolved(schema)
    ledger.close()
    months = release.histogram("start_month")
    assert months[0] > 0.95 * len(release)
    assert months.argmax() == 0
    start = release.columns["start"]
    seconds = start[~np.isnat(start)].astype("datetime64[s]").astype(np.int64)
    assert not (seconds % 60).any()


def test_a_part_of_it_in_a_unit() -> None:
    """A part of the unit that the schema names is read with the schema's format."""
    column = Timestamp(**YEAR, source="When", format="%d.%m.%Y")
    schema = Schema("t", (Id(name="who"), column))
    unit = us.Unit("who", "When:month_index")
    assert us.Unit("who", "when_month").resolved(schema) == unit.resolved(schema)
    table = {"who": objects("a", "a", "b"), "When": objects("01.02.2020", "29.02.2020", "x")}
    found = read_private(table, schema=schema, unit=us.Unit("who", "When:month_index"))
    assert found.people is not None
    assert found.people.tolist() == [0, 0]


# --- what is refused ----------------------------------------------------------------------


@pytest.mark.parametrize("end", ["min", "max"])
@pytest.mark.parametrize(
    "text", ["", "2020", "2020-1-1", "20200101", "2020-W01-1", "2020-02-30", "0000-01-01", "1/1/20"]
)
def test_ends_are_days(end: str, text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Timestamp(**YEAR | {end: text})
    error = caught.value
    assert error.what == "column 'when': min and max of a timestamp must be days"
    assert error.got == repr(text)
    assert error.allowed == "a date in the years 1 to 9999, such as '2020-01-31'"


def test_the_first_day_is_not_after_the_last() -> None:
    with pytest.raises(SchemaError) as caught:
        Timestamp(**YEAR | {"max": "2019-12-31"})
    assert caught.value.what == "column 'when': the last day is before the first"
    assert caught.value.got == "2020-01-01 to 2019-12-31"
    assert Timestamp(**YEAR | {"max": "2020-01-01"}).modelled[0].values_count == 1


def test_resolutions() -> None:
    with pytest.raises(SchemaError) as caught:
        Timestamp(**YEAR, resolution="week")  # type: ignore[arg-type]
    assert caught.value.what == "column 'when': unknown resolution"
    assert caught.value.got == "'week'"
    assert caught.value.allowed == "'second', 'minute', 'hour', 'day'"


@pytest.mark.parametrize("parts", [("a",), ("a", "b"), ("a", "b", "B"), ("a", "b", ""), (*"abcd",)])
def test_parts_that_are_too_few_too_many_or_the_same(parts: tuple[str, ...]) -> None:
    with pytest.raises(SchemaError) as caught:
        Timestamp(**YEAR, parts=parts)
    assert caught.value.what == "column 'when': parts needs one name per modelled column"
    assert caught.value.got == ", ".join(map(repr, parts))
    assert caught.value.allowed == "3 different names, for month, weekday, hour"


def test_days_have_two_parts() -> None:
    with pytest.raises(SchemaError, match="2 different names, for month, weekday"):
        Timestamp(**YEAR, resolution="day", parts=("a", "b", "c"))


def test_rules_and_formats() -> None:
    with pytest.raises(SchemaError, match="unknown rule for values outside"):
        Timestamp(**YEAR, outside="clip")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="the date-time format has no full date"):
        Timestamp(**YEAR, format="%H:%M")


def test_parts_have_names_of_their_own() -> None:
    for other in (Integer(name="when_hour", min=0, max=1), Ignored(name="WHEN_HOUR")):
        with pytest.raises(SchemaError, match="columns declared twice"):
            Schema("t", (Timestamp(**YEAR), other))
    with pytest.raises(SchemaError, match="no modelled column 'when'"):
        Schema("t", (Timestamp(**YEAR),))["when"]


# --- as a file ----------------------------------------------------------------------------

FILE = """\
name = "trips"

[columns.pickup_time]
kind = "timestamp"
min = "2020-01-01"
max = "2020-12-31"
resolution = "minute"
format = "%m/%d/%Y %I:%M:%S %p"
parts = ["month", "weekday", "hour"]
"""


def test_a_file_says_it_all_and_is_written_as_it_was_read() -> None:
    schema = Schema.from_dict(tomllib.loads(FILE))
    assert schema.to_toml() == FILE
    assert schema.domain == {"month": 13, "weekday": 8, "hour": 25}
    assert schema.columns == schema.released_columns


def test_days_of_toml_need_no_quotes() -> None:
    bare = FILE.replace('"2020-01-01"', "2020-01-01").replace('"2020-12-31"', "2020-12-31")
    assert Schema.from_dict(tomllib.loads(bare)) == Schema.from_dict(tomllib.loads(FILE))
    noon = FILE.replace('"2020-01-01"', "2020-01-01T12:00:00")
    with pytest.raises(SchemaError, match="min and max of a timestamp must be days"):
        Schema.from_dict(tomllib.loads(noon))
