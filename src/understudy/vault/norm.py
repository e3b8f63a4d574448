"""Norm: people bounded by the question itself, in whole numbers.

A question's answers y_r have noise of scale σ_r and the question a price μ.  A person who
adds v_r rows to each gets one weight w on all of their rows, so that

    Σ (w·v_r/σ_r)² ≤ μ²:

adding or removing them moves the whole answer, in units of its noise, by at most μ.  The
question is μ-GDP by that alone; no other sensitivity exists.

**In whole numbers.**  With ω_r = ⌈2^k/σ_r²⌉, N = Σ ω_r·v_r² and B = ⌊2³²·2^k·μ²⌋, the weight
is W/2¹⁶ for the largest whole W ≤ 2¹⁶ with W²·N ≤ B.  Then Σ (W·v_r/(2¹⁶·σ_r))² ≤
W²·N/(2³²·2^k) ≤ μ², exactly.  As W² ≤ B/N just if W² ≤ ⌊B/N⌋, W is the root of a whole number
below 2³², which float64 rounds down rightly.  k makes the largest ω about 2⁴⁰, so that a sum
stays far within 128 bits for people of up to 2³² rows.

Tied by ``tests/vault/test_norm.py`` (one person more or less, in exact integers).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget.bounding import FRACTION_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique, Measure, Query
    from understudy.vault.table import PrivateTable

ONE = 2**FRACTION_BITS
PRECISION = 40
"""The largest ω has about so many bits."""
MOST_BITS = 120
"""A bound B of more bits could not be divided in 128."""


def normed(question: Measure, table: PrivateTable) -> str:
    """Weigh every person for a question; give the name of the view of weighted rows.

    A person who adds nothing to any answer has no weight, and no row in the view.
    """
    bits = _bits(question)
    engine = table.engine
    engine.run("CREATE OR REPLACE TABLE lengths (person BIGINT, n HUGEINT)")
    for clique, queries in _by_clique(question).items():
        omegas = [math.ceil(2**bits / Fraction(q.scale) ** 2) for q in queries]
        engine.run(f"INSERT INTO lengths {_lengths(table, clique, queries, omegas)}")
    bound = math.floor(2 ** (2 * FRACTION_BITS + bits) * Fraction(question.price) ** 2)
    longest = f"CAST('{bound}' AS HUGEINT) // n"
    weight = (
        f"CASE WHEN {longest} >= {ONE**2} THEN {ONE} "
        f"ELSE floor(sqrt(CAST({longest} AS DOUBLE))) END"
    )
    engine.run(
        f"CREATE OR REPLACE TABLE weights AS SELECT person, CAST({weight} AS UINTEGER) AS w "
        "FROM (SELECT person, sum(n) AS n FROM lengths GROUP BY person) AS whole"
    )
    engine.run("DROP TABLE lengths")
    codes = ", ".join(table.code.values())
    engine.run(
        f"CREATE OR REPLACE VIEW bounded_norm AS SELECT {codes}, w "
        "FROM rows JOIN weights USING (person)"
    )
    return "bounded_norm"


def _bits(question: Measure) -> int:
    """Choose k: ω as fine as 128 bits allow for it and for the bound."""
    least = min(Fraction(q.scale) for q in question.queries)
    fine = PRECISION + math.floor(2 * math.log2(least))
    room = MOST_BITS - 2 * FRACTION_BITS - math.ceil(2 * math.log2(question.price))
    return max(0, min(fine, room))


def _by_clique(question: Measure) -> dict[Clique, list[Query]]:
    found: dict[Clique, list[Query]] = {}
    for query in question.queries:
        found.setdefault(query.clique, []).append(query)
    return found


def _lengths(
    table: PrivateTable, clique: Clique, queries: Sequence[Query], omegas: Sequence[int]
) -> str:
    """Compose what each person adds to N by the queries on one clique.

    Rows of a single cell, a whole marginal's among them, need the person's count in the cell
    only; wider ones sum such counts first.
    """
    cells = (
        f"SELECT person, cell, count(*) AS n FROM (SELECT person, {table.packed(clique)} AS cell "
        "FROM rows) AS r GROUP BY person, cell"
    )
    everywhere = sum(o for q, o in zip(queries, omegas, strict=True) if q.rows is None)
    single, wide = _members(queries, omegas)
    parts = []
    if everywhere:
        parts.append(f"SELECT person, {_square(str(everywhere), 'n')} AS n FROM counted")
    if len(single["cell"]):
        table.hold("single", single)
        parts.append(
            f"SELECT person, {_square('omega', 'n')} AS n FROM counted JOIN single USING (cell)"
        )
    if len(wide["cell"]):
        table.hold("wide", wide)
        parts.append(
            f"SELECT person, {_square('omega', 'v')} AS n FROM (SELECT person, place, omega, "
            "CAST(sum(n) AS BIGINT) AS v FROM counted JOIN wide USING (cell) "
            "GROUP BY person, place, omega) AS sums"
        )
    together = " UNION ALL ".join(parts)
    whole = f"SELECT person, sum(n) AS n FROM ({together}) AS parts GROUP BY person"
    return f"WITH counted AS ({cells}) {whole}"


def _square(omega: str, count: str) -> str:
    return f"CAST({omega} AS HUGEINT) * {count} * {count}"


def _members(
    queries: Sequence[Query], omegas: Sequence[int]
) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int64]]]:
    """List the cells of all rows, apart those of one cell, whose ω a cell adds up, and wider."""
    cells, places, weights, sizes, first = [], [], [], [], 0
    for query, weight in zip(queries, omegas, strict=True):
        if query.rows is None:
            continue
        held = np.diff(query.rows.starts)
        cells.append(query.rows.cells)
        places.append(np.repeat(np.arange(first, first + len(held)), held))
        sizes.append(np.repeat(held, held))
        weights.append(np.full(len(query.rows.cells), weight, dtype=np.int64))
        first += len(held)
    if not cells:
        none = np.zeros(0, dtype=np.int64)
        return {"cell": none}, {"cell": none}
    cell, place, omega, size = map(np.concatenate, (cells, places, weights, sizes))
    lone = size == 1
    where, inverse = np.unique(cell[lone], return_inverse=True)
    added = np.zeros(len(where), dtype=np.int64)
    np.add.at(added, inverse, omega[lone])
    wide = {"cell": cell[~lone], "place": place[~lone], "omega": omega[~lone]}
    return {"cell": where, "omega": added}, wide
