"""From a synthesis to a release: the manifest, and rows that are decoded when needed."""

from __future__ import annotations

import platform
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from understudy.budget import Charge, epsilon_of, failure_of, resolve
from understudy.release.cells import unseen_notes
from understudy.release.constraints import constraint_facts
from understudy.release.contents import BY_PERSON
from understudy.release.guarantee import guarantee
from understudy.release.known import totals_of, with_first_rows, with_known_people, with_known_rows
from understudy.release.known_facts import known_facts
from understudy.release.people import Apart, Joined, lines_of
from understudy.release.release import Release
from understudy.release.rows import Decoded, ids_of
from understudy.release.unique import unique_notes, with_unique

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from understudy.budget import AnyUnit, Bounding, Budget, ResolvedUnit
    from understudy.door import Measurement
    from understudy.public import Batches, Synthesis
    from understudy.release.known import Totals
    from understudy.schema import Schema
    from understudy.schema.known import Known

NEAR_ONE = 0.01
CLEAR, HARDLY = 10.0, 0.02
"""How many times its noise a column's rows are, and the share of them that have a value, where it
is said that hardly any has one."""
GIVEN_AWAY = "delta times the (noisy) number of people is"
"""How the note begins that δ is large for as many people as a release has."""
ONLY_WITH_ROWS = (
    "The mechanism drew rows, not people: every person of the table of people has rows, and in "
    "their own columns what the first of these has. Lives also draws people without rows."
)


def build(
    synthesis: Synthesis,
    *,
    schema: Schema,
    unit: AnyUnit,
    bounding: Bounding,
    budget: Budget,
    mechanism: dict[str, Any],
    charges: Sequence[tuple[str, Charge]],
    ledger: dict[str, Any],
    rng: np.random.Generator,
    two_tables: bool = False,
    promised: Budget | None = None,
    discoveries: Sequence[int] = (),
    known: Sequence[Known] = (),
) -> Release:
    """Make a release: write the manifest, and leave the rows to be decoded when needed.

    People's own columns are those of the synthesis, or else what their first rows have.
    What is promised is the run's budget, or more, where ``discoveries`` told what the schema says.
    """
    person = resolve(unit, schema)
    totals = totals_of(schema, person, known, two_tables=two_tables)
    batches, lines, notes = _rows_and_people(synthesis, totals, person, rng, two_tables=two_tables)
    decode = partial(Decoded, schema=schema, unit=person, within=synthesis.within, rng=rng)
    decoded: Decoded | Joined = decode(batches)
    people = batches.rows if batches.people is None else batches.people
    if lines is not None:
        decoded = (Apart if two_tables else Joined).of(batches, lines, schema, decode)
        people = lines.rows
    manifest = {
        "what": "synthetic rows made by Understudy; none of them is anybody's",
        "table": schema.name,
        "rows": batches.rows,
        **({"drawn": BY_PERSON} if synthesis.by_person else {}),
        **({"people": people} if two_tables else {}),
        "guarantee": guarantee(promised or budget, unit=person, bounding=bounding),
        "mechanism": {**mechanism, **synthesis.details},
        **({"constraints": constraint_facts(schema)} if schema.constraints else {}),
        **({"known": known_facts(known)} if known else {}),
        "charges": [_charge(what, charge, budget) for what, charge in charges],
        "notes": [
            *synthesis.notes,
            *unseen_notes(synthesis.details),
            *_warnings(people, promised or budget),
            *_discovered(discoveries),
            *_left_out(schema, person, synthesis.measurements),
            *notes,
            *([ONLY_WITH_ROWS] if two_tables and synthesis.people is None else []),
        ],
        "ledger": ledger,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("understudy", "numpy", "duckdb")},
        },
    }
    # A model of no rows at all cannot draw those that are known.
    model = synthesis.model if synthesis.batches.rows or not totals else None
    more = (model, synthesis.merged, synthesis.documents)
    return Release(schema, decoded, synthesis.measurements, manifest, *more)


def _rows_and_people(
    synthesis: Synthesis,
    totals: Totals,
    unit: ResolvedUnit,
    rng: np.random.Generator,
    *,
    two_tables: bool,
) -> tuple[Batches, Batches | None, list[str]]:
    """Return rows that are unique where they should be and follow what is known; people; notes."""
    own, schema = synthesis.people, totals.schema
    drawn = 0 if own is None else len(next(iter(own.values())))
    batches = with_first_rows(synthesis.batches, totals, rng, people=drawn)
    lines = None
    if two_tables or (ids_of(schema, unit) and (own is not None or schema.own)):
        lines = lines_of(batches, schema, own if drawn or not totals else None)
    batches, lines = with_known_people(batches, lines, totals, rng, two_tables=two_tables)
    before, batches = batches.rows, with_unique(batches, lines, schema, rng)
    notes = unique_notes(before, batches.rows)
    return with_known_rows(batches, lines, totals, rng), lines, notes


def _charge(what: str, charge: Charge, budget: Budget) -> dict[str, Any]:
    grains = charge.grains(budget.currency)
    return {
        "asked": what,
        "share": grains / budget.grains,
        "epsilon_alone": epsilon_of(grains, budget.currency, budget.gaussian_delta),
        **({"failure": failure_of(charge.failure)} if charge.failure else {}),
        "events": charge.to_dict(),
    }


def _discovered(runs: Sequence[int]) -> list[str]:
    """Say that the promise covers the discoveries that told what the schema says."""
    if not runs:
        return []
    numbers = " and ".join(", ".join(map(str, runs)).rsplit(", ", 1))
    return [
        f"The schema may hold what run {numbers} of the ledger discovered: the promise is that of "
        "this run and that one together, and is more than this run's own budget."
    ]


def _left_out(schema: Schema, unit: ResolvedUnit, measured: Sequence[Measurement]) -> list[str]:
    """Say which declared columns are not in the rows, or empty, and if people are not numbered."""
    notes = _unread(schema, measured)
    if schema.texts:
        names = ", ".join(column.name for column in schema.texts)
        notes.append(
            f"Not released, since the schema declares no values of them (kind text): {names}."
        )
    if unit.parts and not ids_of(schema, unit):
        names = ", ".join(part.column for part in unit.parts)
        notes.append(
            f'The unit ({names}) is modelled like other columns, since none of it has kind = "id": '
            "rows do not tell which of them belong to one person."
        )
    return notes


def _unread(schema: Schema, measured: Sequence[Measurement]) -> list[str]:
    """Say which columns have hardly a value that the schema reads, by what was measured."""
    whole = {part: stamp.name for stamp in schema.timestamps for part in stamp.part_names}
    found: dict[str, None] = {}
    for m in measured:
        name = m.clique[0] if len(m.clique) == 1 else ""
        if len(m.values) != schema.domain.get(name) or m.rows is not None:
            continue
        total, read = float(m.values.sum()), float(m.values[: schema[name].values_count].sum())
        if total > CLEAR * m.scale * len(m.values) ** 0.5 and read < HARDLY * total:
            found[whole.get(name, name)] = None
    if not found:
        return []
    return [
        f"Hardly any row has a value of {', '.join(found)} that the schema reads: nearly all are "
        "missing, or other. If the private table has values there, compare their format and range "
        "with the schema's."
    ]


def _warnings(people: int, budget: Budget) -> list[str]:
    """Warn where δ times a noisy number of people is not far below 1."""
    expected = people * budget.delta
    if expected <= NEAR_ONE:
        return []
    return [
        f"{GIVEN_AWAY} {expected:.2g}: a delta of "
        f"{budget.delta:g} allows that many people to be given away entirely. Take delta "
        "far below 1 / (number of people)."
    ]
