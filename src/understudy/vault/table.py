"""The private table: encoded once, each person known by a number, bounded on request.

Tables made in the engine, none of which leaves it:
those of `understudy.engine.CodedTable` and one ``bounded_…`` table a bounding (c0, …, w).
`understudy.vault.norm` bounds people by the question asked.

**Keyed hash.**  Where rows, cells or labels of a person must be chosen or ties broken, the
order is that of MD5 over (key, id, what is chosen), written as text, and of the rows of a view
that of numbers from MD5 over (key, id): the same on every engine, and a function of the person's
own rows, so that one person's arrival or departure moves nobody else.  The person's number is
only a shorter name for the id; it depends on the file's order and decides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from understudy.budget import Unit, Weights, resolve
from understudy.door import merged_schema, viewed_schema
from understudy.engine import CodedTable, index_sql

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.budget import AnyUnit, Capped
    from understudy.door import Candidate, Merge, View
    from understudy.engine import Cell, Columns, Engine
    from understudy.graph import Clique
    from understudy.schema import Schema

    Cells = tuple[NDArray[np.int64], NDArray[np.int64]]
    """Nonempty cells, and their counts."""
    Kept = tuple[dict[Clique, Cells], WeakKeyDictionary[Candidate, int]]
    """Marginals of weighted rows, and the candidates' distances from them."""
    Layout = list[tuple[str, int, NDArray[np.int64] | None]]
    """A code's column, its number of codes, and what they are merged into, if they are."""


def numbers(rows: Columns, layout: Layout) -> NDArray[np.int64]:
    """Return the index of each row's cell, the last column fastest."""
    number = np.zeros(len(next(iter(rows.values()))), dtype=np.int64)
    for code, size, seen in layout:
        number *= size
        number += rows[code] if seen is None else seen[rows[code]]
    return number


MOST_HELD = 2**25
"""The most codes of a table that are counted in this process's memory."""


