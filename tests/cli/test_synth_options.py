"""Public tables, boundings, settings and recipes on the command line."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from tests.audit.effort import THOROUGH, few
from tests.cli.place import Place
from tests.contests.taxis import check_submission, parameters, write_parameters, write_trips
from understudy.budget import Budget, Unit
from understudy.contests import Recipe, recipe_names
from understudy.errors import (
    BudgetError,
    LedgerMismatchError,
    MissingFileError,
    QuestionError,
    SchemaError,
    UnderstudyError,
    UsageError,
)
from understudy.ledger import Ledger
from understudy.public import PublicTable
from understudy.schema import Schema
from understudy.synth.adagrid import AdaGrid

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("plain_reports")

NAME = "chicago-taxi-adagrid"


@pytest.fixture
def public(place: Place) -> Path:
    """Write a public table: 20 taxis with 3 rows each."""
    lines = [f"{i % 20},{'red' if i % 2 else 'blue'},{i % 3}" for i in range(60)]
    path = place / "public.csv"
    path.write_text("\n".join(["taxi,colour,hour", *lines, ""]))
    return path


def settings(place: Place, text: str) -> Path:
    path = place / "settings.toml"
    path.write_text(text)
    return path


def manifest(place: Place, name: str = "out") -> Any:
    return json.loads((place / name / "manifest.json").read_text())


def request(place: Place) -> Any:
    with closing(Ledger(place / "trips.ledger")) as ledger:
        return ledger.state().runs[1].request


# Mechanisms, settings, boundings


def test_without_a_mechanism_one_is_chosen_and_the_summary_says_why(place: Place) -> None:
    told = place.fine(*place.synth(mechanism=None, epsilon=50))
    made = manifest(place)["mechanism"]
    assert made["name"] == "auto"
    assert made["chosen"]["name"] == "pairs"
    assert f"  chose    pairs: {made['why']}\n" in told
    assert "(pairs)." in told
    second = place.fine(
        *place.synth(mechanism=None, epsilon=50, ledger=place / "b.ledger", out=place / "b"),
        "--json",
    )
    (chosen,) = json.loads(second)["chosen"]
    assert chosen["mechanism"] == "pairs"
    assert chosen["why"].startswith("There are ")


def test_a_mechanism_that_is_named_needs_no_reason(place: Place) -> None:
    assert "chose " not in place.fine(*place.synth())
    again = place.synth(ledger=place / "b.ledger", out=place / "b")
    assert json.loads(place.fine(*again, "--json"))["chosen"] == []


@pytest.mark.parametrize("bounding", few(["weights:4", "norm", "sample:4"], usual=2))
def test_adagrid_with_a_public_table(place: Place, public: Path, bounding: str) -> None:
    asked = place.synth(mechanism="adagrid", public=public, bounding=bounding, epsilon=50)
    place.fine(*asked)
    made = manifest(place)
    assert made["mechanism"]["name"] == "adagrid"
    assert ["colour", "hour"] in [sorted(c["clique"]) for c in made["mechanism"]["cliques"]]
    frame = pd.read_parquet(place / "out" / "rows.parquet")
    assert 60 < len(frame) < 240
    assert request(place)["note"]["public"] == str(public.resolve())
    assert request(place)["bounding"]["kind"] == bounding.partition(":")[0]


def test_settings_are_those_of_a_file(place: Place) -> None:
    path = settings(place, 'cliques = [["colour", "hour"]]\nthreshold = 3\nmost_each = 2\n')
    place.fine(*place.synth(mechanism="adagrid", settings=path, epsilon=50))
    own = manifest(place)["mechanism"]["settings"]
    assert (own["cliques"], own["threshold"], own["most_each"]) == ([["colour", "hour"]], 3, 2)
    assert pd.read_parquet(place / "out" / "rows.parquet").groupby("taxi").size().max() <= 2
    settings(place, "people_share = 0.1")
    place.fine(*place.synth(settings=path, ledger=place / "b.ledger", out=place / "b"))
    assert manifest(place, "b")["mechanism"]["settings"]["people_share"] == 0.1


UNFIT: dict[str, tuple[str, type[UnderstudyError], str]] = {
    "a clique over the limit": (
        'cliques = [["colour", "hour"]]\nmost_cells = 5',
        QuestionError,
        "the clique colour × hour is too large (got ",
    ),
    "a clique of unknown columns": ('cliques = [["color"]]', QuestionError, "got color; allowed: "),
    "unknown targets": ('targets = ["color"]', QuestionError, "got color; allowed: "),
    "ids without public people": ('ids_by = ["hour"]', UsageError, "ids_by needs a public table"),
    "values within no public bins": ('within = "public"', UsageError, "needs a public table"),
    "as published by samples": ("published = true", UsageError, "needs Weights bounding"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_settings_that_do_not_fit_are_told_and_cost_nothing(place: Place, case: str) -> None:
    text, error, said = UNFIT[case]
    path = settings(place, text)
    told = place.say(*place.synth(mechanism="adagrid", settings=path, bounding="sample:4"))
    assert told.code == error.exit_code
    assert said in told.line
    assert not (place / "out").exists()
    assert place.facts("ledger", place / "trips.ledger")["left_epsilon"] == pytest.approx(1.0)
    place.fine(*place.synth())


def test_resume_finds_the_public_table_or_is_told_where_it_is(place: Place, public: Path) -> None:
    place.fine(*place.synth(mechanism="adagrid", public=public, bounding="norm", format="csv"))
    rows = (place / "out" / "rows.csv").read_bytes()
    place.fine("resume", place / "trips.ledger", "--out", place / "again")
    assert (place / "again" / "rows.csv").read_bytes() == rows
    public.rename(place / "moved.csv")
    told = place.say("resume", place / "trips.ledger", "--out", place / "third")
    assert told.code == MissingFileError.exit_code
    moved = ("--public", place / "moved.csv", "--out", place / "third")
    place.fine("resume", place / "trips.ledger", *moved)
    assert (place / "third" / "rows.csv").read_bytes() == rows


# A cap from the public table


@pytest.fixture
def uneven(place: Place) -> Path:
    """Write a public table: 12 taxis, with 1 to 12 rows."""
    lines = [f"{i},{'red' if j % 2 else 'blue'},{j % 4}" for i in range(12) for j in range(i + 1)]
    path = place / "uneven.csv"
    path.write_text("\n".join(["taxi,colour,hour", *lines, ""]))
    return path


def chosen(place: Place, public: Path, epsilon: float, unit: Unit) -> int:
    """Choose the cap as Python would."""
    schema = Schema.read(place / "schema.toml")
    table = PublicTable.read(public, schema=schema, unit=unit)
    return AdaGrid().weights(table, budget=Budget(epsilon=epsilon, delta=1e-6)).cap


def choosing(public: Path) -> dict[str, Any]:
    return {"mechanism": "adagrid", "public": public, "bounding": "weights:public"}


def test_the_cap_is_chosen_from_the_public_table_which_is_read_once(
    place: Place, uneven: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caps = [chosen(place, uneven, epsilon, Unit("taxi")) for epsilon in (10, 50)]
    assert 1 < caps[0] < caps[1]
    read, kept = PublicTable.read, []

    def counted(*arguments: Any, **named: Any) -> PublicTable:
        kept.append(read(*arguments, **named))
        return kept[-1]

    monkeypatch.setattr(PublicTable, "read", counted)
    asked = choosing(uneven)
    out = place.fine(*place.synth(**asked, epsilon=50))
    assert len(kept) == 1
    said = f"rows of a person with more than {caps[1]} are weighed down to {caps[1]} in all"
    assert said in out
    assert manifest(place)["guarantee"]["bounding"] == said
    assert request(place)["bounding"] == {"kind": "weights", "cap": caps[1]}
    assert request(place)["note"]["public"] == str(uneven.resolve())

    asked |= {"ledger": place / "b.ledger", "out": place / "b", "epsilon": 10}
    facts = place.facts(*place.synth(**asked))
    assert f"more than {caps[0]} are" in facts["guarantee"]["bounding"]


def test_the_cap_is_of_the_unit_that_was_asked(place: Place, uneven: Path) -> None:
    asked = choosing(uneven)
    place.fine(*place.synth(**asked, unit="taxi,hour", epsilon=10))
    cap = chosen(place, uneven, 10, Unit("taxi", "hour"))
    assert cap < chosen(place, uneven, 10, Unit("taxi"))
    assert request(place)["bounding"] == {"kind": "weights", "cap": cap}


def test_a_run_with_a_chosen_cap_is_resumed(
    place: Place, uneven: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Ledger.begin

    def cut(*arguments: Any) -> Any:
        begin(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "begin", cut)
    asked = choosing(uneven)
    assert place.say(*place.synth(**asked, epsilon=50, format="csv")).code == 130
    monkeypatch.undo()
    place.fine("resume", place / "trips.ledger")
    cap = request(place)["bounding"]["cap"]
    assert cap == chosen(place, uneven, 50, Unit("taxi"))
    assert f"more than {cap} are" in manifest(place)["guarantee"]["bounding"]
    spent = place.spent()
    place.fine("resume", place / "trips.ledger", "--out", place / "again")
    assert (place / "again" / "rows.csv").read_bytes() == (place / "out" / "rows.csv").read_bytes()
    assert place.spent() == spent


# Recipes


def recipe(place: Place, **changes: Any) -> list[str]:
    """Write a command line of a recipe; True stands alone, None leaves an option out."""
    options: dict[str, Any] = {
        "recipe": NAME,
        "parameters": write_parameters(place / "parameters.json", 10),
        "public": write_trips(place / "public-trips.csv", 1500, 2),
        "ledger": place / "taxi.ledger",
        "out": place / "submission.csv",
    } | changes
    given = [
        f"--{n.replace('_', '-')}" + ("" if v is True else f"={v}")
        for n, v in options.items()
        if v is not None
    ]
    return ["synth", str(write_trips(place / "private.csv", 3000, 1)), *given]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the recipe ask for three columns together and not for all of its marginals."""
    if not THOROUGH:
        whole = Recipe.named(NAME)
        few_cliques = whole.settings | {"cliques": [["payment_type", "shift", "company_id"]]}
        monkeypatch.setattr(Recipe, "named", lambda _: replace(whole, settings=few_cliques))


