"""The spine: noise, counting sixteen million rows, help and the demo."""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _city import OUTER
from _figures import apart, figure, show, timed
from _people import MONEY, TIME

from understudy.budget import Unit, Weights
from understudy.demo import City
from understudy.engine import DuckDB
from understudy.noise import draw
from understudy.schema import Categorical, DateTime, Declaration, Id, Integer, Numeric, Schema
from understudy.vault import PrivateTable
from understudy.vault.marginals import marginals

TRIPS = int(os.environ.get("UNDERSTUDY_BENCH_TRIPS", "16000000"))


def schema() -> Schema:
    """The shape of the AdaGrid document's taxi table, on the simulated city."""
    columns: tuple[Declaration, ...] = (
        Id(name="taxi_id"),
        DateTime(name="weekday", source="pickup_time", part="weekday", missing=False),
        Categorical(name="company", values=tuple(f"Company {i:02d}" for i in range(1, 58))),
        Integer(name="pickup_area", min=-1, max=77, missing=False),
        Integer(name="dropoff_area", min=-1, max=77, missing=False),
        Categorical(
            name="payment",
            values=("Cash", "Credit Card", "Mobile", "Prcard", "No Charge", "Dispute", "Unknown"),
        ),
        *(Numeric(name=n, edges=MONEY, missing=False) for n in ("fare", "tips", "total", "miles")),
        Numeric(name="seconds", edges=TIME, missing=False),
    )
    return Schema("simulated-city", columns)


def cliques(names: list[str]) -> list[tuple[str, ...]]:
    """The downward closure of the document's seven outer cliques: 59 marginals."""
    outer = [("pickup_area", "weekday", *pair) for pair in OUTER]
    closed = {
        tuple(n for n in names if n in part)
        for clique in outer
        for size in range(1, len(clique) + 1)
        for part in itertools.combinations(clique, size)
    }
    return sorted(closed, key=lambda c: (len(c), c))


def noise() -> None:
    size = 4_000_000
    ours = size / min(timed(lambda: draw("gaussian", 1000.0, size)) for _ in range(3))
    rng = np.random.default_rng(1)
    unsafe = size / min(timed(lambda: rng.normal(0, 1000, size)) for _ in range(3))
    figure("Gaussian draws a second, one core", ours, ">= 2000000", meets=ours >= 2e6)
    figure("the same by NumPy's unsafe generator", unsafe)
    laplace = size / min(timed(lambda: draw("laplace", 1000.0, size)) for _ in range(3))
    figure("Laplace draws a second, one core", laplace)


def counting(path: str) -> list[tuple[str, float]]:
    """Encode, bound and count in a process of its own, so that its memory is its own."""
    engine = DuckDB()
    seen: list[tuple[str, float]] = []
    begun = time.perf_counter()
    table = PrivateTable(engine, path, schema=schema(), unit=Unit("taxi_id"), key="k")
    seen.append(("encode", time.perf_counter() - begun))
    bounding = Weights(150)
    asked = cliques(list(table.schema.domain))

    # The engine's first query after a write is slower; both ways get a warm one.
    def count(cliques: list[tuple[str, ...]]) -> int:
        return len(list(marginals(table, cliques, table.bounded(bounding))))

    count(asked[:1])
    seen.append(("together", timed(lambda: count(asked))))
    seen.append(("alone", timed(lambda: [count([c]) for c in asked])))
    seen.append(("marginals", float(len(asked))))
    seen.append(("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6))
    engine.close()
    return seen


def write_city(folder: Path) -> Path:
    city = City(taxis=20_000, trips_per_year=TRIPS)
    parts = folder / "parts"
    parts.mkdir()
    engine = DuckDB()
    for i, chunk in enumerate(city.chunks(2020, rows=1_000_000)):
        engine.write(chunk, parts / f"{i:03}.parquet", types={})
    whole = folder / "city.parquet"
    engine.run(f"COPY (SELECT * FROM read_parquet('{parts}/*.parquet')) TO '{whole}'")
    engine.close()
    return whole


def counted() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_city(Path(folder))
        seen = dict(apart(counting, str(path)))
    rows = f"{TRIPS:,} trips"
    figure(f"encode {rows}, seconds", seen["encode"])
    figure(f"count {seen['marginals']:.0f} marginals of {rows}, seconds", seen["together"])
    ratio = seen["alone"] / seen["together"]
    figure("one pass against one by one, times faster", ratio, ">= 2", meets=ratio >= 2)
    figure("peak memory of all that, GB", seen["peak"], "<= 2", meets=seen["peak"] <= 2)


def quietly(*words: str) -> None:
    program = Path(sys.executable).parent / "understudy"
    subprocess.run([program, *words], stdout=subprocess.DEVNULL, check=True)


def commands() -> None:
    for words in (("--help",), ("synth", "--help")):
        took = min(timed(lambda w=words: quietly(*w)) for _ in range(5))  # type: ignore[misc]
        figure(f"understudy {' '.join(words)}, seconds", took, "<= 0.5", meets=took <= 0.5)
    with tempfile.TemporaryDirectory() as folder:
        took = timed(lambda: quietly("demo", f"{folder}/demo"))
    figure("understudy demo, seconds", took, "<= 60", meets=took <= 60)


def main() -> None:
    noise()
    commands()
    counted()
    show()


if __name__ == "__main__":
    main()
