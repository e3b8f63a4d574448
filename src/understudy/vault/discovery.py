"""Discovery: the values that people have in a column, their weights, and those that are told.

A person's values are the distinct texts of their own rows; at most k of them count, by the keyed
hash of the person's id and the value, and each of j of them weighs ⌊2¹⁶/√j⌋ in steps of 2⁻¹⁶.  So
one person more or less adds or removes weights whose squares sum to at most 1, and moves nobody
else's (`docs/proofs/discover.md`).  A search for prefixes has those of a person's values in the
place of the values themselves.

The values stay in the engine.  What comes into this process is, for every value that is there, a
keyed hash and the exact weight; noise is drawn for all of them, in the order of the hashes, and
only the values that are told are then read.

Tied by ``tests/vault/test_discovery.py``: against plain Python, one person more or less in exact
integers, and what is told.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Threshold, value_weight
from understudy.budget.bounding import FRACTION_BITS
from understudy.door import CYCLES, KINDS_OF_VALUE, MOST_LENGTH, MOST_OF_CODE
from understudy.noise import draw, steps_per_unit
from understudy.schema.encoding.dialect import literal
from understudy.schema.encoding.expressions import bin_of, number_of, prefix_of, seconds_written
from understudy.schema.encoding.reading import FALSE, TRUE, text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import Discover, Kinds, Search, Spread
    from understudy.noise import Entropy
    from understudy.schema import Text
    from understudy.vault.table import PrivateTable

    Whole = NDArray[np.int64]

ONE = 2**FRACTION_BITS
"""The weight of a person's only value, in steps."""
OWN = "(PARTITION BY person)"
UNSEEN = (
    r"[\x00-\x1f\x7f-\x9f\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}]"
    r"|^=.|^[-+@].*[(|!]"
)
"""Control characters, line ends and marks of direction, and what a spreadsheet would run as a
formula: a text with one of them is not brought."""


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """The values that are there: a relation in the engine, their names in it, and their weights."""

    relation: str
    names: NDArray[np.object_]
    """Keyed hashes, in order."""
    weights: Whole


def thresholds(question: Discover) -> tuple[Threshold, ...]:
    """Return what is drawn and told, search by search: the charge is computed from the same."""
    return tuple(_threshold(search) for search in question.searches)


def _threshold(search: Search) -> Threshold:
    steps = steps_per_unit(search.scale, at_least=ONE)
    return Threshold(most=search.most, sigma=search.scale, steps=steps, least=search.least(steps))


def present(question: Discover, table: PrivateTable) -> tuple[Present, ...]:
    """Weigh the values that are there, search by search."""
    return tuple(
        _present(search, table, f"present_{i}") for i, search in enumerate(question.searches)
    )


def _present(search: Search, table: PrivateTable, relation: str) -> Present:
    engine = table.engine
    held = _sought(search, table)
    weighed = _weighed(table, held, column=search.column, most=search.most)
    hashed = f"SELECT value, w, {table.keyed_sql('value')} AS h FROM ({weighed}) AS v"
    # Two values with the same hash would still have names of their own.
    turn = "CAST(row_number() OVER (PARTITION BY h ORDER BY value) AS STRING)"
    engine.table(relation, f"SELECT value, w, h || ':' || {turn} AS name FROM ({hashed}) AS n")
    found = engine.fetch(f"SELECT name, w FROM {relation} ORDER BY name")
    return Present(relation, found["name"], found["w"].astype(np.int64))


def _sought(search: Search, table: PrivateTable) -> str:
    """Compose people's distinct values that are not known, or the last prefixes of these.

    What a value is brought as is a function of that value and of the question.
    """
    held = engine_texts(table, search.column)
    if not search.known and not search.prefixes:
        return held
    # The empty text is nobody's value.
    table.engine.load("known", {"value": np.array([*search.known, ""], dtype=object)})
    read = [f"{prefix_of('value', length)} AS v{length}" for length in search.prefixes]
    joins, names = "", ["value", *(f"v{length}" for length in search.prefixes)]
    for name in names:
        joins += f" LEFT JOIN known AS k_{name} ON k_{name}.value = h.{name}"
    tests = [f"k_{name}.value IS NULL" for name in names]
    tests.append(f"h.{names[-1]} NOT IN ({_nulls(search.column, table)})")
    who = "" if table.unit.is_row else "DISTINCT h.person, "
    return (
        f"(SELECT {who}h.{names[-1]} AS value FROM (SELECT {', '.join(['*', *read])} FROM {held}) "
        f"AS h{joins} WHERE {' AND '.join(tests)}) AS u"
    )


