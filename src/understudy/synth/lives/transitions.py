"""Transitions: how often each code follows each, column by column, where rows have an order.

The code of the previous row is a column like any other (`understudy.door.views`), so (previous,
this) is a marginal of rows.  Most of it is known before: a code's own frequency, and from habits
how often it stays, or how far it moves.  So a table is begun as these say, and follows the noisy
answer only as far as that stands out of its noise.  Tied by
``tests/synth/lives/test_transitions.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.door import Derived, Merge, MergedDoor, View, ViewDoor
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round
from understudy.synth.pairs.precision import pair_weight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.door import Door, Measurement
    from understudy.graph import Model
    from understudy.synth.lives.habits import Habit, Habits
    from understudy.synth.measure.support import Support
    from understudy.synth.pairs.looks import Looks

    Floats = NDArray[np.float64]

MOST_STEPS, STEP = 300, 0.5
"""How often a table moves towards its answer, and by how much at most, in logarithms."""
RAKED = 50
SOONER = 3.0
"""How many standard deviations of the noise's own contribution a table may come closer."""
NEXT_TO_NOTHING = 1e-6
"""The least share of an average cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Transitions:
    """Noisy tables of (previous, this) merged code; the last line is of first rows."""

    measured: Mapping[str, Measurement]
    deviations: Mapping[str, float]
    """The noise of each table's cells."""
    supports: Mapping[str, Support]
    time: str

    @classmethod
    def ask(cls, door: Door, looks: Looks, *, price: float) -> Transitions:
        """Measure every column that is not a person's own, in one round."""
        schema = door.schema
        events = [name for name in schema.domain if name not in schema.own]
        supports = {s.column: s for s in looks.columns.supports}
        before = {
            name: Derived(name=f"(previous {name})", kind="previous", column=name)
            for name in events
        }
        merged = []
        for name in events:
            codes = supports[name].codes
            merged.append(Merge(column=name, codes=codes))
            merged.append(Merge(column=before[name].name, codes=np.append(codes, codes.max() + 1)))
        small = MergedDoor(ViewDoor(door, View(derived=tuple(before.values()))), merged)
        asked = []
        for name in events:
            weight = pair_weight(small, supports[name].size * (supports[name].size + 1))
            asked.append(WeightedMarginal(clique=(before[name].name, name), weight=weight))
        found = weighted_round(small, asked, price=price, crowd=looks.crowd, public=None)
        return cls(
            dict(zip(events, found, strict=True)),
            {n: door.currency.deviation(m.scale) for n, m in zip(events, found, strict=True)},
            supports,
            schema.ordering[0],
        )

    def tables(self, model: Model, habits: Habits, *, people: int) -> dict[str, Floats]:
        """Return about the counts of (previous, this) code, for the model's rows and people."""
        return {
            name: self._table(name, model.marginal((name,)), habits.columns[name], people)
            for name in self.measured
        }

    def _table(self, name: str, counts: Floats, habit: Habit, people: float) -> Floats:
        """Settle a table between what is known before and the noisy answer."""
        m, codes, rows = self.measured[name], len(counts), max(1.0, float(counts.sum()))
        people = min(people, rows)
        shares = np.maximum(counts, 0) / rows + NEXT_TO_NOTHING / codes
        shares /= shares.sum()
        known = self._known(name, shares, habit)
        table = np.vstack([known * (rows - people), shares[None] * people])
        table += NEXT_TO_NOTHING * rows / table.size * (table > 0)
        factor = rows / max(1.0, float(m.values.sum()))
        answer, noise = factor * m.values.reshape(table.shape), factor * self.deviations[name]
        _follow(table, answer, noise)
        return _raked(table, rows * shares, habit, people)

    def _known(self, name: str, shares: Floats, habit: Habit) -> Floats:
        """Return the table that codes' shares and the habit alone say, of rows after the first."""
        if not habit.ordered:
            chance = float(shares @ shares)
            stays = min(1.0, max(0.0, (1 - _step(habit) - chance) / max(1e-9, 1 - chance)))
            return stays * np.diag(shares) + (1 - stays) * np.outer(shares, shares)
        support = self.supports[name]
        mass = support.sums(support.likely)
        places = support.sums(support.likely * np.arange(len(support.codes)))
        places /= np.maximum(mass, 1e-300)
        far = np.abs(places[:, None] - places) / max(1, len(support.codes) - 1)
        low, high = 1e-4, 1e2
        for _ in range(25):
            reach = math.sqrt(low * high)
            table = _decaying(shares, far / reach)
            low, high = (low, reach) if float((table * far).sum()) > _step(habit) else (reach, high)
        if name == self.time:
            # Rows are in the order of time.
            table = np.triu(table)
        found: Floats = table / table.sum()
        return found


def _follow(table: Floats, answer: Floats, noise: float) -> None:
    """Move a table towards a noisy answer, as far as it stands out of its noise.

    The squared distance to the truth would be the noise's; where much more than that is missing,
    the table may come a little closer, since noise fits a table of many cells by chance.
    """
    expected = table.size * noise**2
    signal = max(0.0, float(((answer - table) ** 2).sum()) - expected)
    sooner = SOONER * math.sqrt(2 / table.size) * signal / (signal + expected)
    for _ in range(MOST_STEPS):
        missing = answer - table
        if float((missing**2).sum()) <= max(0.0, 1 - sooner) * expected:
            break
        total, largest = table.sum(), max(float(np.abs(missing).max()), float(table.max()))
        table *= np.exp(STEP / largest * missing)
        table *= total / table.sum()


def _step(habit: Habit) -> float:
    return habit.apart if habit.step is None else habit.step


def _decaying(shares: Floats, far: Floats) -> Floats:
    """Return a table with these margins whose cells fall with the distance."""
    table: Floats = np.outer(shares, shares) * np.exp(-far)
    for _ in range(20):
        table *= (shares / np.maximum(table.sum(axis=1), 1e-300))[:, None]
        table *= shares / np.maximum(table.sum(axis=0), 1e-300)
    return table


def _raked(table: Floats, counts: Floats, habit: Habit, people: float) -> Floats:
    """Adjust a table to the codes' counts, the number of people, and how often codes stay."""
    later, same = table[:-1], np.eye(len(counts), dtype=np.bool_)
    rows = float(counts.sum())
    staying = (1 - _step(habit)) * (rows - people)
    for _ in range(RAKED):
        table *= counts / np.maximum(table.sum(axis=0), 1e-9)
        if habit.ordered:
            later *= (rows - people) / max(float(later.sum()), 1e-9)
        else:
            later[same] *= _within(staying, later[same].sum())
            later[~same] *= _within(rows - people - staying, later[~same].sum())
        table[-1] *= people / max(float(table[-1].sum()), 1e-9)
    table *= counts / np.maximum(table.sum(axis=0), 1e-9)
    return table


def _within(wanted: float, got: float) -> float:
    return min(5.0, max(0.2, wanted / max(float(got), 1e-9)))
