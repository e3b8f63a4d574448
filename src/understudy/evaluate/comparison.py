"""A comparison: every metric of a synthetic table, beside those of yardsticks (baselines)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from understudy.errors import QuestionError
from understudy.evaluate.metric import Metric, Raw, Tables, check_known, with_article
from understudy.evaluate.registry import METRICS
from understudy.evaluate.table import check_alike
from understudy.evaluate.values import rows_of, taken
from understudy.evaluate.yardsticks import some_people, some_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from understudy.evaluate.metric import Lines
    from understudy.evaluate.table import Coded
    from understudy.evaluate.values import Values
    from understudy.public import Progress

    Metrics = Mapping[str, Metric[Any]]

NOTICE = (
    "This contains private information: exact differences from the private table; "
    "not part of any release."
)
CHOOSING = (
    "Choosing a release by these figures, or changing settings after seeing them, is a query to "
    "the private table that no budget pays for. The choice then reveals something that the "
    "promise does not cover: choose and tune on public data, or by a rehearsal "
    "(understudy check)."
)
YARDSTICKS = {"resample": None, "10 % of rows": 0.1, "1 % of rows": 0.01}
"""The share of the real rows in each; None is for as many, drawn with replacement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distances:
    """The distances of a table from the real one, by every metric that was computed.

    A result is found by its metric's name, as in ``distances["pairs"]``; it is None where the
    metric was not computed.
    """

    rows: int
    results: dict[str, Any]
    metrics: Metrics = field(repr=False)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  each metric has its own results
        """Return the result of a metric."""
        return self.results[name]

    def summary(self) -> dict[str, float]:
        """Return the main figures, by their display names."""
        figures: dict[str, float] = {}
        for name, result in self.results.items():
            figures |= self.metrics[name].summary(result)
        return figures

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as JSON takes it."""
        return {
            "rows": self.rows,
            "summary": {name.strip(): value for name, value in self.summary().items()},
            **{
                name: None if result is None else self.metrics[name].plain(result)
                for name, result in self.results.items()
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A synthetic table's distances from the real one, beside those of yardsticks."""

    rows: int
    """The number of rows of the real table."""
    synthetic: Distances
    yardsticks: dict[str, Distances]
    results: dict[str, Any]
    """Results of metrics that do not measure yardsticks, where they were computed."""
    metrics: Metrics = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as JSON takes it."""
        return {
            "notice": NOTICE,
            "choosing": CHOOSING,
            "rows": self.rows,
            "synthetic": self.synthetic.to_dict(),
            "yardsticks": {name: each.to_dict() for name, each in self.yardsticks.items()},
            **{name: self.metrics[name].plain(found) for name, found in self.results.items()},
        }

    def table(self, title: str | None = None) -> str:
        """Return the comparison as text, which begins with a notice: for the custodian only."""
        named = {"synthetic": self.synthetic, **self.yardsticks}
        each = list(named.values())
        summary = {k: [d.summary()[k] for d in each] for k in self.synthetic.summary()}
        rows: dict[str, Sequence[float | None]] = {"rows": [d.rows for d in each], **summary}
        further = list(self._further())
        wide = max(len(name) for those in (rows, *(t.rows for t in further)) for name in those)
        found = [m for name, m in self.metrics.items() if self.of_all(name) is not None]
        scales = dict.fromkeys(m.scale for m in found if m.scale is not None)
        lines = [NOTICE, CHOOSING, "", *([] if title is None else [title, ""])]
        lines += ["  ".join(scales), ""] if scales else []
        lines += [_line("", list(named), wide), *_lines(rows, wide)]
        for table in further:
            head = [] if table.head is None else [_line("", table.head, wide)]
            lines += ["", f"{table.title}:", *head, *_lines(table.rows, wide)]
        return "\n".join(lines) + "\n"

    def _further(self) -> Iterator[Lines]:
        """Yield the further tables of the text, in the order of the metrics."""
        for name, metric in self.metrics.items():
            found = self.of_all(name)
            table = None if found is None or metric.lines is None else metric.lines(found)
            if table is not None:
                yield table

    def of_all(self, name: str) -> list[Any] | None:
        """Return a metric's results for all tables, the synthetic one first, if computed."""
        if not self.metrics[name].yardsticks:
            return [self.results[name]] if name in self.results else None
        found = [each[name] for each in (self.synthetic, *self.yardsticks.values())]
        return None if found[0] is None else found