def _weighed(table: PrivateTable, held: str, *, column: str, most: int) -> str:
    """Compose the weight of each value of a relation: at most so many of a person count."""
    if table.unit.is_row:
        return f"SELECT value, count(*) * CAST({ONE} AS BIGINT) AS w FROM {held} GROUP BY value"
    counts = np.arange(1, most + 1)
    norms = np.array([value_weight(int(count)) for count in counts], dtype=np.int64)
    table.engine.load("norms", {"held": counts, "w": norms})
    return (
        "SELECT value, CAST(sum(w) AS BIGINT) AS w "
        f"FROM ({_chosen(table, held, column=column, most=most)}) AS c "
        "JOIN norms USING (held) GROUP BY value"
    )


def _chosen(table: PrivateTable, held: str, *, column: str, most: int) -> str:
    """Compose the values of a person that count, each with the number of them."""
    own, of_column = "(PARTITION BY person", literal(f"{len(column)}:{column}:")
    named = table.named(f"SELECT person, value FROM {held}")
    hashed = f"SELECT *, {table.hash_sql(f'{of_column} || value')} AS h FROM ({named}) AS n"
    placed = (
        f"SELECT value, row_number() OVER {own} ORDER BY h, value) AS turn, "
        f"count(*) OVER {own}) AS n FROM ({hashed}) AS k"
    )
    number = f"CASE WHEN n > {most} THEN {most} ELSE n END"
    return f"SELECT value, {number} AS held FROM ({placed}) AS p WHERE turn <= {most}"


def engine_texts(table: PrivateTable, column: str) -> str:
    """Return the relation of people's distinct texts in a column, stored on first use.

    Each is there with the number ``n`` of the person's rows that have it.  Of two tables, rows of
    anybody who is not in the table of people are nobody's.
    """
    if column not in table.texts:
        brought = (
            f"value NOT IN ({_nulls(column, table)}) AND length(value) <= {MOST_LENGTH} "
            f"AND regexp_extract(value, '{UNSEEN}', 0) = ''"
        )
        text_sql, source = table.text[column]
        read = f"(SELECT *, {text_sql} AS value FROM {source}) AS t"
        if table.unit.is_row:
            sql = f"SELECT value FROM {read} WHERE {brought}"
        elif table.engine.dialect.numbers_people or table.two_tables:
            sql = (
                f"SELECT p.person, value, count(*) AS n FROM {read} JOIN people AS p "
                f"ON p.id = t.id WHERE {brought} GROUP BY p.person, value"
            )
        else:
            sql = (
                f"SELECT id AS person, value, count(*) AS n FROM {read} "
                f"WHERE id IS NOT NULL AND {brought} GROUP BY id, value"
            )
        name = f"texts_{len(table.texts)}"
        table.engine.table(name, sql, reading_input=True)
        table.texts[column] = name
    return table.texts[column]


def _nulls(column: str, table: PrivateTable) -> str:
    """Compose the list of texts that are no values of a column."""
    nulls = _declared(column, table).nulls
    return ", ".join(literal(text(null) or "") for null in ("", *nulls))


def _declared(column: str, table: PrivateTable) -> Text:
    (declared,) = (c for c in table.schema.texts if c.name == column)
    return declared


def _seconds(column: str, table: PrivateTable) -> str:
    """Compose a value's reading as a date-time, in the column's declared format or ISO 8601."""
    return seconds_written("value", _declared(column, table).format, table.engine.dialect)


