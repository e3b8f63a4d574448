"""init drafts a schema and a run file from public data, and never looks at private data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.audit.effort import THOROUGH, few
from tests.cli.drafted import HEADER, read, refused, table
from tests.cli.place import Place, process
from tests.contests.people import written
from understudy.cli.periods import in_period
from understudy.cli.runfile import _KINDS
from understudy.engine import DuckDB
from understudy.errors import (
    BudgetError,
    MissingColumnError,
    MissingFileError,
    OutputExistsError,
    SchemaError,
    StorageError,
    UnderstudyError,
    UsageError,
)
from understudy.public import zones
from understudy.schema import PUBLIC, Integer, Schema, Timestamp
from understudy.synth.screening import SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Case = tuple[Callable[[Place], list[str]], type[UnderstudyError], tuple[str, ...]]

pytestmark = pytest.mark.usefixtures("plain_reports")


def drafting(place: Place, *more: str | Path, **changes: Any) -> list[str]:
    """Write a command line of `init`; None leaves an option out."""
    options: dict[str, Any] = {"public": place / "public.csv", "unit": "taxi"} | changes
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return ["init", str(place / "draft"), *given, *map(str, more)]


@pytest.fixture
def city(place: Place) -> Place:
    """Make a place with a public table too."""
    table(place)
    return place


# What it writes


@pytest.mark.parametrize("form", few(["csv", "parquet"], usual=1))
def test_a_draft_goes_straight_into_check_and_synth(city: Place, form: str) -> None:
    private = table(city, "private.csv", 2020)
    public = city / f"public.{form}"
    if form == "parquet":
        pd.read_csv(city / "public.csv", parse_dates=["when"]).to_parquet(public)
    out = city.fine(*drafting(city, public=public, private=private, epsilon=10))
    folder = city / "draft"
    assert out.splitlines() == [
        f"{folder / 'schema.toml'}: 6 columns that will be modelled; read it, and correct what is "
        "wrong",
        "  when goes from 2019-01-01 to 2019-12-31, the public table's years: if the private table "
        "covers other dates, set them, or use --period",
        f"  {PUBLIC}",
        f"{folder / 'understudy.toml'}: who is protected, how strongly, by which mechanism",
        f"Next: understudy check {folder / 'understudy.toml'}",
    ]
    assert {p.name for p in folder.iterdir()} == {"schema.toml", "understudy.toml"}
    run = read(folder / "understudy.toml")
    assert run == {
        "private": str(private),
        "public": str(public),
        "schema": "schema.toml",
        "unit": "taxi",
        "null_ids": "drop",
        "bounding": "norm",
        "epsilon": 10,
        "delta": 1e-4,
        "screening": SHARE,
        "ledger": "private.ledger",
        "mechanism": "auto",
        "out": "private-release",
        "format": "parquet",
    }
    schema = read(folder / "schema.toml")
    assert schema["name"] == "private"
    assert {name: column["kind"] for name, column in schema["columns"].items()} == {
        "taxi": "id",
        "colour": "categorical",
        "hour": "integer",
        "when": "timestamp",
        "tip": "numeric",
    }
    assert "Nothing was spent." in city.fine("check", folder / "understudy.toml")
    # The dates of the private table are another year's, which its first question may find.
    asked = ("synth", folder / "understudy.toml", "--screening=0")
    assert "synthetic rows in" in city.fine(*asked)
    assert (folder / "private-release" / "report.html").exists()
    assert (folder / "private.ledger").exists()


def test_the_facts_are_one_object(city: Place) -> None:
    facts = city.facts(*drafting(city))
    assert facts == {
        "schema": str(city / "draft" / "schema.toml"),
        "run_file": str(city / "draft" / "understudy.toml"),
        "unit": "taxi",
        "notes": [
            "when goes from 2019-01-01 to 2019-12-31, the public table's years: if the private "
            "table covers other dates, set them, or use --period",
            PUBLIC,
        ],
    }


def test_every_key_of_the_run_file_has_a_comment_above_it(city: Place) -> None:
    city.fine(*drafting(city))
    text = (city / "draft" / "understudy.toml").read_text().splitlines()
    keys = [(above, line) for above, line in pairwise(text) if " = " in line and line[0] != "#"]
    assert {line.split(" = ")[0] for _, line in keys} == set(read(city / "draft/understudy.toml"))
    assert all(above.startswith("# ") for above, _ in keys)
    assert set(read(city / "draft" / "understudy.toml")) <= set(_KINDS)


def test_every_column_of_the_schema_has_one_too_and_every_key_where_it_first_stands(
    city: Place,
) -> None:
    city.fine(*drafting(city))
    text = (city / "draft" / "schema.toml").read_text().splitlines()
    assert text[0] == "# The columns of public, drafted by 'understudy init' from public.csv."
    seen: set[str] = {"name"}
    for above, line in pairwise(text):
        key = line.partition(" = ")[0]
        if line.startswith("[columns.") or (" = " in line and key not in seen | {line}):
            assert above.startswith("# "), line
        seen.add(key)
    assert "# Tells people apart: never modelled, given anew in the output." in text
    assert "# categorical, 4 codes." in text
    assert "# numeric, 20 codes." in text


def panel(place: Place, people: int) -> None:
    """Write a public table of people who are seen in four years."""
    rows = [f"{i},{'FM'[i % 2]},{2000 + t},{i * t % 5}" for i in range(people) for t in range(4)]
    (place / "public.csv").write_text("\n".join(["who,sex,year,job", *rows, ""]))


def test_what_is_a_persons_own_and_what_orders_rows_is_proposed_with_reasons(place: Place) -> None:
    panel(place, 200)
    out = place.fine(*drafting(place, unit="who"))
    assert ("  proposed: one value per person: sex; a person's rows in the order of year\n") in out
    schema = read(place / "draft" / "schema.toml")
    assert schema["order_by"] == ["year"]
    assert {n for n, c in schema["columns"].items() if c.get("of") == "person"} == {"sex"}
    text = (place / "draft" / "schema.toml").read_text()
    assert (
        "# Proposed: 100 % of a public person's rows differ in it, on average over 200 people with "
        "several rows.\n# order_by: what orders a person's rows\norder_by"
    ) in text
    assert (
        "# A person's own: 100 % of 200 public people with several rows have one value.\n"
        "[columns.sex]"
    ) in text


def test_a_private_table_of_other_years_has_the_order_of_the_public_one(place: Place) -> None:
    panel(place, 200)
    place.fine(*drafting(place, unit="who", period="2020-01-01..2020-12-31"))
    schema = read(place / "draft" / "schema.toml")
    assert schema["order_by"] == ["year"]
    assert schema["columns"]["year"]["min"] == schema["columns"]["year"]["max"] == 2020


@pytest.mark.parametrize(("people", "unit"), [(50, "who"), (200, "each-row"), (200, "who,year")])
def test_nothing_is_proposed_of_few_people_or_of_rows(place: Place, people: int, unit: str) -> None:
    panel(place, people)
    told = place.fine(*drafting(place, unit=unit))
    assert not [line for line in told.splitlines() if "proposed:" in line and "own" in line]
    assert "order_by" not in (place / "draft" / "schema.toml").read_text()


def test_timestamps_go_in_and_timestamps_come_out(city: Place) -> None:
    private = table(city, "private.csv", 2020)
    city.fine(*drafting(city, private=private, period="2020-02-01..2020-06-30"))
    declared = read(city / "draft" / "schema.toml")["columns"]["when"]
    assert (declared["min"], declared["max"]) == ("2020-02-01", "2020-06-30")
    city.fine(
        "synth",
        city / "draft" / "understudy.toml",
        "--mechanism=independent",
        "--bounding=weights:4",
        "--epsilon=20",
        # Half of the year is outside the period: noise would decide whether that is too much.
        "--screening=0",
    )
    rows = pq.read_table(city / "draft" / "private-release" / "rows.parquet")
    assert rows.column_names == list(HEADER)
    assert pa.types.is_timestamp(rows.schema.field("when").type)
    moments = [m for m in rows["when"].to_pylist() if m is not None]
    assert len(moments) > 60
    assert min(moments) >= datetime(2020, 2, 1)  # noqa: DTZ001  moments without a zone
    assert max(moments) < datetime(2020, 7, 1)  # noqa: DTZ001
    # By the minute, as the public table's are.
    assert {m.second for m in moments} == {0}
    assert len({m.minute for m in moments}) > 4


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b",taxi,colour\n0,1,red\n", "pandas writes an index without one unless it is told"),
        (b"taxi,colour\n", "the public table has no rows to draft from"),
        (b"taxi,colour\n1,red\n2\n", "the table is malformed"),
        ("taxi,colour\n1,red\n".encode("utf-16"), "got text that is not UTF-8"),
    ],
)
def test_public_files_that_cannot_be_drafted_from(city: Place, content: bytes, told: str) -> None:
    (city / "public.csv").write_bytes(content)
    assert told in city.say(*drafting(city)).line
    assert not (city / "draft" / "schema.toml").exists()


def zoned(city: Place, zone: str) -> dict[str, Any]:
    """Draft from a Parquet file of date-times with a time zone and without, and return columns."""
    frame = pd.read_csv(city / "public.csv", parse_dates=["when"])
    frame["there"] = frame["when"].dt.tz_localize(zone, ambiguous=True, nonexistent="NaT")
    frame.to_parquet(city / "public.parquet")
    told = city.fine(*drafting(city, public=city / "public.parquet"))
    columns: dict[str, Any] = read(city / "draft" / "schema.toml")["columns"]
    assert "zone" not in columns["when"]
    return {**columns["there"], "told": told}


def test_the_time_zone_of_a_parquet_file_is_declared(city: Place) -> None:
    there = zoned(city, "Europe/Berlin")
    assert there["zone"] == "Europe/Berlin"
    assert "time zone" not in there["told"]
    assert "# zone: the time zone of the release's data frames" in (
        (city / "draft" / "schema.toml").read_text()
    )


def test_a_time_zone_that_has_no_name_is_told_to_be_declared(
    city: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = zoned(city, "+02:00")
    assert "zone" not in there
    assert "\n  there: its time zone has no name in the public file" in there["told"]
    assert "# NOTE: its time zone has no name" in (city / "draft" / "schema.toml").read_text()
    for name in ("schema.toml", "understudy.toml"):
        (city / "draft" / name).unlink()
    monkeypatch.setattr(zones, "find_spec", lambda _: None)
    there = zoned(city, "Europe/Berlin")
    assert "zone" not in there
    assert "or one that only pyarrow reads" in there["told"]


def test_numbers_with_a_decimal_comma_are_told_of(city: Place) -> None:
    rows = "".join(
        f"{i};{i * 7},{i % 10}0;{i % 3},5;{'red, blue' if i % 2 else 'red'};{i}.5\n"
        for i in range(400)
    )
    (city / "public.csv").write_text("taxi;fare;tip;colour;miles\n" + rows)
    facts = city.facts(*drafting(city))
    (told,) = (note for note in facts["notes"] if "comma" in note)
    assert told.startswith("tip, fare: " if told[0] == "t" else "fare, tip: ")
    assert "If 12,50 means 12.50, write a point" in told
    text = (city / "draft" / "schema.toml").read_text()
    assert text.count("# NOTE: numbers with a comma are read as text.") == 2
    assert {n: c["kind"] for n, c in read(city / "draft/schema.toml")["columns"].items()} == {
        "taxi": "id",
        "fare": "ignored",
        "tip": "categorical",
        "colour": "categorical",
        "miles": "numeric",
    }


def test_epochs_are_said_to_be_numbers_beside_their_column(place: Place) -> None:
    rows = [f"{i % 40},{1_704_067_200 + i * 7919},{i * 7919 % 1000}" for i in range(400)]
    (place / "public.csv").write_text("\n".join(["taxi,ts,fare", *rows, ""]))
    place.fine(*drafting(place))
    text = (place / "draft" / "schema.toml").read_text()
    assert read(place / "draft" / "schema.toml")["columns"]["ts"]["kind"] == "numeric"
    assert text.count("since 1970") == 1
    assert (
        "# These look like seconds since 1970. As numbers they have no weekday and no hour.\n"
        "# To have date-times, convert them in the public and the private table, with\n"
        '# pandas.to_datetime(column, unit="s"), and draft again.\n[columns.ts]'
    ) in text


def test_the_second_date_time_of_a_row_has_a_note_on_the_time_between(place: Place) -> None:
    rows = [
        f"{i},2017-01-{1 + i % 28:02},2017-0{1 + j}-{1 + i % 28:02},2017-0{2 + j}-{1 + i % 20:02}"
        for i in range(150)
        for j in range(4)
    ]
    (place / "public.csv").write_text("\n".join(["taxi,joined,loan,return", *rows, ""]))
    told = place.fine(*drafting(place))
    assert "one value per person: joined" in told
    assert "\n  return: the time from loan to it is not kept" in told
    text = (place / "draft" / "schema.toml").read_text()
    assert text.count("to it is not kept") == 1
    assert text.count("# NOTE: the time from loan to it is not kept") == 1
    assert "of the days or hours since loan instead" in text[text.index("[columns.loan]") :]


def test_a_note_on_a_time_zone_and_one_on_the_time_between_are_both_said(city: Place) -> None:
    there = zoned(city, "+02:00")
    assert "\n  there: its time zone has no name in the public file" in there["told"]
    assert "And the time from when to it is not kept" in there["told"]


def test_readings_of_every_half_hour_are_ordered_by_their_time(place: Place) -> None:
    times = pd.date_range("2024-03-25", periods=48 * 3, freq="30min")
    rows = [f"{who},{time},{who * k % 7}" for who in range(110) for k, time in enumerate(times)]
    (place / "public.csv").write_text("\n".join(["meter,time,kwh", *rows, ""]))
    told = place.fine(*drafting(place, unit="meter"))
    assert "  proposed: a person's rows in the order of time\n" in told
    assert read(place / "draft" / "schema.toml")["order_by"] == ["time"]


def test_a_period_is_of_years_too(city: Place) -> None:
    (city / "public.csv").write_text("taxi,year,colour\n1,2018,red\n2,2019,blue\n")
    city.fine(*drafting(city, period="2020-01-01..2022-12-31"))
    declared = read(city / "draft" / "schema.toml")["columns"]["year"]
    assert (declared["min"], declared["max"]) == (2020, 2022)


def lives(city: Place) -> None:
    """Write a public table of visits in 2017, with days of birth and of death."""
    rows = [
        f"{i % 40},2017-{1 + i % 12:02}-{1 + i % 28:02},"
        f"{1930 + i % 80}-06-{1 + i % 28:02},{2005 + i % 13}-03-04"
        for i in range(400)
    ]
    (city / "public.csv").write_text("\n".join(["taxi,visit,birth,death", *rows, ""]))


def test_a_period_is_not_that_of_births_and_it_is_said_of_which_columns(city: Place) -> None:
    lives(city)
    notes = city.facts(*drafting(city, period="2018-01-01..2024-12-31"))["notes"]
    columns = read(city / "draft" / "schema.toml")["columns"]
    ends = {n: (c["min"], c["max"]) for n, c in columns.items() if c["kind"] == "timestamp"}
    assert ends["visit"] == ("2018-01-01", "2024-12-31")
    assert ends["birth"] == ("1930-01-01", "2009-12-31")
    assert ends["death"][0] == "2005-01-01"
    assert "the period 2018-01-01..2024-12-31 is that of visit" in notes
    (told,) = (note for note in notes if note.startswith("birth"))
    assert "birth goes from 1930-01-01 to 2009-12-31, the public table's range" in told
    assert any(note.startswith("death goes from 2005") for note in notes)


@pytest.mark.parametrize(
    ("low", "high", "period", "of"),
    [
        ("2017-01-01", "2017-12-31", "2018-01-01..2018-12-31", True),
        ("2017-01-01", "2017-12-31", "2018-02-01..2018-04-30", True),
        ("2017-01-01", "2017-12-31", "2018-01-01..2024-12-31", True),
        ("2010-01-01", "2017-12-31", "2016-01-01..2022-12-31", True),
        ("1930-01-01", "2014-12-31", "2018-01-01..2024-12-31", False),
        ("1930-01-01", "2014-12-31", "1990-01-01..2020-12-31", False),
        ("1950-01-01", "1956-12-31", "2018-01-01..2024-12-31", False),
    ],
)
def test_a_period_is_of_columns_of_its_kind(low: str, high: str, period: str, of: bool) -> None:
    column = Timestamp(name="when", min=low, max=high)
    schema, found = in_period(Schema("t", (column,)), period)
    assert (found.given, found.kept) == ((("when",), ()) if of else ((), (column,)))
    assert (schema.timestamps[0] == column) is not of
    assert found.told[0].endswith("that of when" if of else "that of no column")
    # What orders people's rows is what happens in the period.
    ordered = replace(Schema("t", (column,)), order_by=("when",))
    assert in_period(ordered, period)[1].given == ("when",)


@pytest.mark.parametrize(("low", "of"), [(0, False), (1930, False), (2016, True)])
def test_years_of_people_are_of_the_period_if_they_are_like_it(low: int, of: bool) -> None:
    year = Integer(name="year", min=low, max=2017, of="person")
    _, found = in_period(Schema("t", (year,)), "2018-01-01..2019-12-31")
    assert found.given == (("year",) if of else ())


def test_without_a_period_it_is_the_public_years(city: Place) -> None:
    city.fine(*drafting(city))
    declared = read(city / "draft" / "schema.toml")["columns"]["when"]
    assert (declared["min"], declared["max"]) == ("2019-01-01", "2019-12-31")


@pytest.mark.parametrize(
    ("changes", "bounding", "why"),
    [
        ({}, "norm", "# it needs no cap, and usually has the smaller error."),
        ({"unit": "each-row"}, "weights:1", "# every row is a different person."),
        ({"delta": 0}, "weights:4", "this C has the smallest sum of noise and clipping error on"),
        ({"delta": 0, "unit": "each-row"}, "weights:1", "# every row is a different person."),
    ],
)
def test_how_people_are_bounded_is_chosen_and_said(
    city: Place, changes: dict[str, Any], bounding: str, why: str
) -> None:
    private = table(city, "private.csv", 2020)
    city.fine(*drafting(city, private=private, **changes))
    run = read(city / "draft" / "understudy.toml")
    assert run["bounding"] == bounding
    assert why in (city / "draft" / "understudy.toml").read_text()
    assert run["unit"] == changes.get("unit", "taxi")
    if THOROUGH or bounding == "weights:4":
        city.fine("check", city / "draft" / "understudy.toml", "--mechanism=independent")


@pytest.mark.parametrize(("unit", "people", "delta"), [("taxi", 30, 1e-4), ("each-row", 120, 1e-5)])
def test_delta_is_far_below_one_in_the_number_of_public_people(
    city: Place, unit: str, people: int, delta: float
) -> None:
    city.fine(*drafting(city, unit=unit))
    assert read(city / "draft" / "understudy.toml")["delta"] == delta
    assert f"({people} in the public table)" in (city / "draft" / "understudy.toml").read_text()
    assert delta * people <= 0.01


def test_people_of_no_id_are_not_counted(city: Place) -> None:
    (city / "public.csv").write_text("taxi,colour\n1,red\n,blue\nNULL,red\n1,red\n2,blue\n")
    city.fine(*drafting(city))
    assert "(2 in the public table)" in (city / "draft" / "understudy.toml").read_text()


def test_a_budget_and_a_name_may_be_said(city: Place) -> None:
    city.fine(*drafting(city, epsilon=0.5, delta=1e-7, name="taxis"))
    run = read(city / "draft" / "understudy.toml")
    assert (run["epsilon"], run["delta"]) == (0.5, 1e-7)
    assert (run["ledger"], run["out"]) == ("taxis.ledger", "taxis-release")
    assert read(city / "draft" / "schema.toml")["name"] == "taxis"


def test_a_unit_of_several_columns_and_of_a_part_of_a_moment(city: Place) -> None:
    city.fine(*drafting(city, unit="taxi, when:week"))
    assert read(city / "draft" / "understudy.toml")["unit"] == "taxi, when:week"
    columns = read(city / "draft" / "schema.toml")["columns"]
    assert (columns["taxi"]["kind"], columns["when"]["kind"]) == ("id", "timestamp")
    private = table(city, "private.csv", 2020)
    (city / "two").mkdir()
    command = drafting(city, unit="taxi,colour", private=private)
    city.fine("init", city / "two", *command[2:])
    columns = read(city / "two" / "schema.toml")["columns"]
    assert (columns["taxi"]["kind"], columns["colour"]["kind"]) == ("id", "id")
    city.fine("check", city / "two" / "understudy.toml")


def test_names_that_are_odd_are_written_as_they_are(city: Place) -> None:
    private = table(city, 'pri"vate $x.csv', 2020)
    (city / "public.csv").write_text(
        (city / "public.csv").read_text().replace("colour", '"[col = our] ""ü"""')
    )
    city.fine(*drafting(city, private=private, name="a\nb = $c\x01"))
    assert read(city / "draft" / "schema.toml")["name"] == "a\nb = $c\x01"
    assert '[col = our] "ü"' in read(city / "draft" / "schema.toml")["columns"]
    run = read(city / "draft" / "understudy.toml")
    assert run["private"] == str(private)
    assert run["ledger"] == "a\nb = $c\x01.ledger"


