"""DuckDB, embedded: reads files and tables in memory, and runs the SQL it is given.

DuckDB quotes offending cells in its errors.  So no exception of its ever leaves this
module, nor hangs in the chain of one that does: a call is tried, its failure is sorted by
kind, and our own error is raised after the handler has ended.
"""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from understudy.engine.held import filled, held, read_once
from understudy.engine.spill import Spill
from understudy.errors import (
    EngineError,
    MalformedFileError,
    MissingFileError,
    StorageError,
    UnderstudyError,
)
from understudy.schema.sql import Dialect, literal, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import duckdb

    from understudy.schema import Array
    from understudy.schema.sql import Kind

T = TypeVar("T")

DUCKDB = Dialect(
    seconds="TRY_CAST(floor(epoch({})) AS BIGINT)",
    # Seconds of a far date may be too many for microseconds: those have no timestamp.
    moment="make_timestamp(TRY_CAST(CAST({} AS HUGEINT) * 1000000 AS BIGINT))",
    place="CAST(enum_code(TRY_CAST({} AS {name})) AS INTEGER)",
)
MEMORY = "1200MB"
LONGEST_LINE = 2**24
"""The most bytes of a line of CSV.  DuckDB's own 2 MB would refuse a table for one long cell."""
_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WHOLE = frozenset((*_SIGNED, *(f"U{name}" for name in _SIGNED)))
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
_MOMENTS = {
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "TIMESTAMPTZ_NS": "TIMESTAMP_NS",
}
"""Types of date-times that DuckDB cannot compute with for every value, and one that it can."""


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

        self._spill = Spill()
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory,
            "temp_directory": str(self._spill.path),
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # Columns of objects are texts; DuckDB is not to look into them for a type.
            "pandas_analyze_sample": "0",
        }
        try:
            self._connection: duckdb.DuckDBPyConnection = self._try(
                lambda: duckdb.connect(":memory:", config=config), reading_input=False
            )
        except UnderstudyError:
            self._spill.close()
            raise
        # A moment's text must not depend on where the machine stands.
        self.run("SET TimeZone = 'UTC'")

    def attach(
        self, data: object, *, name: str, delimiter: str, quote_mark: str
    ) -> dict[str, Kind]:
        """Make a file or a table in memory known by a name, and give its columns' kinds."""
        if isinstance(data, (str, Path)):
            source = _scan(Path(data), delimiter, quote_mark)
        else:
            source = f"{name}_held"
            self._try(lambda: self._connection.register(source, held(data)), reading_input=True)
            if read_once(data):
                kept = f"{name}_kept"
                self.run(f"CREATE TABLE {kept} AS SELECT * FROM {source}", reading_input=True)
                source = kept
        types = self._types(source)
        columns = ", ".join(
            f"TRY(CAST({quote(c)} AS {_MOMENTS[t]})) AS {quote(c)}" if t in _MOMENTS else quote(c)
            for c, t in types.items()
        )
        self.run(f"CREATE VIEW {name} AS SELECT {columns} FROM {source}", reading_input=True)
        return {c: _kind(t) for c, t in types.items()}

    def _types(self, source: str) -> dict[str, str]:
        found = self._fetch(f"DESCRIBE SELECT * FROM {source}", reading_input=True)
        return {
            str(column): str(declared)
            for column, declared in zip(found["column_name"], found["column_type"], strict=True)
        }

    def declare(self, name: str, texts: Sequence[str]) -> None:
        """Make a list of texts known by a name."""
        listed = ", ".join(map(literal, texts))
        self.run(f"CREATE TYPE {name} AS ENUM ({listed})")

    def load(self, name: str, columns: Mapping[str, Array]) -> None:
        """Make a small public table from arrays."""
        self._register("loaded", columns)
        self.run(f"CREATE TABLE {name} AS SELECT * FROM loaded")
        self._connection.unregister("loaded")

    def write(
        self, columns: Mapping[str, Array], path: Path, *, types: Mapping[str, str], null: str = ""
    ) -> None:
        """Write arrays that anyone may see to a Parquet or CSV file, by its ending.

        ``null`` is what a missing value is written as in a CSV file.
        """
        self._register("written", columns)
        cast = ", ".join(
            f"CAST({quote(n)} AS {types[n]}) AS {quote(n)}" if n in types else quote(n)
            for n in columns
        )
        # Rows come out as they were drawn, so that a resumed run writes the same file.
        self.run("SET preserve_insertion_order = true")
        csv_form = f"FORMAT csv, HEADER, NULLSTR {literal(null)}"
        form = csv_form if path.suffix == ".csv" else "FORMAT parquet"
        self.run(f"COPY (SELECT {cast} FROM written) TO {literal(str(path))} ({form})")
        self._connection.unregister("written")

    def _register(self, name: str, columns: Mapping[str, Array]) -> None:
        self._try(lambda: self._connection.register(name, dict(columns)), reading_input=False)

    def run(self, sql: str, *, reading_input: bool = False) -> None:
        """Run a statement for its effect."""
        self._try(lambda: self._connection.execute(sql), reading_input=reading_input)

    def fetch(self, sql: str) -> dict[str, Array]:
        """Run a query and give its columns; a NULL is NaN, NaT or None."""
        return self._fetch(sql, reading_input=False)

    def _fetch(self, sql: str, *, reading_input: bool) -> dict[str, Array]:
        found = self._try(
            lambda: self._connection.execute(sql).fetchnumpy(), reading_input=reading_input
        )
        return {name: filled(column) for name, column in found.items()}

    def _try(self, call: Callable[[], T], *, reading_input: bool) -> T:
        try:
            return call()
        except UnderstudyError:
            raise
        except Exception as error:  # noqa: BLE001  its text may hold a value: only its kind is used
            failure = _failure(error, reading_input=reading_input)
        raise failure

    def close(self) -> None:
        """Forget everything, and remove what was spilled."""
        self._connection.close()
        self._spill.close()


