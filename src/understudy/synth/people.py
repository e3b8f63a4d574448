"""Whose rows they are: synthetic people, from public ones or from a noisy distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from understudy.budget import Norm, Weights, price_grains, scale_upper, split
from understudy.errors import UsageError
from understudy.synth.giving import EACH_ITS_OWN, Donors, Given
from understudy.synth.levels import MEAN_SIZE
from understudy.synth.rounding import simplex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.budget import Capped, Currency
    from understudy.door import Door
    from understudy.public import PublicTable
    from understudy.schema import Codes
    from understudy.synth.giving import Give

    Numbers = NDArray[np.int64]

MOST_TIMES = 256
"""Where no cap is given, people with more rows than this are told from each other no more."""
NEARLY_ALL = 0.99
"""The share of people whose rows are all counted, where noisy sizes give the cap."""
TYPICAL = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class OfPeople:
    """The settings of a mechanism that say whose rows they are, and what that costs."""

    ids_by: tuple[str, ...] = ()
    """The columns by which rows are given to public people."""
    most_each: int | None = None
    """The most rows of a synthetic person; the bounding's cap where it is None."""
    within: Literal["evenly", "public"] = "evenly"
    """How values are drawn within a bin."""
    rows_share: float = 0.02
    """The share of the budget for the number of rows, under `Norm`."""
    people_share: float = 0.02
    """The share for how many rows people have, where no public table tells."""


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """How many rows people have: the number of people with 1, 2, … rows."""

    people: NDArray[np.float64]

    def quantile(self, share: float) -> int:
        """Give the number of rows that this share of people does not pass."""
        return int(np.searchsorted(np.cumsum(self.people), share * self.people.sum())) + 1

    @property
    def mean(self) -> float:
        """How many rows people have on average."""
        each = np.arange(1, len(self.people) + 1)
        return float(self.people @ each) / float(self.people.sum())

    def capped(self, most: int) -> Sizes:
        """Let nobody have more than so many rows: what is beyond fills new people.

        >>> Sizes(np.array([0.0, 0.0, 0.0, 0.0, 1.0])).capped(2).people.tolist()
        [1.0, 2.0]
        """
        each = np.arange(1, len(self.people) + 1)
        if most >= len(each):
            return self
        people = np.zeros(most + 1)
        np.add.at(people, each % most, self.people)
        people[most] = self.people @ (each // most)
        return Sizes(people[1:])

    def deal(self, rows: int, rng: np.random.Generator) -> Numbers:
        """Give every row a person, with as many rows each as people have."""
        sizes = np.zeros(0, dtype=np.int64)
        while sizes.sum() < rows:
            more = 1 + int((rows - sizes.sum()) / self.mean)
            drawn = rng.choice(len(self.people), size=more, p=self.people / self.people.sum()) + 1
            sizes = np.concatenate((sizes, drawn))
        dealt = np.repeat(np.arange(len(sizes)), sizes)[:rows]
        return rng.permutation(dealt)

    def given(self, rows: int) -> Given:
        """Give so many rows to people who have all of theirs in one batch."""

        def begin() -> Give:
            first = 0

            def give(codes: Mapping[str, Codes], rng: np.random.Generator) -> Numbers:
                nonlocal first
                people = first + self.deal(len(next(iter(codes.values()))), rng)
                first = int(people.max(initial=first - 1)) + 1
                return people

            return give

        return Given(round(rows / self.mean), begin)


def noisy_sizes(door: Door, *, price: float, most: int) -> Sizes:
    """Ask how many people have 1, 2, … rows, and how many there are in all.

    A person is in one of the counts only, and those with more rows than ``most`` in none:
    what is missing from the number of people is theirs.
    """
    shape_price, people_price = split(price_grains(price, door.currency), door.currency, [1, 1])
    one = Fraction(1)
    counts = door.unit_counts(
        (),
        cells=np.zeros(1, dtype=np.int64),
        times=tuple(range(1, most + 1)),
        most=1,
        scale=scale_upper(shape_price, door.currency, bound=one),
    ).reshape(-1)
    people = door.units(scale=scale_upper(people_price, door.currency, bound=one))
    counts[-1] += max(0.0, people - counts.sum())
    return Sizes(simplex(counts, total=max(people, 1.0)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crowd:
    """What is known of people before any marginal is asked."""

    rows: float | None
    """The noisy number of rows, under `Norm`; else the marginals tell."""
    sizes: Sizes | None
    """How many rows people have, where no public table tells."""
    typical: int
    """The rows of a person who is not to be weighed down, where no public people show it."""
    bounding: Capped
    """What bounds a selection."""

    def noise(self, count: int, *, price: float, currency: Currency) -> float:
        """Give about what a cell is off by where so many marginals are asked for a price."""
        level = math.sqrt(count) if currency == "gdp" else count
        return MEAN_SIZE * self.typical * level / price

    def given(
        self,
        rows: int,
        door: Door,
        *,
        public: PublicTable | None,
        by: Sequence[str],
        most: int | None,
        rng: np.random.Generator,
    ) -> Given:
        """Say how so many synthetic rows are given to people, at most so many rows to each.

        Without a ``most``, a person has at most as many rows as the bounding's cap.
        """
        if door.unit.is_row:
            return EACH_ITS_OWN
        if most is None and not isinstance(door.bounding, Norm):
            most = door.bounding.cap
        if self.sizes is not None:
            sizes = self.sizes if most is None else self.sizes.capped(most)
            return sizes.given(rows)
        assert public is not None  # noqa: S101  else the sizes were asked
        return Donors(public, by, rng).given(rows, most=most)


def shares_of_people(
    door: Door, public: PublicTable | None, settings: OfPeople
) -> dict[str, float]:
    """Say which of the questions that `meet` asks are needed, with their shares of the budget."""
    shares = {}
    if isinstance(door.bounding, Norm):
        shares["rows"] = settings.rows_share
    if not door.unit.is_row and (public is None or public.people is None):
        shares["people"] = settings.people_share
    return shares


def bound_notes(door: Door) -> tuple[str, ...]:
    """Say what standard errors do not tell."""
    told = "Counts are of bounded rows: standard errors tell of the noise only, not of what the "
    return () if door.unit.is_row else (f"{told}bound left out ({door.bounding}).",)


def check_public(public: PublicTable | None, settings: OfPeople) -> None:
    """Refuse settings that need a public table, or its people, where there are none."""
    if settings.ids_by and (public is None or public.people is None):
        raise UsageError(
            "ids_by needs a public table with the unit's columns",
            hint="give one, or leave ids_by out: people then follow a noisy distribution",
        )
    if settings.within == "public" and public is None:
        raise UsageError("within = 'public' needs a public table", hint="give one, or use 'evenly'")


def meet(
    door: Door, public: PublicTable | None, *, rows_price: float | None, people_price: float | None
) -> Crowd:
    """Ask how many rows people have, and there are, as far as a price is given for it."""
    sizes, bounding = None, door.bounding
    if people_price is not None:
        most = MOST_TIMES if isinstance(bounding, Norm) else min(MOST_TIMES, bounding.cap)
        sizes = noisy_sizes(door, price=people_price, most=most)
    if not isinstance(bounding, Norm):
        return Crowd(rows=None, sizes=sizes, typical=bounding.cap, bounding=bounding)
    assert rows_price is not None  # noqa: S101  under Norm nothing else tells the number of rows
    cap = typical = 1
    if sizes is not None:
        cap, typical = sizes.quantile(NEARLY_ALL), sizes.quantile(TYPICAL)
    elif not door.unit.is_row:
        assert public is not None  # noqa: S101  else the sizes were asked
        cap = typical = best_cap(public, rows_price)
    scale = scale_upper(rows_price, door.currency, bound=Fraction(cap) ** 2)
    rows = max(1.0, door.total(cap=cap, scale=scale))
    return Crowd(rows=rows, sizes=sizes, typical=typical, bounding=Weights(cap))


def best_cap(public: PublicTable, price: float) -> int:
    """Give the cap at which a noisy number of rows is nearest to the truth, on public people."""
    sizes = np.sort(public.sizes())
    caps = np.unique(np.quantile(sizes, np.linspace(0.5, 1, 200)).astype(np.int64))
    lost = [float(np.maximum(sizes - cap, 0).sum()) for cap in caps]
    errors = np.array(lost) ** 2 + (caps / price) ** 2
    return int(caps[np.argmin(errors)])
