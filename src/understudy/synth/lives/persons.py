"""Persons: a model of people with what is their own, from marginals that count each once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import price_grains
from understudy.door import Derived, View, ViewDoor
from understudy.synth.measure.sizes import LARGEST, class_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import Door
    from understudy.public import Progress
    from understudy.schema import Codes, Schema
    from understudy.synth.pairs import Pairs
    from understudy.synth.pairs.looks import Looks

    Ints = NDArray[np.int64]

ROWS, FIRST, LAST = "(number of rows)", "(first row)", "(last row)"


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Synthetic people: what is their own, and how many rows they have."""

    sizes: Ints
    own: dict[str, Codes]
    first: NDArray[Any] | None
    """The time of each person's first row, and of the last; None if rows have no order."""
    last: NDArray[Any] | None


class Persons:
    """A model of people over own columns, size class, and the times of first and last row."""

    def __init__(self, looks: Looks, schema: Schema) -> None:
        """Take what was measured of people."""
        self._looks, self._schema = looks, schema

    @classmethod
    def ask(cls, door: Door, rows: Pairs, *, price: float, progress: Progress) -> Persons:
        """Measure a model of people at a price, as `Pairs` does of rows, each person once."""
        reserve = door.grains - price_grains(price, door.currency)
        view = View(derived=cls.derived(door.schema), people=True)
        pairs = replace(rows, ids_by=(), most_each=None, within="evenly")
        looks = pairs.look(ViewDoor(door, view, reserve=reserve), None, progress)
        return cls(looks, door.schema)

    @staticmethod
    def derived(schema: Schema) -> tuple[Derived, ...]:
        """Return what the model has besides people's own columns."""
        starts = tuple(class_starts(LARGEST).tolist())
        found = [Derived(name=ROWS, kind="rows", starts=starts)]
        if schema.ordering:
            time = schema.ordering[0]
            found += [
                Derived(name=FIRST, kind="first", column=time),
                Derived(name=LAST, kind="last", column=time),
            ]
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the pairs that were chosen, as plain data."""
        return self._looks.to_dict()

    def draw(self, sizes: Ints, rng: np.random.Generator, progress: Progress) -> People:
        """Draw people, one for each size; the larger their class, the larger their size."""
        model = self._looks.settle(progress)
        merged = model.sample(len(sizes), rng)
        supports = {s.column: s for s in self._looks.columns.supports}
        codes = {name: supports[name].spread(merged[name], rng) for name in merged}
        # Ties within a class are broken at random.
        by_class = np.argsort(codes[ROWS] + rng.random(len(sizes)))
        given = np.empty(len(sizes), dtype=np.int64)
        given[by_class] = np.sort(sizes)
        first = last = None
        if FIRST in codes:
            # Noise may put the last row before the first one.
            first = np.minimum(codes[FIRST], codes[LAST])
            last = np.maximum(codes[FIRST], codes[LAST])
        own = {name: codes[name] for name in self._schema.own}
        return People(given, own, first, last)
