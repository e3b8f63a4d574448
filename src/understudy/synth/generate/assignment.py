"""Whose rows they are: rows are given to people batch by batch, as if it were all at once.

What has been given is remembered as little more than a number a person, never row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.public import Batch, Batches
from understudy.schema import Codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.graph import Urn
    from understudy.public import Draw, PublicTable

Ints = NDArray[np.signedinteger[Any]]
People = NDArray[np.int64]
Give = Callable[[Mapping[str, Codes], np.random.Generator], People | None]
"""Gives every row of the next batch a person."""


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A way of giving so many rows to people."""

    people: int | None
    """About how many people there will be; None where each row is one."""
    begin: Callable[[], Give]
    """Begins with the first batch, whatever was given before."""


NOTHING = 1e-6
"""How many rows somebody gets who wants none, beside others' one."""
PARTS = 2**12
"""How finely the rows that a donor has of several cells are mixed."""
EACH_ITS_OWN = Given(None, lambda: lambda _codes, _rng: None)
"""Rows that are people."""


def drawn(
    urn: Urn,
    rows: int,
    given: Given,
    *,
    rng: np.random.Generator,
    spread: Callable[[dict[str, Codes], np.random.Generator], dict[str, Codes]] | None = None,
) -> Batches:
    """Draw all rows of an urn batch by batch, spread their codes, and give them to people."""

    def begin() -> Draw:
        draw, give = urn.begin(), given.begin()

        def batch(count: int, rng: np.random.Generator) -> Batch:
            codes = draw(count, rng)
            codes = codes if spread is None else spread(codes, rng)
            return Batch(codes, give(codes, rng))

        return batch

    return Batches.drawn(rows, begin, people=given.people, rng=rng)