class PrivateTable(CodedTable):
    """A private table in an engine, behind its unit."""

    with_texts = True

    def __init__(
        self, engine: Engine, data: object, *, schema: Schema, unit: AnyUnit, key: str
    ) -> None:
        """Encode every row, and number the people."""
        super().__init__(engine, data, schema=schema, unit=unit, key=key)
        self._bounded: dict[Capped, str] = {}
        self._merged: dict[str, NDArray[np.int64]] = {}
        self.views: dict[View | tuple[tuple[str, bytes], ...], PrivateTable] = {}
        self.texts: dict[str, str] = {}
        """The relation of people's distinct texts, by column."""
        self.readings: set[str] = set()
        """The relations of these that are stored as numbers, or as seconds."""
        self._place = "0"
        self._kept: dict[tuple[str, str], Kept] = defaultdict(lambda: ({}, WeakKeyDictionary()))

    def keyed_sql(self, what: str) -> str:
        """Compose the keyed hash of a value, whoever has it, as text."""
        return f"md5({self._key} || '::' || {what})"

    def index(self, clique: Clique) -> Cell:
        """Return the columns that a cell's index is made of, as the engine sees them."""
        return [(self.code[name], self.schema.domain[name]) for name in clique]

    def packed(self, clique: Clique) -> str:
        """Compose the index of a row's cell."""
        return index_sql(self.index(clique))

    def layout(self, clique: Clique) -> Layout:
        """Return the columns that a cell's index is made of, the last one fastest."""
        return [(self.code[n], self.schema.domain[n], self._merged.get(n)) for n in clique]

    def merged(self, merged: tuple[Merge, ...]) -> PrivateTable:
        """Return a view of this table with some codes merged; its rows are the same."""
        if not merged:
            return self
        asked = tuple((merge.column, merge.codes.tobytes()) for merge in merged)
        if asked not in self.views:
            table = copy(self)
            table.schema = merged_schema(self.schema, merged)
            table._merged = {merge.column: merge.codes for merge in merged}  # noqa: SLF001  its own
            table._place = f"{self._place}_{1 + len(self.views)}"  # noqa: SLF001
            for name, codes in table._merged.items():  # noqa: SLF001
                self.engine.load(
                    table._codes_as_seen(name),  # noqa: SLF001
                    {"code": np.arange(len(codes)), "seen": codes},
                )
            self.views[asked] = table
        return self.views[asked]

    def shown(self, view: View) -> PrivateTable:
        """Return this table as a view, whose rows are yet to be derived."""
        table = copy(self)
        table._place = f"{self._place}_{1 + len(self.views)}"  # noqa: SLF001  its own
        table.rows = f"view_{table._place}"  # noqa: SLF001
        table.schema = viewed_schema(self.schema, view)
        codes = self.code | {each.name: f"d{i}" for i, each in enumerate(view.derived)}
        table.code = {name: codes[name] for name in table.schema.domain}
        table._bounded, table.views = {}, {}  # noqa: SLF001
        if view.people:
            table.unit = resolve(Unit.each_row(), table.schema)
        return table

    def _codes_as_seen(self, name: str) -> str:
        return f"merged_{self._place}_{self.code[name]}"

    def kept(self, weighted: str) -> Kept:
        """Return the cache of marginals of this view, to read and to add to."""
        return self._kept[self._place, weighted]

    def held(self, weighted: str) -> Columns | None:
        """Return the weighted rows themselves, if they are few enough to count in memory.

        They are read again each time: weights may be those of one question.
        """
        (count,) = self.engine.fetch(f"SELECT count(*) AS n FROM {self.rows}")["n"]
        if not self.engine.dialect.numbers_people or count * len(self.code) > MOST_HELD:
            return None
        return self.engine.fetch(f"SELECT {', '.join(self.code.values())}, w FROM {weighted}")

    def forget(self) -> None:
        """Discard all cached counts."""
        self._kept.clear()

    def as_seen(self, weighted: str, names: set[str]) -> str:
        """Compose the relation of weighted rows, with the merged codes of some columns."""
        again = [name for name in self.code if name in names & set(self._merged)]
        if not again:
            return weighted
        kept = [self.code[name] for name in self.code if name in names - set(self._merged)]
        codes = {self.code[name]: self._codes_as_seen(name) for name in again}
        chosen = [f"b.{c}" for c in kept] + [f"{m}.seen AS {c}" for c, m in codes.items()]
        joins = " ".join(f"JOIN {m} ON {m}.code = b.{c}" for c, m in codes.items())
        return f"(SELECT {', '.join(chosen)}, b.w FROM {weighted} AS b {joins}) AS s"

    def bounded(self, bounding: Capped) -> str:
        """Return the name of the table of weighted rows, made on first use."""
        if bounding not in self._bounded:
            name = f"bounded_{self._place}_{bounding.kind}_{bounding.cap}"
            if isinstance(bounding, Weights) or self.unit.is_row:
                self.engine.view(name, self._weighted(bounding))
            else:
                self.engine.table(name, self._sampled(bounding.cap))
            self._bounded[bounding] = name
        return self._bounded[bounding]

    def _weighted(self, bounding: Capped) -> str:
        """Weigh each row floor(2¹⁶·min(1, C/R)): the weights of a person sum to at most 2¹⁶·C.

        The quotient of integers below 2⁵² is exact enough for its floor in float64.  With one row
        per person, R is 1, and sampling keeps just as much.
        """
        one, cap = bounding.unit_weight, bounding.cap
        weight = f"CASE WHEN n <= {cap} THEN {one} ELSE floor(CAST({one * cap} AS DOUBLE) / n) END"
        codes = ", ".join(self.code.values())
        return f"SELECT {codes}, CAST({weight} AS INTEGER) AS w FROM {self.sized}"

    def _sampled(self, cap: int) -> str:
        """Keep at most C rows per person, by hash of (key, id, codes, repetition)."""
        codes, one = ", ".join(self.code.values()), "CAST(1 AS INTEGER) AS w"
        written = " || ',' || ".join(f"CAST({c} AS STRING)" for c in (*self.code.values(), "again"))
        again = (
            f"SELECT *, row_number() OVER (PARTITION BY person, {codes} ORDER BY person) AS again "
            f"FROM {self.sized} WHERE n > {cap}"
        )
        hashed = f"SELECT *, {self.hash_sql(written)} AS h FROM ({self.named(again)}) AS r"
        return (
            f"SELECT {codes}, {one} FROM {self.sized} WHERE n <= {cap} "
            f"UNION ALL SELECT {codes}, {one} FROM (SELECT {codes}, row_number() OVER "
            f"(PARTITION BY person ORDER BY h, {codes}) AS place FROM ({hashed}) AS hashed) "
            f"AS placed WHERE place <= {cap}"
        )
