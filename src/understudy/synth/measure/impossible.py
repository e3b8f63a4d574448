"""Impossible cells: what a schema's constraints forbid, as zeros of a model.

A model that holds a constraint loses no rows to cells that cannot be, and its rows need no mending.
A constraint about columns that the model does not hold together is left to the end, where rows are
mended (`schema.constraints`): a larger model would cost more time and converge later, and comes out
no better (`make bench-constraints`, the survey).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph import Zeros, junction_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from understudy.door import Clique
    from understudy.graph import Domain
    from understudy.schema import Schema

MOST_CELLS = 1_000_000
"""The most cells of a table of what is allowed."""


def zeros_of(
    schema: Schema,
    domain: Domain,
    cliques: Iterable[Clique],
    groups: Mapping[str, NDArray[np.int64]] | None = None,
) -> list[Zeros]:
    """Return the impossible cells of a model's cliques, over merged codes if there are groups."""
    relations = schema.keeper.relations
    if not relations:
        return []
    tree = junction_tree(domain, [*cliques, *((name,) for name in domain)])
    found: list[Zeros] = []
    for relation in relations:
        if tree.home(relation.scope) is None:
            continue
        if math.prod(map(len, relation.classes)) <= MOST_CELLS:
            allowed = relation.table() if groups is None else relation.merged(groups)
            found.append(Zeros(clique=relation.scope, cells=np.flatnonzero(~allowed)))
    return found
