"""TwoRound: real ACS excerpts by their own score, and a census of 98 columns end to end."""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _figures import FIGURES, apart, figure, show

from understudy.contests import Recipe, run_recipe
from understudy.contests.metrics import census_score, excerpt_score
from understudy.engine import DuckDB
from understudy.evaluate import read_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "5"))
DATA = Path(os.environ["UNDERSTUDY_DATA"])
TEN = (
    "AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET",
    "DEYE",
)  # fmt: skip
EXCERPTS: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "10 columns": (TEN, (958.0, 976.0)),
    "24 columns": ((), (847.0,)),
}
"""Columns (none for all of them) and what published outputs score at epsilon 1."""
ROWS = 661_967
SUPPORT = 120
"""How many codes of a list the simulated census has at most, as a state has of the country's."""


def excerpts(name: str) -> list[dict[str, Any]]:
    """Run the recipe on the national excerpts, through files, and score what comes out."""
    columns, bars = EXCERPTS[name]
    private = DATA / "acs-2019" / "national2019.csv"
    real, scores, took = read_values(private), [], []
    with tempfile.TemporaryDirectory() as folder:
        parameters = Path(folder) / "schema.json"
        declared = json.loads((DATA / "acs-2019" / "national2019.json").read_text())["schema"]
        kept = {c: declared[c] for c in columns or declared}
        parameters.write_text(json.dumps({"schema": kept}))
        for i in range(REPEATS):
            out, begun = Path(folder) / f"{i}.csv", time.perf_counter()
            run_recipe(
                "acs-2019",
                private=private,
                parameters=parameters,
                ledger=Path(folder) / f"{i}.ledger",
                out=out,
            )
            took.append(time.perf_counter() - begun)
            scores.append(excerpt_score(real, read_values(out)).score)
    mean, where = float(np.mean(scores)), f"ACS national 2019, {name}, epsilon 1"
    for bar in bars:
        figure(f"{where}: SDNist k-marginal", mean, f">= {bar:g}", meets=mean >= bar)
    figure(f"{where}: its spread", float(np.std(scores)))
    figure(f"{where}: seconds a run", float(np.mean(took)))
    return list(FIGURES)


def _lists() -> dict[str, list[int]]:
    """Give the codes of every column: those listed, or as many as the specification allows."""
    specification = json.loads((DATA / "census-1940" / "colorado-specs.json").read_text())
    listed = json.loads((DATA / "census-1940" / "domain.json").read_text())
    return {
        name: listed.get(name, range(facts["maxval"] + 1)) for name, facts in specification.items()
    }


def _parents() -> dict[str, str]:
    """Plant a tree of dependencies along the recipe's own cliques, from a person's sex on."""
    cliques = [
        tuple("INCWAGE" if n.startswith("INCWAGE") else n for n in clique)
        for clique in Recipe.named("census-1940").settings["cliques"]
    ]
    tree, reached = {"SEX": ""}, ["SEX"]
    for name in reached:
        for other in [n for clique in cliques if name in clique for n in clique]:
            if other not in tree:
                tree[other] = name
                reached.append(other)
    return tree


def census(path: Path) -> None:
    """Write a table of as many people and columns as the contest's, with planted dependencies."""
    rng, lists = np.random.default_rng(1940), _lists()
    places: dict[str, Ints] = {"": np.zeros(ROWS, dtype=np.int64)}
    for name, parent in _parents().items():
        size = min(SUPPORT, len(lists[name]))
        chance = 1 / np.arange(1, size + 1) ** 1.2
        own = rng.choice(size, ROWS, p=chance / chance.sum())
        follows = (places[parent] * 7 + rng.integers(0, 3, ROWS)) % size
        places[name] = np.where(rng.random(ROWS) < 0.7, follows, own)
    table = {}
    for name, codes in lists.items():
        some = np.sort(rng.permutation(len(codes))[:SUPPORT]) if len(codes) > SUPPORT else None
        table[name] = (np.asarray(codes) if some is None else np.asarray(codes)[some])[places[name]]
    wage = places["INCWAGE"]
    table["INCWAGE"] = np.where(wage < 30, 999_998, 50 * (wage - 30) + 25 * (wage % 3))
    table["VALUEH"] = np.where(places["VALUEH"] < 50, 9_999_999, 500 * places["VALUEH"])
    engine = DuckDB()
    engine.write(table, path, types={})
    engine.close()


def end_to_end(folder: Path) -> dict[str, float]:
    """Run the recipe, all three epsilons, from CSV to submission."""
    said: list[str] = []
    begun = time.perf_counter()
    run_recipe(
        "census-1940",
        private=folder / "census.csv",
        parameters=DATA / "census-1940" / "colorado-specs.json",
        lists=DATA / "census-1940" / "domain.json",
        ledger=folder / "census.ledger",
        out=folder / "out.csv",
        progress=lambda stage, _done: said.append(stage),
    )
    took = time.perf_counter() - begun
    planned = next(i for i, stage in enumerate(said) if "planned" in stage)
    asked = next(i for i, stage in enumerate(said) if "round 1" in stage)
    print(said[planned])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"took": took, "peak": peak, "told before": float(planned < asked)}


def scored(folder: Path, epsilon: float) -> tuple[float, float, float]:
    """Give the three scores of the contest's match 3, from 0 to 1,000,000."""
    recipe, files = Recipe.named("census-1940"), DATA / "census-1940"
    schema, _ = recipe.read(files / "colorado-specs.json", lists=files / "domain.json")
    real = read_values(folder / "census.csv", schema=schema)
    synthetic = read_values(folder / f"out-{epsilon:g}.csv", schema=schema.released())
    found = census_score(real, synthetic)
    return found.triples, found.conjunctions, found.wages


def main() -> None:
    with get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        for found in pool.map(excerpts, EXCERPTS, chunksize=1):
            FIGURES.extend(found)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        apart(census, folder / "census.csv")
        seen = apart(end_to_end, folder)
        where, took, peak = f"{ROWS:,} people, 98 columns", seen["took"] / 60, seen["peak"]
        three = f"{where}: CSV to three submissions"
        figure(f"{three}, minutes", took, "<= 10", meets=took <= 10)
        figure(f"{where}: peak memory, GB", peak, "<= 4", meets=peak <= 4)
        told = bool(seen["told before"])
        figure(f"{where}: the model's size told before anything is spent", told, "1", meets=told)
        for epsilon in (0.3, 1.0, 8.0):
            scores = apart(scored, folder, epsilon)
            for kind, score in zip(("triples", "conjunctions", "wages"), scores, strict=True):
                figure(f"{where}, epsilon {epsilon:g}: match 3's {kind}", score)
    show()


if __name__ == "__main__":
    main()
