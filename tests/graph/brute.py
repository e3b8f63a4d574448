"""Brute force: the whole joint table, and random small models to hold the engine against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_letters

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import nnls

from understudy.graph import Clique, Domain, Measurement, Model, Rows, Zeros, junction_tree
from understudy.graph.beliefs import propagate
from understudy.graph.junction import JunctionTree
from understudy.graph.objective import Objective, objective
from understudy.graph.tables import Tables

Table = NDArray[np.float64]
Case = tuple[JunctionTree, Tables]
"""A tree and log-potentials on it."""

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2})
EVERY: Clique = tuple(DOMAIN.sizes)
CLIQUES: list[Clique] = [(), ("a",), ("b", "a"), ("c", "b"), ("a", "b", "c"), ("d",), ("b", "d")]
WIDE = Domain({"a": 6, "b": 12, "c": 15, "d": 8, "e": 10, "f": 5})
LINKS: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")]
HEAVY = 1e4
"""The weight of the row that holds a total where it is."""


def logs(case: Case) -> Table:
    """Give the sum of all potentials at every cell of the joint table."""
    tree, potentials = case
    sizes = tree.domain.sizes
    summed = np.zeros(list(sizes.values()))
    for c in tree.cliques:
        summed = summed + potentials[c].reshape([sizes[n] if n in c else 1 for n in sizes])
    return summed


def joint(case: Case, *, total: float = 1.0) -> Table:
    """Give every cell of the joint table."""
    held = logs(case)
    mass: Table = np.exp(held - held.max())
    mass *= total / mass.sum()
    return mass


def marginal(domain: Domain, mass: Table, names: Sequence[str]) -> Table:
    """Sum the joint table, with an axis a column in the order given."""
    letters = dict(zip(domain.sizes, ascii_letters, strict=False))
    into = "".join(letters[n] for n in names)
    summed: Table = np.einsum("".join(letters.values()) + "->" + into, mass)
    return summed


def modelled(case: Case, *, total: float) -> Model:
    """Give the model of some potentials by belief propagation."""
    tree, potentials = case
    found = tree.tables()
    propagate(tree, potentials, total=total, out=found)
    return Model(tree, {c: found[c] for c in tree.cliques})


def random_case(domain: Domain, cliques: Iterable[Clique], *, seed: int, size: float = 1.0) -> Case:
    """Give a tree with normal potentials, all of them finite."""
    tree = junction_tree(domain, cliques)
    potentials = tree.tables()
    potentials.flat[...] = np.random.default_rng(seed).normal(0, size, tree.cells)
    return tree, potentials


@st.composite
def trees(draw: st.DrawFn) -> JunctionTree:
    """Trees of random graphs: loops, singletons, columns in no clique, duplicates."""
    names = list("abcdef")[: draw(st.integers(1, 6))]
    domain = Domain({n: draw(st.integers(1, 4)) for n in names})
    some = st.sets(st.sampled_from(names), max_size=min(3, len(names))).map(tuple)
    cliques = draw(st.lists(some, max_size=6))
    order = draw(st.one_of(st.none(), st.permutations(names)))
    return junction_tree(domain, cliques, order=order)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Trees with random log-potentials, some of them −∞ but never all."""
    tree = draw(trees())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from([0.1, 3.0, 200.0]))
    zeros = draw(st.sampled_from([0.0, 0.3]))
    potentials = tree.tables()
    potentials.flat[...] = rng.normal(0, size, tree.cells)
    potentials.flat[rng.random(tree.cells) < zeros] = -np.inf
    # One cell of the joint table stays possible.
    alive = {n: int(rng.integers(s)) for n, s in tree.domain.sizes.items()}
    for clique in tree.cliques:
        potentials[clique][tuple(alive[n] for n in clique)] = rng.normal(0, size)
    return tree, potentials


