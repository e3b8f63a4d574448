"""Clipped: the pairs that were measured, and what clipping left of their cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.synth.measure.size_bias import corrected, with_left, with_unknown_bias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique, Measurement
    from understudy.graph import Model
    from understudy.synth.measure.compression import Compressed
    from understudy.synth.measure.population import Crowd

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Clipped:
    """Measurements of pairs, each with what is left of people by classes, if that is known."""

    measured: tuple[Measurement, ...] = ()
    classes: tuple[Floats, ...] = ()

    def more(
        self, found: Sequence[Measurement], columns: Compressed, crowd: Crowd, *, price: float
    ) -> Clipped:
        """Add a round's measurements."""
        classes = self.classes
        if columns.bias is not None:
            left = columns.bias.clipped(found, price=price, repeats=crowd.repeats)
            classes += (left,) * len(found)
        return Clipped((*self.measured, *found), classes)

    def corrected(self, columns: Compressed, model: Model | None) -> list[Measurement]:
        """Return the measurements for a table of all rows, which is like a model."""
        if columns.bias is None or model is None:
            return list(self.measured)
        left = self._left(columns, model)
        return [corrected(m, each) for m, each in zip(self.measured, left, strict=True)]

    def published(self, columns: Compressed, crowd: Crowd, model: Model) -> list[Measurement]:
        """Return the measurements, with what bounding left of their cells, for a release."""
        if columns.bias is None:
            return with_unknown_bias(self.measured, crowd, columns.domain)
        bias, each = columns.bias, self._left(columns, model)
        told = zip(self.measured, each, self.classes, strict=True)
        return [
            with_left(m, left, bias.remains(m.clique, classes), bias.unsure(m.clique, classes))
            for m, left, classes in told
        ]

    def _left(self, columns: Compressed, model: Model) -> list[Floats]:
        tables = model.marginals({m.clique for m in self.measured})
        expected = {clique: table.reshape(-1) for clique, table in tables.items()}
        return columns.left_of(self.measured, self.classes, expected, columns.domain)


def left_by_cap(columns: Compressed, pair: Clique, expected: Floats, *, cap: int) -> Floats:
    """Return what a cap on people's rows leaves of a pair as expected, over what it leaves of all.

    It is 1 where nothing is known of it.
    """
    if columns.bias is None:
        return np.ones_like(expected)
    return columns.bias.over(pair, columns.bias.capped(cap), expected)
