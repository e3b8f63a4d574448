"""Metadata files of other tools, read as our own schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.schema.data import data_file
from understudy.errors import SchemaError
from understudy.schema import Categorical, Id, Ignored, Integer, Numeric, Schema, Timestamp
from understudy.schema.columns.edges import ladder_edges, regular_edges

if TYPE_CHECKING:
    from pathlib import Path

# --- private-pgm --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts", [("adult", "adult-domain.json"), ("sf-fire", "fire-domain.json")], ids=str
)
def test_a_domain_is_what_its_file_says(parts: tuple[str, str]) -> None:
    path = data_file(*parts)
    schema = Schema.read(path)
    assert schema.domain == json.loads(path.read_text(encoding="utf-8"))
    assert all(column.encode(np.array([0, -1])).tolist() == [0, 0] for column in schema.modelled)


def test_pgm(tmp_path: Path) -> None:
    path = tmp_path / "domain.json"
    path.write_text('{"sex": 2, "age": 85}', encoding="utf-8")
    assert Schema.read(path) == Schema(
        "domain",
        (
            Integer(name="sex", min=0, max=1, missing=False),
            Integer(name="age", min=0, max=84, missing=False),
        ),
    )


@pytest.mark.parametrize("size", [0, -3, 10**12])
def test_pgm_sizes_that_cannot_be(tmp_path: Path, size: int) -> None:
    path = tmp_path / "domain.json"
    path.write_text(json.dumps({"sex": size}), encoding="utf-8")
    with pytest.raises(SchemaError, match="column 'sex': the range is empty"):
        Schema.read(path)


# --- dpsynth ------------------------------------------------------------------------------

DOMAIN = """\
colour:
  possible_values: [red, green, rest]
  out_of_domain_index: 2
shape:
  possible_values: [round, null, square]
  out_of_domain_index: 1
size:
  possible_values: [1, 2]
age:
  min_value: 0
  max_value: 120
  clip_to_range: true
  dtype: int
income:
  min_value: 0
  max_value: 2000
  clip_to_range: false
  dtype: int
height:
  min_value: 0.5
  max_value: 2.5
