"""A virtual environment for each peer, and runs in it under a time limit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from _peers.job import Job, Took

BENCHMARKS = Path(__file__).resolve().parent.parent
PINS: dict[str, tuple[str, ...]] = {
    "mbi": ("mbi==2.0.0",),
    "dpmm": ("dpmm==0.1.9",),
    "smartnoise": ("torch==2.13.0", "smartnoise-synth==1.0.8"),
}
"""What is installed for each peer, one after the other: PyTorch first, in a build without GPU."""
PYTHON = "python3.11"
"""What dpmm needs at most, for all of them."""
LONGEST = 120
"""The most letters of an error that a cell shows."""


class FailedError(Exception):
    """Why a run has no figures, in words for a cell of the table."""


def install(peer: str) -> str:
    """Make a peer's environment where there is none of these pins; give what went wrong."""
    folder, wanted = folder_of(peer), "\n".join(PINS[peer])
    marker = folder / "pins"
    if marker.exists() and marker.read_text() == wanted:
        return ""
    same = sys.version_info[:2] == (3, 11)
    base = sys.executable if same else shutil.which(PYTHON) or sys.executable
    steps = [[base, "-m", "venv", "--clear", str(folder)]]
    pip = [str(_python(peer)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps += [[*pip, pin] for pin in PINS[peer]]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"could not be installed: {last_line(done.stderr)}"
    marker.write_text(wanted)
    return ""


def run(peer: str, job: Job, minutes: float) -> Took:
    """Run a job in a peer's environment; a run over the limit is ended with all it started."""
    process = subprocess.Popen(
        [_python(peer), "-m", f"_peers.{peer}", job.text()],
        cwd=BENCHMARKS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        told, error = process.communicate(timeout=60 * minutes)
    except subprocess.TimeoutExpired:
        raise FailedError(late(minutes)) from None
    finally:
        _end(process)
    if process.returncode:
        by_signal = f"ended by signal {-process.returncode}"
        raise FailedError(f"failed: {by_signal if process.returncode < 0 else last_line(error)}")
    return Took(**json.loads(told.strip().splitlines()[-1]))


def late(minutes: float) -> str:
    """Say that a run took too long."""
    return f"did not finish in {minutes:g} minutes"


def last_line(error: str) -> str:
    """Give the last line of an error that says something, shortened."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    said = lines[-1] if lines else "it said nothing"
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def _end(process: subprocess.Popen[str]) -> None:
    """End whatever is left of a run's process group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def folder_of(peer: str) -> Path:
    """Say where a peer's environment is."""
    return BENCHMARKS.parent / ".peers" / peer


def _python(peer: str) -> Path:
    return folder_of(peer) / "bin" / "python"
