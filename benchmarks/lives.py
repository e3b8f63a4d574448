"""Lives: what is a person's own and what they do next, beside `Pairs` and a resample of people.

With `time` in place of tables' names: how long it takes, and in how much memory, on simulated
patients and taxis.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _city import city_schema, write_year
from _figures import FIGURES, apart, figure, show
from _panels import PANELS, Panel, appointments, moments
from people import pair_error

import understudy as us
from understudy.demo import Clinic
from understudy.demo import clinic as simulated
from understudy.evaluate import METRICS, Coded, compare_people, read_private, resample_people
from understudy.schema import Categorical, Id, Integer

if TYPE_CHECKING:
    from understudy.schema import Column
    from understudy.synth import Mechanism

TABLES = PANELS | {"appointments": appointments, "moments": moments}
REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "3"))
EPSILONS = (1.0, 10.0)
OWN = {
    "nlswork": ("race", "birth_yr", "grade", "collgrad"),
    "planes": ("carrier",),
    "clinic": ("age", "sex"),
    "cdnow": (),
    "appointments": ("plan",),
    "moments": ("plan",),
}
ORDER = {
    "nlswork": ("year",),
    "planes": (),
    "clinic": ("month",),
    "cdnow": ("month",),
    "appointments": ("day",),
    "moments": ("when",),
}
"""Planes have no column that orders their flights."""
ROW_PAIRS = {
    "nlswork": (0.088, 0.042),
    "clinic": (0.050, 0.021),
    "planes": (0.155, 0.056),
    "cdnow": (0.046, 0.0165),
}
TRANSITIONS = {"nlswork": (0.12, 0.042), "clinic": (0.08, 0.04), "planes": (0.20, 0.10)}
PATIENTS, TRIPS = 40_000, int(os.environ.get("UNDERSTUDY_BENCH_TRIPS", "16000000"))
"""The patients have some 200,000 visits."""
TAXIS = 20_000
REPEATS_OFF, PEOPLE_OFF, SIZES_OFF, TO_ROWS = 0.03, 0.02, 0.05, 1.03
OWN_TO_RESAMPLE = 2.0
"""The most that own columns may be off, at the larger epsilon, to those of a resample."""


def panel(name: str) -> Panel:
    """Give a panel whose schema says what is a person's own, and what orders their rows."""
    found = TABLES[name]()
    columns = tuple(
        replace(c, of="person") if c.name in OWN[name] else c  # type: ignore[call-arg]
        for c in found.schema.columns
    )
    return replace(found, schema=replace(found.schema, columns=columns, order_by=ORDER[name]))


class Bench:
    """One table, run again and again."""

    def __init__(self, name: str) -> None:
        """Read it."""
        self.panel, self.rows_only = panel(name), TABLES[name]().schema
        self.real = read_private(self.panel.data, schema=self.panel.schema, unit=self.panel.unit)

    def run(
        self, mechanism: Mechanism, epsilon: float, *, rows_only: bool = False
    ) -> dict[str, float]:
        """Run once; give the error of pairs, the figures of people, and processor seconds.

        With ``rows_only`` the schema says nothing of people, as is best for pairs of rows.
        """
        schema, begun = self.panel.schema, time.process_time()
        if rows_only:
            schema = self.rows_only
        with tempfile.TemporaryDirectory() as folder:
            release = us.open(
                private=self.panel.data,
                schema=schema,
                unit=self.panel.unit,
                bounding=us.Norm(),
                budget=us.Budget(epsilon=epsilon, delta=1e-6),
                ledger=Path(folder) / "bench.ledger",
            ).run(mechanism)
            codes, _ = schema.released().encode(release.columns)
        ids = np.asarray(release.columns[self.panel.unit.columns[0]])
        took = time.process_time() - begun
        clock = self.panel.schema.released().clock
        times = {} if clock is None else {clock.name: clock.encode(_of(release, clock))}
        people = np.unique(ids, return_inverse=True)[1]
        made = replace(self.real, codes=codes, times=times, people=people)
        return {**self.against(made), "processor seconds": took}

    def against(self, made: Coded) -> dict[str, float]:
        """Give the error of pairs and the figures of people."""
        found = compare_people(self.real, made)
        pairs = pair_error(self.real.codes, made.codes, self.panel.schema.domain)
        told = METRICS["people"].summary(found)
        return {"row pairs": pairs} | {n: float(v) for n, v in told.items() if v is not None}


def _of(release: us.Release, column: Column) -> Any:
    """Give the values of a column."""
    return np.asarray(release.columns[column.table_column])


def mean(runs: list[dict[str, float]]) -> dict[str, float]:
    """Give the mean of every figure."""
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def bars(name: str, which: int, again: dict[str, float]) -> dict[str, float]:
    """Give the most that each figure may be, beside those of people drawn again."""
    found = {"rows per person": SIZES_OFF, "repeats, mean error": REPEATS_OFF}
    if OWN[name] and EPSILONS[which] == max(EPSILONS):
        found["own columns, mean"] = OWN_TO_RESAMPLE * again["own columns, mean"]
    if name in ROW_PAIRS:
        found["row pairs"] = ROW_PAIRS[name][which]
    if name in TRANSITIONS:
        found["transitions, mean"] = TRANSITIONS[name][which]
    return found


