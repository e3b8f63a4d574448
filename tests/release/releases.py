"""Releases made for tests."""

from __future__ import annotations

import numpy as np

import understudy as us
from understudy.door import Measurement, Rows
from understudy.public import Batches, Synthesis
from understudy.release import build
from understudy.schema import Categorical, Id, Integer, Numeric, Schema

SCHEMA = Schema(
    "shop",
    (
        Id(name="who", min=1000),
        Categorical(name="colour", values=("red", "blue")),
        Categorical(name="grade", values=(1, 2, 3), outside="drop"),
        Categorical(name="member", values=(False, True), outside="drop", missing=False),
        Categorical(name="rate", values=(0.5, 1), outside="drop"),
        Integer(name="age", min=0, max=9),
        Numeric(name="price", edges=(0.0, 1.5, 9.0)),
        Numeric(name="weight", edges=(0.0, 10.0, 20.0), whole=True),
    ),
)


def made(rows: int = 50, *, delta: float = 1e-9, people: int | None = 20) -> us.Release:
    rng = np.random.default_rng(0)
    codes = {
        name: rng.integers(0, size, rows).astype(np.int32) for name, size in SCHEMA.domain.items()
    }
    sums = Rows(np.array([0, 2]), np.array([0, 1]))
    measured = (
        Measurement(clique=("colour", "age"), values=rng.normal(size=4 * 11), scale=2.0),
        Measurement(clique=("age",), values=np.array([5.0]), scale=1.0, rows=sums),
    )
    given = None if people is None else np.arange(rows) % people
    return build(
        Synthesis(batches=Batches.held(codes, given), measurements=measured),
        schema=SCHEMA,
        unit=us.Unit("who"),
        bounding=us.Weights(5),
        budget=us.Budget(epsilon=1, delta=delta),
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={"run": 1, "head": "abc"},
        rng=rng,
    )
