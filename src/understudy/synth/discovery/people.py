"""What is a person's own, and what orders their rows, by noisy numbers of people.

`kinds` tells, for each column, how many people have values in several rows, and how many of these
have one value only.  All here is post-processing; the rules are those that
`understudy.schema.importers.people` has for public people, with room for noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.importers.people import FEWEST, OFTEN, time_rank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema import Declaration

SURE, SEEN = 10.0, 5.0
"""People with several rows must be as many times more than the noise for anything to be said of
them, and for asking again."""
MOST_VARIED = 0.15
"""The largest share of people with several values in a column that is their own."""
BY_CHANCE = 0.25
"""The same, as a share of those that there would be by chance."""
MOST_BY_CHANCE = 0.9
"""Two people have the same value with no larger probability in a column that is their own."""
MOST_ALIKE = 0.5
"""The largest share of people with one value in a column that orders their rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Noisy numbers of people: with a value, with values in several rows, with one value there."""

    people: float
    again: float
    alike: float
    scale: float
    """The standard deviation of the noise of each."""

    @property
    def known(self) -> bool:
        """Whether enough people have several rows for anything to be said."""
        return self.again >= max(FEWEST, SURE * self.scale, OFTEN * self.people)

    @property
    def open(self) -> bool:
        """Whether enough people seem to have several rows, but too few to say more of them."""
        return not self.known and self.again >= max(FEWEST, SEEN * self.scale, OFTEN * self.people)

    @property
    def varied(self) -> float:
        """The share of people with several rows who have several values."""
        return min(1.0, max(0.0, 1 - self.alike / self.again))

    def is_own(self, weights: NDArray[np.float64]) -> bool:
        """Whether a column is a person's own, given noisy weights of its values or cells.

        A column of which nearly everybody has the same value is constant by chance.

        >>> seen = Repeats(people=900.0, again=800.0, alike=790.0, scale=5.0)
        >>> seen.is_own(np.array([300.0, 600.0])), seen.is_own(np.array([1.0, 899.0]))
        (True, False)
        """
        there = np.maximum(weights, 0.0)
        chance = float(np.square(there / max(there.sum(), self.people)).sum())
        most = min(MOST_VARIED, BY_CHANCE * (1 - chance))
        # Both numbers of the share are noisy; half of what chance would be is too much in any case.
        noise = math.sqrt(2) * self.scale / max(1.0, self.again)
        most = min(most + noise, (1 - chance) / 2)
        return self.known and chance < MOST_BY_CHANCE and self.varied < most

    @property
    def told(self) -> str:
        """Say what was counted."""
        return (
            f"of about {self.again:,.0f} people with several rows {1 - self.varied:.0%} have one "
            "value in all of them"
        )


def order_of(columns: Sequence[Declaration], seen: Mapping[str, Repeats]) -> tuple[str, ...]:
    """Return the columns that order a person's rows: a date-time, or numbers named after a time."""
    differ = [
        column
        for column in columns
        if column.name in seen
        and getattr(column, "of", None) == "row"
        and seen[column.name].known
        and seen[column.name].varied >= 1 - MOST_ALIKE
    ]
    for column in differ:
        if column.kind == "timestamp":
            return (column.name,)
    ranked = [(time_rank(column), column.name) for column in differ]
    return tuple(name for rank, name in sorted((r, n) for r, n in ranked if r is not None))


def why_order(names: Sequence[str], seen: Mapping[str, Repeats]) -> str:
    """Say why rows are ordered by columns; nothing if there are none."""
    if not names:
        return ""
    told = " and ".join(f"{name} for {seen[name].varied:.0%}" for name in names)
    return f"Rows of a person are put in order: of people with several rows, they differ in {told}"
