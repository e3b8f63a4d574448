"""The census score: the three metrics of NIST's Match 3 of 2018, on tables of whole numbers.

*Triples*: the similarity of random 3-way marginals.  *Conjunctions* (the contest's HOC): the
similarity of the shares of rows that satisfy random conditions on a tenth of the columns.  *Wages*:
the similarity of cities in the inequality of wages, and in their ranks by the gap between the wages
of men and women.  Each is 1,000,000 where nothing differs; the score is their mean.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from understudy.contests.metrics.scores import SCORES
from understudy.errors import QuestionError
from understudy.evaluate.metric import Figure, Metric, Option, check_modelled
from understudy.evaluate.values import Column, coded, shared_names
from understudy.evaluate.variation import choose_triples, total_variation
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.evaluate import Coded, Tables
    from understudy.evaluate.values import Values
    from understudy.schema import Array, Schema

    Whole = NDArray[np.int64]
    Conjunction = dict[str, set[int]]

PLACE, WAGE, SEX = CENSUS_COLUMNS = ("CITY", "INCWAGE", "SEX")
FULL = 1_000_000
"""The best score of each part."""
TAKEN = 0.1
"""The probability that a conjunction includes a column."""
LEAST_SHARE = 1e-6
WORST_FACTOR = 1000
"""Shares that are off by this factor, in the root mean square of logarithms, score 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusScore:
    """The three parts of a census score, each from 0 to 1,000,000, higher is closer.

    >>> CensusScore(triples=900_000.0, conjunctions=600_000.0, wages=750_000.0).score
    750000.0
    """

    triples: float
    conjunctions: float
    wages: float

    @property
    def score(self) -> float:
        """Return the contest's score, the mean of the three."""
        return fmean((self.triples, self.conjunctions, self.wages))


def census_score(
    real: Values,
    synthetic: Values,
    *,
    place: str = PLACE,
    wage: str = WAGE,
    sex: str = SEX,
    male: int = 1,
    no_wage: int = 999_998,
    triples: int = 100,
    conjunctions: int = 300,
    largest: Mapping[str, int] | None = None,
    seed: int = 0,
) -> CensusScore:
    """Score a synthetic table by the columns that both tables have.

    ``seed`` chooses the triples and the conjunctions.  ``largest`` is the largest code of some
    columns: a conjunction then draws from all codes up to it, as the contest does, and from the
    real table's own values where a column has none.

    Where no men or no women of a place are paid, their mean wage is 0.  A place without synthetic
    wages scores 0; the rank of a single place is right or wrong.  A synthetic table without rows
    scores 0.
    """
    names = shared_names(real, synthetic)
    absent = [name for name in (place, wage, sex) if name not in names]
    if absent:
        raise QuestionError(
            "a census score needs columns of place, wage and sex in both tables",
            got="no " + ", ".join(absent),
        )
    values, columns = {}, {}
    for name in names:
        columns[name], values[name] = _numbered(
            *(_whole(name, table[name]) for table in (real, synthetic))
        )
    true, made = coded(columns)
    chosen = choose_triples(names, count=triples, seed=seed)
    drawn = draw_conjunctions(true, values, count=conjunctions, seed=seed, largest=largest or {})
    parts = (place, wage, sex)
    paid = [
        paid_by_place(*(values[n][table.codes[n]] for n in parts), male=male, no_wage=no_wage)
        for table in (true, made)
    ]
    return CensusScore(
        triples=FULL * fmean(1 - total_variation(true, made, triple) for triple in chosen),
        conjunctions=FULL * conjunctions_alike(true, made, values, drawn),
        wages=FULL * wages_alike(*paid),
    )


def _whole(name: str, values: Array) -> Whole:
    """Convert values to integers; raise on any other, without quoting it."""
    if values.dtype.kind not in "iu":
        numbers, absent = reading.numbers(values, ())
        if absent.any() or not (np.isfinite(numbers) & (numbers == np.floor(numbers))).all():
            raise QuestionError(f"column {name} has values that are not whole numbers")
        values = numbers
    return values.astype(np.int64, copy=False)


def _numbered(real: Whole, synthetic: Whole) -> tuple[Column, Whole]:
    """Number the distinct values of two columns from 0, ascending; return the values too."""
    both = np.concatenate([real, synthetic])
    least, most = int(both.min()), int(both.max())
    if most - least < 4 * len(both):
        # Numbers in a narrow range, such as codes, need no sorting: look up their ranks.
        present = np.zeros(most - least + 1, np.bool_)
        present[both - least] = True
        values, codes = np.flatnonzero(present) + least, (np.cumsum(present) - 1)[both - least]
    else:
        values, codes = np.unique(both, return_inverse=True)
    codes = codes.astype(np.min_scalar_type(len(values)))
    return Column(codes[: len(real)], codes[len(real) :], len(values)), values


def draw_conjunctions(
    real: Coded, values: Mapping[str, Whole], *, count: int, seed: int, largest: Mapping[str, int]
) -> list[Conjunction]:
    """Draw conjunctions: the allowed values of each chosen column, satisfied by a real row.

    A column allows that row's value and more values, drawn until one repeats.
    """
    rng = np.random.default_rng([seed, 1])
    names = list(real.sizes)
    own = {name: values[name][real.counts([name]) > 0] for name in names}

    def draw(name: str) -> int:
        if name in largest:
            return int(rng.integers(0, largest[name] + 1))
        return int(own[name][rng.integers(len(own[name]))])

    drawn = []
    for _ in range(count):
        row, conjunction = int(rng.integers(real.rows)), {}
        for name in (name for name in names if rng.random() < TAKEN):
            allowed = {int(values[name][real.codes[name][row]])}
            while (new := draw(name)) not in allowed:
                allowed.add(new)
            conjunction[name] = allowed
        drawn.append(conjunction)
    return drawn


