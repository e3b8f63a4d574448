"""Folders of Parquet files: one table, with columns from the folders below, and no surprises."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.audit.effort import few
from tests.cli.place import Place
from tests.engine.refusals import count, refused
from tests.engine.tables import CLIQUES, FORMS, arrow, columns, counted, rows, schema
from tests.leaks.canaries import NUMBER, WORD
from understudy.budget import Unit
from understudy.errors import MalformedFileError, MissingFileError
from understudy.evaluate import read_synthetic, read_values
from understudy.public import read_public
from understudy.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = rows()


def a_file(path: Path, **table: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(table), path)
    return path


def read(path: Path) -> dict[str, list[Any]]:
    """Give a public folder's columns, rows in an order of their own."""
    found = read_public(path)
    order = sorted(zip(*(c.tolist() for c in found.values()), strict=True), key=repr)
    return {n: [row[i] for row in order] for i, n in enumerate(found)}


def in_parts(folder: Path) -> Path:
    for i in range(0, len(ROWS), 70):
        path = folder / "t" / f"deep{i % 3}" / f"part-{i}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(arrow(ROWS[i : i + 70]), path)
    return folder / "t"


def by_duckdb(folder: Path) -> Path:
    whole = arrow(ROWS)
    with duckdb.connect() as connection:
        connection.register("whole", whole)
        connection.execute(
            f"COPY whole TO '{folder / 't'}' (FORMAT parquet, PARTITION_BY (colour, flag))"
        )
    return folder / "t"


def by_arrow(folder: Path) -> Path:
    table = columns(ROWS)
    table["flag"] = [None if flag is None else str(flag).lower() for flag in table["flag"]]
    pq.write_to_dataset(pa.table(table), folder / "t", partition_cols=["flag", "colour"])
    return folder / "t"


@pytest.mark.parametrize(
    ("make", "unit"),
    few(
        [
            *((in_parts, Unit("id")), (by_duckdb, Unit("id", "flag")), (by_arrow, Unit("id"))),
            *((in_parts, Unit("id", "flag")), (by_duckdb, Unit("id"))),
            (by_arrow, Unit("id", "flag")),
        ],
        usual=3,
    ),
)
def test_a_folder_gives_the_counts_of_the_whole_table(
    make: Callable[[Path], Path], unit: Unit, tmp_path: Path
) -> None:
    declared, csv = FORMS["csv"]
    expected = counted(csv(ROWS, tmp_path), declared, unit)
    assert {f"weights {clique}" for clique in CLIQUES} <= set(expected)
    assert counted(make(tmp_path), schema(), unit) == expected
    assert counted(str(tmp_path / "t"), schema(), unit) == expected


def test_folders_below_are_columns_of_texts_and_those_above_are_not(tmp_path: Path) -> None:
    top = tmp_path / "above=1" / "own=2"
    a_file(top / "c=007" / "plain" / "d=x%20y%2Fz%3D%C3%A9" / "p.parquet", a=[1])
    a_file(top / "c=a=b" / "d=__HIVE_DEFAULT_PARTITION__" / "p.PARQUET", a=[2])
    a_file(top / "c=" / "=e" / "d=it's" / "p.pq", a=[3])
    assert read(top) == {"a": [1, 2, 3], "c": ["007", "a=b", ""], "d": ["x y/z=é", None, "it's"]}


def test_a_value_that_no_text_can_hold_stays_as_it_is_written(tmp_path: Path) -> None:
    a_file(tmp_path / "c=a%00" / "p.parquet", a=[1])
    a_file(tmp_path / "c=%FF" / "p.parquet", a=[2])
    assert read(tmp_path) == {"a": [1, 2], "c": ["a%00", "\ufffd"]}


def test_hidden_files_and_files_of_other_kinds_are_left_alone(tmp_path: Path) -> None:
    a_file(tmp_path / "p.parquet", a=[1])
    for name in ("_temporary/0", ".staging", "x/_hidden"):
        a_file(tmp_path / name / "p.parquet", b=[WORD])
    for name in ("_common.parquet", ".p.parquet"):
        a_file(tmp_path / name, b=[WORD])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "README.md").write_text(WORD)
    (tmp_path / "elsewhere").symlink_to(
        a_file(tmp_path.with_name("other") / "q.parquet", a=[2]).parent
    )
    assert read(tmp_path) == {"a": [1, 2]}


@pytest.mark.parametrize("name", ["a*", "a?", "[ab]", "it's", "é ü", "x=*", "file it is of "])
def test_names_are_names_and_no_patterns(name: str, tmp_path: Path) -> None:
    for other in ("ab", "aa", "a", "x=b"):
        a_file(tmp_path / "beside" / other / "p.parquet", a=["other"])
    a_file(tmp_path / name / "c=1" / "p.parquet", a=["own"])
    a_file(tmp_path / name / "c=[2]*" / f"{name}.parquet", a=["own"])
    assert read(tmp_path / name) == {"a": ["own", "own"], "c": ["1", "[2]*"]}


