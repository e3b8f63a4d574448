"""From a synthesis to a release: decode, give ids, write the manifest."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import Charge, epsilon_of
from understudy.release.guarantee import guarantee
from understudy.release.release import Release
from understudy.schema import Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.budget import Bounding, Budget, Unit
    from understudy.public import Synthesis, Within
    from understudy.schema import Array, Codes, Modelled, Schema

NEAR_ONE = 0.01
AT_ONCE = 1_000_000


def build(
    synthesis: Synthesis,
    *,
    schema: Schema,
    unit: Unit,
    bounding: Bounding,
    budget: Budget,
    mechanism: dict[str, Any],
    charges: Sequence[tuple[str, Charge]],
    ledger: dict[str, Any],
    rng: np.random.Generator,
) -> Release:
    """Decode a synthesis and say in a manifest what it is and what it cost.

    The synthesis is used up: a column's codes go when it is decoded, for room.
    """
    columns = ids(synthesis, schema=schema, unit=unit)
    for column in schema.released_columns:
        if isinstance(column, Split):
            columns[column.name] = _joined(column, synthesis, rng)
        else:
            codes, within = synthesis.codes.pop(column.name), synthesis.within.get(column.name)
            columns[column.name] = _decoded(column, codes, within, rng)
    rows = len(next(iter(columns.values())))
    manifest = {
        "what": "synthetic rows made by Understudy; none of them is anybody's",
        "table": schema.name,
        "rows": rows,
        "guarantee": guarantee(budget, unit=unit, bounding=bounding),
        "mechanism": {**mechanism, **synthesis.details},
        "charges": [_charge(what, charge, budget) for what, charge in charges],
        "notes": [*synthesis.notes, *_warnings(synthesis, rows, budget)],
        "ledger": ledger,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("understudy", "numpy", "scipy", "duckdb")},
        },
    }
    return Release(schema, columns, synthesis.measurements, manifest)


def _decoded(
    column: Modelled, codes: Codes, within: Within | None, rng: np.random.Generator
) -> Array:
    """Decode a column, so many rows at a time."""
    parts = []
    for start in range(0, max(len(codes), 1), AT_ONCE):
        part = codes[start : start + AT_ONCE]
        drawn = column.decode(part, rng)
        parts.append(drawn if within is None else within.redraw(drawn, part, rng))
    return np.concatenate(parts)


def _joined(split: Split, synthesis: Synthesis, rng: np.random.Generator) -> Array:
    """Decode the two parts of a split, and put them together."""
    steps, rest = split.modelled
    high, low = synthesis.codes.pop(steps.name), synthesis.codes.pop(rest.name)
    drawn = _decoded(steps, high, synthesis.within.get(steps.name), rng)
    return split.joined(drawn, high, low, rng)


def ids(synthesis: Synthesis, *, schema: Schema, unit: Unit) -> dict[str, Array]:
    """Give every synthetic person an id of their own, in the unit's columns that are ids."""
    if synthesis.people is None:
        return {}
    declared = {c.name: c for c in schema.ids}
    modelled = {c.name for c in schema.modelled}
    named = [n for n in unit.columns if n not in modelled and ":" not in n]
    out = {}
    for name in named:
        first = declared[name].min if name in declared else None
        out[name] = synthesis.people + (1 if first is None else first)
    return out


def _charge(what: str, charge: Charge, budget: Budget) -> dict[str, Any]:
    grains = charge.grains(budget.currency)
    return {
        "asked": what,
        "share": grains / budget.grains,
        "epsilon_alone": epsilon_of(grains, budget.currency, budget.delta),
        "events": charge.to_dict(),
    }


def _warnings(synthesis: Synthesis, rows: int, budget: Budget) -> list[str]:
    """Warn where δ times a noisy number of people is not far below 1."""
    known = synthesis.people
    people = rows if known is None else int(known.max(initial=-1)) + 1
    expected = people * budget.delta
    if expected <= NEAR_ONE:
        return []
    return [
        f"delta times the (noisy) number of people is {expected:.2g}: a delta of "
        f"{budget.delta:g} allows that many people to be given away entirely. Take delta "
        "far below 1 / (number of people)."
    ]
