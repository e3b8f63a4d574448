"""Kinds: people whose own columns say when their rows are."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.graph import Domain, Measurement, estimate
from understudy.synth.lives.kinds import MOST, Kinds

DOMAIN = Domain({"sex": 2, "plan": 3, "town": 40, "month": 4})


def measured(*cliques: tuple[str, ...]) -> list[Measurement]:
    """Return answers of which plans and towns, but not sexes, tell the month."""
    found = []
    for clique in cliques:
        shape = DOMAIN.shape(clique)
        at = np.indices(shape)
        values = 1 + 20.0 * (at[0] % 4 == at[1])
        if "sex" in clique:
            values = np.array([[11.5, 11.5, 11.5, 1.5]] * 2)
        found.append(Measurement(clique=clique, values=values.reshape(-1), scale=0.1))
    return found


def kinds(*own: str) -> Kinds:
    model = estimate(DOMAIN, measured(*((name, "month") for name in own))).model
    return Kinds.of(model, ("month",), own)


def test_what_tells_nothing_of_times_makes_no_kind() -> None:
    found = kinds("sex")
    assert found.columns == ()
    assert found.counts.shape == (1, 4)
    assert found.among({}, 5).tolist() == [0] * 5


def test_each_plan_is_a_kind_with_its_rows() -> None:
    found = kinds("sex", "plan")
    assert found.columns == ("plan",)
    plans = np.array([2, 0, 1, 1], dtype=np.int64)
    who = found.among({"plan": plans}, 4)
    shares = found.counts / found.counts.sum(axis=1, keepdims=True)
    for kind, plan in zip(who, plans, strict=True):
        assert shares[kind].argmax() == plan
        assert shares[kind].max() == pytest.approx(21 / 24, rel=0.05)


def test_of_many_values_the_rarest_are_of_one_kind() -> None:
    found = kinds("town")
    assert len(found.counts) == MOST
    assert np.bincount(found.kinds).tolist() == [1] * (MOST - 1) + [40 - MOST + 1]
    assert len(kinds("town", "plan").columns) == 1
