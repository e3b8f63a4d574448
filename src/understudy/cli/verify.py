"""The ledger command's --verify: do these releases' manifests belong to this ledger?"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import epsilon_of, failure_of
from understudy.errors import LedgerMismatchError, MalformedFileError, MissingFileError
from understudy.release.from_disk import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.ledger import Ledger, RunState, State, Verified

SHOWN = (
    "Verified: every entry up to a manifest's head is as it was when that release was made. "
    "Entries after the last head are not covered; keep the manifest of every release."
)
UNKEYED = (
    "This ledger is older than keyed chains: its heads still commit to its entries, but they "
    "do not prevent a guess at those entries from being tested."
)


def read_manifests(named: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Read manifests, by their own paths or by their releases' folders.

    A contest's submission has a manifest for each of its runs, in one file.
    """
    found = []
    for name in named:
        is_folder = os.path.isdir(name)  # noqa: PTH112  never raises
        path = Path(name) / MANIFEST if is_folder else Path(name)
        told = _read(path)
        runs = told["runs"] if isinstance(told.get("runs"), list) else [told]
        found += [(name, run) for run in runs]
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MissingFileError(
            f"cannot read the manifest {path}",
            got=error.strerror,
            hint="name a manifest.json, or the folder of a release",
        ) from None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise MalformedFileError(f"{path} is not an Understudy manifest", allowed="a JSON object")
    return told


def verify(
    ledger: Ledger, manifests: Sequence[tuple[str, dict[str, Any]]]
) -> tuple[dict[str, Any], list[str], LedgerMismatchError | None]:
    """Verify manifests; return facts, lines of text, and an error if one does not agree."""
    state = ledger.state()
    found: list[Verified] = []
    told: list[dict[str, Any]] = []
    for file, manifest in manifests:
        try:
            at = ledger.verify(manifest)
        except MalformedFileError as error:
            malformed = MalformedFileError(f"{file}: {error.what}", allowed=error.allowed)
        except LedgerMismatchError as error:
            told.append({"file": file, "agrees": False, "why": str(error)})
            continue
        else:
            found.append(at)
            told.append({"file": file, "agrees": True, **_place(at)})
            continue
        raise malformed
    missing = [run for n, run in state.runs.items() if n not in {at.run for at in found}]
    last = max(found, key=lambda at: at.entry, default=None)
    facts = {
        "ledger": str(ledger.path),
        "table": state.name,
        "unit": None if state.unit is None else str(state.unit),
        "keyed": ledger.keyed,
        "agrees": len(found) == len(told),
        "manifests": told,
        "runs_without_manifest": [_run(state, run) for run in missing],
        "since_last": None if last is None else _since(state, last),
    }
    if facts["agrees"]:
        return facts, _lines(facts), None
    count = f"{len(told) - len(found)} of {len(told)} manifests"
    failure = LedgerMismatchError(f"{count} do not agree with the ledger {ledger.path}")
    return facts, _lines(facts), failure


def _place(at: Verified) -> dict[str, int]:
    return {"run": at.run, "entry": at.entry, "entries_since": at.entries_since}


def _run(state: State, run: RunState) -> dict[str, Any]:
    return {
        "run": run.number,
        "mechanism": run.request["mechanism"]["name"],
        "state": "closed" if run.closed else "open",
        "questions": len(run.reservations),
        "spent_epsilon": epsilon_of(run.spent, state.currency, state.budget.gaussian_delta),
        "spent_failure": failure_of(run.failure),
    }


def _since(state: State, last: Verified) -> dict[str, Any]:
    return {
        "run": last.run,
        "entries": last.entries_since,
        "charges": last.charges_since,
        "epsilon": epsilon_of(last.grains_since, state.currency, state.budget.gaussian_delta),
        "failure": failure_of(last.failure_since),
    }


def _failure(probability: float) -> str:
    return f" and failure probability {probability:.6g}" if probability else ""


def _lines(facts: dict[str, Any]) -> list[str]:
    whose = f"{facts['table']}, unit {facts['unit']}" if facts["table"] else "not bound to a table"
    lines = [f"{facts['ledger']}: {whose}"]
    for told in facts["manifests"]:
        if told["agrees"]:
            place = f"run {told['run']}, entry {told['entry']}"
            lines.append(f"  {told['file']}: {place}, {told['entries_since']} entries since")
        else:
            lines.append(f"  {told['file']}: DOES NOT AGREE: {told['why']}")
    if facts["runs_without_manifest"]:
        lines.append("Runs without a manifest here:")
    lines += [
        f"  run {run['run']}: {run['mechanism']}, {run['state']}, {run['questions']} questions, "
        f"epsilon {run['spent_epsilon']:.6g}{_failure(run['spent_failure'])} spent"
        for run in facts["runs_without_manifest"]
    ]
    since = facts["since_last"]
    if since is not None:
        lines.append(
            f"After the last of these manifests, of run {since['run']}: {since['entries']} "
            f"entries, {since['charges']} of them charges, epsilon {since['epsilon']:.6g}"
            f"{_failure(since['failure'])} spent"
        )
        lines += [SHOWN] if facts["agrees"] else []
    return [*lines, *([] if facts["keyed"] else [UNKEYED])]
