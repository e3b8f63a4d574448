"""The engine: the same table is the same table in every form, and failures tell nothing."""

from __future__ import annotations

import gzip
import random
import stat
import zlib
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.audit.effort import few, one_in
from tests.engine.refusals import count, refused
from tests.engine.tables import CLIQUES, FORMS, Rows, columns, counted, people, rows, schema
from understudy.budget import Unit, Weights
from understudy.engine import DuckDB
from understudy.engine.duckdb.engine import _filled as filled
from understudy.engine.duckdb.files import LONGEST_LINE
from understudy.engine.encoding import CodedTable
from understudy.errors import (
    EngineError,
    MalformedFileError,
    MissingFileError,
    StorageError,
    UnderstudyError,
)
from understudy.public import read_public
from understudy.schema import Schema
from understudy.vault import PrivateTable
from understudy.vault.marginals import marginals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = rows()
UNITS = ("Y", "M", "W", "D", "h", "m", "s")
FINER = {"ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}


@pytest.fixture
def engine() -> Iterator[DuckDB]:
    with closing(DuckDB()) as started:
        yield started


def attach(engine: DuckDB, data: object) -> dict[str, str]:
    return dict(engine.attach(data, name="source", delimiter=",", quote_mark='"'))


def a_file(folder: Path, content: bytes | str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# One table, every form


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    declared, make = FORMS["csv"]
    return counted(make(ROWS, tmp_path_factory.mktemp("csv")), declared, Unit("id"))


def test_what_is_expected_is_what_the_numpy_encoder_counts(expected: dict[str, list[int]]) -> None:
    table = {n: np.array(c, dtype=object) for n, c in columns(ROWS).items()}
    codes, _ = schema().encode(table)
    owners = table["id"]
    known = np.array([i is not None for i in owners])
    sizes = {i: int((owners == i).sum()) for i in set(owners[known])}
    weights = [2**16 * 3 // max(3, sizes[i]) if i is not None else 0 for i in owners]
    domain = schema().domain
    for clique in CLIQUES:
        counts = np.zeros([domain[n] for n in clique], dtype=int)
        np.add.at(counts, tuple(codes[n] for n in clique), weights)
        assert counts.reshape(-1).tolist() == expected[f"weights {clique}"]
    assert expected["Units"] == [len(sizes)]
    assert expected["Total"] == [sum(min(3, n) for n in sizes.values())]


@pytest.mark.parametrize("form", FORMS)
def test_a_table_gives_the_same_counts_in_every_form_and_order(
    form: str, expected: dict[str, list[int]], tmp_path: Path
) -> None:
    declared, make = FORMS[form]
    assert counted(make(ROWS, tmp_path), declared, Unit("id")) == expected
    if form in one_in(8, FORMS):
        shuffled: Rows = random.Random(form).sample(ROWS, len(ROWS))  # noqa: S311
        assert counted(make(shuffled, tmp_path), declared, Unit("id")) == expected


@pytest.mark.parametrize("unit", [Unit("id", "flag"), Unit("id", "when:week"), Unit("colour")])
@pytest.mark.parametrize("form", few(["pandas", "parquet", "polars", "lists"], usual=1))
def test_a_unit_is_the_same_in_every_form(form: str, unit: Unit, tmp_path: Path) -> None:
    declared, make = FORMS["csv"]
    expected = counted(make(ROWS, tmp_path), declared, unit)
    assert counted(FORMS[form][1](ROWS[::-1], tmp_path), declared, unit) == expected


def test_kinds_of_columns(engine: DuckDB) -> None:
    moment = [datetime(2020, 1, 2, tzinfo=UTC)]
    types: dict[str, Any] = {
        "whole": [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()],
        "double": [pa.float64()],
        "boolean": [pa.bool_()],
        "moment": [*(pa.timestamp(u, z) for u in ("s", "ms", "us", "ns") for z in (None, "UTC"))],
        "float": [pa.float32()],
        "date": [pa.date32(), pa.date64()],
        "time": [pa.time32("s"), pa.time64("us"), pa.time64("ns")],
        "duration": [pa.duration("s"), pa.duration("ns")],
        "bytes": [pa.binary(), pa.large_binary()],
        "text": [pa.string(), pa.decimal128(9, 2), pa.list_(pa.time32("s"))],
    }
    filling: dict[str, Any] = {"moment": moment}
    found = attach(
        engine,
        pa.table(
            {
                f"{kind}{i}": pa.array(filling.get(kind, [1]), pa.int64()).cast(t)
                if kind in {"whole", "double", "boolean"}
                else pa.array(filling.get(kind, [None]), t)
                for kind, listed in types.items()
                for i, t in enumerate(listed)
            }
        ),
    )
    assert {name.rstrip("0123456789") == kind for name, kind in found.items()} == {True}
    assert len(found) == sum(map(len, types.values()))


def test_csv_columns_are_texts_whatever_they_hold(engine: DuckDB, tmp_path: Path) -> None:
    path = a_file(tmp_path, "a,b,c\n1,2020-01-01,true\n")
    assert attach(engine, path) == {"a": "text", "b": "text", "c": "text"}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("c\na\nb\n", [1, 1, 0, 0]),
        ("c\na\nb", [1, 1, 0, 0]),
        ("c\r\na\r\nb\r\n", [1, 1, 0, 0]),
        ("c\ra\rb\r", [1, 1, 0, 0]),
        ('c\n""\n"a"\n', [1, 0, 1, 0]),
        ('c,d\n,1\n"",2\n', [0, 0, 2, 0]),
        ('c\n" a"\n a \n', [2, 0, 0, 0]),
        ('c\n"a""b"\na"b\n', [0, 0, 0, 2]),
        ('c,d\n"a\nb",1\n"a,b",2\n', [0, 0, 0, 2]),
        ("c\n#a\n\\N\n", [0, 0, 0, 2]),
        ('﻿"c"\na\n', [1, 0, 0, 0]),
        ("c\n", [0, 0, 0, 0]),
    ],
)
def test_csv_is_read_by_the_letter(text: str, counts: list[int], tmp_path: Path) -> None:
    assert count(a_file(tmp_path, text)) == counts


def test_a_cell_of_many_megabytes_is_a_cell(tmp_path: Path) -> None:
    long = "x" * 3_000_000
    assert count(a_file(tmp_path, f"c\na\n{long}\nb\n")) == [1, 1, 0, 1]
    longer = "x" * (LONGEST_LINE + 1000)
    refused(MalformedFileError, lambda: count(a_file(tmp_path, f"c\na\n{longer}\n")))


# Who is who


@pytest.mark.parametrize("odd", few(["odd", " ", "1.5", "1e3", "", "-0", "∞"], usual=4))
def test_one_odd_id_changes_nobody(odd: str, tmp_path: Path) -> None:
    plain = [1, 2, 2, 3, 10, 2**53, 2**53 + 1]
    with_odd = 7 if odd.strip() else 6
    text = "id,x\n" + "".join(f"{i},1\n" for i in [*plain, odd])
    mixed: list[object] = [*plain, odd]
    ones = [1] * len(mixed)
    for data in (
        a_file(tmp_path, text),
        pd.DataFrame({"id": pd.Series(mixed, dtype=object), "x": ones}),
        {"id": np.array(mixed, dtype=object), "x": np.array(ones)},
        {"id": mixed, "x": ones},
    ):
        assert people(data) == with_odd
    assert people({"id": plain, "x": ones[1:]}) == 6


def test_a_number_and_its_texts_are_one_person(tmp_path: Path) -> None:
    ids: list[object] = [1, "1", 1.0, "1.0", " 1", "1.000", np.int8(1), np.float32(1), b"1"]
    ones = [1] * len(ids)
    assert people({"id": ids, "x": ones}) == 1
    assert people(pd.DataFrame({"id": pd.Series(ids, dtype=object), "x": ones})) == 1
    assert people(a_file(tmp_path, "id,x\n1,1\n1.0,1\n 1,1\n")) == 1
    assert people({"id": np.array([1.0, 1.0]), "x": [1, 1]}) == 1
    # These are written differently, and so are others.
    assert people({"id": ["1", "01", "1.5", "1,0", "+1", True], "x": [1] * 6}) == 6


def test_a_missing_id_costs_no_whole_number_its_digits() -> None:
    near: list[int | None] = [2**53, 2**53 + 1, None]
    for data in (
        pd.DataFrame({"id": pd.array(near, dtype="Int64"), "x": 1}),
        pl.DataFrame({"id": near, "x": 1}),
        pa.table({"id": near, "x": [1] * 3}),
        {"id": near, "x": [1] * 3},
        {"id": np.ma.masked_array([2**53, 2**53 + 1, 0], [False, False, True]), "x": [1] * 3},
        {"id": pl.Series(near), "x": [1] * 3},
        {"id": pd.array(near, dtype="Int64"), "x": [1] * 3},
    ):
        assert people(data) == 2
        assert people(data, Unit("id", nulls="one")) == 3


def test_equal_values_that_are_written_differently_decide_nothing_for_each_other() -> None:
    declared = Schema.from_dict(
        {"name": "t", "columns": {"c": {"kind": "categorical", "values": ["1.50"]}}}
    )
    cells = [Decimal("1.5"), Decimal("1.50")]
    assert count({"c": cells}, declared) == [1, 0, 1]
    assert count({"c": cells[::-1]}, declared) == [1, 0, 1]
    assert count({"c": cells[1:]}, declared) == [1, 0, 0]


def test_cells_of_any_object_are_read_on_their_own() -> None:
    class Nasty:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise ValueError

        def __str__(self) -> str:
            raise ValueError

    cells: list[object] = [
        "a",
        Nasty(),
        pd.NA,
        pd.NaT,
        np.array([1, 2]),
        [1],
        {},
        Decimal("sNaN"),
        "\udc80",
        "a\0",
        b"\xff",
        10**400,
        1j,
        date(9999, 12, 31),
        "b",
    ]
    assert count({"c": cells}) == [1, 1, 4, 9]
    assert count(pd.DataFrame({"c": pd.Series(cells, dtype=object)})) == [1, 1, 4, 9]
    ones = [1] * 3
    assert people({"id": ["\udc80", "\udc81", "\\udc80"], "x": ones}) == 2


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, 2], dtype=">i8"),
        np.array([1, 2], dtype=">f8"),
        np.array([1, 2], dtype=np.float16),
        np.array([1, 2], dtype=np.longdouble),
        np.array([1, 2], dtype=complex),
        np.array([1, 2], dtype="m8[s]"),
        np.array([(1, 2), (3, 4)], dtype="i4,i4"),
        np.array(["1", "2"]),
        np.array([b"1", b"2"]),
        np.array(["1", "2"], dtype=np.dtypes.StringDType()),
        np.array([[1], [2]]).T[0],
        np.array([1, 2])[::-1],
        np.array([True, False])[::-1],
        np.array([1.5, 2])[::-1],
        np.array([5, 0]).view("M8[s]")[::-1],
        np.ma.masked_array([1, 2], [False, False])[::-1],
        pd.Series([1, 2], dtype="Int64").iloc[::-1],
        pd.Series([1, 2]).iloc[::-1].reset_index(drop=True),
        *(np.array([5, 0, -(2**63)]).view(f"M8[{u}]") for u in one_in(3, UNITS)),
        *(np.array([5 * FINER[u], 0, -(2**63)]).view(f"M8[{u}]") for u in one_in(3, FINER)),
        np.array([5, 0, -(2**63)]).view("M8[25s]"),
        np.array([5, 0]).astype(">M8[D]"),
        pd.Categorical(["1", "2"]),
        pd.period_range("2020-01", periods=2),
        pd.to_timedelta([1, 2], unit="us"),
        (1, 2),
    ],
    ids=lambda c: f"{type(c).__name__} {getattr(c, 'dtype', '')}",
)
def test_columns_of_every_dtype_are_two_people(column: Any) -> None:
    assert people({"id": column, "x": [1] * len(column)}) == 2


