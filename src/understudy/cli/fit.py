"""The fit command: rows from marginals that were measured elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from understudy.budget import Budget
from understudy.cli import arguments
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.errors import UsageError
from understudy.marginals import from_marginals
from understudy.pages import report
from understudy.release import check_target

if TYPE_CHECKING:
    import argparse

_NEEDED = ("schema", "unit", "epsilon", "delta", "promised_by", "out")


def run(options: argparse.Namespace) -> None:
    """Fit, draw and write; nothing is spent."""
    missing = [f"--{n.replace('_', '-')}" for n in _NEEDED if getattr(options, n) is None]
    if missing:
        raise UsageError(
            f"the following arguments are required: {', '.join(missing)}",
            hint="understudy fit --help",
        )
    out = Path(options.out)
    check_target(out)
    with shown(quiet=options.json or options.quiet) as progress:
        release = from_marginals(
            options.marginals,
            schema=options.schema,
            unit=arguments.unit(options.unit, options.null_ids),
            promised=Budget(epsilon=options.epsilon, delta=options.delta),
            promised_by=options.promised_by,
            rows=options.rows,
            progress=progress,
        )
        release.save(out, progress=progress)
        report(release, out / "report.html")
    promise = release.manifest["guarantee"]["words"]
    quality = release.quality
    facts = {
        "release": str(out),
        "rows": len(release),
        "promise": promise,
        "quality": quality.facts(),
    }
    lines = [
        f"{len(release):,} synthetic rows in {out}; no private table was opened",
        f"  promise  {promise}",
        *(f"  signal   {sentence}" for sentence in quality.sentences()),
    ]
    tell(options, facts, lines)
