"""Norm: people bounded by the question itself, in whole numbers.

A question's answers y_r have noise of scale σ_r and the question a price μ.  A person who
adds v_r rows to each gets one weight w on all of their rows, so that

    Σ (w·v_r/σ_r)² ≤ μ²:

adding or removing them moves the whole answer, in units of its noise, by at most μ.  The
question is μ-GDP by that alone; no other sensitivity exists.

**In whole numbers.**  With ω_r = ⌈2^k/σ_r²⌉, N = Σ ω_r·v_r² and B = ⌊2³²·2^k·μ²⌋, the weight
is W/2¹⁶ for the largest whole W ≤ 2¹⁶ with W²·N ≤ B.  Then Σ (W·v_r/(2¹⁶·σ_r))² ≤
W²·N/(2³²·2^k) ≤ μ², exactly.  As W² ≤ B/N just if W² ≤ ⌊B/N⌋, W is the root of a whole number
below 2³², which float64 rounds down rightly.  k makes the largest ω at most 2⁴⁰.

**The lengths.**  People are taken in parts, each with all of their rows.  A part is a sparse
matrix people × cells, a query one of cells × rows of 0 and 1, and their product has every v_r.
A query's Σ v_r² is at most (Σ v_r)²; who adds 2³¹ or more to a query weighs nothing, so it is
below 2⁶².  Times ω it is added up in four digits to the base 2²⁰, which the engine puts together
in 128 bits.

Tied by ``tests/vault/test_norm.py`` (one person more or less, in exact integers).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, eye_array

from understudy.budget.bounding import FRACTION_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import Measure, Query
    from understudy.vault.table import PrivateTable

    Whole = NDArray[np.int64]

ONE = 2**FRACTION_BITS
PRECISION = 40
"""The largest ω has at most so many bits."""
MOST_BITS = 120
"""A bound B of more bits could not be divided in 128."""
PART = 1_000_000
"""About how many rows are looked at together."""
DIGIT = 20
MOST_ADDED = 2**31


def normed(question: Measure, table: PrivateTable) -> str:
    """Weigh every person for a question; give the name of the view of weighted rows.

    A person who adds nothing to any answer has no weight, and no row in the view.
    """
    bits = _bits(question)
    engine = table.engine
    engine.run("CREATE OR REPLACE TABLE lengths (person BIGINT, n HUGEINT)")
    asked = [
        (q.clique, _matrix(q, table), math.ceil(Fraction(2) ** bits / Fraction(q.scale) ** 2))
        for q in question.queries
    ]
    for part in table.parts(PART):
        people, first = np.unique(part["person"], return_index=True)
        starts = np.append(first, len(part["person"]))
        digits = np.zeros((4, len(people)), dtype=np.int64)
        weighed = np.ones(len(people), dtype=bool)
        for clique, matrix, omega in asked:
            cells = table.cells(part, clique)
            added = np.add.reduceat(np.diff(matrix.indptr)[cells], first, dtype=np.int64)
            weighed &= added < MOST_ADDED
            _add(digits, _squares(cells, starts, matrix), omega)
        held = {f"d{i}": digit[weighed] for i, digit in enumerate(digits)}
        table.hold("part", {"person": people[weighed], **held})
        length = " + ".join(f"CAST(d{i} AS HUGEINT) * {2 ** (DIGIT * i)}" for i in range(4))
        engine.run(f"INSERT INTO lengths SELECT person, {length} AS n FROM part")
    bound = math.floor(Fraction(2) ** (2 * FRACTION_BITS + bits) * Fraction(question.price) ** 2)
    longest = f"CAST('{bound}' AS HUGEINT) // n"
    weight = (
        f"CASE WHEN {longest} >= {ONE**2} THEN {ONE} "
        f"ELSE floor(sqrt(CAST({longest} AS DOUBLE))) END"
    )
    engine.run(
        f"CREATE OR REPLACE TABLE weights AS SELECT person, CAST({weight} AS UINTEGER) AS w "
        "FROM lengths WHERE n > 0"
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
    return min(fine, room)


def _matrix(query: Query, table: PrivateTable) -> csr_array:
    """Lay a query out as a matrix, cells × rows."""
    size = math.prod(table.schema.domain[n] for n in query.clique)
    if query.rows is None:
        return eye_array(size, dtype=np.int32, format="csr")
    cells, starts = query.rows.cells.astype(np.int32), query.rows.starts.astype(np.int32)
    ones = np.ones(len(cells), dtype=np.int32)
    return csr_array((ones, cells, starts), shape=(query.rows.count, size)).T.tocsr()


def _squares(cells: Whole, starts: Whole, matrix: csr_array) -> Whole:
    """Give Σ v² over the rows of a query, for people whose cells start at these places."""
    ones, shape = np.ones(len(cells), dtype=np.int32), (len(starts) - 1, matrix.shape[0])
    counted = csr_array((ones, cells.astype(np.int32), starts.astype(np.int32)), shape=shape)
    rows = counted @ matrix
    sums = np.concatenate(([0], np.cumsum(rows.data.astype(np.int64) ** 2)))
    squares: Whole = np.diff(sums[rows.indptr])
    return squares


def _add(digits: Whole, squares: Whole, omega: int) -> None:
    """Add ω times some numbers to numbers of four digits, which may grow beyond their base."""
    base = 2**DIGIT
    high, low = divmod(omega, base)
    parts = (squares % base, squares // base % base, squares // base**2)
    for i, part in enumerate(parts):
        digits[i] += low * part
        digits[i + 1] += high * part
