"""Support: what is put together, that it comes back, and that its noise is what is said."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import effort, tried
from understudy.budget import Currency
from understudy.door import Measurement
from understudy.public import PublicTable
from understudy.schema import (
    Categorical,
    Column,
    DateTime,
    Id,
    Integer,
    Numeric,
    Remainder,
    Schema,
    Split,
)
from understudy.synth.measure.support import FAINT, Rare, Rule, Support, find_support, merged_public

Floats = NDArray[np.float64]
RARES: tuple[Rare, ...] = ("neighbours", "other")


def rule(
    threshold: float = 3.0, *, rare: Rare = "neighbours", most: int = 100, bins: int = 100
) -> Rule:
    return Rule(threshold=threshold, rare=rare, most=most, bins=bins)


def ordered(column: Column, rare: Rare) -> int:
    """How many codes, from the first, have neighbours: values in order, no special one."""
    if rare == "other" or isinstance(column, Categorical):
        return 0
    if isinstance(column, Remainder):
        return column.step
    return column.bins if isinstance(column, Numeric) else column.values_count


def supported(
    column: Column,
    noisy: list[float] | Floats,
    *,
    scale: float = 1.0,
    by: Rule | None = None,
    public: PublicTable | None = None,
) -> Support:
    measured = Measurement(clique=(column.name,), values=np.asarray(noisy, float), scale=scale)
    return find_support(column, measured, by or rule(), public)


def public_of(column: Column, counts: list[int]) -> PublicTable:
    """A public table of one column, with so many rows of each code."""
    codes = np.repeat(np.arange(column.size), counts).astype(np.int32)
    declared: Any = column
    if isinstance(column, Remainder):
        declared = Integer(name=column.name, min=0, max=column.size - 1, missing=False)
    return PublicTable(
        schema=Schema("public", (declared,)),
        codes={column.name: codes},
        people=np.arange(len(codes)),
        numbers={},
    )


class Even(np.random.Generator):
    """Draws that lie evenly from 0 to 1, so that shares come out as they are."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return (np.arange(size) + 0.5) / size


class Last(Even):
    """Draws that are all the largest there is below 1."""

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return np.full(size, math.nextafter(1.0, 0.0))


# Columns of every kind

TEXTS = tuple("abcdefghij")
outsides: st.SearchStrategy[Any] = st.sampled_from(["nearest", "other", "drop"])


@st.composite
def lists(draw: st.DrawFn) -> Categorical:
    values = TEXTS[: draw(st.integers(1, 10))]
    grouped = draw(st.booleans())
    group = st.sampled_from(["", "north", "south", "west"])
    outside = draw(outsides.filter(lambda o: o != "nearest"))
    named = draw(st.sampled_from([None, values[0]]))
    return Categorical(
        name="x",
        values=values,
        missing=draw(st.booleans()),
        outside=outside,
        other=values[-1] if outside == "other" and draw(st.booleans()) else None,
        missing_value=named,
        groups=tuple(draw(group) for _ in values) if grouped else (),
    )


integers = st.builds(
    Integer,
    name=st.just("x"),
    min=st.just(-2),
    max=st.integers(-2, 20),
    outside=outsides,
    missing=st.booleans(),
)
numerics = st.builds(
    Numeric,
    name=st.just("x"),
    edges=st.integers(2, 20).map(lambda n: tuple(map(float, range(n)))),
    special=st.sampled_from([(), (99.0,), (98.0, 99.0)]),
    outside=outsides,
    missing=st.booleans(),
)
parts = st.builds(
    DateTime,
    name=st.just("x"),
    part=st.sampled_from(["hour", "weekday"]),
    outside=outsides,
    missing=st.booleans(),
)


@st.composite
def rests(draw: st.DrawFn) -> Column:
    step = draw(st.integers(2, 12))
    split = Split(
        name="whole",
        parts=("steps", "x"),
        step=step,
        max=10 * step + 1,
        special=draw(st.sampled_from([(), (999,)])),
        outside=draw(outsides),
        missing=draw(st.booleans()),
    )
    return split.modelled[1]