def compared(name: str) -> list[dict[str, Any]]:
    """Give a table's figures at both epsilons."""
    bench = Bench(name)
    again = bench.against(resample_people(bench.real, np.random.default_rng(0)))
    for told, value in again.items():
        figure(f"{name}, a resample of real people: {told}", value)
    for which, epsilon in enumerate(EPSILONS):
        lives = mean([bench.run(us.Lives(), epsilon) for _ in range(REPEATS)])
        rows = mean([bench.run(us.Pairs(), epsilon, rows_only=True) for _ in range(REPEATS)])
        for told, value in lives.items():
            work, bar = f"{name}, epsilon {epsilon:g}: {told}", bars(name, which, again).get(told)
            if told == "own columns, constant":
                figure(work, value, "1", meets=value == 1)
            elif told == "people, synthetic / real":
                off = abs(value - 1)
                figure(f"{work}, off", off, f"<= {PEOPLE_OFF}", meets=off <= PEOPLE_OFF)
            else:
                limit = None if bar is None else f"<= {bar:g}"
                figure(work, value, limit, meets=bar is None or value <= bar)
            figure(f"{name}, epsilon {epsilon:g}: {told}, by Pairs", rows[told])
        ratio = lives["row pairs"] / rows["row pairs"]
        told = f"{name}, epsilon {epsilon:g}: row pairs to those of Pairs"
        figure(told, ratio, f"<= {TO_ROWS}", meets=ratio <= TO_ROWS)
    return list(FIGURES)


def took(private: Any, schema: us.Schema, unit: str, folder: str) -> tuple[float, float, int]:
    """Run once, with epsilon 1, and save; give seconds, GB and rows."""
    begun = time.perf_counter()
    release = us.open(
        private=private,
        schema=schema,
        unit=us.Unit(unit),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=1.0, delta=1e-6),
        ledger=Path(folder) / "bench.ledger",
    ).run(us.Lives())
    release.save(Path(folder) / "release")
    seconds = time.perf_counter() - begun
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, len(release)


def patients() -> tuple[float, float, int]:
    """Time the simulated clinic."""
    listed = {
        "sex": simulated.SEXES,
        "born": simulated.DECADES,
        "insurer": simulated.INSURERS,
        "smoker": simulated.SMOKERS,
        "department": simulated.DEPARTMENTS,
        "diagnosis": simulated.DIAGNOSES,
    }
    columns = [
        Categorical(
            name=name,
            values=values,
            missing=False,
            of="row" if name in {"department", "diagnosis"} else "person",
        )
        for name, values in listed.items()
    ]
    schema = us.Schema(
        "visits",
        (
            Id(name="patient_id"),
            *columns,
            Integer(name="month", min=1, max=12, missing=False),
            Integer(name="cost", min=1, max=5, missing=False),
        ),
        order_by=("month",),
    )
    with tempfile.TemporaryDirectory() as folder:
        return took(Clinic(patients=PATIENTS).flat(2025), schema, "patient_id", folder)


def taxis(trips: int) -> tuple[float, float, int]:
    """Time the simulated city; companies are the taxis' own, and hours order their trips."""
    plain = city_schema()
    own = replace(plain["company"], of="person")
    schema = replace(plain.with_columns(own), order_by=("hour",))
    with tempfile.TemporaryDirectory() as folder:
        year = write_year(Path(folder) / "city", 2025, trips, taxis=TAXIS)
        return took(year, schema, "taxi_id", folder)


def timed() -> None:
    """Keep the figures of time and memory."""
    seconds, memory, rows = apart(patients)
    figure(
        f"{PATIENTS:,} patients, {rows:,} visits: seconds", seconds, "<= 60", meets=seconds <= 60
    )
    figure("the same: GB", memory, "<= 1", meets=memory <= 1)
    few, _, fewer = apart(taxis, TRIPS // 4)
    seconds, memory, rows = apart(taxis, TRIPS)
    minutes = seconds / 60
    figure(f"{TAXIS:,} taxis, {rows:,} trips: minutes", minutes, "<= 8", meets=minutes <= 8)
    figure("the same: GB", memory, "<= 4", meets=memory <= 4)
    growth = (seconds / rows) / (few / fewer)
    figure(
        "seconds a trip, to those of a quarter of the trips", growth, "<= 1.1", meets=growth <= 1.1
    )


def main() -> None:
    """Measure the tables named, or all of them, or time and memory."""
    if sys.argv[1:] == ["time"]:
        timed()
    else:
        for name in sys.argv[1:] or OWN:
            FIGURES.extend(apart(compared, name))
        if not sys.argv[1:]:
            timed()
    show()


if __name__ == "__main__":
    main()
