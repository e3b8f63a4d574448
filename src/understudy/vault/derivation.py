"""Derivation: the tables behind a view, in SQL, from each person's own rows alone.

Every window and every group below is within one person, and ties go by the keyed hash of that
person's id, and by codes.  So a person's rows in a view are a function of their own rows and the
key: one person more or less adds or removes exactly their rows.  A table of people has one row a
person.

Tied by ``tests/vault/test_views.py``: against plain Python, person by person, and one person more
or less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.door.views import AFTER_ANOTHER, BORDERS, DIFFERENCES_OF, OF_ROW, TENTHS
from understudy.errors import QuestionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.door import Derived, View
    from understudy.vault.table import PrivateTable

IN_ORDER = frozenset({"first", "last", "nth", "previous", "gap"})
"""What depends on the order of a person's rows."""
PRIME, FACTOR = 2**31 - 1, 48271
"""A product of two numbers below the prime has at most 62 bits; the factor's powers are all such
numbers."""


def viewed(table: PrivateTable, view: View | None) -> PrivateTable:
    """Return a view of a table, derived on first use."""
    if view is None:
        return table
    if table.unit.is_row:
        raise QuestionError("a view needs people with rows of their own", got="a row a person")
    if view not in table.views:
        shown = table.shown(view)
        _derive(table, view, shown.rows)
        table.views[view] = shown
    return table.views[view]


def _derive(table: PrivateTable, view: View, name: str) -> None:
    """Make the table of a view's rows, or of its people."""
    codes = {each.name: f"d{i}" for i, each in enumerate(view.derived)}
    own = {column: f"o{i}" for i, column in enumerate(table.schema.own)}
    everyone = view.everyone and table.two_tables
    rows = "rows"
    if any(each.kind in IN_ORDER for each in view.derived):
        rows = f"placed_{name}"
        table.engine.table(rows, _placed(table, view))
    of_people = [each for each in view.derived if each.kind not in OF_ROW]
    people = _people(table, of_people, rows, everyone=everyone)
    taken = [f"p.{own[c]} AS {table.code[c]}" for c in own]
    taken += [
        f"{_of_person(each, i, table)} AS {codes[each.name]}" for i, each in enumerate(of_people)
    ]
    if view.people:
        table.engine.table(name, f"SELECT {', '.join(taken)} FROM {people}")
    else:
        taken += [f"r.{code} AS {code}" for column, code in table.code.items() if column not in own]
        taken += [
            f"{_of_row(each, table)} AS {codes[each.name]}"
            for each in view.derived
            if each.kind in OF_ROW
        ]
        table.engine.table(
            name,
            f"SELECT r.person, {', '.join(taken)} FROM {rows} AS r "
            f"JOIN {people} ON p.person = r.person",
        )
    if rows != "rows":
        table.engine.drop(rows)


def _placed(table: PrivateTable, view: View) -> str:
    """Compose the rows, each with its place in the schema's order and what came before it.

    Rows of a person that tie are ordered by the cube, modulo a prime, of a linear function of
    their codes, whose two numbers are the person's, from the keyed hash of their id: hashing every
    row takes several times as long as all the rest, and of a linear function alone near codes
    would be near.  Rows that are equal in all codes are equal here too, whichever of them comes
    first.
    """
    codes = list(table.code.values())
    hashed = table.hash_sql("'order'")
    sizes = table.named("SELECT person, n FROM sizes")
    people = (
        f"SELECT person, n, {_number('h', 1)} AS number, {_number('h', 9)} AS shift "
        f"FROM (SELECT person, n, {hashed} AS h FROM ({sizes}) AS s) AS k"
    )
    summed = " + ".join(
        f"CAST({code} AS BIGINT) * {pow(FACTOR, i, PRIME)} % {PRIME}"
        for i, code in enumerate(codes, 1)
    )
    line = f"(p.number * (({summed}) % {PRIME}) + p.shift) % {PRIME} AS x"
    rows = f"SELECT r.*, p.n, {line} FROM rows AS r JOIN ({people}) AS p ON p.person = r.person"
    rows = f"SELECT t.*, x * x % {PRIME} * x % {PRIME} AS luck FROM ({rows}) AS t"
    order = ", ".join([*(table.code[c] for c in table.schema.ordering), "luck", *codes])
    window = f"OVER (PARTITION BY person ORDER BY {order})"
    before = {table.code[e.column] for e in view.derived if e.kind in AFTER_ANOTHER}
    taken = ["person", "n", *codes, f"row_number() {window} AS place"]
    taken += [f"lag({code}) {window} AS before_{code}" for code in sorted(before)]
    return f"SELECT {', '.join(taken)} FROM ({rows}) AS t"


