"""The only room that says yes to spending: a SQLite journal."""

from understudy.ledger.ledger import Ledger, Run, describe_left, new_key
from understudy.ledger.state import DISCOVERY, Reservation, RunState, State
from understudy.ledger.verification import Verified

__all__ = [
    "DISCOVERY",
    "Ledger",
    "Reservation",
    "Run",
    "RunState",
    "State",
    "Verified",
    "describe_left",
    "new_key",
]
