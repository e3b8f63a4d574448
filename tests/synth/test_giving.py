"""Rows are given to people batch by batch as if it were all at once, and within the cap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.synth.crowds import crowd, random_crowd
from understudy.errors import UsageError
from understudy.public import PublicTable
from understudy.schema import Codes
from understudy.synth.giving import Alone, Caps, Donors, Give, Numbering, evenly
from understudy.synth.sizes import Sizes

SIZES = {"a": 3, "b": 4}
Profile = tuple[tuple[int, int], ...]
Whole = NDArray[np.int64]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def public_people(
    codes: Mapping[str, Codes], *, public: PublicTable, by: Sequence[str], rng: np.random.Generator
) -> Whole:
    """Give all rows at once."""
    given_ = Donors(public, by, rng).given(len(codes["a"])).begin()(codes, rng)
    assert given_ is not None
    return given_


def capped(people: Whole, most: int) -> Whole:
    return Caps(most).of(people)


def in_batches(give: Give, codes: Mapping[str, Codes], sizes: Sequence[int], seed: int) -> Whole:
    """Give rows so many at a time."""
    parts, last, draws = [], 0, rng(seed)
    for size in sizes:
        here, last = slice(last, last + size), last + size
        part = give({n: c[here] for n, c in codes.items()}, draws)
        assert part is not None
        parts.append(part)
    assert last == len(codes["a"])
    return np.concatenate(parts)


def cut(rows: int, places: Sequence[float]) -> list[int]:
    """Cut rows into batches, some of which may be empty."""
    ends = sorted(round(p * rows) for p in places)
    return [b - a for a, b in pairwise([0, *ends, rows])]


cuts = st.lists(st.floats(0, 1), max_size=5)


def profiles(people: NDArray[np.int64], cells: NDArray[np.int64]) -> Counter[Profile]:
    """How many people have just so many rows in just these cells."""
    own: dict[int, Counter[int]] = {}
    for person, cell in zip(people.tolist(), cells.tolist(), strict=True):
        own.setdefault(person, Counter())[cell] += 1
    return Counter(tuple(sorted(held.items())) for held in own.values())


def cells_of(codes: dict[str, NDArray[np.int32]]) -> NDArray[np.int64]:
    return (codes["a"].astype(np.int64) * 4 + codes["b"]).astype(np.int64)


# Public people


@given(st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_a_table_like_the_public_one_gives_everyone_the_rows_they_have(seed: int) -> None:
    draws = rng(seed)
    public = random_crowd(draws, SIZES, 30)
    order = draws.permutation(len(public))
    codes = {n: c[order] for n, c in public.codes.items()}
    given_ = public_people(codes, public=public, by=("a", "b"), rng=draws)
    assert public.people is not None
    # Even by name: all public people appear, and are numbered in their order.
    found = Counter(zip(given_.tolist(), cells_of(codes).tolist(), strict=True))
    there = zip(public.people.tolist(), public.cells(("a", "b")).tolist(), strict=True)
    assert found == Counter(there)


@pytest.mark.parametrize("times", [2, 3])
def test_a_table_of_several_times_the_size_has_everyone_so_often(times: int) -> None:
    public = random_crowd(rng(1), SIZES, 40)
    assert public.people is not None
    codes = {n: np.tile(c, times) for n, c in public.codes.items()}
    found = public_people(codes, public=public, by=("a", "b"), rng=rng(2))
    once = profiles(public.people, public.cells(("a", "b")))
    assert profiles(found, cells_of(codes)) == Counter({p: times * n for p, n in once.items()})


def test_a_table_of_half_the_size_has_half_of_the_people_each_with_most_rows() -> None:
    public = random_crowd(rng(3), SIZES, 600)
    assert public.people is not None
    cells = public.cells(("a", "b"))
    # Every other row of each cell.
    order = np.argsort(cells, kind="stable")[::2]
    codes = {n: c[order] for n, c in public.codes.items()}
    found = public_people(codes, public=public, by=("a", "b"), rng=rng(4))
    people = len(np.unique(found))
    assert 300 <= people <= 375
    assert np.bincount(found).mean() >= 0.8 * np.bincount(public.people).mean()


def test_rows_of_a_cell_that_is_not_public_go_by_fewer_columns() -> None:
    """People 0 and 1 have a = 0, b = 0; person 2 has a = 1, b = 1."""
    public = crowd([0, 0, 1, 2, 2], SIZES, a=[0, 0, 0, 1, 1], b=[0, 0, 0, 1, 1])
    codes = {"a": np.array([0, 1, 2, 0]), "b": np.array([3, 1, 2, 0])}
    for seed in range(20):
        found = public_people(codes, public=public, by=("a", "b"), rng=rng(seed))
        assert len(found) == 4
        # Row 0 shares its a with row 3 and not with row 1, whose person is 2 alone.
        assert found[0] != found[1] != found[3]


def test_without_columns_to_go_by_sizes_are_the_public_ones() -> None:
    public = random_crowd(rng(5), SIZES, 50)
    assert public.people is not None
    codes = {n: np.zeros(len(public), dtype=np.int32) for n in SIZES}
    found = public_people(codes, public=public, by=(), rng=rng(6))
    assert Counter(np.bincount(found)) == Counter(np.bincount(public.people))


def test_a_table_of_no_rows_has_nobody() -> None:
    public = random_crowd(rng(7), SIZES, 5)
    none = {n: np.zeros(0, dtype=np.int32) for n in SIZES}
    assert len(public_people(none, public=public, by=("a",), rng=rng())) == 0
    assert len(capped(np.zeros(0, dtype=np.int64), 3)) == 0


def test_people_are_needed_for_people() -> None:
    plain = random_crowd(rng(8), SIZES, 5)
    public = PublicTable(schema=plain.schema, codes=plain.codes, people=None, numbers={})
    with pytest.raises(UsageError, match="does not tell whose rows are whose"):
        public_people(public.codes, public=public, by=("a",), rng=rng())


@given(st.integers(0, 2**32), st.integers(0, 400))
@settings(max_examples=40, deadline=None)
def test_nobody_has_more_rows_than_their_public_person_has_by_each_number_of_columns(
    seed: int, rows: int
) -> None:
    """A cap that is no lower need not be kept an eye on."""
    draws = rng(seed)
    public = random_crowd(draws, SIZES, 8)
    codes = {n: draws.integers(0, size, rows).astype(np.int32) for n, size in SIZES.items()}
    found = public_people(codes, public=public, by=("a", "b"), rng=draws)
    assert np.bincount(found, minlength=1).max() <= 3 * public.sizes().max()


# The cap


@given(st.lists(st.integers(0, 6), min_size=1, max_size=200), st.integers(1, 9))
def test_what_is_beyond_the_cap_fills_new_people_all_but_the_last_of_each(
    people: list[int], most: int
) -> None:
    before = np.array(people)
    after = capped(before, most)
    assert len(after) == len(before)
    sizes = np.bincount(after)
    assert 1 <= sizes.min() <= sizes.max() <= most
    # No new person has rows of two; each old one has all parts full but one.
    owners: dict[int, set[int]] = {}
    for new, old in zip(after.tolist(), people, strict=True):
        owners.setdefault(new, set()).add(old)
    assert all(len(old) == 1 for old in owners.values())
    for old, rows in Counter(people).items():
        parts = sorted(int(sizes[new]) for new, olds in owners.items() if old in olds)
        assert parts == sorted([most] * (rows // most) + ([rows % most] if rows % most else []))


def test_nobody_within_the_cap_is_touched() -> None:
    people = np.array([3, 0, 3, 1])
    assert capped(people, 2).tolist() == [2, 0, 2, 1]


# Batches


@given(st.integers(0, 2**32), cuts, st.integers(1, 3))
@settings(max_examples=50, deadline=None)
def test_batches_of_a_table_like_the_public_one_give_everyone_the_rows_they_have(
    seed: int, places: list[float], times: int
) -> None:
    """Whatever the batches are, and however often everyone is there."""
    draws = rng(seed)
    public = random_crowd(draws, SIZES, 30)
    assert public.people is not None
    order = draws.permutation(times * len(public)) % len(public)
    codes = {n: c[order] for n, c in public.codes.items()}
    give = Donors(public, ("a", "b"), draws).given(len(order)).begin()
    found = in_batches(give, codes, cut(len(order), places), seed)
    once = profiles(public.people, public.cells(("a", "b")))
    assert profiles(found, cells_of(codes)) == Counter({p: times * n for p, n in once.items()})
    # Numbers have no gaps, and come in order.
    assert np.unique(found).tolist() == list(range(times * (int(public.people.max()) + 1)))


@given(st.integers(0, 2**32), cuts, st.integers(0, 400))
@settings(max_examples=50, deadline=None)
def test_the_sizes_of_people_do_not_depend_on_the_batches(
    seed: int, places: list[float], rows: int
) -> None:
    """Rows of one cell: which of them a person gets is chance, how many is not."""
    draws = rng(seed)
    public, same = random_crowd(draws, SIZES, 20), int(draws.integers(2**32))
    codes = {n: np.zeros(rows, dtype=np.int32) for n in SIZES}
    sizes = []
    for parts in ([rows], cut(rows, places)):
        give = Donors(public, ("a", "b"), rng(same)).given(rows).begin()
        sizes.append(sorted(np.bincount(in_batches(give, codes, parts, seed)).tolist()))
    assert sizes[0] == sizes[1]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=200), st.integers(1, 9), cuts)
def test_the_cap_is_kept_over_all_batches(
    people: list[int], most: int, places: list[float]
) -> None:
    before, caps, last = np.array(people), Caps(most), 0
    parts = []
    for size in cut(len(people), places):
        parts.append(caps.of(before[last : last + size]))
        last += size
    after = np.concatenate(parts)
    assert sorted(np.bincount(after)) == sorted(np.bincount(capped(before, most)))
    pairs = set(zip(after.tolist(), people, strict=True))
    assert len(pairs) == after.max() + 1


@given(st.integers(0, 500), st.integers(-5, 60), st.integers(1, 20), cuts, st.integers(0, 2**32))
def test_nobody_is_dealt_more_than_the_cap(
    rows: int, people: int, cap: int, places: list[float], seed: int
) -> None:
    way, codes = evenly(rows, people=people, cap=cap), {"a": np.zeros(rows, dtype=np.int32)}
    dealt = in_batches(way.begin(), codes, cut(rows, places), seed)
    held = np.bincount(dealt, minlength=1)
    assert held.sum() == rows
    assert held.max() <= cap
    assert way.people == max(1, people, -(-rows // cap)) >= len(held)
    # Nobody has two rows more than anyone else.
    assert rows < people or held.max() - held.min() <= 1


def test_people_of_noisy_sizes_have_their_rows_in_one_batch_each() -> None:
    sizes, rows = Sizes(np.array([0.5, 0.0, 0.2, 0.3])), 40_000
    codes = {"a": np.zeros(rows, dtype=np.int32)}
    way = sizes.given(rows)
    dealt = in_batches(way.begin(), codes, [10_000] * 4, 1)
    assert np.unique(dealt).tolist() == list(range(int(dealt.max()) + 1))
    assert way.people == pytest.approx(dealt.max() + 1, rel=0.02)
    batch = np.arange(rows) // 10_000
    assert len(set(zip(dealt.tolist(), batch.tolist(), strict=True))) == dealt.max() + 1
    found = np.bincount(np.bincount(dealt), minlength=5)[1:]
    assert found / found.sum() == pytest.approx([0.5, 0, 0.2, 0.3], abs=0.02)


@pytest.mark.parametrize(("most", "people"), [(1, [8]), (2, [2, 3]), (4, [1, 0, 1, 1]), (5, None)])
def test_sizes_beyond_a_cap_fill_new_people(most: int, people: list[int] | None) -> None:
    """One person of three rows, and one of five."""
    sizes = Sizes(np.array([0.0, 0.0, 1.0, 0.0, 1.0]))
    assert sizes.capped(most).people.tolist() == (people or sizes.people.tolist())


def test_whoever_begins_again_begins_anew() -> None:
    public = random_crowd(rng(1), SIZES, 30)
    codes: Any = {n: c[::2] for n, c in public.codes.items()}
    for way in (
        Donors(public, ("a",), rng(2)).given(len(codes["a"]), most=3),
        Sizes(np.array([0.5, 0.5])).given(len(codes["a"])),
        evenly(len(codes["a"]), people=7, cap=100),
    ):
        one, two = (in_batches(way.begin(), codes, cut(len(codes["a"]), [0.5]), 3) for _ in "ab")
        assert one.tolist() == two.tolist()


def test_people_of_a_cell_have_no_rows_in_another() -> None:
    rows = np.array([5, 0, 40, 1])
    alone = Alone(np.array([1, 3]), np.array([0.5, 0.5]))
    found = alone.given(rows, rng())
    cells = np.repeat(np.arange(4), rows)
    assert len(set(zip(found.tolist(), cells.tolist(), strict=True))) == found.max() + 1
    assert np.bincount(found).max() <= 3
    assert alone.about(rows) == 23


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=20), max_size=5))
def test_numbers_are_given_once_and_kept(batches: list[list[tuple[int, int]]]) -> None:
    numbering = Numbering()
    known: dict[tuple[int, int], int] = {}
    for batch in batches:
        things, parts = np.array(batch, dtype=np.int64).reshape(-1, 2).T
        for pair in sorted(set(batch)):
            known.setdefault(pair, len(known))
        assert numbering.of(things, parts).tolist() == [known[pair] for pair in batch]
