"""Lives of a long run, each in a process of its own that can be killed at any moment.

A line of JSON in: which ledger, and when to die.  A line of JSON out: how the life ended.
Lives are forked from this process, so that none of them waits for imports.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import duckdb
import mpmath  # noqa: F401  what a life would import by itself, once for all of them
import numpy as np
import numpy.ma

from understudy.budget import Budget, Unit, Weights, scale_upper, split
from understudy.door import Query
from understudy.errors import UnderstudyError
from understudy.ledger import Ledger
from understudy.public import Batches, Synthesis
from understudy.schema import Categorical, Id, Schema
from understudy.session import open_session
from understudy.synth import MECHANISMS

if TYPE_CHECKING:
    from understudy.door import Door
    from understudy.public import Progress

CAP = 3
TOLD: list[int] = []
"""Where the answers go that were handed over, and the pipe that says that asking began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Long:
    """Asks many questions that cost all there is, each written down once it is answered."""

    name: ClassVar[str] = "long"
    questions: int

    def run(
        self, door: Door, *, public: Any, rng: np.random.Generator, progress: Progress
    ) -> Synthesis:
        """Ask people, rows, a marginal and labels in turn."""
        del rng, progress
        handed, pipe = TOLD
        os.write(pipe, b"!")
        shares = [1 + i % 5 for i in range(self.questions)]
        for i, price in enumerate(split(door.grains, door.currency, shares)):
            bound = Fraction(1) if i % 4 in (0, 3) else Fraction(CAP) ** 2
            scale = scale_upper(price, door.currency, bound=bound)
            values = self.ask(door, i % 4, scale, price)
            os.write(handed, (json.dumps([i, values]) + "\n").encode())
            os.fsync(handed)
        codes = {name: np.zeros(1, dtype=np.int32) for name in door.schema.domain}
        return Synthesis(batches=Batches.held(codes), measurements=())

    def ask(self, door: Door, kind: int, scale: float, price: float) -> list[float]:
        """Ask one question."""
        if kind == 0:
            return [door.units(scale=scale)]
        if kind == 1:
            return [door.total(cap=CAP, scale=scale)]
        if kind == 2:
            (found,) = door.measure([Query(clique=("colour",), scale=scale)], price=price)
            return [float(v) for v in found.values]
        return [float(v) for v in door.unit_mode(("colour",), scale=scale)]


def live(task: dict[str, Any], pipe: int) -> None:
    """Begin the run, or go on with it."""
    flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY
    TOLD[:] = [os.open(task["handed"], flags, 0o600), pipe]
    os.write(TOLD[0], b"\n")
    path = Path(task["ledger"])
    session = open_session(
        private={
            "taxi": np.array([1, 1, 1, 1, 2, 2, 3, 4]),
            "colour": np.array(["red", "blue"] * 4, dtype=object),
        },
        schema=Schema("trips", (Id(name="taxi"), Categorical(name="colour", values=("red",)))),
        unit=Unit("taxi"),
        bounding=Weights(CAP),
        budget=Budget(**task["budget"]),
        ledger=path,
    )
    begun = False
    if path.exists():
        with closing(Ledger(path)) as ledger:
            begun = bool(ledger.state().runs)
    if begun:
        session.resume()
    else:
        session.run(Long(questions=task["questions"]))


def die(place: str, when: str, turn: int) -> None:
    """Arrange for this process to be killed before or after a function's n-th call."""
    module, _, path = place.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    real, turns = getattr(owner, name), iter(range(1, 10**6))

    def deadly(*arguments: Any, **named: Any) -> Any:
        last = next(turns) == turn
        if last and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*arguments, **named)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, deadly)


class Counted(sqlite3.Connection):
    """A connection that knows its writing transactions, and may die at the end of one."""

    where: ClassVar[str]
    """A file that grows by a byte with every commit."""
    last: ClassVar[tuple[str, int]]
    writing = False

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        """Run a statement, or die before or after it."""
        if sql.startswith("BEGIN"):
            self.writing = sql.startswith("BEGIN IMMEDIATE")
        if sql != "COMMIT" or not self.writing:
            return super().execute(sql, *arguments)
        with Path(self.where).open("ab") as file:
            file.write(b"!")
        when, turn = self.last
        dying = Path(self.where).stat().st_size == turn
        if dying and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = super().execute(sql, *arguments)
        if dying:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    def executescript(self, sql: str) -> sqlite3.Cursor:
        """Run several statements."""
        self.writing = sql.startswith("BEGIN IMMEDIATE")
        return super().executescript(sql)


def count_commits(where: str, when: str, turn: int) -> None:
    """Count the commits of this life in a file, and die before or after one of them."""
    Counted.where, Counted.last = where, (when, turn)
    setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Counted))  # noqa: B010


def child(task: dict[str, Any], pipe: int) -> int:
    """Live one life, and give its exit code."""
    if "die" in task:
        die(*task["die"])
    if "limit" in task:
        # Python leaves SIGXFSZ alone: a write beyond the limit fails, as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (task["limit"],) * 2)
    if "commits" in task:
        count_commits(*task["commits"])
    try:
        live(task, pipe)
    except UnderstudyError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def parent(task: dict[str, Any]) -> dict[str, Any]:
    """Fork a life, kill it when its time has come, and say how it ended."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = child(task, theirs)
        finally:
            os._exit(code)
    os.close(theirs)
    if task.get("since", "asking") == "asking":
        os.read(ours, 1)
    begun = time.monotonic()
    if "after" in task:
        time.sleep(task["after"])
        # Until it is waited for, the number is nobody else's.
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(ours)
    code = os.waitstatus_to_exitcode(status)
    return {"killed": code == -signal.SIGKILL, "code": code, "took": time.monotonic() - begun}


def main() -> None:
    """Live as often as asked."""
    MECHANISMS[Long.name] = Long
    print("ready", duckdb.__version__, flush=True)
    for line in sys.stdin:
        print(json.dumps(parent(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
