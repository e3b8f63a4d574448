"""Estimates: a marginal as it was measured, with standard errors; no synthetic row is used.

Synthetic rows follow a model, and a model makes errors that nobody can put a number on.  What was
measured is the truth (as far as bounding left it alone) plus noise of a known size, so it comes
with honest standard errors.  That these numbers are negative at times, and do not add up exactly,
is the price of that.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import UsageError
from understudy.release.arguments import conditions_of, groups_of
from understudy.release.cells import (
    Question,
    is_laplace,
    read_cells,
    rows_error,
    rows_of,
    unseen_notes,
)
from understudy.release.code_values import CodeValues
from understudy.release.conditions import conditions_text, wanted_codes
from understudy.release.display import (
    MOST_LINES,
    html_list,
    html_table,
    named,
    numbered,
    text_table,
    to_pandas,
)
from understudy.release.summaries import Counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.release.cells import Cells
    from understudy.release.contents import Contents
    from understudy.release.statistic import Statistic
    from understudy.release.summaries import Summary
    from understudy.schema import Array, Schema

NORMAL = 1.959964
"""95 % of Gaussian noise is within this many standard errors."""
LAPLACE = math.log(20) / math.sqrt(2)
"""95 % of one Laplace number is within this many standard errors; of a sum of them, more."""
VALUES = ("estimate", "standard_error", "low", "high")
TOGETHER = "Values in brackets were measured together: estimate.groups lists them."
TOO_FEW = "of these cannot be told: there are too few rows for the noise."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate:
    """A noisy table of counts with their standard errors, made by `Release.estimate`.

    Every cell's estimate is unbiased but for contribution bounding, and may be negative.
    ``low`` to ``high`` is a 95 % confidence interval of the number that was measured.

    >>> import numpy as np
    >>> one = Estimate(
    ...     labels={"colour": np.array(["red", "blue"], dtype=object)},
    ...     estimate=np.array([120.5, -3.0]),
    ...     standard_error=np.array([4.0, 4.0]),
    ...     low=np.array([112.7, -10.8]),
    ...     high=np.array([128.3, 4.8]),
    ... )
    >>> one
    Estimate of rows by colour
    colour  estimate  standard_error    low   high
    red        120.5             4.0  112.7  128.3
    blue        -3.0             4.0  -10.8    4.8
    >>> sorted(one.table)
    ['colour', 'estimate', 'high', 'low', 'standard_error']
    """

    labels: dict[str, Array]
    """The labels of each cell, by column; values that were measured together share one."""
    estimate: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    """The standard deviation of each estimate's noise."""
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counted: str = "rows"
    """What is counted."""
    statistic: str = ""
    """What is estimated of the rows that are counted, where it is not their number."""
    where: str = ""
    """The rows that are counted, where not all are."""
    groups: dict[str, dict[str, tuple[str, ...]]] | None = None
    """The values that each group's label stands for, by column."""
    measurements: int = 0
    """The number of measurements that contain these columns."""
    notes: tuple[str, ...] = ()
    """Caveats about these numbers."""

    def __len__(self) -> int:
        """Count the cells."""
        return len(self.estimate)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.labels)

    @property
    def table(self) -> dict[str, Array]:
        """All of it, column by column: ready for pandas, polars or Arrow."""
        # A column of the table may have the same name as one of VALUES.
        found = {name + "_" * (name in VALUES): column for name, column in self.labels.items()}
        return found | {name: getattr(self, name) for name in VALUES}

    def to_pandas(self) -> Any:  # noqa: ANN401  a pandas DataFrame, which is not required
        """Return the table as a pandas DataFrame."""
        return to_pandas(self.table, what="estimate.to_pandas()", instead="estimate.table")

    def __repr__(self) -> str:
        """Show the first cells, and all notes."""
        notes = [f"({note})" for note in self.notes]
        more = len(self) - MOST_LINES
        return "\n".join([self._title(), text_table(self._texts(), 4, max(more, 0)), *notes])

    def _repr_html_(self) -> str:
        """Show the first cells and all notes in a notebook."""
        table = html_table(self._texts(), 4, max(len(self) - MOST_LINES, 0))
        return f"<p>{escape(self._title())}</p>{table}{html_list(self.notes)}"

    def _title(self) -> str:
        by = f" by {' × '.join(self.columns)}" if self.columns else ""
        where = f" where {self.where}" if self.where else ""
        return f"Estimate of {self.statistic or self.counted}{by}{where}"

    def _texts(self) -> dict[str, list[str]]:
        precision = float(self.standard_error.min(initial=np.inf))
        return {
            name: list(map(str, column[:MOST_LINES]))
            if column.dtype == object
            else numbered(column[:MOST_LINES], precision)
            for name, column in self.table.items()
        }


