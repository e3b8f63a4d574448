"""Measurements: noisy sums of cells of a clique's marginal, the engine's only evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import QuestionError
from understudy.graph.sums import Sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.schema.domain import Clique


def frozen(array: object, dtype: type[np.generic]) -> NDArray[Any]:
    """Copy an array into a read-only one of a dtype."""
    given = np.asarray(array)
    if given.dtype.kind not in ("iu" if issubclass(dtype, np.integer) else "iuf"):
        raise QuestionError(
            "an array has the wrong dtype", got=given.dtype, allowed=np.dtype(dtype).name
        )
    held = np.array(given, dtype=dtype, copy=True, subok=False, order="C")
    held.setflags(write=False)
    return held


LARGEST_SCALE = 1e100


def check_clique(clique: Clique) -> None:
    """Raise if a clique names a column twice."""
    if len(set(clique)) < len(clique):
        raise QuestionError("a clique names a column twice", got=" × ".join(clique))


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a query, each a set of cells: row i holds ``cells[starts[i]:starts[i+1]]``."""

    starts: NDArray[np.int64]
    cells: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Keep read-only copies, and raise unless every row is a non-empty set of cells."""
        object.__setattr__(self, "starts", frozen(self.starts, np.int64))
        object.__setattr__(self, "cells", frozen(self.cells, np.int64))
        s, c = self.starts, self.cells
        if not (
            s.ndim == c.ndim == 1
            and len(s) > 1
            and s[0] == 0
            and s[-1] == len(c)
            and np.all(np.diff(s) > 0)
        ):
            raise QuestionError(
                "rows must be non-empty sets of cells",
                hint="starts must be int64, one-dimensional and rise from 0 to len(cells)",
            )
        span = int(c.max()) + 1
        pairs = np.repeat(np.arange(len(s) - 1), np.diff(s)) * span + c
        if not np.all(pairs[1:] > pairs[:-1]):
            pairs.sort()
        if c.min() < 0 or np.any(pairs[1:] == pairs[:-1]):
            raise QuestionError("a row of a query names a cell twice, or a negative cell")

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    def sums(self, marginal: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum a marginal's cells, row by row."""
        return np.add.reduceat(marginal[self.cells], self.starts[:-1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """The answer to one query: noisy counts of table rows, and the scale of their noise."""

    clique: Clique
    values: NDArray[np.float64]
    scale: float
    rows: Rows | None = None
    """The sums of cells that the values estimate; None where every cell has its own value."""
    weights: NDArray[np.float64] | None = None
    """The weight of each cell of ``rows.cells`` in its row; None where all are 1."""
    group: str | None = None
    """Measurements of one group count the same weighted table: values ≈ t × sums, t unknown."""
    counted: str = "rows"
    """What is counted, in words."""
    merged: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """The merged code of each code, for columns with merged codes."""
    left: NDArray[np.float64] | None = None
    """The share of each value's rows that contribution bounding left, where it was estimated."""
    bias: float = 0.0
    """The relative standard deviation of the bias of contribution bounding that remains."""
    unsure: NDArray[np.float64] | None = None
    """For each value, how unsure it is besides, relatively, what bounding left of it."""

    def __post_init__(self) -> None:
        """Raise on a column named twice, a scale out of range, and weights without rows."""
        check_clique(self.clique)
        if not 1 / LARGEST_SCALE < self.scale < LARGEST_SCALE:
            raise QuestionError(
                "a measurement's noise needs a scale above 0",
                got=self.scale,
                allowed="1e-100 to 1e100",
            )
        for name in ("values", "weights", "left"):
            if getattr(self, name) is not None:
                held = frozen(getattr(self, name), np.float64)
                object.__setattr__(self, name, held)
                if not np.isfinite(held).all():
                    raise QuestionError(f"a measurement's {name} must be finite")
        if self.weights is not None and (
            self.rows is None or self.weights.shape != self.rows.cells.shape
        ):
            raise QuestionError("a measurement's weights must be one for each cell of its rows")

    def matrix(self, cells: int) -> Sums:
        """Return the rows as a matrix over the clique's ``cells`` cells."""
        assert self.rows is not None  # noqa: S101  the caller has looked
        held = self.rows.cells
        if len(self.values) != self.rows.count or held.max() >= cells:
            raise QuestionError(
                f"rows over {' × '.join(self.clique)} do not fit their values or its cells",
                got=f"{self.rows.count} rows up to cell {held.max()}, {len(self.values)} values",
                allowed=f"one value per row, cells up to {cells - 1}",
            )
        weights = np.ones(len(held)) if self.weights is None else self.weights
        return Sums(self.rows.starts, held, weights, cells)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Zeros:
    """Impossible cells of a clique (structural zeros)."""

    clique: Clique
    cells: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Keep a read-only copy, and raise if a column is named twice."""
        check_clique(self.clique)
        object.__setattr__(self, "cells", frozen(self.cells, np.int64))
