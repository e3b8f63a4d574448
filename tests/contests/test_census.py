"""The recipe census-1940: code lists, groups and budgets of its own, and a file an epsilon."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.audit.effort import THOROUGH, in_audit
from tests.contests.people import (
    ENDS,
    LISTS,
    STATES,
    census,
    census_files,
    read_rows,
    write_table,
    written,
)
from tests.contests.taxis import write_parameters
from tests.schema.data import data_file
from understudy.budget import Budget, ResolvedUnit, Sample, Weights
from understudy.contests import ContestRun, Recipe, run_recipe, together
from understudy.contests.run import _files
from understudy.errors import (
    BudgetExhaustedError,
    MissingFileError,
    OutputExistsError,
    SchemaError,
    UnderstudyError,
    UsageError,
)
from understudy.ledger import Ledger, State
from understudy.schema import Categorical, Integer, Numeric, Schema, Split
from understudy.synth.tworound import TwoRound

NAME = "census-1940"
DELTA = 2.2820610e-12
EPSILONS = (0.3, 1.0, 8.0)
PUBLISHED = (34.61, 10.45, 1.385)
EXACT = (29.27, 9.106, 1.271)
"""What one round's noise is, at each epsilon, by the document's calibration and exactly."""
FILES = ["submission-0.3.csv", "submission-1.csv", "submission-8.csv"]


def read(folder: Path, *without: str, **changes: Any) -> tuple[Schema, list[ContestRun]]:
    """Read small files by the recipe."""
    given = census_files(folder, 0) | changes
    kept = {n: given[n] for n in ("lists", "groups", "budget") if n in given and n not in without}
    return Recipe.named(NAME).read(given["parameters"], **kept)


def cook(folder: Path, **changes: Any) -> dict[str, Any]:
    """Run the recipe on a small table."""
    return run_recipe(NAME, **census_files(folder) | changes)


def booked(folder: Path) -> State:
    with closing(Ledger(folder / "census.ledger")) as ledger:
        return ledger.state()


# The contest's own files


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Schema, list[ContestRun]]:
    """Read the contest's column list, the census's code lists, and two cities' states."""
    lists = data_file("census-1940", "domain.json")
    codes = json.loads(lists.read_text())["CITY"]
    states = tmp_path_factory.mktemp("states") / "states.json"
    written(states, {str(codes[5]): "Colorado", f"{codes[7]}.0": "Ohio"})
    recipe = Recipe.named(NAME)
    specification = data_file("census-1940", "colorado-specs.json")
    return recipe.read(specification, lists=lists, groups={"CITY": states})


def test_98_columns_are_declared_and_99_modelled(whole: tuple[Schema, list[ContestRun]]) -> None:
    schema, runs = whole
    declared = json.loads(data_file("census-1940", "colorado-specs.json").read_text())
    lists = json.loads(data_file("census-1940", "domain.json").read_text())
    assert [c.name for c in schema.columns] == list(declared)
    assert (len(schema.columns), len(schema.modelled), len(lists)) == (98, 99, 87)
    assert schema.name == "census-1940"
    assert [(r.budget.epsilon, r.budget.delta) for r in runs] == [(e, DELTA) for e in EPSILONS]
    assert {(r.most_rows, r.most_each) for r in runs} == {(None, 1)}
    for name, values in lists.items():
        column = schema[name]
        assert isinstance(column, Categorical)
        assert (list(column.values), column.size) == (values, len(values))
        assert column.encode(np.array([values[-1], -7])).tolist() == [len(values) - 1] * 2
    plain = set(declared) - set(lists) - {"INCWAGE", "VALUEH"}
    for name in plain:
        assert isinstance(schema[name], Integer)
        assert schema[name].ordered_count == 0
        assert schema.domain[name] == declared[name]["maxval"] + 1


