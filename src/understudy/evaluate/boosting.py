"""Boosted trees over codes: a small classifier of two kinds of rows that sees columns together.

Each tree is fitted to the gradient of the logistic loss.  A split sorts a column's codes by their
mean gradient and cuts the list once, which suits categories and numbers alike.  There are no
settings and no randomness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.evaluate.table import Codes

    Floats = NDArray[np.float64]

ROUNDS, DEPTH, RATE = 40, 3, 0.3
PENALTY = 5.0
"""Added to the curvature of a leaf, and of a code when codes are sorted: few rows say little."""


class Level(NamedTuple):
    """The splits of all nodes of a level: a column for each, and which codes go to the right."""

    column: NDArray[np.intp]
    right: list[NDArray[np.bool_]]


class Tree(NamedTuple):
    """The levels of splits, and what each leaf adds to a row's score."""

    levels: list[Level]
    leaves: Floats

    def score(self, columns: Sequence[Codes]) -> Floats:
        """Return what the tree adds to each row's score."""
        node = np.zeros(len(columns[0]), np.intp)
        for level in self.levels:
            node = _descended(node, level, columns)
        return self.leaves[node]


@dataclass(frozen=True, slots=True)
class Boosted:
    """A sum of trees: the larger a row's score, the more it looks like the second kind."""

    trees: list[Tree]

    @classmethod
    def learn(
        cls, columns: Sequence[Codes], sizes: Sequence[int], second: NDArray[np.bool_]
    ) -> Boosted:
        """Fit trees to rows, of which some are of the second kind."""
        score, trees = np.zeros(len(second)), []
        for _ in range(ROUNDS):
            likely = 1 / (1 + np.exp(-score))
            tree = _grown(columns, sizes, likely - second, likely * (1 - likely))
            score += tree.score(columns)
            trees.append(tree)
        return cls(trees)

    def score(self, columns: Sequence[Codes]) -> Floats:
        """Return the score of each row."""
        total = np.zeros(len(columns[0]))
        for tree in self.trees:
            total += tree.score(columns)
        return total


def _grown(columns: Sequence[Codes], sizes: Sequence[int], slope: Floats, curve: Floats) -> Tree:
    """Grow a tree level by level, along the gradient's slope and curvature."""
    node, levels = np.zeros(len(slope), np.intp), []
    for depth in range(DEPTH):
        level = _split(node, 2**depth, columns, sizes, (slope, curve))
        node = _descended(node, level, columns)
        levels.append(level)
    slopes, curves = (np.bincount(node, each, 2**DEPTH) for each in (slope, curve))
    return Tree(levels, -RATE * slopes / (curves + PENALTY))


def _split(
    node: NDArray[np.intp],
    nodes: int,
    columns: Sequence[Codes],
    sizes: Sequence[int],
    gradient: tuple[Floats, Floats],
) -> Level:
    """Find the best split of each node; one that gains nothing sends all rows to the left."""
    best, column = np.zeros(nodes), np.zeros(nodes, np.intp)
    right = [np.zeros(sizes[0], np.bool_) for _ in range(nodes)]
    for i, (codes, size) in enumerate(zip(columns, sizes, strict=True)):
        key = node * size + codes
        slopes, curves = (_sums(key, each, (nodes, size)) for each in gradient)
        order = np.argsort(slopes / (curves + PENALTY), axis=1, kind="stable")
        gains = _gain(
            *(np.cumsum(np.take_along_axis(s, order, 1), axis=1) for s in (slopes, curves))
        )
        cut = np.argmax(gains, axis=1)
        for n in np.flatnonzero(gains[np.arange(nodes), cut] > best):
            best[n], column[n] = gains[n, cut[n]], i
            right[n] = np.zeros(size, np.bool_)
            right[n][order[n, cut[n] + 1 :]] = True
    return Level(column, right)


def _sums(key: Codes, values: Floats, shape: tuple[int, int]) -> Floats:
    """Add up the values of each node and code."""
    found = np.bincount(key, values, shape[0] * shape[1])
    return found.astype(np.float64, copy=False).reshape(shape)


def _gain(slope: Floats, curve: Floats) -> Floats:
    """Return by how much the loss falls if the first so many codes go to the left.

    Slopes and curvatures are those of the first codes together, a line for each node.
    """
    slopes, curves = slope[:, -1:], curve[:, -1:]
    apart = slope**2 / (curve + PENALTY) + (slopes - slope) ** 2 / (curves - curve + PENALTY)
    gained: Floats = apart - slopes**2 / (curves + PENALTY)
    return gained


def _descended(node: NDArray[np.intp], level: Level, columns: Sequence[Codes]) -> NDArray[np.intp]:
    """Return each row's node of the next level."""
    found = 2 * node
    for n, (column, right) in enumerate(zip(level.column, level.right, strict=True)):
        here = np.flatnonzero(node == n)
        found[here] += right[columns[column][here]]
    return found


def area_under_curve(scores: Floats, second: NDArray[np.bool_]) -> float:
    """Return how often a row of the second kind scores higher than one of the first; ties half.

    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, True, False, True]))
    0.875
    """
    _, place, ties = np.unique(scores, return_inverse=True, return_counts=True)
    rank = np.cumsum(ties) - (ties - 1) / 2
    many = int(np.count_nonzero(second))
    above = float(rank[place][second].sum()) - many * (many + 1) / 2
    return above / (many * (len(second) - many))