def evenly(rows: int, *, people: int, cap: int) -> Given:
    """Give rows evenly to people in a random order, at most ``cap`` each."""
    enough = max(1, people, -(-rows // cap))

    def begin() -> Give:
        last = 0

        def give(codes: Mapping[str, Codes], rng: np.random.Generator) -> People:
            nonlocal last
            first, last = last, last + _length(codes)
            return rng.permutation(np.arange(first, last, dtype=np.int64) % enough)

        return give

    return Given(enough, begin)


class InTurn:
    """People of known sizes in an order, who get all of their rows one after the other.

    >>> people = InTurn(np.array([2, 3]))
    >>> [(first, each.tolist()) for first, each in map(people.take, (4, 1))]
    [(0, [2, 2]), (1, [1])]
    """

    def __init__(self, sizes: Ints) -> None:
        """Begin with the first one."""
        self._ends, self._given = np.cumsum(sizes), 0

    def take(self, rows: int) -> tuple[int, Ints]:
        """Return who is the first to have some of the next rows, and how many each has of them."""
        start, self._given = self._given, self._given + rows
        first = int(np.searchsorted(self._ends, start, side="right"))
        last = int(np.searchsorted(self._ends, self._given))
        ends = np.minimum(self._ends[first : last + 1], self._given)
        return first, np.diff(ends, prepend=start)


def dealt(sizes: Ints) -> Given:
    """Give rows to people of these sizes, whichever rows they are."""

    def begin() -> Give:
        in_turn = InTurn(sizes)

        def give(codes: Mapping[str, Codes], rng: np.random.Generator) -> People:
            first, each = in_turn.take(_length(codes))
            return rng.permutation(first + np.repeat(np.arange(len(each)), each))

        return give

    return Given(len(sizes), begin)


class Donors:
    """Public people, whose doubles the synthetic people are.

    Public people stand in a line, by the cell of some columns in which they have most rows, and
    then by size.  From there the people of a batch are chosen, evenly along the line, as many where
    there are many rows for their size; the larger a public person is, the larger is the double.
    Each cell's rows are handed out to those who are there, in proportion to what they want of it;
    then all rows are lined up as their people stand, and cut into people of the sizes that are
    wanted.  So nobody is a fragment, and what is too much for one is a neighbour's.

    Cuts are moved to where the line goes on with another cell, so that people keep to one if public
    people do.  A cell that public data do not have is looked for by fewer columns; in a first
    column, each value that they do not have stands for somebody in the line.
    """

    def __init__(self, public: PublicTable, by: Sequence[str], rng: np.random.Generator) -> None:
        """Line up public people, and find who has how many rows in which cell."""
        self._columns = {name: public.schema.domain[name] for name in by}
        people, each, codes = self._everybody(public, rng)
        cells, levels = np.zeros(len(people), dtype=np.int64), [np.zeros(1, dtype=np.int64)]
        found = [cells]
        for name, size in self._columns.items():
            keys, cells = np.unique(cells * size + codes[name], return_inverse=True)
            found.append(cells + sum(map(len, levels)))
            levels.append(keys)
        self._keys = levels[1:]
        """By so many columns: each cell's number by one column fewer, and its code in the last."""
        main = _commonest(people, cells)
        line = np.lexsort((rng.permutation(len(each)), each, main))
        self._each, self._main = each[line], main[line]
        place = np.argsort(line)[people]
        pairs = [np.unique(c * len(line) + place, return_counts=True) for c in found]
        where, self._donors = np.divmod(np.concatenate([pair for pair, _ in pairs]), len(line))
        """Every cell's donors, one after the other."""
        self._rows = np.concatenate([rows for _, rows in pairs])
        """How many rows each of them has there."""
        self._starts = np.searchsorted(where, np.arange(sum(map(len, levels)) + 1))

    def _everybody(
        self, public: PublicTable, rng: np.random.Generator
    ) -> tuple[Ints, Ints, dict[str, Ints]]:
        """Return each row's person, people's sizes, and codes, with a row for each missing value.

        Somebody who stands for a value is as large as anyone.
        """
        people, each = public.known_people("whose rows are whose"), public.sizes()
        codes = {name: public.codes[name] for name in self._columns}
        for name, size in [*self._columns.items()][:1]:
            missing = np.setdiff1d(np.arange(size), codes[name])
            people = np.append(people, len(each) + np.arange(len(missing)))
            each = np.append(each, rng.choice(each, len(missing)))
            codes = {n: np.append(c, np.zeros_like(missing)) for n, c in codes.items()}
            codes[name][len(public) :] = missing
        return people, each, codes

    def given(self, sizes: Ints) -> Given:
        """Give rows to people of these sizes, none of them with more than the largest has."""
        return Given(len(sizes), lambda: self._begin(sizes))

    def _begin(self, sizes: Ints) -> Give:
        in_turn = InTurn(sizes)

        def give(codes: Mapping[str, Codes], rng: np.random.Generator) -> People:
            people = np.zeros(_length(codes), dtype=np.int64)
            if not len(people):
                return people
            cells = self._cells(codes)
            first, each = in_turn.take(len(people))
            # Who has rows in other batches too gets no more of them here.
            most = np.where(each < sizes[first : first + len(each)], each, sizes.max())
            donors = self._chosen(cells, each, rng)
            # The larger a donor, the larger the double; those who are as large in any order.
            whose = np.empty(len(each), dtype=np.int64)
            whose[np.lexsort((rng.permutation(len(each)), self._each[donors]))] = np.argsort(
                each, kind="stable"
            )
            wanted = np.bincount(donors, weights=each[whose], minlength=len(self._each))
            rows, donors = self._lined(cells, wanted / self._each, rng)
            each = cut_at_borders(each[whose], self._main[donors], most[whose])
            people[rows] = first + np.repeat(whose, each)
            return people

        return give

    def _cells(self, codes: Mapping[str, Codes]) -> Ints:
        """Find the public cell of every row, by as many columns as there is one for."""
        rows, first = np.arange(_length(codes)), 1
        found, inside = np.zeros((2, len(rows)), dtype=np.int64)
        for (name, size), keys in zip(self._columns.items(), self._keys, strict=True):
            wanted = inside * size + codes[name][rows]
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            there = keys[place] == wanted
            rows, inside = rows[there], place[there]
            found[rows] = first + inside
            first += len(keys)
        return found

    def _chosen(self, cells: Ints, sizes: Ints, rng: np.random.Generator) -> Ints:
        """Choose the donors of people of these sizes, in line: where rows are, as many as fit."""
        public = np.add.reduceat(self._rows, self._starts[:-1])
        supply = np.bincount(cells, minlength=len(public)) / public
        rows = np.bincount(
            self._donors, weights=self._rows * np.repeat(supply, np.diff(self._starts))
        )
        # If so many donors of each size, small ones first, have people of these sizes for doubles,
        # this is the mean size of theirs.
        _, size = np.unique(self._each, return_inverse=True)
        shares = np.cumsum(np.append(0.0, np.bincount(size, weights=rows / self._each)))
        shares *= len(sizes) / shares[-1]
        summed = np.interp(
            shares, np.arange(len(sizes) + 1), np.append(0, np.cumsum(np.sort(sizes)))
        )
        typical = np.diff(summed) / np.maximum(np.diff(shares), NOTHING)
        people = np.cumsum(rows / np.maximum(typical, 1)[size])
        at = (np.arange(len(sizes)) + rng.random()) * (people[-1] / len(sizes))
        chosen: Ints = np.minimum(np.searchsorted(people, at), len(people) - 1)
        return chosen

    def _lined(
        self, cells: Ints, wanted: NDArray[np.float64], rng: np.random.Generator
    ) -> tuple[Ints, Ints]:
        """Hand every row to a donor, by how many each wants for one row of theirs.

        Return the rows as their donors stand in line, and the donors.  A donor's rows of any cell
        are spread over all of theirs, so that doubles are alike.
        """
        rows = np.argsort(cells * len(cells) + rng.permutation(len(cells)))
        cells, counts = cells[rows], np.bincount(cells)
        turns = np.arange(len(cells)) - (np.cumsum(counts) - counts)[cells] + 0.5
        # Those who want nothing get what nobody wants.
        shares = self._rows * np.maximum(wanted, NOTHING)[self._donors]
        ends = np.concatenate(([0.0], np.cumsum(shares)))
        low, high = self._starts[cells], self._starts[cells + 1]
        at = ends[low] + (ends[high] - ends[low]) * turns / counts[cells]
        entry = np.clip(np.searchsorted(ends, at, side="right") - 1, low, high - 1)
        part = np.clip((at - ends[entry]) / shares[entry] * PARTS, 0, PARTS - 1)
        donors = self._donors[entry]
        # Keys that all differ are sorted alike by every machine.
        keys = (donors * PARTS + part.astype(np.int64)) * len(rows) + np.arange(len(rows))
        line = np.argsort(keys)
        return rows[line], donors[line]


def cut_at_borders(sizes: Ints, groups: Ints, most: Ints) -> Ints:
    """Cut a line of rows into people of about these sizes, at borders of groups where there are.

    To each border the nearest cut is moved, or else the next one, unless that gives somebody more
    rows than they may have; people stay in their order, and nobody gets none.

    >>> groups = np.repeat([0, 1, 2], [5, 3, 7])
    >>> cut_at_borders(np.array([4, 4, 4, 3]), groups, np.array([9, 9, 9, 9])).tolist()
    [5, 3, 4, 3]
    """
    cuts = np.concatenate(([0], np.cumsum(sizes)))
    borders = np.flatnonzero(np.diff(groups)) + 1
    right = np.searchsorted(cuts, borders)
    nearest = right - (borders - cuts[right - 1] < cuts[right] - borders)
    # A cut that is the nearest one of several borders goes to the nearest of them.
    order = np.argsort(-np.abs(borders - cuts[nearest]), kind="stable")
    found = _moved(cuts, nearest[order], borders[order], most)
    left = borders[found[nearest] == cuts[nearest]]
    return np.diff(_moved(found, np.searchsorted(found, left), left, most))


def _moved(cuts: Ints, which: Ints, borders: Ints, most: Ints) -> Ints:
    """Move some cuts to borders, but for those at both ends, and where somebody got too much."""
    moved = cuts.copy()
    moved[which] = borders
    moved[[0, -1]] = cuts[[0, -1]]
    while (over := np.diff(moved) > most).any():
        for side in (slice(None, -1), slice(1, None)):
            moved[side][over] = cuts[side][over]
    return moved


def _commonest(people: Ints, cells: Ints) -> Ints:
    """Return the cell in which each person has most rows."""
    size = int(cells.max()) + 1
    pairs, rows = np.unique(people * size + cells, return_counts=True)
    pairs = pairs[np.lexsort((rows, pairs // size))]
    last = np.append(np.flatnonzero(np.diff(pairs // size)), len(pairs) - 1)
    commonest: Ints = pairs[last] % size
    return commonest


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """People who keep to one cell each."""

    sizes: Ints
    """How many rows people of each sort have."""
    shares: NDArray[np.float64]
    """How many of all people are of each sort."""

    def about(self, rows: Ints) -> int:
        """Say about how many people share so many rows of each cell: one a cell at least."""
        each = float(self.sizes @ self.shares)
        return max(int(np.count_nonzero(rows)), round(int(rows.sum()) / each))

    def given(self, rows: Ints, rng: np.random.Generator) -> People:
        """Give so many rows of each cell, which lie together, to people."""
        total = int(rows.sum())
        cuts = np.cumsum(rng.choice(self.sizes, size=total, p=self.shares))
        new = np.zeros(total + 1, dtype=np.int64)
        new[np.minimum(cuts, total)] = 1
        new[np.cumsum(rows)] = 1
        new[0] = 0
        return np.cumsum(new[:total])


class Numbering:
    """Numbers parts of things from 0 on, as they come; one that came before keeps its number."""

    def __init__(self) -> None:
        """Know of none."""
        self._keys: People = np.zeros(0, dtype=np.int64)
        self._numbers: People = np.zeros(0, dtype=np.int64)

    def of(self, things: Ints, parts: Ints) -> People:
        """Give the numbers of some, those that are new in order of thing and part."""
        keys: People = things * 2**31 + parts
        found, inverse = np.unique(keys, return_inverse=True)
        place = np.searchsorted(self._keys, found)
        there = np.append(self._keys, -1)[place] == found
        numbers = np.empty(len(found), dtype=np.int64)
        numbers[there] = self._numbers[place[there]]
        new, at = found[~there], place[~there]
        numbers[~there] = len(self._keys) + np.arange(len(new))
        self._keys = np.insert(self._keys, at, new)
        self._numbers = np.insert(self._numbers, at, numbers[~there])
        return numbers[inverse]


class Caps:
    """Lets nobody have more than so many rows: what is beyond fills new people, up to as many each.

    >>> np.bincount(Caps(3).of(np.zeros(7, dtype=np.int64))).tolist()
    [3, 3, 1]
    """

    def __init__(self, most: int) -> None:
        """Know of nobody."""
        self._most, self._numbers = most, Numbering()
        self._rows = np.zeros(0, dtype=np.int64)

    def of(self, people: People) -> People:
        """Give people who have no more rows than that, those of earlier batches included."""
        held = np.bincount(people, minlength=len(self._rows))
        held[: len(self._rows)] += self._rows
        before = np.append(self._rows, np.zeros(len(held) - len(self._rows), dtype=np.int64))
        place = before[people] + places(people, np.arange(len(people)))
        self._rows = held
        return self._numbers.of(people, place // self._most)


def places(groups: Ints, order: Ints) -> Ints:
    """Give every element its place among those of its group, by an order of all.

    >>> places(np.array([5, 3, 5, 5, 3]), np.arange(5)).tolist()
    [0, 0, 1, 2, 1]
    """
    # Keys that all differ are sorted alike by every machine, and faster than by a stable sort.
    ordered = np.argsort(groups.astype(np.int64) * len(groups) + order)
    inside = groups[ordered]
    first = np.flatnonzero(np.concatenate(([True], inside[1:] != inside[:-1]))[: len(groups)])
    sizes = np.diff(np.append(first, len(groups)))
    found = np.empty(len(groups), dtype=np.int64)
    found[ordered] = np.arange(len(groups)) - np.repeat(first, sizes)
    return found


def _length(codes: Mapping[str, Codes]) -> int:
    return len(next(iter(codes.values())))
