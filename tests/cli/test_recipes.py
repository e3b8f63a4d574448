"""Recipes are open: shown, exported as files that run, changed by settings, and checked."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from tests.audit.effort import THOROUGH
from tests.cli.place import Place
from tests.contests.taxis import write_parameters, write_trips
from understudy.contests import Recipe, recipe_names
from understudy.errors import OutputExistsError, UsageError
from understudy.schema import Schema

pytestmark = pytest.mark.usefixtures("plain_reports")

NAME = "chicago-taxi-archetypes"


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_is_shown_as_its_file_has_it(place: Place, name: str) -> None:
    assert place.fine("recipes", "show", name).rstrip() == Recipe.named(name).text.rstrip()
    assert tomllib.loads(place.facts("recipes", "show", name)["toml"])["about"]


def exported(place: Place, name: str, **changes: Any) -> list[str]:
    given = {
        "parameters": write_parameters(place / "parameters.json", 1, 10),
        "out": place / "mine",
    }
    return ["recipes", "export", name, *(f"--{n}={v}" for n, v in (given | changes).items())]


def test_a_recipe_is_exported_as_a_schema_and_run_files_that_run(place: Place) -> None:
    told = place.facts(*exported(place, NAME))
    assert told["files"] == ["run-1.toml", "run-10.toml", "schema.toml"]
    folder = place / "mine"
    schema = Recipe.named(NAME).read(place / "parameters.json")[0]
    assert Schema.read(folder / "schema.toml") == schema
    text = (folder / "run-10.toml").read_text()
    assert (folder / "run-10.toml").read_text().startswith("# The recipe chicago-taxi-archetypes")
    asked = tomllib.loads(text)
    assert (asked["unit"], asked["bounding"], asked["epsilon"]) == ("taxi_id", "norm", 10)
    assert asked["settings"]["attribute"] == "company_id"
    write_trips(folder / "private.csv", 900, 1)
    write_trips(folder / "public.csv", 900, 2)
    (folder / "run-10.toml").write_text(f'public = "public.csv"\n{text}')
    place.fine("check", folder / "run-10.toml")
    assert place.facts("synth", folder / "run-10.toml")["rows"] > 100


def test_the_adagrid_recipe_is_exported_with_its_caps(place: Place) -> None:
    place.fine(*exported(place, "chicago-taxi-adagrid"))
    caps = [
        tomllib.loads((place / "mine" / f"run-{e}.toml").read_text())["bounding"] for e in (1, 10)
    ]
    assert caps == ["weights:150", "weights:200"]


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (["recipes", "show"], UsageError, "recipes show needs a recipe's name"),
        (["recipes", "show", "soup"], UsageError, "unknown recipe (got soup"),
        (["recipes", "export", NAME], UsageError, "needs --parameters and --out"),
        (["recipes", "eat", NAME], UsageError, "invalid choice"),
    ],
)
def test_what_cannot_be_shown(place: Place, words: list[str], error: Any, said: str) -> None:
    told = place.say(*words)
    assert told.code == error.exit_code
    assert said in told.line


def test_nothing_is_overwritten(place: Place) -> None:
    place.fine(*exported(place, NAME))
    assert place.say(*exported(place, NAME)).code == OutputExistsError.exit_code


def run(place: Place, command: str, **changes: Any) -> list[str]:
    given: dict[str, Any] = {
        "recipe": NAME,
        "parameters": write_parameters(place / "parameters.json", 10),
        "public": write_trips(place / "public-trips.csv", 900, 2),
        "ledger": place / "taxi.ledger",
    } | changes
    private = write_trips(place / "private.csv", 900, 1)
    return [command, str(private), *(f"--{n}={v}" for n, v in given.items())]


def test_settings_replace_some_of_a_recipes(place: Place) -> None:
    (place / "mine.toml").write_text("kinds = 3\n")
    place.fine(*run(place, "synth", settings=place / "mine.toml", out=place / "made.csv"))
    (made,) = json.loads((place / "made.csv.manifest.json").read_text())["runs"]
    assert made["mechanism"]["archetypes"] == 3
    assert made["mechanism"]["settings"]["attribute"] == "company_id"


def test_a_recipe_is_checked_and_nothing_is_spent(place: Place) -> None:
    parameters = write_parameters(place / "both.json", 1, 10)
    facts = place.facts(*run(place, "check", parameters=parameters))
    assert [each["budget"]["epsilon"] for each in facts["runs"]] == [1, 10]
    assert all(each["mechanism"] == "archetypes" for each in facts["runs"])
    assert facts["runs"][1]["expected_pair_error"] > 0
    assert not (place / "taxi.ledger").exists()
    if THOROUGH:
        assert f"{NAME} at epsilon 10" in place.fine(*run(place, "check"))


def test_check_needs_the_contests_file(place: Place) -> None:
    told = place.say("check", "private.csv", f"--recipe={NAME}", "--ledger=x")
    assert told.code == UsageError.exit_code
    assert "required with --recipe: --parameters" in told.line
