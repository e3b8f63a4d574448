"""Check, after the tests have run, that they reached every `raise` of the privacy rooms.

Reads the coverage that pytest has just recorded; prints the lines that no test raised.
"""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

from coverage import CoverageData

ROOMS = ("budget", "noise", "ledger", "door", "vault", "session", "engine", "schema", "release")
SOURCE = Path(__file__).parent.parent / "src" / "understudy"


def unreached(data: CoverageData, path: Path) -> list[int]:
    """Give the lines of a module's `raise` statements that no test executed."""
    lines = set(data.lines(str(path)) or ())
    tree = ast.parse(path.read_text(encoding="utf-8"))
    raises = [n for n in ast.walk(tree) if isinstance(n, ast.Raise)]
    return sorted(n.lineno for n in raises if n.lineno not in lines)


def main() -> int:
    """Say which errors were never raised."""
    data = CoverageData(os.environ.get("COVERAGE_FILE", ".coverage"))
    data.read()
    count, missed = 0, []
    for path in sorted(p for room in ROOMS for p in (SOURCE / room).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        count += sum(isinstance(n, ast.Raise) for n in ast.walk(tree))
        missed += [f"{path.relative_to(SOURCE)}:{line}" for line in unreached(data, path)]
    print(
        f"{count - len(missed)} of {count} raises in the privacy rooms and their neighbours reached"
    )
    print("\n".join(missed))
    return 1 if missed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
