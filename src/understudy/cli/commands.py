"""What each command does.  The parser is in `understudy.cli.main`."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import Budget, Unit, bounding_from_dict
from understudy.cli import asked
from understudy.cli.progress import shown
from understudy.cli.runfile import with_runfile
from understudy.demo import City
from understudy.engine import DuckDB, check_apart
from understudy.engine.sources import lasting
from understudy.errors import UnderstudyError, UsageError
from understudy.ledger import Ledger, describe_left
from understudy.public import PublicTable, read_public
from understudy.release import Release, check_target
from understudy.schema import Schema
from understudy.session import open_session, reopen_session
from understudy.synth import mechanism_from_dict

if TYPE_CHECKING:
    import argparse

    from understudy.public import Progress
    from understudy.release import Format
    from understudy.session import Session
    from understudy.synth import AdaGrid

_DEMO_CAP = 150
REPORT = "report.html"


def _tell(options: argparse.Namespace, facts: dict[str, Any], lines: list[str]) -> None:
    if options.json:
        print(json.dumps(facts))
    else:
        print("\n".join(lines))


def _note(
    private: str | Path, out: Path, form: Format, public: str | None = None
) -> dict[str, str]:
    """Say what `resume` needs to know, wherever it is called from."""
    note = {"private": lasting(private), "out": str(out.resolve()), "format": form}
    return note if public is None else note | {"public": lasting(public)}


def _save(release: Release, out: Path, form: Format, ledger: Path, progress: Progress) -> None:
    """Write a release and its report; where that fails, say that its answers are not lost."""
    from understudy.pages import report as write  # noqa: PLC0415  only now is it needed

    failed: UnderstudyError | None = None
    try:
        release.save(out, format=form, progress=progress)
        progress("writing the report", 0)
        write(Release.read(out), out / REPORT)
    except UnderstudyError as error:
        failed = type(error)(
            error.what,
            got=error.got,
            allowed=error.allowed,
            hint=f"what was paid for is kept: 'understudy resume {ledger} --out FOLDER' writes it",
        )
    if failed is not None:
        raise failed


def synth(options: argparse.Namespace) -> None:
    """Make a synthetic table from a private one."""
    with_runfile(options)
    asked.check_synth(options)
    if options.recipe is not None:
        # Only a recipe needs what contests do.
        from understudy.cli import recipes as cooking  # noqa: PLC0415

        cooking.run(options)
        return
    out = Path(options.out)
    form: Format = options.format or "parquet"
    check_target(out)
    mechanism = asked.mechanism(options.mechanism, options.settings)
    chooser = asked.chooser(options, mechanism)
    note = _note(options.private, out, form, options.public)
    with shown(quiet=options.json) as progress:
        session = _opened(options, chooser, progress)
        new = not session.ledger.exists()
        release = session.run(mechanism, progress=progress, note=note)
        _save(release, out, form, session.ledger, progress)
    _tell_release(options, release, out, session.ledger, new=new)


def check(options: argparse.Namespace) -> None:
    """Validate a run and price it, without spending anything."""
    from understudy.cli import check as checking  # noqa: PLC0415  it needs all rooms

    with_runfile(options)
    asked.check_run(options)
    mechanism = asked.mechanism(options.mechanism, options.settings)
    chooser = asked.chooser(options, mechanism)
    with shown(quiet=options.json) as progress:
        session = replace(_opened(options, chooser, progress), public=options.public)
        facts, lines = checking.run(session, mechanism, progress)
    _tell(options, facts, lines)


def init(options: argparse.Namespace) -> None:
    """Draft a schema and a run file from public data."""
    from understudy.cli import init as drafting  # noqa: PLC0415  only this command drafts

    _tell(options, *drafting.run(options))


def sample(options: argparse.Namespace) -> None:
    """Draw more rows of a release."""
    from understudy.cli import sample as drawing  # noqa: PLC0415  only this command draws

    _tell(options, *drawing.run(options))


def report(options: argparse.Namespace) -> None:
    """Write a release's report."""
    from understudy.pages import report as write  # noqa: PLC0415  only now is it needed

    out = Path(options.out or Path(options.release) / REPORT)
    check_target(out)
    with shown(quiet=options.json) as progress:
        progress("writing the report", 0)
        write(options.release, out)
    _tell(options, {"report": str(out)}, [f"{out}: open it in a browser; it needs no network"])


def _opened(options: argparse.Namespace, chooser: AdaGrid | None, progress: Progress) -> Session:
    """Open the session of `synth`; a cap that is to be chosen is chosen by public rows alone."""
    check_apart(options.private, options.public)
    schema = Schema.read(options.schema)
    unit = asked.unit(options.unit, options.null_ids)
    budget = Budget(epsilon=options.epsilon, delta=options.delta)
    public: str | PublicTable | None = options.public
    if chooser is None:
        bounding = asked.bounding(options.bounding)
    else:
        progress("reading the public table", 0)
        public = PublicTable.read(options.public, schema=schema, unit=unit.resolved(schema))
        progress("choosing the cap", 0)
        bounding = chooser.weights(public, budget=budget)
    return open_session(
        private=options.private,
        public=public,
        schema=schema,
        unit=unit,
        bounding=bounding,
        budget=budget,
        ledger=options.ledger,
    )


