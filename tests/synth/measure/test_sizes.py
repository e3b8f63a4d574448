"""Sizes of people: near the truth wherever noise allows, and sane where it does not.

Tables are simulated as their size classes, with Gaussian or Laplace noise of a generator: what is
tried here is the estimate, which sees noisy numbers only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import effort, tried
from understudy.budget import Budget, Currency, Weights
from understudy.synth.measure.likeliest import Noisy
from understudy.synth.measure.noise_levels import typical_size
from understudy.synth.measure.population import Crowd
from understudy.synth.measure.size_borders import class_starts
from understudy.synth.measure.sizes import Classes, Sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray


CLASSES_SHARE, PEOPLE_SHARE, ROWS_SHARE = 0.015, 0.005, 0.02
"""The shares of a budget that mechanisms spend on sizes by default."""


def crowds(seed: int = 0) -> dict[str, NDArray[np.int64]]:
    """How many rows each person has, on tables of many shapes."""
    rng = np.random.default_rng(seed)
    tail = np.minimum((rng.pareto(1.2, 20_000) + 1).astype(np.int64), 10_000)
    return {
        "one row each": np.ones(5_000, dtype=np.int64),
        "geometric": rng.geometric(0.2, 5_000),
        "heavy tail": tail,
        "two humps": np.concatenate((rng.poisson(3, 4_000) + 1, rng.poisson(60, 1_000))),
        "fifty people": rng.geometric(0.2, 50),
        "a million people": rng.geometric(0.5, 1_000_000),
    }


CROWDS = crowds()
TALLIES = {id(rows): np.bincount(rows) for rows in CROWDS.values()}


def tally(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Say how many people have how many rows."""
    return TALLIES[id(rows)] if id(rows) in TALLIES else np.bincount(rows)


EPSILONS = (0.05, 0.3, 1.0, 10.0)


@pytest.mark.parametrize("cap", [1, 2, 5, 6, 40, 10**6])
def test_means_of_classes_are_those_of_their_sizes_up_to_a_cap(cap: int) -> None:
    starts = class_starts(3000)
    nobody, one = np.zeros(len(starts)), Noisy(1.0, 1.0)
    classes = Classes(starts=starts, counts=nobody, error=1.0, people=one, currency=Currency.GDP)
    ends = [*starts[1:].tolist(), classes._ends()[-1]]
    means = [
        np.minimum(range(a, b), cap).mean() for a, b in zip(starts.tolist(), ends, strict=True)
    ]
    np.testing.assert_allclose(classes._means(cap), means, rtol=1e-12)


def asked(
    rows: NDArray[np.int64], epsilon: float, rng: np.random.Generator, *, delta: float = 1e-6
) -> tuple[Classes, Noisy, int]:
    """Ask for sizes as `meet` does, with noise of a generator's."""
    budget = Budget(epsilon=epsilon, delta=delta)
    currency: Currency = budget.currency

    def noisy(values: NDArray[Any], share: float, bound: float) -> tuple[NDArray[Any], float]:
        price = budget.price * (math.sqrt(share) if delta else share)
        scale, size = bound / price, values.shape
        drawn = rng.normal(0, scale, size) if delta else rng.laplace(0, scale, size)
        return values + drawn, currency.deviation(scale)

    # Of a million people many have as many rows as others: each number is looked up once.
    starts, each = class_starts(2**20), tally(rows)
    own = np.searchsorted(starts, np.arange(len(each)), side="right") - 1
    true = np.bincount(own[1:], weights=each[1:], minlength=len(starts))
    counts, error = noisy(true, CLASSES_SHARE, 1)
    people, people_error = noisy(np.array(len(rows)), PEOPLE_SHARE, 1)
    classes = Classes(starts, counts, error, Noisy(float(people), people_error), currency)
    price = budget.price * (math.sqrt(ROWS_SHARE) if delta else ROWS_SHARE)
    cap = classes.cap(price)
    kept = np.array(each @ np.minimum(np.arange(len(each)), cap))
    total, total_error = noisy(kept, ROWS_SHARE, cap)
    return classes, Noisy(float(total), total_error), cap


def off(sizes: Sizes, rows: NDArray[np.int64]) -> float:
    """Give the total variation between sizes and the truth, on log-spaced classes."""
    edges = np.unique(np.geomspace(1, 2**21, 22).astype(np.int64))
    found, true = (
        np.histogram(np.arange(1, len(people) + 1), bins=edges, weights=people)[0]
        for people in (sizes.people, tally(rows)[1:])
    )
    return float(0.5 * np.abs(found / found.sum() - true / true.sum()).sum())


