"""The metric of regressions: the same linear regression on real and on synthetic rows.

An outcome is regressed on all other columns of numbers, by least squares.  Everything is in
standard deviations of the real columns, so that coefficients compare with each other.  Intervals
of the real coefficients allow for people who have several rows (cluster-robust standard errors).
What each regression is worth is its R² on real rows of people who trained neither.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from understudy.errors import QuestionError
from understudy.evaluate.metric import Lines, Metric, Option, column_list
from understudy.evaluate.prediction import halves
from understudy.evaluate.reading import number_columns
from understudy.evaluate.sections import MOST_SHOWN, Dots, Listing, Section, Series
from understudy.evaluate.yardsticks import some_people, some_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.evaluate.metric import Tables
    from understudy.evaluate.sections import Results
    from understudy.evaluate.table import Coded
    from understudy.schema import Schema

    Floats = NDArray[np.float64]

MOST_OUTCOMES, MOST_PREDICTORS = 3, 12
MOST_ROWS = 200_000
"""More rows than these are drawn from at random."""
FEWEST_ROWS = 10
"""The fewest rows with all numbers, for each coefficient."""
WITHIN = 1.96
"""How many standard errors a 95 % interval goes to either side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """The coefficient of a predictor, in standard deviations of the real columns."""

    predictor: str
    real: float
    low: float
    high: float
    """The ends of the real one's 95 % interval."""
    synthetic: float
    resample: float

    def holds(self, value: float) -> bool:
        """Say whether a value lies in the interval of the real one."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """The regressions of an outcome, trained on real rows and on synthetic ones."""

    outcome: str
    coefficients: tuple[Coefficient, ...]
    real: float
    """R² on held-out real rows of a regression on real rows of other people; 0 is the mean."""
    synthetic: float
    """R² on these rows of a regression on synthetic rows."""


class _Fitted(NamedTuple):
    """Coefficients, the intercept first, and their standard errors."""

    values: Floats
    errors: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """Which columns are regressed on which, and the real means and standard deviations."""

    names: tuple[str, ...]
    """The outcome first."""
    means: Floats
    deviations: Floats

    @classmethod
    def of(cls, real: Coded, outcome: str, among: Sequence[str]) -> _Design:
        """Take the first columns whose real numbers differ."""
        others = [n for n in among if n != outcome and _varies(real.numbers[n])]
        names = (outcome, *others[:MOST_PREDICTORS])
        numbers = [real.numbers[n] for n in names]
        return cls(
            names=names,
            means=np.array([np.nanmean(each) for each in numbers]),
            deviations=np.array([np.nanstd(each) for each in numbers]),
        )

    def rows(self, table: Coded) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Return the outcome, the predictors after a column of ones, and the person of each row.

        Rows that lack a number are left out.
        """
        numbers = np.stack([table.numbers[n] for n in self.names], axis=1)
        there = ~np.isnan(numbers).any(axis=1)
        scaled = (numbers[there] - self.means) / self.deviations
        outcome = scaled[:, 0].copy()
        scaled[:, 0] = 1
        people = np.arange(table.rows) if table.people is None else table.people
        return outcome, scaled, people[there]

    def fit(self, table: Coded) -> _Fitted | None:
        """Regress by least squares; None where too few rows have all numbers."""
        outcome, predictors, people = self.rows(table)
        if len(outcome) < FEWEST_ROWS * len(self.names):
            return None
        inverse = np.linalg.pinv(predictors.T @ predictors)
        values: Floats = inverse @ (predictors.T @ outcome)
        left = predictors * (outcome - predictors @ values)[:, None]
        order = np.argsort(people, kind="stable")
        starts = np.flatnonzero(np.diff(people[order], prepend=people.min() - 1))
        sums = np.add.reduceat(left[order], starts, axis=0)
        spread = inverse @ (sums.T @ sums) @ inverse * len(sums) / max(len(sums) - 1, 1)
        return _Fitted(values, np.sqrt(np.maximum(np.diag(spread), 0)))

    def r_squared(self, fitted: _Fitted, tested: Coded) -> float:
        """Return the share of the outcome's variance on real rows that a regression explains."""
        outcome, predictors, _ = self.rows(tested)
        left = outcome - predictors @ fitted.values
        return 1 - float(np.mean(left**2)) / max(float(np.var(outcome)), 1e-12)


def regressions(
    real: Coded, synthetic: Coded, outcomes: Sequence[str], *, seed: int = 0
) -> list[Regression]:
    """Regress each outcome on the other numbers of both tables.

    An outcome without a predictor, or with too few rows that have all numbers, is left out.
    """
    rng = np.random.default_rng(seed)
    among = [name for name in real.numbers if name in synthetic.numbers]
    again = real.take(some_rows(real.rows, None, rng))
    if real.people is not None:
        again = some_people(real, None, rng)
    tables = [_some(table, rng) for table in (real, synthetic, again)]
    taught, tested = halves(tables[0], rng)
    found = []
    for outcome in outcomes:
        if outcome not in among or not _varies(real.numbers[outcome]):
            continue
        design = _Design.of(real, outcome, among)
        fitted = [design.fit(each) for each in (*tables, taught, tested)]
        told = [each for each in fitted if each is not None]
        if len(told) == len(fitted) and len(design.names) > 1:
            found.append(_compared(design, told[:-1], tested))
    return found


def _varies(values: Floats) -> bool:
    there = values[~np.isnan(values)]
    return bool(len(there)) and bool(there.min() < there.max())


def _some(table: Coded, rng: np.random.Generator) -> Coded:
    """Return the rows, or some of them at random if they are very many."""
    if table.rows <= MOST_ROWS:
        return table
    return table.take(some_rows(table.rows, MOST_ROWS / table.rows, rng))