columns: st.SearchStrategy[Any] = st.one_of(lists(), integers, numerics, parts, rests())
rules = st.builds(
    Rule,
    threshold=st.sampled_from([0.0, 0.5, 3.0, 10.0, math.inf]),
    rare=st.sampled_from(RARES),
    most=st.integers(1, 12),
    bins=st.integers(1, 8),
)
scales = st.sampled_from([0.03, 1.0, 7.5, 300.0])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Column, Floats, float, Rule, PublicTable | None]:
    """A column, a noisy marginal of it with its noise, a rule, and perhaps public rows."""
    column = draw(columns)
    scale = draw(scales)
    sizes = st.one_of(
        st.floats(-5, 5),
        st.floats(-50, 50),
        st.sampled_from([0.0, 3.0, math.nextafter(3.0, 0), 1e6]),
    )
    noisy = draw(st.lists(sizes, min_size=column.size, max_size=column.size))
    public = None
    if draw(st.booleans()):
        counts = st.lists(st.integers(0, 3), min_size=column.size, max_size=column.size)
        public = public_of(column, draw(counts.filter(any)))
    return column, np.array(noisy) * scale, scale, draw(rules), public


Case = tuple[Column, Floats, float, Rule, PublicTable | None]


def found(case: Case) -> Support:
    column, noisy, scale, by, public = case
    return supported(column, noisy, scale=scale, by=by, public=public)


def slowly(case: Case) -> list[bool]:
    """Which codes are supported, one after the other in plain Python."""
    column, noisy, scale, by, _ = case
    if by.threshold == 0:
        return [True] * column.size
    over = [code for code, count in enumerate(noisy) if count >= by.threshold * scale]
    kept = set(sorted(over, key=lambda code: (-noisy[code], code))[: by.most])
    if not isinstance(column, Categorical) or not any(column.groups):
        return [code in kept for code in range(column.size)]
    group = [*column.groups, "", ""]
    names = sorted({name for name in column.groups if name})
    mass = {n: noisy[[c for c in range(column.size) if group[c] == n]].sum() for n in names}
    best = max(names, key=lambda n: (mass[n], [-ord(c) for c in n]))
    return [
        group[code] == best or (group[code] == "" and code in kept) for code in range(column.size)
    ]


# What is put together


@given(cases())
@tried(400)
def test_merged_codes_have_no_gap_and_are_no_more_than_the_rule_says(case: Case) -> None:
    column, _, _, by, _ = case
    support = found(case)
    assert len(support.codes) == len(support.likely) == len(support.supported) == column.size
    assert np.unique(support.codes).tolist() == list(range(support.merge.size))
    assert support.merge.size <= by.most_codes(column) <= column.size
    assert support.is_whole == (support.merge.size == column.size)
    assert support.column == support.merge.column == column.name


@given(cases())
@tried(400)
def test_a_code_is_supported_as_the_slow_version_says(case: Case) -> None:
    assert found(case).supported.tolist() == slowly(case)


@given(cases())
@tried(300)
def test_supported_codes_of_a_list_are_by_themselves_and_all_others_are_one(case: Case) -> None:
    """Others that are no values are with the most common code, where there is one."""
    column, noisy, _, by, _ = case
    support = found(case)
    first = ordered(column, by.rare)
    if by.threshold == 0:
        return
    inside, listed = support.codes[:first], support.codes[first:]
    held = support.supported[first:]
    assert not set(inside.tolist()) & set(listed[held].tolist())
    assert len(set(listed[held].tolist())) == held.sum()
    assert len(set(listed[~held].tolist())) == (not held.all())
    # Codes keep their order, and what is rare comes last.
    assert listed[held].tolist() == sorted(listed[held].tolist())
    if support.supported.any() and held[: column.values_count - first].all():
        common = max(np.flatnonzero(support.supported), key=lambda code: (noisy[code], -code))
        assert set(listed[~held].tolist()) <= {support.codes[common]}
    elif not held.all():
        assert not {*inside.tolist(), *listed[held].tolist()} & set(listed[~held].tolist())
        assert listed[~held].min() == support.codes.max()


@given(cases())
@tried(300)
def test_neighbours_of_an_ordered_column_stay_neighbours(case: Case) -> None:
    column, _, _, by, _ = case
    support = found(case)
    inside = support.codes[: ordered(column, by.rare)]
    assert set(np.diff(inside).tolist()) <= {0, 1}
    assert not len(inside) or inside[0] == 0
    assert by.threshold == 0 or len(set(inside.tolist())) <= by.bins


