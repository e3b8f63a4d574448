"""TwoRound through the whole house: what is planned, asked and put together, and what comes out."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import few, in_audit, one_in
from tests.session.sameness import same
from tests.synth import rides
from tests.synth.crowds import door_to, random_crowd
from tests.synth.town import (
    BUDGET,
    CLIQUES,
    IDS_BY,
    KNOWN,
    NAMED,
    PRIVATE,
    PUBLIC,
    SCHEMA,
    check_spent,
    check_untouched,
    read,
    session,
    town,
)
from tests.vault.obvious import People
from understudy.audit import replay
from understudy.audit.neighbours import Pair
from understudy.budget import Currency, Gaussian, Laplace, Selection
from understudy.door import Clique, Measurement
from understudy.errors import BudgetError, QuestionError, UnderstudyError, UsageError
from understudy.graph import Domain, outer_cliques
from understudy.public import PublicTable
from understudy.schema import Categorical, Id, Integer, Schema
from understudy.synth import mechanism_from_dict, mechanism_to_dict
from understudy.synth.measure import compression as compressed
from understudy.synth.measure.rules import RULES
from understudy.synth.measure.support import find_support
from understudy.synth.measure.weighted_round import weighted_round
from understudy.synth.select.cliques import select_pairs
from understudy.synth.tworound import mechanism as tworound
from understudy.synth.tworound.plan import RoundsPlan

SIZES = {"sex": 2, "age": 60, "city": 13, "tens": 10, "rest": 11, "rent": 4}
NAMES = tuple(SIZES)
VAST = us.Budget(epsilon=1e5, delta=1e-6)
GIVEN = us.TwoRound(cliques=CLIQUES)
CERTAIN = 30.0
"""A threshold that noise never reaches; with a vast budget it is less than a row."""
ROOT = Path(__file__).parents[3]


def told(release: us.Release) -> dict[str, Any]:
    details: dict[str, Any] = release.manifest["mechanism"]
    return details


def rounds_of(release: us.Release) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What was asked in each of the two rounds."""
    asked = told(release)["cliques"]
    columns = len(told(release)["support"])
    assert [c["clique"] for c in asked[:columns]] == [[n] for n in told(release)["support"]]
    return asked[:columns], asked[columns:]


def second_of(release: us.Release) -> list[Clique]:
    return [tuple(c["clique"]) for c in rounds_of(release)[1]]


def sigmas(asked: list[dict[str, Any]], weights: dict[frozenset[str], float]) -> list[float]:
    """The noise of a round whose weights have length 1, as each of its queries has it."""
    own = [weights.get(frozenset(c["clique"]), 1.0) for c in asked]
    level = math.sqrt(sum(w**2 for w in own))
    return [c["scale"] * w / level for c, w in zip(asked, own, strict=True)]


def shares_of(table: dict[str, Any], clique: Clique) -> Any:
    """The share of the rows in every cell of a clique; the parts of wages are columns too."""
    codes, kept = SCHEMA.released().encode({n: np.asarray(c) for n, c in table.items()})
    assert kept.all()
    cell = np.zeros(len(kept), dtype=np.int64)
    for name in clique:
        cell = cell * SIZES[name] + codes[name]
    return np.bincount(cell, minlength=math.prod(SIZES[n] for n in clique)) / len(cell)


def distance(one: dict[str, Any], other: dict[str, Any], clique: Clique) -> float:
    return float(np.abs(shares_of(one, clique) - shares_of(other, clique)).sum() / 2)


def test_the_schema_is_as_the_tests_take_it() -> None:
    assert SCHEMA.domain == SIZES


# With almost no noise


