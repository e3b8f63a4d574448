"""The synth command: a synthetic table from a private one."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.asking import ask_determined, in_two, without_asked
from understudy.budget import Budget
from understudy.cli import arguments
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.cli.runfile import with_runfile
from understudy.engine import check_apart
from understudy.engine.two_tables import lasting_tables
from understudy.errors import UnderstudyError
from understudy.ledger import Ledger, describe_left
from understudy.opening import I_KNOW, dangers, refuse, screening_of
from understudy.public import PublicTable
from understudy.release import Release, check_target
from understudy.release.guarantee import delta_words
from understudy.schema import Schema
from understudy.session import open_session

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from understudy.public import Progress
    from understudy.release import Format
    from understudy.session import Session
    from understudy.synth.adagrid import AdaGrid

REPORT = "report.html"


def run(options: argparse.Namespace) -> None:
    """Make a synthetic table from a private one."""
    with_runfile(options)
    arguments.check_synth(options)
    if options.recipe is not None:
        # Contests are imported only for a recipe.
        from understudy.cli.recipes import run_one  # noqa: PLC0415

        run_one(options)
        return
    out = Path(options.out)
    form: Format = options.format or "parquet"
    check_target(out)
    mechanism = arguments.chosen(options)
    chooser = arguments.chooser(options, mechanism)
    note = _note(arguments.private(options), out, form, options.public)
    with shown(quiet=options.json or options.quiet) as progress:
        session = opened(options, chooser, progress)
        new = not session.ledger.exists()
        release = session.run(mechanism, progress=progress, note=note)
        save(release, out, form, session.ledger, progress)
    tell_release(options, release, out, session.ledger, new=new)


def opened(
    options: argparse.Namespace,
    chooser: AdaGrid | None,
    progress: Progress,
    *,
    rehearsing: bool = False,
) -> Session:
    """Open the session of `synth`; where the cap is chosen, it is chosen from public rows alone.

    A budget that protects hardly anyone is refused, unless the session is only rehearsed.
    """
    i_know = options.i_know or rehearsing
    private = arguments.private(options)
    check_apart(private, options.public)
    declared = Schema.read(options.schema)
    schema = without_asked(declared)
    unit = arguments.unit(options.unit, options.null_ids)
    known = arguments.known(options)
    budget = Budget(epsilon=options.epsilon, delta=options.delta)
    refuse(budget, people=None, i_know=i_know, how=I_KNOW)
    public = None
    if options.public is not None and (chooser is not None or not rehearsing):
        progress("reading the public table", 0)
        public = PublicTable.read(options.public, schema=schema, unit=unit.resolved(schema))
        refuse(budget, people=public.people_count, i_know=i_know, how=I_KNOW)
    if chooser is None:
        bounding = arguments.bounding(options.bounding)
    else:
        assert public is not None  # noqa: S101  the chooser was refused without one
        progress("choosing the cap", 0)
        bounding = chooser.weights(public, budget=budget)
    session = open_session(
        private=private,
        public=public,
        schema=schema,
        unit=unit,
        bounding=bounding,
        budget=budget,
        ledger=options.ledger,
        known=known,
        screening=screening_of(options.screening or 0.0),
    )
    if schema is declared or rehearsing:
        return session
    return _asked(session, declared, options.public, progress)


def _asked(session: Session, schema: Schema, public: str | None, progress: Progress) -> Session:
    """Ask what determines what first, on a part of the budget; the session has the rest."""
    first, rest = in_two(session.budget)
    progress("asking what determines what", 0)
    found = ask_determined(
        private=session.private,
        schema=schema,
        unit=session.unit,
        budget=first,
        ledger=session.ledger,
        total=session.budget,
        public=public,
        progress=progress,
    )
    # The public table is read again: it has other columns now.
    return replace(session, schema=found, budget=rest, total=session.budget, public=public)


def _note(private: object, out: Path, form: Format, public: object = None) -> dict[str, Any]:
    """Return what `resume` needs to know, from whatever folder it is called."""
    note = {"private": lasting_tables(private), "out": str(out.resolve()), "format": form}
    return note if public is None else note | {"public": lasting_tables(public)}


def save(release: Release, out: Path, form: Format, ledger: Path, progress: Progress) -> None:
    """Write a release and its report; on failure, say that its answers are not lost."""
    from understudy.pages import report as write  # noqa: PLC0415  imported only when needed

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
            hint=f"no answer is lost: 'understudy resume {ledger} --out FOLDER' writes the release",
        )
    if failed is not None:
        raise failed


def costs(charges: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what each query cost; several in a row that cost the same are one line.

    >>> look = [{"share": 0.01, "asked": f"people by most common {name}"} for name in "abcd"]
    >>> list(costs([*look, {"share": 0.5, "asked": "6 marginals"}]))
    ['  4.0 %  people by most common a, and 3 queries like it', ' 50.0 %  6 marginals']
    """

    def kind(charge: dict[str, Any]) -> tuple[float, str]:
        return round(charge["share"], 6), charge["asked"].rpartition(" ")[0]

    for _, alike in groupby(charges, key=kind):
        first, *others = alike
        if len(others) < 2:
            yield from (f"{100 * c['share']:5.1f} %  {c['asked']}" for c in (first, *others))
        else:
            share = first["share"] * (1 + len(others))
            yield f"{100 * share:5.1f} %  {first['asked']}, and {len(others)} queries like it"


def tell_release(
    options: argparse.Namespace, release: Release, out: Path, ledger: Path, *, new: bool
) -> None:
    """Print what was made, what it promises, what it cost, and what is left."""
    held = Ledger(ledger)
    left = describe_left(held.state())
    held.close()
    promise = release.manifest["guarantee"]
    told = Budget(epsilon=promise["epsilon"], delta=promise["delta"])
    warnings = list(dangers(told, people=None))
    quality = release.quality
    lines = [
        f"{_made(release)} in {out}",
        f"  promise  epsilon {promise['epsilon']:g}, "
        f"delta {delta_words(promise['delta'], promise.get('failure', 0.0))}, "
        f"for every {promise['unit']} with all of its rows",
        *(f"  signal   {sentence}" for sentence in quality.sentences()),
        *(f"  chose    {chosen}: {why}" for chosen, why in _chosen(release)),
        *(f"  known    {each['says']}" for each in release.manifest.get("known", ())),
        *(f"  cost     {cost}" for cost in costs(release.manifest["charges"])),
        f"  ledger   {ledger}, {left} left"
        + (" (created by this run, with its budget as the table's total)" if new else ""),
        f"  report   {out / REPORT}",
        *(f"  note     {note}" for note in release.manifest["notes"]),
        *(f"  warning  {warning}" for warning in warnings),
    ]
    facts = {
        "release": str(out),
        "report": str(out / REPORT),
        "rows": len(release),
        **({"people": release.manifest["people"]} if release.two_tables else {}),
        "guarantee": promise,
        "quality": quality.facts(),
        "chosen": [{"mechanism": chosen, "why": why} for chosen, why in _chosen(release)],
        "ledger": {"file": str(ledger), "left": left, "new": new},
        "notes": release.manifest["notes"],
        "warnings": warnings,
    }
    tell(options, facts, lines)


def _made(release: Release) -> str:
    rows = f"{len(release):,} synthetic rows"
    people = f"{release.manifest['people']:,} synthetic people" if release.two_tables else ""
    return f"{people} and {rows}" if people else rows


def _chosen(release: Release) -> list[tuple[str, str]]:
    """Return the mechanism that `Auto` chose and why, if it was used."""
    told = release.manifest["mechanism"]
    return [(told["chosen"]["name"], told["why"])] if "why" in told else []
