from __future__ import annotations

import numpy as np
import pytest

from tests.evaluate import obvious
from tests.evaluate.tables import random_table
from understudy.errors import QuestionError
from understudy.evaluate import Coded, resample, subsample
from understudy.evaluate.histories import Histories
from understudy.evaluate.yardsticks import resample_people, some_people

NUMBERED = Coded(codes={"row": np.arange(1000)}, sizes={"row": 1000}, people=np.arange(1000) // 10)


def test_a_subsample_is_a_share_of_the_rows_each_once_with_its_person() -> None:
    drawn = subsample(NUMBERED, 0.1, np.random.default_rng(0))
    assert drawn.rows == 100
    assert len(set(drawn.codes["row"])) == 100
    assert drawn.people is not None
    assert drawn.people.tolist() == (drawn.codes["row"] // 10).tolist()


def test_a_resample_has_as_many_rows_some_of_them_more_than_once() -> None:
    drawn = resample(NUMBERED, np.random.default_rng(0))
    assert drawn.rows == 1000
    assert 580 < len(set(drawn.codes["row"])) < 690  # 1 − 1/e of them, give or take
    assert drawn.people is not None
    assert drawn.people.tolist() == (drawn.codes["row"] // 10).tolist()


def test_every_row_is_drawn_about_equally_often() -> None:
    rng, hits = np.random.default_rng(0), np.zeros(1000)
    for _ in range(400):
        hits[subsample(NUMBERED, 0.5, rng).codes["row"]] += 1
    assert hits.min() > 200 - 50
    assert hits.max() < 200 + 50


def test_people_are_drawn_with_all_of_their_rows_and_are_two_when_drawn_twice() -> None:
    mixed = NUMBERED.take(np.random.default_rng(1).permutation(1000))
    drawn = resample_people(mixed, np.random.default_rng(0))
    assert drawn.headcount == 100
    assert drawn.people is not None
    before = []
    for person in range(100):
        rows = drawn.codes["row"][drawn.people == person]
        before.append(rows[0] // 10)
        assert sorted(rows) == list(range(10 * before[-1], 10 * before[-1] + 10))
    assert 50 < len(set(before)) < 75  # 1 − 1/e of them, give or take
    assert (np.diff(drawn.people) >= 0).all()


def test_a_share_of_the_people_has_each_once() -> None:
    for share, people in ((0.1, 10), (1, 100), (1e-6, 1)):
        drawn = some_people(NUMBERED, share, np.random.default_rng(0))
        assert (drawn.headcount, drawn.rows) == (people, 10 * people)
        assert len(set(drawn.codes["row"])) == drawn.rows


def test_rows_of_people_are_ordered_by_columns_and_without_any_stay_as_they_are() -> None:
    codes = {"day": np.array([1, 0, 1, 1, 0]), "hour": np.array([2, 5, 2, 1, 5])}
    table = Coded(codes=codes, sizes={"day": 2, "hour": 9}, people=np.array([4, 4, 4, 4, -7]))
    assert Histories.of(table).order.tolist() == [4, 0, 1, 2, 3]
    by_day = Histories.of(table, ["day"]).order.tolist()
    assert by_day[:2] == [4, 1]
    assert sorted(by_day[2:]) == [0, 2, 3]
    found = Histories.of(table, ["day", "hour"])
    assert found.order.tolist()[:3] == [4, 1, 3]
    assert sorted(found.order.tolist()[3:]) == [0, 2]
    assert (found.starts.tolist(), found.sizes.tolist()) == ([0, 1], [1, 4])


def test_a_subsample_of_everything_is_everything_and_of_little_is_one_row() -> None:
    table, rng = random_table(0), np.random.default_rng(0)
    assert obvious.rows_of(subsample(table, 1, rng)) == obvious.rows_of(table)
    assert subsample(table, 1e-6, rng).rows == 1


def test_tables_without_rows_give_none() -> None:
    empty, rng = random_table(0, rows=0), np.random.default_rng(0)
    assert resample(empty, rng).rows == 0
    assert subsample(empty, 0.5, rng).rows == 0
    assert resample_people(empty, rng).rows == 0


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_what_is_not_a_share_is_refused(share: float) -> None:
    with pytest.raises(QuestionError, match="share must be above 0"):
        subsample(random_table(0), share, np.random.default_rng(0))
