"""The ledger: who may spend, on what, and how much is left."""

from __future__ import annotations

import json
import math
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from understudy.budget import (
    Budget,
    Charge,
    Currency,
    Gaussian,
    Laplace,
    ResolvedUnit,
    Selection,
    epsilon_of,
    mu_lower,
    mu_upper,
    noise_charge,
    price_grains,
    scale_upper,
    split,
)
from understudy.budget.unit import UnitColumn
from understudy.errors import (
    BudgetError,
    BudgetExhaustedError,
    LedgerLockedError,
    LedgerMismatchError,
    UnderstudyError,
)
from understudy.ledger import Ledger, Run, describe_left, new_key

if TYPE_CHECKING:
    from collections.abc import Iterator

GDP = Budget(epsilon=1.0, delta=1e-6)
PURE = Budget(epsilon=1.0, delta=0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ledger"


@contextmanager
def ledger_of(path: Path, budget: Budget) -> Iterator[Ledger]:
    with closing(Ledger.create(path, budget=budget)) as ledger:
        yield ledger


def costing(budget: Budget, share: float = 1.0) -> Charge:
    """Give a charge that costs a share of a budget, at most."""
    price = split(budget.grains, budget.currency, [share, 1 - share] if share < 1 else [1])[0]
    scale = scale_upper(price, budget.currency, bound=Fraction(1))
    return noise_charge(scale, budget.currency, bound=Fraction(1))


# Identity


def test_a_new_ledger_belongs_to_nobody_and_has_a_key_of_its_own(tmp_path: Path) -> None:
    keys = set()
    for i in range(3):
        with ledger_of(tmp_path / f"{i}.ledger", GDP) as ledger:
            state = ledger.state()
        assert (state.name, state.unit, state.runs) == (None, None, {})
        assert (state.budget, state.left) == (GDP, GDP.grains)
        keys.add(state.key)
    assert len(keys | {new_key()}) == 4
    assert {len(key) for key in keys} == {32}


def test_it_says_whose_it_is_and_what_is_left_also_when_it_is_closed(path: Path) -> None:
    with ledger_of(path, GDP) as ledger:
        ledger.bind(name="<trips>", unit=ResolvedUnit.of("taxi"))
        ledger.begin(Budget(epsilon=0.5, delta=1e-6), {"mechanism": {"name": "mst"}}).close()
        told, page, key = repr(ledger), ledger._repr_html_(), ledger.state().key
        assert f"Ledger {path}: <trips>, unit taxi, epsilon 1 at delta 1e-06 left" in told
        assert "\n  run 1: mst, 0.0%" in told
        assert "&lt;trips&gt;" in page
        assert "<trips>" not in page
        assert key not in told + repr(ledger.state())
    assert repr(ledger) == f"Ledger {path}: closed, or damaged"
    with closing(Ledger(str(path))) as again:
        assert repr(again) == told


def test_the_key_stays(path: Path) -> None:
    Ledger.create(path, budget=GDP, key="a key").close()
    for _ in range(2):
        with closing(Ledger(path)) as ledger:
            assert ledger.state().key == "a key"


@pytest.mark.parametrize(
    ("name", "unit", "told"),
    [
        ("flights", ResolvedUnit.of("taxi"), ["another table", "flights", "trips"]),
        ("Trips", ResolvedUnit.of("taxi"), ["another table", "Trips", "trips"]),
        ("trips", ResolvedUnit.of("driver"), ["another unit", "driver", "taxi"]),
        ("trips", ResolvedUnit.of("taxi", "day"), ["another unit", "taxi × day"]),
        ("trips", ResolvedUnit.of("taxi", nulls="one"), ["another unit"]),
        ("trips", ResolvedUnit.of(), ["another unit", "row"]),
        ("trips", ResolvedUnit((UnitColumn("taxi", "week"),), "drop"), ["week of taxi (ISO 8601)"]),
        ("trips", ResolvedUnit.of("taxi", nulls="one"), ["are one person together", "dropped"]),
    ],
)
def test_a_ledger_is_for_one_table_and_one_unit(
    path: Path, name: str, unit: ResolvedUnit, told: list[str]
) -> None:
    with ledger_of(path, GDP) as ledger:
        for _ in range(2):
            ledger.bind(name="trips", unit=ResolvedUnit.of("taxi"))
        before = ledger.state()
        with pytest.raises(LedgerMismatchError) as error:
            ledger.bind(name=name, unit=unit)
        assert all(part in str(error.value) for part in told)
        assert ledger.state() == before
        assert (before.name, before.unit) == ("trips", ResolvedUnit.of("taxi"))


def test_a_ledger_tells_formats_of_dates_apart(path: Path) -> None:
    """3/2/2020 is in one week by one format, and in another by the other."""
    formats = ("%d/%m/%Y", "%m/%d/%Y", None)
    units = [ResolvedUnit((UnitColumn("start", "week", f),), "drop") for f in formats]
    with ledger_of(path, GDP) as ledger:
        for _ in range(2):
            ledger.bind(name="trips", unit=units[0])
        for other in units[1:]:
            with pytest.raises(LedgerMismatchError, match="another unit"):
                ledger.bind(name="trips", unit=other)


@pytest.mark.parametrize(("total", "asked"), [(GDP, PURE), (PURE, GDP)])
def test_a_ledger_has_one_currency(path: Path, total: Budget, asked: Budget) -> None:
    with ledger_of(path, total) as ledger:
        with pytest.raises(LedgerMismatchError, match=f"allowed: {total.currency}"):
            ledger.begin(asked, {})
        assert ledger.state().runs == {}


def test_a_run_that_is_not_there_is_told(path: Path) -> None:
    with ledger_of(path, GDP) as ledger:
        with pytest.raises(LedgerMismatchError, match="no run yet"):
            ledger.reopen()
        for _ in range(2):
            ledger.begin(Budget(epsilon=0.1, delta=1e-6), {})
        assert ledger.reopen().number == 2
        with pytest.raises(LedgerMismatchError, match="got run 3; allowed: 1, 2"):
            ledger.reopen(3)


# Caps


def test_a_run_is_refused_more_than_is_left_and_told_what_is(path: Path) -> None:
    with ledger_of(path, PURE) as ledger:
        ledger.begin(Budget(epsilon=0.75, delta=0), {})
        with pytest.raises(BudgetExhaustedError, match=r"got epsilon 0\.5 at delta 0") as error:
            ledger.begin(Budget(epsilon=0.5, delta=0), {})
        assert error.value.allowed == "epsilon 0.25" == describe_left(ledger.state())
        ledger.begin(Budget(epsilon=0.25, delta=0), {})
        with pytest.raises(BudgetExhaustedError, match="allowed: nothing"):
            ledger.begin(Budget(epsilon=1e-6, delta=0), {})
        assert ledger.state().left == 0


def test_two_open_ledgers_of_one_file_share_what_is_left(path: Path) -> None:
    half = Budget(epsilon=0.5, delta=0)
    with ledger_of(path, PURE) as one, closing(Ledger(path)) as other:
        one.begin(half, {})
        other.begin(half, {})
        assert one.state().left == other.state().left == 0
        for ledger in (one, other):
            with pytest.raises(BudgetExhaustedError, match="allowed: nothing"):
                ledger.begin(Budget(epsilon=0.1, delta=0), {})


def test_what_is_left_of_a_gaussian_ledger_is_told_at_its_own_delta(path: Path) -> None:
    with ledger_of(path, GDP) as ledger:
        assert describe_left(ledger.state()) == "epsilon 1 at delta 1e-06"
        ledger.begin(Budget(epsilon=0.8, delta=1e-6), {})
        with pytest.raises(BudgetExhaustedError) as error:
            ledger.begin(Budget(epsilon=0.8, delta=1e-6), {})
        left = epsilon_of(ledger.state().left, Currency.GDP, 1e-6)
        assert error.value.allowed == f"epsilon {left:.6g} at delta 1e-06"
        # Squares of mu add up: about 0.8² + 0.6² = 1².
        assert 0.5 < left < 0.6


def test_squared_mus_of_several_runs_add_up(path: Path) -> None:
    epsilons = (0.2, 0.3, 0.4, 0.5)
    with ledger_of(path, GDP) as ledger:
        for epsilon in epsilons:
            ledger.begin(Budget(epsilon=epsilon, delta=1e-6), {})
        state = ledger.state()
    squares = [mu_lower(e, 1e-6) ** 2 for e in epsilons]
    assert mu_upper(state.total - state.left) == pytest.approx(math.sqrt(sum(squares)), rel=1e-12)
    assert mu_upper(state.left) ** 2 == pytest.approx(mu_lower(1.0, 1e-6) ** 2 - sum(squares))
    # Far more than the epsilons' own sum would allow.
    assert sum(epsilons) > 1
    assert 0.5 < epsilon_of(state.left, Currency.GDP, 1e-6) < 1


def test_deltas_may_differ_between_runs(path: Path) -> None:
    with ledger_of(path, GDP) as ledger:
        ledger.begin(Budget(epsilon=0.5, delta=1e-9), {})
        state = ledger.state()
    assert state.left == GDP.grains - Budget(epsilon=0.5, delta=1e-9).grains


@pytest.mark.parametrize("budget", [GDP, PURE])
def test_a_cap_is_held_until_the_run_is_closed(path: Path, budget: Budget) -> None:
    small = Budget(epsilon=0.5, delta=budget.delta)
    charge = costing(small, 0.25)
    with ledger_of(path, budget) as ledger:
        run = ledger.begin(small, {})
        assert ledger.state().left == budget.grains - small.grains
        run.reserve(0, "plan", "a quarter", charge)
        run.store(0, "plan", b"answer")
        assert ledger.state().left == budget.grains - small.grains
        for _ in range(2):
            run.close()
            assert ledger.state().left == budget.grains - charge.grains(budget.currency)
        assert [e.kind for e in ledger._journal.entries()].count("close") == 1


def test_an_abandoned_run_keeps_what_it_booked_and_open_reservations_too(path: Path) -> None:
    with ledger_of(path, GDP) as ledger:
        ledger.begin(Budget(epsilon=0.3, delta=1e-6), {})
        run = ledger.begin(Budget(epsilon=0.6, delta=1e-6), {})
        charge = costing(Budget(epsilon=0.6, delta=1e-6), 0.4)
        run.reserve(0, "plan", "never answered", charge)
    with closing(Ledger(path)) as ledger:
        ledger.reopen(1).close()
        ledger.reopen(2).close()
        state = ledger.state()
    assert state.runs[1].held == 0
    assert state.runs[2].held == charge.grains(Currency.GDP) == state.total - state.left


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=60),
    st.floats(1e-2, 40),
    st.sampled_from([0, 1e-12, 1e-6, 1e-3]),
    st.fractions(min_value=Fraction(1, 100), max_value=10**6),
)
def test_shares_add_up_and_the_last_never_fails(
    shares: list[float], epsilon: float, delta: float, bound: Fraction
) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    currency, left = budget.currency, budget.grains
    for price in split(budget.grains, currency, shares):
        scale = scale_upper(price, currency, bound=bound)
        cost = noise_charge(scale, currency, bound=bound).grains(currency)
        assert cost <= price_grains(price, currency)
        left -= cost
    assert 0 <= left <= budget.grains * 1e-12


