"""Marginals of any columns against the joint table, and rows that sit on the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.brute import Table, joint, marginal, models
from understudy.errors import QuestionError
from understudy.graph import Clique
from understudy.graph.beliefs import propagate
from understudy.graph.domain import Domain
from understudy.graph.junction import JunctionTree, junction_tree
from understudy.graph.model import Model

Given = tuple[JunctionTree, dict[Clique, Table]]


def fitted(model: Given, total: float) -> Model:
    tree, potentials = model
    return Model(tree, propagate(tree, potentials, total=total).tables)


@given(models(), st.data())
@settings(max_examples=300, deadline=None)
def test_any_columns_have_the_marginal_of_the_joint_table(
    model: Given, data: st.DataObject
) -> None:
    tree, potentials = model
    names = data.draw(st.sets(st.sampled_from(list(tree.domain.sizes)), max_size=4))
    clique = tree.domain.clique(names)
    mass = joint(tree.domain, potentials)
    true = marginal(tree.domain, mass, clique) / mass.sum() * 1000
    found = fitted(model, 1000.0).marginal(names)
    assert found.shape == tree.domain.shape(clique)
    assert np.allclose(found, true, rtol=1e-8, atol=1e-8)


@given(models(), st.integers(0, 3000), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_a_samples_cliques_are_the_models_but_for_rounding(
    model: Given, rows: int, seed: int
) -> None:
    made = fitted(model, float(max(rows, 1)))
    drawn = made.sample(rows, np.random.default_rng(seed))
    tree = made.tree
    for clique in tree.cliques:
        codes = np.ravel_multi_index([drawn[n] for n in clique], tree.domain.shape(clique))
        counted = np.bincount(codes, minlength=tree.domain.cells(clique))
        expected = made.tables[clique].reshape(-1) * (rows / max(rows, 1))
        # One rounding a clique on the way from the root, each by less than one.
        assert np.abs(counted - expected).max() <= len(tree.cliques)


def test_a_count_is_rounded_up_with_the_probability_of_its_fraction() -> None:
    tree = junction_tree(Domain({"a": 3}), [])
    shares = np.array([0.2, 0.5, 0.3])
    model, rng = Model(tree, {("a",): shares}), np.random.default_rng(1)
    drawn = [int(model.sample(1, rng)["a"][0]) for _ in range(20_000)]
    assert np.abs(np.bincount(drawn) / len(drawn) - shares).max() < 0.02


def test_siblings_are_independent_given_their_parent() -> None:
    """A known bug of the field: without a shuffle, siblings become functions of each other."""
    domain = Domain({"p": 2, "x": 8, "y": 8})
    tree = junction_tree(domain, [("p", "x"), ("p", "y")])
    rng = np.random.default_rng(3)
    tables = propagate(
        tree, {c: rng.normal(size=domain.shape(c)) for c in tree.cliques}, total=1.0
    ).tables
    drawn = Model(tree, tables).sample(200_000, rng)
    shared = 0.0
    for value in range(2):
        here = drawn["p"] == value
        both = np.histogram2d(drawn["x"][here], drawn["y"][here], bins=8)[0] / here.sum()
        apart = both.sum(axis=1, keepdims=True) * both.sum(axis=0, keepdims=True)
        kept = both > 0
        shared += here.mean() * float((both[kept] * np.log(both[kept] / apart[kept])).sum())
    # Chance alone gives about 49 degrees of freedom / 2n for each value of p.
    assert shared < 3 * 2 * 49 / (2 * 200_000)


def test_columns_that_nobody_measured_are_uniform() -> None:
    domain = Domain({"a": 2, "b": 5})
    tree = junction_tree(domain, [("a",)])
    tables = propagate(tree, {c: np.zeros(domain.shape(c)) for c in tree.cliques}, total=10.0)
    model = Model(tree, tables.tables)
    assert model.total == pytest.approx(10)
    assert np.bincount(model.sample(1000, np.random.default_rng(0))["b"]).tolist() == [200] * 5


def test_a_negative_number_of_rows() -> None:
    tree = junction_tree(Domain({"a": 2}), [])
    with pytest.raises(QuestionError, match="must not be negative"):
        Model(tree, {("a",): np.ones(2)}).sample(-1, np.random.default_rng(0))