"""


def test_dpsynth(tmp_path: Path) -> None:
    path = tmp_path / "domain.yaml"
    path.write_text(DOMAIN, encoding="utf-8")
    schema = Schema.read(path)
    assert schema.columns == (
        Categorical(name="colour", values=("red", "green", "rest"), missing=False, other="rest"),
        Categorical(name="shape", values=("round", "square")),
        Categorical(name="size", values=(1, 2)),
        Integer(name="age", min=0, max=120),
        Numeric(name="income", edges=ladder_edges(0, 2000), whole=True, outside="other"),
        Numeric(name="height", edges=regular_edges(0.5, 2.5, 32), outside="other"),
    )
    colour = np.array(["red", "rest", "blue", None], dtype=object)
    assert schema["colour"].encode(colour).tolist() == [0, 2, 2, 2]


@pytest.mark.parametrize("facts", ["7", "[a, b]", "{}", "{min_value: 0}", "null"])
def test_dpsynth_columns_without_a_domain(tmp_path: Path, facts: str) -> None:
    path = tmp_path / "domain.yml"
    path.write_text(f"x: {facts}\n", encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        Schema.read(path)
    assert caught.value.what == "domain.yaml: column 'x' is neither a list nor a range"
    assert caught.value.allowed == "possible_values, or min_value and max_value"


@pytest.mark.parametrize(
    "facts",
    [
        *("{possible_values: 3}", "{possible_values: [a], out_of_domain_index: 1}"),
        *("{possible_values: [a], out_of_domain_index: a}", "{min_value: a, max_value: 3}"),
        *("{min_value: null, max_value: 3}", "{min_value: 0, max_value: .inf, dtype: int}"),
    ],
)
def test_dpsynth_columns_not_as_dpsynth_writes_them(tmp_path: Path, facts: str) -> None:
    path = tmp_path / "domain.yaml"
    path.write_text(f"x: {facts}\n", encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        Schema.read(path)
    assert caught.value.what == "domain.yaml: column 'x' is not declared as in dpsynth"
    assert caught.value.allowed is not None
    assert caught.value.allowed.startswith("a list of possible_values")


# --- SDV ----------------------------------------------------------------------------------

COLUMNS: dict[str, Any] = {
    "trip": {"sdtype": "id", "regex_format": "[0-9]{6}"},
    "driver": {"sdtype": "name", "pii": True},
    "licence": {"sdtype": "id", "pii": True},
    "paid": {"sdtype": "boolean"},
    "company": {"sdtype": "categorical"},
    "fare": {"sdtype": "numerical", "computer_representation": "Float"},
    "start": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
    "where": {"sdtype": "address"},
}
PUBLIC = {
    "company": np.array(["b", "a", "a", None], dtype=object),
    "fare": np.array([1, 2, 9, 4]),
    "start": np.array(["03 Feb 2020", "28 Feb 2021", None, ""], dtype=object),
}


def sdv(folder: Path, data: object) -> Path:
    path = folder / "metadata.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def one_table(version: str) -> dict[str, Any]:
    if version == "SINGLE_TABLE_V1":
        return {"columns": COLUMNS, "primary_key": "trip", "METADATA_SPEC_VERSION": version}
    tables = {"metadata": {"columns": COLUMNS, "primary_key": "trip"}}
    return {"tables": tables, "relationships": [], "METADATA_SPEC_VERSION": version}


@pytest.mark.parametrize("version", ["SINGLE_TABLE_V1", "V1"])
def test_sdv_with_a_public_table(tmp_path: Path, version: str) -> None:
    schema = Schema.read(sdv(tmp_path, one_table(version)), public=PUBLIC)
    assert schema == Schema(
        "metadata",
        (
            Id(name="trip"),
            Ignored(name="driver"),
            Id(name="licence"),
            Categorical(name="paid", values=(False, True)),
            Categorical(name="company", values=("a", "b")),
            Integer(name="fare", min=1, max=9),
            Timestamp(
                name="start",
                min="2020-01-01",
                max="2021-12-31",
                resolution="day",
                format="%d %b %Y",
            ),
            Ignored(name="where"),
        ),
    )


@pytest.mark.parametrize(
    ("public", "unsaid"),
    [(None, "company, fare, start"), ({"fare": np.array([1])}, "company, start")],
    ids=["no public table", "one that lacks columns"],
)
def test_sdv_leaves_much_unsaid(tmp_path: Path, public: Any, unsaid: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.read(sdv(tmp_path, one_table("V1")), public=public)
    assert caught.value.what == "SDV metadata does not declare the values of some columns"
    assert caught.value.got == unsaid
    assert caught.value.hint is not None
    assert "public table" in caught.value.hint


def test_sdv_needs_no_public_table_for_booleans(tmp_path: Path) -> None:
    data = {"columns": {"paid": {"sdtype": "boolean"}}, "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1"}
    schema = Schema.read(sdv(tmp_path, data))
    assert schema["paid"].encode(np.array([True, False])).tolist() == [1, 0]


def test_sdv_says_what_a_column_is(tmp_path: Path) -> None:
    # Codes that look like numbers stay a list where the metadata says so.
    data = one_table("V1")
    data["tables"]["metadata"]["columns"] = {"zip": {"sdtype": "categorical"}}
    public = {"zip": np.array(["02134", "10001"], dtype=object)}
    schema = Schema.read(sdv(tmp_path, data), public=public)
    assert schema["zip"] == Categorical(name="zip", values=("02134", "10001"))


# Two tables: people and their rows


PATIENTS: dict[str, Any] = {
    "patient_id": {"sdtype": "id", "regex_format": "P[0-9]{5}"},
    "sex": {"sdtype": "categorical"},
    "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    "name": {"sdtype": "name", "pii": True},
    "smoker": {"sdtype": "boolean"},
}
VISITS: dict[str, Any] = {
    "visit_id": {"sdtype": "id"},
    "patient": {"sdtype": "id", "regex_format": "P[0-9]{5}"},
    "ward": {"sdtype": "categorical"},
    "cost": {"sdtype": "numerical", "computer_representation": "Float"},
}
SEEN = {
    "sex": np.array(["F", "M"], dtype=object),
    "born": np.array(["1950-02-01", "1999-12-31"], dtype=object),
    "ward": np.array(["eyes", "heart"], dtype=object),
    "cost": np.array([1.5, 20.25]),
}


def clinic(version: str, **changes: Any) -> dict[str, Any]:
    """Write what SDV writes of two tables."""
    link = {
        "parent_table_name": "patients",
        "child_table_name": "visits",
        "parent_primary_key": "patient_id",
        "child_foreign_key": "patient",
    }
    tables = {
        "patients": {"columns": PATIENTS, "primary_key": "patient_id"},
        "visits": {"columns": VISITS, "primary_key": "visit_id"},
    }
    return {
        "tables": changes.get("tables", tables),
        "relationships": changes.get("relationships", [link | changes.get("link", {})]),
        "METADATA_SPEC_VERSION": version,
    }


@pytest.mark.parametrize("version", ["MULTI_TABLE_V1", "V1"])
def test_sdv_of_people_and_their_rows(tmp_path: Path, version: str) -> None:
    schema = Schema.read(sdv(tmp_path, clinic(version)), public=SEEN)
    assert schema.name == "visits"
    assert schema.ids == (Id(name="patient_id"),)
    assert [c.name for c in schema.released_columns if c.of == "person"] == [
        "sex",
        "born",
        "smoker",
    ]
    assert [c.name for c in schema.released_columns if c.of == "row"] == ["ward", "cost"]
    assert [c for c in schema.columns if isinstance(c, Ignored)] == [
        Ignored(name="name"),
        Ignored(name="visit_id"),
    ]
    assert Schema.from_dict(schema.to_dict()) == schema


def test_sdv_keys_of_the_same_name_and_the_children_first(tmp_path: Path) -> None:
    visits = {("patient_id" if n == "patient" else n): facts for n, facts in VISITS.items()}
    tables = {"visits": {"columns": visits}, "patients": {"columns": PATIENTS}}
    link = {"child_foreign_key": "patient_id"}
    schema = Schema.read(sdv(tmp_path, clinic("V1", tables=tables, link=link)), public=SEEN)
    assert schema.ids == (Id(name="patient_id"),)
    assert schema.own == ("sex", "born_month", "born_weekday", "smoker")


def test_sdv_of_two_tables_leaves_as_much_unsaid(tmp_path: Path) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.read(sdv(tmp_path, clinic("V1")), public={"sex": SEEN["sex"]})
    assert caught.value.got == "born, ward, cost"


TWO = {"patients": {"columns": PATIENTS}, "visits": {"columns": VISITS}}


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({"relationships": []}, "tables patients, visits; relationships: 0"),
        ({"relationships": None}, "tables patients, visits; relationships: 0"),
        ({"relationships": ["patients"]}, "tables patients, visits; relationships: 1"),
        ({"relationships": [{}, {}]}, "tables patients, visits; relationships: 2"),
        ({"link": {"child_table_name": "patients"}}, "tables patients, visits; relationships: 1"),
        ({"link": {"parent_primary_key": "id"}}, "tables patients, visits; relationships: 1"),
        ({"link": {"child_table_name": 3}}, "tables patients, visits; relationships: 1"),
        (
            {"tables": {**TWO, "bills": {"columns": {}}}},
            "tables bills, patients, visits; relationships: 1",
        ),
    ],
    ids=str,
)
def test_sdv_of_other_tables(tmp_path: Path, changes: dict[str, Any], got: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.read(sdv(tmp_path, clinic("V1", **changes)), public=SEEN)
    assert caught.value.what == "SDV metadata is neither of one table nor of people and their rows"
    assert caught.value.got == got
    assert caught.value.allowed is not None
    assert caught.value.allowed.startswith("one table; or two, and one relationship")


def test_sdv_of_two_tables_with_a_name_in_common(tmp_path: Path) -> None:
    tables = {**TWO, "visits": {"columns": {**VISITS, "Sex": {"sdtype": "categorical"}}}}
    with pytest.raises(SchemaError, match="have columns of the same name") as caught:
        Schema.read(sdv(tmp_path, clinic("V1", tables=tables)), public=SEEN)
    assert caught.value.got == "Sex"


@pytest.mark.parametrize(
    "data",
    [
        {"tables": {}},
        {"tables": []},
        {"tables": 3},
        {"tables": {"t": []}},
        {"tables": {"t": {}}},
        {"tables": {"t": {"columns": []}}},
        {"columns": []},
        {"columns": None},
        {"columns": {"a": "categorical"}},
        {},
    ],
    ids=str,
)
def test_sdv_without_columns(tmp_path: Path, data: dict[str, Any]) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.read(sdv(tmp_path, data | {"METADATA_SPEC_VERSION": "V1"}))
    assert caught.value.what == "SDV metadata has no table of columns"
    assert caught.value.allowed == "one table with columns"