def test_recipes_are_listed_in_a_line_each(place: Place) -> None:
    lines = place.fine("recipes").splitlines()
    assert [line.split()[0] for line in lines] == recipe_names()
    assert len(lines) == 5
    assert all(len(line) < 130 for line in lines)
    assert list(place.facts("recipes")["recipes"]) == recipe_names()


def test_a_recipe_makes_a_submission(place: Place) -> None:
    out = place.fine(*recipe(place))
    rows = check_submission(place / "submission.csv", parameters(10))
    assert f"{rows[10.0]:,} synthetic rows in" in out
    assert f"{rows[10.0]:,} rows at epsilon 10, delta 2.5e-05, for every taxi_id" in out
    assert "together epsilon 10, delta 2.5e-05" in out
    assert "nothing left" in out
    again = place.facts(*recipe(place, out=place / "again.csv"))
    assert (place / "again.csv").read_bytes() == (place / "submission.csv").read_bytes()
    assert again["runs"][0]["rows"] == rows[10.0]
    assert again["ledger"]["left"] == "nothing"


@pytest.mark.usefixtures("small")
def test_a_recipe_by_norm_and_as_published(place: Place) -> None:
    place.fine(*recipe(place, bounding="norm"))
    check_submission(place / "submission.csv", parameters(10))
    other = {"ledger": place / "b.ledger", "out": place / "b.csv"}
    place.fine(*recipe(place, published=True, **other))
    made = json.loads((place / "b.csv.manifest.json").read_text())
    assert made["published"] is True
    if THOROUGH:  # of fewer marginals each has less noise: `tests/contests/test_recipe.py`
        scale = made["runs"][0]["mechanism"]["cliques"][0]["scale"]
        assert scale == pytest.approx(895.42, abs=0.005)


