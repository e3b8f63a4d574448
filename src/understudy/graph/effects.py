"""Effects: an approximate inverse of the dual's curvature, by columns and what is left of them.

A dual variable λ of a measured cell adds to the cell's potential.  The dual's curvature is
C + τ/w: C is the covariance of the measured counts in N independent rows of the model, w is
1/σ².  The marginals of a column's pairs all hold the column once more, so along functions of
one column alone C is as many times larger as there are copies, and along differences between
the copies it is 0.  Both are why plain gradients crawl.

So a direction is split.  The **effects** of a clique are functions of one of its columns.  For
the copies of one code of one column, of n rows of which copy i holds the share f_i (1, if all its
cells were measured), the curvature is diag(d) + n·ffᵀ, with d_i the sum of τ/w over the effect's
cells plus n·f_i·(1 − f_i): inverted in closed form.  What is left of a clique's gradient without
its effects is divided by the diagonal, the rows of a cell plus τ/w.  Were columns independent and
cliques pairs, C would be nearly diagonal in this split.  As a sum of terms RᵀD⁻¹R the inverse is
positive semidefinite whatever the columns are, so that its directions always lead downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph.sums import Sums, sums_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.graph.kernels import Table
    from understudy.graph.objective import Objective
    from understudy.graph.tables import Key
    from understudy.schema.domain import Clique

    Ints = NDArray[np.int64]

LEAST = 1e-12
"""No diagonal is below this share of the model's total."""


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """Which measured cells belong to which effects, and which effects are copies of each other.

    Entry i says that the measured cell ``cells[i]`` belongs to the effect ``effects[i]``.
    """

    places: Ints
    """The places of everything measured in the vector of all tables."""
    weights: Table
    """The weight of each one's cell in its row."""
    cells: Ints
    effects: Ints
    codes: Ints
    """The code of a column, numbered over all columns, that each effect is a copy of."""
    copies: Table
    """The number of copies of each code, at least 1."""

    @classmethod
    def of(cls, loss: Objective) -> Effects:
        """Find the effects of everything that a loss measures, single cells all."""
        domain, places = loss.tree.domain, loss.answers.places()
        begins = dict(zip(domain.sizes, np.cumsum([0, *domain.sizes.values()]), strict=False))
        all_places, all_weights = [], []
        cells: list[Ints] = []
        effects: list[Ints] = []
        codes: list[Ints] = []
        measured = known = 0
        for key in loss.precisions:
            into = places[key].reshape(-1).astype(np.int64)
            all_places.append(into)
            clique, held, weights = _single_cells(loss, key)
            all_weights.append(weights)
            where = np.unravel_index(held, domain.shape(clique)) if clique else ()
            for name, code in zip(clique, where, strict=True):
                there, effect = np.unique(code, return_inverse=True)
                cells.append(measured + np.arange(len(into)))
                effects.append(known + effect)
                codes.append(begins[name] + there)
                known += len(there)
            measured += len(into)
        joined = _joined(codes)
        return cls(
            places=_joined(all_places),
            weights=np.concatenate([np.zeros(0), *all_weights]),
            cells=_joined(cells),
            effects=_joined(effects),
            codes=joined,
            copies=np.maximum(1.0, np.bincount(joined, minlength=sum(domain.sizes.values()))),
        )

    def sums(self, values: Table) -> Table:
        """Sum what is measured into effects."""
        return sums_by(self.effects, values[self.cells], len(self.codes))

    def spread(self, values: Table) -> Table:
        """Give everything measured the sum of its effects."""
        return sums_by(self.cells, values[self.effects], len(self.places))

    def by_code(self, values: Table) -> Table:
        """Sum the copies of each code."""
        return sums_by(self.codes, values, len(self.copies))


class Inverse:
    """The approximate inverse of the curvature at a model."""

    def __init__(
        self, effects: Effects, rows: Table, told: Table, softness: Table, *, total: float
    ) -> None:
        """Prepare it for the model's rows in every measured cell, and the τ/w of each answer.

        ``told`` are the rows that the answers say: where these are more, they count.
        """
        least = LEAST * total
        own = np.maximum(softness / effects.weights**2, least)
        self._effects, self._diagonal = effects, np.maximum(rows, told) + own
        self._inside = np.maximum(effects.sums(self._diagonal), least)
        held, codes = effects.sums(rows), np.full(len(effects.copies), least)
        np.maximum.at(codes, effects.codes, held)
        share = held / codes[effects.codes]
        alone = effects.sums(own) + held * np.maximum(0.0, 1 - share)
        self._alone, self._share = np.maximum(alone, least), share
        counts = effects.by_code(effects.sums(np.maximum(rows, told))) / effects.copies
        counts = np.maximum(counts, codes)
        self._shared = counts / (1 + counts * effects.by_code(share**2 / self._alone))

    def __matmul__(self, slope: Table) -> Table:
        """Apply it to a gradient."""
        effects, slope = self._effects, slope / self._effects.weights
        summed = effects.sums(slope)
        share = self._share / self._alone
        common = self._shared * effects.by_code(share * summed)
        copies = summed / self._alone - share * common[effects.codes]
        rest = slope / self._diagonal - effects.spread(summed / self._inside)
        rest -= effects.spread(effects.sums(self._diagonal * rest) / self._inside)
        found: Table = (rest + effects.spread(copies)) / effects.weights
        return found


def _single_cells(loss: Objective, key: Key) -> tuple[Clique, Ints, Table]:
    """Return a measured table's clique, and the cell and weight of each of its rows."""
    if not isinstance(key, int):
        count = loss.tree.domain.cells(key)
        return key, np.arange(count), np.ones(count)
    clique, sums = loss.rows[key]
    assert isinstance(sums, Sums)  # noqa: S101  the caller has looked
    return clique, sums.cells, sums.weights


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
