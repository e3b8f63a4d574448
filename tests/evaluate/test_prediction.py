"""What synthetic rows teach, tried on real ones; scikit-learn's classifier is the judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from tests.evaluate.tables import random_table
from understudy.errors import QuestionError
from understudy.evaluate import (
    Coded,
    NaiveBayes,
    check_targets,
    compare,
    predictions,
    worth_predicting,
)
from understudy.evaluate import prediction as room


def depending(seed: int, *, rows: int = 4000, people: int | None = 80) -> Coded:
    """Draw a table in which a column says much about another, and a third says nothing."""
    rng = np.random.default_rng(seed)
    cause = rng.integers(0, 4, rows)
    codes = {
        "cause": cause,
        "effect": np.where(rng.random(rows) < 0.8, cause, rng.integers(0, 4, rows)),
        "noise": rng.integers(0, 6, rows),
    }
    owners = None if people is None else rng.integers(0, people, rows)
    return Coded(codes=codes, sizes={"cause": 5, "effect": 4, "noise": 7}, people=owners)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("target", ["place", "fare", "company"])
def test_it_says_what_scikit_learn_says(seed: int, target: str) -> None:
    sizes = {"place": 4, "time": 3, "to": 9, "fare": 5, "company": 2}
    # Few rows, so that some values and many pairs are never seen in them.
    taught = random_table(seed, rows=40, sizes=sizes, skew=1.5)
    tested = random_table(seed + 100, rows=500, sizes=sizes)
    others = [name for name in sizes if name != target]
    judge = CategoricalNB(alpha=1.0, min_categories=[sizes[name] for name in others])
    judge.fit(np.stack([taught.codes[n] for n in others], 1), taught.codes[target])
    rows = np.stack([tested.codes[n] for n in others], 1)
    ours = NaiveBayes.learn(taught, target)
    assert np.array_equal(ours.predict(tested), judge.predict(rows))
    assert np.allclose(ours.prior[judge.classes_], judge.class_log_prior_)
    for name, shares in zip(others, judge.feature_log_prob_, strict=True):
        assert np.allclose(ours.given[name][judge.classes_], shares)


def test_a_value_that_was_never_seen_is_never_said() -> None:
    taught, tested = depending(0), depending(1)
    assert 4 not in NaiveBayes.learn(taught, "cause").predict(tested)


def test_blocks_of_rows_do_not_change_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    taught, tested = depending(0), depending(1)
    before = NaiveBayes.learn(taught, "cause").predict(tested)
    learnt = NaiveBayes.learn(taught, "cause")
    monkeypatch.setattr(room, "MOST_CELLS", 37)
    assert np.array_equal(learnt.predict(tested), before)


def test_columns_of_too_many_cells_are_not_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_CELLS", 5 * 4)
    assert list(NaiveBayes.learn(depending(0), "cause").given) == ["effect"]


def test_good_synthetic_rows_teach_as_much_as_real_ones_and_bad_ones_nothing() -> None:
    real, good = depending(0), depending(1, people=None)
    rng = np.random.default_rng(2)
    bad = replace(good, codes={n: rng.permutation(c) for n, c in good.codes.items()})
    (found,) = predictions(real, good, ["effect"])
    assert found.tested == pytest.approx(2000, rel=0.2)
    assert found.real == pytest.approx(0.85, abs=0.03)
    assert found.synthetic == pytest.approx(found.real, abs=0.02)
    assert found.majority == pytest.approx(0.25, abs=0.04)
    (worse,) = predictions(real, bad, ["effect"])
    assert worse.synthetic < 0.35
    assert (worse.real, worse.majority) == (found.real, found.majority)


@pytest.mark.parametrize("people", [80, None])
def test_half_of_the_people_are_held_out_with_all_of_their_rows(people: int | None) -> None:
    real = depending(0, people=people)
    taught, tested = room.halves(real, np.random.default_rng(0))
    assert taught.rows + tested.rows == real.rows
    if people is None:
        assert taught.rows == tested.rows
        return
    assert taught.people is not None
    assert tested.people is not None
    learnt, held = set(taught.people.tolist()), set(tested.people.tolist())
    assert not learnt & held
    assert len(learnt) == len(held) == 40


def test_the_held_out_test_can_fail_where_people_repeat_themselves() -> None:
    # Everyone has rows of one kind, that tell who it is: learnt from others, it is no use.
    who = np.repeat(np.arange(40), 25)
    rng = np.random.default_rng(0)
    codes = {"who": who, "secret": rng.integers(0, 2, 40)[who]}
    real = Coded(codes=codes, sizes={"who": 40, "secret": 2}, people=who)
    by_person, by_row = (
        predictions(replace(real, people=p), real, ["secret"])[0].real for p in (who, None)
    )
    assert by_row == 1
    assert by_person < 0.8


def test_so_many_rows_are_tested_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_TESTED", 300)
    (found,) = predictions(depending(0), depending(1), ["effect"])
    assert found.tested == 300


def test_a_table_of_no_rows_teaches_nothing() -> None:
    real = depending(0)
    empty = real.take(np.zeros(0, np.int64))
    (found,) = predictions(real, empty, ["effect"])
    assert found.synthetic == 0
    assert predictions(empty, real, ["effect"]) == []
    one = replace(real, people=np.zeros(real.rows, np.int64))
    assert predictions(one, real, ["effect"]) == []
    alone = Coded(codes={"a": np.arange(4)}, sizes={"a": 4}, people=None)
    assert predictions(alone, alone, ["a"]) == []


def test_columns_with_two_to_fifty_values_are_worth_predicting() -> None:
    rng = np.random.default_rng(0)
    sizes = {"one": 9, "two": 2, "fifty": 60, "more": 51, "codes": 2000}
    taken = {"one": 1, "two": 2, "fifty": 50, "more": 51, "codes": 3}
    codes = {n: np.resize(rng.permutation(k), 600) for n, k in taken.items()}
    table = Coded(codes=codes, sizes=sizes, people=None)
    assert worth_predicting(table, table.sizes) == ["two", "fifty"]
    assert worth_predicting(table, ["fifty", "one"]) == ["fifty"]
    many = {f"c{i}": codes["two"] for i in range(20)}
    wide = Coded(codes=many, sizes=dict.fromkeys(many, 2), people=None)
    assert worth_predicting(wide, wide.sizes) == [f"c{i}" for i in range(8)]


def test_targets_that_cannot_be_are_refused() -> None:
    sizes = {"a": 2, "b": 1001}
    check_targets(sizes, ["a"])
    with pytest.raises(
        QuestionError, match=r"does not model these columns to predict \(got c; allowed: a, b\)"
    ):
        check_targets(sizes, ["a", "c"])
    with pytest.raises(QuestionError, match=r"got none"):
        check_targets(sizes, [])
    with pytest.raises(QuestionError, match=r"column b has too many codes.*got 1001"):
        check_targets(sizes, ["b"])


def test_a_comparison_has_predictions_only_where_targets_are_named() -> None:
    real, made = depending(0), depending(1)
    plain = compare(real, made)
    assert plain.results == {}
    assert "predictions" not in plain.to_dict()
    assert "held-out" not in plain.table()
    asked = compare(real, made, targets=["effect"], yardsticks=plain.yardsticks)
    assert asked.results["predictions"] == predictions(real, made, ["effect"])
    assert asked.synthetic == plain.synthetic
    assert asked.yardsticks == plain.yardsticks
    (told,) = asked.to_dict()["predictions"]
    assert set(told) == {"target", "tested", "majority", "real", "synthetic"}
    text = asked.table("a run")
    assert "a run" in text.splitlines()
    line = text.splitlines()[-1].split()
    assert line == ["effect", *(f"{told[k]:.5f}" for k in ("synthetic", "real", "majority"))]
