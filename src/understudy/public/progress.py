"""Progress: the stage that a run is in and how much of it is done, neither of them private.

A notebook shows it in place, as text and as a bar, without any package but IPython.  Elsewhere
the stages are logged, by the logger ``understudy`` at the level INFO.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import wraps
from html import escape
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

P = ParamSpec("P")
T = TypeVar("T")
Progress = Callable[[str, float], None]
"""Told the name of a stage, and the share of it that is done, from 0 to 1."""
LOG = logging.getLogger("understudy")
OFTEN = 0.2
"""Seconds between two updates of the same stage in a notebook."""


class Stages:
    """Logs each stage once, and calls what shows the current one."""

    def __init__(self, show: Callable[[str, float], None]) -> None:
        """Begin before the first stage."""
        self._show = show
        self._stage: str | None = None
        self._told = 0.0

    def __call__(self, stage: str, done: float) -> None:
        """Show a new stage at once, and a known one if it was not shown just now."""
        if stage != self._stage:
            LOG.info("%s", stage)
        elif time.monotonic() - self._told < OFTEN:
            return
        self._stage, self._told = stage, time.monotonic()
        self._show(stage, done)


def silent(stage: str, done: float) -> None:
    """Report nothing."""


def following(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method's progress be shown in a notebook, or logged, unless its caller passes one."""

    @wraps(method)
    def followed_call(*given: P.args, **named: P.kwargs) -> T:
        with followed(cast("Progress | None", named.get("progress"))) as told:
            return method(*given, **{**named, "progress": told})  # type: ignore[arg-type]

    return followed_call


@contextmanager
def followed(progress: Progress | None) -> Iterator[Progress]:
    """Yield a caller's own progress, or one that a notebook shows and a log keeps."""
    if progress is not None:
        yield progress
        return
    show = _in_a_notebook() or silent
    began, how = time.monotonic(), "stopped"
    try:
        yield Stages(show)
        how = "done"
    finally:
        show(f"{how} after {time.monotonic() - began:.0f} s", 1)


def _in_a_notebook() -> Callable[[str, float], None] | None:
    """Return what shows a line and a bar in the current cell, or None outside a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # noqa: PLC0415  imported already, by the notebook

    handle: Any = display(_drawn("starting", 0), raw=True, display_id=True)
    return lambda stage, done: handle.update(_drawn(stage, done), raw=True)


def _drawn(stage: str, done: float) -> dict[str, str]:
    """Draw a stage as text and as HTML; the bar of a stage at 0 moves until it advances.

    >>> _drawn("fitting", 0.5)["text/plain"]
    'Understudy: fitting, 50 %'
    """
    share = f", {done:.0%}".replace("%", " %") if 0 < done < 1 else ""
    bar = f'<progress value="{done:.3f}"></progress>' if done > 0 else "<progress></progress>"
    return {
        "text/plain": f"Understudy: {stage}{share}",
        "text/html": f"<div>{bar} Understudy: {escape(stage)}{share}</div>",
    }
