"""A process that races others for a ledger: a line of JSON in, a line of JSON out.

Every task names a moment at which all racers start.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import Budget, Currency, noise_charge
from understudy.errors import LedgerLockedError, UnderstudyError
from understudy.ledger import Ledger
from understudy.ledger.journal import Entry, Journal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.ledger import Run


@contextmanager
def dawdling(seconds: float) -> Iterator[None]:
    """Rest after every transaction, so that whoever needs two of them is overtaken."""
    real = Journal.transaction

    @contextmanager
    def slow(journal: Journal) -> Iterator[list[Entry]]:
        with real(journal) as entries:
            yield entries
        time.sleep(seconds)

    setattr(Journal, "transaction", slow)  # noqa: B010
    try:
        yield
    finally:
        setattr(Journal, "transaction", real)  # noqa: B010


def await_start(task: dict[str, Any]) -> None:
    """Wait for the common moment without giving the processor away at the end."""
    while time.time() < task["at"]:
        if task["at"] - time.time() > 0.01:
            time.sleep(0.001)


def create(task: dict[str, Any]) -> str:
    """Make a ledger."""
    await_start(task)
    Ledger.create(Path(task["ledger"]), budget=Budget(**task["budget"])).close()
    return "made"


def begin(task: dict[str, Any]) -> int:
    """Begin a run."""
    with closing(Ledger(Path(task["ledger"]))) as ledger:
        await_start(task)
        return ledger.begin(Budget(**task["budget"]), {}).number


def reserve(task: dict[str, Any]) -> str:
    """Book a question of this process's own in the last run."""
    with closing(Ledger(Path(task["ledger"]))) as ledger:
        run = ledger.reopen()
        charge = noise_charge(task["scale"], Currency.GDP, bound=Fraction(1))
        await_start(task)
        run.reserve(task["ordinal"], f"plan of {os.getpid()}", "question", charge)
        return "booked"


def finish(task: dict[str, Any]) -> dict[str, Any]:
    """Go through all questions of the last run, as a door does, until each was answered."""
    handed: dict[int, str] = {}
    beaten = 0
    with closing(Ledger(Path(task["ledger"]))) as ledger:
        run = ledger.reopen()
        await_start(task)
        while len(handed) < task["questions"]:
            ordinal = len(handed)
            try:
                handed[ordinal] = ask(run, ordinal, task["scale"]).hex()
            except LedgerLockedError:
                beaten += 1
    return {"handed": handed, "beaten": beaten}


def ask(run: Run, ordinal: int, scale: float) -> bytes:
    """Ask one question in the order of a door: answered, check, reserve, draw, store."""
    plan = f"question {ordinal}"
    stored = run.answer(ordinal, plan)
    if stored is None:
        charge = noise_charge(scale, Currency.GDP, bound=Fraction(1))
        run.check(ordinal, plan, charge)
        run.reserve(ordinal, plan, plan, charge)
        stored = os.urandom(8)
        run.store(ordinal, plan, stored)
    return stored


TASKS = {"create": create, "begin": begin, "reserve": reserve, "finish": finish}


def main() -> None:
    """Do tasks until there are no more."""
    print("ready", flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            with dawdling(task.get("rest", 0)):
                answer = {"done": TASKS[task["do"]](task)}
        except UnderstudyError as error:
            answer = {"refused": type(error).__name__}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
