"""The population: synthetic people, from public ones or from a noisy distribution of sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.budget import Norm, Weights, scale_upper
from understudy.errors import UsageError
from understudy.synth.generate.assignment import EACH_ITS_OWN, Donors, Given, dealt
from understudy.synth.measure.likeliest import Noisy
from understudy.synth.measure.noise_levels import MEAN_SIZE, UNLIKE, typical_size
from understudy.synth.measure.size_borders import LARGEST
from understudy.synth.measure.sizes import Classes, Sizes
from understudy.synth.settings import check_at_least, check_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.budget import Capped, Currency
    from understudy.door import Door, Measurement
    from understudy.public import PublicTable


AS_LONG = 1.5
"""Public people show the norms of private ones that have up to so many times as many rows each, or
as few."""
ROWS_OFF = 0.02
"""The assumed relative error of a model's number of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationSettings:
    """The settings of a mechanism for synthetic people, and their share of the budget."""

    ids_by: tuple[str, ...] = ()
    """The columns by which rows are assigned to public people, after what is a person's own."""
    most_each: int | None = None
    """The maximum number of rows of a synthetic person; if None, the bounding's cap."""
    within: Literal["evenly", "public"] = "evenly"
    """How values are drawn within a bin: uniformly, or from public values."""
    rows_share: float = 0.02
    """The share of the budget for the number of rows, under `Norm`."""
    people_share: float = 0.02
    """The share of the budget for the number of people and their numbers of rows."""

    def check_population(self) -> None:
        """Raise on settings out of bounds, by name."""
        check_at_least(self, 1, "most_each")
        check_word(self, "within", "evenly", "public")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crowd:
    """What is known about people before any marginal is measured."""

    rows: float | None
    """The noisy number of rows, under `Norm`: up to a cap each as counted, since classes of sizes
    are too coarse for it, and above it as sizes say; otherwise it follows from the marginals."""
    sizes: Sizes | None
    """The distribution of rows per person; None where it is taken from public people."""
    typical: int
    """The number of rows up to which people are not clipped, without public people."""
    bounding: Capped
    """The bounding for selections."""
    classes: Classes | None = None
    """The noisy counts of people by size class, if measured."""
    error: float = 0.0
    """The standard deviation of the number of rows."""
    beyond: float = 0.0
    """About the standard deviation of rows above the cap that the number of rows was asked with."""
    repeats: float = 0.5
    """The estimated probability that two rows of a person lie in the same cell."""
    unlike: float = UNLIKE
    """How much people of different sizes differ, once what is known of that is corrected."""
    biased: float = 1.0
    """The share of the bias of bounding, as public people show it, that is not corrected."""

    def noise(self, count: int, *, price: float, currency: Currency) -> float:
        """Return about the noise of a cell where ``count`` marginals are measured at a price."""
        return MEAN_SIZE * self.typical * currency.root(count) / price

    def to_dict(self) -> dict[str, Any]:
        """Return the noisy answers about people as plain data, with standard errors."""
        told: dict[str, Any] = {}
        if self.classes is not None:
            told["crowd"] = self.classes.to_dict()
            if self.rows is not None:
                told["crowd"] |= {
                    "rows": self.rows,
                    "rows_standard_error": math.hypot(self.error, self.beyond),
                }
            # Public people show their sizes, and nothing is beyond these.
            if self.beyond and not self.classes.stand_out:
                told["crowd"]["sizes_unseen"] = True
        return told

    def typical_of(
        self, shape: NDArray[np.float64], cells: NDArray[np.float64], *, price: float
    ) -> tuple[float, float]:
        """Return the clipping norm for marginals of ``cells`` cells, with noise of a shape.

        Also return the share of all rows that is counted then.
        """
        if self.rows is None or self.sizes is None:
            return self.typical, 1.0
        length = typical_size(
            self.sizes, shape, cells, price=price, repeats=self.repeats, unlike=self.unlike
        )
        return length, float(self.sizes.kept(length, self.repeats).sum()) / self.sizes.rows

    def told(self, measured: Sequence[Measurement], *, price: float) -> Crowd:
        """Estimate from a round under `Norm` how often rows of a person lie in the same cell.

        A person's weight is at most the price over their whitened L2 norm.  So the number of rows
        counted shows how large these norms are; the more often people repeat a cell, the larger.
        It costs no budget.
        """
        if self.rows is None or self.sizes is None:
            return self
        trust = np.array([1 / (len(m.values) * m.scale**2) for m in measured])
        counted = float(np.dot(trust, [m.values.sum() for m in measured]) / trust.sum())
        off = math.hypot(trust.sum() ** -0.5, self.error)
        length = clipping_norm(measured, price=price)
        return replace(self, repeats=self.sizes.repeats(Noisy(counted, off), length))

    def given(
        self,
        rows: int,
        door: Door,
        *,
        public: PublicTable | None,
        by: Sequence[str],
        most: int | None,
        rng: np.random.Generator,
    ) -> Given:
        """Return how ``rows`` synthetic rows are assigned to people, at most ``most`` each.

        If ``most`` is None, a person has at most as many rows as the bounding's cap.
        """
        if door.unit.is_row:
            return EACH_ITS_OWN
        each = self.each(rows, door, public=public, most=most)
        if public is None or public.people is None:
            return dealt(each, door.schema.own)
        # What is a person's own is the same in all of their rows.
        own = door.schema.own
        return Donors(public, [*own, *(n for n in by if n not in own)], rng).given(each)

    def resembles(self, public: PublicTable) -> bool:
        """Whether public people have about as many rows each, so that they show people's norms."""
        if public.people is None or self.sizes is None:
            return public.people is not None
        mean = self.sizes.rows / max(1.0, float(self.sizes.people.sum()))
        ratio = mean * len(public.sizes()) / len(public)
        return 1 / AS_LONG <= ratio <= AS_LONG

    def each(
        self, rows: int, door: Door, *, public: PublicTable | None, most: int | None
    ) -> NDArray[np.int64]:
        """Return the number of rows of each person, for ``rows`` rows in all."""
        sizes = self.sizes
        if not isinstance(door.bounding, Norm):
            cap = door.bounding.cap
            most = cap if most is None else most
            if self.classes is not None:
                # The rows are those left by contribution bounding.
                total = Noisy(float(rows), max(1.0, ROWS_OFF * rows))
                sizes = _beside(self.classes, public).sizes(total, cap=cap).clipped(cap)
        if sizes is None:
            assert public is not None  # noqa: S101  they are asked where nobody shows them
            sizes = Sizes.public(public, rows)
        return sizes.each(rows, most)