def compare(
    real: Coded,
    synthetic: Coded,
    *,
    metrics: Metrics | None = None,
    raw: Raw | None = None,
    yardsticks: Mapping[str, Distances] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **settings: object,
) -> Comparison:
    """Compare a synthetic table and three yardsticks with the real one.

    ``metrics`` are those of `METRICS` unless others are given, as a contest's are by
    ``metrics=METRICS | understudy.contests.metrics.METRICS``.  ``settings`` are the metrics' own
    options: ``targets`` for predictions, ``count`` for how many triples of columns are compared,
    ``place``, ``time`` and ``edge`` for a trip score.  A metric that needs options is computed
    where all of them are given, and one of raw values needs ``raw`` too.  ``yardsticks`` are those
    of another comparison with the same settings and the same real table, to save time.  ``seed``
    chooses triples, the yardsticks' rows and the people held out.
    """
    check_alike(real, synthetic)
    if not real.rows:
        raise QuestionError("the real table has no rows to compare with")
    metrics = METRICS if metrics is None else metrics
    check_known(metrics.values(), settings)
    asked = {name: metric.settings(settings) for name, metric in metrics.items()}
    _check_raw(metrics, asked, raw)
    measuring = _Measuring(metrics=dict(metrics), asked=asked, progress=progress or _silent)

    def distances(each: _Compared) -> Distances:
        both = raw and Raw(real=raw.real, synthetic=each.values, largest=raw.largest)
        tables = Tables(real=real, synthetic=each.rows, raw=both, seed=seed)
        return measuring.distances(each.name, tables, whole_people=each.people)

    values = raw.synthetic if raw else {}
    made = distances(_Compared("synthetic", synthetic, synthetic, values))
    by_people = real.people is not None and any(m.whole_people for m in metrics.values())
    drawn = _yardsticks(real, raw, np.random.default_rng(seed), by_people=by_people)
    shown = dict(yardsticks or {each.name: distances(each) for each in drawn})
    once = measuring.once(Tables(real=real, synthetic=synthetic, raw=raw, seed=seed))
    return Comparison(
        rows=real.rows, synthetic=made, yardsticks=shown, results=once, metrics=measuring.metrics
    )


class _Compared(NamedTuple):
    """A table that is compared with the real one."""

    name: str
    rows: Coded
    people: Coded
    """The same, if it is a yardstick, but drawn by people: each with all of their rows."""
    values: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measuring:
    """The metrics, and the settings of each: None where a metric is not computed."""

    metrics: dict[str, Metric[Any]]
    asked: dict[str, dict[str, Any] | None]
    progress: Progress

    def distances(self, name: str, tables: Tables, *, whole_people: Coded) -> Distances:
        """Compute every metric of one table against the real one.

        A yardstick that is drawn by people replaces the one of rows where a metric asks for it.
        """
        of_people = replace(tables, synthetic=whole_people)
        results: dict[str, Any] = {}
        measured = {n: m for n, m in self.metrics.items() if m.yardsticks}
        for i, (key, metric) in enumerate(measured.items()):
            self.progress(name, i / len(measured))
            settings, those = self.asked[key], of_people if metric.whole_people else tables
            results[key] = None if settings is None else metric.compute(those, **settings)
        self.progress(name, 1.0)
        return Distances(rows=tables.synthetic.rows, results=results, metrics=measured)

    def once(self, tables: Tables) -> dict[str, Any]:
        """Compute the metrics that do not measure yardsticks, where they are asked for."""
        results = {}
        for name, metric in self.metrics.items():
            settings = self.asked[name]
            if not metric.yardsticks and settings is not None:
                if metric.options:
                    self.progress(metric.title, 0.0)
                results[name] = metric.compute(tables, **settings)
        return {name: found for name, found in results.items() if found is not None}


def _silent(_stage: str, _done: float) -> None:
    """Report no progress."""


def _check_raw(metrics: Metrics, asked: Mapping[str, object], raw: Raw | None) -> None:
    """Raise if a metric needs raw values and there are none."""
    for name, metric in metrics.items():
        if metric.raw and asked[name] is not None and raw is None:
            raise QuestionError(
                f"{with_article(metric.title)} needs raw values", hint="pass raw=Raw(…) to compare"
            )


def _yardsticks(
    real: Coded, raw: Raw | None, rng: np.random.Generator, *, by_people: bool
) -> Iterator[_Compared]:
    """Yield yardsticks one at a time: each may be as large as the table."""
    of_values, of_people = rng.spawn(2)
    for name, share in YARDSTICKS.items():
        values: Values = {}
        if raw is not None:
            # A schema may drop rows, so that codes and raw values do not correspond row by row.
            values = taken(raw.real, some_rows(rows_of(raw.real), share, of_values))
        rows = real.take(some_rows(real.rows, share, rng))
        people = some_people(real, share, of_people) if by_people else rows
        yield _Compared(name, rows, people, values)


def _lines(values: Mapping[str, Sequence[float | None]], wide: int) -> list[str]:
    return [_line(name, [_figure(v) for v in each], wide) for name, each in values.items()]


def _line(name: str, cells: Sequence[str], wide: int) -> str:
    told = " ".join(name.splitlines())
    return (f"{told:<{wide}}" + "".join(f"{cell:>14}" for cell in cells)).rstrip()


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) < 10:
        return f"{value:.5f}"
    return f"{value:,.1f}" if abs(value) < 1e8 else f"{value:.6g}"
