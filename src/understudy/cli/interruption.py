"""What Ctrl-C leaves behind: nothing that was spent, or a run that can be continued."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import UnderstudyError

if TYPE_CHECKING:
    import argparse

    from understudy.ledger import State

SPENDING = ("synth", "resume", "discover", "quality")


def interrupted(options: argparse.Namespace | None) -> str:
    """Say what was spent when a command was interrupted, and how it is continued."""
    if options is None or options.command not in SPENDING:
        return "interrupted"
    path = None if options.ledger is None else Path(options.ledger)
    if path is None or not path.is_file():
        return "interrupted before anything was spent"
    from understudy.ledger import Ledger  # noqa: PLC0415  a command that spends has imported it

    try:
        with closing(Ledger(path)) as held:
            return f"interrupted; {_left_behind(held.state(), path)}"
    except UnderstudyError:
        return f"interrupted; 'understudy ledger {path}' shows what was spent"


def _left_behind(state: State, path: Path) -> str:
    """Name the last unfinished run, if there is one, and what to do about it."""
    unfinished = [run for run in state.runs.values() if not run.closed]
    if not unfinished:
        return f"no run of {path} is unfinished"
    run = unfinished[-1]
    if {"recipe", "discovery", "quality"} & set(run.request["note"]):
        return f"the same command continues run {run.number}, at no new cost"
    go_on = f"'understudy resume {path} --run {run.number}' continues it"
    if run.reservations:
        return f"run {run.number} has spent a part of its budget: {go_on}, at no new cost"
    drop = f"'understudy ledger {path} --abandon {run.number}' gives its budget back"
    return f"run {run.number} has spent nothing yet: {go_on}, and {drop}"
