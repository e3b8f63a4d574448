"""The only room that says yes to spending: a SQLite journal."""

from understudy.ledger.ledger import (
    Ledger,
    Reservation,
    Run,
    RunState,
    State,
    describe_left,
    new_key,
)

__all__ = ["Ledger", "Reservation", "Run", "RunState", "State", "describe_left", "new_key"]
