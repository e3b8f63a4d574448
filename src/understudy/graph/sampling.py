"""Sampling: rows of a model, walking its tree from the root.

Each clique's new columns are dealt to the rows given the columns they have already.  Within
each value of these the rows come in a random order before the new columns are dealt, so that
siblings stay independent given what they share: without it they become functions of each
other, a known bug of the field (``test_siblings_are_independent_given_their_parent``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.errors import QuestionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.schema.domain import Clique, Domain

    Codes = NDArray[np.int32]
    Counts = NDArray[np.int64]
    Ints = NDArray[np.signedinteger[Any]]

Way = Literal["rounded", "multinomial"]


def check_given(domain: Domain, given: Mapping[str, Codes], rows: int) -> None:
    """Raise on a negative number of rows, and on given columns that the model cannot have."""
    if rows < 0:
        raise QuestionError("the number of rows must not be negative", got=rows)
    for name in domain.clique(given):
        codes, size = np.asarray(given[name]), domain.sizes[name]
        if codes.shape != (rows,) or codes.dtype.kind not in "iu":
            raise QuestionError(
                f"the given column {name} must have one integer code per row",
                got=f"{codes.dtype} of shape {codes.shape}",
                allowed=f"shape ({rows},)",
            )
        if rows and not 0 <= codes.min() <= codes.max() < size:
            raise QuestionError(
                f"the given column {name} has codes outside the model's domain",
                got=f"{codes.min()} to {codes.max()}",
                allowed=f"0 to {size - 1}",
            )


def draw(
    tree: JunctionTree,
    tables: Mapping[Clique, Table],
    given: Mapping[str, Codes],
    *,
    rows: int,
    way: Way,
    rng: np.random.Generator,
) -> dict[str, Codes]:
    """Draw the columns that are not given, where one clique contains all given ones."""
    drawn = {name: np.asarray(codes, dtype=np.int32) for name, codes in given.items()}
    for known, new, table in steps(tree, tables, given):
        group, wanted = grouped(tree.domain, drawn, known, rows)
        check_possible(table, wanted, known)
        if new:
            cells = dealt(np.arange(table.shape[1]), SHARED[way](table, wanted, rng), group, rng)
            drawn |= unravelled(tree.domain, new, cells)
    return {name: drawn[name] for name in tree.domain.sizes}


def steps(
    tree: JunctionTree, tables: Mapping[Clique, Table], given: Iterable[str] = ()
) -> Iterator[tuple[Clique, Clique, Table]]:
    """Walk the tree: yield the columns that a clique shares with those known, and its new ones.

    Its table comes with them, with the shared cells as rows and the new cells as columns.
    """
    there = set(given)
    for clique in tree.walk(tree.home(there) or tree.cliques[0]):
        known = tuple(n for n in clique if n in there)
        new = tuple(n for n in clique if n not in there)
        there.update(new)
        order = [clique.index(n) for n in (*known, *new)]
        yield known, new, tables[clique].transpose(order).reshape(tree.domain.cells(known), -1)


def grouped(
    domain: Domain, drawn: Mapping[str, Codes], known: Clique, rows: int
) -> tuple[Counts, Counts]:
    """Return every row's cell of the known columns, and the number of rows in each cell."""
    group = np.zeros(rows, dtype=np.int64)
    if known:
        group = np.ravel_multi_index([drawn[n] for n in known], domain.shape(known))
    return group, np.bincount(group, minlength=domain.cells(known))


def check_possible(table: Table, wanted: Counts, known: Clique) -> None:
    """Raise if rows are wanted of a group that has no mass."""
    if np.any(wanted[table.sum(axis=1) == 0]):
        raise QuestionError(
            f"given rows are impossible under the model, by {' × '.join(known)}",
            hint="leave out such rows, or fix fewer columns",
        )


def dealt(kinds: Ints, counts: Counts, group: Counts, rng: np.random.Generator) -> Counts:
    """Assign each group's cells to its rows, in a random order.

    ``counts`` is the number of rows of each kind, group after group; ``kinds`` is the cell of
    each kind, or of each kind in every group.
    """
    rows = len(group)
    # Distinct keys sort the same way on every machine, and faster than with a stable sort.
    shuffled = np.argsort(group * rows + rng.permutation(rows))
    cells = np.empty(rows, dtype=np.int64)
    each = np.broadcast_to(kinds, counts.shape).reshape(-1)
    cells[shuffled] = np.repeat(each, counts.reshape(-1))
    return cells


def unravelled(domain: Domain, names: Clique, cells: Counts) -> dict[str, Codes]:
    """Return the codes of columns from their cell numbers."""
    codes = np.unravel_index(cells, domain.shape(names))
    return {n: c.astype(np.int32) for n, c in zip(names, codes, strict=True)}


def _rounded(table: Table, wanted: Counts, rng: np.random.Generator) -> Counts:
    """Share each group's rows among its cells, each count rounded up or down.

    Systematic sampling: a count is rounded up with a probability of its fractional part.  A
    cell without mass gets no row.
    """
    edges = np.cumsum(table, axis=1)
    mass = edges[:, -1:].copy()
    np.divide(edges, mass, out=edges, where=mass > 0)
    edges *= wanted[:, None]
    edges += rng.random((len(table), 1))
    np.floor(edges, out=edges)
    np.minimum(edges, wanted[:, None], out=edges)
    return np.diff(edges, axis=1, prepend=0.0).astype(np.int64)


def _multinomial(table: Table, wanted: Counts, rng: np.random.Generator) -> Counts:
    """Draw each group's counts as if every row were drawn independently."""
    shares = np.full(table.shape, 1 / table.shape[1])
    mass = table.sum(axis=1, keepdims=True)
    np.divide(table, mass, out=shares, where=mass > 0)
    counts = rng.multinomial(wanted, shares)
    # Rounding can leave a row to a last cell without mass: it goes to the likeliest cell.
    stray = np.where(table == 0, counts, 0)
    counts -= stray
    counts[np.arange(len(table)), table.argmax(axis=1)] += stray.sum(axis=1)
    return counts


SHARED = {"rounded": _rounded, "multinomial": _multinomial}


def evenly(merged: Codes, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw numbers from 0 to 1 that lie evenly within each merged code, in random order.

    So a part of that length has as many of them as it should, but for less than one.
    """
    order, sizes = np.lexsort((rng.random(len(merged)), merged)), np.bincount(merged)
    nth = np.empty(len(merged))
    nth[order] = np.arange(len(merged)) - (np.cumsum(sizes) - sizes)[merged[order]]
    found: NDArray[np.float64] = (nth + rng.random(len(sizes))[merged]) / sizes[merged]
    return found
