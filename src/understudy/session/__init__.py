"""The composition root, tiny: opens vault and ledger, hands a door to a mechanism."""

from understudy.session.discovery import discovered
from understudy.session.session import Session, open_session, reopen_session

__all__ = ["Session", "discovered", "open_session", "reopen_session"]
