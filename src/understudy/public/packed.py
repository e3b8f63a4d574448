"""Packed numbers: the values of a long column, of which there are few, in a fraction of the memory.

Fares are told to the cent and times to the second: sixteen million of them are some thousands of
values again and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.schema import Array

LONG = 1_000_000
"""Shorter columns are left as they are."""
FEW = 2**16
"""The most values that are packed: what two bytes can number."""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A column as its distinct values, and the place of each row's among them.

    >>> fares = Packed(np.array([2.5, 7.0]), np.array([1, 0, 1], dtype=np.uint16))
    >>> fares[:].tolist(), fares[np.array([0])].tolist(), len(fares)
    ([7.0, 2.5, 7.0], [7.0], 3)
    >>> float(np.mean(fares))
    5.5
    """

    values: NDArray[np.float64]
    places: NDArray[np.uint16]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.places)

    def __getitem__(self, rows: slice | Array) -> NDArray[np.float64]:
        """Return the numbers of some rows, given by a slice, positions or a mask."""
        found: NDArray[np.float64] = self.values[self.places[rows]]
        return found

    def __array__(
        self,
        dtype: np.dtype[Any] | None = None,
        copy: bool | None = None,  # noqa: FBT001  as NumPy calls it
    ) -> NDArray[Any]:
        """Return all numbers, for NumPy's own functions."""
        return np.array(self[:], dtype=dtype, copy=copy)


def packed(numbers: NDArray[np.float64]) -> NDArray[np.float64] | Packed:
    """Pack a long column of few values; give any other back as it is."""
    if len(numbers) < LONG:
        return numbers
    values = np.zeros(0)
    parts = [numbers[start : start + LONG] for start in range(0, len(numbers), LONG)]
    for part in parts:
        values = np.unique(np.append(values, part))
        if len(values) > FEW:
            return numbers
    # Not a number comes last, where a search for it ends.
    places = [np.searchsorted(values, part).astype(np.uint16) for part in parts]
    return Packed(values, np.concatenate(places))
