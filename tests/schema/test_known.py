"""Known totals as they are given: objects, plain data and files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from understudy.errors import MissingFileError, SchemaError
from understudy.schema import Categorical, Numeric, Schema
from understudy.schema.known import Known, known_totals

SCHEMA = Schema(
    "people",
    (
        Categorical(name="county", values=("Cook", "Kane")),
        Categorical(name="sex", values=("F", "M"), missing=False, outside="drop"),
        Numeric(name="age", edges=(0.0, 18.0, 65.0, 100.0), missing=False),
    ),
)
PAIRS = {("Cook", "F"): 3, ("Cook", "M"): 2, ("Kane", "F"): 0}
KNOWN = us.Known(("county", "sex"), PAIRS, of="people", scaled=True, name="census")


def test_the_same_totals_in_every_form(tmp_path: Path) -> None:
    listed = [[*values, count] for values, count in PAIRS.items()]
    lines = ["sex, county ,note,count", "F,Cook,a,1", "F,Cook,b,2", "M,Cook,,2", "", "F,Kane,,0"]
    (tmp_path / "counts.csv").write_text("\n".join(lines), encoding="utf-8")
    plain = {"columns": ["county", "sex"], "of": "people", "scaled": True, "name": "census"}
    found = known_totals(
        [KNOWN, {**plain, "counts": listed}, {**plain, "counts_from": "counts.csv"}], tmp_path
    )
    assert found[:2] == (KNOWN, KNOWN)
    for each in found:
        cells, counts = each.coded(SCHEMA)
        assert cells.tolist() == [[0, 0], [0, 1]]
        assert counts.tolist() == [3, 2]
        assert (each.total, each.label) == (5, "census")
        assert Known.from_plain(each.to_plain()) == each
    # One column, by a table; a file by its path alone.
    one = Known.from_plain({"columns": "sex", "counts": {"F": 3, "M": 4}})
    assert one == Known("sex", {"F": 3, "M": 4})
    assert one.to_plain() == {"columns": ["sex"], "counts": [["F", 3], ["M", 4]]}
    (tmp_path / "sex.csv").write_text("sex,count\nF,3\nM,4\n", encoding="utf-8")
    assert known_totals([str(tmp_path / "sex.csv")]) == (one,)


def test_values_of_a_bin_are_added_up_and_labels_are_values() -> None:
    ages = np.array([3, 17, 18])
    cells, counts = Known("age", dict(zip(ages, [1, 2, 4], strict=True))).coded(SCHEMA)
    assert (cells.tolist(), counts.tolist()) == ([[0], [1]], [3, 4])
    cells, _ = Known("county", {"(missing)": 1, "(other)": 1}).coded(SCHEMA)
    assert cells.tolist() == [[2], [3]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (7, "known must be a list (got int"),
        ("sex.csv", "known must be a list (got str"),
        ([7], "have counts, or name a file of them (got int"),
        ([{"columns": "sex"}], "have counts, or name a file of them (got columns"),
        ([{"column": "sex", "counts": {}}], "got column; allowed: columns, counts"),
        ([{"counts": {"F": 1}, "counts_from": "a.csv"}], "have counts, or name a file"),
        ([{"columns": 3, "counts": {"F": 1}}], "columns and name must be text (got 3"),
        ([{"columns": "sex", "counts": {"F": 1}, "name": 3}], "columns and name must be text"),
        ([{"columns": "sex", "counts": 3}], "known totals need counts (got int"),
        ([{"columns": "sex", "counts": [3]}], "known totals need counts (got list"),
        ([{"columns": [], "counts": {"F": 1}}], "need names of columns, each once"),
        ([{"columns": ["sex", "sex"], "counts": [["F", "F", 1]]}], "each once (got 'sex', 'sex'"),
        ([{"columns": [1], "counts": {"F": 1}}], "each once (got 1"),
        ([{"columns": "sex", "counts": {"F": 1}, "of": "taxis"}], "of = 'taxis', scaled = False"),
        ([{"columns": "sex", "counts": {"F": 1}, "scaled": 1}], "of = 'rows', scaled = 1"),
        ([{"columns": "sex", "counts": {"F": -1}}], "'rows by sex': a value of each column, and"),
        ([{"columns": "sex", "counts": {"F": 0.5}}], "a count (got 'F', 0.5"),
        ([{"columns": "sex", "counts": {"F": True}}], "a count (got 'F', True"),
        ([{"columns": "sex", "counts": [["F", "Cook", 1]]}], "got 'F', 'Cook', 1"),
        ([{"columns": "sex", "counts": {"F": 0}}], "must add up to a number of rows (got 0"),
        ([{"columns": "sex", "counts": {"F": 3 * 10**9}}], "must add up to a number of rows"),
    ],
)
def test_what_is_no_total_is_refused(given: Any, said: str) -> None:
    with pytest.raises(SchemaError) as refused:
        known_totals(given)
    assert said in str(refused.value)


def test_files_that_hold_no_totals_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    for text, said in (
        ("sex,number\nF,3\n", "counts.csv lacks a column (got sex, number"),
        ("", "lacks a column (got no line"),
        ("sex,count\nF,many\n", "a whole number of at least 0 (got 'many')"),
        ("sex,count\nF\n", "a whole number of at least 0 (got '')"),
        ('sex,count\n"F,3\n', "is not a CSV file in UTF-8"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SchemaError) as refused:
            Known.read(path)
        assert said in str(refused.value)
    path.write_bytes(b"sex,count\n\xff,3\n")
    with pytest.raises(SchemaError, match="is not a CSV file in UTF-8"):
        Known.read(path)
    with pytest.raises(MissingFileError, match="cannot read the known totals"):
        Known.read(tmp_path / "none.csv")


def test_columns_and_values_that_the_schema_lacks_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"a column that has no codes \(got 'town'"):
        Known("town", {"Aurora": 1}).coded(SCHEMA)
    with pytest.raises(SchemaError, match=r"'sex' has no such value \(got 'X'"):
        Known("sex", {"X": 1}).coded(SCHEMA)
