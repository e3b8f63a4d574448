"""Belief propagation against the whole joint table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.brute import Table, joint, marginal, models
from understudy.errors import QuestionError
from understudy.graph import Clique, beliefs, kernels
from understudy.graph.beliefs import propagate
from understudy.graph.domain import Domain
from understudy.graph.junction import JunctionTree, junction_tree

Model = tuple[JunctionTree, dict[Clique, Table]]


@given(models(), st.sampled_from([1.0, 1e8]))
@settings(max_examples=400, deadline=None)
def test_every_clique_has_the_marginal_of_the_joint_table(model: Model, total: float) -> None:
    tree, potentials = model
    before = {c: t.copy() for c, t in potentials.items()}
    found = propagate(tree, potentials, total=total)
    mass = joint(tree.domain, potentials)
    for clique in tree.cliques:
        true = marginal(tree.domain, mass, clique) / mass.sum() * total
        assert np.allclose(found.tables[clique], true, rtol=1e-9, atol=1e-9 * total)
        assert np.all(found.tables[clique][np.isneginf(potentials[clique])] == 0)
        assert np.array_equal(potentials[clique], before[clique])


@given(models())
@settings(max_examples=200, deadline=None)
def test_the_log_partition_is_that_of_the_joint_table(model: Model) -> None:
    tree, potentials = model
    names = list(tree.domain.sizes)
    logs = sum(
        t.reshape([tree.domain.sizes[n] if n in c else 1 for n in names])
        for c, t in potentials.items()
    )
    true = np.logaddexp.reduce(np.ravel(np.asarray(logs)))
    assert propagate(tree, potentials, total=1.0).log_partition == pytest.approx(
        true, rel=1e-9, abs=1e-9
    )


@given(models())
@settings(max_examples=100, deadline=None)
def test_neighbouring_cliques_agree_on_what_they_share(model: Model) -> None:
    tree, potentials = model
    tables = propagate(tree, potentials, total=1000.0).tables
    for edge in tree.edges:
        child, parent = [
            tables[c].sum(axis=tuple(i for i, n in enumerate(c) if n not in edge.separator))
            for c in (edge.child, edge.parent)
        ]
        assert np.allclose(child, parent, rtol=1e-9, atol=1e-6)


def test_dropped_messages_and_wrong_separators_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail: break the way up, then the way down."""
    domain = Domain({"a": 2, "b": 3, "c": 2})
    tree = junction_tree(domain, [("a", "b"), ("b", "c")])
    rng = np.random.default_rng(0)
    potentials = {c: rng.normal(size=domain.shape(c)) for c in tree.cliques}
    mass = joint(domain, potentials)

    def worst() -> float:
        found = propagate(tree, potentials, total=1.0).tables
        return max(
            float(np.abs(found[c] - marginal(domain, mass, c) / mass.sum()).max())
            for c in tree.cliques
        )

    assert worst() < 1e-12
    with monkeypatch.context() as patch:
        patch.setattr(beliefs, "spread", lambda *given: 0 * kernels.spread(*given))
        assert worst() > 1e-3
    with monkeypatch.context() as patch:
        patch.setattr(beliefs, "ratio", lambda above, below: 1 / below)
        assert worst() > 1e-3


def test_a_model_in_which_nothing_can_be() -> None:
    domain = Domain({"a": 2})
    tree = junction_tree(domain, [])
    with pytest.raises(QuestionError, match="every cell of the model is impossible"):
        propagate(tree, {("a",): np.full(2, -np.inf)}, total=1.0)
