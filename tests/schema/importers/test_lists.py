"""Code lists in files beside a schema: values and their groups, and files that hold neither."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.schema.data import data_file
from understudy.errors import MissingFileError, SchemaError
from understudy.schema import Categorical, Integer, Schema
from understudy.schema.importers.lists import groups_of, with_lists

if TYPE_CHECKING:
    from pathlib import Path

CITY: dict[str, Any] = {"kind": "categorical", "outside": "drop"}


def written(folder: Path, city: dict[str, Any], **files: object) -> Path:
    """Write a schema with a city, and files of lists beside it."""
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    path = folder / "schema.json"
    columns = {"age": {"kind": "integer", "min": 0, "max": 9}, "city": CITY | city}
    path.write_text(json.dumps({"name": "t", "columns": columns}), encoding="utf-8")
    return path


def refused(path: Path) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        Schema.read(path)
    return caught.value


# --- good ones ----------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [[10, 20, "x"], {"city": [10, 20, "x"], "other": 5}], ids=str)
def test_values_from_a_list_or_from_a_table_of_lists(tmp_path: Path, listed: object) -> None:
    schema = Schema.read(written(tmp_path, {"values_from": "codes.json"}, codes=listed))
    assert schema["city"] == Categorical(name="city", values=(10, 20, "x"), outside="drop")
    assert schema["age"] == Integer(name="age", min=0, max=9)


def test_files_are_found_beside_the_schema(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "codes.json").write_text("[1, 2]", encoding="utf-8")
    text = 'name = "t"\n[columns.city]\nkind = "categorical"\nvalues_from = "lists/codes.json"\n'
    (tmp_path / "schema.toml").write_text(text, encoding="utf-8")
    assert Schema.read(tmp_path / "schema.toml")["city"].size == 4


def test_groups_from_a_table_leave_other_values_without(tmp_path: Path) -> None:
    groups = {"10": "Colorado", "30.0": "Ohio"}
    path = written(tmp_path, {"values": [10, 20, 30], "groups_from": "states.json"}, states=groups)
    city = Schema.read(path)["city"]
    assert isinstance(city, Categorical)
    assert city.groups == ("Colorado", "", "Ohio")


def test_values_and_groups_of_them_both_from_files(tmp_path: Path) -> None:
    asked = {"groups_from": "states.json", "values_from": "codes.json"}
    path = written(tmp_path, asked, codes=["a", "b"], states={"b": "x"})
    schema = Schema.read(path)
    assert schema["city"] == Categorical(
        name="city", values=("a", "b"), groups=("", "x"), outside="drop"
    )
    # What is written needs no files any more.
    assert Schema.from_dict(schema.to_dict()) == schema
    assert "_from" not in schema.to_toml()


def test_the_code_lists_of_1940(tmp_path: Path) -> None:
    lists = json.loads(data_file("census-1940", "domain.json").read_text(encoding="utf-8"))
    columns = {n: {"kind": "categorical", "values_from": "domain.json"} for n in lists}
    (tmp_path / "domain.json").write_text(json.dumps(lists), encoding="utf-8")
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"name": "census", "columns": columns}), encoding="utf-8")
    schema = Schema.read(path)
    assert schema.domain == {name: len(values) + 2 for name, values in lists.items()}
    for name, values in lists.items():
        assert schema[name].encode(np.array(values)).tolist() == list(range(len(values)))


@pytest.mark.parametrize("schema", [{}, {"columns": 5}, {"columns": {"x": 5}}], ids=str)
def test_what_is_no_schema_is_left_for_others_to_refuse(schema: dict[str, Any]) -> None:
    assert with_lists(schema, lambda file: file) == schema


# --- files that are not there, or are something else ----------------------------------------


@pytest.mark.parametrize("key", ["values_from", "groups_from"])
def test_a_list_that_is_not_there(tmp_path: Path, key: str) -> None:
    path = written(tmp_path, {"values": [1], key: "none.json"})
    with pytest.raises(MissingFileError) as caught:
        Schema.read(path)
    assert caught.value.what == f"cannot read the schema file {tmp_path / 'none.json'}"


@pytest.mark.parametrize("content", ["", "[1, 2", "{'a': 1}", "1;2"])
def test_a_list_that_is_no_json(tmp_path: Path, content: str) -> None:
    error = refused(written(tmp_path, {"values_from": "codes.json"}, codes=content))
    assert error.what == "codes.json does not parse"
    assert error.got


def test_a_list_that_is_not_utf8(tmp_path: Path) -> None:
    path = written(tmp_path, {"values_from": "codes.json"})
    (tmp_path / "codes.json").write_bytes(b'["gr\xf6\xdfe"]')
    assert refused(path).what == "codes.json is not UTF-8 text"


@pytest.mark.parametrize(
    "listed", ["red", 5, None, {"other": [1]}, {"city": 1}, {"city": {"1": 2}}], ids=str
)
def test_files_without_a_list_of_the_column(tmp_path: Path, listed: object) -> None:
    path = written(tmp_path, {"values_from": "codes.json"}, codes=json.dumps(listed))
    error = refused(path)
    assert error.what == "column 'city': values_from must name a file with one list of its codes"
    assert error.got == "no list"
    assert error.allowed == (
        "a list in JSON, .txt or .csv, or a JSON table with a list for each column"
    )


def test_values_given_twice(tmp_path: Path) -> None:
    error = refused(
        written(tmp_path, {"values": [1], "values_from": "codes.json"}, codes={"city": [1]})
    )
    assert error.what == "column 'city': values_from must name a file with one list of its codes"
    assert error.got == "values as well"


@pytest.mark.parametrize(
    ("listed", "what"),
    [
        ([1, "1"], "column 'city' has duplicate values"),
        ([], "column 'city' has no values, or an invalid one"),
        ([1, None], "column 'city': values has the wrong type"),
        ([[1]], "column 'city': values has the wrong type"),
    ],
    ids=str,
)
def test_lists_that_a_column_refuses(tmp_path: Path, listed: object, what: str) -> None:
    assert refused(written(tmp_path, {"values_from": "codes.json"}, codes=listed)).what == what


@pytest.mark.parametrize("key", ["values_from", "groups_from"])
@pytest.mark.parametrize(
    "column", [{"kind": "integer", "min": 0, "max": 1}, {"kind": ["categorical"]}, {}], ids=str
)
def test_lists_of_columns_that_have_none(tmp_path: Path, column: dict[str, Any], key: str) -> None:
    path = written(tmp_path, {}, codes=[1])
    columns = {"x": column | {key: "codes.json"}}
    path.write_text(json.dumps({"name": "t", "columns": columns}), encoding="utf-8")
    error = refused(path)
    assert error.what == f"column 'x': {key} must name a file"
    assert error.allowed == "only in a categorical column"


@pytest.mark.parametrize("file", [5, ["codes.json"], True], ids=str)
def test_files_that_are_no_names(tmp_path: Path, file: object) -> None:
    error = refused(written(tmp_path, {"values": [1], "groups_from": file}, codes=[1]))
    assert error.what == "column 'city': groups_from must name a file"


@pytest.mark.parametrize("groups", [["a", "b"], "a", 1, None], ids=str)
def test_groups_that_are_no_table(tmp_path: Path, groups: object) -> None:
    path = written(
        tmp_path, {"values": [1, 2], "groups_from": "states.json"}, states=json.dumps(groups)
    )
    error = refused(path)
    assert error.what == "column 'city': groups_from must name a JSON file"
    assert error.allowed == "a table value → group"


@pytest.mark.parametrize(
    ("strays", "got"),
    [
        (["7"], "7"),
        (["9", "10", "x", "7.5"], "10, 7.5, 9, x"),
        (["e", "d", "c", "b", "a"], "a, b, c, d, e"),
        (["f", "e", "d", "c", "b", "a"], "a, b, c, d, e …"),
        ([str(n) for n in range(100, 999)], "100, 101, 102, 103, 104 …"),
    ],
    ids=["one", "four", "five", "six", "many"],
)
def test_groups_of_codes_outside_the_list_are_told_but_no_more_than_five(
    tmp_path: Path, strays: list[str], got: str
) -> None:
    groups = {"1": "x", "2": "y"} | dict.fromkeys(strays, "z")
    path = written(tmp_path, {"values": [1, 2, 3], "groups_from": "states.json"}, states=groups)
    error = refused(path)
    assert error.what == "column 'city': groups has codes that are not among its values"
    assert error.got == got
    assert error.hint == "is it the code list of another year?"


@pytest.mark.parametrize("group", [7, None, ["a"], {"a": "b"}, True], ids=str)
def test_groups_that_are_no_texts(tmp_path: Path, group: object) -> None:
    asked = {"values": [1, 2], "groups_from": "states.json"}
    error = refused(written(tmp_path, asked, states=json.dumps({"1": "x", "2": group})))
    assert error.what == "column 'city': groups must be strings"
    assert error.allowed == 'code → "group"'


def test_groups_without_values(tmp_path: Path) -> None:
    error = refused(written(tmp_path, {"groups_from": "states.json"}, states={"1": "x"}))
    assert error.what == "column 'city': unknown or missing keys of a categorical column"
    assert error.hint == "needed: values"


def test_groups_are_found_by_what_a_value_reads() -> None:
    assert groups_of("city", [1, "02", 3.0, True], {"1.0": "a", "02": "b", " 3": "c"}) == [
        *("a", "b", "c", "")
    ]
    assert groups_of("city", [], {}) == []


@pytest.mark.parametrize("values", [3, "abc", {"1": 2}, None, True], ids=str)
@pytest.mark.parametrize("states", [{}, {"1": "x"}], ids=str)
def test_groups_of_values_that_are_no_list(
    tmp_path: Path, values: object, states: dict[str, str]
) -> None:
    asked = {"values": values, "groups_from": "states.json"}
    error = refused(written(tmp_path, asked, states=states))
    assert error.what == "column 'city': values has the wrong type"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("codes.txt", "Ely\n\n  Ayr \nWells\n"),
        ("codes.csv", 'code,name\nEly,"a city, too"\nAyr,b\nWells,c\n'),
    ],
)
def test_a_list_may_be_plain_text_or_the_first_column_of_a_csv(
    tmp_path: Path, file: str, text: str
) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    schema = Schema.read(written(tmp_path, {"values_from": file}))
    city = schema["city"]
    assert isinstance(city, Categorical)
    assert city.values == ("Ely", "Ayr", "Wells")
