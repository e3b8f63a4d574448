"""Which engine a table is counted in: Spark for Spark's own, DuckDB for all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.engine.duckdb import DuckDB
from understudy.engine.duckdb.memory import memory_limit
from understudy.engine.sources import SparkTable, source
from understudy.engine.spark.application import is_frame
from understudy.engine.spark.engine import Spark
from understudy.engine.two_tables import tables_of
from understudy.errors import UsageError

if TYPE_CHECKING:
    from understudy.engine.engine import Engine


def engine_for(data: object, *, sparing: bool = False) -> Engine:
    """Open the engine that reads a table, or two; a sparing one leaves memory for the rows read."""
    found = [source(table) if isinstance(table, str) else table for table in tables_of(data)]
    spark = [isinstance(table, SparkTable) or is_frame(table) for table in found]
    masters = {table.master for table in found if isinstance(table, SparkTable) and table.master}
    if any(spark) and (not all(spark) or len(masters) > 1):
        raise UsageError(
            "people and rows must be in the same engine",
            got="one table of Spark and one of another kind" if not all(spark) else "two clusters",
            allowed="two tables of one Spark application, or none of Spark",
        )
    if any(spark):
        return Spark(next((t for t in found if is_frame(t)), found[-1]))
    return DuckDB(memory=memory_limit(sparing=True) if sparing else None)
