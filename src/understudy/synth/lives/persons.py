"""Persons: a model of people with what is their own, from marginals that count each once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import price_grains
from understudy.door import Derived, View, ViewDoor
from understudy.door.views import BORDERS, DIFFERENCES_OF
from understudy.public import PublicTable
from understudy.synth.measure.likeliest import Noisy
from understudy.synth.measure.size_borders import LARGEST, RATIO, class_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.budget import Currency
    from understudy.door import Door, Measurement
    from understudy.graph import Model
    from understudy.public import Progress
    from understudy.schema import Codes, Schema
    from understudy.synth.measure.compression import Compressed
    from understudy.synth.measure.population import Crowd
    from understudy.synth.measure.support import Support
    from understudy.synth.pairs import Pairs
    from understudy.synth.pairs.looks import Looks

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ROWS, FIRST, SPREAD = "(number of rows)", "(first row)", "(spread of rows)"
SIZED, FEW = 8, 0.01
"""How often people's numbers of rows are adjusted; a code of few rows says little."""
TINY = 1e-300
HALF = 0.5
"""Nobody's number of rows, where logarithms are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Synthetic people: what is their own, and how many rows they have."""

    sizes: Ints
    own: dict[str, Codes]
    first: NDArray[Any] | None
    """The time of each person's first row, and of the last; None if rows have no order."""
    last: NDArray[Any] | None
    """None too where times are distinct: then the number of rows and what follows what say it."""
    rowless: dict[str, Codes] = field(default_factory=dict)
    """The own columns of further people, who have no rows."""
    timeless: NDArray[np.bool_] | None = None
    """Who has no row with a time; None if rows have no order."""
    kind: Ints | None = None
    """Which of the kinds of people, whose rows have other times than others' have, each is of."""

    @property
    def everyone(self) -> dict[str, Codes]:
        """The own columns of all people, those with rows first."""
        return {n: np.concatenate((codes, self.rowless[n])) for n, codes in self.own.items()}

    def begun(self, rows: int) -> People:
        """Return the first people, with about as many rows."""
        count = max(1, int(np.searchsorted(np.cumsum(self.sizes), rows, side="right")))
        return self.only(slice(count))

    def only(self, some: slice | NDArray[np.bool_]) -> People:
        """Return some of the people who have rows."""
        return People(
            self.sizes[some],
            {name: codes[some] for name, codes in self.own.items()},
            None if self.first is None else self.first[some],
            None if self.last is None else self.last[some],
            self.rowless,
            None if self.timeless is None else self.timeless[some],
            None if self.kind is None else self.kind[some],
        )


