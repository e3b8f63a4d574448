"""Propose constraints from a public table: what determines what, sums, orders, and what never is.

Each is something that public rows show far more clearly than chance would.  Whether it is true of
all rows, only those who know the table can say: proposals are comments until somebody switches
them on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns import NULLS, Categorical, Column, Numeric, Released, Timestamp
from understudy.schema.columns.integer import Integer
from understudy.schema.constraints import Determines, Never, Order
from understudy.schema.encoding import reading
from understudy.schema.importers.sums import find_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from understudy.schema.constraints import Constraint
    from understudy.schema.encoding.reading import Array, Codes

    Floats = NDArray[np.float64]
    Tried = Callable[[tuple[Constraint, ...]], object]
    """Makes a schema with some constraints, or raises."""

FEWEST = 100
"""The fewest public rows that anything is proposed from."""
ENOUGH = 100_000
"""Of a larger table, as many rows are looked at, evenly spread."""
MOST, MOST_NEVER = 40, 6
"""The most proposals of a kind; of what never is, where each alone is the more surprising."""
MOST_OF_A_PAIR = 2
"""The most proposals of what never is in the same two columns."""
SURELY = -25.0
"""The log of the largest probability by chance of what is proposed."""
LEAST_VALUES, MOST_VALUES = 3, 1000
"""The fewest and the most values that may determine those of another column."""
LARGEST_LIST = 60
"""The most values of a column of which combinations may be missing."""
OFTEN = 0.05
"""The least share of rows that would be out of order by chance."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A constraint that may hold, and what public rows say of it."""

    constraint: Constraint
    why: str
    more: bool = False
    """Whether it is the last of its kind that is proposed, and there are more."""


@dataclass(frozen=True, slots=True, eq=False)
class _Listed:
    """A column whose codes are values, and those of public rows."""

    column: Column
    codes: Codes

    @property
    def has_value(self) -> NDArray[np.bool_]:
        """The rows with a declared value, neither missing nor another."""
        found: NDArray[np.bool_] = (self.codes >= 0) & (self.codes < self.column.values_count)
        return found

    @property
    def count(self) -> int:
        """The number of values that there are."""
        return len(np.unique(self.codes[self.has_value]))


def find_patterns(
    table: Mapping[str, Array], columns: tuple[Released, ...], tried: Tried
) -> list[Pattern]:
    """Propose constraints that can be switched on, all of them together.

    ``columns`` are the declared ones, and ``tried`` raises where a schema cannot have constraints.
    """
    rows = len(next(iter(table.values()), ()))
    drafted = [c for c in columns if c.table_column in table]
    if rows < FEWEST or not drafted:
        return []
    some = np.unique(np.linspace(0, rows - 1, min(rows, ENOUGH)).astype(np.int64))
    values = {c.name: np.asarray(table[c.table_column])[some] for c in drafted}
    listed = [
        _Listed(c, c.encode(values[c.name]))
        for c in drafted
        if isinstance(c, (Categorical, Integer))
    ]
    numbers = {c.name: found for c in drafted if (found := _numbers(c, values[c.name])) is not None}
    taken: list[Pattern] = []
    for kind in (
        _determined(listed),
        (Pattern(*found) for found in find_sums(_amounts(drafted, numbers))),
        _ordered(numbers),
    ):
        _take(taken, kind, tried, MOST)
    # What is determined is not said again, so this looks at what was taken.
    _take(taken, _never(listed, taken), tried, MOST_NEVER)
    return taken


def _take(taken: list[Pattern], kind: Iterator[Pattern], tried: Tried, most: int) -> None:
    """Add the first patterns of a kind that can be declared with those before; say of more."""
    count = 0
    for pattern in kind:
        if not _possible(tried, (*taken, pattern)):
            continue
        if count == most:
            taken[-1] = replace(taken[-1], more=True)
            return
        taken.append(pattern)
        count += 1


def _possible(tried: Tried, patterns: tuple[Pattern, ...]) -> bool:
    try:
        tried(tuple(each.constraint for each in patterns))
    except SchemaError:
        return False
    return True


def _numbers(column: Released, values: Array) -> Floats | None:
    """Return the numbers of a column, or the seconds of its moments, NaN where there is none."""
    found = None
    if isinstance(column, (Numeric, Integer)):
        found, absent = reading.numbers(values, NULLS)
    elif isinstance(column, Timestamp):
        found, absent = reading.seconds(values, column.format, NULLS)
    if found is None:
        return None
    return np.where(absent | ~np.isfinite(found), np.nan, found)


