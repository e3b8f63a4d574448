"""Two private tables on the command line: people and their rows, in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import understudy as us
from tests.audit.effort import THOROUGH
from tests.cli.drafted import read, runfile
from tests.cli.place import SCHEMA, Place
from understudy.errors import (
    LedgerMismatchError,
    MissingColumnError,
    MissingFileError,
    SchemaError,
    UsageError,
)
from understudy.evaluate import NOTICE
from understudy.release import Release

pytestmark = pytest.mark.usefixtures("plain_reports")

QUICK = "lives" if THOROUGH else "independent"
"""Lives takes its time: it runs where people without rows are looked at."""


@pytest.fixture
def two(place: Place) -> Place:
    """The place's taxis with a table of their own: 40 of them, of which 30 have trips."""
    own = SCHEMA.replace('values = ["red", "blue"]', 'values = ["red", "blue"]\nof = "person"')
    (place / "schema.toml").write_text(own)
    lines = [f"{i},{'red' if i % 3 else 'blue'}" for i in range(40)]
    (place / "taxis.csv").write_text("\n".join(["taxi,colour", *lines, ""]))
    pd.read_csv(place / "trips.csv")[["taxi", "hour"]].to_csv(place / "hours.csv", index=False)
    return place


def synth(place: Place, **changes: Any) -> list[str]:
    given = {"people": place / "taxis.csv", "mechanism": "lives", "epsilon": 50}
    return place.synth("hours.csv", **(given | changes))


def check_fit(folder: Path, form: str = "parquet") -> None:
    load = {"parquet": pd.read_parquet, "csv": pd.read_csv}[form]
    people, rows = (load(folder / f"{name}.{form}") for name in ("people", "rows"))
    assert list(people.columns) == ["taxi", "colour"]
    assert list(rows.columns) == ["taxi", "hour"]
    assert people["taxi"].is_unique
    assert set(rows["taxi"]) <= set(people["taxi"])


def test_two_tables_in_and_two_files_out(two: Place) -> None:
    out = two.fine(*synth(two, format="csv"))
    made = Release.read(two / "out")
    assert f"{len(made.people)} synthetic people and {len(made)} synthetic rows in" in out
    check_fit(two / "out", "csv")
    assert len(made.people) > made.rows["taxi"].nunique()
    two.fine("report", two / "out", "--out", two / "page.html")
    assert "more have none" in (two / "page.html").read_text()
    facts = two.facts("ledger", two / "trips.ledger", "--verify", two / "out")
    assert facts["agrees"]
    assert "colour" in pd.read_csv(_sampled(two)).columns


def _sampled(place: Place) -> Path:
    place.fine("sample", place / "out", "-n", "20", "--out", place / "more.csv")
    return place / "more.csv"


