"""Domain compression: one round finds each column's support, and rows are spread back in the end.

The beginning and the end that `TwoRound`, `MST`, `AIM` and `Pairs` have in common.  Every column's
marginal is measured; codes that do not stand out of the noise are merged (`measure.support`).
Later marginals are over the compressed domain.  In the end rows are drawn from a model of it,
merged codes are spread again, and rows are assigned to people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.door import Measurement, MergedDoor, View, ViewDoor
from understudy.graph import Domain, totals
from understudy.public import Synthesis, Within
from understudy.synth.generate.assignment import drawn
from understudy.synth.generate.rounding import check_rows, rescaled
from understudy.synth.measure.impossible import zeros_of
from understudy.synth.measure.missing import missing_dates
from understudy.synth.measure.noise_levels import BIASED, UNLIKE_CORRECTED, UNLIKE_LEAST
from understudy.synth.measure.population import PopulationSettings, bound_notes, clipping_norm, meet
from understudy.synth.measure.public_bias import PublicBias
from understudy.synth.measure.size_bias import (
    SizeBias,
    by_size_class,
    corrected,
    is_precise,
    size_classes,
    summed,
    with_left,
    with_unknown_bias,
)
from understudy.synth.measure.support import (
    MOST_VALUES,
    Rare,
    Rule,
    find_support,
    merged_public,
    reconsidered,
)
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round
from understudy.synth.settings import check_at_least, check_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique, Derived, Door
    from understudy.graph import Model, Zeros
    from understudy.public import Progress, PublicTable
    from understudy.schema import Codes
    from understudy.synth.measure.population import Crowd
    from understudy.synth.measure.support import Support

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionSettings(PopulationSettings):
    """The settings of a mechanism that compresses the domains of its columns."""

    threshold: float = 3.0
    """A code is kept if its noisy count is at least this many times its noise."""
    rare: Rare = "neighbours"
    """Whether rare codes of an ordered column are merged with their neighbours or into *other*."""
    bins: int = 32
    """The maximum number of groups of an ordered column; codes of much mass are by themselves."""

    def rule(self, name: str) -> Rule:
        """Return the rule by which the support of a column is found."""
        del name
        return Rule(threshold=self.threshold, rare=self.rare, most=MOST_VALUES, bins=self.bins)

    def check_compression(self) -> None:
        """Raise on settings out of bounds, by name."""
        check_at_least(self, 0, "threshold")
        check_at_least(self, 1, "bins")
        check_word(self, "rare", "neighbours", "other")
        self.check_population()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compressed:
    """A door's columns with rare codes merged, and their measurements."""

    door: Door
    public: PublicTable | None
    crowd: Crowd
    measured: tuple[Measurement, ...]
    """Every column's marginal as measured; once more for each time they were measured again."""
    supports: tuple[Support, ...]
    bias: SizeBias | PublicBias | None = None
    """What bounding leaves of people, by their size or as of public ones, if that is corrected."""
    left: tuple[Floats, ...] = ()
    """What is left of each size class or public person, for every measurement."""

    @classmethod
    def ask(
        cls,
        door: Door,
        public: PublicTable | None,
        asked: Sequence[WeightedMarginal],
        *,
        prices: Mapping[str, float],
        rule: Callable[[str], Rule],
        progress: Progress,
        sigma: float | None = None,
        unbiased: bool = False,
    ) -> Compressed:
        """Measure people and columns, at the prices of ``rows``, ``people`` and ``first``.

        With ``unbiased`` the bias of contribution bounding is corrected, as public people show it;
        or, where these are too few or unlike, or noise is small, columns measured by people's size
        class.
        """
        progress("counting rows", 0)
        crowd = meet(door, public, rows_price=prices.get("rows"), people_price=prices.get("people"))
        progress("round 1, columns", 0)
        price, behind, size, shown = prices["first"], door, None, False
        if unbiased:
            size, shown = _corrected_by(door, public, crowd, price=price)
        if shown:
            crowd = replace(crowd, unlike=UNLIKE_CORRECTED[0], biased=BIASED)
        if size is not None:
            crowd = replace(crowd, unlike=UNLIKE_CORRECTED[0])
            behind = ViewDoor(door, View(derived=(size,)))
            asked = [*asked, *by_size_class(asked, size)]
        answers = weighted_round(
            behind,
            asked,
            price=price,
            crowd=crowd,
            public=public if size is None else None,
            sigma=sigma,
        )
        measured = answers[: len(door.schema.modelled)]
        supports = _supports(door, measured, rule, public)
        found = cls(
            door=door,
            public=public,
            crowd=crowd.told(answers, price=price),
            measured=tuple(measured),
            supports=supports,
        )
        if shown and public is not None:
            return found._shown_by(public, price=price)
        return found if size is None else found._told_by(size.starts, answers, price=price)

    def _shown_by(self, public: PublicTable, *, price: float) -> Compressed:
        """Take public people to show what bounding leaves of private ones."""
        bias = PublicBias.of(public, merged_public(public, self.supports), self.crowd)
        left = bias.clipped(self.measured, price=price, repeats=self.crowd.repeats)
        return replace(
            self,
            bias=bias,
            crowd=replace(self.crowd, unlike=UNLIKE_CORRECTED[1]),
            left=(left,) * len(self.measured),
        )

    def _told_by(
        self, starts: tuple[int, ...], answers: Sequence[Measurement], *, price: float
    ) -> Compressed:
        """Learn the bias by size from a round whose later answers are by size class."""
        crowd, by_class = self.crowd, answers[len(self.measured) :]
        assert crowd.sizes is not None  # noqa: S101  the classes were made from it
        length = clipping_norm(answers, price=price)
        bias = SizeBias.of(
            by_class,
            self.supports,
            sizes=crowd.sizes,
            starts=starts,
            length=length,
            repeats=crowd.repeats,
            error=0.0 if crowd.classes is None else crowd.classes.error,
        )
        unlike = float(np.mean(np.square([*bias.unlike.values()]))) ** 0.5
        return replace(
            self,
            bias=bias,
            crowd=replace(crowd, unlike=min(max(unlike, UNLIKE_LEAST), UNLIKE_CORRECTED[1])),
            measured=(*self.measured, *(summed(m, len(starts)) for m in by_class)),
            left=(bias.left(length, crowd.repeats),) * len(answers),
        )

    def again(self, *, price: float) -> Compressed:
        """Measure every column again: merged codes stay merged, but are spread more precisely."""
        asked = [WeightedMarginal(clique=(s.column,)) for s in self.supports]
        more = weighted_round(self.door, asked, price=price, crowd=self.crowd, public=self.public)
        measured, left = (*self.measured, *more), self.left
        if self.bias is not None:
            kept = self.bias.clipped(more, price=price, repeats=self.crowd.repeats)
            left += (kept,) * len(more)
        found = replace(self, measured=measured, left=left)
        both = found.joined()
        supports = tuple(
            reconsidered(
                support, column, both[column.name], self.public, currency=self.door.currency
            )
            for support, column in zip(self.supports, self.door.schema.modelled, strict=True)
        )
        return replace(found, supports=supports)

    def small(self) -> MergedDoor:
        """Return the door over the compressed domain."""
        return MergedDoor(self.door, [s.merge for s in self.supports])

    def small_public(self) -> PublicTable | None:
        """Return the public table over the compressed domain."""
        return None if self.public is None else merged_public(self.public, self.supports)

    @property
    def domain(self) -> Domain:
        """The compressed domain."""
        return Domain({s.column: s.size for s in self.supports})

    def evidence(self) -> list[Measurement]:
        """Return the measurements of columns, restated for merged codes."""
        known = {s.column: s for s in self.supports}
        restated = [known[m.clique[0]].restated(m) for m in self.measured]
        if self.bias is None:
            return restated
        left = self.left_of(self.measured, self.left, self._sums(), self.door.schema.domain)
        return [corrected(m, each) for m, each in zip(restated, left, strict=True)]

    def _sums(self) -> dict[Clique, Floats]:
        """Return the first measurement's counts of merged codes, none of them negative."""
        both = zip(self.supports, self.measured, strict=False)
        return {m.clique: np.maximum(s.sums(m.values), 0.0) for s, m in both}

    def joined(self) -> dict[str, Measurement]:
        """Combine all measurements of each column into one, without the bias that is known."""
        if self.bias is None:
            return joined(self.door.schema.domain, self.measured)
        found = []
        for m in self.published():
            assert m.left is not None  # noqa: S101  the bias is known
            scale = m.scale / float(m.left.mean())
            found.append(replace(m, values=m.values / m.left, scale=scale, left=None))
        return joined(self.door.schema.domain, found)

    def left_of(
        self,
        measured: Sequence[Measurement],
        classes: Sequence[Floats],
        expected: Mapping[Any, Floats],
        domain: Domain,
    ) -> list[Floats]:
        """Return the share of each merged cell that measurements count, given that of classes."""
        assert self.bias is not None  # noqa: S101  the caller has looked
        assert self.crowd.rows is not None  # noqa: S101  it is known wherever the bias is
        read = totals(domain, measured)
        return [
            self.bias.over(m.clique, each, expected[m.clique]) * (read[m.group] / self.crowd.rows)
            for m, each in zip(measured, classes, strict=True)
        ]

    def published(self) -> list[Measurement]:
        """Return the measurements of columns, with what bounding left of every code."""
        if self.bias is None:
            return with_unknown_bias(self.measured, self.crowd, self.door.schema.domain)
        codes = {s.column: s.codes for s in self.supports}
        left = self.left_of(self.measured, self.left, self._sums(), self.door.schema.domain)
        return [
            with_left(
                m,
                each[codes[m.clique[0]]],
                self.bias.remains(m.clique, classes),
                self.bias.unsure(m.clique, classes)[codes[m.clique[0]]],
            )
            for m, each, classes in zip(self.measured, left, self.left, strict=True)
        ]

    def zeros(self, cliques: Iterable[Clique]) -> list[Zeros]:
        """Return the cells that constraints forbid, for a model of columns and some cliques."""
        groups = {s.column: s.merge.codes for s in self.supports}
        return zeros_of(self.door.schema, self.domain, cliques, groups)

    def ones(self) -> dict[str, NDArray[np.float64]]:
        """Return every column's counts of merged codes, non-negative and all of one total."""
        read = totals(self.door.schema.domain, self.measured)
        total = max(1.0, self.crowd.rows or read[None])
        return {
            s.column: s.sums(rescaled(m.values, total=total))
            for s, m in zip(self.supports, self.measured, strict=False)
        }

    def noise(self, count: int, *, price: float) -> float:
        """Return about the noise of a cell where ``count`` marginals are measured at a price."""
        return self.crowd.noise(count, price=price, currency=self.door.currency)

    def synthesis(
        self,
        model: Model,
        more: Sequence[Measurement],
        *,
        settings: PopulationSettings,
        rng: np.random.Generator,
        notes: tuple[str, ...] = (),
        details: Mapping[str, Any] | None = None,
    ) -> Synthesis:
        """Draw rows from a model, spread merged codes, and assign rows to people."""
        rows, supports = check_rows(model.total), self.supports
        public = self.public
        given = self.crowd.given(
            rows, self.door, public=public, by=settings.ids_by, most=settings.most_each, rng=rng
        )

        def spread(merged: dict[str, Codes], rng: np.random.Generator) -> dict[str, Codes]:
            return {s.column: s.spread(merged[s.column], rng) for s in supports}

        return Synthesis(
            batches=drawn(model.urn(rows, rng), rows, given, rng=rng, spread=spread),
            measurements=(*self.published(), *with_unknown_bias(more, self.crowd, self.domain)),
            notes=(*notes, *bound_notes(self.door)),
            within=None if public is None or settings.within == "evenly" else Within(public),
            details={**(details or {}), **self.to_dict(more)},
            model=model,
            merged={s.column: s.merge.codes for s in supports},
        )

    def to_dict(self, more: Sequence[Measurement]) -> dict[str, Any]:
        """Describe people, all measurements and merged codes, as plain data."""
        return {
            **self.crowd.to_dict(),
            "cliques": _told((*self.measured, *more)),
            "support": self._told(),
        }

    def _told(self) -> dict[str, dict[str, int]]:
        """Describe the merged codes, as plain data."""
        return {
            s.column: {"codes": len(s.codes), "supported": int(s.supported.sum()), "left": s.size}
            for s in self.supports
        }


