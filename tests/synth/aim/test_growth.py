"""Growth: round by round the model is asked for what it gets most wrong, for all that is left."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import understudy as us
from tests.audit.effort import effort, few
from tests.synth.planted import VAST, Heard, Table, listening, passes, planted, silent, sizes_of
from understudy.budget import Currency
from understudy.door import Candidate, Clique, Distances, Measure, MergedDoor, Select
from understudy.graph import Domain, Fit, Model, estimate, model_bytes
from understudy.synth.aim import growth
from understudy.synth.aim.growth import Growth
from understudy.synth.measure.compression import Compressed
from understudy.synth.measure.weighted_round import WeightedMarginal
from understudy.synth.select.workload import candidates

LINKS = {"a": None, "b": "a", "c": "b", "d": "c", "e": "d"}
COLUMNS = "abcde"[: effort(4, 5)]
CHAIN = {name: LINKS[name] for name in COLUMNS}
PAIRS = list(itertools.combinations(COLUMNS, 2))
TREE = len(COLUMNS) - 1
"""Pairs that tell all that there is."""
ROUNDS = effort(6, 10)
NOISY = us.Budget(epsilon=4.0, delta=1e-6)
PURE = us.Budget(epsilon=4.0, delta=0)
LITTLE = us.Budget(epsilon=2000.0, delta=1e-6)
"""Hardly any noise, and yet no choice so sure that it costs less than its price."""
WAYS = ("exponential", "gaussian")
WAY = few(WAYS, usual=1)
"""Where the way to choose is next to no matter."""


@dataclass(frozen=True)
class Round:
    """What a round might have asked for, what it was given, and what became of it."""

    allowed: list[Clique]
    grains: int
    told: bool
    model: Model


class Noted(Growth):
    """Growth whose rounds are noted."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self.rounds: list[Round] = []
        super().__init__(*args, **more)
        self.first = self.model

    def _round(self, allowed: Sequence[Clique], grains: int) -> bool:
        told = super()._round(allowed, grains)
        self.rounds.append(Round(list(allowed), grains, told, self.model))
        return told

    @property
    def asked(self) -> list[Clique]:
        return [measured.clique for measured in self.measured]

    @property
    def models(self) -> list[Model]:
        return [self.first, *(noted.model for noted in self.rounds)]


def grown(door: Heard, settings: us.AIM | None = None, *, rounds: int = ROUNDS) -> Noted:
    """Ask for columns, and then round by round."""
    aim = settings or us.AIM()
    columns = Compressed.ask(
        door,
        None,
        [WeightedMarginal(clique=(name,)) for name in door.schema.domain],
        prices=aim._prices(door, None),
        rule=aim.rule,
        progress=silent,
    )
    sizes = columns.domain
    found = Noted(
        columns,
        candidates(aim._workload(sizes), sizes, aim.most_cells),
        model_limit=aim.model_limit,
        selection_share=aim.selection_share,
        at_once=None if aim.selection == "exponential" else aim.at_once,
    )
    found.grow(rounds, silent)
    return found


def grown_from(
    table: Table, settings: us.AIM | None = None, *, rounds: int = ROUNDS, **other: Any
) -> Noted:
    with listening(table, **other) as door:
        return grown(door, settings, rounds=rounds)


@cache
def chained(way: Any, budget: us.Budget = VAST) -> tuple[Heard, Noted]:
    """All rounds of a chain, and the door behind which it was."""
    with listening(planted(CHAIN), budget=budget) as door:
        return door, grown(door, us.AIM(selection=way))


def truth(table: Table, clique: Clique) -> NDArray[np.int64]:
    shape = [sizes_of(table)[name] for name in clique]
    cells = np.ravel_multi_index([table[name] for name in clique], shape)
    return np.bincount(cells, minlength=math.prod(shape))


def error(model: Model, table: Table, workload: Sequence[Clique]) -> float:
    """The mean L1 distance over a workload, in rows."""
    apart = [model.marginal(c).reshape(-1) - truth(table, c) for c in workload]
    return float(np.mean([np.abs(a).sum() for a in apart]))


# With almost no noise


