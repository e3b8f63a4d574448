"""sample draws more rows of a release, free of charge, and all of them as they are wanted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.drafted import refused, table
from tests.cli.place import SCHEMA, Place
from understudy.cli.main import main
from understudy.errors import (
    MalformedFileError,
    MissingFileError,
    OutputExistsError,
    SchemaError,
    StorageError,
    UnderstudyError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Case = tuple[Callable[[Place], list[str]], type[UnderstudyError], tuple[str, ...]]

pytestmark = pytest.mark.usefixtures("plain_reports")

MOMENTS = """
[columns.when]
kind = "timestamp"
min = "2019-01-01"
max = "2019-12-31"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make a release of a model, one of people only, and one of no rows, once for all tests."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "schema.toml").write_text(SCHEMA)
    (folder / "moments.toml").write_text(SCHEMA + MOMENTS)
    private = folder / "city.csv"
    here = Place(folder, cast("pytest.CaptureFixture[str]", None))
    table(here, "city.csv", count=600)
    (folder / "nobody.csv").write_text("taxi,colour,hour\n")
    releases: dict[str, dict[str, Any]] = {
        "model": {"schema": folder / "moments.toml", "format": "csv"},
        # So much that noise makes up no missing value.
        "people": {"mechanism": "usercounts", "epsilon": 1e5},
        "rows": {"unit": "each-row", "bounding": "weights:1"},
        "nothing": {"private": "nobody.csv", "delta": 0, "epsilon": 1e6, "bounding": "weights:1"},
    }
    for name, changes in releases.items():
        given: dict[str, Any] = {"private": private.name, "epsilon": 200, "bounding": "weights:20"}
        place = {"ledger": folder / f"{name}.ledger", "out": folder / name}
        assert main(here.synth(**given | place | changes)) == 0
    return {name: folder / name for name in releases}


def sampled(place: Place, release: Path, *options: str, out: str = "more.parquet") -> pd.DataFrame:
    """Draw rows, and read them."""
    place.fine("sample", release, *options, f"--out={place / out}")
    path = place / out
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


# What is drawn


def test_so_many_rows_as_are_asked_for_or_as_there_are(place: Place, made: dict[str, Path]) -> None:
    told = place.fine("sample", made["model"], "-n", "70", f"--out={place / 'a.csv'}")
    assert told == f"70 rows in {place / 'a.csv'}, drawn from its model; at no privacy cost\n"
    assert len(pd.read_csv(place / "a.csv")) == 70
    rows = json.loads((made["model"] / "manifest.json").read_text())["rows"]
    facts = place.facts("sample", made["model"], f"--out={place / 'b.csv'}")
    assert facts == {"rows": rows, "file": str(place / "b.csv"), "drawn_from": "its model"}
    assert len(pd.read_csv(place / "b.csv")) == rows
    assert list(sampled(place, made["model"], "--rows=0", out="c.csv").columns) == [
        "taxi",
        "colour",
        "hour",
        "when",
    ]


@pytest.mark.parametrize("name", ["model", "people", "rows"])
def test_a_seed_gives_the_same_rows_again(place: Place, made: dict[str, Path], name: str) -> None:
    drawn = [
        sampled(place, made[name], "-n80", *seed, out=f"{i}.parquet")
        for i, seed in enumerate((["--seed=7"], ["--seed=7"], ["--seed=8"], [], []))
    ]
    assert drawn[0].equals(drawn[1])
    assert not any(drawn[0].equals(other) for other in drawn[2:])
    assert not drawn[3].equals(drawn[4])


def test_columns_have_the_types_of_the_release(place: Place, made: dict[str, Path]) -> None:
    sampled(place, made["model"], "-n50")
    kinds = pq.read_schema(place / "more.parquet")
    assert kinds.names == ["taxi", "colour", "hour", "when"]
    assert pa.types.is_timestamp(kinds.field("when").type)
    assert pa.types.is_int64(kinds.field("hour").type)
    as_csv = sampled(place, made["model"], "-n50", out="more.csv")
    moments = pd.to_datetime(as_csv["when"].dropna())
    assert set(moments.dt.year) == {2019}


