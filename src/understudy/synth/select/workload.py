"""A workload: which marginals matter, and by how much; and the candidates that serve it.

A marginal serves another by the columns that they share: with weights c_s of the workload, a
candidate r weighs w_r = Σ c_s·|r ∩ s|, the sum over its columns of what each of them weighs.
Candidates are the workload's marginals and all within them that have two columns or more; single
columns were measured before.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from understudy.synth.select.cliques import check_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.door import Clique
    from understudy.schema import Domain

Weighted = tuple[tuple["Clique", float], ...]


def all_of(
    domain: Mapping[str, int], degree: int, targets: Sequence[str]
) -> list[tuple[Clique, float]]:
    """Return all marginals of ``degree`` columns, or those that have a target if any are given.

    >>> [clique for clique, _ in all_of({"a": 2, "b": 2, "c": 2}, 2, ["b"])]
    [('a', 'b'), ('b', 'c')]
    """
    degree = min(degree, len(domain))
    wanted = set(targets)
    return [
        (clique, 1.0)
        for clique in itertools.combinations(domain, degree)
        if not wanted or wanted & set(clique)
    ]


def candidates(
    workload: Sequence[tuple[Clique, float]], domain: Domain, most_cells: int
) -> dict[Clique, float]:
    """Return the candidates with their weights, except those with too many cells.

    >>> from understudy.schema import Domain
    >>> candidates([(("a", "b", "c"), 1.0)], Domain({"a": 2, "b": 3, "c": 4}), 12)
    {('a', 'b'): 2.0, ('a', 'c'): 2.0, ('b', 'c'): 2.0}
    """
    check_names([clique for clique, _ in workload], domain)
    columns = list(domain)
    weights = {n: [c for clique, c in workload if n in clique] for n in columns}
    found: dict[Clique, float] = {}
    for clique, _ in workload:
        ordered = sorted(clique, key=columns.index)
        for size in range(2, len(ordered) + 1):
            for part in itertools.combinations(ordered, size):
                if part not in found and domain.cells(part) <= most_cells:
                    found[part] = math.fsum(c for name in part for c in weights[name])
    return dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))
