"""The few array kernels that inference is made of, in NumPy float64.

Tables have an axis a column, in the domain's order, so that a smaller clique's table lies
in a larger one's by axes of length one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.graph.measurement import Clique

    Table = NDArray[np.float64]


def spread(table: Table, clique: Clique, onto: Clique) -> Table:
    """View a clique's table so that it broadcasts over a larger clique's."""
    lengths = dict(zip(clique, table.shape, strict=True))
    return table.reshape([lengths.get(name, 1) for name in onto])


def summed(table: Table, clique: Clique, keep: Clique) -> Table:
    """Sum a table down to a smaller clique's."""
    out: Table = table.sum(axis=tuple(i for i, name in enumerate(clique) if name not in keep))
    return out


def exponential(logs: Table, clique: Clique, keep: Clique) -> tuple[Table, Table, Table]:
    """Give exp(logs − m), its sum over all but the kept columns, and that sum's logarithm.

    m is the maximum over the columns summed, so that nothing overflows; where all is −∞
    the sum is 0 and its logarithm −∞.
    """
    axes = tuple(i for i, name in enumerate(clique) if name not in keep)
    top = logs.max(axis=axes, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    values = np.subtract(logs, top)
    np.exp(values, out=values)
    sums = values.sum(axis=axes, keepdims=True)
    with np.errstate(divide="ignore"):
        return values, sums, (np.log(sums) + top).reshape(summed_shape(logs, axes))


def summed_shape(table: Table, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Give the shape that is left when axes are summed."""
    return tuple(n for i, n in enumerate(table.shape) if i not in axes)


def ratio(above: Table, below: Table) -> Table:
    """Divide, with 0/0 = 0: what has no mass gets none."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
