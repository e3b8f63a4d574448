"""What is charged is what is spent: recomputed the slow, obvious way over random questions.

Nothing here uses the sensitivity formulas of the vault.  A person is placed everywhere they
can be, their rows are weighed or kept as the bounding says, and the longest whitened step
(squared L2 in ``gdp``, L1 in ``pure``) is what the question can give away of them.  Composed
costs are held against `dp_accounting`, Google's library.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from functools import partial
from itertools import combinations, combinations_with_replacement, pairwise, product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from dp_accounting.pld import privacy_loss_distribution as pld

from tests.audit.effort import effort, few, one_in
from tests.vault.worlds import DOMAIN, KEY, SCHEMA, obvious, opened
from understudy.budget import (
    GRAIN,
    Budget,
    Capped,
    Charge,
    Currency,
    Laplace,
    Sample,
    Selection,
    Weights,
    epsilon_of,
    mu_of_selection_upper,
)
from understudy.door import (
    Candidate,
    Clique,
    Distances,
    Measure,
    Query,
    Question,
    Rows,
    Select,
    Total,
    UnitCounts,
    UnitMode,
    Units,
)
from understudy.ledger import Ledger
from understudy.noise import Shape
from understudy.vault import PrivateDoor
from understudy.vault import door as vault_door
from understudy.vault.counts import exact
from understudy.vault.sensitivity import charge

CURRENCIES: tuple[Currency, ...] = (Currency.GDP, Currency.PURE)
POWER: dict[Currency, int] = {Currency.GDP: 2, Currency.PURE: 1}
"""Squares of lengths add up in ``gdp``, lengths in ``pure``."""
CLIQUES: tuple[Clique, ...] = (("a",), ("b",), ("a", "b"), ("b", "a"), ("c", "a"), ("b", "c"), ())
CELLS = list(product(*(range(size) for size in DOMAIN.values())))
Row = tuple[int, ...]
Person = dict[Row, int]
"""A person as the counts see them: the weight of their rows in 2⁻¹⁶, cell by cell."""


def dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  chooses questions, hides nothing


# Random questions


def scale_of(rng: random.Random) -> float:
    """A scale of few digits or of all of them."""
    return rng.randint(4, 4000) / 8 if rng.random() < 0.8 else rng.uniform(0.5, 1e4)


def size_of(clique: Clique) -> int:
    return math.prod(DOMAIN[n] for n in clique)


def rows_of(rng: random.Random, size: int) -> Rows:
    """Up to four sets of cells, which may overlap and need not cover."""
    sets = [rng.sample(range(size), rng.randint(1, size)) for _ in range(rng.randint(1, 4))]
    starts = np.cumsum([0, *map(len, sets)])
    return Rows(starts, np.array([cell for s in sets for cell in s]))


def query_of(rng: random.Random, cliques: Sequence[Clique]) -> Query:
    clique = rng.choice(cliques)
    rows = rows_of(rng, size_of(clique)) if rng.random() < 0.6 else None
    return Query(clique=clique, scale=scale_of(rng), rows=rows)


def bounding_of(rng: random.Random) -> Capped:
    kind = Weights if rng.random() < 0.5 else Sample
    return kind(rng.choice([1, 2, 3, 5, 20, 150]))


def measure_of(rng: random.Random, cliques: Sequence[Clique] = CLIQUES) -> Measure:
    queries = tuple(query_of(rng, cliques) for _ in range(rng.randint(1, 5)))
    return Measure(queries=queries, bounding=bounding_of(rng), price=1e12)


def unit_mode_of(rng: random.Random) -> UnitMode:
    clique = rng.choice(CLIQUES[:-1])
    labels = np.array([rng.randint(-1, 3) for _ in range(size_of(clique))])
    labelled = rng.random() < 0.5 and labels.max() >= 0
    return UnitMode(clique=clique, scale=scale_of(rng), labels=labels if labelled else None)


def unit_counts_of(rng: random.Random) -> UnitCounts:
    clique = rng.choice(CLIQUES[:-1])
    size = size_of(clique)
    return UnitCounts(
        clique=clique,
        cells=np.array(rng.sample(range(size), rng.randint(1, size))),
        times=tuple(rng.sample([1, 2, 3], rng.randint(1, 3))),
        most=rng.randint(1, 6),
        scale=scale_of(rng),
    )


def candidate_of(rng: random.Random) -> Candidate:
    clique = rng.choice(CLIQUES)
    expected = np.array([rng.uniform(-2, 9) for _ in range(size_of(clique))])
    weight, penalty = rng.choice([0.3, 1.0, 2.5]), rng.uniform(0, 5)
    return Candidate(clique=clique, expected=expected, weight=weight, penalty=penalty)


def select_of(rng: random.Random) -> Select:
    return Select(
        candidates=tuple(candidate_of(rng) for _ in range(rng.randint(1, 4))),
        epsilon=rng.choice([0.01, 0.1, 1.0, 4.0]),
        bounding=bounding_of(rng),
    )


def distances_of(rng: random.Random) -> Distances:
    candidates = tuple(candidate_of(rng) for _ in range(rng.randint(1, 6)))
    return Distances(candidates=candidates, scale=scale_of(rng), bounding=bounding_of(rng))


def plain_of(rng: random.Random) -> Question:
    """A question of any kind that adds noise."""
    total = Total(cap=rng.randint(1, 300), scale=scale_of(rng))
    kinds: list[Callable[[random.Random], Question]]
    kinds = [measure_of, unit_mode_of, unit_counts_of, distances_of]
    return rng.choice([*(kind(rng) for kind in kinds), total, Units(scale=scale_of(rng))])


# What a person can move, by trying


def cell_of(row: Row, clique: Clique) -> int:
    number = 0
    for name in clique:
        number = number * DOMAIN[name] + row[list(DOMAIN).index(name)]
    return number


def capped(question: Measure) -> Capped:
    assert isinstance(question.bounding, Capped)
    return question.bounding


def people(bounding: Capped, rng: random.Random) -> Iterator[Person]:
    """Everyone whose rows lie in one cell or two, and some in three: full and over-full."""
    cap = bounding.cap
    for cells in [*combinations_with_replacement(CELLS, 2), *(rng.sample(CELLS, 3) for _ in CELLS)]:
        first = rng.randint(0, cap)
        held = [first, cap - first]
        weight = 2**16
        if isinstance(bounding, Weights) and cells[0] != cells[1]:
            # Any number of rows; the weights are what bounds them.
            held = [n * rng.choice([1, 2, 7]) for n in held]
            weight = min(2**16, 2**16 * cap // sum(held))
        if len(cells) > 2:
            held.append(0)
            held[0], held[2] = held[0] - held[0] // 2, held[0] // 2
        person: Person = {}
        for cell, n in zip(cells, held, strict=True):
            person[cell] = person.get(cell, 0) + n * weight
        yield person


def parts_of(question: Measure) -> list[tuple[Clique, set[int], Fraction]]:
    """Every number that is asked for: its clique, its set of cells, its noise scale."""
    parts = []
    for q in question.queries:
        if q.rows is None:
            sets = [{cell} for cell in range(size_of(q.clique))]
        else:
            sets = [set(q.rows.cells[i:j].tolist()) for i, j in pairwise(q.rows.starts)]
        parts += [(q.clique, s, Fraction(q.scale)) for s in sets]
    return parts


def tried(question: Measure, currency: Currency, rng: random.Random) -> Fraction:
    """The worst of all people tried: Σ (moved/scale)² in ``gdp``, Σ |moved|/scale in ``pure``."""
    power = POWER[currency]
    parts = parts_of(question)
    common = math.lcm(*(s.numerator for _, _, s in parts))
    inverse = [(common // s.numerator) * s.denominator for _, _, s in parts]
    touching = {
        row: [i for i, (clique, held, _) in enumerate(parts) if cell_of(row, clique) in held]
        for row in CELLS
    }
    worst = 0
    for person in people(capped(question), rng):
        moved: Counter[int] = Counter()
        for row, weight in person.items():
            for part in touching[row]:
                moved[part] += weight * inverse[part]
        worst = max(worst, sum(m**power for m in moved.values()))
    return Fraction(worst, (2**16 * common) ** power)


def documented(question: Measure, currency: Currency) -> Fraction:
    """The bound in words: C, and for each set of columns its own dearest cell.

    Where a set of columns is written in two orders, each query has a dearest cell of its own.
    """
    power = POWER[currency]
    groups: dict[object, list[Query]] = {}
    for i, query in enumerate(question.queries):
        same = [q for q in question.queries if set(q.clique) == set(query.clique)]
        together = len({q.clique for q in same}) == 1
        groups.setdefault(query.clique if together else i, []).append(query)
    whole = Fraction(0)
    for queries in groups.values():
        parts = parts_of(Measure(queries=tuple(queries), bounding=Sample(1), price=1.0))
        costs = {
            row: sum((1 / s**power for c, held, s in parts if cell_of(row, c) in held), Fraction(0))
            for row in CELLS
        }
        whole += max(costs.values())
    return whole * Fraction(capped(question).cap) ** power


def ceiling(cost: Fraction) -> int:
    return math.ceil(cost / GRAIN)


# Each question on its own


@pytest.mark.parametrize("currency", CURRENCIES)
def test_a_measurement_costs_at_least_what_anyone_moves_and_exactly_the_bound(
    currency: Currency,
) -> None:
    """240 random measurements, or 100 of them, 324 people tried on each."""
    rng = dice(1)
    for _ in range(effort(50, 120)):
        question = measure_of(rng)
        cost = charge(question, SCHEMA, currency).grains(currency)
        assert tried(question, currency, rng) / GRAIN <= cost
        assert cost == ceiling(documented(question, currency))


@pytest.mark.parametrize("currency", CURRENCIES)
@pytest.mark.parametrize("cliques", [[("a",), ("b",), ("c",)], [("a", "b"), ("c",)], [("b", "c")]])
def test_on_columns_that_do_not_overlap_the_cost_is_reached(
    currency: Currency, cliques: list[Clique]
) -> None:
    """180 more, or 72: someone with C rows in the dearest cell spends all of it."""
    rng = dice(2)
    for _ in range(effort(12, 30)):
        question = measure_of(rng, cliques)
        cost = charge(question, SCHEMA, currency).grains(currency)
        assert cost == ceiling(tried(question, currency, rng))


def test_a_charge_for_one_row_too_few_would_be_seen() -> None:
    """The tests above can fail: a cap of 5 charged as 4 is less than people move."""
    queries = (Query(clique=("a",), scale=2.0),)
    full = Measure(queries=queries, bounding=Sample(5), price=1e3)
    short = Measure(queries=queries, bounding=Sample(4), price=1e3)
    for currency in CURRENCIES:
        moved = tried(full, currency, dice(3)) / GRAIN
        assert moved > charge(short, SCHEMA, currency).grains(currency)


def modes(rows: Sequence[Row], question: UnitMode) -> set[int]:
    """Every label that may be called a person's most common one."""
    cells = [cell_of(row, question.clique) for row in rows]
    labels = cells if question.labels is None else [int(question.labels[c]) for c in cells]
    tally = Counter(label for label in labels if label >= 0)
    return {label for label, n in tally.items() if n == max(tally.values())}


