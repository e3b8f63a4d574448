"""Scale: how time and memory grow with rows, columns and cells, up to 100 million trips."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from _city import CITY, city_schema, write_year
from _figures import apart, figure, show, timed

from understudy.budget import Budget, Norm, Unit, Weights
from understudy.engine import DuckDB, engine_for
from understudy.engine.sources import SparkTable
from understudy.graph import Domain, Measurement, estimate
from understudy.schema import Integer, Schema
from understudy.session import open_session
from understudy.synth.adagrid import AdaGrid
from understudy.synth.mst import MST
from understudy.vault import PrivateTable
from understudy.vault.marginals import marginals
from understudy.vault.norm import normed

OUT = Path(__file__).parent.parent / "bench-out"
CITY_ROWS = 16_000_000
SPARK_ROWS = 1_000_000
"""What one machine has patience for in an engine made for many."""
BOTH_ROWS = 10_000_000
MOST = int(os.environ.get("UNDERSTUDY_BENCH_ROWS", "100000000"))
"""The most trips; fewer for a quick look."""
ROWS = tuple(n for n in (10**5, 10**6, 10**7, CITY_ROWS, 10**8) if n <= MOST)
COLUMNS = (8, 16, 32, 64)
CELLS = (10**4, 10**5, 10**6, 10**7)
MEMORY = "1GB"
UNIT = Unit("taxi_id", "pickup_time:week")
CLIQUES: list[tuple[str, ...]] = list(CITY["cliques"])  # type: ignore[arg-type]


def peak() -> float:
    """Give the most memory this process ever held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def counted(folder: str, floor: str | None) -> dict[str, float]:
    """Encode, bound and count a city in a process of its own; give seconds and memory.

    With a ``floor``, the encoded rows are left there, for the bare engine to count.
    """
    with closing(DuckDB(memory=MEMORY)) as engine:
        begun = time.perf_counter()
        table = PrivateTable(engine, folder, schema=city_schema(), unit=UNIT, key="scale")
        weighted = table.bounded(Weights(150))
        took = {"encode": time.perf_counter() - begun}
        took["count"] = timed(lambda: list(marginals(table, CLIQUES, weighted)))
        took["memory"] = peak()
        if floor is not None:
            codes = ", ".join(table.code.values())
            engine.run(f"COPY (SELECT {codes}, w FROM {weighted}) TO '{floor}' (FORMAT parquet)")
    return took


def on_spark(folder: str) -> dict[str, float]:
    """Encode and count a city in Spark, on this machine; twice, as Java is slow at first."""
    place = SparkTable(folder, master="local[2]")
    with closing(engine_for(place)):  # keeps Spark running
        for _ in range(2):
            with closing(engine_for(place)) as engine:
                begun = time.perf_counter()
                table = PrivateTable(engine, place, schema=city_schema(), unit=UNIT, key="scale")
                weighted = table.bounded(Weights(150))
                took = {"encode": time.perf_counter() - begun}
                took["count"] = timed(lambda: list(marginals(table, CLIQUES, weighted)))  # noqa: B023
    return took


def synthesised(folder: str, which: str) -> float:
    """Make a release of eight columns by MST in an engine that is running; give seconds."""
    place = SparkTable(folder, master="local[2]") if which == "Spark" else folder
    declared = city_schema()
    eight = [c for c in declared.columns if c.name not in {"miles", "seconds"}]
    with tempfile.TemporaryDirectory() as kept, closing(engine_for(place)):
        begun = time.perf_counter()
        open_session(
            private=place,
            schema=Schema(declared.name, tuple(eight)),
            unit=UNIT,
            bounding=Weights(150),
            budget=Budget(epsilon=1.0, delta=2.5e-5),
            ledger=Path(kept) / "ledger",
        ).run(MST())
        return time.perf_counter() - begun


