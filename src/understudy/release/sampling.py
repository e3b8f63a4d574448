"""More rows of a release, at no privacy cost: everything used is public already.

Where the release has a model, new rows are drawn from it independently; merged codes, values within
a bin, and the number of rows per person follow the released rows.  Where it has none, released
people are resampled, each with all of their rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import ResolvedUnit
from understudy.errors import UsageError
from understudy.public import Batches, PublicTable, bins_within
from understudy.release.rows import Decoded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.graph import Model
    from understudy.release.contents import Contents
    from understudy.schema import Array, Codes, Column, Schema

    Ints = NDArray[np.int64]
    Wanted = Mapping[str, NDArray[np.bool_]]

SHOWN = 10


def sampled(
    release: Contents, rows: int, *, where: Mapping[str, object], rng: np.random.Generator
) -> dict[str, Array]:
    """Draw rows like a release's that all have the wanted values."""
    if rows < 0:
        raise UsageError("rows must be at least 0", got=rows)
    if not len(release):
        raise UsageError("cannot draw rows from a release that has none")
    wanted = {name: _wanted(release.schema, name, given) for name, given in where.items()}
    unit = ResolvedUnit.of(*release.ids)
    known = PublicTable.read(release.columns, schema=release.schema.released(), unit=unit)
    if release.model is None:
        codes, people = _again(known, rows, wanted, rng)
    else:
        codes = _drawn(release.model, known, rows, merged=release.merged, wanted=wanted, rng=rng)
        people = _dealt(known, rows, rng)
    decoded = Decoded(
        Batches.held(codes, people if release.ids else None),
        schema=release.schema,
        unit=unit,
        within=bins_within(known),
        rng=rng,
    )
    return decoded.columns


def _wanted(schema: Schema, name: str, given: object) -> NDArray[np.bool_]:
    """Return whether each code of a column is wanted."""
    column = schema.released()[name]
    values = given if isinstance(given, (list, tuple, set, frozenset)) else [given]
    wanted = np.zeros(column.size, dtype=bool)
    for value in values:
        wanted[_code(column, value)] = True
    return wanted


def _code(column: Column, value: object) -> int:
    labels = column.labels()
    if str(value) in labels:
        return labels.index(str(value))
    # Only an exact match counts: not the nearest value, and not (other).
    code = int(replace(column, outside="drop").encode(np.array([value], dtype=object))[0])
    if 0 <= code < column.values_count:
        return code
    shown = ", ".join(labels[:SHOWN]) + (", …" if len(labels) > SHOWN else "")
    raise UsageError(f"column {column.name!r} has no such value", got=repr(value), allowed=shown)


def _again(
    known: PublicTable, rows: int, wanted: Wanted, rng: np.random.Generator
) -> tuple[dict[str, Codes], Ints]:
    """Resample released people, with their wanted rows, until there are enough."""
    kept = np.ones(len(known), dtype=bool)
    for name, mask in wanted.items():
        kept &= mask[known.codes[name]]
    _check_possible(kept.sum(), wanted)
    some = known.take(kept)
    people = np.arange(len(some)) if some.people is None else some.people
    starts = np.flatnonzero(np.diff(people, prepend=-1))
    sizes = np.diff(np.append(starts, len(people)))
    turns = np.zeros(0, dtype=np.int64)
    while sizes[turns].sum() < rows:
        turns = np.append(turns, rng.integers(len(sizes), size=1 + rows // int(sizes.mean() + 1)))
    whose = np.repeat(np.arange(len(turns)), sizes[turns])[:rows]
    place = np.arange(rows) - np.repeat(np.cumsum(sizes[turns]) - sizes[turns], sizes[turns])[:rows]
    found = starts[turns[whose]] + place
    return {name: codes[found] for name, codes in some.codes.items()}, whose


def _drawn(
    model: Model,
    known: PublicTable,
    rows: int,
    *,
    merged: Mapping[str, Ints],
    wanted: Wanted,
    rng: np.random.Generator,
) -> dict[str, Codes]:
    """Draw rows from a model, given what is wanted, and split merged codes as in released rows."""
    spreads = {
        name: _Spread(
            merged.get(name, np.arange(size)),
            np.bincount(known.codes[name], minlength=size),
            wanted.get(name, np.ones(size, dtype=bool)),
        )
        for name, size in known.schema.domain.items()
    }
    given: dict[str, Codes] = {}
    if wanted:
        names = tuple(wanted)
        table = model.marginal(names)
        for axis, name in enumerate(names):
            shape = [-1 if i == axis else 1 for i in range(len(names))]
            table = table * spreads[name].part.reshape(shape)
        _check_possible(table.sum(), wanted)
        cells = rng.choice(table.size, size=rows, p=table.reshape(-1) / table.sum())
        codes = np.unravel_index(cells, table.shape)
        given = {n: c.astype(np.int32) for n, c in zip(names, codes, strict=True)}
    drawn = model.sample(rows, rng, given=given, way="multinomial")
    return {name: spread.of(drawn[name], rng) for name, spread in spreads.items()}


class _Spread:
    """The codes behind each code of the model, with their frequencies."""

    def __init__(self, groups: Ints, counts: Ints, wanted: NDArray[np.bool_]) -> None:
        """Count released rows; the codes of a group without any are equally likely."""
        seen = np.bincount(groups, weights=counts)
        each = np.where(seen[groups] > 0, counts, 1) * 1.0
        whole = np.bincount(groups, weights=each)
        each *= wanted
        self._order = np.argsort(groups, kind="stable")
        self._ends = np.cumsum(each[self._order])
        mass = np.bincount(groups, weights=each)
        self._mass, self._first = mass, np.cumsum(mass) - mass
        self.part: NDArray[np.float64] = mass / whole
        """The share of each group that is wanted."""

    def of(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each of the model's codes."""
        at = self._first[codes] + (1 - rng.random(len(codes))) * self._mass[codes]
        place = np.minimum(np.searchsorted(self._ends, at), len(self._order) - 1)
        return self._order[place].astype(np.int32)


def _dealt(known: PublicTable, rows: int, rng: np.random.Generator) -> Ints:
    """Assign rows to people, whose numbers of rows are drawn from the released people."""
    if known.people is None:
        return np.arange(rows)
    sizes, dealt = known.sizes(), np.zeros(0, dtype=np.int64)
    while dealt.sum() < rows:
        dealt = np.append(dealt, rng.choice(sizes, size=1 + rows // int(sizes.mean() + 1)))
    return rng.permutation(np.repeat(np.arange(len(dealt)), dealt)[:rows])


def _check_possible(mass: float, wanted: Wanted) -> None:
    if not mass > 0:
        raise UsageError(
            "no synthetic row has these values",
            got=", ".join(wanted),
            hint="name fewer columns, or more values of each",
        )
