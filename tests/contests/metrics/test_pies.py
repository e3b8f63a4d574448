from __future__ import annotations

from collections import Counter
from math import log2, sqrt
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon

from tests.audit.effort import tried
from tests.contests.metrics import obvious
from tests.evaluate.obvious import rows_of
from tests.evaluate.tables import chicago, random_table
from tests.schema.data import data_file
from understudy.contests.metrics import PieScore, pie_score, pie_scores
from understudy.errors import QuestionError
from understudy.evaluate import Coded, resample, subsample
from understudy.schema import Schema

PIE: dict[str, Any] = {"pie": ("place", "time"), "slices": "fare"}
CLOSE = 1e-7
"""Rounding near 0, of which a root was drawn."""
SMOOTHED = 1e-4
"""What 1e-9 added to each slice can do, of which a root was drawn."""
HALF = sqrt(0.75 * log2(4 / 3))
"""The distance of a pie of one slice from one of two equal slices, one of them the same."""

COUNTS = st.integers(0, 30) | st.sampled_from([0, 0, 19, 20, 500, 501, 10**6])
PAIRS = st.tuples(st.integers(1, 5), st.integers(1, 8)).flatmap(
    lambda shape: st.tuples(*[arrays(np.int64, shape, elements=COUNTS)] * 2)
)


def one(true: list[float], released: list[float]) -> float:
    return float(pie_scores(np.array([true]), np.array([released]))[0])


@tried()
@given(pies=PAIRS)
def test_fast_and_obvious_agree(pies: tuple[NDArray[np.int64], NDArray[np.int64]]) -> None:
    slow = [obvious.pie_score(a.tolist(), b.tolist()) for a, b in zip(*pies, strict=True)]
    assert pie_scores(*pies) == pytest.approx(slow, abs=CLOSE)


@tried()
@given(pies=PAIRS, data=st.data())
def test_a_score_is_a_share_and_1_only_where_what_shows_is_the_same(
    pies: tuple[NDArray[np.int64], NDArray[np.int64]], data: st.DataObject
) -> None:
    true, released = pies
    scores = pie_scores(true, released)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (pie_scores(true, true) == 1).all()
    order = data.draw(st.permutations(range(true.shape[1])))
    assert pie_scores(true[:, order], released[:, order]) == pytest.approx(scores, abs=CLOSE)
    for a, b, score in zip(true, released, scores, strict=True):
        if score == 1 and a.any() and b.any():
            assert abs(a.sum() - b.sum()) <= 500
            assert ((a / a.sum() >= 0.05) == (b / b.sum() >= 0.05)).all()


