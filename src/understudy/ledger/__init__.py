"""The only room that says yes to spending: a SQLite journal."""

from understudy.ledger.ledger import Ledger, Run, describe_left, new_key
from understudy.ledger.state import Reservation, RunState, State
from understudy.ledger.verification import Verified

__all__ = [
    "Ledger",
    "Reservation",
    "Run",
    "RunState",
    "State",
    "Verified",
    "describe_left",
    "new_key",
]
