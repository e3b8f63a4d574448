"""A table as codes: every row encoded, each person known by a number.

Tables made in the engine: ``people`` (person, id), ``rows`` (person, c0, c1, …: one code a
modelled column) and ``sizes`` (person, n: rows kept).  Private and public tables are laid out
alike; what may leave the engine is the business of `understudy.vault` and `understudy.public`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.errors import MissingColumnError
from understudy.schema.calendar import PARTS
from understudy.schema.columns import NULLS, DateTime, Numeric
from understudy.schema.sql import encoder, literal, number_of, part_of, quote, seconds_of, text_of

if TYPE_CHECKING:
    from understudy.budget import Unit
    from understudy.engine.duckdb import DuckDB
    from understudy.schema import Schema
    from understudy.schema.sql import Kind


def _width(size: int) -> str:
    return "UTINYINT" if size <= 2**8 else "USMALLINT" if size <= 2**16 else "UINTEGER"


class CodedTable:
    """A table in an engine, encoded, its people numbered."""

    def __init__(
        self, engine: DuckDB, data: object, *, schema: Schema, unit: Unit, numbers: bool = False
    ) -> None:
        """Attach, check the structure, encode every row, and number the people.

        With ``numbers`` the rows keep what numeric columns read, as v0, v1, ….
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
                readings.append(f"{text_of(x, kind)} AS {read}")
                texts.append(f"CASE WHEN s.{read} IN ({nulls}) THEN NULL ELSE s.{read} END")
            else:
                seconds = seconds_of(x, kind, written, self.engine.dialect)
                readings.append(f"{seconds} AS {read}")
                taken = part_of(f"s.{read}", part, self.engine.dialect)
                texts.append(f"CAST(CAST({taken} AS BIGINT) AS VARCHAR)")
        view = f"CREATE VIEW keyed AS SELECT {', '.join(readings)} FROM source AS s"
        self.engine.run(view, reading_input=True)
        if len(texts) > 1:
            # Lengths keep ("1", "23") and ("12", "3") apart; || gives NULL if any part is.
            texts = [" || ".join(f"CAST(length({t}) AS VARCHAR) || ':' || {t}" for t in texts)]
        # The empty text is itself a null id, so it can name the one person of all null ids.
        return f"coalesce({texts[0]}, '')" if self.unit.nulls == "one" else texts[0]

    def _number(self, name: str, kinds: dict[str, Kind]) -> str:
        column = self.schema[name].table_column
        x, kind = f"s.{quote(column)}", kinds[column]
        return number_of(x, text_of(x, kind), kind)

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
            # Numbered after they are encoded: numbers are given by one thread, codes by many.
            e.run(
                f"CREATE TABLE coded AS SELECT {codes_sql} FROM ({query.sql}) AS e",
                reading_input=True,
            )
            e.run("CREATE TABLE rows AS SELECT row_number() OVER () - 1 AS person, * FROM coded")
            e.run("DROP TABLE coded")
            e.run("CREATE VIEW people AS SELECT person, CAST(person AS VARCHAR) AS id FROM rows")
            e.run("CREATE VIEW sizes AS SELECT person, CAST(1 AS BIGINT) AS n FROM rows")
        else:
            ids = f"SELECT DISTINCT {extra['id ']} AS id FROM keyed AS s"
            e.run(
                "CREATE TABLE people AS "
                "SELECT CAST(row_number() OVER () - 1 AS UINTEGER) AS person, id "
                f"FROM ({ids}) AS i WHERE id IS NOT NULL",
                reading_input=True,
            )
            e.run(
                f"CREATE TABLE rows AS SELECT p.person, {codes_sql} FROM ({query.sql}) AS e "
                'JOIN people AS p ON p.id = e."id "',
                reading_input=True,
            )
            e.run("CREATE TABLE sizes AS SELECT person, count(*) AS n FROM rows GROUP BY person")
