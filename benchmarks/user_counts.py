"""UserCounts: real calls against the contest's baseline, and the contest's whole domain."""

from __future__ import annotations

import csv
import io
import os
import resource
import tempfile
import time
import zipfile
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _figures import apart, figure, show

from understudy.budget import Budget, Sample, Unit
from understudy.contests import Recipe, read_parameters, run_recipe
from understudy.contests.metrics import pie_score, pie_scores
from understudy.engine import DuckDB
from understudy.evaluate import read_counts, read_private
from understudy.public import PublicTable
from understudy.schema import Id, Integer, Schema
from understudy.session import open_session
from understudy.synth.usercounts import UserCounts

REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "5"))
CALLS = int(os.environ.get("UNDERSTUDY_BENCH_CALLS", "1455608"))
EPSILONS = (1.0, 2.0, 10.0)
DELTA = 1e-11
MOST_ROWS = 20
PLACES, PERIODS, TYPES = 42, 12, 32

Table = dict[str, Any]


def fire_schema() -> Schema:
    return Schema(
        "fire-calls",
        (
            Id(name="address"),
            Integer(name="neighborhood", min=0, max=PLACES - 1, missing=False),
            Integer(name="period", min=0, max=PERIODS - 1, missing=False),
            Integer(name="call_type", min=0, max=TYPES - 1, missing=False),
        ),
    )


def fire_calls() -> tuple[Table, Table]:
    """Read San Francisco's fire calls: the first half public, the second private, 20 a person."""
    path = Path(os.environ["UNDERSTUDY_DATA"]) / "sf-fire" / "fire.zip"
    with zipfile.ZipFile(path) as archive, archive.open("fire.csv") as file:
        rows = csv.reader(io.TextIOWrapper(file))
        header = next(rows)
        names = ("Received DtTm", "Neighborhooods - Analysis Boundaries", "Call Type", "Address")
        places = [header.index(name) for name in names]
        held = np.array([[int(row[p]) for p in places] for row in rows], dtype=np.int64)
    halves = [held[held[:, 0] < 50], held[held[:, 0] >= 50]]
    return tuple(_table(half) for half in halves)  # type: ignore[return-value]


def _table(held: np.ndarray) -> Table:
    """Keep at most 20 rows of an address, chosen by chance."""
    held = np.random.default_rng(0).permutation(held)
    order = np.argsort(held[:, 3], kind="stable")
    ids = held[order, 3]
    first = np.searchsorted(ids, ids)
    kept = held[order[np.arange(len(ids)) - first < MOST_ROWS]]
    return {
        "address": kept[:, 3],
        "neighborhood": kept[:, 1],
        "period": kept[:, 0] % 50 * PERIODS // 50,
        "call_type": kept[:, 2],
    }


def histogram(table: Table) -> np.ndarray:
    shape = (PLACES, PERIODS, TYPES)
    axes = [np.asarray(table[n]).astype(int) for n in ("neighborhood", "period", "call_type")]
    cells = np.ravel_multi_index(axes, shape)
    return np.bincount(cells, minlength=PLACES * PERIODS * TYPES).reshape(-1, TYPES)


def score(true: np.ndarray, released: np.ndarray) -> float:
    return float(pie_scores(true, released).mean())


def counts(
    private: Table, public: PublicTable, mechanism: UserCounts, budget: Budget
) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(
            private=private,
            public=public,
            schema=fire_schema(),
            unit=Unit("address"),
            bounding=Sample(MOST_ROWS),
            budget=budget,
            ledger=Path(folder) / "ledger",
        )
        return histogram(session.run(mechanism).columns)


