"""Yardsticks (baselines): tables made from the real one, to compare a synthetic one with.

A resample is as close as a sample of its size can be expected to come; a share of the rows
says how much data a synthetic table is worth.  They are made of real rows and protect nobody:
they are for the custodian, and their rows leave this package only as distances.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.evaluate.histories import Histories

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.evaluate.table import Coded


def resample(real: Coded, rng: np.random.Generator) -> Coded:
    """Draw as many rows as there are, with replacement, each with its person."""
    return real.take(some_rows(real.rows, None, rng))


def subsample(real: Coded, share: float, rng: np.random.Generator) -> Coded:
    """Draw a share of the rows without replacement, at least one, each with its person."""
    return real.take(some_rows(real.rows, share, rng))


def resample_people(real: Coded, rng: np.random.Generator) -> Coded:
    """Draw as many people as there are, with replacement, each with all of their rows."""
    return some_people(real, None, rng)


def some_people(real: Coded, share: float | None, rng: np.random.Generator) -> Coded:
    """Draw a share of the people, each with all of their rows.

    None is for as many as there are, with replacement; who is drawn twice is then two people.
    """
    histories = Histories.of(real)
    drawn = some_rows(len(histories.sizes), share, rng)
    sizes = histories.sizes[drawn]
    ends = np.cumsum(sizes)
    index = np.arange(sizes.sum()) + np.repeat(histories.starts[drawn] - ends + sizes, sizes)
    people = np.repeat(np.arange(len(drawn)), sizes)
    return replace(real.take(histories.order[index]), people=people)


def some_rows(rows: int, share: float | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the positions of a share of the rows; None is for as many, with replacement."""
    if share is None:
        index = rng.integers(0, max(rows, 1), size=rows)
    elif 0 < share <= 1:
        count = min(rows, max(1, round(share * rows)))
        index = rng.choice(rows, size=count, replace=False, shuffle=False)
    else:
        raise QuestionError("share must be above 0 and at most 1", got=share)
    # No metric depends on the order of rows, and ascending order is fast to read.
    index.sort()
    return index
