"""One table in every form that the engine reads, and what the vault counts of it."""

from __future__ import annotations

import csv
import gzip
import io
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.budget import Sample, Unit, Weights
from understudy.door import Measure, Query, Total, UnitMode, Units
from understudy.engine import engine_for
from understudy.schema import Schema
from understudy.vault import PrivateTable
from understudy.vault.counts import exact
from understudy.vault.marginals import marginals

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Rows = list[tuple[Any, ...]]
NAMES = ("id", "colour", "amount", "count", "flag", "when")
KEY = "00112233445566778899aabbccddeeff"
COLOURS = ("red", 'a "b" c', "it's", "x,y;z\tw", "two\nlines", "é", "7")
CLIQUES = [
    ("colour",),
    ("amount", "count"),
    ("flag",),
    ("hour",),
    ("year", "colour"),
    ("when_month", "when_weekday", "when_hour"),
]


def schema(*, delimiter: str = ",", quote: str = '"') -> Schema:
    """Declare a column of every kind."""
    return Schema.from_dict(
        {
            "name": "everything",
            "csv": {"delimiter": delimiter, "quote": quote},
            "columns": {
                "id": {"kind": "id"},
                "colour": {"kind": "categorical", "values": list(COLOURS)},
                "amount": {"kind": "numeric", "min": 0, "max": 10, "bins": 5},
                "count": {"kind": "integer", "min": 0, "max": 9},
                "flag": {"kind": "categorical", "values": [True, False]},
                "hour": {"kind": "datetime", "source": "when", "part": "hour"},
                "year": {
                    "kind": "datetime",
                    "source": "when",
                    "part": "year",
                    "min": 2018,
                    "max": 2021,
                },
                "when": {"kind": "timestamp", "min": "2018-02-01", "max": "2020-05-31"},
            },
        }
    )


def rows(number: int = 300, *, seed: int = 5) -> Rows:
    """Make rows with values inside and outside the domain, and some missing everywhere."""
    rng = np.random.default_rng(seed)

    def some(values: list[Any]) -> Any:
        return values[rng.integers(len(values))]

    moments = [datetime(2017 + y, 1 + y, 2, h, 4, 5) for y in range(5) for h in (0, 5, 23)]  # noqa: DTZ001
    return [
        (
            some([*range(1, 40), None]),
            some([*COLOURS, "of no list", None]),
            some([0.0, 0.1, 2.0, 3.999, 10.0, -4.5, 1e300, None]),
            some([0, 3, 9, 12, -1, None]),
            some([True, False, None]),
            some([*moments, None]),
        )
        for _ in range(number)
    ]


