"""The certificate against the true minimum, also at points that no descent would stop at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import (
    DOMAIN,
    EVERY,
    Table,
    barred,
    built,
    design,
    least,
    likeliest,
    marginal,
    measured,
    possible,
    residual,
    squares,
)
from understudy.graph import Domain, Measurement, Zeros, certificate, estimate
from understudy.graph.certificate import least_loss

TOTAL = 100.0


def certain(measurements: list[Measurement], zeros: list[Zeros], mass: Table) -> float:
    """Give the certificate found from a joint table whose barred cells are empty."""
    loss = built(measurements, zeros)
    marks = loss.tree.tables()
    for z in zeros:
        home = loss.tree.home(z.clique)
        assert home is not None
        # A cell of the home is barred where all its joint cells are.
        open_ = possible(DOMAIN, [z]).reshape(DOMAIN.shape(EVERY)).astype(np.float64)
        marks[home][marginal(DOMAIN, open_, home) == 0] = 1
    cells = marks.flat > 0
    x = residual(loss, mass).flat
    return least_loss(loss, x, total=TOTAL, barred=cells if cells.any() else None)


def tangent(measurements: list[Measurement], zeros: list[Zeros], mass: Table) -> float:
    """Give the bound of Frank and Wolfe, from the gradient at every cell of the joint table."""
    slope = np.zeros(mass.size)
    for m in measurements:
        asked = design(DOMAIN, m)
        slope += asked.T @ (asked @ mass.reshape(-1) - m.values) / m.scale**2
    best = TOTAL * float(slope[possible(DOMAIN, zeros)].min())
    return squares(DOMAIN, measurements, mass) - float(slope @ mass.reshape(-1)) + best


def random_point(zeros: list[Zeros], seed: int) -> Table:
    """Give a joint table of the total, uneven, with nothing in barred cells."""
    rng = np.random.default_rng(seed)
    mass = rng.exponential(size=DOMAIN.cells(EVERY)) ** 3 * possible(DOMAIN, zeros)
    mass *= TOTAL / mass.sum()
    return mass.reshape(DOMAIN.shape(EVERY))


@given(measured(), st.one_of(st.just([]), barred()), st.integers(0, 2**32))
@tried(150)
def test_the_loss_is_nowhere_below_it_and_it_is_nowhere_below_frank_and_wolfe(
    measurements: list[Measurement], zeros: list[Zeros], seed: int
) -> None:
    mass = random_point(zeros, seed)
    best = least(DOMAIN, measurements, total=TOTAL, zeros=zeros)
    found, loose = (how(measurements, zeros, mass) for how in (certain, tangent))
    assert found <= best + 1e-6 * (1 + best)
    assert found >= loose - 1e-9 * (1 + abs(loose))


@given(measured(), st.one_of(st.just([]), barred()))
@tried(100)
def test_at_the_minimum_it_is_the_minimum(
    measurements: list[Measurement], zeros: list[Zeros]
) -> None:
    mass = likeliest(DOMAIN, measurements, total=TOTAL, zeros=zeros)
    best = squares(DOMAIN, measurements, mass)
    assert certain(measurements, zeros, mass) == pytest.approx(best, rel=1e-5, abs=1e-5)


def test_a_rare_cell_that_is_too_cheap_does_not_spoil_it() -> None:
    """Where a cell lacks a tenth of a row, the tangent would put all rows there."""
    asked = [Measurement(clique=("b",), values=np.array([60.0, 40.0, 0.1]), scale=1.0)]
    shares = np.array([60.0, 40.0, 0.0]) / 16
    mass = np.broadcast_to(shares[None, :, None, None], DOMAIN.shape(EVERY)).copy()
    best = least(DOMAIN, asked, total=TOTAL)
    assert tangent(asked, [], mass) < best - 1
    assert certain(asked, [], mass) == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("name", ["least", "spread"])
def test_a_pass_that_loses_what_branches_cost_is_seen(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The tests above can fail: break the pass over the tree."""
    cliques = [("a", "b"), ("b", "c"), ("b", "d")]
    rng = np.random.default_rng(0)
    measurements = [
        Measurement(clique=c, values=rng.normal(5, 5, DOMAIN.cells(c)), scale=1.0) for c in cliques
    ]
    mass = likeliest(DOMAIN, measurements, total=TOTAL)
    best = squares(DOMAIN, measurements, mass)
    assert certain(measurements, [], mass) == pytest.approx(best, rel=1e-5)
    real = getattr(certificate, name)
    monkeypatch.setattr(certificate, name, lambda *given_: 0 * real(*given_))
    assert abs(certain(measurements, [], mass) - best) > 1


@pytest.mark.parametrize(("total", "scale"), [(1e6, 1.0), (1e8, 0.1), (1e9, 1.0)])
def test_it_holds_where_counts_are_huge_beside_their_noise(total: float, scale: float) -> None:
    """Rounding alone must not lift the bound above the true least loss.

    With every cell above 0 in one table, that is the squared surplus over the total, spread
    evenly over the cells.
    """
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(40, 5.0))
    values = total * shares + rng.normal(0, scale, 40)
    best = 0.5 * (values.sum() - total) ** 2 / 40 / scale**2
    m = Measurement(clique=("a", "b"), values=values, scale=scale)
    fit = estimate(Domain({"a": 8, "b": 5}), [m], total=total, tolerance=1e-3, most=300)
    assert fit.loss - fit.gap <= best * (1 + 1e-6) + 1e-6
    assert fit.gap >= 0
