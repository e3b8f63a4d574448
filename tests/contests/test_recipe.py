"""Recipes: the document's figures, the contest's rules, one ledger for all runs."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.audit.effort import THOROUGH, effort, few
from tests.contests.taxis import check_submission, parameters, trips, write_parameters
from tests.schema.data import data_file
from understudy.budget import Budget, Norm, Sample, Weights
from understudy.contests import (
    ContestRun,
    Recipe,
    read_parameters,
    recipe_names,
    run_recipe,
    together,
)
from understudy.contests.submission import Submission
from understudy.errors import (
    BudgetError,
    BudgetExhaustedError,
    LedgerMismatchError,
    MissingColumnError,
    MissingFileError,
    OutputExistsError,
    QuestionError,
    SchemaError,
    UnderstudyError,
    UsageError,
)
from understudy.ledger import Ledger, State
from understudy.schema import Integer, Schema
from understudy.synth import mechanism_from_dict, mechanism_to_dict
from understudy.synth.adagrid import AdaGrid

if TYPE_CHECKING:
    from pathlib import Path

NAME = "chicago-taxi-adagrid"
EXACT = (4290.24, 784.12)
PUBLISHED = (5739.36, 895.42)
SMALL = ["pickup_community_area", "shift", "company_id"]
ONE = Schema("t", (Integer(name="x", min=0, max=1),))


def cook(folder: Path, *epsilons: float, **other: Any) -> dict[str, Any]:
    """Run the recipe on small tables."""
    write_parameters(folder / "parameters.json", *epsilons)
    asked: dict[str, Any] = {
        "private": trips(effort(1000, 3000), 1),
        "public": trips(effort(700, 2000), 2),
        "parameters": folder / "parameters.json",
        "ledger": folder / "taxi.ledger",
        "out": folder / "submission.csv",
    }
    return run_recipe(NAME, **asked | other)


def read(folder: Path) -> State:
    with closing(Ledger(folder / "taxi.ledger")) as ledger:
        return ledger.state()


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Run the recipe as it stands, once."""
    folder = tmp_path_factory.mktemp("contest")
    return folder, cook(folder)


# The document


@pytest.mark.parametrize(("published", "scales"), [(False, EXACT), (True, PUBLISHED)])
def test_the_documents_noise_comes_out(
    tmp_path: Path,
    usual: tuple[Path, dict[str, Any]],
    *,
    published: bool,
    scales: tuple[float, ...],
) -> None:
    folder, made = (tmp_path, cook(tmp_path, published=True)) if published else usual
    manifest = json.loads((folder / "submission.csv.manifest.json").read_text())
    assert manifest == json.loads(json.dumps(made))
    assert manifest["published"] is published
    # Without the document's rule, 2 % of the budget are for how many rows people have.
    left = 1 if published else 0.98
    for run, whole, cap in zip(manifest["runs"], scales, (150, 200), strict=True):
        cliques, scale = run["mechanism"]["cliques"], whole / np.sqrt(left)
        once = [c["scale"] for c in cliques if c["times"] == 1]
        assert once == pytest.approx([scale] * 58, abs=0.006)
        (often,) = (c for c in cliques if c["times"] != 1)
        assert set(often["clique"]) == {"dropoff_community_area", "pickup_community_area"}
        assert often["times"] == 8
        assert often["scale"] == pytest.approx(scale / np.sqrt(8), abs=0.01)
        assert len(cliques) == 59
        assert {c["column_norm"] for c in cliques} == {1.0}
        assert f"more than {cap}" in run["guarantee"]["bounding"]
        assert run["mechanism"]["settings"]["most_each"] == 200
    rows = check_submission(folder / "submission.csv", parameters())
    # At epsilon 1 noise may leave no row; at 10 it is some 500 rows, six times less than these.
    assert [run["rows_submitted"] for run in manifest["runs"]] == [rows.get(1.0, 0), rows[10.0]]
    assert 0 < rows[10.0] < 6000
    assert names(folder) == {
        "parameters.json",
        "submission.csv",
        "submission.csv.manifest.json",
        "taxi.ledger",
    }


