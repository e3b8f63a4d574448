"""The demo command: a simulated city, the whole workflow from a private table to its evaluation.

It runs the same commands as a user would, prints each before it runs it, and keeps all of their
files.
"""

from __future__ import annotations

import contextlib
import io
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import Budget
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.demo import City
from understudy.engine import DuckDB
from understudy.errors import UsageError
from understudy.release import check_target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

PUBLIC, PRIVATE = "public-2019.parquet", "private-2020.parquet"
EVALUATION = "custodian-only.html"


def run(options: argparse.Namespace) -> None:
    """Simulate a city; then draft, check, synthesize and evaluate, as a user would."""
    folder = Path(options.folder)
    check_target(folder)
    Budget(epsilon=options.epsilon, delta=options.delta)
    if options.trips < 1:
        raise UsageError("--trips must be positive", got=options.trips)
    begun = time.monotonic()
    _simulate(folder, trips=options.trips, quiet=options.json)
    run_file, release = folder / "understudy.toml", folder / "private-2020-release"
    public, private = folder / PUBLIC, folder / PRIVATE
    budget = (f"--epsilon={options.epsilon!r}", f"--delta={options.delta!r}")
    steps: tuple[tuple[str | Path, ...], ...] = (
        (
            *("init", folder, "--public", public, "--private", private, "--unit", "taxi_id"),
            *("--period", "2020-01-01..2020-12-31", *budget),
        ),
        ("check", run_file),
        ("synth", run_file),
        (
            *("evaluate", release, "--private", private, "--unit", "taxi_id"),
            *("--schema", folder / "schema.toml", "--report", folder / EVALUATION),
        ),
    )
    found: dict[str, dict[str, Any]] = {}
    for step in steps:
        words = [str(word) for word in step]
        if not options.json:
            print("$ understudy", *words)
        found[words[0]] = _ran(words)
    tell(
        options,
        {**found["synth"], "check": found["check"], "evaluation": str(folder / EVALUATION)},
        _lines(found, folder, seconds=time.monotonic() - begun),
    )


def _simulate(folder: Path, *, trips: int, quiet: bool) -> None:
    """Write two years of a simulated city: last year's is public, this year's private."""
    city = City(trips_per_year=trips, taxis=max(1, min(3000, trips // 100)))
    folder.mkdir(parents=True)
    with shown(quiet=quiet) as progress, contextlib.closing(DuckDB()) as engine:
        for done, (year, name) in enumerate(((2019, PUBLIC), (2020, PRIVATE))):
            progress("simulating a city", done / 2)
            engine.write(city.year(year), folder / name, types={})


def _ran(words: Sequence[str]) -> dict[str, Any]:
    """Run a command, and return the facts that it would print."""
    from understudy.cli.main import parser, run_command  # noqa: PLC0415  it calls this module

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run_command(parser(words).parse_args([*words, "--json"]))
    facts: dict[str, Any] = json.loads(printed.getvalue())
    return facts


def _lines(found: dict[str, dict[str, Any]], folder: Path, *, seconds: float) -> list[str]:
    made, checked = found["synth"], found["check"]
    promise, chosen = made["guarantee"], made["chosen"][0]
    return [
        "",
        f"{made['rows']:,} synthetic trips of a simulated city, in {seconds:.0f} s.",
        f"  Promised   epsilon {promise['epsilon']:g}, delta {promise['delta']:g} for every "
        f"{promise['unit']} with all of its rows (user-level privacy)",
        f"  Mechanism  {chosen['mechanism']}: {chosen['why']}",
        f"  Report     {made['report']}  (to publish; expected pair error "
        f"{checked['expected_pair_error']:.3f})",
        f"  Evaluation {folder / EVALUATION}  (exact, for the custodian only)",
        f"  Ledger     {made['ledger']['left']} left; see 'understudy ledger "
        f"{made['ledger']['file']}'",
    ]
