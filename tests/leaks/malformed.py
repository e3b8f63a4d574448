"""Malformed inputs, one a number: files, tables in memory, schemas, units and budgets.

The same number always makes the same input.  Every input has canaries in private cells.
"""

from __future__ import annotations

import gzip
import random
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.leaks import canaries
from tests.leaks.canaries import NAMES, NUMBER, WORD, Chain, Fails, Shows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = {
    "colour": 'kind = "categorical"\nvalues = ["red", "blue"]\n',
    "amount": 'kind = "numeric"\nmin = 0\nmax = 10\nbins = 5\n',
    "count": 'kind = "integer"\nmin = 0\nmax = 9\n',
    "when": 'kind = "datetime"\npart = "hour"\n',
}
UNITS = (*[("id",)] * 6, (), (), ("id", "colour"), ("when:date",), ("id", "when:week"))
MEGABYTES = 10 * 2**20
BIG_EVERY = 211
"""One input in so many has a cell of ten megabytes."""

Rows = list[list[str]]

IDS = ("1", " 1", "1 ", "01", "1.0", "1e0", "+1", "１", "\u00a01", "1\u200b", "", "NULL", "-0")
TEXTS = (
    *(f"\u202e{WORD}\u2066", f"\u200b{WORD}\u200d\ufeff", f"\x1b[31m{WORD}\x07"),
    *(f"{WORD}\x00{WORD}", f"'; DROP TABLE rows; -- {WORD}", f"%s {{0}} {WORD}", f'"{WORD}"'),
    *(f"{WORD},\n{NUMBER}\r\n", f"{WORD}\U0001f986", f"e\u0301{WORD}", "\x7f\x85\u2028"),
    *(" red", "RED", "", "NULL", "=1+1"),
)
NUMBERS = (
    *("NaN", "nan", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e-400", "-0.0", "0x1p3"),
    *("1_000", "1,5", "٣", "１２", "+5", "--5", "1e", "9" * 400, "", " 3 ", "true", str(2**128)),
    *(str(2**63), str(-(2**63) - 1), str(2**63 - 1), f"{NUMBER}.125", f"-{NUMBER}e3"),
)
MOMENTS = (
    *("0000-00-00", "9999-12-31T23:59:59-99:99", "0001-01-01T00:00:00+99:99", "10000-01-01"),
    *("-0001-01-01", "infinity", "2020-02-30", "2020-01-01T00:00:60Z", "294247-01-10", "epoch"),
    *("2020-13-01 25:61:61", "290308-12-22 (BC)", f"2951-07-13 {NUMBER}", "2020-01-01 00+14"),
)
OBJECTS: tuple[Any, ...] = (
    *(WORD, NUMBER, int(NUMBER), float(NUMBER), float("nan"), float("-inf"), 2**63, 10**400),
    *(-(2**63) - 1, -0.0, 1, "1", 1.0, " 1", True, None, pd.NA, pd.NaT, np.datetime64("NaT")),
    *(1 + 2j, Decimal(NUMBER), Decimal("sNaN918273645"), Fraction(int(NUMBER), 7), date.min),
    *(WORD.encode() + b"\xff", timedelta(days=918_273), datetime(2251, 7, 13, tzinfo=UTC)),
    *(uuid.UUID(int=int(NUMBER)), [WORD], {WORD: NUMBER}, {WORD}, f"{WORD}\udc80", f"\x00{WORD}"),
    *(np.float16(1.5), np.str_(WORD), np.array([WORD]), ValueError(WORD)),
    *(Fails(), Shows(), Chain()),
)
"""Odd cells, for every column and for any."""


@dataclass(frozen=True)
class Input:
    """What is given to a run: private rows, and what is declared of them."""

    kind: str
    private: Any
    schema: Path
    unit: tuple[str, ...] = ("id",)
    """No name at all: each row is a person."""
    nulls: Any = "drop"
    bounding: str = "weights:2"
    epsilon: Any = 1.0
    delta: Any = 1e-6
    runs: bool | None = None
    """Whether it has to run, has to be refused, or may do either."""


def declared(rng: random.Random, folder: Path) -> Path:
    """Write a schema of one or two columns."""
    lines = ['name = "canaries"\n', '[columns.id]\nkind = "id"\n']
    for name in rng.sample(sorted(COLUMNS), rng.choice((1, 1, 1, 1, 2))):
        outside = 'outside = "drop"\n' if rng.random() < 0.2 else ""
        lines.append(f"[columns.{name}]\n{COLUMNS[name]}{outside}")
    path = folder / "schema.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _given(rng: random.Random, folder: Path, kind: str, private: Any) -> Input:
    return Input(
        kind,
        private,
        declared(rng, folder),
        unit=rng.choice(UNITS),
        nulls=rng.choice(("drop", "one")),
        bounding=rng.choice(("weights:2", "sample:2")),
        delta=rng.choice((1e-6, 1e-6, 0.0)),
    )


# Files of comma-separated values


def rows_of(rng: random.Random) -> Rows:
    """Make a few rows, with canaries and odd cells in some."""
    pools = (IDS, TEXTS, NUMBERS, NUMBERS, MOMENTS)
    good = ("7", "red", "2.5", "3", "2020-01-02 03:04:05")
    rows = [
        [
            rng.choice(pool) if rng.random() < 0.6 else cell
            for pool, cell in zip(pools, good, strict=True)
        ]
        for _ in range(rng.randrange(1, 6))
    ]
    for canary in (WORD, NUMBER):
        rng.choice(rows)[rng.randrange(5)] = canary
    return [list(good), *rows]


def written(rows: Rows, *, end: str = "\n") -> str:
    """Write rows as a well-formed file with a header."""

    def cell(text: str) -> str:
        odd = any(c in text for c in ',"\r\n')
        return '"' + text.replace('"', '""') + '"' if odd else text

    return end.join([",".join(NAMES), *(",".join(map(cell, row)) for row in rows), ""])


def cells(rng: random.Random, folder: Path) -> Input:
    """Make a well-formed file: whatever is in its cells, it is read."""
    text = written(rows_of(rng), end=rng.choice(("\n", "\n", "\r\n")))
    packed = rng.random() < 0.15
    path = folder / ("t.csv.gz" if packed else "t.csv")
    data = text.encode(rng.choice(("utf-8", "utf-8", "utf-8-sig")))
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    return replace(_given(rng, folder, "cells", path), runs=True)


SHAPES: dict[str, Callable[[random.Random, str], str]] = {
    "short row": lambda rng, t: t + f"{WORD},{NUMBER}\n",
    "long row": lambda rng, t: t + f"{WORD},red,1,1,2020-01-01,{NUMBER}" + ",x" * rng.randrange(9),
    "empty": lambda rng, t: "",
    "header only": lambda rng, t: ",".join(NAMES) + "\n" * rng.randrange(4),
    "no header": lambda rng, t: t.split("\n", 1)[1],
    "canary for a header": lambda rng, t: f"{WORD},{NUMBER},a,b,c\n" + t,
    "doubled header": lambda rng, t: t.replace("colour", rng.choice(("id", "ID", "amount")), 1),
    "header twice": lambda rng, t: t.split("\n", 1)[0] + "\n" + t,
    "torn quote": lambda rng, t: inserted(rng, t, f'"{WORD}'),
    "quote in a cell": lambda rng, t: t + f'1,re"d{WORD}",1,1,2020-01-01\n',
    "text after a quote": lambda rng, t: t + f'1,"red"{WORD},1,1,2020-01-01\n',
    "backslash": lambda rng, t: t + f'1,"\\"{WORD}",1,1,2020-01-01\n',
    "other delimiter": lambda rng, t: t.replace(",", rng.choice((";", "\t", "|", " ", "\x1f"))),
    "blank lines": lambda rng, t: inserted(rng, t, "\n\n\r\n"),
    "carriage returns": lambda rng, t: t.replace("\n", "\r"),
    "mixed ends": lambda rng, t: t.replace("\n", "\r\n", rng.randrange(1, 3)),
    "long line": lambda rng, t: t + f"1,{WORD * rng.choice((200, 200_000))},1,1,2020-01-01\n",
    "long header": lambda rng, t: t.replace("when", f"when,{WORD * 9_000}", 1),
    "many columns": lambda rng, t: t.replace("when", "when" + f",{WORD}x" * 500, 1),
    "comment": lambda rng, t: f"# {WORD} {NUMBER}\n" + t,
    "html": lambda rng, t: f"<html><body>{WORD}</body></html>",
    "cut off": lambda rng, t: t[: rng.randrange(len(t))],
    "shuffled": lambda rng, t: "".join(rng.sample(t, len(t))) + WORD,
}
"""What is done to the text of a well-formed file."""


def inserted(rng: random.Random, text: str, piece: str) -> str:
    """Put a piece anywhere into a text."""
    place = rng.randrange(len(text) + 1)
    return text[:place] + piece + text[place:]


def shapes(rng: random.Random, folder: Path) -> Input:
    """Make a file of a wrong shape."""
    kind = rng.choice(sorted(SHAPES))
    path = folder / rng.choice(("t.csv", "t.csv", "t.tsv"))
    path.write_bytes(SHAPES[kind](rng, written(rows_of(rng))).encode())
    return _given(rng, folder, kind, path)


def _flipped(rng: random.Random, data: bytes, times: int = 3) -> bytes:
    out = bytearray(data)
    for _ in range(times if out else 0):
        out[rng.randrange(len(out))] ^= rng.randrange(1, 256)
    return bytes(out)


def _with_bytes(rng: random.Random, data: bytes, piece: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + piece + data[place:]


BYTES: dict[str, Callable[[random.Random, str], bytes]] = {
    "utf-16": lambda rng, t: t.encode("utf-16"),
    "utf-16-le": lambda rng, t: t.encode("utf-16-le"),
    "utf-16-be": lambda rng, t: t.encode("utf-16-be"),
    "utf-32": lambda rng, t: t.encode("utf-32"),
    "latin-1": lambda rng, t: inserted(rng, t, f"é{WORD}ÿ").encode("latin-1", "replace"),
    "cp037": lambda rng, t: t.encode("cp037", "replace"),
    "two marks": lambda rng, t: b"\xef\xbb\xbf\xef\xbb\xbf" + t.encode(),
    "mark within": lambda rng, t: _with_bytes(rng, t.encode(), b"\xef\xbb\xbf"),
    "no utf-8": lambda rng, t: _with_bytes(rng, t.encode(), rng.choice((b"\xff", b"\xc3("))),
    "overlong": lambda rng, t: _with_bytes(rng, t.encode(), b"\xc0\xaf" + WORD.encode()),
    "surrogate": lambda rng, t: _with_bytes(rng, t.encode(), b"\xed\xb2\x80"),
    "nul": lambda rng, t: _with_bytes(rng, t.encode(), b"\x00" * rng.randrange(1, 9)),
    "nul at the end": lambda rng, t: t.encode() + b"\x00" * 4096,
    "flipped": lambda rng, t: _flipped(rng, t.encode()),
    "noise": lambda rng, t: rng.randbytes(rng.randrange(400)) + WORD.encode() + rng.randbytes(90),
    "torn letter": lambda rng, t: t.encode() + f"1,{WORD}é".encode()[:-1],
}
"""How the text of a well-formed file becomes bytes."""


def encodings(rng: random.Random, folder: Path) -> Input:
    """Make a file of wrong bytes."""
    kind = rng.choice(sorted(BYTES))
    data = BYTES[kind](rng, written(rows_of(rng)))
    path = folder / "t.csv"
    if rng.random() < 0.15:
        path = folder / "t.csv.gz"
        packed = gzip.compress(data, mtime=0)
        ways = (packed, packed[: rng.randrange(len(packed))], _flipped(rng, packed), data)
        data = rng.choice(ways)
    path.write_bytes(data)
    return _given(rng, folder, kind, path)


def big(rng: random.Random, folder: Path) -> Input:
    """Make a file with a cell of ten megabytes, or of more than is read."""
    rows, place = rows_of(rng), rng.randrange(2)
    size = rng.choice((MEGABYTES, MEGABYTES, 2 * MEGABYTES))
    rows[-1][place] = (WORD + NUMBER) * (size // len(WORD + NUMBER))
    path = folder / "t.csv"
    path.write_text(written(rows), encoding="utf-8")
    given = replace(_given(rng, folder, "big cell", path), unit=("id",))
    return replace(given, runs=size == MEGABYTES)


# Parquet, and tables in memory


def parquets(rng: random.Random, folder: Path) -> Input:
    """Make a Parquet file of odd types; some are cut off or have bytes flipped."""
    path = folder / rng.choice(("t.parquet", "t.pq"))
    columns = {name: _array(rng) for name in NAMES}
    columns[rng.choice(NAMES)] = pa.array([WORD, NUMBER, "red"])
    packing = rng.choice(("none", "snappy", "zstd", "gzip"))
    made = pa.table(columns)
    pq.write_table(made, path, compression=packing, use_dictionary=rng.random() < 0.5)
    kind, data = "parquet", path.read_bytes()
    if rng.random() < 0.4:
        kind, data = "torn parquet", data[: rng.randrange(len(data))]
    elif rng.random() < 0.3:
        kind, data = "flipped parquet", _flipped(rng, data, rng.randrange(1, 5))
    path.write_bytes(data)
    return replace(_given(rng, folder, kind, path), runs=False if kind[0] == "t" else None)


def _array(rng: random.Random) -> Any:
    return canaries._ARRAYS[rng.choice(sorted(canaries._ARRAYS))]


def _mixed(rng: random.Random) -> list[Any]:
    return [rng.choice(OBJECTS) for _ in range(3)]


def _numpy(rng: random.Random) -> Any:
    kind = rng.choice(("f2", ">f8", "g", "c16", "u8", "?", "S20", "U20", "M8[Y]", "M8[as]", "m8"))
    return np.ma.masked_array(np.array([0, 1, 1]).astype(kind), [rng.random() < 0.5] * 3)


def _pandas(rng: random.Random) -> Any:
    kinds = ("category", "Int64", "string", "boolean", "datetime64[ns, UTC]", "timedelta64[ns]")
    kind = rng.choice((*kinds, "Sparse[float]", "Float32", "complex128"))
    return pd.Series([1, 0, 1]).astype(kind)


def _polars(rng: random.Random) -> Any:
    whole = pl.Series([1, 2, None])
    kinds = (pl.Int128, pl.Duration("us"), pl.Datetime("ns", "UTC"), pl.Decimal(38, 9), pl.Boolean)
    texts = pl.Series([WORD, NUMBER, None])
    others = (texts.cast(pl.Categorical), texts.cast(pl.Binary), pl.Series([[WORD], [], None]))
    return rng.choice((*(whole.cast(k) for k in kinds), texts, *others))


TOOLS: dict[str, tuple[Callable[[random.Random], Any], Callable[[dict[str, Any]], Any]]] = {
    "objects": (_mixed, dict),
    "objects in pandas": (_mixed, lambda table: pd.DataFrame(table, dtype=object)),
    "numpy": (_numpy, dict),
    "pandas": (_pandas, pd.DataFrame),
    "columns of pandas": (_pandas, dict),
    "polars": (_polars, pl.DataFrame),
    "columns of polars": (_polars, dict),
    "arrow": (_array, pa.table),
    "arrow stream": (_array, lambda table: pa.table(table).to_reader()),
    "columns of arrow": (_array, dict),
}
"""Ways to make a column, and a table of columns."""


def tables(rng: random.Random, folder: Path) -> Input:
    """Make a table in memory of odd types and cells; some are of those that have a name."""
    if rng.random() < 0.2:
        kind = rng.choice(sorted(canaries.TABLES))
        return _given(rng, folder, kind, canaries.TABLES[kind]())
    tool = rng.choice(sorted(TOOLS))
    column, table = TOOLS[tool]
    columns = {name: column(rng) for name in NAMES}
    if rng.random() < 0.1:
        del columns[rng.choice(NAMES)]
    return _given(rng, folder, tool, table(columns))


# What is declared


BROKEN: dict[str, Callable[[random.Random, str], str]] = {
    "cut off": lambda rng, t: t[: rng.randrange(len(t))],
    "noise": lambda rng, t: "".join(rng.sample(t, len(t))),
    "insertion": lambda rng, t: inserted(
        rng, t, rng.choice(('"', "[", "\x00", "\u202e", "=", "é"))
    ),
    "doubled": lambda rng, t: t + t,
    "empty": lambda rng, t: "",
    "no columns": lambda rng, t: 'name = "canaries"\n',
    "backwards": lambda rng, t: t + "\n[columns.x]\nkind = 'integer'\nmin = 9\nmax = 0\n",
    "huge": lambda rng, t: t + "\n[columns.x]\nkind = 'integer'\nmin = 0\nmax = 1e400\n",
    "not a number": lambda rng, t: t + "\n[columns.x]\nkind = 'numeric'\nmin = nan\nmax = inf\n",
    "unknown kind": lambda rng, t: t.replace('kind = "id"', 'kind = "colonel"'),
    "unknown key": lambda rng, t: t + "\nmni = 3\n",
    "no values": lambda rng, t: t + "\n[columns.x]\nkind = 'categorical'\nvalues = []\n",
    "wrong types": lambda rng, t: t + "\n[columns.x]\nkind = 'categorical'\nvalues = [[1], {}]\n",
    "another column": lambda rng, t: t + "\n[columns.x]\nkind = 'integer'\nmin = 0\nmax = 3\n",
    "delimiter": lambda rng, t: t.replace("[", f"[csv]\ndelimiter = '{rng.choice('ab;,')}'\n[", 1),
    "quote": lambda rng, t: t.replace("[", "[csv]\nquote = ','\n[", 1),
    "json": lambda rng, t: '{"columns": {"a": ' + "[" * 5000,
    "name": lambda rng, t: t.replace("canaries", rng.choice(("", "a\\u0000b", "x" * 9000)), 1),
}
"""What is done to the text of a schema."""


def schemas(rng: random.Random, folder: Path) -> Input:
    """Make a broken schema for a well-formed file."""
    given = cells(rng, folder)
    kind = rng.choice(sorted(BROKEN))
    suffix = rng.choice((".toml", ".toml", ".toml", ".toml", ".json", ".yaml", ".txt"))
    path = folder / f"broken{suffix}"
    text = BROKEN[kind](rng, given.schema.read_text(encoding="utf-8"))
    path.write_bytes(text.encode(rng.choice(("utf-8", "utf-8", "utf-8", "utf-16"))))
    return replace(given, kind=f"schema, {kind}", schema=path, runs=None)


WRONG: tuple[dict[str, Any], ...] = (
    *({"unit": (name,)} for name in ("nobody", "ID", "", "id ", "id:week", "a\x00b", "é" * 9000)),
    *({"unit": names} for names in (("id", "id"), ("id", "nobody"), ("colour", "when:century"))),
    *({"bounding": text} for text in ("weights:0", "sample:-1", "weights:1e3", "none:2", "")),
    *({"bounding": f"{kind}:{2**31}"} for kind in ("weights", "sample")),
    *({"epsilon": e} for e in (0.0, -1.0, float("nan"), float("inf"))),
    *({"delta": d} for d in (-1e-6, 1.0, 2.0, float("nan"), 1e-320)),
    {"nulls": "many"},
    {"private": "missing"},
    {"private": "folder"},
)


def wrongs(rng: random.Random, folder: Path) -> Input:
    """Make a well-formed file with a unit, bounding or budget that cannot be."""
    given, wrong = replace(cells(rng, folder), unit=("id",)), dict(rng.choice(WRONG))
    if wrong.get("private") == "missing":
        given.private.unlink()
    elif wrong.get("private") == "folder":
        given.private.rename(folder / "other")
        given.private.mkdir()
    wrong.pop("private", None)
    return replace(given, **wrong, kind=f"wrong {sorted(wrong)}", runs=None)


FILES = (cells, shapes, encodings, parquets, shapes, encodings, cells)
MAKERS = (*FILES, tables, schemas, tables, wrongs, schemas)


def make(number: int, folder: Path) -> Input:
    """Make the input of a number in an empty folder."""
    rng = random.Random(number)  # noqa: S311
    maker = big if number % BIG_EVERY == BIG_EVERY - 1 else MAKERS[number % len(MAKERS)]
    return maker(rng, folder)
