"""Cells: the noisy counts of some columns' cells that were measured, group by group.

Every answer that is read lies within one cell, so the noise of different cells is independent.
What all cells share is kept apart, since it cancels where one sum of cells is divided by another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import UsageError
from understudy.release.display import named
from understudy.release.readings import Known, MarginalDomain, combined, readings, remaining

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Measurement
    from understudy.release.contents import Contents
    from understudy.schema import Schema

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

MOST_CLIQUES, WIDE = 6, 120
UNSEEN = (
    "There are too few people, for this noise, to tell how many rows they have: if they have "
    "several, the number of rows and all counts of rows are too low, perhaps by far, and no "
    "standard error or interval covers that."
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Question:
    """The columns whose cells are counted, and the rows that are."""

    by: tuple[str, ...]
    """The columns whose cells are the groups."""
    within: tuple[str, ...] = ()
    """The columns whose cells are needed together, all of them in every group."""
    needed: Mapping[str, Mask]
    """Whether each code is needed, by column of ``within``, where not all are."""
    where: Mapping[str, Mask]
    """Whether each code is wanted, by column."""
    counted: str | None = None
    """What is counted; rows, if they were, where it is None."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(dict.fromkeys((*self.by, *self.within, *self.where)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cells:
    """The cells of some groups: a line for each group, a column for each of its cells."""

    domain: MarginalDomain
    kind: str
    """What is counted."""
    holding: Sequence[Measurement]
    """The measurements that contain all columns."""
    groups: Ints
    """The number of each group among all groups of the domain."""
    used: Mapping[str, Ints]
    """The parts that are needed, by column of ``within``; the cells are all combinations."""
    values: Floats
    variances: Floats
    """The variance of each cell's noise."""
    shared: float
    """The relative error of the scale, which all cells share."""
    absent: int
    """The number of groups that are left out, since they were not measured."""
    bias: Floats
    """The relative standard deviation of the bias of bounding that remains in each cell."""


def read_cells(release: Contents, question: Question) -> Cells:
    """Read the finest cells that were measured of some columns; raise where there are none."""
    names = question.names
    holding = [m for m in release.measurements if _holds(m, names)]
    if not holding:
        _check_measured(release.schema, names)
        raise _not_together(release.measurements, names)
    kind = _counted(holding, names, question.counted)
    if kind != "rows" and (question.within or question.where):
        raise UsageError(
            f"{kind} cannot be added up: one may be in several cells",
            got=" × ".join(names),
            allowed="rows, or the counts of a measured marginal's cells",
        )
    holding = [m for m in holding if m.counted == kind]
    marginal = _Marginal(release, [m for m in release.measurements if m.counted == kind])
    domains = [_domain(release.schema, m, question) for m in holding]
    tried = [
        marginal.cells(holding, domain, question, kind) for domain in domains[:1] + _others(domains)
    ]
    # The finest cells that can be estimated: the largest number of them.
    best = max(tried, key=lambda cells: cells.values.size)
    if not best.values.size:
        raise UsageError(
            f"no cell of {' × '.join(names)} was measured, or is a sum of measured cells",
            got="sums over several of its cells",
            hint=_counts_rows(names),
        )
    return best


def rows_of(release: Contents) -> int:
    """Return the number of rows that shares are scaled to; 1 for a release without rows."""
    return max(1, int(release.manifest["rows"]))