def test_moments_beyond_every_calendar_are_read() -> None:
    ends = np.array([2**63 - 1, -(2**63) + 1, 10**14, 0])
    parts = ("year", "month", "hour", "week", "month_index")
    declared = Schema.from_dict(
        {
            "name": "t",
            "columns": {
                p: {"kind": "datetime", "source": "w", "part": p, "min": 0, "max": 99}
                for p in parts
            },
        }
    )
    tables = (
        *({"w": ends.view(f"M8[{u}]")} for u in ("s", "ms", "us", "ns", "Y", "D", "as")),
        pa.table({"w": pa.array([2**31 - 1, -(2**31), 10**8, 0], pa.int32()).cast(pa.date32())}),
        *(pa.table({"w": pa.array(ends, pa.timestamp(u))}) for u in ("s", "ms", "us", "ns")),
        *(pa.table({"w": pa.array(ends, pa.timestamp(u, "UTC"))}) for u in ("us", "ns")),
    )
    units = (Unit.each_row(), Unit("year", "week", "month", nulls="one"))
    for i, table in enumerate(tables):
        for unit in few((units[i % 2], units[i % 2 - 1]), usual=1):
            with closing(DuckDB()) as engine:
                private = PrivateTable(engine, table, schema=declared, unit=unit, key="k")
                found = dict(marginals(private, [(p,) for p in parts], private.bounded(Weights(9))))
            assert {int(n.sum()) for n in found.values()} == {4 * Weights.unit_weight}


