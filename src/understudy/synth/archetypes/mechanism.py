"""Archetypes: how many people are of each public kind, and the rest from public data.

After the NIST contest's "TaxiTrip-Synthesizer" (sprint 3; `docs/archetypes.md`, and
`docs/corrections.md` for what is put right).  Public rows are clustered; a person's archetype is
the most common one of their rows.  How many private people are of each archetype, and how many
have which value of an attribute, are noisy counts of people.  Synthetic people are public ones,
chosen to follow these counts, with their rows; where the budget allows, rows are weighted to
follow a few noisy marginals of private rows too.  The other columns of a row are copied from
public rows like it.

Privacy: two door calls that count people, each in one cell, and perhaps the number of rows and
one question of marginals; their prices add up to the run's budget.  Everything else is public
or post-processing.

The config, the plan, the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from understudy.budget import Budget, Currency, Norm, price_grains, scale_upper, split
from understudy.errors import QuestionError, UsageError
from understudy.graph import check_clique, totals
from understudy.public import Batches, Shapes, Synthesis, Within
from understudy.synth.archetypes.description import described
from understudy.synth.archetypes.filling import CopiedRows
from understudy.synth.archetypes.resampling import (
    ArchetypeCounts,
    cast,
    consistent,
    drawn_by_kind,
    raked,
    rows_of,
    weights,
    within,
)
from understudy.synth.generate.assignment import Caps
from understudy.synth.generate.numbering import numbered
from understudy.synth.measure.noise_levels import MEAN_SIZE
from understudy.synth.measure.population import best_cap, meet
from understudy.synth.measure.rounds import Rounds
from understudy.synth.measure.rules import RULES
from understudy.synth.settings import check_at_least, check_columns, check_shares, set_tuples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique, Door
    from understudy.public import Progress, PublicTable

    Ints = NDArray[np.int64]

FEATURE_CELLS = 200_000
"""If no features are named, they are the first columns with at most this many cells."""
FEATURES = 3
MOST_CELLS = 2_000_000
"""The maximum number of cells of the features, or of a marginal."""
PUBLISHED_SHARES = (0.1, 0.9)
PUBLISHED_KINDS = 10
NOISY = 0.3
"""Marginals are not measured where noise alone would make this total variation error."""
LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is measured, decided before anything is asked."""

    scales: Sequence[float]
    """The noise of the histograms of people."""
    prices: Mapping[str, float]
    pairs: list[Clique]
    """The marginals of rows, measured if they have a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archetypes:
    """People of public kinds, as many of each kind as the private table has.

    Needs a public table, the source of everything but those counts; best where public people are
    like private ones and the budget is small (`docs/archetypes.md`).

    >>> Archetypes(kinds=5, attribute="company").features
    ()
    """

    name: ClassVar[str] = "archetypes"

    features: Clique = ()
    """The columns that define an archetype; the first few if empty."""
    kinds: int | None = None
    """The number of archetypes; if None, chosen on held-out public people, by the budget too."""
    shapes: str | None = None
    """A folder of saved archetypes, to use in place of finding them."""
    attribute: str | None = None
    """A column with one value per person: counted by people, the same in all rows of one."""
    conditionals: tuple[tuple[str, Clique], ...] = ()
    """For other columns, in order, the columns they are drawn given; the features by default."""
    marginals: tuple[Clique, ...] | None = None
    """Marginals of rows that rows are weighted to match; if None, pairs of features."""
    marginals_share: float = 0.8
    """The share of the budget for these marginals."""
    rows_share: float = 0.02
    """The share of the budget for the number of rows, under `Norm`."""
    kinds_share: float = 0.5
    """The share of the remaining budget for counting archetypes rather than the attribute."""
    most_rows: int = 20_000_000
    """The maximum number of rows; people are left out beyond it."""
    most_each: int | None = None
    """The maximum number of rows of a synthetic person."""
    published: bool = False
    """Do what the document's text says: its calibration, independent rows of each archetype, as
    many people as the noisy count, and an attribute for every row."""

    def __post_init__(self) -> None:
        """Raise on settings out of bounds, and turn lists into tuples."""
        set_tuples(self, "features", "conditionals", "marginals")
        check_shares(self, "marginals_share", "rows_share")
        check_shares(self, "kinds_share")
        check_at_least(self, 1, "kinds", "most_rows", "most_each")

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Count people by archetype, choose public people to match, and fill in their rows."""
        known = self._check(door, public)
        progress("finding archetypes", 0)
        features = self.features_of(door.schema.domain)
        own = () if self.attribute is None else (self.attribute,)
        self._telling(door.schema.domain, (*features, *own), features)
        plan = self._plan(door, known, features)
        shapes = self._shapes(known, features, door.currency.deviation(plan.scales[0]))
        progress("counting people", 0)
        asked = self._ask(door, known, shapes, plan, progress)
        door.close()
        progress("choosing people", 0)
        rows, people = self._cast(known, shapes, asked, rng)
        progress("drawing rows", 0)
        self.fill(rows, known, features, rng)
        codes = {name: rows.codes[name] for name in door.schema.domain}
        given = None if door.unit.is_row else people
        if given is not None and self.most_each is not None:
            given = Caps(self.most_each).of(given)
        return Synthesis(
            batches=Batches.held(codes, given, values=rows.numbers()),
            measurements=(*asked.people(shapes, self.attribute), *asked.measurements),
            notes=asked.notes(len(np.unique(people))),
            within=Within(known),
            details={
                "archetypes": shapes.count,
                "features": list(features),
                "weighed": asked.rows is not None,
            },
            documents={"archetypes": self._described(known, shapes, asked, door)},
        )

    def _described(
        self, public: PublicTable, shapes: Shapes, asked: ArchetypeCounts, door: Door
    ) -> dict[str, Any]:
        """Describe the archetypes, and the noisy counts of people beside the public ones."""
        own = None
        if self.attribute is not None:
            values, size = public.most_common(self.attribute), door.schema.domain[self.attribute]
            own = self.attribute, np.bincount(values, minlength=size).astype(np.int64)
        deviations = [door.currency.deviation(scale) for scale in asked.scales]
        return described(shapes, door.schema, asked, deviations=deviations, attribute=own)

    def _shapes(self, public: PublicTable, features: Clique, deviation: float) -> Shapes:
        if self.shapes is None:
            kinds = self.kinds or (PUBLISHED_KINDS if self.published else None)
            return Shapes.of(
                public, features, kinds, deviation=deviation, by_position=self.published
            )
        held = Shapes.load(self.shapes)
        sizes = public.schema.domain.shape(features)
        if (held.features, held.sizes) != (features, sizes):
            raise UsageError(
                "the saved archetypes have other features than the run",
                got=" × ".join(held.features),
                allowed=" × ".join(features),
            )
        return held

    def features_of(self, domain: Mapping[str, int]) -> Clique:
        """Return the columns that define an archetype, the first small ones if none are named."""
        if self.features:
            return self.features
        names, size = [], 1
        for name, values in domain.items():
            if name != self.attribute and size * values <= FEATURE_CELLS:
                names.append(name)
                size *= values
        if not names:
            raise UsageError("no column is small enough to be a feature", hint="name the features")
        return tuple(names[:FEATURES])

    def _check(self, door: Door, public: PublicTable | None) -> PublicTable:
        """Raise on settings that do not fit, before anything is spent."""
        if public is None:
            raise UsageError(
                "archetypes needs a public table", got="none", hint="use --public FILE"
            )
        public.known_people("what kinds of people there are")
        named = {*self.features, *([self.attribute] if self.attribute else [])}
        named |= {n for target, keys in self.conditionals for n in (target, *keys)}
        named |= {n for clique in self.marginals or () for n in clique}
        check_columns(named, door.schema.domain)
        for clique in (self.features, *(self.marginals or ())):
            check_clique(clique)
            cells = door.schema.domain.cells(clique)
            if cells > MOST_CELLS:
                raise QuestionError(
                    f"{' × '.join(clique)} has too many cells",
                    got=f"{cells:,}",
                    allowed=f"at most {MOST_CELLS:,}",
                )
        if self.attribute in self.features:
            raise UsageError("the attribute cannot be a feature", got=self.attribute)
        if self.published and (door.currency != Currency.GDP or self.attribute is None):
            raise UsageError(
                "published = True needs an attribute and Gaussian noise, as in the document",
                hint="name the attribute, and use a delta above 0",
            )
        return public

    def _plan(self, door: Door, public: PublicTable, features: Clique) -> _Plan:
        """Split the budget among people and marginals, if these are worth measuring."""
        if self.published:
            return _Plan(_published_scales(door.budget), {}, [])
        shares = {"people": 1.0}
        pairs = list(combinations(features, 2) if self.marginals is None else self.marginals)
        if pairs and self.noise(door, public, pairs) < NOISY:
            shares = {"people": 1 - self.marginals_share, "marginals": self.marginals_share}
            if isinstance(door.bounding, Norm):
                shares |= {"people": shares["people"] - self.rows_share, "rows": self.rows_share}
        found = split(door.grains, door.currency, list(shares.values()))
        prices = dict(zip(shares, found, strict=True))
        parts = [1.0] if self.attribute is None else [self.kinds_share, 1 - self.kinds_share]
        each = split(price_grains(prices["people"], door.currency), door.currency, parts)
        scales = [scale_upper(price, door.currency, bound=Fraction(1)) for price in each]
        return _Plan(scales, prices, pairs)

    def _ask(
        self, door: Door, public: PublicTable, shapes: Shapes, plan: _Plan, progress: Progress
    ) -> ArchetypeCounts:
        """Make all measurements, for no more than the budget."""
        prices = plan.prices
        asked = self._counted(door, shapes, plan.scales)
        if "marginals" not in prices:
            return asked
        crowd = meet(door, public, rows_price=prices.get("rows"), people_price=None)
        rounds = Rounds(
            door,
            crowd=crowd,
            public=public,
            price=prices["marginals"],
            rule="gdp",
            share=self.marginals_share,
            copies={},
            # Every cell is measured by itself, whatever a smaller marginal found.
            threshold=-math.inf,
            most_cells=MOST_CELLS,
        )
        rounds.ask(plan.pairs, progress)
        rows = crowd.rows or totals(door.schema.domain, rounds.measurements)[None]
        return replace(asked, measurements=tuple(rounds.measurements), rows=rows)

    def _counted(self, door: Door, shapes: Shapes, scales: Sequence[float]) -> ArchetypeCounts:
        """Count people by archetype, and by the attribute."""
        kinds = door.unit_mode(shapes.features, scale=scales[0], labels=shapes.labels)
        kinds = np.append(kinds, np.zeros(shapes.count - len(kinds)))
        if self.attribute is None:
            return ArchetypeCounts(kinds=kinds, values=None, scales=tuple(scales))
        values = door.unit_mode((self.attribute,), scale=scales[1])
        return ArchetypeCounts(kinds=kinds, values=values, scales=tuple(scales))

    def noise(
        self, door: Door, public: PublicTable, pairs: Sequence[Clique], *, larger: float = 1.0
    ) -> float:
        """Estimate the noise of marginals, as a total variation, of a table like the public one.

        It may be ``larger`` than that by a factor.
        """
        price = door.budget.price * math.sqrt(self.marginals_share)
        cap = best_cap(public, price)
        if not isinstance(door.bounding, Norm):
            cap = door.bounding.cap
        scale, rows = cap * math.sqrt(len(pairs)) / price, larger * len(public)
        found = []
        for pair in pairs:
            shares = public.marginal(pair) / len(public)
            found.append(0.5 * np.minimum(shares, MEAN_SIZE * scale / rows).sum())
        return float(np.mean(found))

    def _cast(
        self, public: PublicTable, shapes: Shapes, asked: ArchetypeCounts, rng: np.random.Generator
    ) -> tuple[CopiedRows, Ints]:
        """Choose public people; return their rows' features and attribute, and the people."""
        if self.published:
            return self._as_published(public, shapes, asked, rng)
        kinds = shapes.kinds(public)
        if asked.values is None or self.attribute is None:
            (wanted,) = consistent([asked.kinds], asked.scales)
            values, table = np.zeros(len(kinds), dtype=np.int64), wanted[:, None]
        else:
            down, across = consistent([asked.kinds, asked.values], asked.scales)
            values = public.most_common(self.attribute)
            table = np.zeros((len(down), len(across)))
            np.add.at(table, (kinds, values), 1.0)
            table = raked(table, down, across)
        sizes = np.maximum(shapes.rows, 1) / np.maximum(shapes.people, 1)
        fewer = min(1.0, self.most_rows / max(float(table.sum(axis=1) @ sizes), 1.0))
        people, own = cast(kinds, values, fewer * table, rng)
        each = np.ones(len(public))
        if asked.rows is not None:
            times = np.bincount(people, minlength=len(kinds))[public.known_people("whose rows")]
            rows = min(fewer * asked.rows, float(self.most_rows))
            each = weights(public, times.astype(np.float64), asked.measurements, rows)
        place, who = rows_of(public, people, each, rng)
        few = within(who, self.most_rows, rng)
        place, who = place[few], who[few]
        weighed = [n for m in asked.measurements for n in m.clique]
        made = CopiedRows.copied(public, list(dict.fromkeys((*shapes.features, *weighed))), place)
        if self.attribute is not None:
            made.codes[self.attribute] = own[who].astype(np.int32)
            made.values.pop(self.attribute, None)
        return made, numbered(who, len(people) + 1)[1].astype(np.int64)

    def _as_published(
        self, public: PublicTable, shapes: Shapes, asked: ArchetypeCounts, rng: np.random.Generator
    ) -> tuple[CopiedRows, Ints]:
        """Draw independent rows of each archetype, and an attribute for every row."""
        assert asked.values is not None  # noqa: S101  the settings were checked
        assert self.attribute is not None  # noqa: S101
        cells, who = drawn_by_kind(shapes, asked.kinds, most=self.most_rows, rng=rng)
        found = np.unravel_index(cells, shapes.sizes)
        codes = {n: c.astype(np.int32) for n, c in zip(shapes.features, found, strict=True)}
        chances = np.maximum(asked.values, 0) + LEAST
        own = rng.choice(len(chances), size=len(cells), p=chances / chances.sum())
        codes[self.attribute] = own.astype(np.int32)
        return CopiedRows(public, codes), who

    def fill(
        self, rows: CopiedRows, public: PublicTable, features: Clique, rng: np.random.Generator
    ) -> None:
        """Fill in the other columns, each from public rows with equal values of its conditional."""
        conditionals = self._telling(public.schema.domain, rows.codes, features)
        rows.fill(conditionals, features, rng, by_bins=not self.published)

    def _telling(
        self, domain: Mapping[str, int], made: Iterable[str], features: Clique
    ) -> dict[str, Clique]:
        """Return the other columns in order, with the columns that each is drawn given."""
        told, there = dict(self.conditionals), set(made)
        rest = [n for n in domain if n not in there]
        order = [*(n for n in told if n in rest), *(n for n in rest if n not in told)]
        found = {}
        for name in order:
            found[name] = told.get(name, features)
            later = sorted(set(found[name]) - there)
            if later:
                raise UsageError(
                    f"the conditional of {name} names columns that are made after it",
                    got=", ".join(later),
                    hint="list conditionals in the order in which columns are made",
                )
            there.add(name)
        return found


def _published_scales(budget: Budget) -> list[float]:
    """Calibrate as the document's code does: each share by the classical formula."""
    parts = [
        Budget(epsilon=share * budget.epsilon, delta=share * budget.gaussian_delta)
        for share in PUBLISHED_SHARES
    ]
    return [RULES["classical"](part, 1) for part in parts]
