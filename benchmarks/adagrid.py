"""AdaGrid: Norm against the document's bounding, on real people."""

from __future__ import annotations

import os
import tempfile
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _city import write_year
from _figures import FIGURES, apart, figure, show
from _people import Case, chicago, planes, sizes_off
from scale import released

from understudy.budget import Bounding, Budget, Norm, Weights
from understudy.contests.metrics import trip_score
from understudy.evaluate import Coded, pairs
from understudy.public import PublicTable
from understudy.session import open_session
from understudy.synth.adagrid import AdaGrid

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "5"))
DELTA = 1e-6
PUBLIC_TRIPS, PRIVATE_TRIPS = 16_000_000, 1_000_000
BARS = {("plane", 1.0): 0.7, ("plane", 10.0): 0.45, ("plane-week", 1.0): 0.4}
BARS |= {("plane-week", 10.0): 0.4}


CASES: dict[str, Callable[[], Case]] = {
    "taxi": chicago,
    "plane": lambda: planes(weeks=False),
    "plane-week": lambda: planes(weeks=True),
}


def coded(table: PublicTable) -> Coded:
    return Coded(codes=table.codes, sizes=table.schema.domain, people=table.people)


def run(
    case: Case, mechanism: AdaGrid, bounding: Bounding, epsilon: float
) -> tuple[float, float, float, float]:
    """Give the mean error of all pairs and the sprint-3 score of one release.

    Also give how far its number of people is off, and their rows.
    """
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(
            private=case.private,
            public=case.public,
            schema=case.schema,
            unit=case.unit,
            bounding=bounding,
            budget=Budget(epsilon=epsilon, delta=DELTA),
            ledger=Path(folder) / "ledger",
        )
        release = session.run(mechanism)
    # What it is held against: the benchmark's own look at rows that are public in truth.
    table = PublicTable.read(case.private, schema=case.schema, unit=case.unit)
    real, whose = coded(table), table.known_people("how many there are")
    codes, _ = case.schema.encode(release.columns)
    _, people = np.unique(np.asarray(release.columns[case.unit.columns[0]]), return_inverse=True)
    synthetic = Coded(codes=codes, sizes=case.schema.domain, people=people)
    score = trip_score(real, synthetic, place=case.place, time=case.time, edge=case.edge)
    off = abs((people.max() + 1) / (whose.max() + 1) - 1)
    error = float(np.mean(list(pairs(real, synthetic).values())))
    return error, score.score, float(off), sizes_off(whose, people)


def compared(name: str, epsilon: float) -> list[dict[str, Any]]:
    """Run the document's form and ours, in turn, and hold them against each other."""
    case = CASES[name]()
    public = PublicTable.read(case.public, schema=case.schema, unit=case.unit)
    budget = Budget(epsilon=epsilon, delta=DELTA)
    given, exact = Weights(case.caps[epsilon]), AdaGrid(**case.settings)
    best = exact.weights(public, budget=budget)
    forms: dict[str, tuple[AdaGrid, Bounding]] = {
        "published": (AdaGrid(**case.settings, published=True), given),
        "exact": (exact, given),
        "best C": (exact, best),
        "Norm": (exact, Norm()),
    }
    found: dict[str, list[tuple[float, float, float, float]]] = {form: [] for form in forms}
    for _ in range(REPEATS):
        for form, (mechanism, bounding) in forms.items():
            found[form].append(run(case, mechanism, bounding, epsilon))
    means = {form: np.mean(seen, axis=0) for form, seen in found.items()}
    where = f"{case.name}, epsilon {epsilon:g}"
    for form, seen in found.items():
        spread = np.std(seen, axis=0)
        label = f"{form} ({best.cap})" if form == "best C" else form
        figure(f"{where}: {label}, mean pair error", float(means[form][0]))
        figure(f"{where}: {label}, its spread", float(spread[0]))
        figure(f"{where}: {label}, sprint-3 score", float(means[form][1]))
        figure(f"{where}: {label}, its spread", float(spread[1]))
    ratio = float(means["Norm"][0] / means["published"][0])
    bar = BARS.get((case.name, epsilon), 1.0)
    figure(f"{where}: Norm's error, of published", ratio, f"<= {bar}", meets=ratio <= bar)
    gain = float(means["Norm"][1] - means["published"][1])
    figure(f"{where}: Norm's score, above published", gain, ">= 0", meets=gain >= 0)
    figure(f"{where}: Norm's error, of best C", float(means["Norm"][0] / means["best C"][0]))
    if len(case.unit.columns) == 1:
        for which, bar, what in ((2, 0.05, "people off by"), (3, 0.1, "rows a person off by")):
            for form, mean in means.items():
                held = form == "Norm" and epsilon == 10
                told = f"<= {bar}" if held else None
                off = float(mean[which])
                figure(f"{where}: {form}, {what}", off, told, meets=not held or off <= bar)
    share = float(means["exact"][0] / means["published"][0])
    figure(f"{where}: exact calibration's error, of published", share, "< 1", meets=share < 1)
    return list(FIGURES)


def public_year() -> None:
    """Make a release of a million trips beside a whole public year of the contest's size."""
    with tempfile.TemporaryDirectory() as folder:
        public = write_year(Path(folder) / "public", 2019, PUBLIC_TRIPS)
        private = write_year(Path(folder) / "private", 2020, PRIVATE_TRIPS)
        took = apart(released, str(private), str(public), "Norm")
    work = f"{PUBLIC_TRIPS:,} public trips, {PRIVATE_TRIPS:,} private ones"
    figure(f"{work}: peak memory, GB", took["peak"], "<= 3", meets=took["peak"] <= 3)
    figure(f"{work}: minutes", took["in all"] / 60)


def main() -> None:
    asked = [(name, epsilon) for name in CASES for epsilon in (1.0, 10.0)]
    # Errors do not depend on what else runs, so two at a time.
    with get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        for found in pool.starmap(compared, asked, chunksize=1):
            FIGURES.extend(found)
    public_year()
    show()


if __name__ == "__main__":
    main()