def test_a_release_without_a_model_has_its_people_drawn_again(
    place: Place, made: dict[str, Path]
) -> None:
    assert not (made["people"] / "model.npz").exists()
    facts = place.facts("sample", made["people"], "-n200", f"--out={place / 'a.parquet'}")
    assert (facts["rows"], facts["drawn_from"]) == (200, "its people")
    drawn = pd.read_parquet(place / "a.parquet")
    released = pd.read_parquet(made["people"] / "rows.parquet")
    cells = {tuple(row) for row in released[["colour", "hour"]].astype(str).to_numpy()}
    assert {tuple(row) for row in drawn[["colour", "hour"]].astype(str).to_numpy()} <= cells
    blue = sampled(place, made["people"], "-n30", "--where=colour=blue", out="b.parquet")
    assert (len(blue), set(blue["colour"])) == (30, {"blue"})


def test_so_many_people_as_are_asked_for(place: Place, made: dict[str, Path]) -> None:
    told = place.fine("sample", made["people"], "--people=25", f"--out={place / 'a.csv'}")
    rows = pd.read_csv(place / "a.csv")
    assert sorted(set(rows["taxi"])) == list(range(1, 26))
    assert told == (
        f"25 people with {len(rows)} rows in {place / 'a.csv'}, drawn from its people; "
        "at no privacy cost\n"
    )
    facts = place.facts("sample", made["model"], "--people=9", f"--out={place / 'b.parquet'}")
    drawn = pd.read_parquet(place / "b.parquet")
    assert (facts["people"], facts["rows"]) == (9, len(drawn))
    assert drawn["taxi"].nunique() == 9


# Only rows as they are wanted


def test_all_rows_have_the_value_that_is_wanted(place: Place, made: dict[str, Path]) -> None:
    rows = sampled(place, made["model"], "-n60", "--where=colour=blue")
    assert (len(rows), set(rows["colour"])) == (60, {"blue"})
    assert len(set(rows["hour"])) > 1


def test_one_of_several_values_of_several_columns(place: Place, made: dict[str, Path]) -> None:
    wanted = ["--where=hour=1,3", "--where", "colour=red"]
    rows = sampled(place, made["rows"], "-n60", *wanted)
    assert set(rows["colour"]) == {"red"}
    assert set(rows["hour"]) == {1, 3}
    # Said twice of one column, they add up.
    rows = sampled(place, made["rows"], "-n60", "--where=hour=0", "--where=hour=2", out="b.csv")
    assert set(rows["hour"]) == {0, 2}


def test_a_part_of_a_moment(place: Place, made: dict[str, Path]) -> None:
    rows = sampled(
        place,
        made["model"],
        "-n40",
        "--where=when_hour=7,8",
        "--where=when_month=2019-02,2019-11",
        "--where=when_weekday=0,1,2,3,4,5,6",
    )
    assert len(rows) == 40
    assert set(rows["when"].dt.hour) <= {7, 8}
    assert set(rows["when"].dt.month) <= {2, 11}


def test_nothing_of_the_release_is_changed_and_nothing_is_spent(
    place: Place, made: dict[str, Path]
) -> None:
    everything = [made["model"].parent, made["model"]]
    files = [p for folder in everything for p in sorted(folder.iterdir()) if p.is_file()]
    before = [p.read_bytes() for p in files]
    sampled(place, made["model"], "-n5")
    assert [p.read_bytes() for p in files] == before


# What is refused


def asking(*options: str, out: str = "more.csv", of: str = "model") -> Callable[[Place], list[str]]:
    """Write a command line; releases of the module are copied as they are named."""
    return lambda place: ["sample", str(place / of), *options, f"--out={place / out}"]


def damaged(name: str, content: bytes | None) -> Callable[[Place], list[str]]:
    def make(place: Place) -> list[str]:
        path = place / "model" / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        return asking()(place)

    return make


def existing(place: Place) -> list[str]:
    (place / "more.csv").write_text("mine")
    return asking()(place)


