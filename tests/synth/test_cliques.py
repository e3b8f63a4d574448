"""Which marginals are asked for: by public rows, or chosen under differential privacy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from tests.synth.crowds import crowd, door_to, events
from tests.vault.obvious import People
from understudy.budget import Budget, Sample, price_grains
from understudy.door import Clique
from understudy.errors import QuestionError
from understudy.graph import Domain, model_bytes
from understudy.public import PublicTable
from understudy.synth.cliques import check_cliques, information, public_cliques, select_pairs

SIZES = {"a": 3, "b": 3, "c": 4, "d": 5, "e": 2}
FREE = 10**9


def telling(rows: int = 4000, seed: int = 0) -> PublicTable:
    """b follows a, c follows b, d is alone, e follows d a little."""
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=rows)
    b = np.where(rng.random(rows) < 0.9, a, rng.integers(3, size=rows))
    c = np.where(rng.random(rows) < 0.7, b, rng.integers(4, size=rows))
    d = rng.integers(5, size=rows)
    e = np.where(rng.random(rows) < 0.3, d % 2, rng.integers(2, size=rows))
    codes = {"a": a, "b": b, "c": c, "d": d, "e": e}
    return crowd(np.arange(rows), SIZES, **{n: v.tolist() for n, v in codes.items()})


def is_tree(pairs: list[Clique], names: list[str]) -> bool:
    """Whether pairs join all columns without a circle, by walking from the first."""
    reached = {names[0]}
    for _ in names:
        reached |= {n for p in pairs if reached & set(p) for n in p}
    return reached == set(names) and len(pairs) == len(names) - 1


# Information


@given(st.integers(0, 2**32), st.sampled_from([("a", "b"), ("c", "a", "e"), ("d",)]))
@settings(max_examples=30, deadline=None)
def test_information_is_the_sum_of_entropies_less_the_joint_one(seed: int, clique: Clique) -> None:
    public = telling(300, seed)
    joint = public.marginal(clique)
    ones = [public.marginal((n,)) for n in clique]
    free = (joint > 0).sum() - 1 - sum((o > 0).sum() - 1 for o in ones)
    slow = sum(entropy(o) for o in ones) - entropy(joint) - free / (2 * 300)
    assert information(public, clique) == pytest.approx(float(slow), abs=1e-12)


def test_two_columns_that_are_one_tell_all_of_each_other() -> None:
    codes = [0, 1, 2, 0, 1, 2]
    public = crowd(range(6), SIZES, a=codes, b=codes, c=codes, d=codes, e=[0] * 6)
    # Three values, three joint cells: ln 3, and two cells fewer than the ones have.
    assert information(public, ("a", "b")) == pytest.approx(math.log(3) + 2 / 12)
    assert information(public, ("a", "e")) == pytest.approx(0)


def test_columns_that_tell_nothing_have_no_information_on_average() -> None:
    found = [information(telling(500, seed), ("a", "d")) for seed in range(60)]
    spread = np.std(found) / math.sqrt(60)
    assert abs(np.mean(found)) < 4 * spread + 1e-4
    # Without the correction it would be far above.
    assert np.mean(found) + 8 / 1000 > 8 * spread


# Cliques from public rows


def test_a_tree_of_the_most_telling_pairs_is_always_among_them() -> None:
    public = telling()
    for limit in (400, 2000, FREE):
        chosen = public_cliques(public, targets=(), most_cells=FREE, limit=limit)
        for pair in (("a", "b"), ("b", "c"), ("d", "e")):
            assert any(set(pair) <= set(c) for c in chosen)
        linked = [p for c in chosen for p in itertools.combinations(c, 2)]
        reached = {"a"}
        for _ in SIZES:
            reached |= {n for p in linked if reached & set(p) for n in p}
        assert reached == set(SIZES)


@pytest.mark.parametrize("limit", [400, 600, 1000, 4000])
def test_the_models_size_is_kept(limit: int) -> None:
    public = telling()
    chosen = public_cliques(public, targets=(), most_cells=FREE, limit=limit)
    assert model_bytes(Domain(SIZES), chosen) <= limit


def test_more_room_is_used_for_more_pairs() -> None:
    public = telling()
    few = public_cliques(public, targets=(), most_cells=FREE, limit=400)
    many = public_cliques(public, targets=(), most_cells=FREE, limit=FREE)
    pairs = [{frozenset(p) for c in f for p in itertools.combinations(c, 2)} for f in (few, many)]
    assert len(pairs[0]) < len(pairs[1]) == 10


def test_targets_are_in_every_clique_that_has_room_for_them() -> None:
    public = telling()
    for most in (FREE, 60, 45, 20):
        chosen = public_cliques(public, targets=("d", "e"), most_cells=most, limit=FREE)
        for clique in chosen:
            size = math.prod(SIZES[n] for n in clique)
            assert size <= most
            for target in ("d", "e"):
                assert target in clique or size * SIZES[target] > most
    assert all(
        {"d", "e"} <= set(c)
        for c in public_cliques(public, targets=("d", "e"), most_cells=FREE, limit=FREE)
    )


def test_no_clique_is_within_another_and_every_column_is_somewhere() -> None:
    public = telling()
    for most in (FREE, 12, 5):
        chosen = public_cliques(public, targets=("a",), most_cells=most, limit=FREE)
        assert {n for c in chosen for n in c} == set(SIZES)
        assert not any(set(c) < set(o) for c in chosen for o in chosen)


def test_where_no_pair_fits_every_column_stands_alone() -> None:
    chosen = public_cliques(telling(), targets=(), most_cells=5, limit=FREE)
    assert sorted(chosen) == [("a",), ("b",), ("c",), ("d",), ("e",)]


# What is refused


@pytest.mark.parametrize(
    ("cliques", "most", "limit", "text"),
    [
        ([("a", "z")], FREE, FREE, r"does not model .*got z"),
        ([()], FREE, FREE, "got no column"),
        ([("c", "d")], 19, FREE, r"c × d is too large .*20 cells.*at most 19"),
        ([("a", "b"), ("b", "c"), ("a", "c")], FREE, 200, "too large a model together"),
    ],
)
def test_cliques_that_cannot_be_are_refused(
    cliques: list[Clique], most: int, limit: int, text: str
) -> None:
    with pytest.raises(QuestionError, match=text):
        check_cliques(cliques, SIZES, most_cells=most, limit=limit)


def test_cliques_at_the_limits_are_taken() -> None:
    check_cliques([("c", "d")], SIZES, most_cells=20, limit=FREE)


# Pairs under differential privacy


WORLD: People = {
    str(i): [(i % 3, i % 2, i % 3 + (i % 7 == 0)) for _ in range(3)] for i in range(60)
}
"""c follows a nearly always; b goes its own way."""
ONES = {"a": np.full(3, 60.0), "b": np.full(2, 90.0), "c": np.array([51.0, 61.0, 60.0, 8.0])}


@pytest.mark.parametrize("delta", [1e-9, 0])
def test_a_rich_choice_is_the_tree_of_the_pairs_that_are_most_wrong(delta: float) -> None:
    budget = Budget(epsilon=1e6, delta=delta)
    with door_to(WORLD, bounding=Sample(3), budget=budget) as door:
        pairs = select_pairs(door, ONES, price=50.0, bounding=Sample(3), most_cells=FREE)
        spent = sum(grains for _, grains in events(door))
        assert 0.99 * price_grains(50.0, door.currency) <= spent
        assert spent <= price_grains(50.0, door.currency)
    assert set(pairs[0]) == {"a", "c"}
    assert is_tree(pairs, ["a", "b", "c"])


def test_any_choice_is_a_tree() -> None:
    for seed in range(5):
        budget = Budget(epsilon=1, delta=1e-9)
        with door_to(WORLD, bounding=Sample(3), budget=budget, seed=seed) as door:
            pairs = select_pairs(door, ONES, price=0.01, bounding=Sample(3), most_cells=FREE)
        assert is_tree(pairs, ["a", "b", "c"])


def test_pairs_that_are_too_large_are_not_chosen() -> None:
    with door_to(WORLD, bounding=Sample(3)) as door:
        pairs = select_pairs(door, ONES, price=10.0, bounding=Sample(3), most_cells=8)
        none = select_pairs(door, ONES, price=10.0, bounding=Sample(3), most_cells=5)
    assert sorted(map(sorted, pairs)) == [["a", "b"], ["b", "c"]]
    assert none == []
