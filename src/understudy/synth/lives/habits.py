"""Habits: how often rows of a person differ, and how far apart they are, averaged over people.

Each person counts once, in one class of each column, so that all of it is known to a few parts in a
hundred even where noise drowns rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import Weights
from understudy.door import Derived, Merge, MergedDoor, View, ViewDoor
from understudy.door.views import DIFFERENCES_OF
from understudy.synth.generate.rounding import rescaled
from understudy.synth.measure.noise_levels import some_people
from understudy.synth.measure.population import Crowd
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Door
    from understudy.door.views import OfPerson
    from understudy.public import PublicTable
    from understudy.schema import Schema

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

FEWER = np.array([0, 1, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 7])
"""Classes of agreement that are measured together, the last one of people with a single row: an
average over fewer classes has less noise."""
SHARES = (0.0, 0.055, 0.145, 0.28, 0.51, 0.82, 1.0)
"""About how often rows agree in each.  Halves, thirds and quarters lie at the lower ends."""
SELDOM, SELDOM_SHARES = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 4]), (0.0, 0.15, 0.5, 1.0)
"""The same of agreement in time: whether times are distinct must be certain."""
CHANGES = np.geomspace(1e-6, 1, 40)
"""The variances of changes since the public table that are tried, each as likely beforehand."""
ROUGH = 0.01
"""What classes of habits are off by."""
NEVER, OFTEN, TIME_WEIGHT = 0.05, 0.6, 5.0
"""Rows that agree in time no more often than this are of distinct times, where more than often
counts as often."""


@dataclass(frozen=True, slots=True, eq=False)
class Habit:
    """How often two rows of a person differ in a column, and how far apart they are."""

    differ: float
    apart: float | None = None
    """The mean difference of codes, as a share of the largest one; None without an order."""
    noise: float = 0.0
    """The standard error of how often they differ."""
    apart_noise: float = 0.0

    @classmethod
    def derived(cls, schema: Schema, name: str) -> tuple[Derived, ...]:
        """Return what is to be measured of people, each counted once."""
        kinds: tuple[OfPerson, ...] = ("agreement",)
        if is_ordered(schema, name):
            kinds = ("agreement", "spread")
        return tuple(Derived(name=f"({kind} of {name})", kind=kind, column=name) for kind in kinds)

    @classmethod
    def of(
        cls,
        counts: Sequence[Floats],
        noise: Sequence[float] = (0.0, 0.0),
        *,
        shares: Sequence[float] = SHARES,
    ) -> Habit:
        """Average over people with several rows, from counts of people by class and their noise.

        ``shares`` are about how often rows agree in every class.

        >>> habit = Habit.of([np.array([1.0, 2.0, 1.0, 9.0])], shares=[0.0, 0.5, 1.0])
        >>> habit.differ, habit.apart
        (0.5, None)
        """
        means, errors, known = [], [], (1 - np.array(shares), np.array(DIFFERENCES_OF))
        for each, error, values in zip(counts, noise, known, strict=False):
            # Noise alone puts somebody into every class, and as many below none: those are nobody.
            several = rescaled(each, total=max(1.0, float(each.sum())))[: len(values)]
            # Where nobody has several rows, none are said to be alike.
            mean = float(several @ values / several.sum()) if several.sum() > 0 else max(values)
            means.append(mean)
            spread = math.sqrt(float(((values - mean) ** 2).sum()))
            errors.append(error * spread / max(1.0, float(several.sum())))
        if len(means) == 1:
            return cls(means[0], noise=errors[0])
        return cls(means[0], means[1], errors[0], errors[1])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        told = {"differ": self.differ, "apart": self.apart}
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
        known = {*schema.own, *schema.told_by_clock}
        names = [column.name for column in schema.encoded if column.name not in known]
        asked = {name: Habit.derived(schema, name) for name in names}
        derived = tuple(each for both in asked.values() for each in both)
        view = ViewDoor(door, View(derived=derived, people=True))
        time = {name: asked[name][0] for name in schema.ordering[:1]}
        fewer = [
            Merge(column=each.name, codes=SELDOM if each in time.values() else FEWER)
            for each in derived
            if each.kind == "agreement"
        ]
        weights = [TIME_WEIGHT if each in time.values() else 1.0 for each in derived]
        measured = weighted_round(
            MergedDoor(view, fewer),
            [
                WeightedMarginal(clique=(each.name,), weight=weight)
                for each, weight in zip(derived, weights, strict=True)
            ],
            price=price,
            crowd=Crowd(rows=None, sizes=None, typical=1, bounding=Weights(1)),
            public=None,
        )
        answers = {each.name: m for each, m in zip(derived, measured, strict=True)}
        found = {
            name: Habit.of(
                [answers[e.name].values for e in both],
                [door.currency.deviation(answers[e.name].scale) for e in both],
                shares=SELDOM_SHARES if name in time else SHARES,
            )
            for name, both in asked.items()
        }
        agreed = [answers[each.name].values[: len(SELDOM_SHARES)] for each in time.values()]
        often = np.minimum(SELDOM_SHARES, OFTEN)
        distinct = any(each @ often < NEVER * max(1.0, each.sum()) for each in agreed)
        return cls(found, distinct)

    def beside(self, public: PublicTable | None, schema: Schema) -> Habits:
        """Return the habits as public people have them too, as far as those are alike.

        How far these are off beyond noise and sampling is as likely as noisy habits make it, of all
        columns together.
        """
        if public is None or public.people is None:
            return self
        some, found = some_people(public), dict(self.columns)
        shown = {name: _shown(some, schema, name, habit) for name, habit in found.items()}
        for told, error in (("differ", "noise"), ("apart", "apart_noise")):
            names = [n for n, h in shown.items() if math.isfinite(getattr(h, error))]
            names = [n for n in names if getattr(found[n], told) is not None]
            if not names:
                continue
            mine, theirs = (np.array([getattr(h[n], told) for n in names]) for h in (found, shown))
            noise, sampled = (
                np.array([getattr(h[n], error) for n in names]) ** 2 for h in (found, shown)
            )
            off = sampled + _changed(mine - theirs, noise + sampled)
            both = mine + (theirs - mine) * noise / (noise + off)
            left = np.sqrt(noise * off / (noise + off))
            for name, value, still in zip(names, both.tolist(), left.tolist(), strict=True):
                found[name] = replace(found[name], **{told: value, error: still})
        return replace(self, columns=found)

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain data."""
        return {name: habit.to_dict() for name, habit in self.columns.items()}


