"""Visits: how often each public person was in each cell, and what counting them would tell.

A question counts at most k cells of a person, and times in groups: t stands for t and more, up
to the next.  A smaller k and fewer groups mean less noise, and more that is left out or lumped
together.  Public people show what each of them costs, free of charge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

Groups = tuple[int, ...]
"""Times in a cell, each up to the next; the last without an end."""

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique
    from understudy.public import PublicTable

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Noise = Callable[[int], float]
    """The noise of a count, from the most cells a person."""


GROUPS: tuple[Groups, ...] = ((1,), (1, 2), (1, 2, 3), (1, 2, 3, 5), (1, 2, 3, 4, 6))
"""The groups of times that are tried."""
TRIED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""The most cells a person that are tried."""
SPREAD = 0.3
"""How much counts of people are expected to differ, as a share of their square."""


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """The cells that people were in, one entry a person and cell."""

    cells: Ints
    """The cells that anyone was in, rising."""
    place: Ints
    """Where among these each entry's cell is."""
    times: Ints
    turn: Ints
    """The place of the cell among its person's, by chance, from 0."""

    @classmethod
    def of(cls, public: PublicTable, columns: Clique) -> Visits:
        """Look at all people of a public table."""
        people = public.known_people("how often people are in a cell")
        cells, place = np.unique(public.cells(columns), return_inverse=True)
        pairs, times = np.unique(people * len(cells) + place, return_counts=True)
        # The choice is public and the same every time, so that a run can be resumed.
        chance = np.random.default_rng(0).random(len(pairs))
        order = np.lexsort((chance, pairs // len(cells)))
        person = (pairs // len(cells))[order]
        first = np.flatnonzero(np.append(True, person[1:] != person[:-1]))
        turn = np.arange(len(person)) - np.repeat(first, np.diff(np.append(first, len(person))))
        return cls(cells, (pairs % len(cells))[order], times[order], turn)

    @property
    def rows(self) -> Floats:
        """Count the rows of every cell."""
        rows = np.bincount(self.place, weights=self.times, minlength=len(self.cells))
        return rows.astype(np.float64)

    def best(
        self, noises: Sequence[Noise], *, last: int, most: int | None = None, groups: Groups = ()
    ) -> list[tuple[float, int, Groups]]:
        """Find how many cells a person and which groups have the least error, noise by noise.

        Given is that error too; what is settled already is kept.
        """
        ladder = [k for k in TRIED if k <= 1 + int(self.turn.max())]
        tried = [
            (self.counted(most=k, groups=g), k, g)
            for k in ([most] if most else ladder)
            for g in ([groups] if groups else GROUPS)
        ]
        shared = np.unique(self.cells // last, return_inverse=True)[1]
        return [
            min((self.error(counted, noise(k), shared), k, g) for counted, k, g in tried)
            for noise in noises
        ]

    def counted(self, *, most: int, groups: Groups) -> Counted:
        """Count people as a question does, with at most so many cells of each."""
        group = np.searchsorted(groups, self.times, side="right") - 1
        kept = (self.turn < most) & (group >= 0)
        places = self.place[kept] * len(groups) + group[kept]
        people = np.bincount(places, minlength=len(self.cells) * len(groups))
        people = people.reshape(-1, len(groups))
        sums = np.bincount(group[kept], weights=self.times[kept], minlength=len(groups))
        there = people.sum(axis=0)
        means = np.where(there > 0, sums / np.maximum(there, 1), groups)
        # What is left out is made up for by what is counted.
        short = float(self.times.sum()) / max(float(there @ means), 1.0)
        return Counted(people, means * short)

    def error(self, counted: Counted, noise: float, shared: Ints) -> float:
        """Estimate the mean error of shares, of cells that have a number together.

        It is made of the noise that is left when what is expected is known, and of what is
        lumped together or left out.
        """
        people, rows, each = counted.people, self.rows, counted.rows_each
        differ = people + SPREAD * people.astype(np.float64) ** 2
        left = differ * noise**2 / (differ + noise**2)
        error = np.sqrt(left @ each**2 + (rows - people @ each) ** 2)
        return float((np.bincount(shared, error) / np.bincount(shared, rows)).mean())


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Public people, counted as a question would."""

    people: Ints
    """By cell that anyone was in, and by group of times."""
    rows_each: Floats
    """How many rows a counted person stands for, a group of times each."""