@pytest.mark.parametrize("budget", [GDP, PURE])
@pytest.mark.parametrize("count", [2, 3, 7, 60])
def test_a_run_is_spent_to_the_last_share(path: Path, budget: Budget, count: int) -> None:
    shares = [1 + i % 7 for i in range(count)]
    with ledger_of(path, budget) as ledger:
        run = ledger.begin(budget, {})
        for i, price in enumerate(split(budget.grains, budget.currency, shares)):
            scale = scale_upper(price, budget.currency, bound=Fraction(9))
            charge = noise_charge(scale, budget.currency, bound=Fraction(9))
            run.check(i, "plan", charge)
            run.reserve(i, "plan", "a share", charge)
            run.store(i, "plan", b"")
        state = ledger.state()
        assert budget.grains * (1 - 1e-12) <= state.runs[1].spent <= state.runs[1].cap
        with pytest.raises(BudgetExhaustedError, match="allowed: nothing"):
            run.check(count, "plan", costing(budget, 1e-4))


# Charges


CHARGES = [
    Charge((Gaussian(squared_sensitivity=Fraction(9, 7), sigma=33.3),)),
    Charge((Laplace(sensitivity=Fraction(3), scale=123.4),)),
    Charge((Selection(epsilon=0.0123),)),
    Charge(
        (
            Gaussian(squared_sensitivity=Fraction(1), sigma=1e3),
            Laplace(sensitivity=Fraction(2, 3), scale=1e2),
            Selection(epsilon=1e-3),
        )
    ),
]


