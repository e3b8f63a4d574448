"""The contests' own schema files: the domains they promise, and files that are not theirs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.schema.data import data_file
from understudy.errors import SchemaError
from understudy.schema import Categorical, Id, Integer, Numeric, Schema, ladder_edges
from understudy.schema.columns.column import DROP

if TYPE_CHECKING:
    from pathlib import Path


def read(folder: Path, declared: object) -> Schema:
    path = folder / "parameters.json"
    path.write_text(json.dumps({"runs": [], "schema": declared}), encoding="utf-8")
    return Schema.read(path)


# --- the real files -----------------------------------------------------------------------


def test_sprint_1() -> None:
    schema = Schema.read(data_file("contest-parameters", "sprint1.json"))
    assert schema.name == "sprint1"
    assert schema.domain == {"year": 1, "month": 12, "neighborhood": 278, "incident_type": 174}
    assert schema.ids == (Id(name="sim_resident"),)
    codes = schema["neighborhood"].encode(np.array([0, 277, 278]))
    assert codes.tolist() == [0, 277, DROP]


def test_sprint_2() -> None:
    schema = Schema.read(data_file("contest-parameters", "sprint2.json"))
    domain = schema.domain
    assert domain["AGE"] == 136
    assert domain["YEAR"] == 7
    assert domain["HISPAN"] == 6
    assert domain["POVERTY"] == 502
    income, weight = schema["INCTOT"], schema["HHWT"]
    assert isinstance(income, Numeric)
    assert isinstance(weight, Numeric)
    assert (income.whole, weight.whole) == (True, False)
    assert (income.edges[0], income.edges[-1]) == (-(2.0**31), 2.0**31 - 1)
    departs = schema["DEPARTS"]
    assert isinstance(departs, Numeric)
    assert (departs.edges[0], departs.edges[-1]) == (0.0, 2359.0)


def test_sprint_3() -> None:
    schema = Schema.read(data_file("contest-parameters", "sprint3.json"))
    assert schema.ids == (Id(name="taxi_id", min=1_000_000, max=9_999_999),)
    sizes = {
        "shift": 21,
        "company_id": 101,
        "pickup_community_area": 78,
        "dropoff_community_area": 78,
        "payment_type": 9,
        "trip_day_of_week": 7,
        "trip_hour_of_day": 24,
    }
    assert {name: schema.domain[name] for name in sizes} == sizes
    area = schema["pickup_community_area"]
    values = np.array([-1.0, 77.0, np.nan, 78.0])
    assert area.encode(values).tolist() == [0, 77, 0, DROP]
    fare = schema["fare"]
    assert isinstance(fare, Numeric)
    assert (fare.edges[0], fare.edges[-1], fare.whole) == (-1.0, 10_000.0, True)
    assert fare.encode(np.array([-1, 0, 20_000])).tolist() == [0, 1, fare.values_count - 1]


def test_match_3() -> None:
    path = data_file("census-1940", "colorado-specs.json")
    declared = json.loads(path.read_text(encoding="utf-8"))
    schema = Schema.read(path)
    assert schema.name == "colorado-specs"
    assert schema.domain == {name: facts["maxval"] + 1 for name, facts in declared.items()}


@pytest.mark.parametrize("name", ["sprint1", "sprint2", "sprint3"])
def test_real_files_there_and_back(name: str, tmp_path: Path) -> None:
    schema = Schema.read(data_file("contest-parameters", f"{name}.json"))
    path = tmp_path / "copy.toml"
    path.write_text(schema.to_toml(), encoding="utf-8")
    assert Schema.read(path) == schema


# --- small ones ---------------------------------------------------------------------------


def test_periods_and_codes(tmp_path: Path) -> None:
    periods = [{"year": y, "month": m} for y in (2020, 2019) for m in (2, 1)]
    schema = read(tmp_path, {"periods": periods, "kind": [{"name": "a", "code": 4}]})
    assert schema.columns == (
        Categorical(name="year", values=(2019, 2020), outside="drop", missing=False),
        Categorical(name="month", values=(1, 2), outside="drop", missing=False),
        Categorical(name="kind", values=(4,), names=("a",), outside="drop", missing=False),
        Id(name="sim_resident"),
    )


def test_minus_one_stands_for_missing(tmp_path: Path) -> None:
    column = read(tmp_path, {"area": {"dtype": "int8", "values": [-1, 5]}})["area"]
    assert column.size == 2
    assert column.encode(np.array([5, np.nan, -1, 6])).tolist() == [1, 0, 0, DROP]


@pytest.mark.parametrize(
    ("facts", "kind", "ends"),
    [
        ({"dtype": "uint8"}, "integer", (0, 255)),
        ({"dtype": "int16"}, "numeric", (-32768.0, 32767.0)),
        ({"dtype": "int32"}, "numeric", (-(2.0**31), 2.0**31 - 1)),
        ({"dtype": "int64"}, "numeric", (-(2.0**63), 2.0**63)),
        ({"dtype": "uint64"}, "numeric", (0.0, 2.0**63)),
        ({"dtype": "float64"}, "numeric", (-(2.0**31), 2.0**31 - 1)),
        ({"dtype": "float32", "min": 0, "max": 0.5}, "numeric", (0.0, 0.5)),
        ({"dtype": "int16", "min": -1, "max": 1022}, "integer", (-1, 1022)),
        ({"dtype": "int16", "min": -1, "max": 1023}, "numeric", (-1.0, 1023.0)),
    ],
    ids=str,
)
def test_numbers(tmp_path: Path, facts: Any, kind: str, ends: tuple[float, float]) -> None:
    column = read(tmp_path, {"x": facts})["x"]
    assert column.kind == kind
    assert not column.missing
    assert column.outside == "nearest"
    if isinstance(column, Integer):
        assert (column.min, column.max) == ends
    if isinstance(column, Numeric):
        assert (column.edges[0], column.edges[-1]) == ends
        assert column.whole == (not facts["dtype"].startswith("float"))
    codes = np.arange(column.size, dtype=np.int32)
    back = column.decode(codes, np.random.default_rng(0))
    assert column.encode(back).tolist() == codes.tolist()


NULL: dict[str, Any] = {"has_null": True, "null_value": "N", "dtype": "object"}


def test_what_is_written_for_a_missing_number(tmp_path: Path) -> None:
    """As in the excerpts of the ACS; of a list it is a value like others."""
    schema = read(
        tmp_path,
        {
            "ratio": NULL | {"min": 0, "max": 501},
            "income": NULL | {"min": -9000, "max": 1_327_000},
            "density": NULL | {"dtype": "float64", "min": 16, "max": 20},
            "status": NULL | {"values": ["N", "1"]},
            "age": {"has_null": False, "null_value": "N", "dtype": "int8", "min": 0, "max": 9},
        },
    )
    assert schema["ratio"] == Integer(name="ratio", min=0, max=501, nulls=("N",))
    income, density = schema["income"], schema["density"]
    assert isinstance(income, Numeric)
    assert isinstance(density, Numeric)
    assert (income.missing, income.nulls, income.whole) == (True, ("N",), True)
    assert (density.missing, density.nulls, density.whole) == (True, ("N",), False)
    values = np.array(["N", "17.5", None, ""], dtype=object)
    for column in (income, density, schema["ratio"]):
        found = column.encode(values)
        assert (found == column.missing_code).tolist() == [True, False, True, True]
    assert schema["status"].encode(values).tolist() == [0, DROP, DROP, DROP]
    assert schema["age"] == Integer(name="age", min=0, max=9, missing=False)


def test_a_file_of_a_schema_and_no_runs_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "national2019.json"
    path.write_text('{"schema": {"AGEP": {"dtype": "int64", "min": 0, "max": 95}}}')
    assert Schema.read(path) == Schema(
        "national2019", (Integer(name="AGEP", min=0, max=95, missing=False),)
    )


def test_a_ladder_does_not_trip_over_its_ends() -> None:
    # As floats 10^18 + 1 and 10^18 are the same number.
    edges = ladder_edges(-1, 10**18 + 1)
    assert edges[:4] == (-1.0, 0.0, 1.0, 2.0)
    assert edges[-2:] == (5e17, 1e18)
    Numeric(name="x", edges=edges, whole=True)


def test_a_specification(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    declared = {"SEX": {"type": "enum", "maxval": 2}, "INCOME": {"type": "int", "maxval": 5000}}
    path.write_text(json.dumps(declared), encoding="utf-8")
    schema = Schema.read(path)
    assert schema["SEX"] == Integer(name="SEX", min=0, max=2, missing=False, ordered=False)
    income = schema["INCOME"]
    assert isinstance(income, Numeric)
    assert (income.edges[0], income.edges[-1], income.whole) == (0.0, 5000.0, True)


# --- what is refused ----------------------------------------------------------------------


@pytest.mark.parametrize("declared", [[], "x", None])
def test_a_schema_that_is_no_table(tmp_path: Path, declared: object) -> None:
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, declared)
    assert caught.value.what == "parameters.json is not a supported schema file"
    assert caught.value.got == "keys 'runs', 'schema'"


@pytest.mark.parametrize(("facts", "got"), [({}, "nothing"), ({"dtype": "str"}, "str")])
def test_a_column_of_which_nothing_is_said(tmp_path: Path, facts: object, got: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, {"x": facts})
    problem = "column 'x' has no values, no range and no numeric dtype"
    assert caught.value.what == f"parameters.json: {problem}"
    assert caught.value.got == got


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        *(("x", f) for f in (5, "int8", None, [1, 2], [{"name": "a"}], {"dtype": "int7"})),
        *(("x", f) for f in ({"values": 3}, {"min": "a", "max": 2}, {"min": None, "max": 2})),
        ("x", {"min": 0, "max": float("inf")}),
        ("x", {"min": 0, "max": 9, "has_null": True}),
        *(("periods", f) for f in (7, [1], [{"year": 2020}], {"year": 2020, "month": 1})),
    ],
    ids=str,
)
def test_columns_not_declared_as_the_contests_do(tmp_path: Path, name: str, facts: object) -> None:
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, {name: facts})
    problem = f"column {name!r} is not declared as in the contests' files"
    assert caught.value.what == f"parameters.json: {problem}"
    assert caught.value.allowed == "values, min and max, a dtype, a list of codes, or periods"


def test_a_specification_without_numbers(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text('{"SEX": {"type": "enum", "maxval": "two"}}', encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        Schema.read(path)
    assert caught.value.what == "spec: maxval of column 'SEX' must be an integer"
    assert caught.value.got == "'two'"