class Persons:
    """A model of people over own columns, size class, and the times of first and last row."""

    def __init__(self, looks: Looks, schema: Schema, *, everyone: bool) -> None:
        """Take what was measured of people, or of everyone, also those without rows."""
        self._looks, self._schema, self._everyone = looks, schema, everyone

    @classmethod
    def ask(
        cls,
        door: Door,
        rows: Pairs,
        public: PublicTable | None,
        *,
        distinct: bool,
        price: float,
        progress: Progress,
    ) -> Persons:
        """Measure a model of people at a price, as `Pairs` does of rows, each person once.

        It begins from public people, unless there are people without rows: public ones all have.
        """
        reserve = door.grains - price_grains(price, door.currency)
        everyone = door.two_tables
        derived = cls.derived(door.schema, distinct=distinct, everyone=everyone)
        view = View(derived=derived, people=True, everyone=everyone)
        pairs = replace(rows, ids_by=(), most_each=None, within="evenly")
        viewed, known = ViewDoor(door, view, reserve=reserve), None
        if public is not None and public.people is not None and not everyone:
            known = public_people(public, viewed.schema)
        looks = pairs.look(viewed, known, progress)
        return cls(looks, door.schema, everyone=everyone)

    @staticmethod
    def derived(schema: Schema, *, distinct: bool, everyone: bool) -> tuple[Derived, ...]:
        """Return what the model has besides people's own columns."""
        found = [Derived(name=ROWS, kind="rows", starts=_size_starts(everyone=everyone))]
        if schema.ordering:
            time = schema.ordering[0]
            found.append(Derived(name=FIRST, kind="first", column=time))
            if not distinct:
                found.append(Derived(name=SPREAD, kind="spread", column=time))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the pairs that were chosen, as plain data."""
        return self._looks.to_dict()

    def draw(
        self, sizes: Ints, of_rows: Compressed, rng: np.random.Generator, progress: Progress
    ) -> People:
        """Draw people, one for each size; the larger their class, the larger their size.

        Of everyone, as many more are drawn as have no rows: those of the smallest classes.
        """
        model = self._looks.settle(progress, self._of_rows(of_rows))
        supports = {s.column: s for s in self._looks.columns.supports}
        supports |= {n: _told_by_rows(supports[n], of_rows) for n in self._schema.own}
        rowless = _without_rows(model, supports[ROWS]) if self._everyone else 0
        merged = model.sample(rowless + len(sizes), rng)
        codes = {name: supports[name].spread(merged[name], rng) for name in merged}
        places = self._places(codes[ROWS], rng)
        by_class = np.argsort(places)
        nobody, some = by_class[:rowless], by_class[rowless:]
        own = {name: codes[name] for name in self._schema.own}
        own_of_some = {name: each[some] for name, each in own.items()}
        given = self._sized(np.sort(sizes), places[some], own_of_some, of_rows)
        first, last = self._times(codes, some, given, rng)
        # As they were drawn, so that nobody's number tells how many rows they have.
        order = np.argsort(some)
        return People(
            given[order],
            {name: each[order] for name, each in own_of_some.items()},
            None if first is None else first[order],
            None if last is None else last[order],
            {name: each[nobody] for name, each in own.items()},
            self._timeless(codes[FIRST][some])[order] if FIRST in codes else None,
        )

    def _places(self, classes: Codes, rng: np.random.Generator) -> Floats:
        """Place people by the logarithm of their size, at random within their class."""
        starts = np.array(_size_starts(everyone=self._everyone), dtype=np.float64)
        borders = np.log(np.maximum(HALF, np.append(starts, RATIO * starts[-1])))
        inside = classes + rng.random(len(classes))
        places: Floats = np.interp(inside, np.arange(len(borders)), borders)
        return places

    def _times(
        self, codes: dict[str, Codes], some: Ints, sizes: Ints, rng: np.random.Generator
    ) -> tuple[Codes | None, Codes | None]:
        """Return the times of the first and the last row of some people, of these sizes.

        The people come in the order of their class: who by noise has no such time, or several rows
        that are not apart, has those of the person before.  Rows that are evenly spaced are apart,
        on average, by a third of the way from the first to the last, and by more if they are few.
        """
        if FIRST not in codes:
            return None, None
        size = self._schema[self._schema.ordering[0]].size
        first = _as_before(codes[FIRST][some], ~self._timeless(codes[FIRST][some]))
        if SPREAD not in codes:
            return first, None
        spread = codes[SPREAD][some]
        spread = _as_before(spread, (spread < len(DIFFERENCES_OF)) | (sizes < 2))
        known = np.append(DIFFERENCES_OF, 0.0)[spread] * (size - 1)
        known *= 2.0 ** ((rng.random(len(known)) - HALF) / 2)
        apart = 3 * known * (sizes - 1) / (sizes + 1)
        last = np.minimum(first + np.rint(apart).astype(first.dtype), size - 1)
        return first, last

    def _timeless(self, first: Codes) -> NDArray[np.bool_]:
        """Return who has no row with a time, by the time of their first row."""
        found: NDArray[np.bool_] = first >= self._schema[self._schema.ordering[0]].ordered_count
        return found

    def _sized(
        self, sizes: Ints, places: Floats, own: dict[str, Codes], of_rows: Compressed
    ) -> Ints:
        """Give the larger sizes to the larger places, so that own columns have their rows.

        Whose code has too few rows moves up by as much as the rows are too few, as far as what rows
        say is more precise than what people do.
        """
        given, places = np.empty_like(sizes), places.copy()
        wanted = {name: self._both(name, of_rows) for name in own}
        for _ in range(SIZED):
            given[np.argsort(places)] = sizes
            for name, codes in own.items():
                (shares, variance), (_, of_people) = wanted[name]
                there = np.bincount(codes, weights=given, minlength=len(shares)) / given.sum()
                trust = of_people / (of_people + variance)
                few = np.maximum(shares, 0) + FEW
                places += (trust * np.log(few / (there + FEW)) / 2)[codes]
        given[np.argsort(places)] = sizes
        return given

    def _both(self, name: str, of_rows: Compressed) -> list[tuple[Floats, float]]:
        """Return an own column's noisy shares by rows and by people, and their variances."""
        mine = self._looks.columns
        return [_shares(each.joined()[name], mine.door.currency) for each in (of_rows, mine)]

    def counted(self, crowd: Crowd) -> Crowd:
        """Return what is known of people's sizes and rows, from the model of people too."""
        if crowd.classes is None or crowd.rows is None:
            return crowd
        mine = self._looks.columns
        found = mine.joined()[ROWS]
        error = mine.door.currency.deviation(found.scale)
        # People without rows are in none of its classes.
        values = found.values[1:] if self._everyone else found.values
        classes = crowd.classes.joined(values, error)
        rows = Noisy(crowd.rows, crowd.error)
        sizes = classes.sizes(rows)
        return replace(crowd, classes=classes, sizes=sizes, rows=classes.rows(sizes, rows))

    def _of_rows(self, of_rows: Compressed) -> list[Measurement]:
        """Return what was measured of own columns by rows, as far as people agree with it.

        Who has more rows counts more there.  How far that moves a column is seen from both answers,
        less their noise, and is added to the noise.  It is no more than people's numbers of rows
        vary.
        """
        supports = {s.column: s for s in self._looks.columns.supports}
        sizes, found = of_rows.crowd.sizes, []
        vary = math.inf if sizes is None else sizes.variation
        for name in self._schema.own:
            (by_rows, noisy_rows), (by_people, noisy_people) = self._both(name, of_rows)
            apart = float(np.mean((by_rows - by_people) ** 2)) - noisy_rows - noisy_people
            apart = min(apart, vary**2 * float(np.mean(by_people**2)))
            for m in of_rows.measured:
                if m.clique == (name,):
                    bias = math.sqrt(max(0.0, apart)) * max(1.0, float(m.values.sum()))
                    noisier = replace(m, scale=math.hypot(m.scale, bias), group=m.group or "rows")
                    found.append(supports[name].restated(noisier))
        return found


