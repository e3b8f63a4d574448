"""Impossible cells: what a schema's constraints forbid, as zeros of a model.

A model that holds a constraint loses no budget to cells that cannot be, and its rows need no
mending.  A constraint that would make the model much larger is left to the end, where rows are
mended (`schema.constraints`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph import Zeros, model_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from understudy.door import Clique
    from understudy.graph import Domain
    from understudy.schema import Schema

MOST_CELLS = 1_000_000
"""The most cells of a table of what is allowed."""
FREE_BYTES = 4_000_000
"""A model may always grow to this size for its zeros."""
MOST_GROWTH = 2
"""A larger one may grow to this many times its size."""


def zeros_of(
    schema: Schema,
    domain: Domain,
    cliques: Iterable[Clique],
    groups: Mapping[str, NDArray[np.int64]] | None = None,
) -> list[Zeros]:
    """Return the impossible cells over a domain, with merged codes if there are groups.

    ``cliques`` are those that the model has without them.
    """
    found: list[Zeros] = []
    held = list(cliques)
    most = None
    for relation in schema.keeper.relations:
        if math.prod(map(len, relation.classes)) > MOST_CELLS:
            continue
        allowed = relation.table() if groups is None else relation.merged(groups)
        if allowed.all():
            continue
        if most is None:
            most = max(FREE_BYTES, MOST_GROWTH * model_bytes(domain, held))
        if model_bytes(domain, [*held, relation.scope]) <= most:
            held.append(relation.scope)
            found.append(Zeros(clique=relation.scope, cells=np.flatnonzero(~allowed)))
    return found
