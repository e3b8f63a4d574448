"""Our own runs: the same job as a peer's, through a session with a ledger, and people's tables."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from _peers.job import Job, Took, peak, read, write
from _peers.scores import Errors, errors
from _people import planes
from _tables import ORDERED

from understudy.budget import Bounding, Budget, Norm, Unit, Weights
from understudy.evaluate import Coded
from understudy.public import PublicTable
from understudy.schema import Categorical, Integer, Schema
from understudy.session import open_session
from understudy.synth import MECHANISMS
from understudy.synth.adagrid import AdaGrid
from understudy.synth.auto import Auto

if TYPE_CHECKING:
    from understudy.release import Release
    from understudy.synth import Mechanism

DRAWING = "drawing rows"
"""The stage at which every mechanism has its model."""
PEOPLE = {"plane": False, "plane-week": True}
"""Whether a person is a plane, or a plane in a week."""
PEOPLE_DELTA = 1e-6


def run(job: Job) -> Took:
    """Run a job, from the table in memory to rows, reading, counting and ledger included."""
    codes, sizes = read(job.table)
    schema = Schema("table", tuple(declared(name, size) for name, size in sizes.items()))
    release, took = released(
        MECHANISMS[job.mechanism](),
        private=codes,
        public=None,
        schema=schema,
        unit=Unit.each_row(),
        bounding=Weights(1),
        budget=Budget(epsilon=job.epsilon, delta=job.delta),
    )
    write(job.out, release.columns, sizes)
    return took


def declared(name: str, size: int) -> Integer | Categorical:
    """Declare a column: whole numbers where codes lie in an order, else a list of codes."""
    if name in ORDERED:
        return Integer(name=name, min=0, max=size - 1, missing=False)
    return Categorical(name=name, values=tuple(range(size)), outside="drop", missing=False)


def people(mechanism: str, name: str, epsilon: float) -> tuple[Took, Errors]:
    """Make a release of people with many rows; hold it against all rows of the private half."""
    case = planes(weeks=PEOPLE[name])
    release, took = released(
        AdaGrid(**case.settings) if mechanism == "AdaGrid" else Auto(),
        private=case.private,
        public=case.public,
        schema=case.schema,
        unit=case.unit,
        bounding=Norm(),
        budget=Budget(epsilon=epsilon, delta=PEOPLE_DELTA),
    )
    # The benchmark's own look at rows that are public in truth.
    whole = PublicTable.read(case.private, schema=case.schema, unit=case.unit)
    sizes = case.schema.domain
    real = Coded(codes=whole.codes, sizes=sizes, people=None)
    codes, _ = case.schema.encode(release.columns)
    return took, errors(real, Coded(codes=codes, sizes=sizes, people=None))


def released(
    mechanism: Mechanism,
    *,
    private: object,
    public: object,
    schema: Schema,
    unit: Unit,
    bounding: Bounding,
    budget: Budget,
) -> tuple[Release, Took]:
    """Make a release with a fresh ledger, by the clock."""
    drawing: list[float] = []

    def told(stage: str, done: float) -> None:
        del done
        if stage == DRAWING and not drawing:
            drawing.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        session = open_session(
            private=private,
            public=public,
            schema=schema,
            unit=unit,
            bounding=bounding,
            budget=budget,
            ledger=Path(folder) / "ledger",
        )
        begun = time.perf_counter()
        release = session.run(mechanism, progress=told)
        ended = time.perf_counter()
    took = Took(fit=drawing[0] - begun, sample=ended - drawing[0], peak=peak())
    return release, took
