"""Record and replay: what a mechanism does may follow from noisy answers alone.

A mechanism is run on a table.  Its ledger holds every answer, so resumed on a neighbour, a
table with one person more or less, it is given the same answers; every question, every
parameter, every branch and the release must then be the same.  If they are, all that the
mechanism lets out follows from the answers, and the answers are as private as the door says.
That is looked at too: the exact answers behind them may differ by no more than was declared.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.audit.distance import check_distance
from understudy.door import plan
from understudy.errors import AuditError, UnderstudyError
from understudy.session import Session
from understudy.vault import PrivateDoor
from understudy.vault.counts import exact

if TYPE_CHECKING:
    import numpy as np

    from understudy.audit.neighbours import Pair
    from understudy.budget import Bounding
    from understudy.door import Question
    from understudy.ledger import Run
    from understudy.release import Release
    from understudy.schema import Array
    from understudy.synth import Mechanism
    from understudy.vault import PrivateTable

    Whole = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Replayed:
    """A pair on which the guarantee held."""

    questions: int
    reach: float
    """The largest ratio of an exact answer's change to its declared sensitivity."""


def replay(mechanism: Mechanism, pair: Pair) -> Replayed:
    """Run a mechanism on two neighbours; raise if it depends on anything but noisy answers."""
    with tempfile.TemporaryDirectory() as folder:
        session = _Watched(
            private=pair.table,
            public=pair.public,
            schema=pair.schema,
            unit=pair.unit,
            bounding=pair.bounding,
            budget=pair.budget,
            ledger=Path(folder) / "audit.ledger",
        )
        first = session.run(mechanism)
        beside = replace(session, private=pair.neighbour, seen=[])
        try:
            again = beside.resume()
        except UnderstudyError as error:
            raise AuditError(
                f"{mechanism.name} behaved differently on a neighbour", got=type(error).__name__
            ) from error
    _check_same(mechanism, first, again)
    return _compared(mechanism, pair, session.seen, beside.seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watched(Session):
    """A session that records each question and its exact answer."""

    seen: list[tuple[Question, Whole]] = field(default_factory=list, compare=False)

    def _door(self, table: PrivateTable, run: Run) -> PrivateDoor:
        return _WatchedDoor(table, run=run, bounding=self.bounding, seen=self.seen)


class _WatchedDoor(PrivateDoor):
    """A door that records each question."""

    def __init__(
        self,
        table: PrivateTable,
        *,
        run: Run,
        bounding: Bounding,
        seen: list[tuple[Question, Whole]],
    ) -> None:
        super().__init__(table, run=run, bounding=bounding)
        self._seen = seen

    def _ask(self, question: Question, what: str) -> Whole:
        answer = super()._ask(question, what)
        self._seen.append((question, exact(question, self._table)))
        return answer


def _check_same(mechanism: Mechanism, first: Release, again: Release) -> None:
    """Raise if two releases differ in anything."""
    differ = []
    if _manifest(first) != _manifest(again):
        differ.append("manifest")
    differ += [f"column {name}" for name in _differing(first.columns, again.columns)]
    if first.two_tables or again.two_tables:
        lines = first.people_columns, again.people_columns
        differ += [f"column {name} of people" for name in _differing(*lines)]
    values = [
        [(m.clique, m.scale, m.values.tolist()) for m in r.measurements] for r in (first, again)
    ]
    if values[0] != values[1]:
        differ.append("measurements")
    if differ:
        raise AuditError(
            f"{mechanism.name} made a different release on a neighbour", got=", ".join(differ)
        )


def _differing(one: dict[str, Array], other: dict[str, Array]) -> list[str]:
    """Return the columns that two tables do not share to the last value."""
    # As text: a missing number is NaN, which does not equal itself.
    texts = [{name: repr(column.tolist()) for name, column in t.items()} for t in (one, other)]
    return [name for name in {**one, **other} if texts[0].get(name) != texts[1].get(name)]


def _manifest(release: Release) -> str:
    return json.dumps(release.manifest, sort_keys=True)


def _compared(
    mechanism: Mechanism,
    pair: Pair,
    asked: list[tuple[Question, Whole]],
    there: list[tuple[Question, Whole]],
) -> Replayed:
    """Raise on different questions, or on exact answers that are too far apart."""
    if [plan(q) for q, _ in asked] != [plan(q) for q, _ in there]:
        raise AuditError(f"{mechanism.name} asked different questions on a neighbour")
    reach = 0.0
    for (question, here), (_, other) in zip(asked, there, strict=True):
        reach = max(reach, check_distance(question, here - other, pair.schema))
    return Replayed(questions=len(asked), reach=reach)
