"""A Spark cluster of processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.engine.spark.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable


ROWS, FILES = 200_000, 8
WITHIN = 1800.0
"""Seconds after which a process that hangs is ended; no measure of anything."""
ROOT = Path(__file__).parents[2]
# Processes that live for seconds are better off with Java's quick compiler alone.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = f"""
spark.executor.memory 512m
spark.executor.extraJavaOptions {QUICK}
spark.driver.extraJavaOptions {QUICK}
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.sql.shuffle.partitions 2
spark.locality.wait 0
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


def until(there: Callable[[], bool]) -> None:
    over = time.monotonic() + WITHIN
    while not there():
        assert time.monotonic() < over, "it never came"
        time.sleep(0.1)


class Cluster:
    """A master and workers on this machine, each the first of a group of processes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.started = folder, list[subprocess.Popen[bytes]]()
        self._page = free_port()
        self.master = f"spark://127.0.0.1:{free_port()}"
        (folder / "conf").mkdir(parents=True)
        (folder / "conf" / "spark-defaults.conf").write_text(SETTINGS)
        find_java()
        self.environment = os.environ | {
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(folder / "spill"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
            "SPARK_LAUNCHER_OPTS": QUICK,
            "PYSPARK_PYTHON": sys.executable,
        }
        port = self.master.rpartition(":")[2]
        self._start("master.Master", "--port", port, "--webui-port", str(self._page))

    def _start(self, kind: str, *given: str) -> int:
        import pyspark

        command = Path(pyspark.__file__).parent / "bin" / "spark-class"
        log = (self.folder / f"{len(self.started)}.log").open("wb")
        with log:
            process = subprocess.Popen(
                [command, f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *given],
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(process)
        return process.pid

    def worker(self) -> int:
        """Start a worker of one core, and give the group of its processes."""
        work = self.folder / "work" / str(len(self.started))
        given = ("--cores", "1", "--memory", "512m", "--work-dir", str(work), "--webui-port", "0")
        return self._start("worker.Worker", *given, self.master)

    def alive(self) -> int:
        """Ask the master how many workers it has."""
        with suppress(OSError), urlopen(f"http://127.0.0.1:{self._page}/json/") as page:
            return int(json.load(page)["aliveworkers"])
        return 0

    def close(self) -> None:
        for process in self.started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def written(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    whole = pa.table(
        {
            "id": [f"taxi {i}" for i in rng.integers(0, 5000, ROWS)],
            "colour": np.array(["red", "green", "blue", "none"])[rng.integers(0, 4, ROWS)].tolist(),
            "amount": rng.random(ROWS) * 12,
        }
    )
    (folder / "table").mkdir()
    for i in range(FILES):
        part = whole.slice(i * ROWS // FILES, ROWS // FILES)
        pq.write_table(part, folder / "table" / f"part-{i}.parquet")
    return folder / "table"
