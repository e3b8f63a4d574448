"""A table as codes: every row encoded, each person known by a number.

Tables made in the engine: ``rows`` (person, c0, c1, …: one code a modelled column), ``sizes``
(person, n: rows kept) and ``people`` (person, id).  A person is a number where the engine can
number ids, and else goes by the id itself.  Where each row is a person there is neither ``person``
nor ``people``: a row has no name that a lost worker's successor would give to the same row again,
and so all that is asked of it is worked out from the row itself.  Private and public tables are
laid out alike; what may leave the engine is the business of `understudy.vault` and
`understudy.public`.

Of the table's own columns those that are needed are taken once, as s0, s1, …; from there on all
names are ours, so that nothing a column is called can stand for anything else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.budget import resolve
from understudy.errors import MissingColumnError
from understudy.schema.columns import NULLS
from understudy.schema.encoding.dialect import literal, quote
from understudy.schema.encoding.expressions import number_of, part_of, seconds_of, text_of
from understudy.schema.sql import encoder

if TYPE_CHECKING:
    from understudy.budget import AnyUnit
    from understudy.engine.engine import Engine
    from understudy.schema import Schema
    from understudy.schema.encoding.dialect import Kind


def _width(size: int) -> str:
    return "TINYINT" if size <= 2**7 else "SMALLINT" if size <= 2**15 else "INTEGER"


class CodedTable:
    """An encoded table in an engine, with numbered people."""

    def __init__(
        self,
        engine: Engine,
        data: object,
        *,
        schema: Schema,
        unit: AnyUnit,
        numbers: bool = False,
        rows: bool = True,
    ) -> None:
        """Attach, check the structure, encode every row, and number the people.

        With ``numbers`` the rows keep the unbinned values of binned columns, as v0, v1, ….  Without
        ``rows`` only the structure is checked.
        """
        self.engine = engine
        self.schema = schema
        self.unit = resolve(unit, schema)
        self.rows = "rows"
        self.code = {c.name: f"c{i}" for i, c in enumerate(schema.modelled)}
        self.number = {
            c.name: f"v{i}" for i, c in enumerate(schema.modelled) if numbers and c.is_binned
        }
        kinds = engine.attach(
            data, name="source", delimiter=schema.delimiter, quote_mark=schema.quote
        )
        needed = [c.table_column for c in schema.modelled] + [p.column for p in self.unit.parts]
        self._own = {name: f"s{i}" for i, name in enumerate(dict.fromkeys(needed))}
        self._check_columns(kinds)
        if rows:
            self._encode({own: kinds[name] for name, own in self._own.items()})

    def _check_columns(self, kinds: dict[str, Kind]) -> None:
        missing = sorted(set(self._own) - set(kinds))
        if missing:
            # The table's own column names are not listed: a file without a header has values there.
            raise MissingColumnError(
                "the table lacks columns that the schema or the unit names",
                got="no " + ", ".join(map(repr, missing)),
                hint="names must match exactly; check that the first line is the header",
            )

    def _unit_key(self, kinds: dict[str, Kind]) -> tuple[dict[str, str], str]:
        """Compose the readings that identify a row's person, and their joint text, or NULL."""
        dialect = self.engine.dialect
        readings, texts = {}, []
        for i, each in enumerate(self.unit.parts):
            own, read = self._own[each.column], f"u{i}"
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
        return readings, f"coalesce({texts[0]}, '')" if self.unit.nulls == "one" else texts[0]

    def _take(self, kinds: dict[str, Kind]) -> None:
        """Create a view of the needed columns, and of the id if there is one."""
        listed = ", ".join(f"s.{quote(name)} AS {own}" for name, own in self._own.items())
        source = f"SELECT {listed} FROM source AS s"
        if not self.unit.is_row:
            readings, key = self._unit_key(kinds)
            # Nested, so that a long expression is written once.
            read = ", ".join(f"{sql} AS {name}" for name, sql in readings.items())
            source = f"SELECT k.*, {key} AS id FROM (SELECT t.*, {read} FROM ({source}) AS t) AS k"
        self.engine.view("taken", source, reading_input=True)

    def _encode(self, kinds: dict[str, Kind]) -> None:
        e = self.engine
        self._take(kinds)
        columns = [
            replace(c, name=self.code[c.name], source=self._own[c.table_column])
            for c in self.schema.modelled
        ]
        extra = {} if self.unit.is_row else {"id": "s.id"}
        for column, name in zip(columns, self.code, strict=True):
            if name in self.number:
                x, kind = f"s.{column.source}", kinds[column.source]
                text = text_of(x, kind, e.dialect)
                extra[self.number[name]] = number_of(x, text, kind, e.dialect)
        query = encoder(columns, kinds, table="taken", dialect=e.dialect, extra=extra)
        for name, texts in query.lists.items():
            e.declare(name, texts)
        kept = ", ".join(
            [f"CAST(e.{c.name} AS {_width(c.size)}) AS {c.name}" for c in columns]
            + [f"e.{number}" for number in self.number.values()]
        )
        if self.unit.is_row:
            e.table("rows", f"SELECT {kept} FROM ({query.sql}) AS e", reading_input=True)
            e.view("sizes", "SELECT CAST(1 AS BIGINT) AS n FROM rows")
        else:
            self._known(kept, f"({query.sql}) AS e")

    def _known(self, codes: str, encoded: str) -> None:
        """Store the rows of people who have an id."""
        e = self.engine
        if e.dialect.numbers_people:
            e.table(
                "people",
                "SELECT CAST(row_number() OVER () - 1 AS INTEGER) AS person, id "
                "FROM (SELECT DISTINCT id FROM taken) AS i WHERE id IS NOT NULL",
                reading_input=True,
            )
            rows = f"SELECT p.person, {codes} FROM {encoded} JOIN people AS p ON p.id = e.id"
        else:
            rows = f"SELECT e.id AS person, {codes} FROM {encoded} WHERE e.id IS NOT NULL"
        e.table("rows", rows, reading_input=True)
        e.table("sizes", "SELECT person, count(*) AS n FROM rows GROUP BY person")
        if not e.dialect.numbers_people:
            e.view("people", "SELECT person, person AS id FROM sizes")

    @property
    def sized(self) -> str:
        """The relation of rows with the number of their person's rows."""
        if self.unit.is_row:
            return f"(SELECT *, CAST(1 AS BIGINT) AS n FROM {self.rows}) AS r"
        return f"{self.rows} JOIN sizes USING (person)"

    def named(self, relation: str) -> str:
        """Compose a relation with the id of each row's person."""
        if not self.engine.dialect.numbers_people:
            return f"SELECT t.*, t.person AS id FROM ({relation}) AS t"
        return f"SELECT t.*, p.id FROM ({relation}) AS t JOIN people AS p ON p.person = t.person"
