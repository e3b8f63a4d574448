"""The loss and its gradient, against the slow obvious version over the whole joint table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import DOMAIN, EVERY, Table, built, held, measured, residual, squares
from understudy.errors import QuestionError
from understudy.graph import Clique, Measurement, Rows, junction_tree
from understudy.graph.objective import Objective, objective


def random_joint(rng: np.random.Generator) -> Table:
    return rng.random(DOMAIN.shape(EVERY)) * 10


def gradient(loss: Objective, mass: Table) -> Table:
    return loss.slope(residual(loss, mass)).copy()


def value(loss: Objective, mass: Table) -> float:
    return loss.value(residual(loss, mass).flat)


@given(measured(), st.integers(0, 2**32))
@tried(200)
def test_the_loss_is_the_sum_of_squares(measurements: list[Measurement], seed: int) -> None:
    mass = random_joint(np.random.default_rng(seed))
    true = squares(DOMAIN, measurements, mass)
    assert value(built(measurements), mass) == pytest.approx(true, rel=1e-9)


@given(measured(), st.integers(0, 2**32))
@tried(150)
def test_the_gradient_and_the_bend_give_the_loss_at_any_other_point(
    measurements: list[Measurement], seed: int
) -> None:
    """A quadratic is its tangent plus what it bends by, exactly."""
    rng = np.random.default_rng(seed)
    here, there = random_joint(rng), random_joint(rng)
    loss = built(measurements)
    moved = (held(loss, there).flat - held(loss, here).flat)[: loss.tree.cells]
    bent = loss.bend(residual(loss, there).flat - residual(loss, here).flat)
    found = value(loss, here) + float(gradient(loss, here) @ moved) + bent
    assert found == pytest.approx(value(loss, there), rel=1e-8, abs=1e-8)


@given(measured(), st.integers(0, 2**32))
@tried(100)
def test_the_gradient_is_the_slope_of_the_sum_of_squares(
    measurements: list[Measurement], seed: int
) -> None:
    """Central differences of the obvious loss, a cell of the joint table at a time."""
    rng = np.random.default_rng(seed)
    mass, loss = random_joint(rng), built(measurements)
    slope = gradient(loss, mass)
    for cell in rng.choice(mass.size, 3, replace=False):
        step = np.zeros(mass.shape)
        step.reshape(-1)[cell] = 0.5
        above, below = (squares(DOMAIN, measurements, mass + sign * step) for sign in (1, -1))
        moved = held(loss, step).flat[: loss.tree.cells] / 0.5
        assert float(slope @ moved) == pytest.approx(above - below, rel=1e-7, abs=1e-7)


@given(measured(), st.floats(0, 1), st.integers(0, 2**32))
@tried(50)
def test_a_mixture_of_points_has_the_mixture_of_their_residuals(
    measurements: list[Measurement], share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    here, there = random_joint(rng), random_joint(rng)
    loss = built(measurements)
    mixed = residual(loss, share * here + (1 - share) * there).flat
    apart = share * residual(loss, here).flat + (1 - share) * residual(loss, there).flat
    assert np.allclose(mixed, apart, rtol=1e-9, atol=1e-9)


def test_a_cell_counts_in_each_of_its_rows_by_its_weight_there() -> None:
    """Worked by hand: rows over b × a, whose cells are numbered with a fastest."""
    mass = np.zeros(DOMAIN.shape(EVERY))
    mass[1, 0] = 1 / 8  # b = 0, a = 1: cell 1, of mass 1
    mass[0, 2] = 2 / 8  # b = 2, a = 0: cell 4, of mass 2
    rows = Rows(np.array([0, 2, 4]), np.array([1, 4, 4, 0]))
    m = Measurement(
        clique=("b", "a"),
        values=np.array([10.0, 20.0]),
        scale=2.0,
        rows=rows,
        weights=np.array([1.0, 0.5, 3.0, 100.0]),
    )
    # Row 0 predicts 1 · 1 + ½ · 2 = 2, row 1 predicts 3 · 2 + 100 · 0 = 6.
    loss = built([m])
    assert value(loss, mass) == pytest.approx(0.5 * (8**2 + 14**2) / 2**2)
    home = loss.tree.home("ab")
    assert home is not None
    assert len(home) == 2
    slope = loss.tables()
    slope.flat[: loss.tree.cells] = gradient(loss, mass)
    place = tuple({"a": 0, "b": 2}[n] for n in home)
    assert slope[home][place] == pytest.approx((0.5 * -8 + 3 * -14) / 2**2)


def test_rows_of_single_cells_count_however_often_a_cell_is_asked_for() -> None:
    """Two blocks over one column, one of a cell twice, and one over another column."""
    rng = np.random.default_rng(7)
    each, twice = Rows(np.arange(4), np.array([2, 0, 1])), Rows(np.arange(3), np.array([1, 1]))
    asked: list[tuple[Clique, Rows]] = [(("b",), each), (("b",), each), (("b",), twice)]
    asked.append((("a",), Rows(np.arange(2), np.array([1]))))
    measurements = [
        Measurement(
            clique=clique,
            values=rng.random(rows.count) * 10,
            scale=1.0 + i,
            rows=rows,
            weights=rng.random(rows.count) + 0.5,
        )
        for i, (clique, rows) in enumerate(asked)
    ]
    mass, loss = random_joint(rng), built(measurements)
    assert value(loss, mass) == pytest.approx(squares(DOMAIN, measurements, mass), rel=1e-9)
    slope = gradient(loss, mass)
    for cell in range(mass.size):
        step = np.zeros(mass.shape)
        step.reshape(-1)[cell] = 0.5
        above, below = (squares(DOMAIN, measurements, mass + sign * step) for sign in (1, -1))
        moved = held(loss, step).flat[: loss.tree.cells] / 0.5
        assert float(slope @ moved) == pytest.approx(above - below, rel=1e-7, abs=1e-7)


def test_equal_questions_are_merged_into_one_of_their_joint_precision() -> None:
    """Three answers about two columns, in both orders of columns, take one table."""
    rng = np.random.default_rng(5)
    asked: list[tuple[Clique, float]] = [(("a", "b"), 1.0), (("b", "a"), 2.0), (("a", "b"), 0.5)]
    measurements = [
        Measurement(clique=clique, values=rng.normal(5, 5, 6), scale=scale)
        for clique, scale in asked
    ]
    loss = built(measurements)
    assert len(loss.tables().flat) == loss.tree.cells
    mass = random_joint(rng)
    assert value(loss, mass) == pytest.approx(squares(DOMAIN, measurements, mass), rel=1e-12)


def test_a_measurement_of_no_columns_is_one_of_the_total() -> None:
    loss = built([Measurement(clique=(), values=np.array([90.0]), scale=2.0)])
    mass = np.full(DOMAIN.shape(EVERY), 100 / DOMAIN.cells(EVERY))
    assert value(loss, mass) == pytest.approx(0.5 * (10 / 2) ** 2)
    slope = gradient(loss, mass) @ held(loss, mass).flat[: loss.tree.cells]
    assert float(slope) == pytest.approx(10 / 2**2 * 100)


ONE = Rows(np.array([0, 1]), np.array([9]))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            Measurement(clique=("a", "c"), values=np.zeros(8), scale=1.0),
            "contains the measured columns .got a × c",
        ),
        (Measurement(clique=("z",), values=np.zeros(8), scale=1.0), "unknown columns .got z"),
        (Measurement(clique=("a",), values=np.zeros(3), scale=1.0), "one value per cell"),
        (Measurement(clique=("a",), values=np.zeros((2, 1)), scale=1.0), "one value per cell"),
        (Measurement(clique=("a",), values=np.zeros(1), scale=1.0, rows=ONE), "do not fit"),
        (Measurement(clique=("b", "d"), values=np.zeros(2), scale=1.0, rows=ONE), "do not fit"),
    ],
    ids=["no clique", "no column", "cells", "shape", "rows of other cells", "values of other rows"],
)
def test_measurements_that_do_not_fit(asked: Measurement, text: str) -> None:
    tree = junction_tree(DOMAIN, [("a", "b"), ("b", "d")])
    with pytest.raises(QuestionError, match=text):
        objective(tree, [asked])
