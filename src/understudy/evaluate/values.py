"""Raw values: two tables as columns of values, for scores with their own binning.

The values of a real table are private.  No message of this package quotes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from understudy.errors import QuestionError
from understudy.evaluate.table import Coded
from understudy.schema import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.evaluate.table import Codes

Values = Mapping[str, Array]
"""A table's columns by their names, all of one length."""


class Column(NamedTuple):
    """A column of two tables, in the same codes."""

    real: Codes
    synthetic: Codes
    size: int


def rows_of(table: Values) -> int:
    """Return the number of rows; raise if columns differ in length."""
    lengths = {len(column) for column in table.values()}
    if len(lengths) != 1 or any(column.ndim != 1 for column in table.values()):
        raise QuestionError("raw values must be one-dimensional columns of equal length")
    return lengths.pop()


def shared_names(real: Values, synthetic: Values) -> list[str]:
    """Return the columns that both tables have, sorted by name."""
    if not rows_of(real):
        raise QuestionError("a contest's score needs a real table with rows")
    rows_of(synthetic)
    return sorted(set(real) & set(synthetic))


def taken(table: Values, index: NDArray[np.int64]) -> dict[str, Array]:
    """Return the rows at these positions, in this order."""
    return {name: column[index] for name, column in table.items()}


def coded(columns: Mapping[str, Column]) -> tuple[Coded, Coded]:
    """Make two coded tables, the real one and the synthetic one."""
    sizes = {name: column.size for name, column in columns.items()}
    real = Coded(codes={n: c.real for n, c in columns.items()}, sizes=sizes, people=None)
    synthetic = Coded(codes={n: c.synthetic for n, c in columns.items()}, sizes=sizes, people=None)
    return real, synthetic


def listed(real: Sequence[str | None], synthetic: Sequence[str | None]) -> Column:
    """Number the distinct texts of two columns in sorted order, missing ones last.

    >>> column = listed(["b", "a", None], ["c", "a"])
    >>> column.real.tolist(), column.synthetic.tolist(), column.size
    ([1, 0, 3], [2, 0], 4)
    """
    distinct = sorted({*real, *synthetic}, key=lambda text: (text is None, text or ""))
    code = {text: i for i, text in enumerate(distinct)}
    left, right = (np.array([code[t] for t in side], np.int32) for side in (real, synthetic))
    return Column(left, right, len(code))
