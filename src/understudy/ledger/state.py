"""The state of a ledger: what its journal says of the table's total and of every run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from understudy.budget import Budget, Charge, ResolvedUnit
from understudy.budget.unit import UNTOLD
from understudy.errors import LedgerDamagedError
from understudy.ledger.journal import BACKUP
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.budget import Currency
    from understudy.ledger.journal import Entry


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that was booked for one question of a run."""

    ordinal: int
    plan: str
    what: str
    charge: Charge
    grains: int


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
    def spent(self) -> int:
        """The grains booked, open reservations included."""
        return sum(r.grains for r in self.reservations)

    @property
    def held(self) -> int:
        """The grains this run reserves: its cap, or, once closed, what it spent."""
        return self.spent if self.closed else self.cap

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
            charge = Charge.from_dict(body["charge"])
            grains = int(body["grains"])
            run.reservations.append(
                Reservation(entry.ordinal or 0, body["plan"], body["what"], charge, grains)
            )
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
