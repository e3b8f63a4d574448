"""DuckDB, embedded: reads files and tables in memory, and runs the SQL it is given.

DuckDB quotes offending cells in its errors.  So no exception of its ever leaves this
module, nor hangs in the chain of one that does: a call is tried, its failure is sorted by
kind, and our own error is raised after the handler has ended.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from understudy.engine.duckdb import databases
from understudy.engine.duckdb.files import CsvForm, malformed, scan
from understudy.engine.duckdb.folder import read_folder
from understudy.engine.duckdb.in_memory import InMemory, in_memory, read_once
from understudy.engine.duckdb.memory import VARIABLE, memory_limit
from understudy.engine.duckdb.spill import Spill
from understudy.engine.engine import index_sql
from understudy.engine.sources import Database, source
from understudy.errors import EngineError, MissingPackageError, StorageError, UnderstudyError, bare
from understudy.schema.encoding import reading
from understudy.schema.encoding.dialect import Dialect, literal, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import duckdb

    from understudy.engine.engine import Cell, PerPersonWork
    from understudy.schema import Array
    from understudy.schema.encoding.dialect import Kind

T = TypeVar("T")

DUCKDB = Dialect(
    seconds="TRY_CAST(floor(epoch({})) AS BIGINT)",
    # The seconds of a distant date may overflow in microseconds: those have no timestamp.
    moment="make_timestamp(TRY_CAST(CAST({} AS HUGEINT) * 1000000 AS BIGINT))",
    double_text="CAST({x} AS VARCHAR)",
    duration="epoch_us({})",
    utf8="TRY(decode({}))",
    place="CAST(enum_code(TRY_CAST({} AS {name})) AS INTEGER)",
    numbers_people=True,
)
_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_KINDS: dict[str, Kind] = {
    **dict.fromkeys((*_SIGNED, *(f"U{name}" for name in _SIGNED)), "whole"),
    "DOUBLE": "double",
    "FLOAT": "float",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "INTERVAL": "duration",
    "BLOB": "bytes",
}
_MOMENTS = {
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP_NS",
    "TIMESTAMPTZ_NS": "TIMESTAMP_NS",
    "DATE": "DATE",
}
"""Date-time types, each with the type that DuckDB can compute with."""


def _moment(x: str, declared: str) -> str:
    """Read a date-time; DuckDB cannot compute with all of those outside the calendar."""
    if declared not in _MOMENTS:
        return x
    taken = f"TRY(CAST({x} AS {_MOMENTS[declared]}))"
    if taken.endswith("_NS))"):
        return taken  # nanoseconds do not go that far
    return f"CASE WHEN {taken} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' + 1 THEN {taken} END"


def _kind(declared: str) -> Kind:
    if declared in _KINDS:
        return _KINDS[declared]
    if declared.startswith("TIME") and not declared.endswith("]"):
        return "moment" if declared.startswith("TIMESTAMP") else "time"
    # All other types, including the longest integers and decimals, are read as text.
    return "text"


class DuckDB:
    """One in-memory database with a private folder to spill to."""

    dialect = DUCKDB

    def __init__(self, *, memory: str | None = None) -> None:
        """Start the engine, with a limit of memory: by default what `memory_limit` says."""
        import duckdb  # noqa: PLC0415  a help page need not import it

        limit = memory or memory_limit()
        self._spill = Spill()
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": limit,
            "temp_directory": str(self._spill.path),
            "preserve_insertion_order": "false",
            # A filter on codes that is pushed down is worked out twice, and planned for half a
            # minute where a column has thousands of bins.
            "disabled_optimizers": "filter_pushdown",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # Object columns are text; DuckDB must not infer a type from them.
            "pandas_analyze_sample": "0",
            # A missing table must not be looked up among Python's variables.
            "python_enable_replacements": "false",
        }
        self._database: Database | None = None
        self._open: dict[str, str] = {}
        try:
            self._connection: duckdb.DuckDBPyConnection = self._try(
                lambda: duckdb.connect(":memory:", config=config), reading_input=False
            )
        except UnderstudyError:
            self._spill.close()
            raise
        # A moment's text must not depend on the machine's time zone.
        self.run("SET TimeZone = 'UTC'")
        # A progress bar on the terminal would show how long the table is.  Where it is off already
        # it is left alone: in a notebook even turning it off needs ipywidgets.
        (bar,) = self.fetch("SELECT current_setting('enable_progress_bar') AS bar")["bar"]
        if bar:
            self.run("SET enable_progress_bar = false")

    def attach(
        self, data: object, *, name: str, delimiter: str, quote_mark: str, encoding: str = "utf-8"
    ) -> dict[str, Kind]:
        """Register a table under a name, and return its columns' kinds."""
        relation = self._relation(data, name, CsvForm(delimiter, quote_mark, encoding))
        types = self._types(relation)
        columns = ", ".join(f"{_moment(quote(c), t)} AS {quote(c)}" for c, t in types.items())
        self.run(f"CREATE VIEW {name} AS SELECT {columns} FROM {relation}", reading_input=True)
        return {c: _kind(t) for c, t in types.items()}

    def _relation(self, data: object, name: str, form: CsvForm) -> str:
        """Compose the SQL that reads a file, a folder, a database's table or one in memory."""
        place = source(data) if isinstance(data, str) else data
        if isinstance(place, Database):
            return self._opened(place)
        if isinstance(place, Path):
            is_folder = os.path.isdir(place)  # noqa: PTH112  it raises for no name
            return self._gathered(place) if is_folder else scan(place, form)
        relation = f"{name}_held"

        def register() -> str:
            table = in_memory(data)
            if not isinstance(table, InMemory):
                self._connection.register(relation, table)
                return relation
            self._connection.register(relation, table.arrays())
            return table.relation(relation)

        relation = self._try(register, reading_input=True)
        if read_once(data):
            kept = f"{name}_kept"
            self.run(f"CREATE TABLE {kept} AS SELECT * FROM {relation}", reading_input=True)
            relation = kept
        return relation

    def _opened(self, database: Database) -> str:
        """Open a database read-only, and compose the SQL that reads its table."""
        self._extend(databases.extension(database))
        self._database = database
        # Two tables may be of one database, which is opened once.
        if database.address not in self._open:
            new = f"opened_{len(self._open)}"
            for statement in databases.opening(database, new):
                self.run(statement, reading_input=True)
            self._open[database.address] = new
        opened = self._open[database.address]
        found = self._fetch(databases.columns(database, opened), reading_input=True)
        if not len(found["name"]):
            raise databases.absent(database)
        listed = zip(found["name"], found["type"], strict=True)
        return databases.relation(database, opened, listed)

    def _extend(self, name: str) -> None:
        """Load an extension from this machine; nothing is ever downloaded."""
        import duckdb  # noqa: PLC0415

        file, failed = databases.packed(name, duckdb.__version__), False
        try:
            self.run(f"LOAD {name if file is None else literal(str(file))}")
        except UnderstudyError:
            failed = True
        if failed:
            raise MissingPackageError(
                f"DuckDB {duckdb.__version__} has no extension {name} installed",
                hint="pip install 'understudy[databases]'",
            )

    def _gathered(self, path: Path) -> str:
        """Compose the SQL that reads the Parquet files of a folder, after checking all of them."""
        folder = read_folder(path)
        (shapes,) = self._fetch(folder.shapes(), reading_input=True)["shapes"]
        folder.check(int(shapes), list(self._types(folder.files_alone())))
        return folder.relation()

    def _types(self, relation: str) -> dict[str, str]:
        found = self._fetch(f"DESCRIBE SELECT * FROM {relation}", reading_input=True)
        return {
            str(column): str(declared)
            for column, declared in zip(found["column_name"], found["column_type"], strict=True)
        }

    def declare(self, name: str, texts: Sequence[str]) -> None:
        """Register a list of texts under a name."""
        listed = ", ".join(map(literal, texts))
        self.run(f"CREATE TYPE {name} AS ENUM ({listed})")

    def load(self, name: str, columns: Mapping[str, Array]) -> None:
        """Create a small public table from arrays, replacing any of that name."""
        self._register("loaded", columns)
        self.table(name, "SELECT * FROM loaded")
        self._connection.unregister("loaded")

    def table(self, name: str, sql: str, *, reading_input: bool = False) -> None:
        """Run a query once and store its rows under a name, replacing any of that name."""
        self.run(f"CREATE OR REPLACE TABLE {name} AS {sql}", reading_input=reading_input)

    def view(self, name: str, sql: str, *, reading_input: bool = False) -> None:
        """Register a query as a view, replacing any of that name."""
        self.run(f"CREATE OR REPLACE VIEW {name} AS {sql}", reading_input=reading_input)

    def drop(self, name: str) -> None:
        """Drop a table."""
        self.run(f"DROP TABLE {name}")

    def weigh(
        self,
        name: str,
        work: PerPersonWork,
        *,
        rows: str,
        columns: Sequence[str],
        at_once: int,
        by_row: bool,
    ) -> None:
        """Weigh people, or rows, a batch of rows at a time, and store the weights as a table."""
        (held,) = self.fetch(f"SELECT count(*) AS n FROM {rows}")["n"]
        count, listed = 1 + int(held) // at_once, ", ".join(columns)
        # People are numbered from 0, as rows are, so that batches are about equal.
        chosen = f"SELECT {listed} FROM {rows} WHERE rowid % {count} = {{}}"
        if not by_row:
            chosen = (
                f"SELECT person, {listed} FROM {rows} WHERE person % {count} = {{}} ORDER BY person"
            )
        for part in range(count):
            self._register("worked", work(self.fetch(chosen.format(part))))
            into = f"INSERT INTO {name}" if part else f"CREATE OR REPLACE TABLE {name} AS"
            self.run(f"{into} SELECT * FROM worked")
            self._connection.unregister("worked")

    def tally(self, cells: Sequence[Cell], *, rows: str) -> dict[str, Array]:
        """Sum weights by each of some kinds of cells, in one pass."""
        names = [f"k{i}" for i in range(len(cells))]
        keys = ", ".join(f"{index_sql(cell)} AS k{i}" for i, cell in enumerate(cells))
        which = " ".join(f"WHEN grouping({k}) = 0 THEN {i}" for i, k in enumerate(names))
        return self.fetch(
            f"SELECT CASE {which} END AS which, coalesce({', '.join(names)}) AS cell, "
            f"CAST(sum(w) AS BIGINT) AS n FROM (SELECT {keys}, w FROM {rows}) AS r "
            f"GROUP BY GROUPING SETS ({', '.join(f'({k})' for k in names)})"
        )

    def write(
        self,
        columns: Mapping[str, Array],
        path: Path,
        *,
        types: Mapping[str, str],
        null: str = "",
        header: bool = True,
    ) -> None:
        """Write public arrays to a Parquet or CSV file, by its suffix.

        ``null`` is how a missing value is written in a CSV file, which may have a header.
        """
        self._register("written", columns)
        cast = ", ".join(
            f"CAST({quote(n)} AS {types[n]}) AS {quote(n)}" if n in types else quote(n)
            for n in columns
        )
        # Rows keep the order in which they were drawn, so that a resumed run writes the same file.
        self.run("SET preserve_insertion_order = true")
        csv_form = f"FORMAT csv, HEADER {header}, NULLSTR {literal(null)}"
        form = csv_form if path.suffix == ".csv" else "FORMAT parquet"
        self.run(f"COPY (SELECT {cast} FROM written) TO {literal(str(path))} ({form})")
        self._connection.unregister("written")

    def _register(self, name: str, columns: Mapping[str, Array]) -> None:
        self._try(lambda: self._connection.register(name, dict(columns)), reading_input=False)

    def run(self, sql: str, *, reading_input: bool = False) -> None:
        """Run a statement for its effect."""
        self._try(lambda: self._connection.execute(sql), reading_input=reading_input)

    def fetch(self, sql: str, *, reading_input: bool = False) -> dict[str, Array]:
        """Run a query and return its columns; a NULL is NaN, NaT or None."""
        return self._fetch(sql, reading_input=reading_input)

    def _fetch(self, sql: str, *, reading_input: bool) -> dict[str, Array]:
        found = self._try(
            lambda: self._connection.execute(sql).fetchnumpy(), reading_input=reading_input
        )
        return {name: _filled(column) for name, column in found.items()}

    def _try(self, call: Callable[[], T], *, reading_input: bool) -> T:
        try:
            return call()
        except (UnderstudyError, KeyboardInterrupt) as error:
            failure = bare(error)
        except Exception as error:  # noqa: BLE001  its text may hold a value: only its type is used
            failure = _failure(error, reading_input=reading_input, database=self._database)
        raise failure

    def close(self) -> None:
        """Close the database, and remove what was spilled."""
        self._connection.close()
        self._spill.close()


