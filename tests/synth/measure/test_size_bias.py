"""Size bias: what bounding leaves of a cell is known from columns by size class."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.synth.planted import listening, silent
from understudy.door import Measurement
from understudy.schema import Id, Integer, Schema
from understudy.synth.measure.compression import Compressed
from understudy.synth.measure.noise_levels import UNLIKE_CORRECTED, UNLIKE_LEAST
from understudy.synth.measure.size_bias import (
    FAIR,
    REMAINS,
    SIZE,
    SizeBias,
    by_size_class,
    corrected,
    size_classes,
    spread,
    summed,
    with_left,
)
from understudy.synth.measure.size_borders import class_starts
from understudy.synth.measure.sizes import Sizes
from understudy.synth.measure.support import Rule, Support
from understudy.synth.measure.weighted_round import WeightedMarginal

if TYPE_CHECKING:
    from numpy.typing import NDArray

CODES = 4


@dataclass(frozen=True, eq=False)
class Crowd:
    """People of many sizes, whose codes depend on their size, and two columns that agree."""

    person: NDArray[np.int64]
    codes: dict[str, NDArray[np.int64]]

    @classmethod
    def made(cls, seed: int, people: int = 4000, *, alike: bool = False) -> Crowd:
        rng = np.random.default_rng(seed)
        sizes = np.minimum(1 + rng.pareto(1.0, people).astype(np.int64), 60)
        often = sizes > np.median(np.repeat(sizes, sizes))
        person = np.repeat(np.arange(people), sizes)
        codes = {}
        for name in "ab":
            low = rng.choice(CODES, len(person), p=[0.6, 0.2, 0.15, 0.05])
            codes[name] = np.where(often[person] & (not alike), CODES - 1 - low, low)
        return cls(person, codes)

    @property
    def sizes(self) -> Sizes:
        return Sizes(np.bincount(np.bincount(self.person))[1:].astype(np.float64))

    def counts(
        self, *names: str, weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        cells = np.zeros(len(self.person), dtype=np.int64)
        for name in names:
            cells = cells * CODES + self.codes[name]
        found = np.bincount(cells, weights=weights, minlength=CODES ** len(names))
        return found.astype(np.float64)


def learned(crowd: Crowd, *, cap: int, noise: float, seed: int = 0) -> tuple[SizeBias, Crowd]:
    """Learn from counts by size class, where a person counts for at most ``cap`` rows."""
    size = size_classes(crowd.sizes)
    assert size is not None
    each = np.bincount(crowd.person)[crowd.person]
    place = np.searchsorted(size.starts, each, side="right") - 1
    rng, answers, supports = np.random.default_rng(seed), [], []
    for name, codes in crowd.codes.items():
        cells = codes * len(size.starts) + place
        exact = np.bincount(cells, np.minimum(1, cap / each), CODES * len(size.starts))
        values = exact + rng.normal(0, noise, len(exact))
        answers.append(Measurement(clique=(name, SIZE), values=values, scale=noise))
        every = np.ones(CODES, dtype=bool)
        supports.append(
            Support(column=name, codes=np.arange(CODES), likely=every * 1.0, supported=every)
        )
    found = SizeBias.of(
        answers,
        supports,
        sizes=crowd.sizes,
        starts=size.starts,
        length=float(cap),
        repeats=1.0,
        error=0.0,
    )
    return found, crowd


def off(found: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    return 0.5 * float(np.abs(found / found.sum() - true / true.sum()).sum())


@pytest.mark.parametrize("names", [("a",), ("b",), ("a", "b")])
def test_counts_over_what_is_left_are_those_of_all_rows(names: tuple[str, ...]) -> None:
    bias, crowd = learned(Crowd.made(1), cap=3, noise=1.0)
    each = np.bincount(crowd.person)[crowd.person]
    true, biased = crowd.counts(*names), crowd.counts(*names, weights=np.minimum(1, 3 / each))
    over = bias.over(names, bias.left(3.0, 1.0), true)
    assert off(biased, true) > 0.1
    assert off(biased / over, true) < 0.25 * off(biased, true)


def test_where_noise_drowns_classes_little_is_corrected_and_it_is_said_so() -> None:
    bias, crowd = learned(Crowd.made(2), cap=3, noise=1e5)
    over = bias.over(("a", "b"), bias.capped(3), crowd.counts("a", "b"))
    away = over - 1
    assert np.median(np.abs(away)) < 0.35
    assert (np.abs(away) < 2 * bias.unsure(("a", "b"), bias.capped(3))).all()
    bias, crowd = learned(Crowd.made(2), cap=3, noise=1.0)
    over = bias.over(("a", "b"), bias.capped(3), crowd.counts("a", "b"))
    assert over.max() / over.min() > 2


def test_people_who_are_alike_are_known_to_be_and_others_are_not_taken_for_it() -> None:
    alike, _ = learned(Crowd.made(4, alike=True), cap=3, noise=1.0)
    unlike, _ = learned(Crowd.made(4), cap=3, noise=1.0)
    for name in "ab":
        assert alike.unlike[name] < UNLIKE_LEAST < UNLIKE_CORRECTED[1] < unlike.unlike[name]
    # Where noise hides it, nobody is taken to be alike.
    hidden, _ = learned(Crowd.made(4, alike=True), cap=3, noise=1e3)
    assert min(hidden.unlike.values()) > UNLIKE_CORRECTED[1]


def stated(bias: SizeBias, *names: str) -> float:
    """Return the bias that a release states of a marginal of columns, at a cap of 3."""
    m = Measurement(clique=names, values=np.ones(CODES ** len(names)), scale=1.0)
    left = bias.left(3.0, 1.0)
    made = with_left(
        m, np.ones(CODES ** len(names)), bias.remains(names, left), bias.unsure(names, left)
    )
    assert made.unsure is not None
    return math.sqrt(made.bias**2 + float(np.mean(made.unsure**2)))


def actual(bias: SizeBias, crowd: Crowd, *names: str) -> float:
    """Return how far corrected counts are off at a cap of 3, by rows, relative to the counts."""
    each = np.bincount(crowd.person)[crowd.person]
    true, counted = crowd.counts(*names), crowd.counts(*names, weights=np.minimum(1, 3 / each))
    found = counted / bias.over(names, bias.left(3.0, 1.0), true)
    away = (found / found.sum()) / (np.maximum(true, 1e-9) / true.sum()) - 1
    return float(np.sqrt(away**2 @ true / true.sum()))


def test_less_bias_is_stated_of_people_who_are_alike_unless_noise_hides_it() -> None:
    for noise, sure in ((1.0, True), (1e3, False)):
        bias, _ = learned(Crowd.made(4, alike=True), cap=3, noise=noise)
        remains = REMAINS[0] * spread(bias.left(3.0, 1.0), bias.parts.rows)
        assert (0 < stated(bias, "a") < 0.5 * remains) == sure
        assert (stated(bias, "a") > 2 * remains) != sure


def test_columns_of_no_matter_do_not_make_another_s_bias_look_smaller() -> None:
    crowd = Crowd.made(5)
    rng = np.random.default_rng(6)
    same = {f"c{i}": rng.integers(0, CODES, len(crowd.person)) for i in range(30)}
    bias, _ = learned(Crowd(crowd.person, crowd.codes | same), cap=3, noise=3.0)
    for names in (("a",), ("a", "b")):
        assert actual(bias, crowd, *names) < stated(bias, *names)


def test_what_mostly_large_people_have_is_unsure_by_how_unsure_their_number_of_rows_is() -> None:
    """Of a code as common in all classes nothing is; nor where people's numbers are exact."""
    bias, _ = learned(Crowd.made(3), cap=3, noise=1.0)
    left = bias.left(3.0, 1.0)
    assert bias.unsure(("a",), left).max() < 0.01
    noisy = replace(bias, error=np.array([0.01, 0.02, 0.2]))
    found = noisy.unsure(("a",), left)
    # The last code is that of large people, and the first of all others.
    assert found[1:-1].max() < min(found[0], found[-1]) / 2
    assert 0.05 < found[0] < found[-1]
    alike, _ = learned(Crowd.made(3, alike=True), cap=3, noise=1.0)
    assert replace(alike, error=noisy.error).unsure(("a",), left).max() < found.max() / 2
    assert noisy.unsure(("a", "b"), left).shape == (CODES**2,)


