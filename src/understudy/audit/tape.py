"""Tapes: runs that are kept in memory, for audits, which throw them away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.ledger import Reservation, Run, RunState

if TYPE_CHECKING:
    from understudy.budget import Budget, Charge


class Tape(Run):
    """A run in memory, for audits, which discard it."""

    def __init__(self, budget: Budget) -> None:
        """Start with a whole budget."""
        self.number = 1
        self._held = RunState(1, budget.grains, budget, budget, {})

    def state(self) -> RunState:
        """Return what was booked and answered."""
        return self._held

    def answer(self, ordinal: int, plan: str) -> bytes | None:
        """Return None: every question is new."""

    def check(self, ordinal: int, plan: str, charge: Charge) -> None:
        """Accept every question; its cost is booked."""

    def reserve(self, ordinal: int, plan: str, what: str, charge: Charge) -> None:
        """Book a charge."""
        grains = charge.grains(self._held.budget.currency)
        self._held.reservations.append(Reservation(ordinal, plan, what, charge, grains))

    def store(self, ordinal: int, plan: str, payload: bytes) -> None:
        """Store an answer."""
        self._held.answers[ordinal] = (plan, payload)
