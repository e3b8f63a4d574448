"""Room: of two orders the one is taken that gains most, and the limit is kept."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import effort, tried
from understudy.graph import Domain, model_bytes
from understudy.schema.domain import Clique
from understudy.synth.pairs.gains import ORDERS, roomiest, roomy

SIZES = Domain({"a": 2, "b": 3, "c": 5, "d": 12, "e": 40})
PAIRS: list[Clique] = list(itertools.combinations(SIZES.sizes, 2))


def obvious(gains: dict[Clique, float], begun: list[Clique], limit: int, power: float) -> float:
    """Return what a plan gains that looks at every pair anew at every step."""
    chosen, free = list(begun), dict(gains)
    while True:
        held = model_bytes(SIZES, chosen)
        rooms = {p: max(1, model_bytes(SIZES, [*chosen, p]) - held) for p in free}
        fitting = [p for p in free if held + rooms[p] <= limit]
        if not fitting:
            return math.fsum(gains[p] for p in chosen[len(begun) :])
        best = min(fitting, key=lambda p: (-gains[p] / rooms[p] ** power, p))
        chosen.append(best)
        del free[best]


@given(
    st.dictionaries(st.sampled_from(PAIRS), st.floats(0.01, 100.0)),
    st.lists(st.sampled_from(PAIRS), unique=True, max_size=3),
    st.integers(0, 40_000),
)
@tried(200)
def test_the_limit_is_kept_and_what_fits_is_taken(
    gains: dict[Clique, float], begun: list[Clique], limit: int
) -> None:
    gains = {p: g for p, g in gains.items() if p not in begun}
    found = roomy(gains, begun, SIZES, limit=limit)
    assert len(set(found)) == len(found)
    assert set(found) <= set(gains)
    held = model_bytes(SIZES, [*begun, *found])
    assert held <= max(limit, model_bytes(SIZES, begun))
    left = [p for p in gains if p not in found]
    if model_bytes(SIZES, [*begun, *gains]) <= limit:
        assert not left


def test_looking_at_the_first_in_line_only_loses_next_to_nothing() -> None:
    """Rooms grow but for ties of the greedy trees: of all plans together, a hundredth at most."""
    rng = np.random.default_rng(3)
    lazy = eager = 0.0
    for _ in range(effort(60, 200)):
        gains = {p: float(rng.exponential()) for p in PAIRS if rng.random() < 0.8}
        limit = int(rng.integers(1_000, 40_000))
        lazy += math.fsum(gains[p] for p in roomy(gains, [], SIZES, limit=limit))
        eager += max(obvious(gains, [], limit, power) for power in ORDERS)
    assert lazy >= 0.99 * eager


def test_a_few_large_pairs_may_be_worth_more_than_many_small_ones() -> None:
    gains: dict[Clique, float] = {("d", "e"): 100.0, ("a", "b"): 1.0, ("a", "c"): 1.0}
    gains |= {("b", "c"): 1.0, ("c", "d"): 1.0, ("a", "d"): 1.0, ("b", "d"): 1.0}
    limit = model_bytes(SIZES, [("d", "e")]) + 1
    assert roomy(gains, [], SIZES, limit=limit)[0] == ("d", "e")


def test_many_small_pairs_may_be_worth_more_than_a_large_one() -> None:
    gains: dict[Clique, float] = {("d", "e"): 3.0, ("a", "b"): 2.0, ("b", "c"): 2.0}
    limit = model_bytes(SIZES, [("d", "e")]) + 1
    assert set(roomy(gains, [], SIZES, limit=limit)) == {("a", "b"), ("b", "c")}


def test_a_pair_that_needs_no_room_is_taken() -> None:
    """A cycle of four has one of its chords whatever is asked; the model is as large with it."""
    sizes = Domain(dict.fromkeys("abcd", 3))
    path: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d")]
    gains: dict[Clique, float] = {("a", "d"): 100.0, ("a", "c"): 5.0}
    limit = model_bytes(sizes, [*path, *gains])
    assert limit == model_bytes(sizes, [*path, ("a", "d")])
    assert roomy(gains, path, sizes, limit=limit) == [("a", "d"), ("a", "c")]
    assert roomy({("a", "c"): 5.0}, [*path, ("a", "d")], sizes, limit=limit) == [("a", "c")]


def test_a_larger_model_is_used_only_where_it_is_worth_its_time() -> None:
    gains: dict[Clique, float] = {("a", "b"): 2.0, ("b", "c"): 2.0, ("d", "e"): 3.0}
    small, large = model_bytes(SIZES, [("d", "e")]) - 1, model_bytes(SIZES, list(gains))

    def chosen(share: float, left: float = 10.0) -> tuple[set[Clique], int]:
        limits = {small: 0.0, large: share}
        new, limit = roomiest(gains, [], SIZES, limits=limits, left=lambda _: left)
        return set(new), limit

    assert chosen(0.29) == (set(gains), large)
    assert chosen(0.31) == ({("a", "b"), ("b", "c")}, small)
    assert chosen(0.29, left=12.0) == ({("a", "b"), ("b", "c")}, small)


def test_a_limit_that_is_not_worth_it_hides_no_larger_one() -> None:
    gains: dict[Clique, float] = {("d", "e"): 9.0}
    whole = model_bytes(SIZES, list(gains))
    limits = {whole // 4: 0.0, whole // 2: 0.1, whole: 0.1}
    assert roomiest(gains, [], SIZES, limits=limits, left=lambda _: 10.0) == ([*gains], whole)


def test_a_tree_above_the_smallest_limit_does_not_shut_small_pairs_out() -> None:
    gains: dict[Clique, float] = {("a", "b"): 1.0}
    tree: list[Clique] = [("d", "e")]
    limits = {model_bytes(SIZES, tree) - 1: 0.0, model_bytes(SIZES, [*tree, *gains]): 0.5}
    new, limit = roomiest(gains, tree, SIZES, limits=limits, left=lambda _: 1000.0)
    assert (new, limit) == ([*gains], max(limits))