def test_wages_are_split_and_values_of_houses_a_ladder(
    whole: tuple[Schema, list[ContestRun]],
) -> None:
    """And no number of either is missing."""
    schema, _ = whole
    (wage,) = (c for c in schema.columns if isinstance(c, Split))
    assert (wage.name, wage.parts) == ("INCWAGE", ("INCWAGE_A", "INCWAGE_B"))
    assert (schema.domain["INCWAGE_A"], schema.domain["INCWAGE_B"]) == (52, 101)
    values = np.array([0, 99, 100, 4999, 5000, 999_997, 999_998, 999_999])
    codes = [c.encode(values).tolist() for c in wage.modelled]
    assert codes == [[0, 0, 1, 49, 50, 50, 51, 50], [0, 99, 0, 99, 0, 97, 100, 97]]
    ladder = schema["VALUEH"]
    assert isinstance(ladder, Numeric)
    assert (ladder.size, ladder.bins, ladder.top_coded) == (5003, 5001, True)
    values = np.array([0, 4, 5, 24_999, 25_000, 9_999_997, 9_999_998, 9_999_999])
    assert ladder.encode(values).tolist() == [0, 0, 1, 4999, 5000, 5000, 5001, 5002]


def test_cities_belong_to_states(whole: tuple[Schema, list[ContestRun]]) -> None:
    schema, _ = whole
    city = schema["CITY"]
    assert isinstance(city, Categorical)
    assert city.size == 1164
    assert {i: g for i, g in enumerate(city.groups) if g} == {5: "Colorado", 7: "Ohio"}
    assert len(city.groups) == 1164


def test_cliques_are_of_the_contests_columns_and_leave_none_out(
    whole: tuple[Schema, list[ContestRun]],
) -> None:
    schema, runs = whole
    recipe = Recipe.named(NAME)
    made = recipe.mechanism_for(runs[0], schema=schema, public=True, published=False)
    assert isinstance(made, TwoRound)
    for name in ("cliques", "weights", "coarse"):
        assert len(getattr(made, name)) == len(recipe.settings[name])
    assert {column for clique in made.cliques for column in clique} == set(schema.domain)
    assert len({frozenset(clique) for clique in made.cliques}) == len(made.cliques)
    assert {frozenset(c) for c, _ in made.weights} <= {frozenset(c) for c in made.cliques}
    assert {frozenset(c) for c, _, _ in made.coarse} <= {frozenset(c) for c in made.cliques}
    assert made.within == "public"


# Reading


def test_lists_and_groups_take_the_place_of_ranges(tmp_path: Path) -> None:
    schema, _ = read(tmp_path)
    assert [c.name for c in schema.columns] == list(ENDS)
    assert schema["SEX"] == Categorical(name="SEX", values=(1, 2), other=2, missing=False)
    assert schema["CITY"] == Categorical(
        name="CITY",
        values=(0, 10, 20, 30, 40),
        groups=("", "Colorado", "Colorado", "Ohio", ""),
        other=40,
        missing=False,
    )
    assert schema["AGE"] == Integer(name="AGE", min=0, max=99, missing=False, ordered=False)


