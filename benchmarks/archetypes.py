"""Archetypes: its counts put to use, against its published form and AdaGrid, on real people."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from _city import city_schema
from _figures import FIGURES, figure, show, timed
from _people import Case, chicago, planes, sizes_off

from understudy.budget import Budget, Norm, Unit
from understudy.contests.metrics import trip_score
from understudy.demo import City
from understudy.evaluate import Coded
from understudy.public import PublicTable
from understudy.session import open_session
from understudy.synth.adagrid import AdaGrid
from understudy.synth.archetypes import Archetypes
from understudy.synth.archetypes.filling import CopiedRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from understudy.synth import Mechanism

REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "5"))
EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-6
ROWS = 2_000_000
CASES: dict[str, Callable[[], Case]] = {"taxi": chicago, "plane-week": partial(planes, weeks=True)}
SETTINGS: dict[str, dict[str, Any]] = {
    "taxi": {
        "features": ("block", "pickup", "dropoff"),
        "attribute": "company",
        "conditionals": (
            ("fare", ("block", "pickup", "dropoff")),
            ("tips", ("block", "pickup", "dropoff", "fare")),
            ("trip_total", ("fare", "tips")),
            ("trip_seconds", ("block", "pickup", "dropoff", "fare")),
            ("trip_miles", ("block", "pickup", "dropoff", "fare")),
            ("payment_type", ("fare", "tips", "trip_total")),
        ),
    },
    "plane-week": {
        "features": ("shift", "origin", "dest"),
        "attribute": "carrier",
        "conditionals": (
            ("distance", ("origin", "dest")),
            ("air_time", ("origin", "dest", "distance")),
            ("dep_delay", ("shift", "origin", "dest")),
            ("arr_delay", ("dep_delay", "origin", "dest")),
        ),
    },
}


class Found(NamedTuple):
    """What one release comes to."""

    score: float
    people: float
    """How far the number of people is off."""
    sizes: float
    """How far rows per person are off."""
    added: float
    """The share of rows whose total is fare and tips, to the cent."""


def added_up(table: Mapping[str, Any]) -> float:
    """Give the share of rows whose total is fare and tips, to the cent; of tables without, 0."""
    if "trip_total" not in table:
        return 0.0
    fare, tips, total = (
        np.asarray(table[n], dtype=np.float64) for n in ("fare", "tips", "trip_total")
    )
    whole = np.abs(total - fare - tips)
    return float(np.mean(whole[~np.isnan(whole)] < 0.005))


def scored(case: Case, public: PublicTable, mechanism: Mechanism, epsilon: float) -> Found:
    """Run once, and hold what is released against the table."""
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(
            private=case.private,
            public=public,
            schema=case.schema,
            unit=case.unit,
            bounding=Norm(),
            budget=Budget(epsilon=epsilon, delta=DELTA),
            ledger=Path(folder) / "ledger",
        )
        release = session.run(mechanism)
    real = PublicTable.read(case.private, schema=case.schema, unit=case.unit)
    codes, _ = case.schema.encode(release.columns)
    _, people = np.unique(np.asarray(release.columns[case.unit.columns[0]]), return_inverse=True)
    score = trip_score(
        Coded(codes=real.codes, sizes=case.schema.domain, people=real.people),
        Coded(codes=codes, sizes=case.schema.domain, people=people),
        place=case.place,
        time=case.time,
        edge=case.edge,
    ).score
    whose = real.known_people("how many there are")
    off = abs((people.max() + 1) / (whose.max() + 1) - 1)
    return Found(score, float(off), sizes_off(whose, people), added_up(release.columns))


def tell_people(where: str, found: list[Found], case: Case, *, held: bool) -> None:
    """Print how far people and their rows are off, and whether totals add up as in public rows."""
    _, people, sizes, added = np.mean(found, axis=0).tolist()
    apart = abs(added - added_up(case.public))
    for what, off, bar in (
        ("people off by", people, 0.05),
        ("rows a person off by", sizes, 0.1),
        ("share of totals that are fare and tips, from the public one", apart, 0.03),
    ):
        told = f"<= {bar}" if held else None
        figure(f"{where}, {what}", off, told, meets=not held or off <= bar)


def compared(name: str) -> list[dict[str, Any]]:
    case = CASES[name]()
    public = PublicTable.read(case.public, schema=case.schema, unit=case.unit)
    settings = SETTINGS[name]
    forms: dict[str, Mechanism] = {
        "published": Archetypes(**settings, published=True),
        "Archetypes": Archetypes(**settings),
        "ten kinds": Archetypes(**settings, kinds=10),
        "AdaGrid": AdaGrid(**case.settings),
    }
    means: dict[tuple[str, float], float] = {}
    for epsilon in EPSILONS:
        for form, mechanism in forms.items():
            found = [scored(case, public, mechanism, epsilon) for _ in range(REPEATS)]
            means[form, epsilon] = float(np.mean([each.score for each in found]))
            where = f"{name}, epsilon {epsilon:g}: {form}"
            figure(f"{where}, sprint-3 score", means[form, epsilon])
            figure(f"{where}, its spread", float(np.std([each.score for each in found])))
            if len(case.unit.columns) == 1:
                tell_people(where, found, case, held=form == "Archetypes" and epsilon == 10)
        share = means["Archetypes", epsilon] / means["ten kinds", epsilon]
        work = f"{name}, epsilon {epsilon:g}: Archetypes' score, of that with ten kinds"
        figure(work, share, ">= 0.99", meets=share >= 0.99)
        gain = means["Archetypes", epsilon] - means["published", epsilon]
        where = f"{name}, epsilon {epsilon:g}: Archetypes above"
        figure(f"{where} published", gain, "> 0", meets=gain > 0)
        gain = means["Archetypes", epsilon] - means["AdaGrid", epsilon]
        small = epsilon == EPSILONS[0]
        figure(f"{where} AdaGrid", gain, "> 0" if small else None, meets=gain > 0 or not small)
    for less, more in ((0.1, 1.0), (1.0, 10.0)):
        rise = means["Archetypes", more] - means["Archetypes", less]
        figure(f"{name}: rise from epsilon {less:g} to {more:g}", rise, "> 0", meets=rise > 0)
    return list(FIGURES)


def filling() -> None:
    """Fill six columns of two million rows, by a million public ones of the simulated city."""
    schema = city_schema()
    chunk = next(iter(City(taxis=300, trips_per_year=ROWS // 2).chunks(2019, rows=ROWS // 2)))
    public = PublicTable.read(chunk, schema=schema, unit=Unit("taxi_id"))
    features = ("hour", "pickup_area", "dropoff_area")
    told = (*features, "fare")
    mechanism = Archetypes(
        features=features,
        attribute="company",
        conditionals=(
            ("fare", features),
            ("tips", told),
            ("total", ("fare", "tips")),
            ("seconds", told),
            ("miles", told),
            ("payment", ("fare", "tips", "total")),
        ),
    )
    rng = np.random.default_rng(0)
    place = rng.integers(0, len(public), ROWS)
    rows = CopiedRows.copied(public, (*features, "company"), place)
    took = timed(lambda: mechanism.fill(rows, public, features, rng))
    filled = len(rows.codes) - len(features) - 1
    work = f"{filled} columns of {ROWS:,} rows from public conditionals, seconds"
    figure(work, took, "<= 30", meets=took <= 30)


def main() -> None:
    with get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        for found in pool.map(compared, CASES, chunksize=1):
            FIGURES.extend(found)
    filling()
    show()


if __name__ == "__main__":
    main()
