"""DuckDB, embedded: reads files and tables in memory, and runs the SQL it is given.

DuckDB quotes offending cells in its errors.  So no exception of its ever leaves this
module, nor hangs in the chain of one that does: a call is tried, its failure is sorted by
kind, and our own error is raised after the handler has ended.
"""

from __future__ import annotations

import csv
import gzip
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from understudy.errors import (
    EngineError,
    MalformedFileError,
    MissingFileError,
    StorageError,
    UnderstudyError,
)
from understudy.schema import reading
from understudy.schema.sql import Dialect, literal, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

    from understudy.schema import Array
    from understudy.schema.sql import Kind

T = TypeVar("T")

DUCKDB = Dialect(
    seconds="TRY_CAST(floor(epoch({})) AS BIGINT)",
    moment="make_timestamp(CAST({} AS BIGINT) * 1000000)",
)
MEMORY = "1200MB"
_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WHOLE = frozenset((*_SIGNED, *(f"U{name}" for name in _SIGNED)))
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")


def _kind(declared: str) -> Kind:
    if declared in _WHOLE:
        return "whole"
    if declared == "DOUBLE":
        return "double"
    if declared == "BOOLEAN":
        return "boolean"
    return "moment" if declared.startswith(("TIMESTAMP", "DATE")) else "text"


class DuckDB:
    """One in-memory database with a private folder to spill to."""

    dialect = DUCKDB

    def __init__(self, *, memory: str = MEMORY) -> None:
        """Start the engine."""
        import duckdb  # noqa: PLC0415  a help page need not wait for it

        self._spill = tempfile.mkdtemp(prefix="understudy-")
        self._connection: duckdb.DuckDBPyConnection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": memory,
                "temp_directory": self._spill,
                "preserve_insertion_order": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            },
        )

    def attach(
        self, data: object, *, name: str, delimiter: str, quote_mark: str
    ) -> dict[str, Kind]:
        """Make a file or a table in memory known by a name, and give its columns' kinds."""
        if isinstance(data, (str, Path)):
            source = self._file(Path(data), delimiter, quote_mark)
        else:
            source = f"{name}_held"
            self._try(lambda: self._connection.register(source, _held(data)), reading_input=True)
        self.run(f"CREATE VIEW {name} AS SELECT * FROM {source}", reading_input=True)
        described = self._fetch(f"DESCRIBE {name}", reading_input=True)
        return {
            str(column): _kind(str(declared))
            for column, declared in zip(
                described["column_name"], described["column_type"], strict=True
            )
        }

    def _file(self, path: Path, delimiter: str, quote_mark: str) -> str:
        lower = path.name.lower()
        if not lower.endswith((*_CSV, *_PARQUET)):
            raise MissingFileError(
                f"{path} is of no kind that is read here", allowed=", ".join((*_CSV, *_PARQUET))
            )
        if not path.is_file():
            raise MissingFileError(f"there is no file {path}")
        where = literal(str(path))
        if lower.endswith(_PARQUET):
            return f"read_parquet({where})"
        names = _header(path, delimiter, quote_mark)
        columns = ", ".join(f"{literal(n)}: 'VARCHAR'" for n in names)
        mark = literal(quote_mark)
        return (
            f"read_csv({where}, auto_detect = false, header = true, delim = {literal(delimiter)}, "
            f"quote = {mark}, escape = {mark}, strict_mode = true, null_padding = false, "
            f"columns = {{{columns}}})"
        )

    def load(self, name: str, columns: Mapping[str, Array]) -> None:
        """Make a small public table from arrays."""
        held = f"{name}_held"
        self._connection.register(held, dict(columns))
        self.run(f"CREATE TABLE {name} AS SELECT * FROM {held}")
        self._connection.unregister(held)

    def write(self, columns: Mapping[str, Array], path: Path, *, types: Mapping[str, str]) -> None:
        """Write arrays that anyone may see to a Parquet or CSV file, by its ending."""
        self._try(lambda: self._connection.register("written", dict(columns)), reading_input=False)
        cast = ", ".join(
            f"CAST({quote(n)} AS {types[n]}) AS {quote(n)}" if n in types else quote(n)
            for n in columns
        )
        form = "FORMAT csv, HEADER" if path.suffix == ".csv" else "FORMAT parquet"
        self.run(f"COPY (SELECT {cast} FROM written) TO {literal(str(path))} ({form})")
        self._connection.unregister("written")

    def run(self, sql: str, *, reading_input: bool = False) -> None:
        """Run a statement for its effect."""
        self._try(lambda: self._connection.execute(sql), reading_input=reading_input)

    def fetch(self, sql: str) -> dict[str, Array]:
        """Run a query and give its columns."""
        return self._fetch(sql, reading_input=False)

    def _fetch(self, sql: str, *, reading_input: bool) -> dict[str, Array]:
        found = self._try(
            lambda: self._connection.execute(sql).fetchnumpy(), reading_input=reading_input
        )
        return {name: np.asarray(column) for name, column in found.items()}

    def _try(self, call: Callable[[], T], *, reading_input: bool) -> T:
        try:
            return call()
        except Exception as error:  # noqa: BLE001  its text may hold a value: only its kind is used
            failure = _failure(error, reading_input=reading_input)
        raise failure

    def close(self) -> None:
        """Forget everything, and remove what was spilled."""
        self._connection.close()
        shutil.rmtree(self._spill, ignore_errors=True)


