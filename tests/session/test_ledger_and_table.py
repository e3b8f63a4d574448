"""A ledger and its table: what a refused first run leaves behind, and a table that has changed."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from understudy.budget import Budget, ResolvedUnit, Unit, Weights, scale_upper, split
from understudy.errors import BudgetExhaustedError, LedgerMismatchError
from understudy.ledger import Ledger, State
from understudy.public import Batches, Synthesis
from understudy.schema import Id, Integer, Schema
from understudy.session import Session, open_session
from understudy.synth import MECHANISMS
from understudy.synth.independent import Independent

if TYPE_CHECKING:
    from pathlib import Path

    from understudy.door import Door
    from understudy.public import Progress

SCHEMA = Schema("trips", (Id(name="taxi"), Integer(name="hour", min=0, max=3)))
TOTAL = Budget(epsilon=1.0, delta=1e-6)
PRECISE = Budget(epsilon=3e4, delta=0)
"""So much that answers are right to the nearest whole number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeHeadcounts:
    """Asks three times for the number of people, and is stopped after one unless mended."""

    name: ClassVar[str] = "three headcounts"
    mended: ClassVar[bool] = False

    def run(
        self, door: Door, *, public: Any, rng: np.random.Generator, progress: Progress
    ) -> Synthesis:
        del public, rng, progress
        answers: list[float] = []
        for price in split(door.grains, door.currency, [1, 1, 1]):
            if answers and not self.mended:
                raise KeyboardInterrupt
            scale = scale_upper(price, door.currency, bound=Fraction(1))
            answers.append(door.units(scale=scale))
        codes = {name: np.zeros(1, dtype=np.int32) for name in door.schema.domain}
        notes = tuple(f"{round(answer)} people" for answer in answers)
        return Synthesis(batches=Batches.held(codes), measurements=(), notes=notes)


@pytest.fixture(autouse=True)
def _mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, ThreeHeadcounts.name, ThreeHeadcounts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trips.ledger"


def taxis(number: int) -> dict[str, Any]:
    return {"taxi": np.arange(number), "hour": np.arange(number) % 4}


def session(path: Path, **other: Any) -> Session:
    asked: dict[str, Any] = {
        "private": taxis(10),
        "schema": SCHEMA,
        "unit": Unit("taxi"),
        "bounding": Weights(1),
        "budget": TOTAL,
        "ledger": path,
    }
    return open_session(**asked | other)


def read(path: Path) -> State:
    with closing(Ledger(path)) as ledger:
        return ledger.state()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("spent", [0.0121, 0.37, 0.999])
def test_a_run_that_asks_for_too_much_is_told_how_much_it_may_ask_for(
    path: Path, spent: float, delta: float
) -> None:
    """As after screening has stopped a run whose budget was the ledger's total."""
    whole = Budget(epsilon=1.0, delta=delta)
    Ledger.create(path, budget=whole).close()
    session(path, budget=replace(whole, epsilon=spent)).run(Independent())
    with pytest.raises(BudgetExhaustedError, match="less budget left") as refused:
        session(path, budget=whole).run(Independent())
    (told,) = re.findall(r"lower epsilon to ([\d.]+); the total", str(refused.value))
    session(path, budget=Budget(epsilon=float(told), delta=delta)).run(Independent())


def test_a_refused_first_run_binds_an_unbound_ledger_and_spends_nothing(path: Path) -> None:
    """As docs/promise.md says under its limits: the table is named before the budget is asked."""
    Ledger.create(path, budget=TOTAL).close()
    assert read(path).name is None
    with pytest.raises(BudgetExhaustedError, match="less budget left than the run requests"):
        session(path, budget=Budget(epsilon=2.0, delta=1e-6)).run(Independent())
    bound = read(path)
    assert (bound.name, bound.unit) == ("trips", ResolvedUnit.of("taxi"))
    assert (bound.runs, bound.left) == ({}, TOTAL.grains)
    for other in ({"schema": replace(SCHEMA, name="flights")}, {"unit": Unit.each_row()}):
        with pytest.raises(LedgerMismatchError, match="belongs to another"):
            session(path, **other).run(Independent())
    assert read(path) == bound
    session(path).run(Independent())
    assert list(read(path).runs) == [1]


def test_a_run_resumed_on_more_rows_is_given_its_stored_answers_and_counts_the_rest_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten taxis when it began, fifteen when it goes on: what was answered stays answered."""
    with pytest.raises(KeyboardInterrupt):
        session(path, budget=PRECISE).run(ThreeHeadcounts())
    begun = read(path).runs[1]
    assert list(begun.answers) == [0]
    monkeypatch.setattr(ThreeHeadcounts, "mended", True)
    grown = session(path, budget=PRECISE, private=taxis(15))
    release = grown.resume()
    assert release.manifest["notes"] == ["10 people", "15 people", "15 people"]
    finished = read(path).runs[1]
    assert finished.answers[0] == begun.answers[0]
    assert len(finished.reservations) == 3
    assert finished.spent <= PRECISE.grains


def test_a_finished_run_gives_the_same_release_whatever_has_become_of_the_table(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ThreeHeadcounts, "mended", True)
    first = session(path, budget=PRECISE).run(ThreeHeadcounts())
    before = read(path)
    again = session(path, budget=PRECISE, private=taxis(15)).resume()
    assert again.manifest == first.manifest
    assert again.manifest["notes"] == ["10 people"] * 3
    assert read(path) == before
