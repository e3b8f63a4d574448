"""Evidence: answers restated on the smallest cliques that they determine.

A coarse row is a cell of a smaller clique less what is counted fine above it.  Where nothing is,
it is that cell, whole; so its answer is one of the smaller clique's, and of many such answers to
one cell the mean by precision says all.  A model is fitted to the same likelihood, at a fraction
of the work (``tests/synth/measure/test_restating.py`` compares both).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.door import Measurement, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique
    from understudy.schema import Domain
    from understudy.synth.measure.granularity import Family, Grid

    Floats = NDArray[np.float64]

ALIKE = 1e-9
"""Precisions within this relative difference count as equal."""


class Evidence:
    """The answers for each clique's cells, and for sums that are not a single cell."""

    def __init__(self, domain: Domain) -> None:
        """Start empty."""
        self._domain = domain
        self._cells: dict[Clique, tuple[Floats, Floats]] = {}
        self._sums: dict[Clique, list[tuple[Rows, Floats, float]]] = {}

    def add(self, grid: Grid, measured: Sequence[Measurement], *, factor: float) -> None:
        """Add a grid's answers, which count a table ``factor`` times as large as the model's."""
        for square, answer in zip(grid.squares, measured, strict=True):
            scale, start = answer.scale / factor, 0
            for family in (f for f in grid.families if f.square == square):
                values = answer.values[start : start + family.count] / factor
                start += family.count
                self._add(grid.clique, family, values, scale)

    def _add(self, clique: Clique, family: Family, values: Floats, scale: float) -> None:
        held = np.flatnonzero(family.places >= 0)
        sizes = np.bincount(family.places[held], minlength=family.count)
        size = self._domain.cells(family.origin)
        whole = sizes == len(family.places) // size
        if family.origin not in self._cells:
            self._cells[family.origin] = (np.zeros(size), np.zeros(size))
        sums, precisions = self._cells[family.origin]
        sums[family.cells[whole]] += values[whole] / scale**2
        precisions[family.cells[whole]] += 1 / scale**2
        if not whole.all():
            held = held[~whole[family.places[held]]]
            order = np.argsort(family.places[held], kind="stable")
            starts = np.concatenate(([0], np.cumsum(sizes[~whole])))
            rows = Rows(starts, held[order])
            self._sums.setdefault(clique, []).append((rows, values[~whole], scale))

    def measurements(self) -> list[Measurement]:
        """Return everything: cells and sums of one clique together, in units of their noise."""
        found = []
        for clique, (sums, precisions) in self._cells.items():
            known = precisions > 0
            if known.all() and np.ptp(precisions) <= ALIKE * precisions.max():
                scale = 1 / math.sqrt(float(precisions.mean()))
                found.append(Measurement(clique=clique, values=sums / precisions, scale=scale))
            elif known.any():
                cells = np.flatnonzero(known)
                roots = np.sqrt(precisions[cells])
                rows = Rows(np.arange(len(cells) + 1), cells)
                part = [(rows, sums[cells] / roots, roots)]
                found.append(_whitened(clique, part))
        for clique, parts in self._sums.items():
            rooted = [
                (rows, values / scale, np.full(rows.count, 1 / scale))
                for rows, values, scale in parts
            ]
            found.append(_whitened(clique, rooted))
        return found


def _whitened(clique: Clique, parts: Sequence[tuple[Rows, Floats, Floats]]) -> Measurement:
    """Combine rows, each weighted by the root of its precision, so that all noise is 1."""
    ends = np.cumsum([0] + [len(rows.cells) for rows, _, _ in parts])
    starts = [rows.starts[:-1] + end for (rows, _, _), end in zip(parts, ends, strict=False)]
    return Measurement(
        clique=clique,
        values=np.concatenate([values for _, values, _ in parts]),
        scale=1.0,
        rows=Rows(
            np.concatenate([*starts, ends[-1:]]), np.concatenate([r.cells for r, _, _ in parts])
        ),
        weights=np.concatenate(
            [np.repeat(roots, np.diff(rows.starts)) for rows, _, roots in parts]
        ),
    )
