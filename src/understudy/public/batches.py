"""Synthetic rows in codes, about a million at a time.

They are held in memory, or drawn anew on each iteration.  Batch i is drawn from a seed of its
own, derived from the run's, so that iterating again, or resuming the run, gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from understudy.schema import Codes

    People = NDArray[np.int64]
    Values = NDArray[np.float64]

AT_ONCE = 1_000_000
"""About how many rows a batch has."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some rows of a synthetic table in codes."""

    codes: dict[str, Codes]
    people: People | None = None
    """The number of each row's synthetic person, from 0; None where each row is one."""
    values: dict[str, Values] = field(default_factory=dict)
    """Values for the codes of columns with bins, where a mechanism drew them; NaN for none."""


Draw = Callable[[int, np.random.Generator], Batch]
"""Draws the next n rows; a person may have rows in several batches."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batches:
    """A synthetic table in codes, to be iterated over any number of times."""

    sizes: tuple[int, ...]
    """The number of rows of each batch."""
    people: int | None
    """The approximate number of people; None where each row is a person."""
    begin: Callable[[], Draw]
    """Starts again from the first row."""
    seed: int = 0

    @classmethod
    def drawn(
        cls, rows: int, begin: Callable[[], Draw], *, people: int | None, rng: np.random.Generator
    ) -> Batches:
        """Draw ``rows`` rows on each iteration, holding only one batch of them at a time."""
        seed = int(rng.integers(2**63))
        return cls(sizes=in_parts(rows), people=people, begin=begin, seed=seed)

    @classmethod
    def held(
        cls,
        codes: Mapping[str, Codes],
        people: People | None = None,
        *,
        values: Mapping[str, Values] | None = None,
    ) -> Batches:
        """Hold all rows in memory, each code in as few bytes as its column needs."""
        small = {n: c.astype(np.min_scalar_type(c.max(initial=0))) for n, c in codes.items()}
        count = None if people is None else int(people.max(initial=-1)) + 1

        def begin() -> Draw:
            last = 0

            def draw(rows: int, rng: np.random.Generator) -> Batch:
                nonlocal last
                del rng
                here, last = slice(last, last + rows), last + rows
                part = {n: c[here].astype(np.int32) for n, c in small.items()}
                drawn = {n: v[here] for n, v in (values or {}).items()}
                return Batch(part, None if people is None else people[here], drawn)

            return draw

        rows = len(next(iter(small.values())))
        return cls(sizes=_between_people(in_parts(rows), people), people=count, begin=begin)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.sizes)

    def whole(self) -> Batch:
        """Return all rows at once."""
        parts = list(self)
        if len(parts) == 1:
            return parts[0]
        codes = {n: np.concatenate([part.codes[n] for part in parts]) for n in parts[0].codes}
        values = {n: np.concatenate([part.values[n] for part in parts]) for n in parts[0].values}
        held = [part.people for part in parts if part.people is not None]
        return Batch(codes, np.concatenate(held) if held else None, values)

    def __iter__(self) -> Iterator[Batch]:
        """Iterate over the batches from the first."""
        draw = self.begin()
        for i, size in enumerate(self.sizes):
            yield draw(size, np.random.default_rng((self.seed, i)))


def _between_people(sizes: tuple[int, ...], people: People | None) -> tuple[int, ...]:
    """Move the ends of batches to the ends of people, where these come one after the other.

    >>> _between_people((2, 2), np.array([0, 1, 1, 1]))
    (1, 3)
    """
    if people is None or np.any(people[1:] < people[:-1]):
        return sizes
    ends = np.cumsum(sizes)[:-1]
    cuts = np.unique([0, *np.searchsorted(people, people[ends]), len(people)])
    return tuple(np.diff(cuts).tolist()) or sizes


def in_parts(rows: int) -> tuple[int, ...]:
    """Split rows evenly into batches; no rows are one empty batch, so that there are columns.

    >>> in_parts(2_000_001), in_parts(0)
    ((666667, 666667, 666667), (0,))
    """
    parts = max(1, -(-rows // AT_ONCE))
    ends = [i * rows // parts for i in range(parts + 1)]
    return tuple(b - a for a, b in pairwise(ends))