def test_a_pair_may_differ_where_neither_of_its_columns_does() -> None:
    crowd = Crowd.made(7)
    rng = np.random.default_rng(8)
    each = np.bincount(crowd.person)[crowd.person]
    a, other = rng.integers(0, 2, len(each)), rng.random(len(each)) < 0.1
    paired = Crowd(crowd.person, {"a": a, "b": np.where((each > 8) ^ other, a, 1 - a)})
    bias, _ = learned(paired, cap=3, noise=3.0)
    assert max(bias.unlike.values()) < UNLIKE_LEAST
    spread_of_left = spread(bias.left(3.0, 1.0), bias.parts.rows)
    assert stated(bias, "a", "b") >= REMAINS[1] * spread_of_left


@pytest.mark.parametrize(("alike", "epsilon"), [(True, 5.0), (True, 0.3), (False, 5.0)])
def test_clipping_goes_by_how_much_people_differ(*, alike: bool, epsilon: float) -> None:
    """Where they are alike, and noise does not hide it, they may be clipped further."""
    crowd = Crowd.made(9, alike=alike)
    budget = us.Budget(epsilon=epsilon, delta=1e-6)
    with listening(crowd.codes, people=crowd.person, bounding=us.Norm(), budget=budget) as door:
        price = budget.price / 2
        columns = Compressed.ask(
            door,
            None,
            [WeightedMarginal(clique=(name,)) for name in "ab"],
            prices={"rows": price / 4, "people": price / 4, "first": price},
            rule=lambda _: Rule(threshold=3.0, rare="other", most=250, bins=32),
            progress=silent,
            unbiased=True,
        )
    assert (columns.crowd.unlike < UNLIKE_CORRECTED[1]) == (alike and epsilon > 1)
    assert columns.crowd.unlike <= UNLIKE_CORRECTED[1]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40).filter(any))
