"""Decoded rows: values for codes and ids for people, batch by batch, or all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

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
        within: Within | None,
        rng: np.random.Generator,
        of: Of | None = None,
    ) -> None:
        """Decode nothing yet; with ``of`` only columns of people, or only those of rows."""
        self.sizes = batches.sizes
        """The rows of each batch."""
        self._batches: Batches | None = batches
        self._released = [c for c in schema.released_columns if of in {None, c.of}]
        self._within, self._keeper = within, schema.keeper
        self._order_by = schema.order_by
        self.owners: Owners | None = None
        """The people whose rows these are, where constraints are about their own columns too."""
        self.ids = ids_of(schema, unit)
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
        ids: dict[str, Array] = {}
        if batch.people is not None:
            ids = {name: batch.people + first for name, first in self.ids.items()}
        own, values = ({}, {}) if self.owners is None else self.owners.of(batch)
        codes = self._keeper.kept({**batch.codes, **own}, rng, fixed=own)
        parts = [part.name for column in self._released for part in column.modelled]
        public = {} if self._within is None else self._within.drawn(codes, parts, rng)
        for name, numbers in batch.values.items():
            # What constraints have changed has no value of its own.
            known = ~np.isnan(numbers) & (codes[name] == batch.codes[name])
            better = np.nan_to_num(numbers)
            if name in public:
                drawn, there = public[name]
                better, known = np.where(known, better, drawn), known | there
            public[name] = better, known

        def draw(column: Column, codes: Codes) -> Array:
            drawn = column.decode(codes, rng)
            if column.name in public:
                better, known = public[column.name]
                drawn[known] = better[known]
            return drawn

        for column in self._released:
            if not self._keeper.is_sum(column.name):
                values[column.name] = column.joined(codes, draw, rng)
        self._keeper.finish(values, codes, rng, fixed=own)
        columns = ids | {column.name: values[column.name] for column in self._released}
        return columns if batch.people is None else self._in_order(columns, batch.people)

    def _in_order(self, columns: dict[str, Array], people: People) -> dict[str, Array]:
        """Put the moments of people who come one after the other in order.

        Codes are in order already, and with them what follows what; of two moments of a month, only
        their values tell.  So moments alone change places, unless constraints tie them to others.
        """
        keys = [columns[name] for name in self._order_by if name in columns]
        if not keys or np.any(people[1:] < people[:-1]):
            return columns
        order = np.lexsort([*(_sortable(key) for key in reversed(keys)), people])
        ordering = [c for c in self._released if c.name in self._order_by]
        parts = {part.name for c in ordering for part in c.modelled} | set(self._order_by)
        tied = any(parts & set(c.columns) for c in self._keeper.constraints)
        moved = set(columns) if tied else set(self._order_by)
        return {n: column[order] if n in moved else column for n, column in columns.items()}


def in_order(schema: Schema, codes: Mapping[str, Codes], people: People) -> NDArray[np.intp]:
    """Return the order of rows by person, and of a person's by the declared order of codes.

    Rows that were not drawn in the order of dates have none, but months.  Those of others may have
    changed since, so months come first.
    """
    names = schema.ordering
    if schema.clock is not None:
        dated = schema.clock.name in codes
        names = (*schema.told_by_clock[: 1 if dated else 2], *names[0 if dated else 1 :])
    keys: list[NDArray[Any]] = [codes[name] for name in reversed(names) if name in codes]
    return np.lexsort([*keys, people])


def _sortable(values: Array) -> Array:
    """Return values that sort, with absent ones last."""
    if values.dtype != np.object_:
        return values
    absent = np.array([value is None for value in values], dtype=np.bool_)
    return np.where(absent, np.inf, np.where(absent, 0, values)).astype(np.float64)


class Owners:
    """People whose rows are decoded apart: their own codes, and the values that these became."""

    def __init__(self, people: Batches, decoded: Decoded) -> None:
        """Take the people, who are all in memory."""
        batch = people.whole()
        assert batch.people is not None  # noqa: S101  they are people
        self._numbers, self._codes, self._decoded = batch.people, batch.codes, decoded

    def of(self, batch: Batch) -> tuple[dict[str, Codes], dict[str, Array]]:
        """Return the own codes and values of each row's person."""
        assert batch.people is not None  # noqa: S101  they are of people
        whose = np.searchsorted(self._numbers, batch.people)
        values = self._decoded.columns
        return (
            {name: codes[whose] for name, codes in self._codes.items()},
            {name: column[whose] for name, column in values.items()},
        )


def ids_of(schema: Schema, unit: ResolvedUnit) -> dict[str, int]:
    """Return the first synthetic person's id, in the unit's columns that are ids."""
    declared = {c.name: c.min for c in schema.ids}
    drawn = {c.name for c in (*schema.modelled, *schema.released_columns)}
    # A column that is modelled as several is released as one.
    drawn |= {c.table_column for c in schema.released_columns if c not in c.modelled}
    named = [p.column for p in unit.parts if p.part is None and p.column not in drawn]
    firsts = {name: declared.get(name) for name in named}
    return {name: 1 if first is None else first for name, first in firsts.items()}