@pytest.mark.parametrize("budget", [GDP, PURE])
def test_booked_grains_are_those_of_the_stored_events(path: Path, budget: Budget) -> None:
    currency = budget.currency
    wanted = CHARGES if currency == Currency.GDP else CHARGES[1:3]
    with ledger_of(path, budget) as ledger:
        run = ledger.begin(budget, {})
        for i, charge in enumerate(wanted):
            run.reserve(i, f"plan {i}", f"question {i}", charge)
    with closing(Ledger(path)) as ledger:
        held = ledger.reopen().state()
    assert [r.charge for r in held.reservations] == wanted
    assert [r.what for r in held.reservations] == [f"question {i}" for i in range(len(wanted))]
    assert held.spent == sum(c.grains(currency) for c in wanted)
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT body FROM entries WHERE kind = 'reserve'").fetchall()
    for (body,) in found:
        told = json.loads(body)
        assert Charge.from_dict(told["charge"]).grains(currency) == int(told["grains"])


def test_a_pure_ledger_takes_no_gaussian_noise(path: Path) -> None:
    with ledger_of(path, PURE) as ledger:
        run = ledger.begin(PURE, {})
        for ask in (run.check, _reserve(run)):
            with pytest.raises(BudgetError, match="Gaussian noise cannot be charged"):
                ask(0, "plan", CHARGES[0])
        assert run.state().reservations == []
        run.reserve(0, "plan", "Laplace", Charge((Laplace(sensitivity=Fraction(1), scale=2.0),)))
        run.reserve(1, "plan", "a choice", Charge((Selection(epsilon=0.5),)))
        assert run.state().spent == PURE.grains


