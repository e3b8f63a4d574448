"""From a synthesis to a release: the manifest, and rows that are decoded when needed."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from understudy.budget import Charge, epsilon_of, resolve
from understudy.release.guarantee import guarantee
from understudy.release.release import Release
from understudy.release.rows import Decoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from understudy.budget import AnyUnit, Bounding, Budget
    from understudy.public import Batches, Synthesis
    from understudy.schema import Schema

NEAR_ONE = 0.01


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
) -> Release:
    """Make a release: write the manifest, and leave the rows to be decoded when needed."""
    batches, person = synthesis.batches, resolve(unit, schema)
    decoded = Decoded(batches, schema=schema, unit=person, within=synthesis.within, rng=rng)
    manifest = {
        "what": "synthetic rows made by Understudy; none of them is anybody's",
        "table": schema.name,
        "rows": batches.rows,
        "guarantee": guarantee(budget, unit=person, bounding=bounding),
        "mechanism": {**mechanism, **synthesis.details},
        "charges": [_charge(what, charge, budget) for what, charge in charges],
        "notes": [*synthesis.notes, *_warnings(batches, budget)],
        "ledger": ledger,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("understudy", "numpy", "duckdb")},
        },
    }
    return Release(
        schema, decoded, synthesis.measurements, manifest, synthesis.model, synthesis.merged
    )


def _charge(what: str, charge: Charge, budget: Budget) -> dict[str, Any]:
    grains = charge.grains(budget.currency)
    return {
        "asked": what,
        "share": grains / budget.grains,
        "epsilon_alone": epsilon_of(grains, budget.currency, budget.delta),
        "events": charge.to_dict(),
    }


def _warnings(batches: Batches, budget: Budget) -> list[str]:
    """Warn where δ times a noisy number of people is not far below 1."""
    people = batches.rows if batches.people is None else batches.people
    expected = people * budget.delta
    if expected <= NEAR_ONE:
        return []
    return [
        f"delta times the (noisy) number of people is {expected:.2g}: a delta of "
        f"{budget.delta:g} allows that many people to be given away entirely. Take delta "
        "far below 1 / (number of people)."
    ]
