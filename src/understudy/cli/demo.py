"""The demo command: simulated tables, the whole workflow from a private one to its evaluation.

It runs the same commands as a user would, prints each before it runs it, and keeps all of their
files.
"""

from __future__ import annotations

import contextlib
import io
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import Budget
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.demo import City, Clinic
from understudy.engine import DuckDB
from understudy.errors import UsageError
from understudy.release import check_target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from understudy.schema import Array

PUBLIC, PRIVATE = "public-2019.parquet", "private-2020.parquet"
EVALUATION = "custodian-only.html"
YEARS = {2019: PUBLIC, 2020: PRIVATE}
"""Last year's table is public, this year's private."""
SIZES = {"city": ("trips", 200_000), "clinic": ("patients", 5000)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Simulated:
    """What is simulated, and what is to be said about it."""

    what: str
    unit: str
    year: Callable[[int], dict[str, Array]]
    save: Callable[[Path], object] = lambda _folder: None
    """Write the private table in another form, too."""
    period: tuple[str, ...] = ()
    mechanism: tuple[str, ...] = ()


def _simulated(table: str, size: int) -> _Simulated:
    if table == "city":
        return _Simulated(
            what="trips of a simulated city",
            unit="taxi_id",
            year=City(trips_per_year=size, taxis=max(1, min(3000, size // 100))).year,
            period=("--period", "2020-01-01..2020-12-31"),
        )
    clinic = Clinic(patients=size)
    return _Simulated(
        what="visits of a simulated clinic",
        unit="patient_id",
        year=clinic.flat,
        save=lambda folder: clinic.save(folder, 2020),
        mechanism=("--mechanism", "lives"),
    )


def run(options: argparse.Namespace) -> None:
    """Simulate a table; then draft, check, synthesize and evaluate, as a user would."""
    folder = Path(options.folder)
    check_target(folder)
    Budget(epsilon=options.epsilon, delta=options.delta)
    simulated = _simulated(options.table, _size(options))
    begun = time.monotonic()
    _simulate(folder, simulated, quiet=options.json)
    run_file, release = folder / "understudy.toml", folder / "private-2020-release"
    public, private = folder / PUBLIC, folder / PRIVATE
    budget = (f"--epsilon={options.epsilon!r}", f"--delta={options.delta!r}")
    steps: tuple[tuple[str | Path, ...], ...] = (
        (
            *("init", folder, "--public", public, "--private", private, "--unit", simulated.unit),
            *(*simulated.period, *budget),
        ),
        ("check", run_file, *simulated.mechanism),
        ("synth", run_file, *simulated.mechanism),
        (
            *("evaluate", release, "--private", private, "--unit", simulated.unit),
            *("--schema", folder / "schema.toml", "--report", folder / EVALUATION),
        ),
    )
    found: dict[str, dict[str, Any]] = {}
    for step in steps:
        words = [str(word) for word in step]
        if not options.json:
            print("$ understudy", *words)
        found[words[0]] = _ran(words)
    lines = _lines(found, folder, what=simulated.what, seconds=time.monotonic() - begun)
    facts = {**found["synth"], "check": found["check"], "evaluation": str(folder / EVALUATION)}
    tell(options, facts, lines)


def _size(options: argparse.Namespace) -> int:
    """Return how much is simulated; raise on a size of the other table."""
    for table, (name, default) in SIZES.items():
        given: int | None = getattr(options, name)
        if table == options.table:
            size = default if given is None else given
        elif given is not None:
            raise UsageError(f"--{name} is for --table {table}", got=f"--table {options.table}")
    if size < 1:
        raise UsageError(f"--{SIZES[options.table][0]} must be positive", got=size)
    return size


def _simulate(folder: Path, simulated: _Simulated, *, quiet: bool) -> None:
    """Write two years of a simulated table."""
    folder.mkdir(parents=True)
    with shown(quiet=quiet) as progress, contextlib.closing(DuckDB()) as engine:
        for done, (year, name) in enumerate(YEARS.items()):
            progress(f"simulating {simulated.what}", done / 2)
            engine.write(simulated.year(year), folder / name, types={})
        simulated.save(folder)


def _ran(words: Sequence[str]) -> dict[str, Any]:
    """Run a command, and return the facts that it would print."""
    from understudy.cli.main import parser, run_command  # noqa: PLC0415  it calls this module

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run_command(parser(words).parse_args([*words, "--json"]))
    facts: dict[str, Any] = json.loads(printed.getvalue())
    return facts


def _lines(
    found: dict[str, dict[str, Any]], folder: Path, *, what: str, seconds: float
) -> list[str]:
    made, checked = found["synth"], found["check"]
    promise = made["guarantee"]
    named = [f"{chosen['mechanism']}: {chosen['why']}" for chosen in made["chosen"]]
    return [
        "",
        f"{made['rows']:,} synthetic {what}, in {seconds:.0f} s.",
        f"  Promised   epsilon {promise['epsilon']:g}, delta {promise['delta']:g} for every "
        f"{promise['unit']} with all of its rows (user-level privacy)",
        f"  Mechanism  {', '.join(named) or checked['mechanism']}",
        f"  Report     {made['report']}  (to publish; expected pair error "
        f"{checked['expected_pair_error']:.3f})",
        f"  Evaluation {folder / EVALUATION}  (exact, for the custodian only)",
        f"  Ledger     {made['ledger']['left']} left; see 'understudy ledger "
        f"{made['ledger']['file']}'",
    ]
