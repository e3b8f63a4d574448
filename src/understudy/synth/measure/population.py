"""Whose rows they are: synthetic people, from public ones or from a noisy distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.budget import Norm, Weights, scale_upper
from understudy.errors import UsageError
from understudy.synth.generate.assignment import EACH_ITS_OWN, Donors, Given
from understudy.synth.measure.noise_levels import MEAN_SIZE, typical_size
from understudy.synth.measure.sizes import LARGEST, Classes, Noisy, Sizes
from understudy.synth.settings import check_at_least, check_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.budget import Capped, Currency
    from understudy.door import Door, Measurement
    from understudy.public import PublicTable


ROWS_OFF = 0.02
"""By what share the number of rows of a model is taken to be off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationSettings:
    """The settings of a mechanism that say whose rows they are, and what that costs."""

    ids_by: tuple[str, ...] = ()
    """The columns by which rows are given to public people."""
    most_each: int | None = None
    """The most rows of a synthetic person; the bounding's cap where it is None."""
    within: Literal["evenly", "public"] = "evenly"
    """How values are drawn within a bin."""
    rows_share: float = 0.02
    """The share of the budget for the number of rows, under `Norm`."""
    people_share: float = 0.02
    """The share for how many people there are, and how many rows they have."""

    def check_population(self) -> None:
        """Refuse settings out of their bounds, by name."""
        check_at_least(self, 1, "most_each")
        check_word(self, "within", "evenly", "public")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crowd:
    """What is known of people before any marginal is asked."""

    rows: float | None
    """The noisy number of rows, under `Norm`; else the marginals tell."""
    sizes: Sizes | None
    """How many people have how many rows; None where public people are taken to show it."""
    typical: int
    """The rows of a person who is not to be weighed down, where no public people show it."""
    bounding: Capped
    """What bounds a selection."""
    classes: Classes | None = None
    """What was answered of how many people have how many rows, where it was asked."""
    error: float = 0.0
    """The standard deviation of the number of rows."""
    repeats: float = 0.5
    """How often two rows of a person lie in the same cell, as far as is known."""

    def noise(self, count: int, *, price: float, currency: Currency) -> float:
        """Give about what a cell is off by where so many marginals are asked for a price."""
        return MEAN_SIZE * self.typical * currency.root(count) / price

    def to_dict(self) -> dict[str, Any]:
        """Write what was answered of people as plain data, with standard errors."""
        told: dict[str, Any] = {}
        if self.classes is not None:
            told["crowd"] = self.classes.to_dict()
            if self.rows is not None:
                told["crowd"] |= {"rows": self.rows, "rows_standard_error": self.error}
        return told

    def typical_of(
        self, shape: NDArray[np.float64], cells: NDArray[np.float64], *, price: float
    ) -> tuple[float, float]:
        """Give that person's length for marginals of so many cells, with noise of a shape.

        And the share of all rows that is counted then.
        """
        if self.rows is None or self.sizes is None:
            return self.typical, 1.0
        length = typical_size(self.sizes, shape, cells, price=price, repeats=self.repeats)
        return length, float(self.sizes.kept(length, self.repeats).sum()) / self.sizes.rows

    def told(self, measured: Sequence[Measurement], *, price: float) -> Crowd:
        """Learn from a round under `Norm` how often rows of a person lie in the same cell.

        A person of n rows weighs price over their whitened length at most.  So the number of rows
        that were counted tells how long people are; the more they repeat themselves, the longer.
        It costs nothing.
        """
        if self.rows is None or self.sizes is None:
            return self
        trust = np.array([1 / (len(m.values) * m.scale**2) for m in measured])
        counted = float(np.dot(trust, [m.values.sum() for m in measured]) / trust.sum())
        off = math.hypot(trust.sum() ** -0.5, self.error)
        length = price / math.sqrt(sum(m.scale**-2.0 for m in measured))
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
        """Say how so many synthetic rows are given to people, at most so many rows to each.

        Without a ``most``, a person has at most as many rows as the bounding's cap.
        """
        if door.unit.is_row:
            return EACH_ITS_OWN
        sizes = self.sizes
        if not isinstance(door.bounding, Norm):
            cap = door.bounding.cap
            most = cap if most is None else most
            if self.classes is not None:
                # The rows are those that the bounding left.
                total = Noisy(float(rows), max(1.0, ROWS_OFF * rows))
                sizes = self.classes.sizes(total, cap=cap).clipped(cap)
        if public is None or public.people is None:
            assert sizes is not None  # noqa: S101  they are asked where nobody shows them
            return sizes.given(rows, most=most)
        sizes = sizes or Sizes.public(public, rows)
        return Donors(public, by, rng).given(sizes.each(rows, most))