def test_a_thousand_files_are_one_table(tmp_path: Path) -> None:
    one = Schema.from_dict(
        {"name": "t", "columns": {"c": {"kind": "integer", "source": "k", "min": 0, "max": 999}}}
    )
    for i in range(1000):
        a_file(tmp_path / f"k={i}" / "p.parquet", a=np.arange(i % 3))
    assert count(tmp_path, one)[:1000] == [i % 3 for i in range(1000)]


def _differing(folder: Path) -> None:
    a_file(folder / f"c={WORD}" / "p.parquet", a=[1])
    a_file(folder / "c=2" / f"{WORD}.parquet", a=[1], b=[WORD])


def _of_other_types(folder: Path) -> None:
    a_file(folder / "p.parquet", a=[1])
    a_file(folder / f"{WORD}.parquet", a=[float(NUMBER)])


def _of_other_nested_types(folder: Path) -> None:
    a_file(folder / "p.parquet", a=[[1]])
    a_file(folder / f"{WORD}.parquet", a=[[WORD]])


def _of_other_folders(folder: Path) -> None:
    a_file(folder / f"c={WORD}" / "p.parquet", a=[1])
    a_file(folder / "d=2" / "p.parquet", a=[1])


def _of_some_folders(folder: Path) -> None:
    a_file(folder / f"c={WORD}" / "p.parquet", a=[1])
    a_file(folder / "p.parquet", a=[1])


def _doubled(folder: Path) -> None:
    a_file(folder / f"c={WORD}" / "C=2" / "p.parquet", a=[1])


def _taken(folder: Path) -> None:
    a_file(folder / f"C={WORD}" / "p.parquet", c=[1], a=[2])


def _torn(folder: Path) -> None:
    a_file(folder / "a.parquet", a=[1])
    (folder / "b.parquet").write_bytes(f"PAR1{WORD}PAR1".encode())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_differing, "different columns"),
        (_of_other_types, "different columns"),
        (_of_other_nested_types, "different columns"),
        (_of_other_folders, "subfolders with different names"),
        (_of_some_folders, "subfolders with different names"),
        (_doubled, "subfolders with different names"),
        (_taken, "have the name of a column"),
        (_torn, "malformed"),
    ],
)
def test_files_that_are_no_one_table(
    make: Callable[[Path], None], said: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("folder")
    make(folder)
    error = refused(MalformedFileError, lambda: count(folder))
    assert said in str(error)
    assert WORD not in str(error)
    assert NUMBER not in str(error)


def test_the_order_of_columns_and_whether_they_may_be_missing_decide_nothing(
    tmp_path: Path,
) -> None:
    a_file(tmp_path / "p.parquet", a=[1], b=["x"])
    required = pa.schema([pa.field("b", pa.string(), nullable=False), pa.field("a", pa.int64())])
    pq.write_table(pa.table({"b": ["y"], "a": [2]}, schema=required), tmp_path / "q.parquet")
    assert read(tmp_path) == {"a": [1, 2], "b": ["x", "y"]}


def test_a_folder_without_parquet_files(tmp_path: Path) -> None:
    (tmp_path / WORD).write_text(WORD)
    a_file(tmp_path / "_hidden" / "p.parquet", a=[1])
    error = refused(MissingFileError, lambda: count(tmp_path))
    assert "no Parquet file in" in str(error)
    assert WORD not in str(error)


def test_a_folder_that_cannot_be_listed_is_not_missed_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_file(tmp_path / "p.parquet", c=["a"])
    a_file(tmp_path / WORD / "p.parquet", c=["a"])
    listing = os.scandir

    def some(path: str) -> Any:
        if str(path).endswith(WORD):
            raise PermissionError(13, "Permission denied", path)
        return listing(path)

    monkeypatch.setattr(os, "scandir", some)
    error = refused(MissingFileError, lambda: count(tmp_path))
    assert "cannot be read (got Permission denied)" in str(error)
    assert WORD not in str(error)


def test_the_command_line_takes_a_folder_and_resumes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path / "place", capsys)
    table = {"taxi": np.arange(120) % 30, "hour": np.arange(120) % 4}
    for colour in ("red", "blue"):
        a_file(place / "trips" / f"colour={colour}" / "p.parquet", **table)
    place.fine(*place.synth("trips", epsilon=50))
    place.fine("resume", place / "trips.ledger", "--out", place / "again")
    options = ("--private", place / "trips", "--schema", place / "schema.toml", "--unit", "taxi")
    told = place.facts("evaluate", place / "out", *options)
    assert json.dumps(told)
    assert read_values(place / "trips")["colour"].tolist().count("red") == 120
    assert len(read_values(place / "out")["taxi"]) > 100


def test_a_folder_of_synthetic_rows_is_read_as_one_too(tmp_path: Path) -> None:
    declared = Schema.from_dict(
        {"name": "t", "columns": {"a": {"kind": "integer", "min": 0, "max": 9}}}
    )
    for name in ("rows", "more"):
        a_file(tmp_path / f"{name}.parquet", a=[1, 2])
    assert read_synthetic(tmp_path, schema=declared, unit=Unit.each_row()).rows == 4
