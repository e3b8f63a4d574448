"""The bug zoo: plants one privacy bug at a time in a copy of the house, and has it caught.

``python tests/zoo/zoo.py`` plants them all; words after it choose bugs by name or file.
Caught means that the named test *failed*; a copy that crashes or cannot be imported proves
nothing and counts as missed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.zoo.bugs import BUGS  # noqa: E402  the path comes first

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.zoo.bug import Bug

SOURCE = ROOT / "src" / "understudy"
AT_ONCE = 2
LONGEST = 120.0
"""Seconds after which a test has not caught anything."""
CRASHES = (
    "NameError",
    "UnboundLocalError",
    "SyntaxError",
    "ImportError",
    "ModuleNotFoundError",
    # The machine was too slow, which is no bug.
    "DeadlineExceeded",
    "FailedHealthCheck",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a bug."""

    bug: Bug
    caught: bool
    seconds: float
    why: str
    """The first line of the failure, or what happened instead."""


def copied(folder: Path) -> Path:
    """Copy the house into a folder, from where it can be imported."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(SOURCE, folder / "understudy", ignore=ignored))


def placed(bug: Bug, package: Path) -> str:
    """Give a file with its bug, which must have exactly one place."""
    text = (package / bug.file).read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.name}: its snippet is {text.count(bug.old)} times in {bug.file}")
    return text.replace(bug.old, bug.new)


def changed(bug: Bug, package: Path) -> str:
    """Give a file with its bug, which must be Python."""
    text = placed(bug, package)
    compile(text, bug.file, "exec")
    return text


def plant(bug: Bug, package: Path) -> None:
    """Put a bug into a copy."""
    text = changed(bug, package)
    (package / bug.file).write_text(text, encoding="utf-8")


def environment(folder: Path) -> dict[str, str]:
    """Have a folder's copy imported, and properties tried hard, with nothing remembered."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith("COV")}
    return kept | {
        "PYTHONPATH": str(folder),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
        "UNDERSTUDY_ZOO": "1",
    }


def check_import(folder: Path) -> None:
    """Make sure that the copy is what a test imports."""
    program = "import understudy; print(understudy.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    if not Path(done.stdout.strip()).is_relative_to(folder):
        raise RuntimeError(f"not the copy is imported, but {done.stdout.strip()}")


def tested(folder: Path, nodes: Iterable[str], timeout: float) -> tuple[int | None, str]:
    """Run tests on a folder's copy: the exit code, None where it took too long, and output."""
    options = ["-x", "-q", "--tb=short", "--hypothesis-seed=0", f"--basetemp={folder / 'tmp'}"]
    plugins = ["-p", "no:cacheprovider", "-p", "tests.zoo.quick"]
    command = [sys.executable, "-m", "pytest", *options, *plugins, *nodes]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(folder),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return None, "took too long"
    return done.returncode, done.stdout


def judged(code: int | None, output: str) -> tuple[bool, str]:
    """Say whether a test failed as a test does, and by which words."""
    told = re.findall(r"^E +(\S.*)$", output, re.MULTILINE) or [output.strip()[-200:]]
    last = output.strip().splitlines()[-1] if output.strip() else ""
    crashed = [line for line in told if line.split(":")[0].split(".")[-1] in CRASHES]
    failed = code == 1 and " failed" in f" {last}" and " error" not in last
    return failed and not crashed, (crashed or told)[0]


def released(bug: Bug) -> Outcome:
    """Plant one bug, and see whether its test catches it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="zoo-") as name:
        plant(bug, copied(Path(name)))
        caught, why = judged(*tested(Path(name), [bug.caught_by], LONGEST))
    return Outcome(bug, caught, time.monotonic() - start, why)


def check_healthy(bugs: Sequence[Bug]) -> None:
    """Make sure that all the tests pass where nothing is planted."""
    with tempfile.TemporaryDirectory(prefix="zoo-") as name:
        copied(Path(name))
        check_import(Path(name))
        nodes = sorted({bug.caught_by for bug in bugs})
        code, output = tested(Path(name), nodes, LONGEST * len(nodes))
    if code != 0:
        raise RuntimeError(f"the tests fail where nothing is planted:\n{output[-2000:]}")


def table(outcomes: Sequence[Outcome], *, reasons: bool) -> str:
    """Write what was planted and what caught it, a line a bug."""
    lines = [("bug", "kind", "caught by", "seconds")]
    for o in outcomes:
        by = o.bug.caught_by.rpartition("::")[2] if o.caught else "NOTHING"
        lines.append((o.bug.name, o.bug.kind, by, f"{o.seconds:.1f}"))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    out = ["  ".join(f"{c:{w}}" for c, w in zip(line, widths, strict=True)) for line in lines]
    for i, o in enumerate(outcomes):
        if reasons or not o.caught:
            out[i + 1] += f"\n    {o.bug.file}: {o.why}"
    return "\n".join(line.rstrip() for line in out)


def main(words: Sequence[str]) -> int:
    """Plant the bugs that are asked for, print a table, and fail where one was missed."""
    wanted = [w for w in words if w != "--why"]
    bugs = [b for b in BUGS if not wanted or any(w in f"{b.name} {b.file}" for w in wanted)]
    for bug in bugs:
        changed(bug, SOURCE)
    check_healthy(bugs)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(released, bugs))
    print(table(outcomes, reasons="--why" in words))
    caught = sum(o.caught for o in outcomes)
    print(f"{caught}/{len(bugs)} caught")
    return 0 if bugs and caught == len(bugs) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
