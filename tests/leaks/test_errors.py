"""Errors that leave the door carry nothing: no exact count, and no draw that was not stored.

A charge whose draw was lost may be drawn under again.  That is sound only if the lost draw was
seen by nobody; so it must not be found behind the error that lost it.  Every step of a question is
made to fail, by real faults where there are any, and everything that can be reached from the error
is looked through.  With UNDERSTUDY_AUDIT=1 a question is interrupted at every line it runs.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import sys
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import one_in
from tests.leaks.reachable import SOURCE, Secrets, frames_of
from tests.vault.worlds import KEY, opened
from understudy import errors
from understudy.budget import Budget, Currency, ResolvedUnit, Weights, noise_charge
from understudy.door import Candidate, Query
from understudy.errors import (
    BudgetExhaustedError,
    EngineError,
    InternalError,
    LedgerDamagedError,
    LedgerLockedError,
    LedgerMismatchError,
    MalformedFileError,
    StorageError,
)
from understudy.ledger import Ledger, journal
from understudy.noise import SYSTEM
from understudy.schema import Id, Integer, Schema
from understudy.vault import PrivateDoor
from understudy.vault import door as vault_door
from understudy.vault.counts import exact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from tests.vault.obvious import People
    from understudy.vault import PrivateTable

AUDIT = os.environ.get("UNDERSTUDY_AUDIT") == "1"
RICH = Budget(epsilon=1e6, delta=1e-9)
CELLS = [(i, j, k) for i in range(3) for j in range(2) for k in range(4)]
PEOPLE: People = {
    f"{cell}-{i}": [cell] for n, cell in enumerate(CELLS) for i in range(101 + 17 * n)
}
"""People whose counts, in steps of 2⁻¹⁶, are found nowhere else."""
QUERIES = [Query(clique=("a", "b", "c"), scale=900.0 + i) for i in range(30)]
"""Enough numbers for an answer to need pages of its own in the ledger."""
CANDIDATES = [Candidate(clique=("a", "b"), expected=np.zeros(6))]
COST = noise_charge(1.0, Currency.GDP, bound=Fraction(1))


@dataclass
class Trial:
    """A door, a ledger, and what happens at which step of a question."""

    path: Path
    table: PrivateTable
    stack: ExitStack
    secrets: Secrets = field(default_factory=Secrets)
    faults: dict[str, Callable[[Trial], None]] = field(default_factory=dict)
    drawn: list[bytes] = field(default_factory=list)

    def at(self, step: str) -> None:
        """Do what is to happen at a step, once."""
        fault = self.faults.pop(step, None)
        if fault is not None:
            fault(self)

    def open(self) -> PrivateDoor:
        """Open a door on the ledger's only run."""
        self.ledger = self.stack.enter_context(closing(Ledger(self.path)))
        return PrivateDoor(
            self.table, run=self.ledger.reopen(), bounding=Weights(1), entropy=self.entropy
        )

    def entropy(self, count: int) -> bytes:
        """Draw from the system, after what is to happen first."""
        self.at("drawing")
        return SYSTEM(count)

    def other(self) -> sqlite3.Connection:
        """Open the ledger's file by another hand."""
        found = sqlite3.connect(self.path, timeout=0.05, isolation_level=None)
        return self.stack.enter_context(closing(found))

    def stored(self) -> list[bytes]:
        """Give the answers that are on disk."""
        with closing(Ledger(self.path)) as ledger:
            return [payload for _, payload in ledger.state().runs[1].answers.values()]

    def spare_stored(self) -> None:
        """Leave out the answers that are on disk: those are paid for, and may be handed over."""
        stored = np.frombuffer(b"".join(self.stored()), dtype="<i8")
        self.secrets.numbers -= set(stored.tolist())

    def check(self, error: BaseException) -> None:
        """Look through all that can be reached from an error that left the door."""
        assert self.secrets.found(error) == []
        assert error.__context__ is None
        assert error.__cause__ is None
        assert not hasattr(error, "__notes__")
        names = [frame.f_code.co_name for frame in frames_of(error)]
        assert names[-2:] == ["_stored", "seal"], names


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Where tests run in the background of a shell, interrupts are ignored from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Trial]:
    """Note every exact count and every draw of the trial that is on."""
    on: list[Trial] = []
    noisy, append = PrivateDoor._noisy, journal.Journal.append

    def counting(question: Any, table: Any) -> Any:
        on[-1].at("counting")
        found = exact(question, table)
        on[-1].secrets.add(found)
        on[-1].at("counted")
        return found

    def drawing(self: PrivateDoor, question: Any, counted: Any) -> Any:
        found = noisy(self, question, counted)
        on[-1].secrets.add(found)
        on[-1].drawn.append(found.astype("<i8").tobytes())
        on[-1].at("drawn")
        return found

    def appending(self: journal.Journal, kind: str, *given: Any, **named: Any) -> int:
        for trial in on[-1:]:
            trial.at(f"appending {kind}")
        number = append(self, kind, *given, **named)
        for trial in on[-1:]:
            trial.at(f"appended {kind}")
        return number

    monkeypatch.setattr(vault_door, "exact", counting)
    monkeypatch.setattr(PrivateDoor, "_noisy", drawing)
    monkeypatch.setattr(journal.Journal, "append", appending)
    monkeypatch.setattr(journal, "WAIT_SECONDS", 0.05)
    return on


