"""Public bias: what bounding leaves of a cell is known from public people."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.synth.crowds import crowd, random_crowd
from tests.synth.planted import listening, silent
from understudy.budget import Weights
from understudy.door import Measurement
from understudy.schema import Categorical, Id, Integer, Schema
from understudy.synth.measure import public_bias
from understudy.synth.measure.compression import Compressed
from understudy.synth.measure.population import Crowd
from understudy.synth.measure.public_bias import PublicBias
from understudy.synth.measure.size_bias import SizeBias
from understudy.synth.measure.support import Rule
from understudy.synth.measure.weighted_round import WeightedMarginal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.public import PublicTable

SIZES = {"a": 3, "b": 4}
CLIQUES = (("a",), ("b",), ("a", "b"))


def counted(public: PublicTable, clique: tuple[str, ...], kept: NDArray[Any]) -> NDArray[Any]:
    """Count rows of people of whom some is kept."""
    size = public.schema.domain.cells(clique)
    return np.bincount(public.cells(clique), kept[public.people], minlength=size)


def off(found: NDArray[Any], true: NDArray[Any]) -> float:
    return 0.5 * float(np.abs(found / found.sum() - true / true.sum()).sum())


NOBODY = Crowd(rows=None, sizes=None, typical=1, bounding=Weights(1))


def alike(public: PublicTable, factor: float = 1.0) -> PublicBias:
    return PublicBias(public=public, merged=public, factor=factor, crowd=NOBODY)


@given(st.integers(0, 999), st.floats(0.01, 30), st.floats(0.3, 3))
def test_people_are_clipped_by_the_norm_of_all_their_answers(
    seed: int, price: float, factor: float
) -> None:
    public = random_crowd(np.random.default_rng(seed), SIZES, 8)
    scales = dict(zip(CLIQUES, (1.0, 2.0, 5.0), strict=True))
    asked = [
        Measurement(clique=c, values=np.zeros(public.schema.domain.cells(c)), scale=s)
        for c, s in scales.items()
    ]
    found = alike(public, factor).clipped(asked, price=price, repeats=0.5)
    for person in range(8):
        alone = np.arange(8) == person
        answers = [counted(public, c, alone.astype(float)) / s for c, s in scales.items()]
        norm = factor * float(np.linalg.norm(np.concatenate(answers)))
        assert found[person] == pytest.approx(min(1.0, price / norm))


@given(st.integers(0, 999), st.integers(1, 20))
def test_what_a_cap_leaves_of_public_people_themselves_is_corrected_exactly(
    seed: int, cap: int
) -> None:
    """It is where no cell is taken for one of few people."""
    public = random_crowd(np.random.default_rng(seed), SIZES, 30)
    bias = alike(public)
    left = bias.capped(cap)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(public_bias, "FEW", 1e-9)
        for clique in CLIQUES:
            true = public.marginal(clique).astype(float)
            over = bias.over(clique, left, true)
            assert over @ true == pytest.approx(true.sum())
            np.testing.assert_allclose(
                counted(public, clique, left) / over * true.sum(),
                true * counted(public, clique, left).sum(),
                rtol=1e-6,
            )


def test_a_cell_of_few_people_is_taken_to_be_more_like_all() -> None:
    """Half of the people have forty rows each in one cell, and one person has the only other."""
    people = np.concatenate([np.repeat(np.arange(20), 40), np.arange(20, 60)])
    a = np.concatenate([np.zeros(800, int), np.ones(39, int), [2]])
    public = crowd(people, SIZES, a=a.tolist(), b=(a % 2).tolist())
    bias = alike(public)
    over = bias.over(("a",), bias.capped(4), public.marginal(("a",)).astype(float))
    assert over[0] < over[2] < over[1]
    assert over[2] / over[0] < 0.5 * over[1] / over[0]


def test_of_people_like_public_ones_the_vault_counts_what_these_let_expect() -> None:
    """Codes are merged after the first round, which clips by all of them."""
    draws = np.random.default_rng(1)
    sizes = np.minimum(1 + draws.pareto(1.0, 2000).astype(np.int64), 60)
    who = np.repeat(np.arange(2000), sizes)
    codes = {"day": draws.integers(0, 400, len(who)), "kind": draws.integers(0, 3, len(who))}
    budget = us.Budget(epsilon=4, delta=1e-6)
    with listening(codes, people=who, bounding=us.Norm(), budget=budget) as door:
        sizes_of = {name: door.schema.domain[name] for name in codes}
        public = replace(crowd(who, sizes_of, **codes), schema=door.schema)
        columns = Compressed.ask(
            door,
            public,
            [WeightedMarginal(clique=(name,)) for name in codes],
            prices=dict.fromkeys(("rows", "people", "first"), budget.price / 2),
            rule=lambda _: Rule(threshold=3.0, rare="neighbours", most=250, bins=32),
            progress=silent,
            unbiased=True,
        )
    assert isinstance(columns.bias, PublicBias)
    assert columns.domain["day"] < 100
    expected = float(columns.left[0] @ sizes)
    assert expected < 0.8 * len(who)
    kind = next(m for m in columns.measured if m.clique == ("kind",))
    assert kind.values.sum() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("kept", ["first rows", "thirty", "short"])
def test_public_people_who_are_few_or_unlike_show_nothing(kept: str) -> None:
    """Where they have one row each, nobody of them is clipped, but private people are."""
    public, private = people(2), people(1)
    _, first = np.unique(public["who"], return_index=True)
    nth = np.arange(len(public["who"])) - first[public["who"]]
    some = {"first rows": nth == 0, "thirty": public["who"] < 30, "short": nth < 2}[kept]
    found = release({name: column[some] for name, column in public.items()}, private)
    told = found.estimate("a")
    true = cells(private, "a")[:4]
    assert (np.abs(told.estimate[:4] - true) < 5 * told.standard_error[:4]).all()
    stated = [m.bias for m in found.measurements if m.clique == ("a",)]
    assert stated
    assert min(stated) > 0.01


def people(seed: int, count: int = 3000) -> dict[str, NDArray[Any]]:
    """People of many sizes, each of one kind; the codes of those with many rows are others."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(1 + rng.pareto(1.0, count).astype(np.int64), 60)
    who = np.repeat(np.arange(count), sizes)
    often = (sizes > np.median(np.repeat(sizes, sizes)))[who]
    found = {"who": who, "kind": rng.integers(0, 5, count)[who]}
    for name in "ab":
        low = rng.choice(4, len(who), p=[0.6, 0.2, 0.15, 0.05])
        found[name] = np.where(often, 3 - low, low)
    found["b"] = np.where(rng.random(len(who)) < 0.5, found["kind"] % 4, found["b"])
    return found


