"""Verification: is what a release's manifest says of the ledger what the ledger says?

A manifest holds the hash of its run's last entry.  If that hash is in the chain, then every
entry up to it is as it was when the release was made.  Entries after it are not covered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.errors import LedgerMismatchError, MalformedFileError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from understudy.ledger.journal import Entry
    from understudy.ledger.state import State

COST = "this ledger lacks what the release cost, which comes on top of what it shows as spent"


@dataclass(frozen=True, slots=True)
class Verified:
    """Where a manifest is in a ledger's chain."""

    run: int
    entry: int
    """The number of the entry whose hash is the manifest's head."""
    entries_since: int
    """How many entries were appended after it."""
    charges_since: int
    """How many of those are charges."""
    grains_since: int
    """What those charges cost, in grains."""
    failure_since: int
    """The failure probability of those charges, in grains."""


def verified(
    entries: list[Entry], state: State, manifest: Mapping[str, Any], *, path: Path
) -> Verified:
    """Find a manifest's head in the chain, and compare the two; raise where they differ."""
    head, run, told = _told(manifest)
    entry = next((e for e in entries if e.chain == head), None)
    if entry is None:
        raise LedgerMismatchError(
            f"no entry of the ledger {path} has the manifest's head",
            got=f"run {run}, head {head[:16]}…",
            hint=f"{_meaning(state, told, run)}; {COST}",
        )
    found = _found(state, entry.run)
    for what, said in {"run": run, **told}.items():
        if said != found.get(what):
            raise LedgerMismatchError(
                f"the manifest and the ledger {path} have the same head, but not the same {what}",
                got=said,
                allowed=f"{found.get(what, 'none')}",
                hint="the manifest was edited: use the one written with the release",
            )
    after = entries[entry.number :]
    charges = [e.body for e in after if e.kind == "reserve"]
    grains, failure = (sum(int(c.get(n, 0)) for c in charges) for n in ("grains", "failure"))
    return Verified(found["run"], entry.number, len(after), len(charges), grains, failure)


def _told(manifest: Mapping[str, Any]) -> tuple[str, object, dict[str, object]]:
    """Read a manifest's head, its run, and what else must agree."""
    told: dict[str, object] | None
    try:
        promise, ledger = manifest["guarantee"], manifest["ledger"]
        head, run = ledger["head"], ledger["run"]
        told = {
            "table": manifest["table"],
            "unit": promise["unit"],
            "epsilon": promise["epsilon"],
            "delta": promise["delta"],
            "failure probability": promise.get("failure", 0.0),
            "total epsilon": ledger["total"]["epsilon"],
            "total delta": ledger["total"]["delta"],
            "total failure probability": ledger["total"].get("failure", 0.0),
        }
    except (LookupError, TypeError, AttributeError):
        told = None
    if told is None or not isinstance(head, str):
        raise MalformedFileError(
            "not an Understudy manifest",
            allowed="JSON with table, guarantee.unit, guarantee.epsilon, guarantee.delta, "
            "ledger.run, ledger.total and ledger.head",
        )
    return head, run, told


def _found(state: State, number: int | None) -> dict[str, Any]:
    """Return the same facts from the ledger; empty where the entry belongs to no run."""
    run = state.runs.get(number or 0)
    if run is None:
        return {}
    promised = state.promised(run.number)
    return {
        "run": run.number,
        "table": state.name,
        "unit": str(state.unit),
        "epsilon": promised.epsilon,
        "delta": promised.delta,
        "failure probability": promised.failure,
        "total epsilon": state.budget.epsilon,
        "total delta": state.budget.delta,
        "total failure probability": state.budget.failure,
    }


def _meaning(state: State, told: dict[str, object], number: object) -> str:
    """Explain why a head may be missing from the chain."""
    if (told["table"], told["unit"]) != (state.name, str(state.unit)):
        return f"this is another ledger: that release is of {told['table']}, unit {told['unit']}"
    run = next((r for n, r in state.runs.items() if n == number), None)
    if run is None or not run.closed:
        return (
            "an older copy of the ledger was restored, or the release was made with a copy of it "
            "that has since diverged, or with another ledger"
        )
    return (
        "the release was made with a copy of the ledger that has since diverged, or with another "
        "ledger of this table"
    )
