"""Prior: what public rows say of the private table, to begin from, and how far they are trusted.

**To begin from.**  A model of public rows has those pairs of columns that are most dependent among
them, as far as there is room.  A fit that starts from it changes only what was measured: it is the
distribution closest to the public one, in relative entropy, that has the measured marginals.  So
public pairs are kept, for columns as they are in the private table; and a pair is worth measuring
where it has changed since, rather than where it is dependent.

**Trust.**  What public rows say of a marginal's cell, m rows, is evidence like a noisy count, with
a variance of

    m·(f + f²)·d + (τ·m)²,

where f is the number of private rows for a public one.  The first part is sampling: people are a
sample in both tables, and d is how many rows of a person fall into one cell.  The second is what
has changed: τ, the same for all columns, and another one for the pairs that were measured, is that
under which noisy counts are likeliest.  Before its cells are compared, a pair is adjusted to the
columns.

**Doubt.**  Where columns have changed beyond `MOST_CHANGED`, or measured pairs are further from
what public rows say than from independence, nothing more is made of public rows.

All of this follows from public rows and noisy answers, and costs nothing.  Tied by
``tests/synth/pairs/test_prior.py``.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.door import Measurement, Rows
from understudy.graph import Zeros, estimate, model_bytes, totals
from understudy.synth.measure.noise_levels import MEAN_SIZE
from understudy.synth.pairs.gains import roomiest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique
    from understudy.graph import Model
    from understudy.public import PublicTable
    from understudy.schema import Domain
    from understudy.synth.measure.compression import Compressed

    Floats = NDArray[np.float64]

CHANGES = np.geomspace(0.005, 3, 40)
"""The relative changes that are tried."""
MOST_CHANGED = 0.5
"""Where columns have changed by more than this, in proportion, pairs are taken to have too."""
ONLY_COLUMNS = (
    "Noise would exceed the signal in every pair of columns: each column is drawn independently, "
    "and no correlations are kept."
)
AS_PUBLIC = (
    "Noise would exceed the signal in every pair of columns: none was measured, and correlations "
    "are those of the public table."
)
LOOKS, ITERATIONS, STALLED = 6, 100, 0.005
"""How often further pairs of public columns are chosen, and how long each model is fitted."""
LEAST_GAIN = 0.01
"""The least share of rows by which a pair has to be dependent."""
SAMPLED, WORK = 20_000, 200_000_000
"""About how many rows tell how rows of a person lie together; how many cells of rows are counted
in all."""
MOST_CELLS = 30_000_000
"""The most cells of all pairs; the largest pairs are left out."""
FITTED = 20
"""How often a table is adjusted to its lines and columns."""
FAINT = 1e-6


class Prior:
    """Public marginals over a private table's merged codes, and a model of them."""

    def __init__(self, domain: Domain, rows: int) -> None:
        """Begin with nothing that would be known."""
        self._domain, self._rows = domain, rows
        self._tables: dict[Clique, tuple[Floats, float]] = {}
        self.pairs: list[Clique] = []
        """The pairs that the model has; none once it is doubted."""
        self.doubted = True
        """Whether nothing is made of public rows: there are none, or they are too unlike."""
        self.model: Model | None = None
        """The model of public rows."""

    @classmethod
    def of(cls, public: PublicTable | None, columns: Compressed, *, limit: int) -> Prior:
        """Count the pairs of public merged codes; choose those of a model up to so many bytes."""
        if public is None:
            return cls(columns.domain, 0)
        found = cls(columns.domain, len(public))
        found._count(public)
        found._choose(columns, limit)
        found.doubted = False
        return found

    def _count(self, public: PublicTable) -> None:
        names: list[Clique] = [(name,) for name in self._domain]
        pairs: list[Clique] = sorted(
            itertools.combinations(self._domain, 2), key=self._domain.cells
        )
        cells = np.array([*map(self._domain.cells, pairs)], dtype=np.int64)
        small = (cells <= max(len(public), SAMPLED)) & (np.cumsum(cells) <= MOST_CELLS)
        pairs = pairs[: int(small.sum())]
        some = _every(public, max(1, len(pairs) * len(public) // WORK))
        sample = _every(some, max(1, len(some) // SAMPLED))
        for clique in (*names, *pairs):
            counts = some.marginal(clique).astype(np.float64) * (len(public) / len(some))
            self._tables[clique] = counts, _together(sample, clique)

    def _choose(self, columns: Compressed, limit: int) -> None:
        """Choose pairs, a few at a time, that the model so far gets wrong by more than chance."""
        pairs = [clique for clique in self._tables if len(clique) == 2]
        self.model = model = self._fitted(columns, None)
        for _ in range(LOOKS):
            expected = model.marginals([pair for pair in pairs if pair not in self.pairs])
            gains = {pair: self._gain(pair, table) for pair, table in expected.items()}
            some = {pair: gain for pair, gain in gains.items() if gain > LEAST_GAIN * self._rows}
            new, _ = roomiest(some, self.pairs, self._domain, limits={limit: 0.0}, left=_nothing)
            if not new:
                break
            self.pairs += new[: max(1, len(self._domain) - 1)]
            self.model = model = self._fitted(columns, model)

    def _gain(self, pair: Clique, expected: Floats) -> float:
        """Return how many rows a model gets wrong of a pair, beyond what a sample would."""
        counts, together = self._tables[pair]
        by_chance = MEAN_SIZE * float(np.sqrt(together * counts).sum())
        return float(np.abs(counts - expected.reshape(-1)).sum()) - by_chance

    def _fitted(self, columns: Compressed, start: Model | None) -> Model:
        cliques: list[Clique] = [*((name,) for name in self._domain), *self.pairs]
        said = [
            Measurement(
                clique=clique,
                values=self._tables[clique][0],
                scale=math.sqrt(max(1.0, self._tables[clique][1]) * self._rows)
                / self._domain.cells(clique),
            )
            for clique in cliques
        ]
        return estimate(
            self._domain,
            said,
            total=float(self._rows),
            zeros=columns.zeros(cliques),
            start=start,
            most=ITERATIONS,
            stalled=STALLED,
        ).model

    def beside(self, limits: Mapping[int, float]) -> dict[int, float]:
        """Return the limits of a model that has the prior's pairs too."""
        held = model_bytes(self._domain, self.pairs) if self.pairs else 0
        return {held + limit: share for limit, share in limits.items()}

    def make_room(self, chosen: Sequence[Clique], *, limit: int) -> None:
        """Drop the pairs chosen last, until there is room for those that are to be measured."""
        while self.pairs and model_bytes(self._domain, [*chosen, *self.pairs]) > limit:
            self.pairs.pop()

    def room(self, known: Iterable[Zeros]) -> list[Zeros]:
        """Return nothing that is impossible, of every pair: so a fit has room for it."""
        had = {zeros.clique for zeros in known}
        none = np.zeros(0, dtype=np.int64)
        return [Zeros(clique=pair, cells=none) for pair in self.pairs if pair not in had]

    def says(
        self,
        ones: Sequence[Measurement],
        pairs: Sequence[Measurement],
        model: Model | None,
        total: float,
    ) -> list[Measurement]:
        """Return what public rows say of measured columns and pairs, for columns as in a model.

        Where the answers are too unlike that, it is nothing, and the prior is doubted.
        """
        of_columns = self._of_columns(averaged(self._domain, ones, total), total)
        of_pairs: list[Measurement] | None = []
        if model is not None and pairs:
            of_pairs = self._of_pairs(averaged(self._domain, pairs, model.total), model)
        if of_columns is None or of_pairs is None:
            self.doubted, self.pairs = True, []
            return []
        return [*of_columns, *of_pairs]

    def _of_columns(
        self, answers: Mapping[Clique, tuple[Floats, Floats]], total: float
    ) -> list[Measurement] | None:
        said = [(clique, *self._expected(clique, total)) for clique in answers]
        change = _change([(m, v, *answers[clique]) for clique, m, v in said])
        if change > MOST_CHANGED:
            return None
        return [_said(clique, m, v + (change * m) ** 2) for clique, m, v in said]

    def _of_pairs(
        self, answers: Mapping[Clique, tuple[Floats, Floats]], model: Model
    ) -> list[Measurement] | None:
        """Return what public rows say of pairs; None if they are closer to independent columns."""
        said: list[tuple[Clique, Floats, Floats, Floats, Floats]] = []
        public, independent = 0.0, 0.0
        for pair in (pair for pair in answers if len(pair) == 2 and pair in self._tables):
            plain, sampled = self._expected(pair, model.total)
            first, second = (np.maximum(model.marginal((name,)), 0.0) for name in pair)
            fitted = adjusted(plain.reshape(len(first), len(second)), first, second).reshape(-1)
            values, variance = answers[pair]
            public += float(((values - fitted) ** 2).sum())
            alone = np.outer(first, second).reshape(-1) / max(model.total, FAINT)
            independent += float(((values - alone) ** 2).sum())
            said.append((pair, fitted, sampled, values, variance))
        if not said or public > independent:
            return None if said else []
        change = _change([each[1:] for each in said])
        return [_said(pair, m, v + (change * m) ** 2) for pair, m, v, _, _ in said]

    def _expected(self, clique: Clique, total: float) -> tuple[Floats, Floats]:
        """Return how many of so many rows public ones let expect in cells; the variance of that."""
        counts, together = self._tables[clique]
        factor = total / self._rows
        # A cell without public rows may have some.
        return counts * factor, together * (factor + factor**2) * np.maximum(counts, 1.0)


def averaged(
    domain: Domain, measured: Sequence[Measurement], total: float
) -> dict[Clique, tuple[Floats, Floats]]:
    """Return each marginal's cells for so many rows, and their variance, over all measurements."""
    read = totals(domain, measured)
    found: dict[Clique, tuple[Floats, Floats]] = {}
    for m in measured:
        cells, factor = domain.cells(m.clique), read[m.group] / max(total, FAINT)
        weights = np.ones(cells)
        if m.rows is not None:
            # What is restated or corrected has a row for each cell.
            weights[m.rows.cells] = 1.0 if m.weights is None else m.weights
        precision = (weights * factor / m.scale) ** 2
        sums, precisions = found.get(m.clique, (np.zeros(cells), np.zeros(cells)))
        sums = sums + m.values / (weights * factor) * precision
        found[m.clique] = sums, precisions + precision
    return {c: (sums / precisions, 1 / precisions) for c, (sums, precisions) in found.items()}


def _every(public: PublicTable, step: int) -> PublicTable:
    """Return every so many people, with all of their rows; or rows, where people are unknown."""
    who = np.arange(len(public)) if public.people is None else public.people
    return public if step == 1 else public.take(who % step == 0)


def _together(public: PublicTable, clique: Clique) -> float:
    """Return how many rows of a row's person are in its cell, on average."""
    if public.people is None:
        return 1.0
    cells = public.people * public.schema.domain.cells(clique) + public.cells(clique)
    _, counts = np.unique(cells, return_counts=True)
    return float((counts.astype(np.float64) ** 2).sum() / counts.sum())


def _nothing(new: Sequence[Clique]) -> float:
    del new
    return 0.0


def adjusted(table: Floats, lines: Floats, columns: Floats) -> Floats:
    """Return a table with these sums of its lines and columns, by proportional fitting."""
    found: Floats = table + FAINT
    for _ in range(FITTED):
        found *= (lines / np.maximum(found.sum(axis=1), FAINT))[:, None]
        found *= columns / np.maximum(found.sum(axis=0), FAINT)
    return found


def _change(seen: Sequence[tuple[Floats, Floats, Floats, Floats]]) -> float:
    """Return the relative change under which noisy counts are likeliest.

    Each is what is expected and its variance, and a noisy count and its variance.
    """
    expected, sampled, values, noise = (np.concatenate(each) for each in zip(*seen, strict=True))

    def unlikely(change: float) -> float:
        variance = sampled + noise + (change * expected) ** 2
        return float(((values - expected) ** 2 / variance + np.log(variance)).sum())

    return float(min(CHANGES.tolist(), key=unlikely))


def _said(clique: Clique, values: Floats, variance: Floats) -> Measurement:
    """Return a measurement of cells, each with its variance."""
    weights = 1 / np.sqrt(variance)
    each = np.arange(len(values))
    return Measurement(
        clique=clique,
        values=values * weights,
        scale=1.0,
        rows=Rows(np.append(each, len(each)), each),
        weights=weights,
        counted="public rows",
    )
