"""People without a public table: what a newcomer gets, against the best of all, on 14 tables."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _figures import FIGURES, apart, figure, show
from _panels import PANELS, Panel, wide
from _people import sizes_off

import understudy as us
from understudy.evaluate import read_private

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from understudy.budget import Bounding
    from understudy.synth import Mechanism

    Codes = Mapping[str, NDArray[Any]]

REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "3"))
OFTEN = int(os.environ.get("UNDERSTUDY_BENCH_OFTEN", "10"))
"""How often the worst run is looked for, at epsilon 1."""
EPSILONS = (0.3, 1.0, 10.0)
BARS = {
    ("nlswork", 1.0): 0.090,
    ("nlswork", 10.0): 0.046,
    ("cdnow", 1.0): 0.046,
    ("cdnow", 10.0): 0.0165,
    ("planes", 1.0): 0.20,
    ("planes", 10.0): 0.085,
    ("plane-weeks", 1.0): 0.065,
    ("plane-weeks", 10.0): 0.022,
}
WORST, OTHERS, PEOPLE, SIZES = 1.3, 1.10, 0.05, 0.08
RIVALS: tuple[Mechanism, ...] = (us.TwoRound(weigh="by cells"), us.MST(), us.AIM(), us.AdaGrid())
HOPEFUL = 3
"""How many of the others are run again, for a mean."""
SLOW = {("wide", "aim"), ("wide", "adagrid")}
"""What would take minutes, and tell what the others do."""
CPU = ((us.MST(), 48, 42_535, 4.0), (us.AIM(), 48, 42_535, 40.0), (us.MST(), 110, 19_434, 15.0))


def pair_error(real: Codes, made: Codes, domain: Mapping[str, int]) -> float:
    """Give the mean total variation over all pairs of columns."""
    names, errors = list(domain), []
    for i, a in enumerate(names):
        for b in names[:i]:
            shares = []
            for codes in (real, made):
                cells = codes[a].astype(np.int64) * domain[b] + codes[b]
                counts = np.bincount(cells, minlength=domain[a] * domain[b])
                shares.append(counts / max(1, len(cells)))
            errors.append(0.5 * float(np.abs(shares[0] - shares[1]).sum()))
    return float(np.mean(errors))


class Bench:
    """One table, run again and again."""

    def __init__(self, name: str) -> None:
        """Read it."""
        self.name, self.panel = name, PANELS[name]()
        self.real = read_private(self.panel.data, schema=self.panel.schema, unit=self.panel.unit)
        self.single = self.panel.unit.is_row
        people = self.real.people
        self.people = np.zeros(1, dtype=np.int64) if people is None else people

    def run(self, mechanism: Mechanism, bounding: Bounding, epsilon: float) -> dict[str, float]:
        """Run once, and hold what is released against the table."""
        panel = self.panel
        with tempfile.TemporaryDirectory() as folder:
            release = us.open(
                private=panel.data,
                schema=panel.schema,
                unit=panel.unit,
                bounding=bounding,
                budget=us.Budget(epsilon=epsilon, delta=1e-6),
                ledger=Path(folder) / "bench.ledger",
            ).run(mechanism)
            made, _ = panel.schema.released().encode(release.columns)
            found = {"pairs": pair_error(self.real.codes, made, panel.schema.domain)}
            if not self.single:
                ids = np.asarray(release.columns[panel.unit.columns[0]])
                _, people = np.unique(ids, return_inverse=True)
                found["people"] = (int(people.max()) + 1) / (int(self.people[-1]) + 1)
                found["sizes"] = sizes_off(self.people, people)
        return found

    @property
    def bounding(self) -> Bounding:
        """What a newcomer has."""
        return us.Weights(1) if self.single else us.Norm()

    def rivals(self) -> Iterator[tuple[Mechanism, Bounding]]:
        """Give every other mechanism, under `Norm` and under two caps."""
        boundings: list[Bounding] = [self.bounding]
        if not self.single:
            _, sizes = np.unique(self.people, return_counts=True)
            caps = {int(np.quantile(sizes, share)) for share in (0.5, 0.9)}
            boundings += [us.Weights(cap) for cap in sorted(caps)]
        for mechanism in RIVALS:
            if (self.name, mechanism.name) in SLOW:
                continue
            for bounding in boundings:
                yield mechanism, bounding

    def best_rival(self, epsilon: float) -> tuple[str, float]:
        """Give the least mean of the others, and whose it is.

        Each is tried once; those that came out best run again as often as `Auto` does, since the
        best single run of twelve is luck.
        """
        tried = [(self.run(*rival, epsilon)["pairs"], rival) for rival in self.rivals()]
        hopeful = [rival for _, rival in sorted(tried, key=lambda run: run[0])[:HOPEFUL]]
        means = []
        for mechanism, bounding in hopeful:
            runs = [self.run(mechanism, bounding, epsilon)["pairs"] for _ in range(REPEATS)]
            means.append((float(np.mean(runs)), f"{mechanism.name}, {_cap(bounding)}"))
        least, name = min(means)
        return name, least


def _cap(bounding: Bounding) -> str:
    return str(getattr(bounding, "cap", "norm"))


def compared(name: str, epsilons: tuple[float, ...]) -> list[dict[str, Any]]:
    """Give a table's figures at every epsilon."""
    bench = Bench(name)
    for epsilon in epsilons:
        work, often = f"{name}, epsilon {epsilon:g}", OFTEN if epsilon == 1 else REPEATS
        runs = [bench.run(us.Auto(), bench.bounding, epsilon) for _ in range(often)]
        errors = [run["pairs"] for run in runs]
        mean, bar = float(np.mean(errors)), BARS.get((name, epsilon))
        told = None if bar is None else f"<= {bar:g}"
        figure(f"{work}: pair error, Auto", mean, told, meets=bar is None or mean <= bar)
        worst = max(errors) / mean
        figure(f"{work}: worst of {often} to mean", worst, f"<= {WORST}", meets=worst <= WORST)
        if not bench.single:
            people = float(np.mean([abs(run["people"] - 1) for run in runs]))
            holds = epsilon < 1 or people <= PEOPLE
            told = None if epsilon < 1 else f"<= {PEOPLE}"
            figure(f"{work}: people off by", people, told, meets=holds)
            sizes = float(np.mean([run["sizes"] for run in runs]))
            told = f"<= {SIZES}" if epsilon == 1 else None
            figure(f"{work}: rows a person", sizes, told, meets=told is None or sizes <= SIZES)
        best, least = bench.best_rival(epsilon)
        ratio = mean / least
        figure(f"{work}: to the best, {best}", ratio, f"<= {OTHERS}", meets=ratio <= OTHERS)
    return list(FIGURES)


