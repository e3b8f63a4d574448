"""Marginals of any columns against the joint table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import Case, Table, cases, joint, marginal, modelled, random_case
from understudy.errors import QuestionError
from understudy.graph import Clique, Domain, junction_tree, marginals
from understudy.graph.marginals import Marginals

CHAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2, "e": 3, "f": 2})
LINKS: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("e", "f")]


@st.composite
def asked(draw: st.DrawFn) -> tuple[Case, list[Clique]]:
    """A model, and some sets of its columns, each in an order of its own."""
    case = draw(cases())
    columns = list(case[0].domain.sizes)
    some = st.lists(st.sampled_from(columns), unique=True, max_size=4).map(tuple)
    return case, draw(st.lists(some, min_size=1, max_size=6))


@given(asked(), st.sampled_from([1.0, 1e8]))
@tried(300, usual=40)
def test_any_columns_have_the_marginal_of_the_joint_table_in_the_order_asked(
    case: tuple[Case, list[Clique]], total: float
) -> None:
    (tree, _), cliques = case
    mass = joint(case[0], total=total)
    model = modelled(case[0], total=total)
    for clique in cliques:
        found = model.marginal(clique)
        assert found.shape == tree.domain.shape(clique)
        true = marginal(tree.domain, mass, clique)
        assert np.allclose(found, true, rtol=1e-9, atol=1e-9 * total)


@given(asked())
@tried(100)
def test_many_marginals_are_those_asked_one_by_one(case: tuple[Case, list[Clique]]) -> None:
    model = modelled(case[0], total=1000.0)
    found = model.marginals(case[1])
    assert set(found) == set(case[1])
    for clique, table in found.items():
        assert np.allclose(table, model.marginal(clique), rtol=1e-12, atol=1e-9)


def every_pair(domain: Domain) -> list[Clique]:
    """List all pairs of columns, both ways around."""
    return [(x, y) for x in domain.sizes for y in domain.sizes if x != y]


@given(cases())
@tried(200)
def test_all_pairs_at_once_are_those_of_the_joint_table(case: Case) -> None:
    domain = case[0].domain
    assert max(errors(case, every_pair(domain)), default=0.0) < 1e-9
    model = modelled(case, total=1.0)
    for (a, b), table in model.marginals(every_pair(domain)).items():
        assert table.shape == domain.shape((a, b))


def test_pairs_are_told_at_once_where_there_are_many_and_memory_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, told = random_case(CHAIN, LINKS, seed=4), []
    real = Marginals._tell

    def listened(self: Marginals, near: Clique, centre: Clique) -> marginals.Told:
        told.append(near)
        return real(self, near, centre)

    monkeypatch.setattr(Marginals, "_tell", listened)
    assert max(errors(case, [("a", "f"), ("a", "d")])) < 1e-12
    assert not told
    assert max(errors(case, every_pair(CHAIN))) < 1e-12
    assert told
    told.clear()
    monkeypatch.setattr(marginals, "MOST_TOLD", 1)
    assert max(errors(case, every_pair(CHAIN))) < 1e-12
    assert not told


@pytest.mark.parametrize("broken", ["ratio", "places"])
def test_a_wrong_word_about_all_columns_is_seen(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    case, real = random_case(CHAIN, LINKS, seed=0), Marginals._tell

    def shifted(self: Marginals, near: Clique, centre: Clique) -> marginals.Told:
        table, places = real(self, near, centre)
        return np.roll(table, 1, axis=-1), places

    if broken == "ratio":
        monkeypatch.setattr(marginals, "ratio", unconditional)
    else:
        monkeypatch.setattr(Marginals, "_tell", shifted)
    apart = [p for p in every_pair(CHAIN) if case[0].home(p) is None]
    assert min(errors(case, [*apart, *every_pair(CHAIN)])[: len(apart)]) > 1e-4


def errors(case: Case, cliques: list[Clique]) -> list[float]:
    """Give the largest error of each marginal, all asked of one model."""
    mass, model = joint(case), modelled(case, total=1.0)
    found = model.marginals(cliques)
    return [float(np.abs(found[c] - marginal(model.tree.domain, mass, c)).max()) for c in cliques]


def unconditional(above: Table, below: Table) -> Table:
    """Forget the separator's marginal."""
    return above + 0 * below


