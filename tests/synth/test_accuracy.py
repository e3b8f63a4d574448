"""Noisy distances: those of a slow count but for their noise, and intervals that hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, cast

import numpy as np
import pytest

from tests.audit.effort import few
from understudy.budget import Budget, Currency, Unit, resolve
from understudy.door import Candidate, Door
from understudy.public import Accuracy, Distance
from understudy.schema import Integer, Schema
from understudy.synth.accuracy import MARGIN, MOST_CELLS, Noise, Shares, expected_within, measured

SIZES = {"a": 3, "b": 4, "c": 2}
PEOPLE, GDP, PURE = 300, Budget(epsilon=1.0, delta=1e-6), Budget(epsilon=1.0, delta=0)


def table(seed: int, shift: float) -> tuple[dict[str, Any], Any]:
    """Draw codes, and whose they are: people with 1 to 30 rows."""
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(PEOPLE), rng.integers(1, 31, PEOPLE))
    codes = {
        name: np.minimum(rng.binomial(size, shift, len(people)), size - 1)
        for name, size in SIZES.items()
    }
    return codes, people


@dataclass
class Asked:
    """A door onto codes in memory, with NumPy's noise in place of the vault's: for tests only."""

    codes: dict[str, Any]
    people: Any
    budget: Budget = GDP
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    quiet: float = 1.0
    """What noise is multiplied by."""
    each_row: bool = False
    caps: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        columns = tuple(Integer(name=n, min=0, max=s - 1, missing=False) for n, s in SIZES.items())
        self.schema = Schema("t", columns)
        self.grains, self.currency = self.budget.grains, self.budget.currency
        self.unit = resolve(Unit.each_row() if self.each_row else Unit("who"), self.schema)

    def _noise(self, scale: float, count: int) -> Any:
        draw = self.rng.normal if self.currency == Currency.GDP else self.rng.laplace
        return self.quiet * draw(0, scale, count)

    def _weights(self, cap: int) -> Any:
        if self.each_row:
            return np.ones(len(self.people))
        return np.minimum(1, cap / np.bincount(self.people)[self.people])

    def total(self, *, cap: int, scale: float) -> float:
        self.caps.append(cap)
        self.grains -= int(self.grains * 0.25)
        return float(self._weights(cap).sum() + self._noise(scale, 1)[0])

    def distances(self, candidates: list[Candidate], *, scale: float, bounding: Any) -> Any:
        weights = self._weights(bounding.cap)
        found = [
            np.abs(counted(self.codes, c.clique, weights) - c.expected).sum() for c in candidates
        ]
        return np.array(found) + self._noise(scale, len(found))


def counted(codes: dict[str, Any], clique: tuple[str, ...], weights: Any = None) -> Any:
    shape = [SIZES[n] for n in clique]
    cells = np.ravel_multi_index([codes[n] for n in clique], shape)
    return np.bincount(cells, weights=weights, minlength=int(np.prod(shape))).astype(float)


def apart(private: dict[str, Any], made: dict[str, Any], clique: tuple[str, ...]) -> float:
    one, other = counted(private, clique), counted(made, clique)
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)


def asked(door: Asked, *shares: Shares, **more: Any) -> tuple[Accuracy, ...]:
    return measured(cast("Door", door), shares, **more)


PRIVATE, MADE = table(1, 0.5), table(2, 0.42)
SHARES = Shares.of([MADE], SIZES)
PAIRS = list(combinations(SIZES, 2))
TRUE = float(np.mean([apart(PRIVATE[0], MADE[0], pair) for pair in PAIRS]))


@pytest.mark.parametrize("budget", [GDP, PURE], ids=["gdp", "pure"])
@pytest.mark.parametrize("each_row", [False, True], ids=["people", "rows"])
def test_without_noise_they_are_those_of_a_slow_count(budget: Budget, each_row: bool) -> None:
    door = Asked(*PRIVATE, budget=budget, quiet=0.0, each_row=each_row)
    (told,) = asked(door, SHARES, cap=30)
    assert told.cap == (1 if each_row else 30)
    assert told.rows == len(PRIVATE[1])
    assert {d.columns for d in told.columns} == {("a",), ("b",), ("c",)}
    for each in (*told.columns, *told.pairs):
        assert each.distance == pytest.approx(apart(PRIVATE[0], MADE[0], each.columns))
    assert told.mean_pair is not None
    assert told.mean_pair.distance == pytest.approx(TRUE)
    assert [d.distance for d in told.worst] == sorted(d.distance for d in told.pairs)[::-1]


@pytest.mark.parametrize("budget", few([GDP, PURE], usual=1))
def test_intervals_of_the_mean_hold_95_of_100_and_do_not_if_noise_is_twice_as_large(
    budget: Budget,
) -> None:
    """Of 400 intervals with a coverage of 95 %, fewer than 364 cover once in 10,000 times."""
    for quiet, least in ((1.0, 364), (2.0, 0)):
        rng = np.random.default_rng(7)
        doors = (Asked(*PRIVATE, budget=budget, rng=rng, quiet=quiet) for _ in range(400))
        told = [asked(door, SHARES, cap=30)[0].mean_pair for door in doors]
        held = sum(d is not None and d.low <= TRUE <= d.high for d in told)
        assert held >= least
        assert quiet == 1.0 or held < 364


def test_the_mean_is_told_more_exactly_than_each_and_the_worst_hold_together() -> None:
    (told,) = asked(Asked(*PRIVATE, budget=Budget(epsilon=9.0, delta=1e-6)), SHARES)
    assert told.mean_pair is not None
    each = told.pairs[0].high - told.pairs[0].distance
    assert told.mean_pair.within < 0.9 * each < each < told.worst[0].within


def test_the_cap_is_what_is_best_for_the_synthetic_people_and_a_margin() -> None:
    noise = Noise.of(Budget(epsilon=50.0, delta=1e-6).grains, Currency.GDP, 6)
    assert noise.cap([SHARES], 3) == round(30 * MARGIN)
    few = Noise.of(Budget(epsilon=0.1, delta=1e-6).grains, Currency.GDP, 6)
    cap = few.cap([SHARES], 3)
    assert 1 < cap < 30
    # The slow way: every cap, by the length of its interval.
    rows = SHARES.sizes.sum()
    lengths = {c: few.within(3) * c / (2 * rows) + SHARES.clipped(c) for c in set(SHARES.sizes)}
    assert cap == int(np.ceil(MARGIN * min(lengths, key=lengths.__getitem__)))


def test_rows_above_the_cap_make_intervals_wider_and_these_hold() -> None:
    (told,) = asked(Asked(*PRIVATE, quiet=0.0), SHARES, cap=5)
    assert told.clipped == pytest.approx(1 - np.minimum(SHARES.sizes, 5).sum() / len(MADE[1]))
    assert told.clipped > 0.3
    for each in (*told.columns, *told.pairs):
        assert each.low <= apart(PRIVATE[0], MADE[0], each.columns) <= each.high


def test_several_tables_are_compared_at_once() -> None:
    near = Shares.of([table(3, 0.5)], SIZES)
    far, close = asked(Asked(*PRIVATE, budget=Budget(epsilon=20.0, delta=1e-6)), SHARES, near)
    assert close.mean_column.distance < far.mean_column.distance


def test_batches_add_up_and_large_pairs_are_left_out() -> None:
    codes, people = MADE
    halves = [({n: c[i::2] for n, c in codes.items()}, people[i::2]) for i in (0, 1)]
    whole = Shares.of(halves, SIZES)
    assert all(np.allclose(whole.marginals[c], SHARES.marginals[c]) for c in SHARES.marginals)
    assert sorted(whole.sizes) == sorted(SHARES.sizes)
    large = {**SIZES, "a": MOST_CELLS // 3}
    assert Shares.of([MADE], large).left_out == (("a", "b"),)


def test_no_rows_and_a_single_column_are_told_of_too() -> None:
    nothing = Shares.of([({"a": np.empty(0, np.int64)}, np.empty(0, np.int64))], {"a": 3})
    assert nothing.clipped(1) == 0
    assert expected_within(GDP.grains, GDP.currency, nothing) > 1
    (told,) = asked(Asked(*PRIVATE), nothing)
    assert told.mean_pair is None
    assert told.mean_column.distance == pytest.approx(0.5, abs=0.5)
    assert next(told.sentences()).startswith("Columns are wrong by")


def test_a_distance_is_written_with_its_interval_and_read_again() -> None:
    (told,) = asked(Asked(*PRIVATE), SHARES)
    assert Accuracy.from_dict(told.to_dict()) == told
    assert str(Distance.of(0.02, 0.05)) == "0.02 ± 0.05"
    pairs, columns, cap = told.sentences()
    assert pairs.startswith("Pairs of columns are wrong by ")
    assert f"the worst of the 3 asked are {told.worst[0]}, " in pairs
    assert columns.startswith("Columns alone are wrong by ")
    assert f"at most {told.cap} rows" in cap
