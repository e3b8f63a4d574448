"""Telling real from synthetic rows: it finds what differs, and nothing where nothing does."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tests.evaluate.tables import random_table
from understudy.evaluate import Coded, boosting, classifier, compare, page_facts
from understudy.evaluate.boosting import Boosted, area_under_curve
from understudy.evaluate.classifier import told_apart


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosting, "ROUNDS", 12)


def two_columns(seed: int, *, rows: int = 1500, people: int | None = 150) -> Coded:
    """Draw two columns that agree, beside one that says nothing."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, rows)
    codes = {"first": first, "second": first.copy(), "noise": rng.integers(0, 9, rows)}
    owners = None if people is None else rng.integers(0, people, rows)
    return Coded(codes=codes, sizes={"first": 5, "second": 4, "noise": 9}, people=owners)


def torn(table: Coded) -> Coded:
    """Shuffle a column: every column on its own stays what it was."""
    rng = np.random.default_rng(9)
    return replace(
        table, codes=dict(table.codes) | {"first": rng.permutation(table.codes["first"])}
    )


@pytest.mark.parametrize("ties", [3, 1000])
def test_the_area_is_scikit_learns(ties: int) -> None:
    rng = np.random.default_rng(ties)
    scores, second = rng.integers(0, ties, 300) / 7, rng.random(300) < 0.3
    assert area_under_curve(scores, second) == pytest.approx(roc_auc_score(second, scores))


def test_trees_see_two_columns_together() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 2000), rng.integers(0, 2, 2000), rng.integers(0, 50, 2000)]
    second = columns[0] != columns[1]
    model = Boosted.learn(columns, [2, 2, 50], second)
    assert area_under_curve(model.score(columns), second) > 0.99


def test_a_split_takes_categories_in_any_order() -> None:
    code = np.tile(np.arange(6), 100)
    second = np.isin(code, [0, 2, 5])
    model = Boosted.learn([code], [6], second)
    found = {int(c) for c in code[model.score([code]) > 0]}
    assert found == {0, 2, 5}


@pytest.mark.parametrize("people", [150, None])
def test_rows_of_one_kind_cannot_be_told_apart_and_torn_columns_can(people: int | None) -> None:
    real, good = two_columns(0, people=people), two_columns(1, people=people)
    same, apart = told_apart(real, good), told_apart(real, torn(good))
    assert same is not None
    assert apart is not None
    assert same.rows == 1500
    assert same.synthetic == pytest.approx(0.5, abs=0.06)
    assert apart.synthetic > 0.8
    assert apart.resample == same.resample == pytest.approx(0.5, abs=0.06)
    assert apart.columns["first"] > 0.2
    assert apart.columns["second"] > 0.2
    assert abs(apart.columns["noise"]) < 0.05


def test_nobody_is_on_both_sides() -> None:
    # Everyone has a code of their own, of whom half are real: who was seen before would be known.
    who = np.repeat(np.arange(40), 25)
    noise = np.random.default_rng(0).integers(0, 3, 1000)
    table = Coded(codes={"who": who, "noise": noise}, sizes={"who": 80, "noise": 3}, people=who)
    other = replace(table, codes={"who": who + 40, "noise": noise})
    by_person, by_row = (
        told_apart(replace(table, people=p), replace(other, people=p)) for p in (who, None)
    )
    assert by_person is not None
    assert by_row is not None
    assert by_row.synthetic > 0.95
    assert by_person.synthetic < 0.8
    # Copies of a person are on that person's side.
    assert by_person.resample == pytest.approx(0.5, abs=0.1)


def test_large_columns_are_merged_to_classes_of_one_size() -> None:
    codes, size = classifier._coarse(np.arange(5000))
    assert size == classifier.MOST_CODES
    assert np.array_equal(codes, np.sort(codes))
    assert set(np.bincount(codes)) <= {19, 20}
    few, count = classifier._coarse(np.array([7, 7, 900, 3]))
    assert (few.tolist(), count) == ([1, 1, 2, 0], 3)


def test_it_is_told_where_it_is_asked_for() -> None:
    real = two_columns(0, rows=300)
    found = compare(real, torn(real), classifier=True)
    assert "300 rows of each" in found.table()
    plain = json.loads(json.dumps(found.to_dict()))["classifier"]
    assert set(plain) == {"rows", "synthetic", "resample", "columns"}
    titles = [section["title"] for section in page_facts([found])["sections"]]
    assert "Can real and synthetic rows be told apart?" in titles
    assert "classifier" not in compare(real, torn(real)).results


def test_too_few_people_are_not_tried() -> None:
    real = random_table(0, rows=50, people=2)
    assert told_apart(real, random_table(1, rows=50)) is None
    assert told_apart(random_table(0), random_table(1, rows=0)) is None
