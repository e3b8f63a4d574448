"""The resume command: continue a run that was interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli import arguments
from understudy.cli.progress import shown
from understudy.cli.synth import save, tell_release
from understudy.errors import UsageError
from understudy.release import check_target
from understudy.session import reopen_session

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> None:
    """Continue a run that was interrupted, or write a finished one's release again."""
    if options.people is not None and options.private is None:
        raise UsageError("--people also needs the table of rows", allowed="--private FILE")
    private = None if options.private is None else arguments.private(options)
    session, note = reopen_session(
        options.ledger, number=options.run, private=private, public=options.public
    )
    if "recipe" in note and options.out is None:
        raise UsageError(
            f"the run belongs to the recipe {note['recipe']}",
            hint="repeat the command that began it to continue all of its runs; "
            "--out FOLDER writes only this one",
        )
    if "discovery" in note:
        raise UsageError(
            "the run is a discovery, and makes no release",
            hint="repeat 'understudy discover' as it was called: that continues it",
        )
    if "quality" in note:
        raise UsageError(
            "the run asked how good a release is, and makes none",
            hint="repeat 'understudy quality' as it was called: that continues it; "
            f"--run {note['quality']['run']} is the release's own run",
        )
    if "out" not in note and options.out is None:
        raise UsageError(
            "the run was started from Python and names no output folder", allowed="--out FOLDER"
        )
    if session.private is None:
        raise UsageError(
            "the run was started from Python and names no private table", allowed="--private FILE"
        )
    out = Path(options.out or note["out"])
    check_target(out)
    with shown(quiet=options.json or options.quiet) as progress:
        release = session.resume(options.run, progress=progress)
        save(release, out, note.get("format", "parquet"), session.ledger, progress)
    tell_release(options, release, out, session.ledger, new=False)
