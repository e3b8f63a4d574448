"""A door onto the same table with codes put together: other cells, the same promises."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.door.questions import merged_schema
from understudy.errors import QuestionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.budget import Bounding, Budget, Capped, Currency, Unit
    from understudy.door.door import Door
    from understudy.door.questions import Candidate, Merge, Query
    from understudy.graph import Measurement
    from understudy.schema import Schema


class MergedDoor:
    """A door whose schema has fewer codes; what is asked through it goes to the door behind.

    It holds nothing private and promises nothing of its own.  Questions about people are asked
    of the door behind.
    """

    def __init__(self, door: Door, merged: Sequence[Merge]) -> None:
        """Stand before a door."""
        self._door = door
        self._merged = tuple(merged)
        self._labels = {m.column: merged_labels(door.schema, m) for m in self._merged}
        self.schema: Schema = merged_schema(door.schema, self._merged)

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self._door.unit

    @property
    def bounding(self) -> Bounding:
        """How much of a person enters `measure`."""
        return self._door.bounding

    @property
    def budget(self) -> Budget:
        """The run's whole budget."""
        return self._door.budget

    @property
    def currency(self) -> Currency:
        """Gaussian noise in ``gdp``, Laplace noise in ``pure``."""
        return self._door.currency

    @property
    def grains(self) -> int:
        """What the run may still spend, in grains."""
        return self._door.grains

    def measure(self, queries: Sequence[Query], *, price: float) -> tuple[Measurement, ...]:
        """Ask noisy linear queries over the cells of merged codes."""
        found = self._door.measure(queries, price=price, merged=self._merged)
        return tuple(replace(m, labels=self._named(m)) for m in found)

    def select(self, candidates: Sequence[Candidate], *, epsilon: float, bounding: Capped) -> int:
        """Ask which candidate the model gets most wrong, over the cells of merged codes."""
        return self._door.select(
            candidates, epsilon=epsilon, bounding=bounding, merged=self._merged
        )

    def distances(
        self, candidates: Sequence[Candidate], *, scale: float, bounding: Capped
    ) -> NDArray[np.float64]:
        """Ask how far each candidate is from what the model expects, over merged codes."""
        return self._door.distances(candidates, scale=scale, bounding=bounding, merged=self._merged)

    def _named(self, measured: Measurement) -> tuple[tuple[str, ...], ...]:
        return tuple(
            self._labels.get(name) or tuple(self.schema[name].labels()) for name in measured.clique
        )


def merged_labels(schema: Schema, merge: Merge) -> tuple[str, ...]:
    """Name merged codes, for people: by the one label that each stands for, or how many."""
    own = schema[merge.column].labels()
    if len(own) != len(merge.codes):
        raise QuestionError(
            f"merged codes of {merge.column} must name every code of it",
            got=f"{len(merge.codes)} codes",
            allowed=f"{len(own)}",
        )
    counts = np.bincount(merge.codes)
    first = {int(code): label for code, label in zip(merge.codes[::-1], own[::-1], strict=True)}
    return tuple(
        first[code] if count == 1 else f"({count} values)" for code, count in enumerate(counts)
    )