@pytest.fixture(scope="module")
def table() -> Iterator[PrivateTable]:
    with opened(PEOPLE) as table:
        yield table


def write(path: Path, budget: Budget = RICH) -> Path:
    with closing(Ledger.create(path, budget=budget, key=KEY)) as ledger:
        ledger.bind(name="world", unit=ResolvedUnit.of("id"))
        ledger.begin(budget, {})
    return path


@pytest.fixture
def trial(tmp_path: Path, table: PrivateTable, watched: list[Trial]) -> Iterator[Trial]:
    path = tmp_path / "a.ledger"
    with ExitStack() as stack:
        watched.append(Trial(write(path), table, stack))
        yield watched[-1]
    table.forget()


def measure(door: PrivateDoor) -> object:
    return door.measure(QUERIES, price=1e3)


# The oracle sees what it is there for


def _leaking() -> list[tuple[str, Callable[[np.ndarray[Any, Any]], BaseException]]]:
    def framed(seen: Any) -> BaseException:
        def fail(counted: Any) -> None:
            raise ValueError(len(counted))

        with pytest.raises(ValueError) as caught:  # noqa: PT011  any will do
            fail(seen)
        return caught.value

    def behind(seen: Any, *, cause: bool) -> BaseException:
        one, two = ValueError(seen), KeyError()
        two.__context__, two.__cause__ = (None, one) if cause else (one, None)
        return two

    def noted(seen: Any) -> BaseException:
        error = ValueError()
        error.add_note(f"found {seen[0]}")
        return error

    def given(seen: Any) -> BaseException:
        error = LedgerLockedError("locked")
        error.got = {"kept": [(seen / 2**4).tolist()]}
        return error

    def generated(seen: Any) -> BaseException:
        def entries() -> Iterator[int]:
            held = seen
            yield 1
            del held

        running = entries()
        next(running)
        return ValueError(running)

    return [
        ("frame", framed),
        ("context", lambda seen: behind(seen, cause=False)),
        ("cause", lambda seen: behind(seen, cause=True)),
        ("note", noted),
        ("attribute", given),
        ("generator", generated),
        ("bytes", lambda seen: ValueError([b"x" + seen.astype("<i8").tobytes()])),
        ("number", lambda seen: ValueError(int(seen[1]))),
        ("view", lambda seen: ValueError(seen[:0])),
    ]