@given(cases())
@tried(300)
def test_rare_neighbours_go_together_until_they_are_told_from_noise_and_no_further(
    case: Case,
) -> None:
    column, noisy, scale, by, _ = case
    if by.threshold == 0:
        return
    by = replace(by, bins=10_000)
    support = supported(column, noisy, scale=scale, by=by)
    last = ordered(column, by.rare)
    for part in range(int(support.codes[:last].max(initial=-1)) + 1):
        own = np.flatnonzero(support.codes[:last] == part)
        if support.supported[own].any():
            assert len(own) == 1
            continue
        told = np.cumsum(noisy[own]) >= by.threshold * scale * np.sqrt(np.arange(len(own)) + 1)
        assert not told[:-1].any()
        ends = own[-1] + 1 == last or bool(support.supported[own[-1] + 1])
        assert bool(told[-1]) or ends


def test_a_rare_age_goes_with_ages_beside_it() -> None:
    """Noise of 1, threshold 3: 100 stays alone, 1 + 2 + 2.5 are told from noise, at 3·√3."""
    age = Integer(name="age", min=0, max=8, missing=True)
    noisy = [100.0, 1, 2, 2.5, 0, 0, 50, 60, 2, 70]
    support = supported(age, noisy)
    assert support.codes.tolist() == [0, 1, 1, 1, 2, 2, 3, 4, 5, 6]
    assert support.supported.tolist() == [code in {0, 6, 7, 9} for code in range(10)]
    other = supported(age, noisy, by=rule(rare="other"))
    assert other.codes.tolist() == [0, 4, 4, 4, 4, 4, 1, 2, 4, 3]


def test_a_count_just_as_large_as_the_threshold_is_supported_and_one_below_it_is_not() -> None:
    """Three times the noise that this column was asked with, whatever that is."""
    column = Categorical(name="x", values=("a", "b"), missing=False, outside="drop")
    for scale in (0.5, 1.0, 40.0):
        below = math.nextafter(3 * scale, 0)
        assert supported(column, [3 * scale, below], scale=scale).supported.tolist() == [
            True,
            False,
        ]


@given(
    st.lists(st.floats(0, 1000), min_size=1, max_size=60),
    st.integers(1, 12),
    st.sampled_from([1e-3, 1.0]),
)
@tried(200)
def test_many_codes_are_grouped_into_parts_of_about_equal_mass(
    counts: list[float], bins: int, scale: float
) -> None:
    """No group has more than an even share and the largest code that it must hold whole."""
    column = Integer(name="x", min=1, max=len(counts), missing=False)
    noisy = np.array(counts)
    fine = supported(column, noisy, scale=scale, by=rule(most=1000, bins=1000))
    support = supported(column, noisy, scale=scale, by=rule(most=1000, bins=bins))
    if fine.merge.size <= bins:
        assert support.codes.tolist() == fine.codes.tolist()
        return
    assert support.merge.size <= bins
    even = noisy.sum() / bins
    assert support.sums(noisy).max() <= (even + fine.sums(noisy).max()) * (1 + 1e-9)
    # What was together before stays together.
    assert len(np.unique(fine.codes * 1000 + support.codes)) == fine.merge.size


def test_eight_equal_codes_in_four_groups_are_four_pairs() -> None:
    column = Integer(name="x", min=1, max=8, missing=False)
    support = supported(column, [50.0] * 8, by=rule(bins=4))
    assert support.codes.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    heavy = supported(column, [700.0, *[50.0] * 7], by=rule(bins=4))
    assert heavy.codes.tolist() == [0, 1, 1, 1, 2, 2, 2, 3]


def test_what_is_merged_is_as_little_as_any_cut_into_so_many_groups_allows() -> None:
    rng = np.random.default_rng(5)
    column = Integer(name="x", min=1, max=9, missing=False)
    for _ in range(40):
        noisy, bins = np.ceil(rng.exponential(100, 9)) + 10, int(rng.integers(1, 9))
        found = supported(column, noisy.tolist(), by=rule(bins=bins))

        def merged(starts: tuple[int, ...], noisy: Floats = noisy) -> float:
            groups = np.split(noisy, starts)
            return max((float(g.sum()) for g in groups if len(g) > 1), default=0.0)

        cuts = itertools.combinations(range(1, 9), bins - 1)
        starts = tuple((np.flatnonzero(np.diff(found.codes)) + 1).tolist())
        assert merged(starts) == min(merged(cut) for cut in cuts)


def test_codes_of_much_mass_are_by_themselves_though_there_are_more_than_groups() -> None:
    column = Integer(name="fare", min=1, max=39, missing=False)
    noisy = [1000.0 * 0.9**i for i in range(39)]
    support = supported(column, noisy, by=rule(bins=32))
    assert support.codes[:24].tolist() == list(range(24))
    assert support.merge.size == 32


