"""Each row a person, on a cluster whose workers are killed, over a source of no fixed order.

Rows that were on a lost worker are worked out again, and then come in another order.  A weight
that was looked up by a row's place would be another row's; it is worked out beside the row.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing, suppress
from threading import Timer
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.cluster_rows import counted, opened
from tests.engine.clusters import ROOT, WITHIN, Cluster, until, written

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tables")
    written(made)
    return made


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> dict[str, Any]:
    """Run the driver to its end, and put together what it tells."""
    with closing(Cluster(tmp_path_factory.mktemp("cluster"))) as cluster:
        groups = [str(cluster.worker()), str(cluster.worker())]
        until(lambda: cluster.alive() == 2)
        driver = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.cluster_rows", cluster.master, folder, *groups],
            cwd=ROOT,
            env=cluster.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert driver.stdin
        assert driver.stdout
        overdue = Timer(WITHIN, driver.kill)
        overdue.start()
        try:
            lines = [driver.stdout.readline() for _ in range(2)]
            cluster.worker()
            rest, _ = driver.communicate("\n")
        finally:
            overdue.cancel()
            with suppress(ProcessLookupError), driver:
                os.killpg(driver.pid, signal.SIGKILL)
    whole: dict[str, Any] = {}
    for line in (*lines, *rest.splitlines()):
        whole |= json.loads(line)
    return whole


def test_a_worker_killed_between_weighing_and_counting_or_while_counting_changes_nothing(
    told: dict[str, Any], folder: Path
) -> None:
    here = opened(folder / "table")
    with closing(here.engine):
        expected = counted(here)
    assert told["calm"] == expected
    assert told["between"] == expected
    assert told["done"] < told["of"]
    assert told["middle"] == expected


def test_weights_by_place_would_have_been_other_rows_weights(told: dict[str, Any]) -> None:
    """The source presses: as it was once done, the answer is right until a worker is lost."""
    assert told["by_place_calm"] == told["calm"]
    assert told["by_place"] != told["calm"]
