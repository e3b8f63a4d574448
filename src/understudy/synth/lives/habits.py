"""Habits: how far apart rows of a person are, column by column, averaged over people.

Each person counts once, in one class of each column, so that all of it is known to a few parts in a
hundred even where noise drowns rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import Weights
from understudy.door import Derived, Merge, MergedDoor, View, ViewDoor
from understudy.door.views import DIFFERENCES, DIFFERENCES_OF, SHARES_OF
from understudy.synth.generate.rounding import rescaled
from understudy.synth.measure.population import Crowd
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Door
    from understudy.door.views import OfPerson
    from understudy.schema import Schema

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

NEVER = 0.05
"""Rows that agree in time no more often than this are of distinct times."""
FEWER = np.array([0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 5])
"""Classes of shares that are measured together, the last one of people with a single row: an
average over fewer classes has less noise."""
SHARES = np.bincount(FEWER[:-1], weights=SHARES_OF) / np.bincount(FEWER[:-1])
ONCE, ONCE_WEIGHT = "(agreement in time)", 8.0


@dataclass(frozen=True, slots=True, eq=False)
class Habit:
    """How far apart two rows of a person are in a column, and a row and the one before.

    Of a column without order it is the share of rows that differ; of an ordered one the mean
    difference of their codes, as a share of the largest one.
    """

    ordered: bool
    apart: float
    step: float | None
    """None where rows have no order."""
    noise: float = 0.0
    """The standard error of how far apart they are."""

    @classmethod
    def derived(cls, schema: Schema, name: str) -> tuple[Derived, ...]:
        """Return what is to be measured of people, each counted once."""
        kinds: tuple[OfPerson, ...] = ("agreement", "persistence")
        if is_ordered(schema, name):
            kinds = ("spread", "step")
        return tuple(
            Derived(name=f"({kind} of {name})", kind=kind, column=name)
            for kind in (kinds if schema.ordering else kinds[:1])
        )

    @classmethod
    def of(cls, counts: Sequence[Floats], *, ordered: bool, noise: float = 0.0) -> Habit:
        """Average over people with several rows, from counts of people by class and their noise.

        >>> habit = Habit.of([np.array([1.0, 0.0, 0.0, 0.0, 3.0, 9.0])], ordered=False)
        >>> habit.apart, habit.step
        (0.25, None)
        """
        values, means, errors = np.array(DIFFERENCES_OF) if ordered else SHARES, [], []
        for each in counts:
            # Noise alone puts somebody into every class, and as many below none: those are nobody.
            several = rescaled(each, total=max(1.0, float(each.sum())))[: len(values)]
            mean = float(several @ values / several.sum()) if several.sum() > 0 else 0.0
            means.append(mean if ordered else 1 - mean)
            spread = math.sqrt(float(((values - mean) ** 2).sum()))
            errors.append(noise * spread / max(1.0, float(several.sum())))
        return cls(ordered, means[0], means[1] if len(means) > 1 else None, errors[0])

    def of_rows(self, first: Bools, codes: NDArray[Any], size: int) -> Habit:
        """Return the habit of rows that are drawn."""
        if not self.ordered:
            agreement, persistence = agreeing(first, codes)
            return Habit(self.ordered, 1 - agreement, 1 - persistence)
        return Habit(self.ordered, *(each / max(1, size - 1) for each in differing(first, codes)))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        told = {"apart": self.apart, "step": self.step}
        return {name: share for name, share in told.items() if share is not None}


@dataclass(frozen=True, slots=True, eq=False)
class Habits:
    """The habits of all columns that are not a person's own."""

    columns: Mapping[str, Habit]
    distinct: bool
    """Whether a person has at most one row of each time."""

    @classmethod
    def ask(cls, door: Door, *, price: float) -> Habits:
        """Measure them at a price."""
        schema = door.schema
        asked = {n: Habit.derived(schema, n) for n in schema.domain if n not in schema.own}
        once = [Derived(name=ONCE, kind="agreement", column=n) for n in schema.ordering[:1]]
        derived = (*(each for both in asked.values() for each in both), *once)
        view = ViewDoor(door, View(derived=derived, people=True))
        shares = [Merge(column=d.name, codes=FEWER) for d in derived if d.kind not in DIFFERENCES]
        measured = weighted_round(
            MergedDoor(view, shares),
            [
                WeightedMarginal(clique=(each.name,), weight=ONCE_WEIGHT if each in once else 1.0)
                for each in derived
            ],
            price=price,
            crowd=Crowd(rows=None, sizes=None, typical=1, bounding=Weights(1)),
            public=None,
        )
        answers = {each.name: m for each, m in zip(derived, measured, strict=True)}
        found = {
            name: Habit.of(
                [answers[e.name].values for e in both],
                ordered=is_ordered(schema, name),
                noise=door.currency.deviation(answers[both[0].name].scale),
            )
            for name, both in asked.items()
        }
        agreed = [answers[each.name].values[: len(SHARES)] for each in once]
        distinct = any(each @ SHARES < NEVER * max(1.0, each.sum()) for each in agreed)
        return cls(found, distinct)

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain data."""
        return {name: habit.to_dict() for name, habit in self.columns.items()}


def is_ordered(schema: Schema, name: str) -> bool:
    """Whether a column has more ordered codes than two."""
    return schema[name].ordered_count > 2


def agreeing(first: Bools, codes: NDArray[Any]) -> tuple[float, float]:
    """Return how often two rows of a person agree, and a row with the one before.

    Both are averages over people with several rows, which come one after the other.

    >>> agreeing(np.array([True, False, False, True]), np.array([1, 1, 2, 2]))
    (0.3333333333333333, 0.5)
    """
    person = np.cumsum(first) - 1
    sizes = np.bincount(person).astype(np.float64)
    several = sizes > 1
    if not several.any():
        return 0.0, 0.0
    width = int(codes.max(initial=0)) + 1
    cells, counts = np.unique(person * width + codes, return_counts=True)
    pairs = np.bincount(cells // width, weights=counts * (counts - 1.0), minlength=len(sizes))
    same = np.concatenate(([False], codes[1:] == codes[:-1])) & ~first
    stayed = np.bincount(person, weights=same, minlength=len(sizes))
    sizes = sizes[several]
    both = pairs[several] / (sizes * (sizes - 1)), stayed[several] / (sizes - 1)
    return float(both[0].mean()), float(both[1].mean())


def differing(first: Bools, codes: NDArray[Any]) -> tuple[float, float]:
    """Return how far apart two rows of a person are, and a row and the one before.

    >>> differing(np.array([True, False, False, True]), np.array([1, 1, 4, 9]))
    (2.0, 1.5)
    """
    person = np.cumsum(first) - 1
    sizes = np.bincount(person).astype(np.float64)
    several = sizes > 1
    if not several.any():
        return 0.0, 0.0
    steps_ = np.where(first, 0.0, np.abs(np.diff(codes.astype(np.float64), prepend=0.0)))
    nth = np.arange(len(first)) - np.flatnonzero(first)[person]
    sorted_ = codes[np.lexsort((codes, person))].astype(np.float64)
    apart = np.bincount(person, weights=(2 * nth - sizes[person] + 1) * sorted_)[several]
    stepped, sizes = np.bincount(person, weights=steps_)[several], sizes[several]
    both = 2 * apart / (sizes * (sizes - 1)), stepped / (sizes - 1)
    return float(both[0].mean()), float(both[1].mean())