@pytest.fixture(scope="module")
def vast(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    place = tmp_path_factory.mktemp("vast")
    release = session(place, budget=VAST).run(
        us.TwoRound(cliques=CLIQUES, bins=60, threshold=CERTAIN)
    )
    check_spent(place)
    return release


def test_with_almost_no_noise_planted_pairs_are_those_of_the_table(vast: us.Release) -> None:
    assert len(vast) == pytest.approx(len(PRIVATE["age"]), rel=0.001)
    ones: list[Clique] = [(n,) for n in NAMES]
    for clique in (*ones, *CLIQUES):
        assert distance(vast.columns, PRIVATE, clique) < 0.03, clique
    # Columns that are permuted are far off, so that the bound above can fail.
    rng = np.random.default_rng(0)
    apart = {n: rng.permutation(c) for n, c in PRIVATE.items()}
    for clique in CLIQUES[:3]:
        assert distance(apart, PRIVATE, clique) > 0.2


def test_a_split_column_is_released_as_one(vast: us.Release) -> None:
    assert list(vast.columns) == ["sex", "age", "city", "wage", "rent"]
    wage = vast.columns["wage"]
    assert wage.dtype.kind == "i"
    assert (wage == 999).mean() == pytest.approx((PRIVATE["wage"] == 999).mean(), abs=0.01)
    assert np.isin(wage[wage != 999] % 10, (0, 5)).mean() > 0.99
    assert wage[wage != 999].max() <= 199


def test_codes_that_nobody_has_are_put_together(vast: us.Release) -> None:
    """Nobody is above 49: these ages are one; and so are cities elsewhere, with those of none."""
    support = told(vast)["support"]
    assert support["age"] == {"codes": 60, "supported": 50, "left": 51}
    assert support["city"] == {"codes": 13, "supported": 4, "left": 5}
    assert support["rent"] == {"codes": 4, "supported": 4, "left": 4}
    assert np.mean([city[0] == "n" for city in vast.columns["city"]]) > 0.99
    assert set(SIZES) == set(support)


def test_a_column_of_many_codes_is_put_into_so_many_groups(tmp_path: Path) -> None:
    mechanism = us.TwoRound(cliques=CLIQUES, bins=8, threshold=CERTAIN)
    release = session(tmp_path, budget=VAST).run(mechanism)
    assert told(release)["support"]["age"]["left"] == 8
    assert told(release)["support"]["age"]["supported"] == 50
    # Ages come back by their own noisy counts, and so are as they were.
    assert distance(release.columns, PRIVATE, ("age",)) < 0.09


def test_other_thresholds_for_some_columns(tmp_path: Path) -> None:
    mechanism = us.TwoRound(
        cliques=CLIQUES,
        threshold=math.inf,
        thresholds=(("sex", 0.0), ("age", 3.0)),
        rare="other",
        most_values=30,
    )
    support = told(session(tmp_path, budget=VAST).run(mechanism))["support"]
    assert support["sex"] == {"codes": 2, "supported": 2, "left": 2}
    assert support["age"] == {"codes": 60, "supported": 30, "left": 31}
    assert support["rent"] == {"codes": 4, "supported": 0, "left": 1}
    # The group of a city is supported whatever is asked of a count.
    assert support["city"] == {"codes": 13, "supported": 4, "left": 5}


# The plan, before anything is spent


def test_the_plan_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    stages: list[str] = []
    held: list[int] = []

    class StoppedError(Exception):
        pass

    def stop(stage: str, done: float) -> None:
        if stage.startswith("planned"):
            raise StoppedError

    with pytest.raises(StoppedError):
        session(tmp_path / "stopped").run(GIVEN, progress=stop)
    check_untouched(tmp_path / "stopped")

    def progress(stage: str, done: float) -> None:
        if stage not in stages:
            stages.append(stage)
        held.append(round(100 * done))

    release = session(tmp_path).run(GIVEN, progress=progress)
    assert stages == [
        "reading the private table",
        "planned a model of at most 346 cells in 4 tables, the largest over age × city",
        "counting rows",
        "round 1, columns",
        "round 2, pairs and triples",
        "fitting the model",
        "drawing rows",
    ]
    assert min(held) >= 0
    assert max(held) <= 100
    assert told(release)["model"] == stages[1].removeprefix("planned ")


def test_a_plan_is_for_the_most_codes_that_can_be_left() -> None:
    """32 groups of ages, 4 cities of a state, the one of none and one for the rest."""
    sizes = {"sex": 2, "age": 32, "city": 6, "tens": 10, "rest": 11, "rent": 4}
    assert {c.name: GIVEN.rule(c.name).most_codes(c) for c in SCHEMA.modelled} == sizes
    plan = RoundsPlan.of(GIVEN, SCHEMA, None)
    assert (plan.cliques, plan.notes) == ([*CLIQUES], ())
    outer = outer_cliques(Domain(sizes), CLIQUES)
    assert plan.size.startswith(
        f"a model of at most {sum(map(Domain(sizes).cells, outer)):,} cells"
    )


@pytest.mark.parametrize(
    ("public", "epsilon"), one_in(2, product([None, PUBLIC], [0.05, 2.0, 1e5]))
)
def test_no_model_is_larger_than_its_plan(tmp_path: Path, epsilon: float, public: Any) -> None:
    budget = us.Budget(epsilon=epsilon, delta=1e-6)
    mechanism = us.TwoRound() if public else GIVEN
    release = session(tmp_path, budget=budget, public=public).run(mechanism)
    left = {name: s["left"] for name, s in told(release)["support"].items()}
    domain = Domain(left)
    cells = sum(map(domain.cells, outer_cliques(domain, second_of(release))))
    said = int(told(release)["model"].split()[5].replace(",", ""))
    assert 0 < cells <= said


def test_cliques_of_too_many_cells_are_left_out_with_a_note(tmp_path: Path) -> None:
    large: Clique = ("age", "tens", "rest")
    mechanism = us.TwoRound(cliques=(*CLIQUES, large, ("rent", "age")), most_cells=150)
    release = session(tmp_path).run(mechanism)
    assert second_of(release) == [*(c for c in CLIQUES if c != ("age", "city")), ("rent", "age")]
    assert release.manifest["notes"] == [
        "age × city was not measured: it may have 192 cells, more than most_cells (150).",
        "age × tens × rest was not measured: it may have 3,520 cells, more than most_cells (150).",
    ]
    check_spent(tmp_path)


def test_cells_are_counted_as_they_are_asked_at_most(tmp_path: Path) -> None:
    """age × city is 32 × 6 cells at most; one cell less, and it is left out."""
    for most, kept in ((192, 4), (191, 3)):
        plan = RoundsPlan.of(us.TwoRound(cliques=CLIQUES, most_cells=most), SCHEMA, None)
        assert plan.cliques is not None
        assert (len(plan.cliques), len(plan.notes)) == (kept, 4 - kept)


def test_where_no_clique_is_left_all_goes_to_round_one(tmp_path: Path) -> None:
    release = session(tmp_path).run(us.TwoRound(cliques=(("age", "city"),), most_cells=100))
    first, second = rounds_of(release)
    assert second == []
    assert len(release.manifest["notes"]) == 1
    assert [c["scale"] for c in first] == pytest.approx([math.sqrt(6) / BUDGET.price] * 6, rel=1e-9)
    check_spent(tmp_path)


RING: tuple[Clique, ...] = (
    ("sex", "age"),
    ("age", "tens"),
    ("tens", "rest"),
    ("rest", "city"),
    ("city", "age"),
)


def test_too_large_a_model_is_refused_with_what_to_drop_and_nothing_is_spent(
    tmp_path: Path,
) -> None:
    """A ring of four columns needs a table of three: 32 × 11 × 10 and 32 × 11 × 6 cells."""
    stages: list[str] = []
    with pytest.raises(QuestionError) as caught:
        session(tmp_path).run(
            us.TwoRound(cliques=RING, model_limit=20_000),
            progress=lambda stage, _: stages.append(stage),
        )
    assert str(caught.value) == (
        "the cliques make too large a model together, with a table over age × city × tens "
        "(got 0 MB; allowed: 0 MB). Hint: drop age × tens, which leaves 0 MB, or raise model_limit"
    )
    assert stages == ["reading the private table"]
    check_untouched(tmp_path)
    # Without it the model fits, and the budget is there for it.
    left = tuple(c for c in RING if c != ("age", "tens"))
    release = session(tmp_path).run(us.TwoRound(cliques=left, model_limit=20_000))
    assert second_of(release) == [*left]


def test_megabytes_are_told_where_there_are_any() -> None:
    wide = Schema(
        "wide",
        tuple(
            Categorical(name=n, values=tuple(range(300)), missing=False, outside="drop")
            for n in "abcd"
        ),
    )
    ring = (("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"))
    with pytest.raises(QuestionError) as caught:
        RoundsPlan.of(us.TwoRound(cliques=ring, model_limit=100_000_000), wide, None)
    assert str(caught.value) == (
        "the cliques make too large a model together, with a table over a × b × d "
        "(got 253 MB; allowed: 100 MB). Hint: drop a × b, which leaves 2 MB, or raise model_limit"
    )
    # 400 MB are enough for those who gave the cliques themselves.
    assert RoundsPlan.of(us.TwoRound(cliques=ring), wide, None).cliques == [*ring]


# Noise: the document's, the exact one, and weights


WEIGHTS: tuple[tuple[Clique, float], ...] = ((("age",), 3.0), (("tens", "sex"), 2.0))


SIGMAS = [
    (True, 0.3, "34.61"),
    (True, 1.0, "10.45"),
    (True, 8.0, "1.385"),
    (False, 0.3, "29.27"),
    (False, 1.0, "9.106"),
    (False, 8.0, "1.271"),
]


@pytest.mark.parametrize(
    ("published", "epsilon", "sigma", "weights"),
    [(*each, weights) for each, weights in one_in(3, product(SIGMAS, [(), WEIGHTS]))],
)
def test_both_rounds_have_the_documents_noise_or_the_exact_one(
    tmp_path: Path,
    published: bool,
    epsilon: float,
    sigma: str,
    weights: tuple[tuple[Clique, float], ...],
) -> None:
    budget = us.Budget(epsilon=epsilon, delta=2.2820610e-12)
    mechanism = us.TwoRound(cliques=CLIQUES, weights=weights, published=published)
    release = session(tmp_path, budget=budget).run(mechanism)
    heavy = {frozenset(c): w for c, w in weights}
    for asked in rounds_of(release):
        found = sigmas(asked, heavy)
        assert max(found) == pytest.approx(min(found), rel=1e-12)
        # To the last digit of the four that are told.
        assert f"{found[0]:.4g}" == sigma
    (run,) = read(tmp_path).runs.values()
    # Whatever σ is, what is booked is what it costs.
    assert run.spent / run.cap == pytest.approx(2 / (found[0] * budget.price) ** 2, rel=1e-9)
    assert [len(r.charge.events) for r in run.reservations] == [6, 4]


def test_weights_are_equal_where_none_are_given(tmp_path: Path) -> None:
    release = session(tmp_path).run(GIVEN)
    first, second = rounds_of(release)
    one = math.sqrt(2) / BUDGET.price
    assert [c["scale"] for c in first] == pytest.approx([math.sqrt(6) * one] * 6, rel=1e-9)
    assert [c["scale"] for c in second] == pytest.approx([math.sqrt(4) * one] * 4, rel=1e-9)
    check_spent(tmp_path)


def test_a_query_of_twice_the_weight_has_half_the_noise(tmp_path: Path) -> None:
    """A clique's columns may be named in any order; weights of other queries are no matter."""
    release = session(tmp_path).run(us.TwoRound(cliques=CLIQUES, weights=WEIGHTS))
    first, second = ({tuple(c["clique"]): c["scale"] for c in r} for r in rounds_of(release))
    assert first["age",] * 3 == pytest.approx(first["sex",])
    assert second["sex", "tens"] * 2 == pytest.approx(second["age", "city"])
    assert len({round(s, 9) for s in first.values()}) == 2
    assert len({round(s, 9) for s in second.values()}) == 2
    check_spent(tmp_path)


@pytest.mark.parametrize("coarse", [(), ((("sex", "tens"), "tens", (0, 1, 4, 9)),)])
def test_weighed_by_cells_noise_falls_with_the_third_root_of_what_is_asked(
    tmp_path: Path, coarse: Any
) -> None:
    """Which is least in all: σᵢ ∝ nᵢ^(−⅓) for the least Σ nᵢσᵢ with Σ 1/σᵢ² given."""
    mechanism = us.TwoRound(cliques=CLIQUES, weigh="by cells", coarse=coarse)
    release = session(tmp_path).run(mechanism)
    for asked in rounds_of(release):
        level = [c["scale"] * c["rows"] ** (1 / 3) for c in asked]
        assert max(level) == pytest.approx(min(level))
        assert len({c["rows"] for c in asked}) > 2
    check_spent(tmp_path)


def test_laplace_noise_falls_with_the_square_root_of_what_is_asked(tmp_path: Path) -> None:
    """The least Σ nᵢbᵢ with Σ 1/bᵢ given: bᵢ ∝ nᵢ^(−½)."""
    budget = us.Budget(epsilon=4.0, delta=0)
    release = session(tmp_path, budget=budget).run(us.TwoRound(cliques=CLIQUES, weigh="by cells"))
    for asked in rounds_of(release):
        level = [c["scale"] * math.sqrt(c["rows"]) for c in asked]
        assert max(level) == pytest.approx(min(level))
        assert len({c["rows"] for c in asked}) > 2
    check_spent(tmp_path)


@pytest.mark.parametrize("first_share", [0.2, 0.5, 0.9])
def test_the_rounds_share_the_budget_as_was_said(tmp_path: Path, first_share: float) -> None:
    """What a round costs is booked once, and all of it is there for the other."""
    session(tmp_path).run(us.TwoRound(cliques=CLIQUES, first_share=first_share))
    (run,) = read(tmp_path).runs.values()
    booked = [Fraction(r.grains, run.cap) for r in run.reservations]
    assert [float(b) for b in booked] == pytest.approx([first_share, 1 - first_share], rel=1e-9)
    assert sum(booked) <= 1
    check_spent(tmp_path)


def test_pure_epsilon_is_spent_to_the_last_by_laplace_noise(tmp_path: Path) -> None:
    budget = us.Budget(epsilon=4.0, delta=0)
    mechanism = us.TwoRound(cliques=CLIQUES, weights=WEIGHTS)
    release = session(tmp_path, budget=budget).run(mechanism)
    check_spent(tmp_path)
    (run,) = read(tmp_path).runs.values()
    assert all(isinstance(e, Laplace) for r in run.reservations for e in r.charge.events)
    heavy = {frozenset(c): w for c, w in WEIGHTS}
    for asked in rounds_of(release):
        own = [heavy.get(frozenset(c["clique"]), 1.0) for c in asked]
        for clique, weight in zip(asked, own, strict=True):
            assert clique["scale"] == pytest.approx(sum(own) / weight / 2.0, rel=1e-9)


# Coarse queries


@pytest.mark.parametrize("named", [("sex", "tens"), ("tens", "sex")], ids=str)
def test_a_clique_asked_in_groups_is_their_sums(tmp_path: Path, named: Clique) -> None:
    """The document's own: nothing, little, some, much, and the code for none."""
    starts = (0, 1, 4, 9)
    mechanism = us.TwoRound(cliques=CLIQUES, coarse=((named, "tens", starts),))
    release = session(tmp_path, budget=VAST).run(mechanism)
    second, support = rounds_of(release)[1], told(release)["support"]
    assert second[0]["rows"] == 2 * 4
    measured = release.measurements[len(NAMES)]
    fine = shares_of(PRIVATE, ("sex", "tens")).reshape(2, 10) * len(PRIVATE["age"])
    wanted = [own[a:b].sum() for own in fine for a, b in pairwise((*starts, 10))]
    assert measured.values == pytest.approx(wanted, abs=1)
    # The column keeps all of its codes, and other cliques have it as it is.
    assert support["tens"] == {"codes": 10, "supported": 10, "left": 10}
    assert second[3]["rows"] == 10 * support["rest"]["left"]
    assert distance(release.columns, PRIVATE, ("tens",)) < 0.03


def test_groups_cost_as_much_as_codes(tmp_path: Path) -> None:
    """And they are of codes, all of which there are, whatever can be told from noise."""
    coarse = ((("sex", "tens"), "tens", (0, 5)), (("sex", "tens"), "sex", (0,)))
    mechanism = us.TwoRound(cliques=CLIQUES, coarse=coarse, threshold=math.inf)
    release = session(tmp_path).run(mechanism)
    left = {name: s["left"] for name, s in told(release)["support"].items()}
    assert left == {"sex": 2, "age": 1, "city": 5, "tens": 10, "rest": 2, "rent": 1}
    second = rounds_of(release)[1]
    assert second[0]["rows"] == 2
    assert len({c["scale"] for c in second}) == 1
    check_spent(tmp_path)


# Chosen cliques


def test_cliques_are_chosen_from_public_data(tmp_path: Path) -> None:
    release = session(tmp_path, public=PUBLIC).run(us.TwoRound())
    chosen = second_of(release)
    for pair in (("sex", "tens"), ("age", "city"), ("city", "rent"), ("tens", "rest")):
        assert any(set(pair) <= set(c) for c in chosen), pair
    assert {len(c) for c in chosen} <= {2, 3}
    assert any(len(c) == 3 for c in chosen)
    # A tree and triples of its pairs.
    linked = {frozenset(p) for c in chosen for p in combinations(c, 2)}
    reached = {"sex"}
    for _ in NAMES:
        reached |= {n for p in linked if reached & p for n in p}
    assert reached == set(NAMES)
    check_spent(tmp_path)


def test_what_is_chosen_from_public_data_is_no_matter_of_the_private_table(tmp_path: Path) -> None:
    public = PublicTable.read(PUBLIC, schema=SCHEMA, unit=us.Unit.each_row())
    plan = RoundsPlan.of(us.TwoRound(), SCHEMA, public)
    for name, private in (("its own", PRIVATE), ("another", town(9, rows=300))):
        release = session(tmp_path / name, public=PUBLIC, private=private).run(us.TwoRound())
        assert second_of(release) == plan.cliques


@pytest.mark.parametrize("public", few([None, PUBLIC], usual=1))
def test_targets_are_asked_with_every_other_column(tmp_path: Path, public: Any) -> None:
    mechanism = us.TwoRound(targets=("sex", "rest"), more_pairs=0.5)
    release = session(tmp_path, public=public).run(mechanism)
    chosen = second_of(release)
    for target in ("sex", "rest"):
        for other in set(NAMES) - {target}:
            assert any({target, other} <= set(c) for c in chosen), (target, other)
    if public is None:
        # Nine pairs join all columns; of what there is beside them three more are chosen.
        assert len(chosen) == len(set(chosen)) == 9 + 3
    check_spent(tmp_path)


def test_without_public_data_a_tree_of_pairs_and_more_are_chosen_under_dp(tmp_path: Path) -> None:
    release = session(tmp_path, budget=VAST).run(us.TwoRound(more_pairs=0.5))
    assert told(release)["model"] == "a tree of pairs to be chosen, and more for a model of 8 MB"
    chosen = second_of(release)
    assert len(chosen) == len(set(chosen)) == 5 + 3
    assert {("sex", "tens"), ("age", "city"), ("city", "rent")} <= set(chosen)
    (run,) = read(tmp_path).runs.values()
    kinds = [{type(e) for e in r.charge.events} for r in run.reservations]
    assert kinds == [{Gaussian}, *[{Selection}] * 8, {Gaussian}]
    rounds = [run.reservations[i].grains / run.cap for i in (0, -1)]
    assert rounds == pytest.approx([0.45, 0.45], rel=1e-6)


def test_a_choice_under_dp_is_spent_in_full(tmp_path: Path) -> None:
    session(tmp_path).run(us.TwoRound(more_pairs=0.5))
    check_spent(tmp_path)


def test_pairs_of_too_many_cells_are_not_chosen(tmp_path: Path) -> None:
    release = session(tmp_path, budget=VAST).run(us.TwoRound(more_pairs=0.5, most_cells=60))
    left = {name: s["left"] for name, s in told(release)["support"].items()}
    assert second_of(release)
    assert all(left[a] * left[b] <= 60 for a, b in second_of(release))


# Support follows from round 1's answers


@pytest.mark.parametrize("epsilon", [0.05, 2.0])
def test_what_is_put_together_follows_from_the_answers_that_are_released(
    tmp_path: Path, epsilon: float
) -> None:
    """A code is supported from three times the noise of its own column on, weights and all."""
    mechanism = us.TwoRound(cliques=CLIQUES, weights=((("age",), 5.0), (("city",), 0.3)))
    budget = us.Budget(epsilon=epsilon, delta=1e-6)
    release = session(tmp_path, budget=budget).run(mechanism)
    left = {}
    for column, measured in zip(SCHEMA.modelled, release.measurements, strict=False):
        assert measured.clique == (column.name,)
        support = find_support(column, measured, mechanism.rule(column.name), None)
        left[column.name] = support.merge.size
        listed = told(release)["support"][column.name]
        assert listed["left"] == support.merge.size
        assert listed["supported"] == support.supported.sum()
        if column.name != "city":
            assert listed["supported"] == (measured.values >= 3 * measured.scale).sum()
    for asked in rounds_of(release)[1]:
        assert asked["rows"] == math.prod(left[n] for n in asked["clique"])


TELLING = ("id", "a", "b")
LONELY = Schema(
    "few", (Id(name="id"), *(Integer(name=n, min=0, max=5, missing=False) for n in "ab"))
)


@pytest.mark.parametrize("gone", [True, False], ids=["leaves", "arrives"])
def test_support_is_found_from_noisy_answers_alone(gone: bool) -> None:
    """One person is all there is of code 5: given the same answers, nothing else is asked."""
    rows = [("1", 0, 2), ("2", 1, 2), ("3", 1, 3), ("9", 5, 5)]
    columns = {n: np.array([row[i] for row in rows], dtype=object) for i, n in enumerate(TELLING)}
    fewer = {n: c[:3] for n, c in columns.items()}
    table, neighbour = (columns, fewer) if gone else (fewer, columns)
    pair = Pair(
        schema=LONELY,
        unit=us.Unit("id"),
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=3.0, delta=1e-6),
        table=table,
        neighbour=neighbour,
        public=None,
        apart=1,
    )
    found = replay(us.TwoRound(cliques=(("a", "b"),), rare="other"), pair)
    # How many people have how many rows is asked too.
    assert found.questions == 4
    assert found.reach == pytest.approx(1)


