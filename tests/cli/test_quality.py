"""quality tells how far a release is, for all to see; synth --best-of chooses by the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.drafted import runfile
from tests.cli.place import Place
from understudy.cli import interruption
from understudy.cli.main import parser
from understudy.errors import (
    BudgetError,
    LedgerMismatchError,
    MissingFileError,
    OutputExistsError,
    UnderstudyError,
    UsageError,
)
from understudy.vault import PrivateDoor

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def made(place: Place) -> Path:
    """Make a release on a ledger with room for more."""
    ledger = place / "trips.ledger"
    place.fine("ledger", ledger, "--create", "--epsilon=60", "--delta=1e-6")
    place.fine(*place.synth(epsilon=50))
    return place / "out"


def quality(place: Place, **other: object) -> list[str]:
    """Write a command line of `quality`."""
    options = {"ledger": place / "trips.ledger", "epsilon": 10} | other
    given = [f"--{n.replace('_', '-')}={v}" for n, v in options.items() if v is not None]
    return ["quality", str(place / "out"), *given]


def test_distances_are_printed_written_and_shown_in_the_report(place: Place, made: Path) -> None:
    before = (made / "report.html").read_text()
    told = place.fine(*quality(place, private=place / "trips.csv"))
    pairs, columns, cap, promise, ledger, *files = told.splitlines()
    assert pairs.startswith("Pairs of columns are wrong by ")
    assert "on average; the worst of the 1 asked are colour × hour (" in pairs
    assert columns.startswith("Columns alone are wrong by ")
    assert cap.startswith("A person counts for at most ")
    assert "epsilon 10 at delta 1e-06 for this; together with the release, epsilon 5" in promise
    assert ledger.endswith(" left")
    assert files == [f"  file     {made / 'accuracy.json'}", f"  report   {made / 'report.html'}"]
    found = json.loads((made / "accuracy.json").read_text())
    assert {d["columns"][0] for d in found["columns"]} == {"colour", "hour"}
    page = (made / "report.html").read_text()
    assert "How far is it from the private table?" in page
    assert pairs in page
    assert "How far is it" not in before


def test_facts_and_the_private_table_that_the_run_had(place: Place, made: Path) -> None:
    facts = place.facts(*quality(place, cap=4))
    assert (facts["cap"], facts["clipped"]) == (4, 0)
    assert facts["accuracy"] == str(made / "accuracy.json")
    low, mean, high = (facts["mean_pair"][n] for n in ("low", "distance", "high"))
    assert 0 <= low <= mean <= high <= 1
    assert facts["guarantee"]["run"] == 2
    assert facts["ledger"]["left"].startswith("epsilon ")


def test_a_file_that_was_lost_is_written_again_at_no_cost(place: Place, made: Path) -> None:
    place.fine(*quality(place))
    first, spent = (made / "accuracy.json").read_text(), place.spent()
    told = place.say(*quality(place))
    assert told.code == OutputExistsError.exit_code
    assert "the distances of this release were told" in told.line
    (made / "accuracy.json").unlink()
    place.fine(*quality(place))
    assert (made / "accuracy.json").read_text() == first
    assert place.spent() == spent


def test_what_was_interrupted_is_continued_by_the_same_command_only(
    place: Place, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PrivateDoor, "distances", cut)
        told = place.say(*quality(place))
    assert told.code == 130
    assert "the same command continues run 2, at no new cost" in told.err
    assert not (made / "accuracy.json").exists()
    told = place.say("resume", place / "trips.ledger", "--out", place / "again")
    assert told.code == UsageError.exit_code
    assert "repeat 'understudy quality' as it was called" in told.line
    assert "--run 1 is the release's own run" in told.line
    place.fine(*quality(place))
    spent = place.spent()
    assert spent is not None
    assert spent[1:] == (2, 5)
    place.fine("resume", place / "trips.ledger", "--run=1", "--out", place / "again")


def test_an_interruption_before_anything_was_asked(place: Place) -> None:
    options = parser().parse_args(quality(place))
    assert interruption.interrupted(options) == "interrupted before anything was spent"


@pytest.mark.parametrize(
    ("other", "error", "match"),
    [
        ({"ledger": "nowhere.ledger"}, MissingFileError, "nowhere.ledger"),
        ({"epsilon": 0.001}, BudgetError, "epsilon is too small to tell how far"),
        ({"epsilon": 30}, BudgetError, "an epsilon this large protects hardly anyone"),
        ({"epsilon": -1}, BudgetError, "epsilon must be positive"),
        ({"cap": 0}, UsageError, "cap must be at least 1"),
        ({"people": "people.csv"}, UsageError, "--people also needs the table of rows"),
    ],
)
def test_what_cannot_be_is_refused_and_costs_nothing(
    place: Place, made: Path, other: dict[str, object], error: type[UnderstudyError], match: str
) -> None:
    before = place.spent()
    told = place.say(*quality(place, **other))
    assert match in told.line
    assert told.code == error.exit_code
    assert place.spent() == before
    assert not (made / "accuracy.json").exists()


def test_the_ledger_of_another_table_is_refused(place: Place, made: Path) -> None:
    other = {"schema": place / "rides.toml", "ledger": place / "r.ledger", "out": place / "rides"}
    place.fine(*place.synth(epsilon=1, **other))
    told = place.say(*quality(place, ledger=place / "r.ledger"))
    assert told.code == UsageError.exit_code
    assert "the release is of another table" in told.line
    copy = place / "copy.ledger"
    place.fine(*place.synth(epsilon=1, ledger=copy, out=place / "copy"))
    told = place.say(*quality(place, ledger=copy))
    assert told.code == LedgerMismatchError.exit_code
    assert "has the manifest's head" in told.line


# The best of several


def test_best_of_runs_several_and_says_which_was_nearest(place: Place) -> None:
    facts = place.facts(
        *place.synth(epsilon=50, mechanism=None, best_of="independent,mst", bounding="weights:4")
    )
    (chosen,) = facts["chosen"]
    assert chosen["mechanism"] in {"independent", "mst"}
    assert "The budget paid for all of them." in chosen["why"]
    manifest = json.loads((place / "out" / "manifest.json").read_text())
    assert manifest["guarantee"]["epsilon"] == 50
    assert len(manifest["mechanism"]["candidates"]) == 2
    assert chosen["why"] in (place / "out" / "report.html").read_text()
    spent = place.spent()
    assert spent is not None
    assert spent[1] == 1


def test_best_of_in_a_run_file(place: Place) -> None:
    given = runfile(place, mechanism=None, best_of=2, epsilon=5)
    assert place.facts("synth", given)["chosen"][0]["mechanism"] in {"auto", "mst"}


@pytest.mark.parametrize(
    ("other", "match"),
    [
        ({"best_of": 1}, "cannot choose the best of this many (got 1; allowed: 2 to 4"),
        ({"best_of": "mst"}, "at least two mechanisms"),
        ({"best_of": "mst,magic"}, "unknown mechanism (got magic"),
        ({"best_of": 2, "mechanism": "aim"}, "--best-of names its mechanisms itself"),
    ],
)
def test_no_choice_is_refused(place: Place, other: dict[str, Any], match: str) -> None:
    given: dict[str, Any] = {"mechanism": None} | other
    told = place.say(*place.synth(**given))
    assert told.code == UsageError.exit_code
    assert match in told.line
    assert place.spent() is None