def _compared(design: _Design, fitted: Sequence[_Fitted], tested: Coded) -> Regression:
    real, made, again, taught = fitted
    return Regression(
        outcome=design.names[0],
        coefficients=tuple(
            Coefficient(
                predictor=name,
                real=float(real.values[i]),
                low=float(real.values[i] - WITHIN * real.errors[i]),
                high=float(real.values[i] + WITHIN * real.errors[i]),
                synthetic=float(made.values[i]),
                resample=float(again.values[i]),
            )
            for i, name in enumerate(design.names)
            if i
        ),
        real=design.r_squared(taught, tested),
        synthetic=design.r_squared(made, tested),
    )


def _compute(tables: Tables, *, outcomes: Sequence[str]) -> list[Regression]:
    return regressions(tables.real, tables.synthetic, outcomes, seed=tables.seed)


def _plain(found: list[Regression]) -> list[dict[str, Any]]:
    return [asdict(each) for each in found]


def _lines(found: Sequence[list[Regression]]) -> Lines | None:
    (made,) = found
    rows: dict[str, Sequence[float | None]] = {}
    for each in made:
        for c in each.coefficients:
            told = c.synthetic, c.resample, c.real, c.low, c.high
            rows[f"{each.outcome} on {c.predictor}"] = told
        rows[f"{each.outcome}, R² on held-out people"] = [each.synthetic, None, each.real]
    title = (
        "Linear regressions: coefficients in standard deviations, with 95 % intervals of the real "
        "ones, and R² on real rows of held-out people"
    )
    head = ("synthetic", "resample", "real", "from", "to")
    return Lines(title=title, head=head, rows=rows) if rows else None


def _section(found: Results[list[Regression]]) -> Section | None:
    first = found.runs[0]
    # Rows of one synthetic table may have numbers that those of another lack.
    if not first or any(len(run) != len(first) for run in found.runs):
        return None
    return Section(
        title="Regressions on real and on synthetic rows",
        paragraphs=(
            "An outcome is regressed on the other columns of numbers by least squares, once on "
            "real and once on synthetic rows. All are in standard deviations of the real columns. "
            "Intervals allow for people with several rows; a resample is one of people.",
        ),
        parts=(_worth(found.runs), _dots(found.runs)),
    )


def _every(run: list[Regression]) -> list[Coefficient]:
    return [c for each in run for c in each.coefficients]


def _worth(runs: Sequence[list[Regression]]) -> Listing:
    """List what the regressions are worth on real rows, and how many coefficients are right."""
    first = runs[0]
    made = [[c.holds(c.synthetic) for c in _every(run)] for run in runs]
    again = [c.holds(c.resample) for c in _every(first)]
    return Listing(
        caption="R² on real rows of held-out people, and the share of coefficients in the 95 % "
        "intervals of the real ones",
        label="regression",
        labels=[*(f"{each.outcome}, R²" for each in first), "coefficients in the real intervals"],
        runs=[
            [*(each.synthetic for each in run), fmean(held)]
            for run, held in zip(runs, made, strict=True)
        ],
        others=[
            Series(name="trained on real rows", values=[*(each.real for each in first), None]),
            Series(name="resample", values=[*(None for _ in first), fmean(again)]),
        ],
    )


def _dots(runs: Sequence[list[Regression]]) -> Dots:
    """Draw the coefficients, between the ends of the real ones' intervals."""
    shown = [_every(run)[:MOST_SHOWN] for run in runs]
    names = [f"{each.outcome} on {c.predictor}" for each in runs[0] for c in each.coefficients]
    real = shown[0]
    return Dots(
        title="Coefficients",
        about="By how many standard deviations the outcome grows with one of the predictor, the "
        "others kept: the nearer to the real one, and the more between the ends of its 95 % "
        "interval, the better.",
        label="regression",
        value="coefficient",
        labels=names[:MOST_SHOWN],
        runs=[[c.synthetic for c in run] for run in shown],
        others=[
            Series(name="real", values=[c.real for c in real], is_real=True),
            Series(name="real, 95 % from", values=[c.low for c in real]),
            Series(name="real, 95 % to", values=[c.high for c in real]),
            Series(name="resample", values=[c.resample for c in real]),
        ],
    )


def _check(schema: Schema, settings: Mapping[str, Any]) -> None:
    known = number_columns(schema)
    unknown = [name for name in settings["outcomes"] if name not in known]
    if unknown:
        raise QuestionError(
            "these columns have no numbers to regress",
            got=", ".join(unknown),
            allowed=", ".join(known) or "none: the schema has no column of numbers",
        )


def _suggest(real: Coded, schema: Schema) -> dict[str, object]:
    varied = [name for name, values in real.numbers.items() if _varies(values)]
    # Whole numbers that are not binned may be codes, as those of areas.
    columns = number_columns(schema)
    varied.sort(key=lambda name: name in columns and not columns[name].is_binned)
    return {"outcomes": varied[:MOST_OUTCOMES]} if len(varied) > 1 else {}


def _distinct(text: str) -> list[str]:
    return list(dict.fromkeys(column_list(text)))


REGRESSIONS: Metric[list[Regression]] = Metric(
    name="regressions",
    title="regression",
    about="Linear regressions of a column on the other columns of numbers, on real and on "
    "synthetic rows: coefficients, and R² on held-out real rows.",
    compute=_compute,
    plain=_plain,
    options=(
        Option(
            name="outcomes",
            called="regress",
            kind="columns",
            metavar="COLUMN[,COLUMN…]",
            help="columns to regress on the other columns of numbers; a report chooses some if "
            "none are named",
            read=_distinct,
        ),
    ),
    yardsticks=False,
    lines=_lines,
    section=_section,
    check=_check,
    suggest=_suggest,
)