def test_a_most_common_label_costs_one_count() -> None:
    """200 random questions: whoever it is, and however a tie falls, one count moves by 1."""
    rng = dice(4)
    for _ in range(100):
        question = unit_mode_of(rng)
        several = [rng.choices(CELLS, k=rng.randint(1, 9)) for _ in range(20)]
        worst = max(min(1, len(modes(rows, question))) for rows in [*several, CELLS])
        for currency, power in POWER.items():
            spent = worst / Fraction(question.scale) ** power
            assert charge(question, SCHEMA, currency).grains(currency) == ceiling(spent)


def counted(tally: dict[int, int], question: UnitCounts) -> int:
    """The most counts a person can move, by 1 each, whichever of their cells are chosen."""
    cells = [cell for cell in question.cells.tolist() if tally.get(cell, 0)]
    kept = combinations(cells, min(question.most, len(cells)))
    return max(sum(tally[cell] in question.times for cell in chosen) for chosen in kept)


def test_counts_of_people_by_times_cost_as_many_as_may_move() -> None:
    """300 random questions; the cost is k, and reached wherever k cells are asked for."""
    rng = dice(5)
    for _ in range(150):
        question = unit_counts_of(rng)
        asked = question.cells.tolist()
        tallies = [{c: rng.randint(0, 3) for c in asked} for _ in range(20)]
        tallies += [dict.fromkeys(asked, t) for t in (1, 2, 3)]
        worst = max(counted(tally, question) for tally in tallies)
        assert worst == min(question.most, len(asked))
        for currency, power in POWER.items():
            # Counts of 1 are as long squared as they are in L1.
            cost = charge(question, SCHEMA, currency).grains(currency)
            assert worst / Fraction(question.scale) ** power / GRAIN <= cost
            assert cost == ceiling(question.most / Fraction(question.scale) ** power)