def told(
    question: Discover, there: tuple[Present, ...], table: PrivateTable, entropy: Entropy
) -> bytes:
    """Draw noise for every value that is there, and return those that reach the threshold.

    They are in the order of their texts, with their noisy weights in steps.
    """
    answers = []
    for event, held in zip(thresholds(question), there, strict=True):
        noise = draw("gaussian", event.sigma * event.steps, len(held.weights), entropy=entropy)
        noisy = held.weights * (event.steps // ONE) + noise
        passed = noisy >= event.least
        weights = dict(zip(held.names[passed].tolist(), noisy[passed].tolist(), strict=True))
        table.engine.load("told", {"name": np.array([*weights, ""], dtype=object)})
        found = table.engine.fetch(
            f"SELECT value, name FROM {held.relation} JOIN told USING (name)"
        )
        table.engine.drop(held.relation)
        pairs = zip(found["value"].tolist(), found["name"].tolist(), strict=True)
        answers.append(sorted([value, weights[name]] for value, name in pairs))
    return json.dumps(answers).encode("ascii")


def spread(question: Spread, table: PrivateTable) -> Whole:
    """Weigh the cells of people's values, in steps of 2⁻¹⁶."""
    x = f"x % {CYCLES[question.reading]}" if question.reading in CYCLES else "x"
    who, distinct = ("", "") if table.unit.is_row else ("person, ", "DISTINCT ")
    held = _readings(table, question.column, numbers=question.reading == "number")
    cells = (
        f"(SELECT {distinct}{who}CAST({bin_of('y', question.edges)} AS STRING) AS value "
        f"FROM (SELECT *, {x} AS y FROM {held}) AS r WHERE x IS NOT NULL) AS g"
    )
    asked = _weighed(table, cells, column=question.column, most=question.most)
    found = table.engine.fetch(f"SELECT CAST(value AS INTEGER) AS cell, w FROM ({asked}) AS v")
    counts = np.zeros(len(question.edges) + 1, dtype=np.int64)
    counts[found["cell"]] = found["w"]
    return counts


def _readings(table: PrivateTable, column: str, *, numbers: bool) -> str:
    """Return the relation of people's values as numbers or seconds, stored on first use."""
    held, read = engine_texts(table, column), _seconds(column, table)
    if numbers:
        read = number_of("value", "value", "text", table.engine.dialect)
    name = f"{held}_{'numbers' if numbers else 'seconds'}"
    if name not in table.readings:
        who = "" if table.unit.is_row else "person, "
        table.engine.table(name, f"SELECT {who}{read} AS x FROM {held}")
        table.readings.add(name)
    return name


def kinds(question: Kinds, table: PrivateTable) -> Whole:
    """Count the people all of whose values are of each kind, column by column."""
    return np.concatenate([_kinds(table, column) for column in question.columns])


def _kinds(table: PrivateTable, column: str) -> Whole:
    booleans = ", ".join(map(literal, (*TRUE, *FALSE)))
    tests = {
        "any": "TRUE",
        "boolean": f"value IN ({booleans})",
        "whole": "regexp_extract(value, '^-?(0|[1-9][0-9]{0,14})$', 0) <> ''",
        # 01067 is a code: as a number it would lose its zero.
        "number": f"{number_of('value', 'value', 'text', table.engine.dialect)} IS NOT NULL "
        "AND regexp_extract(value, '^-?0[0-9]', 0) = ''",
        "moment": f"{_seconds(column, table)} IS NOT NULL",
        "code": f"length(value) <= {MOST_OF_CODE}",
        "again": "1 = 0" if table.unit.is_row else f"sum(n) OVER {OWN} > 1",
        "alike": "1 = 0" if table.unit.is_row else f"n > 1 AND count(*) OVER {OWN} = 1",
    }
    flags = ", ".join(
        f"CASE WHEN {tests[kind]} THEN 1 ELSE 0 END AS k{i}"
        for i, kind in enumerate(KINDS_OF_VALUE)
    )
    names = [f"k{i}" for i in range(len(KINDS_OF_VALUE))]
    held = engine_texts(table, column)
    people = f"SELECT {flags} FROM {held}"
    if not table.unit.is_row:
        least = ", ".join(f"min({name}) AS {name}" for name in names)
        people = f"SELECT {least} FROM (SELECT person, {flags} FROM {held}) AS v GROUP BY person"
    sums = ", ".join(f"CAST(coalesce(sum({n}), 0) AS BIGINT) AS {n}" for n in names)
    found = table.engine.fetch(f"SELECT {sums} FROM ({people}) AS p")
    return np.array([int(found[name][0]) for name in names], dtype=np.int64)