def joined(domain: Domain, measured: Sequence[Measurement]) -> dict[str, Measurement]:
    """Combine all measurements of each column into one, weighted by precision.

    Answers under `Norm` count a share of all rows each; they are all scaled to that of the first.
    """
    read = totals(domain, measured)
    first = max(read[measured[0].group], 1.0)
    found: dict[str, Measurement] = {}
    for m in measured:
        factor, (name,) = max(read[m.group], 1.0) / first, m.clique
        values, scale = m.values / factor, m.scale / factor
        if name in found:
            had = found[name]
            part = had.scale**2 / (had.scale**2 + scale**2)
            values = had.values + part * (values - had.values)
            scale = (had.scale**-2.0 + scale**-2.0) ** -0.5
        found[name] = Measurement(clique=m.clique, values=values, scale=scale)
    return found


def _told(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Describe the measurements, as plain data."""
    return [{"clique": list(m.clique), "scale": m.scale, "rows": len(m.values)} for m in measured]


def _corrected_by(
    door: Door, public: PublicTable | None, crowd: Crowd, *, price: float
) -> tuple[Derived | None, bool]:
    """Return the size classes by which the bias is corrected, or that public people show it."""
    if crowd.rows is None or crowd.sizes is None:
        return None, False
    size = size_classes(crowd.sizes)
    if PublicBias.shown(public, crowd) and not is_precise(
        crowd, size, door.schema.domain, price=price
    ):
        return None, True
    return size, False


def _supports(
    door: Door,
    measured: Sequence[Measurement],
    rule: Callable[[str], Rule],
    public: PublicTable | None,
) -> tuple[Support, ...]:
    """Return the support of every column."""
    missing, found = missing_dates(door.schema, measured, rule), []
    for column, m in zip(door.schema.modelled, measured, strict=True):
        none, told = missing.get(column.name), rule(column.name)
        found.append(find_support(column, m, told, public, currency=door.currency, missing=none))
    return tuple(found)