def test_totals_cost_the_cap_and_numbers_of_people_cost_one() -> None:
    """300 random questions."""
    rng = dice(6)
    for _ in range(100):
        cap, scale = rng.randint(1, 300), scale_of(rng)
        worst = max(min(rows, cap) for rows in range(1, 700))
        for currency, power in POWER.items():
            total = charge(Total(cap=cap, scale=scale), SCHEMA, currency)
            assert total.grains(currency) == ceiling((worst / Fraction(scale)) ** power)
        units = charge(Units(scale=scale), SCHEMA, Currency.GDP)
        assert units.grains(Currency.GDP) == ceiling(1 / Fraction(scale) ** 2)


def test_distances_cost_the_cap_for_each_of_them_and_nobody_moves_them_farther() -> None:
    """150 random questions, or 60, four newcomers to each: whoever comes."""
    rng = dice(11)
    for _ in range(effort(60, 150)):
        question = distances_of(rng)
        others = {str(i): rng.choices(CELLS, k=rng.randint(1, 9)) for i in range(2)}
        before = obvious(others).exact(question)
        several = [[rng.choice(CELLS)] * 200, CELLS, *(rng.choices(CELLS, k=n) for n in (3, 20))]
        moves = [obvious({**others, "p": own}).exact(question) - before for own in several]
        for currency, power in POWER.items():
            cost = charge(question, SCHEMA, currency).grains(currency)
            scale = 2**16 * Fraction(question.scale)
            for move in moves:
                assert sum((abs(m) / scale) ** power for m in move.tolist()) / GRAIN <= cost
            assert cost == ceiling(spent(question, power))


