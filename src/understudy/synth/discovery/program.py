"""Discovery: which columns are numbers, moments or codes; their ranges, bins and values.

A program over a door, as mechanisms are; every question depends on the schema, the settings and
earlier answers alone.  First it asks how many people have values of which kind, and how many have
one value in all of their rows; then, for every column by its kind, either for the spread of its
numbers or moments (a fixed public grid, then finer where weights are large; of moments also within
their day), or in rounds for its values, where values that are told leave the weight of people to
others.  Where prefixes are declared, those of values that were not told are asked for after that,
the longest first.  A seventeenth of the budget is for kinds, and four times as much for those
columns that noise then leaves open, as it does where people are few or columns many; the rest is
shared by columns, of which those of codes, whose lists may be long, have nine times as much as
others.  These shares are the best of those tried in ``benchmarks/discovery.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import (
    MOST_VALUES,
    Currency,
    price_grains,
    scale_upper,
    split,
    threshold_upper,
)
from understudy.door import KINDS_OF_VALUE, Search
from understudy.errors import BudgetError, UsageError
from understudy.schema import Categorical, Integer, Numeric, Released, Text, Timestamp
from understudy.synth.discovery import moments, ranges
from understudy.synth.discovery.dates import dates_of
from understudy.synth.discovery.kinds import INTERVAL, Counted
from understudy.synth.discovery.people import Repeats, order_of, why_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.door import Door, Reading
    from understudy.public import Progress
    from understudy.schema import Declaration, Schema
    from understudy.schema.columns.timestamp import Resolution

KINDS_SHARE, AGAIN = 0.06, 4.0
"""The share of the budget for kinds, and how many times as much of it has a column that is asked
about again."""
PARTS = {"none": 0, "boolean": 1, "whole": 1, "number": 1, "moment": 1, "code": 9}
"""The parts of the rest of the budget that a column has, by its kind."""
MOST_PARTS, SPREAD_OVER = 9, 8
"""One of numbers or date-times may have as many parts, where its people are so few that they would
not stand out of the noise if they were spread over as many cells."""
MOST_BINS, MOST_ROUNDS = 500, 10
LEAST_FAILURE = 1e-15
"""A search with less of the failure probability could be charged more than that, by rounding."""
MOST_INTEGERS = 100
"""A range of more whole numbers has bins."""
NUMBER_SHARES, FIRST_SHARE = (0.25, 0.25, 0.5), 0.2
"""The shares of a column's budget for its ever finer spreads, and for the first round of its
values."""
MOMENT_SHARES, CLOCK_SHARES = (0.25, 0.25, 0.35), (0.05, 0.05, 0.05)
"""The shares of a column of date-times: for years, months and days; then for its resolution."""
CLOCKS: dict[Resolution, Reading] = {"day": "of_day", "hour": "of_hour", "minute": "of_minute"}
PREFIX_SHARE, PREFIX_FALL = 0.4, 0.5
"""The share of a column's budget for prefixes, where they are declared, and how much of it each
length has beside the one before: shorter prefixes have more people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found of a column, why it is declared so, and what that cost."""

    column: Declaration
    reason: str
    share: float
    """Its share of the run's budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """A schema, with what was found of each column that was asked about."""

    schema: Schema
    findings: tuple[Finding, ...]
    run: int = 0
    """The number of the run in its ledger."""
    why_order: str = ""
    """Why people's rows are ordered by columns that were found; empty where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """Settings of a discovery."""

    most: int = 10
    """At most so many values of a person count in a column."""
    bins: int = 20
    """About so many bins of equal weight a column of numbers gets."""
    rounds: int = 2
    """Values are asked for so often: what was told before leaves people's weight to others."""

    def __post_init__(self) -> None:
        """Raise on settings out of bounds, before anything is spent."""
        for name, most in (("most", MOST_VALUES), ("bins", MOST_BINS), ("rounds", MOST_ROUNDS)):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                raise UsageError(
                    f"{name} is out of bounds",
                    got=repr(value),
                    allowed=f"a number from 1 to {most}",
                )

    def run(self, door: Door, *, progress: Progress) -> Discovered:
        """Ask for kinds, then for ranges and values, and declare the columns."""
        names = [column.name for column in door.schema.texts]
        if not names:
            return Discovered(schema=door.schema, findings=())
        searches = self.rounds + max(len(column.prefixes) for column in door.schema.texts)
        least = LEAST_FAILURE * searches * len(names)
        if door.currency != Currency.GDP or door.budget.failure < least:
            raise BudgetError(
                "discovery needs a budget with a share for failure probabilities",
                got=f"delta {door.budget.delta:g}, failure {door.budget.failure:g}",
                allowed=f"a delta above 0, and a part of it as failure, {least:.0e} or more",
            )
        progress("asking for kinds", 0)
        asked = _Asked(door=door, settings=self)
        kinds = asked.kinds(names)
        progress("asking for ranges and values", 0.3)
        codes = [name for name, (kind, _) in kinds.items() if kind == "code"]
        for name, (kind, reason) in kinds.items():
            if kind in {"whole", "number"}:
                asked.numbers(name, reason, whole=kind == "whole")
            elif kind == "moment":
                asked.moments(name, reason)
            elif kind == "boolean":
                asked.booleans(name, reason)
            elif kind == "none":
                asked.leave(name, reason)
        if codes:
            asked.values(codes, {name: kinds[name][1] for name in codes})
        door.close()
        return asked.declared_all(names)


