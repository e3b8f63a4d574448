"""Sampling: rows that sit on the model, in both ways, with and without given columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import effort, tried
from tests.graph.brute import DOMAIN, EVERY, Case, cases, marginal, modelled, random_case
from tests.graph.chains import CHAIN, counted, pearson
from understudy.errors import QuestionError
from understudy.graph import Clique, Domain, Model, junction_tree
from understudy.graph.sampling import SHARED, Way

WAYS: tuple[Way, ...] = ("rounded", "multinomial")


# All columns.


@given(cases(), st.integers(0, 3000), st.integers(0, 2**32))
@tried(200)
def test_a_samples_cliques_are_the_models_but_for_rounding(
    case: Case, rows: int, seed: int
) -> None:
    model = modelled(case, total=1.0)
    drawn = model.sample(rows, np.random.default_rng(seed))
    tree = model.tree
    assert all(codes.dtype == np.int32 and codes.shape == (rows,) for codes in drawn.values())
    # Every cell is rounded by less than one; a separator sums the roundings of its parent's cells,
    # and hands them down.
    most = dict.fromkeys(tree.cliques, 1.0)
    for edge in reversed(tree.edges):
        each = tree.domain.cells(edge.parent) / tree.domain.cells(edge.separator)
        most[edge.child] += each * most[edge.parent]
    for clique in tree.cliques:
        counts = counted(tree.domain, drawn, clique)
        assert np.abs(counts - rows * model.tables[clique]).max() <= most[clique]


@given(cases(), st.integers(0, 2**32))
@tried(100)
def test_no_way_makes_rows_that_cannot_be(case: Case, seed: int) -> None:
    model = modelled(case, total=1.0)
    for way in WAYS:
        drawn = model.sample(200, np.random.default_rng(seed), way=way)
        for clique in model.tree.cliques:
            counts = counted(model.tree.domain, drawn, clique)
            assert np.all(counts[model.tables[clique] == 0] == 0)


@pytest.mark.parametrize("way", WAYS)
def test_no_row_of_very_many_is_left_to_a_cell_without_mass(way: Way) -> None:
    """Ten tenths sum to less than one in floating point; what is missing goes to no cell."""
    table = np.array([[0.1] * 10 + [0.0], [0.0] * 11])
    counts = SHARED[way](table, np.array([10**17, 0]), np.random.default_rng(0))
    assert counts[:, -1].tolist() == [0, 0]
    assert counts.sum(axis=1).tolist() == [10**17, 0]


def test_a_count_is_rounded_up_with_the_probability_of_its_fraction() -> None:
    tree = junction_tree(Domain({"a": 3}), [])
    shares = np.array([0.2, 0.5, 0.3])
    model, rng = Model(tree, {("a",): shares}), np.random.default_rng(1)
    # Of 11 rows the cells are due 2.2, 5.5 and 3.3.
    times = effort(5_000, 20_000)
    drawn = np.array([np.bincount(model.sample(11, rng)["a"], minlength=3) for _ in range(times)])
    assert set(np.unique(drawn - [2, 5, 3])) == {0, 1}
    # Four standard errors of a share of so many: 0.028, and 0.014 in an audit.
    assert np.abs((drawn - [2, 5, 3]).mean(axis=0) - [0.2, 0.5, 0.3]).max() < 4 * 0.5 / times**0.5


@pytest.mark.parametrize("way", WAYS)
def test_siblings_are_independent_given_their_parent(way: Way) -> None:
    """A known bug of the field: without a shuffle, siblings become functions of each other."""
    case = random_case(Domain({"p": 2, "x": 8, "y": 8}), [("p", "x"), ("p", "y")], seed=3)
    drawn = modelled(case, total=1.0).sample(200_000, np.random.default_rng(3), way=way)
    shared = 0.0
    for value in range(2):
        here = drawn["p"] == value
        both = np.histogram2d(drawn["x"][here], drawn["y"][here], bins=8)[0] / here.sum()
        apart = both.sum(axis=1, keepdims=True) * both.sum(axis=0, keepdims=True)
        kept = both > 0
        shared += here.mean() * float((both[kept] * np.log(both[kept] / apart[kept])).sum())
    # Chance alone gives about 49 degrees of freedom / 2n for each value of p.
    assert shared < 3 * 2 * 49 / (2 * 200_000)


def test_multinomial_rows_are_those_of_the_joint_table() -> None:
    """Pearson's statistic over all cells, of loops and a chain.

    By chance it is beyond five standard deviations once in a million; a model whose every
    share is a twentieth off, up or down, would be found ten standard deviations away.
    """
    rows = 200_000
    model = modelled(random_case(DOMAIN, [*CHAIN, ("d", "a")], seed=5), total=1.0)
    expected = rows * model.marginal(EVERY)
    drawn = model.sample(rows, np.random.default_rng(5), way="multinomial")
    statistic, freedom = pearson(counted(DOMAIN, drawn, EVERY), expected)
    assert abs(statistic - freedom) < 5 * (2 * freedom) ** 0.5
    tilted = expected * (1 + 0.05 * np.where(np.arange(expected.size) % 2, 1, -1)).reshape(
        expected.shape
    )
    assert pearson(tilted, expected)[0] > 10 * (2 * freedom) ** 0.5


@pytest.mark.parametrize("way", WAYS)
def test_only_multinomial_counts_vary_as_those_of_rows_drawn_one_by_one(way: Way) -> None:
    """The variance of each clique's counts is n·p·(1 − p); of rounded ones, next to nothing."""
    rows, times = 400, effort(1000, 2000)
    model, rng = modelled(random_case(DOMAIN, CHAIN, seed=6), total=1.0), np.random.default_rng(6)
    samples = [model.sample(rows, rng, way=way) for _ in range(times)]
    for clique in CHAIN:
        share = model.marginal(clique)
        found = np.var([counted(DOMAIN, drawn, clique) for drawn in samples], axis=0)
        true = rows * share * (1 - share)
        if way == "multinomial":
            # A variance from so many draws is known to about √(2/times) of itself.
            assert np.abs(found / true - 1).max() < 6 * (2 / times) ** 0.5
        else:
            assert found.max() < 1 < true.max()


