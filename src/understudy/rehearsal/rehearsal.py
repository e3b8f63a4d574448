"""A rehearsal: a run is validated and priced, and nothing is spent.

Of the private table only the column names are read.  The price comes from a rehearsal: the same
mechanism with the same budget on the public table, as if it were the private one, with a ledger
that is thrown away.  Where no public table identifies the units, it is on people made up from
what is declared of them; where nothing is, on rows that cannot tell how good a bounding is.
"""

from __future__ import annotations

import math
import os
import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import Unit
from understudy.errors import BudgetError
from understudy.evaluate import METRICS, compare, read_private, read_synthetic
from understudy.ledger import Ledger, describe_left
from understudy.opening import I_KNOW, bounding_words, dangers, refuse
from understudy.pages.page import figure
from understudy.public import moved
from understudy.rehearsal.stage import Stage
from understudy.release import GIVEN_AWAY
from understudy.release.guarantee import delta_words, whole_person, whole_person_words
from understudy.release.known_facts import known_facts
from understudy.schema.constraints import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.evaluate import Coded
    from understudy.public import Progress
    from understudy.rehearsal.stage import Crowd
    from understudy.release import Release
    from understudy.schema import Schema
    from understudy.session import Session
    from understudy.synth import Mechanism

LARGE = 2**30
"""A model of more bytes than this gets a warning."""
WORST = 3


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """What a run would measure, how noisy that is, and how good its rows are: print it.

    ``facts`` has the same as plain data.
    """

    facts: dict[str, Any]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        """Return the lines that `understudy check` prints."""
        return "\n".join(" ".join(line.splitlines()) for line in self.lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show the same in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"


def rehearse(
    session: Session, mechanism: Mechanism, crowd: Crowd | None, progress: Progress
) -> Rehearsal:
    """Validate a run, rehearse it, and return what it would produce; nothing is spent."""
    progress("reading the private table's header", 0)
    session.check_columns()
    stage = Stage.of(session, crowd, progress)
    release, errors = _rehearsed(stage, session, mechanism, progress)
    others = {}
    if stage.crowd is not None and not session.unit.is_row:
        for bounding in stage.crowd.boundings(session):
            _, found = _rehearsed(stage, replace(session, bounding=bounding), mechanism, progress)
            others[bounding_words(bounding)] = _mean(found)
    real = _public_rows(stage, session)
    chosen = release.manifest["mechanism"].get("chosen", {"name": mechanism.name})
    facts = {
        "rehearsed_on": stage.told,
        "people": stage.people,
        "mechanism": chosen["name"],
        "marginals": list(_marginals(release)),
        "model_bytes": _bytes(release),
        "expected_pair_error": _mean(errors),
        "boundings": others,
        "worst_pairs": [
            {"columns": list(pair), "error": errors[pair]}
            for pair in sorted(errors, key=lambda pair: -errors[pair])[:WORST]
        ],
        "quality": release.quality.facts(),
        "signal": list(release.quality.sentences()),
        "constraints": _constraints(session.schema, real),
        "known": [each["says"] for each in known_facts(session.known)],
        "crowd": release.manifest["mechanism"].get("crowd"),
        "ledger": _ledger(session),
        "warnings": [*_warnings(session, stage.people, release), *stage.warnings(session)],
        "notes": _notes(release),
    }
    if session.person.is_part:
        facts["whole_person"] = whole_person(session.budget, session.person)
    return Rehearsal(facts, tuple(_lines(facts, session)))


def _rehearsed(
    stage: Stage, session: Session, mechanism: Mechanism, progress: Progress
) -> tuple[Release, dict[tuple[str, str], float]]:
    """Run the mechanism on the stage, and compare its rows with the stage's own."""
    with tempfile.TemporaryDirectory(prefix="understudy-check-") as folder:
        release = stage.rehearsed(session, mechanism, Path(folder) / "ledger", progress)
        errors: dict[tuple[str, str], float] = {}
        if stage.people is not None:
            release.save(Path(folder) / "release", progress=progress)
            errors = _pair_errors(stage, session, Path(folder) / "release", progress)
    return release, errors


def _mean(errors: dict[tuple[str, str], float]) -> float | None:
    return float(np.mean(list(errors.values()))) if errors else None


def _marginals(release: Release) -> Iterator[dict[str, Any]]:
    """Yield each measured marginal with its noise per cell and the error due to noise alone."""
    laplace = release.manifest["guarantee"]["delta"] == 0
    rows = max(1, release.manifest["rows"])
    for measured in release.measurements:
        error = measured.scale * (math.sqrt(2) if laplace else 1)
        # Total variation due to noise: half of the mean absolute noise of every cell.
        typical = measured.scale * (1 if laplace else math.sqrt(2 / math.pi))
        yield {
            "columns": list(measured.clique),
            "counted": measured.counted,
            "cells": len(measured.values),
            "standard_error": error,
            "error_by_noise": min(1.0, len(measured.values) * typical / rows / 2),
        }


def _bytes(release: Release) -> int:
    if release.model is None:
        return 0
    return sum(table.nbytes for table in release.model.tables.values())


def _public_rows(stage: Stage, session: Session) -> Coded | None:
    """Read the public rows, those that break a constraint too."""
    if session.public is None or not session.schema.constraints:
        return None
    known = stage.people is not None and stage.crowd is None
    schema = stage.schema if known else moved(session.public, session.schema)
    unit = session.unit if known else Unit.each_row()
    return read_private(session.public, schema=schema, unit=unit)


def _constraints(schema: Schema, real: Coded | None) -> list[dict[str, Any]]:
    """Return what each constraint says, and how many public rows break it, None if unknown."""
    broken = {} if real is None else real.broken
    return [
        {
            "name": c.label,
            "says": sentence(c),
            "public_rows": None if real is None else real.rows,
            "broken": int(broken[c.label].sum()) if c.label in broken else None,
        }
        for c in schema.constraints
    ]


def _pair_errors(
    stage: Stage, session: Session, folder: Path, progress: Progress
) -> dict[tuple[str, str], float]:
    """Compare the rehearsal's rows with the public table."""
    real = read_private(stage.data, schema=stage.schema, unit=session.unit)
    made = read_synthetic(folder, schema=stage.schema, unit=session.unit).among(real.sizes)
    only = {"pairs": METRICS["pairs"]}
    found: dict[tuple[str, str], float] = compare(
        real, made, metrics=only, progress=progress
    ).synthetic["pairs"]
    return found


def _ledger(session: Session) -> str:
    if not os.path.exists(session.ledger):  # noqa: PTH110  no name makes it fail
        return (
            f"{session.ledger} does not exist yet; this run's budget would become the table's total"
        )
    with closing(Ledger(session.ledger)) as held:
        state = held.state()
    if state.name is not None and (state.name, state.unit) != (session.schema.name, session.unit):
        return f"{session.ledger} BELONGS TO ANOTHER TABLE: {state.name}, unit {state.unit}"
    budget = session.budget
    enough = state.currency == budget.currency and budget.grains <= state.left
    enough = enough and budget.failure_grains <= state.failure_left
    told = f"{session.ledger} has {describe_left(state)} left" + (
        ", enough for this run" if enough else ": NOT ENOUGH FOR THIS RUN"
    )
    if any(run.discovers for run in state.runs.values()):
        told += "; the release will promise this run and the discovery of its schema together"
    return told


def _warnings(session: Session, people: int | None, release: Release) -> Iterator[str]:
    budget, unit = session.budget, session.person
    yield from dangers(budget, people=people)
    try:
        refuse(budget, people=people, i_know=False, how=I_KNOW)
    except BudgetError as error:
        yield f"'understudy synth' refuses this: {error}"
    if unit.is_row and session.schema.ids:
        names = ", ".join(c.name for c in session.schema.ids)
        yield (
            f"each row is treated as one person, but the schema has ids ({names}): a person with "
            "several rows has row-level protection only. Should the unit be the id?"
        )
    finer = [name for name in unit.columns if ":" in name or name in session.schema.domain]
    if finer:
        yield (
            f"the unit is finer than a person ({unit}): a person with several units is protected "
            "in each of them, and less in all of them together."
        )
    if _bytes(release) > LARGE:
        yield f"the model takes {_bytes(release) / 2**30:.1f} GB: choose smaller cliques."


def _notes(release: Release) -> list[str]:
    """Return the notes but for that on δ times people: a warning has it where they are known."""
    return [note for note in release.manifest["notes"] if not note.startswith(GIVEN_AWAY)]


def _lines(facts: dict[str, Any], session: Session) -> list[str]:
    """Return the facts as lines of text."""
    budget, unit = session.budget, session.person
    rows = [
        (
            " × ".join(m["columns"]) or "(all)",
            f"{m['cells']:,}",
            figure(m["standard_error"], 3),
            f"{100 * m['error_by_noise']:.1f} %",
        )
        for m in facts["marginals"]
    ]
    head = ("marginal", "cells", "noise per cell", "error by noise alone")
    wide = [max(len(row[i]) for row in (head, *rows)) for i in range(4)]
    table = [
        "  " + row[0].ljust(wide[0]) + "".join(f"  {row[i]:>{wide[i]}}" for i in (1, 2, 3))
        for row in (head, *rows)
    ]
    return [
        "The private table has the columns of the schema and the unit; none of its rows was read.",
        f"Rehearsed on {facts['rehearsed_on']}, by {facts['mechanism']}:",
        *table,
        f"  model    {facts['model_bytes'] / 1e6:,.1f} MB",
        *(f"  signal   {sentence}" for sentence in facts["signal"]),
        *_errors(facts),
        *_boundings(facts, session),
        *(f"  rule     {line}" for line in map(_rule, facts["constraints"])),
        *(f"  known    {says}" for says in facts["known"]),
        *_crowd(facts["crowd"]),
        f"  promise  epsilon {budget.epsilon:g}, delta "
        f"{delta_words(budget.delta, budget.failure)}, for every "
        f"{unit} with all of its rows; bounded by {session.bounding}",
        *([f"  person   {whole_person_words(budget, unit)}"] if unit.is_part else []),
        f"  ledger   {facts['ledger']}",
        *(f"  note     {note}" for note in facts["notes"]),
        *(f"  warning  {warning}" for warning in facts["warnings"]),
        "Nothing was spent. On the private table choices may differ; the noise is the same.",
    ]


def _rule(constraint: dict[str, Any]) -> str:
    """Say how many public rows break a constraint."""
    said, broken, rows = constraint["says"], constraint["broken"], constraint["public_rows"]
    told = "no public rows to compare with" if rows is None else "the public table cannot tell"
    if broken is not None:
        told = f"{broken:,} of {rows:,} public rows break it"
    return f"{constraint['name']}: {said} {told}"


def _crowd(crowd: dict[str, Any] | None) -> list[str]:
    """Say how precisely the number of people, by their number of rows, will be known."""
    if crowd is None:
        return []
    told = [
        f"total within {1.96 * crowd['people_standard_error']:,.0f}",
        f"each size class within {1.96 * crowd['class_standard_error']:,.0f}",
    ]
    return [f"  people   {', '.join(told)}, at 95 %"]


def _errors(facts: dict[str, Any]) -> list[str]:
    """Say how far the rehearsed rows are from the public ones."""
    if facts["expected_pair_error"] is None:
        return []
    worst = [f"{' × '.join(p['columns'])} ({p['error']:.2f})" for p in facts["worst_pairs"]]
    mean = facts["expected_pair_error"]
    return [
        f"  error    {mean:.3f} of a pair's rows are in the wrong cell, on average; worst: "
        + ", ".join(worst)
    ]


def _boundings(facts: dict[str, Any], session: Session) -> list[str]:
    """Compare contribution boundings, where people were made up for it."""
    if not facts["boundings"]:
        return []
    mine = {bounding_words(session.bounding): facts["expected_pair_error"]}
    ranked = sorted((facts["boundings"] | mine).items(), key=lambda each: each[1])
    told = ", ".join(f"{bounding} {error:.3f}" for bounding, error in ranked)
    return [f"  compared {told}: that error by bounding, for people like these"]
