"""Prior: what a public table adds to Pairs and Lives, beside AdaGrid with the same one."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _figures import FIGURES, apart, figure, show
from _people import chicago, planes
from people import pair_error

import understudy as us
from understudy.evaluate import read_private
from understudy.public import PublicTable
from understudy.synth.measure.population import Crowd
from understudy.synth.measure.public_bias import PublicBias

if TYPE_CHECKING:
    from collections.abc import Callable

    from understudy.schema import Schema
    from understudy.synth import Mechanism

REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "3"))
EPSILONS = (1.0, 10.0)
CAPS = (3, 10, 30)
"""The rows that people are clipped to, where nothing is noisy."""
TABLES: dict[str, Callable[[], Any]] = {
    "planes": lambda: planes(weeks=False),
    "plane-weeks": lambda: planes(weeks=True),
    "chicago": chicago,
}
OWN = {"planes": "carrier", "plane-weeks": "carrier", "chicago": "company"}
"""What is taken to be a person's own, for Lives."""


def compared(name: str, epsilon: float) -> list[dict[str, Any]]:
    """Give the error of pairs of a table, with its public table and without."""
    case = TABLES[name]()
    people = case.schema.with_columns(replace(case.schema[OWN[name]], of="person"))
    real = read_private(case.private, schema=case.schema, unit=case.unit)

    def error(mechanism: Mechanism, schema: Schema, public: Any) -> float:
        """Run some times; give the mean error."""
        found = []
        for _ in range(REPEATS):
            with tempfile.TemporaryDirectory() as folder:
                release = us.open(
                    private=case.private,
                    public=public,
                    schema=schema,
                    unit=case.unit,
                    bounding=us.Norm(),
                    budget=us.Budget(epsilon=epsilon, delta=1e-6),
                    ledger=Path(folder) / "bench.ledger",
                ).run(mechanism)
                codes, _ = schema.released().encode(release.columns)
            found.append(pair_error(real.codes, codes, case.schema.domain))
        return float(np.mean(found))

    work = f"{name}, epsilon {epsilon:g}"
    grid = error(us.AdaGrid(), case.schema, case.public)
    figure(f"{work}: AdaGrid", grid)
    for mechanism, schema in ((us.Pairs(), case.schema), (us.Lives(), people)):
        alone, helped = (error(mechanism, schema, public) for public in (None, case.public))
        figure(f"{work}: {mechanism.name} without the public table", alone)
        figure(f"{work}: {mechanism.name}", helped)
        ratio = helped / min(alone, grid)
        told = f"{work}: {mechanism.name} to the better of AdaGrid and no public table"
        figure(told, ratio, "<= 1", meets=ratio <= 1)
    return list(FIGURES)


def clipped(name: str) -> list[dict[str, Any]]:
    """Give how far columns are off without noise, their people clipped, and once corrected."""
    case = TABLES[name]()
    public, private = (
        PublicTable.read(rows, schema=case.schema, unit=case.unit)
        for rows in (case.public, case.private)
    )
    factor = len(private) * len(public.sizes()) / (len(private.sizes()) * len(public))
    crowd = Crowd(rows=None, sizes=None, typical=1, bounding=us.Weights(1))
    bias = PublicBias(public=public, merged=public, factor=factor, crowd=crowd)
    for cap in CAPS:
        left = np.minimum(1.0, cap / private.sizes())[private.known_people("who is clipped")]
        off: list[float] = []
        corrected: list[float] = []
        for column, size in case.schema.domain.items():
            true = private.marginal((column,)) / len(private)
            found = np.bincount(private.codes[column], left, size).astype(np.float64)
            both = found, found / bias.over((column,), bias.capped(cap), found)
            for each, away in zip(both, (off, corrected), strict=True):
                away.append(0.5 * float(np.abs(each / each.sum() - true).sum()))
        figure(f"{name}: columns, people clipped to {cap} rows", float(np.mean(off)))
        figure(f"{name}: columns, that corrected as public people show", float(np.mean(corrected)))
    return list(FIGURES)


def main() -> None:
    """Compare the tables named, or all of them."""
    for name in sys.argv[1:] or TABLES:
        FIGURES.extend(apart(clipped, name))
        for epsilon in EPSILONS:
            FIGURES.extend(apart(compared, name, epsilon))
    show()


if __name__ == "__main__":
    main()
