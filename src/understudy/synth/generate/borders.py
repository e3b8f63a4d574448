"""Borders: where a line of rows is cut into people, so that few people have rows of two groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger[Any]]


def cut_at_borders(sizes: Ints, groups: Ints, most: Ints) -> Ints:
    """Cut a line of rows into people of about these sizes, at borders of groups where possible.

    The nearest cut is moved to each border, or else the next one, unless that gives somebody more
    than ``most`` rows; people stay in order, and everybody gets at least one row.

    >>> groups = np.repeat([0, 1, 2], [5, 3, 7])
    >>> cut_at_borders(np.array([4, 4, 4, 3]), groups, np.array([9, 9, 9, 9])).tolist()
    [5, 3, 4, 3]
    """
    cuts = np.concatenate(([0], np.cumsum(sizes)))
    borders = np.flatnonzero(np.diff(groups)) + 1
    right = np.searchsorted(cuts, borders)
    nearest = right - (borders - cuts[right - 1] < cuts[right] - borders)
    # A cut that is nearest to several borders goes to the nearest of them.
    order = np.argsort(-np.abs(borders - cuts[nearest]), kind="stable")
    found = _moved(cuts, nearest[order], borders[order], most)
    left = borders[found[nearest] == cuts[nearest]]
    return np.diff(_moved(found, np.searchsorted(found, left), left, most))


def _moved(cuts: Ints, which: Ints, borders: Ints, most: Ints) -> Ints:
    """Move some cuts to borders, except at both ends and where somebody would get too many rows."""
    moved = cuts.copy()
    moved[which] = borders
    moved[[0, -1]] = cuts[[0, -1]]
    while (over := np.diff(moved) > most).any():
        for side in (slice(None, -1), slice(1, None)):
            moved[side][over] = cuts[side][over]
    return moved