@pytest.mark.parametrize("names", [("lists", "groups"), ("groups",)])
def test_without_them_ranges_and_lists_stand_as_they_are(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    schema, _ = read(tmp_path, *names)
    city = schema["CITY"]
    if "lists" in names:
        assert city == Integer(name="CITY", min=0, max=99, missing=False, ordered=False)
    else:
        assert city == Categorical(
            name="CITY", values=tuple(LISTS["CITY"]), other=LISTS["CITY"][-1], missing=False
        )


def test_lists_may_be_named_as_texts_and_say_nothing(tmp_path: Path) -> None:
    none = str(written(tmp_path / "none.json", {}))
    assert read(tmp_path, "groups", lists=none) == read(tmp_path, "lists", "groups")
    assert read(tmp_path, groups={"CITY": none}) == read(tmp_path, "groups")


def test_a_list_does_not_take_the_place_of_a_split(tmp_path: Path) -> None:
    lists = written(tmp_path / "mine.json", LISTS | {"INCWAGE": [0, 1]})
    assert read(tmp_path, lists=lists) == read(tmp_path)


def test_a_budget_takes_the_place_of_all_runs(tmp_path: Path) -> None:
    budget = Budget(epsilon=2, delta=1e-6)
    _, runs = read(tmp_path, budget=budget)
    assert [r.budget for r in runs] == [budget]


def test_what_is_of_columns_that_are_not_there_is_left_out(tmp_path: Path) -> None:
    recipe = Recipe.named(NAME)
    schema, runs = read(tmp_path)
    made = recipe.mechanism_for(runs[0], schema=schema, public=False, published=True)
    assert isinstance(made, TwoRound)
    assert set(made.cliques) == {
        ("SEX", "AGE", "MARST"),
        ("SEX", "INCWAGE_A"),
        ("SEX", "CITY", "INCWAGE_A"),
        ("INCWAGE_A", "INCWAGE_B"),
    }
    assert dict(made.weights) == {("SEX", "INCWAGE_A"): 2, ("SEX", "CITY", "INCWAGE_A"): 2}
    assert [c for c, _, _ in made.coarse] == [("SEX", "INCWAGE_A"), ("SEX", "CITY", "INCWAGE_A")]
    assert (made.published, made.most_each, made.within) == (True, 1, "evenly")
    few = written(tmp_path / "few.json", {n: {"type": "enum", "maxval": 9} for n in ("SEX", "AGE")})
    schema, runs = recipe.read(few)
    assert list(schema.domain) == ["SEX", "AGE"]
    made = recipe.mechanism_for(runs[0], schema=schema, public=False, published=False)
    assert isinstance(made, TwoRound)
    assert (made.cliques, made.weights, made.coarse) == ((), (), ())


TABLE = "a file of code lists must be a JSON object"
STRAYS = "column 'CITY': groups has codes that are not among its values"
WRONG: dict[str, tuple[str, object, str, str | None]] = {
    "a list": ("lists", [1, 2], TABLE, None),
    "a text": ("lists", "SEX", TABLE, None),
    "nothing": ("lists", None, TABLE, None),
    "a table of numbers": ("lists", LISTS | {"SEX": 2}, TABLE, None),
    "a table of tables": ("lists", LISTS | {"SEX": {"1": "male"}}, TABLE, None),
    "a code twice": ("lists", LISTS | {"SEX": [1, "1"]}, "column 'SEX' has duplicate values", None),
    "no code": (
        "lists", LISTS | {"SEX": []}, "column 'SEX' has no values, or an invalid one", None,
    ),
    "groups that are a list": ("groups", ["x"], "column 'CITY': groups must be an object", None),
    "groups that are none": ("groups", None, "column 'CITY': groups must be an object", None),
    "groups of strays": ("groups", STATES | {"50": "Utah", "11": "Utah"}, STRAYS, "11, 50"),
    "groups and no list of theirs": (
        "lists", {"SEX": [1, 2]}, "groups need a column with a code list", "CITY",
    ),
    "groups and no list at all": (
        "lists", {}, "groups need a column with a code list", "CITY",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_files_of_something_else(tmp_path: Path, case: str) -> None:
    name, content, what, got = WRONG[case]
    path = written(tmp_path / "mine.json", content)
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, **{name: {"CITY": path} if name == "groups" else path})
    assert caught.value.what == what
    assert got is None or caught.value.got == got


@pytest.mark.parametrize("code", [[1], {"a": 1}], ids=str)
def test_codes_that_are_lists_themselves(tmp_path: Path, code: object) -> None:
    lists = written(tmp_path / "mine.json", LISTS | {"SEX": [code]})
    with pytest.raises(SchemaError):
        read(tmp_path, lists=lists)


def test_groups_without_lists_are_told_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, "lists")
    assert caught.value.allowed == "none, as no code lists are given"
    states = written(tmp_path / "states.json", STATES)
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, groups={"RENT": states, "CITY": states, "AGE": states})
    assert (caught.value.got, caught.value.allowed) == ("AGE, RENT", ", ".join(LISTS))


