"""Values that no two rows of a person share, as the years of a panel.

Rows are exchanged between people until nobody has a value twice: every column's counts, and every
pair's, stay as they were drawn, and so does everyone's number of rows.  What cannot be exchanged
gets a value that the person has not, a near one where values have an order.  A row for which there
is none becomes another person's, with the value nearest to its own that somebody has not; a row
that nobody can have is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from understudy.public import Batches
from understudy.release.rows import in_order
from understudy.schema.constraints import UniquePerPerson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.schema import Codes, Schema

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Side = Literal["left", "right"]
    Mask = NDArray[np.bool_]

MOST_ROUNDS = 100
SIDES: tuple[Side, ...] = ("left", "right")
ALIKE = 10
"""The rounds in which rows move as they are.  For as many each, values then change twice as far."""
FARTHER = 0.5
"""How likely a value is that is one place farther from the drawn one, beside that which is near."""


def with_unique(
    batches: Batches, lines: Batches | None, schema: Schema, rng: np.random.Generator
) -> Batches:
    """Return rows of which no two of a person share a value that is unique per person.

    ``lines`` are the people, where some columns are their own.
    """
    columns = [c.column for c in schema.constraints if isinstance(c, UniquePerPerson)]
    if not columns or batches.people is None:
        return batches
    rows = _Rows(batches, lines, schema, rng)
    for _ in range(MOST_ROUNDS):
        if not rows.exchange(columns):
            break
    for name in columns:
        rows.change(name)
    for number in range(MOST_ROUNDS):
        if not rows.move(columns, 2 ** (number // ALIKE) // 2):
            break
    return rows.left(columns)


def unique_notes(drawn: int, left: int) -> list[str]:
    """Say how many rows were left out, of those that were drawn.

    >>> [note[:36] for note in unique_notes(2000, 1990)], unique_notes(2000, 2000)
    (['Left out: 10 of 2,000 synthetic rows'], [])
    """
    if left == drawn:
        return []
    return [
        f"Left out: {drawn - left:,} of {drawn:,} synthetic rows, for which no person had a value "
        "left that may not repeat."
    ]


class _Rows:
    """Rows in memory, whose people may be exchanged."""

    def __init__(
        self, batches: Batches, lines: Batches | None, schema: Schema, rng: np.random.Generator
    ) -> None:
        """Hold rows that obey all other constraints."""
        batch = batches.whole()
        assert batch.people is not None  # noqa: S101  they are of people
        self._schema, self._keeper, self._rng = schema, schema.keeper, rng
        self._people = batch.people.copy()
        self._sorted = bool(np.all(batch.people[1:] >= batch.people[:-1]))
        self._own: dict[str, Codes] = {}
        if lines is not None:
            known = lines.whole()
            assert known.people is not None  # noqa: S101  they are people
            self._numbers, self._own = known.people, known.codes
        kept = self._keeper.kept(batch.codes | self._owned(self._people), rng, fixed=self._own)
        self._codes = {name: kept[name].copy() for name in batch.codes}

    def _owned(self, people: Ints) -> dict[str, Codes]:
        """Return what is people's own."""
        if not self._own:
            return {}
        whose = np.searchsorted(self._numbers, people)
        return {name: codes[whose] for name, codes in self._own.items()}

    def _repeated(self, columns: list[str]) -> Mask:
        """Return the rows whose person has a value of theirs in an earlier row."""
        found = np.zeros(len(self._people), dtype=bool)
        for name in columns:
            values = self._codes[name]
            order = np.lexsort((values, self._people))
            same = (np.diff(self._people[order]) == 0) & (np.diff(values[order]) == 0)
            found[order[1:][same]] = True
        return found

    def exchange(self, columns: list[str]) -> bool:
        """Exchange the people of repeated rows with others'; return whether any are left."""
        repeated = self._repeated(columns)
        rows, people = np.flatnonzero(repeated), self._people
        if not len(rows) or len(rows) == len(people):
            return False
        others = np.unique(self._rng.integers(len(people), size=2 * len(rows)))
        others = self._rng.permutation(others[~repeated[others]])[: len(rows)]
        rows = self._rng.permutation(rows)[: len(others)]
        good = people[rows] != people[others]
        for one, other in ((rows, others), (others, rows)):
            codes = {name: held[one] for name, held in self._codes.items()}
            good &= self._keeper.obeyed(codes | self._owned(people[other]))
            for name in columns:
                good &= self._free(name, codes[name], people[other])
        rows, others = rows[good], others[good]
        people[rows], people[others] = people[others], people[rows]
        return True

    def _free(self, name: str, codes: Codes, people: Ints) -> Mask:
        """Return whether people have no row with a code."""
        size = self._schema[name].size
        taken = np.sort(self._people * size + self._codes[name])
        wanted = people * size + codes
        place = np.minimum(np.searchsorted(taken, wanted), len(taken) - 1)
        found: Mask = taken[place] != wanted
        return found

    def change(self, name: str) -> None:
        """Give rows that are still repeated a value that their person has not."""
        held = self._codes[name]
        usual = np.bincount(held) + 1e-9
        order = np.argsort(self._people, kind="stable")
        rows = np.flatnonzero(self._repeated([name]))
        whose = self._people[rows]
        firsts, lasts = (np.searchsorted(self._people[order], whose, side=s) for s in SIDES)
        for row, first, last in zip(rows.tolist(), firsts.tolist(), lasts.tolist(), strict=True):
            free = np.ones(len(usual), dtype=bool)
            free[held[order[first:last]]] = False
            goals = np.flatnonzero(free)
            codes = {n: np.repeat(c[row], len(goals)) for n, c in self._codes.items()}
            codes[name] = goals.astype(np.int32)
            owned = self._owned(np.repeat(self._people[row], len(goals)))
            goals = goals[self._keeper.obeyed(codes | owned)]
            if len(goals):
                weights = usual[goals] * self._nearness(name, int(held[row]), goals)
                held[row] = self._rng.choice(goals, p=weights / weights.sum())

    def _nearness(self, name: str, code: int, goals: Ints) -> Floats:
        """Weigh codes by how far they are from another, where they have an order."""
        ordered = self._schema[name].ordered_count
        apart = np.where((goals < ordered) & (code < ordered), np.abs(goals - code), ordered)
        found: Floats = FARTHER ** (apart - apart.min())
        return found

    def move(self, columns: list[str], reach: int) -> bool:
        """Move repeated rows to people who have not their values; return whether any are left.

        Ordered values become any at most so far away.
        """
        rows = np.flatnonzero(self._repeated(columns))
        if not len(rows):
            return False
        # Who has many rows is the likelier to have one more.
        people = self._people[self._rng.integers(len(self._people), size=len(rows))]
        codes = {name: held[rows] for name, held in self._codes.items()}
        for name in columns:
            ordered = self._schema[name].ordered_count
            step = self._rng.integers(-reach, reach + 1, size=len(rows))
            near = np.clip(codes[name] + step, 0, max(0, ordered - 1)).astype(np.int32)
            codes[name] = np.where(codes[name] < ordered, near, codes[name])
        good = self._keeper.obeyed(codes | self._owned(people))
        for name in columns:
            good &= self._free(name, codes[name], people)
        # What two rows gave to one person alike is repeated, and moves again.
        self._people[rows[good]] = people[good]
        for name in columns:
            self._codes[name][rows[good]] = codes[name][good]
        return True

    def left(self, columns: list[str]) -> Batches:
        """Return the rows, without those that are still repeated."""
        kept = np.flatnonzero(~self._repeated(columns))
        if self._sorted:
            codes = {name: held[kept] for name, held in self._codes.items()}
            kept = kept[in_order(self._schema, codes, self._people[kept])]
        return Batches.held({n: c[kept] for n, c in self._codes.items()}, self._people[kept])
