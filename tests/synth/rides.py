"""Rides of people in a town: a private and a public table."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.door import Clique
from understudy.ledger import Ledger, State
from understudy.schema import Categorical, Id, Integer, Numeric, Schema

SCHEMA = Schema(
    "rides",
    (
        Id(name="who"),
        Integer(name="zone", min=0, max=5, missing=False),
        Integer(name="shift", min=0, max=2, missing=False),
        Numeric(name="fare", edges=(0, 10, 20, 40, 80), whole=True, missing=False),
        Categorical(name="paid", values=("cash", "card"), missing=False),
    ),
)
NAMES = tuple(SCHEMA.domain)
BUDGET = us.Budget(epsilon=2.0, delta=1e-6)
VAST = us.Budget(epsilon=1e4, delta=1e-6)
CLIQUES: tuple[Clique, ...] = (("zone", "shift", "fare"), ("shift", "paid"))
TOP = 40


def rides(seed: int, *, odd: bool = False, people: int = 250) -> dict[str, Any]:
    """People of 1 to 40 rides; zone, shift and fare hang together, and so do shift and paid."""
    rng = np.random.default_rng(seed)
    each = np.minimum(rng.geometric(0.08, people), TOP)
    who = np.repeat(np.arange(people), each)
    rows = len(who)
    home = rng.integers(6, size=people)[who]
    zone = np.where(rng.random(rows) < 0.6, home, rng.integers(4, size=rows))
    shift = np.where(rng.random(rows) < 0.8, zone % 3, rng.integers(3, size=rows))
    steps = np.array([0, 10, 20, 40, 80])
    bin_ = np.minimum(zone // 2 + (rng.random(rows) < 0.3), 3)
    width = (steps[bin_ + 1] - steps[bin_]) // 2
    fare = steps[bin_] + 2 * np.floor(rng.random(rows) * width).astype(np.int64) + odd
    paid = np.where(rng.random(rows) < 0.2 + 0.3 * shift, "card", "cash").astype(object)
    return {"who": who, "zone": zone, "shift": shift, "fare": fare, "paid": paid}


PRIVATE, PUBLIC = rides(1, odd=True), rides(2)


def session(tmp_path: Path, **other: Any) -> us.Session:
    asked: dict[str, Any] = {
        "private": PRIVATE,
        "schema": SCHEMA,
        "unit": us.Unit("who"),
        "bounding": us.Weights(TOP),
        "budget": BUDGET,
        "ledger": tmp_path / "rides.ledger",
    }
    return us.open(i_know=True, **asked | other)


def read(tmp_path: Path) -> State:
    with closing(Ledger(tmp_path / "rides.ledger")) as ledger:
        return ledger.state()


def asked(release: us.Release) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = release.manifest["mechanism"]["cliques"]
    return told


def check_spent(tmp_path: Path, least: float = 0.999) -> None:
    """All of the cap was spent, but for rounding, and no more than it."""
    (run,) = read(tmp_path).runs.values()
    assert run.closed
    assert least * run.cap <= run.spent <= run.cap


def distance(one: dict[str, Any], other: dict[str, Any], clique: Clique) -> float:
    """Half the L1 distance between two tables' shares of a clique's cells."""
    tables = []
    for table in (one, other):
        codes, kept = SCHEMA.released().encode({n: table[n] for n in NAMES})
        assert kept.all()
        cell = np.zeros(len(kept), dtype=np.int64)
        for name in clique:
            cell = cell * SCHEMA.domain[name] + codes[name]
        size = int(np.prod([SCHEMA.domain[n] for n in clique]))
        tables.append(np.bincount(cell, minlength=size) / len(cell))
    return float(np.abs(tables[0] - tables[1]).sum() / 2)


def silent(stage: str, done: float) -> None:
    """Tell nobody."""
