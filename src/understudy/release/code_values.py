"""Code values: the number that each code of a column stands for, and where it lies.

A code of one number is that number.  Where in a bin its numbers lie was not measured: their mean is
taken from the synthetic rows, in which they come from public rows or are drawn evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import UsageError
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from understudy.release.contents import Contents
    from understudy.schema import Codes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

ENOUGH_ROWS = 1_000_000
"""After this many synthetic rows, no further batch is looked at."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CodeValues:
    """What the codes of a column of numbers stand for; NaN where a code is not a number."""

    name: str
    low: Floats
    high: Floats
    means: Floats
    rows: Floats
    """The number of synthetic rows with each code, and one more."""

    @classmethod
    def of(cls, release: Contents, name: str) -> CodeValues:
        """Look up a column's codes; raise unless it is a column of numbers."""
        column = release.schema.unconstrained[name]
        bounds = column.bounds()
        if bounds is None:
            numeric = [c.name for c in release.schema.modelled if c.bounds() is not None]
            raise UsageError(
                f"column {name!r} is not a column of numbers",
                got=f"a {column.kind} column",
                allowed=", ".join(numeric) or "none: the schema has no column of numbers",
            )
        low, high = bounds
        # The middle counts as one row.  Half of each, since a sum may overflow.
        sums, rows = low / 2 + high / 2, np.ones(column.size)
        merged = any(name in m.merged for m in release.measurements)
        # Synthetic rows divide bins and merged codes; other codes need none of them.
        for codes, numbers in _synthetic(release, name) if column.is_binned or merged else ():
            rows += np.bincount(codes, minlength=column.size)
            sums += np.bincount(codes, weights=numbers, minlength=column.size)
        means = np.where(low < high, np.clip(sums / rows, low, high), low)
        return cls(name=name, low=low, high=high, means=means, rows=rows)

    @property
    def has_numbers(self) -> Mask:
        """Whether each code stands for numbers."""
        known: Mask = ~np.isnan(self.low)
        return known

    @property
    def binned(self) -> bool:
        """Whether a code stands for several numbers."""
        return bool(np.any(self.high > self.low))

    def merged(self, part: Ints, used: Ints) -> tuple[Floats, Floats]:
        """Return the mean of each part in use, and the share of its rows that have a number.

        Values that were measured together are as frequent as in the synthetic rows.
        """
        here = np.where(self.has_numbers, self.rows, 0.0)
        counts = np.bincount(part, weights=here)[used]
        sums = np.bincount(part, weights=here * np.nan_to_num(self.means))[used]
        return sums / counts, counts / np.bincount(part, weights=self.rows)[used]


def _synthetic(release: Contents, name: str) -> Iterator[tuple[Codes, Floats]]:
    """Yield the codes and numbers of synthetic rows; 0 where there is none."""
    column = release.schema.released().unconstrained[name]
    seen = 0
    for batch in release.decoded:
        values = np.asarray(batch[column.table_column])
        codes = column.encode(values)
        kept = codes >= 0
        numbers = np.zeros(len(codes))
        if column.is_binned:
            numbers = np.nan_to_num(reading.numbers(values, column.null_keys)[0])
        yield codes[kept], numbers[kept]
        seen += len(codes)
        if seen >= ENOUGH_ROWS:
            return
