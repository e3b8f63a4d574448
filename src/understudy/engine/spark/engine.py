"""Apache Spark: counts where a table is stored, on as many machines as it has.

The SQL is that of DuckDB.  A person is identified by their id, since no machine sees all of them to
number them; rows are encoded once and cached by the workers, and recomputed from the source
where a worker is lost.  So the source must return the same rows each time it is read, in whatever
order: nothing is identified by its position.
"""

from __future__ import annotations

import json
import re
import secrets
import time
import zlib
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from understudy.engine.sources import SparkTable, source
from understudy.engine.spark.application import APPLICATION, is_frame, tell_workers
from understudy.engine.spark.failures import attempt
from understudy.engine.spark.workers import tally_part, work_by_person, work_by_row
from understudy.errors import EngineError, UnderstudyError, UsageError
from understudy.schema.encoding.dialect import Dialect, literal, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from understudy.engine.engine import Cell, Columns, PerPersonWork
    from understudy.schema import Array
    from understudy.schema.encoding.dialect import Kind

T = TypeVar("T")

_SCIENTIFIC = "replace(CAST({x} AS STRING), '.0E', 'E')"
_EXPONENT = f"regexp_extract({_SCIENTIFIC}, 'E-?([0-9]+)', 1)"
_BUCKETS = "ARRAY<STRUCT<texts: ARRAY<STRING>, places: ARRAY<INTEGER>>>"
_BUCKET = "{name}[CAST(crc32(CAST({0} AS BINARY)) % size({name}) AS INTEGER)]"
SPARK = Dialect(
    seconds="unix_seconds({})",
    moment="timestamp_seconds({})",
    # Java's digits are Python's; the place of the point and the form of the exponent are not.
    double_text=(
        "CASE WHEN abs({x}) = CAST('inf' AS DOUBLE) THEN CASE WHEN {x} > 0 THEN 'inf' ELSE '-inf' "
        "END WHEN abs({x}) >= 1e-4 AND abs({x}) < 1e16 THEN regexp_replace(CAST(TRY_CAST(CAST({x} "
        "AS STRING) AS DECIMAL(38, 21)) AS STRING), '0+$', '') "
        f"ELSE regexp_extract({_SCIENTIFIC}, '^[^E]*', 0) || 'e' || "
        f"CASE WHEN instr({_SCIENTIFIC}, 'E-') > 0 THEN '-' ELSE '+' END || "
        f"lpad({_EXPONENT}, greatest(2, length({_EXPONENT})), '0') END"
    ),
    # Days as an INTEGER times 86400 would overflow from 68 years on.
    duration="CAST(CAST(CAST({} AS INTERVAL SECOND) AS DECIMAL(20, 6)) * 1000000 AS BIGINT)",
    utf8="CASE WHEN is_valid_utf8(CAST({0} AS STRING)) THEN CAST({0} AS STRING) END",
    # A list is stored as a hash table: to search a long one row by row takes minutes.
    place=(
        f"{_BUCKET}.places[CAST(nullif(array_position({_BUCKET}.texts, {{0}}), 0) - 1 AS INTEGER)]"
    ),
    numbers_people=False,
)
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "true",
    # A moment's text must not depend on the machine's time zone.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # Declared texts are taken literally.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    # Partition values are text; a malformed row or file is noticed, whichever columns are read.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Java never compiles a longer method, and would run the encoder fifty times slower.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Workers get rows in batches that are worth a call.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # A small table has a few partitions, not two hundred.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
}
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "whole"),
    "double": "double",
    "float": "float",
    "boolean": "boolean",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "moment"),
    "date": "date",
    "binary": "bytes",
}
_SHAPES: dict[str, Kind] = {
    r"interval (day|hour|minute|second)( to (hour|minute|second))?": "duration",
    r"time\([0-9]+\)": "time",
}
"""Types whose names include their precision."""
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
LOOK_EVERY, ALONE_FOR = 0.25, 60.0
"""Seconds between two checks for workers, and for which there may be none."""
BROADCAST = 10**7
"""Tables of arrays up to this number of rows are broadcast to every worker."""


