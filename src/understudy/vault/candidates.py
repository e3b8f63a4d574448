"""Candidates of a selection: how far each marginal is from what a model expects of it.

A mechanism that chooses round by round asks about the same marginals again and again, each time
with other expectations.  They are counted once, and kept in the vault as the cells that hold
anything; a distance is then read off without going back to the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.budget.bounding import FRACTION_BITS
from understudy.vault.marginals import AT_ONCE, marginals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.door import Distances, Select
    from understudy.graph import Clique
    from understudy.vault.table import Kept, PrivateTable

MOST_KEPT = 2**28
"""The most bytes that are kept; marginals beyond them are counted anew each time."""


def distances(question: Select | Distances, table: PrivateTable) -> NDArray[np.int64]:
    """Give the L1 distances less the penalties, in steps of 2⁻¹⁶ of a row."""
    table = table.merged(question.merged)
    counted = _counted(table, [c.clique for c in question.candidates], question)
    step = 2**FRACTION_BITS
    up = step // question.bounding.unit_weight
    found = []
    for candidate in question.candidates:
        cells, counts = counted[candidate.clique]
        expected = np.rint(candidate.expected * step).astype(np.int64)
        there = expected[cells]
        # Where nothing is held the distance is the expectation itself.
        apart = np.abs(expected).sum() + (np.abs(counts * up - there) - np.abs(there)).sum()
        found.append(int(apart) - round(candidate.penalty * step))
    return np.array(found, dtype=np.int64)


def _counted(
    table: PrivateTable, cliques: Sequence[Clique], question: Select | Distances
) -> dict[Clique, Kept]:
    """Give the cells that hold anything, and what they hold, counting what is not kept yet."""
    weighted = table.bounded(question.bounding)
    known = {clique: table.kept(weighted, clique) for clique in cliques}
    found = {clique: counts for clique, counts in known.items() if counts is not None}
    missing = [clique for clique in known if clique not in found]
    for start in range(0, len(missing), AT_ONCE):
        counted = marginals(table, missing[start : start + AT_ONCE], weighted)
        for clique, counts in counted.items():
            cells = np.flatnonzero(counts)
            found[clique] = cells, counts[cells]
            table.keep(weighted, clique, found[clique], most=MOST_KEPT)
    return found