def test_one_code_more_than_groups_merges_one_pair_however_equal_they_are() -> None:
    column = Integer(name="x", min=1, max=33, missing=False)
    support = supported(column, [50.0] * 33, by=rule(bins=32))
    assert support.merge.size == 32
    assert supported(column, [50.0] * 33, by=rule(bins=1)).codes.tolist() == [0] * 33


def test_only_the_largest_codes_are_by_themselves_where_there_are_too_many() -> None:
    column = Categorical(name="x", values=tuple("abcde"), missing=False, outside="drop")
    support = supported(column, [10.0, 50, 20, 50, 9], by=rule(most=3))
    assert support.supported.tolist() == [False, True, True, True, False]
    assert support.codes.tolist() == [3, 0, 1, 2, 3]
    tie = supported(column, [10.0] * 5, by=rule(most=2))
    assert tie.supported.tolist() == [True, True, False, False, False]


# Special codes, and how many there can be

WAGE = Split(
    name="wage", parts=("steps", "x"), step=4, max=41, special=(77,), outside="other", missing=True
)


def test_special_missing_and_other_codes_are_never_neighbours_of_numbers() -> None:
    """Bins, then what is special, missing and other, each rare: the last three are one."""
    fare = Numeric(name="x", edges=(0.0, 1.0, 2.0, 3.0), special=(-1.0,), outside="other")
    assert fare.size == 6
    assert supported(fare, [0.0, 0, 50, 1, 1, 1]).codes.tolist() == [0, 0, 1, 2, 2, 2]
    assert supported(fare, [0.0, 0, 50, 9, 1, 9]).codes.tolist() == [0, 0, 1, 2, 1, 3]
    assert supported(fare, [0.0, 0, 50, 1, 1, 9]).codes.tolist() == [0, 0, 1, 3, 3, 2]
    rest = WAGE.modelled[1]
    assert rest.size == 7
    assert supported(rest, [9.0, 0, 0, 9, 1, 9, 1]).codes.tolist() == [0, 1, 1, 2, 4, 3, 4]


CITIES = Categorical(
    name="x",
    values=tuple("abcdefg"),
    groups=("north", "north", "south", "south", "south", "", ""),
    missing=True,
    outside="drop",
)
LARGEST = [
    ("a list", Categorical(name="x", values=TEXTS, missing=True), rule(most=4), 5),
    ("a short list", Categorical(name="x", values=("a", "b"), missing=True), rule(most=40), 4),
    ("a list, nothing merged", Categorical(name="x", values=TEXTS), rule(0.0, most=1), 12),
    ("numbers", Integer(name="x", min=1, max=50, missing=True), rule(bins=8), 9),
    ("numbers as a list", Integer(name="x", min=1, max=50), rule(rare="other", most=7), 8),
    ("few numbers", Integer(name="x", min=1, max=3, missing=True), rule(bins=8), 4),
    ("bins", Numeric(name="x", edges=(0.0, 1.0, 2.0, 3.0), special=(7.0,)), rule(bins=2), 4),
    ("remainders", WAGE.modelled[1], rule(bins=3, most=90), 6),
    ("groups", CITIES, rule(most=100), 7),
    ("groups, few others", CITIES, rule(most=1), 5),
]


@pytest.mark.parametrize(
    ("column", "by", "most"), [c[1:] for c in LARGEST], ids=[c[0] for c in LARGEST]
)
def test_as_many_codes_can_be_left_as_the_rule_says(column: Any, by: Rule, most: int) -> None:
    """The most that it says is not more than there can be, for some marginal."""
    assert by.most_codes(column) == most
    rng = np.random.default_rng(0)
    tried = [np.full(column.size, 50.0), 50 + rng.random(column.size)]
    tried += [rng.choice([0.0, 50.0], column.size) for _ in range(effort(100, 200))]
    assert max(supported(column, noisy, by=by).merge.size for noisy in tried) == most


# Groups


