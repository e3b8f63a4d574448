"""Prior: what public rows say of the private table, to begin from, and how far they are trusted.

**To begin from.**  A model of public rows has those pairs of columns that are most dependent among
them, as far as there is room.  A fit that starts from it changes only what was measured: it is the
distribution closest to the public one, in relative entropy, that has the measured marginals.  So
public pairs are kept, for columns as they are in the private table; and a pair is worth measuring
where it has changed since, rather than where it is dependent.

**Trust.**  What public rows say of a marginal's cell, m rows, is evidence like a noisy count, with
a variance of

    m·(f + f²)·d + (τ·f·m)²,

where f is the number of private rows for a public one.  The first part is sampling: people are a
sample in both tables, and d is how many rows of a person fall into one cell.  The second is what
has changed: τ is that under which a column's noisy counts are likeliest, together with those of an
average column; and likewise for the pairs that were measured.  A cell further away than that
explains is as uncertain as it is away.  Before its cells are compared, a pair is adjusted to the
columns; noisy counts are those without the bias of bounding (`measure.public_bias`).

**Doubt.**  Where columns have changed beyond `MOST_CHANGED`, nothing more is made of public rows.
Nor is it where measured pairs are further from what public rows say than from independence, by a
share `MOST_WRONG` of what those say of all pairs.  It is of all of them, since pairs are chosen
where public rows are wrong: a model has the others, and selections have found these less wrong.

All of this follows from public rows and noisy answers, and costs nothing.  Tied by
``tests/synth/pairs/test_prior.py``.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from understudy.door import Measurement, Rows
from understudy.graph import Zeros, estimate, model_bytes, totals
from understudy.synth.measure.noise_levels import MEAN_SIZE
from understudy.synth.measure.public_bias import SAMPLED, every, together
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
MOST_WRONG = 1 / 3
"""Where measured pairs are wrong by more than this share of what all pairs say, all are taken to be
wrong."""
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
WORK = 200_000_000
"""How many cells of rows are counted in all."""
MOST_CELLS = 30_000_000
"""The most cells of all pairs; the largest pairs are left out."""
UNLIKELY = 3.0
"""By how many standard deviations a cell has to differ to have changed by itself."""
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
        some = every(public, len(pairs) * len(public) // WORK)
        sample = every(some, len(some) // SAMPLED)
        for clique in (*names, *pairs):
            counts = some.marginal(clique).astype(np.float64) * (len(public) / len(some))
            self._tables[clique] = counts, together(sample, clique)

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
        seen = {
            clique: Seen(*self._expected(clique, total), *answers[clique]) for clique in answers
        }
        change, each = _changes([*seen.values()])
        if change > MOST_CHANGED:
            return None
        return [_said(clique, seen[clique], own) for clique, own in zip(seen, each, strict=True)]

    def _of_pairs(
        self, answers: Mapping[Clique, tuple[Floats, Floats]], model: Model
    ) -> list[Measurement] | None:
        """Return what public rows say of pairs; None if too many are closer to independence."""
        seen: dict[Clique, Seen] = {}
        wrong, claimed = 0.0, 0.0
        for pair in dict.fromkeys([*answers, *self.pairs]):
            if len(pair) != 2 or pair not in self._tables:
                continue
            plain, sampled = self._expected(pair, model.total)
            first, second = (np.maximum(model.marginal((name,)), 0.0) for name in pair)
            fitted = adjusted(plain.reshape(len(first), len(second)), first, second).reshape(-1)
            alone = np.outer(first, second).reshape(-1) / max(model.total, FAINT)
            claimed += float(((fitted - alone) ** 2).sum())
            if pair in answers:
                values, variance = answers[pair]
                # Noise has the same part in both.
                wrong += float(((values - fitted) ** 2 - (values - alone) ** 2).sum())
                seen[pair] = Seen(fitted, sampled, values, variance)
        if wrong > MOST_WRONG * claimed:
            return None
        each = _changes([*seen.values()])[1] if seen else []
        return [_said(pair, seen[pair], own) for pair, own in zip(seen, each, strict=True)]

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


class Seen(NamedTuple):
    """What public rows let expect in cells, with its variance as a sample; and what was seen."""

    expected: Floats
    sampled: Floats
    values: Floats
    noise: Floats
    """The variance of the values."""


def _changes(seen: Sequence[Seen]) -> tuple[float, list[float]]:
    """Return the relative change under which noisy counts are likeliest, and that of each marginal.

    One marginal is taken to be as likely to have changed as all of them on average, or differently:
    the year may have changed altogether where nothing else has.
    """
    unlikely = np.zeros((len(seen), len(CHANGES)))
    for i, (expected, sampled, values, noise) in enumerate(seen):
        for j, change in enumerate(CHANGES):
            variance = sampled + noise + (change * expected) ** 2
            unlikely[i, j] = ((values - expected) ** 2 / variance + np.log(variance)).sum()
    mean = unlikely.mean(axis=0)
    each = CHANGES[np.argmin(unlikely + mean, axis=1)]
    return float(CHANGES[np.argmin(mean)]), each.tolist()


def _said(clique: Clique, seen: Seen, change: float) -> Measurement:
    """Return what public rows say of cells as a measurement, each with its variance.

    A cell that noise and a change like that of others do not explain has changed by itself.
    """
    expected, sampled, values, noise = seen
    variance = sampled + (change * expected) ** 2
    away = (values - expected) ** 2
    variance = np.where(away > UNLIKELY**2 * (variance + noise), away, variance)
    weights = 1 / np.sqrt(variance)
    each = np.arange(len(values))
    return Measurement(
        clique=clique,
        values=expected * weights,
        scale=1.0,
        rows=Rows(np.append(each, len(each)), each),
        weights=weights,
        counted="public rows",
    )