@tried()
@given(pies=PAIRS)
def test_false_slices_and_wrong_sizes_are_all_that_tell_the_two_sides_apart(
    pies: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> None:
    true, released = (np.clip(each, 1, 2) for each in pies)  # every slice is above 5 %
    assert pie_scores(true, released) == pytest.approx(pie_scores(released, true), abs=CLOSE)


def test_the_same_counts_score_1_and_so_do_pies_that_are_empty_on_both_sides() -> None:
    assert one([7, 0, 2], [7, 0, 2]) == 1
    assert one([0, 0, 0], [0, 0, 0]) == 1


def test_the_same_shares_score_1_too_as_long_as_sizes_are_near() -> None:
    assert one([10, 30], [20, 60]) == pytest.approx(1, abs=SMOOTHED)


def test_distances_by_hand() -> None:
    assert one([8, 8], [16, 0]) == pytest.approx(1 - HALF, abs=SMOOTHED)
    assert one([8, 0], [0, 8]) == 0


def test_a_false_slice_costs_a_fifth_more_and_a_lost_one_nothing_more() -> None:
    assert one([16, 0], [8, 8]) == pytest.approx(1 - HALF - 0.2, abs=SMOOTHED)
    assert one([8, 8], [16, 0]) - one([16, 0], [8, 8]) == pytest.approx(0.2, abs=SMOOTHED)
    near = one([100, 0, 0], [88, 6, 6])
    alike = jensenshannon([1, 0, 0], [0.88, 0.06, 0.06], base=2)
    assert near == pytest.approx(1 - alike - 0.4, abs=SMOOTHED)


def test_slices_of_less_than_a_twentieth_do_not_count() -> None:
    assert one([100, 0, 0], [93, 4, 4]) == pytest.approx(1, abs=SMOOTHED)
    assert one([100, 4, 4], [100, 0, 0]) == pytest.approx(1, abs=SMOOTHED)
    assert one([100, 0], [95, 5]) < 0.8  # a twentieth itself does
    assert one([95, 4], [95, 6]) < 0.8  # and what was too small to count is a false slice


@pytest.mark.parametrize(("more", "lost"), [(500, 0), (501, 0.25), (-500, 0), (-501, 0.25)])
def test_more_than_500_rows_off_cost_a_quarter(more: int, lost: float) -> None:
    assert one([900, 0], [900 + more, 0]) == pytest.approx(1 - lost, abs=SMOOTHED)


def test_sizes_are_those_of_whole_pies_with_what_is_too_small_to_show() -> None:
    small = [49.0] * 10 + [11.0]
    assert one([100_000.0, *[0.0] * 11], [100_000.0, *small]) == pytest.approx(0.75, abs=SMOOTHED)


def test_nothing_scores_below_0() -> None:
    assert one([1000, 0, 0, 0, 0], [0, 1, 1, 1, 1]) == 0


def test_a_pie_may_be_empty_on_one_side_only() -> None:
    # The smoothed empty pie has equal slices.
    assert one([8, 8], [0, 0]) == pytest.approx(1, abs=SMOOTHED)
    assert one([0, 0], [8, 8]) == pytest.approx(0.6, abs=SMOOTHED)
    assert one([16, 0], [0, 0]) == pytest.approx(1 - HALF, abs=SMOOTHED)
    assert one([0, 0], [16, 0]) == pytest.approx(1 - HALF - 0.2, abs=SMOOTHED)


def test_unsigned_counts_and_fractions_are_counts_too() -> None:
    true, released = np.array([[3, 9]], np.uint8), np.array([[9, 4]], np.uint8)
    expected = one([3, 9], [9, 4])
    assert pie_scores(true, released)[0] == expected
    assert one([0.5, 0.0], [0.0, 0.5]) == 0


def test_the_contest_s_pies_take_little_time() -> None:
    rng = np.random.default_rng(0)
    true, released = rng.poisson(rng.gamma(0.1, 20, (2, 3336, 174)))
    begin = process_time()
    scores = pie_scores(true, released)
    assert process_time() - begin < 1
    assert scores.shape == (3336,)


def test_each_cell_of_the_pies_columns_is_a_pie() -> None:
    real, made = random_table(0), random_table(1, rows=90, skew=2)
    cut = [Counter((r["place"], r["time"], r["fare"]) for r in rows_of(t)) for t in (real, made)]
    scores = [
        obvious.pie_score(*([counts[place, time, fare] for fare in range(5)] for counts in cut))
        for place in range(4)
        for time in range(3)
    ]
    found = pie_score(real, made, **PIE)
    assert found.pies == 12
    assert found.mean == pytest.approx(np.mean(scores), abs=CLOSE)
    assert found.score == pytest.approx(sum(scores), abs=12 * CLOSE)


def test_the_table_itself_scores_1_whatever_the_order_of_its_rows() -> None:
    real = random_table(0)
    shuffled = real.take(np.random.default_rng(1).permutation(real.rows))
    assert pie_score(real, shuffled, **PIE) == PieScore(mean=1, pies=12)
    assert pie_score(real, shuffled, **PIE).score == 12


def test_tables_without_rows_are_empty_pies() -> None:
    real, empty = random_table(0), random_table(0, rows=0)
    assert pie_score(empty, empty, **PIE).mean == 1
    assert 0 < pie_score(real, empty, **PIE).mean < 1
    assert 0 <= pie_score(empty, real, **PIE).mean < pie_score(real, empty, **PIE).mean


def test_what_cannot_be_scored_is_refused() -> None:
    real = random_table(0)
    with pytest.raises(QuestionError, match=r"does not have .*nowhere"):
        pie_score(real, real, pie=["nowhere"], slices="fare")
    with pytest.raises(QuestionError, match=r"does not have .*nothing"):
        pie_score(real, real, pie=["place"], slices="nothing")
    for pie in ([], ["fare"], ["place", "fare"], ["place", "place"]):
        with pytest.raises(QuestionError, match="a different one for their slices"):
            pie_score(real, real, pie=pie, slices="fare")
    with pytest.raises(QuestionError, match="same columns"):
        pie_score(real, random_table(0, sizes={"fare": 2}), **PIE)
    wide = Coded(
        codes={"a": np.array([0]), "b": np.array([0])},
        sizes=dict.fromkeys("ab", 2**13),
        people=None,
    )
    with pytest.raises(QuestionError, match="too many cells"):
        pie_score(wide, wide, pie=["a"], slices="b")
    for true, released in (([1, 2], [1, 2]), ([[1, 2]], [[1]]), ([[1]], [[1], [1]])):
        with pytest.raises(QuestionError, match="pies × slices"):
            pie_scores(np.array(true), np.array(released))
    for wrong in (-1.0, np.nan, np.inf):
        for pies in (([[wrong, 1]], [[1, 1]]), ([[1, 1]], [[wrong, 1]])):
            with pytest.raises(QuestionError, match="0 or more") as raised:
                pie_scores(*map(np.array, pies))
            assert raised.value.got is None


def test_the_contest_s_own_columns_make_its_3336_pies() -> None:
    sizes = dict(Schema.read(data_file("contest-parameters", "sprint1.json")).domain)
    real, made = (random_table(seed, rows=5000, sizes=sizes) for seed in (0, 1))
    roles: dict[str, Any] = {"pie": ["neighborhood", "year", "month"], "slices": "incident_type"}
    assert pie_score(real, made, **roles).pies == 3336


def test_a_tenth_of_a_real_chicago_day_lies_between_a_hundredth_and_all_of_it() -> None:
    day, rng = chicago(month="04"), np.random.default_rng(0)
    roles: dict[str, Any] = {"pie": ["pickup", "time"], "slices": "payment_type"}
    tables = [subsample(day, 0.01, rng), subsample(day, 0.1, rng), resample(day, rng), day]
    means = [pie_score(day, table, **roles).mean for table in tables]
    assert means == sorted(means)
    assert means[-2] < means[-1] == 1
