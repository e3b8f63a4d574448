"""A driver of its own: runs on a cluster, kills workers in the middle of a count, and resumes.

Takes a master, a folder with the tables, and the process groups of two workers; then, a line
each, that of a third, when there is one again, and those of the two with which each row is a
person (`tests.engine.cluster_rows`), or nobody.  Tells what happened, a line of JSON each.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from shutil import copyfile
from threading import Event, Thread
from typing import Any, TypeVar

import understudy as us
from understudy.audit.entropy import FixedEntropy
from understudy.engine import engine_for
from understudy.engine.spark import engine as spark_engine
from understudy.errors import UnderstudyError
from understudy.ledger import Ledger, Run
from understudy.release import Release
from understudy.session import Session
from understudy.vault import PrivateDoor, PrivateTable

T = TypeVar("T")
MEASURING = "measuring marginals"
COLUMNS: dict[str, dict[str, Any]] = {
    "id": {"kind": "id"},
    "colour": {"kind": "categorical", "values": ["red", "green", "blue"]},
    "amount": {"kind": "numeric", "min": 0, "max": 10, "bins": 5},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(Session):
    """A session whose noise is the same each time, so that releases tell the exact counts."""

    seed: int = field(compare=False)

    def _door(self, table: PrivateTable, run: Run) -> PrivateDoor:
        return PrivateDoor(
            table,
            run=run,
            bounding=self.bounding,
            entropy=FixedEntropy(self.seed),
            let_go=table.engine.close,
        )


def fixed(private: object, ledger: Path, *, seed: int) -> Fixed:
    """Open a session on the table, or on one like it."""
    return Fixed(
        private=private,
        schema=us.Schema.from_dict({"name": "city", "columns": COLUMNS}),
        unit=us.Unit("id"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=1.0, delta=1e-6),
        ledger=ledger,
        seed=seed,
    )


def told(release: Release) -> dict[str, Any]:
    """Give what a release was made from, and the mark of its rows."""
    rows = json.dumps({n: c.tolist() for n, c in release.columns.items()})
    return {
        "measurements": [[list(m.clique), m.values.tolist()] for m in release.measurements],
        "rows": sha256(rows.encode()).hexdigest(),
    }


def booked(path: Path) -> list[tuple[str, bool]]:
    """Give what a ledger's last run has booked, each with whether it was answered."""
    ledger = Ledger(path)
    state = ledger.reopen().state()
    ledger.close()
    return [(r.what, r.ordinal in state.answers) for r in state.reservations]


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)
    print(time.time(), list(what), file=sys.stderr)


class Killer(Thread):
    """Kills workers once so many executors are in the middle of a task of a count."""

    def __init__(self, groups: list[int], *, busy: int) -> None:
        super().__init__(daemon=True)
        self._groups, self._busy, self._counting = groups, busy, Event()

    def progress(self, what: str, done: float) -> None:
        """Wait for both executors before the table is read; then for the count."""
        from pyspark import SparkContext

        if what == "reading the private table":
            context: Any = SparkContext._active_spark_context
            while context._jsc.sc().getExecutorMemoryStatus().size() < 3:
                time.sleep(0.05)
            self._tracker = context.statusTracker()
            self._counting.clear()
            if self.ident is None:
                self.start()
        if what == MEASURING:
            self._counting.set()

    def _running(self) -> list[Any]:
        stages = map(self._tracker.getStageInfo, self._tracker.getActiveStageIds())
        return [s for s in stages if s is not None and s.numActiveTasks >= self._busy]

    def run(self) -> None:
        while self._counting.wait() and not (stages := self._running()):
            time.sleep(0.002)
        for group in self._groups:
            os.killpg(group, signal.SIGKILL)
        after = self._tracker.getStageInfo(stages[0].stageId)
        tell(
            active=stages[0].numActiveTasks,
            of=stages[0].numTasks,
            done_after=after.numCompletedTasks,
        )


def until_killed(killer: Killer, ledger: Path, run: Callable[[], T]) -> T:
    """Run, and again where a quick machine was done before anybody was seen at work."""
    while True:
        ledger.unlink(missing_ok=True)
        made = run()
        killer.join(1)
        if not killer.is_alive():
            return made


def refusal(call: Callable[[], object]) -> dict[str, Any]:
    try:
        call()
    except UnderstudyError as error:
        behind = error.__cause__ is None and error.__context__ is None
        return {"error": type(error).__name__, "text": str(error), "alone": behind}
    return {"error": None}


def main() -> None:
    from tests.engine import cluster_rows

    master, folder, first, second = sys.argv[1:]
    place = Path(folder)
    table = us.SparkTable(str(place / "table"), master=master)
    # Holds the application that it starts, for all that follow.
    application = engine_for(table)

    one, killer = place / "one.ledger", Killer([int(first)], busy=2)
    release = until_killed(
        killer,
        one,
        lambda: fixed(table, one, seed=1).run(us.Independent(), progress=killer.progress),
    )
    tell(release=told(release), booked=booked(one))

    third = sys.stdin.readline()
    two, last = place / "two.ledger", Killer([int(second), int(third)], busy=1)
    spark_engine.ALONE_FOR = 2.0
    began = fixed(table, two, seed=1)
    told_of = until_killed(
        last, two, lambda: refusal(lambda: began.run(us.Independent(), progress=last.progress))
    )
    tell(**told_of)
    tell(booked=booked(two))
    copyfile(two, place / "copy.ledger")

    sys.stdin.readline()
    spark_engine.ALONE_FOR = 60.0
    release = fixed(table, two, seed=2).resume()
    tell(release=told(release), booked=booked(two))

    torn = us.open(
        private=us.SparkTable(str(place / "torn.csv"), master=master),
        schema=place / "torn.toml",
        unit=us.Unit("id"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=1.0, delta=1e-6),
        ledger=place / "torn.ledger",
    )
    tell(**refusal(lambda: torn.run(us.Independent())))
    application.close()

    workers = [int(group) for group in sys.stdin.readline().split()]
    if workers:
        cluster_rows.run(master, place / "table", *workers)


if __name__ == "__main__":
    main()