def bare(path: str) -> float:
    """Count the same by one bare query over encoded Parquet."""
    import duckdb  # noqa: PLC0415

    code = {c.name: f"c{i}" for i, c in enumerate(city_schema().modelled)}
    sets = ", ".join(f"({', '.join(code[n] for n in clique)})" for clique in CLIQUES)
    names = ", ".join(dict.fromkeys(code[n] for clique in CLIQUES for n in clique))
    query = f"SELECT {names}, sum(w) FROM '{path}' GROUP BY GROUPING SETS ({sets})"
    with duckdb.connect(config={"memory_limit": MEMORY}) as engine:
        return timed(lambda: engine.execute(query).fetchnumpy())


def released(private: str, public: str, kind: str) -> dict[str, float]:
    """Make a release of the city by AdaGrid in a process of its own; give what stages took."""
    weighing, stages = [0.0], {"": 0.0}
    begun = last = time.perf_counter()
    now = ""

    def told(stage: str, done: float) -> None:
        nonlocal now, last
        del done
        seen = time.perf_counter()
        stages[now] = stages.get(now, 0.0) + seen - last
        now, last = stage, seen

    def watched(*given: Any) -> str:
        since = time.perf_counter()
        found: str = normed(*given)
        weighing[0] += time.perf_counter() - since
        return found

    watching = patch("understudy.vault.counts.normed", watched)
    with tempfile.TemporaryDirectory() as folder, watching:
        session = open_session(
            private=private,
            public=public,
            schema=city_schema(),
            unit=UNIT,
            bounding=Norm() if kind == "Norm" else Weights(150),
            budget=Budget(epsilon=1.0, delta=2.5e-5),
            ledger=Path(folder) / "ledger",
        )
        release = session.run(AdaGrid(**CITY), progress=told)  # type: ignore[arg-type]
        told("writing the release", 0)
        release.save(Path(folder) / "out")
        told("", 0)
    stages.pop("")
    asked = float(len(release.measurements))
    in_all = time.perf_counter() - begun
    return stages | {"in all": in_all, "queries": asked, "weighing": weighing[0], "peak": peak()}


def wide(columns: int) -> float:
    """Count all pairs of a million rows of so many columns; give seconds."""
    rng = np.random.default_rng(0)
    table = {f"x{i}": rng.integers(0, 10, 10**6) for i in range(columns)}
    declared = Schema("wide", tuple(Integer(name=n, min=0, max=9, missing=False) for n in table))
    pairs = [(a, b) for i, a in enumerate(table) for b in list(table)[:i]]
    with closing(DuckDB(memory=MEMORY)) as engine:
        private = PrivateTable(engine, table, schema=declared, unit=Unit.each_row(), key="scale")
        return timed(lambda: list(marginals(private, pairs, private.bounded(Weights(1)))))


def modelled(cells: int) -> dict[str, float]:
    """Fit a chain of three cliques of so many cells in all, and draw a million rows of it."""
    size = round((cells / 3) ** (1 / 3))
    names = ("a", "b", "c", "d", "e")
    cliques = [names[i : i + 3] for i in range(3)]
    rng = np.random.default_rng(0)
    answers = [
        Measurement(clique=c, values=rng.exponential(1e6 / size**3, size**3), scale=10.0)
        for c in cliques
    ]
    begun = time.perf_counter()
    fit = estimate(Domain(dict.fromkeys(names, size)), answers, total=1e6, most=200)
    fitted = time.perf_counter()
    fit.model.sample(10**6, rng)
    drawn = time.perf_counter() - fitted
    return {"fit": fitted - begun, "draw": drawn, "memory": peak()}