@pytest.mark.parametrize("name", CROWDS)
@pytest.mark.parametrize("delta", [1e-6, 0.0], ids=["gdp", "pure"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sizes_are_near_the_truth_where_noise_allows_and_sane_where_not(
    name: str, epsilon: float, delta: float
) -> None:
    """No run makes up people, or rows; what noise hides may be missing."""
    rows, rng = CROWDS[name], np.random.default_rng(7)
    count = rows.sum()
    for _ in range(effort(3, 30)):
        classes, total, cap = asked(rows, epsilon, rng, delta=delta)
        sizes = classes.sizes(total, cap=cap)
        people = float(sizes.people.sum())
        assert sizes.people.min() >= 0
        # Within its own noise; below zero it can hardly go.
        assert abs(people - len(rows)) <= 5 * classes.people.error + 1
        # Sizes within a class are taken as even.
        most = count + 8 * total.error + 8 * classes.error * cap + 1
        assert sizes.rows <= most + 0.01 * count
        if classes.error < 0.01 * len(rows):
            assert people == pytest.approx(len(rows), rel=0.05)
            # Of a heavy tail much may be out of sight.
            low = 0.65 if name == "heavy tail" else 0.8
            assert low * count <= sizes.rows <= 1.2 * count
            assert off(sizes, rows) < 0.08


@pytest.mark.parametrize(
    ("rows", "least", "most"),
    [
        (np.random.default_rng(5).geometric(0.4, 3_000), 0.95, 1.05),
        (np.ceil(np.random.default_rng(5).lognormal(2, 1.2, 3_000)).astype(np.int64), 0.85, 1.1),
        (np.random.default_rng(5).geometric(0.4, 300), 0.6, 1.25),
        ((1 + np.random.default_rng(5).pareto(1.5, 20_000)).astype(np.int64), 0.9, 1.05),
    ],
    ids=["few rows", "many rows", "few people", "heavy tail"],
)
def test_rows_of_people_whom_noise_hides_are_expected(
    rows: NDArray[np.int64], least: float, most: float
) -> None:
    """Classes that stand out have 0.91, 0.72, 0.30 and 0.66 of them; shapes tell the rest."""
    rng, found = np.random.default_rng(1), []
    for _ in range(20):
        classes, total, cap = asked(rows, 1.0, rng)
        found.append(classes.sizes(total, cap=cap).rows / rows.sum())
    assert least <= np.mean(found) <= most


@pytest.mark.parametrize("people", [300, 2_000])
def test_where_everybody_has_one_row_noise_says_so(people: int) -> None:
    rng, found = np.random.default_rng(1), []
    for _ in range(40):
        classes, total, cap = asked(np.ones(people, dtype=np.int64), 1.0, rng)
        found.append(len(classes.sizes(total, cap=cap).people))
    assert sum(most > 1 for most in found) <= 1


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_cap_of_few_rows_leaves_few_classes(most: int) -> None:
    starts = class_starts(most)
    counts = np.linspace(50.0, -5.0, len(starts))
    classes = Classes(starts, counts, 12.0, Noisy(60.0, 20.0), Currency.GDP)
    sizes = classes.sizes(Noisy(70.0, 2.0), cap=most)
    assert 1 <= len(sizes.people) <= most + 1
    assert sizes.people.sum() == pytest.approx(60, abs=25)


def test_noise_makes_up_no_size() -> None:
    """Of 8,000 tables of people with few rows, or 20,000, not one has a person with many."""
    tables = effort(8_000, 20_000)
    rng, starts = np.random.default_rng(5), class_starts(2**20)
    true = np.zeros(len(starts))
    true[:5] = (900, 700, 600, 500, 500)
    noise: list[tuple[Currency, NDArray[np.float64]]] = [
        (Currency.GDP, rng.normal(0, 30, (tables, len(starts)))),
        (Currency.PURE, rng.laplace(0, 30 / math.sqrt(2), (tables, len(starts)))),
    ]
    for currency, drawn in noise:
        last = [Classes(starts, true + d, 30.0, Noisy(2500, 30), currency)._last() for d in drawn]
        assert max(last) <= 4


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
def test_few_people_do_not_stand_out_and_say_so(currency: Currency) -> None:
    starts = class_starts(99)
    for people, seen in ((10.0, False), (200.0, False), (500.0, True)):
        counts = np.where(starts == 25, people, 0.0)
        classes = Classes(starts, counts, 37.0, Noisy(people, 60.0), currency)
        assert classes.stand_out is seen
        crowd = Crowd(
            rows=9.0, sizes=None, typical=1, bounding=Weights(1), classes=classes, beyond=37.0
        )
        assert crowd.to_dict()["crowd"].get("sizes_unseen", False) is not seen
        # Public people show how many rows they have.
        assert "sizes_unseen" not in replace(crowd, beyond=0.0).to_dict()["crowd"]


def test_a_panel_without_gaps_is_one_size_and_rows_are_counted_by_it() -> None:
    """545 people of 8 rows each: noise neither makes it 7 rows for some, nor 4,800 rows in all."""
    rng, starts, off = np.random.default_rng(8), class_starts(99), []
    for _ in range(50):
        counts = np.where(starts == 8, 545.0, 0.0) + rng.normal(0, 35, len(starts))
        people = Noisy(545 + rng.normal(0, 60), 60.0)
        rows = Noisy(4360 + rng.normal(0, 365), 365.0)
        classes = Classes(starts, counts, 35.0, people, Currency.GDP)
        sizes = classes.sizes(rows)
        assert sizes.people[7] > 0.85 * sizes.people.sum()
        off.append([classes.rows(sizes, rows) - 4360, rows.value - 4360])
    joint, counted = np.sqrt(np.mean(np.square(off), axis=0))
    assert joint < 0.85 * counted


def test_rows_are_as_counted_where_no_size_stands_out() -> None:
    starts = class_starts(99)
    counts = np.where(starts < 20, 100.0, 0.0)
    classes, rows = Classes(starts, counts, 35.0, Noisy(1900, 60), Currency.GDP), Noisy(15e3, 365.0)
    assert classes.rows(classes.sizes(rows), rows) == pytest.approx(15e3, rel=0.002)


@given(st.integers(1, 10**6))
def test_classes_cover_every_size_once(most: int) -> None:
    starts = class_starts(most)
    assert starts[0] == 1
    assert (np.diff(starts) >= 1).all()
    assert starts[-1] <= most
    assert (starts[1:] <= np.maximum(starts[:-1] + 1, 1.3 * starts[:-1] + 0.5)).all()


@tried(40)
@given(st.lists(st.floats(0, 50), min_size=1, max_size=12).filter(lambda s: sum(s) > 0.1))
def test_what_is_kept_rises_with_the_cap_to_all_rows(people: list[float]) -> None:
    sizes = Sizes(np.array(people))
    kept = [sizes.kept(cap).sum() for cap in range(1, len(people) + 1)]
    assert kept == sorted(kept)
    assert kept[-1] == pytest.approx(sizes.rows)
    assert kept[0] == pytest.approx(sum(people))


def test_whom_a_question_weighs_down_follows_from_noise_and_bias() -> None:
    """Much noise: everybody counts about as one row.  Little: nobody is weighed down."""
    sizes = Sizes(np.bincount(CROWDS["geometric"])[1:].astype(np.float64))
    cells = np.array([10.0, 20.0, 5.0])
    chosen = [typical_size(sizes, np.ones(3), cells, price=p) for p in (1e-3, 0.05, 1.0, 1e3)]
    assert chosen == sorted(chosen)
    assert chosen[0] <= 2
    assert chosen[-1] >= 0.9 * len(sizes.people)
    one = Sizes(np.array([1000.0]))
    assert typical_size(one, np.ones(3), cells, price=0.1) == 1


@pytest.mark.parametrize(("alike", "error"), [(True, 30.0), (True, 100.0), (False, 5.0)])
def test_public_people_count_as_far_as_they_are_alike(alike: bool, error: float) -> None:
    """Where they are, noise is much less; where they are not, what was measured stands."""
    rng, people = np.random.default_rng(5), 2000
    public = rng.geometric(0.2 if alike else 0.9, 5000)
    starts = class_starts(10_000)
    sizes = rng.geometric(0.2, people)
    true = np.bincount(np.searchsorted(starts, sizes, side="right") - 1, minlength=len(starts))
    off = []
    for _ in range(20):
        noisy = true + rng.normal(0, error, len(starts))
        classes = Classes(starts, noisy, error, Noisy(float(people), 1.0), Currency.GDP)
        found = classes.beside(public)
        off.append([np.abs(c.counts - true).sum() for c in (classes, found)])
    alone, beside = np.mean(off, axis=0)
    assert beside < (0.6 if alike else 1.02) * alone