WORLD: People = {str(i): [(i % 3, i % 2, i % 4)] * (1 + i % 3) for i in range(30)}


def test_the_table_is_let_go_before_the_answers_are_worked_on() -> None:
    seen = []
    with door_to(WORLD, bounding=us.Weights(3), budget=BUDGET) as door:
        us.TwoRound(cliques=(("a", "b"),)).run(
            door,
            public=None,
            rng=np.random.default_rng(0),
            progress=lambda stage, _: seen.append((stage.split(",")[0], door._closed)),
        )
    assert ("round 2", False) in seen
    assert {closed for stage, closed in seen if stage in {"fitting the model", "drawing rows"}} == {
        True
    }


# What the parts are given


@pytest.mark.parametrize("bounding", [us.Weights(3), us.Norm()], ids=lambda b: b.kind)
def test_round_two_sees_public_rows_as_it_sees_private_ones(
    bounding: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any]] = []

    def noted(door: Any, asked: Any, **more: Any) -> list[Measurement]:
        seen.append((door.schema.domain, more["public"].schema.domain))
        assert more["public"].people is not None
        return weighted_round(door, asked, **more)

    for module in (compressed, tworound):
        monkeypatch.setattr(module, "weighted_round", noted)
    with door_to(WORLD, bounding=bounding, budget=BUDGET) as door:
        us.TwoRound(cliques=(("a", "b"),), threshold=math.inf).run(
            door,
            public=random_crowd(np.random.default_rng(1), {"a": 3, "b": 2, "c": 4}, 20),
            rng=np.random.default_rng(0),
            progress=rides.silent,
        )
    ones = dict.fromkeys("abc", 1)
    assert seen == [({"a": 3, "b": 2, "c": 4},) * 2, (ones, ones)]