def test_the_group_of_most_noisy_mass_is_supported_whole_and_no_other() -> None:
    """South has most in all, though a of north is the largest city."""
    noisy = [90.0, 9, 60, -2, 50, 1, 40, 2]
    support = supported(CITIES, noisy)
    assert support.supported.tolist() == [c in {2, 3, 4, 6} for c in range(8)]
    assert support.codes.tolist() == [4, 4, 0, 1, 2, 4, 3, 4]
    # A city of no noisy count has a code, and it comes back as what it is.
    assert support.spread(np.array([1, 1]), np.random.default_rng(0)).tolist() == [3, 3]
    # All that is rare becomes one of the cities elsewhere, or the one of no state.
    drawn = support.spread(np.full(2000, 4), np.random.default_rng(0))
    assert set(drawn.tolist()) == {0, 1, 5}


def test_groups_are_no_matter_where_every_value_belongs_to_nothing() -> None:
    column = Categorical(name="x", values=("a", "b"), groups=("", ""), missing=False)
    assert supported(column, [9.0, 1, 1]).codes.tolist() == [0, 1, 1]
    assert rule().most_codes(column) == 3


def test_of_groups_with_the_same_mass_the_first_by_name_is_taken() -> None:
    column = Categorical(name="x", values=("a", "b"), groups=("z", "y"), outside="drop")
    assert supported(column, [5.0, 5, 0]).supported.tolist() == [False, True, False]


def test_the_group_is_supported_even_where_there_is_nothing_in_it() -> None:
    support = supported(CITIES, [-9.0, -9, -1, -1, -1, -1, -1, -1])
    assert support.supported.tolist() == [c in {2, 3, 4} for c in range(8)]
    assert support.likely[[0, 1, 5, 6]].tolist() == [0.25] * 4


# The way back


@given(cases(), st.integers(0, 2**32))
@tried(300)
def test_a_merged_code_becomes_one_of_its_own_that_has_a_chance(case: Case, seed: int) -> None:
    support = found(case)
    rng = np.random.default_rng(seed)
    merged = rng.integers(support.merge.size, size=60).astype(np.int32)
    drawn = support.spread(merged, rng)
    assert drawn.dtype == np.int32
    assert support.codes[drawn].tolist() == merged.tolist()
    alone = np.bincount(support.codes)[merged] == 1
    assert np.all(alone | (support.likely[drawn] > 0))


@given(cases())
@tried(200)
def test_codes_come_back_as_often_as_they_are_likely(case: Case) -> None:
    """The shares are exact, but for one of many."""
    support, many = found(case), 2000
    for merged in range(support.merge.size):
        own = support.codes == merged
        drawn = support.spread(np.full(many, merged), np.random.default_rng(merged))
        counts = np.bincount(drawn, minlength=len(own))
        assert counts[own].sum() == many
        if own.sum() > 1:
            wanted = many * support.likely[own] / support.likely[own].sum()
            assert np.abs(counts[own] - wanted).max() <= 1 + 1e-6


@given(cases())
@tried(200)
def test_a_merged_code_of_several_always_has_one_to_become(case: Case) -> None:
    support = found(case)
    several = np.bincount(support.codes) > 1
    assert np.all(support.likely >= 0)
    assert np.isfinite(support.likely).all()
    assert np.all(support.sums(support.likely)[several] > 0)


@given(cases())
@tried(200)
def test_supported_codes_come_back_by_their_noisy_counts_and_the_rest_by_what_is_left(
    case: Case,
) -> None:
    column, noisy, _, by, _ = case
    support = found(case)
    if by.threshold == 0:
        assert set(support.likely.tolist()) == {1.0}
        return
    held = support.supported
    assert support.likely[held].tolist() == np.maximum(noisy[held], FAINT).tolist()
    rare = support.sums(np.where(held, 0.0, noisy))
    given_ = support.sums(np.where(held, 0.0, support.likely))
    for merged in range(support.merge.size):
        own = support.codes == merged
        values = own[: column.values_count]
        if held[own].any() and held[: column.values_count][values].all():
            # What is no value never comes out beside values.
            assert given_[merged] == 0
            continue
        # Where nothing else has a chance, the rare ones have all of it.
        least = 0.0 if support.likely[own & held].any() else 1.0
        assert given_[merged] == pytest.approx(max(rare[merged], least), rel=1e-9)


LETTERS = Categorical(name="x", values=tuple("abcd"), missing=True, outside="other")


def shares(support: Support) -> list[float]:
    """What codes get of the merged code of all that is rare, which is the last."""
    own = np.where(support.codes == support.codes.max(), support.likely, 0.0)
    return [round(float(share), 12) for share in own / own.sum()]


