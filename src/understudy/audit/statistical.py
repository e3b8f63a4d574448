"""Statistical audit: the privacy that can be seen to be lost, against what is claimed.

A mechanism is run many times on a table and on its worst neighbour, until it has asked all it
asks: what it makes of the answers can tell no more than they do.  Of each run all
answers are kept, more than any release shows, and their likelihood ratio between the two
tables, at the noise that was claimed, is the best test of which table it was.  How often it
errs bounds the loss from below: by Clopper and Pearson, at a level that sound code passes but
once in a million times.  Noise that is too small, or a person who counts for more than was
declared, shows as a bound above the claim.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from understudy.audit.distance import in_rows
from understudy.audit.tape import Tape
from understudy.budget import Currency, Unit, Weights, epsilon_of, mu_upper
from understudy.door import Discover, Select
from understudy.engine import DuckDB
from understudy.public import PublicTable
from understudy.schema import Integer, Schema
from understudy.synth import NEEDS_PUBLIC
from understudy.synth.usercounts import UserCounts
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault.counts import exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.budget import Bounding, Budget, Charge
    from understudy.door import AnyQuestion, Question
    from understudy.synth import Mechanism

    Whole = NDArray[np.int64]

CERTAIN = 1e-6
LIKELY = 0.05
CAP = 5
DOMAIN = {"a": 3, "b": 2, "c": 4}
KEY = "0" * 32
WORST = Weights(CAP)
"""The bounding for which the worst pair is made: its person reaches the bound."""
COUNT_PEOPLE = {UserCounts.name}
"""Mechanisms that count people, not rows: the worst person has a cell for every row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The claimed and the observed privacy loss, as μ, or as ε in a ledger of ``pure``."""

    claim: float
    certain: float
    """A lower bound of the loss; for correct code it exceeds the claim once in a million times."""
    likely: float
    """The same at 95 %."""
    runs: int

    @property
    def kept(self) -> bool:
        """Whether the observed loss is within the claim."""
        return self.certain <= self.claim


class _AskedAll(Exception):  # noqa: N818  a signal, not an error
    """A mechanism has closed the door."""


class _Weighing(PrivateDoor):
    """A door that computes each answer's likelihood ratio between the two tables."""

    def __init__(
        self,
        tables: tuple[PrivateTable, PrivateTable],
        here: int,
        run: Tape,
        *,
        bounding: Bounding,
        counts: Counts,
    ) -> None:
        super().__init__(tables[here], run=run, bounding=bounding)
        self._tables, self._here, self._counts = tables, here, counts
        self.ratio = 0.0
        """The log-likelihood ratio of the answers, first table against second."""

    def close(self) -> None:
        """End the run: no more answers follow."""
        raise _AskedAll

    def _answer(
        self, question: AnyQuestion, ordinal: int, digest: str, what: str, cost: Charge
    ) -> bytes:
        """Count once for all runs; book, draw and store as usual."""
        assert not isinstance(question, Discover)  # noqa: S101  no mechanism asks for values
        if digest not in self._counts:
            self._counts[digest] = [exact(question, table) for table in self._tables]
        counted = self._counts[digest]
        self._run.reserve(ordinal, digest, what, cost)
        noisy = self._noisy(question, counted[self._here])
        stored = noisy.astype("<i8").tobytes()
        self._run.store(ordinal, digest, stored)
        self.ratio += self._weigh(question, noisy, counted)
        return stored

    def _weigh(self, question: Question, noisy: Whole, counted: list[Whole]) -> float:
        if isinstance(question, Select):
            weights = np.array([c.weight for c in question.candidates])
            reach = weights.max() * question.bounding.cap * 2**16
            logs = [question.epsilon * weights * c / (2 * reach) for c in counted]
            one, other = (x[noisy[0]] - np.logaddexp.reduce(x) for x in logs)
            return float(one - other)
        parts = self._lattice(question)
        steps = np.concatenate([np.full(len(noisy) if n < 0 else n, s) for n, _, _, s in parts])
        answer = noisy / steps
        (one, scales), (other, _) = (in_rows(question, c, self.schema) for c in counted)
        if self.currency.noise == "gaussian":
            return float(((answer - (one + other) / 2) * (one - other) / scales**2).sum())
        return float(((np.abs(answer - other) - np.abs(answer - one)) / scales).sum())


Counts = dict[str, list["Whole"]]