def _failure(error: Exception, *, reading_input: bool) -> UnderstudyError:
    """Sort a failure by its kind; nothing of its text goes on."""
    kind = type(error).__name__
    if "No space left" in str(error):
        return StorageError("the disk is full", hint="free some space in the temporary folder")
    if kind in {"OutOfMemoryException", "MemoryError"}:
        return EngineError(
            "the engine ran out of memory", hint="close other programs, or use fewer columns"
        )
    if reading_input:
        return MalformedFileError(
            "the table is not well-formed",
            allowed="UTF-8 CSV with the declared delimiter and quote, every row as long as the "
            "header, or Parquet",
            hint="check the file with a tool of your own; no line or value is named here",
        )
    return EngineError("the engine failed", got=kind)


def _header(path: Path, delimiter: str, quote_mark: str) -> list[str]:
    """Read the first line of a CSV file, and nothing else."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    names: list[str] = []
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
            names = next(csv.reader(lines, delimiter=delimiter, quotechar=quote_mark), [])
    except (OSError, EOFError, UnicodeDecodeError, csv.Error):
        names = []
    # An empty or doubled name is told without quoting it: a file without a header has
    # values where the names should be.
    if (
        not names
        or len({n.lower() for n in names}) < len(names)
        or not all(n.strip() for n in names)
    ):
        raise MalformedFileError(
            f"{path} does not begin with a line of different column names",
            allowed="UTF-8 text with a header line",
            hint="declare the delimiter and quote in the schema's [csv] table",
        )
    return names


def _held(data: object) -> Any:  # noqa: ANN401  whatever DuckDB can register
    """Make a table in memory safe to register: columns of objects become texts first.

    DuckDB would guess the type of a column of Python objects from its values, so that one
    odd id could change everyone's; our own text reading does not.
    """
    if isinstance(data, Mapping):
        return {str(n): _plain(np.asarray(column)) for n, column in data.items()}
    if type(data).__module__.split(".")[0] == "pandas":
        frame: Any = data
        return {str(n): _plain(_pandas(frame[n])) for n in frame.columns}
    if hasattr(data, "__arrow_c_stream__"):
        return data
    raise MissingFileError(
        "a table of no kind that is read here",
        got=type(data).__name__,
        allowed="a path, a pandas, polars or Arrow table, or a mapping of arrays",
    )


def _pandas(series: Any) -> Array:  # noqa: ANN401
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(series.to_numpy())


def _plain(column: Array) -> Array:
    return reading.texts(column) if column.dtype.kind in "OUST" else column