def public_people(public: PublicTable, schema: Schema) -> PublicTable:
    """Return the table of public people, one row each, in the schema of people that are asked."""
    sizes = public.sizes()
    ends = np.cumsum(sizes)
    found: dict[str, Any] = {
        ROWS: np.searchsorted(_size_starts(everyone=False), sizes, "right") - 1
    }
    if public.schema.ordering:
        time = public.schema[public.schema.ordering[0]]
        times = public.codes[time.name]
        found[FIRST] = np.minimum.reduceat(times, ends - sizes)
        found[SPREAD] = _spread_classes(times, ends - sizes, time.size, time.ordered_count)
    for name in (n for n in schema.domain if n not in found):
        found[name] = public.most_common(name)
    codes = {name: found[name] for name in schema.domain}
    return PublicTable(schema=schema, codes=codes, people=None, numbers={})


def _size_starts(*, everyone: bool) -> tuple[int, ...]:
    """Return where size classes begin, of people or of everyone, also of those without rows."""
    return (*((0,) if everyone else ()), *class_starts(LARGEST).tolist())


def _shares(measured: Measurement, currency: Currency) -> tuple[Floats, float]:
    """Return a column's noisy shares, and the variance of their noise."""
    total = max(1.0, float(measured.values.sum()))
    return measured.values / total, (currency.deviation(measured.scale) / total) ** 2


def _without_rows(model: Model, support: Support) -> int:
    """Return the model's number of people of class 0."""
    there = support.codes == support.codes[0]
    whole = max(float(support.likely[there].sum()), 1e-300)
    people = float(model.marginal((ROWS,))[support.codes[0]]) * float(support.likely[0]) / whole
    return max(0, round(people))


def _told_by_rows(support: Support, of_rows: Compressed) -> Support:
    """Return an own column's support, whose merged codes share their people as rows say.

    Rows are measured with most of the budget: a value may stand out there that people hide.
    """
    rows = next(s for s in of_rows.supports if s.column == support.column)
    whole = np.maximum(rows.sums(rows.likely), TINY)
    each = (of_rows.ones()[support.column] / whole)[rows.codes] * rows.likely
    known = support.sums(each)[support.codes] > 0
    return replace(support, likely=np.where(known, each, support.likely))


def _as_before(codes: Codes, sound: NDArray[np.bool_]) -> Codes:
    """Return codes with those that are not sound as in the place before that is."""
    before = np.maximum.accumulate(np.where(sound, np.arange(len(codes)), -1))
    found: Codes = codes[np.where(before >= 0, before, np.argmax(sound))]
    return found


def _spread_classes(times: NDArray[Any], starts: Ints, size: int, ordered: int) -> Ints:
    """Return the class of each person's mean difference of two rows' times, as the door does."""
    counts = np.diff(np.append(starts, len(times)))
    person = np.repeat(np.arange(len(counts)), counts)
    sorted_ = times[np.lexsort((times, person))].astype(np.float64)
    known = sorted_ < ordered
    sizes = np.bincount(person, weights=known).astype(np.int64)
    nth = np.arange(len(times)) - starts[person]
    summed = np.bincount(person, weights=known * (2 * nth - sizes[person] + 1) * sorted_)
    mean = 2 * summed / np.maximum(1, sizes * (sizes - 1) * max(1, size - 1))
    classes: Ints = 1 + np.searchsorted(BORDERS, mean)
    classes[summed == 0] = 0
    classes[sizes <= 1] = len(DIFFERENCES_OF)
    return classes