def measure_loss(
    mechanism: Mechanism, *, budget: Budget, runs: int, bounding: Bounding = WORST
) -> Loss:
    """Run a mechanism on a table and on its worst neighbour, half of the runs on each."""
    engines, each = (DuckDB(), DuckDB()), runs // 2
    try:
        tables = _worst_pair(engines, apart=mechanism.name in COUNT_PEOPLE)
        public = _public(tables[0]) if mechanism.name in NEEDS_PUBLIC else None
        counts: Counts = {}
        doors = [
            [
                _run(
                    mechanism,
                    _Weighing(tables, here, Tape(budget), bounding=bounding, counts=counts),
                    public,
                    i,
                )
                for i in range(each)
            ]
            for here in (0, 1)
        ]
    finally:
        for engine in engines:
            engine.close()
    missed = sum(ratio <= 0 for ratio, _ in doors[0])
    false = sum(ratio > 0 for ratio, _ in doors[1])
    spent = max(grains for found in doors for _, grains in found)
    pure = budget.currency == Currency.PURE
    bound = _epsilon_below if pure else mu_below
    return Loss(
        claim=epsilon_of(spent, Currency.PURE, 0.0) if pure else mu_upper(spent),
        certain=bound(missed, false, each, CERTAIN),
        likely=bound(missed, false, each, LIKELY),
        runs=2 * each,
    )


def _run(
    mechanism: Mechanism, door: _Weighing, public: PublicTable | None, number: int
) -> tuple[float, int]:
    """Run once; return the answers' log-likelihood ratio and what was spent."""
    rng = np.random.default_rng(number)
    with suppress(_AskedAll):
        mechanism.run(door, public=public, rng=rng, progress=lambda *_: None)
    return door.ratio, door.budget.grains - door.grains


def _public(table: PrivateTable) -> PublicTable:
    """Make a public table of people like those in both tables."""
    rng = np.random.default_rng(0)
    data = {n: rng.integers(0, size, 60) for n, size in DOMAIN.items()}
    data["id"] = np.arange(60) // 3
    return PublicTable.read(data, schema=table.schema, unit=Unit("id"))


def _worst_pair(
    engines: tuple[DuckDB, DuckDB], *, apart: bool
) -> tuple[PrivateTable, PrivateTable]:
    """Open a table, and one without the person who reaches the cap in one cell, or in many."""
    columns = tuple(Integer(name=n, min=0, max=s - 1, missing=False) for n, s in DOMAIN.items())
    schema = Schema("worst", columns)
    few = [(f"p{i}", i % 3, i % 2, i % 4) for i in range(20)]
    worst = [("worst", i % 3, i % 2, i % 4) for i in (range(CAP) if apart else [0] * CAP)]
    opened = []
    for engine, rows in zip(engines, (few + worst, few), strict=True):
        names = ("id", *DOMAIN)
        data = {n: np.array([row[i] for row in rows]) for i, n in enumerate(names)}
        opened.append(PrivateTable(engine, data, schema=schema, unit=Unit("id"), key=KEY))
    return opened[0], opened[1]


def at_most(errors: int, runs: int, level: float) -> float:
    """Bound an error's probability from above, by Clopper and Pearson.

    It is the least probability at which this few errors have at most the level's probability.
    """
    counts = np.arange(errors + 1)
    choices = np.log((runs - counts[:-1]) / counts[1:])
    ways = np.concatenate(([0.0], np.cumsum(choices)))
    low, high = (1.0 if errors == runs else 0.0), 1.0
    while low < (middle := (low + high) / 2) < high:
        logs = ways + counts * math.log(middle) + (runs - counts) * math.log1p(-middle)
        if np.logaddexp.reduce(logs) > math.log(level):
            low = middle
        else:
            high = middle
    return high


def mu_below(missed: int, false: int, runs: int, level: float) -> float:
    """Bound μ from below: a test between two Gaussians μ apart that errs this rarely needs it."""
    beta, alpha = (at_most(errors, runs, level / 2) for errors in (missed, false))
    if max(alpha, beta) == 1:
        return 0.0
    return max(0.0, -sum(map(NormalDist().inv_cdf, (alpha, beta))))


def _epsilon_below(missed: int, false: int, runs: int, level: float) -> float:
    """Bound ε from below: 1 − β ≤ e^ε·α and 1 − α ≤ e^ε·β, for any test."""
    beta, alpha = (at_most(errors, runs, level / 2) for errors in (missed, false))
    odds = max((1 - beta) / alpha, (1 - alpha) / beta)
    return max(0.0, math.log(odds)) if odds > 0 else 0.0
