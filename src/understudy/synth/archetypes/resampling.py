"""Resampling: public people chosen to match noisy counts of private ones.

Everything here is public or follows from noisy answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.door import Measurement, Rows
from understudy.synth.generate.rounding import simplex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from understudy.public import PublicTable, Shapes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

TINY = 1e-3
"""The count, in people, of a pair that no public person has."""
SOME = 1e-9
"""Fewer rows than this are none."""
SWEEPS = 20
MOST_WEIGHT = 8.0
"""The maximum weight of a public row."""
FEWER, NOISES = 0.15, 3.0
"""As many people as were counted come out, but for this share and so many deviations of noise."""
FROM_PUBLIC = (
    "Kinds of people, and the columns of their rows that were not measured, come from a public "
    "table; the number of people of each kind follows the private table."
)
DRIFT = 0.5
"""The expected relative difference of a private count from the public one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArchetypeCounts:
    """The noisy answers: people by archetype and by the attribute, and marginals of rows."""

    kinds: Floats
    """The number of people of each archetype."""
    values: Floats | None
    """The number of people with each value of the attribute."""
    scales: tuple[float, ...]
    measurements: tuple[Measurement, ...] = ()
    """Noisy marginals of rows."""
    rows: float | None = None
    """The number of rows, if marginals were measured."""

    def notes(self, made: int) -> tuple[str, ...]:
        """Say what comes from where, and if not as many people were made as were counted."""
        count = max(0.0, float(self.kinds.sum()))
        noise = NOISES * self.scales[0] * len(self.kinds) ** 0.5
        if abs(made - count) <= FEWER * count + noise:
            return (FROM_PUBLIC,)
        return (
            f"Rows of public people are unlike what was measured of private ones: {made:,} people "
            f"came out where about {count:,.0f} were counted. Choose another public table, or a "
            "mechanism that needs none.",
        )

    def people(self, shapes: Shapes, attribute: str | None) -> Iterator[Measurement]:
        """Yield the counts of people as measurements, by archetype and by the attribute."""
        order = np.argsort(shapes.labels, kind="stable")
        sizes = np.bincount(shapes.labels, minlength=shapes.count)
        starts = np.concatenate(([0], np.cumsum(sizes[sizes > 0])))
        yield Measurement(
            clique=shapes.features,
            values=self.kinds[sizes > 0],
            scale=self.scales[0],
            rows=Rows(starts, order),
            counted="people whose rows are most often in these cells",
        )
        if self.values is not None and attribute is not None:
            yield Measurement(
                clique=(attribute,),
                values=self.values,
                scale=self.scales[1],
                counted="people who have it most often",
            )


def consistent(counts: Sequence[Floats], scales: Sequence[float]) -> list[Floats]:
    """Return the nearest non-negative counts with one total, estimated from all of them.

    >>> [c.tolist() for c in consistent([np.array([4.0, -1.0]), np.array([3.0])], [1.0, 1.0])]
    [[3.0, 0.0], [3.0]]
    """
    sums = np.array([c.sum() for c in counts])
    trust = np.array([1 / (len(c) * s**2) for c, s in zip(counts, scales, strict=True)])
    total = max(float((sums * trust).sum() / trust.sum()), 1.0)
    return [simplex(c, total=total) for c in counts]


def raked(table: Floats, down: Floats, across: Floats) -> Floats:
    """Scale rows and columns of a table until their sums nearly match the targets (raking)."""
    table = table + TINY * np.outer(down, across) / max(float(down.sum()), 1.0)
    for _ in range(SWEEPS):
        table = table * (down / np.maximum(table.sum(axis=1), 1e-300))[:, None]
        table = table * (across / np.maximum(table.sum(axis=0), 1e-300))
    return table


