"""The door as a mechanism sees it: answers, replay, refusals before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.vault.obvious import People
from tests.vault.worlds import KEY, obvious, opened
from understudy.audit import FixedEntropy
from understudy.budget import (
    Budget,
    Currency,
    Gaussian,
    Laplace,
    Norm,
    ResolvedUnit,
    Sample,
    Weights,
    scale_upper,
)
from understudy.door import (
    Candidate,
    Distances,
    Door,
    Measure,
    Query,
    Rows,
    Select,
    Total,
    UnitCounts,
    UnitMode,
    Units,
)
from understudy.errors import (
    BudgetError,
    BudgetExhaustedError,
    EngineError,
    InternalError,
    LedgerLockedError,
    QuestionError,
)
from understudy.ledger import Ledger
from understudy.noise import Shape, draw, steps_per_unit
from understudy.vault import PrivateDoor
from understudy.vault import door as vault_door
from understudy.vault import marginals as vault_marginals
from understudy.vault import table as vault_table

PEOPLE: People = {
    "ann": [(0, 0, 0)] * 5 + [(1, 1, 2)],
    "bob": [(2, 1, 3)],
    "cy": [(i, j, k) for i in range(3) for j in range(2) for k in range(4)],
}
RICH = Budget(epsilon=1e9, delta=1e-9)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    held = Ledger.create(tmp_path / "l.ledger", budget=RICH, key=KEY)
    held.bind(name="world", unit=ResolvedUnit.of("id"))
    yield held
    held.close()


@pytest.fixture
def door(ledger: Ledger) -> Iterator[PrivateDoor]:
    with opened(PEOPLE) as table:
        yield PrivateDoor(table, run=ledger.begin(RICH, {}), bounding=Weights(4))


def near(noisy: Any, true: Any) -> bool:
    return bool(np.all(np.abs(np.asarray(noisy) - np.asarray(true)) < 0.5))


def test_answers_are_the_counts_but_for_their_noise(door: PrivateDoor) -> None:
    tiny = 0.01
    assert near(door.units(scale=tiny), 3)
    assert near(door.total(cap=4, scale=tiny), 9)
    first, second = door.measure(
        [Query(clique=("a",), scale=tiny), Query(clique=("b", "a"), scale=tiny)], price=1e6
    )
    assert near(first.values, obvious(PEOPLE).marginal(("a",), Weights(4)) / 2**16)
    assert near(second.values, obvious(PEOPLE).marginal(("b", "a"), Weights(4)) / 2**16)
    assert near(door.unit_mode(("b",), scale=tiny).sum(), 3)
    cells = np.array([0, 5])
    counted = door.unit_counts(("a", "b"), cells=cells, times=(1, 4), most=9, scale=tiny)
    assert counted.shape == (2, 2)
    assert near(counted, [[0, 1], [1, 1]])


def test_a_door_after_another_has_what_that_one_left(ledger: Ledger) -> None:
    with opened(PEOPLE) as table:
        run = ledger.begin(RICH, {})
        first = PrivateDoor(table, run=run, bounding=Weights(1))
        first.units(scale=0.01)
        second = PrivateDoor(table, run=run, bounding=Weights(4), after=first)
        assert second.grains == first.grains < RICH.grains
        second.total(cap=4, scale=0.01)
        assert [r.what for r in run.state().reservations] == ["number of people", "number of rows"]
        assert second.grains == RICH.grains - run.state().spent


def test_nothing_that_a_mechanism_may_call_resets_what_is_left() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(PrivateDoor) == public(Door)


def test_rows_of_cells_are_summed(door: PrivateDoor) -> None:
    sets = Rows(np.array([0, 2, 3]), np.array([0, 2, 1]))
    (measured,) = door.measure([Query(clique=("a",), scale=0.01, rows=sets)], price=1e6)
    marginal = obvious(PEOPLE).marginal(("a",), Weights(4)) / 2**16
    assert near(measured.values, [marginal[0] + marginal[2], marginal[1]])
    assert measured.rows is sets


@pytest.mark.parametrize("held", [2**25, 0], ids=["here", "in the engine"])
def test_many_rows_in_one_cell_are_counted(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their weight of 2¹⁶ each is beyond 32 bits: a count must not fail for being large."""
    monkeypatch.setattr(vault_table, "MOST_HELD", held)
    crowd: People = {str(i): [(0, 0, 0)] for i in range(40_000)}
    with opened(crowd) as table:
        found = dict(vault_marginals.marginals(table, [("a",)], table.bounded(Weights(1))))
    assert found["a",].tolist() == [40_000 * 2**16, 0, 0]