# Files


@pytest.mark.parametrize(
    "name", ["a*.csv", "a?.csv", "[ab]b.csv", "a]*.csv", "it's.csv", "é ü.csv"]
)
def test_a_name_is_a_name_and_no_pattern(name: str, tmp_path: Path) -> None:
    for other in ("ab.csv", "bb.csv", "a].csv"):
        a_file(tmp_path, "c\nb\nb\n", other)
    assert count(a_file(tmp_path, "c\na\n", name)) == [1, 0, 0, 0]


def test_a_folder_says_nothing_of_the_rows(tmp_path: Path) -> None:
    (tmp_path / "c=b").mkdir()
    assert count(a_file(tmp_path, "c\na\n", "c=b/t.csv")) == [1, 0, 0, 0]
    pq.write_table(pa.table({"c": ["a"]}), tmp_path / "c=b" / "t.parquet")
    assert count(tmp_path / "c=b" / "t.parquet") == [1, 0, 0, 0]


@pytest.mark.parametrize(
    "name", ["t.txt", "t", "t.csv.zip", "t.xlsx", "none.csv", "none.parquet", "x" * 300 + ".csv"]
)
def test_files_of_other_kinds_and_files_that_are_not_there(name: str, tmp_path: Path) -> None:
    if not name.startswith(("none", "x")):
        a_file(tmp_path, "c\na\n", name)
    refused(MissingFileError, lambda: count(tmp_path / name))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    refused(MissingFileError, lambda: count(tmp_path / "t.csv"))


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_file_that_cannot_be_read(ending: str, tmp_path: Path) -> None:
    # The process's own memory opens, and gives an error at its first byte, to root as well.
    path = tmp_path / f"t{ending}"
    path.symlink_to("/proc/self/mem")
    refused(MissingFileError, lambda: count(path))