@pytest.mark.parametrize(
    ("bounding", "currency"),
    [
        (us.Weights(7), Currency.GDP),
        (us.Weights(7), Currency.PURE),
        (us.Sample(7), Currency.GDP),
        (us.Sample(7), Currency.PURE),
        (us.Norm(), Currency.GDP),
    ],
    ids=lambda v: v if isinstance(v, str) else v.kind,
)
def test_a_choice_is_told_what_asking_will_add_to_a_cell(
    bounding: Any, currency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of as many pairs as are to be chosen, for round 2's price, and for a person's rows."""
    told_: dict[str, Any] = {}

    def noted(door: Any, ones: Any, **more: Any) -> list[Clique]:
        told_.update(more, ones=ones)
        return select_pairs(door, ones, **more)

    monkeypatch.setattr(tworound, "select_pairs", noted)
    budget = us.Budget(epsilon=2.0, delta=1e-6 if currency == Currency.GDP else 0)
    mechanism = us.TwoRound(more_pairs=1 / 3, selection_share=0.2, model_limit=10**6)
    with door_to(WORLD, bounding=bounding, budget=budget) as door:
        mechanism.run(door, public=None, rng=np.random.default_rng(0), progress=rides.silent)
        shares = [r.grains / door.budget.grains for r in door._run.state().reservations]
    rows = 0.02 if isinstance(bounding, us.Norm) else 0.0
    rounds = (1 - 0.2 - 0.02 - rows) / 2
    assert shares[-1] == pytest.approx(rounds, rel=1e-9)
    # Two pairs for a tree of three columns, and one more.
    root = 0.5 if currency == Currency.GDP else 1.0
    price, level = budget.price * rounds**root, 3**root
    cap = told_["bounding"].cap if isinstance(bounding, us.Norm) else 7
    wanted = math.sqrt(2 / math.pi) * cap * level / price
    if isinstance(bounding, us.Norm):
        assert told_["noise"] <= wanted * (1 + 1e-9)
    else:
        assert told_["noise"] == pytest.approx(wanted, rel=1e-9)
        assert told_["bounding"] == bounding
    assert told_["price"] == pytest.approx(budget.price * 0.2**root, rel=1e-9)
    assert (told_["more"], told_["limit"], told_["begun"]) == (1, 10**6, ())
    # What independence is made of has no negative count.
    assert all(one.min() >= 0 for one in told_["ones"].values())


@pytest.mark.parametrize(
    ("bounding", "delta", "power"),
    [(us.Weights(7), 1e-6, 1 / 3), (us.Weights(7), 0, 1 / 2), (us.Norm(), 1e-6, 0)],
    ids=["gdp", "pure", "norm"],
)
def test_cells_weigh_as_the_noise_is_and_not_at_all_under_norm(
    bounding: Any, delta: float, power: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under Norm a row of a person counts by cells in any case."""
    seen: list[tuple[float, float]] = []

    def noted(door: Any, asked: Any, **more: Any) -> Any:
        sizes = door.schema.domain
        seen.extend((a.weight, math.prod(sizes[n] for n in a.clique)) for a in asked)
        return weighted_round(door, asked, **more)

    for module in (compressed, tworound):
        monkeypatch.setattr(module, "weighted_round", noted)
    budget = us.Budget(epsilon=2.0, delta=delta)
    with door_to(WORLD, bounding=bounding, budget=budget) as door:
        mechanism = us.TwoRound(weigh="by cells")
        mechanism.run(door, public=None, rng=np.random.default_rng(0), progress=rides.silent)
    assert len(seen) == 3 + 3
    assert [weight for weight, _ in seen] == pytest.approx([cells**power for _, cells in seen])


# People of several rows


@pytest.mark.parametrize(
    ("public", "bounding"),
    one_in(2, product([None, rides.PUBLIC], [us.Weights(10), us.Sample(10), us.Norm()])),
)
def test_people_of_several_rows_are_bounded_and_given_rows_again(
    tmp_path: Path, bounding: Any, public: Any
) -> None:
    # Enough that noise cannot take all rows away.
    budget = us.Budget(epsilon=20.0, delta=1e-6)
    held = rides.session(tmp_path, bounding=bounding, public=public, budget=budget)
    mechanism = us.TwoRound(cliques=rides.CLIQUES, ids_by=("zone",) if public else ())
    release = held.run(mechanism)
    rides.check_spent(tmp_path)
    assert len(release) > 100
    assert list(release.columns) == ["who", *rides.NAMES]
    often = np.bincount(release.columns["who"])
    assert often.max() > 1
    if not isinstance(bounding, us.Norm):
        assert often.max() <= 10
    assert release.manifest["notes"] == [
        "Standard errors of measurements cover the added noise, not the bias of contribution "
        f"bounding ({bounding}); those of `estimate` cover both, or say that they do not."
    ]


@pytest.mark.parametrize(
    "bounding", [us.Weights(40), us.Sample(40), us.Norm()], ids=lambda b: b.kind
)
def test_with_almost_no_noise_and_no_bound_pairs_are_those_of_the_table(
    tmp_path: Path, bounding: Any
) -> None:
    held = rides.session(tmp_path, bounding=bounding, budget=rides.VAST, public=rides.PUBLIC)
    release = held.run(us.TwoRound(cliques=(*rides.CLIQUES, ("fare", "paid"))))
    assert len(release) == pytest.approx(len(rides.PRIVATE["who"]), rel=0.01)
    found = [
        rides.distance(release.columns, rides.PRIVATE, c)
        for c in (*combinations(("zone", "shift", "fare"), 2), ("shift", "paid"), ("fare", "paid"))
    ]
    assert np.mean(found) < 0.02


@pytest.mark.parametrize("bounding", [us.Weights(5), us.Sample(5)], ids=lambda b: b.kind)
def test_noise_is_for_as_many_rows_as_a_person_has_at_most(tmp_path: Path, bounding: Any) -> None:
    """Besides people's sizes nothing is asked but the rounds: √(2/0.98)/μ for each, five times."""
    held = rides.session(tmp_path, bounding=bounding, public=rides.PUBLIC)
    release = held.run(us.TwoRound(cliques=rides.CLIQUES))
    for asked in rounds_of(release):
        found = sigmas(asked, {})
        exact = 5 * math.sqrt(2 / 0.98) / rides.BUDGET.price
        assert found == pytest.approx([exact] * len(asked), rel=1e-9)


def test_the_documents_noise_is_for_as_many_rows_as_weights_leave(tmp_path: Path) -> None:
    for published in (True, False):
        held = rides.session(tmp_path / str(published), bounding=us.Weights(5), public=rides.PUBLIC)
        release = held.run(us.TwoRound(cliques=rides.CLIQUES, published=published))
        rule = RULES["rdp_integer" if published else "gdp"]
        found = [s for asked in rounds_of(release) for s in sigmas(asked, {})]
        # The document does not ask how many rows people have.
        left = 1 if published else 0.98
        assert found == pytest.approx([5 * rule(rides.BUDGET, 2) / left**0.5] * 6, rel=1e-9)


@pytest.mark.parametrize("public", [None, rides.PUBLIC], ids=["noisy sizes", "public people"])
def test_nobody_has_more_rows_than_was_asked_for(tmp_path: Path, public: Any) -> None:
    held = rides.session(tmp_path, public=public, bounding=us.Weights(30), budget=rides.VAST)
    release = held.run(us.TwoRound(cliques=rides.CLIQUES, most_each=4))
    assert np.bincount(release.columns["who"]).max() == 4


def test_under_norm_rows_are_counted_and_both_rounds_keep_to_their_prices(tmp_path: Path) -> None:
    held = rides.session(tmp_path, bounding=us.Norm(), public=rides.PUBLIC)
    mechanism = us.TwoRound(cliques=rides.CLIQUES, first_share=0.25, rows_share=0.04)
    held.run(mechanism)
    (run,) = rides.read(tmp_path).runs.values()
    assert [r.what for r in run.reservations] == [
        "people by number of rows",
        "number of people",
        "number of rows",
        "4 marginals",
        "2 marginals",
    ]
    shares = [r.grains / run.cap for r in run.reservations]
    assert shares == pytest.approx([0.015, 0.005, 0.04, 0.235, 0.705], rel=1e-9)


# Odd tables


@pytest.mark.parametrize("public", [None, PUBLIC], ids=["alone", "public"])
def test_a_table_of_one_column_is_counted_once(tmp_path: Path, public: Any) -> None:
    schema = Schema("town", (SCHEMA["age"],))
    release = session(tmp_path, schema=schema, public=public).run(us.TwoRound())
    assert told(release)["cliques"] == [
        {"clique": ["age"], "scale": pytest.approx(1 / BUDGET.price, rel=1e-9), "rows": 60}
    ]
    assert told(release)["model"] == (
        "a model of at most 32 cells in 1 tables, the largest over age"
    )
    assert list(release.columns) == ["age"]
    check_spent(tmp_path)


@pytest.mark.parametrize("public", [None, PUBLIC], ids=["alone", "public"])
def test_an_empty_table_gives_a_table_all_the_same(tmp_path: Path, public: Any) -> None:
    empty = {name: column[:0] for name, column in PRIVATE.items()}
    release = session(tmp_path, private=empty, public=public).run(us.TwoRound(more_pairs=0.5))
    assert set(release.columns) == {"sex", "age", "city", "wage", "rent"}
    check_spent(tmp_path)


def test_values_within_a_bin_are_public_ones_where_asked_for(tmp_path: Path) -> None:
    """Private rents are odd and public ones even: the release has even ones."""
    for within, rests in (("public", {0}), ("evenly", {0, 1})):
        place = tmp_path / within
        mechanism = us.TwoRound(cliques=CLIQUES, within=within)  # type: ignore[arg-type]
        release = session(place, public=PUBLIC).run(mechanism)
        assert set(np.unique(release.columns["rent"] % 2)) == rests
        assert (set(release.columns["rent"]) <= set(PUBLIC["rent"])) == (within == "public")


def test_rare_codes_come_back_by_public_frequency(tmp_path: Path) -> None:
    """Everybody's rest is 3; which one it would be else, public rows know."""
    private = {**PRIVATE, "wage": np.where(PRIVATE["sex"] == "f", 13, 23)}
    public = {**PUBLIC, "wage": np.where(PUBLIC["sex"] == "f", 17, 27)}
    mechanism = us.TwoRound(
        cliques=(("sex", "rest"),), thresholds=(("rest", math.inf),), rare="other"
    )
    release = session(tmp_path, private=private, public=public, budget=VAST).run(mechanism)
    assert (release.columns["wage"] % 10 == 7).mean() > 0.99


# Resuming


def test_resuming_gives_the_same_release(tmp_path: Path) -> None:
    held = session(tmp_path, public=PUBLIC)
    first = held.run(us.TwoRound(within="public", weigh="by cells"))
    spent = read(tmp_path).runs[1].spent
    assert same(held.resume(1), first)
    assert read(tmp_path).runs[1].spent == spent


KILLED = """
import os, signal, sys
from pathlib import Path
import understudy as us
from tests.synth.town import CLIQUES, session

def progress(stage, done):
    if stage.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

session(Path(sys.argv[1])).run(us.TwoRound(cliques=CLIQUES), progress=progress)
"""


@in_audit
@pytest.mark.parametrize(("stage", "answers"), [("round 2", 1), ("fitting", 2)])
def test_a_killed_run_goes_on_with_the_answers_it_has(
    tmp_path: Path, stage: str, answers: int
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), stage], cwd=ROOT, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    before = read(tmp_path).runs[1]
    assert not before.closed
    assert len(before.answers) == len(before.reservations) == answers
    held = session(tmp_path)
    release = held.resume()
    after = read(tmp_path).runs[1]
    assert all(after.answers[n] == answer for n, answer in before.answers.items())
    assert after.reservations[:answers] == before.reservations
    assert len(after.answers) == len(after.reservations) == 2
    assert same(held.resume(1), release)
    check_spent(tmp_path)


