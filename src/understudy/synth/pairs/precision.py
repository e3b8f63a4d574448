"""Precision: how a round's is shared among pairs, and what columns have of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Norm
from understudy.synth.measure.noise_levels import MEAN_SIZE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from understudy.door import Candidate, Clique, Door, MergedDoor
    from understudy.schema import Domain
    from understudy.synth.measure.compression import Compressed
    from understudy.synth.measure.rare_codes import RareCodes

    Floats = NDArray[np.float64]

SHARES = tuple(i / 10 for i in range(10))
"""The shares of the remaining budget that are tried for measuring columns again."""


def pair_weight(door: Door | MergedDoor, cells: int, share: float = 1.0) -> float:
    """Return the weight in a round of a marginal with a share of the precision of the largest."""
    if isinstance(door.bounding, Norm):
        # Under `Norm` cells count in any case, and σ scales with the power ⅔ of a weight.
        return math.pow(share, 3 / 4)
    return math.sqrt(share) * math.pow(cells, door.currency.weight_power)


def filled(had: Floats, widths: Floats, left: float) -> Floats:
    """Return how much each needs, so that what is left raises the lowest to one level.

    >>> filled(np.array([0.0, 1.0, 5.0]), np.array([1.0, 1.0, 1.0]), 3.0).tolist()
    [2.0, 1.0, 0.0]
    """
    order = np.argsort(had)
    levels = (left + np.cumsum((had * widths)[order])) / np.cumsum(widths[order])
    needed: Floats = np.maximum(levels.min() - had, 0.0)
    return needed


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNoise:
    """What the first round's noise makes of one column, in rows of the model."""

    merged: float
    """The L1 error of merged codes."""
    precision: float
    """The precision of a merged code of one code."""
    apart: RareCodes | None
    """What is known of codes that were merged; None where public frequency says it."""
    deviation: float
    """The standard deviation of the noise of ``apart``."""
    counted: float
    """How much of a row ``apart`` counts."""

    def errors(self, again: float, told: float) -> tuple[float, float]:
        """Return the errors of merged codes, and of all codes, with more precision.

        ``again`` is the precision of all rounds of columns, in units of the first; ``told`` is what
        pairs add for merged codes.
        """
        merged = self.merged / math.sqrt(again + told / self.precision)
        if self.apart is None:
            return merged, merged
        apart = self.apart.error(self.deviation / math.sqrt(again)) / self.counted
        return merged, math.hypot(merged, apart)


def columns_noise(
    columns: Compressed, expected: Mapping[str, Floats], rows: float
) -> dict[str, ColumnNoise]:
    """Return what noise makes of each column, in a model of so many rows."""
    total, found = max(1.0, rows), {}
    for support, m in zip(columns.supports, columns.measured, strict=False):
        counted = max(1.0, float(m.values.sum())) / total
        sigmas = m.scale / counted * np.sqrt(np.bincount(support.codes))
        found[support.column] = ColumnNoise(
            merged=MEAN_SIZE * float(np.minimum(sigmas, expected[support.column]).sum()),
            precision=float(sigmas.min()) ** -2.0,
            apart=support.rare,
            deviation=columns.door.currency.deviation(m.scale),
            counted=counted,
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsNoise:
    """What noise makes of measured pairs, if all that is left measures pairs."""

    error: float
    """Their L1 error, in rows of the model."""
    told: Mapping[str, float]
    """The precision that they have for each column's merged codes."""
    had: Mapping[str, float]
    """The same of those pairs alone that were measured before."""


def pairs_noise(
    domain: Domain,
    expected: Mapping[Clique, Floats],
    off: Mapping[Clique, float],
    parts: Mapping[Clique, float],
    *,
    before: Collection[Clique],
) -> PairsNoise:
    """Return what noise of ``off`` in each cell makes of pairs, each measured in part."""
    error, told, had = 0.0, dict.fromkeys(domain, 0.0), dict.fromkeys(domain, 0.0)
    for pair, part in parts.items():
        error += part * float(np.minimum(off[pair], expected[pair]).sum())
        for name, other in (pair, pair[::-1]):
            precision = (MEAN_SIZE / off[pair]) ** 2 / domain[other]
            told[name] += part * precision
            had[name] += precision if pair in before else 0.0
    return PairsNoise(error=error, told=told, had=had)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """How what is left is best shared between columns and pairs, and what comes of it."""

    share: float
    """The share of what is left that measures columns again."""
    pairs: float
    """The precision of pairs then, in units of what they would have with all that is left."""
    now: Mapping[str, float]
    """The L1 error of each column's merged codes, before."""
    removed: Mapping[str, float]
    """What of the squared L1 error of each column's merged codes is gone by then."""

    def beyond_columns(self, found: Candidate, kept: float) -> tuple[Candidate, float]:
        """Return a pair's candidate for what its columns do not mend; and its score if that is all.

        So much of a row is counted as ``kept``.
        """
        removed = max(0.0, sum(self.removed[name] for name in found.clique))
        penalty = math.hypot(found.penalty, kept * math.sqrt(removed))
        own = kept * math.hypot(*(self.now[name] for name in found.clique))
        return replace(found, penalty=penalty), found.weight * (own - penalty)


def outlook(
    columns: Mapping[str, ColumnNoise],
    pairs: PairsNoise,
    *,
    spent: tuple[float, float, float],
    power: float,
) -> Outlook:
    """Return the best share of what is left for measuring columns again, and what comes of it.

    A column's error is in all of its pairs, a pair's error in itself alone; both fall with the
    square root of precision, and pairs inform their columns too.  ``spent`` are the prices of the
    columns' first round, of pairs so far, and of what is left.
    """
    first, before, left = spent

    def precision(share: float) -> tuple[float, float]:
        of_pairs = (before**2 + (1 - share) ** power * left**2) / (before**2 + left**2)
        return 1 + share**power * (left / first) ** 2, of_pairs

    def errors(share: float) -> dict[str, tuple[float, float]]:
        again, of_pairs = precision(share)
        return {n: noise.errors(again, of_pairs * pairs.told[n]) for n, noise in columns.items()}

    def total(share: float) -> float:
        squares = np.array([each**2 for _, each in errors(share).values()])
        both = np.sqrt(squares + squares[:, None])
        in_columns = float(both.sum() - np.trace(both)) / 2
        return in_columns + pairs.error / math.sqrt(precision(share)[1])

    best = min(SHARES, key=total)
    begun = before**2 / (before**2 + left**2)
    now = {n: noise.errors(1.0, begun * pairs.had[n])[0] for n, noise in columns.items()}
    then = errors(best)
    return Outlook(
        share=best,
        pairs=precision(best)[1],
        now=now,
        removed={n: now[n] ** 2 - then[n][0] ** 2 for n in columns},
    )
