"""Distances: how far exact answers of neighbours may lie apart, in L1, L2 and L∞."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Currency, Gaussian, Laplace, Norm
from understudy.budget.bounding import FRACTION_BITS
from understudy.door import Distances, Measure, Select, Spread, Total, seen
from understudy.errors import AuditError
from understudy.vault.sensitivity import charge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import Question
    from understudy.schema import Schema

ROUNDING = 1 + 1e-9
ANY_PRICE = 1e9


def check_distance(question: Question, moved: NDArray[np.int64], schema: Schema) -> float:
    """Raise if a distance exceeds the declared sensitivity; return the largest ratio of the two.

    L2 is compared with what a ledger of ``gdp`` is charged, L1 with one of ``pure``, both in
    units of the noise; L∞ with the most that a person may add to a single number.  `Norm` is an
    L2 bound and declares no L1.
    """
    if isinstance(question, Select):
        shares = {"L∞": float(np.abs(moved).max()) / (question.bounding.cap * 2**FRACTION_BITS)}
    else:
        rows, scales = in_rows(question, moved, schema)
        whitened = np.abs(rows) / scales
        shares = {}
        if not (isinstance(question, Measure) and isinstance(question.bounding, Norm)):
            shares["L1"] = float(whitened.sum()) / _declared(question, schema, Currency.PURE)
        shares["L2"] = float(np.sqrt((whitened**2).sum())) / _declared(
            question, schema, Currency.GDP
        )
        shares["L∞"] = float(np.abs(rows).max(initial=0.0)) / _largest(question)
    for norm, share in shares.items():
        if share > ROUNDING:
            raise AuditError(
                f"one person moves a {type(question).__name__} by more than its sensitivity",
                got=f"{share:.6g} times the sensitivity in {norm}",
                allowed="1",
            )
    reached: float = max(shares.values())
    return reached


def in_rows(
    question: Question, counted: NDArray[np.int64], schema: Schema
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return counts in rows or people, and the noise scale of each of them."""
    if not isinstance(question, Measure):
        assert not isinstance(question, Select)  # noqa: S101  a selection has no noise of its own
        step = 2**FRACTION_BITS if isinstance(question, (Distances, Spread)) else 1
        return counted / step, np.full(len(counted), question.scale)
    domain = seen(schema, question).domain
    sizes = [domain.cells(q.clique) if q.rows is None else q.rows.count for q in question.queries]
    scales = np.repeat([q.scale for q in question.queries], sizes)
    return counted / question.bounding.unit_weight, scales


def _declared(question: Question, schema: Schema, currency: Currency) -> float:
    """Return the sensitivity, in units of the noise, that a question is charged for."""
    if isinstance(question, Measure) and not isinstance(question.bounding, Norm):
        question = replace(question, price=ANY_PRICE)
    found = 0.0
    for event in charge(question, schema, currency).events:
        if isinstance(event, Gaussian):
            found += float(event.squared_sensitivity) / event.sigma**2
        elif isinstance(event, Laplace):
            found += float(event.sensitivity) / event.scale
    return float(found ** (1 / currency.power))


def _largest(question: Question) -> float:
    """Return the most that a person may add to one number of an answer."""
    match question:
        case Measure() if isinstance(question.bounding, Norm):
            return question.price * max(q.scale for q in question.queries)
        case Measure():
            assert not isinstance(question.bounding, Norm)  # noqa: S101  the case above
            return question.bounding.cap
        case Total():
            return question.cap
        case Distances():
            return question.bounding.cap
        case _:
            return 1
