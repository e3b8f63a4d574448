"""The slow obvious versions of the metrics of any table: loops over rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from understudy.evaluate import Coded

Row = dict[str, int]


def rows_of(table: Coded) -> list[Row]:
    """Return a table as a list of rows."""
    return [{n: int(c[i]) for n, c in table.codes.items()} for i in range(table.rows)]


def l1(left: Sequence[Row], right: Sequence[Row], names: Sequence[str]) -> float:
    """Return the L1 distance of two sets of rows' distributions; 2 if one has no rows."""
    if not left or not right:
        return 0.0 if len(left) == len(right) else 2.0
    p = Counter(tuple(row[n] for n in names) for row in left)
    q = Counter(tuple(row[n] for n in names) for row in right)
    return sum(abs(p[cell] / len(left) - q[cell] / len(right)) for cell in p | q)


def variation(real: Coded, synthetic: Coded, names: Sequence[str]) -> float:
    """Return half the L1 distance."""
    return l1(rows_of(real), rows_of(synthetic), names) / 2
