"""Known totals on the command line and in a run file: followed, told of, or refused."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

import understudy as us
from tests.cli.drafted import refused, runfile
from tests.cli.place import Place
from understudy.errors import MissingFileError, SchemaError, UsageError

COLOURS = {"red": 71, "blue": 52}


def colours(place: Place, out: str = "out") -> dict[str, int]:
    rows = us.Release.read(place / out).columns["colour"].tolist()
    return dict(Counter(rows))


def counts(place: Place, text: str = "colour,count\nred,71\nblue,52\n") -> str:
    (place / "colours.csv").write_text(text, encoding="utf-8")
    return str(place / "colours.csv")


def test_a_file_of_counts(place: Place) -> None:
    file = counts(place)
    out = place.fine(*place.synth(known=file))
    assert "123 synthetic rows in" in out
    assert "  known    rows by colour, 2 counts, 123 in all.\n" in out
    assert colours(place) == COLOURS
    assert "Known totals" in (place / "out" / "report.html").read_text(encoding="utf-8")
    place.fine("resume", place / "trips.ledger", f"--out={place / 'again'}")
    assert colours(place, "again") == COLOURS
    sampled = place / "more.csv"
    place.fine("sample", place / "out", "-n", "246", f"--out={sampled}")
    assert sampled.read_text(encoding="utf-8").count("red") == 142


def test_tables_of_a_run_file(place: Place) -> None:
    counts(place)
    hours: dict[str, Any] = {"columns": "hour", "counts": {"0": 1, "3": 1}, "scaled": True}
    given = runfile(place, known=[{"counts_from": "colours.csv", "name": "paint"}, hours])
    facts = place.facts("check", given)
    assert facts["known"] == [
        "rows by colour, 2 counts, 123 in all.",
        "rows by hour, 2 counts, of which the shares are known.",
    ]
    assert "  known    rows by colour, 2 counts" in place.fine("check", given)
    place.fine("synth", given)
    assert colours(place) == COLOURS
    manifest = json.loads((place / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in manifest["known"]] == ["paint", "rows by hour"]
    assert [each["largest_difference"] for each in manifest["known"]] == [0, 0.5]
    # The command line is in the place of the file.
    counts(place, "colour,count\nred,5\n")
    options = [
        f"--known={place / 'colours.csv'}",
        f"--out={place / 'b'}",
        f"--ledger={place / 'b.l'}",
    ]
    place.fine("synth", given, *options)
    assert colours(place, "b") == {"red": 5}


def test_counts_of_people(place: Place) -> None:
    schema = place / "schema.toml"
    schema.write_text(
        schema.read_text().replace("[columns.colour]", '[columns.colour]\nof = "person"')
    )
    file = counts(place, "colour,count\nred,20\nblue,11\n")
    place.fine(*place.synth(known=f"people:{file}"))
    own = us.Release.read(place / "out").people_columns
    assert Counter(own["colour"].tolist()) == {"red": 20, "blue": 11}


@pytest.mark.parametrize(
    ("known", "kind", "said"),
    [
        ("colours.csv", UsageError, "run.toml: invalid value for known (got 'colours.csv'"),
        ([7], SchemaError, "known totals have counts, or name a file of them (got int"),
        ([{"counts_from": "none.csv"}], MissingFileError, "cannot read the known totals"),
        ([{"columns": "colour", "counts": {"green": 3}}], SchemaError, "has no such value"),
        ([{"columns": "fare", "counts": {"3": 3}}], SchemaError, "a column that has no codes"),
        ([{"columns": "hour", "counts": {"3": 3}, "of": "people"}], SchemaError, "of their own"),
    ],
)
def test_bad_totals_are_refused(place: Place, known: Any, kind: Any, said: str) -> None:
    refused(place, ["synth", str(runfile(place, known=known))], kind, (said,))


def test_a_recipe_has_no_known_totals(place: Place) -> None:
    given = ["synth", str(place / "trips.csv"), "--recipe=baltimore-911", "--known=a.csv"]
    options = [
        f"--parameters={place / 'p.json'}",
        f"--ledger={place / 'l'}",
        f"--out={place / 'o'}",
    ]
    refused(place, [*given, *options], UsageError, ("--known",))