def written(
    table: Rows, *, delimiter: str = ",", quote: str = '"', newline: str = "\n", header: bool = True
) -> bytes:
    """Write rows as CSV; what is missing is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quotechar=quote, lineterminator=newline)
    if header:
        writer.writerow(NAMES)
    for row in table:
        writer.writerow(
            "" if v is None else str(v).lower() if v in (True, False) else v for v in row
        )
    return out.getvalue().encode()


def columns(table: Rows) -> dict[str, list[Any]]:
    """Turn rows into columns."""
    return dict(zip(NAMES, map(list, zip(*table, strict=True)), strict=True))


def arrow(table: Rows) -> Any:
    """Make an Arrow table with types of its own."""
    types = (pa.int64(), pa.string(), pa.float64(), pa.int16(), pa.bool_(), pa.timestamp("us"))
    return pa.table(
        {n: pa.array(c, t) for (n, c), t in zip(columns(table).items(), types, strict=True)}
    )


def objects(table: Rows) -> dict[str, Any]:
    """Make arrays of plain Python objects."""
    out = {}
    for name, column in columns(table).items():
        out[name] = np.empty(len(column), dtype=object)
        out[name][:] = column
    return out


def _parquet(table: Rows, folder: Path) -> Path:
    pq.write_table(arrow(table), folder / "t.parquet")
    return folder / "t.parquet"


def _bytes(name: str, **form: Any) -> Callable[[Rows, Path], Path]:
    def write(table: Rows, folder: Path) -> Path:
        text = written(table, **form)
        (folder / name).write_bytes(gzip.compress(text) if name.lower().endswith("gz") else text)
        return folder / name

    return write


def _bom(table: Rows, folder: Path) -> Path:
    (folder / "t.csv").write_bytes(b"\xef\xbb\xbf" + written(table))
    return folder / "t.csv"


FORMS: dict[str, tuple[Schema, Callable[[Rows, Path], Any]]] = {
    "csv": (schema(), _bytes("t.csv")),
    "csv as a string": (schema(), lambda t, f: str(_bytes("t.csv")(t, f))),
    "csv.gz": (schema(), _bytes("t.csv.gz")),
    "CSV.GZ": (schema(), _bytes("T.CSV.GZ")),
    "tsv": (schema(delimiter="\t"), _bytes("t.tsv", delimiter="\t")),
    "semicolons, single quotes": (
        schema(delimiter=";", quote="'"),
        _bytes("t.csv", delimiter=";", quote="'"),
    ),
    "a stroke and a tilde": (
        schema(delimiter="|", quote="~"),
        _bytes("t.csv", delimiter="|", quote="~"),
    ),
    "crlf": (schema(), _bytes("t.csv", newline="\r\n")),
    "bom": (schema(), _bom),
    "parquet": (schema(), _parquet),
    "arrow": (schema(), lambda t, _: arrow(t)),
    "arrow stream": (schema(), lambda t, _: arrow(t).to_reader()),
    "polars": (schema(), lambda t, _: pl.DataFrame(columns(t), strict=False)),
    "pandas": (schema(), lambda t, _: pd.DataFrame(columns(t))),
    "pandas, nullable": (schema(), lambda t, _: pd.DataFrame(columns(t)).convert_dtypes()),
    "pandas, objects": (schema(), lambda t, _: pd.DataFrame(columns(t), dtype=object)),
    "pandas, time zones": (
        schema(),
        lambda t, _: pd.DataFrame(columns(t)).assign(
            when=lambda d: d["when"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
        ),
    ),
    "arrow, time zones": (
        schema(),
        lambda t, _: (made := arrow(t)).set_column(
            5, "when", made["when"].cast(pa.timestamp("ns", "Asia/Tokyo"))
        ),
    ),
    "objects": (schema(), lambda t, _: objects(t)),
    "lists": (schema(), lambda t, _: columns(t)),
    "lazy frame of polars": (schema(), lambda t, _: pl.DataFrame(columns(t), strict=False).lazy()),
    "mapping of polars": (schema(), lambda t, _: pl.DataFrame(columns(t), strict=False).to_dict()),
    "mapping of pandas": (schema(), lambda t, _: dict(pd.DataFrame(columns(t)).items())),
    "mapping of arrow": (schema(), lambda t, _: {n: arrow(t)[n] for n in NAMES}),
}


def counted(data: object, declared: Schema, unit: Unit) -> dict[str, list[int]]:
    """Count a good many things of a table, exactly."""
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=declared, unit=unit, key=KEY)
        out = {
            f"{bounding.kind} {clique}": found.tolist()
            for bounding in (Weights(3), Sample(3))
            for clique, found in marginals(table, CLIQUES, table.bounded(bounding))
        }
        queries = tuple(Query(clique=c, scale=1.0) for c in CLIQUES)
        for question in (
            Units(scale=1.0),
            Total(cap=3, scale=1.0),
            UnitMode(clique=("colour",), scale=1.0),
            Measure(queries=queries, bounding=Weights(3), price=100.0),
        ):
            out[type(question).__name__] = exact(question, table).tolist()
        return out


def people(data: object, unit: Unit | None = None, *, declared: Schema | None = None) -> int:
    """Count the people of a table."""
    with closing(engine_for(data)) as engine:
        table = PrivateTable(
            engine,
            data,
            schema=declared
            or Schema.from_dict(
                {"name": "t", "columns": {"x": {"kind": "integer", "min": 0, "max": 9}}}
            ),
            unit=unit or Unit("id"),
            key=KEY,
        )
        return int(exact(Units(scale=1.0), table)[0])
