"""Kinds of people, whose rows are at other times than those of others.

Where the model of rows says that times depend on what is a person's own, such as the weekdays that
patients of a ward come on, times are drawn as they are for people of that kind.

Only noisy answers enter.  Tied by ``tests/synth/lives/test_kinds.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from understudy.graph import Model

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST, MOST_CELLS = 16, 64
"""The most kinds of people, and the most combinations of codes of several columns."""
LEAST = 1e-4
"""The least mutual information, in nats, of a column that times depend on."""


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """Kinds of people by some columns of their own."""

    columns: tuple[str, ...]
    shape: tuple[int, ...]
    kinds: Ints
    """The kind of every combination of the columns' codes."""
    counts: Floats
    """The model's rows by time, a line for each kind."""

    @classmethod
    def of(cls, model: Model, time: tuple[str, ...], own: Iterable[str]) -> Kinds:
        """Take the columns that times depend on, those first on which they depend most."""
        depend = {name: _dependence(model, (name,), time) for name in own}
        columns: tuple[str, ...] = ()
        for name in sorted((n for n in depend if depend[n] > LEAST), key=lambda n: -depend[n]):
            if not columns or model.tree.domain.cells((*columns, name)) <= MOST_CELLS:
                columns += (name,)
        shape = model.tree.domain.shape(columns)
        counts = model.marginal((*columns, *time)).reshape(model.tree.domain.cells(columns), -1)
        # The rarest combinations are of one kind.
        rank = np.argsort(np.argsort(-counts.sum(axis=1), kind="stable"), kind="stable")
        kinds = np.minimum(rank, MOST - 1)
        by_kind = np.zeros((int(kinds.max()) + 1, counts.shape[1]))
        np.add.at(by_kind, kinds, counts)
        return cls(columns, shape, kinds, by_kind)

    def among(self, codes: Mapping[str, Ints], people: int) -> Ints:
        """Return each person's kind, by their merged codes."""
        if not self.columns:
            return np.zeros(people, dtype=np.int64)
        found: Ints = self.kinds[np.ravel_multi_index([codes[n] for n in self.columns], self.shape)]
        return found


def _dependence(model: Model, own: tuple[str, ...], time: tuple[str, ...]) -> float:
    """Return the mutual information of a person's own column and the time, in nats."""
    counts = model.marginal((*own, *time)).reshape(model.tree.domain.cells(own), -1)
    shares = counts / max(1e-300, float(counts.sum()))
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    some = (shares > 0) & (alone > 0)
    return float((shares[some] * np.log(shares[some] / alone[some])).sum())