def estimate(
    release: Contents,
    columns: Sequence[str],
    *,
    by: str | Sequence[str] = (),
    where: Mapping[str, object] | None = None,
    counted: str | None = None,
    statistic: Statistic,
) -> Estimate:
    """Estimate something of a release's rows from its measurements; see `Release.estimate`."""
    groups, conditions = groups_of(by), conditions_of(where)
    _check_columns(release.schema, (*groups, *columns, *statistic.values), any_at_all=bool(where))
    shared_out = tuple(columns) if statistic.kind == "share" else ()
    if statistic.kind == "share" and not shared_out:
        raise UsageError(
            "a share needs a column by whose values the rows are divided",
            hint='estimate("origin", by="month", share=True) tells origins\' shares of each month',
        )
    numbers = [CodeValues.of(release, name) for name in statistic.values]
    question = Question(
        by=groups if shared_out else (*groups, *columns),
        within=shared_out or statistic.values,
        needed={each.name: each.has_numbers for each in numbers},
        where=wanted_codes(release.schema, conditions),
        counted=counted,
    )
    cells = read_cells(release, question)
    labels, merged = _labels(release.schema, cells, question.by, shared_out)
    found = _summary(release, cells, statistic, numbers)
    told = _notes(release, cells, scaled=statistic.kind in {"count", "total"})
    return Estimate(
        labels=labels,
        **{name: getattr(found, name) for name in VALUES},
        counted=cells.kind,
        statistic=statistic.words,
        where=conditions_text(conditions),
        groups=merged or None,
        measurements=len(cells.holding),
        notes=(
            *told,
            *([TOGETHER] if merged else []),
            *([f"{found.unknown:,} {TOO_FEW}"] if found.unknown else []),
            *statistic.notes(cells, numbers),
        ),
    )


def _summary(
    release: Contents, cells: Cells, statistic: Statistic, numbers: Sequence[CodeValues]
) -> Summary:
    counts = Counts(
        values=cells.values,
        variances=cells.variances,
        bias=cells.bias,
        shared=cells.shared,
        reach=LAPLACE if is_laplace(release) else NORMAL,
    )
    return statistic.summary(counts, cells, numbers)


def _labels(
    schema: Schema, cells: Cells, by: Sequence[str], within: Sequence[str]
) -> tuple[dict[str, Array], dict[str, dict[str, tuple[str, ...]]]]:
    """Return the labels of every estimate, and the values of the labels that have several."""
    parts = cells.domain.parts
    shape = tuple(int(parts[name].max()) + 1 for name in by)
    inner = tuple(len(cells.used[name]) for name in within)
    each = np.repeat(cells.groups, math.prod(inner))
    codes = dict(zip(by, np.unravel_index(each, shape) if by else (), strict=True))
    place = np.tile(np.arange(math.prod(inner)), len(cells.groups))
    for name, at in zip(within, np.unravel_index(place, inner) if within else (), strict=True):
        codes[name] = cells.used[name][at]
    labels, merged = {}, {}
    for name, code in codes.items():
        column = schema[name]
        texts, groups = part_labels(column.labels(), parts[name], column.values_count)
        labels[name] = np.array(texts, dtype=object)[code]
        if groups:
            merged[name] = groups
    return labels, merged


def _notes(release: Contents, cells: Cells, *, scaled: bool) -> list[str]:
    promise, notes, holding = release.manifest["guarantee"], [], cells.holding
    if cells.kind != "rows":
        notes.append(f"These are counts of {cells.kind}, not of rows.")
    elif promise["unit"] != "row" and any(m.bias for m in holding):
        removed = all(m.left is not None for m in holding)
        notes.append(
            "Contribution bounding reduces the counts of people with many rows. "
            + ("That bias is estimated and removed; s" if removed else "S")
            + "tandard errors cover the added noise and about as much bias as usually remains: not "
            "that of values which a few people with very many rows have."
        )
    elif promise["unit"] != "row":
        notes.append(
            "Standard errors cover the added noise, not the bias of contribution bounding: "
            f"{promise['bounding']}."
        )
    if cells.kind == "rows":
        notes += unseen_notes(release.manifest["mechanism"])
    if scaled and any(m.group is not None for m in holding):
        notes.append(
            "The counts are of a table in which people have weights; its shares are scaled to the "
            f"release's {rows_of(release):,} rows."
            + (
                ""
                if rows_error(release, holding, cells.kind)
                else " The error of that number, which all cells share, is not included."
            )
        )
    if cells.absent:
        notes.append(
            f"{cells.absent:,} of {cells.absent + len(cells.groups):,} cells were not measured one "
            "by one, and are left out."
        )
    return notes


def _check_columns(schema: Schema, columns: Sequence[str], *, any_at_all: bool) -> None:
    known = schema.unconstrained.domain
    named_right = all(isinstance(name, str) and name in known for name in columns)
    if not (columns or any_at_all) or not named_right or len(set(columns)) < len(columns):
        raise UsageError(
            "estimate needs one or more distinct column names",
            got=", ".join(map(str, columns)) or "none",
            allowed=named(list(known), most=20),
        )


def part_labels(
    own: Sequence[str], part: Array, count: int
) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Return labels of a column's parts, and the values of those that have several.

    The first codes, ``count`` of them, are values.  Others, such as *missing*, that were merged
    with one are too rare to be told, and it has its own label.

    >>> part_labels(["red", "blue", "green", "(missing)"], np.array([0, 1, 0, 2]), 3)
    (['(2 values)', 'blue', '(missing)'], {'(2 values)': ('red', 'green')})
    >>> part_labels(["red", "blue", "(missing)", "(other)"], np.array([0, 1, 0, 0]), 2)
    (['red', 'blue'], {})
    """
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part))[:-1]
    members: list[tuple[str, ...]] = []
    for codes in np.split(order, ends):
        alone = codes[codes < count] if (codes < count).sum() == 1 else codes
        members.append(tuple(own[code] for code in alone))
    sizes = Counter(map(len, members))
    labels, groups = [], {}
    for values in members:
        label = values[0] if len(values) == 1 else f"({len(values)} values)"
        if len(values) > 1 and sizes[len(values)] > 1:
            label = f"({len(values)} values: {values[0]}, …)"
        labels.append(label)
        if len(values) > 1:
            groups[label] = values
    return labels, groups
