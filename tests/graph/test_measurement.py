"""Measurements: what is no answer to a question is refused before anybody fits it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy.errors import QuestionError
from understudy.graph import Measurement, Rows, Zeros

ROWS = Rows(np.array([0, 2, 3]), np.array([0, 1, 1]))


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan])
def test_noise_without_a_scale(scale: float) -> None:
    with pytest.raises(QuestionError, match="needs a scale above 0"):
        Measurement(clique=("a",), values=np.zeros(2), scale=scale)


@pytest.mark.parametrize(
    "wrong", [{}, {"rows": ROWS, "weights": np.ones(2)}, {"rows": ROWS, "weights": np.ones((3, 1))}]
)
def test_weights_that_go_with_no_cells(wrong: dict[str, Any]) -> None:
    with pytest.raises(QuestionError, match="must be one for each cell of its rows"):
        Measurement(
            clique=("a",), values=np.zeros(2), scale=1.0, **({"weights": np.ones(2)} | wrong)
        )


def test_rows_sum_their_cells() -> None:
    assert ROWS.count == 2
    assert ROWS.sums(np.array([5, 7])).tolist() == [12, 7]


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, 1e-200, 1e200])
def test_noise_of_no_scale(scale: float) -> None:
    with pytest.raises(QuestionError, match="needs a scale above 0"):
        Measurement(clique=("a",), values=np.ones(2), scale=scale)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_answers_that_are_no_numbers(value: float) -> None:
    with pytest.raises(QuestionError, match="values must be finite"):
        Measurement(clique=("a",), values=np.array([1.0, value]), scale=1.0)


def test_answers_are_kept_as_they_were() -> None:
    values = np.ones(2)
    m = Measurement(clique=("a",), values=values, scale=1.0)
    values[0] = 5
    assert m.values.tolist() == [1, 1]


def test_zeros_of_a_column_named_twice() -> None:
    with pytest.raises(QuestionError, match="names a column twice"):
        Zeros(clique=("a", "a"), cells=np.array([0]))