@st.composite
def measured(draw: st.DrawFn, *, most: int | None = None) -> list[Measurement]:
    """Answers about cells and about weighted sums of them, some cliques twice, some empty.

    ``most`` is how many cells a sum may have; then there are no more sums than cells.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    out = []
    for clique in draw(st.lists(st.sampled_from(CLIQUES), min_size=1, max_size=7)):
        cells, scale = DOMAIN.cells(clique), draw(st.floats(0.5, 50))
        if draw(st.booleans()):
            out.append(Measurement(clique=clique, values=rng.normal(5, 5, cells), scale=scale))
            continue
        sets = draw(
            st.lists(
                st.sets(st.integers(0, cells - 1), min_size=1, max_size=most),
                min_size=1,
                max_size=3 if most is None else min(3, cells),
            )
        )
        starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
        flat = np.array([c for s in sets for c in sorted(s)], dtype=np.int64)
        weights = rng.normal(1, 1, len(flat)) if draw(st.booleans()) else None
        values, rows = rng.normal(5, 5, len(sets)), Rows(starts, flat)
        out.append(
            Measurement(clique=clique, values=values, scale=scale, rows=rows, weights=weights)
        )
    return out


def answers(
    domain: Domain, cliques: Sequence[Clique], *, rows: int, scale: float, seed: int
) -> list[Measurement]:
    """Measure cliques of rows from a model that they make, with Gaussian noise."""
    rng, names = np.random.default_rng(seed), tuple(domain.sizes)
    held = np.zeros(domain.shape(names))
    for c in cliques:
        held += rng.normal(size=domain.cells(c))[positions(domain, c)].reshape(held.shape)
    shares = np.exp(held).reshape(-1)
    mass = rng.multinomial(rows, shares / shares.sum()).reshape(held.shape).astype(np.float64)
    true = [marginal(domain, mass, c).reshape(-1) for c in cliques]
    return [
        Measurement(clique=c, values=v + rng.normal(0, scale, v.size), scale=scale)
        for c, v in zip(cliques, true, strict=True)
    ]


@st.composite
def barred(draw: st.DrawFn) -> list[Zeros]:
    """Cells that cannot be, of a few cliques in orders of their own, never all of them."""
    zeros = []
    some: list[Clique] = [("b", "a"), ("c", "d"), ("a",)]
    for clique in draw(st.lists(st.sampled_from(some), min_size=1, max_size=3)):
        cells = draw(st.sets(st.integers(0, DOMAIN.cells(clique) - 1)))
        zeros.append(Zeros(clique=clique, cells=np.array(sorted(cells), dtype=np.int64)))
    assume(possible(DOMAIN, zeros).any())
    return zeros


def exact(mass: Table, clique: Clique, *, scale: float, group: str | None = None) -> Measurement:
    """Measure a clique of the joint table over ``DOMAIN`` without noise."""
    values = marginal(DOMAIN, mass, clique).reshape(-1)
    return Measurement(clique=clique, values=values, scale=scale, group=group)


def positions(domain: Domain, clique: Clique) -> NDArray[np.int64]:
    """Number every cell of the joint table by the cell of a clique that it lies in."""
    names = list(domain.sizes)
    places = np.indices(domain.shape(tuple(names))).reshape(len(names), -1)
    number = np.zeros(places.shape[1], dtype=np.int64)
    for n in clique:
        number = number * domain.sizes[n] + places[names.index(n)]
    return number


def matrix(domain: Domain, m: Measurement) -> Table:
    """Give what a measurement asks as a matrix over the cells of its clique."""
    cells = domain.cells(m.clique)
    if m.rows is None:
        return np.eye(cells)
    weights = np.ones(len(m.rows.cells)) if m.weights is None else m.weights
    out = np.zeros((m.rows.count, cells))
    for i in range(m.rows.count):
        here = slice(m.rows.starts[i], m.rows.starts[i + 1])
        np.add.at(out[i], m.rows.cells[here], weights[here])
    return out


def design(domain: Domain, m: Measurement) -> Table:
    """Give the same as a matrix over the cells of the joint table."""
    return matrix(domain, m)[:, positions(domain, m.clique)]


def possible(domain: Domain, zeros: Iterable[Zeros]) -> NDArray[np.bool_]:
    """Mark the cells of the joint table that are not barred."""
    allowed = np.ones(domain.cells(domain.sizes), dtype=bool)
    for z in zeros:
        allowed &= ~np.isin(positions(domain, z.clique), z.cells)
    return allowed


def built(measurements: Iterable[Measurement], zeros: Iterable[Zeros] = ()) -> Objective:
    """Give the loss of measurements over ``DOMAIN``, on a tree of their own."""
    listed = list(measurements)
    tree = junction_tree(DOMAIN, [*(m.clique for m in listed), *(z.clique for z in zeros)])
    return objective(tree, listed)


def held(loss: Objective, mass: Table) -> Tables:
    """Lay the marginals of a joint table out as the loss has them, and nothing after them."""
    tables = loss.tables()
    for clique in loss.tree.cliques:
        tables[clique][...] = marginal(DOMAIN, mass, clique)
    return tables


def residual(loss: Objective, mass: Table) -> Tables:
    """Give the residual of a joint table's marginals."""
    tables = held(loss, mass)
    loss.leave(tables)
    return tables


def squares(domain: Domain, measurements: Iterable[Measurement], mass: Table) -> float:
    """Sum every measurement's own squares, straight from the joint table."""
    return sum(
        0.5 * float((((design(domain, m) @ mass.reshape(-1) - m.values) / m.scale) ** 2).sum())
        for m in measurements
    )


def likeliest(
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    total: float | None,
    zeros: Iterable[Zeros] = (),
) -> Table:
    """Give a joint table of the least loss there is, by non-negative least squares."""
    allowed = possible(domain, zeros)
    asked = [design(domain, m)[:, allowed] / m.scale for m in measurements]
    values = [m.values / m.scale for m in measurements]
    if total is not None:
        asked.append(np.full((1, int(allowed.sum())), HEAVY))
        values.append(np.array([HEAVY * total]))
    mass = np.zeros(allowed.shape)
    mass[allowed] = nnls(np.vstack(asked), np.concatenate(values), maxiter=10_000)[0]
    if total is not None:
        # The row has held it all but exactly.
        mass *= total / mass.sum()
    return mass.reshape(domain.shape(tuple(domain.sizes)))


def least(
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    total: float | None,
    zeros: Iterable[Zeros] = (),
) -> float:
    """Give the least loss there is."""
    best = likeliest(domain, measurements, total=total, zeros=zeros)
    return squares(domain, measurements, best)