def test_selection_finds_the_marginal_that_is_most_wrong(door: PrivateDoor) -> None:
    right = obvious(PEOPLE).marginal(("a",), Sample(2)).astype(float)
    wrong = np.zeros(2)
    found = door.select(
        [Candidate(clique=("a",), expected=right), Candidate(clique=("b",), expected=wrong)],
        epsilon=1000.0,
        bounding=Sample(2),
    )
    assert found == 1


CANDIDATES = (
    Candidate(clique=("a",), expected=np.array([1.5, -2.0, 7.0]), weight=0.5),
    Candidate(clique=("b",), expected=np.array([0.0, 0.25]), weight=3.0, penalty=2.0),
    Candidate(clique=("b", "a"), expected=np.zeros(6), penalty=-1.25),
)


@pytest.mark.parametrize("delta", [1e-9, 0])
@pytest.mark.parametrize("bounding", [Weights(4), Sample(2)], ids=str)
def test_distances_are_those_of_the_candidates_but_for_their_noise_and_cost_the_cap_for_each(
    tmp_path: Path, bounding: Weights | Sample, delta: float
) -> None:
    """L1 is k·C and squared L2 k·C²; the ledger says what was asked, and what for."""
    budget, scale = Budget(epsilon=1e6, delta=delta), 0.01
    with (
        closing(Ledger.create(tmp_path / "d.ledger", budget=budget, key=KEY)) as held,
        opened(PEOPLE) as table,
    ):
        held.bind(name="world", unit=ResolvedUnit.of("id"))
        door = PrivateDoor(table, run=held.begin(budget, {}), bounding=Weights(1))
        found = door.distances(CANDIDATES, scale=scale, bounding=bounding)
        (booked,) = held.state().runs[1].reservations
        spent = budget.grains - door.grains
    asked = Distances(candidates=CANDIDATES, scale=scale, bounding=bounding)
    assert near(found, obvious(PEOPLE).exact(asked) / 2**16)
    assert booked.what == "distances of 3 marginals"
    cap, (event,) = Fraction(bounding.cap), booked.charge.events
    if delta:
        assert event == Gaussian(squared_sensitivity=3 * cap**2, sigma=scale)
        cost = 3 * (cap / Fraction(scale)) ** 2
    else:
        assert event == Laplace(sensitivity=3 * cap, scale=scale)
        cost = 3 * cap / Fraction(scale)
    assert booked.grains == spent == math.ceil(cost * 2**80)


def test_noise_lies_on_the_lattice_and_the_weighted_one_is_fine(door: PrivateDoor) -> None:
    total = door.total(cap=4, scale=100.0)
    assert total == int(total)
    (measured,) = door.measure([Query(clique=("a",), scale=1000.0)], price=1.0)
    assert np.all(measured.values * 2**16 == np.rint(measured.values * 2**16))
    apart = door.distances(CANDIDATES, scale=1000.0, bounding=Sample(2))
    assert np.all(apart * 2**16 == np.rint(apart * 2**16))
    assert np.any(apart != np.rint(apart))


