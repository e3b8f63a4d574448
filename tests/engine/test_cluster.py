"""A cluster of its own, a master and workers in processes that are killed in the middle of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import pytest

import understudy as us
from tests.engine.cluster_run import booked, fixed, told
from tests.engine.clusters import ROOT, WITHIN, Cluster, until, written
from tests.leaks.canaries import MALFORMED_FILES, SCHEMA, WORD

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield started
    finally:
        started.close()


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
    printed: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tables")
    written(made)
    (made / "torn.toml").write_text(SCHEMA)
    MALFORMED_FILES["too few fields"](made).rename(made / "torn.csv")
    assert WORD in (made / "torn.csv").read_text()
    return made


@pytest.fixture(scope="module")
def story(cluster: Cluster, folder: Path) -> Story:
    """Run the driver to its end; workers come and go as it says."""
    groups = [str(cluster.worker()), str(cluster.worker())]
    until(lambda: cluster.alive() == 2)
    errors = (folder / "errors").open("w+")
    driver = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.cluster_run", cluster.master, str(folder), *groups],
        cwd=ROOT,
        env=cluster.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    assert driver.stdin
    assert driver.stdout
    overdue = Timer(WITHIN, driver.kill)
    overdue.start()
    try:
        told = [json.loads(driver.stdout.readline()) for _ in range(2)]
        third = cluster.worker()
        print(third, file=driver.stdin, flush=True)
        told += [json.loads(driver.stdout.readline()) for _ in range(3)]
        assert told[-2]["error"], "nobody was killed"
        until(lambda: cluster.alive() == 0)
        cluster.worker()
        until(lambda: cluster.alive() == 1)
        print(file=driver.stdin, flush=True)
        rest, _ = driver.communicate()
    finally:
        overdue.cancel()
        with suppress(ProcessLookupError), driver:
            os.killpg(driver.pid, signal.SIGKILL)
        errors.seek(0)
        printed = errors.read()
        errors.close()
        print(printed)
    told += map(json.loads, rest.splitlines())
    lost, ended, all_lost, refused, held, resumed, torn = told
    return Story(lost, ended, all_lost, refused, held["booked"], resumed, torn, printed)


def test_a_worker_killed_in_the_middle_of_a_count_changes_nothing(
    story: Story, folder: Path
) -> None:
    assert story.lost["active"] == 2
    assert story.lost["done_after"] < story.lost["of"]
    here = fixed(folder / "table", folder / "here.ledger", seed=1)
    # The noise is the same, so the sums are so just if all of the counts are.
    assert (
        story.ended["release"]["measurements"] == told(here.run(us.Independent()))["measurements"]
    )


def test_each_question_is_charged_once(story: Story, folder: Path) -> None:
    assert story.ended["booked"] == [list(b) for b in booked(folder / "here.ledger")]
    assert [what for what, _ in story.ended["booked"]][-1] == "2 marginals"
    assert all(answered for _, answered in story.ended["booked"])


def test_with_all_workers_gone_the_run_ends_with_a_hint_and_no_charge(story: Story) -> None:
    assert story.all_lost["active"] >= 1
    assert story.all_lost["done_after"] < story.all_lost["of"]
    assert story.refused["error"] == "EngineError"
    assert story.refused["text"].startswith("the cluster has no workers. Hint: start")
    assert story.refused["alone"]
    # The question that was being counted is not booked.
    assert story.booked == story.ended["booked"][:-1]


def test_resumed_on_new_workers_it_goes_on_where_it_was(story: Story, folder: Path) -> None:
    assert story.resumed["booked"] == story.ended["booked"]
    here = fixed(folder / "table", folder / "copy.ledger", seed=2)
    assert story.resumed["release"] == told(here.resume())


def test_no_log_of_the_cluster_holds_a_cell(story: Story, cluster: Cluster) -> None:
    assert story.torn["error"] == "MalformedFileError"
    assert story.torn["alone"]
    logs = [p for p in cluster.folder.rglob("*") if p.is_file() and "conf" not in p.parts]
    assert {p.name for p in logs} >= {"stderr", "0.log"}
    assert not [p.name for p in logs if WORD.encode() in p.read_bytes()]
    assert WORD not in f"{story.printed}{story.torn}"
