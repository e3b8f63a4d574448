"""Failure probabilities: a ledger carries their sum beside the Gaussian part, or refuses them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.ledger.chains import rows_of
from understudy.budget import (
    GRAIN,
    Budget,
    Charge,
    Currency,
    Gaussian,
    ResolvedUnit,
    Threshold,
    delta_upper,
    epsilon_of,
    mu_lower,
    mu_upper,
)
from understudy.errors import BudgetError, BudgetExhaustedError, LedgerMismatchError
from understudy.ledger import Ledger, describe_left
from understudy.release.guarantee import guarantee

if TYPE_CHECKING:
    from pathlib import Path

SHARED = Budget(epsilon=1.0, delta=4e-6, failure=1e-6)
NONE = Budget(epsilon=1.0, delta=4e-6)
SIGMA = 20.0


def told_at(threshold: float, *, sigma: float = SIGMA, most: int = 4) -> Charge:
    """Return the charge of telling values above a threshold, in people."""
    return Charge((Threshold(most=most, sigma=sigma, steps=2**16, least=int(threshold * 2**16)),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ledger"


# The budget


@given(st.floats(1e-12, 0.5), st.floats(0.001, 0.999), st.floats(0.01, 10))
@tried(40)
def test_both_parts_together_are_within_delta(delta: float, share: float, epsilon: float) -> None:
    budget = Budget(epsilon=epsilon, delta=delta, failure=share * delta)
    parts = Fraction(budget.gaussian_delta) + budget.failure_grains * GRAIN
    assert parts <= Fraction(budget.delta)
    assert budget.price == mu_lower(epsilon, budget.gaussian_delta)
    assert delta_upper(budget.price, epsilon) <= budget.gaussian_delta * (1 + 1e-12)
    assert Budget.from_dict(json.loads(json.dumps(budget.to_dict()))) == budget


@pytest.mark.parametrize("failure", [-1e-9, 4e-6, 1.0, float("nan"), "1e-9", True])
def test_a_failure_is_a_part_of_delta(failure: float) -> None:
    with pytest.raises(BudgetError, match="must be a part of delta"):
        Budget(epsilon=1.0, delta=4e-6, failure=failure)


def test_pure_has_no_failure() -> None:
    with pytest.raises(BudgetError, match="pure epsilon-DP has no failure"):
        Budget(epsilon=1.0, delta=0.0, failure=1e-9)


def test_a_budget_without_one_is_written_as_before() -> None:
    assert NONE.to_dict() == {"epsilon": 1.0, "delta": 4e-6}
    assert NONE.gaussian_delta == NONE.delta
    assert Budget.from_dict({"epsilon": 1.0, "delta": 4e-6}) == NONE


# The ledger


def test_a_question_reserves_both_parts(path: Path) -> None:
    charge = told_at(140)
    with closing(Ledger.create(path, budget=SHARED)) as ledger:
        run = ledger.begin(SHARED, {"mechanism": {"name": "discover"}})
        run.check(0, "plan", charge)
        run.reserve(0, "plan", "values", charge)
        assert (run.state().spent, run.state().failure) == (
            charge.grains(Currency.GDP),
            charge.failure,
        )
        assert 0 < charge.failure < SHARED.failure_grains
        # The same question again costs nothing; another one is charged anew.
        run.reserve(0, "plan", "values", charge)
        assert run.state().failure == charge.failure
        assert ledger.state().failure_left == 0
        run.close()
    with closing(Ledger(path)) as again:
        state = again.state()
        assert state.failure_left == SHARED.failure_grains - charge.failure
        assert state.runs[1].held_failure == charge.failure
        assert "at delta 3e-06, and failure probability 9." in describe_left(state)
    with closing(sqlite3.connect(path)) as connection:
        (body,) = connection.execute("SELECT body FROM entries WHERE kind = 'reserve'").fetchone()
    told = json.loads(body)
    assert int(told["failure"]) == Charge.from_dict(told["charge"]).failure


def test_a_ledger_without_a_share_refuses_such_questions_and_books_nothing(path: Path) -> None:
    with closing(Ledger.create(path, budget=NONE)) as ledger:
        with pytest.raises(BudgetExhaustedError, match=r"less failure probability .*--failure F"):
            ledger.begin(SHARED, {})
        run = ledger.begin(NONE, {})
        for ask in (run.check, lambda o, p, c: run.reserve(o, p, "values", c)):
            with pytest.raises(BudgetExhaustedError, match=r"allowed: 0\).*--failure F"):
                ask(0, "plan", told_at(1e4))
        assert run.state().reservations == []


def test_a_run_cannot_have_more_failure_than_its_share(path: Path) -> None:
    charge = told_at(100)
    assert charge.failure > SHARED.failure_grains
    with closing(Ledger.create(path, budget=SHARED)) as ledger:
        run = ledger.begin(SHARED, {})
        for ask in (run.check, lambda o, p, c: run.reserve(o, p, "values", c)):
            with pytest.raises(BudgetExhaustedError, match="raise the threshold"):
                ask(0, "plan", charge)
        assert run.state().reservations == []


def test_shares_of_several_runs_add_up_to_no_more_than_the_ledgers(path: Path) -> None:
    part = Budget(epsilon=0.3, delta=2e-6, failure=6e-7)
    with closing(Ledger.create(path, budget=SHARED)) as ledger:
        ledger.begin(part, {})
        with pytest.raises(BudgetExhaustedError, match=r"got 6e-07; allowed: 4e-07"):
            ledger.begin(part, {})
        ledger.begin(Budget(epsilon=0.3, delta=2e-6, failure=4e-7), {})
        ledger.begin(Budget(epsilon=0.3, delta=2e-6), {})
        assert ledger.state().failure_left < 2


def test_a_ledger_of_pure_epsilon_refuses_them(path: Path) -> None:
    pure = Budget(epsilon=1.0, delta=0)
    with closing(Ledger.create(path, budget=pure)) as ledger:
        run = ledger.begin(pure, {})
        with pytest.raises(BudgetError, match="ledger of pure epsilon"):
            run.check(0, "plan", told_at(1e4))


def test_what_is_left_is_told_at_the_gaussian_part_of_delta(path: Path) -> None:
    with closing(Ledger.create(path, budget=SHARED)) as ledger:
        ledger.begin(Budget(epsilon=0.5, delta=4e-6), {})
        state = ledger.state()
        left = epsilon_of(state.left, Currency.GDP, 3e-6)
        assert describe_left(state) == (
            f"epsilon {left:.6g} at delta 3e-06, and failure probability 1e-06"
        )


def test_entries_of_ledgers_without_a_share_are_what_they_were(path: Path) -> None:
    """No byte of what is written for them has changed."""
    charge = Charge((Gaussian(squared_sensitivity=Fraction(1), sigma=SIGMA),))
    with closing(Ledger.create(path, budget=NONE, key="k")) as ledger:
        run = ledger.begin(NONE, {"a": 1})
        run.reserve(0, "plan", "rows", charge)
    bodies = [row[4] for row in rows_of(path)]
    grains = charge.grains(Currency.GDP)
    assert bodies == [
        '{"budget": {"epsilon": 1.0, "delta": 4e-06}, "key": "k"}',
        f'{{"cap": "{NONE.grains}", "budget": {{"epsilon": 1.0, "delta": 4e-06}}, '
        '"request": {"a": 1}}',
        '{"plan": "plan", "what": "rows", "charge": [{"noise": "gaussian", '
        f'"squared_sensitivity": "1", "sigma": 20.0}}], "grains": "{grains}"}}',
    ]


def test_a_manifest_of_another_share_does_not_agree(path: Path) -> None:
    unit = ResolvedUnit.of("taxi")
    with closing(Ledger.create(path, budget=SHARED)) as ledger:
        ledger.bind(name="trips", unit=unit)
        run = ledger.begin(SHARED, {"mechanism": {"name": "discover"}})
        run.reserve(0, "plan", "values", told_at(140))
        run.close()
        state = run.state()

        def manifest(budget: Budget, total: Budget) -> dict[str, object]:
            told = {"run": 1, "total": total.to_dict(), "head": state.head}
            promise = {**budget.to_dict(), "unit": str(unit)}
            return {"table": "trips", "guarantee": promise, "ledger": told}

        assert ledger.verify(manifest(SHARED, SHARED)).run == 1
        for wrong in ((NONE, SHARED), (SHARED, NONE)):
            with pytest.raises(LedgerMismatchError, match=r"not the same .*failure probability"):
                ledger.verify(manifest(*wrong))
        assert ledger.verify(manifest(SHARED, SHARED)).failure_since == 0
        more = ledger.begin(Budget(epsilon=0.5, delta=3e-6, failure=8e-7), {})
        more.reserve(0, "plan", "values", told_at(150))
        assert ledger.verify(manifest(SHARED, SHARED)).failure_since == told_at(150).failure


# What is promised


def test_the_promise_has_both_parts() -> None:
    promise = guarantee(SHARED, unit=ResolvedUnit.of("taxi"), bounding=None)  # type: ignore[arg-type]
    bare = guarantee(NONE, unit=ResolvedUnit.of("taxi"), bounding=None)  # type: ignore[arg-type]
    assert (promise["delta"], promise["failure"]) == (4e-6, 1e-6)
    assert "failure" not in bare
    assert promise["mu"] < bare["mu"]
    assert promise["mu"] == mu_upper(SHARED.grains)
    assert (
        "Of delta, 1e-06 bounds the probability that a value which only one 'taxi' has is told; "
        "the rest is for Gaussian noise." in promise["words"]
    )
    assert "Of delta" not in bare["words"]
    assert [p["delta"] for p in promise["curve"]] == [1e-3, 1e-4, 1e-5]
    for point in promise["curve"]:
        least = epsilon_of(SHARED.grains, Currency.GDP, point["delta"] - 1e-6)
        assert point["epsilon"] == pytest.approx(least, rel=1e-6)


def test_a_group_of_units_is_promised_what_as_many_steps_of_epsilon_and_delta_say() -> None:
    unit = ResolvedUnit.from_dict({"columns": ["taxi", "time:week"], "nulls": "drop"})
    promise = guarantee(SHARED, unit=unit, bounding=None)  # type: ignore[arg-type]
    delta = 0.0
    chained = []
    for _ in range(4):
        delta = 2.718281828459045 * delta + SHARED.delta
        chained.append(delta)
    two, four = promise["whole_person"][:2]
    assert (two["parts"], two["epsilon"], four["parts"], four["epsilon"]) == (2, 2.0, 4, 4.0)
    assert two["delta"] == pytest.approx(chained[1])
    assert four["delta"] == pytest.approx(chained[3])
    assert promise["whole_person"][-1]["delta"] == 1.0
    assert "costs k·epsilon: epsilon = 2 at delta = 1.49e-05 for 2" in promise["whole_person_words"]


def test_a_release_promises_its_run_and_the_discoveries_before_it(path: Path) -> None:
    """A release has its schema in it, and a discovery told that."""
    total = Budget(epsilon=9.0, delta=1e-5, failure=2e-6)
    found, made = Budget(epsilon=2.0, delta=3e-6, failure=1e-6), Budget(epsilon=0.1, delta=1e-9)
    discovery, mechanism = ({"mechanism": {"name": name}} for name in ("discover", "pairs"))
    with closing(Ledger.create(path, budget=total, key="key")) as ledger:
        ledger.begin(made, mechanism)
        ledger.begin(found, discovery)
        ledger.begin(made, mechanism)
        state = ledger.state()
    assert state.promised(1) == made
    assert state.discoveries(3) == (2,)
    whole = state.promised(3)
    assert Fraction(whole.failure) >= found.failure_grains * GRAIN
    assert whole.delta == pytest.approx(made.delta + found.failure)
    grains = found.grains + made.grains
    # What is promised is no less than what both may spend, at the part of delta for noise.
    assert delta_upper(mu_upper(grains), whole.epsilon) <= whole.gaussian_delta * (1 + 1e-9)
    assert whole.epsilon > max(found.epsilon, made.epsilon)
    assert whole.grains == pytest.approx(grains, rel=1e-6)