def _number(hashed: str, start: int) -> str:
    """Compose a number from 1 to below the prime of eight digits of a hash."""
    digits = [
        f"CAST(instr('123456789abcdef', substr({hashed}, {start + i}, 1)) AS BIGINT) * {16**i}"
        for i in range(8)
    ]
    return f"1 + ({' + '.join(digits)}) % {PRIME - 1}"


def _people(table: PrivateTable, derived: Sequence[Derived], rows: str, *, everyone: bool) -> str:
    """Compose the relation p of people: their number of rows, and what is derived from them.

    Of everyone, own codes are those of the table of people; who has no rows has NULLs of all that
    is derived from rows.
    """
    joins = []
    if not everyone:
        joins = [_tallied(table, c, f"o{i}", f"oy{i}") for i, c in enumerate(table.schema.own)]
    joins += [
        _tallied(table, each.column, f"x{i}", f"y{i}")
        for i, each in enumerate(derived)
        if each.kind in {"mode", "agreement"}
    ]
    joins += [
        _ranked(table, each.column, f"x{i}", f"z{i}")
        for i, each in enumerate(derived)
        if each.kind == "spread"
    ]
    sums = [
        _in_order(each, f"x{i}", table) for i, each in enumerate(derived) if each.kind in IN_ORDER
    ]
    if sums:
        joins.append(f"SELECT person, {', '.join(sums)} FROM {rows} GROUP BY person")
    join = "LEFT JOIN" if everyone else "JOIN"
    joined = " ".join(f"{join} ({sql}) AS j{i} USING (person)" for i, sql in enumerate(joins))
    return f"(SELECT * FROM {_everyone(table) if everyone else 'sizes'} {joined}) AS p"


def _everyone(table: PrivateTable) -> str:
    """Compose the relation of all people of the table of people, with their number of rows."""
    own = "".join(f", o.{table.code[c]} AS o{i}" for i, c in enumerate(table.schema.own))
    return (
        f"(SELECT o.person{own}, coalesce(s.n, 0) AS n "
        "FROM everyone AS o LEFT JOIN sizes AS s ON s.person = o.person) AS e"
    )


def _tallied(table: PrivateTable, column: str, mode: str, agreeing: str) -> str:
    """Compose each person's most common code of a column, and their number of equal pairs."""
    code = table.code[column]
    counted = f"SELECT person, {code} AS code, count(*) AS k FROM rows GROUP BY person, {code}"
    hashed = table.hash_sql("CAST(code AS STRING)")
    turn = f"row_number() OVER (PARTITION BY person ORDER BY k DESC, {hashed})"
    return (
        f"SELECT person, max(CASE WHEN turn = 1 THEN code END) AS {mode}, "
        f"sum(k * (k - 1)) AS {agreeing} "
        f"FROM (SELECT person, code, k, {turn} AS turn FROM ({table.named(counted)}) AS c) AS t "
        "GROUP BY person"
    )


