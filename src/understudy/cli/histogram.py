"""The histogram command: counts of a release's rows as a file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.cli.sample import ENDINGS
from understudy.engine import DuckDB
from understudy.errors import UsageError
from understudy.release import Release, check_target, histogram_columns, new_file, sql_types

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> None:
    """Count rows by some columns, and write the counts to a new file."""
    out = Path(options.out)
    if out.suffix not in ENDINGS:
        raise UsageError("unknown file format", got=out.name, allowed="FILE.csv or FILE.parquet")
    check_target(out)
    with shown(quiet=options.json or options.quiet) as progress:
        progress("reading the release", 0)
        release = Release.read(options.release)
        progress("counting rows", 0)
        table = histogram_columns(release, options.by.split(","), options.across)
        types = {n: t for n, t in sql_types(release.schema).items() if n in table}
        # What follows from other columns is in the rows, and has values too.
        known = release.schema.unconstrained
        types = {n: t for n, t in types.items() if known[n].codes_are_values}
        with new_file(out) as partial, closing(DuckDB()) as engine:
            engine.write(table, partial, types=types)
    lines = len(next(iter(table.values())))
    facts = {"lines": lines, "file": str(out)}
    tell(options, facts, [f"{lines:,} lines of counts in {out}; at no privacy cost"])
