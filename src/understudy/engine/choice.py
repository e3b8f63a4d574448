"""Which engine a table is counted in: Spark for Spark's own, DuckDB for all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.engine.duckdb import DuckDB
from understudy.engine.sources import SparkTable, source
from understudy.engine.spark.application import is_frame
from understudy.engine.spark.engine import Spark

if TYPE_CHECKING:
    from understudy.engine.engine import Engine


def engine_for(data: object) -> Engine:
    """Open the engine that reads a table."""
    found = source(data) if isinstance(data, str) else data
    return Spark(found) if isinstance(found, SparkTable) or is_frame(found) else DuckDB()
