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
    from collections.abc import Iterator, Sequence

    from understudy.graph import Urn
    from understudy.public import Draw, PublicTable

Numbers = NDArray[np.signedinteger[Any]]
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


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The cells that public rows have in the first few of some columns."""

    keys: Numbers
    """Each cell: the number of its cell in one column fewer, and the code in the last one."""
    donors: Numbers
    """The person of every public row, cell by cell, in an order of people that all cells share."""
    starts: Numbers
    """Cell c has donors[starts[c]:starts[c + 1]]."""


class Donors:
    """Public people, to give rows to, by what their own rows have in some columns.

    Public rows of a cell are handed out in an order of people that is the same everywhere; a
    cell's row that is handed out again is a double's of that person.  So a table of half the
    size has half of the people, one of double the size everyone twice, each with the rows they
    have.  A cell that public data do not have is looked for by fewer columns.
    """

    def __init__(self, public: PublicTable, by: Sequence[str], rng: np.random.Generator) -> None:
        """Order the public rows of every cell."""
        people = public.known_people("whose rows are whose")
        self._count = int(people[-1]) + 1
        self._each = len(public) / self._count
        # By so many columns and by each fewer, a person gets their own rows once at most.
        self._most = (1 + len(by)) * int(public.sizes().max())
        self._sizes = {name: public.schema.domain[name] for name in by}
        rank = rng.permutation(self._count)[people]
        cells, keys = np.zeros(len(public), dtype=np.int64), np.zeros(1, dtype=np.int64)
        self._levels = [_level(keys, cells, people, rank)]
        for name, size in self._sizes.items():
            keys, cells = np.unique(cells * size + public.codes[name], return_inverse=True)
            self._levels.append(_level(keys, cells, people, rank))

    def given(self, rows: int, *, most: int | None = None) -> Given:
        """Give so many rows, at most so many of them to one person."""
        people = max(rows / self._each, 0 if most is None else rows / most)
        return Given(round(people), lambda: self._begin(most))

    def _begin(self, most: int | None) -> Give:
        handed = [np.zeros(len(level.keys), dtype=np.int64) for level in self._levels]
        numbers = Numbering()
        caps = None if most is None or most >= self._most else Caps(most)

        def give(codes: Mapping[str, Codes], rng: np.random.Generator) -> People:
            donor, double = np.zeros((2, _length(codes)), dtype=np.int64)
            for depth, rows, cells in self._found(codes):
                level = self._levels[depth]
                turns = handed[depth][cells] + places(cells, rng.permutation(len(cells)))
                handed[depth] += np.bincount(cells, minlength=len(level.keys))
                double[rows], turns = np.divmod(turns, np.diff(level.starts)[cells])
                donor[rows] = level.donors[level.starts[cells] + turns]
            people = numbers.of(donor, double)
            return people if caps is None else caps.of(people)

        return give

    def _found(self, codes: Mapping[str, Codes]) -> Iterator[tuple[int, Numbers, Numbers]]:
        """Give rows with their public cells, each by as many columns as there is one for."""
        rows = np.arange(_length(codes))
        cells = np.zeros(len(rows), dtype=np.int64)
        for depth, (name, size) in enumerate(self._sizes.items()):
            keys, wanted = self._levels[depth + 1].keys, cells * size + codes[name][rows]
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            there = keys[place] == wanted
            yield depth, rows[~there], cells[~there]
            rows, cells = rows[there], place[there]
        yield len(self._sizes), rows, cells


def _level(keys: Numbers, cells: Numbers, people: Numbers, rank: Numbers) -> _Level:
    starts = np.concatenate(([0], np.cumsum(np.bincount(cells, minlength=len(keys)))))
    return _Level(keys, people[np.lexsort((rank, cells))], starts)


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """People who keep to one cell each."""

    sizes: Numbers
    """How many rows people of each sort have."""
    shares: NDArray[np.float64]
    """How many of all people are of each sort."""

    def about(self, rows: Numbers) -> int:
        """Say about how many people share so many rows of each cell: one a cell at least."""
        each = float(self.sizes @ self.shares)
        return max(int(np.count_nonzero(rows)), round(int(rows.sum()) / each))

    def given(self, rows: Numbers, rng: np.random.Generator) -> People:
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

    def of(self, things: Numbers, parts: Numbers) -> People:
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


def places(groups: Numbers, order: Numbers) -> Numbers:
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
