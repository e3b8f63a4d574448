"""The metric of people: how many rows they have, what is theirs, and what they do next.

Metrics of marginals count rows, and would not change if rows changed hands.  This one compares
the people of two tables, where a person may have several rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from understudy.evaluate.histories import Histories
from understudy.evaluate.metric import Figure, Lines, Metric
from understudy.evaluate.sections import MOST_SHOWN, Bars, Dots, Group, Section, Series, worst
from understudy.evaluate.table import Coded, check_alike
from understudy.evaluate.variation import total_variation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from understudy.evaluate.histories import Habits
    from understudy.evaluate.metric import Tables
    from understudy.evaluate.sections import Results

RATIO = 1.3
"""The ratio by which classes of rows per person grow."""

GROUP = Group(
    title="People",
    about="What the rows of one person have to do with each other. Here, yardsticks are drawn by "
    "people, each with all of their rows; a resample is as many people as there are, drawn with "
    "replacement. Except where a line says so, 0 is the same.",
    caption="Differences from the real people",
    label="figure",
)


class Rate(NamedTuple):
    """A mean over people with two rows or more, from 0 to 1; None where nobody has two rows."""

    real: float | None
    synthetic: float | None

    @property
    def error(self) -> float:
        """Return the absolute difference; 1 where people of one table alone have two rows."""
        if self.real is None or self.synthetic is None:
            return float(self.real is not self.synthetic)
        return abs(self.real - self.synthetic)


class SizeClass(NamedTuple):
    """The number of people with ``least`` to ``most`` rows, in each table."""

    least: int
    most: int
    real: int
    synthetic: int

    @property
    def label(self) -> str:
        """Return its numbers of rows as a text."""
        return f"{self.least}" + f"–{self.most}" * (self.most > self.least)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleDistances:
    """How the people of a table differ from the real ones.  Variations are total variations."""

    people: float
    """The number of synthetic people as a share of the number of real ones."""
    sizes: tuple[SizeClass, ...]
    """People by their number of rows, in classes that grow by about 1.3."""
    rows_per_person: float
    """The variation of these classes' shares of the people."""
    constant: float | None
    """The share of synthetic people with one value in each of their own columns."""
    own: dict[tuple[str, ...], float]
    """The variation of every pair of own columns, or of the only one, each person counted once."""
    repeats: dict[str, Rate]
    """By event column, the probability that two different random rows of a person agree."""
    distinct: dict[str, Rate]
    """By event column, (distinct values − 1)/(rows − 1) of a person."""
    transitions: dict[str, float]
    """By event column, the variation of a row's code together with the previous row's."""
    gaps: float | None
    """The variation of the differences of consecutive rows in the first column that orders them."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as JSON takes it."""
        own = [{"columns": list(those), "variation": v} for those, v in self.own.items()]
        return {
            "people": self.people,
            "rows_per_person": {
                "variation": self.rows_per_person,
                "classes": [each._asdict() for each in self.sizes],
            },
            "own": None if self.constant is None else {"constant": self.constant, "each": own},
            "repeats": {n: {**r._asdict(), "error": r.error} for n, r in self.repeats.items()},
            "distinct": {n: {**r._asdict(), "error": r.error} for n, r in self.distinct.items()},
            "transitions": self.transitions or None,
            "gaps": self.gaps,
        }


