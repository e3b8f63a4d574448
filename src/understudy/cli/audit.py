"""The audit command: every mechanism against its promise, on tables made for it."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from understudy.audit import measure_discovery, measure_loss, pairs, replay
from understudy.budget import Budget
from understudy.cli.progress import shown
from understudy.errors import AuditError, UsageError
from understudy.synth import MECHANISMS, NEEDS_PUBLIC, mechanism_from_dict

if TYPE_CHECKING:
    import argparse

    from understudy.public import Progress
    from understudy.synth import Mechanism

DEEP_PAIRS = 10_000
NEAR_ONE = Budget(epsilon=4.886, delta=1e-6)
"""A budget of μ = 1, to within 1e-4."""


def run(options: argparse.Namespace) -> None:
    """Check that mechanisms keep their privacy promise."""
    found = _tried(options)
    told = None
    if options.statistical and options.mechanism is None:
        with shown(quiet=options.json) as progress:
            told = _discovered(options.runs, progress)
    if options.json:
        facts = {"kept": True, "mechanisms": found}
        print(json.dumps(facts if told is None else {**facts, "discovery": told}))
    else:
        _show(found, told)


def _tried(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Audit the chosen mechanisms and return the results; raise if a promise is broken."""
    names = list(MECHANISMS) if options.mechanism is None else [options.mechanism]
    count = DEEP_PAIRS if options.deep else options.pairs
    if count < 1 or options.runs < 2:
        raise UsageError(
            "--pairs must be at least 1, and --runs at least 2", got=f"{count}, {options.runs}"
        )
    # Different pairs every time, unless the seed is given.
    seed = secrets.randbits(32) if options.seed is None else options.seed
    found = []
    with shown(quiet=options.json or options.quiet) as progress:
        for name in names:
            mechanism = mechanism_from_dict({"name": name, "settings": {}})
            facts: dict[str, Any] = {"mechanism": name, "pairs": count, "seed": seed}
            facts |= _replayed(mechanism, count, seed, progress)
            if options.statistical:
                facts |= _lost(mechanism, options.runs, progress)
            found.append(facts)
    return found


def _replayed(mechanism: Mechanism, count: int, seed: int, progress: Progress) -> dict[str, Any]:
    stage, reach, containers = f"replaying {mechanism.name} on neighbours", 0.0, set()
    for number, pair in enumerate(pairs(count, seed, public=mechanism.name in NEEDS_PUBLIC)):
        progress(stage, number / count)
        reach = max(reach, replay(mechanism, pair).reach)
        containers.add(pair.container)
    return {"containers": sorted(containers), "reach": reach}


def _lost(mechanism: Mechanism, runs: int, progress: Progress) -> dict[str, Any]:
    progress(f"running {mechanism.name} {runs:,} times", 0)
    loss = measure_loss(mechanism, budget=NEAR_ONE, runs=runs)
    if not loss.kept:
        raise AuditError(
            f"{mechanism.name} loses more privacy than it claims",
            got=f"mu of at least {loss.certain:.4f}",
            allowed=f"{loss.claim:.4f}",
        )
    return {
        "claimed_mu": loss.claim,
        "mu_at_least": loss.certain,
        "mu_at_least_95": loss.likely,
        "runs": loss.runs,
    }


def _discovered(runs: int, progress: Progress) -> dict[str, Any]:
    """Audit discovery, which is no mechanism: its failure probability, and its loss besides."""
    progress(f"discovering values of {runs:,} people", 0)
    told, loss = measure_discovery(runs=runs)
    for kept, what, least, claim in (
        (told.kept, "tells values of one person alone more often", told.certain, told.claim),
        (loss.kept, "loses more privacy", loss.certain, loss.claim),
    ):
        if not kept:
            raise AuditError(
                f"discovery {what} than it claims",
                got=f"at least {least:.4f}",
                allowed=f"{claim:.4f}",
            )
    return {
        "claimed_failure": told.claim,
        "failure_seen": told.seen,
        "failure_at_least": told.certain,
        "failure_at_least_95": told.likely,
        "claimed_mu": loss.claim,
        "mu_at_least": loss.certain,
        "mu_at_least_95": loss.likely,
        "runs": runs,
    }


def _show(found: list[dict[str, Any]], told: dict[str, Any] | None) -> None:
    """Print the results as a table."""
    table = Table(
        "mechanism",
        "pairs",
        "reach",
        "claimed μ",
        "μ at least (1 − 1e-6)",
        "μ at least (95 %)",
        box=None,
    )
    for facts in found:
        seen = [facts.get(k) for k in ("claimed_mu", "mu_at_least", "mu_at_least_95")]
        shown_as = ["" if value is None else f"{value:.4f}" for value in seen]
        if seen[0]:
            shown_as[2] += f" ({seen[2] / seen[0]:.0%} of the claim)"
        table.add_row(facts["mechanism"], f"{facts['pairs']:,}", f"{facts['reach']:.4f}", *shown_as)
    console = Console(highlight=False)
    console.print(table)
    if told is not None:
        console.print(
            f"Discovery told values of {told['failure_seen']:.4f} of {told['runs']:,} people whose "
            f"values nobody else has; claimed is at most {told['claimed_failure']:.4f}, and at "
            f"least {told['failure_at_least']:.4f} (1 − 1e-6) was seen. Besides, μ is at least "
            f"{told['mu_at_least']:.4f} (1 − 1e-6) or {told['mu_at_least_95']:.4f} (95 %), and "
            f"{told['claimed_mu']:.4f} is claimed."
        )
    console.print(
        f"Every promise was kept; seed {found[0]['seed']}. Tables were stored in "
        f"{len(found[0]['containers'])} kinds of container. Reach is the largest change of an "
        "exact answer by one person, as a share of the declared sensitivity.",
        style="dim",
    )
