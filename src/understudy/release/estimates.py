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
from understudy.release.display import (
    MOST_LINES,
    html_list,
    html_table,
    named,
    numbered,
    text_table,
    to_pandas,
)
from understudy.release.readings import Known, MarginalDomain, combined, readings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.door import Measurement
    from understudy.release.contents import Contents
    from understudy.schema import Array, Schema

NORMAL = 1.959964
"""95 % of Gaussian noise is within this many standard errors."""
LAPLACE = math.log(20) / math.sqrt(2)
"""95 % of one Laplace number is within this many standard errors; of a sum of them, more."""
VALUES = ("estimate", "standard_error", "low", "high")
MOST_CLIQUES, WIDE = 6, 120


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
        return f"Estimate of {self.counted} by {' × '.join(self.columns)}"

    def _texts(self) -> dict[str, list[str]]:
        precision = float(self.standard_error.min(initial=np.inf))
        return {
            name: list(map(str, column[:MOST_LINES]))
            if column.dtype == object
            else numbered(column[:MOST_LINES], precision)
            for name, column in self.table.items()
        }


def estimate(release: Contents, columns: Sequence[str], *, counted: str | None) -> Estimate:
    """Estimate a marginal from a release's measurements; see `Release.estimate`."""
    _check_columns(release.schema, columns)
    holding = [m for m in release.measurements if _holds(m, columns)]
    if not holding:
        raise _not_together(release.measurements, columns)
    kind = _counted(holding, columns, counted)
    holding = [m for m in holding if m.counted == kind]
    marginal = _Marginal(release, [m for m in release.measurements if m.counted == kind])
    domains = [_domain(release.schema, m, columns) for m in holding]
    tried = [(domain, marginal.known(holding, domain)) for domain in domains[:1] + _others(domains)]
    # The finest cells that can be estimated: the largest number of them.
    domain, known = max(tried, key=lambda pair: len(pair[1].cells))
    if not len(known.cells):
        raise UsageError(
            f"no cell of {' × '.join(columns)} was measured, or is a sum of measured cells",
            got="sums over several of its cells",
            hint=_counts_rows(columns),
        )
    return _told(release, domain, known, kind, holding)


@dataclass(frozen=True, slots=True, eq=False)
class _Marginal:
    """Reads cells from measurements, on the scale of the table's rows."""

    release: Contents
    measured: Sequence[Measurement]

    def known(self, holding: Sequence[Measurement], domain: MarginalDomain) -> Known:
        """Read a marginal's cells from the measurements that contain its columns."""
        found = []
        for group in dict.fromkeys(m.group for m in holding):
            here = readings([m for m in holding if m.group == group], domain, laplace=self.laplace)
            found.append(here if group is None else self._on_scale(here, group))
        return combined(found)

    @property
    def laplace(self) -> bool:
        return bool(self.release.manifest["guarantee"]["delta"] == 0)

    def _on_scale(self, known: Known, group: str) -> Known:
        """Scale counts of a weighted table to the release's number of rows."""
        everything = MarginalDomain(self.release.schema.domain, {})
        told = [m for m in self.measured if m.group == group]
        total = readings(told, everything, laplace=self.laplace)
        if not len(total.cells) or not total.values[0] > 0:
            return Known(known.cells[:0], known.values[:0], known.variances[:0])
        size, error = float(total.values[0]), math.sqrt(total.variances[0])
        return known.scaled(_rows(self.release) / size, error / size)


def _rows(release: Contents) -> int:
    """Return the number of rows that shares are scaled to; 1 for a release without rows."""
    return max(1, int(release.manifest["rows"]))


def _domain(schema: Schema, measured: Measurement, columns: Sequence[str]) -> MarginalDomain:
    """Return the finest cells of some columns that a measurement distinguishes."""
    parts = {}
    for name in columns:
        merged = measured.merged.get(name, np.arange(schema.domain[name]))
        # In the order of each part's first value.
        _, first, part = np.unique(merged, return_index=True, return_inverse=True)
        parts[name] = np.argsort(np.argsort(first))[part]
    return MarginalDomain(schema.domain, parts)


def _others(domains: Sequence[MarginalDomain]) -> list[MarginalDomain]:
    """Return the distinct domains other than the first."""
    seen = {tuple(p.tobytes() for p in s.parts.values()): s for s in reversed(domains)}
    return [domain for domain in reversed(seen.values()) if domain is not domains[0]]


def _told(
    release: Contents,
    domain: MarginalDomain,
    known: Known,
    kind: str,
    holding: Sequence[Measurement],
) -> Estimate:
    """Make the estimate: labels, standard errors and notes."""
    schema, promise = release.schema, release.manifest["guarantee"]
    codes = np.unravel_index(known.cells, domain.shape)
    labels, groups = {}, {}
    for (name, part), code in zip(domain.parts.items(), codes, strict=True):
        texts, groups[name] = part_labels(schema[name].labels(), part)
        labels[name] = np.array(texts, dtype=object)[code]
    error = np.sqrt(known.variances + (_relative(release, holding, kind) * known.values) ** 2)
    reach = error * (LAPLACE if promise["delta"] == 0 else NORMAL)
    return Estimate(
        labels=labels,
        estimate=known.values,
        standard_error=error,
        low=known.values - reach,
        high=known.values + reach,
        counted=kind,
        groups={name: group for name, group in groups.items() if group} or None,
        measurements=len(holding),
        notes=tuple(_notes(release, domain, known, kind, holding)),
    )