@pytest.mark.parametrize(("way", "make"), _leaking())
def test_the_oracle_sees_what_it_is_there_for(
    way: str, make: Callable[[np.ndarray[Any, Any]], BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    del way
    monkeypatch.setattr("tests.leaks.reachable.SOURCE", str(Path(__file__).parent))
    secrets = Secrets()
    secrets.add([819_155, 7_208_960])
    assert secrets.found(make(np.array([819_155, 7_208_960])))
    assert not secrets.found(make(np.array([819_175, 3])))


def test_the_counts_of_the_trials_can_be_told_apart(trial: Trial) -> None:
    measure(trial.open())
    assert len(trial.secrets.numbers) > 24 * 30
    error = ValueError(trial.drawn)
    assert trial.secrets.found(error)


# Faults


def lock(trial: Trial) -> None:
    trial.other().execute("BEGIN IMMEDIATE")


def shut_out(trial: Trial) -> None:
    trial.other().execute("BEGIN EXCLUSIVE")


def read_on(trial: Trial) -> None:
    """Read in another process, and do not stop: what is written cannot be committed."""
    reader = trial.other()
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM entries").fetchall()


def fill_pages(trial: Trial) -> None:
    connection = trial.ledger._journal._connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    trial.stack.callback(connection.execute, "PRAGMA max_page_count = 100000")


def fill_disk(trial: Trial) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    trial.stack.callback(resource.setrlimit, resource.RLIMIT_FSIZE, before)
    size = trial.path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))


def forbid(trial: Trial) -> None:
    trial.other().execute(
        "CREATE TRIGGER no_more BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'no'); END"
    )


def remove(trial: Trial) -> None:
    trial.path.rename(trial.path.with_name("moved"))
    trial.stack.callback(trial.path.with_name("moved").rename, trial.path)


def tamper(trial: Trial) -> None:
    other = trial.other()
    other.execute("DROP TRIGGER no_update")
    other.execute("UPDATE entries SET body = body || ' ' WHERE number = 3")


def end(trial: Trial) -> None:
    with closing(Ledger(trial.path)) as ledger:
        ledger.reopen().close()


def spend(trial: Trial) -> None:
    with closing(Ledger(trial.path)) as ledger:
        run = ledger.reopen()
        left = run.state().cap
        price = us.Budget(epsilon=1e6, delta=1e-9).price
        run.reserve(
            9, "another", "everything", noise_charge(1 / price, Currency.GDP, bound=Fraction(1))
        )
        assert run.state().spent <= left


def break_engine(trial: Trial) -> None:
    trial.table.engine.drop("sizes")


def interrupt(trial: Trial) -> None:
    del trial
    signal.raise_signal(signal.SIGINT)


def leave(trial: Trial) -> None:
    sys.exit(3 if trial.drawn else None)


def run_out(trial: Trial) -> None:
    raise MemoryError(trial.drawn)


def blurt(trial: Trial) -> None:
    error = ValueError(sorted(trial.secrets.numbers), trial.drawn)
    error.add_note(str(trial.drawn))
    raise error


STEPS = ["counting", "counted", "appending reserve", "appended reserve", "drawing", "drawn"]
LAST = ["appending answer", "appended answer"]
FAULTS: list[tuple[str, Callable[[Trial], None], type[BaseException]]] = [
    ("counted", lock, LedgerLockedError),
    ("counted", shut_out, LedgerLockedError),
    ("counted", read_on, LedgerLockedError),
    ("counted", forbid, LedgerDamagedError),
    ("counted", remove, LedgerDamagedError),
    ("counted", tamper, LedgerDamagedError),
    ("counted", end, LedgerMismatchError),
    ("counted", spend, BudgetExhaustedError),
    ("drawn", lock, LedgerLockedError),
    ("drawn", shut_out, LedgerLockedError),
    ("drawn", read_on, LedgerLockedError),
    ("drawn", fill_pages, StorageError),
    ("drawn", fill_disk, StorageError),
    ("drawn", forbid, LedgerDamagedError),
    ("drawn", remove, LedgerDamagedError),
    ("drawn", tamper, LedgerDamagedError),
    ("drawn", end, LedgerLockedError),
    *((step, interrupt, KeyboardInterrupt) for step in (*STEPS, *LAST)),
    *((step, leave, SystemExit) for step in one_in(4, (*STEPS, *LAST))),
    *((step, run_out, InternalError) for step in one_in(4, (*STEPS, *LAST))),
    *((step, blurt, InternalError) for step in (*STEPS, *LAST)),
]
MENDED = {lock, shut_out, read_on, fill_pages, fill_disk, remove, interrupt, leave, run_out, blurt}
"""Faults after which the run can go on."""


