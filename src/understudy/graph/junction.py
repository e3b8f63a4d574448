"""Junction trees: from the cliques that were measured to a tree that inference can walk.

Columns are eliminated one by one; each elimination joins the neighbours of the column and
leaves one clique.  The cliques that lie in no other, joined by their largest overlaps, are
a junction tree: for every column the cliques that hold it hang together.  All of it is sets
of names, so the cost of a model is known before a single cell is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from understudy.errors import QuestionError
from understudy.graph.tables import Tables
from understudy.schema.domain import Domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from understudy.schema.domain import Clique

Greedy = Literal["fill", "weight"]
GREEDY: tuple[Greedy, ...] = ("fill", "weight")
BYTES = 8


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of the tree, from a clique towards the root."""

    child: Clique
    parent: Clique
    separator: Clique


@dataclass(frozen=True)
class JunctionTree:
    """Cliques, the root first, and the edges ordered from the leaves to the root.

    The domain lists the columns in the tree's own order, the order of its tables' axes.
    """

    domain: Domain
    cliques: tuple[Clique, ...]
    edges: tuple[Edge, ...]

    @property
    def cells(self) -> int:
        """The number of cells of all cliques together."""
        return sum(self.domain.cells(c) for c in self.cliques)

    @property
    def bytes(self) -> int:
        """The memory of one float64 table per clique."""
        return BYTES * self.cells

    def tables(self) -> Tables:
        """Return a table of zeros for each clique."""
        return Tables({c: self.domain.shape(c) for c in self.cliques})

    def home(self, names: Iterable[str]) -> Clique | None:
        """Return the smallest clique that contains some columns, or None."""
        wanted = frozenset(names)
        return next((c for c, held in self._smallest_first if wanted <= held), None)

    @cached_property
    def _smallest_first(self) -> list[tuple[Clique, frozenset[str]]]:
        """The cliques and their columns, ordered by cells."""
        return [(c, frozenset(c)) for c in sorted(self.cliques, key=self.domain.cells)]

    def bytes_with_pairs(self) -> dict[frozenset[str], int]:
        """Return, for every pair of columns, an upper bound on the tree's memory with it added.

        A pair is contained once one of its columns is added to all cliques on the path to the
        other, which leaves a junction tree; the best one is no larger.
        """
        found: dict[frozenset[str], int] = {}
        cells = {c: self.domain.cells(c) for c in self.cliques}
        for name, size in self.domain.sizes.items():
            added = {c: 0 for c in self.cliques if name in c}
            for clique in (reached := list(added)):
                for near in self.around[clique]:
                    if near not in added:
                        added[near] = added[clique] + BYTES * (size - 1) * cells[near]
                        reached.append(near)
            for clique, more in added.items():
                for other in clique:
                    pair = frozenset({name, other})
                    found[pair] = min(found.get(pair, more), more)
        held = self.bytes
        return {pair: held + more for pair, more in found.items()}

    @cached_property
    def around(self) -> dict[Clique, list[Clique]]:
        """The neighbours of each clique."""
        around: dict[Clique, list[Clique]] = {c: [] for c in self.cliques}
        for edge in self.edges:
            around[edge.child].append(edge.parent)
            around[edge.parent].append(edge.child)
        return around

    def walk(self, root: Clique) -> list[Clique]:
        """List the cliques from a given one outwards, each after a neighbour."""
        found = {root: None}
        for clique in (reached := [root]):
            reached += [near for near in self.around[clique] if near not in found]
            found |= dict.fromkeys(self.around[clique])
        return reached


def elimination(domain: Domain, cliques: Iterable[Clique], greedy: Greedy) -> list[str]:
    """Choose an elimination order: least fill-in first, or lightest new clique first.

    Columns are numbered by name, and a set of them is an integer with a bit for each.
    """
    names = sorted(domain.sizes)
    sizes, graph = [domain.sizes[n] for n in names], _bits(names, cliques)
    cost = _fill if greedy == "fill" else _weight
    costs = {i: cost(sizes, graph, i) for i in range(len(names))}
    order = []
    while costs:
        i = min(costs, key=costs.__getitem__)
        del costs[i]
        order.append(names[i])
        around = graph[i]
        changed = around
        for j in _members(around):
            graph[j] = (graph[j] | around) & ~(1 << i | 1 << j)
            if greedy == "fill":
                # Whoever is next to two that are newly joined has one pair less to join.
                changed |= graph[j]
        for j in _members(changed):
            costs[j] = cost(sizes, graph, j)
    return order


def _bits(names: Sequence[str], cliques: Iterable[Clique]) -> list[int]:
    """Return the neighbours of every column, as bits."""
    place = {name: i for i, name in enumerate(names)}
    graph = [0] * len(names)
    for clique in cliques:
        whole = sum(1 << place[name] for name in set(clique))
        for name in clique:
            graph[place[name]] |= whole
    return [around & ~(1 << i) for i, around in enumerate(graph)]


