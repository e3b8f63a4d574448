"""The private table: encoded once, each person known by a number, bounded on request.

Tables made in the engine, none of which leaves it:
``people`` (person, id), ``rows`` (person, c0, c1, …: one code a modelled column),
``sizes`` (person, n: rows kept), and one ``bounded_…`` table a bounding (c0, …, w).

**Keyed hash.**  Where rows, cells or labels of a person must be chosen or ties broken, the
order is that of MD5 over (key, id, what is chosen), written as text: the same on every
engine, and a function of the person's own rows, so that one person's arrival or departure
moves nobody else.  The person's number is only a shorter name for the id; it depends on
the file's order and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Weights
from understudy.errors import MissingColumnError
from understudy.schema.calendar import PARTS
from understudy.schema.columns import NULLS, DateTime
from understudy.schema.sql import encoder, literal, part_of, quote, seconds_of, text_of

if TYPE_CHECKING:
    from understudy.budget import Bounding, Unit
    from understudy.engine import DuckDB
    from understudy.schema import Schema
    from understudy.schema.sql import Kind


def _width(size: int) -> str:
    return "UTINYINT" if size <= 2**8 else "USMALLINT" if size <= 2**16 else "UINTEGER"


class PrivateTable:
    """A private table in an engine, behind its unit."""

    def __init__(
        self, engine: DuckDB, data: object, *, schema: Schema, unit: Unit, key: str
    ) -> None:
        """Attach, check the structure, encode every row, and number the people."""
        self.engine = engine
        self.schema = schema
        self.unit = unit.resolved(schema)
        self._key = literal(key)
        self._bounded: dict[Bounding, str] = {}
        self.code = {c.name: f"c{i}" for i, c in enumerate(schema.modelled)}
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

    def _encode(self, kinds: dict[str, Kind]) -> None:
        e, source = self.engine, "source" if self.unit.is_row else "keyed"
        extra = {} if self.unit.is_row else {"id ": self._unit_key(kinds)}
        query = encoder(self.schema.modelled, kinds, table=source, dialect=e.dialect, extra=extra)
        for name, (texts, codes) in query.lookups.items():
            held = np.array(texts, dtype=object)
            e.load(name, {"t": held, "c": np.array(codes, dtype=np.int32)})
        codes_sql = ", ".join(
            f"CAST(e.{quote(c.name)} AS {_width(c.size)}) AS {self.code[c.name]}"
            for c in self.schema.modelled
        )
        if self.unit.is_row:
            numbered = (
                f"SELECT row_number() OVER () - 1 AS person, {codes_sql} FROM ({query.sql}) AS e"
            )
            people = "SELECT person, CAST(person AS VARCHAR) AS id FROM rows"
            e.run(f"CREATE TABLE rows AS {numbered}", reading_input=True)
            e.run(f"CREATE VIEW people AS {people}")
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

    def hash_sql(self, what: str) -> str:
        """Compose the keyed hash of a person ``p`` and something of theirs, as a text."""
        who = "CAST(length(p.id) AS VARCHAR) || ':' || p.id"
        return f"md5({self._key} || ':' || {who} || ':' || {what})"

    def bounded(self, bounding: Bounding) -> str:
        """Give the name of the table of weighted rows, made on the first request."""
        if bounding not in self._bounded:
            name = f"bounded_{bounding.kind}_{bounding.cap}"
            compose = self._weighted if isinstance(bounding, Weights) else self._sampled
            self.engine.run(f"CREATE TABLE {name} AS {compose(bounding.cap)}")
            self._bounded[bounding] = name
        return self._bounded[bounding]

    def _weighted(self, cap: int) -> str:
        """Weigh each row floor(2¹⁶·min(1, C/R)): the weights of a person sum to at most 2¹⁶·C.

        The quotient of whole numbers below 2⁵² is exact enough for its floor in float64.
        """
        one = Weights.unit_weight
        weight = f"CASE WHEN n <= {cap} THEN {one} ELSE floor(CAST({one * cap} AS DOUBLE) / n) END"
        codes = ", ".join(self.code.values())
        return (
            f"SELECT {codes}, CAST({weight} AS UINTEGER) AS w FROM rows JOIN sizes USING (person)"
        )

    def _sampled(self, cap: int) -> str:
        """Keep at most C rows a person, by hash of (key, id, codes, repetition)."""
        codes = ", ".join(self.code.values())
        written = " || ',' || ".join(
            f"CAST({c} AS VARCHAR)" for c in (*self.code.values(), "again")
        )
        return (
            f"SELECT {codes}, CAST(1 AS UINTEGER) AS w FROM rows JOIN sizes USING (person) "
            f"WHERE n <= {cap} UNION ALL SELECT {codes}, CAST(1 AS UINTEGER) AS w FROM ("
            f"SELECT {codes}, row_number() OVER (PARTITION BY person ORDER BY h, {codes}) AS place "
            f"FROM (SELECT r.*, {self.hash_sql(written)} AS h FROM ("
            f"SELECT *, row_number() OVER (PARTITION BY person, {codes}) AS again "
            f"FROM rows JOIN sizes USING (person) WHERE n > {cap}) AS r "
            f"JOIN people AS p ON p.person = r.person) AS hashed) AS placed WHERE place <= {cap}"
        )
