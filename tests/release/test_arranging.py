"""Arranging: for random items and totals, every count comes out, and items are of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.release.arranging import Total, apportioned, arranged

SIZES = {"a": 3, "b": 4, "c": 2, "d": 5}
CLIQUES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("a", "b"), ()),
    (("b", "c"), ("b",)),
    (("d",), ()),
)
"""Totals, and what each shares with those before."""


def counted(codes: dict[str, Any], clique: tuple[str, ...]) -> dict[tuple[int, ...], int]:
    """Count cells, in the obvious way."""
    found: dict[tuple[int, ...], int] = {}
    for cell in zip(*(codes[name].tolist() for name in clique), strict=True):
        found[cell] = found.get(cell, 0) + 1
    return found


def drawn(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    weights = {name: rng.dirichlet(np.full(size, 0.5)) for name, size in SIZES.items()}
    return {n: rng.choice(SIZES[n], rows, p=p).astype(np.int32) for n, p in weights.items()}


def totals(truth: dict[str, Any], *, exact: bool) -> list[Total]:
    found = []
    for clique, shared in CLIQUES:
        cells = counted(truth, clique)
        counts = np.array(list(cells.values()))
        size = int(counts.sum()) if exact else None
        found.append(Total("known", clique, np.array(list(cells)), counts, size, shared))
    return found


@tried(60)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 60), st.booleans())
def test_every_count_comes_out(seed: int, items: int, known: int, exact: bool) -> None:
    rng = np.random.default_rng(seed)
    held, truth = drawn(rng, items), drawn(rng, known)
    found = arranged(held, totals(truth, exact=exact), rng)
    size = known if exact else items
    assert len(found.start) == len(found.source) == size
    for clique, _ in CLIQUES:
        wanted, got = counted(truth, clique), counted(found.codes, clique)
        assert set(got) <= set(wanted)
        for cell, count in wanted.items():
            off = abs(got.get(cell, 0) - count * size / known)
            assert off == 0 if exact or items == known else off < 2
    # A place whose combination some item has is such an item.
    names = ("a", "b", "c", "d")
    there = set(zip(*(held[n].tolist() for n in names), strict=True))
    for place, cell in enumerate(zip(*(found.codes[n].tolist() for n in names), strict=True)):
        source = tuple(int(held[n][found.source[place]]) for n in names)
        assert source == cell if cell in there else found.source[place] == found.start[place]


def test_items_that_follow_already_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    held = drawn(rng, 50)
    found = arranged(held, totals(held, exact=True), rng)
    assert found.source.tolist() == found.start.tolist() == list(range(50))


def test_those_needed_are_left_out_last() -> None:
    rng = np.random.default_rng(0)
    held, needed = drawn(rng, 50), np.arange(50) % 5 == 0
    found = arranged(held, totals(drawn(rng, 12), exact=True), rng, needed=needed)
    assert set(np.flatnonzero(needed)) <= set(found.start.tolist())
    nobody = {name: codes[:0] for name, codes in held.items()}
    assert not len(arranged(nobody, totals(held, exact=True), rng).source)


def test_what_is_shared_out_is_what_there_is() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        counts, groups = rng.integers(1, 9, 12), np.sort(rng.integers(0, 3, 12))
        held = np.where(np.bincount(groups, minlength=3) > 0, rng.integers(0, 40, 3), 0)
        found = apportioned(counts, groups, held)
        assert np.bincount(groups, weights=found, minlength=3).tolist() == held.tolist()
        whole = np.bincount(groups, weights=counts, minlength=3)
        assert (np.abs(found - counts * held[groups] / whole[groups]) < 1).all()
