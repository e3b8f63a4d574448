"""AdaGrid through the whole house: what it asks, what it spends, and what comes out."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import one_in
from tests.session.sameness import same
from tests.synth.crowds import door_to
from tests.synth.rides import (
    BUDGET,
    CLIQUES,
    NAMES,
    PRIVATE,
    PUBLIC,
    SCHEMA,
    TOP,
    VAST,
    asked,
    check_spent,
    distance,
    read,
    session,
    silent,
)
from tests.vault.obvious import People
from tests.vault.worlds import DOMAIN
from understudy.audit import FixedEntropy
from understudy.audit.tape import Tape
from understudy.budget import Currency, Laplace, Norm, Weights
from understudy.engine import DuckDB
from understudy.errors import BudgetError, QuestionError, UnderstudyError, UsageError
from understudy.graph import Domain, model_bytes
from understudy.public import PublicTable
from understudy.schema import Id, Integer, Schema
from understudy.synth import mechanism_from_dict, mechanism_to_dict
from understudy.synth.measure.granularity import closure
from understudy.synth.measure.population import Crowd, meet
from understudy.synth.measure.rounds import Rounds
from understudy.synth.measure.rules import RULES
from understudy.vault import PrivateDoor, PrivateTable

# End to end


@pytest.mark.parametrize(
    ("public", "bounding"),
    one_in(2, product([None, PUBLIC], [us.Weights(15), us.Sample(15), us.Norm()])),
)
def test_a_run_spends_its_budget_stays_in_the_schema_and_asks_with_norm_one(
    tmp_path: Path, bounding: Any, public: Any
) -> None:
    # Enough that noise cannot take all rows away.
    budget = us.Budget(epsilon=20.0, delta=1e-6)
    held = session(tmp_path, bounding=bounding, public=public, budget=budget)
    release = held.run(us.AdaGrid(most_each=15))
    check_spent(tmp_path)
    assert len(release) > 100
    assert np.bincount(release.columns["who"]).max() <= 15
    assert {c["column_norm"] for c in asked(release)} == {1.0}
    assert {n for c in asked(release) for n in c["clique"]} == set(NAMES)
    assert any(len(c["clique"]) > 1 for c in asked(release))


def test_when_every_row_is_a_person_there_are_no_people(tmp_path: Path) -> None:
    for number, bounding in enumerate((us.Norm(), us.Weights(1))):
        place = tmp_path / str(number)
        held = session(place, unit=us.Unit.each_row(), bounding=bounding, public=PUBLIC)
        release = held.run(us.AdaGrid(cliques=CLIQUES))
        assert "who" not in release.columns
        assert len(release) == pytest.approx(len(PRIVATE["who"]), rel=0.2)
        check_spent(place)


def test_pure_epsilon_is_spent_to_the_last_by_laplace_noise(tmp_path: Path) -> None:
    budget = us.Budget(epsilon=8, delta=0)
    release = session(tmp_path, budget=budget).run(us.AdaGrid(cliques=CLIQUES))
    check_spent(tmp_path)
    (run,) = read(tmp_path).runs.values()
    assert all(isinstance(e, Laplace) for r in run.reservations for e in r.charge.events)
    assert {c["column_norm"] for c in asked(release)} == {1.0}


@pytest.mark.parametrize("bounding", [us.Weights(TOP), us.Norm()], ids=lambda b: b.kind)
def test_with_a_great_budget_measured_pairs_are_those_of_the_table(
    tmp_path: Path, bounding: Any
) -> None:
    held = session(tmp_path, bounding=bounding, budget=VAST, public=PUBLIC)
    release = held.run(us.AdaGrid(cliques=CLIQUES))
    assert len(release) == pytest.approx(len(PRIVATE["who"]), rel=0.01)
    for clique in (*combinations(("zone", "shift", "fare"), 2), ("shift", "paid")):
        assert distance(release.columns, PRIVATE, clique) < 0.03, clique
    # What was not measured is far off, so the bound above can fail.
    rng = np.random.default_rng(0)
    flat = {n: rng.permutation(c) for n, c in PRIVATE.items()}
    assert distance(flat, PRIVATE, ("zone", "shift")) > 0.2


def test_with_a_great_budget_and_no_public_data_the_best_tree_is_selected(tmp_path: Path) -> None:
    release = session(tmp_path, budget=VAST).run(us.AdaGrid(more_pairs=0))
    pairs = [frozenset(c["clique"]) for c in asked(release) if len(c["clique"]) == 2]
    assert len(pairs) == 3
    assert {"zone", "fare"} in pairs
    assert {"zone", "shift"} in pairs
    assert distance(release.columns, PRIVATE, ("zone", "fare")) < 0.03
    sizes = np.bincount(np.bincount(release.columns["who"]), minlength=TOP + 1)[1:]
    true = np.bincount(np.bincount(PRIVATE["who"]), minlength=TOP + 1)[1:]
    assert np.abs(sizes / sizes.sum() - true / true.sum()).sum() / 2 < 0.25


@pytest.mark.parametrize(("more", "pairs"), [(0.0, 3), (0.25, 4), (0.5, 5), (5.0, 6)])
def test_pairs_beyond_a_tree_share_what_is_left(tmp_path: Path, more: float, pairs: int) -> None:
    """However many there are, the whole budget is spent, and all pairs have the same noise."""
    release = session(tmp_path).run(us.AdaGrid(more_pairs=more))
    found = [c for c in asked(release) if len(c["clique"]) == 2]
    assert len(found) == pairs
    assert len({c["scale"] for c in found}) == 1
    check_spent(tmp_path)


def test_pairs_that_make_too_large_a_model_are_not_asked(tmp_path: Path) -> None:
    release = session(tmp_path).run(us.AdaGrid(more_pairs=5, model_limit=700))
    found = [c["clique"] for c in asked(release) if len(c["clique"]) == 2]
    assert 3 <= len(found) < 6
    assert model_bytes(Domain(SCHEMA.domain), [tuple(c) for c in found]) <= 700
    check_spent(tmp_path)


def test_a_table_of_one_column_is_counted_without_any_selection(tmp_path: Path) -> None:
    schema = Schema("rides", (Id(name="who"), SCHEMA["zone"]))
    release = session(tmp_path, schema=schema).run(us.AdaGrid())
    assert [c["clique"] for c in asked(release)] == [["zone"]]
    check_spent(tmp_path)


def test_an_empty_table_gives_a_table_all_the_same(tmp_path: Path) -> None:
    empty = {name: column[:0] for name, column in PRIVATE.items()}
    release = session(tmp_path, private=empty, public=PUBLIC, bounding=us.Norm()).run(us.AdaGrid())
    assert set(release.columns) == {"who", *NAMES}


# Resuming


def test_resuming_gives_the_same_release(tmp_path: Path) -> None:
    held = session(tmp_path, bounding=us.Norm(), public=PUBLIC)
    mechanism = us.AdaGrid(cliques=CLIQUES, ids_by=("zone", "shift"), within="public")
    first = held.run(mechanism)
    spent = read(tmp_path).runs[1].spent
    assert same(held.resume(1), first)
    assert read(tmp_path).runs[1].spent == spent


def test_a_run_that_stopped_midway_goes_on_with_the_answers_it_has(tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    seen: list[float] = []

    def progress(stage: str, done: float) -> None:
        if stage == "measuring marginals":
            seen.append(done)
            if len(seen) == 2:
                raise StoppedError

    held = session(tmp_path, bounding=us.Norm(), public=PUBLIC)
    with pytest.raises(StoppedError):
        held.run(us.AdaGrid(cliques=CLIQUES), progress=progress)
    before = dict(read(tmp_path).runs[1].answers)
    assert before
    release = held.resume(1)
    after = read(tmp_path).runs[1].answers
    assert all(after[n] == answer for n, answer in before.items())
    assert len(after) > len(before)
    assert same(held.resume(1), release)
    check_spent(tmp_path)


def test_settings_survive_being_written_down() -> None:
    mechanism = us.AdaGrid(cliques=CLIQUES, copies=((("shift", "paid"), 3),), published=True)
    assert mechanism_from_dict(mechanism_to_dict(mechanism)) == mechanism


# What comes from public data


def test_values_within_a_bin_are_public_ones_where_asked_for(tmp_path: Path) -> None:
    """Private fares are odd and public ones even: the release has even ones."""
    held = session(tmp_path, public=PUBLIC)
    release = held.run(us.AdaGrid(cliques=CLIQUES, within="public"))
    assert set(np.unique(release.columns["fare"] % 2)) == {0}
    assert set(release.columns["fare"]) <= set(PUBLIC["fare"])
    assert release.columns["fare"].dtype.kind == "i"


def test_people_are_those_of_public_data_and_within_the_cap(tmp_path: Path) -> None:
    """Public people keep to one zone each, so that synthetic ones do too."""
    public = {**PUBLIC, "zone": PUBLIC["who"] % 6}
    held = session(tmp_path, public=public, bounding=us.Weights(10), budget=VAST)
    release = held.run(us.AdaGrid(cliques=CLIQUES, ids_by=("zone",)))
    who, zone = release.columns["who"], release.columns["zone"]
    pairs = len(np.unique(who * 6 + zone))
    assert pairs <= 1.02 * len(np.unique(who))
    assert np.bincount(who).max() <= 10


@pytest.mark.parametrize("public", [None, PUBLIC], ids=["noisy sizes", "public people"])
def test_nobody_has_more_rows_than_the_cap(tmp_path: Path, public: Any) -> None:
    held = session(tmp_path, public=public, bounding=us.Weights(30), budget=VAST)
    release = held.run(us.AdaGrid(cliques=CLIQUES, most_each=4))
    assert np.bincount(release.columns["who"]).max() == 4


def test_the_cap_of_weights_can_come_from_public_people() -> None:
    public = PublicTable.read(PUBLIC, schema=SCHEMA, unit=us.Unit("who"))
    caps = [us.AdaGrid(cliques=CLIQUES).weights(public, budget=b).cap for b in (BUDGET, VAST)]
    assert 1 <= caps[0] < caps[1] == TOP


# Scales


def rounds(
    door: PrivateDoor,
    *,
    crowd: Crowd | None = None,
    copies: dict[frozenset[str], int] | None = None,
    rule: Any = Currency.GDP,
    threshold: float = 5.0,
) -> Rounds:
    met = crowd or Crowd(rows=100.0, sizes=None, typical=3, bounding=Weights(3))
    price = door.budget.price
    return Rounds(
        door,
        crowd=met,
        public=None,
        price=price,
        rule=rule,
        share=1.0,
        copies=copies or {},
        threshold=threshold,
        most_cells=10**6,
    )


OUTER = tuple(
    ("pickup", "shift", *more)
    for more in (
        ("fare", "total"),
        ("total", "seconds"),
        ("dropoff", "fare"),
        ("payment", "total"),
        ("fare", "miles"),
        ("company",),
        ("tips", "total"),
    )
)


@pytest.mark.parametrize(
    ("published", "epsilon", "cap", "sigma"),
    [
        (True, 1.0, 150, 5739.36),
        (True, 10.0, 200, 895.42),
        (False, 1.0, 150, 4290.24),
        (False, 10.0, 200, 784.12),
    ],
)
def test_the_documents_workload_has_the_documents_noise(
    published: bool, epsilon: float, cap: int, sigma: float
) -> None:
    names = sorted({n for c in OUTER for n in c})
    schema = Schema("taxis", tuple(Integer(name=n, min=0, max=1, missing=False) for n in names))
    table = {"id": np.arange(4), **{n: np.arange(4) % 2 for n in names}}
    budget = us.Budget(epsilon=epsilon, delta=2.5e-5)
    with closing(DuckDB()) as engine:
        held = PrivateTable(engine, table, schema=schema, unit=us.Unit("id"), key="k")
        door = PrivateDoor(held, run=Tape(budget), bounding=Weights(cap), entropy=FixedEntropy(1))
        copies = {frozenset({"dropoff", "pickup"}): 8}
        made = rounds(door, copies=copies, rule="rdp" if published else "gdp")
        made.ask(closure(OUTER), silent)
        left, told = door.grains, made.answers().told
    assert len(told) == 59
    for one in told:
        often = 8 if set(one["clique"]) == {"dropoff", "pickup"} else 1
        assert one["times"] == often
        assert one["scale"] * np.sqrt(often) == pytest.approx(sigma, abs=0.005)
        assert one["column_norm"] == 1.0
    # One question a round, and the exact rule leaves nothing worth naming.
    assert len(door._run.state().reservations) == 4
    assert left >= 0
    if not published:
        assert left < 1e-9 * budget.grains


def test_published_is_the_documents_rule_for_the_whole_budget(tmp_path: Path) -> None:
    for published in (True, False):
        place = tmp_path / str(published)
        mechanism = us.AdaGrid(cliques=CLIQUES, published=published)
        release = session(place, public=PUBLIC).run(mechanism)
        found = {c["scale"] for c in asked(release)}
        often = len(closure(CLIQUES))
        # How many rows people have is asked for with 2 % of the budget; the document does not ask.
        exact = TOP * np.sqrt(often / 0.98) / BUDGET.price
        wanted = TOP * RULES["rdp"](BUDGET, often) if published else exact
        assert max(found) == min(found) == pytest.approx(wanted, rel=1e-11)
        check_spent(place, 0.3 if published else 0.999)


WORLD: People = {str(i): [(i % 3, i % 2, i % 4)] * (1 + i % 3) for i in range(30)}


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
def test_a_clique_asked_several_times_has_less_noise_and_costs_as_many(currency: Currency) -> None:
    budget = us.Budget(epsilon=50, delta=1e-6 if currency == Currency.GDP else 0)
    with door_to(WORLD, bounding=Weights(3), budget=budget) as door:
        made = rounds(door, copies={frozenset({"b", "a"}): 4})
        made.ask(closure([("a", "b"), ("b", "c")]), silent)
        left, told = door.grains, made.answers().told
    scales = {tuple(c["clique"]): c["scale"] for c in told}
    assert scales["a", "b"] * (2 if currency == Currency.GDP else 4) == pytest.approx(
        scales["b", "c"]
    )
    assert 0 <= left < 1e-9 * budget.grains


def test_under_norm_copies_shift_noise_and_rounds_keep_to_their_prices() -> None:
    found = []
    for times in (1, 8):
        with door_to(WORLD, bounding=Norm(), budget=us.Budget(epsilon=50, delta=1e-6)) as door:
            made = rounds(door, copies={frozenset({"a", "b"}): times})
            made.ask(closure([("a", "b"), ("b", "c")]), silent)
            assert 0 <= door.grains < 1e-9 * door.budget.grains
            scales = {tuple(c["clique"]): c["scale"] for c in made.answers().told}
            found.append(scales["a", "b"] / scales["b", "c"])
            costs = [r.grains for r in door._run.state().reservations]
        # Three singles, then a pair asked so often and a pair.
        assert costs[1] / costs[0] == pytest.approx((1 + times) / 3, rel=1e-9)
    assert found[1] / found[0] == pytest.approx(8 ** (-1 / 3))


@pytest.mark.parametrize(("threshold", "rows"), [(0.0, 6), (1e12, 3 + 2), (400.0, 4 + 3)])
def test_the_threshold_decides_what_is_counted_finely(threshold: float, rows: int) -> None:
    """Counts 60, 30, 6 of a and 48, 48 of b, with noise of a twentieth."""
    people: People = {str(i): [(0 if i < 60 else 1 if i < 90 else 2, i % 2, 0)] for i in range(96)}
    budget = us.Budget(epsilon=1100, delta=1e-6)
    with door_to(people, bounding=Weights(1), budget=budget) as door:
        made = rounds(door, threshold=threshold)
        made.ask(closure([("a", "b")]), silent)
        (pair,) = [c for c in made.answers().told if len(c["clique"]) == 2]
        scale = pair["scale"]
    assert pair["cells"] == 6
    # 400 noises are 7 to 29 rows: a's last value is below them.  Then there are four fine
    # cells, and of the other two one row of a and two of b.
    assert 6 < 400 * scale < 30
    assert pair["rows"] == rows


def test_meeting_and_asking_together_cost_no_more_than_the_budget() -> None:
    budget = us.Budget(epsilon=3, delta=1e-6)
    with door_to(WORLD, bounding=Norm(), budget=budget) as door:
        met = meet(door, None, rows_price=0.01, people_price=0.01)
        assert met.rows is not None
        assert Fraction(door.grains, budget.grains) > Fraction(99, 100)
    assert set(DOMAIN) == {"a", "b", "c"}


# What is refused, before anything is spent


@pytest.mark.parametrize(
    ("mechanism", "other", "error", "text"),
    [
        ({"cliques": (("zone", "shift"),), "most_cells": 17}, {}, QuestionError, "18 cells"),
        ({"cliques": (("zone", "road"),)}, {}, QuestionError, "got road"),
        ({"cliques": ((),)}, {}, QuestionError, "no column"),
        ({"cliques": CLIQUES, "model_limit": 100}, {}, QuestionError, "too large a model"),
        ({"most_cells": 5}, {}, QuestionError, "zone is too large"),
        ({"targets": ("road",)}, {"public": PUBLIC}, QuestionError, "got road"),
        ({"ids_by": ("road",)}, {"public": PUBLIC}, QuestionError, "got road"),
        ({"copies": ((("zone", "road"), 2),)}, {}, QuestionError, "got road"),
        ({"ids_by": ("zone",)}, {}, UsageError, "ids_by needs a public table"),
        (
            {"ids_by": ("zone",)},
            {"public": {n: c for n, c in PUBLIC.items() if n != "who"}},
            UsageError,
            "ids_by needs a public table",
        ),
        ({"within": "public"}, {}, UsageError, "'public' needs a public table"),
        (
            {"published": True},
            {"bounding": us.Norm()},
            UsageError,
            "needs Weights bounding and Gaussian noise",
        ),
        (
            {"published": True},
            {"bounding": us.Sample(3)},
            UsageError,
            "needs Weights bounding and Gaussian noise",
        ),
        (
            {"published": True},
            {"budget": us.Budget(epsilon=2, delta=0)},
            UsageError,
            "needs Weights bounding and Gaussian noise",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(
    tmp_path: Path,
    mechanism: dict[str, Any],
    other: dict[str, Any],
    error: type[UnderstudyError],
    text: str,
) -> None:
    held = session(tmp_path, **other)
    with pytest.raises(error, match=text):
        held.run(us.AdaGrid(**mechanism))
    state = read(tmp_path)
    assert state.left == state.total
    assert all(run.spent == 0 and not run.reservations for run in state.runs.values())


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"rows_share": 0}, BudgetError, "rows_share must be above 0 and below 1"),
        ({"people_share": 0.5, "selection_share": 0.5}, BudgetError, "must be below 1"),
        ({"most_each": 0}, UsageError, "most_each must be at least 1"),
        ({"copies": ((("a",), 0),)}, BudgetError, "copies must be at least 1"),
        ({"within": "nearly"}, UsageError, "within must be 'evenly' or 'public'"),
        ({"threshold": -1}, UsageError, "threshold must be at least 0"),
        ({"more_pairs": -1.0}, UsageError, "more_pairs must be at least 0"),
        ({"more_pairs": float("inf")}, UsageError, "more_pairs must be finite"),
        ({"threshold": float("nan")}, UsageError, "threshold must be at least 0"),
    ],
)
def test_settings_that_are_none(
    settings: dict[str, Any], error: type[UnderstudyError], text: str
) -> None:
    with pytest.raises(error, match=text):
        us.AdaGrid(**settings)


def test_norm_with_pure_epsilon_and_a_cap_of_none_are_refused_when_a_session_opens(
    tmp_path: Path,
) -> None:
    with pytest.raises(BudgetError, match="pure epsilon-DP needs an L1 bound"):
        session(tmp_path, bounding=us.Norm(), budget=us.Budget(epsilon=1, delta=0))
    with pytest.raises(BudgetError, match="cap must be a positive integer"):
        us.Weights(0)
    assert not (tmp_path / "rides.ledger").exists()
