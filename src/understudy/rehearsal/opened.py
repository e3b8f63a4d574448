"""A session that can be rehearsed: `understudy.open`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from understudy import opening
from understudy.errors import UsageError
from understudy.public import PublicTable, following, silent
from understudy.rehearsal.rehearsal import Rehearsal, rehearse
from understudy.rehearsal.stage import Crowd
from understudy.session import Session
from understudy.synth import mechanism_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from understudy.public import Progress
    from understudy.synth import Mechanism

P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession(Session):
    """A session that `check` rehearses before `run` spends anything."""

    @following
    def check(
        self,
        mechanism: Mechanism | type[Mechanism] | str = "auto",
        *,
        people: int | None = None,
        rows_per_person: float | None = None,
        progress: Progress = silent,
    ) -> Rehearsal:
        """Rehearse a run as `understudy check` does: print what is returned.

        Of the private table only the column names are read, and nothing is spent.  The rehearsal is
        on the public table, or on ``people`` made up with ``rows_per_person`` rows each.
        """
        crowd = Crowd.of(people, rows_per_person)
        if isinstance(self.public, PublicTable):
            raise UsageError(
                "a rehearsal reads the public table itself",
                got="a PublicTable",
                allowed="its path, or the table it was read from, as public=…",
            )
        return rehearse(self, mechanism_of(mechanism), crowd, progress)


def _opening(opens: Callable[P, Session]) -> Callable[P, OpenedSession]:
    @wraps(opens)
    def opened(*given: P.args, **named: P.kwargs) -> OpenedSession:
        session = opens(*given, **named)
        return OpenedSession(**{each.name: getattr(session, each.name) for each in fields(session)})

    return opened


open = _opening(opening.open)  # noqa: A001  as `understudy.open`
