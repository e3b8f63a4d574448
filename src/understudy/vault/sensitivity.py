"""Sensitivity: how far one person can move each answer, and so what it costs.

The one place where a bound on a person meets noise.  For each question, with neighbours
that differ by one person and all of their rows:

- **Measure.**  A bounded person's row weights are at least 0 and sum to at most C
  (`PrivateTable.bounded`).  One row of weight 1 falls in one cell j of each clique and
  moves every query row that holds j: whitened by the noise scales its squared length is
  Σ over cliques of Σ over rows r ∋ j of 1/s_r² ≤ Σ over cliques of max_j (…).  By the
  triangle inequality the person moves the whole vector by at most C times the root of that.
  In L1, for Laplace, the same with 1/s_r in place of its square.  Under `Norm` a person is
  weighed so that they move the whitened vector by the price (`understudy.vault.norm`), and
  the price is the charge; an L2 bound says nothing of L1, so there it is refused.  Codes that
  are merged first change none of this: a row still falls in one cell of each clique.
  A view has each person's rows and nobody else's (`understudy.vault.derivation`); one of people
  has a single row a person, which weighs 1.
- **UnitMode.**  A person has one most common label: one count moves by 1.
- **UnitCounts.**  At most k cells of a person count, each in at most one count: L1 = k,
  L2 = √k.
- **Total, Units.**  One number, moved by at most the cap, or by 1.
- **Select.**  |‖x − e‖₁ − ‖x′ − e‖₁| ≤ ‖x − x′‖₁ ≤ C for each candidate, so scores move
  by at most Δ = max w·C, up or down; exp(ε·score/2Δ) is then ε-DP with range ε.
- **Discover.**  Weights of a person's values have squares that sum to at most 1: the noisy weights
  are 1/σ-GDP, and values that nobody else has are told with a failure probability
  (`understudy.vault.discovery`, `understudy.budget.threshold`).
- **Spread.**  The cells of a person weigh as their values do: L2 = 1, and L1 the largest sum of
  weights of up to k cells.
- **Kinds.**  Each person adds at most 1 to each of n numbers: L1 = n, L2 = √n.
- **Distances.**  The same k distances as numbers: each moves by at most C, so L1 = k·C and
  L2 = √k·C.

Tied by ``tests/vault/test_sensitivity.py`` (one person more or less, in exact integers).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import (
    Charge,
    Currency,
    Gaussian,
    Laplace,
    Norm,
    Selection,
    epsilon_of,
    mu_upper,
    noise_charge,
    price_grains,
    value_weight,
)
from understudy.budget.bounding import FRACTION_BITS
from understudy.door import (
    KINDS_OF_VALUE,
    Discover,
    Distances,
    Kinds,
    Measure,
    Select,
    Spread,
    Total,
    UnitCounts,
    UnitMode,
    Units,
    seen,
)
from understudy.errors import BudgetError
from understudy.vault.discovery import thresholds
from understudy.vault.marginals import cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.budget import Event
    from understudy.door import AnyQuestion, Query
    from understudy.schema import Schema

    Noised = UnitMode | UnitCounts | Distances | Total | Units | Spread | Kinds


def charge(question: AnyQuestion, schema: Schema, currency: Currency) -> Charge:
    """Return the exact cost of a question."""
    if isinstance(question, Measure):
        return _measure_charge(question, seen(schema, question), currency)
    if isinstance(question, Discover):
        return Charge(thresholds(question))
    if isinstance(question, Select):
        return Charge((Selection(epsilon=float(question.epsilon)),))
    return noise_charge(question.scale, currency, bound=_bound(question, currency.power))


def _bound(question: Noised, power: int) -> Fraction:
    """Return the L1 sensitivity of an answer, or for a power of 2 its squared L2 sensitivity."""
    match question:
        case UnitCounts():
            # k is the L1 bound and also the square of the L2 bound.
            return Fraction(question.most)
        case Distances():
            return len(question.candidates) * Fraction(question.bounding.cap) ** power
        case Total():
            return Fraction(question.cap) ** power
        case UnitMode() | Units():
            return Fraction(1)
        case Spread():
            sums = (count * value_weight(count) for count in range(1, question.most + 1))
            return Fraction(1) if power == 2 else Fraction(max(sums), 2**FRACTION_BITS)
        case Kinds():
            return Fraction(len(KINDS_OF_VALUE) * len(question.columns))


def _measure_charge(question: Measure, schema: Schema, currency: Currency) -> Charge:
    if isinstance(question.bounding, Norm):
        if currency == Currency.PURE:
            raise BudgetError(
                "Norm bounds contributions in L2, but pure epsilon-DP needs an L1 bound",
                hint="use Weights or Sample, or a delta above 0",
            )
        price_grains(question.price, currency)
        return Charge((Gaussian(squared_sensitivity=Fraction(question.price) ** 2, sigma=1.0),))
    by_clique: dict[frozenset[str], list[Query]] = {}
    for query in question.queries:
        by_clique.setdefault(frozenset(query.clique), []).append(query)
    cap = question.bounding.cap
    events = tuple(_clique_event(q, schema, currency, cap) for q in by_clique.values())
    whole = Charge(events)
    grains = whole.grains(currency)
    if grains > price_grains(question.price, currency):
        least = mu_upper(grains) if currency.power == 2 else epsilon_of(grains, currency, 0)
        raise BudgetError(
            "the queries cost more than their price",
            got=f"a price of {question.price:.6g}",
            allowed=f"at least {least:.6g}",
            hint="budget.scale_upper gives the noise scale for a price",
        )
    return whole


def _clique_event(queries: Sequence[Query], schema: Schema, currency: Currency, cap: int) -> Event:
    """Price all queries on one clique together, by its most expensive cell."""
    power = currency.power
    least = min(q.scale for q in queries)
    if len({q.clique for q in queries}) > 1 or all(q.rows is None for q in queries):
        # Cells are numbered differently, or all alike: add up each query's own worst cell.
        worst = sum(
            (
                int(_touched(q, schema).max()) * (Fraction(least) / Fraction(q.scale)) ** power
                for q in queries
            ),
            Fraction(0),
        )
    else:
        touched = np.stack([_touched(q, schema) for q in queries])
        patterns = np.unique(touched, axis=1).T
        worst = max(
            sum(
                (
                    int(n) * (Fraction(least) / Fraction(q.scale)) ** power
                    for n, q in zip(pattern, queries, strict=True)
                ),
                Fraction(0),
            )
            for pattern in patterns
        )
    if currency.noise == "gaussian":
        return Gaussian(squared_sensitivity=cap**2 * worst, sigma=float(least))
    return Laplace(sensitivity=cap * worst, scale=float(least))


def _touched(query: Query, schema: Schema) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Count, for every cell, the query rows that contain it."""
    size = cells(schema, query.clique)
    if query.rows is None:
        return np.ones(size, dtype=np.int64)
    return np.bincount(query.rows.cells, minlength=size)
