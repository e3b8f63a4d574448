"""What tests of several rooms use: one Spark a process, and a watch on all that leaves a run."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.audit.effort import THOROUGH, tried
from tests.shared_duckdb import connect, connecting
from understudy.engine.spark.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.leaks.watching import Watch


# A ledger waits for the disk at every charge.  What it writes is tested, and in which order, and
# no test takes the power away: memory does, where there is enough of it.
MEMORY, ENOUGH = Path("/dev/shm"), 4 * 2**30  # noqa: S108  as private as the usual folder
if (
    "TMPDIR" not in os.environ
    and MEMORY.is_dir()
    and shutil.disk_usage(MEMORY).free > ENOUGH
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
):
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None

# No test fails because the machine is busy with other things.
settings.register_profile(
    "suite", tried(), database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

# What is collected stays: to look through it for garbage, again and again, is a quarter of the
# time that collecting takes.
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what needs Java first: one process then has all of it, and starts Spark once.

    Each process is given a part of the list, and takes from the end of another's.
    """

    def turn(item: pytest.Item) -> int:
        needs = set(getattr(item, "fixturenames", ()))
        case = getattr(item, "callspec", None)
        if case is not None:
            # A case of Spark asks for it only when it runs.
            needs |= {
                "spark"
                for each in case.params.values()
                if isinstance(each, str) and each == "spark"
            }
        return 0 if "story" in needs else 1 if "spark" in needs else 2

    items.sort(key=turn)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def one_duckdb() -> Iterator[None]:
    """Let engines share a DuckDB, save where all is tried hard."""
    if THOROUGH:
        yield
        return
    with connecting(connect):
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Give a session on this machine."""
    from pyspark.sql import SparkSession

    find_java()
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {
        "spark.log.level": "OFF",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        # Most queries run once: Java's quick compiler alone is the faster one for them.  By itself
        # it has room for few of them, and stops to compile when it is full.  And one thread
        # collects garbage for less than several do.
        "spark.driver.extraJavaOptions": (
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
        ),
        # Spark remembers much of the last thousand queries.
        "spark.driver.memory": "3g",
    }
    if not THOROUGH:
        settings["spark.python.daemon.module"] = "tests.engine.spark_daemon"
        # Most queries are of a few rows: to write and compile Java for one takes far longer than
        # to run it.  Where a test starts a Spark of its own, and in an audit, it is compiled.
        settings["spark.sql.codegen.wholeStage"] = "false"
    builder = SparkSession.builder.master("local[2]").config(map=dict(settings))
    with pytest.MonkeyPatch.context() as environment:
        # Workers look for modules where Java was told to as it started.
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def watch(
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> Watch:
    from tests.leaks.canaries import SCHEMA
    from tests.leaks.watching import Watch

    # A folder of tmp_path would be named after its case, and so after the canary.
    folder = tmp_path_factory.mktemp("watch")
    (folder / "in").mkdir()
    (folder / "tmp").mkdir()
    (folder / "schema.toml").write_text(SCHEMA)
    monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))
    caplog.set_level(logging.DEBUG)
    return Watch(folder, capsys, caplog)