def test_settings_survive_being_written_down() -> None:
    mechanism = us.TwoRound(
        cliques=CLIQUES,
        weights=WEIGHTS,
        coarse=((("sex", "tens"), "tens", (0, 4)),),
        thresholds=(("age", 0.0),),
        weigh="by cells",
        rare="other",
        model_limit=10**6,
        published=True,
    )
    assert mechanism_from_dict(mechanism_to_dict(mechanism)) == mechanism
    listed = us.TwoRound(
        cliques=[["sex", "tens"]],  # type: ignore[arg-type]
        coarse=[[["sex", "tens"], "tens", [0, 4]]],  # type: ignore[arg-type]
    )
    assert listed.cliques == (("sex", "tens"),)
    assert listed.coarse == ((("sex", "tens"), "tens", (0, 4)),)


# What is refused


BOUND = "must be above 0 and below 1 (got "
WEIGHT = "in weights must be above 0 and finite (got "


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"rows_share": 0}, BudgetError, f"rows_share {BOUND}0)"),
        ({"people_share": 1.0}, BudgetError, f"people_share {BOUND}1.0)"),
        (
            {"selection_share": 0.96},
            BudgetError,
            "rows_share + people_share + selection_share must be below 1 (got 1)",
        ),
        ({"selection_share": math.nan}, BudgetError, f"selection_share {BOUND}nan)"),
        ({"first_share": 1.0}, BudgetError, f"first_share {BOUND}1.0)"),
        ({"first_share": 0.0}, BudgetError, f"first_share {BOUND}0.0)"),
        ({"most_each": 0}, UsageError, "most_each must be at least 1 (got 0)"),
        ({"weights": ((("a",), 0.0),)}, BudgetError, f"the weight of a {WEIGHT}0.0)"),
        (
            {"weights": ((("a",), 1.0), (("b", "c"), math.inf))},
            BudgetError,
            f"the weight of b × c {WEIGHT}inf)",
        ),
        ({"weights": ((("a",), math.nan),)}, BudgetError, f"the weight of a {WEIGHT}nan)"),
        ({"threshold": -1}, UsageError, "threshold must be at least 0 (got -1)"),
        ({"threshold": math.nan}, UsageError, "threshold must be at least 0 (got nan)"),
        (
            {"thresholds": (("a", 2.0), ("b", -0.5))},
            UsageError,
            "the threshold of b must be at least 0 (got -0.5)",
        ),
        ({"bins": 0}, UsageError, "bins must be at least 1 (got 0)"),
        ({"most_values": 0}, UsageError, "most_values must be at least 1 (got 0)"),
        ({"most_cells": 0}, UsageError, "most_cells must be at least 1 (got 0)"),
        ({"model_limit": -1}, UsageError, "model_limit must be at least 1 (got -1)"),
        ({"more_pairs": -0.1}, UsageError, "more_pairs must be at least 0 (got -0.1)"),
        ({"more_pairs": math.nan}, UsageError, "more_pairs must be at least 0 (got nan)"),
        ({"more_pairs": math.inf}, UsageError, "more_pairs must be finite (got inf)"),
        ({"rare": "none"}, UsageError, "rare must be 'neighbours' or 'other' (got 'none')"),
        ({"within": "nearly"}, UsageError, "within must be 'evenly' or 'public' (got 'nearly')"),
        ({"weigh": "by cell"}, UsageError, "weigh must be 'equally' or 'by cells' (got 'by cell')"),
    ],
)
def test_settings_that_are_none(
    settings: dict[str, Any], error: type[UnderstudyError], text: str
) -> None:
    with pytest.raises(error) as caught:
        us.TwoRound(**settings)
    assert type(caught.value) is error
    assert str(caught.value) == text


