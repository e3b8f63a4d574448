"""Candidates of a selection: how far each marginal is from what a model expects of it.

A mechanism that chooses round by round asks about the same marginals again and again, each time
with other expectations.  They are counted once, and kept in the vault as the cells that hold
anything; a distance is then read off without going back to the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.budget.bounding import FRACTION_BITS
from understudy.vault.derivation import viewed
from understudy.vault.marginals import marginals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.door import Distances, Select
    from understudy.graph import Clique
    from understudy.vault.table import Cells, PrivateTable

MOST_KEPT = 2**28
"""The most bytes of marginals that are cached; others are counted again each time."""


def distances(question: Select | Distances, table: PrivateTable) -> NDArray[np.int64]:
    """Return the L1 distances less the penalties, in steps of 2⁻¹⁶ of a row."""
    table = viewed(table, question.view).merged(question.merged)
    weighted = table.bounded(question.bounding)
    (_, known), step = table.kept(weighted), 2**FRACTION_BITS
    up = step // question.bounding.unit_weight
    new = [candidate for candidate in question.candidates if candidate not in known]
    counted = _counted(table, [candidate.clique for candidate in new], weighted)
    for candidate in new:
        cells, counts = counted[candidate.clique]
        expected = np.rint(candidate.expected * step).astype(np.int64)
        there = expected[cells]
        # In an empty cell the distance is the expectation itself.
        apart = np.abs(expected).sum() + (np.abs(counts * up - there) - np.abs(there)).sum()
        known[candidate] = int(apart) - round(candidate.penalty * step)
    return np.array([known[candidate] for candidate in question.candidates], dtype=np.int64)


def _counted(table: PrivateTable, cliques: Sequence[Clique], weighted: str) -> dict[Clique, Cells]:
    """Return the nonempty cells and their counts, counting what is not cached yet."""
    kept, _ = table.kept(weighted)
    found = {clique: kept[clique] for clique in cliques if clique in kept}
    room = MOST_KEPT - sum(part.nbytes for held in kept.values() for part in held)
    for clique, counts in marginals(table, [c for c in cliques if c not in found], weighted):
        cells = np.flatnonzero(counts)
        found[clique] = cells, counts[cells]
        room -= 2 * cells.nbytes
        if room >= 0:
            kept[clique] = found[clique]
    return found
