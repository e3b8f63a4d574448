"""Rehearses a run on public or made-up people, as `understudy check` and `session.check()` do."""

from understudy.rehearsal.opened import OpenedSession, open  # noqa: A004  as `understudy.open`
from understudy.rehearsal.rehearsal import Rehearsal, rehearse
from understudy.rehearsal.stage import Crowd, Stage

__all__ = ["Crowd", "OpenedSession", "Rehearsal", "Stage", "open", "rehearse"]