def _amounts(columns: list[Released], numbers: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the numbers that may be added."""
    kinds = {c.name for c in columns if isinstance(c, (Numeric, Integer))}
    return {name: found for name, found in numbers.items() if name in kinds}


def _determined(listed: list[_Listed]) -> Iterator[Pattern]:
    """Find what determines each column: of several, the one with the fewest values."""
    counts = [each.count for each in listed]
    for place, column in enumerate(listed):
        # Of two that determine each other, the first one determines.
        finer = [
            (counts[i], i)
            for i in range(len(listed))
            if (counts[i], -i) > (counts[place], -place)
            and LEAST_VALUES <= counts[i] <= MOST_VALUES
        ]
        best = next((i for _, i in sorted(finer) if _is_image(listed[i], column)), None)
        if best is not None:
            yield _follows(listed[best], column)


def _is_image(by: _Listed, column: _Listed) -> bool:
    """Return whether each value has one code, in enough rows for that to be no chance."""
    cells = _cells(by, column, by.has_value & (column.codes >= 0))
    if cells.sum() < FEWEST or (np.count_nonzero(cells, axis=1) > 1).any():
        return False
    # By chance, a value of n rows has one code with probability Σ pⁿ.
    p = cells.sum(axis=0) / cells.sum()
    each, times = np.unique(cells.sum(axis=1), return_counts=True)
    chances = np.array([float((p**n).sum()) if n else 1.0 for n in each])
    return float(np.dot(times, np.log(np.maximum(chances, 1e-300)))) < SURELY


def _cells(one: _Listed, other: _Listed, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the rows of each pair of codes."""
    shape = one.column.size, other.column.size
    keys = one.codes[kept].astype(np.int64) * shape[1] + other.codes[kept]
    return np.bincount(keys, minlength=shape[0] * shape[1]).reshape(shape)


def _follows(by: _Listed, column: _Listed) -> Pattern:
    kept = by.has_value & (column.codes >= 0)
    keys, first = np.unique(by.codes[kept], return_index=True)
    names, others = by.column.labels(), column.column.labels()
    images = column.codes[kept][first]
    pairs = tuple((names[key], others[code]) for key, code in zip(keys, images, strict=True))
    one, other = by.column.name, column.column.name
    why = f"each of {len(pairs):,} values of {one} has one value of {other}"
    return Pattern(Determines(one, other, pairs), f"In {kept.sum():,} public rows {why}.")


def _ordered(numbers: Mapping[str, Floats]) -> Iterator[Pattern]:
    """Find the columns that are never above another, though they often would be by chance."""
    below: dict[tuple[str, str], int] = {}
    for low, high in permutations(numbers, 2):
        both = ~np.isnan(numbers[low]) & ~np.isnan(numbers[high])
        less, more = numbers[low][both], numbers[high][both]
        if len(less) < FEWEST or not np.all(less <= more) or np.array_equal(less, more):
            continue
        # The share of pairs of rows with the one above the other.
        above = np.searchsorted(np.sort(more), less, side="left").mean() / len(more)
        if above >= OFTEN:
            below[low, high] = len(less)
    for (low, high), rows in below.items():
        between = any((low, n) in below and (n, high) in below for n in numbers)
        if not between:
            yield Pattern(Order(low, high), f"In all of {rows:,} public rows {low} ≤ {high}.")


def _never(listed: list[_Listed], taken: list[Pattern]) -> Iterator[Pattern]:
    """Find the values of two categories that never meet, the most surprising first."""
    few = [
        each
        for each in listed
        if isinstance(each.column, Categorical) and each.column.values_count <= LARGEST_LIST
    ]
    said = {frozenset(p.constraint.columns) for p in taken if isinstance(p.constraint, Determines)}
    found: list[tuple[float, Pattern]] = []
    for one, other in combinations(few, 2):
        if frozenset((one.column.name, other.column.name)) not in said:
            found += _strangers(one, other)
    times = Counter[tuple[str, ...]]()
    for _, pattern in sorted(found, key=lambda each: -each[0]):
        times[pattern.constraint.columns] += 1
        if times[pattern.constraint.columns] <= MOST_OF_A_PAIR:
            yield pattern


def _strangers(one: _Listed, other: _Listed) -> Iterator[tuple[float, Pattern]]:
    """Yield what a value of one column is never seen with, and how often it would be by chance."""
    cells = _cells(one, other, one.has_value & other.has_value)
    rows = cells.sum()
    chance = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / max(rows, 1)
    empty = (cells == 0) & (chance >= -SURELY)
    first, second = one.column.name, other.column.name
    for value in np.flatnonzero(empty.any(axis=1)).tolist():
        others = [other.column.labels()[i] for i in np.flatnonzero(empty[value])]
        here, expected = one.column.labels()[value], float(chance[value][empty[value]].sum())
        never = {first: here, second: others[0] if len(others) == 1 else others}
        why = (
            f"None of {int(rows):,} public rows has both; about {expected:,.0f} would if {first} "
            f"and {second} were unrelated."
        )
        name = f"{first} {here}, never {second} {' or '.join(others)}"
        yield expected, Pattern(Never(never, name=name), why)