def _filled(column: Array) -> Array:
    """Fill a masked array with NaN, NaT or None, and drop the mask."""
    if not isinstance(column, np.ma.MaskedArray):
        return np.asarray(column)
    values, absent = np.asarray(column.data), np.ma.getmaskarray(column)
    if not absent.any():
        return values
    if values.dtype.kind == "M":
        return np.where(absent, np.datetime64("NaT"), values)
    if values.dtype.kind == "f":
        return np.where(absent, np.nan, values)
    return reading.nullable(values, absent)


def _failure(error: Exception, *, reading_input: bool, database: Database | None) -> BaseException:
    """Classify a failure by its type; none of its text is passed on."""
    kind = type(error).__name__
    if kind == "RuntimeError" and str(error) == "Query interrupted":
        return KeyboardInterrupt()
    # The messages of these types are about files and the system, never about cells.
    if kind in {"IOException", "OSError"} and "No space left" in str(error):
        return StorageError("the disk is full", hint="free some space in the temporary folder")
    if kind in {"OutOfMemoryException", "MemoryError"}:
        return EngineError(
            "the engine ran out of memory",
            hint=f"set the environment variable {VARIABLE}, such as to 8GB, or declare columns "
            "that are not needed as ignored",
        )
    if reading_input:
        return malformed() if database is None else databases.unread(database, str(error))
    if kind == "IOException":
        return StorageError(
            "a file could not be read or written",
            hint="check that there is space for the release and in TMPDIR",
        )
    return EngineError("the engine failed", got=kind)
