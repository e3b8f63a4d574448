"""Norm: whitened L2 clipping of each person's contribution, in whole numbers.

A question's answers y_r have noise of scale σ_r and the question a price μ.  A person who
adds v_r rows to each gets one weight w on all of their rows, so that

    Σ (w·v_r/σ_r)² ≤ μ²:

adding or removing them moves the whole answer, in units of its noise, by at most μ.  The
question is μ-GDP by that alone; no other sensitivity exists.

**In whole numbers.**  With ω_r = ⌈2^k/σ_r²⌉, N = Σ ω_r·v_r² and B = ⌊2³²·2^k·μ²⌋, the weight
is W/2¹⁶ for the largest whole W ≤ 2¹⁶ with W²·N ≤ B.  Then Σ (W·v_r/(2¹⁶·σ_r))² ≤
W²·N/(2³²·2^k) ≤ μ², exactly.  k makes the largest ω at most 2⁴⁰.

**The lengths.**  People are taken in parts, each with all of their rows, and every v_r is
counted (``understudy.vault.tallies``).  A query's Σ v_r² is at most (Σ v_r)²; who adds 2³¹ or
more to a query weighs nothing, so it is below 2⁶².  Times ω it is added up in digits to the base
2²⁰, and so is W²·N compared with B: no engine needs numbers of 128 bits.

Tied by ``tests/vault/test_norm.py`` (one person more or less, in exact integers).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget.bounding import FRACTION_BITS
from understudy.vault.table import numbers
from understudy.vault.tallies import Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import Measure
    from understudy.engine import Columns
    from understudy.vault.table import Layout, PrivateTable

    Whole = NDArray[np.int64]
    Asked = tuple[Layout, Tally, int]
    """Where a query's cells are, which rows hold them, and its ω."""

ONE = 2**FRACTION_BITS
PRECISION = 40
"""The most bits of the largest ω."""
MOST_BITS = 120
"""The most bits of a bound B."""
PART = 1_000_000
"""About how many rows are processed together."""
DIGIT = 20
DIGITS = 8
"""The number of digits to the base 2²⁰ that hold any W²·N."""
MOST_ADDED = 2**31


def normed(question: Measure, table: PrivateTable) -> str:
    """Clip every person for a question; return the name of the view of weighted rows.

    A person who contributes to no answer has no weight, and no row in the view.
    """
    bits = _bits(question)
    bound = math.floor(Fraction(2) ** (2 * FRACTION_BITS + bits) * Fraction(question.price) ** 2)
    asked: list[Asked] = [
        (
            table.layout(q.clique),
            Tally.of(q.rows, cells=math.prod(table.schema.domain[n] for n in q.clique)),
            math.ceil(Fraction(2) ** bits / Fraction(q.scale) ** 2),
        )
        for q in question.queries
    ]
    codes = list(table.code.values())
    by_row = table.unit.is_row
    work = partial(_weigh_rows if by_row else _weigh, asked, bound)
    table.engine.weigh("weights", work, rows=table.rows, columns=codes, at_once=PART, by_row=by_row)
    if by_row:
        return "weights"
    table.engine.view(
        "bounded_norm",
        f"SELECT {', '.join(codes)}, w FROM {table.rows} JOIN weights USING (person)",
    )
    return "bounded_norm"


def _weigh_rows(asked: list[Asked], bound: int, rows: Columns) -> Columns:
    """Weigh rows that are a person each.

    A weight stays with the row that it was computed from: joined by a name, such as a
    row's number, it could meet another row, where an engine works rows out again.
    """
    weighed = _weigh(asked, bound, {**rows, "person": np.arange(len(next(iter(rows.values()))))})
    return {**{code: rows[code][weighed["person"]] for code in rows}, "w": weighed["w"]}


def _weigh(asked: list[Asked], bound: int, rows: Columns) -> Columns:
    """Weigh the people of some rows; those who add nothing, or too much to count, are left out."""
    person = rows["person"]
    starts = np.flatnonzero(np.concatenate(([True], person[1:] != person[:-1]))[: len(person)])
    digits = np.zeros((DIGITS, len(starts)), dtype=np.int64)
    weighed = np.ones(len(starts), dtype=bool)
    for layout, tally, omega in asked:
        cells = numbers(rows, layout)
        weighed &= np.add.reduceat(tally.holders(cells), starts, dtype=np.int64) < MOST_ADDED
        _add(digits, tally.squares(cells, np.append(starts, len(person))), omega)
    for i in range(DIGITS - 1):
        digits[i + 1] += digits[i] >> DIGIT
        digits[i] &= 2**DIGIT - 1
    weighed &= digits.any(axis=0)
    return {"person": person[starts][weighed], "w": _largest(digits[:, weighed], bound)}


def _largest(digits: Whole, bound: int) -> Whole:
    """Return the largest W ≤ 2¹⁶ with W²·N ≤ B for numbers N of digits to the base 2²⁰.

    In float64 the root is right to within one; its neighbours are tried exactly.
    """
    length = (2.0 ** (DIGIT * np.arange(DIGITS))) @ digits
    weight: Whole = np.minimum(np.sqrt(float(bound) / length) + 1, ONE).astype(np.int64)
    for _ in range(2):
        weight -= ~_within(weight, digits, bound)
    return weight


def _within(weight: Whole, digits: Whole, bound: int) -> NDArray[np.bool_]:
    """Return whether W²·N ≤ B, digit by digit from the lowest."""
    carried, within = np.zeros_like(weight), np.ones(len(weight), dtype=bool)
    for i, digit in enumerate(digits):
        product, most = weight * weight * digit + carried, bound >> DIGIT * i & 2**DIGIT - 1
        carried, here = product >> DIGIT, product & 2**DIGIT - 1
        within = np.where(here == most, within, here < most)
    return within


def _bits(question: Measure) -> int:
    """Choose k: ω as fine as its own bits and those of the bound allow."""
    least = min(Fraction(q.scale) for q in question.queries)
    fine = PRECISION + math.floor(2 * math.log2(least))
    room = MOST_BITS - 2 * FRACTION_BITS - math.ceil(2 * math.log2(question.price))
    return min(fine, room)


def _add(digits: Whole, squares: Whole, omega: int) -> None:
    """Add ω times some integers to numbers in digits, whose digits may exceed the base."""
    high, low = divmod(omega, 2**DIGIT)
    for i in range(3):
        part = squares >> DIGIT * i & (2**DIGIT - 1 if i < 2 else -1)
        digits[i] += low * part
        digits[i + 1] += high * part
