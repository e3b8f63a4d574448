"""Releases: fifty million rows of a taxi model, drawn, given to people and written in batches."""

from __future__ import annotations

import os
import resource
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
from _figures import apart, figure, show, timed
from _problems import TAXI, taxi

from understudy.budget import Budget, ResolvedUnit, Weights
from understudy.door import Measurement
from understudy.engine import DuckDB
from understudy.graph import Domain, estimate, load, save
from understudy.public import PublicTable, Synthesis
from understudy.release import Release, build
from understudy.schema import Categorical, Id, Integer, Numeric, Schema
from understudy.synth.generate.assignment import Donors, drawn
from understudy.synth.measure.sizes import Sizes

ROWS = int(os.environ.get("UNDERSTUDY_BENCH_ROWS", "50000000"))
LISTED = ("company", "payment")
PLACES = ("shift", "pickup", "dropoff")
TAXIS = 100_000
"""The public people, of ten rows each."""
BY = ("pickup", "shift")


def schema() -> Schema:
    """Two columns of texts, three of whole numbers, five of numbers in bins, and ids."""
    columns: dict[str, Categorical | Integer | Numeric] = {}
    for name, size in TAXI.items():
        if name in LISTED:
            values = tuple(f"{name} {i:02d}" for i in range(size))
            columns[name] = Categorical(name=name, values=values, missing=False, outside="drop")
        elif name in PLACES:
            columns[name] = Integer(name=name, min=0, max=size - 1, missing=False)
        else:
            edges = tuple(map(float, range(size + 1)))
            columns[name] = Numeric(name=name, edges=edges, missing=False)
    return Schema("taxis", (Id(name="taxi"), *columns.values()))


def fitted(folder: str) -> None:
    """Fit a model, and keep it with a public table of a million rows."""
    problem = taxi()
    fit = estimate(Domain(problem.sizes), problem.measurements, total=problem.total, most=100)
    save(fit.model, Path(folder) / "model.npz")
    rows = {name: codes.astype(np.int32) for name, codes in problem.rows.items()}
    np.savez(Path(folder) / "public.npz", **rows)  # type: ignore[arg-type]


def release(folder: str, rows: int) -> Release:
    """Make a release as a mechanism does, when it has its model."""
    rng, declared = np.random.default_rng(0), schema()
    with np.load(Path(folder) / "public.npz") as held:
        codes = {name: held[name] for name in declared.domain}
    people = np.arange(len(codes["shift"])) * TAXIS // len(codes["shift"])
    public = PublicTable(schema=declared, codes=codes, people=people, numbers={})
    given = Donors(public, BY, rng).given(Sizes.public(public, rows).each(rows, 200))
    urn = load(Path(folder) / "model.npz").urn(rows, rng)
    measured = Measurement(clique=("shift",), values=np.zeros(TAXI["shift"]), scale=1.0)
    return build(
        Synthesis(batches=drawn(urn, rows, given, rng=rng), measurements=(measured,)),
        schema=declared,
        unit=ResolvedUnit.of("taxi"),
        bounding=Weights(200),
        budget=Budget(epsilon=1, delta=1e-12),
        mechanism={"name": "benchmark", "settings": {}},
        charges=[],
        ledger={},
        rng=rng,
    )


def peak() -> float:
    """Give the most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def looked_at(folder: str, rows: int) -> float:
    """Draw and decode rows, and leave it at that; give the seconds."""
    made = release(folder, rows)
    return timed(lambda: [len(batch) for batch in made.decoded])


def written(folder: str, rows: int) -> tuple[float, float, int]:
    """Draw, decode and write rows; give seconds, peak memory and the file's bytes."""
    target = Path(folder) / "out"
    took = timed(lambda: release(folder, rows).save(target))
    return took, peak(), (target / "rows.parquet").stat().st_size


def floor(folder: str, rows: int) -> tuple[float, float, int]:
    """Let the engine write as many rows of random whole numbers, of the same types."""
    kinds = ["BIGINT"] * (1 + len(PLACES)) + ["VARCHAR"] * len(LISTED)
    kinds += ["DOUBLE"] * (1 + len(TAXI) - len(kinds))
    columns = ", ".join(
        f"CAST(floor(random() * 100) AS {kind}) AS c{i}" for i, kind in enumerate(kinds)
    )
    target = Path(folder) / "floor.parquet"
    with closing(DuckDB()) as engine:
        took = timed(
            lambda: engine.run(f"COPY (SELECT {columns} FROM range({rows})) TO '{target}'")
        )
    return took, peak(), target.stat().st_size


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        apart(fitted, folder)
        some = min(ROWS, 16_000_000)
        figure(f"draw and decode {some:,} rows, seconds", apart(looked_at, folder, some))
        took, most, size = apart(written, folder, ROWS)
        what = f"{ROWS:,} rows of {1 + len(TAXI)} columns"
        figure(f"draw, decode and write {what}, seconds", took)
        figure("rows a second", ROWS / took)
        figure("peak memory of it, GB", most, "<= 1.5", meets=most <= 1.5)
        figure("the file, GB", size / 1e9)
        bare, most, size = apart(floor, folder, ROWS)
        figure(f"floor: DuckDB writes {what} of random numbers, seconds", bare)
        figure("floor: peak memory, GB", most)
        figure("floor: the file, GB", size / 1e9)
        figure("times the floor", took / bare)
    show()


if __name__ == "__main__":
    main()
