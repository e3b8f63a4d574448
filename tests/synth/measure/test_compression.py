"""Compressed columns: what is known of them after one round, and what is asked after it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.synth.crowds import random_crowd
from tests.synth.planted import Heard, listening, planted, silent
from understudy.budget import Currency
from understudy.graph import Domain, Measurement, totals
from understudy.public import PublicTable
from understudy.synth.measure.compression import Compressed, joined
from understudy.synth.measure.support import Rule
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round

TREE = {"a": None, "b": "a", "c": "a"}
TABLE = planted(TREE) | {"a": planted(TREE)["a"] * 5}
"""Of a's 20 codes four are in use."""
SIZES = {"a": 20, "b": 4, "c": 4}
GDP, PURE = us.Budget(epsilon=2.0, delta=1e-6), us.Budget(epsilon=2.0, delta=0)
PEOPLE = np.arange(400) // 5


def asked(
    door: Heard, *, public: PublicTable | None = None, threshold: float = 30.0, **prices: float
) -> Compressed:
    return Compressed.ask(
        door,
        public,
        [WeightedMarginal(clique=(name,)) for name in SIZES],
        prices={"first": door.budget.price / 2} | prices,
        rule=lambda _: Rule(threshold=threshold, rare="other", most=250, bins=32),
        progress=silent,
    )


def test_columns_are_seen_by_the_codes_that_are_left_everywhere_alike() -> None:
    public = random_crowd(np.random.default_rng(1), SIZES, 30)
    with listening(TABLE, sizes=SIZES) as door:
        columns = asked(door, public=public)
        small = columns.small()
        (answer,) = weighted_round(
            small,
            [WeightedMarginal(clique=("a", "b"))],
            price=1.0,
            crowd=columns.crowd,
            public=None,
        )
    left = {"a": 5, "b": 4, "c": 4}
    assert columns.domain.sizes == left
    assert small.schema.domain == left
    seen = columns.small_public()
    assert seen is not None
    assert seen.schema.domain == left
    assert len(answer.values) == 5 * 4


def test_without_a_public_table_there_is_none_that_is_smaller() -> None:
    with listening(TABLE, sizes=SIZES) as door:
        assert asked(door).small_public() is None


def test_what_is_known_of_a_column_is_the_sum_of_what_was_answered() -> None:
    """In units of its own noise, so that a code that stands for 16 has four times as much."""
    with listening(TABLE, sizes=SIZES, budget=GDP) as door:
        columns = asked(door, threshold=3.0)
    measured, evidence = columns.measured[0], columns.evidence()[0]
    support = columns.supports[0]
    counts = np.bincount(support.codes)
    for code, count in enumerate(counts):
        own = measured.values[support.codes == code]
        assert evidence.values[code] * math.sqrt(count) == pytest.approx(own.sum())
    assert sorted(counts) == [1, 1, 1, 1, 16]
    assert evidence.scale == measured.scale
    # What stands for itself is as it was answered.
    assert columns.evidence()[1].values == pytest.approx(columns.measured[1].values)


@pytest.mark.parametrize("bounding", [us.Weights(1), us.Norm()], ids=lambda b: b.kind)
def test_counts_that_choices_begin_from_are_never_below_nothing_and_of_one_total(
    bounding: Any,
) -> None:
    """Some answers of codes that nobody has are below 0, and every column's sum is its own.

    Against columns of several totals, a pair would be worth what these differ by.
    """
    with listening(TABLE, sizes=SIZES, budget=GDP, bounding=bounding) as door:
        columns = asked(door, threshold=0.0, rows=door.budget.price / 4)
    assert len({round(m.values.sum(), 3) for m in columns.measured}) > 1
    ones = columns.ones()
    assert {name: len(counts) for name, counts in ones.items()} == SIZES
    read = totals(Domain(SIZES), columns.measured)
    total = columns.crowd.rows or read[None]
    for counts in ones.values():
        assert counts.min() >= 0
        assert counts.sum() == pytest.approx(total)


