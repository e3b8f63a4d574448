"""Filling: the columns of synthetic rows that public rows determine, on the values of others.

A column is drawn from the public rows that have the same values of its conditional: the same fare
to the cent, not only the same bin.  Where no public row has these values, from rows in the same
bins, and then from rows with the same features; the document goes to the features at once.
Everything here is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.public import kept_numbers
from understudy.synth.archetypes.matching import Key, public_rows_alike

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique
    from understudy.public import PublicTable
    from understudy.schema import Codes

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The distinct values of public rows in a column with bins."""

    numbers: NDArray[np.float64]
    """The values; NaN for codes of no number, such as *missing*."""
    rows: Ints
    """Which of them each public row has."""

    @classmethod
    def of(cls, public: PublicTable, name: str) -> Values:
        """Find the distinct values of a column; values that the schema would change are none."""
        column = public.schema[name]
        numbers = kept_numbers(column, public.codes[name], public.numbers[name][:])
        known = ~np.isnan(numbers)
        distinct, place = np.unique(numbers[known], return_inverse=True)
        rows = len(distinct) + public.codes[name].astype(np.int64)
        rows[known] = place
        return cls(np.append(distinct, np.full(column.size, np.nan)), rows)


class CopiedRows:
    """Synthetic rows in the making: codes of columns, and values of those with bins."""

    def __init__(self, public: PublicTable, codes: dict[str, Codes]) -> None:
        """Start with some columns in codes."""
        self.codes = codes
        self.values: dict[str, Ints] = {}
        """The numbers of values, by column, among those of ``known``."""
        self.known = {name: Values.of(public, name) for name in public.numbers}
        self._public = public

    @classmethod
    def copied(cls, public: PublicTable, names: Sequence[str], place: Ints) -> CopiedRows:
        """Start with some columns of public rows."""
        made = cls(public, {name: public.codes[name][place] for name in names})
        made.values = {n: made.known[n].rows[place] for n in names if n in made.known}
        return made

    def fill(
        self,
        conditionals: Mapping[str, Clique],
        features: Clique,
        rng: np.random.Generator,
        *,
        by_bins: bool = True,
    ) -> None:
        """Add columns in order, each from public rows like it in the columns of its conditional.

        ``by_bins`` tries rows in the same bins before rows with the same features.
        """
        for name, keys in conditionals.items():
            fine, coarse = self._keys(keys, values=True), self._keys(keys, values=False)
            ways = [fine, *([coarse] if by_bins else []), self._keys(features, values=False)]
            rows = len(next(iter(self.codes.values())))
            place = public_rows_alike(ways, rows=rows, public=len(self._public), rng=rng)
            self.codes[name] = self._public.codes[name][place]
            if name in self.known:
                self.values[name] = self.known[name].rows[place]

    def _keys(self, names: Sequence[str], *, values: bool) -> list[Key]:
        sizes, codes = self._public.schema.domain, self._public.codes
        return [
            Key(self.values[n], self.known[n].rows, len(self.known[n].numbers))
            if values and n in self.values
            else Key(self.codes[n], codes[n], sizes[n])
            for n in names
        ]

    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the values of all rows, by column; NaN where a bin has no value."""
        return {name: self.known[name].numbers[rows] for name, rows in self.values.items()}
