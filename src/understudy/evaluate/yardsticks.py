"""Yardsticks: tables made from the real one, to hold a synthetic one against.

A resample is as close as a sample of its size can be expected to come; a share of the rows
says how much data a synthetic table is worth.  They are made of real rows and protect nobody:
what they say is for the custodian, and their rows leave this room only as distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.errors import QuestionError

if TYPE_CHECKING:
    import numpy as np

    from understudy.evaluate.table import Coded


def resample(real: Coded, rng: np.random.Generator) -> Coded:
    """Draw as many rows as there are, with replacement, each with its person."""
    index = rng.integers(0, max(real.rows, 1), size=real.rows)
    # No metric depends on the order of rows, and in ascending order they are read quickly.
    index.sort()
    return real.take(index)


def subsample(real: Coded, share: float, rng: np.random.Generator) -> Coded:
    """Draw a share of the rows without replacement, at least one, each with its person."""
    if not 0 < share <= 1:
        raise QuestionError("a subsample must be a share", got=share, allowed="above 0, to 1")
    count = min(real.rows, max(1, round(share * real.rows)))
    index = rng.choice(real.rows, size=count, replace=False, shuffle=False)
    index.sort()
    return real.take(index)
