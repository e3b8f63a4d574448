"""Rows are given to people batch by batch as if it were all at once, and within the cap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import tried
from tests.synth.crowds import crowd, random_crowd
from understudy.errors import UsageError
from understudy.public import PublicTable
from understudy.schema import Codes
from understudy.synth.generate.assignment import (
    Alone,
    Caps,
    Donors,
    Give,
    InTurn,
    Numbering,
    dealt,
    evenly,
)
from understudy.synth.measure.sizes import Sizes

SIZES = {"a": 3, "b": 4}
Profile = tuple[tuple[int, int], ...]
Ints = NDArray[np.int64]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def public_people(
    codes: Mapping[str, Codes], *, public: PublicTable, by: Sequence[str], rng: np.random.Generator
) -> Ints:
    """Give all rows at once, to people of public sizes."""
    donors = Donors(public, by, rng)
    sizes = Sizes.public(public, len(codes["a"])).each(len(codes["a"]))
    given_ = donors.given(sizes).begin()(codes, rng)
    assert given_ is not None
    return given_


def capped(people: Ints, most: int) -> Ints:
    return Caps(most).of(people)


def in_batches(give: Give, codes: Mapping[str, Codes], sizes: Sequence[int], seed: int) -> Ints:
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
@tried(20)
def test_a_table_like_the_public_one_gives_everyone_the_rows_they_have(seed: int) -> None:
    draws = rng(seed)
    public = random_crowd(draws, SIZES, 60)
    order = draws.permutation(len(public))
    codes = {n: c[order] for n, c in public.codes.items()}
    given_ = public_people(codes, public=public, by=("a", "b"), rng=draws)
    assert public.people is not None
    assert profiles(given_, cells_of(codes)) == profiles(public.people, public.cells(("a", "b")))


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
    assert len(np.unique(found)) == 300
    # Few are in more cells than public people of their size are.
    own = Counter(profiles(public.people, cells).elements())
    mean = np.mean([len(profile) / sum(n for _, n in profile) for profile in own])
    now = profiles(found, cells_of(codes)).elements()
    assert np.mean([len(p) / sum(n for _, n in p) for p in now]) <= 1.15 * mean


def test_rows_of_a_cell_that_is_not_public_go_by_fewer_columns() -> None:
    """People 0 to 3 have a = 0, people 4 to 7 have a = 1; nobody has b = 2."""
    whose = np.repeat(np.arange(8), 5)
    public = crowd(whose, SIZES, a=whose // 4, b=np.zeros(40, dtype=np.int64))
    codes = {"a": np.repeat([0, 1], 20), "b": np.tile([0, 0, 0, 0, 2], 8)}
    for seed in range(20):
        found = public_people(codes, public=public, by=("a", "b"), rng=rng(seed))
        assert len(set(zip(found.tolist(), codes["a"].tolist(), strict=True))) == 8


def test_a_value_that_is_not_public_has_people_of_its_own() -> None:
    """Of eight people who keep to a = 0 or 1 each; there are ten rows of a = 2, too."""
    whose = np.repeat(np.arange(8), 5)
    public = crowd(whose, SIZES, a=whose % 2, b=whose % 4)
    codes = {"a": np.repeat([0, 1, 2], [20, 20, 10]), "b": np.tile([0, 1, 2, 3, 0], 10)}
    for seed in range(20):
        found = public_people(codes, public=public, by=("a",), rng=rng(seed))
        assert len(set(zip(found.tolist(), codes["a"].tolist(), strict=True))) == 10
        assert np.bincount(found).tolist() == [5] * 10


def test_people_keep_to_one_cell_if_public_people_do_and_large_ones_stay_large() -> None:
    """People of a = 0 have two rows, those of a = 1 six, those of a = 2 twelve."""
    each = np.tile([2, 6, 12], 100)
    public = crowd(
        np.repeat(np.arange(300), each),
        SIZES,
        a=np.repeat(np.tile([0, 1, 2], 100), each),
        b=np.zeros(each.sum(), dtype=np.int64),
    )
    # Now there are half as many rows of a = 0, and twice as many of a = 2.
    codes = {"a": rng(1).permutation(np.repeat([0, 1, 2], [100, 600, 2400]))}
    sizes = Sizes(np.bincount(np.repeat([2, 6, 12], [50, 100, 200]))[1:].astype(np.float64))
    give = Donors(public, ("a",), rng(2)).given(sizes.each(3100)).begin()
    found = give(codes, rng(3))
    assert found is not None
    pairs = set(zip(found.tolist(), codes["a"].tolist(), strict=True))
    assert len(pairs) == 350
    held = np.bincount(found)
    means = [np.mean([held[who] for who, a in pairs if a == value]) for value in (0, 1, 2)]
    assert means == pytest.approx([2, 6, 12], rel=0.1)


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
    with pytest.raises(UsageError, match="does not show which rows belong to one person"):
        public_people(public.codes, public=public, by=("a",), rng=rng())


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 12), min_size=1, max_size=60),
    st.sampled_from([(), ("a",), ("a", "b")]),
    cuts,
)
@tried(100)
def test_all_people_have_rows_about_as_many_as_wanted_and_none_more_than_the_largest(
    seed: int, sizes: list[int], by: tuple[str, ...], places: list[float]
) -> None:
    draws, rows = rng(seed), sum(sizes)
    public = random_crowd(draws, SIZES, 8)
    codes = {n: draws.integers(0, size, rows).astype(np.int32) for n, size in SIZES.items()}
    way = Donors(public, by, draws).given(np.array(sizes))
    found = in_batches(way.begin(), codes, cut(rows, places), seed)
    held = np.bincount(found)
    assert way.people == len(held) == len(sizes)
    assert held.min() >= 1
    assert held.max() <= max(sizes)
    if not by:
        assert held.tolist() == sizes


@given(st.lists(st.integers(1, 9), max_size=40), cuts)
def test_people_in_turn_get_all_of_their_rows_whatever_is_taken(
    sizes: list[int], places: list[float]
) -> None:
    in_turn, held = InTurn(np.array(sizes, dtype=np.int64)), np.zeros(len(sizes), dtype=np.int64)
    for rows in cut(sum(sizes), places):
        first, each = in_turn.take(rows)
        assert each.sum() == rows
        held[first : first + len(each)] += each
    assert held.tolist() == sizes


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


def test_in_batches_people_keep_to_one_cell_and_their_sizes_all_the_same() -> None:
    """Public people keep to one value of a, and there are as many private ones."""
    whose = np.repeat(np.arange(400), np.minimum(rng(1).geometric(0.15, 400), 30))
    public = crowd(whose, SIZES, a=whose % 3, b=rng(2).integers(0, 4, len(whose)))
    order = rng(3).permutation(len(whose))
    codes = {n: c[order] for n, c in public.codes.items()}
    sizes = Sizes.public(public, len(whose)).each(len(whose))
    way = Donors(public, ("a", "b"), rng(4)).given(sizes)
    found = in_batches(way.begin(), codes, cut(len(whose), [0.2, 0.5, 0.55]), 5)
    assert len(set(zip(found.tolist(), codes["a"].tolist(), strict=True))) <= 1.05 * 400
    counts = [np.bincount(n, minlength=31) for n in (np.bincount(found), public.sizes())]
    assert np.abs(counts[0] - counts[1]).sum() <= 0.15 * 2 * 400


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


def test_people_of_noisy_sizes_have_their_rows_in_one_batch_each_but_for_those_between() -> None:
    sizes, rows = Sizes(np.array([10_000.0, 0.0, 4_000.0, 6_000.0])), 46_000
    codes = {"a": np.zeros(rows, dtype=np.int32)}
    way = dealt(sizes.each(rows))
    found = in_batches(way.begin(), codes, [11_500] * 4, 1)
    assert way.people == found.max() + 1 == 20_000
    assert np.bincount(np.bincount(found)).tolist() == [0, 10_000, 0, 4_000, 6_000]
    batch = np.arange(rows) // 11_500
    assert len(set(zip(found.tolist(), batch.tolist(), strict=True))) <= 20_003
    # Each batch has people of all sizes, and rows of one person are not all together.
    for part in np.split(found, 4):
        assert np.count_nonzero(np.bincount(part) == 1) == pytest.approx(2_500, abs=10)
        assert np.mean(part[1:] == part[:-1]) < 0.01


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 9), cuts, st.integers(0, 2**32))
def test_rows_that_agree_in_what_is_a_persons_own_go_together(
    rows: int, people: int, kinds: int, places: list[float], seed: int
) -> None:
    """All rows are given and nobody has too many, however many kinds of people there are."""
    people = min(people, rows)
    sizes = 1 + rng(seed).multinomial(rows - people, np.full(people, 1 / people))
    luck = rng(seed)
    codes = {name: luck.integers(kinds, size=rows).astype(np.int32) for name in "ab"}
    way = dealt(sizes, ("a", "b"))
    found = in_batches(way.begin(), codes, cut(rows, places), seed)
    assert found.min() >= 0
    assert np.bincount(found, minlength=people).max() <= sizes.max()
    assert found.max() < people


def test_people_are_of_one_kind_where_there_are_many_of_each() -> None:
    sizes, rows = np.tile([3, 5, 8], 500), 8_000
    luck = rng(1)
    codes = {name: luck.integers(4, size=rows).astype(np.int32) for name in "abc"}
    found = in_batches(dealt(sizes, ("a", "b")).begin(), codes, [5_000, 3_000], 2)
    kinds = np.unique(np.stack([found, codes["a"], codes["b"]]), axis=1)
    # But for the one who has rows of both batches, and where nobody may have more rows.
    assert kinds.shape[1] <= 1_500 + 15
    assert np.abs(np.bincount(found) - sizes).sum() < 200
    values = np.bincount(4 * found + codes["c"], minlength=4 * 1_500).reshape(-1, 4)
    assert (values > 0).sum(axis=1).mean() > 2


def test_whoever_begins_again_begins_anew() -> None:
    public = random_crowd(rng(1), SIZES, 30)
    codes: Any = {n: c[::2] for n, c in public.codes.items()}
    for way in (
        Donors(public, ("a",), rng(2)).given(Sizes.public(public, 1).each(len(codes["a"]), 3)),
        dealt(Sizes(np.array([9.0, 9.0])).each(len(codes["a"]))),
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
