"""A table as codes: every row encoded, each person known by a number.

Tables made in the engine: ``rows`` (person, c0, c1, …: one code a modelled column), ``sizes``
(person, n: rows kept) and ``people`` (person, id).  A person is a number where the engine can
number ids, and else goes by the id itself; each row's number where each row is one.  Private and
public tables are laid out alike; what may leave the engine is the business of
`understudy.vault` and `understudy.public`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.errors import MissingColumnError
from understudy.schema.calendar import PARTS
from understudy.schema.columns import NULLS, DateTime, Numeric
from understudy.schema.dialect import literal, quote
from understudy.schema.expressions import number_of, part_of, seconds_of, text_of
from understudy.schema.sql import encoder

if TYPE_CHECKING:
    from understudy.budget import Unit
    from understudy.engine.engine import Engine
    from understudy.schema import Schema
    from understudy.schema.dialect import Kind


def _width(size: int) -> str:
    return "TINYINT" if size <= 2**7 else "SMALLINT" if size <= 2**15 else "INTEGER"


class CodedTable:
    """A table in an engine, encoded, its people numbered."""

    def __init__(
        self,
        engine: Engine,
        data: object,
        *,
        schema: Schema,
        unit: Unit,
        numbers: bool = False,
        rows: bool = True,
    ) -> None:
        """Attach, check the structure, encode every row, and number the people.

        With ``numbers`` the rows keep what numeric columns read, as v0, v1, ….  Without ``rows``
        nothing but the structure is looked at.
        """
        self.engine = engine
        self.schema = schema
        self.unit = unit.resolved(schema)
        self.code = {c.name: f"c{i}" for i, c in enumerate(schema.modelled)}
        self.number = {
            c.name: f"v{i}"
            for i, c in enumerate(schema.modelled)
            if numbers and isinstance(c, Numeric)
        }
        kinds = engine.attach(
            data, name="source", delimiter=schema.delimiter, quote_mark=schema.quote
        )
        self._check_columns(kinds)
        if rows:
            self._encode(kinds)

    def _check_columns(self, kinds: dict[str, Kind]) -> None:
        needed = {c.table_column for c in self.schema.modelled}
        if not self.unit.is_row:
            needed |= {self._unit_column(name, kinds)[0] for name in self.unit.columns}
        missing = sorted(needed - set(kinds))
        if missing:
            # The table's own names are not listed: a file without a header has values there.
            raise MissingColumnError(
                "the table lacks columns that the schema or the unit names",
                got="no " + ", ".join(map(repr, missing)),
                hint="names are compared letter by letter; is the first line the header?",
            )

    def _unit_column(self, name: str, kinds: dict[str, Kind]) -> tuple[str, str | None, str | None]:
        """Resolve a name of the unit: the table's column, and perhaps a part and a format."""
        base, _, part = name.rpartition(":")
        if name in kinds or not base or part not in PARTS:
            return name, None, None
        dated = [c for c in self.schema.modelled if isinstance(c, DateTime)]
        formats = [c.format for c in dated if c.table_column == base]
        return base, part, formats[0] if formats else None

    def _unit_key(self, kinds: dict[str, Kind]) -> str:
        """Compose the text that names a row's person, NULL for none.

        The readings it is made of are added to the source as columns of a view ``keyed``,
        so that a long expression is written once.
        """
        readings, texts = ["s.*"], []
        for i, name in enumerate(self.unit.columns):
            column, part, written = self._unit_column(name, kinds)
            x, kind, read = f"s.{quote(column)}", kinds[column], quote(f"unit {i} ")
            if part is None:
                nulls = ", ".join(literal(n) for n in NULLS)
                readings.append(f"{text_of(x, kind, self.engine.dialect)} AS {read}")
                texts.append(f"CASE WHEN s.{read} IN ({nulls}) THEN NULL ELSE s.{read} END")
            else:
                seconds = seconds_of(x, kind, written, self.engine.dialect)
                readings.append(f"{seconds} AS {read}")
                taken = part_of(f"s.{read}", part, self.engine.dialect)
                texts.append(f"CAST(CAST({taken} AS BIGINT) AS STRING)")
        keyed = f"SELECT {', '.join(readings)} FROM source AS s"
        self.engine.view("keyed", keyed, reading_input=True)
        if len(texts) > 1:
            # Lengths keep ("1", "23") and ("12", "3") apart; || gives NULL if any part is.
            texts = [" || ".join(f"CAST(length({t}) AS STRING) || ':' || {t}" for t in texts)]
        # The empty text is itself a null id, so it can name the one person of all null ids.
        return f"coalesce({texts[0]}, '')" if self.unit.nulls == "one" else texts[0]

    def _number(self, name: str, kinds: dict[str, Kind]) -> str:
        column = self.schema[name].table_column
        x, kind = f"s.{quote(column)}", kinds[column]
        return number_of(x, text_of(x, kind, self.engine.dialect), kind, self.engine.dialect)

    def _encode(self, kinds: dict[str, Kind]) -> None:
        e, source = self.engine, "source" if self.unit.is_row else "keyed"
        extra = {} if self.unit.is_row else {"id ": self._unit_key(kinds)}
        extra |= {f"number {name}": self._number(name, kinds) for name in self.number}
        query = encoder(self.schema.modelled, kinds, table=source, dialect=e.dialect, extra=extra)
        for name, texts in query.lists.items():
            e.declare(name, texts)
        codes_sql = ", ".join(
            f"CAST(e.{quote(c.name)} AS {_width(c.size)}) AS {self.code[c.name]}"
            for c in self.schema.modelled
        )
        for name, kept in self.number.items():
            codes_sql += f", e.{quote(f'number {name}')} AS {kept}"
        if self.unit.is_row:
            e.table("coded", f"SELECT {codes_sql} FROM ({query.sql}) AS e", reading_input=True)
            e.view("rows", f"SELECT {e.dialect.number} AS person, * FROM coded")
            e.view("sizes", "SELECT person, CAST(1 AS BIGINT) AS n FROM rows")
        else:
            self._known(codes_sql, f"({query.sql}) AS e", extra["id "])
        if self.unit.is_row or not e.dialect.numbers_people:
            e.view("people", "SELECT person, CAST(person AS STRING) AS id FROM sizes")

    def _known(self, codes: str, encoded: str, key: str) -> None:
        """Keep the rows of people who have an id."""
        e = self.engine
        if e.dialect.numbers_people:
            ids = f"SELECT DISTINCT {key} AS id FROM keyed AS s"
            e.table(
                "people",
                "SELECT CAST(row_number() OVER () - 1 AS INTEGER) AS person, id "
                f"FROM ({ids}) AS i WHERE id IS NOT NULL",
                reading_input=True,
            )
            rows = f'SELECT p.person, {codes} FROM {encoded} JOIN people AS p ON p.id = e."id "'
        else:
            rows = f'SELECT e."id " AS person, {codes} FROM {encoded} WHERE e."id " IS NOT NULL'
        e.table("rows", rows, reading_input=True)
        e.table("sizes", "SELECT person, count(*) AS n FROM rows GROUP BY person")

    @property
    def sized(self) -> str:
        """The relation of rows with the number of their person's rows."""
        if self.unit.is_row:
            return "(SELECT *, CAST(1 AS BIGINT) AS n FROM rows) AS r"
        return "rows JOIN sizes USING (person)"

    def named(self, relation: str) -> str:
        """Compose a relation with the id of each row's person."""
        if self.unit.is_row or not self.engine.dialect.numbers_people:
            return f"SELECT t.*, CAST(t.person AS STRING) AS id FROM ({relation}) AS t"
        return f"SELECT t.*, p.id FROM ({relation}) AS t JOIN people AS p ON p.person = t.person"