ENDING = ("unknown file format", "allowed: FILE.csv or FILE.parquet")
WHERE = ("--where needs a column and its values", "allowed: COLUMN=VALUE[,VALUE…]")
NO_COLUMN = "(allowed: colour, hour, when_month, when_weekday, when_hour)"
REFUSED: dict[str, Case] = {
    "no release": (
        asking(of="nowhere"),
        MissingFileError,
        ("nowhere is not a release", "got no manifest.json in it", "Hint: name a release's folder"),
    ),
    "a file": (asking(of="trips.csv"), MissingFileError, ("trips.csv is not a release",)),
    "a release of no rows": (
        asking(of="nothing"),
        UsageError,
        ("cannot draw rows from a release that has none",),
    ),
    "rows that were changed": (
        damaged("rows.csv", b"taxi,colour,hour,when\n"),
        MalformedFileError,
        (
            "rows.csv has changed since the release was saved",
            "Hint: copy the whole release's folder again",
        ),
    ),
    "a model that was changed": (
        damaged("model.npz", b"PK"),
        MalformedFileError,
        ("model.npz has changed since the release was saved",),
    ),
    "a schema that is gone": (
        damaged("schema.toml", None),
        MissingFileError,
        ("schema.toml is missing",),
    ),
    "a manifest that is none": (
        damaged("manifest.json", b"{"),
        MissingFileError,
        ("is not a release",),
    ),
    "a manifest of another": (
        damaged("manifest.json", b"{}"),
        MalformedFileError,
        ("manifest.json is not an Understudy manifest",),
    ),
    "an unknown column": (
        asking("--where=fare=1"),
        SchemaError,
        ("no modelled column 'fare' " + NO_COLUMN,),
    ),
    "a moment itself": (
        asking("--where=when=2019-01-01"),
        SchemaError,
        ("no modelled column 'when' " + NO_COLUMN,),
    ),
    "an id": (asking("--where=taxi=1"), SchemaError, ("no modelled column 'taxi' " + NO_COLUMN,)),
    "an unknown value": (
        asking("--where=colour=red,green"),
        UsageError,
        (
            "column 'colour' has no such value",
            "got 'green'; allowed: red, blue, (missing), (other)",
        ),
    ),
    "a value beyond the ends": (
        asking("--where=when_hour=24"),
        UsageError,
        ("column 'when_hour' has no such value", "allowed: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"),
    ),
    "no value": (asking("--where=colour="), UsageError, (*WHERE, "got colour=")),
    "no column": (asking("--where==red"), UsageError, (*WHERE, "got =red")),
    "neither": (asking("--where=colour"), UsageError, (*WHERE, "got colour")),
    "fewer rows than none": (
        asking("--rows=-1"),
        UsageError,
        ("rows must be at least 0", "got -1"),
    ),
    "fewer people than none": (
        asking("--people=-1"),
        UsageError,
        ("people must be at least 0", "got -1"),
    ),
    "rows and people": (
        asking("-n5", "--people=5"),
        UsageError,
        ("a number of rows or a number of people", "got rows=5 and people=5"),
    ),
    "people by a column of rows": (
        asking("--people=5", "--where=colour=red"),
        UsageError,
        ("people are chosen by columns of their own", "got colour", "Hint: ask for a number of"),
    ),
    "rows that are no number": (asking("-n", "many"), UsageError, ("-n", "'many'")),
    "a seed below 0": (asking("--seed=-1"), UsageError, ("seed must be at least 0", "got -1")),
    "an unknown ending": (asking(out="more.xlsx"), UsageError, (*ENDING, "got more.xlsx")),
    "no ending": (asking(out="more"), UsageError, (*ENDING, "got more")),
    "no file named": (
        lambda p: ["sample", str(p / "model")],
        UsageError,
        ("the following arguments are required: --out", "Hint: understudy sample --help"),
    ),
    "a file that is there": (
        existing,
        OutputExistsError,
        ("more.csv exists already", "nothing is ever overwritten"),
    ),
    "a file below a file": (
        asking(out="trips.csv/more.csv"),
        StorageError,
        ("cannot create a folder in", "trips.csv"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_drawn_is_told_in_one_line(
    place: Place, made: dict[str, Path], case: str
) -> None:
    for name in ("model", "nothing"):
        shutil.copytree(made[name], place / name)
    make, kind, said = REFUSED[case]
    refused(place, make(place), kind, said)
    if case == "a file that is there":
        assert (place / "more.csv").read_text() == "mine"


def test_rows_that_no_synthetic_row_is_like(place: Place, made: dict[str, Path]) -> None:
    told = place.say(
        "sample", made["people"], "--where=colour=(missing)", f"--out={place / 'a.csv'}"
    )
    assert told.line == (
        "understudy: no synthetic row has these values (got colour). "
        "Hint: name fewer columns, or more values of each"
    )
    assert not (place / "a.csv").exists()
