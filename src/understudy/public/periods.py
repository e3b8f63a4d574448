"""A public table of another time: last year's months are read as the private table's.

Codes of months count from the first declared month.  Where a public table lies outside the declared
period, all of its rows would be clipped to the nearest month and show no seasons.  So its months
are shifted, by whole years where that brings in as many of them as any other shift does.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.engine import engine_for, two_tables
from understudy.engine.duckdb.in_memory import read_once
from understudy.schema.encoding import reading
from understudy.schema.encoding.dialect import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.schema import Array, Schema, Timestamp


def moved(data: object, schema: Schema) -> Schema:
    """Return the schema to read a public table with: as many months as declared, but its own."""
    both = two_tables(data)
    if both is None:
        return _shifted(data, schema, schema.timestamps)
    own = [c for c in schema.timestamps if c.of == "person"]
    others = [c for c in schema.timestamps if c.of == "row"]
    return _shifted(both.rows, _shifted(both.people, schema, own), others)


def on_clock(codes: Mapping[str, Array], own: Schema, schema: Schema) -> dict[str, Array]:
    """Return codes of dates that were read in their own months as those of a schema.

    February may have a day more or less.
    """
    if schema.dated is None or schema.clock is None or own.dated is None:
        return dict(codes)
    name = schema.clock.name
    return {**codes, name: schema.dated.on_clock(codes[name], own.dated)}


def _shifted(data: object, schema: Schema, columns: Sequence[Timestamp]) -> Schema:
    """Return the schema with some columns of the months that a table has."""
    if not columns or read_once(data):
        return schema
    with closing(engine_for(data)) as engine:
        kinds = engine.attach(
            data,
            name="source",
            delimiter=schema.delimiter,
            quote_mark=schema.quote,
            encoding=schema.encoding,
        )
        there = [c for c in columns if c.table_column in kinds]
        return schema.with_columns(
            *(
                _moved(
                    c,
                    engine.fetch(
                        f"SELECT {quote(c.table_column)} AS moment FROM source", reading_input=True
                    )["moment"],
                )
                for c in there
            )
        )


def _moved(column: Timestamp, values: Array) -> Timestamp:
    read, _ = reading.seconds(values, column.format, column.nulls)
    months, rows = np.unique(
        reading.part(read[~np.isnan(read)], "month_index").astype(np.int64), return_counts=True
    )
    months_of = column.modelled[0]
    first, last = months_of.min or 0, months_of.max or 0
    if not len(months):
        return column

    def inside(by: int) -> int:
        return int(rows[(months + by >= first) & (months + by <= last)].sum())

    tried = range(first - int(months[-1]), last - int(months[0]) + 1)
    best = max(tried, key=lambda by: (inside(by), by % 12 == 0, -abs(by)), default=0)
    if inside(best) <= inside(0):
        return column
    ends = (np.datetime64(first - best, "M"), np.datetime64(last - best + 1, "M"))
    days = ends[0].astype("datetime64[D]"), ends[1].astype("datetime64[D]") - 1
    return replace(column, min=str(days[0]), max=str(days[1]))