def test_rare_codes_share_evenly_where_nothing_is_known_of_them() -> None:
    noisy = [50.0, 1, 0, -1, 2, 2]
    assert shares(supported(LETTERS, noisy)) == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0, 0])
    # Public rows that have none of them tell nothing either.
    public = public_of(LETTERS, [9, 0, 0, 0, 0, 0])
    assert shares(supported(LETTERS, noisy, public=public)) == pytest.approx(
        [0, 1 / 3, 1 / 3, 1 / 3, 0, 0]
    )


def shares_off(true: Floats, *, scale: float, currency: Currency, seed: int) -> list[float]:
    """How far off shares are, as they are found, evenly, and by noisy counts as they are."""
    rng = np.random.default_rng(seed)
    column = Categorical(
        name="x", values=tuple(f"v{i}" for i in range(len(true))), missing=False, outside="drop"
    )
    noise = rng.normal if currency == Currency.GDP else rng.laplace
    noisy = true + noise(0, scale, len(true))
    measured = Measurement(clique=("x",), values=noisy, scale=scale)
    kept = rule(math.inf)
    found_ = find_support(column, measured, kept, None, currency=currency).likely
    guesses = [found_, np.ones(len(true)), np.maximum(noisy, 0.0)]
    return [float(np.abs(g / g.sum() - true / true.sum()).sum()) / 2 for g in guesses]


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
@pytest.mark.parametrize("scale", [5.0, 30.0, 100.0, 1000.0])
@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0, 3.0])
def test_rare_codes_share_by_what_noise_has_left_of_their_counts(
    spread: float, scale: float, currency: Currency
) -> None:
    """They are about as near as the better of two guesses, and nearer where both say something."""
    rng = np.random.default_rng(1)
    true = np.full(60, 100.0) if spread == 0 else rng.gamma(1 / spread, 100 * spread, 60)
    off = np.mean(
        [shares_off(true, scale=scale, currency=currency, seed=seed) for seed in range(20)], axis=0
    )
    assert off[0] <= 1.15 * off[1:].min() + 0.12
    if (spread, scale) == (0.3, 30.0):
        assert off[0] < 0.87 * off[1:].min()


def test_rare_codes_share_by_public_frequency() -> None:
    public = public_of(LETTERS, [50_000, 300, 0, 100, 4000, 4000])
    found_ = supported(LETTERS, [50.0, 1, 0, -1, 2, 2], public=public)
    assert shares(found_) == pytest.approx([0, 0.75, 0, 0.25, 0, 0], abs=0.01)
    # What is supported comes back by its noisy count, whatever public rows say.
    assert found_.likely[0] == 50.0


def test_few_public_people_say_little_of_rare_codes_whatever_rows_they_have() -> None:
    """Five of forty values are all that five people have; forty people who differ say no more."""
    column = Integer(name="x", min=0, max=39, missing=False)
    for people, rows in ((5, 1), (5, 1000), (40, 3)):
        codes = np.repeat(np.arange(people) * 7 % 40, rows)
        who = np.repeat(np.arange(people), rows)
        public = replace(public_of(column, np.bincount(codes, minlength=40).tolist()), people=who)
        public = replace(public, codes={"x": codes})
        found = supported(column, np.ones(40), scale=9.0, public=public)
        assert found.size == 1
        assert found.likely == pytest.approx(found.likely[0])
    # Where a thousand people have the same five, others are rare.
    codes = np.arange(1000) % 5 * 7
    many = replace(public_of(column, np.bincount(codes, minlength=40).tolist()), codes={"x": codes})
    likely = supported(column, np.ones(40), scale=9.0, public=many).likely
    assert likely[::7][:5].sum() > 0.99 * likely.sum()


def test_what_few_public_people_have_is_not_supported_by_them_however_often() -> None:
    column = Integer(name="x", min=0, max=39, missing=False)
    codes = np.repeat(np.arange(21) % 2, 100)
    public = replace(
        public_of(column, np.bincount(codes, minlength=40).tolist()), codes={"x": codes}
    )
    by = replace(rule(), seen=0.0005)
    alike = replace(public, people=np.repeat(np.arange(21), 100))
    assert not supported(column, np.ones(40), scale=9.0, by=by, public=alike).supported.any()
    apart = replace(public, people=np.arange(2100))
    assert supported(column, np.ones(40), scale=9.0, by=by, public=apart).supported[:2].all()