@dataclass(slots=True, kw_only=True)
class _Asked:
    """The questions of one run, and what was found by them."""

    door: Door
    settings: Discovery
    grains: dict[str, int] = field(default_factory=dict)
    """The grains for each column that is asked about."""
    found: dict[str, tuple[Declaration, str]] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    """The grains that were spent on each column."""
    weights: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """Noisy weights of each column's values or cells."""
    repeats: dict[str, Repeats] = field(default_factory=dict)
    """How many people have values in several rows, and how many of them one value only."""

    def shared(self, name: str) -> dict[str, Any]:
        """Return what a column keeps of its declaration as text."""
        text = self.declared(name)
        return {"name": name, "source": text.source, "nulls": text.nulls, "of": text.of}

    def declared(self, name: str) -> Text:
        """Return a column's declaration as text."""
        (text,) = (column for column in self.door.schema.texts if column.name == name)
        return text

    def say_own(self) -> None:
        """Declare columns as a person's own in which nearly nobody has several values."""
        for name, (column, reason) in self.found.items():
            seen = self.repeats[name]
            if isinstance(column, Released) and seen.is_own(self.weights[name]):
                self.found[name] = (replace(column, of="person"), f"{reason}; {seen.told}")

    def declared_all(self, names: Sequence[str]) -> Discovered:
        """Return the schema of what was found, with reasons and costs."""
        door = self.door
        if not door.unit.is_row and not door.two_tables:
            self.say_own()
        findings = tuple(
            Finding(column=column, reason=reason, share=self.spent[name] / door.budget.grains)
            for name in names
            for column, reason in (self.found[name],)
        )
        schema = door.schema.with_columns(*(finding.column for finding in findings))
        order = () if schema.order_by else order_of(schema.columns, self.repeats)
        return Discovered(
            schema=replace(schema, order_by=schema.order_by or order),
            findings=findings,
            why_order=why_order(order, self.repeats),
        )

    def leave(self, name: str, reason: str) -> None:
        """Leave a column as it is declared: text, neither modelled nor released."""
        self.found[name] = (self.declared(name), reason)

    def scales(self, name: str, shares: Sequence[float]) -> list[float]:
        """Return the noise of a column's questions, which share its budget."""
        prices = split(self.grains[name], self.door.currency, shares)
        return [scale_upper(price, self.door.currency, bound=Fraction(1)) for price in prices]

    def spread(
        self, name: str, reading: Reading, edges: Sequence[float], scale: float
    ) -> NDArray[np.float64]:
        """Ask how people's values are spread over cells."""
        before, most = self.door.grains, self.settings.most
        found = self.door.spread(name, reading=reading, edges=edges, most=most, scale=scale)
        self.spent[name] += before - self.door.grains
        return found

    def kinds(self, names: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Ask for the kinds of columns, again where they are unclear; return each with a reason."""
        door, self.spent = self.door, dict.fromkeys(names, 0.0)
        codes = {name: bool(self.declared(name).prefixes) for name in names}
        people = not door.unit.is_row and not door.two_tables
        counted = self.counted(names, KINDS_SHARE)
        again = [n for n in names if not codes[n] and not counted[n].is_clear(people=people)]
        if again:
            found = self.counted(again, KINDS_SHARE * AGAIN * len(again) / len(names))
            counted |= {name: counted[name].joined(found[name]) for name in again}
        self.repeats = {name: found.repeats for name, found in counted.items()}
        kinds = {name: found.kind(codes=codes[name]) for name, found in counted.items()}
        parts = {name: PARTS[kind] for name, (kind, _) in kinds.items()}
        each = door.grains / max(1, sum(parts.values()))
        for name in (name for name, part in parts.items() if part == 1):
            parts[name] = min(MOST_PARTS, max(1, math.ceil(self.needed(name) / each)))
        whole = max(1, sum(parts.values()))
        self.grains = {name: door.grains * part // whole for name, part in parts.items()}
        return kinds

    def needed(self, name: str) -> int:
        """Return about the grains with which the range of a column's numbers is found."""
        noise = max(1.0, self.repeats[name].people) / (ranges.STANDS_OUT * math.sqrt(SPREAD_OVER))
        price = 1 / (noise * math.sqrt(NUMBER_SHARES[0]))
        return price_grains(price, self.door.currency)

    def counted(self, names: Sequence[str], share: float) -> dict[str, Counted]:
        """Ask for numbers of people by kind, at a share of the budget."""
        door, bound = self.door, Fraction(len(KINDS_OF_VALUE) * len(names))
        price, _ = split(door.budget.grains, door.currency, [share, 1 - share])
        scale = scale_upper(price, door.currency, bound=bound)
        rows = door.kinds(names, scale=scale).tolist()
        for name in names:
            self.spent[name] += price_grains(price, door.currency) / len(names)
        return {
            name: Counted(numbers=dict(zip(KINDS_OF_VALUE, row, strict=True)), scale=scale)
            for name, row in zip(names, rows, strict=True)
        }

    def numbers(self, name: str, reason: str, *, whole: bool) -> None:
        """Declare a column of numbers: a range of whole numbers, or bins of about equal weight."""
        *coarse, fine = self.scales(name, NUMBER_SHARES)
        finer = ranges.powers(whole=whole)
        for scale in coarse:
            weights = self.spread(name, "number", finer, scale)
            halves = ranges.halved(finer, weights, scale, whole=whole)
            if halves is None:
                self.leave(name, f"{reason}; no range stands out of the noise")
                return
            finer = halves
        weights = self.weights[name] = self.spread(name, "number", finer, fine)
        first, last = ranges.trimmed(finer, weights, fine)
        low, high = finer[first], finer[last + 1]
        reason += (
            "; its range stands out of noise, 95 % of which is within "
            f"{INTERVAL * fine:.3g} people; outliers count as its ends"
        )
        if whole and high - low <= MOST_INTEGERS:
            column: Declaration = Integer(min=int(low), max=int(high) - 1, **self.shared(name))
        else:
            bins = ranges.equal_mass(finer, weights, fine, bins=self.settings.bins)
            column = Numeric(edges=bins, whole=whole, **self.shared(name))
        self.found[name] = (column, reason)

    def booleans(self, name: str, reason: str) -> None:
        """Declare a column of booleans, whose values are known; ask how common they are."""
        (scale,) = self.scales(name, [1.0])
        self.weights[name] = self.spread(name, "number", (0.5,), scale)
        self.found[name] = (Categorical(values=(False, True), **self.shared(name)), reason)

    def moments(self, name: str, reason: str) -> None:
        """Declare a column of date-times: first and last day, and how finely they are told."""
        yearly, fine, daily, *clocks = self.scales(name, [*MOMENT_SHARES, *CLOCK_SHARES])
        weights = self.spread(name, "moment", moments.years(), yearly)
        cells = moments.coarse(weights, yearly)
        if cells is None:
            self.leave(name, f"{reason}; no years stand out of the noise")
            return
        weights = self.weights[name] = self.spread(name, "moment", cells.edges, fine)
        at_ends = moments.fine(cells, weights, fine, daily)
        found = moments.ends(at_ends, self.spread(name, "moment", at_ends.edges, daily), daily)
        within = {
            told: self.spread(name, reading, moments.FIRST_SECOND, scale)
            for (told, reading), scale in zip(CLOCKS.items(), clocks, strict=True)
        }
        column = Timestamp(
            min=found.first,
            max=found.last,
            resolution=moments.resolution(within),
            format=self.declared(name).format,
            **self.shared(name),
        )
        reason += f"; {found.told}; its resolution is the {column.resolution}"
        schema = self.door.schema
        taken = {c.name.lower() for c in (*schema.columns, *schema.modelled)}
        self.found[name] = (moments.apart(column, taken), reason)

    def values(self, names: Sequence[str], reasons: dict[str, str]) -> None:
        """Declare columns of codes, by the values and prefixes that many people have."""
        failure = self.door.budget.failure / len(names) * (1 - 1e-9)
        planned = {name: self.searches(name, failure=failure) for name in names}
        told: dict[str, list[tuple[str, ...]]] = {name: [] for name in names}
        for turn in range(max(map(len, planned.values()))):
            asked = [
                replace(searches[turn], known=tuple(sorted(chain(*told[name]))))
                for name, searches in planned.items()
                if turn < len(searches)
            ]
            before = self.door.grains
            answer, cost = self.door.discover(asked), sum(search.scale**-2 for search in asked)
            for search, found in zip(asked, answer, strict=True):
                share = search.scale**-2 / cost
                self.spent[search.column] += share * (before - self.door.grains)
                told[found.column].append(found.values)
                self.weights[found.column] = np.append(
                    self.weights.get(found.column, ()), found.weights
                )
        for name, searches in planned.items():
            why = f"{reasons[name]}; {self.told(searches, told[name])}"
            values = tuple(sorted(chain(*told[name])))
            if not values:
                self.leave(name, f"{why}, so that nothing of it is released")
                continue
            if written := dates_of(values):
                why += (
                    f'; they look like dates: a schema with kind = "text" and format = "{written}" '
                    "would have them read so"
                )
            prefixes = self.declared(name).prefixes
            column = Categorical(values=values, prefixes=prefixes, **self.shared(name))
            self.found[name] = (column, why)

    def searches(self, name: str, *, failure: float) -> list[Search]:
        """Plan the searches of a column: rounds for its values, then one for each prefix."""
        prefixes, rounds = self.declared(name).prefixes, self.settings.rounds
        later = (1 - FIRST_SHARE) / max(1, rounds - 1)
        shares = [FIRST_SHARE, *[later] * (rounds - 1)] if rounds > 1 else [1.0]
        if prefixes:
            shares = [share * (1 - PREFIX_SHARE) for share in shares]
            parts = [PREFIX_FALL**i for i in range(len(prefixes))]
            shares += [PREFIX_SHARE * part / sum(parts) for part in parts]
        lengths = [()] * rounds + [prefixes[: i + 1] for i in range(len(prefixes))]
        each, most = failure / len(shares), self.settings.most
        return [
            Search(
                column=name,
                most=most,
                scale=scale,
                threshold=threshold_upper(each, sigma=scale, most=most),
                prefixes=asked,
            )
            for scale, asked in zip(self.scales(name, shares), lengths, strict=True)
        ]

    def told(self, searches: Sequence[Search], found: Sequence[tuple[str, ...]]) -> str:
        """Say what searches told, from which weight on, and of prefixes at which cost."""
        rounds = self.settings.rounds
        least = f"{min(search.threshold for search in searches[:rounds]):.3g}"
        told = "these are the values that reach" if any(found[:rounds]) else "no value reaches"
        parts = [f"{told} a weight of {least} people"]
        cost = sum(search.scale**-2 for search in searches)
        for search, prefixes in zip(searches[rounds:], found[rounds:], strict=True):
            share, least = search.scale**-2 / cost, f"{search.threshold:.3g}"
            of = f"of length {search.prefixes[-1]}"
            reach = (
                f"{len(prefixes)} prefixes {of} reach" if prefixes else f"no prefix {of} reaches"
            )
            parts.append(f"of others {reach} {least} people at {share:.0%} of the column's cost")
        return "; ".join(parts)