def is_laplace(release: Contents) -> bool:
    """Return whether the noise is Laplace's, as for a budget without delta."""
    return bool(release.manifest["guarantee"]["delta"] == 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Marginal:
    """Reads cells from measurements, on the scale of the table's rows."""

    release: Contents
    measured: Sequence[Measurement]

    def cells(
        self, holding: Sequence[Measurement], domain: MarginalDomain, question: Question, kind: str
    ) -> Cells:
        """Read the groups of which all cells are known."""
        known, shared = self._known(holding, domain)
        needed, sound = _parts(domain, question, self.release.schema)
        codes = dict(zip(domain.parts, np.unravel_index(known.cells, domain.shape), strict=True))
        kept = np.ones(len(known.cells), dtype=bool)
        for name, code in codes.items():
            kept &= sound[name][code] & needed[name][code]
        shape = [len(needed[name]) for name in question.by]
        group = _numbers([codes[name][kept] for name in question.by], shape, int(kept.sum()))
        used = {name: np.flatnonzero(needed[name]) for name in question.within}
        inner = [np.searchsorted(used[name], codes[name][kept]) for name in question.within]
        sizes = [len(parts) for parts in used.values()]
        cell, size = _numbers(inner, sizes, int(kept.sum())), math.prod(sizes)
        groups, at = np.unique(group, return_inverse=True)
        whole = np.bincount(at, minlength=len(groups)) == size
        values, variances, bias = np.zeros((3, len(groups), size))
        values[at, cell], variances[at, cell] = known.values[kept], known.variances[kept]
        if kind == "rows":
            bias[at, cell] = _remaining(holding, domain)[known.cells[kept]]
        wanted = math.prod(int(needed[name].sum()) for name in question.by)
        return Cells(
            domain=domain,
            kind=kind,
            holding=holding,
            groups=groups[whole],
            used=used,
            values=values[whole],
            variances=variances[whole],
            shared=math.hypot(shared, rows_error(self.release, holding, kind)),
            absent=wanted - int(whole.sum()),
            bias=bias[whole],
        )

    def _known(self, holding: Sequence[Measurement], domain: MarginalDomain) -> tuple[Known, float]:
        """Read single cells, and the error of their scale, where all of them share it."""
        found = []
        for group in dict.fromkeys(m.group for m in holding):
            told = [m for m in holding if m.group == group]
            here = readings(told, domain, laplace=is_laplace(self.release))
            found.append((here, 0.0) if group is None else self._on_scale(here, group))
        if len(found) == 1:
            return found[0]
        return combined([known.scaled(1.0, spread) for known, spread in found]), 0.0

    def _on_scale(self, known: Known, group: str) -> tuple[Known, float]:
        """Scale counts of a weighted table to the release's number of rows."""
        everything = MarginalDomain(self.release.schema.domain, {})
        told = [m for m in self.measured if m.group == group]
        total = readings(told, everything, laplace=is_laplace(self.release))
        if not len(total.cells) or not total.values[0] > 0:
            return Known(known.cells[:0], known.values[:0], known.variances[:0]), 0.0
        size, error = float(total.values[0]), math.sqrt(total.variances[0])
        return known.scaled(rows_of(self.release) / size, 0.0), error / size


def _remaining(holding: Sequence[Measurement], domain: MarginalDomain) -> Floats:
    """Return the relative bias of bounding that remains in each cell of a marginal.

    Each measurement counts by about how much of the cells' estimates is its own: a cell is a sum
    of many cells of a measurement of more columns, and has the noise of them all.
    """
    trust = np.array([1 / (len(m.values) * _scale(m) ** 2) for m in holding])
    shares = zip(trust / trust.sum(), holding, strict=True)
    deviation: Floats = np.sqrt(sum(share * remaining(m, domain) for share, m in shares))
    return deviation


def _scale(measured: Measurement) -> float:
    """Return the noise of a cell of a measurement, in rows of the whole table."""
    return measured.scale / (1.0 if measured.left is None else float(measured.left.mean()))


def rows_error(release: Contents, holding: Sequence[Measurement], kind: str) -> float:
    """Return the relative error of all rows' number, where counts were corrected by it."""
    if kind != "rows" or not any(m.bias for m in holding):
        return 0.0
    crowd = release.manifest["mechanism"].get("crowd", {})
    return float(crowd.get("rows_standard_error", 0.0) / max(1.0, crowd.get("rows", 1.0)))


def unseen_notes(mechanism: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note where no number of people with so many rows stood out of its noise."""
    return (UNSEEN,) if mechanism.get("crowd", {}).get("sizes_unseen") else ()


def _numbers(codes: Sequence[Ints], shape: Sequence[int], count: int) -> Ints:
    """Number cells by their codes, the last column's first; without columns there is one cell."""
    if not codes:
        return np.zeros(count, dtype=np.int64)
    return np.asarray(np.ravel_multi_index(tuple(codes), tuple(shape)), dtype=np.int64)


def _parts(
    domain: MarginalDomain, question: Question, schema: Schema
) -> tuple[dict[str, Mask], dict[str, Mask]]:
    """Return which parts of each column are needed, and which have only values that are wanted."""
    needed, sound = {}, {}
    for name, part in domain.parts.items():
        every = np.ones(len(part), dtype=bool)
        wanted, useful = question.where.get(name, every), question.needed.get(name, every)
        size = int(part.max()) + 1
        needed[name] = np.bincount(part, weights=wanted & useful, minlength=size) > 0
        if name in question.where and name not in (*question.by, *question.within):
            # Its parts are what is wanted, and what is not.
            sound[name] = np.bincount(part, weights=wanted, minlength=size) > 0
            continue
        others = ~_with_others(wanted, part, schema[name].values_count)
        sound[name] = np.bincount(part, weights=others, minlength=size) == 0
    return needed, sound


def _domain(schema: Schema, measured: Measurement, question: Question) -> MarginalDomain:
    """Return the finest cells of some columns that a measurement distinguishes.

    Of columns by which rows are only chosen, there are two parts: wanted and not.
    """
    parts = {}
    for name in question.names:
        if name in question.where and name not in (*question.by, *question.within):
            count = schema[name].values_count
            wanted = _with_others(question.where[name], measured.merged.get(name), count)
            parts[name] = np.unique(wanted, return_inverse=True)[1]
            continue
        merged = measured.merged.get(name, np.arange(schema.domain[name]))
        # In the order of each part's first value.
        _, first, part = np.unique(merged, return_index=True, return_inverse=True)
        parts[name] = np.argsort(np.argsort(first))[part]
    return MarginalDomain(schema.domain, parts)


def _with_others(wanted: Mask, merged: Ints | None, count: int) -> Mask:
    """Return which codes are wanted, with those that are no values and were merged with one value.

    *Missing*, say, is merged with the most common value where it is too rare to be told from none.

    >>> _with_others(np.array([True, False, False]), np.array([0, 1, 0]), 2).tolist()
    [True, False, True]
    """
    if merged is None or not wanted[:count].any():
        return wanted
    value = np.arange(len(wanted)) < count
    size = int(merged.max()) + 1
    with_value = np.bincount(merged, weights=value, minlength=size)[merged] == 1
    with_wanted = np.bincount(merged, weights=wanted & value, minlength=size)[merged] > 0
    return np.where(with_value & ~value, with_wanted, wanted)


def _others(domains: Sequence[MarginalDomain]) -> list[MarginalDomain]:
    """Return the distinct domains other than the first."""
    seen = {tuple(p.tobytes() for p in s.parts.values()): s for s in reversed(domains)}
    return [domain for domain in reversed(seen.values()) if domain is not domains[0]]


def _holds(measured: Measurement, columns: Sequence[str]) -> bool:
    """Return whether a measurement contains a marginal of some columns.

    Rows add up over other columns.  People do not: one may have been counted in several cells.
    """
    if measured.counted == "rows":
        return set(columns) <= set(measured.clique)
    return set(columns) == set(measured.clique)


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


def _check_measured(schema: Schema, names: Sequence[str]) -> None:
    """Raise if some columns follow from others by constraints, so that they are not measured."""
    computed = schema.keeper.computed
    if not any(name in computed for name in names):
        return
    asked = list(names)
    while follows := [name for name in asked if name in computed]:
        place, others = asked.index(follows[0]), computed[follows[0]].columns
        asked[place : place + 1] = [other for other in others if other != follows[0]]
    told = {name: computed[name] for name in names if name in computed}
    raise UsageError(
        "columns that follow from others are not measured",
        got=", ".join(f"{name}, by the constraint {c.label!r}" for name, c in told.items()),
        allowed="what they follow from: " + named(list(dict.fromkeys(asked)), width=WIDE),
        hint=_counts_rows(names),
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
