"""Synthetic rows matched with public ones: alike where they can be, any of them by chance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.synth.crowds import crowd, random_crowd
from understudy.public import PublicTable
from understudy.synth.archetypes import matching
from understudy.synth.archetypes.matching import Key, cells_alike
from understudy.synth.generate import numbering

SIZES = {"a": 3, "b": 4, "c": 5}
WAYS = (("a", "b"), ("b",))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def keys(codes: dict[str, Any], public: PublicTable, by: Sequence[str]) -> list[Key]:
    return [Key(codes[n], public.codes[n], public.schema.domain[n]) for n in by]


def public_rows_alike(
    codes: dict[str, Any],
    public: PublicTable,
    ways: Iterable[Sequence[str]],
    rng: np.random.Generator,
) -> Any:
    by = [keys(codes, public, way) for way in ways]
    rows = len(next(iter(codes.values())))
    return matching.public_rows_alike(by, rows=rows, public=len(public), rng=rng)


def slow_alike(
    codes: dict[str, list[int]], public: dict[str, list[int]], ways: tuple[tuple[str, ...], ...]
) -> list[set[int]]:
    """The public rows that each synthetic one may be given."""
    found = []
    for i in range(len(codes["a"])):
        for by in (*ways, ()):
            places = range(len(public["a"]))
            alike = {j for j in places if all(public[n][j] == codes[n][i] for n in by)}
            if alike:
                found.append(alike)
                break
    return found


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 60))
@tried(40)
def test_a_row_is_given_one_that_is_alike_in_the_first_way_that_there_is(
    seed: int, people: int, rows: int
) -> None:
    draws = rng(seed)
    public = random_crowd(draws, SIZES, people)
    codes = {n: draws.integers(s, size=rows).astype(np.int32) for n, s in SIZES.items()}
    place = public_rows_alike(codes, public, WAYS, draws)
    allowed = slow_alike(
        {n: c.tolist() for n, c in codes.items()},
        {n: c.tolist() for n, c in public.codes.items()},
        WAYS,
    )
    assert len(place) == rows
    assert all(p in those for p, those in zip(place.tolist(), allowed, strict=True))


def test_keys_are_those_of_the_row_wherever_such_rows_are() -> None:
    public = random_crowd(rng(1), SIZES, 60)
    codes = {n: c[::-1].copy() for n, c in public.codes.items()}
    place = public_rows_alike(codes, public, (("a", "b", "c"), ("a",)), rng(2))
    for name in SIZES:
        assert np.array_equal(public.codes[name][place], codes[name])


def test_all_rows_that_are_alike_are_as_likely() -> None:
    public = crowd([0, 0, 1, 1, 2], {"a": 3}, a=[0, 1, 0, 0, 1])
    codes = {"a": np.repeat(np.array([0, 1, 2], dtype=np.int32), 3000)}
    place = public_rows_alike(codes, public, (("a",),), rng(3))
    shares = [np.bincount(place[codes["a"] == a], minlength=5) / 3000 for a in range(3)]
    assert shares[0] == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3, 0], abs=0.05)
    assert shares[1] == pytest.approx([0, 1 / 2, 0, 0, 1 / 2], abs=0.05)
    # Nobody has the last: then anyone's.
    assert shares[2] == pytest.approx([1 / 5] * 5, abs=0.05)


def test_no_rows_are_given_none() -> None:
    public = random_crowd(rng(), SIZES, 3)
    codes = {n: np.zeros(0, dtype=np.int32) for n in SIZES}
    assert len(public_rows_alike(codes, public, WAYS, rng())) == 0


@pytest.mark.parametrize("dense", [0, 2**24])
def test_cells_are_the_same_number_just_where_all_columns_are(
    dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "MOST_DENSE", dense)
    public = random_crowd(rng(4), SIZES, 9)
    codes = {n: rng(5).integers(s, size=30).astype(np.int32) for n, s in SIZES.items()}
    rows = np.arange(3, 30, 2)
    ours, theirs, size = cells_alike(keys(codes, public, ("a", "c")), rows, len(public))
    cells = [(int(codes["a"][i]), int(codes["c"][i])) for i in rows]
    cells += list(zip(public.codes["a"].tolist(), public.codes["c"].tolist(), strict=True))
    numbers = [*ours.tolist(), *theirs.tolist()]
    pairs = set(zip(cells, numbers, strict=True))
    assert len(pairs) == len(set(cells)) == len(set(numbers)) == size
    assert sorted(set(numbers)) == list(range(size))