def clipping_norm(measured: Sequence[Measurement], *, price: float) -> float:
    """Return the L2 norm of the people who are just not clipped by a round under `Norm`."""
    return price / math.sqrt(sum(m.scale**-2.0 for m in measured))


def shares_of_people(
    door: Door, public: PublicTable | None, settings: PopulationSettings, *, published: bool = False
) -> dict[str, float]:
    """Return which of the queries of `meet` are needed, with their shares of the budget.

    The documents take people's sizes from public data, and so do ``published`` runs.
    """
    shares = {}
    if isinstance(door.bounding, Norm):
        shares["rows"] = settings.rows_share
    shown = published and public is not None and public.people is not None
    if not door.unit.is_row and not shown:
        shares["people"] = settings.people_share
    return shares


def bound_notes(door: Door) -> tuple[str, ...]:
    """Return a note on what standard errors do not cover."""
    if door.unit.is_row:
        return ()
    return (
        "Standard errors of measurements cover the added noise, not the bias of contribution "
        f"bounding ({door.bounding}); those of `estimate` cover both, or say that they do not.",
    )


def check_public(public: PublicTable | None, settings: PopulationSettings) -> None:
    """Raise on settings that need a public table, or its people, where there are none."""
    if settings.ids_by and (public is None or public.people is None):
        raise UsageError(
            "ids_by needs a public table with the unit's columns",
            hint="use one, or leave out ids_by: people then follow a noisy distribution",
        )
    if settings.within == "public" and public is None:
        raise UsageError("within = 'public' needs a public table", hint="use one, or 'evenly'")


def meet(
    door: Door, public: PublicTable | None, *, rows_price: float | None, people_price: float | None
) -> Crowd:
    """Measure people's sizes, and the number of rows, each if it has a price."""
    classes, bounding = None, door.bounding
    if people_price is not None:
        most = LARGEST if isinstance(bounding, Norm) else bounding.cap
        classes = Classes.ask(door, price=people_price, most=most)
    if not isinstance(bounding, Norm):
        sizes = None if classes is None else classes.sizes()
        return Crowd(
            rows=None, sizes=sizes, typical=bounding.cap, bounding=bounding, classes=classes
        )
    assert rows_price is not None  # noqa: S101  under Norm nothing else tells the number of rows
    known = public is not None and public.people is not None and not door.unit.is_row
    cap = _cap(classes, public if known else None, rows_price)
    scale = scale_upper(rows_price, door.currency, bound=Fraction(cap) ** 2)
    rows = Noisy(max(1.0, door.total(cap=cap, scale=scale)), door.currency.deviation(scale))
    sizes = None if classes is None else _beside(classes, public).sizes(rows, cap=cap)
    if sizes is not None and classes is not None:
        rows = replace(rows, value=max(1.0, classes.rows(sizes, rows, cap=cap)))
    if sizes is None or known:
        return Crowd(
            rows=rows.value + (0.0 if sizes is None else sizes.above(cap)),
            sizes=sizes,
            typical=cap,
            bounding=Weights(cap),
            classes=classes,
            error=rows.error,
        )
    cells = np.array(list(door.schema.domain.values()), dtype=np.float64)
    typical = int(typical_size(sizes, np.cbrt(1 / cells), cells, price=door.budget.price))
    return Crowd(
        rows=max(1.0, rows.value + sizes.above(cap)),
        sizes=sizes,
        typical=typical,
        bounding=Weights(typical),
        classes=classes,
        error=rows.error,
        # One standard error of people, each with as many rows again; and of rows that are only
        # expected there may be twice as many, or none.
        beyond=0.0 if classes is None else math.hypot(classes.error * cap, sizes.above(cap)),
    )


def _cap(classes: Classes | None, public: PublicTable | None, price: float) -> int:
    """Choose how many rows of a person are counted.

    Public people may be of another period, and have fewer rows each: then noisy classes know.
    """
    if classes is not None:
        return _beside(classes, public).cap(price)
    return 1 if public is None else best_cap(public, price)


def _beside(classes: Classes, public: PublicTable | None) -> Classes:
    """Return what is known of sizes, from public people too if there are some."""
    if public is None or public.people is None:
        return classes
    return classes.beside(public.sizes())


def best_cap(public: PublicTable, price: float) -> int:
    """Return the cap with the least error of a noisy number of rows, on public people."""
    sizes = np.sort(public.sizes())
    caps = np.unique(np.quantile(sizes, np.linspace(0.5, 1, 200)).astype(np.int64))
    lost = [float(np.maximum(sizes - cap, 0).sum()) for cap in caps]
    errors = np.array(lost) ** 2 + (caps / price) ** 2
    return int(caps[np.argmin(errors)])
