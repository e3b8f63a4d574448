"""What happens on one cluster whose workers are killed, told by its driver from start to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Any

from tests.engine.clusters import ROOT, WITHIN, Cluster, until, written
from tests.leaks.canaries import MALFORMED_FILES, SCHEMA, WORD

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Story:
    """What happened on a cluster, in its order, and what is left of it."""

    lost: dict[str, Any]
    """How many tasks were active when the first worker was killed, and how it ended."""
    ended: dict[str, Any]
    all_lost: dict[str, Any]
    refused: dict[str, Any]
    booked: list[list[Any]]
    resumed: dict[str, Any]
    torn: dict[str, Any]
    rows: dict[str, Any]
    """What was counted where each row is a person."""
    printed: str
    tables: Path
    logs: Path


def tables(folder: Path) -> None:
    written(folder)
    (folder / "torn.toml").write_text(SCHEMA)
    MALFORMED_FILES["too few fields"](folder).rename(folder / "torn.csv")
    assert WORD in (folder / "torn.csv").read_text()


def story(logs: Path, folder: Path) -> Story:
    """Run the driver to its end; workers come and go as it says."""
    tables(folder)
    with closing(Cluster(logs)) as cluster, (folder / "errors").open("w+") as errors:
        groups = [str(cluster.worker()), str(cluster.worker())]
        until(lambda: cluster.alive() == 2)
        driver = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.cluster_run", cluster.master, folder, *groups],
            cwd=ROOT,
            env=cluster.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        overdue = Timer(WITHIN, driver.kill)
        overdue.start()
        try:
            told = _told(driver, cluster)
        finally:
            overdue.cancel()
            with suppress(ProcessLookupError), driver:
                os.killpg(driver.pid, signal.SIGKILL)
            errors.seek(0)
            printed = errors.read()
            print(printed)
    lost, ended, all_lost, refused, held, resumed, torn, *parts = told
    rows = {name: found for part in parts for name, found in part.items()}
    return Story(
        lost, ended, all_lost, refused, held["booked"], resumed, torn, rows, printed, folder, logs
    )


def _told(driver: subprocess.Popen[str], cluster: Cluster) -> list[dict[str, Any]]:
    """Give all that a driver tells, and a worker when it needs one."""
    into, out = driver.stdin, driver.stdout
    assert into
    assert out
    told: list[dict[str, Any]] = []

    def hear(lines: int) -> None:
        told.extend(json.loads(out.readline()) for _ in range(lines))

    def say(*workers: int) -> None:
        print(*workers, file=into, flush=True)

    hear(2)
    say(cluster.worker())
    hear(3)
    assert told[-2]["error"], "nobody was killed"
    until(lambda: cluster.alive() == 0)
    fourth = cluster.worker()
    until(lambda: cluster.alive() == 1)
    say()
    hear(2)
    say(fourth, cluster.worker())
    hear(2)
    cluster.worker()
    say()
    rest, _ = driver.communicate()
    return [*told, *map(json.loads, rest.splitlines())]