def _ranked(table: PrivateTable, column: str, name: str, number: str) -> str:
    """Compose the sum of the differences of all pairs of a person's rows, and these rows' number.

    The k-th of m codes in order is the larger one in k − 1 pairs, and the smaller in m − k.  Of a
    time, missing ones do not count.  The sum of very many rows may be beyond 64 bits.
    """
    code, declared = table.code[column], table.schema[column]
    last = declared.ordered_count if column in table.schema.ordering else declared.size
    ranked = (
        f"SELECT person, {code} AS code, row_number() OVER (PARTITION BY person ORDER BY {code}) "
        f"AS k, count(CASE WHEN {code} < {last} THEN 1 END) OVER (PARTITION BY person) AS m "
        f"FROM {table.sized}"
    )
    return (
        f"SELECT person, sum(CASE WHEN code < {last} THEN "
        f"CAST((2 * k - m - 1) * code AS DECIMAL(38, 0)) ELSE 0 END) AS {name}, "
        f"max(m) AS {number} FROM ({ranked}) AS c GROUP BY person"
    )


def _in_order(each: Derived, name: str, table: PrivateTable) -> str:
    """Compose a person's first or last code."""
    code = table.code[each.column]
    place = "1" if each.kind == "first" else "n"
    return f"max(CASE WHEN place = {place} THEN {code} END) AS {name}"


def _of_person(each: Derived, i: int, table: PrivateTable) -> str:
    """Compose the code of a person's derived column, from what was summed up of their rows."""
    if each.kind == "rows":
        return _classed("p.n", each.starts)
    if each.kind == "agreement":
        return _share(f"p.y{i}", "CAST(p.n AS DOUBLE) * (p.n - 1)")
    if each.kind == "spread":
        most = max(1, table.schema[each.column].size - 1)
        return _difference(
            f"p.x{i}", f"coalesce(CAST(p.z{i} AS DOUBLE) * (p.z{i} - 1), 0) * {most}"
        )
    return f"CAST(coalesce(p.x{i}, {table.schema[each.column].size}) AS INTEGER)"


def _of_row(each: Derived, table: PrivateTable) -> str:
    """Compose the code of a row's derived column."""
    if each.kind == "nth":
        return _classed("r.place", each.starts)
    column, code = table.schema[each.column], table.code[each.column]
    before, last = f"r.before_{code}", column.ordered_count
    gap = f"CASE WHEN {before} < {last} AND r.{code} < {last} THEN abs(r.{code} - {before}) END"
    told = before if each.kind == "previous" else gap
    return f"CAST(coalesce({told}, {column.size}) AS INTEGER)"


def _classed(number: str, starts: Sequence[int]) -> str:
    """Compose the class of a number: the last one that starts at or below it."""
    cases = [f"WHEN {number} >= {starts[k]} THEN {k}" for k in reversed(range(1, len(starts)))]
    return f"CAST(CASE {' '.join(cases)} ELSE 0 END AS INTEGER)" if cases else "0"


def _share(part: str, whole: str) -> str:
    """Compose the class of a share: none, tenths, all, and one for people with a single row."""
    tenth = f"1 + floor({TENTHS} * CAST({part} AS DOUBLE) / ({whole}))"
    return (
        f"CAST(CASE WHEN {whole} <= 0 THEN {TENTHS + 2} WHEN {part} = 0 THEN 0 "
        f"WHEN {part} = {whole} THEN {TENTHS + 1} ELSE {tenth} END AS INTEGER)"
    )


def _difference(part: str, whole: str) -> str:
    """Compose the class of a difference, twice a part of a whole: none, then by the borders."""
    value = f"2 * CAST({part} AS DOUBLE) / ({whole})"
    cases = [f"WHEN {value} > CAST({b!r} AS DOUBLE) THEN {k}" for k, b in enumerate(BORDERS, 2)]
    return (
        f"CAST(CASE WHEN {whole} <= 0 THEN {len(DIFFERENCES_OF)} WHEN {part} = 0 THEN 0 "
        f"{' '.join(reversed(cases))} ELSE 1 END AS INTEGER)"
    )