def cast(sorts: Ints, values: Ints, wanted: Floats, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Choose public people: ``wanted`` of each kind and value.

    Where nobody has both, someone of the kind stands in, or anyone.  Returns the people chosen,
    and the value that each is to have.
    """
    whole = np.floor(wanted)
    counts = (whole + (rng.random(wanted.shape) < wanted - whole)).astype(np.int64)
    people, given = [], []
    for kind, value in np.argwhere(counts):
        those = np.flatnonzero((sorts == kind) & (values == value))
        if not len(those):
            those = np.flatnonzero(sorts == kind)
        if not len(those):
            those = np.arange(len(sorts))
        many = counts[kind, value]
        people.append(those[rng.integers(0, len(those), many)])
        given.append(np.full(many, value))
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *people]), np.concatenate([none, *given])


def drawn_by_kind(
    shapes: Shapes, counts: Floats, *, most: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Draw the cells of independent rows, as the document does, and whose they are.

    An archetype has max(0, noisy count) people, fewer where there would be more than ``most`` rows,
    each with the mean number of rows of its public people.
    """
    wanted = np.rint(np.maximum(counts, 0))
    each = (shapes.rows / np.maximum(shapes.people, 1)).astype(np.int64)
    fewer = min(1.0, most / max(float(wanted @ each), 1.0))
    cells, who, first = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for kind, (people, rows) in enumerate(zip((fewer * wanted).astype(int), each, strict=True)):
        if rows:
            cells.append(rng.choice(len(shapes.labels), people * rows, p=shapes.joint[kind]))
            who.append(first + np.repeat(np.arange(people), rows))
            first += people
    return np.concatenate(cells), np.concatenate(who)


def weights(
    public: PublicTable, times: Floats, measured: Sequence[Measurement], rows: float
) -> Floats:
    """Weight public rows, each chosen ``times`` times, to match noisy marginals.

    A marginal counts by its signal relative to noise; its total is scaled to ``rows``.
    """
    each = np.full(len(public), rows / max(float(times.sum()), 1e-9))
    found = []
    for m in measured:
        cells = public.cells(m.clique)
        scale = rows / max(float(m.values.sum()), 1e-9)
        expected = np.bincount(cells, times * each, minlength=len(m.values))
        differ = (DRIFT * expected) ** 2
        gain = differ / (differ + (scale * m.scale) ** 2)
        told = np.maximum(expected + gain * (scale * m.values - expected), 0.0)
        found.append((cells, told))
    for _ in range(SWEEPS if found else 0):
        for cells, told in found:
            now = np.bincount(cells, times * each, minlength=len(told))
            # Where nobody who was chosen has a row, no weight helps.
            each *= np.divide(told, now, out=np.ones_like(told), where=now > SOME)[cells]
    return np.asarray(np.minimum(each, MOST_WEIGHT))


def rows_of(
    public: PublicTable, people: Ints, each: Floats, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return the chosen people's rows, each as often as its weight: positions and people."""
    owner = public.known_people("which rows belong to one person")
    starts = np.searchsorted(owner, np.arange(int(owner[-1]) + 2))
    sizes = np.diff(starts)[people]
    who = np.repeat(np.arange(len(people)), sizes)
    before = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    place = np.arange(int(sizes.sum())) - np.repeat(before - starts[people], sizes)
    often = np.floor(each[place] + rng.random(len(place))).astype(np.int64)
    return np.repeat(place, often), np.repeat(who, often)


def within(who: Ints, most: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose at most ``most`` rows to keep, leaving out whole people.

    >>> int(within(np.array([0, 0, 0, 1, 1]), 4, np.random.default_rng(0)).sum()) in (2, 3)
    True
    """
    if len(who) <= most:
        return np.ones(len(who), dtype=bool)
    sizes = np.bincount(who)
    order = rng.permutation(len(sizes))
    stays = np.zeros(len(sizes), dtype=bool)
    stays[order] = np.cumsum(sizes[order]) <= most
    kept: NDArray[np.bool_] = stays[who]
    return kept
