"""The ledger: the only room that says yes to spending.

A ledger belongs to one table, by declared name, and one unit; it has a total in one
currency, and the key of the keyed hash.  A run reserves its cap from what is left of the
total; questions are charged within the cap.  The order of a question is: check, (count),
`Run.reserve`, durable, (draw), `Run.store`, durable, hand over.

Why that is enough (the fully adaptive Gaussian filter, arXiv 2210.17520; basic composition
for pure ε): every answer that was ever handed over has a durable reservation of its exact
cost, and reservations never exceed a cap, nor caps and spendings the total.  Failure
probabilities are reserved in the same way, beside the cost: they add up, and what a ledger promises
at (ε, δ) is the Gaussian part at δ less its share for them.  A reservation
without an answer is *open*: its draw was lost before anyone saw it, so the byte-identical
question may be asked under it again, with fresh noise and no new charge.  Tied by
``tests/ledger`` and ``tests/session/test_kill.py``.  That nobody can read the lost draw off an
error is tied by ``tests/leaks/test_errors.py``; errors leave ledger and run sealed, since the
answers of all runs are in the frames that read the journal.
"""

from __future__ import annotations

import secrets
from decimal import ROUND_FLOOR, Context
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from understudy.budget import Budget, Charge, ResolvedUnit, epsilon_of, failure_of
from understudy.errors import (
    BudgetExhaustedError,
    LedgerDamagedError,
    LedgerLockedError,
    LedgerMismatchError,
    sealed,
)
from understudy.ledger.journal import Journal
from understudy.ledger.state import RunState, State, state_of
from understudy.ledger.verification import verified

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.ledger.verification import Verified


NO_SHARE = (
    "a ledger's share of delta for failure probabilities is set when it is created: "
    "'understudy ledger FILE --create --failure F'"
)
NOTHING = 1e-6
"""Less epsilon than this is reported as nothing."""


def new_key() -> str:
    """Draw the key of a new ledger's keyed hash."""
    return secrets.token_hex(16)


