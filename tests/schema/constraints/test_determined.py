"""What determines what: listed in a file, or read from a public table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from understudy.errors import MissingColumnError, MissingFileError, SchemaError
from understudy.schema import Categorical, Integer, Schema
from understudy.schema.constraints import Determines
from understudy.schema.constraints.files import from_plain

PAIRS = (("Evanston", "Cook"), ("Aurora", "Kane"), ("Elgin", "Cook"))
TEXT = """
name = "homes"
[columns.town]
kind = "categorical"
values = ["Evanston", "Aurora", "Elgin"]
[columns.county]
kind = "categorical"
values = ["Cook", "Kane"]
[[constraints]]
determines = { town = "county" }
"""
FILES = {
    "towns.csv": "town,county\nEvanston,Cook\nAurora, Kane \nElgin,Cook\n",
    "more.csv": '\ufeffpeople,county,town\n5,Cook,Evanston\n6,Kane,"Aurora"\n\n7,Cook,Elgin\n',
    "table.json": json.dumps(dict(PAIRS)),
    "pairs.json": json.dumps(PAIRS),
}


def written(folder: Path, name: str, content: str, more: str = "") -> Path:
    (folder / "lists").mkdir()
    (folder / "lists" / name).write_text(content, encoding="utf-8")
    path = folder / "schema.toml"
    path.write_text(f'{TEXT}values_from = "lists/{name}"\n{more}', encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "content"), FILES.items(), ids=FILES)
def test_a_schema_names_a_file_of_pairs(tmp_path: Path, name: str, content: str) -> None:
    read = Schema.read(written(tmp_path, name, content))
    assert read.constraints == (Determines("town", "county", PAIRS),)
    assert list(read.domain) == ["town"]
    # What is saved with a release needs no other file.
    (tmp_path / "again.toml").write_text(read.to_toml(), encoding="utf-8")
    assert Schema.read(tmp_path / "again.toml") == read


REFUSED: dict[str, tuple[str, str, str]] = {
    "no header": ("towns.csv", "Evanston,Cook\nAurora,Kane\n", "must name both columns"),
    "an empty file": ("towns.csv", "", "got no line"),
    "a quote that does not end": ("towns.csv", 'town,county\n"Aurora,Kane', "does not parse"),
    "a town in two counties": (
        "towns.csv",
        "town,county\nElgin,Cook\nElgin,Kane\n",
        "determines 'Elgin' twice .got Cook and Kane",
    ),
    "a pair twice in a list": (
        "pairs.json",
        json.dumps([["Elgin", "Cook"], ["Elgin", "Kane"]]),
        "determines 'Elgin' twice",
    ),
    "no pairs": ("pairs.json", "[1, 2]", "determines needs values"),
}


@pytest.mark.parametrize(("name", "content", "told"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_says_something_else_is_refused(
    tmp_path: Path, name: str, content: str, told: str
) -> None:
    with pytest.raises(SchemaError, match=told):
        Schema.read(written(tmp_path, name, content))


def test_a_file_is_named_once_and_for_one_thing(tmp_path: Path) -> None:
    path = written(tmp_path, "pairs.json", FILES["pairs.json"], more="values = []\n")
    with pytest.raises(SchemaError, match="got values as well"):
        Schema.read(path)
    other = TEXT.replace('determines = { town = "county" }', 'never = { town = "Elgin" }')
    path.write_text(f'{other}values_from = "lists/pairs.json"', encoding="utf-8")
    with pytest.raises(SchemaError, match="only with determines"):
        Schema.read(path)
    path.write_text(f'{TEXT}values_from = "lists/none.csv"', encoding="utf-8")
    with pytest.raises(MissingFileError):
        Schema.read(path)
    with pytest.raises(SchemaError, match="read from a schema's file"):
        from_plain({"determines": {"town": "county"}, "values_from": "towns.csv"})


def made(constraint: Determines) -> list[int]:
    """The county's code for each town's."""
    columns = (
        Categorical(name="town", values=("Evanston", "Aurora", "Elgin")),
        Categorical(name="county", values=("Cook", "Kane")),
        Integer(name="plate", min=0, max=2),
    )
    keeper = Schema("homes", columns, constraints=(constraint,)).keeper
    (by,) = {constraint.by}
    codes = {by: np.arange(4, dtype=np.int32)}
    return [int(code) for code in keeper.filled(dict(codes))["county"]]


def test_values_that_the_schema_does_not_declare_do_not_matter() -> None:
    everywhere = (*PAIRS, ("Peoria", "Peoria"), ("Pekin", "Tazewell"))
    assert made(Determines("town", "county", everywhere)) == [0, 1, 0, 2]
    assert made(Determines("town", "county", (*PAIRS, ("(missing)", "Cook")))) == [0, 1, 0, 0]
    far = ((0, "Cook"), (1, "Kane"), (2, "Kane"), (7, "Cook"))
    assert made(Determines("plate", "county", far)) == [0, 1, 1, 2]


def public(**columns: list[Any]) -> dict[str, np.ndarray[Any, Any]]:
    return {name: np.array(values, dtype=object) for name, values in columns.items()}


def test_a_public_table_says_what_determines_what() -> None:
    towns = [*(one for one, _ in PAIRS), "Aurora", None, "Evanston"]
    table = public(town=towns, county=[*(other for _, other in PAIRS), "Kane", "Cook", ""])
    found = us.Determines.from_public(table, "town", "county", name="home")
    assert found == Determines("town", "county", tuple(sorted(PAIRS)), name="home")


def test_a_town_in_two_counties_is_refused_unless_the_most_common_is_asked_for() -> None:
    table = public(town=["a", "a", "a", "b", "b"], county=["x", "y", "y", "y", "x"])
    with pytest.raises(
        SchemaError, match=r"'town' does not determine 'county'.*'a' with 'x' and 'y'"
    ):
        us.Determines.from_public(table, "town", "county")
    found = us.Determines.from_public(table, "town", "county", conflicts="most common")
    assert found.pairs == (("a", "y"), ("b", "x"))
    with pytest.raises(SchemaError, match="unknown rule"):
        us.Determines.from_public(table, "town", "county", conflicts="last")  # type: ignore[arg-type]
    with pytest.raises(MissingColumnError, match="no 'state'"):
        us.Determines.from_public(table, "town", "state")
