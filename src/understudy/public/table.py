"""A public table: read by the same engine as a private one, free of charge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.engine import DuckDB

if TYPE_CHECKING:
    from understudy.schema import Array


def read_public(data: object, *, delimiter: str = ",", quote: str = '"') -> dict[str, Array]:
    """Read a file or a table in memory that anyone may see, as column name → array."""
    engine = DuckDB()
    try:
        engine.attach(data, name="source", delimiter=delimiter, quote_mark=quote)
        return engine.fetch("SELECT * FROM source")
    finally:
        engine.close()
