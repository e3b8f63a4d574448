"""report makes a release's report again, of the release alone."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.drafted import refused
from tests.cli.place import Place
from understudy.errors import (
    MalformedFileError,
    MissingFileError,
    OutputExistsError,
    StorageError,
    UnderstudyError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Case = tuple[Callable[[Place], list[str]], type[UnderstudyError], tuple[str, ...]]


@pytest.fixture
def made(place: Place) -> Path:
    """Make a release."""
    place.once("a release", lambda: place.fine(*place.synth(epsilon=50)))
    return place / "out"


def test_synth_writes_a_report_and_says_where(place: Place) -> None:
    facts = place.facts(*place.synth(epsilon=50))
    assert facts["report"] == str(place / "out" / "report.html")
    assert (place / "out" / "report.html").read_text().startswith("<!")


def test_a_report_that_is_gone_is_written_again(place: Place, made: Path) -> None:
    first = (made / "report.html").read_bytes()
    (made / "report.html").unlink()
    spent = place.spent()
    told = place.fine("report", made)
    assert told == f"{made / 'report.html'}: open it in a browser; it needs no network\n"
    assert (made / "report.html").read_bytes() == first
    assert place.spent() == spent


def test_a_report_goes_where_it_is_wanted_and_needs_the_release_alone(
    place: Place, made: Path
) -> None:
    first = (made / "report.html").read_bytes()
    for name in ("trips.csv", "schema.toml", "trips.ledger"):
        (place / name).unlink()
    copy = place / "new" / "place" / "mine.html"
    facts = place.facts("report", made, f"--out={copy}")
    assert facts == {"report": str(copy)}
    assert copy.read_bytes() == first
    assert {p.name for p in copy.parent.iterdir()} == {"mine.html"}


def without(name: str, content: bytes | None = None) -> Callable[[Place], list[str]]:
    """Change a file of a release, or take it away."""

    def make(place: Place) -> list[str]:
        (place / "out" / name).unlink()
        if content is not None:
            (place / "out" / name).write_bytes(content)
        return ["report", str(place / "out"), f"--out={place / 'r.html'}"]

    return make


def taken(place: Place) -> list[str]:
    (place / "mine.html").write_text("mine")
    return ["report", str(place / "out"), f"--out={place / 'mine.html'}"]


REFUSED: dict[str, Case] = {
    "a report that is there": (
        lambda p: ["report", str(p / "out")],
        OutputExistsError,
        ("report.html exists already", "Hint: choose another path; nothing is ever overwritten"),
    ),
    "a file that is there": (taken, OutputExistsError, ("mine.html exists already",)),
    "a folder that is there": (
        lambda p: ["report", str(p / "out"), f"--out={p.folder}"],
        OutputExistsError,
        ("place exists already",),
    ),
    "a folder that is no release": (
        lambda p: ["report", str(p.folder)],
        MissingFileError,
        ("place is not a release", "got no manifest.json in it", "Hint: name a release's folder"),
    ),
    "no folder at all": (
        lambda p: ["report", str(p / "nowhere")],
        MissingFileError,
        ("nowhere is not a release",),
    ),
    "a table": (
        lambda p: ["report", str(p / "trips.csv"), f"--out={p / 'r.html'}"],
        MissingFileError,
        ("trips.csv is not a release",),
    ),
    "below a file": (
        lambda p: ["report", str(p / "out"), f"--out={p / 'trips.csv' / 'r.html'}"],
        StorageError,
        ("cannot create a folder in", "trips.csv"),
    ),
    "rows that are gone": (
        without("rows.parquet"),
        MissingFileError,
        ("rows.parquet is missing", "Hint: copy the whole release's folder again"),
    ),
    "evidence that was changed": (
        without("evidence.npz", b"PK"),
        MalformedFileError,
        ("evidence.npz has changed since the release was saved",),
    ),
    "a manifest of another": (
        without("manifest.json", b"[]"),
        MalformedFileError,
        ("manifest.json is not an Understudy manifest",),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("made")
def test_what_cannot_be_reported_is_told_in_one_line(place: Place, case: str) -> None:
    make, kind, said = REFUSED[case]
    refused(place, make(place), kind, said)


def test_a_release_that_was_copied_is_as_good(place: Place, made: Path) -> None:
    shutil.copytree(made, place / "copy")
    (place / "copy" / "report.html").unlink()
    place.fine("report", place / "copy")
    assert (place / "copy" / "report.html").read_bytes() == (made / "report.html").read_bytes()
