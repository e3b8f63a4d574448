"""A coded table: what every metric reads, real or synthetic."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import QuestionError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

Codes = NDArray[np.integer[Any]]
Counts = NDArray[np.int64]

LARGEST_KEY = 2**62
"""Cells are numbered by 64-bit integers, with a bit to spare."""
DENSE_CELLS = 2**25
"""More cells than this are counted by sorting rows, not in a dense array."""
BLOCK = 2**18
"""How many rows are packed at a time: few enough to stay in a processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Coded:
    """A table in codes: an integer from 0 for each row and column.

    It has no repr of its rows, so that none of them shows in a traceback.

    >>> table = Coded(codes={"a": np.array([0, 1, 1, 1])}, sizes={"a": 3}, people=None)
    >>> table.rows, table.histogram(["a"]).tolist()
    (4, [0.25, 0.75, 0.0])
    """

    codes: Mapping[str, Codes]
    sizes: Mapping[str, int]
    """The number of codes of each column."""
    people: NDArray[np.int64] | None
    """The person number of each row; None where each row is a person."""
    own: tuple[str, ...] = ()
    """The columns whose values are a person's, not a row's."""
    ordering: tuple[str, ...] = ()
    """The columns by whose codes a person's rows are ordered, the first one first."""
    broken: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """Which rows break each of the schema's constraints."""
    times: Mapping[str, Codes] = field(default_factory=dict)
    """The codes of columns that only order rows: the dates of a date-time."""
    numbers: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """The numbers themselves of columns that have any, NaN where a row has none."""

    def __post_init__(self) -> None:
        """Raise if columns do not match, or codes are outside their column's domain."""
        if not self.codes or set(self.codes) != set(self.sizes):
            raise QuestionError(
                "a coded table needs columns, and a size for each",
                got=f"codes of {', '.join(self.codes)}; sizes of {', '.join(self.sizes)}",
            )
        for name, codes in self.codes.items():
            self._check_whole_numbers(f"column {name}", codes)
            # The codes themselves are private: the message says only what is allowed.
            if self.rows and not 0 <= codes.min() <= codes.max() < self.sizes[name]:
                raise QuestionError(
                    f"column {name} has codes outside its domain",
                    allowed=f"0 to {self.sizes[name] - 1}",
                )
        for name, codes in self.times.items():
            self._check_whole_numbers(f"column {name}", codes)
        if self.people is not None:
            self._check_whole_numbers("people", self.people)
        self._check_known((*self.own, *self.ordering))

    def _check_whole_numbers(self, what: str, values: Codes) -> None:
        if values.dtype.kind not in "iu" or values.ndim != 1:
            raise QuestionError(
                f"{what} of a coded table must be a one-dimensional integer array",
                got=f"{values.dtype} in {values.ndim} dimensions",
            )
        if len(values) != self.rows:
            raise QuestionError(
                f"{what} of a coded table differs from others in its number of rows"
            )

    def _check_known(self, names: Sequence[str]) -> None:
        unknown = [name for name in names if name not in {**self.sizes, **self.times}]
        if unknown:
            raise QuestionError(
                "the table does not have these columns",
                got=", ".join(unknown),
                allowed=", ".join(self.sizes),
            )

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.codes.values())))

    @property
    def headcount(self) -> int:
        """Return the number of people."""
        return self.rows if self.people is None else len(np.unique(self.people))

    def cells(self, names: Sequence[str]) -> int:
        """Return the number of cells of a clique; raise if the table lacks a column."""
        self._check_known(names)
        cells = math.prod(self.sizes[name] for name in names)
        if cells > LARGEST_KEY:
            raise QuestionError(
                f"too many cells to number: {', '.join(names)}", got=cells, allowed=f"{LARGEST_KEY}"
            )
        return cells

    def keys(self, names: Sequence[str], rows: slice = slice(None)) -> Counts:
        """Return the number of each row's cell in a clique, the last column running fastest."""
        keys = self.codes[names[0]][rows].astype(np.int64)
        for name in names[1:]:
            keys *= self.sizes[name]
            # A sum of int64 and uint64 would be a float; codes below their size fit int64.
            np.add(keys, self.codes[name][rows], out=keys, casting="unsafe")
        return keys

    def counts(self, names: Sequence[str]) -> Counts:
        """Count the rows in each cell of a clique."""
        cells = self.cells(names)
        if cells > DENSE_CELLS:
            raise QuestionError(
                f"too many cells for a histogram: {', '.join(names)}",
                got=cells,
                allowed=f"{DENSE_CELLS}",
            )
        counts = np.zeros(cells, np.int64)
        # Each block's counts are added to all cells, so blocks grow with the number of cells.
        block = max(BLOCK, 4 * cells)
        for begin in range(0, self.rows, block):
            rows = slice(begin, begin + block)
            counts += np.bincount(self.keys(names, rows), minlength=cells)
        return counts

    def histogram(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return each cell's share of the rows, flat, the last column running fastest."""
        return self.counts(names) / max(self.rows, 1)

    def among(self, names: Collection[str]) -> Coded:
        """Return these of the columns only."""
        return replace(
            self,
            codes={name: codes for name, codes in self.codes.items() if name in names},
            sizes={name: size for name, size in self.sizes.items() if name in names},
            own=tuple(name for name in self.own if name in names),
        )

    def take(self, index: NDArray[np.int64]) -> Coded:
        """Return the rows at these positions, in this order, with their people."""
        return replace(
            self,
            codes={name: codes[index] for name, codes in self.codes.items()},
            people=None if self.people is None else self.people[index],
            broken={name: rows[index] for name, rows in self.broken.items()},
            times={name: codes[index] for name, codes in self.times.items()},
            numbers={name: values[index] for name, values in self.numbers.items()},
        )


def check_alike(real: Coded, synthetic: Coded) -> None:
    """Raise if columns or sizes differ: cells would not correspond."""
    if dict(real.sizes) != dict(synthetic.sizes):
        differ = {name for name, _ in real.sizes.items() ^ synthetic.sizes.items()}
        raise QuestionError(
            "the two tables must have the same columns and sizes",
            got=f"a difference in {', '.join(sorted(differ))}",
        )
