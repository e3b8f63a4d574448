"""Numbering: the distinct ones among many numbers, and each number's place among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.signedinteger[Any]]
    Index = type[np.signedinteger[Any]]

MOST_DENSE = 2**24
"""Numbers up to this size are counted in a dense table."""


def index_type(size: int) -> Index:
    """Return the smallest integer type that holds numbers up to a size."""
    return np.int32 if size < 2**31 else np.int64


def numbered(numbers: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the distinct numbers, all below a size, in order, and the place of each number.

    >>> distinct, places = numbered(np.array([7, 2, 7]), 10)
    >>> distinct.tolist(), places.tolist(), places.dtype
    ([2, 7], [1, 0, 1], dtype('int32'))
    """
    if size > MOST_DENSE:
        found, places = np.unique(numbers, return_inverse=True)
        return found, places.astype(index_type(len(found)))
    there = np.zeros(size, dtype=bool)
    there[numbers] = True
    place = np.cumsum(there, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(there), place[numbers]
