"""Intervals: how often 95 % intervals hold, of counts, of a regression and by replicates."""

from __future__ import annotations

import itertools
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _figures import FIGURES, apart, figure, show
from _panels import PANELS, Panel, skewed
from _people import chicago, planes
from lives import panel

import understudy as us
from understudy.evaluate import read_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from understudy.evaluate import Coded
    from understudy.schema import Schema
    from understudy.synth import Mechanism

    Floats = NDArray[np.float64]

REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "40"))
REGRESSIONS = int(os.environ.get("UNDERSTUDY_BENCH_REGRESSIONS", "10"))
REPLICATES = 50
PANELS_REPLICATED, FEWEST = int(os.environ.get("UNDERSTUDY_BENCH_REPLICATED", "3")), 20
EPSILONS = (1.0, 10.0)
PUBLIC: dict[str, Callable[[], Any]] = {
    "planes with public": lambda: planes(weeks=False).public,
    "chicago with public": lambda: chicago().public,
}
PRIVATE = PANELS | {"skewed": skewed}
TABLES = ("planes", "chicago", "adult", "clinic", "skewed", *PUBLIC)
LEAST, MOST = 0.93, 0.98
LONGEST = 1.5
REGRESSED = 0.9
OUTCOME = "income>50K"
FEATURES = ("age", "education-num", "hours-per-week", "sex")
NAMED = us.AIM(workload=tuple((p, 1.0) for p in itertools.combinations((*FEATURES, OUTCOME), 2)))
"""The pairs of columns that the regression is about, named before the run."""


def released(
    panel: Panel, epsilon: float, mechanism: Mechanism | None = None, public: Any = None
) -> tuple[us.Release, Coded]:
    """Make a release of a table, without a public one or with it, and give the real table too."""
    with tempfile.TemporaryDirectory() as folder:
        release = us.open(
            private=panel.data,
            public=public,
            schema=panel.schema,
            unit=panel.unit,
            bounding=us.Weights(1) if panel.unit.is_row else us.Norm(),
            budget=us.Budget(epsilon=epsilon, delta=1e-6),
            ledger=Path(folder) / "bench.ledger",
        ).run(mechanism or us.Auto())
    real = read_private(panel.data, schema=panel.schema, unit=panel.unit)
    return release, real


def truth(found: us.Estimate, real: Coded, schema: Schema) -> Floats:
    """Count the real rows of every cell of an estimate."""
    sizes, places = [], []
    for name, labels in found.labels.items():
        own = {label: code for code, label in enumerate(schema[name].labels())}
        groups = (found.groups or {}).get(name, {})
        numbers = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        part = np.full(schema.domain[name] + 1, -1)
        for label, number in numbers.items():
            part[[own[value] for value in groups.get(label, (label,))]] = number
        sizes.append(len(numbers))
        places.append((part[real.codes[name]], np.array([numbers[label] for label in labels])))
    inside = np.logical_and.reduce([rows >= 0 for rows, _ in places])
    rows = np.ravel_multi_index([rows[inside] for rows, _ in places], sizes)
    cells = np.ravel_multi_index([cells for _, cells in places], sizes)
    return np.bincount(rows, minlength=int(np.prod(sizes)))[cells].astype(np.float64)


def covered(name: str, epsilon: float) -> list[dict[str, Any]]:
    """Give how many intervals of one-way and two-way counts hold, over all runs."""
    hits: dict[int, list[bool]] = {1: [], 2: []}
    lengths: list[float] = []
    table = PRIVATE[name.split(maxsplit=1)[0]]()
    public = PUBLIC[name]() if name in PUBLIC else None
    for _ in range(REPEATS):
        # `Auto` may have public people stand in, of whom nothing else is measured.
        mechanism = us.Auto() if public is None else us.Pairs()
        release, real = released(table, epsilon, mechanism, public)
        for clique in {m.clique for m in release.measurements}:
            found = release.estimate(*clique)
            true = truth(found, real, table.schema)
            hits[len(clique)] += ((found.low <= true) & (true <= found.high)).tolist()
            lengths.append(_longer(release, found, clique))
    for ways, each in hits.items():
        share = float(np.mean(each))
        figure(
            f"{name}, epsilon {epsilon:g}: {ways}-way counts in their interval, {len(each):,}",
            share,
            f"{LEAST} to {MOST}",
            meets=LEAST <= share <= MOST,
        )
    if not any(m.bias for m in release.measurements):
        ratio = float(np.mean(lengths))
        work = f"{name}, epsilon {epsilon:g}: length of intervals to the best by noise alone"
        figure(work, ratio, f"<= {LONGEST}", meets=ratio <= LONGEST)
    return list(FIGURES)


def _longer(release: us.Release, found: us.Estimate, clique: tuple[str, ...]) -> float:
    """Give a standard error over that of all measurements of the very clique, joined."""
    same = [m for m in release.measurements if m.clique == clique]
    best = math.sqrt(1 / sum(m.scale**-2.0 for m in same))
    return float(np.median(found.standard_error)) / best


