"""How a failure of Spark's is told: by its kind, never by its text, which may quote a cell.

No exception of Spark's leaves `attempt`, nor hangs in the chain of one that does.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.errors import (
    EngineError,
    MalformedFileError,
    MissingFileError,
    MissingPackageError,
    UnderstudyError,
    bare,
)

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_GONE = {"Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError"}
"""Exceptions raised when Spark's own process has ended."""
# Only the beginning of a message is examined, which is Spark's own: cells come later.
_BEGINS = r"(?:An error occurred while calling \S+\s+: )?(?:[\w.$]+: )?(?:\[[\w.]+\] )?"
_LOST = re.compile(
    _BEGINS + r"(?:Job aborted due to stage failure: Task \d+ in stage [\d.]+ failed \d+ times, "
    r"most recent failure: Lost task [\d.]+ in stage [\d.]+ \(TID \d+\) \([^()]*\): "
    r"ExecutorLostFailure|Job \d+ cancelled because SparkContext was shut down"
    r"|Cannot call methods on a stopped SparkContext"
    r"|SparkContext has been shut(?: |)down)"
)
_PYTHON = re.compile(
    r"No module named '(?:understudy|numpy|pyarrow)|IOException: Cannot run program"
    r"|PYTHON_VERSION_MISMATCH"
)


def attempt(call: Callable[[], T], *, reading_input: bool = False, missing: str | None = None) -> T:
    """Call Spark; ``missing`` names the table or files that may not be there."""
    failure: BaseException
    try:
        return call()
    except (UnderstudyError, KeyboardInterrupt) as error:
        failure = bare(error)
    except Exception as error:  # noqa: BLE001  its text may hold a value: only its type is used
        failure = _failure(error, reading_input=reading_input, missing=missing)
    raise failure


def _failure(error: Exception, *, reading_input: bool, missing: str | None) -> UnderstudyError:
    kind, text = type(error).__name__, ""
    condition = _condition(error)
    # The details of a failure are fetched from Spark, and may be gone with it.
    with suppress(Exception):
        text = str(error)
    if kind in _GONE or _LOST.match(text):
        return EngineError(
            "Spark stopped, or lost too many workers",
            got=condition or kind,
            hint="resume the run: nothing is charged twice",
        )
    if missing is not None and "FAILED_READ_FILE" not in text:
        return MissingFileError(
            f"Spark cannot find or read the table or files {missing}",
            got=condition or kind,
            hint="for a temporary view, pass the DataFrame: only its own session knows the view",
        )
    if reading_input or missing is not None:
        return MalformedFileError(
            "the table is malformed, or could not be read completely",
            got=condition,
            hint="check it with another tool; no line or value is named here",
        )
    if _PYTHON.search(text):
        return MissingPackageError(
            "the workers' Python is missing, has another version, or lacks understudy",
            hint="install understudy on every worker, and set PYSPARK_PYTHON to their Python",
        )
    return EngineError("Spark failed", got=condition or kind)


def _condition(error: Any) -> str | None:  # noqa: ANN401  one of PySpark's or Py4J's
    """Return the error condition, if it is one that Spark itself declares."""
    with suppress(Exception):
        from pyspark import SparkContext  # noqa: PLC0415  an extra

        known: Any = SparkContext._jvm  # noqa: SLF001
        told = getattr(error, "java_exception", error).getCondition()
        if known.org.apache.spark.SparkThrowableHelper.isValidErrorClass(told):
            return str(told)
    return None
