"""Questions under Norm, and the slow obvious way to answer them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from tests.vault.obvious import People, Row
from tests.vault.worlds import DOMAIN, obvious, queries
from understudy.budget import Norm
from understudy.door import Measure, Query, Rows
from understudy.vault.norm import _bits

ONE = 2**16
EVERY_CELL: list[Row] = [(i, j, k) for i in range(3) for j in range(2) for k in range(4)]
EXTREME: People = {
    "one row": [(1, 0, 2)],
    "five in a cell": [(0, 0, 0)] * 5,
    "a thousand in a cell": [(2, 1, 3)] * 1000,
    "all cells": EVERY_CELL,
    "all cells, thirty times": EVERY_CELL * 30,
    "spread": [(i % 3, i % 2, i % 4) for i in range(12)] + [(0, 1, 1)] * 8,
    "random": [
        (int(a), int(b), int(c)) for a, b, c in np.random.default_rng(7).integers(0, 2, (200, 3))
    ],
}


def sets(*members: list[int]) -> Rows:
    starts = np.cumsum([0, *map(len, members)], dtype=np.int64)
    return Rows(starts, np.array([c for m in members for c in m], dtype=np.int64))


OVERLAPPING = sets([0, 1, 2], [2, 3], [2], [0, 1, 2, 3, 4, 5], [2])
ASKED: dict[str, tuple[Query, ...]] = {
    "one marginal": (Query(clique=("a",), scale=2.0),),
    "several marginals": (
        Query(clique=("a", "b"), scale=3.7),
        Query(clique=("c",), scale=1.1),
        Query(clique=(), scale=9.0),
    ),
    "overlapping rows": (
        Query(clique=("a", "b"), scale=5.0, rows=OVERLAPPING),
        Query(clique=("a", "b"), scale=0.7, rows=sets([5], [1, 4])),
        Query(clique=("a", "b"), scale=2.5),
    ),
    "two orders of one clique": (
        Query(clique=("a", "b"), scale=1.3, rows=sets([1], [2, 3])),
        Query(clique=("b", "a"), scale=1.3, rows=sets([1], [2, 3])),
    ),
    "scales far apart": (
        Query(clique=("a", "b", "c"), scale=1e6),
        Query(clique=("c", "a"), scale=0.01, rows=sets([0, 1, 2], [7])),
        Query(clique=("b",), scale=33.3),
    ),
    "the same twice": (Query(clique=("c",), scale=4.0), Query(clique=("c",), scale=4.0)),
}


def normed(asked: tuple[Query, ...], price: float) -> Measure:
    return Measure(queries=asked, bounding=Norm(), price=price)


def counts(own: list[Row], question: Measure, sizes: dict[str, int] = DOMAIN) -> list[int]:
    """What a person adds to every answer where nothing bounds them."""
    out: list[int] = []
    world = obvious({}, sizes)
    for query in question.queries:
        held = [0] * world.size(query.clique, question.merged)
        for row in own:
            held[world.cell(row, query.clique, question.merged)] += 1
        if query.rows is not None:
            parts = [query.rows.cells[a:b].tolist() for a, b in pairwise(query.rows.starts)]
            held = [sum(held[c] for c in part) for part in parts]
        out += held
    return out


def scales(question: Measure, sizes: dict[str, int] = DOMAIN) -> list[Fraction]:
    """The noise of every answer."""
    world = obvious({}, sizes)
    return [
        Fraction(q.scale)
        for q in question.queries
        for _ in range(world.size(q.clique, question.merged) if q.rows is None else q.rows.count)
    ]


def moved(answer: list[int], question: Measure, unit: int = ONE) -> Fraction:
    """The square of how far an answer moved, in units of its noise."""
    parts = zip(answer, scales(question), strict=True)
    return sum(((Fraction(v, unit) / s) ** 2 for v, s in parts), Fraction(0))


def whole_length(own: list[Row], question: Measure, sizes: dict[str, int] = DOMAIN) -> int:
    """N, in whole numbers of any length."""
    one = Fraction(2) ** _bits(question)
    pairs = zip(counts(own, question, sizes), scales(question, sizes), strict=True)
    return sum(math.ceil(one / s**2) * v**2 for v, s in pairs)


def weight(own: list[Row], question: Measure, sizes: dict[str, int] = DOMAIN) -> int:
    """The largest whole weight with W²·N ≤ B."""
    length = whole_length(own, question, sizes)
    if not length:
        return 0
    bound = math.floor(Fraction(2) ** (32 + _bits(question)) * Fraction(question.price) ** 2)
    found = min(ONE, math.isqrt(bound // length))
    assert found**2 * length <= bound
    assert found == ONE or (found + 1) ** 2 * length > bound
    return found


def slowly(people: People, question: Measure, sizes: dict[str, int] = DOMAIN) -> list[int]:
    """All answers, each person weighed by themselves."""
    total = [0] * len(scales(question, sizes))
    for own in people.values():
        w, added = weight(list(own), question, sizes), counts(list(own), question, sizes)
        total = [t + w * v for t, v in zip(total, added, strict=True)]
    return total


@st.composite
def questions(draw: st.DrawFn) -> Measure:
    asked = draw(st.lists(queries(), min_size=1, max_size=4))
    far = [draw(st.sampled_from([1.0, 1.0, 1e-4, 1e-9, 1e3])) for _ in asked]
    changed = [
        Query(clique=q.clique, scale=max(q.scale * f, 1e-9), rows=q.rows)
        for q, f in zip(asked, far, strict=True)
    ]
    return normed(tuple(changed), 10 ** draw(st.floats(-6, 4.5)))
