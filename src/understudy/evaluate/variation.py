"""Total variation: the largest difference of two tables' shares of any set of cells.

It is ½‖p − q‖₁: 0 where two distributions are the same, 1 where they have no cell in common.
A table without rows has distance 1 from one that has some.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from understudy.evaluate.matching import matched
from understudy.evaluate.table import check_alike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.evaluate.table import Coded

Pair = tuple[str, str]
Triple = tuple[str, str, str]


def total_variation(real: Coded, synthetic: Coded, names: Sequence[str]) -> float:
    """Return the total variation between two tables' marginals of a clique."""
    if not real.rows or not synthetic.rows:
        check_alike(real, synthetic)
        return float(real.rows != synthetic.rows)
    distance = 0.0
    for cells in matched(real, synthetic, names):
        shares = cells.real / real.rows - cells.synthetic / synthetic.rows
        distance += float(np.abs(shares).sum())
    # Rounding could exceed the largest possible value.
    return min(distance / 2, 1.0)


def one_way(real: Coded, synthetic: Coded) -> dict[str, float]:
    """Return the total variation of every column."""
    return {name: total_variation(real, synthetic, (name,)) for name in real.sizes}


def pairs(real: Coded, synthetic: Coded) -> dict[Pair, float]:
    """Return the total variation of every pair of columns."""
    return {pair: total_variation(real, synthetic, pair) for pair in combinations(real.sizes, 2)}


def triples(
    real: Coded, synthetic: Coded, *, count: int = 100, seed: int = 0
) -> dict[Triple, float]:
    """Return the total variation of ``count`` triples of columns, or of all if there are fewer."""
    chosen = choose_triples(list(real.sizes), count=count, seed=seed)
    return {triple: total_variation(real, synthetic, triple) for triple in chosen}


def choose_triples(names: Sequence[str], *, count: int, seed: int) -> list[Triple]:
    """Draw triples of columns without replacement: the same for the same names and seed.

    >>> choose_triples("abcd", count=2, seed=0) == choose_triples("abcd", count=2, seed=0)
    True
    """
    rng = np.random.default_rng(seed)
    there_are = comb(len(names), 3)
    ranks = rng.choice(there_are, size=min(count, there_are), replace=False)
    wanted = set(ranks.tolist())
    return [triple for rank, triple in enumerate(combinations(names, 3)) if rank in wanted]