DOCUMENT = "published = True needs Weights bounding and Gaussian noise, as in the document (got "
HINT = "). Hint: use Weights and a delta above 0, or leave out published"
FITS = "; allowed: a column of a clique of two or more; rising first codes, from 0, all below 10)"
GROUPS = "coarse has invalid groups of tens in sex × tens (got "


def grouped(*starts: int) -> dict[str, Any]:
    return {"cliques": CLIQUES, "coarse": ((("sex", "tens"), "tens", starts),)}


REFUSED: list[tuple[dict[str, Any], dict[str, Any], type[UnderstudyError], str]] = [
    ({"published": True}, {"bounding": us.Norm()}, UsageError, f"{DOCUMENT}norm, gdp{HINT}"),
    ({"published": True}, {"bounding": us.Sample(1)}, UsageError, f"{DOCUMENT}sample, gdp{HINT}"),
    (
        {"published": True},
        {"budget": us.Budget(epsilon=2, delta=0)},
        UsageError,
        f"{DOCUMENT}weights, pure{HINT}",
    ),
    ({"ids_by": ("road",)}, {"public": PUBLIC}, QuestionError, NAMED),
    ({"targets": ("sex", "road")}, {}, QuestionError, NAMED),
    ({"thresholds": (("road", 1.0),)}, {}, QuestionError, NAMED),
    ({"weights": ((("sex", "road"), 2.0),)}, {}, QuestionError, NAMED),
    ({"coarse": ((("sex", "road"), "sex", (0,)),)}, {}, QuestionError, NAMED),
    ({"coarse": ((("sex", "tens"), "road", (0,)),)}, {}, QuestionError, NAMED),
    # A split's own name is none of the model's.
    ({"targets": ("wage",)}, {}, QuestionError, NAMED.replace("road", "wage")),
    (grouped(), {}, QuestionError, f"{GROUPS}{FITS}"),
    (grouped(1, 4), {}, QuestionError, f"{GROUPS}1, 4{FITS}"),
    (grouped(0, 4, 4), {}, QuestionError, f"{GROUPS}0, 4, 4{FITS}"),
    (grouped(0, 10), {}, QuestionError, f"{GROUPS}0, 10{FITS}"),
    (
        {"coarse": ((("sex", "tens"), "rest", (0, 4)),)},
        {},
        QuestionError,
        "coarse has invalid groups of rest in sex × tens (got 0, 4"
        "; allowed: a column of a clique of two or more; rising first codes, from 0, all "
        "below 11)",
    ),
    ({"ids_by": ("sex",)}, {}, UsageError, IDS_BY),
    (
        {"within": "public"},
        {},
        UsageError,
        "within = 'public' needs a public table. Hint: use one, or 'evenly'",
    ),
    (
        {"cliques": (("sex", "road"), ("path",))},
        {},
        QuestionError,
        f"a clique names columns that the schema does not model (got road; allowed: {KNOWN})",
    ),
    (
        {"cliques": (("sex",), ())},
        {},
        QuestionError,
        f"a clique names columns that the schema does not model (got no column; allowed: {KNOWN})",
    ),
    (
        {"cliques": (("sex", "age", "sex"),)},
        {},
        QuestionError,
        "a clique names a column twice (got sex × age × sex)",
    ),
    (
        {"cliques": (("sex", "age"),), "weights": ((("sex", "city"), 2.0),)},
        {},
        QuestionError,
        "weights or coarse name a clique that is not measured (got sex × city; "
        "allowed: cliques of round 2; for weights also single columns)",
    ),
    (
        {"cliques": (("sex", "age"),), "coarse": ((("city", "age"), "age", (0, 1)),)},
        {},
        QuestionError,
        "weights or coarse name a clique that is not measured (got city × age; "
        "allowed: cliques of round 2; for weights also single columns)",
    ),
]