@pytest.mark.usefixtures("small")
def test_a_run_of_a_recipe_is_resumed_by_the_same_command_or_alone(place: Place) -> None:
    place.fine(*recipe(place))
    told = place.say("resume", place / "taxi.ledger")
    assert told.code == UsageError.exit_code
    assert "repeat the command that began it" in told.line
    facts = place.facts("resume", place / "taxi.ledger", "--out", place / "alone")
    lines = (place / "submission.csv").read_text().splitlines()
    assert facts["rows"] == len(lines) - 1


REFUSED: dict[str, tuple[dict[str, Any], type[UnderstudyError], str]] = {
    "unknown recipe": (
        {"recipe": "soup"},
        UsageError,
        f"got soup; allowed: acs-2019, baltimore-911, census-1940, {NAME}",
    ),
    "no parameters": ({"parameters": None}, UsageError, "required with --recipe: --parameters"),
    "parameters not there": ({"parameters": "none.json"}, MissingFileError, "none.json"),
    "own budget": (
        {"epsilon": 1, "delta": 1e-6},
        UsageError,
        f"the budgets of {NAME} are set by its parameters file",
    ),
    "half a budget": ({"epsilon": 1}, UsageError, "a budget needs both epsilon and delta"),
    "the other half": ({"delta": 1e-6}, UsageError, "Hint: give both, or neither"),
    "own unit": ({"schema": "x", "unit": "x"}, UsageError, "got --schema, --unit"),
    "own mechanism": ({"mechanism": "x", "format": "csv"}, UsageError, "got --mechanism, --format"),
    "settings not there": ({"settings": "none.toml"}, MissingFileError, "none.toml"),
    "cap of nothing": ({"bounding": "weights:0"}, BudgetError, "got 0"),
    "cap from public rows": (
        {"bounding": "weights:public"},
        UsageError,
        "got --bounding weights:public; allowed: weights:C, sample:C or norm",
    ),
    "published by norm": ({"bounding": "norm", "published": True}, UsageError, "got norm"),
    "no ledger": ({"ledger": None}, UsageError, "--ledger"),
    "no public table": ({"public": "none.csv"}, MissingFileError, "none.csv"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_recipes_that_cannot_be_are_told_and_leave_nothing(place: Place, case: str) -> None:
    changes, error, said = REFUSED[case]
    arguments = recipe(place, **changes)
    before = place.names()
    told = place.say(*arguments)
    assert told.code == error.exit_code
    assert said in told.line
    assert place.names() == before


ALONE: dict[str, dict[str, Any]] = {
    "--lists": {"lists": "domain.json"},
    "--groups": {"groups": "CITY=states.json"},
    "--parameters, --lists, --groups": {
        "parameters": "p.json",
        "lists": "domain.json",
        "groups": "CITY=states.json",
    },
    "--noise": {"noise": "laplace"},
}


@pytest.mark.parametrize("got", ALONE)
def test_what_is_for_recipes_is_refused_without_one(place: Place, got: str) -> None:
    before = place.names()
    told = place.say(*place.synth(**ALONE[got]))
    assert told.code == UsageError.exit_code
    assert f"options that need --recipe (got {got}). Hint: omit them" in told.line
    assert place.names() == before


def test_a_schema_is_no_parameters(place: Place) -> None:
    told = place.say(*recipe(place, parameters=place / "schema.toml"))
    assert told.code == SchemaError.exit_code
    assert "has no valid list of runs" in told.line


def test_a_ledger_of_another_table_is_refused(place: Place) -> None:
    asked = ("--create", "--epsilon=99", "--delta=2.5e-5")
    place.fine("ledger", place / "trips.ledger", *asked)
    place.fine(*place.synth(delta=2.5e-5))
    told = place.say(*recipe(place, ledger=place / "trips.ledger"))
    assert told.code == LedgerMismatchError.exit_code
    assert "another table" in told.line
    assert not (place / "submission.csv").exists()


# A budget that hardly protects anyone


def test_a_weak_budget_is_warned_of_and_a_meaningless_one_needs_a_word(place: Place) -> None:
    assert "warning" not in place.fine(*place.synth())
    changes = {"ledger": place / "b.ledger", "out": place / "b"}
    facts = place.facts(*place.synth(**changes, epsilon=6))
    assert facts["warnings"] == [
        "epsilon 6 is a weak promise: one person's rows may make an outcome 403 times as likely."
    ]
    asked = place.synth(ledger=place / "c.ledger", out=place / "c", epsilon=100)
    assert "  warning  epsilon 100 is a weak promise" in place.fine(*asked)
    checked = place.fine("check", *(a for a in asked[1:] if not a.startswith("--out")))
    assert "  warning  'understudy synth' refuses this: an epsilon this large" in checked


def test_synth_and_check_say_whether_it_is_any_good(place: Place) -> None:
    asked = place.synth()
    assert "  signal   Of 2 columns: " in place.fine(*asked)
    checked = place.fine("check", *(a for a in asked[1:] if not a.startswith("--out")))
    assert "  signal   Of 2 columns: " in checked


def test_a_column_that_cannot_be_read_stops_synth_and_leaves_the_rest(place: Place) -> None:
    lines = [f"{i},{'red' if i % 3 else 'blue'},{i % 4} o'clock" for i in range(600)]
    (place / "clock.csv").write_text("\n".join(["taxi,colour,hour", *lines, ""]))
    told = place.say(*place.synth("clock.csv", epsilon=8, screening=0.01))
    assert told.code == 19
    assert "cannot be read as the schema declares them (got hour (about " in told.line
    assert "--screening 0" in told.line
    assert not (place / "out").exists()
    left, runs, asked = place.spent() or (0, 0, 0)
    assert (runs, asked) == (1, 1)
    assert left > 0.98 * Budget(epsilon=8, delta=1e-6).grains


def test_a_table_of_a_few_dozen_people_is_run_with_a_note(place: Place) -> None:
    """Noise hides it in one run of two hundred, and in two of three hardly ever."""
    note = "  note     The number of people could not be told from none (noise "
    told = [
        place.fine(*place.synth(screening=0.01, ledger=place / f"{i}.ledger", out=place / f"{i}"))
        for i in range(3)
    ]
    assert sum(note in each for each in told) >= 2
    noted = place.facts(*place.synth(ledger=place / "b.ledger", out=place / "b"))["notes"]
    assert not [note for note in noted if "told from none" in note]
