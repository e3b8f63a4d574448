"""A process that answers questions, to be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import Budget, Currency, noise_charge, scale_upper, split
from understudy.ledger import Ledger
from understudy.noise import steps_per_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.ledger import RunState, State


SCRIPT = Path(__file__).with_name("long_run.py")
BUDGET = Budget(epsilon=1.0, delta=1e-6)
CAP = 3


class Server:
    """The script that forks lives of a long run."""

    def __init__(self, folder: Path) -> None:
        # What a killed life leaves in the temporary folder goes with the test's own.
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(folder)},
        )
        assert self.hear().startswith("ready")

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def tell(self, task: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()

    def live(self, task: dict[str, Any]) -> dict[str, Any]:
        self.tell(task)
        ended: dict[str, Any] = json.loads(self.hear())
        return ended


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        yield server
    finally:
        server.process.communicate(timeout=600)


def read(path: Path) -> State:
    with closing(Ledger(path)) as ledger:
        return ledger.state()


def expected(questions: int) -> list[tuple[float, int, int]]:
    """Give the scale, the steps a unit and the grains of every question."""
    out = []
    shares = [1 + i % 5 for i in range(questions)]
    for i, price in enumerate(split(BUDGET.grains, Currency.GDP, shares)):
        bound = Fraction(1) if i % 4 in (0, 3) else Fraction(CAP) ** 2
        scale = scale_upper(price, Currency.GDP, bound=bound)
        steps = steps_per_unit(scale, at_least=2**16 if i % 4 == 2 else 1)
        out.append(
            (scale, steps, noise_charge(scale, Currency.GDP, bound=bound).grains(Currency.GDP))
        )
    return out


@dataclass
class Watch:
    """What was seen of one ledger so far, and must never change."""

    folder: Path
    questions: int
    answers: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    plans: list[str] = field(default_factory=list)

    @property
    def ledger(self) -> Path:
        return self.folder / "a.ledger"

    def task(self, **more: Any) -> dict[str, Any]:
        return {
            "ledger": str(self.ledger),
            "handed": str(self.folder / "handed"),
            "budget": BUDGET.to_dict(),
            "questions": self.questions,
            **more,
        }

    @property
    def commits(self) -> int:
        return (self.folder / "commits").stat().st_size

    def counted(self, when: str, commit: int) -> dict[str, Any]:
        """Give a task whose commits are counted, and that dies at one of them."""
        (self.folder / "commits").unlink(missing_ok=True)
        return self.task(commits=[str(self.folder / "commits"), when, commit])

    def handed(self) -> list[tuple[int, list[float]]]:
        """Read the answers that the mechanism got; a line may be torn by a kill."""
        path = self.folder / "handed"
        lines = path.read_text().splitlines() if path.exists() else []
        return [tuple(json.loads(line)) for line in lines if line.endswith("]]")]

    def look(self) -> RunState | None:
        """Check the ledger against all that was seen of it before."""
        state = read(self.ledger) if self.ledger.exists() else None
        if state is None or not state.runs:
            assert not self.plans
            assert self.handed() == []
            return None
        assert list(state.runs) == [1]
        run, wanted = state.runs[1], expected(self.questions)
        # Each question was charged once, at its own price, whatever came in between.
        assert [r.ordinal for r in run.reservations] == list(range(len(run.reservations)))
        costs = [grains for _, _, grains in wanted[: len(run.reservations)]]
        assert [r.grains for r in run.reservations] == costs
        assert run.spent == sum(costs) <= run.cap == BUDGET.grains
        # No answer without a charge; at most the last charge has none.
        assert len(run.reservations) - len(run.answers) in (0, 1)
        assert sorted(run.answers) == list(range(len(run.answers)))
        # What was stored stays, byte for byte.
        assert [r.plan for r in run.reservations][: len(self.plans)] == self.plans
        assert {i: run.answers[i] for i in self.answers} == self.answers
        self.plans = [r.plan for r in run.reservations]
        self.answers = dict(run.answers)
        for ordinal, values in self.handed():
            steps = np.frombuffer(run.answers[ordinal][1], dtype="<i8")
            assert values == (steps / wanted[ordinal][1]).tolist()
        return run

    def look_finished(self) -> None:
        run = self.look()
        assert run is not None
        assert run.closed
        assert len(run.answers) == self.questions
        assert {ordinal for ordinal, _ in self.handed()} == set(range(self.questions))
        # The whole budget was spent, and the run finished all the same.
        assert BUDGET.grains * (1 - 1e-12) < run.spent <= BUDGET.grains


def new_watch(folder: Path, questions: int) -> Watch:
    folder.mkdir()
    return Watch(folder, questions)
