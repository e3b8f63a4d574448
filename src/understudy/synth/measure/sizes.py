"""Sizes: how many rows people have, from noisy counts of people in geometric classes.

People with 1, 2, … 24, 25–32, 33–42, … rows are counted (above 24 classes grow by about 1.3), the
last one being open; each person is in one class, so that all counts together have sensitivity 1.
With them go a noisy number of people and a noisy number of rows, at most ``cap`` a person.  The
estimate is the likeliest one: non-negative numbers n_k of people in each class that minimise

    Σ (n_k − y_k)²/σ² + (Σ n_k − people)²/σ_p² + (Σ m_k·n_k − rows)²/σ_r²,

where m_k is the mean size of a class, cut off at the cap.  Noise alone makes some large class
positive in every run, and a few people of a size that nobody has would double the rows; so of
classes above the last one that stands out of its noise, alone or with its neighbours, only what the
shape of all classes lets expect is taken (`understudy.synth.measure.tails`).  Tied by
``tests/synth/measure/test_sizes.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import Currency, price_grains, scale_upper, split
from understudy.synth.measure.likeliest import Noisy, likeliest
from understudy.synth.measure.size_borders import LARGEST, class_starts, next_start
from understudy.synth.measure.tails import ALONE, expected

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import Door
    from understudy.public import PublicTable

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

STANDS_OUT: dict[Currency, float] = {Currency.GDP: 5.5, Currency.PURE: 12.0}
"""Noise alone reaches this many standard deviations once in a hundred thousand runs, among some
three hundred sums that are looked at; Laplace noise has heavier tails than Gaussian noise."""
NEIGHBOURS = (1, 2, 4, 8, 16)
"""The numbers of adjacent classes that are summed."""
NEARLY_ALL = 0.99
"""The share of people whose rows are all counted, where the cap is chosen from noisy sizes."""
HALF = 0.5
TRIED = 101
UNSURE = 0.5
"""The part of the rows that are only expected by which they may be wrong."""
MEANS_OFF = 0.005
"""The relative error of rows that follow from classes, within which sizes are taken as even."""
GOLDEN = (math.sqrt(5) - 1) / 2
"""The fractional parts of its multiples lie evenly between 0 and 1, from any start."""
ONE = 2**32
"""One row in fixed-point arithmetic, where sizes are rounded; up to two thousand million rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """The distribution of rows per person: the number of people with 1, 2, … rows."""

    people: Floats

    def quantile(self, share: float) -> int:
        """Return the number of rows that this share of people does not exceed."""
        return int(np.searchsorted(np.cumsum(self.people), share * self.people.sum())) + 1

    @property
    def rows(self) -> float:
        """The total number of rows."""
        return float(self.people @ np.arange(1, len(self.people) + 1))

    @property
    def variation(self) -> float:
        """The standard deviation of the number of rows over its mean.

        >>> Sizes(np.array([0.0, 0.0, 7.0])).variation, Sizes(np.array([1.0, 0.0, 1.0])).variation
        (0.0, 0.5)
        """
        each = np.arange(1, len(self.people) + 1)
        mean = self.rows / float(self.people.sum())
        square = float(self.people @ each**2) / float(self.people.sum())
        return math.sqrt(max(0.0, square - mean**2)) / mean

    def above(self, cap: int) -> float:
        """Return the number of rows that people have above a cap each.

        >>> Sizes(np.array([4.0, 0.0, 2.0, 1.0])).above(2)
        4.0
        """
        return float(self.people[cap:] @ np.arange(1, len(self.people[cap:]) + 1))

    def lengths(self, repeats: float) -> Floats:
        """Return the L2 norm of people of each size, if two rows agree with this probability.

        Of n rows, v_c in each cell c, Σ v_c² is the number of pairs of rows that agree, each row
        with itself too: n + n·(n − 1)·repeats on average.

        >>> Sizes(np.ones(4)).lengths(1.0).tolist(), Sizes(np.ones(4)).lengths(0.0)[-1]
        ([1.0, 2.0, 3.0, 4.0], np.float64(2.0))
        """
        each = np.arange(1.0, len(self.people) + 1)
        return np.sqrt(each + each * (each - 1) * repeats)

    def kept(self, most: float, repeats: float = 1.0) -> Floats:
        """Return how many rows of people of each size count if L2 norms are clipped to ``most``.

        >>> Sizes(np.array([4.0, 0.0, 2.0])).kept(2).tolist()
        [4.0, 0.0, 4.0]
        """
        each = np.arange(1, len(self.people) + 1)
        return self.people * each * np.minimum(1.0, most / self.lengths(repeats))

    def repeats(self, counted: Noisy, most: float) -> float:
        """Return how often rows of a person agree, given the rows counted with norms clipped.

        The prior is uniform: where noise leaves it open, the answer is a half.

        >>> sizes = Sizes(np.array([5.0, 4.0, 3.0, 2.0, 1.0]))
        >>> [round(sizes.repeats(Noisy(sizes.kept(1.5, 0.4).sum(), e), 1.5), 2) for e in (0.01, 99)]
        [0.4, 0.5]
        """
        tried = np.linspace(0, 1, TRIED)
        apart = np.array([self.kept(most, each).sum() - counted.value for each in tried])
        apart = (apart / counted.error) ** 2
        likely = np.exp((apart.min() - apart) / 2)
        return float(tried @ likely / likely.sum())

    def clipped(self, most: int) -> Sizes:
        """Clip the number of rows of every person to ``most``.

        >>> Sizes(np.array([0.0, 3.0, 1.0, 0.0, 1.0])).clipped(2).people.tolist()
        [0.0, 5.0]
        """
        people = self.people[:most].copy()
        people[-1] += self.people[most:].sum()
        return Sizes(people)

    @classmethod
    def public(cls, table: PublicTable, rows: int) -> Sizes:
        """Take the public distribution of rows per person, scaled to ``rows`` rows in all."""
        people = np.bincount(table.sizes())[1:].astype(np.float64)
        return cls(people * (rows / len(table)))

    def each(self, rows: int, most: int | None = None) -> Ints:
        """Return the number of rows of each person, for ``rows`` rows in all.

        Sizes are scaled to the total; everybody has from 1 to ``most`` rows.  Any run of adjacent
        people has about the distribution of all.

        >>> sizes = Sizes(np.array([2.0, 0.0, 1.0]))
        >>> [sizes.each(rows, 4).tolist() for rows in (0, 2, 5, 7, 13)]
        [[], [1, 1], [1, 3, 1], [2, 4, 1], [3, 3, 3, 4]]
        """
        if rows == 0:
            return np.zeros(0, dtype=np.int64)
        most, total = most or rows, float(self.people.sum())
        count = min(max(round(total), -(-rows // most)), rows)
        shares = (np.arange(count) + 0.5) / count
        found = np.searchsorted(np.cumsum(self.people), shares * total) + 1
        spread = np.argsort(np.argsort(np.arange(count) * GOLDEN % 1))
        return _scaled(found, rows, most)[spread]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Noisy numbers of people by size class, and in all."""

    starts: Ints
    """The smallest size of each class; the last class is open."""
    counts: Floats
    error: float
    """The standard deviation of each count's noise."""
    people: Noisy
    currency: Currency

    @classmethod
    def ask(cls, door: Door, *, price: float, most: int = LARGEST) -> Classes:
        """Measure at a price; sizes above ``most`` are in one class."""
        grains, one = price_grains(price, door.currency), Fraction(1)
        shape, total = split(grains, door.currency, [3, 1])
        starts = class_starts(most)
        scale = scale_upper(shape, door.currency, bound=one)
        counts = door.unit_counts(
            (),
            cells=np.zeros(1, dtype=np.int64),
            times=tuple(starts.tolist()),
            most=1,
            scale=scale,
            upwards=True,
        )
        people_scale = scale_upper(total, door.currency, bound=one)
        people = Noisy(door.units(scale=people_scale), door.currency.deviation(people_scale))
        error = door.currency.deviation(scale)
        return cls(starts, counts.reshape(-1), error, people, door.currency)

    def joined(self, counts: Floats, error: float) -> Classes:
        """Return the mean with other noisy numbers of the same classes, weighted by precision.

        >>> people = Noisy(9.0, 1.0)
        >>> classes = Classes(class_starts(2), np.array([4.0, 6.0]), 1.0, people, Currency.GDP)
        >>> classes.joined(np.array([6.0, 2.0]), 1.0).counts.tolist()
        [5.0, 4.0]
        """
        precise = self.error**-2.0 + error**-2.0
        mean = (self.counts * self.error**-2.0 + counts * error**-2.0) / precise
        return replace(self, counts=mean, error=precise**-0.5)

    def beside(self, sizes: Ints) -> Classes:
        """Return the mean with as many public people of these sizes, as far as they are alike.

        Public people have an error of their own, as if it were noise: what they differ by from the
        noisy counts beyond these counts' noise, and no less than that of a sample.
        """
        classes = np.searchsorted(self.starts, sizes, side="right") - 1
        shares = np.bincount(classes, minlength=len(self.starts)) / len(sizes)
        likely = shares * max(1.0, self.people.value)
        some = slice(0, 1 + max(self._last(), int(classes.max())))
        apart = float(np.mean((self.counts - likely)[some] ** 2)) - self.error**2
        return self.joined(likely, math.sqrt(max(apart, float(likely[some].mean()))))

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as plain data, up to the last class that stands out of its noise."""
        last = self._last() + 1
        ends = self._ends()[:last] - 1
        return {
            "people": self.people.value,
            "people_standard_error": self.people.error,
            "classes": [
                {"from": int(start), "to": int(end), "people": float(count)}
                for start, end, count in zip(self.starts, ends, self.counts, strict=False)
            ],
            "class_standard_error": self.error,
        }

    def cap(self, price: float) -> int:
        """Choose the cap on a person's rows for counting all rows at a price.

        It has the least error: noise, and a part of the rows above it, which are expected and
        added, but are less certain than those that are counted.  Nearly everybody who stands out of
        the noise is counted in full.
        """
        # If some may have several rows, it is worth while to see them.
        people, means = self._expected(alone=0.0), self._means(LARGEST)
        caps = np.unique(np.concatenate((self.starts, self._ends() - 1)))
        lost = np.array([people @ np.maximum(0.0, means - cap) for cap in caps])
        best = int(caps[np.argmin(np.hypot(caps / price, UNSURE * lost))])
        return max(best, self.sizes().quantile(NEARLY_ALL))

    def sizes(self, rows: Noisy | None = None, *, cap: int = LARGEST) -> Sizes:
        """Estimate the distribution of rows per person, with a number of capped rows if given."""
        counts, error = self.counts, np.full(len(self.counts), self.error)
        if rows is None:
            counts, error = counts[: self._last() + 1], error[: self._last() + 1]
        else:
            rows = Noisy(rows.value, math.hypot(rows.error, MEANS_OFF * rows.value))
            counts, error = self._filled(rows, cap)
        means = np.zeros(len(counts)) if rows is None else self._means(cap)[: len(counts)]
        found = likeliest(
            counts,
            np.array([np.ones(len(counts)), means]),
            error=error,
            totals=[self.people, rows or Noisy(0.0, math.inf)],
        )
        # Less than half a person is nobody, but would still get a size.
        found[np.cumsum(found[::-1])[::-1] < HALF] = 0
        if not found.any():
            found[0] = 1.0
        return Sizes(_spread(found, self._ends()[: len(counts)]))

    def rows(self, sizes: Sizes, counted: Noisy, *, cap: int = LARGEST) -> float:
        """Return the likeliest number of capped rows, given what was counted, and people's sizes.

        Sizes were fitted to the count too.  What they say of rows is as certain as they are: those
        that stand out of their noise by themselves, such as that of all in a panel.

        >>> eight = Classes(class_starts(8), np.eye(8)[7] * 500, 1.0, Noisy(500, 1), Currency.GDP)
        >>> counted = Noisy(4200.0, 400.0)
        >>> round(eight.rows(eight.sizes(counted), counted), -1)
        4000.0
        """
        moved = sizes.rows - sizes.above(cap) - counted.value
        alone = self.counts > STANDS_OUT[self.currency] * self.error
        alone &= (self._ends() - self.starts == 1) & (self.starts <= len(sizes.people))
        seen = self.starts[alone]
        off = UNSURE * (sizes.rows - float(sizes.people[seen - 1] @ seen))
        off += MEANS_OFF * counted.value
        return counted.value + moved * counted.error**2 / (counted.error**2 + off**2)

    def _expected(
        self, rows: Noisy | None = None, cap: int = LARGEST, *, alone: float = ALONE
    ) -> Floats:
        """Return the number of people that is expected in each class."""
        totals = [[self.people.value, self.people.error, *np.ones(len(self.starts))]]
        if rows is not None:
            totals.append([rows.value, rows.error, *self._means(cap)])
        return expected(
            self.counts,
            error=self.error,
            starts=tuple(self.starts.tolist()),
            means=self._means(LARGEST),
            totals=np.array(totals),
            alone=alone,
        )

    def _filled(self, rows: Noisy, cap: int) -> tuple[Floats, Floats]:
        """Return the means of noisy and expected counts, each with its error, as far as they go.

        What is expected has an error of its own, as if it were noise: by what it differs from the
        classes that stand out, and no less than that of a sample.  Of other classes nothing else is
        known, and it counts the less, the less these shapes are like what stands out; people above
        the cap have no more rows, in all, than were counted.
        """
        likely, last = self._expected(rows, cap), self._last()
        (some,) = np.nonzero(np.cumsum(likely[::-1])[::-1] >= HALF)
        noise = self.error**2
        apart = max(0.0, float(np.mean((self.counts - likely)[: last + 1] ** 2)) - noise)
        error = math.sqrt(max(apart, float(likely[: last + 1].mean()), 1.0))
        mean, hidden = self.joined(likely, error), np.arange(len(likely)) > last
        above = float(likely[hidden] @ (self._means(LARGEST) - self._means(cap))[hidden])
        trust = noise / (noise + apart) * min(1.0, max(1.0, rows.value) / max(1.0, above))
        beyond = likely * trust
        counts = np.where(hidden, beyond, mean.counts)
        errors = np.where(hidden, np.maximum(beyond, HALF), mean.error)
        end = 1 + max(last, int(some[-1]) if len(some) else 0)
        return counts[:end], errors[:end]

    @property
    def stand_out(self) -> bool:
        """Whether any class stands out of its noise, alone or with its neighbours."""
        return self._found() >= 0

    def _last(self) -> int:
        """Return the last class that stands out of its noise, the first one if none does."""
        return max(0, self._found())

    def _found(self) -> int:
        """Return the last class that stands out of its noise, alone or with its neighbours, or -1.

        Neighbours are summed only above the classes that stand out alone: any sum that holds most
        of the people stands out.
        """
        limit = STANDS_OUT[self.currency] * self.error
        last, summed = -1, np.concatenate(([0.0], np.cumsum(self.counts)))
        for together in NEIGHBOURS:
            first = last + 1
            sums = summed[first + together :] - summed[first : max(first, len(summed) - together)]
            (out,) = np.nonzero(sums > limit * math.sqrt(together))
            last += int(out[-1]) + together if len(out) else 0
        return last

    def _ends(self) -> Ints:
        """Return the smallest size beyond each class; the open one is taken to end as others do."""
        return np.append(self.starts[1:], max(next_start(int(self.starts[-1])), 2))

    def _means(self, cap: int) -> Floats:
        """Return the mean size of each class, of sizes that are no larger than a cap."""
        starts, ends = self.starts, self._ends()
        above = np.clip(cap + 1, starts, ends)
        below = (starts + above - 1) * (above - starts) / 2
        return np.asarray((below + cap * (ends - above)) / (ends - starts), dtype=np.float64)


def _spread(people: Floats, ends: Ints) -> Floats:
    """Spread the people of each class evenly over its sizes."""
    lengths = np.diff(np.concatenate(([1], ends)))
    spread: Floats = np.repeat(people / lengths, lengths)
    return spread[: int(np.flatnonzero(spread)[-1]) + 1]


def _scaled(sizes: Ints, rows: int, most: int) -> Ints:
    """Scale sizes to ``rows`` rows in all, from 1 to ``most`` each, rounded to whole numbers."""
    different, people = np.unique(sizes, return_counts=True)
    low, high = 0.0, float(rows)
    for _ in range(100):
        middle = (low + high) / 2
        enough = people @ np.clip(middle * different, 1, most) >= rows
        low, high = (low, middle) if enough else (middle, high)
    # In integers, so that rounding breaks neither the limits nor the sum.
    scaled = np.rint(np.clip(high * sizes, 1, most) * ONE).astype(np.int64)
    ends = (np.cumsum(scaled) + ONE // 2) // ONE
    return np.diff(ends, prepend=0)