@pytest.mark.parametrize("delta", [1e-9, 0])
def test_an_answer_is_the_count_and_the_samplers_own_noise(tmp_path: Path, delta: float) -> None:
    """Step by step of the lattice: the scale charged, a draw a number, nothing rounded off."""
    budget = Budget(epsilon=1e9, delta=delta)
    held = Ledger.create(tmp_path / "n.ledger", budget=budget, key=KEY)
    held.bind(name="world", unit=ResolvedUnit.of("id"))
    with opened(PEOPLE) as table:
        run = held.begin(budget, {})
        door = PrivateDoor(table, run=run, bounding=Weights(4), entropy=FixedEntropy(3))
        (measured,) = door.measure([Query(clique=("b", "a"), scale=2.5)], price=1e5)
        answers = [measured.values, np.array([door.total(cap=4, scale=0.3)])]
        answers += [door.distances(CANDIDATES, scale=s, bounding=Sample(2)) for s in (1.7, 1e-4)]
    held.close()
    apart = Distances(candidates=CANDIDATES, scale=1.0, bounding=Sample(2))
    counted = [obvious(PEOPLE).marginal(("b", "a"), Weights(4)), np.array([9])]
    counted += [obvious(PEOPLE).exact(apart)] * 2
    scales, units = (2.5, 0.3, 1.7, 1e-4), (2**16, 1, 2**16, 2**16)
    shape: Shape = "gaussian" if delta else "laplace"
    entropy = FixedEntropy(3)
    for values, exact, scale, unit in zip(answers, counted, scales, units, strict=True):
        steps = steps_per_unit(scale, at_least=unit)
        noise = draw(shape, scale * steps, len(exact), entropy=entropy)
        assert (values * steps).tolist() == (exact * (steps // unit) + noise).tolist()


def test_a_selection_is_by_half_of_epsilon_over_the_farthest_that_a_person_moves_it(
    door: PrivateDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exponent is exactly ε·w·distance / (2·max w·C), whatever the whole numbers are."""
    seen: list[tuple[list[int], Fraction]] = []

    def watched(scores: list[int], rate: Fraction, **_: object) -> int:
        seen.append((scores, rate))
        return 0

    monkeypatch.setattr(vault_door, "choose", watched)
    given = (
        Candidate(clique=("a",), expected=np.array([1.5, 0, 7]), weight=0.5),
        Candidate(clique=("b",), expected=np.array([0, 0.25]), weight=3, penalty=2),
    )
    door.select(given, epsilon=0.7, bounding=Sample(2))
    ((scores, rate),) = seen
    asked = Select(candidates=given, epsilon=0.7, bounding=Sample(2))
    for candidate, distance, score in zip(
        given, obvious(PEOPLE).exact(asked).tolist(), scores, strict=True
    ):
        weighted = Fraction(candidate.weight) * Fraction(distance, 2**16)
        assert rate * score == Fraction(0.7) * weighted / (2 * 3 * 2)


def test_a_charge_is_on_disk_before_noise_is_drawn(ledger: Ledger) -> None:
    booked = []

    def entropy(count: int) -> bytes:
        with closing(Ledger(ledger.path)) as other:
            run = other.state().runs[1]
            booked.append((len(run.reservations), len(run.answers)))
        return bytes(range(1, count + 1))

    with opened(PEOPLE) as table:
        run = ledger.begin(RICH, {})
        door = PrivateDoor(table, run=run, bounding=Weights(4), entropy=entropy)
        door.units(scale=1.0)
        door.total(cap=2, scale=1.0)
    assert booked == [(1, 0), (2, 1)]


def test_a_resumed_run_replays_its_answers_and_draws_nothing(ledger: Ledger) -> None:
    run = ledger.begin(Budget(epsilon=5, delta=1e-9), {})

    def ask(entropy: Any) -> list[Any]:
        with opened(PEOPLE) as table:
            door = PrivateDoor(table, run=run, bounding=Weights(4), entropy=entropy)
            scale = scale_upper(0.1, Currency.GDP, bound=Fraction(16))
            measured = door.measure([Query(clique=("a",), scale=scale)], price=0.1)
            apart = door.distances(CANDIDATES, scale=300.0, bounding=Sample(2))
            people = door.units(scale=30.0)
            return [people, measured[0].values.tolist(), apart.tolist(), door.grains]

    first = ask(FixedEntropy(1))
    spent = run.state().spent

    def refuse(count: int) -> bytes:
        raise AssertionError(f"{count} bytes were drawn on replay")

    assert ask(refuse) == first
    assert run.state().spent == spent


def test_a_pure_ledger_draws_laplace_noise(tmp_path: Path) -> None:
    budget = Budget(epsilon=1e6, delta=0)
    held = Ledger.create(tmp_path / "p.ledger", budget=budget, key=KEY)
    held.bind(name="world", unit=ResolvedUnit.of("id"))
    with opened(PEOPLE) as table:
        door = PrivateDoor(table, run=held.begin(budget, {}), bounding=Sample(4))
        assert door.currency == Currency.PURE
        assert near(door.units(scale=0.01), 3)
        (measured,) = door.measure([Query(clique=("a",), scale=0.01)], price=1e5)
        assert near(measured.values, obvious(PEOPLE).marginal(("a",), Sample(4)))
        (charge,) = held.state().runs[1].reservations[1].charge.events
        assert type(charge).__name__ == "Laplace"
    held.close()


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda d: d.measure([], price=1.0), "at least one query"),
        (lambda d: d.measure([Query(clique=("z",), scale=1.0)], price=9.0), "does not model"),
        (
            lambda d: d.measure([Query(clique=("a", "a"), scale=1.0)], price=9.0),
            "each column only once",
        ),
        (
            lambda d: d.measure(
                [Query(clique=("a",), scale=1.0, rows=Rows(np.array([0, 1]), np.array([7])))],
                price=9.0,
            ),
            "query rows hold cells outside a",
        ),
        (
            lambda d: d.unit_mode(("a",), scale=1.0, labels=np.array([0])),
            "labels must have one entry per cell",
        ),
        (
            lambda d: d.unit_counts(("a",), cells=np.array([3]), times=(1,), most=1, scale=1.0),
            "cells lie outside a",
        ),
        (
            lambda d: d.unit_counts(("a",), cells=np.array([0, 0]), times=(1,), most=1, scale=1.0),
            "no cell twice",
        ),
        (
            lambda d: d.unit_counts(("a",), cells=np.array([0]), times=(0,), most=1, scale=1.0),
            "times must be distinct positive integers",
        ),
        (lambda d: d.select([], epsilon=1.0, bounding=Sample(1)), "nothing to select"),
        (
            lambda d: d.select(
                [Candidate(clique=("a",), expected=np.zeros(2))], epsilon=1.0, bounding=Sample(1)
            ),
            "one number per cell",
        ),
        (
            lambda d: d.select(
                [Candidate(clique=("a",), expected=np.full(3, np.nan))],
                epsilon=1.0,
                bounding=Sample(1),
            ),
            "out of range",
        ),
        (lambda d: d.distances([], scale=1.0, bounding=Sample(1)), "nothing to select"),
        (lambda d: d.distances(CANDIDATES, scale=1.0, bounding=Norm()), "needs a cap"),
        (
            lambda d: d.distances(
                [*CANDIDATES, Candidate(clique=("z",), expected=np.zeros(2))],
                scale=1.0,
                bounding=Sample(1),
            ),
            "does not model",
        ),
        (
            lambda d: d.distances(
                [*CANDIDATES, Candidate(clique=("a",), expected=np.zeros(2))],
                scale=1.0,
                bounding=Sample(1),
            ),
            "one number per cell",
        ),
        (
            lambda d: d.distances(
                [*CANDIDATES, Candidate(clique=("b",), expected=np.full(2, 2.0**43))],
                scale=1.0,
                bounding=Sample(1),
            ),
            "out of range",
        ),
    ],
)
def test_questions_that_do_not_fit_are_refused_and_cost_nothing(
    door: PrivateDoor, ledger: Ledger, ask: Any, text: str
) -> None:
    with pytest.raises(QuestionError, match=text):
        ask(door)
    assert not ledger.state().runs[1].reservations


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda d: d.units(scale=0), "scale must be positive"),
        (lambda d: d.distances(CANDIDATES, scale=0, bounding=Sample(1)), "scale must be positive"),
        (
            lambda d: d.distances(CANDIDATES, scale=2.0**-21, bounding=Sample(1)),
            "scale out of range",
        ),
        (
            lambda d: d.distances(CANDIDATES, scale=2.0**37, bounding=Sample(1)),
            "scale out of range",
        ),
        (lambda d: d.total(cap=0, scale=1.0), "positive integer"),
        (
            lambda d: d.unit_counts(("a",), cells=np.array([0]), times=(1,), most=0, scale=1.0),
            "positive integer",
        ),
        (lambda d: d.measure([Query(clique=("a",), scale=1.0)], price=0), "price must be positive"),
    ],
)
def test_budgets_that_are_none_are_refused_and_cost_nothing(
    door: PrivateDoor, ledger: Ledger, ask: Any, text: str
) -> None:
    with pytest.raises(BudgetError, match=text):
        ask(door)
    assert not ledger.state().runs[1].reservations


def test_a_marginal_too_large_is_refused_by_name(
    door: PrivateDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vault_marginals, "MOST_CELLS", 5)
    with pytest.raises(
        QuestionError, match=r"a × b is too large \(got 6 cells; allowed: at most 5"
    ):
        door.measure([Query(clique=("a", "b"), scale=1.0)], price=100.0)


def test_a_run_cannot_pay_more_than_its_cap(ledger: Ledger) -> None:
    with opened(PEOPLE) as table:
        run = ledger.begin(Budget(epsilon=0.5, delta=1e-9), {})
        door = PrivateDoor(table, run=run, bounding=Weights(4))
        with pytest.raises(BudgetExhaustedError, match="less budget left than question 0 costs"):
            door.units(scale=1.0)
        assert run.state().spent == 0
        assert near(door.units(scale=1e3) / 1e5, 0)


@pytest.mark.parametrize("starts", [[0], [0, 2, 2], [1, 2], [0, 3]])
def test_rows_that_are_no_sets(starts: list[int]) -> None:
    with pytest.raises(QuestionError, match="non-empty sets"):
        Rows(np.array(starts), np.array([0, 1]))
    with pytest.raises(QuestionError, match="twice, or a negative"):
        Rows(np.array([0, 2]), np.array([1, 1]))


def test_an_unforeseen_failure_is_told_without_its_message(
    door: PrivateDoor, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(question: Total, table: object) -> None:
        raise ValueError("a private value: 987654")

    monkeypatch.setattr(vault_door, "exact", fail)
    with pytest.raises(InternalError, match="ValueError in fail, line") as caught:
        door.total(cap=1, scale=1.0)
    assert "987654" not in str(caught.value)
    assert caught.value.__context__ is None
    assert not ledger.state().runs[1].reservations


def test_a_failure_of_the_engine_passes_as_it_is(
    door: PrivateDoor, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(question: Total, table: object) -> None:
        raise EngineError("the engine failed", got="SomeKind")

    monkeypatch.setattr(vault_door, "exact", fail)
    with pytest.raises(EngineError, match="the engine failed"):
        door.total(cap=1, scale=1.0)
    assert not ledger.state().runs[1].reservations


def test_no_frame_of_a_failure_holds_a_count(
    door: PrivateDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*given: object) -> None:
        raise LedgerLockedError("locked")

    monkeypatch.setattr(door._run, "reserve", locked)
    with pytest.raises(LedgerLockedError) as caught:
        door.total(cap=4, scale=1.0)
    frame = caught.value.__traceback__
    while frame is not None:
        # What draws the answer has the count behind it.
        assert not {"counted", "drawn"} & set(frame.tb_frame.f_locals)
        frame = frame.tb_next


def test_a_closed_door_has_let_the_table_go_and_answers_no_more(ledger: Ledger) -> None:
    gone: list[str] = []
    with opened(PEOPLE) as table:
        run = ledger.begin(RICH, {})
        door = PrivateDoor(table, run=run, bounding=Weights(4), let_go=lambda: gone.append("table"))
        door.units(scale=1.0)
    spent = ledger.state().runs[1].spent
    door.close()
    with pytest.raises(QuestionError) as caught:
        door.units(scale=1.0)
    assert caught.value.what == "the door is closed"
    assert ledger.state().runs[1].spent == spent
    assert gone == ["table"]


def test_a_scale_out_of_reach_costs_nothing(door: PrivateDoor, ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match="out of range"):
        door.total(cap=2**30, scale=2.0**53)
    assert not ledger.state().runs[1].reservations


@pytest.mark.parametrize("name", ["schema", "unit", "bounding", "budget", "currency", "grains"])
def test_a_door_cannot_be_changed(door: PrivateDoor, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(door, name, None)


class Curious(Rows):
    """Rows of an asker's own, that would keep what they are given."""

    def sums(self, marginal: Any) -> Any:
        raise AssertionError(f"was given {marginal}")


class Loose(Weights):
    """A bounding of an asker's own."""

    unit_weight = 1


class Watching(Candidate):
    """A candidate of an asker's own."""


def test_records_of_an_askers_own_making_are_refused(door: PrivateDoor, ledger: Ledger) -> None:
    curious = Curious(np.array([0, 1]), np.array([0]))
    with pytest.raises(QuestionError, match="the door's own types"):
        door.measure([Query(clique=("a",), scale=1.0, rows=curious)], price=9.0)
    wide = Candidate(clique=("a",), expected=np.zeros(3))
    with pytest.raises(QuestionError, match="the door's own types"):
        door.select([wide], epsilon=1.0, bounding=Loose(5))
    with pytest.raises(QuestionError, match="the door's own types"):
        door.distances([wide], scale=1.0, bounding=Loose(5))
    watching = Watching(clique=("a",), expected=np.zeros(3))
    with pytest.raises(QuestionError, match="the door's own types"):
        door.distances([wide, watching], scale=1.0, bounding=Sample(5))
    assert not ledger.state().runs[1].reservations


def test_arrays_of_a_question_are_copies_that_cannot_change() -> None:
    starts, cells = np.array([0, 2]), np.array([0, 1])
    rows = Rows(starts, cells)
    cells[:] = 0
    assert rows.cells.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        rows.starts[0] = 1
    whole = Candidate(clique=("a",), expected=np.array([2**26, 2**35, 1]))
    assert whole.expected.dtype == np.float64
    for wrong in (np.array(["x"]), np.array([0.5])):
        with pytest.raises(QuestionError, match="wrong dtype"):
            Rows(np.array([0, 1]), wrong)


class Shifty(int):
    """A whole number that says one thing as a number and another as a text."""

    def __format__(self, spec: str) -> str:
        return "1000000"

    def __str__(self) -> str:
        return "1000000"

    __repr__ = __str__


class Sly(float):
    """A number whose rounding would be handed an exact distance."""

    def __round__(self, digits: object = None) -> Any:
        raise AssertionError("asked to round by the vault")


def test_numbers_of_the_askers_own_type_become_plain_ones() -> None:
    """What is charged is what is counted."""
    cap = Shifty(2)
    assert type(Total(cap=cap, scale=1.0).cap) is int
    assert type(Weights(cap).cap) is type(Sample(cap).cap) is int
    asked = UnitCounts(clique=("a",), cells=np.array([0]), times=(cap,), most=cap, scale=1.0)
    assert [type(n) for n in (asked.most, *asked.times)] == [int, int]
    sly = Sly(1.5)
    candidate = Candidate(clique=("a",), expected=np.zeros(3), weight=sly, penalty=sly)
    assert type(candidate.weight) is type(candidate.penalty) is float
    select = Select(candidates=(candidate,), epsilon=sly, bounding=Weights(1))
    measure = Measure(queries=(Query(clique=("a",), scale=sly),), bounding=Weights(1), price=sly)
    apart = Distances(candidates=(candidate,), scale=sly, bounding=Weights(1))
    numbers = [select.epsilon, measure.price, measure.queries[0].scale, Units(scale=sly).scale]
    numbers.append(apart.scale)
    assert {type(n) for n in numbers} == {float}


@pytest.mark.parametrize(
    "ask",
    [
        lambda: UnitMode(clique=("a", "a"), scale=1.0),
        lambda: UnitCounts(clique=("a", "a"), cells=np.array([0]), times=(1,), most=1, scale=1.0),
        lambda: Candidate(clique=("a", "a"), expected=np.zeros(9)),
    ],
)
def test_no_question_names_a_column_twice(ask: Callable[[], object]) -> None:
    with pytest.raises(QuestionError, match="must name each column only once"):
        ask()