def _reserve(run: Run) -> Any:
    return lambda ordinal, plan, charge: run.reserve(ordinal, plan, "what", charge)


# Questions


def test_the_same_question_under_an_open_reservation_costs_nothing(path: Path) -> None:
    whole = costing(GDP)
    with ledger_of(path, GDP) as ledger:
        run = ledger.begin(GDP, {})
        run.reserve(0, "plan", "everything", whole)
        before = ledger.state()
    for _ in range(3):
        with closing(Ledger(path)) as ledger:
            run = ledger.reopen()
            assert run.answer(0, "plan") is None
            run.check(0, "plan", whole)
            run.reserve(0, "plan", "everything", whole)
            assert ledger.state() == before
    with closing(Ledger(path)) as ledger:
        ledger.reopen().store(0, "plan", b"at last")
        assert ledger.state().runs[1].spent == whole.grains(Currency.GDP)
        assert ledger.reopen().answer(0, "plan") == b"at last"


def test_another_question_in_its_place_is_charged_anew(path: Path) -> None:
    with ledger_of(path, GDP) as ledger:
        run = ledger.begin(GDP, {})
        run.reserve(0, "one", "most", costing(GDP, 0.75))
        run.reserve(0, "two", "some", costing(GDP, 0.125))
        assert len(run.state().reservations) == 2
        for ask in (run.check, _reserve(run)):
            with pytest.raises(BudgetExhaustedError, match="question 0") as error:
                ask(0, "three", costing(GDP, 0.25))
            left = epsilon_of(GDP.grains - run.state().spent, Currency.GDP, 1e-6)
            assert error.value.allowed == f"epsilon {left:.6g} at delta 1e-06"
        # Both may still be answered, but only one of them.
        run.store(0, "one", b"1")
        with pytest.raises(LedgerLockedError, match="has continued"):
            run.store(0, "two", b"2")
        assert run.state().answers == {0: ("one", b"1")}


