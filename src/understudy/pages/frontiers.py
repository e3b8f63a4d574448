"""Privacy and utility: the runs of an evaluation by epsilon and by error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.pages import contrasts
from understudy.pages.contrasts import BEATEN, BEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from understudy.pages.page import Chart, Page, Table

    Run = Mapping[str, Any]


def promise_of(run: Run) -> dict[str, Any]:
    """Return the mechanism and the promise in a run's manifest."""
    manifest = run["manifest"] or {}
    mechanism, promise = manifest.get("mechanism") or {}, manifest.get("guarantee") or {}
    found = {k: promise[k] for k in ("epsilon", "delta") if k in promise}
    if "name" in mechanism:
        chosen = (mechanism.get("chosen") or {}).get("name")
        found["mechanism"] = mechanism["name"] + (f" ({chosen})" if chosen else "")
    return found


def add_frontiers(
    page: Page, frontiers: Iterable[Mapping[str, Any]], runs: Mapping[str, Run]
) -> None:
    """Chart runs by epsilon and utility, where several have an epsilon.

    A frontier is a figure's ``name`` in summaries, its name on the ``axis``, and whether ``lower``
    is better.
    """
    priced = {name: run for name, run in runs.items() if "epsilon" in promise_of(run)}
    if len(priced) < 2:
        return
    page.section(
        "Privacy and utility of each run",
        "Each point is a run. A cross marks a run that is beaten: another run has no larger "
        "epsilon and is no worse, and differs in at least one of them. Deltas are ignored.",
    )
    colours = contrasts.run_colours(runs)
    made = {name: run["comparison"]["synthetic"]["summary"] for name, run in priced.items()}
    for each in frontiers:
        if all(each["name"] in summary for summary in made.values()):
            found = {name: summary[each["name"]] for name, summary in made.items()}
            page.chart(_frontier(priced, found, each["axis"], colours, lower=each["lower"]))


def _frontier(
    runs: Mapping[str, Run],
    found: Mapping[str, float],
    y: str,
    colours: Mapping[str, str],
    *,
    lower: bool,
) -> Chart:
    promises = {name: promise_of(run) for name, run in runs.items()}
    labels = {n: f"{n} · {p.get('mechanism', 'unknown')}" for n, p in promises.items()}
    epsilons = [p["epsilon"] for p in promises.values()]
    best = undominated(epsilons, [v if lower else -v for v in found.values()])
    data: Table = {
        "run": list(labels.values()),
        "epsilon": epsilons,
        y: list(found.values()),
        "standing": [BEST if b else BEATEN for b in best],
    }
    told = "lower is closer to the real table" if lower else "higher is closer"
    listed = ", ".join(name for name, b in zip(runs, best, strict=True) if b)
    return contrasts.frontier(
        f"Epsilon and {y}",
        f"The {y} of each run by its epsilon: {told}. Not beaten by another: {listed}.",
        data,
        y=y,
        zero=lower,
        colours={label: colours[name] for name, label in labels.items()},
    )


def undominated(prices: Sequence[float], errors: Sequence[float]) -> list[bool]:
    """Return whether each run is Pareto-optimal: no other costs and errs as little or less.

    >>> undominated([1, 1, 3, 3], [0.2, 0.3, 0.1, 0.2])
    [True, False, True, False]
    """
    runs = list(zip(prices, errors, strict=True))
    return [not any(p <= a and e <= b and (p, e) != (a, b) for p, e in runs) for a, b in runs]