@pytest.mark.parametrize("way", WAYS)
def test_the_workloads_error_falls_from_round_to_round(way: Any) -> None:
    table = planted(CHAIN)
    _, found = chained(way)
    errors = [error(model, table, PAIRS) for model in found.models]
    assert len(errors) == 1 + ROUNDS
    assert all(later < 0.99 * before for before, later in itertools.pairwise(errors))
    assert errors[0] > 300
    # A tree of pairs is nearly all that there is, and after all rounds nothing is left.
    assert set(found.asked[:TREE]) == set(itertools.pairwise(COLUMNS))
    assert errors[TREE] < 20
    assert errors[ROUNDS] < 0.5


def test_a_round_asks_for_what_the_model_so_far_gets_most_wrong() -> None:
    table = planted(CHAIN)
    _, found = chained("exponential")
    for model, asked in zip(found.models, found.asked, strict=False):
        assert asked == max(PAIRS, key=lambda pair: error(model, table, [pair]))


def test_both_ways_to_choose_agree_where_there_is_no_noise() -> None:
    one, other = (chained(way)[1].asked for way in WAYS)
    assert one == other
    assert sorted(one) == PAIRS


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("favoured", [("a", "b"), ("c", "d")], ids=str)
def test_of_two_that_are_wrong_alike_the_one_of_more_weight_is_asked(
    favoured: Clique, way: Any
) -> None:
    """d follows c just as b follows a; in the workload one of them is worth half as much more."""
    one = planted({"a": None, "b": "a"})
    table = {"a": one["a"], "b": one["b"], "c": one["a"], "d": one["b"]}
    workload = tuple((c, 1.5 if c == favoured else 1.0) for c in (("a", "b"), ("c", "d")))
    found = grown_from(table, us.AIM(workload=workload, selection=way), rounds=2)
    assert found.asked[0] == favoured
    assert set(found.asked) == {("a", "b"), ("c", "d")}


def test_a_round_is_offered_what_the_model_expects_less_what_noise_would_add() -> None:
    door, found = chained("exponential", NOISY)
    scales = [m.queries[0].scale for m in door.heard if isinstance(m, Measure)][1:]
    for model, question, scale in zip(found.models, door.choices, scales, strict=False):
        lost = math.sqrt(2 / math.pi) * scale
        assert [c.clique for c in question.candidates] == PAIRS
        for candidate in question.candidates:
            expected = model.marginal(candidate.clique).reshape(-1)
            assert candidate.expected == pytest.approx(expected)
            # Each pair serves itself with both columns, and others with one.
            others = 2 * (len(COLUMNS) - 2)
            penalty = np.minimum(lost, expected).sum()
            share = 1 + penalty / (2 * expected.sum())
            assert candidate.weight == pytest.approx((2 + others) * share)
            assert candidate.penalty == pytest.approx(penalty / share, rel=1e-6)


def test_a_function_of_a_column_of_many_codes_is_asked_in_spite_of_noise() -> None:
    """30 × 30 cells of one row each, with noise of four: nearly all of them hold nothing."""
    rng = np.random.default_rng(2)
    x, p = rng.integers(30, size=900), rng.integers(2, size=900)
    q = np.where(rng.random(900) < 0.6, p, rng.integers(2, size=900))
    table = {"x": x, "p": p, "y": x * 7 % 30, "q": q}
    with listening(table, budget=NOISY) as door:
        found = grown(door, rounds=6)
    assert found.asked[0] == ("x", "y")
    first = next(c for c in door.choices[0].candidates if c.clique == ("x", "y"))
    second = [m for m in door.heard if isinstance(m, Measure)][1]
    # With noise in all cells it would seem to add more than there is to be mended.
    assert second.queries[0].scale * len(first.expected) > 2 * 900
    # What was asked is put right: hardly a row is left where there was none.
    expected = found.rounds[0].model.marginal(("x", "y"))
    assert expected.max() > 10


# Warm starts