def _failure(error: Exception, *, reading_input: bool) -> BaseException:
    """Sort a failure by its kind; nothing of its text goes on."""
    kind = type(error).__name__
    if kind == "RuntimeError" and str(error) == "Query interrupted":
        return KeyboardInterrupt()
    # The texts of these kinds are of files and the system, never of cells.
    if kind in {"IOException", "OSError"} and "No space left" in str(error):
        return StorageError("the disk is full", hint="free some space in the temporary folder")
    if kind in {"OutOfMemoryException", "MemoryError"}:
        return EngineError(
            "the engine ran out of memory", hint="close other programs, or use fewer columns"
        )
    if reading_input:
        return MalformedFileError(
            "the table is not well-formed",
            allowed="UTF-8 CSV with the declared delimiter and quote, every row as long as the "
            f"header and of at most {LONGEST_LINE >> 20} MiB, or Parquet",
            hint="check the file with a tool of your own; no line or value is named here",
        )
    if kind == "IOException":
        return StorageError(
            "a file could not be read or written",
            hint="is there space where the release and TMPDIR are?",
        )
    return EngineError("the engine failed", got=kind)


def _scan(path: Path, delimiter: str, quote_mark: str) -> str:
    """Compose the SQL that reads a file, after a look at its beginning."""
    lower = path.name.lower()
    if not lower.endswith((*_CSV, *_PARQUET)):
        raise MissingFileError(
            f"{path} is of no kind that is read here", allowed=", ".join((*_CSV, *_PARQUET))
        )
    if not os.path.isfile(path):  # noqa: PTH113  Path.is_file fails for a name that is too long
        raise MissingFileError(f"there is no file {path}")
    # The folders' names say nothing of the rows, even if one is called id=5.
    options = f"{literal(_unglobbed(str(path)))}, hive_partitioning = false"
    if lower.endswith(_PARQUET):
        return f"read_parquet({options})"
    names = _header(path, delimiter, quote_mark)
    columns = ", ".join(f"{literal(n)}: 'VARCHAR'" for n in names)
    mark = literal(quote_mark)
    packed = "gzip" if lower.endswith(".gz") else "none"
    return (
        f"read_csv({options}, auto_detect = false, header = true, delim = {literal(delimiter)}, "
        f"quote = {mark}, escape = {mark}, strict_mode = true, null_padding = false, "
        f"compression = '{packed}', max_line_size = {LONGEST_LINE}, "
        f"buffer_size = {4 * LONGEST_LINE}, columns = {{{columns}}})"
    )


def _unglobbed(path: str) -> str:
    """Keep DuckDB from taking a path for a pattern, which could match other files."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


def _header(path: Path, delimiter: str, quote_mark: str) -> list[str]:
    """Read the first line of a CSV file, and nothing else."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    names: list[str] = []
    unread: str | None = None
    try:
        # Bytes that are no UTF-8 become surrogates: those of later lines are not judged here.
        with opener(
            path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""
        ) as lines:
            names = next(csv.reader(lines, delimiter=delimiter, quotechar=quote_mark), [])
    except (gzip.BadGzipFile, EOFError, zlib.error, csv.Error):
        names = []
    except OSError as error:
        unread = error.strerror
    if unread is not None:
        raise MissingFileError(f"{path} cannot be read", got=unread)
    # An empty or doubled name is told without quoting it: a file without a header has
    # values where the names should be.
    if not names or len({n.lower() for n in names}) < len(names) or not all(map(_is_name, names)):
        raise MalformedFileError(
            f"{path} does not begin with a line of different column names",
            allowed="UTF-8 text with a header line",
            hint="declare the delimiter and quote in the schema's [csv] table",
        )
    return names


def _is_name(text: str) -> bool:
    whole = text.encode("utf-8", "ignore").decode() == text
    return whole and bool(text.strip()) and "\x00" not in text