# Selection: the exact distributions of the code's own scores and rate, on neighbours

Curve = Callable[[mpmath.mpf], mpmath.mpf]
"""The least type II error that is allowed at a type I error."""
Pair = tuple[Select, Any, Any]
"""A selection, and its exact distances on a table and on a neighbour."""


def log_shares(
    question: Select, distances: Any, patch: pytest.MonkeyPatch, times: int = 1
) -> list[mpmath.mpf]:
    """Give the log of the exact probability of every candidate, at so many times the rate."""
    asked: list[tuple[list[int], Fraction]] = []

    def choose(scores: list[int], rate: Fraction, *, entropy: object) -> int:
        asked.append((scores, rate))
        return 0

    patch.setattr(vault_door, "choose", choose)
    vault_door._chosen(question, distances, bytes)
    ((scores, rate),) = asked
    keys = [times * mpmath.mpf(rate.numerator * s) / rate.denominator for s in scores]
    top = max(keys)
    whole = top + mpmath.log(sum(mpmath.exp(k - top) for k in keys))
    return [k - whole for k in keys]


def gaussian(mu: float) -> Curve:
    """The trade-off curve of μ-GDP."""
    return lambda a: mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * a) - mpmath.mpf(mu))


def pure(epsilon: float) -> Curve:
    """The trade-off curve of ε-DP."""
    e = mpmath.exp(mpmath.mpf(epsilon))
    return lambda a: max(1 - e * a, (1 - a) / e, mpmath.mpf(0))


def covered(here: list[Any], there: list[Any], curve: Curve) -> bool:
    """Whether the exact trade-off between two distributions lies on or above a curve, both ways.

    It is a broken line.  A convex curve that is not above its corners is above it nowhere.
    """
    for one, other in ((here, there), (there, here)):
        order = sorted(range(len(one)), key=lambda i: other[i] - one[i], reverse=True)
        for cut in range(1, len(order)):
            type_one = sum(mpmath.exp(one[i]) for i in order[:cut])
            type_two = sum(mpmath.exp(other[i]) for i in order[cut:])
            # A corner may lie on the curve: the slack is that of 60 digits.
            least = curve(type_one) * (1 - mpmath.mpf(10) ** -20) - mpmath.mpf(10) ** -50
            if type_two < least:
                return False
    return True


