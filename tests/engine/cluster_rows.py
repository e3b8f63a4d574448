"""A driver's other half: each row a person, a source in another order each time, workers killed.

Kills two workers; waits, for a line, until there is a third.  Tells what was counted, a line of
JSON each.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

import understudy as us
from tests.engine.by_place import after_weighing, counted_by_place, unstable, weigh_by_place
from tests.engine.cluster_run import COLUMNS, tell
from understudy.door import Measure, Query, Rows
from understudy.engine import engine_for
from understudy.vault import PrivateTable, counts

KEY = "0" * 32
CLIQUE = ("colour", "amount")
SCHEMA = us.Schema.from_dict({"name": "city", "columns": COLUMNS})
CELLS = SCHEMA.domain["colour"] * SCHEMA.domain["amount"]
# Sets that overlap, so that rows of different cells have different weights.
SETS = [np.arange(0, CELLS, step) for step in (1, 2, 3, 5, 7)]
QUESTION = Measure(
    queries=(
        Query(clique=CLIQUE, scale=2.0),
        Query(
            clique=CLIQUE,
            scale=1.0,
            rows=Rows(np.cumsum([0, *map(len, SETS)]), np.concatenate(SETS)),
        ),
    ),
    bounding=us.Norm(),
    price=0.4,
)


def opened(data: object) -> PrivateTable:
    return PrivateTable(engine_for(data), data, schema=SCHEMA, unit=us.Unit.each_row(), key=KEY)


def counted(table: PrivateTable) -> list[int]:
    return [int(n) for n in counts.exact(QUESTION, table)]


class Killer(Thread):
    """Kills a worker once somebody is in the middle of a task."""

    def __init__(self, context: Any, group: int) -> None:
        super().__init__(daemon=True)
        self._tracker, self._group = context.statusTracker(), group

    def run(self) -> None:
        while True:
            stages = map(self._tracker.getStageInfo, self._tracker.getActiveStageIds())
            busy = [s for s in stages if s is not None and s.numActiveTasks]
            if busy:
                break
            time.sleep(0.002)
        os.killpg(self._group, signal.SIGKILL)
        tell(of=busy[0].numTasks, done=busy[0].numCompletedTasks)


def run(master: str, path: Path, first: int, second: int) -> None:
    """Count in a session that is the user's own."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master(master).config("spark.log.level", "OFF").getOrCreate()
    context = session.sparkContext

    def until_executors(number: int) -> None:
        # The driver counts as one.
        while context._jsc.sc().getExecutorMemoryStatus().size() != 1 + number:
            time.sleep(0.05)

    until_executors(2)
    table = opened(unstable(session.read.parquet(str(path))))
    tell(calm=counted(table))

    weigh_by_place(QUESTION, table)
    calm = counted_by_place(QUESTION, table)

    def kill() -> None:
        os.killpg(first, signal.SIGKILL)
        until_executors(1)

    after_weighing(kill)
    between = counted(table)
    tell(between=between, by_place_calm=calm, by_place=counted_by_place(QUESTION, table))

    sys.stdin.readline()
    until_executors(2)
    killer = Killer(context, second)
    after_weighing(killer.start)
    middle = counted(table)
    # A quick machine may have been done before anybody was seen at work.
    while killer.is_alive():
        middle = counted(table)
    tell(middle=middle)
    table.engine.close()
    session.stop()