def _torn(content: bytes) -> bytes:
    """Break the compressed stream itself, past gzip's own header."""
    packed = bytearray(gzip.compress(content, mtime=0))
    packed[10] = 0b111  # a last block, of the one kind that there is not
    with pytest.raises(zlib.error):
        gzip.decompress(bytes(packed))
    return bytes(packed)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b""),
        ("t.csv", b"\n"),
        ("t.csv", b",\na,b\n"),
        ("t.csv", b"c, \na,b\n"),
        ("t.csv", b"c,c\na,b\n"),
        ("t.csv", b"c,C\na,b\n"),
        ("t.csv", b"c,\xff\na,b\n"),
        ("t.csv", b"c,d\0\na,b\n"),
        ("t.csv", "c\na\n".encode("utf-16")),
        ("t.csv", "c\na\n".encode("utf-32-le")),
        ("t.csv", b"c," + b"d" * 200_000 + b"\na,b\n"),
        ("t.csv", gzip.compress(b"c\na\n", mtime=0)),
        ("t.csv", b"c\na\xff\n"),
        ("t.csv", b"c\n" + b"a\n" * 9000 + b"\xff\n"),
        ("t.csv", b"c,d\na\n"),
        ("t.csv", b"c,d\na,b,c\n"),
        ("t.csv", b'c\n"a\n'),
        ("t.csv", b'c\n"a"b\n'),
        ("t.csv", b"c\na\r\nb\n"),
        ("t.csv.gz", b"c\na\n"),
        ("t.csv.gz", gzip.compress(b"c\na\n", mtime=0)[:-9]),
        ("t.csv.gz", _torn(b"c\na\n")),
        ("t.parquet", b"PAR1 and no more"),
        ("t.parquet", b""),
        ("t.pq", b"c\na\n"),
    ],
)
def test_files_that_are_not_well_formed(name: str, content: bytes, tmp_path: Path) -> None:
    error = refused(MalformedFileError, lambda: count(a_file(tmp_path, content, name)))
    assert error.allowed is not None


