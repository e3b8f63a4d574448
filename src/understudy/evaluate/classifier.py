"""The metric of a classifier: how well real and synthetic rows can be told apart.

Boosted trees learn, from the rows of some people, which are real, and are tried on the rows of
others: nobody, real or synthetic, is on both sides.  The area under the curve says how often a
synthetic row looks more synthetic than a real one does: 0.5 is a guess, 1 is always.  It is held
against that of a resample of the real people, whose copies stay on the side of their originals.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from understudy.evaluate.boosting import Boosted, area_under_curve
from understudy.evaluate.metric import Lines, Metric, Option
from understudy.evaluate.sections import Dots, Listing, Section, Series, worst
from understudy.evaluate.table import check_alike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.evaluate.metric import Tables
    from understudy.evaluate.sections import Results
    from understudy.evaluate.table import Coded, Codes

FOLDS = 3
FEWEST_ROWS, MOST_ROWS = 2_000, 10_000
MOST_CELLS = 200_000
"""The most rows of a table that are used, times its columns; but never less than the fewest."""
MOST_CODES = 256
"""Neighbouring codes of a larger column are merged."""
MOST_SHOWN = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """How well rows are told apart, as areas under the curve from 0.5 to 1, or a little below."""

    rows: int
    """How many rows of each table were used."""
    synthetic: float
    resample: float
    columns: dict[str, float]
    """How much of the synthetic rows' area is lost if a column is shuffled among the rows."""


class _Rows(NamedTuple):
    """Rows, with the person of each."""

    table: Coded
    owners: NDArray[np.int64]


def told_apart(real: Coded, synthetic: Coded, *, seed: int = 0) -> Apart | None:
    """Try to tell synthetic rows from real ones; None where there are too few people for it."""
    check_alike(real, synthetic)
    few = max(FEWEST_ROWS, MOST_CELLS // len(real.sizes))
    count = min(MOST_ROWS, few, real.rows, synthetic.rows)
    rng = np.random.default_rng(seed)
    here = _drawn(real, _owners(real), count, rng)
    made = _drawn(synthetic, _owners(synthetic), count, rng)
    again = _again(real, count, rng)
    folds, others = (rng.permutation(table.rows) % FOLDS for table in (real, synthetic))
    of_all = folds[here.owners], folds[again.owners], others[made.owners]
    if min(len(np.unique(fold)) for fold in of_all) < FOLDS:
        return None
    area, lost = _areas(here, made, (of_all[0], of_all[2]), rng)
    # Copies have their original's number, and so its fold.
    of_copies, _ = _areas(here, again, of_all[:2], None)
    return Apart(rows=count, synthetic=area, resample=of_copies, columns=lost)


def _owners(table: Coded) -> NDArray[np.int64]:
    """Number the person of each row, from 0."""
    if table.people is None:
        return np.arange(table.rows)
    return np.unique(table.people, return_inverse=True)[1]


def _drawn(table: Coded, owners: NDArray[np.int64], count: int, rng: np.random.Generator) -> _Rows:
    index = np.sort(rng.choice(table.rows, size=count, replace=False))
    return _Rows(table.take(index), owners[index])


def _again(real: Coded, count: int, rng: np.random.Generator) -> _Rows:
    """Draw rows of people who were drawn with replacement, with the numbers of the originals."""
    owners = _owners(real)
    people = int(owners.max(initial=-1)) + 1
    times = np.bincount(rng.integers(0, max(people, 1), people), minlength=people)
    index = np.repeat(np.arange(real.rows), times[owners])
    chosen = np.sort(rng.choice(index, size=count, replace=len(index) < count))
    return _Rows(real.take(chosen), owners[chosen])


def _areas(
    real: _Rows,
    other: _Rows,
    folds: tuple[NDArray[np.int64], NDArray[np.int64]],
    shuffling: np.random.Generator | None,
) -> tuple[float, dict[str, float]]:
    """Return the mean area of all folds, and by how much shuffling each column lowers it."""
    names = list(real.table.sizes)
    both = [np.concatenate([each.table.codes[n] for each in (real, other)]) for n in names]
    columns, sizes = zip(*map(_coarse, both), strict=True)
    second = np.repeat([False, True], [len(real.owners), len(other.owners)])
    fold = np.concatenate(folds)
    areas, lost = [], {name: list[float]() for name in names}
    for k in range(FOLDS):
        taught, tried = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        model = Boosted.learn([c[taught] for c in columns], sizes, second[taught])
        rows, truth = [c[tried] for c in columns], second[tried]
        areas.append(area_under_curve(model.score(rows), truth))
        if shuffling is not None:
            for i, name in enumerate(names):
                mixed = [*rows[:i], shuffling.permutation(rows[i]), *rows[i + 1 :]]
                lost[name].append(areas[-1] - area_under_curve(model.score(mixed), truth))
    return fmean(areas), {name: fmean(each) for name, each in lost.items() if each}


def _coarse(codes: Codes) -> tuple[Codes, int]:
    """Number the codes that occur; if they are many, merge neighbours to classes of one size."""
    there, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(there) <= MOST_CODES:
        return place, len(there)
    before = np.cumsum(counts) - counts
    merged = before * MOST_CODES // len(codes)
    return merged[place], MOST_CODES


def _compute(tables: Tables) -> Apart | None:
    return told_apart(tables.real, tables.synthetic, seed=tables.seed)


def _lines(found: Sequence[Apart]) -> Lines:
    (made,) = found
    return Lines(
        title="How well a classifier tells rows from real ones (area under the curve: 0.5 is a "
        "guess, 1 is always)",
        head=("synthetic", "resample"),
        rows={f"{made.rows:,} rows of each": [made.synthetic, made.resample]},
    )


def _section(found: Results[Apart]) -> Section:
    first = found.runs[0]
    names = worst([run.columns for run in found.runs])[:MOST_SHOWN]
    return Section(
        title="Can real and synthetic rows be told apart?",
        paragraphs=(
            "A classifier (boosted trees over codes) learns from rows of some people which are "
            f"real, and is tried on rows of others; {first.rows:,} rows of each table are used. "
            "The area under the curve says how often a synthetic row looks more synthetic than a "
            "real one: 0.5 is a guess, 1 is always. That of a resample of the real people is near "
            "0.5.",
            "It sees single rows, as codes: neither what is within a bin, nor whether the rows of "
            "one person belong together.",
        ),
        parts=(
            Listing(
                caption="Area under the curve: 0.5 cannot be told apart, 1 always",
                label="classifier",
                labels=["boosted trees, rows of other people"],
                runs=[[run.synthetic] for run in found.runs],
                others=[Series(name="resample", values=[first.resample])],
            ),
            Dots(
                title="What gives them away",
                about="How much of the area under the curve is lost if a column is shuffled: the "
                "farther right, the more it gives away, alone or with others.",
                label="column",
                value="area lost",
                labels=names,
                runs=[[run.columns[name] for name in names] for run in found.runs],
                others=(),
            ),
        ),
    )


CLASSIFIER: Metric[Apart] = Metric(
    name="classifier",
    title="classifier of real and synthetic rows",
    about="How well a classifier tells synthetic rows from real ones, tried on rows of people that "
    "it has not seen; and how well one tells a resample.",
    compute=_compute,
    plain=asdict,
    options=(
        Option(
            name="classifier",
            kind="flag",
            help="train a classifier to tell real from synthetic rows; a report always has it",
        ),
    ),
    yardsticks=False,
    lines=_lines,
    section=_section,
    suggest=lambda _real, _schema: {"classifier": True},
)
