"""The Spark application that a process's engines share: the user's own, or one that is started.

Spark quotes cells in what it logs, on every machine, and its Python side prints them.  So all
these logs are off while an engine is open.  An application that is started here has no web page
and keeps no events either: both tell how many rows each step had, and those of a user's own
application are the user's to guard.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from threading import RLock
from typing import TYPE_CHECKING, Any

from understudy.engine.spark.failures import attempt
from understudy.engine.spark.java import find_java
from understudy.errors import EngineError, MissingPackageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_QUIET = {
    # Set explicitly, it stays as it is; otherwise a worker reads it again and resets its level.
    "spark.executor.defaultJavaOptions": (
        "-Dlog4j2.configurationFile=classpath:org/apache/spark/log4j2-defaults.properties"
    ),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
}
_TALKATIVE = ("py4j.clientserver", "py4j.java_gateway")
"""Python's loggers of the traffic with Java."""
_PRINTING = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers that print Spark's errors, including cells."""
TOO_NEW = (4, 2)
"""The first version of Spark that is refused."""
PARTS_PER_CORE = 4
"""Parts of a shuffle for each core, on one machine."""
ANSWERS_WITHIN = 10.0
"""The timeout of a cluster's master, in seconds."""


def is_frame(data: object) -> bool:
    """Return whether a table in memory is a Spark DataFrame."""
    kind = type(data)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def check_version(version: str) -> None:
    """Raise if this Spark may fail because of a value, which would tell of it.

    >>> check_version("4.1.4")
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) >= TOO_NEW:
        raise EngineError(
            f"Spark {version} is not supported: it fails at a number beyond 64 bits, where earlier "
            "ones read it as missing, and no value may fail a run",
            got=f"pyspark {version}",
            allowed="4.0 and 4.1",
            hint="pip install 'pyspark<4.2', or read files and databases without Spark",
        )


class Application:
    """What the engines of a process share while any of them is open."""

    def __init__(self) -> None:
        """Start without any engine."""
        self._lock = RLock()
        self._engines = 0
        self._started: Any = None
        self._after = ExitStack()

    def join(self, data: Any, settings: Mapping[str, str]) -> Any:  # noqa: ANN401
        """Return a session in the application that reads a table or a DataFrame."""
        with self._lock:
            self._engines += 1
            try:
                running = data.sparkSession if is_frame(data) else self._running(data.master)
                # Spark Connect, which is refused for what it is, may not tell its version.
                check_version(str(getattr(running, "version", "")))
                return attempt(lambda: self._joined(running, settings))
            except BaseException:
                self.leave()
                raise

    def leave(self) -> None:
        """After the last engine, stop what was started, and restore all settings."""
        with self._lock:
            self._engines -= 1
            if self._engines:
                return
            started, self._started = self._started, None
            if started is not None:
                with suppress(Exception):
                    started.stop()
            self._after.close()

    def _joined(self, running: Any, settings: Mapping[str, str]) -> Any:  # noqa: ANN401
        if "connect" in type(running).__module__:
            raise UsageError(
                "Spark Connect sessions are not supported: private counts could not be kept apart",
                allowed="a session with its own application",
                hint="create it with SparkSession.builder.master(…)",
            )
        session = running.newSession()
        for name, value in settings.items():
            session.conf.set(name, value)
        _suit_one_machine(session)
        if self._engines == 1:
            self._hush(session)
        return session

    def _running(self, master: str | None) -> Any:  # noqa: ANN401
        """Return the running application, or start one on a master."""
        if find_spec("pyspark") is None:
            raise MissingPackageError(
                "a table in Spark needs pyspark", hint="pip install 'understudy[spark]'"
            )
        from pyspark import SparkContext, __version__  # noqa: PLC0415  an extra
        from pyspark.sql import SparkSession  # noqa: PLC0415

        check_version(__version__)

        running = SparkContext._active_spark_context  # noqa: SLF001
        if running is not None:
            _check_master(master, str(running.master))
            return attempt(SparkSession.builder.getOrCreate)
        find_java()
        _reach(master)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("understudy").config(map=dict(_QUIET))
        builder = builder if master is None else builder.master(master)
        self._started = attempt(builder.getOrCreate)
        return self._started

    def _hush(self, session: Any) -> None:  # noqa: ANN401
        """Turn off all logs that may quote a cell, here and on the workers."""
        from pyspark.logger import PySparkLogger  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415

        talkative = (*map(logging.getLogger, _TALKATIVE), *map(PySparkLogger.getLogger, _PRINTING))
        for logger in talkative:
            self._afterwards(setattr, logger, "disabled", logger.disabled)
            logger.disabled = True
        if self._started is None:
            self._afterwards(_activate, session, SparkSession.getActiveSession())
        log4j = session._jvm.org.apache.logging.log4j  # noqa: SLF001
        held = log4j.LogManager.getContext(False)
        self._afterwards(held.updateLoggers)
        for java in held.getConfiguration().getLoggers().values():
            self._afterwards(java.setLevel, java.getLevel())
        level = str(held.getConfiguration().getRootLogger().getLevel())
        self._afterwards(tell_workers, session.sparkContext, level)
        # All at once, not by setLogLevel: that would permanently undo PySpark's own setting.
        log4j.core.config.Configurator.setAllLevels("", log4j.Level.OFF)
        tell_workers(session.sparkContext, "OFF")

    def _afterwards(self, call: Callable[..., object], *given: object) -> None:
        """Call something once the last engine is closed, ignoring failures."""

        def anyway() -> None:
            with suppress(Exception):
                call(*given)

        self._after.callback(anyway)


APPLICATION = Application()


def _suit_one_machine(session: Any) -> None:  # noqa: ANN401
    """Shuffle into a few parts on one machine: 200 take longer to schedule than to work on."""
    context = session.sparkContext
    shuffled = "spark.sql.shuffle.partitions"
    if context.master.startswith("local") and not context.getConf().contains(shuffled):
        session.conf.set(shuffled, str(PARTS_PER_CORE * context.defaultParallelism))


def tell_workers(context: Any, level: str) -> None:  # noqa: ANN401  a SparkContext
    """Set the log levels of the current workers, and of those that start later."""
    context._jsc.sc().schedulerBackend().updateExecutorsLogLevel(level)  # noqa: SLF001


def _activate(ours: Any, active: Any) -> None:  # noqa: ANN401  two sessions
    """Restore the session that was active before."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    java = SparkSession._get_j_spark_session_class(ours._jvm)  # noqa: SLF001
    SparkSession._activeSession = active  # noqa: SLF001
    if active is None:
        java.clearActiveSession()
    else:
        java.setActiveSession(active._jsparkSession)  # noqa: SLF001


def _check_master(asked: str | None, running: str) -> None:
    """Raise if a table's cluster is not the one that the application is running on."""
    both_here = running.startswith("local") and (asked or "").startswith("local")
    if asked in {None, running} or both_here:
        return
    raise UsageError(
        "another Spark application is running in this process",
        got=running,
        allowed=asked,
        hint="stop it, or leave out the master",
    )


def _reach(master: str | None) -> None:
    """Raise if a master does not answer; Spark would take minutes to give up."""
    found = re.fullmatch(r"spark://([^:,/]+):(\d+)", master or "")
    if found is None:
        return
    why = ""
    try:
        socket.create_connection((found[1], int(found[2])), timeout=ANSWERS_WITHIN).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
    if not why:
        return
    raise EngineError(
        f"no Spark master answers at {master}",
        got=why,
        hint="check that it is running, and its address",
    )