def shares_of_people(
    door: Door, public: PublicTable | None, settings: PopulationSettings, *, published: bool = False
) -> dict[str, float]:
    """Say which of the questions that `meet` asks are needed, with their shares of the budget.

    The documents take the sizes of people from public data, and so does what is published.
    """
    shares = {}
    if isinstance(door.bounding, Norm):
        shares["rows"] = settings.rows_share
    shown = published and public is not None and public.people is not None
    if not door.unit.is_row and not shown:
        shares["people"] = settings.people_share
    return shares


def bound_notes(door: Door) -> tuple[str, ...]:
    """Say what standard errors do not tell."""
    told = "Counts are of bounded rows: standard errors tell of the noise only, not of what the "
    return () if door.unit.is_row else (f"{told}bound left out ({door.bounding}).",)


def check_public(public: PublicTable | None, settings: PopulationSettings) -> None:
    """Refuse settings that need a public table, or its people, where there are none."""
    if settings.ids_by and (public is None or public.people is None):
        raise UsageError(
            "ids_by needs a public table with the unit's columns",
            hint="give one, or leave ids_by out: people then follow a noisy distribution",
        )
    if settings.within == "public" and public is None:
        raise UsageError("within = 'public' needs a public table", hint="give one, or use 'evenly'")


def meet(
    door: Door, public: PublicTable | None, *, rows_price: float | None, people_price: float | None
) -> Crowd:
    """Ask how many rows people have, and there are, as far as a price is given for it."""
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
    cap, known = 1, public is not None and public.people is not None and not door.unit.is_row
    if public is not None and known:
        cap = best_cap(public, rows_price)
    elif classes is not None:
        cap = classes.cap(rows_price)
    scale = scale_upper(rows_price, door.currency, bound=Fraction(cap) ** 2)
    rows = Noisy(max(1.0, door.total(cap=cap, scale=scale)), door.currency.deviation(scale))
    sizes = None if classes is None else classes.sizes(rows, cap=cap)
    if sizes is None or known:
        return Crowd(
            rows=rows.value,
            sizes=sizes,
            typical=cap,
            bounding=Weights(cap),
            classes=classes,
            error=rows.error,
        )
    cells = np.array(list(door.schema.domain.values()), dtype=np.float64)
    typical = int(typical_size(sizes, np.cbrt(1 / cells), cells, price=door.budget.price))
    return Crowd(
        rows=max(1.0, sizes.rows),
        sizes=sizes,
        typical=typical,
        bounding=Weights(typical),
        classes=classes,
        error=rows.error,
    )


def best_cap(public: PublicTable, price: float) -> int:
    """Give the cap at which a noisy number of rows is nearest to the truth, on public people."""
    sizes = np.sort(public.sizes())
    caps = np.unique(np.quantile(sizes, np.linspace(0.5, 1, 200)).astype(np.int64))
    lost = [float(np.maximum(sizes - cap, 0).sum()) for cap in caps]
    errors = np.array(lost) ** 2 + (caps / price) ** 2
    return int(caps[np.argmin(errors)])
