"""Decoded rows: values for codes and ids for people, batch by batch, or all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from understudy.budget import ResolvedUnit
    from understudy.public import Batch, Batches, Within
    from understudy.public.batches import People
    from understudy.schema import Array, Codes, Column, Schema
    from understudy.schema.columns.column import Of


class Decoded:
    """The rows of a synthetic table.  They are the same however they are read."""

    def __init__(
        self,
        batches: Batches,
        *,
        schema: Schema,
        unit: ResolvedUnit,
        within: Mapping[str, Within],
        rng: np.random.Generator,
        of: Of | None = None,
    ) -> None:
        """Decode nothing yet; with ``of`` only columns of people, or only those of rows."""
        self.sizes = batches.sizes
        """The rows of each batch."""
        self._batches: Batches | None = batches
        self._released = [c for c in schema.released_columns if of in {None, c.of}]
        self._within, self._order_by = within, schema.order_by
        self.ids = _first_ids(schema, unit)
        """The first synthetic person's id, in each of the unit's columns that are ids."""
        self._seed = int(rng.integers(2**63))
        self._columns: dict[str, Array] = {}

    @property
    def columns(self) -> dict[str, Array]:
        """All rows, column by column; kept in memory after the first access."""
        if self._batches is not None:
            parts: dict[str, list[Array]] = {}
            for batch in self:
                for name, column in batch.items():
                    parts.setdefault(name, []).append(column)
            self._columns = {name: np.concatenate(parts.pop(name)) for name in list(parts)}
            # The batches are no longer needed, and may be large.
            self._batches = None
        return self._columns

    def __iter__(self) -> Iterator[dict[str, Array]]:
        """Yield the rows a batch at a time; only one is in memory, unless all are."""
        if self._batches is None:
            last = 0
            for size in self.sizes:
                here, last = slice(last, last + size), last + size
                yield {name: column[here] for name, column in self._columns.items()}
        else:
            for i, batch in enumerate(self._batches):
                yield self._decoded(batch, np.random.default_rng((self._seed, i)))

    def _decoded(self, batch: Batch, rng: np.random.Generator) -> dict[str, Array]:
        def draw(column: Column, codes: Codes) -> Array:
            drawn, within = column.decode(codes, rng), self._within.get(column.name)
            return drawn if within is None else within.redraw(drawn, codes, rng)

        columns: dict[str, Array] = {}
        if batch.people is not None:
            columns = {name: batch.people + first for name, first in self.ids.items()}
        for column in self._released:
            columns[column.name] = column.joined(batch.codes, draw, rng)
        return columns if batch.people is None else self._in_order(columns, batch.people)

    def _in_order(self, columns: dict[str, Array], people: People) -> dict[str, Array]:
        """Put the rows of people who come one after the other in the order of their values.

        Codes are in order already; of two moments of a month, only their values tell.
        """
        keys = [columns[name] for name in self._order_by if name in columns]
        if not keys or np.any(people[1:] < people[:-1]):
            return columns
        order = np.lexsort([*(_sortable(key) for key in reversed(keys)), people])
        return {name: column[order] for name, column in columns.items()}


def _sortable(values: Array) -> Array:
    """Return values that sort, with absent ones last."""
    if values.dtype != np.object_:
        return values
    absent = np.array([value is None for value in values], dtype=np.bool_)
    return np.where(absent, np.inf, np.where(absent, 0, values)).astype(np.float64)


def _first_ids(schema: Schema, unit: ResolvedUnit) -> dict[str, int]:
    """Return the first synthetic person's id, in the unit's columns that are ids."""
    declared = {c.name: c.min for c in schema.ids}
    drawn = {c.name for c in (*schema.modelled, *schema.released_columns)}
    # A column that is modelled as several is released as one.
    drawn |= {c.table_column for c in schema.released_columns if c not in c.modelled}
    named = [p.column for p in unit.parts if p.part is None and p.column not in drawn]
    firsts = {name: declared.get(name) for name in named}
    return {name: 1 if first is None else first for name, first in firsts.items()}
