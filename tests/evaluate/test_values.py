"""Raw values: read as they are, in an order of their own, whole numbers as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.errors import (
    MalformedFileError,
    MissingColumnError,
    MissingFileError,
    UnderstudyError,
    UsageError,
)
from understudy.evaluate import read_values
from understudy.schema import Categorical, DateTime, Ignored, Integer, Schema

SCHEMA = Schema(
    "people",
    (
        Integer(name="AGEP", source="age", min=0, max=99),
        Categorical(name="PUMA", values=("01-1", "01-2")),
        DateTime(name="hour", source="born", part="hour"),
        Ignored(name="note"),
    ),
    delimiter=";",
)
LINES = ["age;PUMA;born;note", "7;01-2;2020-01-01;x", "300;01-1;2020-01-02;y", "8;;2020-01-02;z"]


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join([*lines, ""]))
    return path


def test_columns_come_by_the_schemas_names(tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", LINES)
    found = read_values(path, schema=SCHEMA)
    assert list(found) == ["AGEP", "PUMA"]
    assert found["AGEP"].tolist() == [7, 8, 300]  # values outside the domain stay what they are
    assert found["PUMA"].tolist() == ["01-2", None, "01-1"]
    assert found["AGEP"].dtype == np.int16
    # What a date-time is in a release is another form of it, and not read.
    hours = Schema("hours", SCHEMA.columns[2:3], delimiter=";")
    assert read_values(path, schema=hours) == {}


def test_whole_numbers_come_in_few_bytes_and_all_else_as_it_is(tmp_path: Path) -> None:
    values = [
        ("tiny", ["-128", "127"], np.int8),
        ("short", ["0", "128"], np.int16),
        ("middle", ["-32769", "0"], np.int32),
        ("long", ["2147483648", "0"], np.int64),
        ("padded", ["007", "008"], object),
        ("fraction", ["1.0", "2.5"], object),
        ("spaced", [" 1", "2"], object),
        ("huge", ["1", "99999999999999999999"], object),
        ("gaps", ["1", ""], object),
        ("empty", ["", ""], object),
        ("word", ["1", "N"], object),
    ]
    lines = [",".join(cells) for cells in zip(*((n, *v) for n, v, _ in values), strict=True)]
    found = read_values(written(tmp_path / "v.csv", lines))
    assert list(found) == [name for name, _, _ in values]
    for name, cells, dtype in values:
        assert found[name].dtype == dtype, name
        shown = [c if dtype is object else int(c) for c in cells]
        kept = [v for v in found[name].tolist() if v is not None]
        expected = [v for v in shown if v != ""]
        assert sorted(map(str, kept)) == sorted(map(str, expected)), name


def test_the_order_of_a_table_decides_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{a},{b},{c}" for a, b, c in rng.integers(0, 9, (200, 3)).tolist()]
    one = read_values(written(tmp_path / "a.csv", ["x,y,z", *rows]))
    two = read_values(written(tmp_path / "b.csv", ["x,y,z", *rng.permutation(rows).tolist()]))
    other = [",".join(row.split(",")[::-1]) for row in rows]
    three = read_values(written(tmp_path / "c.csv", ["z,y,x", *other]))
    for name in "xyz":
        assert one[name].tolist() == two[name].tolist() == three[name].tolist()


def test_tables_in_memory_and_releases_are_read(tmp_path: Path) -> None:
    held: dict[str, Any] = {"a": np.array([3, 1, 2]), "b": np.array([0.5, np.nan, 1.5])}
    found = read_values(held)
    assert found["a"].tolist() == [1, 2, 3]
    assert found["a"].dtype == np.int8
    assert np.array_equal(found["b"], [np.nan, 1.5, 0.5], equal_nan=True)
    (tmp_path / "out").mkdir()
    written(tmp_path / "out" / "rows.csv", ["a", "5"])
    assert read_values(tmp_path / "out")["a"].tolist() == [5]
    assert read_values(str(tmp_path / "out" / "rows.csv"))["a"].tolist() == [5]
    nothing = read_values(written(tmp_path / "none.csv", ["a,b"]))
    assert {name: len(column) for name, column in nothing.items()} == {"a": 0, "b": 0}


def test_rows_of_one_epsilon_are_chosen(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", ["epsilon,a", "1.0,1", "1,2", "0.5,3"])
    assert read_values(path, epsilon=1)["a"].tolist() == [1, 2]
    assert read_values(path)["a"].tolist() == [1, 2, 3]
    with pytest.raises(UsageError, match=r"got 2; allowed: 0.5, 1"):
        read_values(path, epsilon=2)
    alone = read_values(path, epsilon=0.5, schema=Schema("s", (Integer(name="a", min=0, max=9),)))
    assert {name: column.tolist() for name, column in alone.items()} == {"a": [3]}


def test_what_cannot_be_read_is_refused_and_no_value_is_quoted(tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", [line.partition(";")[2] for line in LINES])
    with pytest.raises(MissingColumnError, match=r"no 'age'"):
        read_values(path, schema=SCHEMA)
    with pytest.raises(MissingFileError, match=r"none\.csv"):
        read_values(tmp_path / "none.csv")
    with pytest.raises(MissingFileError, match="is not a release"):
        read_values(tmp_path)
    ragged = written(tmp_path / "ragged.csv", ["a,b", "1,2", "secret,7,secret"])
    with pytest.raises(UnderstudyError) as error:
        read_values(ragged)
    assert isinstance(error.value, MalformedFileError)
    assert "secret" not in str(error.value)
    assert error.value.__cause__ is error.value.__context__ is None