def test_rare_codes_share_evenly_where_the_rule_says_so() -> None:
    """Whatever public rows, or noisy counts, say of them."""
    public = public_of(LETTERS, [500, 3, 0, 1, 40, 40])
    even = replace(rule(), evenly=True)
    found_ = supported(LETTERS, [50.0, 2.9, 0, -1, 2, 2], by=even, public=public)
    assert shares(found_) == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0, 0])
    assert found_.likely[0] == 50.0


def test_what_is_no_value_gets_nothing_where_there_are_values_and_all_where_there_are_none() -> (
    None
):
    assert shares(supported(LETTERS, [9.0, 9, 9, 1, 1, 1])) == [0, 0, 0, 1, 0, 0]
    age = Integer(name="x", min=0, max=3, missing=True, outside="other")
    few = [-1.0, 0, 0, -1, 1, 1]
    assert shares(supported(age, few)) == [0, 0, 0, 0, 0.5, 0.5]
    public = public_of(age, [1000, 1000, 1000, 1000, 3000, 1000])
    found = shares(supported(age, few, public=public))
    assert found == pytest.approx([0, 0, 0, 0, 0.75, 0.25], abs=0.01)


@pytest.mark.parametrize("counts", [None, [1, 1, 1, 1, 3, 1]], ids=["alone", "public"])
def test_what_is_no_value_goes_with_the_most_common_code_and_never_comes_out(
    counts: list[int] | None,
) -> None:
    public = None if counts is None else public_of(LETTERS, counts)
    support = supported(LETTERS, [9.0, 9, 70, 9, 2, 2], public=public)
    assert support.codes.tolist() == [0, 1, 2, 3, 2, 2]
    assert support.likely.tolist() == [9.0, 9, 70, 9, 0, 0]
    assert set(support.spread(np.full(500, 2), Even()).tolist()) == {2}
    assert support.spread(np.array([2]), Last()).tolist() == [2]


def test_a_supported_code_of_no_count_has_a_faint_chance() -> None:
    """Its group is supported whole, and it may be all that its merged code has."""
    support = supported(CITIES, [-9.0, -9, 50, -1, 0, 9, 9, 9])
    assert support.likely.tolist() == [1 / 2, 1 / 2, 50, FAINT, FAINT, 9, 9, 9]


def test_nor_does_it_where_public_rows_have_none_of_the_values() -> None:
    public = public_of(LETTERS, [500, 0, 0, 0, 4, 0])
    found_ = supported(LETTERS, [50.0, 1, 1, 1, 1, 1], public=public)
    assert shares(found_) == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0, 0])


def test_not_even_the_last_draw_becomes_a_code_without_a_chance() -> None:
    support = supported(LETTERS, [1e6, 1, 0, 0, 0, 0])
    drawn = support.spread(np.array([1]), Last())
    assert support.likely[drawn[0]] > 0


# All or nothing is supported


@pytest.mark.parametrize("rare", RARES)
@pytest.mark.parametrize(
    "column",
    [LETTERS, CITIES, Integer(name="x", min=0, max=6), WAGE.modelled[1]],
    ids=lambda c: c.kind,
)
def test_a_threshold_of_none_keeps_every_code_by_itself(column: Any, rare: Rare) -> None:
    noisy = np.linspace(-5, 900, column.size)
    support = supported(column, noisy, by=rule(0.0, rare=rare, most=1, bins=1))
    assert support.codes.tolist() == list(range(column.size))
    assert support.is_whole
    assert support.supported.all()
    merged = np.arange(column.size)
    assert support.spread(merged, np.random.default_rng(1)).tolist() == merged.tolist()


@pytest.mark.parametrize("threshold", [3.0, math.inf])
def test_a_column_of_which_nothing_is_supported_becomes_any_of_its_values(threshold: float) -> None:
    support = supported(LETTERS, [0.5, 0, 0, 0.5, -2, 0], by=rule(threshold))
    assert support.codes.tolist() == [0] * 6
    assert not support.supported.any()
    drawn = support.spread(np.zeros(400, dtype=np.int64), Even())
    counts = np.bincount(drawn, minlength=6)
    # Noise says next to nothing of which are more frequent.
    assert np.abs(counts[:4] - 100).max() <= 10
    assert not counts[4:].any()
    age = Integer(name="x", min=0, max=9, missing=True)
    few = supported(age, [-1.0] * 11, by=rule(threshold))
    assert few.codes.tolist() == [0] * 10 + [1]
    assert np.bincount(few.spread(np.zeros(400, int), Even())).tolist() == [40] * 10


