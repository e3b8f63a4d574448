"""Within a bin: the values that public rows have there, to undo a discretisation.

Related columns come from one public row of the same bins, so that what nobody declared survives
too: a total that is a fare and its tips, a tip that is a fifth of the fare.  Where no public row
has all of a row's bins, the least related column is drawn by itself, and the others together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from understudy.public.table import PublicTable
    from understudy.schema import Array, Codes, Column

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

ENOUGH_ROWS = 1_000_000
"""Of more public rows than this, evenly many are taken."""
MOST_KEYS = 2**62
"""The most combinations of bins that are told apart: what a 64-bit integer can number."""


def kept_numbers(column: Column, codes: Ints, numbers: Floats) -> Floats:
    """Return the numbers of a column's bins; NaN for special codes, and what would be changed."""
    assert column.span is not None  # noqa: S101  a public table keeps numbers of no others
    low, high = column.span
    kept = (codes < column.ordered_count) & (numbers >= low) & (numbers <= high)
    if column.disk_type == "BIGINT":
        kept &= numbers == np.floor(numbers)
    found: Floats = np.where(kept, numbers, np.nan)
    return found


class Within:
    """The values of public rows in columns with bins."""

    def __init__(self, public: PublicTable) -> None:
        """Take the values of every column with bins, but for those that the schema would change."""
        self._sizes = {name: public.schema[name].size for name in public.numbers}
        some = slice(None, None, 1 + len(public) // ENOUGH_ROWS)
        self._codes = {name: public.codes[name][some].astype(np.int64) for name in public.numbers}
        self._values: dict[str, Array] = {}
        self._has: dict[str, Mask] = {}
        self._sound: dict[str, Mask] = {}
        for name, every in public.numbers.items():
            column = public.schema[name]
            numbers = kept_numbers(column, self._codes[name], every[some])
            self._has[name] = self._codes[name] < column.ordered_count
            self._sound[name] = ~np.isnan(numbers) | ~self._has[name]
            held = np.nan_to_num(numbers)
            self._values[name] = held.astype(np.int64) if column.disk_type == "BIGINT" else held
        self._weakest = self._by_relation()
        self._sorted: dict[tuple[str, ...], tuple[Ints, Ints]] = {}

    def _by_relation(self) -> list[str]:
        """Order the columns: each is the one least related to all that follow."""
        names = list(self._values)
        related = np.ones((len(names), len(names)))
        if len(names) > 1 and len(self._codes[names[0]]) > 1:
            codes = np.stack([self._codes[name] for name in names]).astype(np.float64)
            with np.errstate(invalid="ignore", divide="ignore"):
                related = np.abs(np.nan_to_num(np.corrcoef(codes)))
        found: list[str] = []
        left = list(range(len(names)))
        while left:
            weakest = min(left, key=lambda i: float(related[i, left].sum()))
            left.remove(weakest)
            found.append(names[weakest])
        return found

    def drawn(
        self, codes: Mapping[str, Codes], among: Collection[str], rng: np.random.Generator
    ) -> dict[str, tuple[Array, Mask]]:
        """Draw public values for rows of codes: those of some columns, and where there are any."""
        names = [name for name in self._weakest if name in among]
        if not names:
            return {}
        rows = np.arange(len(codes[names[0]]))
        found = {
            name: (np.zeros(len(rows), dtype=self._values[name].dtype), np.zeros(len(rows), bool))
            for name in names
        }
        wanted = {name: codes[name].astype(np.int64) for name in names}
        # The weakest of those that are left is drawn by itself where all together are not found.
        while names:
            rows = self._draw(names, rows, wanted, found, rng)
            alone, *names = names
            if names:
                self._draw([alone], rows, wanted, found, rng)
        return found

    def _draw(
        self,
        names: list[str],
        rows: Ints,
        wanted: Mapping[str, Ints],
        found: Mapping[str, tuple[Array, Mask]],
        rng: np.random.Generator,
    ) -> Ints:
        """Give rows the values of a public row with the same bins; return those that have none."""
        if np.prod([float(self._sizes[name]) for name in names]) > MOST_KEYS:
            return rows
        shape = [self._sizes[name] for name in names]
        keys, public = self._in_order(names, shape)
        asked = np.ravel_multi_index([wanted[name][rows] for name in names], shape)
        first = np.searchsorted(keys, asked)
        count = np.searchsorted(keys, asked, side="right") - first
        there = count > 0
        turn = first[there] + np.floor(rng.random(int(there.sum())) * count[there]).astype(np.int64)
        taken = public[turn]
        for name in names:
            values, known = found[name]
            values[rows[there]] = self._values[name][taken]
            known[rows[there]] = self._has[name][taken]
        return rows[~there]

    def _in_order(self, names: list[str], shape: list[int]) -> tuple[Ints, Ints]:
        """Return the keys of public rows, sorted, and the rows themselves."""
        if tuple(names) not in self._sorted:
            sound = np.flatnonzero(np.logical_and.reduce([self._sound[name] for name in names]))
            keys = np.ravel_multi_index([self._codes[name][sound] for name in names], shape)
            order = np.argsort(keys, kind="stable")
            self._sorted[tuple(names)] = keys[order], sound[order]
        return self._sorted[tuple(names)]
