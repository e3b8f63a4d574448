"""An attached table: of its columns those that are needed, each row's id, and its rows as codes.

The needed columns are taken once, as s0, s1, …; from there on all names are ours, so that nothing a
column is called can stand for anything else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.engine.obeying import obeying, width_of
from understudy.errors import MissingColumnError, nearest
from understudy.schema.columns import NULLS
from understudy.schema.encoding.dialect import literal, quote
from understudy.schema.encoding.expressions import number_of, part_of, seconds_of, text_of
from understudy.schema.sql import encoder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.budget import ResolvedUnit
    from understudy.engine.engine import Engine
    from understudy.schema import Column, Schema, Text
    from understudy.schema.encoding.dialect import Kind


NOTHING = "nothing"
"""The column of rows that have no codes."""


class Attached:
    """A table in an engine, from which some modelled columns and the unit's are read."""

    def __init__(
        self,
        engine: Engine,
        data: object,
        *,
        schema: Schema,
        unit: ResolvedUnit,
        columns: Sequence[Column],
        texts: Sequence[Text] = (),
        name: str = "source",
        called: str = "the table",
        hint: str = "",
    ) -> None:
        """Attach a table under a name, and raise if it lacks columns."""
        self._engine, self._unit, self._columns, self._name = engine, unit, columns, name
        self._schema = schema
        found = engine.attach(
            data,
            name=name,
            delimiter=schema.delimiter,
            quote_mark=schema.quote,
            encoding=schema.encoding,
        )
        needed = [c.table_column for c in (*columns, *texts)] + [p.column for p in unit.parts]
        self._ours = {each: f"s{i}" for i, each in enumerate(dict.fromkeys(needed))}
        missing = sorted(set(self._ours) - set(found))
        if missing:
            # The table's own column names are not listed: a file without a header has values there.
            raise MissingColumnError(
                f"{called} lacks columns that the schema or the unit names",
                got="no " + ", ".join(map(repr, missing)),
                hint=hint + _hint(missing, [c.name for c in schema.columns]),
            )
        self._kinds: dict[str, Kind] = {own: found[each] for each, own in self._ours.items()}
        self.text = {
            c.name: (text_of(own, self._kinds[own], engine.dialect), self.taken)
            for c in texts
            for own in (self._ours[c.table_column],)
        }
        """The SQL of the texts of columns that have no codes, and the view that it reads."""

    @property
    def taken(self) -> str:
        """The view of the needed columns, once the table is encoded."""
        return f"taken_{self._name}"

    def encode(self, code: Mapping[str, str], number: Mapping[str, str]) -> str:
        """Compose the relation of its rows as codes, with the id if there is one.

        ``code`` and ``number`` name the columns of codes, and of unbinned values: numbers, and the
        seconds of date-times.
        """
        e, kinds = self._engine, self._kinds
        self._take()
        columns = [
            replace(c, name=code[c.name], source=self._ours[c.table_column]) for c in self._columns
        ]
        extra = {} if self._unit.is_row else {"id": "s.id"}
        if not columns:
            # There are people all the same, and rows to count.
            extra[NOTHING] = "CAST(0 AS TINYINT)"
        for column, declared in zip(columns, self._columns, strict=True):
            if declared.name in number:
                x, kind = f"s.{column.source}", kinds[column.source]
                if declared.date_part is None:
                    read = number_of(x, text_of(x, kind, e.dialect), kind, e.dialect)
                else:
                    moment = seconds_of(x, kind, declared.date_part.format, e.dialect)
                    read = f"CAST({moment} AS DOUBLE)"
                extra[number[declared.name]] = read
        query = encoder(
            columns,
            kinds,
            table=self.taken,
            dialect=e.dialect,
            extra=extra,
            prefix=f"list_{self._name}",
        )
        for name, texts in query.lists.items():
            e.declare(name, texts)
        kept = [f"CAST(e.{c.name} AS {width_of(c.size)}) AS {c.name}" for c in columns]
        kept += [f"e.{name}" for name in extra]
        here = {c.name: code[c.name] for c in self._columns}
        numbers = {name: own for name, own in number.items() if name in here}
        return obeying(
            f"(SELECT {', '.join(kept)} FROM ({query.sql}) AS e) AS e",
            schema=self._schema,
            others=[name for name in extra if name not in numbers.values()],
            code=here,
            number=numbers,
        )

    def _take(self) -> None:
        """Create a view of the needed columns, and of the id if there is one."""
        listed = ", ".join(f"s.{quote(name)} AS {own}" for name, own in self._ours.items())
        source = f"SELECT {listed} FROM {self._name} AS s"
        if not self._unit.is_row:
            readings, key = self._unit_key()
            # Nested, so that a long expression is written once.
            read = ", ".join(f"{sql} AS {name}" for name, sql in readings.items())
            source = f"SELECT k.*, {key} AS id FROM (SELECT t.*, {read} FROM ({source}) AS t) AS k"
        self._engine.view(self.taken, source, reading_input=True)

    def _unit_key(self) -> tuple[dict[str, str], str]:
        """Compose the readings that identify a row's person, and their joint text, or NULL."""
        dialect, kinds = self._engine.dialect, self._kinds
        readings, texts = {}, []
        for i, each in enumerate(self._unit.parts):
            own, read = self._ours[each.column], f"u{i}"
            if each.part is None:
                nulls = ", ".join(literal(n) for n in NULLS)
                readings[read] = text_of(own, kinds[own], dialect)
                texts.append(f"CASE WHEN {read} IN ({nulls}) THEN NULL ELSE {read} END")
            else:
                readings[read] = seconds_of(own, kinds[own], each.format, dialect)
                taken = part_of(read, each.part, dialect)
                texts.append(f"CAST(CAST({taken} AS BIGINT) AS STRING)")
        if len(texts) > 1:
            # Lengths keep ("1", "23") and ("12", "3") apart; || gives NULL if any part is.
            texts = [" || ".join(f"CAST(length({t}) AS STRING) || ':' || {t}" for t in texts)]
        # The empty text is itself a null id, so it can stand for the one person of all null ids.
        return readings, f"coalesce({texts[0]}, '')" if self._unit.nulls == "one" else texts[0]


def _hint(missing: Sequence[str], declared: Sequence[str]) -> str:
    """Name the declared column that a unit's name almost is, or say what to check."""
    others = [name for name in declared if name not in missing]
    named = [nearest(name, others) for name in missing if name not in declared]
    meant = [hint for hint in named if hint is not None]
    return (
        meant[0]
        if meant
        else "names must match exactly; check that the first line is the header, and that no name "
        "is in a data frame's index (reset_index() makes columns of it)"
    )