# Where files are, from there


def test_paths_lead_from_the_run_file_to_the_tables(
    city: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(city, "private.csv", 2020)
    (city / "far" / "off").mkdir(parents=True)
    (city / "near").symlink_to(city / "far" / "off")
    monkeypatch.chdir(city.folder)
    for folder in ("new/one", "near"):
        city.fine("init", folder, "--public=public.csv", "--private=private.csv", "--unit=taxi")
        run = read(city / folder / "understudy.toml")
        assert (run["public"], run["private"]) == ("../../public.csv", "../../private.csv")
        city.fine("check", f"{folder}/understudy.toml", "--mechanism=independent")
    city.fine("init", "--public=public.csv", "--unit=taxi", "--name=here", "new")
    assert read(city / "new" / "understudy.toml")["private"] == "../PRIVATE.csv"


def test_a_table_of_sqlite_is_a_file_too(city: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(city.folder)
    city.fine(*drafting(city, private="sqlite:city.db#trips", name="city"))
    run = read(city / "draft" / "understudy.toml")
    assert run["private"] == "sqlite:../city.db#trips"


def test_a_server_stays_where_it_is(city: Place) -> None:
    server = "postgresql://ada@localhost/city#trips"
    city.fine(*drafting(city, private=server, name="city"))
    assert read(city / "draft" / "understudy.toml")["private"] == server


# The private table is never opened


def test_a_private_table_that_is_not_there_is_no_trouble(city: Place) -> None:
    city.fine(*drafting(city, private=city / "none.parquet"))
    assert read(city / "draft" / "understudy.toml")["private"] == str(city / "none.parquet")


def test_the_private_table_is_never_opened(city: Place) -> None:
    # Whoever opens a pipe that nobody writes to waits for ever, in Python and out of it.
    os.mkfifo(city / "private.csv")
    watched = (
        "import os\n"
        "sys.addaudithook(lambda event, given: os._exit(99) if event == 'open' and "
        f"given[0] in {{{str(city / 'private.csv')!r}, {os.fsencode(city / 'private.csv')!r}}} "
        "else None)"
    )
    command = drafting(city, private=city / "private.csv")
    done = process(*command, code=watched, stdin=subprocess.DEVNULL, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_of_tables_only_the_public_one_is_attached(
    city: Place, monkeypatch: pytest.MonkeyPatch, delta: float
) -> None:
    private = table(city, "private.csv", 2020)
    private.chmod(0)
    attached = []
    attach = DuckDB.attach

    def watching(engine: DuckDB, data: object, **named: Any) -> Any:
        attached.append(str(data))
        return attach(engine, data, **named)

    monkeypatch.setattr(DuckDB, "attach", watching)
    city.fine(*drafting(city, private=private, delta=delta))
    assert set(attached) == {str(city / "public.csv")}


# Metadata files

DOMAIN = """
colour: {possible_values: [red, blue]}
hour: {min_value: 0, max_value: 3, dtype: int}
"""
SDV = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "columns": {
        "taxi": {"sdtype": "id"},
        "colour": {"sdtype": "categorical"},
        "hour": {"sdtype": "numerical"},
    },
}
NIST = {
    "schema": {
        "colour": {"dtype": "str", "kind": "categorical", "values": ["red", "blue"]},
        "hour": {"dtype": "int", "kind": "categorical", "values": [0, 1, 2, 3]},
        "taxi": {"dtype": "int", "kind": "id"},
    },
    "runs": [],
}
KNOWN: dict[str, object] = {
    "domain.yaml": DOMAIN,
    "pgm.json": {"colour": 2, "hour": 4},
    "parameters.json": NIST,
}


def metadata(place: Place, name: str, content: object) -> Path:
    path = place / name
    if isinstance(content, str):
        path.write_text(content)
        return path
    return written(path, content)


@pytest.mark.parametrize("name", KNOWN)
def test_a_metadata_file_that_tells_values_is_enough(place: Place, name: str) -> None:
    path = metadata(place, name, KNOWN[name])
    header = "taxi,colour,hour,fare"
    private = place / "trips.csv"
    command = drafting(place, public=None, metadata=path, header=header, private=private)
    place.fine(*command)
    columns = read(place / "draft" / "schema.toml")["columns"]
    assert columns["taxi"]["kind"] == "id"
    assert columns["fare"]["kind"] == "ignored"
    run = read(place / "draft" / "understudy.toml")
    assert "public" not in run
    assert (run["delta"], run["bounding"]) == (1e-9, "norm")
    text = (place / "draft" / "understudy.toml").read_text()
    assert '# public = "last-year.csv"' in text
    assert "(number unknown)" in text
    assert f"from {name}." in (place / "draft" / "schema.toml").read_text()
    facts = place.facts("check", place / "draft" / "understudy.toml")
    assert facts["people"] is None


def test_metadata_of_sdv_with_a_public_table(city: Place) -> None:
    path = metadata(city, "sdv.json", SDV)
    city.fine(*drafting(city, metadata=path, header=",".join(HEADER)))
    schema = read(city / "draft" / "schema.toml")
    assert schema["name"] == "sdv"
    assert schema["columns"]["colour"]["values"] == ["blue", "red"]
    assert schema["columns"]["tip"]["kind"] == "ignored"
    assert read(city / "draft" / "understudy.toml")["public"] == str(city / "public.csv")


# What is refused


def draft(*more: str, **changes: Any) -> Callable[[Place], list[str]]:
    """Write a command line in which P/ is the place."""

    def make(place: Place) -> list[str]:
        here = {
            k: v.replace("P/", f"{place.folder}/") if isinstance(v, str) else v
            for k, v in changes.items()
        }
        return drafting(place, *more, **here)

    return make


def described(content: object, **changes: Any) -> Callable[[Place], list[str]]:
    def make(place: Place) -> list[str]:
        metadata(place, "known.json", content)
        return draft(metadata="P/known.json", **changes)(place)

    return make


def linked(how: str) -> Callable[[Place], list[str]]:
    """Name the public table as the private one, by another name."""

    def make(place: Place) -> list[str]:
        private = place / "private.csv"
        if how == "hard":
            private.hardlink_to(place / "public.csv")
        elif how == "link":
            private.symlink_to(place / "public.csv")
        else:
            private = place / ".." / place.folder.name / "public.csv"
        return drafting(place, private=private)

    return make


def taken(name: str) -> Callable[[Place], list[str]]:
    def make(place: Place) -> list[str]:
        (place / "draft").mkdir()
        (place / "draft" / name).write_text("mine")
        return drafting(place)

    return make


SAME = (
    "--private and --public name the same table",
    "allowed: a different --public table, which anyone may see",
    "Hint: init never opens it: a list, a range or a bin taken from private rows would reveal what "
    "is in them, with no budget spent on it",
)
REFUSED: dict[str, Case] = {
    "a data file in the folder's place": (
        lambda p: ["init", str(p / "trips.csv"), "--unit=taxi"],
        UsageError,
        (
            "init drafts from public data only",
            "trips.csv; allowed: --public FILE, a similar table that anyone may see",
            "Hint: if trips.csv is private, init never opens it: a list, a range or a bin",
        ),
    ),
    "the private table as the public one": (draft(private="P/public.csv"), UsageError, SAME),
    "the private table by another path": (linked("path"), UsageError, SAME),
    "the private table by a link": (linked("link"), UsageError, SAME),
    "the private table by a second name": (linked("hard"), UsageError, SAME),
    "a table that is not there as both": (
        draft(public="P/none.csv", private="P/none.csv"),
        UsageError,
        SAME,
    ),
    "nothing public": (
        draft(public=None),
        UsageError,
        (
            "init needs something public to draft from",
            "allowed: --public TABLE, --metadata FILE, or --header COLUMN,COLUMN… for a schema to",
            "Hint: last year's published extract, or a codebook",
        ),
    ),
    "a header without metadata": (
        draft(header="taxi,colour"),
        UsageError,
        ("--header is not needed", "Hint: a public table has its own header"),
    ),
    "a header that lacks a column": (
        described({"colour": 2, "hour": 4}, public=None, header="taxi, colour"),
        MissingColumnError,
        (
            "the metadata file describes columns that the header does not have",
            "got hour; allowed: taxi, colour",
        ),
    ),
    "a unit that is no column": (
        draft(unit="taxi,cab"),
        MissingColumnError,
        (
            "the unit names columns that do not exist",
            "got cab; allowed: colour, hour, taxi, tip, when",
        ),
    ),
    "a unit of a part of no column": (draft(unit="noon:week"), MissingColumnError, ("got noon",)),
    "a unit of no name": (draft(unit=" , "), BudgetError, ("at least one column",)),
    "a unit that the header has not": (
        described({"colour": 2}, public=None, header="colour"),
        MissingColumnError,
        ("got taxi; allowed: colour",),
    ),
    "no unit and nobody to ask": (
        draft(unit=None),
        UsageError,
        (
            "init needs to know who is protected",
            "allowed: --unit COLUMN, of taxi, colour, hour, when, tip; or --unit each-row",
            "Hint: the column that identifies people, taxis, patients, planes",
        ),
    ),
    "a period of one day": (
        draft(period="2020-01-01"),
        UsageError,
        ("a period is a first and a last day", "got 2020-01-01; allowed: YYYY-MM-DD..YYYY-MM-DD"),
    ),
    "a period of other letters": (draft(period="2020..2021"), UsageError, ("got 2020..2021",)),
    "a period of no days": (draft(period="2020-02-30..2020-03-01"), SchemaError, ("2020-02-30",)),
    "a period that ends before it begins": (
        draft(period="2021-01-01..2020-01-01"),
        SchemaError,
        ("the last day is before the first", "got 2021-01-01 to 2020-01-01"),
    ),
    "a period without moments": (
        described(
            {"colour": 2}, public=None, header="taxi,colour", period="2020-01-01..2020-12-31"
        ),
        UsageError,
        ("no column has dates or years", "got --period 2020-01-01..2020-12-31", "Hint: omit it"),
    ),
    "no epsilon": (draft(epsilon=0), BudgetError, ("epsilon must be positive", "got 0.0")),
    "a delta above 1": (draft(delta=2), BudgetError, ("delta must be a probability", "got 2.0")),
    "pure epsilon, and nobody public": (
        described({"colour": 2}, public=None, header="taxi,colour", delta=0),
        UsageError,
        (
            "pure epsilon needs a cap on rows per person, and no public table suggests one",
            "got --delta 0",
            "Hint: choose a delta above 0, or a public table with the unit's columns",
        ),
    ),
    "a public table that is not there": (
        draft(public="P/none.csv"),
        MissingFileError,
        ("there is no file", "none.csv"),
    ),
    "a metadata file that is not there": (
        draft(metadata="P/none.json"),
        MissingFileError,
        ("cannot read the schema file", "none.json"),
    ),
    "a metadata file of no known kind": (
        described({"a": "b"}),
        SchemaError,
        ("known.json is not a supported schema file", "allowed: our TOML"),
    ),
    "metadata of sdv without a public table": (
        described(SDV, public=None),
        SchemaError,
        (
            "SDV metadata does not declare the values of some columns",
            "got colour, hour",
            "Hint: pass a public table to take lists and ranges from, never the private one",
        ),
    ),
    "a schema that is there already": (
        taken("schema.toml"),
        OutputExistsError,
        ("draft/schema.toml exists already", "nothing is ever overwritten"),
    ),
    "a run file that is there already": (
        taken("understudy.toml"),
        OutputExistsError,
        ("draft/understudy.toml exists already", "nothing is ever overwritten"),
    ),
    "a folder below a file": (
        lambda p: ["init", str(p / "trips.csv" / "draft"), *drafting(p)[2:]],
        StorageError,
        ("cannot create a folder in", "trips.csv"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_drafted_is_told_in_one_line(city: Place, case: str) -> None:
    make, kind, said = REFUSED[case]
    refused(city, make(city), kind, said)
    if (city / "draft").exists():
        (kept,) = (city / "draft").iterdir()
        assert kept.read_text() == "mine"


# Whoever sits at a terminal is asked


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
    """Give a terminal to type at, before the question is asked."""
    keyboard, screen = os.openpty()

    def typed(keys: bytes) -> None:
        os.write(keyboard, keys)

    with os.fdopen(screen, encoding="utf-8") as reading:
        monkeypatch.setattr(sys, "stdin", reading)
        yield typed
    os.close(keyboard)


def test_whoever_sits_there_is_asked_for_period_and_unit(
    city: Place, terminal: Callable[[bytes], None]
) -> None:
    terminal(b"2020-01-01..2020-06-30\n taxi \n")
    out = city.fine(*drafting(city, unit=None))
    assert out.startswith(
        "Which days does the private table cover? Days outside count as the nearest one.\n"
        "period [2019-01-01..2019-12-31]> Who is protected? Name the column that identifies them "
        "(or several, separated by commas).\n"
    )
    assert "If every row is a different person: each-row\n" in out
    assert "Columns: taxi, colour, hour, when, tip\nunit> " in out
    columns = read(city / "draft" / "schema.toml")["columns"]
    assert (columns["taxi"]["kind"], columns["when"]["max"]) == ("id", "2020-06-30")
    assert read(city / "draft" / "understudy.toml")["unit"] == "taxi"


@pytest.mark.parametrize("unit", ["taxi", "each-row", "taxi, colour"])
def test_enter_keeps_the_period_and_a_wrong_unit_is_asked_again(
    city: Place, terminal: Callable[[bytes], None], unit: str
) -> None:
    terminal(f"\ncab\n\n{unit}\n".encode())
    out = city.fine(*drafting(city, unit=None))
    assert out.count("unit> No such column.\n") == 2
    columns = read(city / "draft" / "schema.toml")["columns"]
    assert (columns["when"]["min"], columns["when"]["max"]) == ("2019-01-01", "2019-12-31")
    assert read(city / "draft" / "understudy.toml")["unit"] == unit


@pytest.mark.parametrize("typed", [b"\ncab\ntaxi,cab\nall\ntaxi\n", b"\x04\x04\x04\x04"])
def test_after_three_wrong_ones_or_none_it_leaves(
    city: Place, terminal: Callable[[bytes], None], typed: bytes
) -> None:
    terminal(typed)
    told = city.say(*drafting(city, unit=None))
    assert told.code == UsageError.exit_code
    assert told.out.count("unit> ") == 3
    assert told.err == (
        "understudy: no unit was given (allowed: taxi, colour, hour, when, tip, each-row)\n"
    )
    assert not (city / "draft").exists()


def test_a_period_that_is_typed_wrong_is_told(
    city: Place, terminal: Callable[[bytes], None]
) -> None:
    terminal(b"last year\n")
    told = city.say(*drafting(city))
    assert told.err.startswith(
        "understudy: a period is a first and a last day (got last year; allowed: YYYY-MM"
    )


def test_nothing_is_asked_that_was_said_or_is_of_no_use(
    city: Place, terminal: Callable[[bytes], None]
) -> None:
    del terminal
    assert "> " not in city.fine(*drafting(city, period="2020-01-01..2020-12-31"))
    path = metadata(city, "pgm.json", {"colour": 2})
    command = drafting(city, public=None, metadata=path, header="taxi,colour")
    assert "> " not in city.fine("init", city / "other", *command[2:])


def test_whoever_wants_json_is_not_asked(city: Place, terminal: Callable[[bytes], None]) -> None:
    del terminal
    told = city.say(*drafting(city, unit=None), "--json")
    assert json.loads(told.line)["what"] == "init needs to know who is protected"


def test_without_any_input_nobody_is_asked(city: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "init needs to know who is protected" in city.say(*drafting(city, unit=None)).line
    city.fine(*drafting(city))


# Files as they are


@pytest.fixture
def german(place: Place) -> Place:
    """A public and a private table with semicolons, in Latin-1."""
    rows = [f"{i % 40};{('Köln', 'Ulm')[i % 2]};{i % 7}" for i in range(200)]
    text = "\r\n".join(["wer;stadt;tage", *rows, ""]).encode("latin-1")
    for name in ("public.csv", "private.csv"):
        (place / name).write_bytes(text)
    return place


def test_a_public_file_is_sniffed_and_the_private_one_is_read_so_too(german: Place) -> None:
    asked = drafting(german, unit="wer", private=german / "private.csv")
    told = german.fine(*asked)
    assert "looks like delimiter ';', encoding 'latin-1'; the private table is read so too" in told
    declared = read(german / "draft" / "schema.toml")
    assert declared["csv"] == {"delimiter": ";", "quote": '"', "encoding": "latin-1"}
    assert declared["columns"]["stadt"]["values"] == ["Köln", "Ulm"]
    run = german / "draft" / "understudy.toml"
    german.fine("synth", run, "--mechanism=independent", "--epsilon=20")
    release = german / "draft" / "private-release"
    assert {"Köln", "Ulm"} <= set(pq.read_table(release / "rows.parquet")["stadt"].to_pylist())
    # The run file has the schema and the unit.
    facts = german.facts("evaluate", release, "--private", run)
    assert facts["releases"][0]["pairs"] if "releases" in facts else facts


def test_a_delimiter_and_an_encoding_may_be_given(german: Place) -> None:
    path = german / "public.csv"
    path.write_bytes(path.read_bytes().replace(b";", b"^"))
    german.fine(*drafting(german, unit="wer"), "--delimiter=^", "--encoding=latin-1")
    assert read(german / "draft" / "schema.toml")["csv"]["delimiter"] == "^"


def test_a_header_alone_gives_a_schema_to_fill_in(place: Place) -> None:
    told = place.fine(
        "init", place / "draft", "--header=taxi,colour,hour", "--unit=taxi",
        f"--private={place / 'trips.csv'}",
    )  # fmt: skip
    assert "schema.toml: to be filled in" in told
    path, run = place / "draft" / "schema.toml", place / "draft" / "understudy.toml"
    assert read(path)["columns"] == {
        "taxi": {"kind": "id"},
        "colour": {"kind": "ignored"},
        "hour": {"kind": "ignored"},
    }
    refused(place, ["check", str(run)], SchemaError, ("no column to model", "Hint: declare those"))
    filled = 'kind = "integer"\nmin = 0\nmax = 3'
    path.write_text(path.read_text().replace('kind = "ignored"  # to be filled in', filled))
    assert "Nothing was spent" in place.fine("check", run, "--mechanism=independent")
