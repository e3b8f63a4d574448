"""The state of a ledger: what its journal says of the table's total and of every run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from understudy.budget import Budget, Charge, ResolvedUnit, epsilon_of, failure_of
from understudy.budget.unit import UNTOLD
from understudy.errors import LedgerDamagedError
from understudy.ledger.journal import BACKUP
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.budget import Currency
    from understudy.ledger.journal import Entry

DISCOVERY = "discover"
"""The name under which a discovery stands in the ledger, in place of a mechanism's."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that was booked for one question of a run."""

    ordinal: int
    plan: str
    what: str
    charge: Charge
    grains: int
    failure: int = 0
    """The failure probability, in grains."""


@dataclass(slots=True)
class RunState:
    """What the journal says of one run."""

    number: int
    cap: int
    budget: Budget
    total: Budget
    """The total of the run's table."""
    request: dict[str, Any]
    reservations: list[Reservation] = field(default_factory=list)
    answers: dict[int, tuple[str, bytes]] = field(default_factory=dict, repr=False)
    closed: bool = False
    head: str = ""
    """The hash of the run's last entry, which covers all before it."""

    @property
    def discovers(self) -> bool:
        """Whether its answers became a schema, which other runs may then release."""
        return bool(self.request.get("mechanism", {}).get("name") == DISCOVERY)

    @property
    def spent(self) -> int:
        """The grains booked, open reservations included."""
        return sum(r.grains for r in self.reservations)

    @property
    def held(self) -> int:
        """The grains this run reserves: its cap, or, once closed, what it spent."""
        return self.spent if self.closed else self.cap

    @property
    def failure(self) -> int:
        """The failure probability booked, open reservations included, in grains."""
        return sum(r.failure for r in self.reservations)

    @property
    def held_failure(self) -> int:
        """The failure probability this run reserves: its share, or, once closed, what it booked."""
        return self.failure if self.closed else self.budget.failure_grains

    def covers(self, ordinal: int, plan: str) -> bool:
        """Whether exactly this question was charged."""
        return any(r.ordinal == ordinal and r.plan == plan for r in self.reservations)


@dataclass(slots=True)
class State:
    """What the whole journal says."""

    budget: Budget
    key: str = field(repr=False)
    head: str
    name: str | None = None
    """The table, once it is bound to one."""
    unit: ResolvedUnit | None = None
    runs: dict[int, RunState] = field(default_factory=dict)

    @property
    def currency(self) -> Currency:
        """What adds up."""
        return self.budget.currency

    @property
    def total(self) -> int:
        """The table's total, in grains."""
        return self.budget.grains

    @property
    def left(self) -> int:
        """What no run has reserved, in grains."""
        return self.total - sum(r.held for r in self.runs.values())

    @property
    def failure_left(self) -> int:
        """The failure probability that no run has reserved, in grains."""
        return self.budget.failure_grains - sum(r.held_failure for r in self.runs.values())

    def discoveries(self, number: int) -> tuple[int, ...]:
        """Return the numbers of the discoveries that were begun before a run."""
        return tuple(n for n, run in self.runs.items() if n < number and run.discovers)

    def promised(self, number: int) -> Budget:
        """Return what the release of a run promises: that run, and all discoveries before it.

        A release has its schema's lists, bins and ranges in it, and a discovery tells them.  Both
        compose, as all runs do: grains add up, and so do failure probabilities.
        """
        budget, before = self.runs[number].budget, self.discoveries(number)
        if not before:
            return budget
        runs = [self.runs[n] for n in (number, *before)]
        failure = failure_of(sum(run.budget.failure_grains for run in runs))
        whole = Budget(
            epsilon=budget.epsilon, delta=budget.gaussian_delta + failure, failure=failure
        )
        grains = sum(run.cap for run in runs)
        return replace(whole, epsilon=epsilon_of(grains, self.currency, whole.gaussian_delta))


def state_of(entries: list[Entry]) -> State:
    """Return what the entries of a journal say."""
    if not entries or entries[0].kind != "ledger":
        raise LedgerDamagedError("the ledger has no first entry", hint=BACKUP)
    body = entries[0].body
    state = State(Budget.from_dict(body["budget"]), body["key"], entries[-1].chain)
    for entry in entries[1:]:
        body = entry.body
        if entry.kind == "identity":
            state.name, state.unit = body["name"], ResolvedUnit.from_dict(body["unit"])
            continue
        if entry.kind == "run":
            number, budget = entry.run or 0, Budget.from_dict(body["budget"])
            if state.unit is not None and UNTOLD in {p.format for p in state.unit.parts}:
                state.unit = state.unit.completed(Schema.from_dict(body["request"]["schema"]))
            state.runs[number] = RunState(
                number, int(body["cap"]), budget, state.budget, body["request"], head=entry.chain
            )
            continue
        run = state.runs[entry.run or 0]
        run.head = entry.chain
        if entry.kind == "reserve":
            run.reservations.append(_reservation(entry.ordinal or 0, body))
        elif entry.kind == "answer":
            run.answers[entry.ordinal or 0] = (body["plan"], entry.payload)
        elif entry.kind == "close":
            run.closed = True
        else:
            raise LedgerDamagedError(
                "the ledger has an entry of an unknown kind",
                got=entry.kind,
                hint="a newer Understudy may have written it",
            )
    return state


def _reservation(ordinal: int, body: dict[str, Any]) -> Reservation:
    """Read a booked charge; only those with a failure probability have one written down."""
    charge, grains = Charge.from_dict(body["charge"]), int(body["grains"])
    return Reservation(
        ordinal, body["plan"], body["what"], charge, grains, int(body.get("failure", 0))
    )
