"""Synthetic rows matched with public ones by the values of some columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.synth.generate.numbering import index_type, numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """A column by which rows are matched, in codes or in numbers of its values."""

    synthetic: Ints
    public: Ints
    size: int
    """All codes are below it."""


def cells_alike(by: Sequence[Key], rows: Ints, public: int) -> tuple[Ints, Ints, int]:
    """Number the cells of some synthetic rows and of all public ones; return how many too."""
    cells: Ints = np.zeros(len(rows) + public, dtype=np.int64)
    size = 1
    for key in by:
        # Numbered anew before each column, so that a product of many stays small.
        there, cells = numbered(cells, size)
        size = len(there) * key.size
        cells = cells.astype(index_type(size))
        cells *= key.size
        cells[: len(rows)] += key.synthetic[rows]
        cells[len(rows) :] += key.public
    there, cells = numbered(cells, size)
    return cells[: len(rows)], cells[len(rows) :], len(there)


def public_rows_alike(
    ways: Iterable[Sequence[Key]], *, rows: int, public: int, rng: np.random.Generator
) -> Ints:
    """Return, for each of the synthetic rows, the position of a random public row like it.

    Rows match in the columns of the first way; where no public row does, of the next; with no
    columns every row matches.
    """
    left = np.arange(rows, dtype=index_type(rows))
    found = np.zeros(rows, dtype=index_type(public))
    for by in (*ways, ()):
        wanted, known, size = cells_alike(by, left, public)
        order = np.argsort(known, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(known, minlength=size))))
        held = np.diff(starts)[wanted]
        there = held > 0
        turn = np.floor(rng.random(int(there.sum())) * held[there]).astype(np.int64)
        found[left[there]] = order[starts[wanted[there]] + turn]
        left = left[~there]
        if not len(left):
            break
    return found
