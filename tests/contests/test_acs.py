"""The recipe acs-2019: any columns of the excerpts in, rows as the excerpts have them out."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.audit.effort import effort
from tests.contests.people import (
    EXCERPTS,
    census_files,
    excerpt_files,
    read_rows,
    write_table,
    written,
)
from tests.schema.data import data_file
from understudy.budget import Budget, ResolvedUnit
from understudy.contests import ContestRun, Recipe, run_recipe
from understudy.errors import MissingColumnError, SchemaError, UnderstudyError
from understudy.ledger import Ledger, State
from understudy.schema import Categorical, Integer, Numeric, Schema
from understudy.synth.tworound import TwoRound

NAME = "acs-2019"
ONE = Budget(epsilon=1, delta=1e-9)


def cook(folder: Path, *columns: str, **changes: Any) -> dict[str, Any]:
    """Run the recipe on a small table."""
    return run_recipe(NAME, **excerpt_files(folder, 300, *columns) | changes)


def booked(folder: Path) -> State:
    with closing(Ledger(folder / "acs.ledger")) as ledger:
        return ledger.state()


def mechanism(schema: Schema) -> TwoRound:
    recipe = Recipe.named(NAME)
    run = ContestRun(budget=ONE, most_rows=None, most_each=1)
    made = recipe.mechanism_for(run, schema=schema, public=False, published=False)
    assert isinstance(made, TwoRound)
    return made


# The excerpts' own files


def test_the_excerpts_own_schema() -> None:
    path = data_file("acs-2019", "national2019.json")
    schema, runs = Recipe.named(NAME).read(path)
    assert [run.budget for run in runs] == [ONE]
    with data_file("acs-2019", "national2019.csv").open() as file:
        assert [c.name for c in schema.columns] == file.readline().strip().split(",")
    assert schema.domain == {
        "PUMA": 20, "AGEP": 96, "SEX": 2, "MSP": 7, "HISP": 5, "RAC1P": 9, "NOC": 10, "NPF": 12,
        "HOUSING_TYPE": 3, "OWN_RENT": 3, "DENSITY": 14, "INDP": 264, "INDP_CAT": 20, "EDU": 13,
        "PINCP": 67, "PINCP_DECILE": 11, "POVPIP": 503, "DVET": 7, "DREM": 3, "DPHY": 3,
        "DEYE": 2, "DEAR": 2, "PWGTP": 70, "WGTP": 68,
    }  # fmt: skip
    missing = {name for name in schema.domain if schema[name].missing}
    assert missing == {"PINCP", "POVPIP"}
    made = mechanism(schema)
    assert len(made.cliques) == len(Recipe.named(NAME).settings["cliques"])
    assert {column for clique in made.cliques for column in clique} == set(schema.domain)


def test_numbers_are_cut_between_the_schemas_own_ends() -> None:
    schema, _ = Recipe.named(NAME).read(data_file("acs-2019", "national2019.json"))
    income, density = schema["PINCP"], schema["DENSITY"]
    assert isinstance(income, Numeric)
    assert isinstance(density, Numeric)
    assert (income.edges[:4], income.edges[-2:]) == ((-9000, -1, 0, 1), (500_000, 1_327_000))
    assert (income.whole, income.outside, income.nulls) == (True, "nearest", ("N",))
    texts = np.array(["-9000.0", "-1.0", "0.0", "15400.0", "1327000.0", "9e9", "N"], dtype=object)
    assert income.encode(texts).tolist() == [0, 1, 2, 18, 65, 65, 66]
    assert (density.edges[0], density.edges[-1], density.whole) == (16, 52_864, False)
    assert density.encode(np.array([2731.2, 16.0, 99_999.0])).tolist() == [7, 0, 13]
    people = schema["PWGTP"]
    assert isinstance(people, Numeric)
    assert people.edges[:3] == (1, 5, 10)
    # A code of their own are numbers of which there are few, and texts that stand for nothing.
    assert schema["POVPIP"] == Integer(name="POVPIP", min=0, max=501, nulls=("N",))
    listed = schema["MSP"]
    assert isinstance(listed, Categorical)
    assert listed.encode(np.array(["N", "6", "7"], dtype=object)).tolist() == [0, 6, -1]


@pytest.mark.parametrize(
    "columns", [("PUMA", "AGEP", "SEX"), ("SEX", "MSP"), ("PINCP", "WGTP"), ("NOC",)], ids=str
)
def test_some_of_its_columns_do_as_well(tmp_path: Path, columns: tuple[str, ...]) -> None:
    whole = json.loads(data_file("acs-2019", "national2019.json").read_text())["schema"]
    path = written(tmp_path / "few.json", {"schema": {name: whole[name] for name in columns}})
    recipe = Recipe.named(NAME)
    schema, _ = recipe.read(path)
    full, _ = recipe.read(data_file("acs-2019", "national2019.json"))
    assert schema.columns == tuple(full[name] for name in columns)
    kept = [tuple(c) for c in recipe.settings["cliques"] if set(c) <= set(columns)]
    assert mechanism(schema).cliques == tuple(kept)


def test_rows_of_the_excerpts_themselves(tmp_path: Path) -> None:
    """Of one person in a hundred; in an audit with all 24 columns, and else with half of them."""
    lines = data_file("acs-2019", "national2019.csv").read_text().splitlines()
    wanted = effort(12, 24)
    private = tmp_path / "2019.csv"
    cells = [line.split(",")[:wanted] for line in (lines[0], *lines[1::100])]
    private.write_text("".join(",".join(row) + "\n" for row in cells))
    whole = json.loads(data_file("acs-2019", "national2019.json").read_text())
    declared = {name: whole["schema"][name] for name in whole["schema"] if name in cells[0]}
    assert len(declared) == wanted
    parameters = written(tmp_path / "2019.json", whole | {"schema": declared})
    manifest = run_recipe(
        NAME,
        private=private,
        parameters=parameters,
        ledger=tmp_path / "acs.ledger",
        out=tmp_path / "submission.csv",
        budget=Budget(epsilon=20, delta=1e-6),
    )
    header, rows = read_rows(tmp_path / "submission.csv")
    assert header == cells[0]
    assert len(rows) == manifest["runs"][0]["rows_submitted"]
    assert len(rows) == pytest.approx(273, abs=60)
    check_rows(rows, declared)


# End to end


def check_rows(rows: list[dict[str, str]], declared: dict[str, dict[str, Any]]) -> None:
    """Hold rows against the schema file: listed values, numbers in range, and N for nothing."""
    for row in rows:
        for name, text in row.items():
            column = declared[name]
            if "values" in column:
                assert text in map(str, column["values"])
            elif text == "N":
                assert column["has_null"]
            elif column["dtype"].startswith("float"):
                assert column["min"] <= float(text) <= column["max"]
            else:
                assert column["min"] <= int(text) <= column["max"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("excerpts")
    return folder, cook(folder, budget=Budget(epsilon=10, delta=1e-9))


def test_rows_have_the_tables_own_columns_and_no_empty_cell(
    made: tuple[Path, dict[str, Any]],
) -> None:
    folder, manifest = made
    header, rows = read_rows(folder / "submission.csv")
    assert header == read_rows(folder / "2019.csv")[0] == list(EXCERPTS)
    assert len(rows) == manifest["runs"][0]["rows_submitted"]
    assert len(rows) == pytest.approx(300, abs=60)
    check_rows(rows, EXCERPTS)


def test_missing_numbers_are_written_as_the_excerpts_do(made: tuple[Path, dict[str, Any]]) -> None:
    """A third of incomes, and a quarter of the others; read again they are missing."""
    folder, _ = made
    _, rows = read_rows(folder / "submission.csv")
    schema, _ = Recipe.named(NAME).read(folder / "schema.json")
    for name, share in (("PINCP", 1 / 3), ("POVPIP", 1 / 4)):
        texts = np.array([row[name] for row in rows], dtype=object)
        assert "" not in texts
        assert (texts == "N").mean() == pytest.approx(share, abs=0.15)
        codes = schema[name].encode(texts)
        assert ((codes == schema[name].missing_code) == (texts == "N")).all()
    # Of lists, N is a value as good as others.
    assert {row["MSP"] for row in rows} == {"N", "1", "2"}
    text = (folder / "submission.csv").read_text()
    assert ",N" in text
    assert ",," not in text


def test_the_manifest_names_the_file(made: tuple[Path, dict[str, Any]]) -> None:
    folder, manifest = made
    kept = json.loads((folder / "submission.csv.manifest.json").read_text())
    assert kept == json.loads(json.dumps(manifest))
    content = (folder / "submission.csv").read_bytes()
    said = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    assert manifest["files"] == {"submission.csv": said}
    (run,) = manifest["runs"]
    assert (run["guarantee"]["epsilon"], run["guarantee"]["unit"]) == (10, "row")
    assert (run["mechanism"]["name"], run["table"]) == ("tworound", "acs-2019")
    assert run["mechanism"]["settings"]["weigh"] == "by cells"
    state = booked(folder)
    assert (state.name, state.unit) == (NAME, ResolvedUnit.of())
    assert state.budget == Budget(epsilon=10, delta=1e-9)


def test_the_same_command_goes_on_with_its_run_and_charges_nothing(
    made: tuple[Path, dict[str, Any]],
) -> None:
    folder, manifest = made
    before = booked(folder)
    asked = {"budget": Budget(epsilon=10, delta=1e-9), "out": folder / "again.csv"}
    again = cook(folder, **asked)
    assert booked(folder) == before
    assert (folder / "again.csv").read_bytes() == (folder / "submission.csv").read_bytes()
    assert again["runs"] == manifest["runs"]


def test_a_run_that_was_cut_off_is_gone_on_with_by_the_very_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("understudy.synth.tworound.mechanism.estimate", stopped)
    with pytest.raises(KeyboardInterrupt):
        cook(tmp_path)
    monkeypatch.undo()
    assert not list(tmp_path.glob("submission*"))
    (begun,) = booked(tmp_path).runs.values()
    assert len(begun.answers) == 2
    cook(tmp_path)
    (after,) = booked(tmp_path).runs.values()
    assert (after.reservations, after.answers) == (begun.reservations, begun.answers)
    check_rows(read_rows(tmp_path / "submission.csv")[1], EXCERPTS)


def test_several_budgets_are_several_runs_of_one_ledger(tmp_path: Path) -> None:
    """Some columns only: what is asked of the others is left out."""
    Ledger.create(tmp_path / "acs.ledger", budget=Budget(epsilon=9, delta=1e-9)).close()
    columns = ("PUMA", "SEX", "MSP", "POVPIP")
    for epsilon in (1, 2, 5):
        budget = Budget(epsilon=epsilon, delta=1e-9)
        manifest = cook(tmp_path, *columns, budget=budget, out=tmp_path / f"{epsilon}.csv")
        header, rows = read_rows(tmp_path / f"{epsilon}.csv")
        assert header == [name for name in EXCERPTS if name in columns]
        check_rows(rows, EXCERPTS)
        asked = [set(c["clique"]) for c in manifest["runs"][0]["mechanism"]["cliques"]]
        pairs = ({"PUMA", "SEX"}, {"PUMA", "MSP"}, {"PUMA", "POVPIP"}, {"SEX", "MSP"})
        assert [c for c in asked if len(c) > 1] == list(pairs)
    state = booked(tmp_path)
    assert [run.budget.epsilon for run in state.runs.values()] == [1, 2, 5]
    assert state.left > 0


def test_an_empty_table_is_a_header_or_what_noise_makes_of_it(tmp_path: Path) -> None:
    given = excerpt_files(tmp_path, 0)
    manifest = run_recipe(NAME, **given)
    header, rows = read_rows(tmp_path / "submission.csv")
    assert header == list(EXCERPTS)
    assert len(rows) == manifest["runs"][0]["rows_submitted"]
    assert manifest["runs"][0]["guarantee"]["epsilon"] == 1


CASES: dict[str, tuple[dict[str, Any], type[UnderstudyError], str]] = {
    "a list of incomes": ({"PINCP": {"values": [1, 2]}}, SchemaError, "no range for PINCP"),
    "no null": ({"PINCP": {"has_null": True, "min": 0, "max": 9}}, SchemaError, "PINCP"),
    "a schema that is none": ({"PINCP": 5}, SchemaError, "not declared as in the contests' files"),
}


@pytest.mark.parametrize("case", CASES)
def test_schemas_that_do_not_fit(tmp_path: Path, case: str) -> None:
    changes, error, told = CASES[case]
    path = written(tmp_path / "mine.json", {"schema": EXCERPTS | changes})
    with pytest.raises(error, match=told):
        cook(tmp_path, parameters=path)
    assert not (tmp_path / "acs.ledger").exists()


def test_tables_that_do_not_fit(tmp_path: Path) -> None:
    few = write_table(tmp_path / "few.csv", {"SEX": np.array([1, 2])})
    with pytest.raises(MissingColumnError, match="'AGEP'"):
        cook(tmp_path, private=few)
    specification = census_files(tmp_path, 0)["parameters"]
    with pytest.raises(MissingColumnError, match="'CITY'"):
        cook(tmp_path, parameters=specification)
    assert not list(tmp_path.glob("submission*"))
