"""Every marginal that a test of the vault counts is counted both ways: here, and in the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.door import Clique
from understudy.vault import PrivateTable, candidates, counts, marginals, table

REAL = marginals.marginals
Counted = tuple[Clique, NDArray[np.int64]]


def both_ways(private: PrivateTable, cliques: Sequence[Clique], weighted: str) -> Iterator[Counted]:
    """Count here and there; the whole numbers are the same."""
    here = dict(REAL(private, cliques, weighted))
    with patch.object(table, "MOST_HELD", -1):
        there = dict(REAL(private, cliques, weighted))
    assert here.keys() == there.keys() == set(cliques)
    for clique, counted in here.items():
        assert counted.dtype == there[clique].dtype == np.int64
        assert counted.tolist() == there[clique].tolist()
    yield from here.items()


@pytest.fixture(autouse=True, scope="module")
def counted_both_ways() -> Iterator[None]:
    with (
        patch.object(counts, "marginals", both_ways),
        patch.object(candidates, "marginals", both_ways),
    ):
        yield