def test_the_contests_own_parameters_make_the_documents_schema() -> None:
    declared, runs = read_parameters(data_file("contest-parameters", "sprint3.json"))
    schema = Recipe.named(NAME).schema(declared)
    assert schema.domain == {
        "shift": 21,
        "company_id": 101,
        "pickup_community_area": 78,
        "dropoff_community_area": 78,
        "payment_type": 9,
        "fare": 11,
        "tips": 11,
        "trip_total": 11,
        "trip_seconds": 11,
        "trip_miles": 11,
    }
    codes = schema["trip_seconds"].encode(np.array([-1, 0, 199, 200, 1800, 100_000]))
    assert codes.tolist() == [0, 1, 1, 2, 10, 10]
    assert schema["tips"].encode(np.array([-1, 0, 9, 90, 5000])).tolist() == [0, 1, 1, 10, 10]
    assert (schema.name, [c.name for c in schema.ids]) == ("chicago-taxi", ["taxi_id"])
    assert [r.budget.epsilon for r in runs] == [1.0, 10.0]
    assert {(r.budget.delta, r.most_rows, r.most_each) for r in runs} == {(2.5e-5, 20_000_000, 200)}


def test_the_recipe_runs_on_the_contests_own_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an audit it asks all that it asks, and else what has fewer cells than its largest."""
    largest = 78 * 21 * 78 * 11
    if not THOROUGH:
        whole, largest = Recipe.named(NAME), 78 * 21 * 101
        few_cliques = whole.settings | {"cliques": [SMALL]}
        monkeypatch.setattr(Recipe, "named", lambda _: replace(whole, settings=few_cliques))
    asked = json.loads(data_file("contest-parameters", "sprint3.json").read_text())
    asked["runs"] = asked["runs"][:1]
    path = tmp_path / "sprint3.json"
    path.write_text(json.dumps(asked))
    made = cook(tmp_path, parameters=path)
    check_submission(tmp_path / "submission.csv", asked)
    cliques = made["runs"][0]["mechanism"]["cliques"]
    assert max(c["cells"] for c in cliques) == largest
    assert {c["column_norm"] for c in cliques} == {1.0}


def test_caps_are_those_of_the_nearest_epsilon() -> None:
    recipe = Recipe.named(NAME)
    caps = [recipe.bounding_at(e) for e in (0.1, 1, 5, 6, 10, 50)]
    assert caps == [Weights(c) for c in (150, 150, 150, 200, 200, 200)]


def test_five_recipes_are_known() -> None:
    assert recipe_names() == [
        "acs-2019",
        "baltimore-911",
        "census-1940",
        "chicago-taxi-adagrid",
        "chicago-taxi-archetypes",
    ]


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_reads_and_makes_its_mechanism(name: str) -> None:
    recipe = Recipe.named(name)
    assert "\n" not in recipe.about
    # Rows of all epsilons are in one file, or no file has a column for it.
    assert recipe.output[:1] == ([] if recipe.runs else ["epsilon"])
    assert "epsilon" not in recipe.output[1:]
    run = ContestRun(budget=Budget(epsilon=1, delta=1e-6), most_rows=1, most_each=7)
    plain = recipe.mechanism_for(run, schema=ONE, public=False, published=False)
    helped = recipe.mechanism_for(run, schema=ONE, public=True, published=True)
    assert plain.name == helped.name == recipe.mechanism
    told = [mechanism_to_dict(mechanism)["settings"] for mechanism in (plain, helped)]
    assert [(t["most_each"], t["published"]) for t in told] == [(7, False), (7, True)]


def test_a_public_table_tells_whose_trips_are_whose() -> None:
    recipe = Recipe.named(NAME)
    run = ContestRun(budget=Budget(epsilon=1, delta=1e-6), most_rows=1, most_each=7)
    plain = recipe.mechanism_for(run, schema=ONE, public=False, published=False)
    helped = recipe.mechanism_for(run, schema=ONE, public=True, published=True)
    assert isinstance(plain, AdaGrid)
    assert isinstance(helped, AdaGrid)
    assert (plain.within, plain.ids_by) == ("evenly", ())
    assert (helped.within, helped.ids_by) == ("public", ("pickup_community_area", "shift"))


# The contest's rules


def test_without_a_public_table_people_follow_a_noisy_distribution(tmp_path: Path) -> None:
    made = cook(tmp_path, 30, public=None)
    check_submission(tmp_path / "submission.csv", parameters(30))
    assert len(made["runs"][0]["charges"]) == 6  # how many rows people have, people, four rounds


def test_norm_takes_the_place_of_the_caps(tmp_path: Path) -> None:
    made = cook(tmp_path, 10, bounding=Norm())
    check_submission(tmp_path / "submission.csv", parameters(10))
    assert "each question weighs" in made["runs"][0]["guarantee"]["bounding"]


def test_rows_beyond_the_limits_are_left_out_by_chance(tmp_path: Path) -> None:
    asked = parameters(30, most=400, each=5)
    path = tmp_path / "parameters.json"
    path.write_text(json.dumps(asked))
    ask: dict[str, Any] = {
        "private": trips(3000, 1),
        "public": trips(2000, 2),
        "parameters": path,
        "ledger": tmp_path / "taxi.ledger",
    }
    made = run_recipe(NAME, out=tmp_path / "one.csv", **ask)
    assert check_submission(tmp_path / "one.csv", asked) == {30.0: 400}
    assert made["runs"][0]["rows"] > made["runs"][0]["rows_submitted"] == 400
    # The same rows, of a run that is gone on with.
    run_recipe(NAME, out=tmp_path / "two.csv", **ask)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


# The ledger


def test_all_runs_are_composed_on_one_ledger(usual: tuple[Path, dict[str, Any]]) -> None:
    folder, made = usual
    state = read(folder)
    one, ten = (Budget(epsilon=e, delta=2.5e-5) for e in (1.0, 10.0))
    assert [run.budget for run in state.runs.values()] == [one, ten]
    assert state.budget == together([one, ten])
    assert 0 <= state.total - one.grains - ten.grains < state.total / 10**9
    assert made["together"]["epsilon"] == state.budget.epsilon == pytest.approx(10.1169, abs=1e-4)
    # As little is left over as one may hope for.
    assert state.left < state.total / 10**9


def test_budgets_add_up() -> None:
    one = Budget(epsilon=1.0, delta=1e-6)
    assert together([one]) == one
    assert together([one, one]).grains >= 2 * one.grains
    assert together([one, Budget(epsilon=1.0, delta=1e-9)]).delta == 1e-9
    pure = Budget(epsilon=0.1, delta=0)
    assert together([pure] * 3).grains >= 3 * pure.grains
    assert together([pure] * 3).epsilon == pytest.approx(0.3)
    with pytest.raises(BudgetError, match="cannot share a ledger"):
        together([one, pure])


@pytest.mark.parametrize(
    "cut", few(["between the runs", "as it writes", "before it asks"], usual=1)
)
def test_a_recipe_that_was_cut_off_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    calls = 0

    def stopping(real: Any, at: int) -> Any:
        def stopped(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == at:
                raise KeyboardInterrupt
            return real(*arguments, **named)

        return stopped

    where, what, at = {
        "before it asks": (AdaGrid, "run", 1),
        "between the runs": (AdaGrid, "run", 2),
        "as it writes": (Submission, "add", 2),
    }[cut]
    monkeypatch.setattr(where, what, stopping(getattr(where, what), at))
    with pytest.raises(KeyboardInterrupt):
        cook(tmp_path)
    assert names(tmp_path) == {"parameters.json", "taxi.ledger"}
    monkeypatch.undo()
    begun = len(read(tmp_path).runs)
    assert begun == (1 if cut == "before it asks" else 2)
    kept = read(tmp_path).runs[1].answers
    cook(tmp_path)
    check_submission(tmp_path / "submission.csv", parameters())
    state = read(tmp_path)
    assert len(state.runs) == 2
    assert all(run.closed for run in state.runs.values())
    assert kept.items() <= state.runs[1].answers.items()


def test_another_command_is_refused_on_a_ledger_that_is_spent(tmp_path: Path) -> None:
    cook(tmp_path, 1)
    before = read(tmp_path)
    for other in ({"published": True}, {"bounding": Weights(9)}, {"public": None}):
        with pytest.raises(
            BudgetExhaustedError, match=r"less left than the recipe's runs need .*got epsilon 1 at"
        ):
            cook(tmp_path, 1, out=tmp_path / "other.csv", **other)
    with pytest.raises(BudgetExhaustedError, match=r"got epsilon 2 at .* and epsilon 3"):
        cook(tmp_path, 1, 2, 3, out=tmp_path / "other.csv")
    assert read(tmp_path) == before
    assert not (tmp_path / "other.csv").exists()


def test_a_larger_ledger_holds_another_command_too(tmp_path: Path) -> None:
    path = tmp_path / "taxi.ledger"
    Ledger.create(path, budget=Budget(epsilon=5, delta=2.5e-5)).close()
    cook(tmp_path, 1)
    cook(tmp_path, 1, published=True, out=tmp_path / "other.csv")
    assert len(read(tmp_path).runs) == 2


# What is refused, before anything is spent


def broken(**changes: Any) -> dict[str, Any]:
    asked = parameters()
    asked["runs"][0] |= changes
    return asked


PARAMETERS: dict[str, tuple[Any, type[UnderstudyError], str]] = {
    "none": (
        {"schema": parameters()["schema"]},
        SchemaError,
        "not a supported schema file|has no valid list of runs",
    ),
    "no runs": (parameters() | {"runs": []}, SchemaError, "has no valid list of runs"),
    "no list": (parameters() | {"runs": 3}, SchemaError, "has no valid list of runs"),
    "an epsilon twice": (parameters(1, 1), SchemaError, "runs of different epsilon"),
    "no rows": (broken(max_records=0), SchemaError, "has no valid list of runs"),
    "half a row": (
        broken(max_records_per_individual=0.5),
        SchemaError,
        "has no valid list of runs",
    ),
    "no budget": (broken(epsilon=0), BudgetError, "got 0"),
    "two currencies": (broken(delta=0), BudgetError, "cannot share a ledger"),
    "no fare": (parameters(fare=None), SchemaError, "got no fare"),
    "more columns": (
        parameters(colour={"dtype": "int8", "kind": "categorical", "values": [1, 2]}),
        SchemaError,
        "does not submit .*colour",
    ),
    "a list of fares": (
        parameters(fare={"dtype": "int8", "kind": "categorical", "values": [1, 2]}),
        SchemaError,
        "no range for fare",
    ),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters_that_do_not_fit(tmp_path: Path, case: str) -> None:
    asked, error, told = PARAMETERS[case]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(asked))
    with pytest.raises(error, match=told):
        cook(tmp_path, parameters=path)
    assert names(tmp_path) == {"parameters.json", "mine.json"}


CASES: dict[str, tuple[dict[str, Any], type[UnderstudyError], str]] = {
    "no parameters": ({"parameters": "none.json"}, MissingFileError, "none.json"),
    "no private file": ({"private": "none.csv"}, MissingFileError, "none.csv"),
    "no public file": ({"public": "none.csv"}, MissingFileError, "none.csv"),
    "no column": ({"private": {"taxi_id": np.arange(3)}}, MissingColumnError, "'fare'"),
    "no public column": ({"public": {"taxi_id": np.arange(3)}}, MissingColumnError, "'fare'"),
    "published by norm": ({"published": True, "bounding": Norm()}, UsageError, "got norm"),
    "published by sample": ({"published": True, "bounding": Sample(5)}, UsageError, "got sample"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_refused_leaves_nothing_behind(tmp_path: Path, case: str) -> None:
    changes, error, told = CASES[case]
    with pytest.raises(error, match=told):
        cook(tmp_path, **changes)
    assert names(tmp_path) == {"parameters.json"}


def test_an_unknown_recipe_is_refused() -> None:
    with pytest.raises(UsageError, match=f"unknown recipe .got soup; allowed: .*{NAME}"):
        run_recipe("soup", private="p", parameters="q", ledger="l", out="o")


@pytest.mark.parametrize("name", ["submission.csv", "submission.csv.manifest.json"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputExistsError, match="exists already"):
        cook(tmp_path)
    assert (tmp_path / name).read_text() == "mine"
    assert names(tmp_path) == {name, "parameters.json"}


def test_a_ledger_of_another_currency_or_table_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "taxi.ledger"
    Ledger.create(path, budget=Budget(epsilon=100, delta=0)).close()
    with pytest.raises(LedgerMismatchError, match="another currency"):
        cook(tmp_path)
    assert read(tmp_path).runs == {}


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"cliques": [["fare", "colour"]]}, QuestionError, "got colour"),
        ({"cliques": [["fare", "shift", "tips"]], "most_cells": 99}, QuestionError, "too large"),
        ({"ids_by": ["shift"]}, UsageError, "ids_by needs a public table"),
        ({"within": "public"}, UsageError, "needs a public table"),
    ],
)
def test_settings_that_do_not_fit_the_table_cost_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    error: type[UnderstudyError],
    told: str,
) -> None:
    changed = mechanism_from_dict({"name": "adagrid", "settings": settings})
    monkeypatch.setattr(Recipe, "mechanism_for", lambda *_, **__: changed)
    with pytest.raises(error, match=told):
        cook(tmp_path, public=None)
    state = read(tmp_path)
    assert state.left == state.total
    assert not (tmp_path / "submission.csv").exists()
    # What ended before it asked is no run to go on with.
    monkeypatch.undo()
    if THOROUGH or "within" in settings:
        cook(tmp_path, 1)
