"""The report command: write a release's report again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.cli.synth import REPORT
from understudy.errors import UsageError
from understudy.pages import report
from understudy.release import check_target

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> None:
    """Write a release's report."""
    out = Path(options.out or Path(options.release) / REPORT)
    outlines = {}
    for text in options.outlines or ():
        column, mark, file = text.partition("=")
        if not mark or not column or not file:
            raise UsageError(
                "--outlines needs a column and a file", got=text, allowed="COLUMN=FILE"
            )
        outlines[column] = file
    check_target(out)
    with shown(quiet=options.json or options.quiet) as progress:
        progress("writing the report", 0)
        report(options.release, out, outlines=outlines)
    tell(options, {"report": str(out)}, [f"{out}: open it in a browser; it needs no network"])
