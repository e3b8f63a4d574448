"""Turns: loyal columns come first, and each column depends on all that the model joins it to."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.graph import Domain, Measurement, estimate
from understudy.synth.lives.habits import Habit
from understudy.synth.lives.turns import kept, turns

NAMES = tuple("abcde")
DOMAIN = Domain(dict.fromkeys(NAMES, 2))
PAIRS = list(itertools.combinations(NAMES, 2))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(PAIRS), unique=True), st.permutations(NAMES), st.integers(0, 99))
def test_columns_drawn_in_turn_have_the_models_distribution(
    pairs: list[tuple[str, str]], order: list[str], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    measured = [Measurement(clique=p, values=rng.random(4) + 0.1, scale=0.1) for p in pairs]
    ones = [Measurement(clique=(n,), values=rng.random(2) + 0.1, scale=0.1) for n in NAMES]
    model = estimate(DOMAIN, [*measured, *ones], total=1.0, most=20).model
    whole = model.marginal(NAMES)
    own, loyal = order[:2], order[2:]
    product = model.marginal(own)
    shown = list(own)
    for known, new in turns(DOMAIN, pairs, own, loyal, most=1 << 20):
        assert set(known) <= set(shown)
        table = model.marginal((*known, new))
        given_known = table / np.maximum(table.sum(axis=-1, keepdims=True), 1e-300)
        shape = [2 if n in (*known, new) else 1 for n in (*shown, new)]
        axes = [(*known, new).index(n) for n in (*shown, new) if n in (*known, new)]
        product = product[..., None] * given_known.transpose(axes).reshape(shape)
        shown.append(new)
    found = product.transpose([shown.index(n) for n in NAMES])
    assert np.allclose(found, whole, atol=1e-9)


def test_the_most_loyal_column_comes_first_unless_tables_would_be_too_large() -> None:
    star = [("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")]
    found = turns(DOMAIN, star, ["b"], ["c", "d", "e", "a"], most=1 << 20)
    assert [turn.new for turn in found] == ["c", "d", "e", "a"]
    assert found[-1].known == ("b", "c", "d", "e")
    small = turns(DOMAIN, star, ["b"], ["c", "d", "e", "a"], most=20)
    assert {turn.new for turn in small} == {"a", "c", "d", "e"}
    assert all(len(turn.known) <= 2 for turn in small)


def test_nobody_keeps_what_is_no_more_alike_than_by_chance() -> None:
    assert kept(np.ones(4), Habit(False, 0.75, None)) == 0
    assert kept(np.ones(4), Habit(False, 0.0, None)) == np.log(4)
    assert kept(np.ones(9), Habit(True, 0.01, None)) > kept(np.ones(9), Habit(True, 0.1, None)) > 0
