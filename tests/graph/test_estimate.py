"""Estimation: the likeliest model, entropy where nothing is said, zeros, totals, factors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.audit.effort import THOROUGH, effort, tried
from tests.graph.brute import (
    DOMAIN,
    EVERY,
    LINKS,
    WIDE,
    Table,
    answers,
    barred,
    exact,
    least,
    marginal,
    measured,
    squares,
)
from understudy.errors import QuestionError
from understudy.graph import Clique, Domain, Fit, Measurement, Model, Rows, Zeros, estimate
from understudy.graph.descent import CHECK_EVERY, Descent
from understudy.graph.sampling import Way

TOTAL = 100.0
CHAIN: list[Clique] = [("a", "b"), ("b", "c")]


def world(seed: int) -> Table:
    """Give a joint table over ``DOMAIN`` with a hundred rows or so in a cell."""
    return np.random.default_rng(seed).random(DOMAIN.shape(EVERY)) * 200


# What is fitted.


def test_consistent_answers_are_fitted_exactly_and_nothing_is_made_up() -> None:
    """Two pairs of a chain, no noise: their marginals come back, and a ⊥ c given b."""
    mass = world(0)
    total = float(mass.sum())
    fit = estimate(
        DOMAIN, [exact(mass, c, scale=1.0) for c in CHAIN], total=total, tolerance=1e-9, most=3000
    )
    for clique in CHAIN:
        true = marginal(DOMAIN, mass, clique)
        assert np.allclose(fit.model.marginal(clique), true, rtol=1e-4)
    ab, bc, b = (fit.model.marginal(names) for names in ("ab", "bc", "b"))
    apart = ab[:, :, None] * bc[None] / b[None, :, None]
    assert np.allclose(fit.model.marginal("abc"), apart, rtol=1e-9)
    # Nobody asked about d: it stays uniform, whatever the rest.
    half = np.multiply.outer(ab, np.full(2, 0.5))
    assert np.allclose(fit.model.marginal("abd"), half, rtol=1e-9)
    assert fit.model.total == pytest.approx(total)
    assert fit.factors == {}


def test_entropy_is_the_most_that_the_answers_leave_room_for() -> None:
    """A loop of three pairs: the model is a product of pairs, as no other of its fits is."""
    mass = world(1)
    pairs: list[Clique] = [("a", "b"), ("b", "c"), ("c", "a")]
    fit = estimate(
        DOMAIN,
        [exact(mass, c, scale=1.0) for c in pairs],
        total=float(mass.sum()),
        tolerance=1e-10,
        most=5000,
    )
    logs = np.log(fit.model.marginal("abc"))
    # Without a term of all three, second differences along a are the same at every c.
    mixed = np.diff(np.diff(np.diff(logs, axis=0), axis=1), axis=2)
    assert np.abs(mixed).max() < 1e-2
    there = np.log(marginal(DOMAIN, mass, ("a", "b", "c")))
    assert np.abs(np.diff(np.diff(np.diff(there, axis=0), axis=1), axis=2)).max() > 0.1


def test_nothing_measured_is_uniform() -> None:
    fit = estimate(DOMAIN, [], total=TOTAL)
    assert np.allclose(fit.model.marginal(EVERY), TOTAL / DOMAIN.cells(EVERY))
    assert fit.loss == fit.gap == 0


def test_the_loss_is_that_of_the_model_and_the_gap_is_within_the_tolerance() -> None:
    measurements = answers(WIDE, [*LINKS, ("a", "c"), ("d",)], rows=5000, scale=10.0, seed=0)
    seen: list[float] = []
    tolerance = 1e-4 if THOROUGH else 1e-3

    def watch(now: Descent) -> None:
        seen.append(now.gap)

    fit = estimate(WIDE, measurements, total=5000.0, tolerance=tolerance, watch=watch)
    whole = fit.model.marginal(tuple(WIDE))
    assert fit.loss == pytest.approx(squares(WIDE, measurements, whole), rel=1e-9)
    assert fit.gap == seen[-1] <= tolerance * fit.loss
    assert all(np.isfinite(seen))
    assert seen[-1] < seen[0]


@pytest.mark.parametrize("cells", [[0], [0, 1], [0, 1, 2, 3]])
def test_answers_that_can_be_met_exactly_are_soon_certain(cells: list[int]) -> None:
    """The least loss is 0, of which no share can be asked for."""
    rows = Rows(np.array([0, len(cells)]), np.array(cells))
    asked = Measurement(clique=("c",), values=np.array([10.0]), scale=0.5, rows=rows)
    fit = estimate(DOMAIN, [asked], total=120.0 if len(cells) < 4 else 10.0)
    assert fit.loss < 1e-3
    assert fit.gap < 1e-2
    assert fit.iterations <= 200


def test_an_order_of_elimination_changes_the_tree_and_not_the_fit() -> None:
    loop: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    measurements = answers(DOMAIN, loop, rows=1000, scale=5.0, seed=1)
    given_, chosen = (
        estimate(DOMAIN, measurements, total=1000.0, order=order, tolerance=1e-6, most=3000)
        for order in ("bdac", None)
    )
    assert given_.model.tree.cells > chosen.model.tree.cells
    assert given_.loss == pytest.approx(chosen.loss, rel=1e-5)


# Zeros.


@given(measured(), barred())
@tried(25)
def test_the_loss_is_the_least_of_models_without_the_barred_cells(
    measurements: list[Measurement], zeros: list[Zeros]
) -> None:
    fit = estimate(DOMAIN, measurements, total=TOTAL, zeros=zeros, tolerance=1e-5)
    best = least(DOMAIN, measurements, total=TOTAL, zeros=zeros)
    close = 1e-6 * (1 + best)
    assert best - close <= fit.loss <= best * 1.001 + 1e-2
    assert fit.loss - fit.gap <= best + close
    for z in zeros:
        assert np.all(fit.model.marginal(z.clique).reshape(-1)[z.cells] == 0)


@pytest.mark.parametrize("way", ["rounded", "multinomial"])
def test_no_row_has_a_barred_cell(way: Way) -> None:
    """A lie is measured at the barred cells, and noise everywhere."""
    rng = np.random.default_rng(0)
    cliques: list[Clique] = [("b", "a"), ("c", "b"), ("b", "d")]
    measurements = [
        Measurement(clique=c, values=rng.normal(50, 50, DOMAIN.cells(c)), scale=20.0)
        for c in cliques
    ]
    zeros = [
        Zeros(clique=("b", "a"), cells=np.array([1, 4])),
        Zeros(clique=("c", "b"), cells=np.array([0, 5, 7, 11])),
    ]
    fit = estimate(DOMAIN, measurements, total=1000.0, zeros=zeros, most=200)
    drawn = fit.model.sample(100_000, rng, way=way)
    for z in zeros:
        codes = np.ravel_multi_index([drawn[n] for n in z.clique], DOMAIN.shape(z.clique))
        counts = np.bincount(codes, minlength=DOMAIN.cells(z.clique))
        assert np.all(counts[z.cells] == 0)
        assert np.all(fit.model.marginal(z.clique).reshape(-1)[z.cells] == 0)


def test_zeros_hold_whatever_the_start_has_there() -> None:
    measurements = answers(DOMAIN, CHAIN, rows=1000, scale=5.0, seed=2)
    start = estimate(DOMAIN, measurements, total=1000.0).model
    zeros = [Zeros(clique=("c", "a"), cells=np.array([0, 3]))]
    fit = estimate(DOMAIN, measurements, total=1000.0, zeros=zeros, start=start)
    assert np.all(fit.model.marginal(("c", "a")).reshape(-1)[[0, 3]] == 0)
    best = least(DOMAIN, measurements, total=1000.0, zeros=zeros)
    assert fit.loss - fit.gap <= best * (1 + 1e-6)
    assert fit.loss <= best * 1.01


# A total that is measured.


def test_a_fit_that_stalls_stops_no_further_from_the_least_loss_than_it_says() -> None:
    """It stops before one that goes on, with a loss that hardly falls after it."""
    measurements = answers(WIDE, [*LINKS, ("a", "c")], rows=5000, scale=10.0, seed=5)
    whole, early = (
        estimate(WIDE, measurements, total=5000.0, tolerance=1e-9, most=500, stalled=stalled)
        for stalled in (0.0, 0.005)
    )
    assert early.iterations < whole.iterations / 2
    assert whole.loss <= early.loss <= 1.02 * whole.loss


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5])
@pytest.mark.parametrize("cells", [[0], [0, 1]])
def test_a_part_that_is_precisely_known_does_not_drag_the_total_along(
    cells: list[int], tolerance: float
) -> None:
    """A part of 10 ± ½ and a total of 120 ± 10 agree: the rest of the total is elsewhere."""
    rows = Rows(np.array([0, len(cells)]), np.array(cells))
    part = Measurement(clique=("c",), values=np.array([10.0]), scale=0.5, rows=rows)
    total = Measurement(clique=(), values=np.array([120.0]), scale=10.0)
    fit = estimate(DOMAIN, [part, total], tolerance=tolerance)
    assert fit.model.total == pytest.approx(120, abs=1)
    assert float(fit.model.marginal("c")[cells].sum()) == pytest.approx(10, abs=0.1)
    assert fit.loss < 0.05


def test_a_total_that_is_all_that_is_known() -> None:
    fit = estimate(DOMAIN, [Measurement(clique=(), values=np.array([250.0]), scale=3.0)])
    assert fit.model.total == pytest.approx(250)
    assert np.allclose(fit.model.marginal("ab"), 250 / 6)


@pytest.mark.parametrize("value", [0.0, -40.0])
def test_a_total_drowned_in_noise_leaves_next_to_nothing(value: float) -> None:
    fit = estimate(DOMAIN, [Measurement(clique=(), values=np.array([value]), scale=30.0)])
    assert 0 < fit.model.total < 1
    assert fit.loss == pytest.approx(0.5 * (value / 30) ** 2, abs=1e-4)


# Groups.


def test_factors_of_groups_come_back() -> None:
    """Exact answers, of tables that count three times and a fiftieth of the known total."""
    mass = world(2)
    shares = {"fares": 3.0, "flags": 0.02}
    measurements = [exact(mass, ("c", "d"), scale=1.0)]
    for group, share in shares.items():
        measurements += [exact(share * mass, c, scale=1.0, group=group) for c in CHAIN]
    fit = estimate(DOMAIN, measurements, total=float(mass.sum()), tolerance=1e-8, most=3000)
    assert fit.factors == pytest.approx(shares, rel=1e-4)
    for clique in CHAIN:
        assert np.allclose(fit.model.marginal(clique), marginal(DOMAIN, mass, clique), rtol=1e-3)


def test_factors_are_shares_of_a_total_that_is_measured_too() -> None:
    mass = world(3)
    total = exact(mass, (), scale=1.0)
    measurements = [total, *(exact(0.3 * mass, c, scale=1.0, group="g") for c in CHAIN)]
    fit = estimate(DOMAIN, measurements, tolerance=1e-8, most=3000)
    assert fit.model.total == pytest.approx(float(mass.sum()), rel=1e-4)
    assert fit.factors["g"] == pytest.approx(0.3, rel=1e-4)


@pytest.mark.parametrize("unit", [1e-9, 1e3, 1e9])
def test_the_unit_that_a_group_counts_in_is_in_its_factor_and_nowhere_else(unit: float) -> None:
    """The same answers in cents or in millions: one model, one loss, another factor."""
    plain, grouped = answers(DOMAIN, CHAIN, rows=1000, scale=20.0, seed=3)
    fits = [
        estimate(
            DOMAIN,
            [plain, replace(grouped, values=grouped.values * u, scale=20.0 * u, group="g")],
            total=1000.0,
        )
        for u in (1.0, unit)
    ]
    assert fits[1].factors["g"] == pytest.approx(unit * fits[0].factors["g"], rel=1e-3)
    assert fits[1].loss == pytest.approx(fits[0].loss, rel=1e-3)


@pytest.mark.parametrize("size", [1e-6, 5.0, 1e7])
@pytest.mark.parametrize("total", [120.0, None])
def test_a_group_drowned_in_noise_is_small_and_spoils_nothing(
    size: float, total: float | None
) -> None:
    """All its answers are negative: no factor above 0 brings a model near them."""
    plain = Measurement(clique=("b", "c"), values=np.full(12, 10.0), scale=1.0)
    drowned = Measurement(clique=("a", "b"), values=np.full(6, -size), scale=size, group="g")
    fit = estimate(DOMAIN, [plain, drowned], total=total)
    # What the model says of it, 20 a cell, is far below its noise.
    assert 0 < 20 * fit.factors["g"] < 1e-3 * size
    assert fit.loss == pytest.approx(3, rel=1e-3)
    assert np.isfinite(fit.gap)
    assert fit.model.total == pytest.approx(120, rel=1e-3)
    assert np.allclose(fit.model.marginal(("b", "c")), 10, rtol=1e-2)


# Starts.


def fitted(measurements: list[Measurement], start: Model | None = None, *, most: int = 5000) -> Fit:
    return estimate(WIDE, measurements, total=5000.0, tolerance=0.01, most=most, start=start)


def test_a_smaller_model_is_a_start_that_is_nearer_for_the_first_steps() -> None:
    """A chain of pairs, then one more pair that closes a loop, a few times over."""
    for seed in range(effort(2, 4)):
        measurements = answers(WIDE, [*LINKS, ("a", "c")], rows=5000, scale=10.0, seed=seed)
        smaller = fitted(measurements[:-1]).model
        assert smaller.tree.home("ac") is None
        cold, warm = (fitted(measurements, start) for start in (None, smaller))
        assert max(cold.gap, warm.gap) <= 0.011 * cold.loss
        # After a few steps far less is left of the way down.
        certain = max(cold.loss - cold.gap, warm.loss - warm.gap)
        for most in (5, 10, 15):
            early = [fitted(measurements, start, most=most).loss for start in (None, smaller)]
            assert early[1] - certain < 0.5 * (early[0] - certain)
        later = fitted(measurements, most=10).loss
        assert fitted(measurements, smaller, most=8).loss < later


def test_a_model_of_the_same_answers_is_a_start_that_is_nearly_done() -> None:
    measurements = answers(WIDE, [*LINKS, ("a", "c")], rows=5000, scale=10.0, seed=1)
    cold = fitted(measurements)
    again = fitted(measurements, cold.model)
    assert cold.iterations > 5 * CHECK_EVERY
    assert again.iterations < 0.3 * cold.iterations
    assert again.loss <= cold.loss * 1.001


def test_a_start_with_empty_cells_can_fill_them_again() -> None:
    """Answers of another world: a start that holds half the cells to be empty is no bar."""
    mass = world(4)
    mass[1] = 0
    start = estimate(DOMAIN, [exact(mass, c, scale=0.1) for c in CHAIN], total=1000.0).model
    assert float(start.marginal("a")[1]) < 1
    there = exact(world(5), ("a", "b"), scale=1.0)
    total = float(there.values.sum())
    fit = estimate(DOMAIN, [there], total=total, start=start, tolerance=1e-6)
    assert np.allclose(fit.model.marginal(("a", "b")).reshape(-1), there.values, rtol=1e-2)


# What cannot be.

ONES = Measurement(clique=("a",), values=np.ones(2), scale=1.0)
GROUPED = Measurement(clique=("a",), values=np.ones(2), scale=1.0, group="g")
OTHER = estimate(Domain({"a": 2, "b": 3}), [], total=1.0).model
NARROW = estimate(Domain({"a": 1, "b": 3, "c": 4, "d": 2}), [], total=1.0).model


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"total": 0.0}, "total must be above 0"),
        ({"total": -5.0}, "total must be above 0"),
        ({"total": np.nan}, "total must be above 0"),
        ({"total": -5.0, "measurements": [GROUPED]}, "total must be above 0"),
        ({"total": 0.0, "measurements": [GROUPED]}, "total must be above 0"),
        ({"tolerance": 0.0}, "needs a tolerance and a number of iterations above 0"),
        ({"most": 0}, "needs a tolerance and a number of iterations above 0"),
        ({"total": None, "measurements": [GROUPED]}, "do not determine the model's total"),
        ({"total": None, "measurements": []}, "do not determine the model's total"),
        ({"order": ["a"]}, "must name every column once"),
        ({"start": OTHER}, "unknown columns"),
        ({"start": NARROW}, "start"),
        ({"zeros": [Zeros(clique=("a", "d"), cells=np.array([4]))]}, "zeros outside .* a × d"),
        ({"zeros": [Zeros(clique=("a",), cells=np.array([-1]))]}, "zeros outside .* a .got -1 to"),
        ({"zeros": [Zeros(clique=("a",), cells=np.arange(2))]}, "every cell .* is impossible"),
        ({"zeros": [Zeros(clique=("z",), cells=np.arange(2))]}, "unknown columns"),
        ({"measurements": [replace(ONES, clique=("z",))]}, "unknown columns"),
        ({"measurements": [replace(ONES, values=np.ones(3))]}, "one value per cell"),
    ],
)
def test_fits_that_cannot_be(wrong: dict[str, Any], text: str) -> None:
    settings_: dict[str, Any] = {"measurements": [ONES], "total": 2.0} | wrong
    with pytest.raises(QuestionError, match=text):
        estimate(DOMAIN, **settings_)


def test_a_column_measured_against_itself() -> None:
    with pytest.raises(QuestionError, match="twice"):
        estimate(DOMAIN, [replace(ONES, clique=("a", "a"), values=np.ones(4))], total=2.0)


def test_a_model_too_large_is_refused_before_any_work() -> None:
    """A table of a thousand billion cells is named and priced, not made."""
    domain = Domain(dict.fromkeys("abcd", 1000))
    asked = Measurement(clique=("a", "b", "c", "d"), values=np.ones(1), scale=1.0)
    with pytest.raises(
        QuestionError, match=r"a table over a × b × c × d \(got 8,000,000,000,000 bytes in all"
    ):
        estimate(domain, [asked], total=1.0, limit=10**9)
    fit = estimate(DOMAIN, [ONES], total=2.0, limit=8 * (2 + 3 + 4 + 2))
    assert isinstance(fit.model, Model)
