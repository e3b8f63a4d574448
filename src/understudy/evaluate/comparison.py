"""A comparison: every metric of a synthetic table, with the same metrics of yardsticks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import QuestionError
from understudy.evaluate.census import CensusScore, census_score
from understudy.evaluate.excerpts import ExcerptScore, excerpt_score
from understudy.evaluate.pies import PieScore, pie_score
from understudy.evaluate.prediction import Prediction, predictions
from understudy.evaluate.table import check_alike
from understudy.evaluate.trips import TripScore, trip_score
from understudy.evaluate.values import rows_of, taken
from understudy.evaluate.variation import Pair, Triple, one_way, pairs, triples
from understudy.evaluate.yardsticks import some_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from understudy.evaluate.table import Coded
    from understudy.evaluate.values import Values
    from understudy.public import Progress

NOTICE = (
    "This contains private information: exact differences from the private table; "
    "not part of any release."
)
CHOOSING = (
    "To choose a release by these figures, or to change settings after a look at them, is a "
    "question to the private table that no budget paid for. What is chosen then tells something "
    "that the promise does not cover: choose and tune on public data, or by a rehearsal "
    "(understudy check)."
)
SCALES = (
    "Total variation: 0 is the same, 1 is nothing in common.  "
    "Trip scores: 1000, and 1 for each part, is the same.  "
    "Pie scores: a mean of 1 is the same.  Excerpt scores: 1000 is the same.  "
    "Census scores: 1,000,000, for each part too, is the same."
)
TAUGHT = (
    "Rows of held-out real people whose column is predicted rightly, by naive Bayes taught by "
    "synthetic or by real rows, and by always saying the commonest value"
)
WORST = 10
YARDSTICKS = {"resample": None, "10 % of rows": 0.1, "1 % of rows": 0.01}
"""The share of the real rows that each is made of; None is for as many, with replacement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distances:
    """How far a table lies from the real one."""

    rows: int
    columns: dict[str, float]
    pairs: dict[Pair, float]
    triples: dict[Triple, float]
    trips: TripScore | None
    pies: PieScore | None
    excerpts: ExcerptScore | None = None
    census: CensusScore | None = None

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
        if self.excerpts is not None:
            figures["excerpt score"] = self.excerpts.score
        if self.census is not None:
            figures["census score"] = self.census.score
            figures["  triples"] = self.census.triples
            figures["  conjunctions"] = self.census.conjunctions
            figures["  wages"] = self.census.wages
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
            "excerpts": self.excerpts
            and {"score": self.excerpts.score, "features": self.excerpts.features},
            "census": self.census and {**asdict(self.census), "score": self.census.score},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A synthetic table's distances from the real one, beside those of yardsticks."""

    rows: int
    """How many rows the real table has."""
    synthetic: Distances
    yardsticks: dict[str, Distances]
    predictions: list[Prediction] | None = None
    """What synthetic rows teach of columns; None where it was not asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, as JSON takes it."""
        found = {
            "notice": NOTICE,
            "choosing": CHOOSING,
            "rows": self.rows,
            "synthetic": self.synthetic.to_dict(),
            "yardsticks": {name: each.to_dict() for name, each in self.yardsticks.items()},
        }
        if self.predictions is not None:
            found["predictions"] = [asdict(each) for each in self.predictions]
        return found

    def table(self, title: str | None = None) -> str:
        """Give a text for people, that says first whose eyes it is for."""
        named = {"synthetic": self.synthetic, **self.yardsticks}
        each = list(named.values())
        summary = {k: [d.summary()[k] for d in each] for k in self.synthetic.summary()}
        columns = {k: [d.columns[k] for d in each] for k in self.synthetic.columns}
        worst = {" × ".join(p): [d.pairs[p] for d in each] for p in self.synthetic.worst_pairs()}
        rows: dict[str, Sequence[float]] = {"rows": [d.rows for d in each], **summary}
        wide = max(map(len, (*rows, *columns, *worst)))
        lines = [NOTICE, CHOOSING, "", *([] if title is None else [title, ""]), SCALES, ""]
        lines.append(_line("", list(named), wide))
        lines += _lines(rows, wide)
        lines += ["", "Each column:", *_lines(columns, wide)]
        if worst:
            lines += ["", "The synthetic table's worst pairs:", *_lines(worst, wide)]
        if self.predictions:
            rights = {p.target: [p.synthetic, p.real, p.majority] for p in self.predictions}
            taught = _line("", ["synthetic", "real", "commonest"], wide)
            lines += ["", f"{TAUGHT}:", taught, *_lines(rights, wide)]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Raw:
    """The raw values of both tables, and which scores are to be made of them."""

    real: Values
    synthetic: Values
    excerpts: bool = False
    census: bool = False
    largest: Mapping[str, int] | None = None
    """The largest codes of columns, for a census score."""

    def excerpt_score(self, table: Values) -> ExcerptScore | None:
        """Give a table's excerpt score, where it is asked for."""
        return excerpt_score(self.real, table) if self.excerpts else None

    def census_score(self, table: Values, *, seed: int) -> CensusScore | None:
        """Give a table's census score, where it is asked for."""
        if not self.census:
            return None
        return census_score(self.real, table, largest=self.largest, seed=seed)


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
    raw: Raw | None = None,
    targets: Sequence[str] | None = None,
    yardsticks: Mapping[str, Distances] | None = None,
    count: int = 100,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Hold a synthetic table and three yardsticks against the real one.

    Trip scores are there where place, time and edge are named, pie scores where pie and slices
    are, excerpt and census scores where raw values come with them, predictions of columns where
    targets are named.  ``yardsticks`` are those of another comparison that was asked the same of
    the same real table, to be spared the time.  ``count`` is how many triples of columns are
    looked at, and ``seed`` chooses them, the yardsticks' rows and the people held out.
    """
    check_alike(real, synthetic)
    if not real.rows:
        raise QuestionError("a comparison needs a real table that has rows")
    _check_whole(trip=(place, time, edge), pie=(pie, slices))
    tell: Progress = progress or (lambda _stage, _done: None)
    trips = pies = None
    if place is not None and time is not None and edge is not None:
        trips = partial(trip_score, real, place=place, time=time, edge=edge, rest=rest)
    if pie is not None and slices is not None:
        pies = partial(pie_score, real, pie=pie, slices=slices)

    def distances(name: str, table: Coded, values: Values) -> Distances:
        tell(name, 0.0)
        columns, twos = one_way(real, table), pairs(real, table)
        tell(name, 0.3)
        threes = triples(real, table, count=count, seed=seed)
        tell(name, 0.8)
        found = Distances(
            rows=table.rows,
            columns=columns,
            pairs=twos,
            triples=threes,
            trips=trips(table) if trips else None,
            pies=pies(table) if pies else None,
            excerpts=raw.excerpt_score(values) if raw else None,
            census=raw.census_score(values, seed=seed) if raw else None,
        )
        tell(name, 1.0)
        return found

    made = distances("synthetic", synthetic, raw.synthetic if raw else {})
    drawn = _yardsticks(real, raw, np.random.default_rng(seed))
    shown = dict(yardsticks or {n: distances(n, table, values) for n, table, values in drawn})
    taught = None
    if targets is not None:
        tell("predicting", 0.0)
        taught = predictions(real, synthetic, targets, seed=seed)
    return Comparison(rows=real.rows, synthetic=made, yardsticks=shown, predictions=taught)


def _check_whole(*, trip: Sequence[object], pie: Sequence[object]) -> None:
    """Refuse half of what a score is made of."""
    if len({part is None for part in trip}) > 1:
        raise QuestionError("a trip score needs place, time and edge: name all three or none")
    if len({part is None for part in pie}) > 1:
        raise QuestionError("a pie score needs pie and slices: name both or none")


def _yardsticks(
    real: Coded, raw: Raw | None, rng: np.random.Generator
) -> Iterator[tuple[str, Coded, Values]]:
    """Make yardsticks one at a time, each in its turn: one may be as large as the table."""
    (of_values,) = rng.spawn(1)
    for name, share in YARDSTICKS.items():
        values: Values = {}
        if raw is not None:
            # A schema may drop rows, so that codes and raw values do not go row by row.
            values = taken(raw.real, some_rows(rows_of(raw.real), share, of_values))
        yield name, real.take(some_rows(real.rows, share, rng)), values


def _lines(values: Mapping[str, Sequence[float]], wide: int) -> list[str]:
    return [_line(name, [_figure(v) for v in each], wide) for name, each in values.items()]


def _line(name: str, cells: Sequence[str], wide: int) -> str:
    return (f"{name:<{wide}}" + "".join(f"{cell:>14}" for cell in cells)).rstrip()


def _figure(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if value > 1 else f"{value:.5f}"