def many_columns(which: int) -> list[dict[str, Any]]:
    """Give the processor time of a table of many columns."""
    mechanism, columns, people, bar = CPU[which]
    panel: Panel = wide(people=people, columns=columns)
    with tempfile.TemporaryDirectory() as folder:
        session = us.open(
            private=panel.data,
            schema=panel.schema,
            unit=panel.unit,
            bounding=us.Weights(1),
            budget=us.Budget(epsilon=1.0, delta=1e-6),
            ledger=Path(folder) / "bench.ledger",
        )
        begun = time.process_time()
        session.run(mechanism)
        took = time.process_time() - begun
    work = f"{people:,} rows x {columns} columns, {mechanism.name}: processor seconds"
    figure(work, took, f"<= {bar:g}", meets=took <= bar)
    return list(FIGURES)


def main() -> None:
    """Measure the tables named, or all of them, and tables of many columns.

    Numbers among the names are the epsilons: `people.py acs 10` measures one table at one.
    """
    numbers = {given: float(given) for given in sys.argv[1:] if given[0].isdigit()}
    epsilons = tuple(numbers.values()) or EPSILONS
    named = [given for given in sys.argv[1:] if given not in numbers] or [*PANELS, "columns"]
    for name in named:
        if name == "columns":
            for which in range(len(CPU)):
                FIGURES.extend(apart(many_columns, which))
        else:
            FIGURES.extend(apart(compared, name, epsilons))
    show()


if __name__ == "__main__":
    main()