def resume(options: argparse.Namespace) -> None:
    """Go on with a run that was cut off, or write a finished one's release again."""
    session, note = reopen_session(
        options.ledger, number=options.run, private=options.private, public=options.public
    )
    if "recipe" in note and options.out is None:
        raise UsageError(
            f"the run is one of the recipe {note['recipe']}",
            hint="the command that began it goes on with all of its runs; "
            "--out FOLDER writes this one alone",
        )
    if "out" not in note and options.out is None:
        raise UsageError(
            "the run was begun from Python and names no folder", allowed="--out FOLDER"
        )
    if session.private is None:
        raise UsageError(
            "the run was begun from Python and names no private table", allowed="--private FILE"
        )
    out = Path(options.out or note["out"])
    check_target(out)
    with shown(quiet=options.json) as progress:
        release = session.resume(options.run, progress=progress)
        _save(release, out, note.get("format", "parquet"), session.ledger, progress)
    _tell_release(options, release, out, session.ledger, new=False)


def _tell_release(
    options: argparse.Namespace, release: Release, out: Path, ledger: Path, *, new: bool
) -> None:
    held = Ledger(ledger)
    left = describe_left(held.state())
    held.close()
    promise = release.manifest["guarantee"]
    lines = [
        f"{len(release):,} synthetic rows in {out}",
        f"  promise  epsilon {promise['epsilon']:g}, delta {promise['delta']:g}, "
        f"for every {promise['unit']} with all of its rows",
        *(f"  chose    {chosen}: {why}" for chosen, why in _chosen(release)),
        *(
            f"  cost     {100 * c['share']:5.1f} %  {c['asked']}"
            for c in release.manifest["charges"]
        ),
        f"  ledger   {ledger}, {left} left"
        + (" (made by this run, with its budget as the table's total)" if new else ""),
        f"  report   {out / REPORT}",
        *(f"  note     {note}" for note in release.manifest["notes"]),
    ]
    facts = {
        "release": str(out),
        "report": str(out / REPORT),
        "rows": len(release),
        "guarantee": promise,
        "chosen": [{"mechanism": chosen, "why": why} for chosen, why in _chosen(release)],
        "ledger": {"file": str(ledger), "left": left, "new": new},
        "notes": release.manifest["notes"],
    }
    _tell(options, facts, lines)


def _chosen(release: Release) -> list[tuple[str, str]]:
    """Give the mechanism that was chosen and why, where none was named."""
    told = release.manifest["mechanism"]
    return [(told["chosen"]["name"], told["why"])] if "why" in told else []


def ledger(options: argparse.Namespace) -> None:
    """Show a ledger, make one, or close a run in one."""
    from understudy.cli import ledger as accounts  # noqa: PLC0415  only this command keeps them

    accounts.run(options)


def _simulate(city: City, year: int, path: Path) -> None:
    engine = DuckDB()
    try:
        engine.write(city.year(year), path, types={})
    finally:
        engine.close()


def audit(options: argparse.Namespace) -> None:
    """Hold mechanisms against their promise."""
    # Only an audit needs what tests do.
    from understudy.cli import audit as auditing  # noqa: PLC0415

    found = auditing.tried(options)
    if options.json:
        print(json.dumps({"kept": True, "mechanisms": found}))
    else:
        auditing.show(found)


def recipes(options: argparse.Namespace) -> None:
    """List the recipes."""
    from understudy.cli import recipes as cooking  # noqa: PLC0415

    cooking.listed(options)


def evaluate(options: argparse.Namespace) -> None:
    """Hold synthetic rows against the private ones."""
    # Nothing else may look at both.
    from understudy.cli import evaluate as judging  # noqa: PLC0415

    judging.run(options)


def demo(options: argparse.Namespace) -> None:
    """Simulate a city, and take it from private table to release."""
    folder = Path(options.folder)
    check_target(folder)
    budget = Budget(epsilon=options.epsilon, delta=options.delta)
    if options.trips < 1:
        raise UsageError("--trips must be positive", got=options.trips)
    begun = time.monotonic()
    city = City(trips_per_year=options.trips, taxis=max(1, min(3000, options.trips // 100)))
    folder.mkdir(parents=True)
    public, private = folder / "public-2019.parquet", folder / "private-2020.parquet"
    with shown(quiet=options.json) as progress:
        for i, (year, path) in enumerate(((2019, public), (2020, private))):
            progress("simulating a city", i / 2)
            _simulate(city, year, path)
        progress("drafting a schema from the public year", 0)
        drafted = read_public(public)
        days = ("2020-01-01", "2020-12-31")
        schema = Schema.from_public(drafted, name="simulated-city", ids=("taxi_id",), days=days)
        (folder / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
        session = open_session(
            private=private,
            schema=schema,
            unit=Unit("taxi_id"),
            bounding=bounding_from_dict({"kind": "weights", "cap": _DEMO_CAP}),
            budget=budget,
            ledger=folder / "city.ledger",
        )
        mechanism = mechanism_from_dict({"name": "independent", "settings": {}})
        out = folder / "release"
        note = _note(private, out, "parquet")
        release = session.run(mechanism, progress=progress, note=note)
        _save(release, out, "parquet", session.ledger, progress)
    _tell_release(options, release, out, session.ledger, new=True)
    if not options.json:
        print(f"A simulated city, no real trips; {time.monotonic() - begun:.0f} s in all. Look at")
        print(f"  {out / REPORT}\n  understudy ledger {session.ledger}")