# Tables in memory


@pytest.mark.parametrize("data", [5, None, [1, 2], object(), iter([])])
def test_objects_that_are_no_tables(data: object) -> None:
    error = refused(MissingFileError, lambda: count(data))
    assert error.got == type(data).__name__


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"c": ["a"], "d": ["a", "b"]},
        {"c": "a", "d": ["a", "b"]},
        {"c": np.ones((2, 2))},
        {"c": 5},
        {"1": ["a"], 1: ["b"]},
        pd.DataFrame([["a", "b"]], columns=["c", "c"]),
        pd.DataFrame(),
        pa.table({"c": pa.array([Decimal(1)], pa.decimal256(60, 2))}),
        pa.table({}),
    ],
    ids=lambda d: type(d).__name__,
)
def test_tables_that_do_not_hold_together(data: object) -> None:
    refused(MalformedFileError, lambda: count(data))


def test_a_relation_of_another_connection_is_read_as_often_as_asked() -> None:
    with closing(duckdb.connect()) as theirs:
        theirs.execute(
            "CREATE TABLE t AS SELECT * FROM (VALUES (1, 1), (2, 1), (2, 1)) AS v(id, x)"
        )
        for relation in (theirs.table("t"), theirs.sql("SELECT id, x FROM t WHERE x = 1")):
            assert people(relation) == people(relation) == 2
    with pytest.raises(UnderstudyError):
        people(relation)


def test_a_stream_is_read_once_and_counted_twice() -> None:
    stream = pa.table({"id": [1, 2, 2], "x": [1, 1, 1]}).to_reader()
    assert people(stream) == 2
    refused(MalformedFileError, lambda: people(stream))


# What is written and fetched


COLUMNS: dict[str, Any] = {
    "whole": np.array([1, None, 2**62], dtype=object),
    "double": np.array([0.1, np.nan, -1e300]),
    "listed": np.array([1, "x", None], dtype=object),
    "flag": np.array([True, None, False], dtype=object),
    'na"me': np.array(["a,b", 'q"q', "two\nlines"], dtype=object),
    "plain": np.arange(3),
}
TYPES = {
    "whole": "BIGINT",
    "double": "DOUBLE",
    "listed": "VARCHAR",
    "flag": "BOOLEAN",
    'na"me': "VARCHAR",
}


def test_parquet_is_written_with_its_types(engine: DuckDB, tmp_path: Path) -> None:
    engine.write(COLUMNS, tmp_path / "t.parquet", types=TYPES)
    found = pq.read_table(tmp_path / "t.parquet")
    kinds = [pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.string(), pa.int64()]
    assert found.schema.types == kinds
    assert found.column_names == list(COLUMNS)
    got = found.to_pydict()
    assert got["whole"] == [1, None, 2**62]
    assert got["double"][0] == 0.1
    assert got["listed"] == ["1", "x", None]
    assert got["flag"] == [True, None, False]
    assert got['na"me'] == COLUMNS['na"me'].tolist()


def test_csv_is_written_so_that_it_reads_the_same(engine: DuckDB, tmp_path: Path) -> None:
    engine.write(COLUMNS, tmp_path / "t.csv", types=TYPES)
    read = read_public(tmp_path / "t.csv")
    assert read["whole"].tolist() == ["1", None, str(2**62)]
    assert read['na"me'].tolist() == COLUMNS['na"me'].tolist()
    frame = pd.read_csv(tmp_path / "t.csv")
    assert frame["flag"].tolist()[::2] == [True, False]
    assert frame["double"].tolist()[::2] == [0.1, -1e300]