def logistic(table: Mapping[str, Any], centre: Floats, scale: Floats) -> Floats:
    """Fit a logistic regression by Newton's method."""
    raw = np.column_stack([np.asarray(table[n], dtype=np.float64) for n in FEATURES])
    features = np.column_stack([np.ones(len(raw)), (raw - centre) / scale])
    outcome = (np.asarray(table[OUTCOME], dtype=np.float64) > 0).astype(np.float64)
    found = np.zeros(features.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-features @ found))
        bend = (features * (chance * (1 - chance))[:, None]).T @ features
        step = np.linalg.solve(bend, features.T @ (outcome - chance))
        found += step
        if np.abs(step).max() < 1e-9:
            break
    return found


def regressed(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Give how many coefficients on Adult lie in the interval that replicates give.

    The bar is for a run that was told which columns the regression is about: `Auto` divides its
    budget among all pairs of columns, and a coefficient depends on more of them than it measures.
    """
    adult = PANELS["adult"]()
    raw = np.column_stack([adult.data[n] for n in FEATURES]).astype(np.float64)
    centre, scale = raw.mean(axis=0), raw.std(axis=0)
    true, hits = logistic(adult.data, centre, scale), []
    for run in range(REGRESSIONS):
        release, _ = released(adult, 1.0, mechanism)
        tables = release.replicates(REPLICATES, seed=run)
        found = us.combine(
            [logistic(table, centre, scale) for table in tables],
            released=logistic(release.columns, centre, scale),
        )
        hits.append((found.low <= true) & (true <= found.high))
    told = "columns named" if mechanism == NAMED else "Auto"
    for name, share in zip(("(constant)", *FEATURES), np.mean(hits, axis=0), strict=True):
        figure(f"adult, epsilon 1, {told}: coefficient of {name} in its interval", float(share))
    share = float(np.mean(hits))
    work = f"adult, epsilon 1, {told}: coefficients in their intervals, {REPLICATES} replicates"
    bar = REGRESSED if mechanism == NAMED else None
    figure(work, share, None if bar is None else f">= {bar}", meets=bar is None or share >= bar)
    return list(FIGURES)


def shares(codes: Mapping[str, Any], schema: Schema) -> dict[int, Floats]:
    """Give the shares of rows in the cells of all columns, and of all pairs of columns."""
    found: dict[int, list[Floats]] = {1: [], 2: []}
    for ways, names in ((w, c) for w in found for c in itertools.combinations(schema.domain, w)):
        sizes = [schema.domain[name] for name in names]
        cells = np.ravel_multi_index([codes[name].astype(np.int64) for name in names], sizes)
        found[ways].append(np.bincount(cells, minlength=math.prod(sizes)) / len(cells))
    return {ways: np.concatenate(each) for ways, each in found.items()}


def replicated(name: str, epsilon: float) -> list[dict[str, Any]]:
    """Give how many shares of a panel's rows lie in the interval that replicates give.

    The panel says what is a person's own, so that `Auto` chooses Lives.  Cells of fewer than
    `FEWEST` rows are left out.
    """
    table = panel(name)
    hits: dict[int, list[bool]] = {1: [], 2: []}
    for run in range(PANELS_REPLICATED):
        release, real = released(table, epsilon)
        true, coded = shares(real.codes, table.schema), table.schema.released()
        every = [
            shares(coded.encode({c: each[c].to_numpy() for c in each})[0], table.schema)
            for each in release.replicates(REPLICATES // 2, seed=run)
        ]
        own = shares(coded.encode(release.columns)[0], table.schema)
        for ways, cells in true.items():
            found = us.combine([each[ways] for each in every], released=own[ways])
            kept = cells * len(next(iter(real.codes.values()))) >= FEWEST
            hits[ways] += ((found.low <= cells) & (cells <= found.high))[kept].tolist()
    for ways, each in hits.items():
        share = float(np.mean(each))
        work = f"{name}, epsilon {epsilon:g}: {ways}-way shares in replicates' intervals"
        figure(f"{work}, {len(each):,}", share, None, meets=True)
    return list(FIGURES)


def main() -> None:
    """Measure the tables named, or all of them, a regression and replicates of a panel."""
    named = sys.argv[1:] or [*TABLES, "regression", "replicates"]
    for name, epsilon in itertools.product((n for n in named if n in TABLES), EPSILONS):
        FIGURES.extend(apart(covered, name, epsilon))
    if "regression" in named:
        for mechanism in (NAMED, us.Auto()):
            FIGURES.extend(apart(regressed, mechanism))
    if "replicates" in named:
        for epsilon in EPSILONS:
            FIGURES.extend(apart(replicated, "nlswork", epsilon))
    show()


if __name__ == "__main__":
    main()
