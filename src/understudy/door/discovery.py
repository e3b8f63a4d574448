"""Discovery: what a column of text holds, as far as many people have it there.

Values are told by partition selection.  A person brings the distinct values that they have in a
column, and the squares of the weights of these sum to at most 1.  Values whose weight, with
Gaussian noise, reaches a threshold are told; nothing is told of the others
(`docs/proofs/discover.md`).  How numbers and moments are spread over declared cells, and how many
people have values of which kind, is told with noise for every cell and kind, and has no failure
probability.

Of values that are too rare to be told, prefixes may be: they are asked for in further searches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

from understudy.budget import MOST_VALUES
from understudy.door.checks import LARGEST, check_clique, keep, number, positive_scale, whole
from understudy.errors import BudgetError, QuestionError
from understudy.schema.columns.prefixes import checked as checked_prefixes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_LENGTH = 200
"""Longer texts are not brought: they are nobody's code."""
MOST_EDGES = 1000
Reading = Literal["number", "moment", "of_day", "of_hour", "of_minute"]
CYCLES = {"of_day": 86400, "of_hour": 3600, "of_minute": 60}
"""Readings of a date-time within its day, hour or minute, and how many seconds these have."""
KINDS_OF_VALUE = ("any", "boolean", "whole", "number", "moment", "code", "again", "alike")
"""The kinds of values that `Kinds` counts people by: any value at all, spelled booleans, whole
numbers, numbers (neither with a leading zero, as codes have), date-times, and texts that are short
enough to be codes; then people who have values in several rows, and those of them whose values are
all the same."""
MOST_OF_CODE = 40
"""Texts of more characters are no codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The values of one column that many people have."""

    column: str
    """A column that the schema declares as text."""
    most: int
    """At most so many values of a person count, chosen by the keyed hash."""
    scale: float
    """The standard deviation of the noise, in people."""
    threshold: float
    """The least noisy weight that is told, in people who have one value each."""
    known: tuple[str, ...] = ()
    """Values that are not asked for, so that people's weight goes to others."""
    prefixes: tuple[int, ...] = ()
    """Lengths of prefixes, the longest first.  With them the prefixes of the last length are asked
    for, of values of which neither they nor any of their prefixes is known."""

    def __post_init__(self) -> None:
        """Raise on an invalid number, or values that are no texts."""
        check_clique((self.column,))
        keep(self, "scale", positive_scale(self.scale))
        keep(self, "most", whole("the number of values of a person", self.most))
        if self.most > MOST_VALUES:
            raise BudgetError(
                "too many values of a person", got=self.most, allowed=f"at most {MOST_VALUES}"
            )
        if not 0 < number(self.threshold) < LARGEST:
            raise BudgetError(
                "a threshold must be positive", got=self.threshold, allowed="0 to 2^36"
            )
        keep(self, "threshold", number(self.threshold))
        known = tuple(self.known)
        if any(type(value) is not str for value in known) or len(set(known)) < len(known):
            raise QuestionError("known values must be distinct texts", got=f"{len(known)} values")
        keep(self, "known", known)
        keep(self, "prefixes", checked_prefixes(self.column, self.prefixes))

    @property
    def asked(self) -> str:
        """What is asked for, in words.

        >>> Search(column="code", most=1, scale=1.0, threshold=2.5, prefixes=(3,)).asked
        'code (prefixes of length 3)'
        """
        lengths = f" (prefixes of length {self.prefixes[-1]})" if self.prefixes else ""
        return f"{self.column}{lengths}"

    def least(self, steps: int) -> int:
        """Return the threshold in whole steps of the noise's lattice, rounded up.

        >>> Search(column="a", most=1, scale=1.0, threshold=2.5).least(2**16)
        163840
        """
        up, down = self.threshold.as_integer_ratio()
        return -(-up * steps // down)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Discover:
    """The values of several columns that many people have, each column by itself."""

    searches: tuple[Search, ...]

    def __post_init__(self) -> None:
        """Raise unless there is a search, and each column is in one only."""
        keep(self, "searches", tuple(self.searches))
        columns = [getattr(search, "column", None) for search in self.searches]
        if not columns or len(set(columns)) < len(columns):
            raise QuestionError(
                "a discovery names at least one column, and none twice",
                got=f"{len(columns)} columns",
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """The values of a column that were told, in the order of their texts, with noisy weights."""

    column: str
    values: tuple[str, ...]
    weights: NDArray[np.float64]
    """Noisy weights, in people who have one value each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """How people's values of a column of text are spread over cells between declared edges.

    A person brings the distinct cells of their values, at most ``most`` by the keyed hash, with
    weights whose squares sum to at most 1.  Values that cannot be read so are in no cell.
    """

    column: str
    reading: Reading
    """A number, or a date-time as seconds since 1970, or since its day, hour or minute began."""
    edges: tuple[float, ...]
    """Cell 0 is below the first edge, and the last cell from the last edge on."""
    most: int
    scale: float

    def __post_init__(self) -> None:
        """Raise on an unknown reading, edges that are not in order, or invalid numbers."""
        check_clique((self.column,))
        keep(self, "scale", positive_scale(self.scale))
        keep(self, "most", whole("the number of cells of a person", self.most))
        keep(self, "edges", tuple(map(number, self.edges)))
        in_order = all(low < high for low, high in pairwise(self.edges))
        ends = all(map(math.isfinite, self.edges))
        check_clique((self.reading,))
        if (
            self.reading not in get_args(Reading)
            or not in_order
            or not ends
            or not 0 < len(self.edges) <= MOST_EDGES
        ):
            raise QuestionError(
                "a spread needs a reading, and edges in increasing order",
                got=f"{self.reading!r}, {len(self.edges)} edges",
                allowed=f"{' or '.join(get_args(Reading))}, 1 to {MOST_EDGES} edges",
            )
        if self.most > MOST_VALUES:
            raise BudgetError(
                "too many cells of a person", got=self.most, allowed=f"at most {MOST_VALUES}"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kinds:
    """How many people have values in a column of text, all of which are of a kind.

    Each person adds at most 1 to each of the numbers, `KINDS_OF_VALUE` of them a column.
    """

    columns: tuple[str, ...]
    scale: float

    def __post_init__(self) -> None:
        """Raise on an invalid noise scale, and unless columns are named, none twice."""
        keep(self, "columns", tuple(self.columns))
        check_clique(self.columns)
        keep(self, "scale", positive_scale(self.scale))
        if not self.columns:
            raise QuestionError("kinds are asked of at least one column", got="none")
