"""Recipes about people on the command line: code lists, groups, budgets, and their scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.audit.effort import THOROUGH
from tests.cli.place import Place
from tests.contests.people import LISTS, census_files, excerpt_files, read_rows, written
from understudy.errors import (
    BudgetError,
    MissingFileError,
    SchemaError,
    UnderstudyError,
    UsageError,
)
from understudy.evaluate import NOTICE

pytestmark = pytest.mark.usefixtures("plain_reports")

FILES = ["submission-0.3.csv", "submission-1.csv", "submission-8.csv"]


def words(given: dict[str, Any]) -> list[str]:
    """Write options; a list is an option more than once, None leaves one out."""
    found = []
    for name, value in given.items():
        for one in value if isinstance(value, list) else [value]:
            found += [] if one is None else [f"--{name}" if one is True else f"--{name}={one}"]
    return found


def census(place: Place, **changes: Any) -> list[str]:
    """Write a command line of the recipe census-1940."""
    asked = census_files(place.folder)
    asked["groups"] = [f"{column}={file}" for column, file in asked["groups"].items()]
    private = asked.pop("private")
    return ["synth", str(private), "--recipe=census-1940", *words(asked | changes)]


def acs(place: Place, **changes: Any) -> list[str]:
    """Write a command line of the recipe acs-2019."""
    asked = excerpt_files(place.folder)
    private = asked.pop("private")
    return ["synth", str(private), "--recipe=acs-2019", *words(asked | changes)]


def evaluated(place: Place, synthetic: Path, **options: Any) -> list[str]:
    return ["evaluate", str(synthetic), *words(options)]


# Making them


def test_code_lists_and_groups_make_a_file_an_epsilon(place: Place) -> None:
    out = place.fine(*census(place))
    for epsilon in ("0.3", "1", "8"):
        assert f"rows at epsilon {epsilon}, delta 2.28206e-12, for every row" in out
    assert "together epsilon 8.09314, delta 2.28206e-12" in out
    named = ", ".join(str(place / name) for name in FILES)
    assert f" synthetic rows in {named}\n" in out
    manifest = json.loads((place / "submission.csv.manifest.json").read_text())
    assert list(manifest["files"]) == FILES
    header, _ = read_rows(place / "1940.csv")
    assert [read_rows(place / name)[0] for name in FILES] == [header] * 3
    cities = manifest["runs"][2]["mechanism"]["support"]["CITY"]
    assert cities["codes"] == len(LISTS["CITY"])

    spent = place.spent("census.ledger")
    facts = place.facts(*census(place, out=place / "again.csv"))
    assert place.spent("census.ledger") == spent
    assert facts["files"] == [str(place / name.replace("submission", "again")) for name in FILES]
    assert [run["guarantee"]["epsilon"] for run in facts["runs"]] == [0.3, 1, 8]
    assert [run["rows"] for run in facts["runs"]] == [
        len(read_rows(place / name)[1]) for name in FILES
    ]
    for name in FILES:
        again = place / name.replace("submission", "again")
        assert again.read_bytes() == (place / name).read_bytes()


def test_a_budget_takes_the_place_of_the_recipes_own(place: Place) -> None:
    budget = {"epsilon": 2, "delta": 1e-6}
    out = place.fine(*census(place, **budget, lists=None, groups=None, published=True))
    assert "rows at epsilon 2, delta 1e-06" in out
    assert "together epsilon 2, delta 1e-06" in out
    assert (place / "submission.csv").exists()
    out = place.fine(*acs(place, **budget, out=place / "acs.csv"))
    assert "rows at epsilon 2, delta 1e-06" in out
    assert json.loads((place / "acs.csv.manifest.json").read_text())["together"]["delta"] == 1e-6


def test_without_one_it_is_the_recipes_own(place: Place) -> None:
    facts = place.facts(*acs(place))
    (run,) = facts["runs"]
    assert (run["guarantee"]["epsilon"], run["guarantee"]["delta"]) == (1, 1e-9)
    assert facts["files"] == [str(place / "submission.csv")]
    header, rows = read_rows(place / "submission.csv")
    assert header == read_rows(place / "2019.csv")[0]
    assert all("" not in row.values() for row in rows)


def test_noise_without_a_delta(place: Place) -> None:
    out = place.fine(*acs(place, epsilon=3, delta=0))
    assert "rows at epsilon 3, delta 0" in out
    other = {"ledger": place / "b.ledger", "out": place / "b.csv"}
    assert "rows at epsilon 1, delta 0" in place.fine(*acs(place, noise="laplace", **other))


def test_a_run_of_a_recipe_is_resumed_alone_too(place: Place) -> None:
    place.fine(*acs(place))
    told = place.say("resume", place / "acs.ledger")
    assert "the run belongs to the recipe acs-2019" in told.line
    facts = place.facts("resume", place / "acs.ledger", "--out", place / "alone")
    assert facts["rows"] == len(read_rows(place / "submission.csv")[1])


BAD = "P/bad.json"
REFUSED: dict[str, tuple[dict[str, Any], type[UnderstudyError], str]] = {
    "an epsilon alone": (
        {"epsilon": 1},
        UsageError,
        "a budget needs both epsilon and delta. Hint: give both, or neither",
    ),
    "a delta alone": ({"delta": 1e-6}, UsageError, "a budget needs both epsilon and delta"),
    "no epsilon": ({"epsilon": 0, "delta": 1e-6}, BudgetError, "got 0"),
    "a delta above 1": ({"epsilon": 1, "delta": 2}, BudgetError, "got 2"),
    "lists not there": ({"lists": "none.json"}, MissingFileError, "none.json"),
    "lists that are a list": ({"lists": BAD}, SchemaError, "must be a JSON object"),
    "groups not there": ({"groups": "CITY=none.json"}, MissingFileError, "none.json"),
    "groups that are a list": ({"groups": f"CITY={BAD}"}, SchemaError, "groups must be an object"),
    "groups of a column without a list": (
        {"groups": "RENT=states.json"},
        SchemaError,
        "groups need a column with a code list (got RENT; allowed: SEX, CITY, MARST, BPL)",
    ),
    "groups and no lists": (
        {"lists": None},
        SchemaError,
        "allowed: none, as no code lists are given",
    ),
    "groups of no column": (
        {"groups": "states.json"},
        UsageError,
        "--groups needs a column and a file (got states.json; allowed: COLUMN=FILE)",
    ),
    "groups of nothing": ({"groups": "=states.json"}, UsageError, "got =states.json"),
    "groups from nowhere": ({"groups": ["CITY=x", "SEX="]}, UsageError, "got SEX="),
    "a mechanism": ({"mechanism": "adagrid"}, UsageError, "got --mechanism"),
    "no parameters": ({"parameters": None}, UsageError, "required with --recipe: --parameters"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_told_in_one_line_and_leaves_nothing(place: Place, case: str) -> None:
    changes, error, said = REFUSED[case]
    written(place / "bad.json", ["x"])
    here = {
        k: v.replace("P/", f"{place.folder}/") if isinstance(v, str) else v
        for k, v in changes.items()
    }
    arguments = census(place, **here)
    before = place.names()
    told = place.say(*arguments)
    assert told.code == error.exit_code
    assert said in told.line
    assert place.names() == before


# Scoring them


def excerpts(place: Place) -> dict[str, Any]:
    given = excerpt_files(place.folder)
    return {"recipe": "acs-2019"} | {n: given[n] for n in ("private", "parameters")}


def test_excerpts_are_scored_by_their_recipe(place: Place) -> None:
    place.fine(*acs(place, epsilon=100, delta=1e-9))
    own = excerpts(place)
    facts = place.facts(*evaluated(place, place / "submission.csv", **own))
    assert facts["notice"] == NOTICE
    found = facts["synthetic"]
    assert found["rows"] == len(read_rows(place / "submission.csv")[1])
    assert (found["census"], found["trips"], found["pies"]) == (None, None, None)
    assert 0 < found["excerpts"]["score"] < 1000
    if THOROUGH:
        same = place.facts(*evaluated(place, own["private"], **own))["synthetic"]
        assert same["excerpts"]["score"] == 1000
    text = place.fine(*evaluated(place, place / "submission.csv", **own))
    assert text.startswith(NOTICE)
    assert "\nexcerpt score " in text


def test_a_census_is_scored_by_its_recipe(place: Place) -> None:
    given = census_files(place.folder)
    own = {n: given[n] for n in ("private", "parameters", "lists")}
    groups = [f"CITY={given['groups']['CITY']}"]
    asked = {"recipe": "census-1940", "groups": groups, **own}
    found = place.facts(*evaluated(place, own["private"], **asked))["synthetic"]
    assert found["census"] == dict.fromkeys(("triples", "conjunctions", "wages", "score"), 1e6)
    assert found["excerpts"] is None
    # A file an epsilon has no column that tells it.
    told = place.say(*evaluated(place, own["private"], **asked, epsilon=1))
    assert "it has no column of that name" in told.line


CASES: dict[str, tuple[dict[str, Any], type[UnderstudyError], str]] = {
    "no parameters": ({"parameters": None}, UsageError, "--recipe needs --parameters"),
    "a schema too": ({"schema": "x"}, UsageError, "and replaces --schema and --unit"),
    "no lists": ({"lists": "none.json"}, MissingFileError, "none.json"),
    "groups and no lists": ({"groups": "SEX=x"}, SchemaError, "no code lists are given"),
    "groups of no column": ({"groups": "x"}, UsageError, "allowed: COLUMN=FILE"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_scored_is_told_in_one_line(place: Place, case: str) -> None:
    changes, error, said = CASES[case]
    own = excerpts(place)
    told = place.say(*evaluated(place, own["private"], **own | changes))
    assert told.code == error.exit_code
    assert said in told.line
