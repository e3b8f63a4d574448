from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.evaluate import obvious
from tests.evaluate.tables import SIZES, random_table
from understudy.errors import QuestionError
from understudy.evaluate import Coded, one_way, pairs, total_variation, triples
from understudy.evaluate.variation import choose_triples

LARGE = {"a": 50_000, "b": 40_000, "c": 3, "d": 70_000}
CLOSE = 1e-12


def column(*codes: int) -> Coded:
    return Coded(codes={"a": np.array(codes, int)}, sizes={"a": 4}, people=None)


@tried(50)
@given(
    seed=st.integers(0, 2**32),
    rows=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    skew=st.sampled_from([1.0, 3.0]),
    sizes=st.sampled_from([SIZES, LARGE]),
)
def test_fast_and_obvious_agree(
    seed: int, rows: tuple[int, int], skew: float, sizes: dict[str, int]
) -> None:
    real = random_table(seed, rows=rows[0], sizes=sizes)
    synthetic = random_table(seed + 1, rows=rows[1], sizes=sizes, skew=skew)
    for name, value in one_way(real, synthetic).items():
        assert value == pytest.approx(obvious.variation(real, synthetic, [name]), abs=CLOSE)
    for found in (pairs(real, synthetic), triples(real, synthetic)):
        for names, value in found.items():
            assert value == pytest.approx(obvious.variation(real, synthetic, names), abs=CLOSE)


def test_a_distance_by_hand() -> None:
    assert total_variation(column(0, 0, 1, 1), column(0, 1, 1, 2), ["a"]) == 0.25


@pytest.mark.parametrize("sizes", [SIZES, LARGE])
def test_the_same_rows_in_any_order_are_at_distance_0(sizes: dict[str, int]) -> None:
    real = random_table(0, sizes=sizes)
    shuffled = real.take(np.random.default_rng(1).permutation(real.rows))
    for found in (one_way, pairs, triples):
        assert set(found(real, shuffled).values()) == {0.0}


def test_tables_with_nothing_in_common_are_at_distance_1() -> None:
    assert one_way(column(0, 1, 0), column(2, 3))["a"] == 1.0
    assert one_way(column(0), column())["a"] == 1.0
    assert one_way(column(), column(0))["a"] == 1.0
    assert one_way(column(), column())["a"] == 0.0


def test_neither_side_comes_first() -> None:
    real, synthetic = random_table(0), random_table(1, rows=70, skew=2)
    for found in (one_way, pairs, triples):
        assert found(real, synthetic) == found(synthetic, real)


def test_the_order_of_rows_does_not_matter() -> None:
    real, synthetic = random_table(0), random_table(1, rows=70, skew=2)
    order = np.random.default_rng(2).permutation(synthetic.rows)
    for found in (one_way, pairs, triples):
        assert found(real, synthetic) == found(real, synthetic.take(order))


def test_a_dependence_is_seen_by_pairs_and_a_parity_by_triples_alone() -> None:
    """What singles cannot see, pairs can; what pairs cannot see, triples can."""
    a, b, c = (axis.ravel() for axis in np.indices((2, 2, 2)))
    sizes = dict.fromkeys("abc", 2)
    free = Coded(codes={"a": a, "b": b, "c": c}, sizes=sizes, people=None)
    tied = Coded(codes={"a": a, "b": b, "c": a}, sizes=sizes, people=None)
    parity = Coded(codes={"a": a, "b": b, "c": (a + b) % 2}, sizes=sizes, people=None)
    assert set(one_way(free, tied).values()) == {0.0}
    assert pairs(free, tied) == {("a", "b"): 0.0, ("a", "c"): 0.5, ("b", "c"): 0.0}
    assert set(pairs(free, parity).values()) == {0.0}
    assert triples(free, parity) == {("a", "b", "c"): 0.5}


def test_a_larger_marginal_is_never_closer() -> None:
    real, synthetic = random_table(0), random_table(1, skew=2)
    singles, twos = one_way(real, synthetic), pairs(real, synthetic)
    for (a, b), value in twos.items():
        assert value >= max(singles[a], singles[b]) - CLOSE
    for triple, value in triples(real, synthetic).items():
        assert value >= max(twos[pair] for pair in combinations(triple, 2)) - CLOSE


def test_triples_are_all_of_them_or_as_many_as_asked_for() -> None:
    names = [f"c{i}" for i in range(10)]
    everything = list(combinations(names, 3))
    assert choose_triples(names, count=120, seed=0) == everything
    assert choose_triples(names, count=10**6, seed=0) == everything
    assert choose_triples(names[:2], count=5, seed=0) == []
    some = choose_triples(names, count=30, seed=0)
    assert len(set(some)) == 30
    assert set(some) <= set(everything)
    assert some != choose_triples(names, count=30, seed=1)


def test_tables_of_other_columns_are_refused() -> None:
    other = random_table(0, sizes={"a": 4, "b": 2})
    for rows in (0, 5):
        with pytest.raises(QuestionError, match="same columns and sizes"):
            total_variation(column(*[0] * rows), other, ["a"])
