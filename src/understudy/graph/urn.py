"""Urns: the rows of a model in whole numbers, drawn without replacement, batch by batch.

A model's cliques are rounded to whole rows once, for all rows that will be drawn.  A batch is
then drawn from what is left of them: within each group of rows every kind gives its share,
rounded up or down, and never more than there is.  So the batches of a table have together, in
every clique, the counts that one draw of all rows has; rounding each batch by itself would add
an error for every batch (``test_batches_have_the_counts_of_the_whole``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph.sampling import SHARED, check_possible, dealt, grouped, steps, unravelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.sampling import Codes, Counts
    from understudy.schema.domain import Clique, Domain

    Small = NDArray[np.int32]
    Draw = Callable[[int, np.random.Generator], dict[str, Codes]]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One clique's new columns: the number of rows of each kind, by the columns already known."""

    known: Clique
    new: Clique
    starts: Counts
    """Group g of the known columns has the kinds from starts[g] to starts[g + 1]."""
    cells: Small
    """The cell of each kind in the new columns."""
    counts: Small
    """The number of rows of each kind."""

    @classmethod
    def of(cls, known: Clique, new: Clique, counts: Counts) -> Step:
        """Keep the non-empty cells of a table of groups × cells."""
        kinds = np.flatnonzero(counts)
        starts = np.searchsorted(kinds, counts.shape[1] * np.arange(len(counts) + 1))
        cells = (kinds % counts.shape[1]).astype(np.int32)
        return cls(known, new, starts, cells, counts.reshape(-1)[kinds].astype(np.int32))


@dataclass(frozen=True, slots=True, eq=False)
class Urn:
    """All rows of a table, as counts clique by clique."""

    domain: Domain
    steps: tuple[Step, ...]

    @classmethod
    def of(
        cls,
        tree: JunctionTree,
        tables: Mapping[Clique, Table],
        *,
        rows: int,
        rng: np.random.Generator,
    ) -> Urn:
        """Round a model to a number of rows."""
        found, whole = [], _Whole(tree.domain, rows)
        for known, new, table in steps(tree, tables):
            wanted = whole.summed(known)
            check_possible(table, wanted, known)
            counts = SHARED["rounded"](table, wanted, rng)
            whole.add((*known, *new), counts)
            found.append(Step.of(known, new, counts))
        return cls(tree.domain, tuple(found))

    @classmethod
    def counted(cls, domain: Domain, cells: Counts, counts: Counts) -> Urn:
        """Fill an urn with given counts of cells of all columns."""
        every = tuple(domain.sizes)
        one = np.array([0, len(cells)])
        step = Step((), every, one, cells.astype(np.int32), counts.astype(np.int32))
        return cls(domain, (step,))

    def begin(self) -> Draw:
        """Return a function that draws a number of the rows that are left."""
        left = [step.counts.astype(np.int64) for step in self.steps]

        def draw(rows: int, rng: np.random.Generator) -> dict[str, Codes]:
            drawn: dict[str, Codes] = {}
            for step, held in zip(self.steps, left, strict=True):
                group, wanted = grouped(self.domain, drawn, step.known, rows)
                taken = _taken(step.starts, held, wanted, rng)
                np.subtract(held, taken, out=held)
                cells = dealt(step.cells, taken, group, rng)
                drawn |= unravelled(self.domain, step.new, cells)
            return {name: drawn[name] for name in self.domain.sizes}

        return draw


class _Whole:
    """Whole-number counts in the cliques walked so far, and their sums."""

    def __init__(self, domain: Domain, rows: int) -> None:
        self._domain, self._rows = domain, rows
        self._tables: dict[Clique, Small] = {}

    def add(self, names: Clique, counts: Counts) -> None:
        self._tables[names] = counts.astype(np.int32).reshape(self._domain.shape(names))

    def summed(self, wanted: Clique) -> Counts:
        """Count the rows by columns that one clique contains."""
        if not wanted:
            return np.array([self._rows])
        names = next(names for names in self._tables if set(wanted) <= set(names))
        others = tuple(i for i, n in enumerate(names) if n not in wanted)
        summed: Counts = self._tables[names].sum(axis=others, dtype=np.int64)
        kept = [n for n in names if n in wanted]
        return summed.transpose([kept.index(n) for n in wanted]).reshape(-1)


def _taken(starts: Counts, left: Counts, wanted: Counts, rng: np.random.Generator) -> Counts:
    """Return how many of each kind are drawn, where ``wanted`` of each group are.

    Systematic sampling in whole numbers.  A group's kinds lie one after the other on a line, a
    unit a row that is left; marks come at even steps, from a random place; a kind is drawn as
    often as marks fall on it.  Steps are no shorter than a unit, so it is never drawn too often.
    """
    ends, sizes = np.cumsum(left), np.diff(starts)
    before = np.concatenate(([0], ends))[starts]
    held = np.maximum(np.diff(before), 1)
    marks = ends - np.repeat(before[:-1], sizes)
    marks *= np.repeat(wanted, sizes)
    marks += np.repeat(rng.integers(held), sizes)
    marks //= np.repeat(held, sizes)
    taken: Counts = np.diff(marks, prepend=0)
    first = starts[:-1][sizes > 0]
    taken[first] = marks[first]
    return taken
