"""Runs SQL where tables live: DuckDB, embedded."""

from understudy.engine.coded import CodedTable
from understudy.engine.duckdb import DuckDB

__all__ = ["CodedTable", "DuckDB"]
