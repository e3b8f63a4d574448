"""Progress bars on the terminal: stages and shares of public work, never a private number."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from understudy.public import LOG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.public import Progress as Told


class _Left(TimeRemainingColumn):
    """The time that a stage still takes, where there is enough of it done to tell."""

    def render(self, task: Task) -> Text:
        """Say what is left; of a stage that is done, or has just begun, nothing."""
        if task.finished or not task.time_remaining:
            return Text("")
        return Text("about ") + super().render(task) + Text(" left")


@contextmanager
def shown(*, quiet: bool) -> Iterator[Told]:
    """Show stages as they come, with elapsed and remaining time, on stderr.

    A stage at 0 pulses until it advances.
    """
    console = Console(stderr=True)
    verbose = LOG.isEnabledFor(logging.INFO)
    first = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
    columns = (*first, TimeElapsedColumn(), _Left())
    with Progress(
        *columns, console=console, disable=quiet or not console.is_terminal or verbose
    ) as bars:
        stages: dict[str, int] = {}

        def told(stage: str, done: float) -> None:
            if stage not in stages:
                LOG.info("%s", stage)
                for earlier in stages.values():
                    bars.update(earlier, total=1, completed=1)  # type: ignore[arg-type]
                stages[stage] = bars.add_task(stage, total=None)
            if done > 0:
                bars.update(stages[stage], total=1, completed=done)  # type: ignore[arg-type]

        yield told
        for stage in stages.values():
            bars.update(stage, total=1, completed=1)  # type: ignore[arg-type]
