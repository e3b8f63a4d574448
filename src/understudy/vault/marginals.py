"""Marginals of weighted rows: exact counts by GROUPING SETS of the outermost cliques.

Many are counted in one pass, each packed into one whole number a row; a marginal inside another
is summed from it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from understudy.graph import Clique
    from understudy.schema import Schema
    from understudy.vault.table import PrivateTable

    Whole = NDArray[np.int64]

MOST_CELLS = 10**8
AT_ONCE = 32
"""How many marginals are counted in one pass over the rows; an engine plans no more with ease."""


def cells(schema: Schema, clique: Clique) -> int:
    """Give the number of cells of a clique, refusing unknown columns and giants."""
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


def outermost(cliques: Iterable[Clique]) -> list[Clique]:
    """Keep the cliques that lie within no other."""
    distinct = sorted({frozenset(c): c for c in cliques}.values(), key=len, reverse=True)
    outer: list[Clique] = []
    for clique in distinct:
        if not any(set(clique) <= set(o) for o in outer):
            outer.append(clique)
    return outer


def marginals(table: PrivateTable, cliques: Sequence[Clique], weighted: str) -> dict[Clique, Whole]:
    """Count the marginals of many cliques over a table of weighted rows."""
    full: dict[Clique, Whole] = {}
    outer = outermost(cliques)
    for start in range(0, len(outer), AT_ONCE):
        full |= _counted(table, outer[start : start + AT_ONCE], weighted)
    return {c: _project(table.schema, full, c) for c in cliques}


def _counted(table: PrivateTable, outer: Sequence[Clique], weighted: str) -> dict[Clique, Whole]:
    """Count some marginals in one pass, each packed into one whole number a row."""
    keys = ", ".join(f"{table.packed(c)} AS k{i}" for i, c in enumerate(outer))
    names = [f"k{i}" for i in range(len(outer))]
    sets = ", ".join(f"({k})" for k in names)
    which = " ".join(f"WHEN grouping({k}) = 0 THEN {i}" for i, k in enumerate(names))
    rows = table.as_seen(weighted, {name for clique in outer for name in clique})
    found = table.engine.fetch(
        f"SELECT CASE {which} END AS which, coalesce({', '.join(names)}) AS cell, "
        f"CAST(sum(w) AS BIGINT) AS n FROM (SELECT {keys}, w FROM {rows}) AS r "
        f"GROUP BY GROUPING SETS ({sets})"
    )
    full = {}
    for i, clique in enumerate(outer):
        here = found["which"] == i
        counts = np.zeros(cells(table.schema, clique), dtype=np.int64)
        counts[found["cell"][here]] = found["n"][here]
        full[clique] = counts
    return full


def _project(schema: Schema, full: dict[Clique, Whole], clique: Clique) -> Whole:
    """Sum a marginal out of the smallest counted one that holds it."""
    if clique in full:
        return full[clique]
    holders = [o for o in full if set(clique) <= set(o)]
    outer = min(holders, key=lambda o: full[o].size)
    shaped = full[outer].reshape([schema.domain[n] for n in outer])
    summed = shaped.sum(axis=tuple(i for i, n in enumerate(outer) if n not in clique))
    left = [n for n in outer if n in clique]
    return np.ascontiguousarray(summed.transpose([left.index(n) for n in clique])).reshape(-1)