def _shown(public: PublicTable, schema: Schema, name: str, habit: Habit) -> Habit:
    """Return the habit of public people, with a sample's error: infinite where none show it."""
    codes, people = public.codes[name], public.known_people("what habits people have")
    found = Habit(differing(_begins(people), codes), noise=math.inf, apart_noise=math.inf)
    found = replace(found, noise=_sampling(found.differ, people))
    if habit.apart is None:
        return found
    count = schema[name].ordered_count
    people, codes = people[codes < count], codes[codes < count]
    far = apart(_begins(people), codes) / max(1, count - 1)
    return replace(found, apart=far, apart_noise=_sampling(far, people))


def _begins(people: NDArray[np.int64]) -> Bools:
    found: Bools = np.diff(people, prepend=-1) != 0
    return found


def _sampling(share: float, people: NDArray[np.int64]) -> float:
    """Return about the most that a mean share of people with several rows is off."""
    several = int((np.unique(people, return_counts=True)[1] > 1).sum())
    if not several:
        return math.inf
    share = (share * several + 1) / (several + 2)
    return math.hypot(ROUGH, math.sqrt(share * (1 - share) / several))


def _changed(away: Floats, variance: Floats) -> float:
    """Return the expected variance of changes, given noisy differences and their variances."""
    whole = variance + CHANGES[:, None]
    likely = -0.5 * (away**2 / whole + np.log(whole)).sum(axis=1)
    weights = np.exp(likely - likely.max())
    return float(weights @ CHANGES / weights.sum())


def is_ordered(schema: Schema, name: str) -> bool:
    """Whether a column has more ordered codes than two."""
    return schema[name].ordered_count > 2


def differing(first: Bools, codes: NDArray[Any], same: Floats | None = None) -> float:
    """Return how often two rows of a person differ, averaged over people with several rows.

    People come one after the other; two rows of code c agree with probability ``same[c]``.

    >>> differing(np.array([True, False, False, True]), np.array([1, 1, 2, 2]))
    0.6666666666666667
    """
    person = np.cumsum(first) - 1
    sizes = np.bincount(person).astype(np.float64)
    several = sizes > 1
    if not several.any():
        return 0.0
    width = int(codes.max(initial=0)) + 1
    cells, counts = np.unique(person * width + codes, return_counts=True)
    pairs = counts * (counts - 1.0) * (1.0 if same is None else same[cells % width])
    agreeing = np.bincount(cells // width, weights=pairs, minlength=len(sizes))[several]
    sizes = sizes[several]
    return 1 - float(np.mean(agreeing / (sizes * (sizes - 1))))


def apart(first: Bools, codes: NDArray[Any]) -> float:
    """Return how far apart two rows of a person are, averaged over people with several rows.

    >>> apart(np.array([True, False, False, True]), np.array([1, 1, 4, 9]))
    2.0
    """
    person = np.cumsum(first) - 1
    sizes = np.bincount(person).astype(np.float64)
    several = sizes > 1
    if not several.any():
        return 0.0
    nth = np.arange(len(first)) - np.flatnonzero(first)[person]
    sorted_ = codes[np.lexsort((codes, person))].astype(np.float64)
    summed = np.bincount(person, weights=(2 * nth - sizes[person] + 1) * sorted_)[several]
    sizes = sizes[several]
    return float(np.mean(2 * summed / (sizes * (sizes - 1))))