def rows(folder: Path) -> dict[str, dict[int, float]]:
    """Measure growth in rows; the releases of the contest's city are made on the way."""
    found: dict[str, dict[int, float]] = {"encode": {}, "count": {}, "memory": {}}
    for n in ROWS:
        year, floor = write_year(folder / str(n), 2020, n), folder / "floor.parquet"
        seen = apart(counted, str(year), str(floor) if n == CITY_ROWS else None)
        for what, measured in seen.items():
            found[what][n] = measured
            unit = "GB" if what == "memory" else "seconds"
            bar, meets = barred(n, what, measured)
            figure(f"{n:,} trips: {what}, {unit}", measured, bar, meets=meets)
        if n == SPARK_ROWS:
            for what, seconds in apart(on_spark, str(year)).items():
                figure(f"{n:,} trips in Spark, local[2]: {what}, seconds", seconds)
        if n == BOTH_ROWS:
            took = {which: apart(synthesised, str(year), which) for which in ("DuckDB", "Spark")}
            for which, seconds in took.items():
                figure(f"{n:,} trips of 8 columns by MST in {which}, seconds", seconds)
            ratio = took["Spark"] / took["DuckDB"]
            figure(f"{n:,} trips: Spark's time, times DuckDB's", ratio, "<= 3", meets=ratio <= 3)
        if n == CITY_ROWS:
            least = apart(bare, str(floor))
            figure(f"{n:,} trips: a bare query over encoded Parquet, seconds", least)
            figure(f"{n:,} trips: count, times the bare query", seen["count"] / least)
            end_to_end(year, write_year(folder / "public", 2019, n // 10))
        shutil.rmtree(year)
    if max(ROWS) > CITY_ROWS:
        for what in ("encode", "count"):
            ratio = found[what][max(ROWS)] / found[what][CITY_ROWS]
            work = f"{what}: {max(ROWS):,} trips, times {CITY_ROWS:,}"
            figure(work, ratio, "<= 7", meets=ratio <= 7)
    return found


def barred(n: int, what: str, measured: float) -> tuple[str | None, bool]:
    """Give the bar of a figure, if it has one, and whether it is met."""
    most = {"encode": 15.0, "count": 6.0}.get(what) if n == CITY_ROWS else None
    if what == "memory":
        most = 1.5
    return (None, True) if most is None else (f"<= {most:g}", measured <= most)


def end_to_end(private: Path, public: Path) -> None:
    """Make releases of the city by both boundings."""
    for kind, minutes in (("Weights", 3), ("Norm", 5)):
        seen = apart(released, str(private), str(public), kind)
        where = f"{CITY_ROWS:,} trips, {kind}"
        asked, weighing = seen.pop("queries"), seen.pop("weighing")
        took, held = seen.pop("in all") / 60, seen.pop("peak")
        for stage, seconds in seen.items():
            figure(f"{where}: {stage}, seconds", seconds)
        if kind == "Norm":
            work = f"{where}: weights for {asked:g} queries, seconds"
            figure(work, weighing, "<= 120", meets=weighing <= 120)
        figure(f"{where}: end to end, minutes", took, f"<= {minutes}", meets=took <= minutes)
        figure(f"{where}: peak memory, GB", held)


def columns() -> dict[str, dict[int, float]]:
    """Measure growth in columns."""
    found = {k: apart(wide, k) for k in COLUMNS}
    for k, seconds in found.items():
        figure(f"{k} columns, {k * (k - 1) // 2} pairs, 10^6 rows: count, seconds", seconds)
    return {"count all pairs": found}


def cells() -> dict[str, dict[int, float]]:
    """Measure growth in cells."""
    found: dict[str, dict[int, float]] = {"fit": {}, "draw": {}, "memory": {}}
    for n in CELLS:
        for what, measured in apart(modelled, n).items():
            found[what][n] = measured
            unit = "GB" if what == "memory" else "seconds"
            figure(f"{n:,} cells: {what}, {unit}", measured)
    return found


def draw(grown: dict[str, dict[str, dict[int, float]]], path: Path) -> None:
    """Draw growth, a panel for each thing that grows."""
    import matplotlib as mpl  # noqa: PLC0415  no process of a measurement must hold it

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure_, panels = plt.subplots(1, len(grown), figsize=(13, 4), layout="constrained")
    for panel, (by, lines) in zip(panels, grown.items(), strict=True):
        for name, points in lines.items():
            unit = "GB" if name == "memory" else "s"
            panel.loglog(list(points), list(points.values()), marker="o", label=f"{name}, {unit}")
        panel.set_xlabel(by)
        panel.grid(alpha=0.3)
        panel.legend()
    figure_.savefig(path, dpi=120)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        grown = {"rows": rows(Path(folder)), "columns": columns(), "cells of the model": cells()}
    OUT.mkdir(exist_ok=True)
    draw(grown, OUT / "scale.png")
    show()


if __name__ == "__main__":
    main()