# Restated


def restating(support: Support, clique: tuple[str, ...]) -> Floats:
    """The matrix that restating is: what it makes of an answer of 1 for one code, 0 for others."""
    units = [Measurement(clique=clique, values=u, scale=2.5) for u in np.eye(len(support.codes))]
    return np.array([support.restated(unit).values for unit in units]).T


@given(cases())
@tried(150)
def test_a_restated_answer_has_the_same_sum_and_each_number_of_it_its_own_noise(case: Case) -> None:
    """With y = x + noise of variance s², A·y has covariance s²·A·Aᵀ, which is s² on the diagonal.

    And what it says of merged counts is what the answer said: A·x is its rows over them.
    """
    column, noisy, scale, _, _ = case
    support = found(case)
    measured = Measurement(clique=(column.name,), values=noisy, scale=scale, group="question 3")
    restated = support.restated(measured)
    size = support.merge.size
    assert (restated.clique, restated.scale, restated.group) == (
        (column.name,),
        scale,
        "question 3",
    )
    matrix = restating(support, (column.name,))
    assert np.allclose(matrix @ matrix.T, np.eye(size), rtol=0, atol=1e-12)
    assert np.allclose(matrix @ noisy, restated.values, rtol=1e-9, atol=1e-9 * scale)
    said = np.eye(size) if restated.rows is None else restated.matrix(size).toarray()
    merging = np.eye(size)[:, support.codes]
    assert np.allclose(said @ merging, matrix, rtol=0, atol=1e-12)
    # So the sum over all codes is the answer's own.
    total = np.linalg.solve(said, restated.values).sum()
    assert total == pytest.approx(noisy.sum(), rel=1e-9, abs=1e-6 * scale)


def test_an_answer_of_which_nothing_is_merged_is_restated_as_it_is() -> None:
    noisy = np.array([9.0, -8, 7, 60, 5, 4])
    measured = Measurement(clique=("x",), values=noisy, scale=1.5)
    restated = supported(LETTERS, noisy, by=rule(0.0)).restated(measured)
    assert restated.values.tolist() == noisy.tolist()
    assert restated.rows is None
    assert restated.weights is None
    # One rare code alone is nobody's company: it has another number, and its own count.
    moved = supported(LETTERS, [9.0, 1, 9, 9, 9, 9])
    assert moved.codes.tolist() == [0, 5, 1, 2, 3, 4]
    assert moved.restated(measured).values.tolist() == [9.0, 7, 60, 5, 4, -8]


def test_four_counts_as_one_have_twice_the_noise_and_are_weighed_by_half() -> None:
    noisy = np.array([50.0, 1, 2, 1, 2, 60])
    restated = supported(LETTERS, noisy).restated(
        Measurement(clique=("x",), values=noisy, scale=1.0)
    )
    assert restated.values.tolist() == [50.0, 60.0, 3.0]
    assert restated.weights is not None
    assert restated.weights.tolist() == [1.0, 1.0, 0.5]


# Public rows


def test_a_public_table_is_seen_with_merged_codes() -> None:
    schema = Schema(
        "t",
        (
            Id(name="who"),
            Integer(name="a", min=0, max=4, missing=False),
            Integer(name="b", min=0, max=2, missing=False),
        ),
    )
    rng = np.random.default_rng(2)
    public = PublicTable(
        schema=schema,
        codes={"a": rng.integers(5, size=40), "b": rng.integers(3, size=40)},
        people=np.repeat(np.arange(20), 2),
        numbers={"a": rng.random(40)},
    )
    support = supported(schema["a"], [50.0, 0, 0, 50, 50], by=rule(rare="other"))
    seen = merged_public(public, [support])
    assert support.codes.tolist() == [0, 3, 3, 1, 2]
    assert seen.schema.domain == {"a": 4, "b": 3}
    assert [c.name for c in seen.schema.ids] == ["who"]
    assert seen.people is public.people
    assert seen.numbers == {}
    own = public.marginal(("a", "b")).reshape(5, 3)
    wanted = np.zeros((4, 3), dtype=np.int64)
    np.add.at(wanted, support.codes, own)
    assert seen.marginal(("a", "b")).tolist() == wanted.reshape(-1).tolist()
    assert seen.codes["b"] is public.codes["b"]
    assert merged_public(public, []).marginal(("a",)).tolist() == public.marginal(("a",)).tolist()
