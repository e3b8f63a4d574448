"""The slow obvious versions of every metric: loops over rows, from the contest's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

import numpy as np
from scipy.spatial.distance import jensenshannon

from understudy.evaluate import Coded

Row = dict[str, int]


def rows_of(table: Coded) -> list[Row]:
    """Give a table as a list of rows."""
    return [{n: int(c[i]) for n, c in table.codes.items()} for i in range(table.rows)]


def l1(left: Sequence[Row], right: Sequence[Row], names: Sequence[str]) -> float:
    """Give the L1 distance of two sets of rows' distributions; 2 if one has no rows."""
    if not left or not right:
        return 0.0 if len(left) == len(right) else 2.0
    p = Counter(tuple(row[n] for n in names) for row in left)
    q = Counter(tuple(row[n] for n in names) for row in right)
    return sum(abs(p[cell] / len(left) - q[cell] / len(right)) for cell in p | q)


def variation(real: Coded, synthetic: Coded, names: Sequence[str]) -> float:
    """Give half the L1 distance."""
    return l1(rows_of(real), rows_of(synthetic), names) / 2


def k_marginal(
    real: Coded, synthetic: Coded, *, place: str, time: str, rest: Sequence[str]
) -> float:
    """Compare pairs of columns in each cell that either table has rows in."""
    left, right = rows_of(real), rows_of(synthetic)
    means = []
    for cell in {(row[place], row[time]) for row in left + right}:
        ours = [row for row in left if (row[place], row[time]) == cell]
        theirs = [row for row in right if (row[place], row[time]) == cell]
        means.append(fmean(l1(ours, theirs, pair) for pair in combinations(rest, 2)))
    return (2 - fmean(means)) / 2


def vectors(table: Coded, *, time: str, place: str) -> list[list[int]]:
    """Give each person's counts of times, then of places; persons by ascending number."""
    people = range(table.rows) if table.people is None else table.people.tolist()
    rows = list(zip(people, rows_of(table), strict=True))
    found = []
    for person in sorted(set(people)):
        mine = [row for owner, row in rows if owner == person]
        times = [sum(row[time] == t for row in mine) for t in range(table.sizes[time])]
        places = [sum(row[place] == p for row in mine) for p in range(table.sizes[place])]
        found.append(times + places)
    return found


def people_alike(real: Coded, synthetic: Coded, *, time: str, place: str) -> float:
    """Count, fifty times, who is similar to a true person."""
    true = vectors(real, time=time, place=place)
    made = vectors(synthetic, time=time, place=place)
    rng = np.random.RandomState(123456)
    gaps = []
    for _ in range(50):
        target = true[rng.randint(0, len(true))]
        tolerances = rng.randint(5, 51, real.sizes[time] + real.sizes[place])

        def share(people: list[list[int]], aim: list[int], within: list[int]) -> float:
            similar = [
                all(abs(c - a) <= w for c, a, w in zip(person, aim, within, strict=True))
                for person in people
            ]
            return sum(similar) / len(people)

        within = tolerances.tolist()
        gaps.append(abs(share(true, target, within) - share(made, target, within)))
    return 1 - fmean(gaps)


def pie_score(true: Sequence[float], released: Sequence[float]) -> float:
    """Score one pie."""
    if list(true) == list(released):
        return 1.0

    def shown(pie: Sequence[float]) -> list[float]:
        return [count if sum(pie) and count / sum(pie) >= 0.05 else 0 for count in pie]

    a, b = shown(true), shown(released)
    with np.errstate(invalid="ignore"):
        distance = float(jensenshannon(np.array(a) + 1e-9, np.array(b) + 1e-9, base=2))
    if np.isnan(distance):  # rounded below 0 before the root was drawn
        distance = 0.0
    misleading = 0.2 * sum(x == 0 < y for x, y in zip(a, b, strict=True))
    bias = 0.25 if abs(sum(true) - sum(released)) > 500 else 0.0
    return min(max(1 - distance - misleading - bias, 0.0), 1.0)
