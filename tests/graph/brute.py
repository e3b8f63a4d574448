"""Brute force: the whole joint table, and random small models to hold the engine against."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.graph import Clique
from understudy.graph.domain import Domain
from understudy.graph.junction import JunctionTree, junction_tree

Table = NDArray[np.float64]


def joint(domain: Domain, potentials: dict[Clique, Table]) -> Table:
    """Give every cell's unnormalised probability."""
    names = list(domain.sizes)
    logs = np.zeros([domain.sizes[n] for n in names])
    for clique, table in potentials.items():
        logs = logs + table.reshape([domain.sizes[n] if n in clique else 1 for n in names])
    mass: Table = np.exp(logs - logs.max())
    return mass


def marginal(domain: Domain, mass: Table, clique: Clique) -> Table:
    axes = tuple(i for i, n in enumerate(domain.sizes) if n not in clique)
    out: Table = mass.sum(axis=axes)
    return out


@st.composite
def trees(draw: st.DrawFn) -> JunctionTree:
    """Trees of random graphs: loops, singletons, columns in no clique, duplicates."""
    names = list("abcdef")[: draw(st.integers(1, 6))]
    domain = Domain({n: draw(st.integers(1, 4)) for n in names})
    some = st.sets(st.sampled_from(names), min_size=1, max_size=min(3, len(names))).map(tuple)
    cliques = draw(st.lists(some, max_size=6))
    order = draw(st.one_of(st.none(), st.permutations(names)))
    return junction_tree(domain, cliques, order=order)


@st.composite
def models(draw: st.DrawFn) -> tuple[JunctionTree, dict[Clique, Table]]:
    """Trees with random log-potentials, some of them −∞ but never all."""
    tree = draw(trees())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from([0.1, 3.0, 200.0]))
    zeros = draw(st.sampled_from([0.0, 0.3]))
    alive = {n: int(rng.integers(s)) for n, s in tree.domain.sizes.items()}
    potentials = {}
    for clique in tree.cliques:
        table = rng.normal(0, size, tree.domain.shape(clique))
        table[rng.random(table.shape) < zeros] = -np.inf
        # One cell of the joint table stays possible.
        table[tuple(alive[n] for n in clique)] = rng.normal(0, size)
        potentials[clique] = table
    return tree, potentials
