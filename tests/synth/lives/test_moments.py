"""Moments: rows of a person come out chronological, also within a month."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import understudy as us
from tests.audit.effort import effort
from understudy.schema import Categorical, Id, Schema, Timestamp


def test_rows_of_a_person_are_in_the_order_of_their_moments(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    who = np.sort(rng.integers(0, effort(40, 200), effort(320, 1600)))
    when = np.datetime64("2024-01-01T00:00:00") + rng.integers(0, 80 * 86400, len(who))
    schema = Schema(
        "calls",
        (
            Id(name="who"),
            Timestamp(name="when", min="2024-01-01", max="2024-03-31", missing=False),
            Categorical(name="line", values=("a", "b"), missing=False),
        ),
        order_by=("when",),
    )
    release = us.open(
        private={"who": who, "when": when, "line": np.array(["a", "b"])[who % 2]},
        schema=schema,
        unit=us.Unit("who"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=20.0, delta=1e-6),
        ledger=tmp_path / "calls.ledger",
    ).run(us.Lives())
    people, moments = (np.asarray(release.columns[name]) for name in ("who", "when"))
    together = people[1:] == people[:-1]
    assert together.sum() == len(people) - len(set(people.tolist()))
    assert (moments[1:] >= moments[:-1])[together].all()
    assert np.mean((moments[1:].astype("M8[M]") == moments[:-1].astype("M8[M]"))[together]) > 0.3
