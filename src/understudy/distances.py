"""Quality that may be published: noisy distances of a release from the private table.

The distances are asked at the door, in a run of their own on the table's ledger; the release they
are about must have been made on that ledger.  What they promise adds up with what the release
does, and both are said.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import Budget, bounding_to_dict, epsilon_of
from understudy.errors import BudgetError, OutputExistsError, UsageError
from understudy.ledger import Ledger
from understudy.public import ACCURACY, following, identity, silent
from understudy.release import check_target, new_file
from understudy.synth.accuracy import Shares, expected_within, measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.public import Accuracy, Progress
    from understudy.release import Release
    from understudy.schema import Array, Codes
    from understudy.session import Session

NAME = "quality"
"""The name under which such a run stands in the ledger, in place of a mechanism's."""
USELESS = 0.25
"""Distances that would be told less exactly than this are refused: they would say nothing."""


@following
def accuracy(
    session: Session,
    release: Release,
    *,
    epsilon: float,
    cap: int | None = None,
    progress: Progress = silent,
) -> Accuracy:
    """Tell how far a release is from the private table, with noise and at a cost.

    The cost, ``epsilon`` at the session's delta, is taken from what the ledger has left.  A person
    counts for at most ``cap`` rows, by default as many as is best for the release's people.  The
    same call continues a run that was interrupted, and repeats a finished one's answers at no cost.

        release = session.run()
        told = us.accuracy(session, release, epsilon=0.1)
        print(*told.sentences())
        us.save_accuracy(told, "out")  # beside the saved release
    """
    _check_made_here(session, release)
    budget = Budget(epsilon=epsilon, delta=session.budget.gaussian_delta)
    progress("counting the synthetic rows", 0)
    shares = Shares.of(_coded(session, release), session.schema.domain)
    if session.person.is_row:
        cap = 1
    _check_useful(budget, shares, cap)
    request = {
        "mechanism": {"name": NAME, "settings": {"cap": cap}},
        "bounding": bounding_to_dict(session.bounding),
        "schema": session.schema.to_dict(),
        "note": {NAME: identity(release.manifest)},
    }
    progress("asking for distances", 0)
    asking = replace(session, budget=budget)
    (found,), number = asking.ask(
        lambda door: measured(door, [shares], cap=cap), request, progress, again=True
    )
    return replace(
        found,
        release=identity(release.manifest),
        guarantee=_guarantee(session.ledger, number, int(release.manifest["ledger"]["run"])),
    )


def save_accuracy(accuracy: Accuracy, folder: str | Path) -> Path:
    """Write distances beside the saved release that they are about, and return the file's path."""
    target = Path(folder) / ACCURACY
    check_untold(target)
    with new_file(target) as partial:
        text = json.dumps(accuracy.to_dict(), indent=2, ensure_ascii=False)
        partial.write_text(text + "\n", encoding="utf-8")
    return target


def check_untold(target: Path) -> None:
    """Raise if a release has its distances beside it already."""
    if target.exists():
        raise OutputExistsError(
            f"{target} exists already: the distances of this release were told",
            hint="'understudy report' shows them; move the file away to ask anew, at a new cost",
        )
    check_target(target)


def _check_made_here(session: Session, release: Release) -> None:
    """Raise if the release has other columns, or was not made on the session's ledger."""
    own, there = session.schema, release.schema.unconstrained
    apart = [
        name
        for name, size in own.domain.items()
        if there.domain.get(name) != size or there[name].labels() != own[name].labels()
    ]
    if apart or own.name != release.manifest["table"]:
        raise UsageError(
            "the release is of another table, or was made with another schema",
            got=f"table {release.manifest['table']}"
            + (f", other codes of {', '.join(apart[:3])}" if apart else ""),
            allowed=f"table {own.name}, with the columns and values of its schema",
            hint="use the schema, the private table and the ledger that it was made with",
        )
    with closing(Ledger(session.ledger)) as ledger:
        ledger.verify(release.manifest)


def _check_useful(budget: Budget, shares: Shares, cap: int | None) -> None:
    """Raise where so little is to be spent that the answers would say nothing."""
    if not len(shares.sizes):
        raise UsageError("the release has no rows", hint="there is nothing to compare")
    within = expected_within(budget.grains, budget.currency, shares, cap)
    if within <= USELESS:
        return
    more = (within / USELESS) ** budget.currency.power
    enough = epsilon_of(int(budget.grains * more), budget.currency, budget.gaussian_delta)
    raise BudgetError(
        "epsilon is too small to tell how far the release is from the private table",
        got=f"epsilon {budget.epsilon:g}, which would tell it within ± {within:.2g}",
        allowed=f"epsilon of about {enough:.2g} or more, for ± {USELESS:g}",
        hint="distances are between 0 and 1; nothing was spent",
    )


def _coded(session: Session, release: Release) -> Iterator[tuple[dict[str, Codes], Array | None]]:
    """Yield the release's rows in codes, a batch at a time, with whose they are."""
    schema, ids = release.schema.released().unconstrained, release.ids
    for batch in release.decoded:
        codes, kept = schema.encode(batch)
        whose = batch[ids[0]][kept] if ids else None
        yield {name: codes[name] for name in session.schema.domain}, whose


def _guarantee(path: Path, number: int, made: int) -> dict[str, Any]:
    """Return what a run promises, alone and together with the release and earlier such runs."""
    with closing(Ledger(path)) as ledger:
        state = ledger.state()
    alone, released = state.runs[number], state.promised(made)
    # Whoever may choose among several runs about a release has seen all of them.
    about = alone.request["note"]
    asked = [n for n, run in state.runs.items() if n <= number and run.request.get("note") == about]
    grains = sum(state.runs[n].cap for n in (*asked, made, *state.discoveries(made)))
    together = epsilon_of(grains, state.currency, released.gaussian_delta)
    return {
        "unit": str(state.unit),
        "run": number,
        "epsilon": alone.budget.epsilon,
        "delta": alone.budget.delta,
        "with_the_release": {"epsilon": together, "delta": released.delta},
    }
