"""Private tables with canaries in them: a word and a number that must never be seen again."""

from __future__ import annotations

import gzip
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORD = "CANARY7c41d9"
NUMBER = "918273645"
HEADER = "id,colour,amount,count,when\n"
GOOD = "1,red,2.5,3,2020-01-02 03:04:05\n2,blue,4,5,2020-02-03\n"
CELLS = ("1", "red", "2.5", "3", "2020-01-02 03:04:05")
NAMES = ("id", "colour", "amount", "count", "when")
SCHEMA = """
name = "canaries"

[columns.id]
kind = "id"

[columns.colour]
kind = "categorical"
values = ["red", "blue"]

[columns.amount]
kind = "numeric"
min = 0
max = 10
bins = 5

[columns.count]
kind = "integer"
min = 0
max = 9

[columns.when]
kind = "datetime"
part = "hour"
"""


def a_file(content: bytes | str, name: str = "t.csv") -> Callable[[Path], Path]:
    """Make a case of a file with this content."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def around(line: bytes | str) -> bytes:
    """Put a line between good ones."""
    inside = line if isinstance(line, bytes) else line.encode()
    return (HEADER + GOOD).encode() + inside + GOOD.encode()


def planted(canary: str, column: int) -> str:
    """Write a good line with a canary in one of its cells."""
    return ",".join(canary if i == column else cell for i, cell in enumerate(CELLS)) + "\n"


def parquet(content: Any, *, cut: int | None = None) -> Callable[[Path], Path]:
    """Make a case of a Parquet file of an Arrow table, perhaps cut off."""

    def make(folder: Path) -> Path:
        path = folder / "t.parquet"
        pq.write_table(content, path)
        if cut is not None:
            path.write_bytes(path.read_bytes()[:cut])
        return path

    return make


def table(**columns: Any) -> dict[str, Any]:
    """Make a table of three good rows with other columns in the place of some."""
    good: dict[str, Any] = {
        "id": ["1", "2", "3"],
        "colour": ["red", "blue", "red"],
        "amount": [1.5, 2.5, None],
        "count": [1, 2, 3],
        "when": ["2020-01-02 03:04:05"] * 3,
    }
    return good | columns


def objects(cell: object) -> dict[str, Any]:
    """Put an object into every column."""
    return {name: [cell, *column[1:]] for name, column in table().items()}


class Fails:
    """Fails with a canary whatever is done to it."""

    def __str__(self) -> str:
        """Fail."""
        raise ValueError(WORD)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        """Fail."""
        raise ValueError(WORD)

    def __hash__(self) -> int:
        """Fail."""
        raise ValueError(WORD)


class Shows:
    """Shows a canary whenever it is written."""

    def __str__(self) -> str:
        """Show it."""
        return WORD

    def __repr__(self) -> str:
        """Show it."""
        return WORD


class Chain:
    """Fails with a canary in the cause of an error."""

    def __str__(self) -> str:
        """Fail twice."""
        try:
            return str(Fails())
        except ValueError as error:
            raise RuntimeError(NUMBER) from error


CELL_FILES: dict[str, Callable[[Path], Path]] = {
    **{
        f"{canary} as {name}": a_file(around(planted(canary, i)))
        for i, name in enumerate(NAMES)
        for canary in (WORD, NUMBER)
    },
    "everywhere": a_file(around(f"{WORD},{WORD},{WORD},{WORD},{WORD}\n")),
    "first line": a_file(HEADER + planted(WORD, 0) + GOOD),
    "last line, unended": a_file(HEADER + GOOD + planted(WORD, 1).strip()),
    "quoted": a_file(around(planted(f'"{WORD}, ""{WORD}""\n{WORD}"', 1))),
    "moment": a_file(around(planted(f"2951-07-13 {NUMBER}", 4))),
    "nul byte": a_file(around(planted(f"{WORD}\0", 1))),
    "bidi controls": a_file(around(planted(f"\u202e{WORD}\u2066", 1))),
    "escapes": a_file(around(planted(f"\x1b[31m{WORD}\x07", 0))),
    "sql": a_file(around(planted(f"'; DROP TABLE rows; -- {WORD}", 0))),
    "percent": a_file(around(planted(f"%s {{0}} {WORD}", 1))),
    "no space left": a_file(around(planted(f"No space left on device {WORD}", 1))),
    "astral": a_file(around(planted(f"{WORD}\U0001f986", 0))),
    "three megabytes": a_file(around(planted(WORD * 250_000, 1))),
    "three megabytes of id": a_file(around(planted(WORD * 250_000, 0))),
    **{
        f"number {n[:12]}": a_file(around(f"{n},{n},{n},{n},{n}\n"))
        for n in ("1e400", "-1e400", str(2**63), "NaN", "-inf", "9" * 500, "1e-400", "0x1p3")
    },
    **{
        f"moment {m}": a_file(around(planted(m, 4)))
        for m in (
            "9999-12-31T23:59:59-99:99",
            "0001-01-01T00:00:00+99:99",
            "infinity",
            "0000-00-00",
        )
    },
    "two thousand columns": a_file(
        HEADER.strip()
        + "".join(f",x{i}" for i in range(2000))
        + "\n"
        + planted(WORD, 1).strip()
        + f",{WORD}" * 2000
        + "\n"
    ),
    "header only": a_file(HEADER),
    "gzipped": a_file(gzip.compress(around(planted(WORD, 1))), "t.csv.gz"),
}
"""Well-formed files: whatever is in their cells, they are read."""

MALFORMED_FILES: dict[str, Callable[[Path], Path]] = {
    "too few fields": a_file(around(f"{WORD},{NUMBER}\n")),
    "too many fields": a_file(around(f"{WORD},red,1,1,2020-01-01,{NUMBER},more\n")),
    "unclosed quote": a_file(around(f'1,"{WORD},1,1,2020-01-01\n')),
    "unclosed quote at the end": a_file(HEADER + GOOD + f'1,"{WORD}'),
    "text after a quote": a_file(around(f'1,"red"{WORD},1,1,2020-01-01\n')),
    "backslash quote": a_file(around(f'1,"\\"{WORD}",1,1,2020-01-01\n')),
    "no utf-8": a_file(around(planted(WORD, 1).encode() + b"1,\xff\xfe,1,1,1\n")),
    "no utf-8 in the id": a_file(around(WORD.encode() + b"\xe9,red,1,1,1\n")),
    "latin-1 header": a_file(f"{WORD}\xe9,colour\n1,red\n".encode("latin-1")),
    "utf-16": a_file((HEADER + planted(WORD, 1)).encode("utf-16")),
    "utf-16, unmarked": a_file((HEADER + planted(WORD, 1)).encode("utf-16-le")),
    "half a surrogate pair": a_file(
        around(planted(f"{WORD}\udc80", 1).encode("utf-8", "surrogatepass"))
    ),
    "no header": a_file(planted(WORD, 0) * 3),
    "no header, different cells": a_file(f"{WORD},{NUMBER},a,b,c\n" + GOOD),
    "doubled header": a_file(f"{WORD},{WORD},amount,count,when\n" + GOOD),
    "unclosed header": a_file(f'id,"{WORD},amount,count,when\n' + GOOD),
    "long header": a_file(f"{HEADER.strip()},{WORD * 20_000}\n" + GOOD),
    "header with a nul": a_file(f"{HEADER.strip()},{WORD}\0\n" + GOOD),
    "other delimiter": a_file(around(planted(WORD, 1)).replace(b",", b";")),
    "empty": a_file(""),
    "nothing but ends of lines": a_file("\n\r\n\n"),
    "mixed ends of lines": a_file(around(planted(WORD, 1).replace("\n", "\r\n"))),
    "html": a_file(f"<html><body>{WORD}</body></html>"),
    "json": a_file(f'{{"id": "{WORD}"}}'),
    "truncated gzip": a_file(gzip.compress(around(planted(WORD, 1)))[:-20], "t.csv.gz"),
    "torn gzip": a_file(gzip.compress(around(planted(WORD, 1)), 0)[:-9] + b"\xff" * 9, "t.csv.gz"),
    "not gzipped": a_file(around(planted(WORD, 1)), "t.csv.gz"),
    "gzipped twice": a_file(gzip.compress(gzip.compress(around(WORD))), "t.csv.gz"),
    "gzipped unnamed": a_file(gzip.compress(around(planted(WORD, 1))), "t.csv"),
    "truncated parquet": parquet(pa.table(table(colour=[WORD] * 3)), cut=-40),
    "head of a parquet": parquet(pa.table(table(colour=[WORD] * 3)), cut=200),
    "csv called parquet": a_file(around(planted(WORD, 1)), "t.parquet"),
    "four letters of parquet": a_file(f"PAR1{WORD}PAR1", "t.parquet"),
    "empty parquet": a_file("", "t.pq"),
}
"""Files that are refused as a whole."""


def _folder(path: Path) -> Path:
    (path / "t.csv").mkdir()
    (path / "t.csv" / WORD).write_text(WORD)
    return path / "t.csv"


def _unreadable(path: Path) -> Path:
    (path / "t.csv").symlink_to("/proc/self/mem")
    return path / "t.csv"


MISSING_FILES: dict[str, Callable[[Path], Path]] = {
    "no file": lambda folder: folder / "t.csv",
    "a folder": _folder,
    "unreadable": _unreadable,
    "of no kind": a_file(around(planted(WORD, 1)), "t.txt"),
}
"""Files that cannot be read at all."""

_ARRAYS: dict[str, Any] = {
    "list": pa.array([[WORD], [NUMBER], None]),
    "struct": pa.array([{"a": WORD}, {"a": NUMBER}, None]),
    "map": pa.array([[(WORD, 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "decimal": pa.array([Decimal(f"{NUMBER}.125")] * 3),
    "time": pa.array([time(1, 2, 3)] * 3),
    "date": pa.array([date(1, 1, 1), date(9999, 12, 31), None]),
    "interval": pa.array([timedelta(days=918_273), None, None]),
    "blob": pa.array([b"\xff" + WORD.encode(), b"", None]),
    "uuid": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=i).bytes for i in range(3)], pa.binary(16))
    ),
    "nothing": pa.array([None] * 3),
    "float32": pa.array(np.array([1, np.nan, np.inf], dtype=np.float32)),
    "floats": pa.array([float("nan"), float("-inf"), 1.7e308]),
    "uint64": pa.array([2**64 - 1, 0, None], pa.uint64()),
    "booleans": pa.array([True, False, None]),
    "dictionary": pa.array([WORD, "red", None]).dictionary_encode(),
    "infinite moments": pa.array([2**63 - 1, -(2**63) + 1, 0], pa.timestamp("us")),
    "far moments": pa.array([2**62, -(2**62), 0], pa.timestamp("us", "UTC")),
    "far dates": pa.array([2**31 - 1, -(2**31), 10**8], pa.int32()).cast(pa.date32()),
    "moments, zoned": pa.array([datetime(2251, 7, 13, tzinfo=UTC)] * 3, pa.timestamp("ns", "UTC")),
}


def _everywhere(column: Any) -> Any:
    return pa.table(dict.fromkeys(NAMES, column))


PARQUET_FILES = {f"parquet of {n}": parquet(_everywhere(a)) for n, a in _ARRAYS.items()}
PARQUET_FILES["parquet of words"] = parquet(_everywhere(pa.array([WORD, NUMBER, "red"])))
"""Files whose columns are of types that nobody declared."""

_BROKEN_TEXT = pa.Array.from_buffers(
    pa.string(),
    2,
    [
        None,
        pa.py_buffer(np.array([0, 14, 15], dtype=np.int32).tobytes()),
        pa.py_buffer(WORD.encode() + b"\xff\xfe\x80"),
    ],
)

TABLES: dict[str, Callable[[], object]] = {
    "pandas": lambda: pd.DataFrame(table(colour=[WORD] * 3, id=[WORD, NUMBER, None])),
    "pandas, object of all": lambda: pd.DataFrame(objects(WORD), dtype=object),
    "polars": lambda: pl.DataFrame(table(colour=[WORD] * 3, id=[WORD, NUMBER, None])),
    "arrow": lambda: pa.table(table(colour=[WORD] * 3, id=[WORD, NUMBER, None])),
    "arrow, broken text": lambda: pa.table(dict.fromkeys(NAMES, _BROKEN_TEXT)),
    "arrow, far zoned moments": lambda: _everywhere(pa.array([2**62], pa.timestamp("s", "UTC"))),
    "arrow, decimal of 256 bits": lambda: _everywhere(
        pa.array([Decimal(NUMBER)], pa.decimal256(60, 2))
    ),
    "stream": lambda: pa.table(table(colour=[WORD] * 3)).to_reader(),
    "polars objects": lambda: pl.DataFrame(
        {n: pl.Series([Shows()], dtype=pl.Object) for n in NAMES}
    ),
    "fails": lambda: objects(Fails()),
    "fails, in pandas": lambda: pd.DataFrame(objects(Fails()), dtype=object),
    "fails with a cause": lambda: objects(Chain()),
    "shows": lambda: objects(Shows()),
    "shows, in pandas": lambda: pd.DataFrame(objects(Shows()), dtype=object),
    "a class": lambda: objects(Fails),
    "an error": lambda: objects(ValueError(WORD)),
    "bytes": lambda: objects(b"\xff" + WORD.encode()),
    "half a surrogate pair": lambda: objects(f"{WORD}\udc80"),
    "nested": lambda: objects([{WORD: [NUMBER]}]),
    "an array": lambda: objects(np.array([WORD, NUMBER])),
    "a signalling nan": lambda: objects(Decimal("sNaN918273645")),
    "a huge number": lambda: objects(int(NUMBER) * 10**500),
    "missing of pandas": lambda: objects(pd.NA),
    "ragged": lambda: table(colour=[WORD]),
    "two dimensions": lambda: table(colour=np.array([[WORD] * 3] * 3)),
    "a word for a column": lambda: table(colour=WORD),
    "a failing column": lambda: table(colour=Fails()),
    "doubled names": lambda: pd.DataFrame([[WORD, WORD]], columns=["id", "id"]),
    "no columns that are needed": lambda: {WORD: [WORD], NUMBER: [1]},
    "no table": Shows,
    "a list of rows": lambda: [[WORD, NUMBER]],
}
"""Tables in memory."""