def test_a_table_of_no_rows_has_one_row_to_choose_by() -> None:
    """Or a few, as its noisy counts have it: at least one, and the same for every column."""
    empty = {name: column[:0] for name, column in TABLE.items()}
    with listening(empty, sizes=SIZES, budget=GDP, seed=3) as door:
        columns = asked(door)
    read = totals(Domain(SIZES), columns.measured)
    for counts in columns.ones().values():
        assert counts.sum() == pytest.approx(max(read[None], 1.0))


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(
    ("bounding", "budget"),
    [(us.Weights(3), GDP), (us.Sample(7), GDP), (us.Weights(3), PURE), (us.Norm(), GDP)],
    ids=["weights", "sample", Currency.PURE, "norm"],
)
def test_noise_is_about_that_of_the_round_that_is_asked(
    bounding: Any, budget: us.Budget, count: int
) -> None:
    """A Gaussian number is off by √(2/π) of its scale, and so it is taken for Laplace's too."""
    with listening(TABLE, sizes=SIZES, people=PEOPLE, bounding=bounding, budget=budget) as door:
        columns = asked(door, rows=0.1, people=0.1)
        cliques = (("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"))[:count]
        round_ = [WeightedMarginal(clique=clique) for clique in cliques]
        small, crowd = columns.small(), columns.crowd
        found = weighted_round(small, round_, price=0.25, crowd=crowd, public=None)
    told = columns.noise(count, price=0.25) / math.sqrt(2 / math.pi)
    if isinstance(bounding, us.Norm):
        # There each question chooses whom it weighs down; what is told is of all columns alone.
        assert all(told / 4 <= m.scale <= 4 * told for m in found)
        return
    assert [m.scale for m in found] == pytest.approx([told] * count, rel=1e-6)


def test_people_are_asked_about_where_there_is_a_price_for_it() -> None:
    with listening(TABLE, sizes=SIZES, people=PEOPLE, bounding=us.Weights(9)) as door:
        columns = asked(door, people=3.0)
        assert columns.crowd.sizes is not None
        assert columns.crowd.sizes.quantile(0.5) == 5
        assert columns.crowd.rows is None
        whats = [r.what for r in door._run.state().reservations]
    assert whats == ["people by number of rows", "number of people", "3 marginals"]
    with listening(TABLE, sizes=SIZES, people=PEOPLE, bounding=us.Weights(9)) as door:
        assert asked(door).crowd.sizes is None
        assert [r.what for r in door._run.state().reservations] == ["3 marginals"]


@pytest.mark.parametrize("bounding", [us.Weights(1), us.Norm()], ids=lambda b: b.kind)
def test_columns_that_are_asked_again_are_known_better_and_put_together_as_before(
    bounding: Any,
) -> None:
    with listening(TABLE, sizes=SIZES, people=PEOPLE, bounding=bounding, budget=GDP) as door:
        price = door.budget.price
        # Questions of people come first, so that `Norm` knows how long they are.
        columns = asked(door, threshold=3.0, people=price / 4, rows=price / 4)
        again = columns.again(price=price / 2)
    assert door.asked[-1] == [(name,) for name in SIZES]
    assert [len(m.values) for m in again.measured] == [20, 4, 4] * 2
    assert again.measured[:3] == columns.measured
    assert again.domain == columns.domain
    assert len(again.evidence()) == 6
    for before, after in zip(columns.supports, again.supports, strict=True):
        assert after.codes.tolist() == before.codes.tolist()
        assert after.likely.tolist() != before.likely.tolist()
        assert np.all(after.likely >= 0)


def test_answers_of_a_column_are_joined_by_their_precision() -> None:
    """One of a weighted table first says what share of the rows it counts."""
    domain = Domain({"a": 3})
    true = np.array([900.0, 90.0, 10.0])
    whole = Measurement(clique=("a",), values=true + np.array([1.0, -1.0, 0.0]), scale=1.0)
    part = Measurement(clique=("a",), values=0.5 * true, scale=1.0, group="half")
    found = joined(domain, [whole, part])["a"]
    # In rows of the whole table the second has noise of 2: it weighs a fifth of both.
    assert found.values == pytest.approx(true + np.array([0.8, -0.8, 0.0]))
    assert found.scale == pytest.approx(math.sqrt(0.8))
    alone = joined(domain, [whole])["a"]
    assert alone.values.tolist() == whole.values.tolist()
    assert alone.scale == whole.scale