@pytest.mark.parametrize(("settings", "other", "error", "text"), REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_spent(
    tmp_path: Path,
    settings: dict[str, Any],
    other: dict[str, Any],
    error: type[UnderstudyError],
    text: str,
) -> None:
    held = session(tmp_path, **other)
    with pytest.raises(error) as caught:
        held.run(us.TwoRound(**settings))
    assert type(caught.value) is error
    assert str(caught.value) == text
    check_untouched(tmp_path)


def test_ids_by_needs_public_people(tmp_path: Path) -> None:
    public = {n: c for n, c in rides.PUBLIC.items() if n != "who"}
    with pytest.raises(UsageError) as caught:
        rides.session(tmp_path, public=public).run(us.TwoRound(ids_by=("zone",)))
    assert str(caught.value) == IDS_BY
    state = rides.read(tmp_path)
    assert state.left == state.total


# Faults that there were: each of these is to be refused before anything is spent


SPOILED: list[tuple[str, dict[str, Any]]] = [
    ("a clique given twice", {"cliques": (("sex", "tens"), ("age", "city"), ("sex", "tens"))}),
    (
        "groups of a column by itself",
        {"cliques": CLIQUES, "coarse": ((("tens",), "tens", (0, 4)),)},
    ),
    ("endless more pairs", {"more_pairs": math.inf}),
]


@pytest.mark.parametrize("settings", [pytest.param(s, id=why) for why, s in SPOILED])
def test_no_setting_fails_after_something_was_spent(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    """Either it is refused, or it goes through."""
    try:
        session(tmp_path).run(us.TwoRound(**settings))
    except UnderstudyError:
        if (tmp_path / "town.ledger").exists():
            check_untouched(tmp_path)
    else:
        check_spent(tmp_path)


def test_a_model_chosen_under_dp_is_no_larger_than_was_planned(tmp_path: Path) -> None:
    """Three targets with every column, of 12 codes each, are tables of 12⁴ cells."""
    rng = np.random.default_rng(3)
    schema = Schema("t", tuple(Integer(name=n, min=0, max=11, missing=False) for n in "abcde"))
    private = {n: rng.integers(12, size=2000) for n in "abcde"}
    budget = us.Budget(epsilon=50, delta=1e-6)
    held = session(tmp_path, schema=schema, private=private, budget=budget)
    targets = ("a", "b", "c")
    with pytest.raises(QuestionError, match="the cliques make too large a model together"):
        held.run(us.TwoRound(targets=targets, model_limit=100_000, more_pairs=0.2))
    check_untouched(tmp_path)
    release = held.run(us.TwoRound(targets=targets, model_limit=400_000, more_pairs=0.2))
    domain = Domain({name: s["left"] for name, s in told(release)["support"].items()})
    cells = sum(map(domain.cells, outer_cliques(domain, second_of(release))))
    assert 8 * cells <= 400_000


def test_measurements_are_kept_as_they_were_answered(tmp_path: Path) -> None:
    """Round 1 over all codes, round 2 over what is left, each with its noise."""
    release = session(tmp_path).run(GIVEN)
    asked = told(release)["cliques"]
    assert len(release.measurements) == len(asked) == len(NAMES) + len(CLIQUES)
    for listed, measured in zip(asked, release.measurements, strict=True):
        assert isinstance(measured, Measurement)
        assert listed["clique"] == list(measured.clique)
        assert listed["scale"] == measured.scale
        assert listed["rows"] == len(measured.values)
    assert [len(m.values) for m in release.measurements[: len(NAMES)]] == list(SIZES.values())