class Ledger:
    """An open ledger file: its table, what was spent on what, and what is left.

    print(us.Ledger("trips.ledger")) shows it; `close` releases the file.
    """

    @sealed
    def __init__(self, path: str | Path) -> None:
        """Open a ledger, and verify all of it."""
        self.path = Path(path)
        self._journal = Journal(self.path)
        try:
            self.state()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: Path, *, budget: Budget, key: str | None = None) -> Self:
        """Create a ledger with its total; `bind` assigns it to a table.

        The key behind the keyed hash and the chain is random; privacy does not rest on its
        secrecy.
        """
        body = {"budget": budget.to_dict(), "key": key or new_key()}
        Journal.create(path, "ledger", body).close()
        return cls(path)

    def __repr__(self) -> str:
        """Show the table and unit, the share of each run, and what is left."""
        try:
            state = self.state()
        except LedgerDamagedError:
            return f"Ledger {self.path}: closed, or damaged"
        told = [f"Ledger {self.path}: {state.name}, unit {state.unit}, {describe_left(state)} left"]
        for n, run in state.runs.items():
            told.append(
                f"  run {n}: {run.request['mechanism']['name']}, {run.held / state.total:.1%}"
            )
        return "\n".join(told)

    def _repr_html_(self) -> str:
        """Show the same in a notebook."""
        return f"<pre>{escape(repr(self))}</pre>"

    @sealed
    def bind(self, *, name: str, unit: ResolvedUnit) -> None:
        """Assign the ledger to a table and a unit; raise if it belongs to others."""
        with self._journal.transaction() as entries:
            state = state_of(entries)
            if state.name is None:
                self._journal.append("identity", {"name": name, "unit": unit.to_dict()})
                return
            for what, asked, found in (("table", name, state.name), ("unit", unit, state.unit)):
                if asked != found:
                    raise LedgerMismatchError(
                        f"the ledger {self.path} belongs to another {what}",
                        got=f"{what} {getattr(asked, 'described', asked)}",
                        allowed=str(getattr(found, "described", found)),
                        hint="a table and its unit have one ledger, which they keep for life",
                    )

    @sealed
    def state(self) -> State:
        """Read and check the whole ledger."""
        return state_of(self._journal.entries())

    @property
    def keyed(self) -> bool:
        """Whether the chain has a key; that of an older ledger has none."""
        return self._journal.keyed

    @sealed
    def verify(self, manifest: Mapping[str, Any]) -> Verified:
        """Return where a release's manifest is in this ledger; raise if it is not.

        The manifest's head commits to every entry up to its run's last one: if it is here, none
        of them was changed, removed or rolled back.  Later entries are not covered: whoever can
        write the file can roll those back unseen, until a later manifest is verified.

            ledger.verify(release.manifest)
        """
        entries = self._journal.entries()
        return verified(entries, state_of(entries), manifest, path=self.path)

    @sealed
    def begin(self, budget: Budget, request: dict[str, Any]) -> Run:
        """Reserve a run's cap from what is left; raise if that is too little."""
        with self._journal.transaction() as entries:
            state = state_of(entries)
            if budget.currency != state.currency:
                raise LedgerMismatchError(
                    f"the ledger {self.path} uses another currency",
                    got=budget.currency,
                    allowed=state.currency,
                    hint="delta 0 is pure epsilon-DP; any other delta is Gaussian DP",
                )
            unfinished = [n for n, run in state.runs.items() if not run.closed]
            if budget.grains > state.left:
                raise BudgetExhaustedError(
                    "the ledger has less budget left than the run requests",
                    got=f"epsilon {budget.epsilon:g} at delta {budget.delta:g}",
                    allowed=describe_left(state),
                    hint=f"run {unfinished[-1]} is unfinished: 'understudy resume {self.path} "
                    f"--run {unfinished[-1]}', or session.resume(), continues it at no new cost"
                    if unfinished
                    else _what_fits(state, budget),
                )
            if budget.failure_grains > state.failure_left:
                raise BudgetExhaustedError(
                    "the ledger has less failure probability left than the run requests",
                    got=f"{budget.failure:g}",
                    allowed=f"{failure_of(state.failure_left):g}",
                    hint=NO_SHARE,
                )
            body = {"cap": str(budget.grains), "budget": budget.to_dict(), "request": request}
            number = len(state.runs) + 1
            self._journal.append("run", body, run=number)
        return Run(self._journal, number)

    @sealed
    def reopen(self, number: int | None = None) -> Run:
        """Reopen the run of this number, or the last one.

        A closed run replays its stored answers, and accepts no new question.
        """
        runs = self.state().runs
        wanted = max(runs, default=0) if number is None else number
        if wanted not in runs:
            raise LedgerMismatchError(
                f"the ledger {self.path} has no such run",
                got="no run yet" if number is None else f"run {number}",
                allowed=", ".join(map(str, runs)) or "none",
            )
        return Run(self._journal, wanted)

    def close(self) -> None:
        """Close the file."""
        self._journal.close()


def describe_left(state: State) -> str:
    """Describe what is left of a ledger in words."""
    told = _in_words(state, state.left)
    if state.budget.failure:
        told += f", and failure probability {failure_of(state.failure_left):.6g}"
    return told


def _what_fits(state: State, budget: Budget) -> str:
    """Suggest an epsilon that a run may still have at its delta."""
    epsilon = epsilon_of(max(0, state.left), state.currency, budget.gaussian_delta)
    fits = Context(prec=3, rounding=ROUND_FLOOR).create_decimal_from_float(epsilon)
    lower = f"lower epsilon to {fits:f}; " if epsilon >= NOTHING else ""
    return f"{lower}the total was set when the ledger was created"


def _in_words(state: State, grains: int) -> str:
    delta = state.budget.gaussian_delta
    epsilon = epsilon_of(max(0, grains), state.currency, delta)
    if epsilon < NOTHING:
        return "nothing"
    return f"epsilon {epsilon:.6g}" + (f" at delta {delta:g}" if delta else "")


