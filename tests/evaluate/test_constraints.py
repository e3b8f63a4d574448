"""The share of rows that break each constraint; computed columns are compared like others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from understudy.evaluate import compare, page_facts, read_private, read_synthetic
from understudy.schema import Categorical, Id, Integer, Numeric, Schema, Timestamp

SCHEMA = Schema(
    "trips",
    (
        Id(name="who"),
        Categorical(name="town", values=("a", "b", "c")),
        Categorical(name="county", values=("x", "y")),
        Numeric(name="fare", edges=(0.0, 5.0, 10.0)),
        Integer(name="tips", min=0, max=5),
        Numeric(name="total", edges=(0.0, 5.0, 10.0)),
        Integer(name="year", min=0, max=9),
    ),
    constraints=(
        us.Never({"town": "a", "tips": 5}, name="no such tips"),
        us.Determines("town", "county", {"a": "x", "b": "y", "c": "y"}, name="home"),
        us.Sum("total", ("fare", "tips"), name="paid"),
        us.Order("tips", "year", name="order"),
        us.UniquePerPerson("year", name="one a year"),
    ),
)
REAL: dict[str, list[Any]] = {
    "who": [1, 1, 2, 2, 3, 3, 4, 4],
    "town": ["a", "a", "b", "b", "c", "c", "a", "a"],
    "county": ["x", "x", "y", "y", "y", "y", "y", "x"],
    "fare": [1.0, 2.0, 3.0, 4.0, 9.0, 9.0, 1.5, 2.5],
    "tips": [1, 5, 0, 1, 7, 2, 0, 1],
    "total": [2.0, 7.0, 3.0, 5.5, 16.0, 11.0, 1.5, 3.5],
    "year": [1, 7, 3, 3, 8, 1, 5, 6],
}
BROKEN = {"no such tips": 1, "home": 1, "paid": 1, "order": 1, "one a year": 1}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    names = [name for name in REAL if name != "who"]
    rows = ["who," + ",".join(names), "1,a,x,1.0,1,2.0,3", "2,b,y,9.5,5,14.5,8", "2,c,y,1,0,1,4"]
    (tmp_path / "rows.csv").write_text("\n".join([*rows, ""]))
    return tmp_path / "rows.csv"


def table(*without: str) -> dict[str, Any]:
    return {n: np.array(v, dtype=object) for n, v in REAL.items() if n not in without}


def test_rows_that_break_a_constraint_are_read_and_known() -> None:
    real = read_private(table(), schema=SCHEMA, unit=us.Unit("who"))
    assert real.rows == 8, "those that break one too"
    assert {name: int(rows.sum()) for name, rows in real.broken.items()} == BROKEN
    assert {"county", "total"} <= set(real.sizes)
    some = real.take(np.array([0, 1]))
    assert {len(rows) for rows in some.broken.values()} == {2}
    alone = read_private(table(), schema=SCHEMA, unit=us.Unit.each_row())
    assert not alone.broken["one a year"].any(), "each row is a person"


def test_a_comparison_says_how_many_rows_break_what(made: Path) -> None:
    unit = us.Unit("who")
    real = read_private(table(), schema=SCHEMA, unit=unit)
    synthetic = read_synthetic(made, schema=SCHEMA, unit=unit)
    found = compare(real, synthetic)
    shares = {each["constraint"]: each for each in found.to_dict()["constraints"]}
    assert {name: each["real"] for name, each in shares.items()} == dict.fromkeys(BROKEN, 1 / 8)
    assert {each["synthetic"] for each in shares.values()} == {0.0}
    assert {"county", "total"} <= set(found.synthetic["columns"])
    text = found.table()
    assert "The share of rows that break each constraint:" in text
    assert [line.split() for line in text.splitlines() if line.startswith("home")] == [
        ["home", "0.00000", "0.12500"]
    ]
    sections = {each["title"]: each for each in page_facts([found])["sections"]}
    (listing,) = sections["Constraints"]["parts"]
    assert listing["labels"] == list(BROKEN)
    assert listing["others"][0]["values"] == [1 / 8] * 5
    assert listing["runs"] == [[0.0] * 5]


def test_without_constraints_nothing_is_said(made: Path) -> None:
    unit, free = us.Unit("who"), SCHEMA.unconstrained
    real = read_private(table(), schema=free, unit=unit)
    found = compare(real, read_synthetic(made, schema=free, unit=unit))
    assert "constraints" not in found.to_dict()
    assert "constraint" not in found.table()
    assert "Constraints" not in {each["title"] for each in page_facts([found])["sections"]}


def test_a_private_table_need_not_have_what_is_computed(made: Path) -> None:
    unit = us.Unit("who")
    real = read_private(table("county", "total"), schema=SCHEMA, unit=unit)
    assert list(real.broken) == ["no such tips", "order", "one a year"]
    synthetic = read_synthetic(made, schema=SCHEMA, unit=unit).among(real.sizes)
    shares = compare(real, synthetic).to_dict()["constraints"]
    assert [each["constraint"] for each in shares] == ["no such tips", "order", "one a year"]


def test_moments_out_of_order_are_known(tmp_path: Path) -> None:
    whens = [Timestamp(name=n, min="2020-01-01", max="2020-12-31") for n in ("start", "end")]
    schema = Schema("trips", tuple(whens), constraints=(us.Order("start", "end", name="order"),))
    start = ["2020-03-01 08:00:05", "2020-03-01 08:00:05", "2020-05-01", None, "2021-02-01"]
    end = ["2020-03-01 08:00:07", "2020-03-01 08:00:03", "2020-04-30", "2020-01-01", "2021-01-01"]
    table = {"start": np.array(start, dtype=object), "end": np.array(end, dtype=object)}
    real = read_private(table, schema=schema, unit=us.Unit.each_row())
    assert real.broken["order"].sum() == 3
    stamps = {n: np.array(v, dtype="datetime64[s]") for n, v in table.items()}
    again = read_private(stamps, schema=schema, unit=us.Unit.each_row())
    assert again.broken["order"].sum() == 3
