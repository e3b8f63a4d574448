"""The sample command: draw more rows or people from a release, at no privacy cost."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.engine import DuckDB
from understudy.errors import UsageError
from understudy.release import Release, check_target, new_file, sql_types

if TYPE_CHECKING:
    import argparse

ENDINGS = (".csv", ".parquet")


def run(options: argparse.Namespace) -> None:
    """Draw rows, and write them to a new file."""
    out = Path(options.out)
    if out.suffix not in ENDINGS:
        raise UsageError("unknown file format", got=out.name, allowed="FILE.csv or FILE.parquet")
    check_target(out)
    where = _where(options.where or ())
    with shown(quiet=options.json or options.quiet) as progress:
        progress("reading the release", 0)
        release = Release.read(options.release)
        progress("drawing rows", 0)
        rows = release.sample_columns(
            options.rows, people=options.people, seed=options.seed, where=where
        )
        progress("writing them", 0)
        with new_file(out) as partial, closing(DuckDB()) as engine:
            engine.write(rows, partial, types=sql_types(release.schema))
    count = len(next(iter(rows.values())))
    whence = "its people" if release.model is None or release.is_by_person else "its model"
    facts = {"rows": count, "file": str(out), "drawn_from": whence}
    what = f"{count:,} rows"
    if options.people is not None:
        facts["people"] = options.people
        what = f"{options.people:,} people with {what}"
    tell(options, facts, [f"{what} in {out}, drawn from {whence}; at no privacy cost"])


def _where(texts: tuple[str, ...]) -> dict[str, list[str]]:
    """Parse conditions: a column and its values, of which a bin's has a comma before a space.

    >>> _where(("age=[1, 5),[5, 9)", "sex=F"))
    {'age': ['[1, 5)', '[5, 9)'], 'sex': ['F']}
    """
    wanted: dict[str, list[str]] = {}
    for text in texts:
        column, mark, values = text.partition("=")
        if not mark or not column or not values:
            raise UsageError(
                "--where needs a column and its values", got=text, allowed="COLUMN=VALUE[,VALUE…]"
            )
        wanted.setdefault(column, []).extend(re.split(r",(?! )", values))
    return wanted
