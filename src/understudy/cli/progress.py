"""Progress bars on the terminal: stages and shares of public work, never a private number."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.public import Progress as Told


@contextmanager
def shown(*, quiet: bool) -> Iterator[Told]:
    """Show stages as they come, with elapsed and remaining time, on stderr.

    A stage at 0 pulses until it advances.
    """
    console = Console(stderr=True)
    first = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
    columns = (*first, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bars:
        stages: dict[str, int] = {}

        def told(stage: str, done: float) -> None:
            if stage not in stages:
                for earlier in stages.values():
                    bars.update(earlier, total=1, completed=1)  # type: ignore[arg-type]
                stages[stage] = bars.add_task(stage, total=None)
            if done > 0:
                bars.update(stages[stage], total=1, completed=done)  # type: ignore[arg-type]

        yield told
        for stage in stages.values():
            bars.update(stage, total=1, completed=1)  # type: ignore[arg-type]
