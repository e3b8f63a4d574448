"""Within a bin: the values that a public table has there, to undo a discretisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.public.table import PublicTable
    from understudy.schema import Array, Codes


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """The public values of a numeric column, bin by bin."""

    values: Array
    starts: NDArray[np.int64]
    """Bin b has values[starts[b]:starts[b + 1]]."""

    @classmethod
    def of(cls, public: PublicTable, name: str) -> Within:
        """Collect a column's values, leaving out those that the schema would change."""
        column = public.schema[name]
        assert column.span is not None  # noqa: S101  the table keeps numbers of no others
        values, codes = public.numbers[name], public.codes[name]
        whole, (low, high) = column.disk_type == "BIGINT", column.span
        kept = (values >= low) & (values <= high)
        kept &= codes < column.values_count
        if whole:
            kept &= values == np.floor(values)
        values, codes = values[kept], codes[kept]
        if whole:
            values = values.astype(np.int64)
        # Within a bin the order is the table's, which does not depend on the file's order.
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=column.values_count)
        return cls(values[order], np.concatenate(([0], np.cumsum(counts))))

    def redraw(self, drawn: Array, codes: Codes, rng: np.random.Generator) -> Array:
        """Replace drawn values by public ones, in the bins that have any."""
        bins = np.minimum(codes, len(self.starts) - 1)
        counts = np.append(np.diff(self.starts), 0)[bins]
        places = self.starts[bins] + np.floor(rng.random(len(codes)) * counts).astype(np.int64)
        known = counts > 0
        out = drawn.copy()
        out[known] = self.values[places[known]]
        return out


def bins_within(public: PublicTable) -> dict[str, Within]:
    """Collect the values of every column with bins."""
    return {name: Within.of(public, name) for name in public.numbers}