@pytest.mark.parametrize(
    ("step", "fault", "kind"), FAULTS, ids=[f"{s}, {f.__name__}" for s, f, _ in FAULTS]
)
def test_nothing_is_behind_an_error_whatever_fails_at_whichever_step(
    trial: Trial, step: str, fault: Callable[[Trial], None], kind: type[BaseException]
) -> None:
    door = trial.open()
    trial.faults[step] = fault
    with pytest.raises(kind) as caught:
        measure(door)
    assert not trial.faults
    assert trial.secrets.numbers or step == "counting"
    trial.check(caught.value)
    assert type(caught.value) is kind
    if isinstance(caught.value, InternalError):
        place = str(caught.value.got)
        assert place.startswith(("ValueError in blurt, line", "MemoryError in run_out, line"))
    if fault in MENDED:
        # The lost draw is not on disk either; the same charge covers the next one.
        trial.stack.close()
        assert trial.stored() == []
        measure(trial.open())
        assert trial.stored() == trial.drawn[-1:]
        with closing(Ledger(trial.path)) as ledger:
            assert len(ledger.state().runs[1].reservations) == 1


@pytest.mark.parametrize("fault", [interrupt, read_on, blurt], ids=lambda f: f.__name__)
def test_counts_that_were_kept_are_not_behind_an_error_either(
    trial: Trial, fault: Callable[[Trial], None]
) -> None:
    door = trial.open()
    door.distances(CANDIDATES, scale=1e4, bounding=Weights(1))
    kept = [held for marginals, _ in trial.table._kept.values() for _, held in marginals.values()]
    apart = [distance for _, known in trial.table._kept.values() for distance in known.values()]
    assert len(kept) == len(apart) == len(CANDIDATES)
    for counts in (*kept, np.array(apart, dtype=np.int64)):
        trial.secrets.add(counts)
    trial.faults["drawn"] = fault
    with pytest.raises((KeyboardInterrupt, LedgerLockedError, InternalError)) as caught:
        door.select(CANDIDATES, epsilon=1.0, bounding=Weights(1))
    trial.stack.close()
    trial.spare_stored()
    trial.check(caught.value)


def test_an_engine_that_fails_while_counting(watched: list[Trial], tmp_path: Path) -> None:
    with ExitStack() as stack, opened(PEOPLE) as table:
        watched.append(Trial(write(tmp_path / "a.ledger"), table, stack))
        watched[-1].faults["counting"] = break_engine
        with pytest.raises(EngineError) as caught:
            watched[-1].open().total(cap=1, scale=1e3)
        watched[-1].check(caught.value)


def test_a_damaged_ledger_is_told_before_anything_is_counted_and_without_its_answers(
    trial: Trial,
) -> None:
    door = trial.open()
    measure(door)
    tamper(trial)
    with pytest.raises(LedgerDamagedError) as caught:
        door.units(scale=1e3)
    assert caught.value.__context__ is None
    (*_, asked, seal) = frames_of(caught.value)
    assert (asked.f_code.co_name, seal.f_code.co_name) == ("_stored", "seal")
    # By the ledger's own frames; the door still has the ledger that it was given.
    trial.secrets.add(np.frombuffer(trial.drawn[0], dtype="<i8"))
    with pytest.raises(LedgerDamagedError) as told:
        Ledger(trial.path)
    assert told.value.__context__ is None
    assert trial.secrets.found(told.value) == []


def test_the_code_of_an_exit_stays_and_nothing_else_of_it() -> None:
    for code, kept in ((0, 0), (3, 3), (None, None), ("81915 people", 1), ([81915], 1)):

        @errors.sealed
        def exiting(code: Any = code) -> None:
            sys.exit(code)

        with pytest.raises(SystemExit) as caught:
            exiting()
        assert caught.value.code == kept


