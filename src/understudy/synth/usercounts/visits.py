"""Visits: how often each public person was in each cell, and the error of counting them.

A query counts at most k cells of a person, and times in groups: t stands for t and more, up to
the next.  A smaller k and fewer groups mean less noise, and more that is left out or lumped
together.  Public people show what each choice costs, at no privacy cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

Groups = tuple[int, ...]
"""The first number of times of each group; the last group is open."""

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique
    from understudy.public import PublicTable

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Noise = Callable[[int], float]
    """The noise of a count, as a function of the maximum number of cells per person."""


GROUPS: tuple[Groups, ...] = ((1,), (1, 2), (1, 2, 3), (1, 2, 3, 5), (1, 2, 3, 4, 6))
"""The groups of times that are tried."""
TRIED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""The maximum numbers of cells per person that are tried."""
SPREAD = 0.3
"""The expected variance of counts of people, as a share of their square."""


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """The cells that people were in, one entry per person and cell."""

    cells: Ints
    """The cells that anyone was in, in increasing order."""
    place: Ints
    """The index of each entry's cell among these."""
    times: Ints
    turn: Ints
    """The random rank of the cell among its person's cells, from 0."""

    @classmethod
    def of(cls, public: PublicTable, columns: Clique) -> Visits:
        """Count the visits of all people of a public table."""
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
        """Return the cells per person and the groups with the least error, for each noise.

        The error comes first; ``most`` and ``groups`` are kept if given.
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
        """Count people as a query does, with at most ``most`` cells of each."""
        group = np.searchsorted(groups, self.times, side="right") - 1
        kept = (self.turn < most) & (group >= 0)
        places = self.place[kept] * len(groups) + group[kept]
        people = np.bincount(places, minlength=len(self.cells) * len(groups))
        people = people.reshape(-1, len(groups))
        sums = np.bincount(group[kept], weights=self.times[kept], minlength=len(groups))
        there = people.sum(axis=0)
        means = np.where(there > 0, sums / np.maximum(there, 1), groups)
        # The counted rows are scaled up for those left out.
        short = float(self.times.sum()) / max(float(there @ means), 1.0)
        return Counted(people, means * short)

    def error(self, counted: Counted, noise: float, shared: Ints) -> float:
        """Estimate the mean error of shares, among cells with the same number in ``shared``.

        It consists of the noise that remains given the expectation, and of what is lumped together
        or left out.
        """
        people, rows, each = counted.people, self.rows, counted.rows_each
        differ = people + SPREAD * people.astype(np.float64) ** 2
        left = differ * noise**2 / (differ + noise**2)
        error = np.sqrt(left @ each**2 + (rows - people @ each) ** 2)
        return float((np.bincount(shared, error) / np.bincount(shared, rows)).mean())


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Public people, counted as a query would."""

    people: Ints
    """The number of people by cell that anyone was in, and by group of times."""
    rows_each: Floats
    """The number of rows that a counted person stands for, by group of times."""