class Spark:
    """A separate session in a Spark application, the user's or one that is started."""

    dialect = SPARK

    def __init__(self, data: Any) -> None:  # noqa: ANN401  a DataFrame or a SparkTable
        """Join the application of a DataFrame or a master, and start one if needed."""
        self._kept: dict[str, Any] = {}
        self._known: list[str] = []
        self._session = APPLICATION.join(data, _SETTINGS)
        self._closed = False

    def attach(
        self, data: object, *, name: str, delimiter: str, quote_mark: str, encoding: str = "utf-8"
    ) -> dict[str, Kind]:
        """Register a DataFrame, a table or files under a name, and return the columns' kinds."""
        if encoding != "utf-8":
            raise UsageError("CSV files are read in UTF-8 on Spark", got=encoding, allowed="utf-8")
        place = source(data) if isinstance(data, str) else data
        frame = self._framed(place) if is_frame(place) else self._read(place, delimiter, quote_mark)
        return attempt(lambda: _named(frame, name), reading_input=True)

    def _framed(self, data: Any) -> Any:  # noqa: ANN401
        """Bring a DataFrame of another session into this one."""
        known = f"understudy_{secrets.token_hex(8)}"

        def shared() -> Any:  # noqa: ANN401
            data.createGlobalTempView(known)
            self._known.append(known)
            place = self._session.conf.get("spark.sql.globalTempDatabase")
            return self._session.table(f"{place}.{known}")

        return attempt(shared, reading_input=True)

    def _read(self, data: Any, delimiter: str, quote_mark: str) -> Any:  # noqa: ANN401
        where: SparkTable = data
        if not where.is_files:
            return self._run(lambda: self._session.table(where.table), missing=str(where))
        if not where.is_csv:
            return self._run(lambda: self._session.read.parquet(where.table), missing=str(where))
        reader = self._session.read.options(
            header=True,
            sep=delimiter,
            quote=quote_mark,
            escape=quote_mark,
            multiLine=True,
            mode="FAILFAST",
            enforceSchema=False,
            unescapedQuoteHandling="RAISE_ERROR",
        )
        frame = self._run(lambda: reader.csv(where.table), missing=str(where))
        attempt(lambda: _named(frame, "unread"), reading_input=True)
        return self._sql(f"SELECT {_sound(frame.columns)} FROM unread", reading_input=True)

    def declare(self, name: str, texts: Sequence[str]) -> None:
        """Register a list of texts under a name."""
        buckets: list[dict[str, list[Any]]] = [{"texts": [], "places": []} for _ in texts]
        for place, text in enumerate(texts):
            bucket = buckets[zlib.crc32(text.encode()) % len(buckets)]
            bucket["texts"].append(text)
            bucket["places"].append(place)
        held = f"from_json({literal(json.dumps(buckets))}, {literal(_BUCKETS)})"
        self._sql(f"DECLARE OR REPLACE VARIABLE {name} {_BUCKETS} DEFAULT {held}")

    def load(self, name: str, columns: Mapping[str, Array]) -> None:
        """Create a small public table from arrays, replacing any of that name."""
        import pyarrow as pa  # noqa: PLC0415  comes with the extra
        from pyspark.sql.functions import broadcast  # noqa: PLC0415

        table = pa.table({n: pa.array(np.asarray(c)) for n, c in columns.items()})

        def loaded() -> None:
            frame = self._session.createDataFrame(table)
            _named(broadcast(frame) if table.num_rows <= BROADCAST else frame, name)

        attempt(loaded)

    def table(self, name: str, sql: str, *, reading_input: bool = False) -> None:
        """Run a query once and store its rows under a name, replacing any of that name."""
        self._keep(name, self._sql(sql, reading_input=reading_input), reading_input=reading_input)

    def _keep(self, name: str, frame: Any, *, reading_input: bool = False) -> None:  # noqa: ANN401
        def kept() -> None:
            frame.persist()
            try:
                # Computed now, so that errors of the input are found while it is read.
                frame.write.format("noop").mode("overwrite").save()
            except BaseException:
                frame.unpersist()
                raise
            self.drop(name)
            self._kept[name] = frame
            _named(frame, name)

        self._run(kept, reading_input=reading_input)

    def view(self, name: str, sql: str, *, reading_input: bool = False) -> None:
        """Register a query as a view, replacing any of that name."""
        frame = self._sql(sql, reading_input=reading_input)
        attempt(lambda: _named(frame, name), reading_input=reading_input)

    def drop(self, name: str) -> None:
        """Drop a table."""
        if name in self._kept:
            attempt(self._kept.pop(name).unpersist)

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
        """Weigh people, or rows, on the workers, and store the weights as a table."""

        def weighed() -> Any:  # noqa: ANN401
            if by_row:
                held = self._session.table(rows).select(*columns)
                listed = ", ".join(f"{column} {declared}" for column, declared in held.dtypes)
                return held.mapInArrow(partial(work_by_row, work), f"{listed}, w bigint")
            held = self._session.table(rows).select("person", *columns)
            whole = held.repartition("person").sortWithinPartitions("person")
            (person,) = (declared for column, declared in held.dtypes if column == "person")
            return whole.mapInArrow(
                partial(work_by_person, work, at_once), f"person {person}, w bigint"
            )

        self._keep(name, attempt(weighed))

    def tally(self, cells: Sequence[Cell], *, rows: str) -> Columns:
        """Sum weights by cell on the workers, so that only sums are shuffled."""
        columns = sorted({column for cell in cells for column, _ in cell})
        taken = ", ".join([*columns, "CAST(w AS BIGINT) AS w"])
        held = self._sql(f"SELECT {taken} FROM {rows}")
        work = partial(tally_part, cells)

        def tallied() -> Any:  # noqa: ANN401
            parts = held.mapInArrow(work, "which INTEGER, cell BIGINT, n BIGINT")
            return parts.groupBy("which", "cell").sum("n").toDF("which", "cell", "n").toArrow()

        found = self._run(tallied)
        return {n: found[n].to_numpy() for n in found.column_names}

    def fetch(self, sql: str, *, reading_input: bool = False) -> Columns:
        """Run a query and return its columns; a NULL is NaN, NaT or None."""
        planned = self._sql(sql, reading_input=reading_input)
        found = self._run(planned.toArrow, reading_input=reading_input)
        return {n: found[n].to_numpy() for n in found.column_names}

    def _sql(self, sql: str, *, reading_input: bool = False) -> Any:  # noqa: ANN401
        return attempt(lambda: self._session.sql(_escaped(sql)), reading_input=reading_input)

    def _run(
        self, call: Callable[[], T], *, reading_input: bool = False, missing: str | None = None
    ) -> T:
        """Run a job while there are workers for it."""
        watch = Watch(self._session.sparkContext)

        def watched() -> T:
            with watch:
                return call()

        try:
            return attempt(watched, reading_input=reading_input, missing=missing)
        except UnderstudyError as error:
            failure = _alone() if watch.alone else error
        raise failure

    def close(self) -> None:
        """Release everything, and stop what was started; calling it again does nothing."""
        if self._closed:
            return
        self._closed = True
        # A cluster that is gone has nothing left to release.
        for frame in self._kept.values():
            with suppress(Exception):
                frame.unpersist()
        for name in self._known:
            with suppress(Exception):
                self._session.catalog.dropGlobalTempView(name)
        self._kept.clear()
        APPLICATION.leave()


