"""A comparison: every metric of a synthetic table, with the same metrics of yardsticks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import QuestionError
from understudy.evaluate.pies import PieScore, pie_score
from understudy.evaluate.table import check_alike
from understudy.evaluate.trips import TripScore, trip_score
from understudy.evaluate.variation import Pair, Triple, one_way, pairs, triples
from understudy.evaluate.yardsticks import resample, subsample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from understudy.evaluate.table import Coded
    from understudy.public import Progress

NOTICE = (
    "This contains private information: exact differences from the private table; "
    "not part of any release."
)
SCALES = (
    "Total variation: 0 is the same, 1 is nothing in common.  "
    "Trip scores: 1000, and 1 for each part, is the same.  "
    "Pie scores: a mean of 1 is the same."
)
WORST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Distances:
    """How far a table lies from the real one."""

    rows: int
    columns: dict[str, float]
    pairs: dict[Pair, float]
    triples: dict[Triple, float]
    trips: TripScore | None
    pies: PieScore | None

    def summary(self) -> dict[str, float]:
        """Give the figures to look at first, by their names for people."""
        figures: dict[str, float] = {}
        groups: dict[str, Mapping[Any, float]] = {
            "columns": self.columns,
            "pairs": self.pairs,
            "triples": self.triples,
        }
        for name, group in groups.items():
            if group:
                figures[f"{name}, mean"] = float(np.mean(list(group.values())))
                figures[f"{name}, largest"] = max(group.values())
        if self.trips is not None:
            figures["trip score"] = self.trips.score
            figures["  k-marginal"] = self.trips.k_marginal
            figures["  graph edges"] = self.trips.graph_edges
            figures["  people"] = self.trips.people
        if self.pies is not None:
            figures["pie score, mean"] = self.pies.mean
            figures["pie score, sum"] = self.pies.score
        return figures

    def worst_pairs(self, count: int = WORST) -> list[Pair]:
        """Give the pairs of columns that are farthest from the real ones, the worst first."""
        return sorted(self.pairs, key=lambda pair: -self.pairs[pair])[:count]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, as JSON takes it."""
        return {
            "rows": self.rows,
            "summary": {name.strip(): value for name, value in self.summary().items()},
            "columns": dict(self.columns),
            "pairs": [{"columns": list(p), "variation": v} for p, v in self.pairs.items()],
            "triples": [{"columns": list(t), "variation": v} for t, v in self.triples.items()],
            "trips": self.trips and {**asdict(self.trips), "score": self.trips.score},
            "pies": self.pies and {**asdict(self.pies), "score": self.pies.score},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A synthetic table's distances from the real one, beside those of yardsticks."""

    rows: int
    """How many rows the real table has."""
    synthetic: Distances
    yardsticks: dict[str, Distances]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, as JSON takes it."""
        return {
            "notice": NOTICE,
            "rows": self.rows,
            "synthetic": self.synthetic.to_dict(),
            "yardsticks": {name: each.to_dict() for name, each in self.yardsticks.items()},
        }

    def table(self) -> str:
        """Give a text for people, that says first whose eyes it is for."""
        named = {"synthetic": self.synthetic, **self.yardsticks}
        each = list(named.values())
        summary = {k: [d.summary()[k] for d in each] for k in self.synthetic.summary()}
        columns = {k: [d.columns[k] for d in each] for k in self.synthetic.columns}
        worst = {" × ".join(p): [d.pairs[p] for d in each] for p in self.synthetic.worst_pairs()}
        rows: dict[str, Sequence[float]] = {"rows": [d.rows for d in each], **summary}
        wide = max(map(len, (*rows, *columns, *worst)))
        lines = [NOTICE, "", SCALES, "", _line("", list(named), wide)]
        lines += _lines(rows, wide)
        lines += ["", "Each column:", *_lines(columns, wide)]
        if worst:
            lines += ["", "The synthetic table's worst pairs:", *_lines(worst, wide)]
        return "\n".join(lines) + "\n"


def compare(
    real: Coded,
    synthetic: Coded,
    *,
    place: str | None = None,
    time: str | None = None,
    edge: tuple[str, str] | None = None,
    rest: Sequence[str] | None = None,
    pie: Sequence[str] | None = None,
    slices: str | None = None,
    count: int = 100,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Hold a synthetic table and three yardsticks against the real one.

    Trip scores are there where place, time and edge are named, pie scores where pie and slices
    are.  ``count`` is how many triples of columns are looked at, and ``seed`` chooses them and
    the yardsticks' rows.
    """
    check_alike(real, synthetic)
    if not real.rows:
        raise QuestionError("a comparison needs a real table that has rows")
    if len({place is None, time is None, edge is None}) > 1:
        raise QuestionError("a trip score needs place, time and edge: name all three or none")
    if (pie is None) != (slices is None):
        raise QuestionError("a pie score needs pie and slices: name both or none")

    def distances(name: str, table: Coded) -> Distances:
        tell: Progress = progress or (lambda _stage, _done: None)
        tell(name, 0.0)
        columns, twos = one_way(real, table), pairs(real, table)
        tell(name, 0.3)
        threes = triples(real, table, count=count, seed=seed)
        tell(name, 0.8)
        trips = pies = None
        if place is not None and time is not None and edge is not None:
            trips = trip_score(real, table, place=place, time=time, edge=edge, rest=rest)
        if pie is not None and slices is not None:
            pies = pie_score(real, table, pie=pie, slices=slices)
        tell(name, 1.0)
        return Distances(
            rows=table.rows, columns=columns, pairs=twos, triples=threes, trips=trips, pies=pies
        )

    rng = np.random.default_rng(seed)
    # Made one at a time, when it is its turn: a yardstick may be as large as the table.
    yardsticks: dict[str, Callable[[], Coded]] = {
        "resample": lambda: resample(real, rng),
        "10 % of rows": lambda: subsample(real, 0.1, rng),
        "1 % of rows": lambda: subsample(real, 0.01, rng),
    }
    return Comparison(
        rows=real.rows,
        synthetic=distances("synthetic", synthetic),
        yardsticks={name: distances(name, make()) for name, make in yardsticks.items()},
    )


def _lines(values: Mapping[str, Sequence[float]], wide: int) -> list[str]:
    return [_line(name, [_figure(v) for v in each], wide) for name, each in values.items()]


def _line(name: str, cells: Sequence[str], wide: int) -> str:
    return (f"{name:<{wide}}" + "".join(f"{cell:>14}" for cell in cells)).rstrip()


def _figure(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if value > 1 else f"{value:.5f}"