def test_a_second_interrupt_finds_nothing_behind_the_first(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the first error is made bare, with that error for its context."""

    def again(error: BaseException) -> BaseException:
        assert trial.secrets.found(error)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError

    door = trial.open()
    trial.faults["drawn"] = blurt
    monkeypatch.setattr(errors, "bare", again)
    with pytest.raises(KeyboardInterrupt) as caught:
        measure(door)
    trial.check(caught.value)


# An interrupt at any line


def interrupted(call: Callable[[], object], turn: int) -> BaseException | None:
    """Call something, and interrupt it before the n-th line that it runs of Understudy's."""
    lines = iter(range(turn + 1))
    before = sys.gettrace()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        del argument
        if event == "line" and next(lines, None) == turn:
            raise KeyboardInterrupt
        file = frame.f_code.co_filename
        # Between an error and its being bare, no interrupt comes: there is no call.
        return trace if file.startswith(SOURCE) and not file.endswith("errors.py") else None

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
    return None


def test_an_interrupt_at_any_line_of_a_question_carries_nothing(
    tmp_path: Path, table: PrivateTable, watched: list[Trial]
) -> None:
    whole, turn, lost = write(tmp_path / "whole"), 0, 0
    ended = False
    while not ended:
        path = Path(shutil.copy(whole, tmp_path / "a.ledger"))
        with ExitStack() as stack:
            trial = Trial(path, table, stack)
            watched.append(trial)
            door = trial.open()
            error = interrupted(partial(door.measure, QUERIES[:1], price=1e3), turn)
            ended = error is None
            if error is not None:
                trial.spare_stored()
                lost += len(trial.drawn) - len(trial.stored())
                assert trial.secrets.found(error) == []
                # The ledger is not left in the middle of anything.
                door.measure(QUERIES[:1], price=1e3)
        turn += 1 if AUDIT else 17
    assert turn > 300
    assert lost > 0


# Above the door


def test_an_interrupted_session_carries_no_counts(
    tmp_path: Path, watched: list[Trial], table: PrivateTable
) -> None:
    """A mechanism that chooses keeps counts; the interrupt comes in its second question or so."""
    session = us.open(
        i_know=True,
        private={
            "id": np.array(list(PEOPLE), dtype=object),
            **{n: np.array([r[0][i] for r in PEOPLE.values()]) for i, n in enumerate("abc")},
        },
        schema=table.schema,
        unit=us.Unit("id"),
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=10.0, delta=1e-9),
        ledger=tmp_path / "s.ledger",
    )
    with ExitStack() as stack:
        trial = Trial(tmp_path / "s.ledger", table, stack)
        watched.append(trial)

        def interrupt_later(stage: str, done: float) -> None:
            del done
            if stage.startswith("round 1"):
                trial.faults["drawn"] = interrupt

        with pytest.raises(KeyboardInterrupt) as caught:
            session.run(us.MST(), progress=interrupt_later)
    trial.spare_stored()
    assert trial.secrets.numbers
    assert trial.secrets.found(caught.value) == []


def test_a_table_that_fails_to_be_read_in_an_unforeseen_way_is_told_by_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = "81915 is a cell"

    def fail(*given: object, **named: object) -> None:
        row = cell
        raise ValueError(row)

    monkeypatch.setattr("understudy.session.session.PrivateTable", fail)
    session = us.open(
        i_know=True,
        private={"id": np.arange(3)},
        schema=Schema("t", (Id(name="id"), Integer(name="n", min=0, max=1))),
        unit=us.Unit("id"),
        bounding=us.Weights(1),
        budget=RICH,
        ledger=tmp_path / "s.ledger",
    )
    with pytest.raises(InternalError, match="ValueError in fail, line") as caught:
        session.run(us.Independent())
    assert cell not in str(caught.value)
    assert caught.value.__context__ is None
    secrets = Secrets({81915})
    assert secrets.found(caught.value) == []
    with pytest.raises(MalformedFileError):
        raise errors.bare(MalformedFileError("as it was"))
