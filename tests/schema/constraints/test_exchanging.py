"""Rows out of order exchange codes: columns keep their counts, and change little otherwise."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.schema.constraints.worlds import COLUMNS, constraints
from understudy.errors import SchemaError
from understudy.schema import Categorical, Codes, Integer, Schema
from understudy.schema.constraints import Constraint, Never, Order
from understudy.schema.constraints.exchanging import exchanged
from understudy.schema.constraints.weighing import drawn

ROWS, GROUPS, WIDE = 8000, 10, 6
LAST = GROUPS * WIDE - 1


def numbered(names: str, *said: Constraint) -> Schema:
    columns = tuple(Integer(name=n, min=0, max=LAST, missing=False) for n in names)
    return Schema("t", columns, constraints=said)


def split_apart(rng: np.random.Generator, *, count: int) -> list[Codes]:
    """Columns of equal merged codes, of which each is split by itself."""
    group = rng.integers(0, GROUPS, ROWS)
    return [(group * WIDE + rng.integers(0, WIDE, ROWS)).astype(np.int32) for _ in range(count)]


def mean_gap(codes: dict[str, Codes], low: str, high: str) -> float:
    return float((codes[high].astype(np.int64) - codes[low]).mean())


def moved(before: Codes, after: Codes) -> float:
    """The total variation distance of a column before and after."""
    counts = [np.bincount(codes, minlength=LAST + 1) for codes in (before, after)]
    return float(np.abs(counts[0] - counts[1]).sum() / 2 / len(before))


def test_columns_and_their_difference_stay_where_codes_were_split_apart() -> None:
    rng = np.random.default_rng(1)
    a, b = split_apart(rng, count=2)
    codes = {"a": a, "b": b}
    kept = numbered("ab", Order("a", "b")).keeper.kept(codes, rng)
    assert (kept["a"] <= kept["b"]).all()
    assert (codes["a"] > codes["b"]).mean() > 0.3, "or nothing is tested"
    assert mean_gap(kept, "a", "b") < mean_gap(codes, "a", "b") + 0.2
    assert moved(a, kept["a"]) < 0.02
    assert moved(b, kept["b"]) < 0.02
    assert (np.abs(kept["b"] - b) <= 2 * WIDE).mean() > 0.99


def test_rows_that_are_far_out_of_order_do_not_move_the_difference() -> None:
    """Some rows are anything, as noise makes them: they exchange with each other."""
    rng = np.random.default_rng(2)
    a, b = split_apart(rng, count=2)
    noise = rng.random(ROWS) < 0.05
    b[noise] = rng.integers(0, LAST + 1, int(noise.sum()))
    codes = {"a": a, "b": b}
    kept = numbered("ab", Order("a", "b")).keeper.kept(codes, rng)
    assert (kept["a"] <= kept["b"]).all()
    assert abs(mean_gap(kept, "a", "b") - mean_gap(codes, "a", "b")) < 0.3


def test_a_chain_between_fixed_ends_keeps_its_columns() -> None:
    rng = np.random.default_rng(3)
    schema = numbered("bcae", Order("b", "c", "a", "e"))
    start, end = split_apart(rng, count=2)
    codes = {"c": start, "a": end}
    codes |= {"b": np.zeros(ROWS, dtype=np.int32), "e": np.full(ROWS, LAST, dtype=np.int32)}
    # One in twenty ends anywhere, before most of what was drawn for it.
    early = rng.random(ROWS) < 0.05
    codes["e"][early] = rng.integers(0, LAST, int(early.sum()))
    kept = schema.keeper.kept(codes, rng, fixed=("b", "e"))
    assert schema.keeper.obeyed(kept).all()
    assert all(np.array_equal(kept[name], codes[name]) for name in "be")
    for name in "ca":
        assert moved(codes[name], kept[name]) < 0.05
    assert mean_gap(kept, "c", "a") < mean_gap(codes, "c", "a") + 0.3


def test_what_nobody_can_exchange_goes_to_the_nearest_codes() -> None:
    """Every row is different in other columns, so that none tells what becomes of another."""
    rng = np.random.default_rng(4)
    a = rng.integers(10, LAST - 10, 500).astype(np.int32)
    codes = {"a": a, "b": a - 5}
    codes |= {name: rng.integers(0, LAST + 1, 500).astype(np.int32) for name in "cd"}
    never = Never({"b": {"max": 0}, "c": {"max": 0}, "d": {"max": 0}})
    kept = numbered("abcd", Order("a", "b"), never).keeper.kept(codes, rng)
    apart = np.abs(kept["a"] - codes["a"]) + np.abs(kept["b"] - codes["b"])
    assert (kept["a"] <= kept["b"]).all()
    assert np.quantile(apart, 0.95) <= 8
    assert np.array_equal(kept["c"], codes["c"])


def test_a_row_beyond_its_fixed_end_is_moved_no_farther_than_needed() -> None:
    """Neither of two columns alone would do; the nearest is not the first of all codes."""
    schema = numbered("cae", Order("c", "a", "e"))
    codes = {n: np.full(3, at, dtype=np.int32) for n, at in {"c": 40, "a": 42, "e": 30}.items()}
    kept = schema.keeper.kept(codes, np.random.default_rng(5), fixed=("e",))
    assert kept["c"].tolist() == kept["a"].tolist() == [30, 30, 30]


def test_missing_values_are_not_given_to_rows_that_have_some() -> None:
    columns = tuple(Integer(name=n, min=0, max=LAST, outside="nearest") for n in "ab")
    schema, rng = Schema("t", columns, constraints=(Order("a", "b"),)), np.random.default_rng(6)
    a, b = split_apart(rng, count=2)
    missing = schema["b"].missing_code
    assert missing is not None
    b[: ROWS // 2] = missing
    kept = schema.keeper.kept({"a": a, "b": b}, rng)
    assert schema.keeper.obeyed(kept).all()
    assert abs((kept["b"] == missing).mean() - 0.5) < 0.005


@tried(30)
@given(constraints(), st.integers(0, 2**32), st.booleans())
def test_exchanging_keeps_counts_and_what_is_fixed_and_breaks_no_more(
    said: tuple[Constraint, ...], seed: int, fixed: bool
) -> None:
    try:
        schema = Schema("small", COLUMNS, constraints=said)
    except SchemaError:
        assume(False)
    rng = np.random.default_rng(seed)
    codes = {n: rng.integers(0, s, 100).astype(np.int32) for n, s in schema.domain.items()}
    stays = ("a",) if fixed else ()
    for solver in schema.keeper.solvers:
        found = exchanged(solver, codes, rng, stays)
        assert all(np.array_equal(np.sort(found[n]), np.sort(codes[n])) for n in codes)
        assert not fixed or np.array_equal(found["a"], codes["a"])
        others = [r for r in solver.relations if not r.places]
        broken = [sum(int(r.broken(c).sum()) for r in others) for c in (codes, found)]
        assert broken[1] <= broken[0]
        again = exchanged(solver, codes, np.random.default_rng(7), stays)
        same = exchanged(solver, codes, np.random.default_rng(7), stays)
        assert all(np.array_equal(again[n], same[n]) for n in codes)


def test_categories_are_not_exchanged() -> None:
    columns = (
        Categorical(name="sex", values=("F", "M"), missing=False),
        Categorical(name="ward", values=("birth", "eyes"), missing=False),
    )
    schema = Schema("t", columns, constraints=(Never({"sex": "M", "ward": "birth"}),))
    rng = np.random.default_rng(8)
    codes = {n: rng.integers(0, s, 200).astype(np.int32) for n, s in schema.domain.items()}
    kept, good = schema.keeper.kept(codes, rng), schema.keeper.obeyed(codes)
    assert all(np.array_equal(kept[n][good], codes[n][good]) for n in codes)


def test_outcomes_are_drawn_by_their_weights_and_never_without_any() -> None:
    weights = np.array([[0.0, 1.0, 0.0, 3.0, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0]])
    which = np.repeat([0, 1], 20_000)
    found = drawn(weights, which, np.random.default_rng(9))
    counts = np.bincount(found[:20_000], minlength=5)
    assert (counts[[0, 2, 4]] == 0).all()
    assert abs(counts[3] - 15_000) < 300
    assert (found[20_000:] == 0).all()
