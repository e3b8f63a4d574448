"""The trip score: the metric of the third sprint of NIST's contest, for any table.

Three numbers between 0 and 1.  *k-marginal*: the similarity of 2-way marginals within each
place and time.  *Graph edges*: the similarity of journeys from one place to another.  *People*: the
similarity of people, by how often each is at what time and place (the contest's HOC).  The
contest's columns are place = pickup, time = shift, edge = (pickup, dropoff).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from understudy.contests.metrics.scores import SCORES
from understudy.errors import QuestionError, UsageError
from understudy.evaluate.matching import Matched, matched
from understudy.evaluate.metric import Figure, Metric, Option, column_list
from understudy.evaluate.table import Coded, Counts, check_alike
from understudy.evaluate.variation import total_variation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from understudy.evaluate import Tables

CONTEST_SEED = 123456
REPETITIONS = 50
TOLERANCES = (5, 51)
"""A tolerance is at least the first and below the second."""
BLOCK_CELLS = 2**19
"""The most numbers of people's vectors in memory at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TripScore:
    """The three parts of a trip score, each from 0 to 1, higher is closer.

    >>> TripScore(k_marginal=0.5, graph_edges=0.75, people=1.0).score
    750.0
    """

    k_marginal: float
    graph_edges: float
    people: float

    @property
    def score(self) -> float:
        """Return the contest's score, from 0 to 1000."""
        return 1000 * (self.k_marginal + self.graph_edges + self.people) / 3


def trip_score(
    real: Coded,
    synthetic: Coded,
    *,
    place: str,
    time: str,
    edge: tuple[str, str],
    rest: Sequence[str] | None = None,
) -> TripScore:
    """Score a synthetic table; ``rest`` are the columns whose pairs are compared in each cell."""
    check_alike(real, synthetic)
    for name in (place, time, *edge):
        real.cells((name,))  # refuses unknown columns before any work
    if rest is None:
        rest = [name for name in real.sizes if name not in {place, time}]
    if len(rest) < 2:
        raise QuestionError(
            "a k-marginal needs at least two columns besides place and time", got=len(rest)
        )
    if not real.rows:
        raise QuestionError("a trip score needs a real table with rows")
    return TripScore(
        k_marginal=k_marginal(real, synthetic, cell=(place, time), rest=rest),
        graph_edges=1 - total_variation(real, synthetic, edge),
        people=people_alike(real, synthetic, time=time, place=place),
    )