def test_a_run_file_names_both(two: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    both = {"people": "taxis.csv", "rows": "hours.csv"}
    file = runfile(two, private=both, mechanism=QUICK)
    monkeypatch.chdir(tmp_path)
    two.fine("check", file)
    assert two.spent() is None
    facts = two.facts("synth", file)
    assert facts["people"] == Release.read(two / "out").manifest["people"]
    check_fit(two / "out")
    # From the note in the ledger, and from tables that have moved.
    moved: list[str | Path] = ["--private", two / "hours.csv", "--people", two / "taxis.csv"]
    for i, words in enumerate((moved[:0], moved)):
        two.fine("resume", two / "trips.ledger", "--out", two / f"again{i}", *words)
        for name in ("manifest.json", "people.parquet", "rows.parquet"):
            again = (two / f"again{i}" / name).read_bytes()
            assert again == (two / "out" / name).read_bytes()
    told = two.say("resume", two / "trips.ledger", "--out", "x", "--private", two / "trips.csv")
    assert told.code == LedgerMismatchError.exit_code
    assert "another number of private tables" in told.err


def test_an_option_is_in_the_place_of_the_run_files_people(two: Place) -> None:
    file = runfile(two, private={"people": "none.csv", "rows": "hours.csv"})
    two.fine("synth", file, "--people", two / "taxis.csv")
    again = runfile(two, "again.toml", private="hours.csv", out="again", ledger="again.ledger")
    two.fine("synth", again, "--people", two / "taxis.csv")
    check_fit(two / "again")


def test_a_public_pair_is_named_in_a_run_file_and_rehearsed_on(two: Place) -> None:
    for name in ("taxis.csv", "hours.csv"):
        (two / f"old-{name}").write_text((two / name).read_text())
    file = runfile(
        two,
        private={"people": "taxis.csv", "rows": "hours.csv"},
        public={"people": "old-taxis.csv", "rows": "old-hours.csv"},
        mechanism="lives",
    )
    facts = two.facts("check", file)
    assert facts["people"] == 30
    assert facts["expected_pair_error"] is not None
    two.fine("synth", file, "--mechanism", QUICK)
    two.fine("resume", two / "trips.ledger", "--out", two / "again")
    check_fit(two / "again")


def test_evaluate_takes_both(two: Place) -> None:
    two.fine(*synth(two, mechanism=QUICK))
    known = ("--schema", two / "schema.toml", "--unit", "taxi")
    private = ("--private", two / "hours.csv", "--people", two / "taxis.csv")
    facts = two.facts("evaluate", two / "out", *private, *known)
    assert facts["notice"] == NOTICE
    assert facts["rows"] == 120
    # A flat table of the same is as far away.
    flat = two.facts("evaluate", two / "out", "--private", two / "trips.csv", *known)
    assert set(flat["synthetic"]["summary"]) == set(facts["synthetic"]["summary"])
    page = two / "custodian.html"
    two.fine("evaluate", two / "out", *private, *known, "--report", page)
    assert "taxis.csv" in page.read_text()


# A draft of both


def old(two: Place) -> list[str | Path]:
    """The options that name a public pair: 25 other taxis, 20 of which have trips."""
    people = [f"x{i},{'red' if i % 4 else 'blue'},{1990 + i}" for i in range(25)]
    (two / "old-taxis.csv").write_text("\n".join(["taxi,colour,built", *people, ""]))
    rows = [f"x{i % 20},green,{i % 4}" for i in range(80)]
    (two / "old-hours.csv").write_text("\n".join(["taxi,colour,hour", *rows, ""]))
    return ["--public", two / "old-hours.csv", "--public-people", two / "old-taxis.csv"]


def test_a_draft_of_two_public_tables_goes_straight_into_check_and_synth(two: Place) -> None:
    (two / "taxis.csv").write_text(
        "\n".join(["taxi,colour,built", *(f"{i},red,{1990 + i % 25}" for i in range(40)), ""])
    )
    folder = two / "draft"
    folder.mkdir()
    ours = ("--private", two / "hours.csv", "--people", two / "taxis.csv")
    two.fine("init", folder, *old(two), *ours, "--unit", "taxi", "--name", "trips")
    schema = us.Schema.read(folder / "schema.toml")
    # What both have is the people's, with their values.
    assert schema.own == ("colour", "built")
    assert schema["colour"].values == ("blue", "red")  # type: ignore[attr-defined]
    assert {c.name for c in schema.modelled} == {"colour", "built", "hour"}
    told = read(folder / "understudy.toml")
    assert told["private"] == {"people": str(two / "taxis.csv"), "rows": str(two / "hours.csv")}
    assert told["public"]["people"] == str(two / "old-taxis.csv")
    assert told["public"]["rows"] == str(two / "old-hours.csv")
    # 25 people, of whom 5 have no rows.
    assert told["delta"] == 1e-4
    if THOROUGH:
        two.fine("check", folder / "understudy.toml")
    two.fine("synth", folder / "understudy.toml")
    made = Release.read(folder / "trips-release")
    # Public people could not stand in: they all have rows.
    assert made.manifest["mechanism"]["chosen"]["name"] == "lives"
    assert list(made.people.columns) == ["taxi", "colour", "built"]
    assert list(made.rows.columns) == ["taxi", "hour"]


def test_a_draft_says_what_it_does_not_know_of_people(two: Place) -> None:
    (two / "flat").mkdir()
    words = ("--public", two / "trips.csv", "--people", two / "taxis.csv", "--unit", "taxi")
    told = two.fine("init", two / "flat", *words)
    assert f"nothing public says what is in {two / 'taxis.csv'}" in told
    assert "--public-people" in told
    assert read(two / "flat" / "understudy.toml")["private"]["people"] == str(two / "taxis.csv")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--unit", "hour"], "two tables are joined on the unit, which both must have"),
        (["--unit", "each-row"], "which both must have"),
        (["--people", "OLD"], "--private and --public name the same table"),
        (["--public", "TAXIS", "--private", "TAXIS"], "--private and --public name the same table"),
    ],
)
def test_a_draft_of_two_that_cannot_be(two: Place, changed: list[str], said: str) -> None:
    places = {"OLD": str(two / "old-taxis.csv"), "TAXIS": str(two / "taxis.csv")}
    words = [*old(two), "--unit", "taxi", *(places.get(word, word) for word in changed)]
    (two / "draft").mkdir()
    told = two.say("init", two / "draft", *words)
    assert told.code == UsageError.exit_code
    assert said in told.line
    assert not list((two / "draft").iterdir())