def _members(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _weight(sizes: Sequence[int], graph: Sequence[int], i: int) -> tuple[int, int]:
    """Return the cells of the clique that eliminating a column makes."""
    weight = sizes[i]
    for j in _members(graph[i]):
        weight *= sizes[j]
    return weight, i


def _fill(sizes: Sequence[int], graph: Sequence[int], i: int) -> tuple[int, int, int]:
    """Return how many pairs eliminating a column joins, and the cells of the clique it makes."""
    weight, missing, around = sizes[i], 0, graph[i]
    for j in _members(around):
        weight *= sizes[j]
        missing += (around & ~graph[j]).bit_count()
    # Each column misses itself, and each missing pair is counted from both its ends.
    return (missing - around.bit_count()) // 2, weight, i


def _neighbours(domain: Domain, cliques: Iterable[Clique]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {name: set() for name in domain.sizes}
    for clique in cliques:
        for name in clique:
            graph[name].update(clique)
    for name, around in graph.items():
        around.discard(name)
    return graph


def _eliminate(graph: dict[str, set[str]], name: str) -> set[str]:
    """Join a column's neighbours, remove it, and return the clique they made."""
    around = graph.pop(name)
    for other in around:
        graph[other] |= around
        graph[other] -= {other, name}
    return {name, *around}


def outer_cliques(
    domain: Domain, cliques: Iterable[Clique], *, order: Sequence[str] | None = None
) -> list[set[str]]:
    """Return the cliques of a junction tree, by a given order or the cheaper of two greedy ones.

    This is all it takes to compute the size of a model.
    """
    listed = [domain.clique(c) for c in cliques]
    if order is None:
        found = [_maximal(domain, listed, elimination(domain, listed, g)) for g in GREEDY]
        return min(found, key=lambda outer: _cells(domain, outer))
    if sorted(order) != sorted(domain.sizes):
        raise QuestionError("an elimination order must name every column once", got=order)
    return _maximal(domain, listed, order)


def best_order(domain: Domain, cliques: Iterable[Clique]) -> list[str]:
    """Return the elimination order of the cheaper of two greedy trees.

    With a fixed order a tree never grows when columns shrink; with a recomputed one it may.
    """
    listed = [domain.clique(c) for c in cliques]
    orders = [elimination(domain, listed, greedy) for greedy in GREEDY]
    return min(orders, key=lambda order: _cells(domain, _maximal(domain, listed, order)))


def _cells(domain: Domain, cliques: Iterable[Iterable[str]]) -> int:
    return sum(domain.cells(c) for c in cliques)


def model_bytes(domain: Domain, cliques: Iterable[Clique]) -> int:
    """Return the memory of a model's tree, with one table per clique.

    >>> model_bytes(Domain({"a": 2, "b": 3, "c": 5}), [("a", "b"), ("b", "c")])
    168
    """
    return BYTES * _cells(domain, outer_cliques(domain, cliques))


def junction_tree(
    domain: Domain,
    cliques: Iterable[Clique],
    *,
    order: Sequence[str] | None = None,
    limit: int | None = None,
) -> JunctionTree:
    """Build a junction tree, by a given order or the cheaper of two greedy ones.

    ``limit`` is the maximum number of bytes for the tables of all cliques together.
    """
    outer = outer_cliques(domain, cliques, order=order)
    size = BYTES * _cells(domain, outer)
    if limit is not None and size > limit:
        worst = domain.clique(max(outer, key=domain.cells))
        raise QuestionError(
            f"the model would need a table over {' × '.join(worst)}",
            got=f"{size:,} bytes in all, {BYTES * domain.cells(worst):,} for that one",
            allowed=f"at most {limit:,}",
            hint="leave out a measurement that connects these columns",
        )
    return joined(domain, [domain.clique(c) for c in outer])


def _maximal(domain: Domain, cliques: list[Clique], order: Sequence[str]) -> list[set[str]]:
    """Eliminate in order, and keep the maximal cliques."""
    graph = _neighbours(domain, cliques)
    made = [_eliminate(graph, name) for name in order]
    outer: list[set[str]] = []
    for clique in sorted(made, key=len, reverse=True):
        if not any(clique <= other for other in outer):
            outer.append(clique)
    return outer


def _laid_out(domain: Domain, cliques: list[Clique]) -> Domain:
    """Put columns that are in few cliques first.

    Separators are then the last axes of their tables, so sums down to them, and broadcasts
    from them, run over contiguous memory.
    """
    holders = {name: sum(name in c for c in cliques) for name in domain.sizes}
    order = sorted(domain.sizes, key=lambda n: (holders[n], domain.sizes[n]))
    return Domain({n: domain.sizes[n] for n in order})


def _closeness(domain: Domain, child: Clique, parent: Clique) -> tuple[int, int]:
    """Rank a parent: the largest overlap first, then the lightest."""
    return len(set(child) & set(parent)), -domain.cells(parent)


def joined(domain: Domain, cliques: list[Clique]) -> JunctionTree:
    """Join cliques by their largest overlaps, from the smallest clique outwards.

    Leaves are cheaper than inner cliques, so the largest clique should be a leaf.
    """
    domain = _laid_out(domain, cliques)
    cliques = [domain.clique(c) for c in cliques]
    root = min(cliques, key=domain.cells)
    inside, edges = [root], []
    # The best parent so far of each clique that is not yet in the tree.
    near = {c: root for c in cliques if c != root}
    while near:
        child = max(near, key=lambda c: _closeness(domain, c, near[c]))
        parent = near.pop(child)
        edges.append(Edge(child, parent, domain.clique(set(child) & set(parent))))
        inside.append(child)
        for other, best in near.items():
            near[other] = max(best, child, key=lambda p: _closeness(domain, other, p))
    for name in domain.sizes:
        if sum(name in c for c in inside) - sum(name in e.separator for e in edges) != 1:
            raise QuestionError(
                "these cliques do not make a junction tree",
                got=f"{name} in no clique, or in cliques that are not connected",
            )
    return JunctionTree(domain, tuple(inside), tuple(reversed(edges)))