SCHEMA = Schema(
    "t",
    (
        Id(name="who"),
        Categorical(name="kind", values=(0, 1, 2, 3, 4), of="person", missing=False),
        *(Integer(name=n, min=0, max=3, missing=False) for n in "ab"),
    ),
)


def release(public: dict[str, Any], private: dict[str, Any]) -> us.Release:
    with tempfile.TemporaryDirectory() as folder:
        return us.open(
            private=private,
            public=public,
            schema=SCHEMA,
            unit=us.Unit("who"),
            bounding=us.Norm(),
            budget=us.Budget(epsilon=2, delta=1e-6),
            ledger=Path(folder) / "t.ledger",
        ).run(us.Pairs())


def cells(rows: dict[str, Any], *names: str) -> NDArray[Any]:
    number = np.zeros(len(rows["a"]), dtype=np.int64)
    for name in names:
        number = 5 * number + np.asarray(rows[name]).astype(np.int64)
    return np.bincount(number, minlength=5 ** len(names)).astype(float)


def test_a_release_has_rows_of_people_who_have_many_and_keeps_what_is_their_own() -> None:
    """Clipped counts are off by 0.1 and more; a kind dealt at random has nothing to do with b."""
    private = people(1)
    found = release(people(2), private)
    made = {name: found.columns[name] for name in ("kind", "a", "b", "who")}
    assert off(cells(made, "a"), cells(private, "a")) < 0.03
    assert off(cells(made, "kind", "b"), cells(private, "kind", "b")) < 0.06
    _, first = np.unique(made["who"], return_index=True)
    assert (np.asarray(made["kind"])[first][np.asarray(made["who"]) - 1] == made["kind"]).all()
    stated = [m.bias for m in found.measurements if m.clique == ("a",)]
    assert stated
    assert min(stated) > 0.01


def test_where_noise_is_small_size_classes_show_the_bias_better_than_public_people() -> None:
    """Even where public people are the private ones themselves: classes need no such luck."""
    private = people(1, count=20_000)
    for epsilon, by in ((0.3, PublicBias), (60.0, SizeBias)):
        budget, codes = us.Budget(epsilon=epsilon, delta=1e-6), dict(private)
        who = codes.pop("who")
        sizes = {name: int(each.max()) + 1 for name, each in codes.items()}
        with listening(codes, people=who, bounding=us.Norm(), budget=budget) as door:
            public = replace(crowd(who, sizes, **codes), schema=door.schema)
            columns = Compressed.ask(
                door,
                public,
                [WeightedMarginal(clique=(name,)) for name in codes],
                prices=dict.fromkeys(("rows", "people", "first"), budget.price / 2),
                rule=lambda _: Rule(threshold=3.0, rare="neighbours", most=250, bins=32),
                progress=silent,
                unbiased=True,
            )
        assert type(columns.bias) is by