def baseline(true: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """The contest's: Laplace noise of scale 20 / epsilon on every cell, clipped and rounded."""
    return np.rint(np.maximum(true + rng.laplace(0, MOST_ROWS / epsilon, true.shape), 0))


def fire() -> None:
    public_rows, private = fire_calls()
    public = PublicTable.read(public_rows, schema=fire_schema(), unit=Unit("address"))
    true, rng = histogram(private), np.random.default_rng(0)
    ours = UserCounts(time=("period",))
    published = UserCounts(time=("period",), most_each=MOST_ROWS, published=True)
    figure(
        "fire calls: the public half itself, mean row score", score(true, histogram(public_rows))
    )
    for epsilon in EPSILONS:
        where = f"fire calls, epsilon {epsilon:g}"
        budget = ours.budget(public, epsilon=epsilon, delta=DELTA)
        pure = Budget(epsilon=epsilon, delta=0.0)
        forms = {
            "baseline": partial(baseline, true, epsilon, rng),
            "published, right noise": partial(counts, private, public, published, pure),
            "UserCounts": partial(counts, private, public, ours, budget),
        }
        seen = {name: [score(true, make()) for _ in range(REPEATS)] for name, make in forms.items()}
        for name, scores in seen.items():
            figure(f"{where}: {name}, mean row score", float(np.mean(scores)))
            figure(f"{where}: {name}, its spread", float(np.std(scores)))
        figure(f"{where}: delta chosen", budget.delta)
        for other in ("baseline", "published, right noise"):
            gap = float(np.mean(seen["UserCounts"]) - np.mean(seen[other]))
            figure(f"{where}: UserCounts above {other}", gap, "> 0", meets=gap > 0)


def simulated(year: int, path: Path) -> None:
    """Write a year of made-up calls in the contest's shape and of its size."""
    rng = np.random.default_rng(year)
    places, types, residents = 278, 174, round(CALLS * 285_784 / 1_455_608)
    share = rng.pareto(1.2, residents) + 0.1
    sizes = np.minimum(1 + rng.poisson(share / share.mean() * 5.2), MOST_ROWS)
    person = np.repeat(np.arange(residents), sizes)[:CALLS]
    # What a place is like is the same every year: its size, and what is called about.
    city = np.random.default_rng(0)
    crowd = city.dirichlet(np.full(places, 0.8))
    kinds = city.dirichlet(np.full(types, 0.05) + 3 * city.dirichlet(np.full(types, 0.1)), places)
    home = rng.choice(places, residents, p=crowd)
    # A resident calls about few things, most often from home.
    habit = rng.random((residents, 2))
    edges = np.cumsum(kinds, axis=1)
    pick = np.where(rng.random(len(person)) < 0.6, 0, 1)
    place = np.where(rng.random(len(person)) < 0.85, home[person], rng.choice(places, len(person)))
    drawn = np.where(rng.random(len(person)) < 0.7, habit[person, pick], rng.random(len(person)))
    kind = np.array([np.searchsorted(edges[p], d) for p, d in zip(place, drawn, strict=True)])
    columns = {
        "year": np.full(len(person), year),
        "month": rng.integers(1, 13, len(person)),
        "day": rng.integers(1, 29, len(person)),
        "hour": rng.integers(0, 24, len(person)),
        "minute": rng.integers(0, 60, len(person)),
        "neighborhood": place,
        "incident_type": np.minimum(kind, types - 1),
        "sim_resident": person,
    }
    with closing(DuckDB()) as engine:
        engine.write(columns, path, types={})


def contest(private: str, public: str) -> dict[str, float]:
    """Make the contest's whole submission, all three epsilons, in a process of its own."""
    parameters = Path(os.environ["UNDERSTUDY_DATA"]) / "contest-parameters" / "sprint1.json"
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "submission.csv"
        made = run_recipe(
            "baltimore-911",
            private=private,
            public=public,
            parameters=parameters,
            ledger=Path(folder) / "ledger",
            out=out,
        )
        took = time.perf_counter() - begun
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        declared, _ = read_parameters(parameters)
        schema = Recipe.named("baltimore-911").schema(declared)
        scores = {}
        real = read_private(private, schema=schema, unit=Unit("sim_resident"))
        for epsilon in EPSILONS:
            read = read_counts(out, schema=schema, across="incident_type", epsilon=epsilon)
            found = pie_score(
                real, read, pie=("neighborhood", "year", "month"), slices="incident_type"
            )
            scores[f"mean row score at epsilon {epsilon:g}"] = found.mean
    lines = float(sum(run["rows_submitted"] for run in made["runs"]))
    return {"seconds": took, "peak": peak, "lines": lines, **scores}


def whole_domain() -> None:
    with tempfile.TemporaryDirectory() as folder:
        private, public = Path(folder) / "2019.csv", Path(folder) / "2018.csv"
        simulated(2019, private)
        simulated(2018, public)
        seen = apart(contest, str(private), str(public))
    where = f"contest's domain, {CALLS:,} simulated calls, three epsilons"
    took, peak = seen.pop("seconds"), seen.pop("peak")
    figure(f"{where}: seconds", took, "<= 60", meets=took <= 60)
    figure(f"{where}: peak memory, GB", peak, "<= 2", meets=peak <= 2)
    for name, value in seen.items():
        figure(f"{where}: {name}", value)


def main() -> None:
    fire()
    whole_domain()
    show()


if __name__ == "__main__":
    main()
