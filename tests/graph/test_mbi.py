"""Against the field's reference implementation, Private-PGM (`mbi` 2.0), as a judge.

Both must say the same of the same potentials, measurements and fits.  The judge is asked
once for all, in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.audit.effort import in_audit
from tests.graph.brute import Case, Table, answers, matrix, modelled, random_case
from understudy.graph import Clique, Domain, Measurement, Model, Rows, estimate
from understudy.graph.objective import objective

pytestmark = [
    in_audit,
    pytest.mark.skipif(
        find_spec("mbi") is None,
        reason="mbi, which brings JAX, only judges these tests: pip install mbi==2.0.0 to hear it",
    ),
]

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 3, "e": 2})
GRAPHS: dict[str, list[Clique]] = {
    "chain": [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")],
    "loop": [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("e",)],
    "star": [("c", "a"), ("c", "b"), ("c", "d", "e")],
}
FITTED = ("chain", "loop")
FAR: list[Clique] = [("e", "a"), ("e", "a", "b")]
"""Columns that no clique of the graphs holds."""
ROWS = 2000


def potentials(graph: str) -> Case:
    return random_case(DOMAIN, GRAPHS[graph], seed=0, size=2.0)


def mixed() -> list[Measurement]:
    """Cells and weighted rows, a clique twice and in another order, small ones in large ones."""
    rng = np.random.default_rng(0)
    cliques: list[Clique] = [("b", "a"), ("c", "d", "e"), ("a", "b"), ("e",), ("d", "c")]
    out = [
        Measurement(clique=c, values=rng.normal(20, 20, DOMAIN.cells(c)), scale=s)
        for c, s in zip(cliques, (1.0, 5.0, 0.3, 2.0, 10.0), strict=True)
    ]
    rows = Rows(np.array([0, 3, 5]), np.array([0, 5, 7, 5, 2]))
    for weights in (None, rng.normal(size=5)):
        values = rng.normal(20, 20, 2)
        out.append(
            Measurement(clique=("d", "b"), values=values, scale=2.0, rows=rows, weights=weights)
        )
    return out


def model_of(measurements: list[Measurement]) -> Model:
    return modelled(random_case(DOMAIN, [m.clique for m in measurements], seed=1), total=300.0)


def noisy(graph: str) -> list[Measurement]:
    return answers(DOMAIN, GRAPHS[graph], rows=ROWS, scale=10.0, seed=2)


def told(measurements: list[Measurement]) -> list[Any]:
    """Write measurements down, those of sums with their matrix."""
    return [
        [m.clique, m.values.tolist(), m.scale, matrix(DOMAIN, m).tolist() if m.rows else None]
        for m in measurements
    ]


def questions() -> dict[str, tuple[str, dict[str, Any]]]:
    """List all that the judge is asked, by a name each."""
    asked: dict[str, tuple[str, dict[str, Any]]] = {}
    for graph in GRAPHS:
        tree, held = potentials(graph)
        flat = [[c, held[c].reshape(-1).tolist()] for c in tree.cliques]
        given = {"potentials": flat, "total": ROWS, "inside": tree.cliques, "far": FAR}
        asked[f"marginals {graph}"] = ("marginals", given)
    for graph in FITTED:
        given = {"measurements": told(noisy(graph)), "total": ROWS, "iterations": 2000}
        cliques = GRAPHS[graph]
        asked[f"fit {graph}"] = ("fit", given | {"asked": [*cliques, *FAR]})
    measurements = mixed()
    tables = model_of(measurements).marginals([m.clique for m in measurements])
    flat = [[c, t.reshape(-1).tolist()] for c, t in tables.items()]
    asked["loss"] = ("loss", {"measurements": told(measurements), "tables": flat})
    return asked


@pytest.fixture(scope="module")
def judge() -> dict[str, Any]:
    """Give all that the judge says."""
    asked = questions()
    done = subprocess.run(
        [sys.executable, "-m", "tests.graph.judge"],
        cwd=Path(__file__).parents[2],
        input=json.dumps({"domain": DOMAIN.sizes, "questions": list(asked.values())}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(asked, json.loads(done.stdout), strict=True))


def tables(said: list[list[float]], cliques: list[Clique]) -> dict[Clique, Table]:
    return {
        c: np.array(values).reshape(DOMAIN.shape(c))
        for c, values in zip(cliques, said, strict=True)
    }


@pytest.mark.parametrize("graph", GRAPHS)
def test_potentials_have_the_same_marginals(judge: dict[str, Any], graph: str) -> None:
    """Of the tree's own cliques, and of columns that no clique holds."""
    case = potentials(graph)
    model = modelled(case, total=ROWS)
    for clique, there in tables(judge[f"marginals {graph}"], [*case[0].cliques, *FAR]).items():
        assert np.allclose(model.marginal(clique), there, rtol=1e-8, atol=1e-8)


def test_marginals_have_the_same_loss(judge: dict[str, Any]) -> None:
    measurements = mixed()
    model = model_of(measurements)
    loss = objective(model.tree, measurements)
    residual = loss.tables()
    for clique in model.tree.cliques:
        residual[clique][...] = model.tables[clique]
    loss.leave(residual)
    assert loss.value(residual.flat) == pytest.approx(judge["loss"], rel=1e-9)


@pytest.mark.parametrize("graph", FITTED)
def test_the_same_measurements_are_fitted_no_worse_and_alike(
    judge: dict[str, Any], graph: str
) -> None:
    """Two thousand iterations of theirs; ours until it is certain."""
    measurements, cliques = noisy(graph), GRAPHS[graph]
    fit = estimate(DOMAIN, measurements, total=ROWS, tolerance=1e-4, most=3000)
    assert fit.gap <= 1e-4 * fit.loss
    there = tables(judge[f"fit {graph}"], [*cliques, *FAR])
    loss = sum(
        0.5 * float((((there[m.clique].reshape(-1) - m.values) / m.scale) ** 2).sum())
        for m in measurements
    )
    assert fit.loss <= loss * (1 + 1e-4)
    assert loss <= fit.loss * 1.01
    for clique, table in there.items():
        assert np.abs(fit.model.marginal(clique) - table).max() < 0.005 * ROWS