def _relative(release: Contents, holding: Sequence[Measurement], kind: str) -> float:
    """Return the relative error that all readings share: the bias that remains, and all rows'."""
    if kind != "rows" or not any(m.bias for m in holding):
        return 0.0
    trust = np.array([m.scale**-2.0 for m in holding])
    bias = float(trust @ np.array([m.bias for m in holding]) / trust.sum())
    crowd = release.manifest["mechanism"].get("crowd", {})
    rows = crowd.get("rows_standard_error", 0.0) / max(1.0, crowd.get("rows", 1.0))
    return math.hypot(bias, rows)


def _notes(
    release: Contents,
    domain: MarginalDomain,
    known: Known,
    kind: str,
    holding: Sequence[Measurement],
) -> list[str]:
    promise, notes = release.manifest["guarantee"], []
    if kind != "rows":
        notes.append(f"These are counts of {kind}, not of rows.")
    elif promise["unit"] != "row" and any(m.bias for m in holding):
        removed = all(m.left is not None for m in holding)
        notes.append(
            "Contribution bounding reduces the counts of people with many rows. "
            + ("That bias is estimated and removed; s" if removed else "S")
            + "tandard errors cover the added noise and about as much bias as remains."
        )
    elif promise["unit"] != "row":
        notes.append(
            "Standard errors cover the added noise, not the bias of contribution bounding: "
            f"{promise['bounding']}."
        )
    if any(m.group is not None for m in holding):
        notes.append(
            "The counts are of a table in which people have weights; its shares are scaled to the "
            f"release's {_rows(release):,} rows. The error of that number, which all cells "
            "share, is not included."
        )
    absent = math.prod(domain.shape) - len(known.cells)
    if absent:
        notes.append(
            f"{absent:,} of {math.prod(domain.shape):,} cells were not measured one by one, and "
            "are left out."
        )
    if any(len(part) > part.max() + 1 for part in domain.parts.values()):
        notes.append("Values in brackets were measured together: estimate.groups lists them.")
    return notes


def part_labels(own: Sequence[str], part: Array) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Return labels of a column's parts, and the values of those that have several.

    >>> part_labels(["red", "blue", "green", "(missing)"], np.array([0, 1, 0, 2]))
    (['(2 values)', 'blue', '(missing)'], {'(2 values)': ('red', 'green')})
    """
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part))[:-1]
    members = [tuple(own[code] for code in codes) for codes in np.split(order, ends)]
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


def _holds(measured: Measurement, columns: Sequence[str]) -> bool:
    """Return whether a measurement contains a marginal of some columns.

    Rows add up over other columns.  People do not: one may have been counted in several cells.
    """
    if measured.counted == "rows":
        return set(columns) <= set(measured.clique)
    return set(columns) == set(measured.clique)


def _check_columns(schema: Schema, columns: Sequence[str]) -> None:
    known = schema.unconstrained.domain
    named_right = all(isinstance(name, str) and name in known for name in columns)
    if not columns or not named_right or len(set(columns)) < len(columns):
        raise UsageError(
            "estimate needs one or more distinct column names",
            got=", ".join(map(str, columns)) or "none",
            allowed=named(list(known), most=20),
        )


def _counted(holding: Sequence[Measurement], columns: Sequence[str], asked: str | None) -> str:
    """Choose what to count: rows if they were counted, or else the only other kind."""
    kinds = list(dict.fromkeys(m.counted for m in holding))
    if asked in kinds:
        return str(asked)
    if asked is None and "rows" in kinds:
        return "rows"
    if asked is None and len(kinds) == 1:
        return kinds[0]
    raise UsageError(
        f"no {'rows' if asked is None else asked} were counted by {' × '.join(columns)}",
        allowed=named([repr(kind) for kind in kinds], width=WIDE),
        hint=f"estimate(..., counted={kinds[0]!r})",
    )


def _not_together(measured: Sequence[Measurement], columns: Sequence[str]) -> UsageError:
    """Return an error that lists what was measured, the cliques with most of the columns first."""
    near = [m for m in measured if set(m.clique) & set(columns)]
    cliques = [set(m.clique) for m in near if m.counted == "rows"]
    found: dict[str, None] = {}
    for m in sorted(near, key=lambda m: -len(set(m.clique) & set(columns))):
        told = " × ".join(m.clique)
        if m.counted != "rows":
            found[f"all of {told} ({m.counted})"] = None
        elif not any(set(m.clique) < clique for clique in cliques):
            found[f"any of {told}"] = None
    return UsageError(
        "these columns were not measured together",
        got=" × ".join(columns),
        allowed=named(list(found), MOST_CLIQUES, width=WIDE)
        if found
        else "none of them was measured",
        hint=_counts_rows(columns),
    )


def _counts_rows(columns: Sequence[str]) -> str:
    asked = ", ".join(f'"{name}"' for name in columns)
    return f"release.histogram({asked}) counts synthetic rows, without standard errors"