def silent(self: Marginals, near: Clique, centre: Clique, part: set[str]) -> marginals.Factor:
    """Say of columns beyond an edge that they are uniform, whatever the separator."""
    names = tuple(sorted(part))
    sizes = self._tree.domain.shape(names)
    return np.full(sizes, 1 / np.prod(sizes)), names


def forgetful(self: Marginals, near: Clique, centre: Clique, part: set[str]) -> marginals.Factor:
    """Say of columns beyond an edge what they are without regard to the separator."""
    names = tuple(sorted(part))
    return self.of(names), names


@pytest.mark.parametrize(
    ("place", "name", "broken"),
    [
        (marginals, "ratio", unconditional),
        (Marginals, "_say", silent),
        (Marginals, "_say", forgetful),
    ],
    ids=["ratio", "silent", "forgetful"],
)
def test_a_wrong_word_from_a_branch_is_seen(
    monkeypatch: pytest.MonkeyPatch, place: object, name: str, broken: Callable[..., object]
) -> None:
    """The tests above can fail: break what branches say."""
    case = random_case(CHAIN, LINKS, seed=0)
    cliques: list[Clique] = [("f", "a"), ("a", "d"), ("d", "b", "f")]
    assert max(errors(case, cliques)) < 1e-12
    monkeypatch.setattr(place, name, broken)
    assert min(errors(case, cliques)) > 1e-4


def test_what_a_branch_has_said_is_not_mixed_up_with_other_questions() -> None:
    """Every pair and triple of a chain, all asked of one model, in two orders."""
    case = random_case(CHAIN, LINKS, seed=1)
    names = list(CHAIN.sizes)
    cliques: list[Clique] = [(x, y) for x in names for y in names if x != y]
    cliques += [(x, y, z) for x, y in cliques for z in names if z not in (x, y)]
    assert max(errors(case, cliques)) < 1e-12
    assert max(errors(case, cliques[::-1])) < 1e-12


def test_the_same_column_twice_is_one_axis_and_no_column_is_the_total() -> None:
    model = modelled(random_case(CHAIN, LINKS, seed=2), total=50.0)
    assert np.array_equal(model.marginal(["f", "a", "f"]), model.marginal(["f", "a"]))
    assert model.marginal([]).shape == ()
    assert float(model.marginal([])) == pytest.approx(50)


def test_columns_that_the_model_does_not_have() -> None:
    model = modelled(random_case(CHAIN, LINKS, seed=2), total=1.0)
    with pytest.raises(QuestionError, match=r"unknown columns \(got nobody; allowed: "):
        model.marginal(["a", "nobody"])


def test_another_tree_holds_the_same_distribution() -> None:
    """A tree that holds every clique of a model loses nothing; a smaller one keeps its own."""
    case = random_case(CHAIN, LINKS, seed=3)
    model = modelled(case, total=10.0)
    wider = model.on(junction_tree(CHAIN, [*LINKS, ("a", "c", "f")]))
    assert wider.total == pytest.approx(10)
    whole = tuple(CHAIN.sizes)
    assert np.allclose(wider.marginal(whole), model.marginal(whole), rtol=1e-12, atol=1e-12)
    back = wider.on(model.tree)
    for clique in model.tree.cliques:
        assert back.tables[clique].flags.c_contiguous
        assert np.allclose(back.tables[clique], model.tables[clique], rtol=1e-12)
    apart = model.on(junction_tree(CHAIN, []))
    alone = np.multiply.outer(model.marginal(["a"]), model.marginal(["f"])) / 10
    assert np.allclose(apart.marginal(["a", "f"]), alone)
