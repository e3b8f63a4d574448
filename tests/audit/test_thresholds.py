"""Of discovery no more is seen than is charged, nearly all of it is, and a wrong one is caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.audit.effort import effort
from understudy.audit import measure_discovery
from understudy.audit.thresholds import FAILURE
from understudy.noise import draw
from understudy.vault import discovery

RUNS = effort(2000, 20_000)


def test_discovery_is_not_seen_to_tell_or_lose_more_than_it_claims() -> None:
    """A sound one fails this once in a million times."""
    told, loss = measure_discovery(runs=RUNS)
    assert told.kept
    assert loss.kept
    assert (told.runs, loss.runs) == (RUNS, RUNS)
    assert told.claim == pytest.approx(FAILURE, rel=1e-3)
    assert loss.claim == pytest.approx(1, abs=1e-6)
    # The people press: the bounds are most of what is claimed.
    assert told.certain <= told.likely <= told.seen
    assert told.likely > 0.4 * told.claim
    assert loss.likely > 0.6


def test_noise_that_is_too_weak_is_seen_as_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    def weak(shape: Any, scale: float, size: int, **more: Any) -> Any:
        return draw(shape, 0.6 * scale, size, **more)

    monkeypatch.setattr(discovery, "draw", weak)
    _, loss = measure_discovery(runs=2000)
    assert not loss.kept


def test_a_threshold_that_is_too_low_is_seen_in_what_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The threshold of a person with one value, who is not the worst."""
    honest = discovery.told

    def low(question: Any, *rest: Any) -> bytes:
        (search,) = question.searches
        return honest(replace(question, searches=(replace(search, threshold=2.0),)), *rest)

    monkeypatch.setattr("understudy.vault.door.told", low)
    told, loss = measure_discovery(runs=2000)
    assert not told.kept
    assert loss.kept


def test_all_values_of_a_person_would_be_seen_in_what_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values beyond those that count, with the weight of one alone."""
    monkeypatch.setattr(discovery, "value_weight", lambda _: 2**16)
    told, loss = measure_discovery(runs=2000)
    assert not told.kept
    assert not loss.kept