@pytest.mark.parametrize("way", WAY)
def test_each_fit_begins_from_the_last_model(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[tuple[Model | None, int, Fit]] = []

    def noted(domain: Domain, measured: Any, *, start: Model | None, most: int, **more: Any) -> Fit:
        fit = estimate(domain, measured, start=start, most=most, **more)
        fits.append((start, len(measured), fit))
        return fit

    monkeypatch.setattr(growth, "estimate", noted)
    found = grown_from(planted(CHAIN), us.AIM(selection=way), rounds=4)
    last = found.settle(silent)
    assert [start for start, _, _ in fits] == [None, *(fit.model for _, _, fit in fits[:-1])]
    assert last is fits[-1][2].model
    # Columns first, then one answer more each round, and all of them again in the end.
    alone = len(COLUMNS)
    assert [known for _, known, _ in fits] == [alone + i for i in (0, 1, 2, 3, 4, 4)]


def test_the_last_model_is_fitted_well() -> None:
    """To the tolerance of the engine, whatever rounds in between were content with."""
    _, found = chained("exponential", NOISY)
    again = estimate(
        found._columns.domain,
        [*found._columns.evidence(), *found.measured],
        total=found._columns.crowd.rows,
        start=found.settle(silent),
        most=1,
    )
    assert again.certain


# What rounds cost


FULL = dict(zip("abcd", np.indices((4,) * 4).reshape(4, -1), strict=True))
"""Columns that tell nothing of each other: every row that there can be, once."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("budget", [NOISY, PURE], ids=["gdp", "pure"])
def test_each_round_costs_its_price_and_the_last_one_what_is_left(
    way: Any, budget: us.Budget
) -> None:
    with listening(planted(CHAIN), budget=budget) as door:
        found = grown(door, us.AIM(selection=way, first_share=0.4, selection_share=0.2))
    kinds = Select if way == "exponential" else Distances
    assert [type(question) for question in door.heard[1:]] == [kinds, Measure] * len(found.rounds)
    first, *rounds = door.shares
    assert first == pytest.approx(0.4, rel=1e-9)
    given = [noted.grains / budget.grains for noted in found.rounds]
    assert rounds[::2] == pytest.approx([0.2 * share for share in given], rel=1e-6)
    assert rounds[1::2] == pytest.approx([0.8 * share for share in given], rel=1e-6)
    assert given[0] == pytest.approx(0.6 / ROUNDS)
    assert 1 - 1e-9 <= sum(door.shares) <= 1


@pytest.mark.parametrize("way", WAYS)
def test_rounds_that_tell_nothing_make_those_after_them_larger(way: Any) -> None:
    """Of ten rounds there are a few: each four times as large as one that told nothing."""
    found = grown_from(FULL, us.AIM(selection=way), rounds=10, budget=NOISY)
    assert len(found.rounds) <= 5
    assert not all(noted.told for noted in found.rounds[:-1])
    given = [noted.grains for noted in found.rounds]
    for (before, after), noted in zip(itertools.pairwise(given[:-1]), found.rounds, strict=False):
        assert after == (before if noted.told else 4 * before)
    assert max(given[:-1]) == 4 * given[0]
    # And with less noise.
    scales = [measured.scale for measured in found.measured]
    assert scales[-1] < 0.6 * scales[0]


@pytest.mark.parametrize("way", WAY)
def test_a_round_that_told_something_is_followed_by_one_of_the_same_size(way: Any) -> None:
    """Of a chain there is a tree of pairs to be told, and with almost no noise all pairs."""
    for budget, told in ((NOISY, TREE), (VAST, ROUNDS - 1)):
        _, found = chained(way, budget)
        assert all(noted.told for noted in found.rounds[:told])
        given = [noted.grains for noted in found.rounds]
        assert len({*given[:told]}) == 1


@pytest.mark.parametrize("rounds", [1, 2, 7])
@pytest.mark.parametrize("table", [planted(CHAIN), FULL], ids=["rich", "poor"])
def test_nothing_is_left_however_many_rounds_there_are(table: Table, rounds: int) -> None:
    with listening(table, budget=NOISY) as door:
        found = grown(door, rounds=rounds)
    assert 1 - 1e-9 <= sum(door.shares) <= 1
    assert 1 <= len(found.rounds) <= rounds


def test_what_a_round_told_is_held_against_its_noise() -> None:
    """A round that told something moved the model by more than noise in every cell would."""
    _, found = chained("exponential", NOISY)
    seen = set()
    for before, noted, measured in zip(found.models, found.rounds, found.measured, strict=False):
        own = before.marginal(measured.clique)
        moved = float(np.abs(noted.model.marginal(measured.clique) - own).sum())
        lost = math.sqrt(2 / math.pi) * measured.scale
        assert noted.told == (moved > np.minimum(lost, own).sum())
        seen.add(noted.told)
    assert seen == {True, False}


# What may be asked


def model_after(found: Noted, rounds: int) -> int:
    return model_bytes(found._columns.domain, found.asked[:rounds])


@pytest.mark.parametrize("way", WAY)
def test_the_model_is_no_larger_than_the_share_of_the_budget_used_allows(way: Any) -> None:
    limit = 3000
    settings = us.AIM(degree=3, model_limit=limit, selection=way)
    with listening(planted(CHAIN), budget=LITTLE) as door:
        found = grown(door, settings)
    used = np.cumsum(door.shares[1:])[1::2] / 0.7
    sizes = [model_after(found, i) for i in range(1, len(used) + 1)]
    assert all(size <= limit * share * (1 + 1e-9) for size, share in zip(sizes, used, strict=True))
    assert 1 - 1e-9 <= sum(door.shares) <= 1
    # Without a limit it would be larger at once.
    free = grown_from(planted(CHAIN), us.AIM(degree=3, selection=way), rounds=3, budget=LITTLE)
    assert model_after(free, 3) > limit * used[2]


def test_more_may_be_asked_the_more_of_the_budget_is_used() -> None:
    """What was too large at first is allowed later; and what is within a table of the model."""
    settings = us.AIM(degree=3, model_limit=effort(2500, 4000))
    found = grown_from(planted(CHAIN), settings)
    triples = [sum(len(clique) == 3 for clique in noted.allowed) for noted in found.rounds]
    assert triples[0] == 0
    assert triples[-1] > 0
    for i, noted in enumerate(found.rounds[1:], 1):
        for clique in found.asked[:i]:
            assert clique in noted.allowed


def test_where_the_share_allows_nothing_all_that_the_limit_allows_may_be_asked() -> None:
    """A pair's table with the other columns by themselves: a round's share of it is no room."""
    needed = model_bytes(Domain(dict.fromkeys(COLUMNS, 4)), [("a", "b")])
    with listening(planted(CHAIN), budget=NOISY) as door:
        found = grown(door, us.AIM(model_limit=needed))
    assert found.rounds[0].allowed == PAIRS
    # There is room for this one alone, again and again.
    assert len(set(found.asked)) == 1
    assert 1 - 1e-9 <= sum(door.shares) <= 1


def test_where_no_pair_fits_no_round_is_asked() -> None:
    needed = model_bytes(Domain(dict.fromkeys(COLUMNS, 4)), [("a", "b")])
    with listening(planted(CHAIN), budget=NOISY) as door:
        found = grown(door, us.AIM(model_limit=needed - 1))
    assert found.asked == []
    assert found.model is found.first
    assert door.asked == [[(name,) for name in COLUMNS]]


@pytest.mark.parametrize("way", WAY)
def test_candidates_of_too_many_cells_are_never_asked(way: Any) -> None:
    """The last has nine codes, and is told by the one before alone: it is asked with none."""
    table, before, last = planted(CHAIN), COLUMNS[-2], COLUMNS[-1]
    table[last] = table[last] * 2
    settings = us.AIM(degree=3, most_cells=35, selection=way, threshold=0.0)
    with listening(table, sizes={last: 9}) as door:
        found = grown(door, settings, rounds=effort(4, 8))
    offered = {c.clique for question in door.choices for c in question.candidates}
    assert offered == set(itertools.combinations(COLUMNS[:-1], 2))
    assert set(found.asked) == offered
    # One cell more, and there it is.
    allowed = us.AIM(degree=3, most_cells=36, selection=way, threshold=0.0)
    more = grown_from(table, allowed, rounds=effort(4, 8), sizes={last: 9})
    assert (before, last) in more.asked


@pytest.mark.parametrize("way", WAYS)
def test_candidates_are_counted_once_for_all_rounds(
    way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = passes(monkeypatch)
    found = grown_from(planted(CHAIN), us.AIM(selection=way), rounds=3)
    assert len(found.rounds) == 3
    assert counted == [PAIRS]


# Distances with noise


@pytest.mark.parametrize("at_once", few([3, 1], usual=1))
def test_distances_are_asked_of_all_and_then_of_the_most_wrong_as_far_as_is_known(
    at_once: int,
) -> None:
    with listening(planted(CHAIN)) as door:
        found = grown(door, us.AIM(selection="gaussian", at_once=at_once))
    first, *later = ([c.clique for c in question.candidates] for question in door.choices)
    assert first == PAIRS
    assert {len(asked) for asked in later} == {at_once}
    for model, asked, chosen in zip(found.models[1:], later, found.asked[1:], strict=False):
        assert chosen in asked
        # Of those asked about it is the most wrong.
        assert chosen == max(asked, key=lambda pair: error(model, planted(CHAIN), [pair]))


def test_a_candidate_is_worth_its_weight_by_its_noisy_distance_less_its_penalty_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The penalty is taken off by the door, and not a second time."""
    best: list[Clique] = []
    told = MergedDoor.distances

    def noted(door: MergedDoor, listed: Sequence[Candidate], **more: Any) -> NDArray[np.float64]:
        found = told(door, listed, **more)
        worth = [c.weight * d for c, d in zip(listed, found, strict=True)]
        best.append(listed[int(np.argmax(worth))].clique)
        return found

    monkeypatch.setattr(MergedDoor, "distances", noted)
    # Pairs of columns of 4 and of 16 codes: penalties that are far apart.
    wide = {name: column * 5 for name, column in planted(CHAIN, seed=1).items()}
    table = {f"wide {n}": column for n, column in wide.items()} | planted(CHAIN)
    settings = us.AIM(selection="gaussian", threshold=0.0)
    found = grown_from(table, settings, rounds=6, budget=NOISY)
    assert found.asked == best


def test_what_is_allowed_later_is_asked_about_when_it_is() -> None:
    """Triples come in as the model may grow: each was asked about before it was chosen."""
    settings = us.AIM(degree=3, model_limit=effort(2500, 4000), selection="gaussian", at_once=2)
    with listening(planted(CHAIN)) as door:
        found = grown(door, settings)
    known: set[Clique] = set()
    for question, chosen in zip(door.choices, found.asked, strict=True):
        known |= {c.clique for c in question.candidates}
        assert chosen in known
    assert any(len(chosen) == 3 for chosen in found.asked)
    assert sum(door.shares) > 0.98


@pytest.mark.parametrize("budget", [NOISY, PURE], ids=["gdp", "pure"])
@pytest.mark.parametrize("bounding", [us.Weights(3), us.Sample(3)], ids=lambda b: b.kind)
def test_distances_have_noise_for_as_many_as_are_asked_and_for_a_persons_rows(
    bounding: Any, budget: us.Budget
) -> None:
    settings = us.AIM(selection="gaussian", at_once=4)
    with listening(
        planted(CHAIN), people=np.arange(400) // 5, bounding=bounding, budget=budget
    ) as door:
        found = grown(door, settings, rounds=3)
    power = 2 if budget.currency == Currency.GDP else 1
    for question, noted in zip(door.choices, found.rounds, strict=True):
        assert isinstance(question, Distances)
        assert question.bounding == bounding
        price = 0.1 * noted.grains / 2**80
        bound = len(question.candidates) * 3**power
        assert question.scale**power == pytest.approx(bound / price, rel=1e-6)
    assert 1 - 1e-9 <= sum(door.shares) <= 1


@pytest.mark.parametrize("way", WAYS)
def test_under_norm_choices_have_a_cap_of_their_own(way: Any) -> None:
    """Everybody has five rows, so far as noise tells; marginals are asked under Norm."""
    with listening(planted(CHAIN), people=np.arange(400) // 5, bounding=us.Norm()) as door:
        grown(door, us.AIM(selection=way), rounds=2)
    (cap,) = {question.bounding for question in door.choices}
    assert isinstance(cap, us.Weights)
    assert 5 <= cap.cap <= 12
    assert {m.bounding for m in door.heard if isinstance(m, Measure)} == {us.Norm()}
    assert sum(door.shares) <= 1
