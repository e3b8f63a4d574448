"""DuckDB, embedded: files, folders, databases and tables in memory."""

from understudy.engine.duckdb.engine import DuckDB

__all__ = ["DuckDB"]