def test_columns_that_nobody_measured_are_uniform() -> None:
    tree = junction_tree(Domain({"a": 2, "b": 5}), [("a",)])
    model = modelled((tree, tree.tables()), total=10.0)
    assert np.bincount(model.sample(1000, np.random.default_rng(0))["b"]).tolist() == [200] * 5


def test_the_same_seed_gives_the_same_rows() -> None:
    model = modelled(random_case(DOMAIN, CHAIN, seed=7), total=1.0)
    for way in WAYS:
        one, two, other = (
            model.sample(50, np.random.default_rng(seed), way=way) for seed in (1, 1, 2)
        )
        assert all(np.array_equal(one[n], two[n]) for n in EVERY)
        assert not all(np.array_equal(one[n], other[n]) for n in EVERY)


@pytest.mark.parametrize("way", WAYS)
def test_no_rows_are_no_rows(way: Way) -> None:
    model, rng = modelled(random_case(DOMAIN, CHAIN, seed=8), total=1.0), np.random.default_rng(0)
    none = np.zeros(0, dtype=np.int32)
    for given_ in ({}, {"a": none}, {"a": none, "d": none}):
        drawn = model.sample(0, rng, given=given_, way=way)
        assert set(drawn) == set(EVERY)
        assert all(codes.shape == (0,) for codes in drawn.values())


# Some columns given.


@pytest.mark.parametrize("names", [("b",), ("c", "b"), ("a", "d"), ("d", "a", "c")])
@pytest.mark.parametrize("way", WAYS)
def test_the_rest_has_its_distribution_given_the_given(names: Clique, way: Way) -> None:
    """Columns of one clique and of several, in proportions that are not the model's.

    Pearson's statistic against the joint table's conditionals: rounded rows are too even
    for chance, so it is bounded from above alone.
    """
    model = modelled(random_case(DOMAIN, CHAIN, seed=9), total=50.0)
    rows, rng = 200_000, np.random.default_rng(9)
    rest = tuple(n for n in EVERY if n not in names)
    given_ = {n: rng.integers(DOMAIN.sizes[n], size=rows, dtype=np.int32) for n in names}
    before = {n: codes.copy() for n, codes in given_.items()}
    drawn = model.sample(rows, rng, given=given_, way=way)
    for n in names:
        assert np.array_equal(drawn[n], before[n])
        assert np.array_equal(given_[n], before[n])
    shape = (DOMAIN.cells(names), DOMAIN.cells(rest))
    both = marginal(DOMAIN, model.marginal(EVERY), (*names, *rest)).reshape(shape)
    counts = counted(DOMAIN, drawn, (*names, *rest)).reshape(shape)
    expected = both / both.sum(axis=1, keepdims=True) * counts.sum(axis=1, keepdims=True)
    freedom = shape[0] * (shape[1] - 1)
    assert pearson(counts, expected)[0] < freedom + 5 * (2 * freedom) ** 0.5


