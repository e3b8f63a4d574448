"""A cell as SQL: what a column's encoder reads, before any domain is applied.

The readings are those of `schema.encoding.reading`, by the same names and with the same two
answers: what was read, and when nothing is there.  Each is a nested SELECT of its own, so that
columns of one source share it, and a long expression is written once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from understudy.schema.encoding.calendar import compile_format
from understudy.schema.encoding.dialect import literal, quote
from understudy.schema.encoding.expressions import (
    STAMPED,
    double,
    group,
    number_of,
    prefix_of,
    seconds_at,
    seconds_in,
    text_of,
)
from understudy.schema.encoding.reading import STAMP, null_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.schema.encoding.dialect import Dialect, Kind

SHORT = 4
"""The most texts in one IN."""
RAW, TEXT, FIELD, READING, TAKEN = range(5)
"""The levels of nested SELECTs: each is made of those below."""


@dataclass(slots=True)
class Layers:
    """Nested SELECTs: an expression is put on a level once, and has a name above it."""

    floors: list[dict[str, str]] = field(default_factory=lambda: [{} for _ in range(TAKEN + 1)])

    def put(self, floor: int, sql: str) -> str:
        """Return the name of an expression on a level, new or existing."""
        return self.floors[floor].setdefault(sql, f"v{floor}_{len(self.floors[floor])}")

    def select(self, table: str, extra: dict[str, str]) -> str:
        """Compose the query; ``extra`` columns are taken from the table and passed through."""
        ground = [f"{sql} AS {quote(name)}" for name, sql in extra.items()]
        ground += [f"{sql} AS {name}" for sql, name in self.floors[RAW].items()]
        query = f"SELECT {', '.join(ground)} FROM {table} AS s"
        for made in filter(None, self.floors[TEXT:]):
            listed = ", ".join(f"{sql} AS {name}" for sql, name in made.items())
            query = f"SELECT p.*, {listed} FROM ({query}) AS p"
        return query


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of one of the table's columns, in a query that is being composed.

    `number`, `seconds` and `place` return two expressions: the reading, NULL where it is none, and
    a test for an absent value.  An encoder makes of them what it needs, and takes that into the
    outermost SELECT with `take`.
    """

    source: str
    """The table's column."""
    kind: Kind
    """What the table's column holds."""
    dialect: Dialect
    layers: Layers
    lists: dict[str, list[str]]
    """The lists that the query looks texts up in, of all columns."""
    list_name: str
    """The name of this column's list, if it has one."""

    @property
    def raw(self) -> str:
        """The value as the table holds it."""
        return self.layers.put(RAW, f"s.{quote(self.source)}")

    @property
    def text(self) -> str:
        """The value's text, NULL where it is absent."""
        return self.layers.put(TEXT, text_of(self.raw, self.kind, self.dialect))

    def take(self, sql: str) -> str:
        """Return the name that an expression of readings has in the outermost SELECT."""
        return f"r.{self.layers.put(TAKEN, sql)}"

    def number(self, nulls: Iterable[str]) -> tuple[str, str]:
        """Read a DOUBLE."""
        x, texts = self.raw, tuple(nulls)
        number = self.layers.put(READING, number_of(x, self.text, self.kind, self.dialect))
        tests = [f"{x} IS NULL"]
        if self.kind in ("double", "float"):
            tests.append(f"isnan({x})")
        elif self.kind not in ("whole", "duration"):
            tests += [f"{self.text} IS NULL", among(self.text, texts)]
        listed = ", ".join(map(double, null_numbers(texts)))
        if listed:
            tests.append(f"coalesce({number} IN ({listed}), FALSE)")
        return number, " OR ".join(tests)

    def seconds(self, written: str | None, nulls: Iterable[str]) -> tuple[str, str]:
        """Read whole seconds since 1970; a text as it is ``written``, or else as ISO 8601."""
        x, texts = self.raw, tuple(nulls)
        if self.kind not in STAMPED:
            absent = f"{x} IS NULL OR {self.text} IS NULL OR {among(self.text, texts)}"
            return self._written(written), absent
        # A date outside the calendar is absent too: an engine may have no number for it.
        read = self.layers.put(READING, seconds_at(x, self.dialect))
        tests = [f"{x} IS NULL", f"{read} IS NULL"]
        # Its text is needed only where a text of its kind means a missing value.
        if any(re.fullmatch(STAMP, text) for text in texts):
            tests += [f"{self.text} IS NULL", among(self.text, texts)]
        return read, " OR ".join(tests)

    def _written(self, written: str | None) -> str:
        """Parse the text of a date-time, each field once."""
        read = []
        for form in dict.fromkeys((written, None)):
            compiled = compile_format(form)
            fields = range(len(compiled.fields) + 1)
            groups = [self.layers.put(FIELD, group(self.text, compiled, n)) for n in fields]
            read.append(seconds_in(groups, compiled, self.dialect))
        return self.layers.put(READING, f"coalesce({', '.join(read)})")

    def place(self, texts: list[str], nulls: Iterable[str]) -> tuple[str, str]:
        """Look up the position of the cell's text in a list, from 0.

        Most texts are listed as they are; only the others are parsed.  What is listed reads as
        itself, so that both ways lead to the same place.
        """
        self.lists[self.list_name] = texts
        t = self._unlisted
        place = self._find(t)
        if self.kind == "text":
            place = f"coalesce({self._listed}, CASE WHEN {t} <> {self._cast} THEN {place} END)"
        return place, f"{t} IS NULL OR {among(t, nulls)}"

    def prefix_place(self, length: int) -> str:
        """Look up the position of the text's first characters in the list of `place`.

        It is NULL where the text itself is listed as it is: that needs no prefix.
        """
        return self._find(self.layers.put(READING, prefix_of(self._unlisted, length)))

    @property
    def _cast(self) -> str:
        return f"CAST({self.raw} AS STRING)"

    @property
    def _listed(self) -> str:
        """The position of a text that is listed as it is."""
        return self.layers.put(TEXT, self._find(self._cast))

    @property
    def _unlisted(self) -> str:
        """The cell's text; of a column of texts, NULL where it is listed as it is."""
        if self.kind != "text":
            return self.text
        read = text_of(self.raw, self.kind, self.dialect)
        return self.layers.put(FIELD, f"CASE WHEN {self._listed} IS NULL THEN {read} END")

    def _find(self, text: str) -> str:
        return self.dialect.place.format(text, name=self.list_name)


def among(text: str, texts: Iterable[str]) -> str:
    """Compose a test for membership in a list of texts, FALSE for NULL."""
    # In short lists: DuckDB turns a long one into a join, and many columns into many joins.
    listed = [literal(t) for t in texts]
    parts = [", ".join(listed[i : i + SHORT]) for i in range(0, len(listed), SHORT)]
    found = " OR ".join(f"{text} IN ({part})" for part in parts)
    return f"coalesce({found}, FALSE)" if found else "FALSE"
