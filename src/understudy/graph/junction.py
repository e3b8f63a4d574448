"""Junction trees: from the cliques that were measured to a tree that inference can walk.

Columns are eliminated one by one; each elimination joins the neighbours of the column and
leaves one clique.  The cliques that lie in no other, joined by their largest overlaps, are
a junction tree: for every column the cliques that hold it hang together.  All of it is sets
of names, so the cost of a model is known before a single cell is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from understudy.errors import QuestionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from understudy.graph.domain import Domain
    from understudy.graph.measurement import Clique

Greedy = Literal["fill", "weight"]
BYTES = 8


@dataclass(frozen=True, slots=True)
class Edge:
    """A step of the tree from a clique towards the root."""

    child: Clique
    parent: Clique
    separator: Clique


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques, the root first, and the edges in an order that leads from the leaves to it."""

    domain: Domain
    cliques: tuple[Clique, ...]
    edges: tuple[Edge, ...]

    @property
    def cells(self) -> int:
        """The number of cells of all cliques together."""
        return sum(self.domain.cells(c) for c in self.cliques)

    @property
    def bytes(self) -> int:
        """The memory of one float64 table a clique."""
        return BYTES * self.cells

    def home(self, names: Iterable[str]) -> Clique | None:
        """Give the smallest clique that holds some columns, or None where none does."""
        wanted = set(names)
        homes = [c for c in self.cliques if wanted <= set(c)]
        return min(homes, key=self.domain.cells) if homes else None


def elimination(domain: Domain, cliques: Iterable[Clique], greedy: Greedy) -> list[str]:
    """Choose an order of elimination: least fill-in first, or lightest new clique first."""
    graph = _neighbours(domain, cliques)
    order = []
    while graph:
        name = min(graph, key=lambda n: (*_cost(domain, graph, n, greedy), n))
        _eliminate(graph, name)
        order.append(name)
    return order


def _neighbours(domain: Domain, cliques: Iterable[Clique]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {name: set() for name in domain.sizes}
    for clique in cliques:
        for a, b in combinations(domain.clique(clique), 2):
            graph[a].add(b)
            graph[b].add(a)
    return graph


def _cost(domain: Domain, graph: dict[str, set[str]], name: str, greedy: Greedy) -> tuple[int, int]:
    around = graph[name]
    weight = domain.cells({name, *around})
    if greedy == "weight":
        return weight, 0
    return sum(b not in graph[a] for a, b in combinations(around, 2)), weight


def _eliminate(graph: dict[str, set[str]], name: str) -> set[str]:
    """Join a column's neighbours, take it out, and give the clique they made."""
    around = graph.pop(name)
    for other in around:
        graph[other] |= around - {other}
        graph[other].discard(name)
    return {name, *around}


def junction_tree(
    domain: Domain,
    cliques: Iterable[Clique],
    *,
    order: Sequence[str] | None = None,
    limit: int | None = None,
) -> JunctionTree:
    """Build a junction tree, by a given order or the cheaper of two greedy ones.

    ``limit`` is the most bytes that the tables of all cliques may take together.
    """
    listed = [domain.clique(c) for c in cliques]
    if order is not None:
        if sorted(order) != sorted(domain.sizes):
            raise QuestionError("an order of elimination names every column once", got=order)
        tree = _tree(domain, _maximal(domain, listed, order))
    else:
        orders = (elimination(domain, listed, greedy) for greedy in ("fill", "weight"))
        trees = [_tree(domain, _maximal(domain, listed, o)) for o in orders]
        tree = min(trees, key=lambda t: t.cells)
    if limit is not None and tree.bytes > limit:
        worst = max(tree.cliques, key=domain.cells)
        raise QuestionError(
            f"the model would need a table over {' × '.join(worst)}",
            got=f"{tree.bytes:,} bytes in all, {BYTES * domain.cells(worst):,} for that one",
            allowed=f"at most {limit:,}",
            hint="leave out a measurement that ties these columns together",
        )
    return tree


def _maximal(domain: Domain, cliques: list[Clique], order: Sequence[str]) -> list[Clique]:
    """Eliminate in order, and keep the cliques that lie in no other."""
    graph = _neighbours(domain, cliques)
    made = [_eliminate(graph, name) for name in order]
    outer: list[set[str]] = []
    for clique in sorted(made, key=len, reverse=True):
        if not any(clique <= other for other in outer):
            outer.append(clique)
    return [domain.clique(c) for c in outer]


def _tree(domain: Domain, cliques: list[Clique]) -> JunctionTree:
    """Join cliques by their largest overlaps, from the largest clique outwards."""
    root = max(cliques, key=domain.cells)
    left = [c for c in cliques if c != root]
    inside, edges = [root], []
    while left:
        child, parent = max(
            ((c, p) for c in left for p in inside),
            key=lambda pair: (len(set(pair[0]) & set(pair[1])), -domain.cells(pair[1])),
        )
        separator = domain.clique(set(child) & set(parent))
        edges.append(Edge(child, parent, separator))
        inside.append(child)
        left.remove(child)
    return JunctionTree(domain, tuple(inside), tuple(reversed(edges)))
