"""From noisy counts to valid ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import BudgetError

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_ROWS = 1_000_000_000


def check_rows(rows: float) -> int:
    """Round a noisy number of rows to a valid one; raise if it is too large."""
    if rows > MOST_ROWS:
        raise BudgetError(
            "the noisy number of rows is too large",
            got=f"{rows:.3g} rows",
            allowed=f"at most {MOST_ROWS:,}",
            hint="lower the cap on a person's rows, or raise epsilon",
        )
    return max(0, round(rows))


def simplex(values: NDArray[np.float64], *, total: float) -> NDArray[np.float64]:
    """Return the nearest non-negative numbers (in L2) that sum to a total.

    >>> simplex(np.array([3.0, 1.0, -2.0]), total=3).tolist()
    [2.5, 0.5, 0.0]
    """
    if total <= 0:
        return np.zeros(len(values))
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(falling > excess)[-1]
    projected: NDArray[np.float64] = np.maximum(values - excess[last], 0)
    return projected


def rescaled(values: NDArray[np.float64], *, total: float) -> NDArray[np.float64]:
    """Return non-negative counts with a total, from noisy ones that count a share of it.

    >>> rescaled(np.array([3.0, 1.0, 0.0]), total=8).tolist()
    [6.0, 2.0, 0.0]
    """
    held = float(values.sum())
    return simplex(values * (total / held if held > 0 else 1.0), total=total)
