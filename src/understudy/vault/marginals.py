"""Marginals of weighted rows: exact counts, where they cost least.

Few rows are brought into this process's memory, and counted one marginal at a time.  Of many rows,
many marginals are counted in one pass where the rows are: those that lie in no other; the rest are
summed out of them.  Either way a cell is one whole number a row, and the counts are the same: every
test of the vault counts both ways.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.vault.table import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from understudy.engine import Columns
    from understudy.graph import Clique
    from understudy.schema import Schema
    from understudy.vault.table import PrivateTable

    Whole = NDArray[np.int64]

MOST_CELLS = 10**8
AT_ONCE = 32
"""How many marginals are counted in one pass over the rows; more would strain the query planner."""


def cells(schema: Schema, clique: Clique) -> int:
    """Return the number of cells of a clique; raise on unknown columns and huge marginals."""
    unknown = [name for name in clique if name not in schema.domain]
    if unknown:
        raise QuestionError(
            "a question names columns that the schema does not model",
            got=", ".join(unknown),
            allowed=", ".join(schema.domain),
        )
    size = math.prod(schema.domain[name] for name in clique)
    if size > MOST_CELLS:
        raise QuestionError(
            f"the marginal of {' × '.join(clique)} is too large",
            got=f"{size:,} cells",
            allowed=f"at most {MOST_CELLS:,}",
            hint="drop a column of it, or declare fewer values or bins",
        )
    return size


def marginals(
    table: PrivateTable, cliques: Sequence[Clique], weighted: str
) -> Iterator[tuple[Clique, Whole]]:
    """Count the marginals of many cliques over a table of weighted rows, one by one."""
    asked, rows = list(dict.fromkeys(cliques)), table.held(weighted) if cliques else {}
    if rows is not None:
        yield from ((clique, _tallied(table, clique, rows)) for clique in asked)
        return
    outer = [c for c in asked if not any(set(c) < set(o) for o in asked)]
    for start in range(0, len(outer), AT_ONCE):
        full = _counted(table, outer[start : start + AT_ONCE], weighted)
        inside = [c for c in asked if any(set(c) <= set(o) for o in full)]
        yield from ((clique, _projected(table.schema, full, clique)) for clique in inside)
        asked = [clique for clique in asked if clique not in inside]


def _tallied(table: PrivateTable, clique: Clique, rows: Columns) -> Whole:
    """Count a marginal of rows in memory; sums of integers below 2⁵³ are exact."""
    size = cells(table.schema, clique)
    found = np.bincount(numbers(rows, table.layout(clique)), weights=rows["w"], minlength=size)
    return found.astype(np.int64)


def _counted(table: PrivateTable, cliques: Sequence[Clique], weighted: str) -> dict[Clique, Whole]:
    """Count some marginals in one pass, each packed into one integer per row."""
    rows = table.as_seen(weighted, {name for clique in cliques for name in clique})
    found = table.engine.tally([table.index(clique) for clique in cliques], rows=rows)
    counted = {}
    for i, clique in enumerate(cliques):
        here = found["which"] == i
        counts = np.zeros(cells(table.schema, clique), dtype=np.int64)
        counts[found["cell"][here]] = found["n"][here]
        counted[clique] = counts
    return counted


def _projected(schema: Schema, full: dict[Clique, Whole], clique: Clique) -> Whole:
    """Project a marginal from the smallest counted one that contains it."""
    outer = min((o for o in full if set(clique) <= set(o)), key=lambda o: full[o].size)
    left = [n for n in outer if n in clique]
    summed = (
        full[outer]
        .reshape([schema.domain[n] for n in outer])
        .sum(axis=tuple(i for i, n in enumerate(outer) if n not in clique))
    )
    return np.ascontiguousarray(summed.transpose([left.index(n) for n in clique])).reshape(-1)