@pytest.mark.parametrize("name", ["lists", "groups", "parameters"])
def test_files_that_are_not_there_or_do_not_parse(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.json"
    with pytest.raises(MissingFileError, match=r"mine\.json"):
        read(tmp_path, **{name: {"CITY": path} if name == "groups" else path})
    path.write_text("{")
    with pytest.raises(SchemaError, match=r"mine\.json does not parse"):
        read(tmp_path, **{name: {"CITY": path} if name == "groups" else path})


@pytest.mark.parametrize("name", ["chicago-taxi-adagrid", "chicago-taxi-archetypes"])
def test_a_budget_is_refused_where_the_parameters_file_has_runs(tmp_path: Path, name: str) -> None:
    recipe = Recipe.named(name)
    parameters = write_parameters(tmp_path / "parameters.json", 1)
    with pytest.raises(UsageError) as caught:
        recipe.read(parameters, budget=Budget(epsilon=2, delta=1e-6))
    assert caught.value.what == f"the budgets of {name} are set by its parameters file"
    assert caught.value.hint == "omit --epsilon and --delta"
    _, runs = recipe.read(parameters)
    assert [run.budget.epsilon for run in runs] == [1.0]


def test_lists_go_with_any_recipe(tmp_path: Path) -> None:
    """Here one of the contest's own lists is put in another's place."""
    parameters = write_parameters(tmp_path / "parameters.json", 1)
    lists = written(tmp_path / "lists.json", {"company_id": [7, 8]})
    schema, _ = Recipe.named("chicago-taxi-adagrid").read(parameters, lists=lists)
    assert schema["company_id"] == Categorical(
        name="company_id", values=(7, 8), other=8, missing=False
    )
    assert schema["company_id"].encode(np.array([7, 8, 9])).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("target", "epsilons", "names"),
    [
        ("s.csv", EPSILONS, ["s-0.3.csv", "s-1.csv", "s-8.csv"]),
        ("s.v1.csv", (0.25, 1e-5), ["s.v1-0.25.csv", "s.v1-1e-05.csv"]),
        ("rows", (1, 2), ["rows-1", "rows-2"]),
        ("s.csv", (3,), ["s.csv"]),
    ],
    ids=str,
)
def test_a_file_an_epsilon_or_one_of_the_name_that_was_given(
    tmp_path: Path, target: str, epsilons: tuple[float, ...], names: list[str]
) -> None:
    runs = [
        ContestRun(budget=Budget(epsilon=e, delta=DELTA), most_rows=None, most_each=1)
        for e in epsilons
    ]
    found = _files(Recipe.named(NAME), tmp_path / target, runs)
    assert found == [tmp_path / name for name in names]
    # Where rows tell their epsilon there is one file.
    assert _files(Recipe.named("baltimore-911"), tmp_path / target, runs) == [tmp_path / target]


# End to end


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("contest")
    return folder, cook(folder)


def check_rows(path: Path, header: list[str], lists: dict[str, list[int]]) -> int:
    """Hold a file against the contest's rules, and give how many rows it has.

    A code that is not in the list of its column comes out as nothing.
    """
    found, rows = read_rows(path)
    assert found == header
    for row in rows:
        for name, text in row.items():
            if name in lists:
                assert text == "" or int(text) in lists[name]
            elif name == "INCWAGE":
                assert 0 <= int(text) <= 999_997 or text == "999998"
            elif name == "VALUEH":
                assert 0 <= int(text) <= 25_000 or text in ("9999998", "9999999")
            else:
                assert 0 <= int(text) <= ENDS[name]
    return len(rows)


def test_each_epsilon_has_a_file_with_the_tables_own_columns(
    made: tuple[Path, dict[str, Any]],
) -> None:
    folder, manifest = made
    header, _ = read_rows(folder / "1940.csv")
    counts = [check_rows(folder / name, header, LISTS) for name in FILES]
    assert [run["rows_submitted"] for run in manifest["runs"]] == counts
    assert [run["rows"] for run in manifest["runs"]] == counts
    assert counts[2] == pytest.approx(300, abs=60)
    assert not (folder / "submission.csv").exists()


def test_the_manifest_names_every_file_and_what_is_in_it(made: tuple[Path, dict[str, Any]]) -> None:
    folder, manifest = made
    kept = json.loads((folder / "submission.csv.manifest.json").read_text())
    assert kept == json.loads(json.dumps(manifest))
    assert list(manifest["files"]) == FILES
    for name, said in manifest["files"].items():
        content = (folder / name).read_bytes()
        assert said == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    assert (manifest["recipe"], manifest["published"]) == (NAME, False)
    budgets = [Budget(epsilon=e, delta=DELTA) for e in EPSILONS]
    assert manifest["together"]["epsilon"] == together(budgets).epsilon
    assert "3 run(s) composed" in manifest["together"]["words"]
    for run, epsilon in zip(manifest["runs"], EPSILONS, strict=True):
        assert (run["guarantee"]["epsilon"], run["guarantee"]["delta"]) == (epsilon, DELTA)
        assert (run["guarantee"]["unit"], run["mechanism"]["name"]) == ("row", "tworound")
        assert [charge["asked"] for charge in run["charges"]] == ["7 marginals", "4 marginals"]


def test_all_runs_are_on_one_ledger_which_they_spend(made: tuple[Path, dict[str, Any]]) -> None:
    state = booked(made[0])
    assert [run.budget.epsilon for run in state.runs.values()] == list(EPSILONS)
    assert (state.name, state.unit) == ("census-1940", ResolvedUnit.of())
    assert all(run.closed and len(run.reservations) == 2 for run in state.runs.values())
    assert 0 <= state.left < state.total / 10**9


