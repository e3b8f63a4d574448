"""What Spark's workers do with their parts of a table: Arrow batches in, Arrow batches out.

They import this module, and so need Understudy in their Python.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from understudy.engine.engine import Cell, PerPersonWork
    from understudy.schema import Array

MOST_SUMMED = 2**19
"""Up to this number of cells, a worker holds their sums in memory."""


def work_by_person(work: PerPersonWork, at_once: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Apply a function to the rows of whole people."""
    import pyarrow as pa  # noqa: PLC0415

    held: list[Any] = []
    wanted = at_once
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) < wanted:
            continue
        rows = pa.Table.from_batches(held).combine_chunks()
        person = rows["person"].to_numpy()
        # The last person may continue in the next batch.
        (others,) = np.nonzero(person != person[-1])
        cut = others[-1] + 1 if len(others) else 0
        if cut:
            yield _done(work, rows.slice(0, cut))
        held = rows.slice(cut).combine_chunks().to_batches()
        # One with more rows than that is not processed again with each batch.
        wanted = at_once if cut else 2 * len(rows)
    if held:
        yield _done(work, pa.Table.from_batches(held))


def work_by_row(work: PerPersonWork, batches: Iterator[Any]) -> Iterator[Any]:
    """Apply a function to rows as they come."""
    import pyarrow as pa  # noqa: PLC0415

    for batch in batches:
        yield _done(work, pa.Table.from_batches([batch]))


def tally_part(cells: Sequence[Cell], batches: Iterator[Any]) -> Iterator[Any]:
    """Sum weights by cell over a part of the rows.

    A weight is at most 2¹⁶, so that the sums of 2³⁷ rows are still exact.  Where there are very
    many cells they are summed batch by batch.
    """
    sizes = [math.prod(size for _, size in cell) for cell in cells]
    sums = {i: np.zeros(size) for i, size in enumerate(sizes) if size <= MOST_SUMMED}
    for batch in batches:
        weights = batch["w"].to_numpy()
        for i, cell in enumerate(cells):
            index = np.zeros(len(weights), dtype=np.int64)
            for column, size in cell:
                index *= size
                index += batch[column].to_numpy()
            if i in sums:
                sums[i] += np.bincount(index, weights=weights, minlength=sizes[i])
                continue
            there, place = np.unique(index, return_inverse=True)
            yield _summed(i, there, np.bincount(place, weights=weights))
    for i, found in sums.items():
        (there,) = np.nonzero(found)
        yield _summed(i, there, found[there])


def _summed(which: int, cell: Array, n: Array) -> Any:  # noqa: ANN401  an Arrow batch
    import pyarrow as pa  # noqa: PLC0415

    columns = {"which": np.full(len(cell), which, np.int32), "cell": cell, "n": n.astype(np.int64)}
    return pa.RecordBatch.from_pydict({name: pa.array(c) for name, c in columns.items()})


def _done(work: PerPersonWork, rows: Any) -> Any:  # noqa: ANN401  an Arrow table and batch
    import pyarrow as pa  # noqa: PLC0415

    worked = work({name: rows[name].to_numpy() for name in rows.column_names})
    return pa.RecordBatch.from_pydict({n: pa.array(c) for n, c in worked.items()})
