"""Assignment: rows are assigned to people batch by batch, as if all at once.

The state between batches is little more than a number per person, never per row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.public import Batch, Batches
from understudy.schema import Codes
from understudy.synth.generate.borders import cut_at_borders
from understudy.synth.generate.holdings import Holdings, summed
from understudy.synth.generate.numbering import numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.graph import Urn
    from understudy.public import Draw, PublicTable

Ints = NDArray[np.signedinteger[Any]]
People = NDArray[np.int64]
Give = Callable[[Mapping[str, Codes], np.random.Generator], People | None]
"""Assigns every row of the next batch to a person."""


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A way of assigning a number of rows to people."""

    people: int | None
    """The approximate number of people; None where each row is a person."""
    begin: Callable[[], Give]
    """Starts again from the first batch."""


NOTHING = 1e-6
"""The share of rows for donors who want none, relative to one for others."""
PARTS = 2**12
"""How finely a donor's rows of several cells are interleaved."""
EACH_ITS_OWN = Given(None, lambda: lambda _codes, _rng: None)
"""Each row is a person."""


def drawn(
    urn: Urn,
    rows: int,
    given: Given,
    *,
    rng: np.random.Generator,
    spread: Callable[[dict[str, Codes], np.random.Generator], dict[str, Codes]] | None = None,
) -> Batches:
    """Draw all rows of an urn batch by batch, spread their codes, and assign them to people."""

    def begin() -> Draw:
        draw, give = urn.begin(), given.begin()

        def batch(count: int, rng: np.random.Generator) -> Batch:
            codes = draw(count, rng)
            codes = codes if spread is None else spread(codes, rng)
            return Batch(codes, give(codes, rng))

        return batch

    return Batches.drawn(rows, begin, people=given.people, rng=rng)


def evenly(rows: int, *, people: int, cap: int) -> Given:
    """Assign rows evenly to people in a random order, at most ``cap`` each."""
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
    """People of known sizes, who get all of their rows one person after the other.

    >>> people = InTurn(np.array([2, 3]))
    >>> [(first, each.tolist()) for first, each in map(people.take, (4, 1))]
    [(0, [2, 2]), (1, [1])]
    """

    def __init__(self, sizes: Ints) -> None:
        """Start with the first person."""
        self._ends, self._given = np.cumsum(sizes), 0

    def take(self, rows: int) -> tuple[int, Ints]:
        """Return the first person of the next rows, and how many of these rows each person has."""
        start, self._given = self._given, self._given + rows
        first = int(np.searchsorted(self._ends, start, side="right"))
        last = int(np.searchsorted(self._ends, self._given))
        ends = np.minimum(self._ends[first : last + 1], self._given)
        return first, np.diff(ends, prepend=start)


def dealt(sizes: Ints, own: Sequence[str] = ()) -> Given:
    """Assign rows to people of about these sizes, regardless of the rows' values.

    Only what is a person's ``own`` counts: rows that agree in it go together, and nobody gets more
    rows than the largest size.
    """

    def begin() -> Give:
        in_turn = InTurn(sizes)

        def give(codes: Mapping[str, Codes], rng: np.random.Generator) -> People:
            first, each = in_turn.take(_length(codes))
            if not own or not len(each):
                return rng.permutation(first + np.repeat(np.arange(len(each)), each))
            keys: list[Ints] = [rng.permutation(_length(codes)), *(codes[name] for name in own)]
            line = np.lexsort(keys)
            groups = np.zeros(len(line), dtype=np.int64)
            for name in own:
                groups[1:] |= codes[name][line][1:] != codes[name][line][:-1]
            # A person who spans several batches gets no more rows in this one.
            most = np.where(each < sizes[first : first + len(each)], each, sizes.max())
            whose = rng.permutation(len(each))
            cut = cut_at_borders(each[whose], np.cumsum(groups), most[whose])
            people = np.empty(len(line), dtype=np.int64)
            people[line] = first + np.repeat(whose, cut)
            return people

        return give

    return Given(len(sizes), begin)


