"""Answers restated on smaller cliques say of every table just what they said before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import squares
from tests.synth.measure.grids import settled
from understudy.budget import Currency
from understudy.door import Clique, Measurement
from understudy.schema import Domain
from understudy.synth.measure.granularity import Grid, children, closure
from understudy.synth.measure.restating import Evidence

SIZES = {"a": 3, "b": 2, "c": 4}
DOMAIN = Domain(SIZES)

Answered = tuple[Grid, list[Measurement]]


def answered(likely: float, seed: int) -> list[Answered]:
    """Every grid of a × b × c's closure with answers to its rows, as fine as chance has it."""
    rng = np.random.default_rng(seed)
    grids: dict[Clique, Grid] = {}
    out = []
    for clique in closure([tuple(SIZES)]):
        grid = Grid.of(clique, tuple(SIZES[n] for n in clique), children(clique, grids))
        measured = []
        for query in grid.queries(float(rng.uniform(1, 9)), Currency.GDP):
            count = len(grid.plausible) if query.rows is None else query.rows.count
            values = rng.normal(20, 30, count)
            measured.append(
                Measurement(clique=clique, values=values, scale=query.scale, rows=query.rows)
            )
        out.append((grid, measured))
        grids[clique] = settled(grid, (rng.random(len(grid.plausible)) < likely).tolist())
    return out


def restated(given_: list[Answered], factor: float = 1.0) -> list[Measurement]:
    evidence = Evidence(Domain(SIZES))
    for grid, measured in given_:
        evidence.add(grid, measured, factor=factor)
    return evidence.measurements()


@given(st.sampled_from([0.0, 0.4, 0.8, 1.0]), st.integers(0, 2**32))
@tried(40)
def test_tables_differ_in_likelihood_by_as_much_as_before(likely: float, seed: int) -> None:
    """The two losses differ by a number that is the same for every table."""
    given_ = answered(likely, seed)
    plain = [m for _, measured in given_ for m in measured]
    rng = np.random.default_rng(seed)
    tables = [rng.gamma(0.5, 20, (3, 2, 4)) for _ in range(4)]
    found = restated(given_)
    apart = [squares(DOMAIN, plain, t) - squares(DOMAIN, found, t) for t in tables]
    assert apart == pytest.approx([apart[0]] * 4, rel=1e-6, abs=1e-6)


def test_answers_to_one_cell_become_their_mean_by_precision() -> None:
    """Nothing is plausible: every coarse row is a cell of a single column."""
    given_ = answered(0.0, 5)
    found = restated(given_)
    assert {m.clique for m in found} == {("a",), ("b",), ("c",)}
    assert len(found) < sum(len(measured) for _, measured in given_)


def test_a_weighted_table_is_restated_at_the_models_size() -> None:
    """Answers about a tenth of a table are tenfold, and so is their noise."""
    grid = Grid.of(("a",), (3,), [])
    answer = Measurement(clique=("a",), values=np.array([1.0, 2.0, 4.0]), scale=0.5)
    (found,) = restated([(grid, [answer])], factor=0.1)
    assert found.values.tolist() == pytest.approx([10, 20, 40])
    assert found.scale == pytest.approx(5)
    assert found.rows is None
    assert found.group is None
