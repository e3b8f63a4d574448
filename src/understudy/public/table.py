"""A public table: read and encoded by the same engine as a private one, at no privacy cost."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Unit
from understudy.engine import CodedTable, engine_for, two_tables
from understudy.errors import MissingColumnError, UsageError
from understudy.public.packed import packed
from understudy.public.periods import moved, on_clock
from understudy.schema.encoding.dialect import quote as quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.budget import AnyUnit
    from understudy.graph import Clique
    from understudy.public.packed import Packed
    from understudy.schema import Array, Schema

    Cells = NDArray[np.int64]

DENSE = 1 << 27
"""More cells of people and codes than this are counted by sorting."""


def read_public(
    data: object, *, delimiter: str = ",", quote: str = '"', encoding: str = "utf-8"
) -> dict[str, Array]:
    """Read a public file or in-memory table, as column name → array.

    >>> sorted(read_public({"hour": [1, 2], "colour": ["red", "blue"]}))
    ['colour', 'hour']
    """
    with closing(engine_for(data)) as engine:
        engine.attach(data, name="source", delimiter=delimiter, quote_mark=quote, encoding=encoding)
        found = engine.fetch("SELECT * FROM source", reading_input=True)
        nested = {name for name, values in found.items() if _is_nested(values)}
        if not nested:
            return found
        # Lists are read by the text that their engine writes, here as in every encoding of them.
        columns = ", ".join(
            f"CAST({quoted(n)} AS STRING) AS {quoted(n)}" if n in nested else quoted(n)
            for n in found
        )
        return engine.fetch(f"SELECT {columns} FROM source", reading_input=True)


def _is_nested(values: Array) -> bool:
    """Whether the cells of a column are lists or have fields, by the first that is not empty."""
    first = next((v for v in values if v is not None), None) if values.dtype == object else None
    return isinstance(first, (list, tuple, dict, np.ndarray))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicTable:
    """Public rows as codes, grouped by person.

    `open` reads a public table itself; read it once where several sessions share it:
    ``us.PublicTable.read("last-year.parquet", schema=schema, unit=unit)``.
    """

    schema: Schema
    codes: dict[str, Array]
    """The codes of every modelled column."""
    people: NDArray[np.int64] | None
    """The number of each row's person, rising from 0; None without the unit's columns."""
    numbers: Mapping[str, NDArray[np.float64] | Packed]
    """The values of numeric columns, NaN where there is no number."""

    @classmethod
    def read(cls, data: object, *, schema: Schema, unit: AnyUnit) -> PublicTable:
        """Read and encode a table; without the unit's columns its people are unknown.

        Of two tables, people and rows, it has the rows with their people's own columns.
        """
        own = moved(data, schema)
        try:
            found = cls._read(data, own, unit, told=True)
        except MissingColumnError:
            if unit.is_row or two_tables(data) is not None:
                raise
            found = cls._read(data, own, Unit.each_row(), told=False)
        return replace(found, schema=schema, codes=on_clock(found.codes, own, schema))

    @classmethod
    def _read(cls, data: object, schema: Schema, unit: AnyUnit, *, told: bool) -> PublicTable:
        with closing(engine_for(data, sparing=True)) as engine:
            table = CodedTable(engine, data, schema=schema, unit=unit, numbers=True)
            # Sorted by id and codes, so that the order of the file does not matter; rows that are
            # people have no id but their position.
            order = ", ".join((*table.code.values(), *table.number.values()))
            found = engine.fetch(
                f"SELECT * FROM rows ORDER BY {order}"
                if unit.is_row
                else "SELECT r.* FROM rows AS r JOIN people AS p ON p.person = r.person "
                f"ORDER BY p.id, {order}"
            )
        size = len(next(iter(found.values())))
        if not size:
            raise UsageError("the public table has no rows that the schema can read")
        first = np.ones(size, dtype=bool)
        if not unit.is_row:
            first[1:] = found["person"][1:] != found["person"][:-1]
        return cls(
            schema=schema,
            codes={name: found[code] for name, code in table.code.items()},
            people=np.cumsum(first) - 1 if told else None,
            numbers={name: packed(found.pop(kept)) for name, kept in table.number.items()},
        )

    def __len__(self) -> int:
        """Count the rows."""
        return len(next(iter(self.codes.values())))

    @property
    def people_count(self) -> int | None:
        """The number of people, None where the unit's columns are not there."""
        return None if self.people is None else int(self.people.max(initial=-1)) + 1

    def cells(self, clique: Clique) -> Cells:
        """Return the number of each row's cell, the last column varying fastest."""
        number = np.zeros(len(self), dtype=np.int64)
        for name in clique:
            number *= self.schema.domain[name]
            number += self.codes[name]
        return number

    def marginal(self, clique: Clique) -> Cells:
        """Count the rows of every cell."""
        return np.bincount(self.cells(clique), minlength=self.schema.domain.cells(clique))

    def people_with(self, column: str) -> Cells:
        """Count the people who have each code of a column; rows, where people are unknown."""
        if self.people is None:
            return self.marginal((column,))
        size, count = self.schema.domain[column], int(self.people.max(initial=-1)) + 1
        held = self.people * size + self.codes[column]
        if count * size <= DENSE:
            have = np.zeros(count * size, dtype=np.bool_)
            have[held] = True
            found: Cells = have.reshape(count, size).sum(axis=0)
            return found
        return np.bincount(np.unique(held) % size, minlength=size)

    def sizes(self) -> Cells:
        """Count the rows of every person."""
        return np.bincount(self.known_people("how many rows people have"))

    def most_common(self, column: str) -> Cells:
        """Return every person's most common code of a column, the first of several.

        >>> from understudy.budget import Unit
        >>> from understudy.schema import Id, Integer, Schema
        >>> schema = Schema("t", (Id(name="who"), Integer(name="n", min=0, max=9)))
        >>> rows = {"who": [1, 1, 1, 2, 2], "n": [4, 7, 7, 5, 3]}
        >>> PublicTable.read(rows, schema=schema, unit=Unit("who")).most_common("n").tolist()
        [7, 3]
        """
        people, size = self.known_people("what people have most often"), self.schema.domain[column]
        held, counts = np.unique(people * size + self.codes[column], return_counts=True)
        # Every person's most common code comes last.
        order = np.lexsort((-held, counts, held // size))
        last = np.flatnonzero(np.diff(held[order] // size, append=-1))
        found: Cells = (held % size)[order][last]
        return found

    def known_people(self, what: str) -> NDArray[np.int64]:
        """Return the number of each row's person; raise if unknown, saying ``what`` needs it."""
        if self.people is None:
            raise UsageError(
                f"the public table does not show {what}",
                got="a table without the unit's columns",
                hint="use a public table with the unit's columns, or none",
            )
        return self.people

    def take(self, rows: Array) -> PublicTable:
        """Keep some rows, given by positions or a mask; people keep their order."""
        people = (
            None if self.people is None else np.unique(self.people[rows], return_inverse=True)[1]
        )
        return PublicTable(
            schema=self.schema,
            codes={n: c[rows] for n, c in self.codes.items()},
            people=people,
            numbers={n: v[rows] for n, v in self.numbers.items()},
        )