def test_a_rare_value_of_another_type_is_written_too(engine: DuckDB, tmp_path: Path) -> None:
    # DuckDB would judge a column of objects by a sample of it, and fail on the rest.
    cells = np.array([1] * 20_000, dtype=object)
    cells[12_345] = "rare"
    engine.write({"x": cells}, tmp_path / "t.parquet", types={"x": "VARCHAR"})
    assert set(pq.read_table(tmp_path / "t.parquet")["x"].to_pylist()) == {"1", "rare"}


def test_nulls_are_fetched_as_nothing_rather_than_as_zero(engine: DuckDB) -> None:
    values = "(1, 1.5::DOUBLE, TRUE, DATE '2020-01-01', 'a'), (NULL, NULL, NULL, NULL, NULL)"
    found = engine.fetch(f"SELECT * FROM (VALUES {values}) AS t(i, d, b, t, s)")
    assert found["i"].tolist() == [1, None]
    assert np.isnan(found["d"][1])
    assert found["b"].tolist() == [True, None]
    assert np.isnat(found["t"][1])
    assert found["s"].tolist() == ["a", None]
    assert filled(np.ma.masked_array([1, 2], [False, False])).tolist() == [1, 2]


def test_a_public_table_keeps_its_gaps(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [5, None], "t": [date(2020, 1, 1), None]}), tmp_path / "t.pq")
    drafted = Schema.from_public(read_public(tmp_path / "t.pq"), name="t")
    declared = drafted.to_dict()["columns"]
    assert (declared["n"]["min"], declared["n"]["max"]) == (5, 5)
    assert (declared["t"]["min"], declared["t"]["max"]) == ("2020-01-01", "2020-12-31")


def test_a_small_table_is_loaded(engine: DuckDB) -> None:
    engine.load("small", {"t": np.array(["a", None], dtype=object), "c": np.arange(2)})
    assert engine.fetch("SELECT max(c) AS m FROM small WHERE t IS NULL")["m"].tolist() == [1]


# The private folder, and failures


def test_the_folder_for_spilling_is_private_and_goes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    engine = DuckDB(memory="40MB")
    (spill,) = tmp_path.iterdir()
    assert stat.S_IMODE(spill.stat().st_mode) == 0o700
    engine.run(
        "CREATE TABLE much AS SELECT range AS x, md5(range::VARCHAR) AS y FROM range(2000000)"
    )
    assert list(spill.iterdir())
    for spilled in spill.iterdir():
        assert spilled.resolve().is_relative_to(tmp_path)
    engine.close()
    assert list(tmp_path.iterdir()) == []


def test_no_place_for_a_private_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(a_file(tmp_path, "a file")))
    error = refused(StorageError, DuckDB)
    assert error.got == "Not a directory"


def test_an_engine_that_does_not_start_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    refused(EngineError, lambda: DuckDB(memory="a lot"))
    assert list(tmp_path.iterdir()) == []


def test_real_failures_are_sorted(engine: DuckDB, tmp_path: Path) -> None:
    refused(EngineError, lambda: engine.run("no such statement"))
    refused(EngineError, lambda: engine.fetch("SELECT CAST('secret' AS INTEGER)"))
    refused(
        MalformedFileError,
        lambda: engine.run("SELECT CAST('secret' AS INTEGER)", reading_input=True),
    )
    nowhere = tmp_path / "none" / "t.parquet"
    refused(StorageError, lambda: engine.write({"a": np.arange(2)}, nowhere, types={}))
    refused(EngineError, lambda: engine.write({"a": np.arange(2)}, nowhere, types={"a": "DUCK"}))
    ragged = {"a": np.arange(2), "b": np.ones((2, 2))}
    refused(EngineError, lambda: engine.load("ragged", ragged))


def test_too_little_memory_is_told() -> None:
    with closing(DuckDB(memory="8MB")) as engine:
        engine.run("SET max_temp_directory_size = '1MB'")
        much = "SELECT range AS x, md5(range::VARCHAR) AS y FROM range(3000000)"
        error = refused(EngineError, lambda: engine.run(f"CREATE TABLE much AS {much}"))
    assert "memory" in str(error)


