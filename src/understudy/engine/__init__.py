"""Runs SQL where tables live: DuckDB, embedded, and Spark."""

from understudy.engine.choice import engine_for
from understudy.engine.duckdb import DuckDB
from understudy.engine.duckdb.in_memory import read_once
from understudy.engine.encoding import CodedTable
from understudy.engine.engine import Cell, Columns, Engine, index_sql
from understudy.engine.sources import Database, SparkTable
from understudy.engine.two_tables import check_apart, two_tables

__all__ = [
    "Cell",
    "CodedTable",
    "Columns",
    "Database",
    "DuckDB",
    "Engine",
    "SparkTable",
    "check_apart",
    "engine_for",
    "index_sql",
    "read_once",
    "two_tables",
]
