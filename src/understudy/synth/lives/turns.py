"""Turns: the order in which columns are drawn, and what each is drawn given.

What a row says of the next one is carried best by the column that people are most loyal to: a
diagnosis says which ward, and wards drawn first would tie the diagnosis's hands.  So columns come
by how much of them a person keeps from row to row, in nats.  A column depends on those before it
that the model joins it to, directly or through columns that come later; where that makes tables
too large, only some columns come first, and the others in the order that makes tables small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from understudy.graph import best_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from understudy.graph import Clique, Domain
    from understudy.synth.lives.habits import Habit

    Floats = NDArray[np.float64]


class Turn(NamedTuple):
    """A column, and those before it that it depends on."""

    known: Clique
    new: str


def kept(counts: Floats, habit: Habit) -> float:
    """Return about how many nats of a column a person keeps from row to row.

    >>> from understudy.synth.lives.habits import Habit
    >>> loyal, fickle = Habit(False, 0.1, None), Habit(False, 0.5, None)
    >>> kept(np.ones(2), loyal) > kept(np.ones(2), fickle)
    True
    """
    shares = np.maximum(counts, 0) / max(float(np.maximum(counts, 0).sum()), 1e-300)
    places = np.arange(len(shares))
    chance = 1 - float(shares @ shares)
    if habit.ordered:
        apart = np.abs(places[:, None] - places) / max(1, len(shares) - 1)
        chance = float(shares @ apart @ shares)
    held = shares[shares > 0]
    share = max(0.0, 1 - habit.apart / max(chance, 1e-9))
    return share * -float(held @ np.log(held))


def turns(
    domain: Domain, pairs: Sequence[Clique], own: Sequence[str], loyal: Sequence[str], *, most: int
) -> list[Turn]:
    """Return columns in turn: given ones, the most loyal, the others; tables have ``most`` cells.

    ``own`` are those that are given, the most important first: the last ones are left out where
    tables would be too large, and have their turn later.
    """
    found: list[Turn] = []
    for given, first in _ways(own, loyal):
        cliques = [*pairs, (*given, *first)] if given or first else list(pairs)
        ahead = {*given, *first}
        others = [n for n in reversed(best_order(domain, cliques)) if n not in ahead]
        found = _drawn(domain, pairs, [*given, *first, *others])
        if sum(domain.cells((*turn.known, turn.new)) for turn in found[len(given) :]) <= most:
            return found[len(given) :]
    order = [*reversed(best_order(domain, pairs))]
    return _drawn(domain, pairs, order)


def _ways(
    own: Sequence[str], loyal: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Give what comes first: fewer loyal columns each time, then fewer given ones."""
    for count in range(len(own), -1, -1):
        for part in (1.0, 0.5, 0.25, 0.0):
            yield own[:count], loyal[: round(part * len(loyal))]


def _drawn(domain: Domain, pairs: Iterable[Clique], order: Sequence[str]) -> list[Turn]:
    """Eliminate columns from the last on: what is left around one is what it depends on."""
    around: dict[str, set[str]] = {name: set() for name in domain}
    for a, b in pairs:
        around[a].add(b)
        around[b].add(a)
    place, found = {name: i for i, name in enumerate(order)}, []
    for name in reversed(order):
        known = around.pop(name)
        for other in known:
            around[other] |= known
            around[other] -= {other, name}
        found.append(Turn(tuple(sorted(known, key=place.__getitem__)), name))
    return found[::-1]
