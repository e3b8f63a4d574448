"""The encoder as SQL: the same codes as the columns' NumPy encoders, made in the engine.

One query encodes a table: nested SELECTs take texts, then fields, then readings, each once however
many columns use it, and the outermost SELECT turns readings into codes.  What a code is, a column
says itself (`Column.encode_sql`).  The SQL keeps to what DuckDB and Spark share; the few functions
that differ are named in a `Dialect`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.schema.columns import DROP
from understudy.schema.encoding.cell import Cell, Layers
from understudy.schema.encoding.dialect import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.schema.columns import Column
    from understudy.schema.encoding.dialect import Dialect, Kind


@dataclass(frozen=True, slots=True)
class Encoder:
    """A query that encodes a table, and the lists in which it looks up texts."""

    sql: str
    lists: dict[str, list[str]]
    """Name → the texts to declare to the engine under it."""


def encoder(
    columns: Sequence[Column],
    kinds: dict[str, Kind],
    *,
    table: str,
    dialect: Dialect,
    extra: dict[str, str] | None = None,
    prefix: str = "list",
) -> Encoder:
    """Compose the query that returns each column's code, by name, and the ``extra`` columns.

    Rows with any code that is to be dropped are left out.
    """
    layers, lists = Layers(), dict[str, list[str]]()
    outer = [f"r.{quote(name)}" for name in extra or {}]
    for i, column in enumerate(columns):
        cell = Cell(
            source=column.table_column,
            kind=kinds[column.table_column],
            dialect=dialect,
            layers=layers,
            lists=lists,
            list_name=f"{prefix}_{i}",
        )
        outer.append(f"CAST({column.encode_sql(cell)} AS INTEGER) AS {quote(column.name)}")
    codes = f"SELECT {', '.join(outer)} FROM ({layers.select(table, extra or {})}) AS r"
    # Only where rows may be left out: Spark computes a code twice if it is filtered on.
    dropping = [c.name for c in columns if DROP in {c.if_missing, c.if_invalid}]
    sound = " AND ".join(f"{quote(name)} <> {DROP}" for name in dropping) or "TRUE"
    return Encoder(f"SELECT * FROM ({codes}) AS e WHERE {sound}", lists)
