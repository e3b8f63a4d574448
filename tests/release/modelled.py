"""Releases that have a model."""

from __future__ import annotations

from typing import Any

import numpy as np

import understudy as us
from understudy.door import Measurement
from understudy.graph import Domain, Model, junction_tree
from understudy.public import Batches, Synthesis
from understudy.release import build
from understudy.schema import Categorical, Id, Integer, Numeric, Schema

SCHEMA = Schema(
    "shop",
    (
        Id(name="who"),
        Categorical(name="colour", values=("red", "blue", "green"), missing=False, outside="drop"),
        Integer(name="hour", min=0, max=3, missing=False),
        Numeric(name="price", edges=(0.0, 1.0, 5.0, 9.0), missing=False),
    ),
)
MERGED = {"colour": np.array([0, 1, 1])}
"""Blue and green are one code of the model."""


def model() -> Model:
    rng = np.random.default_rng(1)
    domain = Domain({"colour": 2, "hour": 4, "price": 3})
    joint = rng.gamma(0.7, size=(2, 4, 3)) * 1000
    tree = junction_tree(domain, [("colour", "hour"), ("hour", "price")])
    letters = {"colour": "c", "hour": "h", "price": "p"}
    tables: dict[Any, Any] = {
        clique: np.einsum(f"chp->{''.join(letters[name] for name in clique)}", joint)
        for clique in tree.cliques
    }
    return Model(tree, tables)


def made(
    *, rows: int = 4000, people: int | None = 300, modelled: bool = True, by_person: bool = False
) -> us.Release:
    rng = np.random.default_rng(2)
    drawn = model().sample(rows, rng)
    # Three of four of the merged ones are green.
    colour = np.where(drawn["colour"] == 0, 0, 1 + (rng.random(rows) < 0.75)).astype(np.int32)
    given = None if people is None else np.sort(rng.integers(0, people, rows))
    return build(
        Synthesis(
            batches=Batches.held({**drawn, "colour": colour}, given),
            measurements=(Measurement(clique=("hour",), values=np.ones(4), scale=1.0),),
            model=model() if modelled else None,
            by_person=by_person,
            merged=MERGED if modelled else {},
        ),
        schema=SCHEMA,
        unit=us.Unit("who") if people else us.Unit.each_row(),
        bounding=us.Weights(5),
        budget=us.Budget(epsilon=1, delta=1e-9),
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={"run": 1, "head": "abc"},
        rng=rng,
    )
