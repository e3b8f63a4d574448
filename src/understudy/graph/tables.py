"""Tables side by side in one vector, so that an operation on all of them is one call."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.graph.kernels import Table
    from understudy.schema.domain import Clique

    Key = Clique | int
    """A clique's table, or the number of a block of rows over one."""


class Tables:
    """Tables by name, each a view of a part of one vector.

    >>> tables = Tables({("a", "b"): (2, 2), ("a",): (2,)})
    >>> tables[("a",)][:] = 1
    >>> tables.flat.tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]
    """

    __slots__ = ("flat", "shapes", "views")

    def __init__(self, shapes: Mapping[Key, tuple[int, ...]]) -> None:
        """Allocate tables of zeros in the order given."""
        self.shapes = shapes
        sizes = [math.prod(shape) for shape in shapes.values()]
        self.flat: Table = np.zeros(sum(sizes))
        parts = np.split(self.flat, list(accumulate(sizes[:-1])))
        self.views = {
            key: part.reshape(shape)
            for (key, shape), part in zip(shapes.items(), parts, strict=True)
        }

    def places(self) -> Tables:
        """Return tables of the same shapes that hold their cells' places in the vector."""
        found = Tables(self.shapes)
        found.flat[...] = np.arange(len(found.flat))
        return found

    def __getitem__(self, key: Key) -> Table:
        """Return one table, as a view: writing to it writes to the vector."""
        return self.views[key]
