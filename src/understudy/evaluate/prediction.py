"""Prediction: train on synthetic rows, test on real ones.

A classifier learns a column from all others, once from synthetic rows and once from the real rows
of half of the people; the rows of the other half measure the accuracy of each.  It is naive Bayes
over codes with add-one smoothing: no settings, deterministic.  Better classifiers exist; what
counts here is the difference between its two training sets.

Held-out people are real.  Synthetic rows were made from all people, including these: the privacy
promise limits how much that helps.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import QuestionError
from understudy.evaluate.metric import Lines, Metric, Option, column_list
from understudy.evaluate.sections import Dots, Section, Series
from understudy.evaluate.table import check_alike

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.evaluate.metric import Tables
    from understudy.evaluate.sections import Results
    from understudy.evaluate.table import Coded, Counts
    from understudy.schema import Schema

FEWEST_VALUES, MOST_VALUES = 2, 50
MOST_TARGETS = 8
LARGEST_TARGET = 1000
"""Columns with more codes than this are not predicted, even if named."""
MOST_TESTED = 50_000
"""The most held-out rows: enough to measure accuracy well."""
MOST_CELLS = 2**22
"""A column with more cells than this, together with the target, is not used as a feature."""
SUGGESTED = ("categorical", "integer")
"""The kinds of columns that a page predicts, if none are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The accuracy of predicting a column of held-out real rows, each from 0 to 1."""

    target: str
    tested: int
    """The number of held-out rows that it was tested on."""
    majority: float
    """Of always predicting the most frequent value."""
    real: float
    """Of a classifier trained on real rows of other people."""
    synthetic: float
    """Of a classifier trained on synthetic rows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NaiveBayes:
    """A classifier that treats columns as independent of each other, given the target."""

    target: str
    prior: NDArray[np.float64]
    """The logarithm of each value's share of the rows; minus infinity where there are none."""
    given: dict[str, NDArray[np.float64]]
    """The logarithms of a column's shares, a line for each value of the target."""

    @classmethod
    def learn(cls, table: Coded, target: str) -> NaiveBayes:
        """Count a target on its own and with every other column, with add-one smoothing."""
        values = table.sizes[target]
        counts = table.counts([target])
        given = {}
        for name, size in table.sizes.items():
            if name != target and values * size <= MOST_CELLS:
                both = table.counts([target, name]).reshape(values, size)
                given[name] = np.log(both + 1.0) - np.log(counts + float(size))[:, None]
        with np.errstate(divide="ignore"):
            prior = np.log(counts / max(table.rows, 1))
        return cls(target=target, prior=prior, given=given)

    def predict(self, table: Coded) -> Counts:
        """Return the most likely value for each row; on ties, the lowest code."""
        found = np.empty(table.rows, np.int64)
        step = max(1, MOST_CELLS // len(self.prior))
        for begin in range(0, table.rows, step):
            rows = slice(begin, begin + step)
            likely = np.zeros((len(found[rows]), len(self.prior)))
            for name, shares in self.given.items():
                likely += shares.T[table.codes[name][rows]]
            found[rows] = np.argmax(likely + self.prior, axis=1)
        return found


def worth_predicting(real: Coded, among: Iterable[str]) -> list[str]:
    """Return the columns, at most eight, that have 2 to 50 values in real rows."""
    found = [
        name
        for name in among
        if real.sizes[name] <= LARGEST_TARGET
        and FEWEST_VALUES <= np.count_nonzero(real.counts([name])) <= MOST_VALUES
    ]
    return found[:MOST_TARGETS]


def check_targets(sizes: Mapping[str, int], targets: Sequence[str]) -> None:
    """Raise if a column is not modelled, or has too many codes to be predicted."""
    unknown = [name for name in targets if name not in sizes]
    if unknown or not targets:
        raise QuestionError(
            "the schema does not model these columns to predict",
            got=", ".join(unknown) or "none",
            allowed=", ".join(sizes),
        )
    for name in targets:
        if sizes[name] > LARGEST_TARGET:
            raise QuestionError(
                f"column {name} has too many codes to be predicted",
                got=sizes[name],
                allowed=f"at most {LARGEST_TARGET}",
            )


def predictions(
    real: Coded, synthetic: Coded, targets: Sequence[str], *, seed: int = 0
) -> list[Prediction]:
    """Train on real and on synthetic rows, and test each on held-out real people.

    ``seed`` chooses the people held out.  A table of one person has none to hold out, and one
    column has no features: there are no predictions then.
    """
    check_alike(real, synthetic)
    taught, tested = halves(real, np.random.default_rng(seed))
    if not taught.rows or not tested.rows or len(real.sizes) < 2:
        return []
    found = []
    for target in targets:
        truth = tested.codes[target]
        commonest = int(np.argmax(taught.counts([target])))
        found.append(
            Prediction(
                target=target,
                tested=tested.rows,
                majority=float(np.mean(truth == commonest)),
                real=_right(taught, tested, target),
                synthetic=_right(synthetic, tested, target) if synthetic.rows else 0.0,
            )
        )
    return found


def _right(teacher: Coded, tested: Coded, target: str) -> float:
    said = NaiveBayes.learn(teacher, target).predict(tested)
    return float(np.mean(said == tested.codes[target]))


def halves(real: Coded, rng: np.random.Generator) -> tuple[Coded, Coded]:
    """Split people in two halves: rows to train on, and a limited number of rows to test on."""
    owners = np.arange(real.rows)
    if real.people is not None:
        owners = np.unique(real.people, return_inverse=True)[1]
    people = int(owners.max(initial=-1)) + 1
    held = np.zeros(people, np.bool_)
    held[rng.permutation(people)[: people // 2]] = True
    out = np.flatnonzero(held[owners])
    if len(out) > MOST_TESTED:
        out = np.sort(rng.choice(out, size=MOST_TESTED, replace=False))
    return real.take(np.flatnonzero(~held[owners])), real.take(out)


def _compute(tables: Tables, *, targets: Sequence[str]) -> list[Prediction]:
    return predictions(tables.real, tables.synthetic, targets, seed=tables.seed)


def _plain(found: list[Prediction]) -> list[dict[str, Any]]:
    return [asdict(each) for each in found]


def _lines(found: Sequence[list[Prediction]]) -> Lines | None:
    (made,) = found
    if not made:
        return None
    return Lines(
        title="Accuracy on rows of held-out real people, by naive Bayes trained on synthetic or on "
        "real rows, and by always predicting the most frequent value",
        head=("synthetic", "real", "commonest"),
        rows={each.target: [each.synthetic, each.real, each.majority] for each in made},
    )


def _section(found: Results[list[Prediction]]) -> Section | None:
    first = found.runs[0]
    if not first:
        return None
    return Section(
        title="Train on synthetic rows, test on real ones",
        paragraphs=(
            "A classifier learns a column from all others, and is then tested on real rows. "
            f"{first[0].tested:,} rows of half of the people are held out for that; the other half "
            "trained the classifier on real rows. The nearer a run is to that classifier, and the "
            "farther from always predicting the most frequent value, the better.",
            "It is naive Bayes over codes with add-one smoothing: simple, without settings and "
            "deterministic. Synthetic rows were made from all people, including the held-out ones; "
            "the privacy promise limits how much that helps.",
        ),
        parts=(
            Dots(
                title="Predicted rightly",
                about="For each column, the accuracy on held-out real rows: farther right is "
                "better.",
                label="column",
                value="accuracy",
                labels=[each.target for each in first],
                runs=[[each.synthetic for each in run] for run in found.runs],
                others=(
                    Series(
                        name="trained on real rows",
                        values=[each.real for each in first],
                        is_real=True,
                    ),
                    Series(name="most frequent value", values=[each.majority for each in first]),
                ),
            ),
        ),
    )


def _check(schema: Schema, settings: Mapping[str, Any]) -> None:
    check_targets(schema.unconstrained.domain, settings["targets"])


def _suggest(real: Coded, schema: Schema) -> dict[str, object]:
    among = [column.name for column in schema.unconstrained.modelled if column.kind in SUGGESTED]
    return {"targets": worth_predicting(real, among)}


def _distinct(text: str) -> list[str]:
    return list(dict.fromkeys(column_list(text)))


PREDICTIONS: Metric[list[Prediction]] = Metric(
    name="predictions",
    title="prediction",
    about="The accuracy on held-out real rows of a classifier trained on synthetic rows, and of "
    "one trained on real rows.",
    compute=_compute,
    plain=_plain,
    options=(
        Option(
            name="targets",
            called="target",
            kind="columns",
            metavar="COLUMN[,COLUMN…]",
            help="columns to predict, trained on synthetic rows and tested on real ones; a report "
            "chooses some if none are named",
            read=_distinct,
        ),
    ),
    yardsticks=False,
    lines=_lines,
    section=_section,
    check=_check,
    suggest=_suggest,
)