def test_a_stored_answer_is_replayed_and_none_other_is_taken(path: Path) -> None:
    charge = costing(GDP, 0.25)
    with ledger_of(path, GDP) as ledger:
        run = ledger.begin(GDP, {})
        run.reserve(0, "plan", "some", charge)
        run.store(0, "plan", b"\x00\xff answer")
    with closing(Ledger(path)) as ledger:
        run = ledger.reopen(1)
        before = ledger.state()
        for _ in range(2):
            assert run.answer(0, "plan") == b"\x00\xff answer"
        with pytest.raises(
            LedgerMismatchError, match="question 0 of run 1 is not the one that it asked before"
        ):
            run.answer(0, "another plan")
        with pytest.raises(LedgerLockedError, match="has continued"):
            run.store(0, "plan", b"another answer")
        for plan in ("plan", "another plan"):
            for ask in (run.check, _reserve(run)):
                with pytest.raises(LedgerLockedError, match="has already answered"):
                    ask(0, plan, charge)
        assert ledger.state() == before


def test_an_answer_without_a_charge_is_not_stored(path: Path) -> None:
    with ledger_of(path, GDP) as ledger:
        run = ledger.begin(GDP, {})
        run.reserve(0, "plan", "some", costing(GDP, 0.25))
        for ordinal, plan in ((0, "another plan"), (1, "plan")):
            with pytest.raises(LedgerMismatchError, match="never charged"):
                run.store(ordinal, plan, b"free")
        assert run.state().answers == {}


def test_a_closed_run_replays_but_takes_no_new_question(path: Path) -> None:
    charge = costing(GDP, 0.25)
    with ledger_of(path, GDP) as ledger:
        run = ledger.begin(GDP, {})
        run.reserve(0, "plan", "some", charge)
        run.store(0, "plan", b"answer")
        run.reserve(1, "plan", "some", charge)
        run.close()
        before = ledger.state()
        assert run.answer(0, "plan") == b"answer"
        assert run.answer(1, "plan") is None
        for ordinal in (0, 1, 2):
            refusal = LedgerLockedError if ordinal == 0 else LedgerMismatchError
            for ask in (run.check, _reserve(run)):
                with pytest.raises(refusal, match=r"has already answered|run 1 is closed"):
                    ask(ordinal, "plan", charge)
            with pytest.raises(LedgerLockedError, match="has continued"):
                run.store(ordinal, "plan", b"late")
        assert ledger.state() == before


def test_a_runs_head_is_that_of_its_own_last_entry(path: Path) -> None:
    with ledger_of(path, GDP) as ledger:
        first = ledger.begin(Budget(epsilon=0.2, delta=1e-6), {})
        assert first.state().head == ledger.state().head
        first.close()
        head = ledger.state().head
        ledger.begin(Budget(epsilon=0.2, delta=1e-6), {})
        assert first.state().head == head != ledger.state().head


# A model of all of it


class _ModelRun:
    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.booked: dict[tuple[int, str], int] = {}
        self.answers: dict[int, tuple[str, bytes]] = {}
        self.closed = False

    @property
    def spent(self) -> int:
        return sum(self.booked.values())

    @property
    def held(self) -> int:
        return self.spent if self.closed else self.cap


ordinals = st.integers(0, 3)
shares = st.sampled_from([0.02, 0.1, 0.3, 0.55])
doors = st.integers(0, 1)
which = st.integers(0, 10)


