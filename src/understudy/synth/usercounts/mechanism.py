"""UserCounts: people are counted, cell by cell and by how often they were there.

After the NIST contest's sprint 1 (`docs/user-counts.md`, and `docs/corrections.md` for what is
put right).  Asked is only about cells that public data make plausible.  What a counted person
stands for in rows, and how many people to expect in a cell, public data tell too; noisy counts
correct it as far as they can be told from noise, and add up to a histogram in whole numbers.

Privacy: one door call, for the run's whole budget.  A person is in at most ``most`` of its
counts, each by 1; the vault chooses them by the keyed hash.  Everything else is public or
post-processing.

The config, the plan, the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from understudy.budget import Budget, price_lower, scale_upper
from understudy.door import Measurement, Rows
from understudy.errors import QuestionError, UsageError
from understudy.graph import Urn
from understudy.public import Batch, Batches, Synthesis
from understudy.synth.generate.assignment import Alone, Donors, drawn
from understudy.synth.generate.rounding import check_rows
from understudy.synth.measure.sizes import Sizes
from understudy.synth.settings import check_at_least, set_tuples
from understudy.synth.usercounts.plausible import TimedDomain, whole_numbers
from understudy.synth.usercounts.posterior import posterior
from understudy.synth.usercounts.visits import Visits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.budget import Currency, ResolvedUnit
    from understudy.door import Door
    from understudy.public import Draw, Progress, PublicTable
    from understudy.schema import Codes, Domain
    from understudy.synth.usercounts.visits import Groups

    Mask = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_CELLS = 10_000_000
"""The most cells of a histogram."""
WHOLE_DOMAIN = 100_000
"""Without public data, the most cells that are all asked about."""
LEAST_PEOPLE = 1e-9
UNKNOWN_MOST = 4
UNKNOWN_GROUPS = (1, 2, 3, 4, 6)
"""What is asked where no public people tell how often they come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCounts:
    """Counts of people by cell and by how often they were there, added up to a histogram.

    For tables of a few columns, such as calls by place, type and month, and with public data,
    which tell the cells that are worth asking about (`docs/user-counts.md`).

    >>> UserCounts(time=("year", "month")).neighbours
    3
    """

    name: ClassVar[str] = "usercounts"

    time: tuple[str, ...] = ()
    """The columns of a period.  Public periods are matched by the last of them alone."""
    neighbours: int = 3
    """How many periods before and after a public one are plausible too."""
    times: tuple[int, ...] = (1, 2)
    """Times in a cell that the published form asks wherever public data have any."""
    most: int | None = None
    """The most cells of a person that count; chosen from public data where it is None."""
    groups: tuple[int, ...] = ()
    """Times in a cell that are told apart, each up to the next; chosen where there are none."""
    most_each: int | None = None
    """The most rows of a synthetic person."""
    published: bool = False
    """Clip and round every count before adding up, as the document does, with the right noise."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot be, and take lists for tuples."""
        set_tuples(self, "time", "times", "groups")
        for name in ("times", "groups"):
            given = getattr(self, name)
            if any(t < 1 for t in given) or any(a >= b for a, b in pairwise(given)):
                raise UsageError(f"{name} must be positive and rise", got=given, allowed="1, 2, …")
        check_at_least(self, 1, "most", "most_each")
        check_at_least(self, 0, "neighbours")
        if len(set(self.time)) < len(self.time):
            raise UsageError("time names a column twice", got=", ".join(self.time))

    def budget(self, public: PublicTable, *, epsilon: float, delta: float) -> Budget:
        """Choose between Laplace noise (delta 0) and Gaussian, by the error on public data."""
        choices = [Budget(epsilon=epsilon, delta=d) for d in (0.0, delta)]
        errors = self.errors(public, choices)
        return choices[errors.index(min(errors))]

    def errors(self, public: PublicTable, budgets: Sequence[Budget]) -> list[float]:
        """Estimate the error of the last column's shares for some budgets, by public data."""
        space = self._space(public.schema.domain)
        visits = Visits.of(public, space.matched)
        return [error for error, _, _ in self._chosen(visits, space, budgets)]

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Ask once, add up to a histogram, and make rows and people of it."""
        plan = self._plan(door, public)
        progress("counting people", 0)
        price = price_lower(door.grains, door.currency)
        scale = scale_upper(price, door.currency, bound=Fraction(plan.most))
        noisy = door.unit_counts(
            tuple(plan.space.domain),
            cells=plan.cells,
            times=plan.groups,
            most=plan.most,
            scale=scale,
            upwards=not self.published,
        )
        door.close()
        progress("adding up", 0)
        if self.published:
            rows = plan.as_published(noisy)
        else:
            rows = plan.histogram(noisy, scale=scale, currency=door.currency)
        progress("drawing rows", 0)
        return Synthesis(
            batches=self._batches(plan, rows, noisy, unit=door.unit, public=public, rng=rng),
            measurements=plan.measurements(noisy, scale),
            notes=self._notes(plan),
            details={
                "cells": len(plan.cells),
                "most": plan.most,
                "groups": list(plan.groups),
                "noise": door.currency.noise,
                "scale": scale,
            },
        )

    def _plan(self, door: Door, public: PublicTable | None) -> CountsPlan:
        """Settle what is asked; what cannot be is refused here, before anything is spent."""
        space = self._space(door.schema.domain)
        self._check(space, public)
        if public is None:
            once = door.unit.is_row
            groups = self.groups or ((1,) if once else UNKNOWN_GROUPS)
            return CountsPlan(
                space=space,
                cells=np.arange(space.size),
                groups=groups,
                most=self.most or (1 if once else UNKNOWN_MOST),
                rows_each=_middles(groups),
            )
        if self.published:
            return self._published(space, public)
        visits = Visits.of(public, space.matched)
        ((_, most, groups),) = self._chosen(visits, space, [door.budget])
        counted = visits.counted(most=most, groups=groups)
        if not counted.people.any():
            raise UsageError(
                "no public person was in a cell as often as that", got=groups, allowed="1, …"
            )
        expected = np.zeros((len(groups), space.matched_size))
        expected[:, visits.cells] = counted.people.T
        there = np.zeros(space.matched_size, dtype=bool)
        there[visits.cells] = True
        return CountsPlan(
            space=space,
            cells=np.flatnonzero(space.near(space.spread(there), self.neighbours)),
            groups=groups,
            most=most,
            rows_each=counted.rows_each,
            public=np.stack([space.smooth(space.spread(g)) for g in expected], axis=1),
        )

    def _published(self, space: TimedDomain, public: PublicTable) -> CountsPlan:
        """Ask exactly what the document asks."""
        visits = Visits.of(public, space.matched)
        times = sorted({*self.times, *np.unique(visits.times).tolist()})
        there = np.zeros((space.size, len(times)), dtype=bool)
        for i, t in enumerate(times):
            held = np.zeros(space.matched_size, dtype=bool)
            held[visits.cells[visits.place[visits.times == t]]] = True
            there[:, i] = space.near(space.spread(held), self.neighbours)
        anywhere = there.any(axis=1)
        for t in self.times:
            there[anywhere, times.index(t)] = True
        return CountsPlan(
            space=space,
            cells=np.flatnonzero(anywhere),
            groups=tuple(times),
            most=self.most or self.most_each or 1 + int(visits.turn.max()),
            rows_each=np.array(times, dtype=np.float64),
            asked=there[anywhere],
        )

    def _chosen(
        self, visits: Visits, space: TimedDomain, budgets: Sequence[Budget]
    ) -> list[tuple[float, int, Groups]]:
        """Choose the most cells a person, and groups of times, by the error on public data."""
        noises = [partial(_noise, budget) for budget in budgets]
        return visits.best(noises, last=space.last, most=self.most, groups=self.groups)

    def _space(self, domain: Domain) -> TimedDomain:
        unknown = sorted(set(self.time) - set(domain))
        if unknown:
            raise QuestionError(
                "time names columns that the schema does not model",
                got=", ".join(unknown),
                allowed=", ".join(domain),
            )
        return TimedDomain(domain, self.time)

    def _check(self, space: TimedDomain, public: PublicTable | None) -> None:
        limit = WHOLE_DOMAIN if public is None else MOST_CELLS
        if space.size > limit:
            unless = " without a public table" if public is None else ""
            raise QuestionError(
                "the histogram of all columns has too many cells",
                got=f"{space.size:,}",
                allowed=f"at most {limit:,}{unless}",
                hint="declare fewer columns, values or bins",
            )
        if self.published and public is None:
            raise UsageError(
                "the document asks about what a public table has",
                hint="give a public table, or leave published out",
            )

    def _batches(
        self,
        plan: CountsPlan,
        rows: Ints,
        noisy: Floats,
        *,
        unit: ResolvedUnit,
        public: PublicTable | None,
        rng: np.random.Generator,
    ) -> Batches:
        """Give the rows to people: public ones who have such rows, or each cell its own."""
        if unit.is_row:
            return plan.in_order(rows, None, rng)
        if public is None:
            return plan.in_order(rows, plan.alone(noisy.sum(axis=0), self.most_each), rng)
        space = plan.space
        kinds = [n for n in space.matched if n not in space.time]
        donors = Donors(public, [*kinds, *space.time[-1:]], rng)
        total = int(rows.sum())
        sizes = Sizes.public(public, total).each(total, self.most_each)
        urn = Urn.counted(space.domain, plan.cells, rows)
        return drawn(urn, total, donors.given(sizes), rng=rng)

    def _notes(self, plan: CountsPlan) -> tuple[str, ...]:
        told = (
            f"People were counted, each in at most {plan.most} cells of all columns, by how often "
            "they were there; standard errors tell of the noise only, not of what that left out.",
        )
        if plan.public is None:
            return told
        return (
            *told,
            "What public data lead to expect stands in for counts that noise hides: the smaller "
            "epsilon, the more of the release is the public table.",
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountsPlan:
    """What is asked, and what the answers are taken to say."""

    space: TimedDomain
    cells: Ints
    """The cells that are asked about."""
    groups: Groups
    most: int
    rows_each: Floats
    """The rows that a counted person stands for, by group of times."""
    public: Floats | None = None
    """How many people public data lead to expect, by cell and group of times."""
    asked: Mask | None = None
    """The published form's own choice of times, cell by cell."""

    def __post_init__(self) -> None:
        """Count no more cells of a person than are asked about."""
        object.__setattr__(self, "most", min(self.most, len(self.cells)))

    def histogram(self, noisy: Floats, *, scale: float, currency: Currency) -> Ints:
        """Add noisy counts of people up to rows, a whole number for every cell asked."""
        noise = currency.deviation(scale)
        rows = np.zeros(len(self.cells))
        for group, each in enumerate(self.rows_each):
            answers = noisy[:, group]
            if self.public is None:
                expected = self.space.guessed(answers)
            else:
                expected = self.public[self.cells, group]
                expected = self.space.levelled(expected, answers, self.cells, noise)
            rows += each * posterior(answers, expected, scale=scale, currency=currency)
        check_rows(float(rows.sum()))
        # The last column's cells share a total, so that its shares are kept.
        return whole_numbers(rows, self.space.alike(self.cells))

    def as_published(self, noisy: Floats) -> Ints:
        """Clip and round every count, and add up, as the document does."""
        clipped = np.rint(np.maximum(noisy, 0)) * self.asked
        rows = clipped @ self.rows_each
        check_rows(float(rows.sum()))
        return rows.astype(np.int64)

    def codes(self, rows: Ints) -> dict[str, Codes]:
        """Write so many rows of each cell as codes."""
        shape = tuple(self.space.domain.values())
        found = np.unravel_index(np.repeat(self.cells, rows), shape)
        return {n: c.astype(np.int32) for n, c in zip(self.space.domain, found, strict=True)}

    def alone(self, people: Floats, most: int | None) -> Alone:
        """Give people of one cell each, of whom so many were counted, by group of times."""
        sizes = np.clip(np.rint(self.rows_each), 1, most).astype(np.int64)
        shares = np.maximum(people, LEAST_PEOPLE)
        return Alone(sizes, shares / shares.sum())

    def in_order(self, rows: Ints, crowd: Alone | None, rng: np.random.Generator) -> Batches:
        """Write the rows cell by cell, and give each cell's to people of its own, if to any."""
        ends, total = np.cumsum(rows), int(rows.sum())

        def begin() -> Draw:
            last = first = 0

            def draw(count: int, rng: np.random.Generator) -> Batch:
                nonlocal last, first
                here = np.diff(np.append(0, np.clip(ends - last, 0, count)))
                last += count
                if crowd is None:
                    return Batch(self.codes(here))
                people = first + crowd.given(here, rng)
                first = int(people.max(initial=first - 1)) + 1
                return Batch(self.codes(here), people)

            return draw

        people = None if crowd is None else crowd.about(rows)
        return Batches.drawn(total, begin, people=people, rng=rng)

    def measurements(self, noisy: Floats, scale: float) -> tuple[Measurement, ...]:
        """Tell what was answered, a group of times each."""
        rows = Rows(np.arange(len(self.cells) + 1), self.cells)
        return tuple(
            Measurement(
                clique=tuple(self.space.domain),
                values=noisy[:, i],
                scale=scale,
                rows=rows,
                counted=f"people there {t} times" + ("" if self.asked is not None else " or more"),
            )
            for i, t in enumerate(self.groups)
        )


def _noise(budget: Budget, most: int) -> float:
    """Give the standard deviation of a count's noise, if a person is in so many."""
    return budget.currency.deviation(budget.currency.root(most) / budget.price)


def _middles(groups: Groups) -> Floats:
    """Give the middle of every group of times, the last one's beginning.

    >>> _middles((1, 2, 5)).tolist()
    [1.0, 3.0, 5.0]
    """
    ends = [*(b - 1 for b in groups[1:]), groups[-1]]
    return np.array([(a + b) / 2 for a, b in zip(groups, ends, strict=True)])
