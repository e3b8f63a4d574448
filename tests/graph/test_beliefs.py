"""Belief propagation against the whole joint table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import Case, Table, cases, joint, logs, marginal, modelled, random_case
from understudy.errors import QuestionError
from understudy.graph import Domain, beliefs, junction_tree
from understudy.graph.beliefs import propagate


@given(cases(), st.sampled_from([1.0, 1e8]))
@tried(400, usual=50)
def test_every_clique_has_the_marginal_of_the_joint_table(case: Case, total: float) -> None:
    tree, potentials = case
    before = potentials.flat.copy()
    tables = modelled(case, total=total).tables
    mass = joint(case, total=total)
    for clique in tree.cliques:
        true = marginal(tree.domain, mass, clique)
        assert np.allclose(tables[clique], true, rtol=1e-9, atol=1e-9 * total)
        assert np.all(tables[clique][np.isneginf(potentials[clique])] == 0)
    assert np.array_equal(potentials.flat, before)


@given(cases())
@tried(200)
def test_the_log_partition_is_that_of_the_joint_table(case: Case) -> None:
    tree, potentials = case
    true = float(np.logaddexp.reduce(logs(case).reshape(-1)))
    found = propagate(tree, potentials, total=1.0, out=tree.tables())
    assert found == pytest.approx(true, rel=1e-9, abs=1e-9)


@given(cases())
@tried(100)
def test_neighbouring_cliques_agree_on_what_they_share(case: Case) -> None:
    tree = case[0]
    tables = modelled(case, total=1000.0).tables
    for edge in tree.edges:
        child, parent = [
            tables[c].sum(axis=tuple(i for i, n in enumerate(c) if n not in edge.separator))
            for c in (edge.child, edge.parent)
        ]
        assert np.allclose(child, parent, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("shift", [-1e4, -600.0, 600.0, 1e4])
def test_potentials_that_overflow_or_vanish_give_the_same_model(shift: float) -> None:
    """Moving every potential alike moves the log-partition, and nothing else."""
    domain = Domain({"a": 2, "b": 3, "c": 4})
    case = random_case(domain, [("a", "b"), ("b", "c")], seed=4)
    tree, potentials = case
    tables = modelled(case, total=7.0).tables
    log = propagate(tree, potentials, total=7.0, out=tree.tables())
    potentials.flat += shift
    out = tree.tables()
    moved = propagate(tree, potentials, total=7.0, out=out)
    assert moved == pytest.approx(log + shift * len(tree.cliques), rel=1e-12)
    for clique in tree.cliques:
        assert np.allclose(out[clique], tables[clique], rtol=1e-9, atol=0)


def test_sums_that_overflow_where_no_cell_does() -> None:
    tree = junction_tree(Domain({"a": 4, "b": 3, "c": 4}), [("a", "b"), ("b", "c")])
    potentials, out = tree.tables(), tree.tables()
    potentials.flat[...] = 709.5
    log = propagate(tree, potentials, total=48.0, out=out)
    assert log == pytest.approx(2 * 709.5 + np.log(48))
    assert np.allclose(out.flat, 4)


def no_messages(_: beliefs.Messages) -> beliefs.Messages:
    return []


def first_message(messages: beliefs.Messages) -> beliefs.Messages:
    return messages[:1]


def no_parent(_: Table, below: Table) -> Table:
    return 1 / below


def no_child(above: Table, below: Table) -> Table:
    return np.asarray(above / below.sum())


def last_columns(table: Table, _: object, onto: tuple[str, ...]) -> Table:
    """Spread a separator's table as if its columns were a clique's last."""
    return table.reshape([1] * (len(onto) - table.ndim) + list(table.shape))


def worst(case: Case) -> float:
    """Give the largest error of a clique's marginal."""
    tree, mass = case[0], joint(case)
    tables = modelled(case, total=1.0).tables
    return max(float(np.abs(tables[c] - marginal(tree.domain, mass, c)).max()) for c in tables)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("_merged", no_messages),
        ("_merged", first_message),
        ("ratio", no_parent),
        ("ratio", no_child),
        ("spread", last_columns),
    ],
    ids=lambda v: getattr(v, "__name__", v),
)
def test_dropped_messages_and_wrong_separators_are_seen(
    monkeypatch: pytest.MonkeyPatch, name: str, broken: Callable[..., object]
) -> None:
    """The tests above can fail: break the way up, then the way down."""
    # Whichever clique is the root, that of three columns hears from two others.
    cliques = [("a", "b", "c"), ("a", "d"), ("b", "e"), ("c", "f")]
    case = random_case(Domain(dict.fromkeys("abcdef", 3)), cliques, seed=0)
    assert worst(case) < 1e-12
    monkeypatch.setattr(beliefs, name, broken)
    assert worst(case) > 1e-3


@pytest.mark.parametrize("potential", [-np.inf, np.nan])
def test_a_model_in_which_nothing_can_be(potential: float) -> None:
    tree = junction_tree(Domain({"a": 2, "b": 2}), [])
    potentials = tree.tables()
    potentials[("a",)][...] = potential
    with pytest.raises(QuestionError, match="every cell of the model is impossible"):
        propagate(tree, potentials, total=1.0, out=tree.tables())
