from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.contests.metrics import obvious
from tests.evaluate.obvious import variation
from tests.evaluate.tables import SIZES, chicago, random_table
from understudy.contests.metrics import trip_score, trips
from understudy.errors import QuestionError
from understudy.evaluate import Coded, resample, subsample

ROLES: dict[str, Any] = {"place": "place", "time": "time", "edge": ("place", "to")}
REST = ("to", "fare", "company")
WIDE = SIZES | {"place": 4000, "fare": 90_000}
CLOSE = 1e-12


def with_people(table: Coded, people: np.ndarray | None) -> Coded:
    return Coded(codes=table.codes, sizes=table.sizes, people=people)


@tried(40)
@given(
    seed=st.integers(0, 2**32),
    rows=st.tuples(st.integers(1, 250), st.integers(1, 250)),
    people=st.tuples(*[st.sampled_from([None, 1, 2, 5, 40])] * 2),
    skew=st.sampled_from([1.0, 3.0]),
)
def test_fast_and_obvious_agree(
    seed: int, rows: tuple[int, int], people: tuple[int | None, int | None], skew: float
) -> None:
    real = random_table(seed, rows=rows[0], people=people[0])
    synthetic = random_table(seed + 1, rows=rows[1], people=people[1], skew=skew)
    found = trip_score(real, synthetic, **ROLES)
    roles = {"time": "time", "place": "place"}
    k = obvious.k_marginal(real, synthetic, rest=REST, **roles)
    assert found.k_marginal == pytest.approx(k, abs=CLOSE)
    edges = 1 - variation(real, synthetic, ROLES["edge"])
    assert found.graph_edges == pytest.approx(edges, abs=CLOSE)
    alike = obvious.people_alike(real, synthetic, **roles)
    assert found.people == pytest.approx(alike, abs=CLOSE)
    assert found.score == pytest.approx(1000 * (k + edges + alike) / 3)


@pytest.mark.parametrize("people", [2, 5, 40])
def test_people_agree_where_they_differ_in_much(people: int) -> None:
    """Large counts pass the tolerances of 5 to 50: shares between 0 and 1 are compared."""
    real = random_table(0, rows=1000, people=people, skew=2)
    synthetic = random_table(1, rows=700, people=7)
    roles = {"time": "time", "place": "place"}
    found = trip_score(real, synthetic, **ROLES).people
    assert found == pytest.approx(obvious.people_alike(real, synthetic, **roles), abs=CLOSE)
    assert 0 < found < 1


def test_cells_and_pairs_too_many_to_lay_out_agree_too() -> None:
    real, synthetic = (random_table(i, sizes=WIDE, skew=8) for i in (0, 1))
    found = trip_score(real, synthetic, **ROLES, rest=REST).k_marginal
    slow = obvious.k_marginal(real, synthetic, place="place", time="time", rest=REST)
    assert found == pytest.approx(slow, abs=CLOSE)
    assert 0 < found < 1


def test_a_k_marginal_by_hand() -> None:
    """One cell shared and half right, one on each side alone: distances 1, 2 and 2."""
    sizes = {"place": 3, "time": 1, "a": 2, "b": 2}
    real = {"place": [0, 0, 1], "time": [0, 0, 0], "a": [0, 1, 0], "b": [0, 1, 0]}
    made = {"place": [0, 0, 2], "time": [0, 0, 0], "a": [0, 0, 0], "b": [0, 0, 0]}
    tables = (
        Coded(codes={n: np.array(c) for n, c in each.items()}, sizes=sizes, people=None)
        for each in (real, made)
    )
    found = trip_score(*tables, place="place", time="time", edge=("a", "b"))
    assert found.k_marginal == pytest.approx((2 - 5 / 3) / 2)
    assert found.graph_edges == pytest.approx(1 - 1 / 3)


def test_the_same_table_in_any_order_scores_1000() -> None:
    real = random_table(0, rows=500)
    shuffled = real.take(np.random.default_rng(1).permutation(real.rows))
    found = trip_score(real, shuffled, **ROLES)
    assert (found.k_marginal, found.graph_edges, found.people) == (1, 1, 1)
    assert found.score == 1000