def compare_people(real: Coded, synthetic: Coded) -> PeopleDistances:
    """Compare two tables' people by the real table's own columns and its order of rows.

    Event columns are those that are not a person's own.  Where rows have no order, there are no
    transitions and no gaps.
    """
    check_alike(real, synthetic)
    own, ordering = real.own, real.ordering
    left, right = Histories.of(real, ordering), Histories.of(synthetic, ordering)
    events = [name for name in real.sizes if name not in own]
    habits = {name: (left.habits(name), right.habits(name)) for name in events}
    sizes, rows_per_person = _sizes(left, right)
    constant, of_own = _own(left, right, own)
    return PeopleDistances(
        people=len(right.sizes) / max(len(left.sizes), 1),
        sizes=sizes,
        rows_per_person=rows_per_person,
        constant=constant,
        own=of_own,
        repeats={n: _rate(each, lambda habit: habit.repeats) for n, each in habits.items()},
        distinct={n: _rate(each, lambda habit: habit.distinct) for n, each in habits.items()},
        transitions={
            name: total_variation(left.steps(name), right.steps(name), ("previous", "this"))
            for name in (events if ordering else ())
        },
        gaps=total_variation(left.gaps(ordering[0]), right.gaps(ordering[0]), ("gap",))
        if ordering
        else None,
    )


def class_starts(most: int) -> list[int]:
    """Return the smallest size of each class, up to the first class above ``most``.

    >>> class_starts(20)
    [1, 2, 3, 4, 5, 7, 9, 12, 16, 21]
    """
    starts = [1]
    while starts[-1] <= most:
        starts.append(max(starts[-1] + 1, int(starts[-1] * RATIO + 0.5)))
    return starts


def _sizes(left: Histories, right: Histories) -> tuple[tuple[SizeClass, ...], float]:
    """Count both tables' people by size classes, and return the classes' total variation."""
    starts = class_starts(int(max(left.sizes.max(initial=1), right.sizes.max(initial=1))))
    real, synthetic = (
        Coded(
            codes={"size": np.searchsorted(starts, each.sizes, side="right") - 1},
            sizes={"size": len(starts) - 1},
            people=None,
        )
        for each in (left, right)
    )
    ends = (start - 1 for start in starts[1:])
    counts = (each.counts(["size"]).tolist() for each in (real, synthetic))
    classes = tuple(SizeClass(*each) for each in zip(starts[:-1], ends, *counts, strict=True))
    return classes, total_variation(real, synthetic, ["size"])


def _own(
    left: Histories, right: Histories, own: Sequence[str]
) -> tuple[float | None, dict[tuple[str, ...], float]]:
    """Return the share of synthetic people who are constant in all own columns, and distances."""
    if not own:
        return None, {}
    (real, _), (synthetic, distinct) = left.persons(own), right.persons(own)
    cliques = combinations(own, min(2, len(own)))
    return (
        float(np.sum(distinct == 1)) / max(len(distinct), 1),
        {clique: total_variation(real, synthetic, clique) for clique in cliques},
    )


def _rate(each: tuple[Habits | None, Habits | None], of: Callable[[Habits], float]) -> Rate:
    return Rate(*(None if habits is None else of(habits) for habits in each))


def _compute(tables: Tables) -> PeopleDistances | None:
    """Return no distances where rows are people, or where synthetic rows do not tell whose."""
    if tables.real.people is None or tables.synthetic.people is None:
        return None
    return compare_people(tables.real, tables.synthetic)


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None


def _mean_error(rates: Mapping[str, Rate]) -> float | None:
    return _mean(rate.error for rate in rates.values())


def _lines(found: Sequence[PeopleDistances]) -> Lines | None:
    made, again, *_ = found
    rows = {
        name: [rate.synthetic, again.repeats[name].synthetic, rate.real]
        for name, rate in made.repeats.items()
    }
    title = "How often two random rows of a person agree"
    return Lines(title=title, head=("synthetic", "resample", "real"), rows=rows) if rows else None


