"""Urns: batches that have together what one draw of all rows has."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import DOMAIN, EVERY, Case, Table, cases, modelled, random_case
from tests.graph.chains import CHAIN, counted, pearson
from understudy.errors import QuestionError
from understudy.graph import Domain, Model, Urn
from understudy.schema import Codes

cuts = st.lists(st.integers(0, 3000), max_size=5)


def batches(urn: Urn, sizes: list[int], seed: int) -> list[dict[str, Codes]]:
    draw, rng = urn.begin(), np.random.default_rng(seed)
    return [draw(size, rng) for size in sizes]


def together(parts: list[dict[str, Codes]]) -> dict[str, Codes]:
    return {n: np.concatenate([part[n] for part in parts]) for n in parts[0]}


@given(cases(), st.integers(0, 3000), cuts, st.integers(0, 2**32))
@tried(200)
def test_batches_have_the_counts_of_the_whole(
    case: Case, rows: int, places: list[int], seed: int
) -> None:
    """Whatever their sizes, and empty ones among them."""
    model = modelled(case, total=1.0)
    urn = model.urn(rows, np.random.default_rng(seed))
    sizes = [b - a for a, b in pairwise([0, *sorted(min(p, rows) for p in places), rows])]
    parts = batches(urn, sizes, seed)
    assert [len(next(iter(part.values()))) for part in parts] == sizes
    drawn, once = together(parts), together(batches(urn, [rows], seed + 1))
    assert all(codes.dtype == np.int32 for codes in drawn.values())
    for clique in model.tree.cliques:
        counts = counted(model.tree.domain, drawn, clique)
        assert np.array_equal(counts, counted(model.tree.domain, once, clique))
        # One rounding a clique on the way from the root, each by less than one.
        assert np.abs(counts - rows * model.tables[clique]).max() <= len(model.tree.cliques)


def test_every_batch_has_its_share_of_the_root() -> None:
    """Each by itself is a table like the whole, so that whoever reads the first few is not led
    astray.
    """
    model, rows = modelled(random_case(DOMAIN, CHAIN, seed=4), total=1.0), 30_000
    root = model.tree.cliques[0]
    parts = batches(model.urn(rows, np.random.default_rng(1)), [10_000] * 3, 2)
    for part in parts:
        off = counted(model.tree.domain, part, root) - 10_000 * model.tables[root]
        # Marks at even steps are within one of it, and so is what others before them took.
        assert np.abs(off).max() <= 4


def test_siblings_are_independent_given_their_parent_over_all_batches() -> None:
    case = random_case(Domain({"p": 2, "x": 8, "y": 8}), [("p", "x"), ("p", "y")], seed=3)
    urn = modelled(case, total=1.0).urn(200_000, np.random.default_rng(3))
    drawn = together(batches(urn, [20_000] * 10, 3))
    for value in range(2):
        here = drawn["p"] == value
        both = np.histogram2d(drawn["x"][here], drawn["y"][here], bins=8)[0]
        expected = both.sum(axis=1, keepdims=True) * both.sum(axis=0, keepdims=True) / here.sum()
        statistic = pearson(both, expected)[0]
        # 49 degrees of freedom, and five standard deviations of them, both ways.
        assert abs(statistic - 49) < 5 * (2 * 49) ** 0.5


def test_columns_that_no_clique_holds_together_are_those_of_the_joint_table() -> None:
    model, rows = modelled(random_case(DOMAIN, CHAIN, seed=5), total=1.0), 200_000
    drawn = together(batches(model.urn(rows, np.random.default_rng(5)), [25_000] * 8, 5))
    statistic, freedom = pearson(counted(DOMAIN, drawn, EVERY), rows * model.marginal(EVERY))
    # Rounded rows are too even for chance, so it is bounded from above alone.
    assert statistic < freedom + 5 * (2 * freedom) ** 0.5


def test_rounding_every_batch_by_itself_is_further_off() -> None:
    """What the urn is for: in all cliques together, it is a third of the way off."""
    model, rows, parts = modelled(random_case(DOMAIN, CHAIN, seed=6), total=1.0), 20_000, 40
    rng = np.random.default_rng(6)

    def off(drawn: dict[str, Codes]) -> float:
        tables: list[Table] = [
            counted(model.tree.domain, drawn, c) - rows * model.tables[c]
            for c in model.tree.cliques
        ]
        return sum(float(np.abs(t).sum()) for t in tables)

    alone = np.mean(
        [off(together([model.sample(rows // parts, rng) for _ in range(parts)])) for _ in range(5)]
    )
    urns = [model.urn(rows, rng) for _ in range(5)]
    shared = np.mean([off(together(batches(urn, [rows // parts] * parts, 6))) for urn in urns])
    assert shared < alone / 3


def test_the_same_seed_gives_the_same_rows_and_whoever_begins_again_begins_anew() -> None:
    urn = modelled(random_case(DOMAIN, CHAIN, seed=7), total=1.0).urn(90, np.random.default_rng(0))
    one, two, other = (together(batches(urn, [30, 60], seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(one[n], two[n]) for n in EVERY)
    assert not all(np.array_equal(one[n], other[n]) for n in EVERY)


def test_a_histogram_is_drawn_to_the_last_row() -> None:
    cells, counts = np.array([1, 4, 5]), np.array([7, 0, 90])
    urn = Urn.counted(Domain({"a": 2, "b": 3}), cells, counts)
    parts = batches(urn, [50, 47], 0)
    found = np.bincount(3 * together(parts)["a"] + together(parts)["b"], minlength=6)
    assert found.tolist() == [0, 7, 0, 0, 0, 90]
    # Each batch has its share of both.
    assert np.count_nonzero(parts[0]["a"] == 0) in (3, 4)
    assert len(set(parts[0]["b"][:10].tolist())) == 2 or len(set(parts[0]["b"].tolist())) == 2


def test_rows_that_cannot_be() -> None:
    """Cliques that contradict each other, as no fit leaves them."""
    model = modelled(random_case(DOMAIN, CHAIN, seed=8), total=1.0)
    (home,) = [c for c in model.tree.cliques if set(c) == {"a", "b"}]
    model.tables[home][...] = 0
    with pytest.raises(QuestionError, match="impossible"):
        model.urn(100, np.random.default_rng(0))
    with pytest.raises(QuestionError, match="must not be negative"):
        Model(model.tree, model.tables).urn(-1, np.random.default_rng(0))
