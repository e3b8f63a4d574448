"""`understudy ledger FILE --verify`: manifests held against a ledger, for the officer who signs."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.ledger.chains import OLD, forge, rows_of
from understudy.budget import Budget
from understudy.errors import (
    LedgerDamagedError,
    LedgerMismatchError,
    MalformedFileError,
    MissingFileError,
    UsageError,
)
from understudy.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.place import Place

pytestmark = pytest.mark.usefixtures("plain_reports")

RUN = 8
"""The entries of a run of three questions."""


@pytest.fixture
def path(place: Place) -> Path:
    """Make a ledger with two runs, and their releases in the folders 1 and 2."""
    path = place / "trips.ledger"

    def make() -> None:
        place.fine("ledger", path, "--create", "--epsilon=9", "--delta=1e-6")
        for name in ("1", "2"):
            place.fine(*place.synth(out=place / name))

    place.once("two runs on a ledger", make)
    return path


def test_manifests_are_found_by_file_or_folder_and_the_ledger_stays_as_it_is(
    place: Place, path: Path
) -> None:
    before = path.read_bytes()
    one, two = str(place / "1"), str(place / "2" / "manifest.json")
    facts = place.facts("ledger", path, "--verify", one, two)
    assert facts == {
        "ledger": str(path),
        "table": "trips",
        "unit": "taxi",
        "keyed": True,
        "agrees": True,
        "manifests": [
            {"file": one, "agrees": True, "run": 1, "entry": 2 + RUN, "entries_since": RUN},
            {"file": two, "agrees": True, "run": 2, "entry": 2 + 2 * RUN, "entries_since": 0},
        ],
        "runs_without_manifest": [],
        "since_last": {"run": 2, "entries": 0, "charges": 0, "epsilon": 0.0, "failure": 0.0},
    }
    shown = place.fine("ledger", path, "--verify", one, two)
    for part in (
        f"{path}: trips, unit taxi",
        f"{one}: run 1, entry {2 + RUN}, {RUN} entries since",
        f"{two}: run 2, entry {2 + 2 * RUN}, 0 entries since",
        "of run 2: 0 entries, 0 of them charges, epsilon 0 spent",
        "Entries after the last head are not covered; keep the manifest of every release.",
    ):
        assert part in shown
    assert "without a manifest" not in shown
    assert path.read_bytes() == before


def test_runs_without_a_manifest_and_what_was_spent_since_are_told(
    place: Place, path: Path
) -> None:
    with closing(Ledger(path)) as ledger:
        ledger.begin(Budget(epsilon=0.5, delta=1e-6), {"mechanism": {"name": "mst"}})
    facts = place.facts("ledger", path, "--verify", place / "1")
    assert [run["run"] for run in facts["runs_without_manifest"]] == [2, 3]
    two, three = facts["runs_without_manifest"]
    assert (two["mechanism"], two["state"], two["questions"]) == ("independent", "closed", 3)
    assert two["spent_epsilon"] == pytest.approx(1.0)
    assert (three["mechanism"], three["state"], three["questions"]) == ("mst", "open", 0)
    assert three["spent_epsilon"] == 0
    since = facts["since_last"]
    assert (since["run"], since["entries"], since["charges"]) == (1, RUN + 1, 3)
    assert since["epsilon"] == pytest.approx(1.0)
    shown = place.fine("ledger", path, "--verify", place / "1")
    assert "Runs without a manifest here:\n  run 2: independent, closed, 3 questions" in shown
    assert "  run 3: mst, open, 0 questions, epsilon 0 spent" in shown
    assert f"of run 1: {RUN + 1} entries, 3 of them charges, epsilon 1 spent" in shown


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_ledger_that_was_put_back_is_told_after_all_that_was_found(
    place: Place, path: Path, *, as_json: bool
) -> None:
    shutil.copy(path, place / "old.ledger")
    place.fine(*place.synth(out=place / "3"))
    shutil.copy(place / "old.ledger", path)
    more = ["--json"] * as_json
    told = place.say("ledger", path, "--verify", place / "1", place / "3", *more)
    assert told.code == LedgerMismatchError.exit_code
    assert len(told.err.splitlines()) == 1
    assert f"1 of 2 manifests do not agree with the ledger {path}" in told.err
    assert "an older copy of the ledger was restored" in told.out
    if as_json:
        facts = json.loads(told.out)
        assert facts["agrees"] is False
        assert [m["agrees"] for m in facts["manifests"]] == [True, False]
        assert facts["since_last"]["run"] == 1
    else:
        assert f"{place / '1'}: run 1" in told.out
        assert f"{place / '3'}: DOES NOT AGREE: no entry of the ledger" in told.out
        assert "Verified" not in told.out


def test_where_no_manifest_is_found_nothing_is_told_of_the_last(place: Place, path: Path) -> None:
    other = place / "other.ledger"
    place.fine("ledger", other, "--create", "--epsilon=9", "--delta=1e-6")
    told = place.say("ledger", other, "--verify", place / "1", "--json")
    assert told.code == LedgerMismatchError.exit_code
    facts = json.loads(told.out)
    assert (facts["table"], facts["unit"], facts["since_last"]) == (None, None, None)
    text = place.say("ledger", other, "--verify", place / "1").out
    assert text.startswith(f"{other}: not bound to a table\n")
    assert "After the last" not in text
    assert path.exists()


def test_an_old_ledger_is_verified_and_said_to_be_one(place: Place, path: Path) -> None:
    forge(path, mark=OLD)
    manifest = place / "1" / "manifest.json"
    told = json.loads(manifest.read_text())
    told["ledger"]["head"] = rows_of(path)[1 + RUN][-1]
    manifest.write_text(json.dumps(told))
    assert place.facts("ledger", path, "--verify", manifest)["keyed"] is False
    assert "older than keyed chains" in place.fine("ledger", path, "--verify", manifest)


def test_the_manifest_of_a_submission_is_one_of_each_of_its_runs(place: Place, path: Path) -> None:
    runs = [json.loads((place / n / "manifest.json").read_text()) for n in ("1", "2")]
    (place / "s.csv.manifest.json").write_text(json.dumps({"what": "…", "runs": runs}))
    facts = place.facts("ledger", path, "--verify", place / "s.csv.manifest.json")
    assert [m["run"] for m in facts["manifests"]] == [1, 2]


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (None, MissingFileError, "cannot read the manifest"),
        ("taxi,hour\n1,2\n", MalformedFileError, "is not an Understudy manifest"),
        (b"\xff\xfe\x00", MalformedFileError, "is not an Understudy manifest"),
        ("[1, 2]", MalformedFileError, "is not an Understudy manifest"),
        ("{}", MalformedFileError, "not an Understudy manifest (allowed: JSON with table, "),
        ('{"runs": [1]}', MalformedFileError, "not an Understudy manifest"),
    ],
)
def test_files_that_are_no_manifests_are_told_in_one_line(
    place: Place,
    path: Path,
    content: str | bytes | None,
    error: type[MissingFileError | MalformedFileError],
    said: str,
) -> None:
    wrong = place / "wrong.json"
    if content is not None:
        wrong.write_bytes(content if isinstance(content, bytes) else content.encode())
    told = place.say("ledger", path, "--verify", place / "1", wrong)
    assert told.code == error.exit_code
    assert said in told.line
    assert str(wrong) in told.line


def test_a_folder_without_a_manifest_and_a_name_too_long_are_told(place: Place, path: Path) -> None:
    (place / "empty").mkdir()
    for wrong in (place / "empty", "x" * 5000):
        told = place.say("ledger", path, "--verify", wrong)
        assert told.code == MissingFileError.exit_code
        assert "cannot read the manifest" in told.line


def test_a_ledger_that_is_missing_or_damaged_is_told(place: Place, path: Path) -> None:
    told = place.say("ledger", place / "none.ledger", "--verify", place / "1")
    assert told.code == MissingFileError.exit_code
    assert not (place / "none.ledger").exists()
    path.write_bytes(path.read_bytes()[:5000])
    assert place.say("ledger", path, "--verify", place / "1").code == LedgerDamagedError.exit_code


@pytest.mark.parametrize("other", [["--create"], ["--abandon", "1"]])
def test_verify_goes_with_nothing_that_changes_a_ledger(
    place: Place, path: Path, other: list[str]
) -> None:
    told = place.say("ledger", path, *other, "--verify", place / "1")
    assert told.code == UsageError.exit_code
    assert "--verify cannot be combined with" in told.line
