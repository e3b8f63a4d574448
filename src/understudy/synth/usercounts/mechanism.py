"""UserCounts: people are counted by cell and by their number of rows in it.

After the NIST contest's sprint 1 (`docs/user-counts.md`, and `docs/corrections.md` for what is
put right).  Only cells that public data make plausible are measured.  How many rows a counted
person stands for, and how many people to expect in a cell, also come from public data; noisy counts
correct this as far as they stand out of the noise, and add up to a histogram in whole numbers.

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
"""The maximum number of cells of a histogram."""
WHOLE_DOMAIN = 100_000
"""The maximum number of cells without public data, where all are measured."""
LEAST_PEOPLE = 1e-9
UNKNOWN_MOST = 4
UNKNOWN_GROUPS = (1, 2, 3, 4, 6)
"""The groups of times that are measured without public people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCounts:
    """Counts of people by cell and by their number of rows in it, added up to a histogram.

    For tables of a few columns, such as calls by place, type and month, and with public data,
    which show the cells that are worth measuring (`docs/user-counts.md`).

    >>> UserCounts(time=("year", "month")).neighbours
    3
    """

    name: ClassVar[str] = "usercounts"

    time: tuple[str, ...] = ()
    """The columns that define a period.  Public periods are matched by the last of them alone."""
    neighbours: int = 3
    """The number of periods before and after a public one that are plausible too."""
    times: tuple[int, ...] = (1, 2)
    """Numbers of rows in a cell that the published form measures wherever public data have any."""
    most: int | None = None
    """The maximum number of a person's cells that count; if None, chosen from public data."""
    groups: tuple[int, ...] = ()
    """The first number of rows of each group that is counted apart; chosen if empty."""
    most_each: int | None = None
    """The maximum number of rows of a synthetic person."""
    published: bool = False
    """Clip and round every count before adding up, as the document does, with correct noise."""

    def __post_init__(self) -> None:
        """Raise on settings out of bounds, and turn lists into tuples."""
        set_tuples(self, "time", "times", "groups")
        for name in ("times", "groups"):
            given = getattr(self, name)
            if any(t < 1 for t in given) or any(a >= b for a, b in pairwise(given)):
                raise UsageError(
                    f"{name} must be positive and increasing",
                    got=given,
                    allowed="integers such as 1, 2, 5",
                )
        check_at_least(self, 1, "most", "most_each")
        check_at_least(self, 0, "neighbours")
        if len(set(self.time)) < len(self.time):
            raise UsageError("time names a column twice", got=", ".join(self.time))

    def budget(self, public: PublicTable, *, epsilon: float, delta: float) -> Budget:
        """Choose between Laplace (delta 0) and Gaussian noise, by the error on public data."""
        choices = [Budget(epsilon=epsilon, delta=d) for d in (0.0, delta)]
        errors = self.errors(public, choices)
        return choices[errors.index(min(errors))]

    def errors(self, public: PublicTable, budgets: Sequence[Budget]) -> list[float]:
        """Estimate the error of the last column's shares for some budgets, on public data."""
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
        """Measure once, add up to a histogram, and turn it into rows and people."""
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
        """Decide what to measure; raise on settings that do not fit, before anything is spent."""
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
                "no public person has that many rows in one cell",
                got=groups,
                allowed="groups that begin with a smaller number, such as 1",
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
        """Measure exactly what the document does."""
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
        """Choose the cells per person and the groups of times by the error on public data."""
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
                "published = True needs a public table, as in the document",
                hint="use a public table, or leave out published",
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
        """Assign rows to people: doubles of public people, or people of one cell each."""
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
            f"People were counted, each in at most {plan.most} cells of all columns, by their "
            "number of rows there; standard errors cover the added noise, not the bias of this.",
        )
        if plan.public is None:
            return told
        return (
            *told,
            "Expectations from public data replace counts that are lost in the noise: the smaller "
            "epsilon, the more of the release comes from the public table.",
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountsPlan:
    """What is measured, and how the answers are turned into rows."""

    space: TimedDomain
    cells: Ints
    """The cells that are measured."""
    groups: Groups
    most: int
    rows_each: Floats
    """The number of rows that a counted person stands for, by group of times."""
    public: Floats | None = None
    """The number of people expected from public data, by cell and group of times."""
    asked: Mask | None = None
    """The published form's own choice of times, cell by cell."""

    def __post_init__(self) -> None:
        """Count at most as many cells of a person as are measured."""
        object.__setattr__(self, "most", min(self.most, len(self.cells)))

    def histogram(self, noisy: Floats, *, scale: float, currency: Currency) -> Ints:
        """Add up noisy counts of people to rows, a whole number for every measured cell."""
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
        # Cells that differ in the last column only keep their total, so that its shares are kept.
        return whole_numbers(rows, self.space.alike(self.cells))

    def as_published(self, noisy: Floats) -> Ints:
        """Clip, round and add up every count, as the document does."""
        clipped = np.rint(np.maximum(noisy, 0)) * self.asked
        rows = clipped @ self.rows_each
        check_rows(float(rows.sum()))
        return rows.astype(np.int64)

    def codes(self, rows: Ints) -> dict[str, Codes]:
        """Return ``rows`` rows of each cell as codes."""
        shape = tuple(self.space.domain.values())
        found = np.unravel_index(np.repeat(self.cells, rows), shape)
        return {n: c.astype(np.int32) for n, c in zip(self.space.domain, found, strict=True)}

    def alone(self, people: Floats, most: int | None) -> Alone:
        """Return people of one cell each, from their counts by group of times."""
        sizes = np.clip(np.rint(self.rows_each), 1, most).astype(np.int64)
        shares = np.maximum(people, LEAST_PEOPLE)
        return Alone(sizes, shares / shares.sum())

    def in_order(self, rows: Ints, crowd: Alone | None, rng: np.random.Generator) -> Batches:
        """Write the rows cell by cell, each cell's assigned to people of its own, if to any."""
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
        """Return the answers as measurements, one per group of times."""
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
    """Return the standard deviation of a count's noise, if a person is in ``most`` counts."""
    return budget.currency.deviation(budget.currency.root(most) / budget.price)


def _middles(groups: Groups) -> Floats:
    """Return the middle of every group of times, but the first of the last one.

    >>> _middles((1, 2, 5)).tolist()
    [1.0, 3.0, 5.0]
    """
    ends = [*(b - 1 for b in groups[1:]), groups[-1]]
    return np.array([(a + b) / 2 for a, b in zip(groups, ends, strict=True)])
