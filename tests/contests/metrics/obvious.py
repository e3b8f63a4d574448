"""The slow obvious versions of the contests' metrics: loops over rows, from the contests' words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log, sqrt
from statistics import fmean
from typing import Any

import numpy as np
from scipy.spatial.distance import jensenshannon

from tests.evaluate.obvious import Row, l1, rows_of
from understudy.evaluate import Coded


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
    """Return each person's counts of times, then of places; persons by ascending number."""
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


def rank_bin(number: float, numbers: Sequence[float]) -> int:
    """Return the bin of a column's number of 20, by the mean place of its equals."""
    below = sum(other < number for other in numbers)
    same = sum(other == number for other in numbers)
    rank = (below + (same + 1) / 2) / len(numbers)
    return int(20 * rank) if rank < 1 else 19


def excerpt_bins(real: Sequence[Any], synthetic: Sequence[Any], own: float | None) -> list[Any]:
    """Return the bins of the values of both columns, one after the other."""
    shown = [int(v) for v in real if v is not None and v != own]
    most = {b: max(v for v in shown if rank_bin(v, shown) == b) for b in map_bins(shown)}

    def bin_of(value: Any) -> Any:
        if value is None or value == own:
            return str(value)
        if not most:
            return 0
        return next((b for b in sorted(most) if int(value) <= most[b]), max(most))

    return [bin_of(v) for v in (*real, *synthetic)]


def map_bins(numbers: Sequence[float]) -> set[int]:
    """Return the bins that some number is in."""
    return {rank_bin(number, numbers) for number in numbers}


def excerpt_score(
    real: Mapping[str, Sequence[Any]],
    synthetic: Mapping[str, Sequence[Any]],
    *,
    numeric: Sequence[str],
    place: str,
    own: Mapping[str, float],
) -> float:
    """Compare all pairs of columns, each with the place."""
    rows = len(real[place])
    binned = {name: [*real[name], *synthetic[name]] for name in real}
    for name in numeric:
        binned[name] = excerpt_bins(real[name], synthetic[name], own.get(name))
    both = [dict(zip(binned, row, strict=True)) for row in zip(*binned.values(), strict=True)]
    features = [name for name in real if name != place]
    gaps = [l1(both[:rows], both[rows:], (place, *p)) for p in combinations(features, 2)]
    return 500 * (2 - fmean(gaps))


def conjunctions_alike(
    real: Sequence[Row], synthetic: Sequence[Row], conjunctions: Sequence[Mapping[str, set[int]]]
) -> float:
    """Count the rows that satisfy each conjunction, one by one."""

    def share(rows: Sequence[Row], allowed: Mapping[str, set[int]]) -> float:
        return sum(all(row[n] in those for n, those in allowed.items()) for row in rows) / len(rows)

    errors = [log(max(share(synthetic, c), 1e-6)) - log(share(real, c)) for c in conjunctions]
    return max(0.0, 1 - sqrt(fmean(e * e for e in errors)) / log(1000))


def wages_alike(real: Sequence[Row], synthetic: Sequence[Row]) -> float:
    """Compare every true city's Gini index and rank, by loops over people."""

    def cities(rows: Sequence[Row]) -> dict[int, tuple[float, int]]:
        found = {}
        for city in {row["CITY"] for row in rows if row["INCWAGE"] < 999998}:
            mine = [r for r in rows if r["CITY"] == city and r["INCWAGE"] < 999998]
            wages = [r["INCWAGE"] for r in mine]
            apart = fmean(abs(a - b) for a in wages for b in wages)
            gini = apart / (2 * fmean(wages)) if sum(wages) else 0.0
            men, women = ([r["INCWAGE"] for r in mine if (r["SEX"] == 1) == m] for m in (1, 0))
            found[city] = gini, fmean(men or [0]) - fmean(women or [0])
        order = sorted(found, key=lambda city: (-found[city][1], city))
        return {city: (found[city][0], order.index(city)) for city in found}

    true, made = cities(real), cities(synthetic)
    halves: list[list[float]] = [[], []]
    for city, (gini, rank) in true.items():
        other = made.get(city)
        halves[0].append(0 if other is None else 1 - abs(gini - other[0]))
        off = 0 if other is None else abs(rank - other[1]) / max(len(true) - 1, 1)
        halves[1].append(0 if other is None else max(0, 1 - off))
    return fmean(sqrt(fmean(v * v for v in half)) for half in halves)
