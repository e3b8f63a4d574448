"""Prior: what a public table adds to Pairs and Lives, beside AdaGrid with the same one."""

from __future__ import annotations

import itertools
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from understudy.schema import Schema
    from understudy.synth import Mechanism

REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "3"))
EPSILONS = (1.0, 10.0)
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


def main() -> None:
    """Compare the tables named, or all of them."""
    for name, epsilon in itertools.product(sys.argv[1:] or TABLES, EPSILONS):
        FIGURES.extend(apart(compared, name, epsilon))
    show()


if __name__ == "__main__":
    main()