def test_a_public_table_of_people_stands_beside_one_of_rows(two: Place) -> None:
    old(two)
    alone = ("--public-people", two / "old-taxis.csv", "--header", "taxi,hour", "--unit", "taxi")
    told = two.say("init", two / "draft", *alone)
    assert "--public-people is a table beside --public" in told.line


# What is refused, with nothing spent


@pytest.mark.parametrize(
    ("both", "told"),
    [
        ({"people": "taxis.csv"}, "a string, or {people"),
        ({"people": "taxis.csv", "rows": 3}, "a string, or {people"),
        ({"people": "taxis.csv", "rows": "hours.csv", "more": "x.csv"}, "a string, or {people"),
    ],
)
def test_a_run_file_of_other_tables(two: Place, both: dict[str, Any], told: str) -> None:
    said = two.say("synth", runfile(two, private=both))
    assert said.code == UsageError.exit_code
    assert told in said.line


def test_what_does_not_fit_is_told_before_anything_is_spent(two: Place) -> None:
    cases = [
        (synth(two, people=two / "hours.csv"), MissingColumnError, "table of people lacks"),
        (synth(two, people=two / "none.csv"), MissingFileError, "no file"),
        (synth(two, schema=two / "rides.toml"), SchemaError, "columns of people"),
        (synth(two, unit="each-row", bounding="weights:1"), UsageError, "ids of people"),
        (synth(two, public=two / "taxis.csv"), UsageError, "named as the public one"),
        (["resume", "x.ledger", "--people", "y.csv"], UsageError, "--private FILE"),
    ]
    for words, error, told in cases:
        said = two.say(*words)
        assert (said.code, told in said.line) == (error.exit_code, True), said
    assert two.spent() is None
    assert not (two / "out").exists()


def test_a_recipe_has_one_table(two: Place) -> None:
    said = two.say(
        "synth",
        two / "hours.csv",
        "--recipe=chicago-taxi",
        f"--people={two / 'taxis.csv'}",
        "--parameters=x.json",
        "--ledger=x.ledger",
        "--out=x.csv",
    )
    assert said.code == UsageError.exit_code
    assert "--people" in said.line


def test_the_ledger_of_two_tables_is_that_of_the_name(two: Place) -> None:
    two.fine(*synth(two, mechanism=QUICK))
    state = json.loads(two.fine("ledger", two / "trips.ledger", "--json"))
    assert state["table"] == "trips"
    assert state["runs"][0]["state"] == "closed"
