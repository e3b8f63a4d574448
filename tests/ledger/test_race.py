"""Real processes racing for one ledger: what one of them gets, no other does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.audit.effort import few
from understudy.budget import Budget, Currency, noise_charge, scale_upper, split
from understudy.ledger import Ledger, State

if TYPE_CHECKING:
    from collections.abc import Iterator

RACER = Path(__file__).with_name("racer.py")
BUDGET = Budget(epsilon=1.0, delta=1e-6)
SMALL = Budget(epsilon=0.7, delta=1e-6)
ROUNDS = 8


class Racers:
    """Two processes that start on every task at the same moment."""

    def __init__(self) -> None:
        self.processes = [
            subprocess.Popen(
                [sys.executable, str(RACER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        for process in self.processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"

    def race(self, do: str, ledger: Path, **task: Any) -> list[dict[str, Any]]:
        told = {"do": do, "ledger": str(ledger), "at": time.time() + 0.05, **task}
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps(told) + "\n")
            process.stdin.flush()
        return [json.loads(p.stdout.readline()) for p in self.processes if p.stdout is not None]

    def stop(self) -> None:
        for process in self.processes:
            process.communicate(timeout=600)


@pytest.fixture(scope="module")
def racers() -> Iterator[Racers]:
    racers = Racers()
    try:
        yield racers
    finally:
        racers.stop()


def read(path: Path) -> State:
    with closing(Ledger(path)) as ledger:
        return ledger.state()


def sorted_answers(answers: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(a) for a in answers)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_only_one_gets_the_last_of_the_budget(tmp_path: Path, racers: Racers, turn: int) -> None:
    path = tmp_path / "a.ledger"
    with closing(Ledger.create(path, budget=BUDGET)) as ledger:
        for _ in range(turn % 2):
            ledger.begin(SMALL, {})
    asked = SMALL if turn % 2 == 0 else Budget(epsilon=0.6, delta=1e-6)
    answers = racers.race("begin", path, budget=asked.to_dict(), rest=0.02 * (turn % 4))
    number = turn % 2 + 1
    assert sorted_answers(answers) == [
        f'{{"done": {number}}}',
        '{"refused": "BudgetExhaustedError"}',
    ]
    state = read(path)
    assert list(state.runs) == list(range(1, number + 1))
    assert 0 <= state.left < asked.grains


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_only_one_gets_the_last_of_a_run(tmp_path: Path, racers: Racers, turn: int) -> None:
    path = tmp_path / "a.ledger"
    with closing(Ledger.create(path, budget=BUDGET)) as ledger:
        ledger.begin(BUDGET, {})
    scale = scale_upper(
        split(BUDGET.grains, Currency.GDP, [0.6, 0.4])[0], Currency.GDP, bound=Fraction(1)
    )
    answers = racers.race("reserve", path, scale=scale, ordinal=turn % 3, rest=0.02 * (turn % 4))
    assert sorted_answers(answers) == ['{"done": "booked"}', '{"refused": "BudgetExhaustedError"}']
    (reservation,) = read(path).runs[1].reservations
    assert reservation.grains <= BUDGET.grains < 2 * reservation.grains


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_only_one_makes_the_ledger(tmp_path: Path, racers: Racers, turn: int) -> None:
    path = tmp_path / f"{turn}.ledger"
    answers = racers.race("create", path, budget=BUDGET.to_dict())
    assert sorted_answers(answers) == ['{"done": "made"}', '{"refused": "OutputExistsError"}']
    assert read(path).left == BUDGET.grains
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("turn", few(range(3), usual=1))
def test_two_that_resume_one_run_are_handed_the_same_answers(
    tmp_path: Path, racers: Racers, turn: int
) -> None:
    path, questions = tmp_path / f"{turn}.ledger", 40
    scale = scale_upper(
        split(BUDGET.grains, Currency.GDP, [1] * questions)[0], Currency.GDP, bound=Fraction(1)
    )
    with closing(Ledger.create(path, budget=BUDGET)) as ledger:
        ledger.begin(BUDGET, {})
    answers = racers.race("finish", path, scale=scale, questions=questions, rest=0.003 * turn)
    run = read(path).runs[1]
    stored = {str(ordinal): payload.hex() for ordinal, (_, payload) in run.answers.items()}
    assert sorted(run.answers) == list(range(questions))
    assert [answer["done"]["handed"] for answer in answers] == [stored, stored]
    # Nothing was charged twice, nor left out.
    grains = noise_charge(scale, Currency.GDP, bound=Fraction(1)).grains(Currency.GDP)
    assert [(r.ordinal, r.grains) for r in run.reservations] == [
        (ordinal, grains) for ordinal in range(questions)
    ]
    assert run.spent <= run.cap