def test_a_list_of_texts_is_known_by_its_name(engine: DuckDB) -> None:
    engine.declare("listed", ["it's", "", "é", 'a "b"'])
    texts = np.array(["é", "", "e", "it's", None, 'a "b"'], dtype=object)
    engine.load("asked", {"t": texts, "i": np.arange(len(texts))})
    place = engine.dialect.place.format("t", name="listed")
    found = engine.fetch(f"SELECT coalesce({place}, -1) AS p FROM asked ORDER BY i")
    assert found["p"].tolist() == [2, 1, -1, 0, -1, 3]


def test_a_wide_table_is_encoded_in_little_memory(tmp_path: Path) -> None:
    """A hundred lists of texts: none of them is a join, which would hold whole rows."""
    names, texts = [f"c{i}" for i in range(100)], [f"code {i:02}" for i in range(40)]
    codes = np.random.default_rng(0).integers(len(texts), size=(20_000, len(names)))
    path = tmp_path / "wide.csv"
    pl.DataFrame(np.array(texts)[codes], schema=names).write_csv(path)
    listed = {"kind": "categorical", "values": texts}
    declared = Schema.from_dict({"name": "wide", "columns": dict.fromkeys(names, listed)})
    with closing(DuckDB(memory="300MB")) as engine:
        table = CodedTable(engine, path, schema=declared, unit=Unit.each_row())
        for place in (0, 57, 99):
            code = table.code[names[place]]
            found = engine.fetch(
                f"SELECT {code} AS c, count(*) AS n FROM rows GROUP BY 1 ORDER BY 1"
            )
            assert found["n"].tolist() == np.bincount(codes[:, place]).tolist()


class IOException(Exception):  # noqa: N818  named as DuckDB names its own
    """A failure of files."""


class InvalidInputException(Exception):  # noqa: N818
    """A failure that quotes cells."""


@pytest.mark.parametrize(
    ("error", "reading_input", "kind"),
    [
        (IOException("No space left on device"), False, StorageError),
        (IOException("No space left on device"), True, StorageError),
        (OSError(28, "No space left on device"), False, StorageError),
        (IOException("File too large"), False, StorageError),
        (IOException("secret"), True, MalformedFileError),
        # A cell that speaks of the disk is a cell, and no full disk.
        (InvalidInputException("row 3: 'No space left on device'"), True, MalformedFileError),
        (InvalidInputException("row 3: 'Query interrupted'"), True, MalformedFileError),
        (MemoryError("secret"), True, EngineError),
        (ValueError("secret"), False, EngineError),
        (RuntimeError("secret"), False, EngineError),
    ],
)
def test_a_failure_is_sorted_by_kind(
    engine: DuckDB, error: Exception, reading_input: bool, kind: type[UnderstudyError]
) -> None:
    def fail() -> None:
        raise error

    told = refused(kind, lambda: engine._try(fail, reading_input=reading_input))
    assert "secret" not in str(told)
    assert "row 3" not in str(told)


def test_an_interrupted_query_is_an_interrupt(engine: DuckDB) -> None:
    def fail() -> None:
        raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt) as caught:
        engine._try(fail, reading_input=True)
    assert caught.value.__context__ is None


def test_our_own_errors_pass(engine: DuckDB) -> None:
    def fail() -> None:
        raise StorageError("told already")

    assert (
        str(refused(StorageError, lambda: engine._try(fail, reading_input=True))) == "told already"
    )


def test_texts_of_moments_do_not_depend_on_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    moment = pa.array([datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"c": moment}), tmp_path / "t.parquet")
    declared = Schema.from_dict(
        {"name": "t", "columns": {"c": {"kind": "categorical", "values": ["2020-01-02 03:04:05"]}}}
    )
    assert count(tmp_path / "t.parquet", declared) == [1, 0, 0]
    assert count({"c": [time(1, 2), datetime(2020, 1, 2, 3, 4, 5)]}, declared) == [1, 0, 1]  # noqa: DTZ001