def k_marginal(
    real: Coded, synthetic: Coded, *, cell: tuple[str, str], rest: Sequence[str]
) -> float:
    """Compare all pairs of columns within each cell; 2 is the distance where one side is empty.

    The mean over pairs and then over cells is one mean over both, so that the order in which
    distances are added up does not matter.
    """
    groups = _joined(matched(real, synthetic, cell))
    shared = (groups.real > 0) & (groups.synthetic > 0)
    # A weight of 0 skips a cell where one side is empty: its distance is set, not computed.
    weight_real = np.where(shared, 1 / np.maximum(groups.real, 1), 0.0)
    weight_synthetic = np.where(shared, 1 / np.maximum(groups.synthetic, 1), 0.0)
    chosen = list(combinations(rest, 2))
    distance = 2.0 * len(chosen) * int(np.count_nonzero(~shared))
    for pair in chosen:
        width = real.cells(pair)
        for found in matched(real, synthetic, (*cell, *pair)):
            group = np.searchsorted(groups.cells, found.cells // width)
            shares = found.real * weight_real[group] - found.synthetic * weight_synthetic[group]
            distance += float(np.abs(shares).sum())
    mean = distance / (len(chosen) * len(groups.cells))
    # Rounding could exceed the largest possible distance.
    return (2 - min(mean, 2.0)) / 2


def _joined(blocks: Iterator[Matched]) -> Matched:
    cells, real, synthetic = zip(*blocks, strict=True)
    return Matched(np.concatenate(cells), np.concatenate(real), np.concatenate(synthetic))


def people_alike(real: Coded, synthetic: Coded, *, time: str, place: str) -> float:
    """Compare how many people are similar to a few real ones, among real and synthetic people."""
    true, made = (_Vectors.of(table, (time, place)) for table in (real, synthetic))
    # The contest drew its targets and tolerances from this generator, in this order.
    rng = np.random.RandomState(CONTEST_SEED)
    targets, tolerances = [], []
    for _ in range(REPETITIONS):
        targets.append(true.block(person := int(rng.randint(0, true.people)), person + 1)[0])
        tolerances.append(rng.randint(*TOLERANCES, true.width))
    low, high = np.subtract(targets, tolerances), np.add(targets, tolerances)
    gaps = np.abs(_share_within(true, low, high) - _share_within(made, low, high))
    return 1 - float(gaps.mean())


class _Vectors(NamedTuple):
    """How often each person has each code of a few columns, kept as sorted keys.

    A key is person × width + code, the second column's codes after the first's, so that a
    block of people is a slice of keys and the whole matrix is never in memory at once.
    """

    keys: tuple[Counts, ...]
    people: int
    width: int

    @classmethod
    def of(cls, table: Coded, names: Sequence[str]) -> _Vectors:
        """Number the people of a table in the order of their numbers, and sort their codes."""
        persons, count = _ranked(table)
        offset, width, keys = 0, sum(table.sizes[name] for name in names), []
        for name in names:
            key = persons * width
            key += table.codes[name].astype(np.int64) + offset
            key.sort()
            keys.append(key)
            offset += table.sizes[name]
        return cls(tuple(keys), count, width)

    def block(self, begin: int, end: int) -> NDArray[np.int32]:
        """Return the vectors of the people from ``begin`` to below ``end``, a row each."""
        counts = np.zeros((end - begin) * self.width, np.int64)
        for keys in self.keys:
            first, last = np.searchsorted(keys, [begin * self.width, end * self.width])
            found = keys[first:last] - begin * self.width
            counts += np.bincount(found, minlength=len(counts))
        return counts.reshape(end - begin, self.width).astype(np.int32)


def _ranked(table: Coded) -> tuple[Counts, int]:
    """Number people from 0 in the order of their numbers; return their count too."""
    if table.people is None:
        return np.arange(table.rows), table.rows
    if not table.rows:
        return np.zeros(0, np.int64), 0
    people = table.people.astype(np.int64, copy=False)
    least, most = int(people.min()), int(people.max())
    if most - least >= 4 * table.rows:
        numbers, ranks = np.unique(people, return_inverse=True)
        return ranks.astype(np.int64, copy=False), len(numbers)
    # Numbers in a narrow range, such as ours, need no sorting: look up their ranks.
    present = np.zeros(most - least + 1, np.bool_)
    present[people - least] = True
    return (np.cumsum(present) - 1)[people - least], int(np.count_nonzero(present))


def _share_within(
    vectors: _Vectors, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the share of people whose every count lies within each row of bounds."""
    similar = np.zeros(len(low), np.int64)
    step = max(1, BLOCK_CELLS // vectors.width)
    bounds = list(zip(low.astype(np.int32), high.astype(np.int32), strict=True))
    for begin in range(0, vectors.people, step):
        # One count of all people side by side, so that the comparisons run along memory.
        block = vectors.block(begin, min(begin + step, vectors.people)).T.copy()
        for i, (least, most) in enumerate(bounds):
            within = (block >= least[:, None]) & (block <= most[:, None])
            similar[i] += np.count_nonzero(within.all(axis=0))
    return similar / max(vectors.people, 1)


def _compute(
    tables: Tables,
    *,
    place: str,
    time: str,
    edge: tuple[str, str],
    rest: Sequence[str] | None = None,
) -> TripScore:
    real, synthetic = tables.real, tables.synthetic
    return trip_score(real, synthetic, place=place, time=time, edge=edge, rest=rest)


def _plain(found: TripScore) -> dict[str, Any]:
    return {**asdict(found), "score": found.score}


def _edge(text: str) -> tuple[str, ...]:
    columns = column_list(text)
    if len(columns) != 2:
        raise UsageError("--edge needs two columns", got=text, allowed="COLUMN,COLUMN")
    return columns


TRIPS: Metric[TripScore] = Metric(
    name="trips",
    title="trip score",
    about="The score of NIST's third sprint: pairs of columns within each place and time, journeys "
    "from one place to another, and people.",
    compute=_compute,
    plain=_plain,
    options=(
        Option(name="place", help="for a trip score: the column of the place"),
        Option(name="time", help="for a trip score: the column of the time"),
        Option(
            name="edge",
            kind="columns",
            metavar="COLUMN,COLUMN",
            help="for a trip score: the columns of origin and destination",
            read=_edge,
        ),
        Option(name="rest", kind="columns", needed=False),
    ),
    figures=(
        Figure(
            name="trip score",
            of=lambda found: found.score,
            title="trip score",
            best=1000,
            axis="trip score",
        ),
        Figure(
            name="k-marginal",
            of=lambda found: found.k_marginal,
            is_part=True,
            title="trips: k-marginal",
            best=1,
        ),
        Figure(
            name="graph edges",
            of=lambda found: found.graph_edges,
            is_part=True,
            title="trips: graph edges",
            best=1,
        ),
        Figure(
            name="people",
            of=lambda found: found.people,
            is_part=True,
            title="trips: people",
            best=1,
        ),
    ),
    scale="Trip scores: 1000, and 1 for each part, is the same.",
    group=SCORES,
)
