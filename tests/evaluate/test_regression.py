"""The same regression on real and on synthetic rows; scikit-learn and a loop are the judges."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from tests.evaluate.tables import random_table
from understudy.errors import QuestionError
from understudy.evaluate import METRICS, Coded, compare, page_facts
from understudy.evaluate.regression import _Design, regressions
from understudy.schema import Categorical, Integer, Schema


def paying(seed: int, *, rows: int = 600, slope: float = 2.0, people: int | None = 60) -> Coded:
    """Draw trips whose fare grows with their miles, and does not with their passengers."""
    rng = np.random.default_rng(seed)
    miles, passengers = rng.gamma(2, 3, rows), rng.integers(1, 5, rows).astype(np.float64)
    fare = 3 + slope * miles + rng.normal(0, 2, rows)
    fare[::50] = np.nan
    table = random_table(seed, rows=rows, people=people)
    numbers = {"fare": fare, "miles": miles, "passengers": passengers, "one": np.ones(rows)}
    return replace(table, numbers=numbers)


def test_coefficients_are_scikit_learns() -> None:
    real = paying(0)
    (found,) = regressions(real, paying(1), ["fare"])
    assert [c.predictor for c in found.coefficients] == ["miles", "passengers"]
    there = ~np.isnan(real.numbers["fare"])
    columns = [real.numbers[n][there] for n in ("miles", "passengers")]
    judge = LinearRegression().fit(np.stack(columns, 1), real.numbers["fare"][there])
    scale = [
        np.std(real.numbers[n]) / np.nanstd(real.numbers["fare"]) for n in ("miles", "passengers")
    ]
    assert [c.real for c in found.coefficients] == pytest.approx(judge.coef_ * scale)


def test_standard_errors_add_up_people() -> None:
    real = paying(0, rows=200, people=12)
    design = _Design.of(real, "fare", ["fare", "miles"])
    fitted = design.fit(real)
    assert fitted is not None
    outcome, predictors, people = design.rows(real)
    left = outcome - predictors @ fitted.values
    middle = np.zeros((2, 2))
    for person in set(people.tolist()):
        total = sum(predictors[i] * left[i] for i in np.flatnonzero(people == person))
        middle += np.outer(total, total)
    bread = np.linalg.inv(predictors.T @ predictors)
    expected = np.sqrt(np.diag(bread @ middle @ bread) * 12 / 11)
    assert fitted.errors == pytest.approx(expected)


@pytest.mark.parametrize("people", [60, None])
def test_good_rows_teach_what_real_ones_do_and_bad_ones_do_not(people: int | None) -> None:
    real = paying(0, people=people)
    (good,) = regressions(real, paying(1), ["fare"])
    assert good.real > 0.9
    assert good.synthetic == pytest.approx(good.real, abs=0.02)
    miles, passengers = good.coefficients
    assert miles.holds(miles.resample)
    assert miles.synthetic == pytest.approx(miles.real, abs=0.05)
    assert abs(passengers.synthetic) < 0.1
    (bad,) = regressions(real, paying(1, slope=-1), ["fare"])
    assert bad.real == good.real
    assert bad.synthetic < 0
    assert not bad.coefficients[0].holds(bad.coefficients[0].synthetic)


def test_more_rows_than_can_be_used_are_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.evaluate.regression.MOST_ROWS", 300)
    real = paying(0)
    (found,) = regressions(real, paying(1), ["fare"])
    (whole,) = regressions(real, real, ["fare"])
    assert found.coefficients[0].real == pytest.approx(whole.coefficients[0].real, abs=0.05)


def test_what_cannot_be_regressed_is_left_out() -> None:
    real = paying(0)
    assert regressions(real, paying(1), ["one", "nothing"]) == []
    assert regressions(real, paying(1, rows=20), ["fare"]) == []
    alone = replace(real, numbers={"fare": real.numbers["fare"]})
    assert regressions(alone, alone, ["fare"]) == []
    none = replace(real, numbers=dict(real.numbers) | {"miles": np.full(real.rows, np.nan)})
    assert regressions(real, none, ["fare"]) == []
    assert "Linear regressions" not in compare(real, none, outcomes=["fare"]).table()


def test_it_is_told_in_text_plain_data_and_on_the_page() -> None:
    found = compare(paying(0), paying(1), outcomes=["fare", "miles"])
    text = found.table()
    assert "fare on miles" in text
    assert "miles, R² on held-out people" in text
    plain = json.loads(json.dumps(found.to_dict()))["regressions"]
    assert [each["outcome"] for each in plain] == ["fare", "miles"]
    (section,) = [
        s for s in page_facts([found])["sections"] if s["title"].startswith("Regressions")
    ]
    worth, dots = section["parts"]
    assert worth["labels"] == ["fare, R²", "miles, R²", "coefficients in the real intervals"]
    assert dots["labels"][0] == "fare on miles"
    lacking = compare(paying(0), paying(1, rows=20), outcomes=["fare"])
    titles = [s["title"] for s in page_facts([lacking])["sections"]]
    assert not any(title.startswith("Regressions") for title in titles)


def test_columns_without_numbers_are_refused_and_some_are_suggested() -> None:
    schema = Schema(
        "trips", (Integer(name="miles", min=0, max=9), Categorical(name="to", values=("a", "b")))
    )
    metric = METRICS["regressions"]
    metric.check_settings(schema, {"outcomes": ["miles"]})
    with pytest.raises(QuestionError, match=r"no numbers to regress \(got to; allowed: miles\)"):
        metric.check_settings(schema, {"outcomes": ["to"]})
    assert metric.suggest is not None
    told = metric.suggest(paying(0), schema)
    # Here the schema says of miles that they are whole numbers, which may be codes.
    assert told == {"outcomes": ["fare", "passengers", "miles"]}
    assert metric.suggest(random_table(0), schema) == {}
