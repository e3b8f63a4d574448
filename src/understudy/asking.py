"""What determines what, asked of the private table: a noisy question before the release's run.

People are counted by the cell of both columns that most of their rows are in, which one person
moves by 1; a value then determines the one that most people have with it.  The question is a run
of its own in the ledger, as a discovery is: a release made after it promises both together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import Budget, Norm, Weights, bounding_to_dict, epsilon_of, split
from understudy.errors import SchemaError, UsageError
from understudy.ledger.state import DISCOVERY
from understudy.public import PublicTable, following, silent
from understudy.schema import Schema
from understudy.schema.constraints import ConstantPerPerson
from understudy.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.budget import AnyUnit
    from understudy.door import Door
    from understudy.public import Progress
    from understudy.schema.constraints import Determines

    Floats = NDArray[np.float64]

SHARE = 0.05
"""The part of a run's budget that `understudy synth` spends on it, in the ledger's currency."""
STANDS_OUT = 3.0
"""How many times its noise a count is at least, to determine anything: this many more than the
largest noise of all values that it could determine is expected to be."""


@following
def ask_determined(
    *,
    private: object,
    schema: Schema | str | Path,
    unit: AnyUnit,
    budget: Budget,
    ledger: str | Path,
    total: Budget | None = None,
    public: object = None,
    progress: Progress = silent,
) -> Schema:
    """Ask a private table what determines what, for constraints that are declared as ``asked``.

    The schema that is returned has their values.  Of a value that too few people have, the public
    table tells, if there is one, or else what is most common.  A ledger that does not exist is
    created with ``total``, which other runs will share.  The same call continues a question that
    was interrupted, and repeats a finished one's answers at no cost.

        schema = us.ask_determined(
            private="people.csv",
            schema="people.toml",
            unit=us.Unit("person"),
            budget=us.Budget(epsilon=0.1, delta=1e-9),
            ledger="people.ledger",
            total=us.Budget(epsilon=1.0, delta=1e-9),
        )
    """
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    asked = declared.keeper.pending
    if not asked:
        return declared
    free = without_asked(declared)
    path = Path(ledger)
    if total is None and not path.exists():
        raise UsageError(
            f"the ledger {path} does not exist, and needs a total",
            allowed="total=us.Budget(…), for this and later runs",
        )
    known = None
    if public is not None:
        known = PublicTable.read(public, schema=free, unit=unit)
    session = Session(
        private=private,
        schema=free,
        unit=unit,
        bounding=Norm() if budget.delta else Weights(1),
        budget=budget,
        ledger=path,
        total=total,
    )
    told, _ = session.ask(_Asking(asked), _request(session, asked), progress, again=True)
    found = {
        constraint: replace(constraint, values=_pairs(constraint, free, counts, scale, known))
        for constraint, (counts, scale) in zip(asked, told, strict=True)
    }
    said = tuple(found.get(c, c) for c in declared.constraints)  # type: ignore[call-overload]
    return replace(declared, constraints=said)


@dataclass(frozen=True, slots=True)
class _Asking:
    """The program: a question for each constraint, all with the same share of the budget."""

    asked: Sequence[Determines]

    def __call__(self, door: Door) -> list[tuple[Floats, float]]:
        prices = split(door.grains, door.currency, [1.0] * len(self.asked))
        told = []
        for constraint, price in zip(self.asked, prices, strict=True):
            clique = (constraint.by, constraint.column)
            # A little more noise than the price is worth: rounding must not cost more.
            scale = (1 + 1e-9) / price
            counts = door.unit_mode(clique, scale=scale)
            told.append((np.reshape(counts, door.schema.domain.shape(clique)), scale))
        door.close()
        return told


def in_two(whole: Budget, share: float = SHARE) -> tuple[Budget, Budget]:
    """Split a budget: what may be asked, and what is left for the release."""
    asked = _of_grains(math.floor(whole.grains * share), whole)
    return asked, _of_grains(whole.grains - asked.grains, whole)


def _of_grains(grains: int, whole: Budget) -> Budget:
    """Return the budget of at most a number of grains, at the same delta."""
    epsilon = epsilon_of(grains, whole.currency, whole.gaussian_delta)
    while (found := replace(whole, epsilon=epsilon)).grains > grains:
        epsilon *= 1 - 1e-12
    return found


def without_asked(schema: Schema) -> Schema:
    """Return the schema without what is still to be asked; raise on what could not hold then."""
    asked = schema.keeper.pending
    if not asked:
        return schema
    columns = {column.name: column for column in schema.modelled}
    for constraint in asked:
        both = [columns.get(name) for name in constraint.columns]
        if not all(column is not None and column.codes_are_values for column in both):
            raise SchemaError(
                f"constraint {constraint.label!r}: only of columns of values can it be asked",
                allowed="categorical and integer columns",
            )
        others = [
            c.label
            for c in schema.constraints
            if c is not constraint
            and constraint.column in c.columns
            and not isinstance(c, ConstantPerPerson)
        ]
        if others:
            raise SchemaError(
                f"constraint {constraint.label!r} is asked, and others are about its column",
                got=", ".join(map(repr, others)),
                hint="what is asked may be anything: say it of other columns",
            )
    # Raise, whatever the answer, where owners differ or columns follow from each other.
    some = {
        c: replace(c, values={v: columns[c.column].labels()[0] for v in _values(schema, c.by)})
        for c in asked
    }
    replace(schema, constraints=tuple(some.get(c, c) for c in schema.constraints))  # type: ignore[call-overload]
    return replace(schema, constraints=tuple(c for c in schema.constraints if c not in some))


def _request(session: Session, asked: Sequence[Determines]) -> dict[str, Any]:
    return {
        "mechanism": {
            "name": DISCOVERY,
            "settings": {"determines": [list(c.columns) for c in asked]},
        },
        "bounding": bounding_to_dict(session.bounding),
        "schema": session.schema.to_dict(),
        "note": {"discovery": session.schema.name},
    }


def _values(schema: Schema, name: str) -> list[str]:
    column = schema[name]
    return column.labels()[: column.values_count]


def _pairs(
    constraint: Determines, schema: Schema, counts: Floats, scale: float, public: PublicTable | None
) -> tuple[tuple[str, str], ...]:
    """Return what each value determines."""
    ones, others = (_values(schema, name) for name in constraint.columns)
    told = counts[: len(ones), : len(others)]
    # What stands out counts; of all else, the public table's most common, or everyone's.
    usual = np.tile(told.sum(axis=0), (len(ones), 1))
    best = usual.argmax(axis=1)
    if public is not None:
        seen = np.zeros(counts.shape)
        np.add.at(seen, tuple(public.codes[name] for name in constraint.columns), 1)
        seen = seen[: len(ones), : len(others)]
        best = np.where(seen.any(axis=1), seen.argmax(axis=1), best)
    least = scale * (STANDS_OUT + math.sqrt(2 * math.log(len(others))))
    best = np.where(told.max(axis=1) >= least, told.argmax(axis=1), best)
    return tuple((one, others[place]) for one, place in zip(ones, best.tolist(), strict=True))