class Run:
    """One run's part of the ledger: its cap, its questions, its answers."""

    def __init__(self, journal: Journal, number: int) -> None:
        """Open a run; several processes may, but each answer is stored only once."""
        self._journal = journal
        self.number = number

    def state(self) -> RunState:
        """Read what the journal says of this run."""
        return self.ledger().runs[self.number]

    @sealed
    def ledger(self) -> State:
        """Read what the journal says of all runs."""
        return state_of(self._journal.entries())

    @sealed
    def answer(self, ordinal: int, plan: str) -> bytes | None:
        """Return a stored answer, or None; raise if it is that of another question."""
        stored = self.state().answers.get(ordinal)
        if stored is None:
            return None
        if stored[0] != plan:
            raise LedgerMismatchError(
                f"question {ordinal} of run {self.number} is not the one that it asked before",
                hint="resume with the same mechanism, schema and settings",
            )
        return stored[1]

    @sealed
    def check(self, ordinal: int, plan: str, charge: Charge) -> None:
        """Raise if a question costs more than is left of the cap, before anything is counted."""
        entries = self._journal.entries()
        self._affordable(state_of(entries), ordinal, plan, charge)

    def _affordable(
        self, state: State, ordinal: int, plan: str, charge: Charge
    ) -> tuple[int, int] | None:
        """Return the grains and failure to book, or None where an open reservation covers it."""
        run = state.runs[self.number]
        if ordinal in run.answers:
            raise LedgerLockedError(
                f"another process has already answered this question of run {self.number}"
            )
        if run.closed:
            raise LedgerMismatchError(f"run {self.number} is closed", hint="start a new run")
        if run.covers(ordinal, plan):
            return None
        grains, failure = charge.grains(state.currency), charge.failure
        if run.spent + grains > run.cap:
            raise BudgetExhaustedError(
                f"run {self.number} has less budget left than question {ordinal} costs",
                got=_in_words(state, grains),
                allowed=_in_words(state, run.cap - run.spent),
            )
        if run.failure + failure > run.budget.failure_grains:
            raise BudgetExhaustedError(
                f"run {self.number} has less failure probability left than question {ordinal} has",
                got=f"{failure_of(failure):.6g}",
                allowed=f"{failure_of(run.budget.failure_grains - run.failure):.6g}",
                hint=NO_SHARE if not run.budget.failure else "raise the threshold",
            )
        return grains, failure

    @sealed
    def reserve(self, ordinal: int, plan: str, what: str, charge: Charge) -> None:
        """Book a charge on disk, unless the same question already has an open reservation."""
        with self._journal.transaction() as entries:
            cost = self._affordable(state_of(entries), ordinal, plan, charge)
            if cost is not None:
                body = {
                    "plan": plan,
                    "what": what,
                    "charge": charge.to_dict(),
                    "grains": str(cost[0]),
                }
                if cost[1]:
                    body["failure"] = str(cost[1])
                self._journal.append("reserve", body, run=self.number, ordinal=ordinal)

    @sealed
    def store(self, ordinal: int, plan: str, payload: bytes) -> None:
        """Write an answer to disk; only then may it be returned."""
        with self._journal.transaction() as entries:
            run = state_of(entries).runs[self.number]
            if run.closed or ordinal in run.answers:
                raise LedgerLockedError(
                    f"another process has continued run {self.number}",
                    hint="let that process finish it",
                )
            if not run.covers(ordinal, plan):
                raise LedgerMismatchError(
                    f"question {ordinal} of run {self.number} was never charged",
                    hint="an answer is only stored under its own charge",
                )
            self._journal.append(
                "answer", {"plan": plan}, run=self.number, ordinal=ordinal, payload=payload
            )

    @sealed
    def close(self) -> None:
        """End the run, and release what it did not spend."""
        with self._journal.transaction() as entries:
            if not state_of(entries).runs[self.number].closed:
                self._journal.append("close", {}, run=self.number)