def test_all_columns_given_are_all_there_is() -> None:
    model, rng = modelled(random_case(DOMAIN, CHAIN, seed=10), total=1.0), np.random.default_rng(0)
    given_ = {n: rng.integers(DOMAIN.sizes[n], size=20, dtype=np.int32) for n in EVERY}
    drawn = model.sample(20, rng, given=given_)
    assert all(np.array_equal(drawn[n], given_[n]) for n in EVERY)


def test_given_columns_that_no_clique_holds_need_a_larger_tree_which_has_a_price() -> None:
    model, rng = modelled(random_case(DOMAIN, CHAIN, seed=11), total=1.0), np.random.default_rng(0)
    given_ = {"a": np.zeros(5, dtype=np.int32), "d": np.zeros(5, dtype=np.int32)}
    with pytest.raises(QuestionError, match=r"would need a table over .* \(got \d+ bytes in all"):
        model.sample(5, rng, given=given_, limit=8 * model.tree.cells)
    assert model.sample(5, rng, given=given_, limit=10_000)["a"].tolist() == [0] * 5
    # What one clique holds costs nothing more.
    model.sample(5, rng, given={"a": given_["a"]}, limit=1)


def barred() -> Model:
    """Give a model of a chain in which a = 0 and b = 0 never meet."""
    tree, potentials = random_case(DOMAIN, CHAIN, seed=12)
    (home,) = [c for c in tree.cliques if set(c) == {"a", "b"}]
    potentials[home][0, 0] = -np.inf
    return modelled((tree, potentials), total=1.0)


@pytest.mark.parametrize("way", WAYS)
def test_a_given_value_that_cannot_be(way: Way) -> None:
    tree = junction_tree(DOMAIN, CHAIN)
    potentials = tree.tables()
    (home,) = [c for c in tree.cliques if set(c) == {"a", "b"}]
    potentials[home][:, 1] = -np.inf
    model, rng = modelled((tree, potentials), total=1.0), np.random.default_rng(0)
    column = home[1]
    with pytest.raises(QuestionError, match=f"impossible under the model, by {column}"):
        model.sample(2, rng, given={column: np.array([0, 1])}, way=way)
    drawn = model.sample(2, rng, given={column: np.array([0, 0])}, way=way)
    assert drawn[column].tolist() == [0, 0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", ["ab", "abc", "abd", "abcd"])
def test_given_rows_that_cannot_be(names: str, way: Way) -> None:
    model, rng = barred(), np.random.default_rng(0)
    possible = {n: np.array([1, 1]) for n in names}
    model.sample(2, rng, given=possible, way=way)
    with pytest.raises(QuestionError, match="given rows are impossible under the model"):
        model.sample(2, rng, given=possible | {n: np.array([1, 0]) for n in "ab"}, way=way)


@pytest.mark.parametrize(
    ("given_", "text"),
    [
        (
            {"a": np.zeros(4, dtype=np.int32)},
            r"a must have one integer code per row .*shape \(4,\)",
        ),
        (
            {"a": np.zeros((5, 1), dtype=np.int32)},
            r"a must have one integer code per row .*\(5, 1\)",
        ),
        ({"b": np.zeros(5)}, "b must have one integer code per row .got float64"),
        ({"b": np.zeros(5, dtype=bool)}, "b must have one integer code per row .got bool"),
        ({"b": np.array(["x"] * 5)}, "b must have one integer code per row"),
        ({"b": np.array([0, 1, 2, 3, 0])}, "b has codes outside .*got 0 to 3; allowed: 0 to 2"),
        ({"b": np.array([0, 1, 2, -1, 0])}, "b has codes outside .*got -1 to 2"),
        ({"b": np.full(5, 2**40)}, "b has codes outside"),
        ({"z": np.zeros(5, dtype=np.int32)}, "unknown columns .got z"),
    ],
)
def test_given_columns_that_are_none(given_: dict[str, Any], text: str) -> None:
    model = modelled(random_case(DOMAIN, CHAIN, seed=13), total=1.0)
    with pytest.raises(QuestionError, match=text):
        model.sample(5, np.random.default_rng(0), given=given_)


def test_a_negative_number_of_rows() -> None:
    model = modelled(random_case(DOMAIN, CHAIN, seed=14), total=1.0)
    with pytest.raises(QuestionError, match="must not be negative"):
        model.sample(-1, np.random.default_rng(0))
