"""A table as codes: every row encoded, each person known by a number.

Tables made in the engine: ``rows`` (person, c0, c1, …: one code an encoded column), ``sizes``
(person, n: rows kept, of people who have any) and ``people`` (person, id).  A person is a number
where the engine can number ids, and else goes by the id itself.  Where each row is a person there
is neither ``person`` nor ``people``: a row has no name that a lost worker's successor would give to
the same row again, and so all that is asked of it is worked out from the row itself.  Private and
public tables are laid out alike; what may leave the engine is the business of `understudy.vault`
and `understudy.public`.

Of two tables, people and rows (`understudy.engine.two_tables`), a person's own columns come from
the one and all others from the other.  A further table, ``everyone`` (person, codes of own
columns), has each person of the table of people once; ``rows`` are then those of these people, with
the person's own codes beside them, as in a table that has both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from understudy.budget import resolve
from understudy.engine.attached import NOTHING, Attached
from understudy.engine.obeying import obeying
from understudy.engine.two_tables import HINT, check_two_tables, two_tables
from understudy.schema.encoding.dialect import literal

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from understudy.budget import AnyUnit
    from understudy.engine.engine import Engine
    from understudy.engine.two_tables import TwoTables
    from understudy.schema import Schema, Text


class CodedTable:
    """An encoded table in an engine, with numbered people."""

    with_texts: ClassVar[bool] = False
    """Whether columns of text, which have no codes, are read too."""

    def __init__(
        self,
        engine: Engine,
        data: object,
        *,
        schema: Schema,
        unit: AnyUnit,
        key: str = "",
        numbers: bool = False,
        also: Collection[str] = (),
        rows: bool = True,
    ) -> None:
        """Attach, check the structure, encode every row, and number the people.

        Ties go by a hash with a key.  With ``numbers`` the rows keep the unbinned values of binned
        columns, as v0, v1, …, and those of columns that are ``also`` named.  Without ``rows`` only
        the structure is checked.
        """
        self.engine = engine
        self.schema = schema
        self.unit = resolve(unit, schema)
        self.rows = "rows"
        self.code = {c.name: f"c{i}" for i, c in enumerate(schema.encoded)}
        self.number = {
            c.name: f"v{i}"
            for i, c in enumerate(schema.encoded)
            if (numbers and c.is_binned) or c.name in also
        }
        self._key = literal(key)
        self.text: dict[str, tuple[str, str]] = {}
        """The SQL of the texts of columns that have no codes, and the view that it reads."""
        texts = schema.texts if self.with_texts else ()
        both = two_tables(data)
        self.two_tables = both is not None
        """Whether people have a table of their own, so that some may have no rows."""
        if both is not None:
            check_two_tables(self.schema, self.unit, texts=texts)
            people, held = self._attach_two(both, texts)
            self.text = people.text | held.text
            if rows:
                self._know_everyone(people.encode(self.code, self.number))
                self._join(held.encode(self.code, self.number))
            return
        held = Attached(
            engine, data, schema=schema, unit=self.unit, columns=schema.encoded, texts=texts
        )
        self.text = held.text
        if rows:
            self._encode(held)

    def _attach_two(self, both: TwoTables, texts: Sequence[Text]) -> tuple[Attached, Attached]:
        schema, unit = self.schema, self.unit
        own = [c for c in schema.modelled if c.name in schema.own]
        others = [c for c in schema.encoded if c.name not in schema.own]
        people = Attached(
            self.engine,
            both.people,
            schema=schema,
            unit=unit,
            columns=own,
            texts=[c for c in texts if c.of == "person"],
            name="source_people",
            called="the table of people",
            hint=HINT,
        )
        rows = Attached(
            self.engine,
            both.rows,
            schema=schema,
            unit=unit,
            columns=others,
            texts=[c for c in texts if c.of == "row"],
            called="the table of rows",
            hint=HINT,
        )
        return people, rows

    def hash_sql(self, what: str) -> str:
        """Compose the keyed hash of a person's id and a value of theirs, as text."""
        who = "CAST(length(id) AS STRING) || ':' || id"
        return f"md5({self._key} || ':' || {who} || ':' || {what})"

    def _columns(self, *, own: bool) -> list[tuple[str, str | None]]:
        """Return the codes, each with its unbinned values, of own columns or of all others."""
        return [
            (code, self.number.get(name))
            for name, code in self.code.items()
            if (name in self.schema.own) is own
        ]

    def _encode(self, held: Attached) -> None:
        """Store the rows of one table."""
        e, encoded = self.engine, held.encode(self.code, self.number)
        names = (*self.code.values(), *self.number.values()) or (NOTHING,)
        codes = ", ".join(f"e.{name}" for name in names)
        if self.unit.is_row:
            e.table("rows", f"SELECT {codes} FROM {encoded}", reading_input=True)
            e.view("sizes", "SELECT CAST(1 AS BIGINT) AS n FROM rows")
            return
        if e.dialect.numbers_people:
            self._number(held.taken)
            rows = f"SELECT p.person, {codes} FROM {encoded} JOIN people AS p ON p.id = e.id"
        else:
            rows = f"SELECT e.id AS person, {codes} FROM {encoded} WHERE e.id IS NOT NULL"
        self._store(rows)
        if not e.dialect.numbers_people:
            e.view("people", "SELECT person, person AS id FROM sizes")

    def _number(self, held: str) -> None:
        """Number the people of a relation who have an id."""
        self.engine.table(
            "people",
            "SELECT CAST(row_number() OVER () - 1 AS INTEGER) AS person, id "
            f"FROM (SELECT DISTINCT id FROM {held}) AS i WHERE id IS NOT NULL",
            reading_input=True,
        )

    def _store(self, rows: str) -> None:
        self.engine.table("rows", rows, reading_input=True)
        self.engine.table("sizes", "SELECT person, count(*) AS n FROM rows GROUP BY person")

    def _know_everyone(self, encoded: str) -> None:
        """Store each person of a table of people once.

        Who is there several times has their most common code of each column, ties by the hash.
        """
        e, own = self.engine, self._columns(own=True) or [(NOTHING, None)]
        e.table("lines", f"SELECT * FROM {encoded} WHERE e.id IS NOT NULL", reading_input=True)
        counts = [f"count(*) OVER (PARTITION BY id, {c}) AS k_{c}" for c, _ in own]
        turns = [
            f"row_number() OVER (PARTITION BY id ORDER BY k_{c} DESC, "
            f"{self.hash_sql(f'CAST({c} AS STRING)')}{f', {v}' if v else ''}) AS t_{c}"
            for c, v in own
        ]
        firsts = [
            f"max(CASE WHEN t_{c} = 1 THEN {each} END) AS {each}"
            for c, v in own
            for each in (c, v)
            if each
        ]
        counted = f"SELECT *, {', '.join(counts)} FROM lines"
        placed = f"SELECT *, {', '.join(turns)} FROM ({counted}) AS k"
        each_once = f"SELECT id, {', '.join(firsts)} FROM ({placed}) AS t GROUP BY id"
        codes = ", ".join(f"o.{each}" for pair in own for each in pair if each)
        if e.dialect.numbers_people:
            self._number("lines")
            found = f"SELECT p.person, {codes} FROM ({each_once}) AS o JOIN people AS p USING (id)"
            e.table("everyone", found)
        else:
            e.table("everyone", f"SELECT o.id AS person, {codes} FROM ({each_once}) AS o")
            e.view("people", "SELECT person, person AS id FROM everyone")
        e.drop("lines")

    def _join(self, encoded: str) -> None:
        """Store the rows of people who are in the table of people, with what is their own."""
        taken = [f"o.{each}" for pair in self._columns(own=True) for each in pair if each]
        taken += [f"e.{each}" for pair in self._columns(own=False) for each in pair if each]
        # There are people all the same, and rows to count.
        taken = taken or [f"o.{NOTHING}"]
        joined = f"{encoded} JOIN everyone AS o ON o.person = e.id"
        if self.engine.dialect.numbers_people:
            joined = (
                f"{encoded} JOIN people AS p ON p.id = e.id "
                "JOIN everyone AS o ON o.person = p.person"
            )
        rows = obeying(
            f"(SELECT o.person, {', '.join(taken)} FROM {joined}) AS e",
            schema=self.schema,
            others=["person"],
            code=self.code,
            number=self.number,
        )
        self._store(f"SELECT * FROM {rows}")

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
