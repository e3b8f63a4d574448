"""Statistical audit of discovery: what is seen of one person, against what is charged.

Noise is drawn for every value by itself.  So a single question tries many people at once, each of
them the worst there can be, with values that no one else of them has:

- *lone people* bring more values than count, which nobody else has.  The share of them of whom
  any value is told is at most the failure probability that is charged;
- *joining people* are in half of the groups of values that a crowd has, and in the other half they
  are not.  The likelihood ratio of a group's noisy weights, at the noise that was claimed, is the
  best test of which it is, and how often it errs bounds μ from below.

Both bounds are by Clopper and Pearson, at a level that sound code passes but once in a million
times.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.audit.statistical import CERTAIN, KEY, LIKELY, Loss, at_most, mu_below
from understudy.audit.tape import Tape
from understudy.budget import Budget, Norm, Unit, failure_of, mu_upper, threshold_upper
from understudy.door import Search
from understudy.engine import DuckDB
from understudy.schema import Schema, Text
from understudy.vault import PrivateDoor, PrivateTable

if TYPE_CHECKING:
    from understudy.door import Found

MOST, EXTRA = 4, 2
"""The number of a person's values that count, and how many more lone people bring."""
SCALE, FAILURE = 1.0, 0.02
"""The noise and the failure probability that are tried: large enough to be seen in few trials."""
CROWD = 12
"""How many people have each value of a group, so that it is told nearly always."""
BUDGET = Budget(epsilon=50.0, delta=0.1, failure=0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How often values of lone people were told, against the failure probability charged."""

    claim: float
    certain: float
    """A lower bound of it; for correct code it exceeds the claim once in a million times."""
    likely: float
    """The same at 95 %."""
    seen: float
    """The share of lone people of whom a value was told."""
    runs: int

    @property
    def kept(self) -> bool:
        """Whether the observed probability is within the claim."""
        return self.certain <= self.claim


def measure_discovery(*, runs: int) -> tuple[Told, Loss]:
    """Discover values of lone and of joining people, as many of each as there are runs."""
    least = threshold_upper(FAILURE, sigma=SCALE, most=MOST)
    search = Search(column="value", most=MOST, scale=SCALE, threshold=least)
    schema, tape = Schema("worst", (Text(name="value"),)), Tape(BUDGET)
    with closing(DuckDB()) as engine:
        table = PrivateTable(engine, _table(runs), schema=schema, unit=Unit("id"), key=KEY)
        (found,) = PrivateDoor(table, run=tape, bounding=Norm()).discover([search])
    (booked,) = tape.state().reservations
    told = {value.split()[1] for value in found.values if value.startswith("lone")}
    failure = Told(
        claim=failure_of(booked.charge.failure),
        certain=_at_least(len(told), runs, CERTAIN),
        likely=_at_least(len(told), runs, LIKELY),
        seen=len(told) / runs,
        runs=runs,
    )
    return failure, _loss(found, runs, mu_upper(booked.grains), least)


def _table(runs: int) -> dict[str, np.ndarray[tuple[int], np.dtype[np.object_]]]:
    """Make lone people, and groups of values, every other one with a person who joins it."""
    rows = [(f"lone {i}", f"lone {i} {j}") for i in range(runs) for j in range(MOST + EXTRA)]
    for i in range(runs):
        values = [f"group {i} {j}" for j in range(MOST)]
        rows += [(f"crowd {value} {n}", value) for value in values for n in range(CROWD)]
        rows += [(f"joining {i}", value) for value in values if i % 2]
    return {
        name: np.array([row[place] for row in rows], dtype=object)
        for place, name in enumerate(("id", "value"))
    }


def _loss(found: Found, runs: int, claim: float, least: float) -> Loss:
    """Guess of each group whether a person joined it, and bound μ by the errors."""
    weights = dict(zip(found.values, found.weights.tolist(), strict=True))
    # Each value of a person who joins weighs 1/√MOST; what was not told, at most the threshold.
    halfway = MOST * (CROWD + 0.5 / MOST**0.5)
    joined = [
        sum(weights.get(f"group {i} {j}", least) for j in range(MOST)) > halfway
        for i in range(runs)
    ]
    missed, false = joined[1::2].count(False), joined[0::2].count(True)
    each = runs // 2
    return Loss(
        claim=claim,
        certain=mu_below(missed, false, each, CERTAIN),
        likely=mu_below(missed, false, each, LIKELY),
        runs=2 * each,
    )


def _at_least(seen: int, runs: int, level: float) -> float:
    """Bound a probability from below, by Clopper and Pearson."""
    return 1 - at_most(runs - seen, runs, level)
