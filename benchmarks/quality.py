"""Quality that may be published: how exactly noisy distances tell how far a release is.

Releases of Adult, where rows are people, and of planes, at ε = 1 and δ = 10⁻⁶.  Each is asked about
for a tenth of its run's μ² more; the truth is counted from the private table.  Then the best of
several against one mechanism on the whole budget.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from _figures import figure, show
from _panels import PANELS

import understudy as us
from understudy.budget import epsilon_of
from understudy.ledger import Ledger
from understudy.public import PublicTable

if TYPE_CHECKING:
    from _panels import Panel

    from understudy.public import Accuracy

BUDGET = us.Budget(epsilon=1.0, delta=1e-6)
TOTAL = us.Budget(epsilon=10.0, delta=1e-6)
TENTH = epsilon_of(BUDGET.grains // 10, BUDGET.currency, BUDGET.delta)
CLOSE = 0.2
TIMES = 3
"""Releases of each table."""
ASKED = 10
"""How often each release is asked about, each time in a run of its own."""
CHOSEN = ("auto", "mst", "independent")


def session(panel: Panel, folder: str) -> us.Session:
    """Open a panel on a ledger with room for releases and for questions about them."""
    ledger = Path(folder) / "ledger"
    Ledger.create(ledger, budget=TOTAL).close()
    return us.open(
        private=panel.data,
        schema=panel.schema,
        unit=panel.unit,
        bounding=us.Weights(1) if panel.unit.is_row else us.Norm(),
        budget=BUDGET,
        ledger=ledger,
    )


def truth(panel: Panel, release: us.Release) -> float:
    """Give the mean total variation of all pairs, counted from the private table."""
    real = PublicTable.read(panel.data, schema=panel.schema, unit=panel.unit)
    made = PublicTable.read(release.columns, schema=panel.schema.released(), unit=panel.unit)
    pairs = combinations(panel.schema.domain, 2)
    apart = [
        np.abs(real.marginal(p) / len(real) - made.marginal(p) / len(made)).sum() / 2 for p in pairs
    ]
    return float(np.mean(apart))


def told(held: us.Session, release: us.Release, times: int) -> list[Accuracy]:
    """Ask about a release several times; another epsilon, a hair larger, is another run."""
    return [us.accuracy(held, release, epsilon=TENTH * (1 + i * 1e-9)) for i in range(times)]


def measured(name: str) -> None:
    """Keep how exactly distances are told, and whether their intervals hold."""
    panel = PANELS[name]()
    off, lengths, held, true, cap = [], [], [], [], 0
    for _ in range(TIMES):
        with tempfile.TemporaryDirectory() as folder:
            opened = session(panel, folder)
            release = opened.run()
            real = truth(panel, release)
            true.append(real)
            for each in told(opened, release, ASKED):
                mean, cap = each.mean_pair, each.cap
                assert mean is not None  # noqa: S101  there are several columns
                off.append(abs(mean.distance - real) / real)
                lengths.append(mean.within / real)
                held.append(mean.low <= real <= mean.high)
            print(f"{name}: {' '.join(each.sentences())} True: {real:.4f}", flush=True)
    within, far = float(np.mean(lengths)), float(np.quantile(off, 0.95))
    figure(f"{name}: true mean distance of pairs", float(np.mean(true)))
    figure(f"{name}: half of the 95 % interval / truth", within, f"< {CLOSE}", meets=within < CLOSE)
    figure(f"{name}: 95 % quantile of |told - truth| / truth", far, f"< {CLOSE}", meets=far < CLOSE)
    kept = float(np.mean(held))
    figure(f"{name}: intervals that hold", kept, "> 0.9", meets=kept > 0.9)
    figure(f"{name}: cap of the last release", cap)


def chosen(name: str) -> None:
    """Keep the true error of the best of several, and of each on the whole budget."""
    panel = PANELS[name]()
    several = us.BestOf(candidates=tuple({"name": each} for each in CHOSEN))
    for mechanism in (*CHOSEN, several):
        called = mechanism if isinstance(mechanism, str) else f"best of {', '.join(CHOSEN)}"
        with tempfile.TemporaryDirectory() as folder:
            release = session(panel, folder).run(mechanism)
            figure(f"{name}: true mean distance of pairs, {called}", truth(panel, release))


def main() -> None:
    """Measure the tables that are named, or both."""
    for name in sys.argv[1:] or ("adult", "planes"):
        measured(name)
        chosen(name)
    show()


if __name__ == "__main__":
    main()
