"""The quality command: how far a release is from the private table, with noise and charged."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.budget import Budget
from understudy.cli import arguments
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.cli.synth import I_KNOW, REPORT
from understudy.distances import accuracy, check_untold, save_accuracy
from understudy.errors import UsageError
from understudy.ledger import Ledger, describe_left
from understudy.opening import refuse
from understudy.pages import report
from understudy.public import ACCURACY
from understudy.release import Release
from understudy.session import reopen_session

if TYPE_CHECKING:
    import argparse

    from understudy.public import Accuracy


def run(options: argparse.Namespace) -> None:
    """Ask for distances, write them beside the release, and write its report again."""
    folder = Path(options.release)
    release = Release.read(folder)
    check_untold(folder / ACCURACY)
    if options.people is not None and options.private is None:
        raise UsageError("--people also needs the table of rows", allowed="--private FILE")
    if options.cap is not None and options.cap < 1:
        raise UsageError("cap must be at least 1", got=options.cap)
    session, _ = reopen_session(
        options.ledger,
        number=release.manifest["ledger"].get("run"),
        private=None if options.private is None else arguments.private(options),
    )
    if session.private is None:
        raise UsageError("the release's run names no private table", allowed="--private FILE")
    budget = Budget(epsilon=options.epsilon, delta=session.budget.delta)
    refuse(budget, people=None, i_know=options.i_know, how=I_KNOW)
    with shown(quiet=options.json or options.quiet) as progress:
        found = accuracy(
            session, release, epsilon=options.epsilon, cap=options.cap, progress=progress
        )
        save_accuracy(found, folder)
        progress("writing the report", 0)
        # A report is made of what is beside it, so that a new one replaces it.
        (folder / REPORT).unlink(missing_ok=True)
        report(folder, folder / REPORT)
    _tell(options, folder, found)


def _tell(options: argparse.Namespace, folder: Path, found: Accuracy) -> None:
    """Print the distances, what they cost, and what is left."""
    with closing(Ledger(options.ledger)) as held:
        left = describe_left(held.state())
    alone, together = found.guarantee, found.guarantee["with_the_release"]
    lines = [
        *found.sentences(),
        f"  promise  epsilon {alone['epsilon']:g} at delta {alone['delta']:g} for this; together "
        f"with the release, epsilon {together['epsilon']:.4g} at delta {together['delta']:g}",
        f"  ledger   {options.ledger}, {left} left",
        f"  file     {folder / ACCURACY}",
        f"  report   {folder / REPORT}",
    ]
    facts = {
        "accuracy": str(folder / ACCURACY),
        "report": str(folder / REPORT),
        **found.to_dict(),
        "ledger": {"file": str(options.ledger), "left": left},
    }
    tell(options, facts, lines)
