"""A door onto the same table with codes put together: other cells, the same promises."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.door.questions import merged_schema
from understudy.errors import QuestionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from understudy.budget import Bounding, Capped, Currency
    from understudy.door.door import Door
    from understudy.door.questions import Candidate, Merge, Query
    from understudy.graph import Measurement
    from understudy.schema import Schema


class MergedDoor:
    """A door onto the compressed domain; it forwards every query to the door behind it.

    It holds nothing private and gives no guarantee of its own.  Queries about people go to the
    door behind it.
    """

    def __init__(self, door: Door, merged: Sequence[Merge]) -> None:
        """Wrap a door."""
        self._door = door
        self._merged = tuple(merged)
        for merge in self._merged:
            size = door.schema[merge.column].size
            if len(merge.codes) != size:
                raise QuestionError(
                    f"merged codes of {merge.column} must map every code",
                    got=f"{len(merge.codes)} codes",
                    allowed=f"{size}",
                )
        self.schema: Schema = merged_schema(door.schema, self._merged)

    @property
    def bounding(self) -> Bounding:
        """The contribution bounding of `measure`."""
        return self._door.bounding

    @property
    def currency(self) -> Currency:
        """Gaussian noise in ``gdp``, Laplace noise in ``pure``."""
        return self._door.currency

    @property
    def grains(self) -> int:
        """What the run may still spend, in grains."""
        return self._door.grains

    def measure(self, queries: Sequence[Query], *, price: float) -> tuple[Measurement, ...]:
        """Measure noisy linear queries over the cells of merged codes."""
        found = self._door.measure(queries, price=price, merged=self._merged)
        codes = {m.column: m.codes for m in self._merged}
        return tuple(
            replace(m, merged={n: codes[n] for n in m.clique if n in codes}) for m in found
        )

    def select(self, candidates: Sequence[Candidate], *, epsilon: float, bounding: Capped) -> int:
        """Select the candidate that the model gets most wrong, over the cells of merged codes."""
        return self._door.select(
            candidates, epsilon=epsilon, bounding=bounding, merged=self._merged
        )

    def distances(
        self, candidates: Sequence[Candidate], *, scale: float, bounding: Capped
    ) -> NDArray[np.float64]:
        """Measure how far each candidate is from the model, over merged codes."""
        return self._door.distances(candidates, scale=scale, bounding=bounding, merged=self._merged)