class Watch(Thread):
    """Cancels a job for which no worker is left: Spark itself would wait forever.

    Workers may also join while a job runs, with their logs on.
    """

    def __init__(self, context: Any) -> None:  # noqa: ANN401  a SparkContext
        """Watch over the jobs that run inside the context."""
        super().__init__(daemon=True)
        self._context = context
        # A tag, since a job has only one group, which may be the user's.
        self._tag = f"understudy-{secrets.token_hex(8)}"
        self._over = Event()
        self.alone = False

    def run(self) -> None:
        """Check regularly; cancel the job once there has been no worker for a while."""
        last = time.monotonic()
        while not self._over.wait(LOOK_EVERY):
            # If Spark does not answer, the job has ended with it.
            with suppress(Exception):
                tell_workers(self._context, "OFF")
                if _attended(self._context):
                    last = time.monotonic()
                elif time.monotonic() - last > ALONE_FOR:
                    self.alone = True
                    self._context.cancelJobsWithTag(self._tag)

    def __enter__(self) -> None:
        """Start watching."""
        tell_workers(self._context, "OFF")
        self._context.addJobTag(self._tag)
        self.start()

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        self._over.set()
        self.join()
        with suppress(Exception):
            self._context.removeJobTag(self._tag)


def _attended(context: Any) -> bool:  # noqa: ANN401  a SparkContext
    """Return whether there is any worker."""
    spark = context._jsc.sc()  # noqa: SLF001
    # The driver counts as one; that of a local master does the work itself.
    return bool(spark.isLocal() or spark.getExecutorMemoryStatus().size() > 1)


def _named(frame: Any, name: str) -> dict[str, Kind]:  # noqa: ANN401
    """Register a DataFrame under a name, and return its columns' kinds."""
    frame.createOrReplaceTempView(name)
    return {column: _kind(declared) for column, declared in frame.dtypes}


def _kind(declared: str) -> Kind:
    """Return the kind of a Spark type."""
    for shape, kind in _SHAPES.items():
        if re.fullmatch(shape, declared):
            return kind
    return _KINDS.get(declared, "text")


def _sound(columns: Sequence[str]) -> str:
    """Compose the columns of a CSV file, failing on replaced bytes, which were not UTF-8.

    Two different ids with such bytes would become one.
    """
    refused = "CAST(raise_error('') AS STRING)"
    return ", ".join(
        f"CASE WHEN instr({c}, '\ufffd') > 0 THEN {refused} ELSE {c} END AS {c}"
        for c in map(quote, columns)
    )


def _alone() -> EngineError:
    return EngineError(
        "the cluster has no workers",
        hint="start workers, and resume the run: nothing is charged twice",
    )


def _escaped(sql: str) -> str:
    """Escape backslashes in literals for Spark."""
    return _QUOTED.sub(lambda m: m[0].replace("\\", "\\\\") if m[0][0] == "'" else m[0], sql)