def at_random() -> Iterator[Pair]:
    """150 random selections on random neighbours, or the first of them."""
    rng = dice(7)
    for _ in range(effort(20, 150)):
        question = select_of(rng)
        others = {str(i): rng.choices(CELLS, k=rng.randint(1, 9)) for i in range(3)}
        own = [rng.choice(CELLS)] * 40 if rng.random() < 0.5 else rng.choices(CELLS, k=7)
        before, after = others, {**others, "newcomer": own}
        yield question, obvious(before).exact(question), obvious(after).exact(question)


UP, DOWN, STAYS, PARTLY = 0.0, 3.0, 2.5, 2.25
"""What is expected of 2·C rows that become 3·C, in C: so the distance goes, or half of the way."""
GRID = [
    *product(
        [(1.0, 1.0), (0.3, 2.5)],
        product([0, 1, 8], repeat=2),
        product([UP, DOWN, STAYS, PARTLY], repeat=2),
    ),
    *product(
        [(1.0, 1.0, 1.0), (0.3, 1.0, 2.5)],
        [(0, 0, 0), (0, 1, 8), (1, 8, 0), (8, 0, 1)],
        product([UP, DOWN, STAYS], repeat=3),
    ),
]
"""Weights of two or three, by how much of C each leads before, and how each of them moves."""


def on_a_grid(bounding: Capped, epsilon: float, step: int = 5) -> Iterator[Pair]:
    """Neighbours by one person of C rows, counted by the engine; penalties make the leads."""
    cap = bounding.cap
    others = {"x": [CELLS[0]] * cap, "y": [CELLS[1]] * cap}
    with opened(others) as before, opened({**others, "newcomer": [CELLS[2]] * cap}) as after:
        for weights, leads, moves in one_in(step, GRID):
            candidates = tuple(
                Candidate(
                    clique=(),
                    expected=np.array([m * cap]),
                    weight=w,
                    penalty=cap * (abs(2 - m) - n),
                )
                for w, n, m in zip(weights, leads, moves, strict=True)
            )
            question = Select(candidates=candidates, epsilon=epsilon, bounding=bounding)
            yield question, exact(question, before), exact(question, after)