def test_tables_with_no_cell_in_common_score_0_on_cells_and_edges() -> None:
    real = random_table(0)
    moved = {n: c + SIZES[n] for n, c in real.codes.items()}
    sizes = {n: 2 * size for n, size in SIZES.items()}
    here = Coded(codes=real.codes, sizes=sizes, people=real.people)
    there = Coded(codes=moved, sizes=sizes, people=real.people)
    found = trip_score(here, there, **ROLES)
    assert (found.k_marginal, found.graph_edges) == (0, 0)


def test_the_same_cells_with_other_values_in_them_score_0_on_cells() -> None:
    real = random_table(0)
    sizes = {n: size if n in {"place", "time"} else 2 * size for n, size in SIZES.items()}
    moved = {n: c + sizes[n] - SIZES[n] for n, c in real.codes.items()}
    here = Coded(codes=real.codes, sizes=sizes, people=real.people)
    there = Coded(codes=moved, sizes=sizes, people=real.people)
    assert trip_score(here, there, **ROLES).k_marginal == pytest.approx(0, abs=CLOSE)


def test_an_empty_synthetic_table_scores_as_far_as_can_be() -> None:
    found = trip_score(random_table(0), random_table(0, rows=0), **ROLES)
    assert (found.k_marginal, found.graph_edges) == (0, 0)
    assert found.people < 1


def test_rows_under_the_wrong_people_lower_people_and_nothing_else() -> None:
    real = random_table(0, rows=900, people=6)
    alone = with_people(real, None)
    found = trip_score(real, alone, **ROLES)
    assert (found.k_marginal, found.graph_edges) == (1, 1)
    assert found.people < 0.5


def test_numbers_of_people_matter_only_by_their_order() -> None:
    real, synthetic = random_table(0, rows=400), random_table(1, rows=400, skew=2)
    assert real.people is not None
    far = with_people(real, real.people * 10**12 - 5 * 10**12)
    expected = trip_score(real, synthetic, **ROLES)
    assert trip_score(far, synthetic, **ROLES) == expected
    assert trip_score(real, with_people(synthetic, synthetic.people), **ROLES) == expected


def test_dependence_within_cells_is_seen() -> None:
    real = random_table(0, rows=4000)
    tied = Coded(
        codes=dict(real.codes) | {"to": real.codes["fare"] % 4}, sizes=SIZES, people=real.people
    )
    found = trip_score(real, tied, place="place", time="time", edge=("place", "time"))
    assert (found.graph_edges, found.people) == (1, 1)
    assert found.k_marginal < 0.8


def test_small_blocks_of_people_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    real, synthetic = random_table(0, rows=400), random_table(1, rows=400, skew=2)
    whole = trip_score(real, synthetic, **ROLES)
    monkeypatch.setattr(trips, "BLOCK_CELLS", 15)
    assert trip_score(real, synthetic, **ROLES) == whole


def test_what_cannot_be_scored_is_refused() -> None:
    real = random_table(0)
    with pytest.raises(QuestionError, match=r"does not have .*nowhere"):
        trip_score(real, real, place="nowhere", time="time", edge=("place", "to"))
    with pytest.raises(QuestionError, match="two columns besides"):
        trip_score(real, real, **ROLES, rest=["fare"])
    with pytest.raises(QuestionError, match="with rows"):
        trip_score(random_table(0, rows=0), real, **ROLES)
    with pytest.raises(QuestionError, match="same columns"):
        trip_score(real, random_table(0, sizes=WIDE), **ROLES)


def test_a_tenth_of_a_real_chicago_day_lies_between_a_hundredth_and_all_of_it() -> None:
    day, rng = chicago(month="04"), np.random.default_rng(0)
    assert day.rows == 19_456
    roles: dict[str, Any] = {"place": "pickup", "time": "time", "edge": ("pickup", "dropoff")}
    tenth = trip_score(day, subsample(day, 0.1, rng), **roles)
    hundredth = trip_score(day, subsample(day, 0.01, rng), **roles)
    again = trip_score(day, resample(day, rng), **roles)
    assert hundredth.k_marginal < tenth.k_marginal < again.k_marginal < 1
    assert hundredth.graph_edges < tenth.graph_edges < again.graph_edges < 1
    assert hundredth.score < tenth.score < again.score < 1000
    assert trip_score(day, day, **roles).score == 1000
