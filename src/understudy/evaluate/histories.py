"""Histories: a table's rows person by person, each person's in their order.

A person's rows are ordered by the codes of the declared columns.  Rows that are equal in these have
no order, and come as if shuffled: in an order that depends on nothing but what the person's rows
hold.  Sorted by their other codes, one would seem to lead to the next.  Everything is sorted and
counted over rows, never over people by codes: the work grows with the number of rows, whatever
people and codes there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.evaluate.matching import runs
from understudy.evaluate.table import Coded, Counts

if TYPE_CHECKING:
    from collections.abc import Sequence

Luck = NDArray[np.uint64]

LARGEST_GAP = 32
"""Larger differences between consecutive rows all count as this one."""
STEP, MIXERS = 0x9E3779B97F4A7C15, ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""The constants of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a generator of random numbers."""


class Tally(NamedTuple):
    """How many rows of a person have each of their codes, by person and then by code."""

    person: Counts
    code: Counts
    rows: Counts


class Habits(NamedTuple):
    """How much people repeat themselves in a column: means over people with two rows or more."""

    repeats: float
    """The probability that two different random rows of a person agree."""
    distinct: float
    """The number of distinct values of a person after the first, as a share of further rows."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Histories:
    """A table, and the order in which its rows are those of one person after another."""

    table: Coded
    order: Counts
    """The positions of the rows in the table, person by person."""
    starts: Counts
    """Where each person's rows begin in that order."""
    sizes: Counts
    """The number of rows of each person."""

    @classmethod
    def of(cls, table: Coded, ordering: Sequence[str] = ()) -> Histories:
        """Order a table's rows by person, and within a person by the codes of these columns."""
        people = np.arange(table.rows) if table.people is None else table.people
        order = np.argsort(people, kind="stable")
        if ordering:
            order = np.lexsort((_luck(table, people, order), people))
        _, sizes = runs(people[order])
        found = cls(table, order, _starts(sizes), sizes)
        for name in reversed(ordering):
            # Rows of a person stay together, and then a stable sort takes little time.
            again = np.argsort(found.keys(name), kind="stable")
            found = replace(found, order=found.order[again])
        return found

    def codes(self, name: str) -> Counts:
        """Return a column's codes, person by person."""
        held = self.table.codes.get(name)
        held = self.table.times[name] if held is None else held
        return held[self.order].astype(np.int64)

    def size(self, name: str) -> int:
        """Return a column's number of codes; of times, of those that there are."""
        if name in self.table.sizes:
            return self.table.sizes[name]
        return 1 + int(self.table.times[name].max(initial=0))

    def keys(self, name: str) -> Counts:
        """Return a number for each row's person and code in a column, ascending by person."""
        firsts = np.arange(len(self.sizes)) * self.size(name)
        return np.repeat(firsts, self.sizes) + self.codes(name)

    def tally(self, name: str) -> Tally:
        """Count each person's rows by their codes in a column."""
        keys = self.keys(name)
        keys.sort(kind="stable")
        cells, rows = runs(keys)
        person, code = np.divmod(cells, self.table.sizes[name])
        return Tally(person, code, rows)

    def habits(self, name: str) -> Habits | None:
        """Return how much people repeat themselves in a column; None if nobody has two rows."""
        several = self.sizes > 1
        if not several.any():
            return None
        person, _, rows = self.tally(name)
        n = self.sizes[several].astype(np.float64)
        agreeing = np.bincount(person, weights=rows * (rows - 1.0))[several]
        further = np.bincount(person)[several] - 1
        return Habits(
            repeats=float(np.mean(agreeing / (n * (n - 1)))),
            distinct=float(np.mean(further / (n - 1))),
        )

    def steps(self, name: str) -> Coded:
        """Return the codes of all consecutive rows of people: the previous one's and this one's."""
        codes, size = self.codes(name), self.size(name)
        follows = np.ones(len(codes), np.bool_)
        follows[self.starts] = False
        this = np.flatnonzero(follows)
        return Coded(
            codes={"previous": codes[this - 1], "this": codes[this]},
            sizes={"previous": size, "this": size},
            people=None,
        )

    def gaps(self, name: str) -> Coded:
        """Return the differences between the codes of consecutive rows, the large ones as one."""
        steps = self.steps(name)
        apart = np.abs(steps.codes["this"] - steps.codes["previous"])
        return Coded(
            codes={"gap": np.minimum(apart, LARGEST_GAP)},
            sizes={"gap": LARGEST_GAP + 1},
            people=None,
        )

    def persons(self, names: Sequence[str]) -> tuple[Coded, Counts]:
        """Return a table of people with their most frequent codes, the lowest on ties.

        The second result is the largest number of distinct codes of each person in a column.
        """
        codes, most = {}, np.zeros(len(self.sizes), np.int64)
        for name in names:
            person, code, rows = self.tally(name)
            _, distinct = runs(person)
            largest = np.maximum.reduceat(rows, _starts(distinct))
            modes = np.flatnonzero(rows == np.repeat(largest, distinct))
            _, tied = runs(person[modes])
            codes[name] = code[modes[_starts(tied)]]
            most = np.maximum(most, distinct)
        sizes = {name: self.table.sizes[name] for name in names}
        return Coded(codes=codes, sizes=sizes, people=None), most


def _luck(table: Coded, people: Counts, order: Counts) -> Luck:
    """Return a number for each row that looks random, and follows from what people's rows hold.

    ``order`` has the rows of one person after another.  Whoever has the same rows as others, and
    whatever rows are equal, has another number: which of them has which makes no difference.
    """
    each = np.zeros(table.rows, np.uint64)
    for name in sorted(table.codes):
        each = _mixed(each + table.codes[name].astype(np.uint64))
    if table.rows:
        _, sizes = runs(people[order])
        whole = _told_apart(np.add.reduceat(each[order], _starts(sizes)))
        each[order] ^= np.repeat(whole, sizes)
    return _told_apart(each)


def _told_apart(numbers: Luck) -> Luck:
    """Scramble numbers, equal ones each to another one."""
    order = np.argsort(numbers, kind="stable")
    _, alike = runs(numbers[order].view(np.int64))
    nth = np.arange(len(numbers)) - np.repeat(_starts(alike), alike)
    found = np.empty_like(numbers)
    found[order] = _mixed(_mixed(numbers[order]) + nth.astype(np.uint64))
    return found


def _mixed(numbers: Luck) -> Luck:
    """Scramble numbers, each to one of its own."""
    numbers = numbers + np.uint64(STEP)
    for shift, factor in MIXERS:
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def _starts(lengths: Counts) -> Counts:
    """Return where each of several adjacent pieces begins."""
    return np.cumsum(lengths) - lengths
