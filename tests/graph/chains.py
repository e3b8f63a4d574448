"""A chain of columns, and how far counts lie from what is expected."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.graph.brute import Table
from understudy.graph import Clique, Domain

CHAIN: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d")]


def counted(domain: Domain, drawn: dict[str, Any], clique: Clique) -> Table:
    """Count rows by the cells of a clique."""
    codes = np.zeros(len(drawn[next(iter(drawn))]), dtype=np.int64)
    for n in clique:
        codes = codes * domain.sizes[n] + drawn[n]
    counts = np.bincount(codes, minlength=domain.cells(clique)).astype(np.float64)
    return counts.reshape(domain.shape(clique))


def pearson(counts: Table, expected: Table) -> tuple[float, int]:
    """Give Pearson's statistic, and its degrees of freedom where all sums are given."""
    kept = expected > 0
    assert np.all(counts[~kept] == 0)
    off = counts[kept] - expected[kept]
    return float((off**2 / expected[kept]).sum()), int(kept.sum()) - 1
