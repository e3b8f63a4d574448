"""Tables whose columns follow each other as was planted, and a door that keeps what it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.synth.crowds import schema_of
from tests.vault.worlds import KEY
from understudy.audit import FixedEntropy
from understudy.audit.neighbours import Pair
from understudy.audit.tape import Tape
from understudy.budget import Bounding, Budget, Unit, Weights
from understudy.door import Clique, Distances, Measure, Question, Select
from understudy.engine import DuckDB
from understudy.schema import Id, Integer, Schema
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault.marginals import marginals

Column = NDArray[np.int64]
Table = dict[str, Column]

VAST = Budget(epsilon=1e6, delta=1e-6)
"""Noise of a hundredth of a row, and less."""
CODES = 4


def planted(parents: Mapping[str, str | None], *, rows: int = 400, seed: int = 0) -> Table:
    """Columns of four codes, each a noisy function of its parent where it has one."""
    rng = np.random.default_rng(seed)
    table: Table = {}
    for name, parent in parents.items():
        own = rng.integers(CODES, size=rows)
        if parent is not None:
            follows = rng.random(rows) < 0.75
            own = np.where(follows, (table[parent] + 1) % CODES, own)
        table[name] = own
    return table


def in_order(table: Table, names: Sequence[str]) -> Table:
    """The same table with its columns in another order, that tells nothing of what was planted."""
    return {name: table[name] for name in names}


def sizes_of(table: Table) -> dict[str, int]:
    """As many codes as the table's columns have, and four at least."""
    return {name: max(CODES, int(column.max(initial=0)) + 1) for name, column in table.items()}


class Heard(PrivateDoor):
    """A door that keeps what it is asked; its run is kept in memory, and its noise is fixed."""

    def __init__(
        self, table: PrivateTable, *, bounding: Bounding, budget: Budget, seed: int
    ) -> None:
        super().__init__(table, run=Tape(budget), bounding=bounding, entropy=FixedEntropy(seed))
        self.heard: list[Question] = []

    def _ask(self, question: Question, what: str) -> NDArray[np.int64]:
        self.heard.append(question)
        return super()._ask(question, what)

    @property
    def shares(self) -> list[float]:
        """The share of the budget that each question cost."""
        return [r.grains / self.budget.grains for r in self._run.state().reservations]

    @property
    def choices(self) -> list[Select | Distances]:
        """The questions that choose."""
        return [q for q in self.heard if isinstance(q, (Select, Distances))]

    @property
    def asked(self) -> list[list[Clique]]:
        """The marginals that were asked for, round by round."""
        return [[q.clique for q in m.queries] for m in self.heard if isinstance(m, Measure)]


@contextmanager
def listening(
    table: Table,
    *,
    people: Sequence[int] | Column | None = None,
    sizes: dict[str, int] | None = None,
    bounding: Bounding | None = None,
    budget: Budget = VAST,
    seed: int = 1,
) -> Iterator[Heard]:
    """Open a door to a table, whose rows are people where none are given."""
    unit = Unit.each_row() if people is None else Unit("id")
    data = dict(table) if people is None else {**table, "id": np.asarray(people)}
    engine = DuckDB()
    try:
        schema = schema_of(**sizes_of(table) | (sizes or {}))
        private = PrivateTable(engine, data, schema=schema, unit=unit, key=KEY)
        yield Heard(private, bounding=bounding or Weights(1), budget=budget, seed=seed)
    finally:
        engine.close()


def passes(monkeypatch: pytest.MonkeyPatch) -> list[list[Clique]]:
    """Keep the candidates that are counted, each time that the table is gone through for some."""
    counted: list[list[Clique]] = []

    def noted(table: PrivateTable, cliques: Sequence[Clique], weighted: str) -> Any:
        if cliques:
            counted.append(list(cliques))
        return marginals(table, cliques, weighted)

    monkeypatch.setattr("understudy.vault.candidates.marginals", noted)
    return counted


def silent(stage: str, done: float) -> None:
    """Tell nobody."""


def pair_distance(
    one: Mapping[str, NDArray[np.int64] | NDArray[np.int32]],
    other: Mapping[str, NDArray[np.int64] | NDArray[np.int32]],
    pair: Clique,
    *,
    codes: int = CODES,
) -> float:
    """Half the L1 distance between two tables' shares of a pair's cells."""
    a, b = pair
    shares = [
        np.bincount(t[a].astype(np.int64) * codes + t[b], minlength=codes**2) / len(t[a])
        for t in (one, other)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def heavy(*, leaves: bool) -> Pair:
    """One person has 150 of 390 rows, and is all that ties the columns a and b, and all of c."""
    rng = np.random.default_rng(4)
    own = {"a": rng.integers(3, size=240), "b": rng.integers(3, size=240), "c": np.zeros(240)}
    return _without_the_heaviest(own, dict.fromkeys("abc", np.arange(150) % 3), leaves=leaves)


def lone(*, leaves: bool) -> Pair:
    """One person is all that ties a and b; but for that, everything is equally common."""
    cells, held = np.arange(32).repeat(8), np.arange(16).repeat(10)
    own = {name: cells // 2**i % 2 for i, name in enumerate("abcde")}
    theirs = {"a": held % 2, **{name: held // 2**i % 2 for i, name in enumerate("bcde")}}
    return replace(
        _without_the_heaviest(own, theirs, leaves=leaves), budget=Budget(epsilon=1000, delta=1e-6)
    )


def _without_the_heaviest(
    own: Mapping[str, Any], theirs: Mapping[str, Any], *, leaves: bool
) -> Pair:
    """Everybody has a row, and one person all of theirs; in the neighbour they are not there."""
    count, held = len(own["a"]), len(theirs["a"])
    fewer = {**own, "id": np.arange(count)}
    theirs = {**theirs, "id": np.full(held, 999)}
    more = {name: np.concatenate((fewer[name], theirs[name])) for name in fewer}
    tables = [{n: c.astype(np.int64).astype(object) for n, c in t.items()} for t in (more, fewer)]
    table, neighbour = tables if leaves else reversed(tables)
    columns = (Integer(name=n, min=0, max=2, missing=False) for n in own)
    return Pair(
        schema=Schema("heavy", (Id(name="id"), *columns)),
        unit=Unit("id"),
        bounding=Weights(held),
        budget=Budget(epsilon=1e4, delta=1e-6),
        table=table,
        neighbour=neighbour,
        public=None,
        apart=held,
    )
