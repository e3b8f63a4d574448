"""The check command: a run is validated and priced, and nothing is spent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.cli import arguments
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.cli.runfile import with_runfile
from understudy.cli.synth import opened
from understudy.rehearsal import Crowd, rehearse

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> None:
    """Validate a run and price it, without spending anything."""
    with_runfile(options)
    arguments.check_run(options)
    mechanism = arguments.chosen(options)
    chooser = arguments.chooser(options, mechanism)
    with shown(quiet=options.json or options.quiet) as progress:
        session = replace(
            opened(options, chooser, progress, rehearsing=True), public=options.public
        )
        crowd = Crowd.of(options.people_count, options.rows_per_person)
        found = rehearse(session, mechanism, crowd, progress)
    tell(options, found.facts, list(found.lines))