class Donors:
    """Public people, as donors: each synthetic person is the double of one.

    Donors are sorted into a line by the cell of some columns in which they have most rows, then by
    size.  The people of a batch are chosen evenly along the line, more of them where there are many
    rows for their size; the larger a donor, the larger the double.  Each cell's rows are shared
    among its donors, in proportion to what they want of it; then all rows are sorted in the donors'
    order and cut into people of the wanted sizes.  So nobody is a fragment, and excess rows go to
    a neighbour in the line.

    Cuts are moved to borders between cells, so that people stay in one cell if public people do.  A
    cell that public data do not have is looked up by fewer columns; each missing value of the first
    column gets a donor of its own in the line.
    """

    def __init__(self, public: PublicTable, by: Sequence[str], rng: np.random.Generator) -> None:
        """Sort public people into a line, and count each one's rows in each cell."""
        self._columns = {name: public.schema.domain[name] for name in by}
        self._keys: list[Ints] = []
        """For each number of columns: a cell's number by one column fewer, and its last code."""
        held, each = self._held(public, rng)
        main = held.commonest()
        line = np.lexsort((rng.permutation(len(each)), each, main))
        self._each, self._main = each[line], main[line]
        place = np.argsort(line).astype(np.int32)[held.people]
        where, self._donors, self._rows = self._by_level(held, place)
        """The donors of every cell, cell after cell, and the number of rows of each there."""
        self._starts = np.searchsorted(where, np.arange(sum(map(len, self._keys)) + 2))

    def _held(self, public: PublicTable, rng: np.random.Generator) -> tuple[Holdings, Ints]:
        """Number the cells that there are; return what everybody has in them, and their sizes."""
        people, each, codes = self._everybody(public, rng)
        cells: Ints = np.zeros(len(people), dtype=np.int32)
        there = 1
        for name, size in self._columns.items():
            keys, cells = numbered(cells * np.int64(size) + codes[name], there * size)
            self._keys.append(keys)
            there = len(keys)
        return Holdings.of(people, cells), each

    def _by_level(self, held: Holdings, place: Ints) -> tuple[Ints, Ints, Ints]:
        """Return cells by no column, by the first, and so on, with their donors and donors' rows.

        A cell by fewer columns holds what the cells within it hold.
        """
        # The cells by fewer and fewer columns that a cell by all of them lies in.
        within = [np.arange(int(held.cells.max()) + 1)]
        for size, keys in zip(reversed(self._columns.values()), reversed(self._keys), strict=True):
            within.append(keys[within[-1]] // size)
        found, first, count = [], 0, len(self._each)
        for outer, cells in zip(reversed(within), (1, *map(len, self._keys)), strict=True):
            pairs, rows = summed(((outer + first) * count)[held.cells] + place, held.rows)
            found.append((pairs // count, (pairs % count).astype(np.int32), rows))
            first += cells
        where, donors, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return where, donors, rows

    def _everybody(
        self, public: PublicTable, rng: np.random.Generator
    ) -> tuple[Ints, Ints, dict[str, Ints]]:
        """Return each row's person, people's sizes, and codes, with an added row per missing value.

        A person added for a missing value has the size of a random person.
        """
        people, each = public.known_people("which rows belong to one person"), public.sizes()
        codes = {name: public.codes[name] for name in self._columns}
        for name, size in [*self._columns.items()][:1]:
            missing = np.setdiff1d(np.arange(size), codes[name])
            people = np.append(people, len(each) + np.arange(len(missing)))
            each = np.append(each, rng.choice(each, len(missing)))
            codes = {n: np.append(c, np.zeros(len(missing), c.dtype)) for n, c in codes.items()}
            codes[name][len(public) :] = missing
        return people, each, codes

    def given(self, sizes: Ints) -> Given:
        """Assign rows to people of about these sizes, nobody above the largest size."""
        return Given(len(sizes), lambda: self._begin(sizes))

    def _begin(self, sizes: Ints) -> Give:
        in_turn = InTurn(sizes)

        def give(codes: Mapping[str, Codes], rng: np.random.Generator) -> People:
            people = np.zeros(_length(codes), dtype=np.int64)
            if not len(people):
                return people
            cells = self._cells(codes)
            first, each = in_turn.take(len(people))
            # A person who spans several batches gets no more rows in this one.
            most = np.where(each < sizes[first : first + len(each)], each, sizes.max())
            donors = self._chosen(cells, each, rng)
            # The larger a donor, the larger the double; equal sizes in any order.
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
        """Return the public cell of every row, by as many columns as public data have it for."""
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
        """Choose donors for people of these sizes, in line order, by the rows in their cells."""
        public = np.add.reduceat(self._rows, self._starts[:-1])
        supply = np.bincount(cells, minlength=len(public)) / public
        rows = np.bincount(
            self._donors, weights=self._rows * np.repeat(supply, np.diff(self._starts))
        )
        # If this many donors of each size, small ones first, have doubles of these sizes, this is
        # the mean size of their doubles.
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
        """Assign every row to a donor; ``wanted`` is how many each gets for one row of their own.

        Return the rows in the order of their donors in the line, and the donors.  A donor's rows of
        any cell are spread over all of theirs, so that doubles are alike.
        """
        rows = np.argsort(cells * len(cells) + rng.permutation(len(cells)))
        cells, counts = cells[rows], np.bincount(cells)
        turns = np.arange(len(cells)) - (np.cumsum(counts) - counts)[cells] + 0.5
        # Donors who want none get the rows that nobody wants.
        shares = self._rows * np.maximum(wanted, NOTHING)[self._donors]
        ends = np.concatenate(([0.0], np.cumsum(shares)))
        low, high = self._starts[cells], self._starts[cells + 1]
        at = ends[low] + (ends[high] - ends[low]) * turns / counts[cells]
        entry = np.clip(np.searchsorted(ends, at, side="right") - 1, low, high - 1)
        part = np.clip((at - ends[entry]) / shares[entry] * PARTS, 0, PARTS - 1)
        donors = self._donors[entry].astype(np.int64)
        # Distinct keys sort the same way on every machine.
        keys = (donors * PARTS + part.astype(np.int64)) * len(rows) + np.arange(len(rows))
        line = np.argsort(keys)
        return rows[line], donors[line]


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """People who have all their rows in one cell."""

    sizes: Ints
    """The number of rows of people of each sort."""
    shares: NDArray[np.float64]
    """The share of people of each sort."""

    def about(self, rows: Ints) -> int:
        """Return about how many people share ``rows`` rows of each cell: at least one per cell."""
        each = float(self.sizes @ self.shares)
        return max(int(np.count_nonzero(rows)), round(int(rows.sum()) / each))

    def given(self, rows: Ints, rng: np.random.Generator) -> People:
        """Assign the rows of each cell, which are adjacent, to people; ``rows`` counts them."""
        total = int(rows.sum())
        cuts = np.cumsum(rng.choice(self.sizes, size=total, p=self.shares))
        new = np.zeros(total + 1, dtype=np.int64)
        new[np.minimum(cuts, total)] = 1
        new[np.cumsum(rows)] = 1
        new[0] = 0
        return np.cumsum(new[:total])


class Numbering:
    """Numbers parts of things from 0 in order of appearance; a known part keeps its number."""

    def __init__(self) -> None:
        """Start with no parts."""
        self._keys: People = np.zeros(0, dtype=np.int64)
        self._numbers: People = np.zeros(0, dtype=np.int64)

    def of(self, things: Ints, parts: Ints) -> People:
        """Return the numbers of parts, numbering new ones in order of thing and part."""
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
    """Caps the rows of a person: excess rows go to new people, up to the cap each.

    >>> np.bincount(Caps(3).of(np.zeros(7, dtype=np.int64))).tolist()
    [3, 3, 1]
    """

    def __init__(self, most: int) -> None:
        """Start with no people."""
        self._most, self._numbers = most, Numbering()
        self._rows = np.zeros(0, dtype=np.int64)

    def of(self, people: People) -> People:
        """Return capped people for the rows, counting the rows of earlier batches too."""
        held = np.bincount(people, minlength=len(self._rows))
        held[: len(self._rows)] += self._rows
        before = np.append(self._rows, np.zeros(len(held) - len(self._rows), dtype=np.int64))
        place = before[people] + places(people, np.arange(len(people)))
        self._rows = held
        return self._numbers.of(people, place // self._most)


def places(groups: Ints, order: Ints) -> Ints:
    """Return every element's position within its group, by an order of all elements.

    >>> places(np.array([5, 3, 5, 5, 3]), np.arange(5)).tolist()
    [0, 0, 1, 2, 1]
    """
    # Distinct keys sort the same way on every machine, and faster than with a stable sort.
    ordered = np.argsort(groups.astype(np.int64) * len(groups) + order)
    inside = groups[ordered]
    first = np.flatnonzero(np.concatenate(([True], inside[1:] != inside[:-1]))[: len(groups)])
    sizes = np.diff(np.append(first, len(groups)))
    found = np.empty(len(groups), dtype=np.int64)
    found[ordered] = np.arange(len(groups)) - np.repeat(first, sizes)
    return found


def _length(codes: Mapping[str, Codes]) -> int:
    return len(next(iter(codes.values())))