@pytest.mark.parametrize(
    "pairs",
    [
        at_random,
        partial(on_a_grid, Weights(1), 0.1, 11),
        partial(on_a_grid, Sample(3), 1.0),
        partial(on_a_grid, Weights(20), 4.0, 11),
    ],
    ids=["at random", "a cap of 1", "a cap of 3", "a cap of 20"],
)
def test_a_selection_costs_what_its_exact_distributions_differ_by(
    pairs: Callable[[], Iterator[Pair]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both currencies, for scores of any weights and penalties that move up and down."""
    with mpmath.workdps(60):
        slack = mpmath.mpf(10) ** -50
        for question, *distances in pairs():
            here, there = (log_shares(question, d, monkeypatch) for d in distances)
            ratios = [a - b for a, b in zip(here, there, strict=True)]
            assert max(map(abs, ratios)) <= question.epsilon + slack
            assert max(ratios) - min(ratios) <= question.epsilon + slack
            cost = charge(question, SCHEMA, Currency.PURE).grains(Currency.PURE)
            assert cost == ceiling(Fraction(question.epsilon))
            assert covered(here, there, pure(question.epsilon))
            mu = mu_of_selection_upper(question.epsilon)
            assert charge(question, SCHEMA, Currency.GDP).grains(Currency.GDP) == ceiling(
                Fraction(mu) ** 2
            )
            assert covered(here, there, gaussian(mu))


def test_the_curve_of_a_selection_would_be_seen_to_be_crossed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The test above can fail: somewhere on the grid a charge of 2% less is too little."""
    with mpmath.workdps(60):
        curves = [pure(0.98), gaussian(0.98 * mu_of_selection_upper(1.0))]
        shares = [
            [log_shares(question, d, monkeypatch) for d in distances]
            for question, *distances in on_a_grid(Sample(3), 1.0)
        ]
        for curve in curves:
            assert not all(covered(here, there, curve) for here, there in shares)


def test_the_half_left_out_of_a_selection_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As libraries have it that think of counts alone: right where all scores move one way.

    Distances move both ways, and then either curve is crossed.
    """
    held: dict[bool, list[list[bool]]] = {True: [], False: []}
    with mpmath.workdps(60):
        curves = [pure(1.0), gaussian(mu_of_selection_upper(1.0))]
        for question, *distances in on_a_grid(Sample(3), 1.0, step=7):
            before, after = distances
            here, there = (log_shares(question, d, monkeypatch, times=2) for d in distances)
            one_way = bool(np.all(after >= before) or np.all(after <= before))
            held[one_way].append([covered(here, there, curve) for curve in curves])
    assert np.all(held[True])
    assert np.mean(held[False], axis=0).max() < 0.6


# Compositions


def spent(question: Question, power: int) -> Fraction:
    """The cost of a question with noise, from what is said of it in words."""
    match question:
        case Measure():
            return documented(question, Currency.GDP if power == 2 else Currency.PURE)
        case Select():
            raise AssertionError("a selection adds no noise")
        case UnitCounts():
            return question.most / Fraction(question.scale) ** power
        case Distances():
            cap = Fraction(question.bounding.cap)
            return len(question.candidates) * (cap / Fraction(question.scale)) ** power
        case Total():
            return (question.cap / Fraction(question.scale)) ** power
        case _:
            return 1 / Fraction(question.scale) ** power


def test_composed_questions_cost_what_dp_accounting_says() -> None:
    """60 random runs of Gaussian questions, or 25: never below Google's ε, and hardly above."""
    rng = dice(8)
    for _ in range(effort(25, 60)):
        run = [plain_of(rng) for _ in range(rng.randint(1, 8))]
        grains = sum(charge(q, SCHEMA, Currency.GDP).grains(Currency.GDP) for q in run)
        whole = sum((spent(q, 2) for q in run), Fraction(0))
        assert 0 <= grains * GRAIN - whole < len(run) * GRAIN
        mu, delta = math.sqrt(whole), 10.0 ** rng.uniform(-14, -2)
        if mu > 60:
            continue  # beyond their floating-point arithmetic
        theirs = gaussian_mechanism.get_epsilon_gaussian(1 / mu, delta, tol=1e-12)
        ours = epsilon_of(grains, Currency.GDP, delta)
        assert theirs * (1 - 1e-9) - 1e-9 <= ours <= theirs * (1 + 1e-6) + 1e-9


def test_composed_pure_questions_cost_the_sum_of_their_epsilons() -> None:
    """150 random runs, selections among them."""
    rng = dice(9)
    for _ in range(150):
        run = [rng.choice([plain_of, select_of])(rng) for _ in range(rng.randint(1, 8))]
        grains = sum(charge(q, SCHEMA, Currency.PURE).grains(Currency.PURE) for q in run)
        whole = sum(Fraction(q.epsilon) if isinstance(q, Select) else spent(q, 1) for q in run)
        assert 0 <= grains * GRAIN - whole < len(run) * GRAIN
        told = Fraction(epsilon_of(grains, Currency.PURE, 0.0))
        assert whole <= told <= whole * (1 + Fraction(1, 10**12))


def two_points(epsilon: float, t: float) -> Any:
    """The selection between two whose log-ratios are t and t − ε, as Google's library has it."""
    up, down = math.exp(t), math.exp(t - epsilon)
    b = (1 - down) / (up - down)
    return pld.from_two_probability_mass_functions(
        {0: math.log(b), 1: math.log1p(-b)},
        {0: math.log(up * b), 1: math.log1p(-up * b)},
        pessimistic_estimate=False,
        value_discretization_interval=1e-4,
    )


# Each of the three of either first, and then all pairs.
PAIRS = [(0.1, 0.8), (1.0, 0.5), (3.0, 0.2), (0.1, 0.2), (0.1, 0.5), (1.0, 0.2), (1.0, 0.8)]


@pytest.mark.parametrize(("epsilon", "share"), few([*PAIRS, (3.0, 0.5), (3.0, 0.8)], usual=3))
def test_selections_beside_noise_cost_no_less_than_their_privacy_loss(
    epsilon: float, share: float
) -> None:
    """Selections, a Gaussian and a Laplace together, by convolved privacy losses, rounded down."""
    times, sigma, scale = 4, 2.5, 7.0
    loss = two_points(epsilon, share * epsilon).self_compose(times)
    rounded = {"pessimistic_estimate": False, "value_discretization_interval": 1e-4}
    loss = loss.compose(pld.from_gaussian_mechanism(sigma, use_connect_dots=False, **rounded))
    loss = loss.compose(pld.from_laplace_mechanism(scale, use_connect_dots=False, **rounded))
    noise = Charge((Laplace(sensitivity=Fraction(1), scale=scale),)).grains(Currency.GDP)
    grains = times * Charge((Selection(epsilon=epsilon),)).grains(Currency.GDP) + noise
    grains += charge(Units(scale=sigma), SCHEMA, Currency.GDP).grains(Currency.GDP)
    for delta in (1e-8, 1e-5, 1e-3):
        assert loss.get_epsilon_for_delta(delta) <= epsilon_of(grains, Currency.GDP, delta)


def test_half_the_mu_of_many_selections_would_be_seen() -> None:
    """The test above can fail: sixteen selections lose more than half their μ admits."""
    loss = two_points(1.0, 0.5).self_compose(16)
    half = 0.5 * 4 * mu_of_selection_upper(1.0)
    theirs = loss.get_epsilon_for_delta(0.01)
    assert theirs > gaussian_mechanism.get_epsilon_gaussian(1 / half, 0.01)
    assert theirs <= gaussian_mechanism.get_epsilon_gaussian(0.5 / half, 0.01)


# What the door draws is what it charged for


class Told:
    """Noise that is a constant, and remembers what scale it was asked for."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.asked: list[tuple[Shape, float, int]] = []

    def __call__(self, shape: Shape, scale: float, size: int, *, entropy: object) -> Any:
        self.asked.append((shape, scale, size))
        return np.full(size, self.value, dtype=np.int64)


def ask(door: PrivateDoor, question: Question) -> Any:
    match question:
        case Measure():
            found = door.measure(question.queries, price=question.price)
            return np.concatenate([m.values for m in found])
        case UnitMode():
            return door.unit_mode(question.clique, scale=question.scale, labels=question.labels)
        case UnitCounts():
            names = ("cells", "times", "most", "scale")
            given = {name: getattr(question, name) for name in names}
            return door.unit_counts(question.clique, **given).reshape(-1)
        case Distances():
            asked, bounding = question.candidates, question.bounding
            return door.distances(asked, scale=question.scale, bounding=bounding)
        case Total():
            return np.array([door.total(cap=question.cap, scale=question.scale)])
        case Units():
            return np.array([door.units(scale=question.scale)])
        case _:
            raise AssertionError(question)


def declared(question: Any) -> list[float]:
    """The noise scale that every number of an answer was charged for."""
    if isinstance(question, Measure):
        sizes = [size_of(q.clique) if q.rows is None else q.rows.count for q in question.queries]
        return [q.scale for q, n in zip(question.queries, sizes, strict=True) for _ in range(n)]
    return [question.scale]


@pytest.mark.parametrize("currency", CURRENCIES)
def test_the_noise_at_the_door_has_the_scale_that_was_charged(
    currency: Currency, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step of an answer is seen from outside, by noise of 0 and of 1 step."""
    rng = dice(10)
    rich = Budget(epsilon=1e9, delta=1e-9 if currency == Currency.GDP else 0)
    shape = "gaussian" if currency == Currency.GDP else "laplace"
    crowd = {str(i): rng.choices(CELLS, k=rng.randint(1, 9)) for i in range(4)}
    with (
        opened(crowd) as table,
        closing(Ledger.create(tmp_path / "a.ledger", budget=rich, key=KEY)) as ledger,
    ):
        run = ledger.begin(rich, {})
        for question in [distances_of(rng) for _ in range(3)] + [plain_of(rng) for _ in range(12)]:
            bounding = question.bounding if isinstance(question, Measure) else Sample(1)
            door, noises = PrivateDoor(table, run=run, bounding=bounding), [Told(0), Told(1)]
            door._asked = len(run.state().answers)
            answers = []
            for noise in noises:
                monkeypatch.setattr(vault_door, "draw", noise)
                answers.append(ask(door, question))
            assert noises[0].asked == noises[1].asked
            drawn = [scale for s, scale, size in noises[1].asked for _ in range(size)]
            assert {s for s, _, _ in noises[1].asked} == {shape}
            scales = np.array(drawn) * (answers[1] - answers[0])
            assert scales.tolist() == np.broadcast_to(declared(question), len(drawn)).tolist()
            unit = bounding.unit_weight if isinstance(question, Measure) else 1
            unit = 2**16 if isinstance(question, Distances) else unit
            assert (answers[0] * unit).tolist() == obvious(crowd).exact(question).tolist()
            booked = run.state().reservations[-1].grains
            power = POWER[currency]
            assert booked == ceiling(spent(question, power))