def test_classes_begin_at_one_and_all_have_a_fair_part_of_the_rows(people: list[int]) -> None:
    sizes = Sizes(np.array(people, dtype=np.float64))
    found = size_classes(sizes)
    if found is None:
        return
    assert found.starts[0] == 1
    assert len(found.starts) > 1
    rows = sizes.people * np.arange(1, len(people) + 1)
    each = np.add.reduceat(rows, np.array(found.starts) - 1) / rows.sum()
    assert (each >= FAIR - 1e-9).all()
    # Within a class that people were counted in, nothing tells one size from another.
    assert set(found.starts) <= set(class_starts(len(people)).tolist())


@pytest.mark.parametrize("people", [[500.0], [0.0] * 6 + [250.0, 250.0], [5.0] * 4 + [400.0] * 2])
def test_people_with_about_as_many_rows_are_not_split(people: list[float]) -> None:
    """Seven rows each, as everybody in a panel of seven years, are seen as seven or eight."""
    assert size_classes(Sizes(np.array(people))) is None


@given(st.integers(0, 2**32))
def test_what_is_left_averages_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bias, _ = learned(Crowd.made(3, people=200), cap=2, noise=float(rng.uniform(0.1, 50)))
    expected = rng.random(CODES**2)
    over = bias.over(("a", "b"), bias.left(2.0, 1.0), expected)
    assert (over > 0).all()
    assert over @ expected == pytest.approx(expected.sum())


def test_a_columns_counts_are_summed_over_classes() -> None:
    m = Measurement(clique=("a", SIZE), values=np.arange(6.0), scale=2.0, group="g")
    found = summed(m, 3)
    assert (found.clique, found.values.tolist(), found.group) == (("a",), [3.0, 12.0], "g")
    assert found.scale == pytest.approx(2 * 3**0.5)


def test_a_round_of_both_gives_classes_a_share_of_the_precision() -> None:
    size = size_classes(Sizes(np.array([4.0, 3.0, 2.0, 2.0, 2.0, 2.0])))
    assert size is not None
    (asked,) = by_size_class([WeightedMarginal(clique=("a",))], size)
    # Noise is as the cubic root of 1 / (cells × weight²).
    ratio = (len(size.starts) * asked.weight**2) ** (2 / 3)
    assert asked.clique == ("a", SIZE)
    assert ratio == pytest.approx(0.3 / 0.7)


def test_a_corrected_measurement_counts_a_share_of_each_cell() -> None:
    m = Measurement(clique=("a",), values=np.array([5.0, 8.0]), scale=1.0, group="g")
    found = corrected(m, np.array([0.5, 2.0]))
    assert found.group is None
    assert found.weights is not None
    assert found.weights.tolist() == [0.5, 2.0]
    assert found.matrix(2).forward(np.array([10.0, 4.0])).tolist() == [5.0, 8.0]


def test_large_people_whose_rows_agree_more_often_than_most_are_known_to_be_clipped() -> None:
    """By how often rows agree on average nobody would be clipped to this norm."""
    sizes = Sizes(np.array([900.0, 0, 0, 0, 0, 300.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60.0]))
    starts, codes = (1, 6, 16), 2
    support = Support(
        column="a", codes=np.arange(codes), likely=np.ones(codes), supported=np.ones(codes, bool)
    )
    counts = np.array([[600.0, 900.0, 60.0], [300.0, 900.0, 540.0]])
    m = Measurement(clique=("a", SIZE), values=counts.reshape(-1), scale=5.0)
    bias = SizeBias.of(
        [m], [support], sizes=sizes, starts=starts, length=9.0, repeats=0.2, error=0.5
    )
    left = bias.left(9.0, 0.2)
    assert left[:2].min() > 0.98
    assert 0.55 < left[2] < 0.75
    each = bias.over(("a",), left, counts.sum(axis=1))
    assert each[1] < each[0]


def test_a_release_has_rows_of_people_who_have_many() -> None:
    """A code that only people with many rows have keeps its share, at any clipping."""
    crowd = Crowd.made(4, people=20_000)
    schema = Schema(
        "t", (Id(name="who"), *(Integer(name=n, min=0, max=CODES - 1) for n in crowd.codes))
    )
    with tempfile.TemporaryDirectory() as folder:
        release = us.open(
            private={"who": crowd.person, **crowd.codes},
            schema=schema,
            unit=us.Unit("who"),
            bounding=us.Norm(),
            budget=us.Budget(epsilon=2, delta=1e-6),
            ledger=Path(folder) / "t.ledger",
        ).run(us.Pairs())
    made, _ = schema.released().encode(release.columns)
    true = crowd.counts("a", "b")
    found = np.bincount(
        made["a"].astype(np.int64) * schema.domain["b"] + made["b"],
        minlength=schema.domain["a"] * schema.domain["b"],
    )
    shape = (schema.domain["a"], schema.domain["b"])
    kept = found.reshape(shape)[:CODES, :CODES].reshape(-1).astype(np.float64)
    assert off(kept, true) < 0.06
