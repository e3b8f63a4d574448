"""Whose rows they are: synthetic people, from public ones or from a noisy distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.budget import Norm, Weights, price_grains, scale_upper, split
from understudy.errors import UsageError
from understudy.synth.levels import MEAN_SIZE
from understudy.synth.matching import cells_alike, index_type, renumbered
from understudy.synth.rounding import simplex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.budget import Capped, Currency
    from understudy.door import Door
    from understudy.public import PublicTable
    from understudy.schema import Codes

    Numbers = NDArray[np.signedinteger[Any]]

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

    def deal(self, rows: int, rng: np.random.Generator) -> Numbers:
        """Give every row a person, with as many rows each as people have."""
        sizes = np.zeros(0, dtype=np.int64)
        mean = float(self.people @ np.arange(1, len(self.people) + 1)) / float(self.people.sum())
        while sizes.sum() < rows:
            more = 1 + int((rows - sizes.sum()) / mean)
            drawn = rng.choice(len(self.people), size=more, p=self.people / self.people.sum()) + 1
            sizes = np.concatenate((sizes, drawn))
        dealt = np.repeat(np.arange(len(sizes)), sizes)[:rows]
        return rng.permutation(dealt)


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

    def give(
        self,
        codes: Mapping[str, Codes],
        *,
        public: PublicTable | None,
        by: Sequence[str],
        most: int | None,
        rng: np.random.Generator,
    ) -> Numbers:
        """Give every synthetic row a person, with at most so many rows each."""
        if self.sizes is not None:
            given = self.sizes.deal(len(next(iter(codes.values()))), rng)
        else:
            assert public is not None  # noqa: S101  else the sizes were asked
            given = public_people(codes, public=public, by=by, rng=rng)
        return given if most is None else capped(given, most)

    def people(
        self,
        door: Door,
        codes: Mapping[str, Codes],
        *,
        public: PublicTable | None,
        by: Sequence[str],
        most: int | None,
        rng: np.random.Generator,
    ) -> Numbers | None:
        """Give every synthetic row a person, none where rows are people.

        Without a ``most``, a person has at most as many rows as the bounding's cap.
        """
        if door.unit.is_row:
            return None
        if most is None and not isinstance(door.bounding, Norm):
            most = door.bounding.cap
        return self.give(codes, public=public, by=by, most=most, rng=rng)


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


def public_people(
    codes: Mapping[str, Codes], *, public: PublicTable, by: Sequence[str], rng: np.random.Generator
) -> Numbers:
    """Give every row to a public person who has rows like it, in the columns ``by``.

    Public rows of a cell are handed out in an order of people that is the same everywhere; a
    cell's row that is handed out again is a double's of that person.  So a table of half the
    size has half of the people, one of double the size everyone twice, each with the rows they
    have.  A cell that public data do not have is looked for by fewer columns.
    """
    people = public.known_people("whose rows are whose")
    rank = rng.permutation(int(people[-1]) + 1)[people]
    rows = len(next(iter(codes.values())))
    left = rng.permutation(np.arange(rows, dtype=index_type(rows)))
    donor, double = np.zeros_like(left), np.zeros_like(left)
    for depth in range(len(by), -1, -1):
        wanted, known, size = cells_alike(codes, public, by[:depth], left)
        order = np.lexsort((rank, known))
        starts = np.concatenate(([0], np.cumsum(np.bincount(known, minlength=size))))
        held = np.diff(starts).astype(left.dtype)
        found = held[wanted] > 0
        there, cell = left[found], wanted[found]
        left = left[~found]
        double[there], turn = np.divmod(_places(cell), held[cell])
        donor[there] = people[order[starts[cell] + turn]]
    return _numbered(donor, double)


def capped(people: Numbers, most: int) -> Numbers:
    """Let nobody have more than so many rows: what is beyond fills new people, up to as many each.

    >>> np.bincount(capped(np.zeros(7, dtype=np.int64), 3)).tolist()
    [3, 3, 1]
    """
    return _numbered(people, _places(people) // most)


def _numbered(people: Numbers, part: Numbers) -> Numbers:
    """Number the parts of people from 0 on."""
    parts = int(part.max(initial=0)) + 1
    named, size = renumbered(people, int(people.max(initial=0)) + 1)
    whole = named.astype(index_type(size * parts))
    whole *= parts
    whole += part
    return renumbered(whole, size * parts)[0].astype(np.int64)


def _places(groups: Numbers) -> Numbers:
    """Give every element its place among those of its group, in order.

    >>> _places(np.array([5, 3, 5, 5, 3])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(groups)])
    sizes = np.diff(np.append(first, len(groups)))
    del ordered
    index = index_type(len(groups))
    places = np.empty(len(groups), dtype=index)
    places[order] = np.arange(len(groups), dtype=index) - np.repeat(first.astype(index), sizes)
    return places