def sigmas(run: dict[str, Any]) -> list[list[float]]:
    """Give what each question's noise would be by itself, by round: scales, less the weights."""
    weights = {("SEX", "INCWAGE_A"): 2.0, ("SEX", "CITY", "INCWAGE_A"): 2.0}
    rounds: list[list[tuple[float, float]]] = [[], []]
    for asked in run["mechanism"]["cliques"]:
        clique = tuple(asked["clique"])
        rounds[len(clique) > 1].append((asked["scale"], weights.get(clique, 1.0)))
    return [
        [scale * weight / np.sqrt(sum(w**2 for _, w in asked)) for scale, weight in asked]
        for asked in rounds
    ]


def test_the_documents_noise_comes_out(made: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """Epsilon 1 at the document's delta is a sigma of 10.45 a round; exactly, it is 9.106."""
    published = cook(tmp_path, published=True)
    assert published["published"] is True
    for manifest, wanted in ((made[1], EXACT), (published, PUBLISHED)):
        for run, sigma in zip(manifest["runs"], wanted, strict=True):
            first, second = sigmas(run)
            assert (len(first), len(second)) == (7, 4)
            assert [f"{s:.4g}" for s in (*first, *second)] == [f"{sigma:.4g}"] * 11
            events = [e["sigma"] for charge in run["charges"] for e in charge["events"]]
            told = [c["scale"] for c in run["mechanism"]["cliques"]]
            assert events == pytest.approx(told)


def test_as_published_all_rare_codes_of_a_column_are_one_other(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Codes, numbers and remainders alike; only what is measured in groups keeps all of its own."""
    whole = census_files(tmp_path, 20_000)
    manifest = run_recipe(NAME, **whole, published=True, budget=Budget(epsilon=8, delta=DELTA))
    support = manifest["runs"][0]["mechanism"]["support"]
    assert support["AGE"]["codes"] == 100
    # Each of 61 ages has at least 144 people, 30 standard deviations of noise above the threshold.
    # Each of 39 that nobody has stands out with a probability of 0.00135; four of them do once in
    # three million runs.
    assert 61 <= support["AGE"]["supported"] <= 64
    for column in support.values():
        rare = column["codes"] > column["supported"]
        assert column["left"] == column["supported"] + rare
    assert support["INCWAGE_A"]["left"] == 52


def test_the_same_command_goes_on_with_its_runs_and_charges_nothing(
    made: tuple[Path, dict[str, Any]],
) -> None:
    folder, manifest = made
    before = booked(folder)
    again = cook(folder, out=folder / "again.csv")
    assert booked(folder) == before
    assert list(again["files"]) == ["again-0.3.csv", "again-1.csv", "again-8.csv"]
    for name, other in zip(FILES, again["files"], strict=True):
        assert (folder / name).read_bytes() == (folder / other).read_bytes()
    assert again["runs"] == manifest["runs"]


def test_another_command_is_refused_on_a_ledger_that_is_spent(
    made: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = made
    before = booked(folder)
    other = written(folder / "other.json", STATES | {"40": "Ohio"})
    changes: tuple[dict[str, Any], ...] = (
        {"published": True},
        {"groups": {}},
        {"groups": {"CITY": other}},
        {"bounding": Weights(2)},
        {"budget": Budget(epsilon=2, delta=DELTA)},
    )
    for change in changes:
        with pytest.raises(BudgetExhaustedError, match="less left than the recipe's runs need"):
            cook(folder, out=folder / "other.csv", **change)
    assert booked(folder) == before
    assert not list(folder.glob("other*.csv*"))


def cut_off(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Stop the recipe as its second run begins."""
    run, calls = TwoRound.run, 0

    def stopped(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return run(*arguments, **named)

    monkeypatch.setattr(TwoRound, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        cook(folder)
    monkeypatch.undo()


def test_a_recipe_that_was_cut_off_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(monkeypatch, tmp_path)
    kept = booked(tmp_path).runs[1]
    assert len(booked(tmp_path).runs) == 2
    assert len(kept.reservations) == 2
    cook(tmp_path, out=tmp_path / "again.csv")
    state = booked(tmp_path)
    assert state.runs[1] == kept
    assert [run.budget.epsilon for run in state.runs.values()] == list(EPSILONS)
    assert all(len(run.reservations) == 2 for run in state.runs.values())


@in_audit  # as the taxis' recipe is in `test_recipe.py`
def test_and_by_the_very_same_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(monkeypatch, tmp_path)
    cook(tmp_path)
    assert all((tmp_path / name).exists() for name in FILES)


def test_one_budget_makes_one_file_of_the_name_that_was_given(tmp_path: Path) -> None:
    """With houses: their ladder has some five thousand steps."""
    given = census_files(tmp_path, 200, ENDS | {"VALUEH": 9_999_999})
    manifest = run_recipe(NAME, **given, budget=Budget(epsilon=4, delta=1e-6))
    assert list(manifest["files"]) == ["submission.csv"]
    (run,) = manifest["runs"]
    assert (run["guarantee"]["epsilon"], run["guarantee"]["delta"]) == (4, 1e-6)
    header, _ = read_rows(tmp_path / "1940.csv")
    assert check_rows(tmp_path / "submission.csv", header, LISTS) == run["rows_submitted"] > 0
    assert booked(tmp_path).budget == Budget(epsilon=4, delta=1e-6)
    assert run["mechanism"]["support"]["VALUEH"]["codes"] == 5003


def test_noise_may_be_without_a_delta(tmp_path: Path) -> None:
    manifest = cook(tmp_path, noise="laplace")
    assert [run["guarantee"]["delta"] for run in manifest["runs"]] == [0, 0, 0]
    assert manifest["together"]["epsilon"] == pytest.approx(9.3)


def test_rows_of_the_censuss_own_lists(tmp_path: Path) -> None:
    """A dozen columns of 1940: places, people, and what they earn; usually at one epsilon."""
    budget = None if THOROUGH else Budget(epsilon=EPSILONS[-1], delta=DELTA)
    lists = json.loads(data_file("census-1940", "domain.json").read_text())
    declared = json.loads(data_file("census-1940", "colorado-specs.json").read_text())
    names = ["COUNTY", "CITY", "METAREA", "SEX", "AGE", "RACE", "RACED", "MARST", "EDUC"]
    names += ["INCWAGE", "LABFORCE", "EMPSTAT"]
    ends = {name: declared[name]["maxval"] for name in declared if name in names}
    states = {str(code): "Colorado" for code in lists["CITY"][1:40]}
    manifest = run_recipe(
        NAME,
        private=write_table(tmp_path / "1940.csv", census(300, 2, ends, lists)),
        parameters=written(tmp_path / "specs.json", {n: declared[n] for n in ends}),
        lists=data_file("census-1940", "domain.json"),
        groups={"CITY": written(tmp_path / "states.json", states)},
        ledger=tmp_path / "census.ledger",
        out=tmp_path / "submission.csv",
        budget=budget,
    )
    header = list(ends)
    counts = [check_rows(tmp_path / name, header, lists) for name in manifest["files"]]
    assert [run["rows_submitted"] for run in manifest["runs"]] == counts
    support = manifest["runs"][-1]["mechanism"]["support"]
    assert set(support) == {*header, "INCWAGE_A", "INCWAGE_B"} - {"INCWAGE"}
    # The one state that there is, whole, and every other city with its own noise or the rest.
    assert support["CITY"]["codes"] == 1164
    assert support["CITY"]["supported"] >= 39


CASES: dict[str, tuple[dict[str, Any], type[UnderstudyError], str]] = {
    "no lists": ({"lists": "none.json"}, MissingFileError, "none.json"),
    "no groups": ({"groups": {"CITY": "none.json"}}, MissingFileError, "none.json"),
    "groups of no list": ({"lists": None}, SchemaError, "groups need a column with a code list"),
    "published by samples": ({"published": True, "bounding": Sample(1)}, UsageError, "got sample"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_refused_leaves_nothing_behind(tmp_path: Path, case: str) -> None:
    changes, error, told = CASES[case]
    with pytest.raises(error, match=told):
        cook(tmp_path, **changes)
    assert not list(tmp_path.glob("submission*"))
    assert not (tmp_path / "census.ledger").exists()


@pytest.mark.parametrize("name", [*FILES, "submission.csv.manifest.json"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputExistsError, match="exists already"):
        cook(tmp_path)
    assert (tmp_path / name).read_text() == "mine"
    assert [path.name for path in tmp_path.glob("submission*")] == [name]
    assert not (tmp_path / "census.ledger").exists()