def _section(found: Results[PeopleDistances]) -> Section:
    parts: list[Bars | Dots] = [_size_bars(found)]
    if found.runs[0].repeats:
        parts += [
            _rates(
                found,
                lambda each: each.repeats,
                title="Two rows of a person agree",
                about="For each column, the probability that two random rows of a person agree, "
                "averaged over people with two rows or more.",
                value="probability",
            ),
            _rates(
                found,
                lambda each: each.distinct,
                title="Distinct values of a person",
                about="For each column, (distinct values − 1)/(rows − 1), averaged over people "
                "with two rows or more: 0 is always the same value, 1 never the same twice.",
                value="distinct values, from 0 to 1",
            ),
        ]
    if found.runs[0].transitions:
        names = worst([run.transitions for run in found.runs])[:MOST_SHOWN]
        parts.append(
            Dots(
                title="From one row to the next",
                about="Total variation of each column's value together with that in the person's "
                "previous row: the farther left, the closer.",
                label="column",
                value="total variation",
                labels=names,
                **found.columns(lambda each: [each.transitions[name] for name in names]),
            )
        )
    return Section(title="People and their rows", paragraphs=(found.order,), parts=parts)


def _size_bars(found: Results[PeopleDistances]) -> Bars:
    """Draw people by their number of rows; runs with smaller people have fewer classes."""
    longest = max((run.sizes for run in found.runs), key=len)
    counts = [[each.synthetic for each in run.sizes] for run in found.runs]
    return Bars(
        title="rows per person",
        labels=[each.label for each in longest],
        real=[each.real for each in longest],
        runs=[each + [0] * (len(longest) - len(each)) for each in counts],
        of="people",
    )


def _rates(
    found: Results[PeopleDistances],
    of: Callable[[PeopleDistances], dict[str, Rate]],
    *,
    title: str,
    about: str,
    value: str,
) -> Dots:
    """Draw a rate of every column: of each run, of the real table and of a resample."""
    rates = [of(run) for run in found.runs]
    names = worst([{n: rate.error for n, rate in each.items()} for each in rates])[:MOST_SHOWN]
    # Of the yardsticks, the first one: shares of the people have the same rates.
    ((key, again), *_) = found.yardsticks.items()
    return Dots(
        title=title,
        about=f"{about} The nearer to the real one, the better.",
        label="column",
        value=value,
        labels=names,
        runs=[[each[name].synthetic for name in names] for each in rates],
        others=(
            Series(name="real", values=[rates[0][name].real for name in names], is_real=True),
            Series(name=key, values=[of(again)[name].synthetic for name in names]),
        ),
    )


PEOPLE: Metric[PeopleDistances] = Metric(
    name="people",
    title="comparison of people",
    about="Of people who may have several rows: their number, rows per person, own columns, how "
    "often their rows agree, and how one row follows another.",
    compute=_compute,
    plain=PeopleDistances.to_dict,
    whole_people=True,
    figures=(
        Figure(
            name="people, synthetic / real",
            of=lambda found: found.people,
            title="number of people, as a share of the real one (1 is the same)",
        ),
        Figure(
            name="rows per person",
            of=lambda found: found.rows_per_person,
            title="rows per person, total variation",
        ),
        Figure(
            name="own columns, constant",
            of=lambda found: found.constant,
            title="people with one value in each own column, share (1 is all)",
        ),
        Figure(
            name="own columns, mean",
            of=lambda found: _mean(found.own.values()),
            title="own columns of people, mean total variation of pairs",
        ),
        Figure(
            name="repeats, mean error",
            of=lambda found: _mean_error(found.repeats),
            title="two rows of a person agree, mean error",
        ),
        Figure(
            name="distinct values, mean error",
            of=lambda found: _mean_error(found.distinct),
            title="distinct values of a person, mean error",
        ),
        Figure(
            name="transitions, mean",
            of=lambda found: _mean(found.transitions.values()),
            title="from one row to the next, mean total variation",
        ),
        Figure(
            name="gaps",
            of=lambda found: found.gaps,
            title="gaps between consecutive rows, total variation",
        ),
    ),
    scale="People, with yardsticks drawn by people: 1 is as many, and 1 is all constant; "
    "otherwise 0 is the same.",
    group=GROUP,
    lines=_lines,
    section=_section,
)
"""Computed where the rows of both tables tell whose they are."""