class LedgerMachine(RuleBasedStateMachine):
    """Several runs, asked through two open ledgers on one file, against a plain model.

    A question is a share of the total; its plan is that share written out.
    """

    total = GDP

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "a.ledger"
        self.ledgers = [Ledger.create(self.path, budget=self.total), Ledger(self.path)]
        self.runs: list[_ModelRun] = []
        self.drawn = 0

    def teardown(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        self.folder.cleanup()

    @property
    def left(self) -> int:
        return self.total.grains - sum(run.held for run in self.runs)

    def pick(self, number: int, door: int) -> tuple[_ModelRun, Run]:
        place = number % len(self.runs)
        return self.runs[place], self.ledgers[door].reopen(place + 1)

    @rule(epsilon=st.sampled_from([0.1, 0.3, 0.5, 0.8, 1.0]), door=doors)
    def begin(self, epsilon: float, door: int) -> None:
        budget = Budget(epsilon=epsilon, delta=self.total.delta)
        if budget.grains > self.left:
            with pytest.raises(BudgetExhaustedError):
                self.ledgers[door].begin(budget, {})
            return
        run = self.ledgers[door].begin(budget, {})
        self.runs.append(_ModelRun(budget.grains))
        assert run.number == len(self.runs)

    def refusal(self, run: _ModelRun, key: tuple[int, str], grains: int) -> Any:
        if key[0] in run.answers:
            return LedgerLockedError
        if run.closed:
            return LedgerMismatchError
        if key not in run.booked and run.spent + grains > run.cap:
            return BudgetExhaustedError
        return None

    @precondition(lambda self: self.runs)
    @rule(number=which, door=doors, ordinal=ordinals, share=shares)
    def reserve(self, number: int, door: int, ordinal: int, share: float) -> None:
        model, run = self.pick(number, door)
        charge, key = costing(self.total, share), (ordinal, f"{share}")
        grains = charge.grains(self.total.currency)
        refusal = self.refusal(model, key, grains)
        for ask in (run.check, _reserve(run)):
            if refusal is not None:
                with pytest.raises(refusal):
                    ask(ordinal, key[1], charge)
            else:
                ask(ordinal, key[1], charge)
        if refusal is None:
            model.booked.setdefault(key, grains)

    @precondition(lambda self: self.runs)
    @rule(number=which, door=doors, ordinal=ordinals, share=shares)
    def store(self, number: int, door: int, ordinal: int, share: float) -> None:
        model, run = self.pick(number, door)
        self.drawn += 1
        payload = b"%d" % self.drawn
        refusal: type[UnderstudyError] | None = None
        if model.closed or ordinal in model.answers:
            refusal = LedgerLockedError
        elif (ordinal, f"{share}") not in model.booked:
            refusal = LedgerMismatchError
        if refusal is not None:
            with pytest.raises(refusal):
                run.store(ordinal, f"{share}", payload)
        else:
            run.store(ordinal, f"{share}", payload)
            model.answers[ordinal] = (f"{share}", payload)

    @precondition(lambda self: self.runs)
    @rule(number=which, door=doors, ordinal=ordinals, share=shares)
    def replay(self, number: int, door: int, ordinal: int, share: float) -> None:
        model, run = self.pick(number, door)
        plan, payload = model.answers.get(ordinal, (f"{share}", None))
        assert run.answer(ordinal, plan) == payload
        if plan != f"{share}":
            with pytest.raises(LedgerMismatchError):
                run.answer(ordinal, f"{share}")

    @precondition(lambda self: self.runs)
    @rule(number=which, door=doors)
    def close(self, number: int, door: int) -> None:
        model, run = self.pick(number, door)
        run.close()
        model.closed = True

    @rule(door=doors)
    def reopen(self, door: int) -> None:
        self.ledgers[door].close()
        self.ledgers[door] = Ledger(self.path)

    @invariant()
    def ledger_and_model_agree(self) -> None:
        for ledger in self.ledgers:
            state = ledger.state()
            assert state.left == self.left == state.total - sum(r.held for r in state.runs.values())
            assert state.left >= 0
            for model, run in zip(self.runs, state.runs.values(), strict=True):
                assert run.spent == model.spent <= run.cap == model.cap
                assert {(r.ordinal, r.plan): r.grains for r in run.reservations} == model.booked
                assert (run.answers, run.closed) == (model.answers, model.closed)


class PureLedgerMachine(LedgerMachine):
    """The same in a ledger of pure epsilon."""

    total = PURE


_steps = settings(
    max_examples=25, stateful_step_count=30, deadline=None, derandomize=True, database=None
)
TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = _steps
TestPureLedgerMachine = PureLedgerMachine.TestCase
TestPureLedgerMachine.settings = _steps