def conjunctions_alike(
    real: Coded, synthetic: Coded, values: Mapping[str, Whole], conjunctions: Sequence[Conjunction]
) -> float:
    """Compare the shares of rows that satisfy each conjunction, by their logarithms."""
    if not synthetic.rows:
        return 0.0
    errors = []
    for conjunction in conjunctions:
        allowed = {n: np.isin(values[n], sorted(those)) for n, those in conjunction.items()}
        p, q = (_share(table, allowed) for table in (real, synthetic))
        errors.append(np.log(max(q, LEAST_SHARE)) - np.log(p))
    rms = float(np.sqrt(np.mean(np.square(errors))))
    return max(0.0, 1 - rms / float(np.log(WORST_FACTOR)))


def _share(table: Coded, allowed: Mapping[str, NDArray[np.bool_]]) -> float:
    """Return the share of rows whose every code is allowed."""
    kept = np.arange(table.rows)
    for name, codes in allowed.items():
        kept = kept[codes[table.codes[name][kept]]]
    return len(kept) / table.rows


class Paid(NamedTuple):
    """The wages of a place."""

    gini: float
    rank: int
    """Its rank from 0 by the gap between men's and women's mean wages, largest first."""


def paid_by_place(
    places: Whole, wages: Whole, sexes: Whole, *, male: int, no_wage: int
) -> dict[int, Paid]:
    """Describe every place that has wages, those below ``no_wage``.

    Where no men or no women are paid, their mean wage is 0.  Equal gaps are ranked by the
    places' numbers.
    """
    paid = wages < no_wage
    places, wages, men = places[paid], wages[paid], sexes[paid] == male
    order = np.lexsort((wages, places))
    places, wages, men = places[order], wages[order], men[order]
    names, begins, counts = np.unique(places, return_index=True, return_counts=True)
    found = {}
    for name, begin, count in zip(names, begins, counts, strict=True):
        those = slice(begin, begin + count)
        mine, is_man = wages[those].astype(np.float64), men[those]
        found[int(name)] = gini(mine), _mean(mine[is_man]) - _mean(mine[~is_man])
    ranked = sorted(found, key=lambda name: (-found[name][1], name))
    return {name: Paid(found[name][0], rank) for rank, name in enumerate(ranked)}


def _mean(wages: NDArray[np.float64]) -> float:
    return float(wages.mean()) if len(wages) else 0.0


def gini(ascending: NDArray[np.float64]) -> float:
    """Return the Gini index of wages in ascending order: 0 where all are the same, or nothing.

    It is the mean difference of two people's wages by twice the mean wage.  The contest's own
    script leaves out a term of 1 / people.

    >>> gini(np.array([0.0, 0.0, 4.0])), gini(np.array([2.0, 2.0]))
    (0.6666666666666666, 0.0)
    """
    people, total = len(ascending), float(ascending.sum())
    if total <= 0:
        return 0.0
    weights = 2 * np.arange(1, people + 1) - people - 1
    return float((weights * ascending).sum()) / (people * total)


def wages_alike(real: Mapping[int, Paid], synthetic: Mapping[int, Paid]) -> float:
    """Compare places by their Gini indices and by their ranks, half and half.

    A place without wages in the synthetic table scores 0 in both.  The rank of a single place is
    right or wrong; it can be wrong if the synthetic table has more places than the real one.
    """
    if not real:
        raise QuestionError("a census score needs a real table with wages")
    alike = np.zeros((2, len(real)))
    for i, (name, true) in enumerate(real.items()):
        made = synthetic.get(name)
        if made is not None:
            off = abs(made.rank - true.rank) / max(len(real) - 1, 1)
            alike[:, i] = 1 - abs(made.gini - true.gini), 1 - off
    halves = np.sqrt(np.square(np.maximum(alike, 0)).mean(axis=1))
    return float(halves.mean())


def _compute(tables: Tables) -> CensusScore:
    raw = tables.values
    return census_score(raw.real, raw.synthetic, largest=raw.largest, seed=tables.seed)


def _plain(found: CensusScore) -> dict[str, Any]:
    return {**asdict(found), "score": found.score}


def _check(schema: Schema, _settings: Mapping[str, Any]) -> None:
    released = {column.name for column in schema.released_columns}
    check_modelled(schema, [name for name in CENSUS_COLUMNS if name not in released])


CENSUS: Metric[CensusScore] = Metric(
    name="census",
    title="census score",
    about="The score of NIST's Match 3 of 2018, on the 1940 census: triples of columns, "
    "conjunctions of conditions, and wages by city.",
    compute=_compute,
    plain=_plain,
    options=(
        Option(name="census", kind="flag", help="the scores of NIST's 2018 Match 3, 1940 census"),
    ),
    raw=True,
    figures=(
        Figure(
            name="census score",
            of=lambda found: found.score,
            title="census score",
            best=1e6,
            axis="census score",
        ),
        Figure(
            name="triples",
            of=lambda found: found.triples,
            is_part=True,
            title="census: triples",
            best=1e6,
        ),
        Figure(
            name="conjunctions",
            of=lambda found: found.conjunctions,
            is_part=True,
            title="census: conjunctions",
            best=1e6,
        ),
        Figure(
            name="wages",
            of=lambda found: found.wages,
            is_part=True,
            title="census: wages",
            best=1e6,
        ),
    ),
    scale="Census scores: 1,000,000, for each part too, is the same.",
    group=SCORES,
    check=_check,
)
