"""Values that no two rows of a person share, as the years of a panel.

Rows are exchanged between people until nobody has a value twice: every column's counts, and every
pair's, stay as they were drawn, and so does everyone's number of rows.  What cannot be exchanged
gets a value that the person has not, and a row for which there is none is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.public import Batches
from understudy.schema.constraints import UniquePerPerson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.schema import Codes, Schema

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

MOST_ROUNDS = 100


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
    return rows.left(columns)


class _Rows:
    """Rows in memory, whose people may be exchanged."""

    def __init__(
        self, batches: Batches, lines: Batches | None, schema: Schema, rng: np.random.Generator
    ) -> None:
        """Hold rows that obey all other constraints."""
        batch = batches.whole()
        assert batch.people is not None  # noqa: S101  they are of people
        self._keeper, self._rng = schema.keeper, rng
        self._people = batch.people.copy()
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
                held = self._codes[name]
                size = int(held.max(initial=0)) + 1
                taken = np.sort(people * size + held)
                wanted = people[other] * size + held[one]
                place = np.minimum(np.searchsorted(taken, wanted), len(taken) - 1)
                good &= taken[place] != wanted
        rows, others = rows[good], others[good]
        people[rows], people[others] = people[others], people[rows]
        return True

    def change(self, name: str) -> None:
        """Give rows that are still repeated a value that their person has not."""
        held = self._codes[name]
        usual = np.bincount(held) + 1e-9
        for row in np.flatnonzero(self._repeated([name])).tolist():
            free = np.ones(len(usual), dtype=bool)
            free[held[self._people == self._people[row]]] = False
            goals = np.flatnonzero(free)
            codes = {n: np.repeat(c[row], len(goals)) for n, c in self._codes.items()}
            codes[name] = goals.astype(np.int32)
            owned = self._owned(np.repeat(self._people[row], len(goals)))
            goals = goals[self._keeper.obeyed(codes | owned)]
            if len(goals):
                held[row] = self._rng.choice(goals, p=usual[goals] / usual[goals].sum())

    def left(self, columns: list[str]) -> Batches:
        """Return the rows, without those that are still repeated."""
        kept = ~self._repeated(columns)
        return Batches.held({n: c[kept] for n, c in self._codes.items()}, self._people[kept])
