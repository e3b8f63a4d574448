"""The few array kernels that inference is made of, in NumPy float64.

A table has an axis a column, in the tree's order of columns, so that a smaller clique's
table lies in a larger one's by axes of length one.  Tables are contiguous.  A sum over axes
is a product with ones, which the linear algebra library does at the speed of memory however
short the axes are.
"""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from understudy.schema.domain import Clique

    Table = NDArray[np.float64]

SMALL = 1024
AT_ONCE = 1 << 16
"""Numbers multiplied at a time, so that they are added while still in the cache."""
PLANS = 1 << 14


def spread(table: Table, clique: Clique, onto: Clique) -> Table:
    """View a clique's table so that it broadcasts over a larger clique's."""
    return table.reshape(_spread_shape(table.shape, clique, onto))


@lru_cache(maxsize=PLANS)
def _spread_shape(shape: tuple[int, ...], clique: Clique, onto: Clique) -> tuple[int, ...]:
    lengths = dict(zip(clique, shape, strict=True))
    return tuple(lengths.get(name, 1) for name in onto)


def summed(table: Table, clique: Clique, keep: Clique, out: Table | None = None) -> Table:
    """Sum a table down to a smaller clique's."""
    plan = _plan(table.shape, clique, keep)
    if plan.plain:
        return np.asarray(np.add.reduce(table, axis=plan.axes, out=out))
    if plan.trailing:
        table = table.reshape(-1, plan.trailing) @ _ones(plan.trailing)
    if plan.leading:
        table = _ones(plan.leading) @ table.reshape(plan.leading, -1)
    for length, inner in plan.middle:
        table = _middle(table.reshape(-1, length, inner))
    if out is None:
        return table.reshape(plan.shape)
    out[...] = table.reshape(plan.shape)
    return out


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to sum a table: by axes, or by runs of adjacent axes merged into one."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    plain: bool
    trailing: int
    leading: int
    middle: tuple[tuple[int, int], ...]
    """The lengths of a summed run and of everything after it, the last run first."""


@lru_cache(maxsize=PLANS)
def _plan(shape: tuple[int, ...], clique: Clique, keep: Clique) -> _Plan:
    kept = [name in keep for name in clique]
    axes = tuple(i for i, k in enumerate(kept) if not k)
    left = tuple(n for n, k in zip(shape, kept, strict=True) if k)
    plain = math.prod(shape) < SMALL or not left or not axes
    runs = [
        (kind, math.prod(n for n, _ in run))
        for kind, run in groupby(zip(shape, kept, strict=True), key=lambda pair: pair[1])
    ]
    trailing = 0 if plain or runs[-1][0] else runs.pop()[1]
    leading = 0 if plain or runs[0][0] else runs.pop(0)[1]
    middle, behind = [], 1
    for kind, length in reversed(runs):
        if kind:
            behind *= length
        else:
            middle.append((length, behind))
    return _Plan(axes, left, plain, trailing, leading, tuple(middle))


def _middle(stack: Table) -> Table:
    length = stack.shape[1]
    short = length * stack.shape[2] < SMALL // 2
    out: Table = stack.sum(axis=1) if short else np.matmul(_ones(length)[None], stack)
    return out


@lru_cache(maxsize=256)
def _ones(length: int) -> Table:
    return np.ones(length)


def largest(table: Table, clique: Clique, keep: Clique) -> Table:
    """Return the maximum over all but the kept columns."""
    axes = _plan(table.shape, clique, keep).axes
    return np.asarray(np.maximum.reduce(table, axis=axes))


def least(table: Table, clique: Clique, keep: Clique) -> Table:
    """Return the minimum over all but the kept columns."""
    axes = _plan(table.shape, clique, keep).axes
    return np.asarray(np.minimum.reduce(table, axis=axes))


def ratio(above: Table, below: Table) -> Table:
    """Divide, with 0/0 = 0."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=below > 0)


def gather(table: Table, parts: Iterable[Table], out: Table) -> Table:
    """Add parts that broadcast over a table to it; without parts, return the table itself."""
    for part in parts:
        table = np.add(table, part, out=out)
    return table


def scale(vector: Table, factor: float) -> None:
    """Multiply a vector by a factor, in place."""
    np.multiply(vector, factor, out=vector)


def add(vector: Table, factor: float, *, onto: Table) -> None:
    """Add a multiple of a vector onto another, in place."""
    if abs(factor) == 1:
        (np.add if factor > 0 else np.subtract)(onto, vector, out=onto)
        return
    room = np.empty(min(len(vector), AT_ONCE))
    for start in range(0, len(vector), AT_ONCE):
        part = onto[start : start + AT_ONCE]
        part += np.multiply(vector[start : start + AT_ONCE], factor, out=room[: len(part)])


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit the linear algebra library to one thread.

    Its threads spin while they wait for each other after every small product; on a busy
    machine that takes far longer than the product itself.
    """
    _Limit.enter()
    try:
        yield
    finally:
        _Limit.leave()


class _Limit:
    """The limit that all callers share: it ends when the last of them leaves."""

    lock = threading.Lock()
    users = 0
    held: Any = None

    @classmethod
    def enter(cls) -> None:
        with cls.lock:
            if not cls.users:
                cls.held = _libraries().limit(limits=1)
            cls.users += 1

    @classmethod
    def leave(cls) -> None:
        with cls.lock:
            cls.users -= 1
            if not cls.users:
                cls.held.restore_original_limits()


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def product(
    a: Table, a_names: Clique, b: Table, b_names: Clique, *, keep: set[str]
) -> tuple[Table, Clique]:
    """Multiply two tables and sum out what is not kept, without forming the whole product.

    Columns that only one of them has, and that are not kept, are summed first; then a stack of
    matrix products runs over the shared columns that are kept.
    """
    both = set(a_names) & set(b_names)
    a_kept = tuple(n for n in a_names if n in keep or n in both)
    b_kept = tuple(n for n in b_names if n in keep or n in both)
    a, b = summed(a, a_names, a_kept), summed(b, b_names, b_kept)
    stack = [n for n in a_kept if n in both and n in keep]
    gone = [n for n in a_kept if n in both and n not in keep]
    left = [n for n in a_kept if n not in both]
    right = [n for n in b_kept if n not in both]
    sizes = dict(zip((*a_kept, *b_kept), (*a.shape, *b.shape), strict=True))
    rows, inner, columns = (int(np.prod([sizes[n] for n in g])) for g in (left, gone, right))
    one = a.transpose([a_kept.index(n) for n in (*stack, *left, *gone)])
    other = b.transpose([b_kept.index(n) for n in (*stack, *gone, *right)])
    made = np.matmul(one.reshape(-1, rows, inner), other.reshape(-1, inner, columns))
    names = (*stack, *left, *right)
    return made.reshape([sizes[n] for n in names]), names
