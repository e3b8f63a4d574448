"""Runs SQL where tables live: DuckDB, embedded."""

from understudy.engine.duckdb import DuckDB

__all__ = ["DuckDB"]
