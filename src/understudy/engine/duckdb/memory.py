"""How much memory DuckDB may use: a quarter of the machine's, unless it is set."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from understudy.errors import UsageError

VARIABLE = "UNDERSTUDY_MEMORY"
LEAST = 1200 * 10**6
"""What a small machine gives too; DuckDB spills to disk what exceeds it."""
PER_PROCESSOR = 600 * 10**6
"""What each of two processors has where a small machine gives the least."""
PART = 4
_CONTROL_GROUPS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def memory_limit(*, sparing: bool = False) -> str:
    """Return the limit that the environment sets, or a quarter of the machine's memory.

    A sparing limit is what its processors need to sort, at least what a small machine gives: it
    leaves memory for rows that are read.

    >>> memory_limit().endswith("B")
    True
    """
    said = os.environ.get(VARIABLE, "").strip()
    if not said:
        limit = max(LEAST, machine_bytes() // PART)
        if sparing:
            limit = min(limit, max(LEAST, PER_PROCESSOR * (os.cpu_count() or 1)))
        return f"{limit // 10**6}MB"
    if not re.fullmatch(r"[1-9][0-9]{0,8}(\.[0-9]+)? ?[KMGT]i?B", said):
        raise UsageError(
            f"the environment variable {VARIABLE} is not a size",
            got=repr(said[:40]),
            allowed="such as 500MB or 8GB",
        )
    return said


def machine_bytes() -> int:
    """Return the memory of the machine, or of the container that this runs in."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CONTROL_GROUPS:
        # There may be no such file, and it may say "max".
        with suppress(OSError, ValueError):
            found.append(int(path.read_text(encoding="ascii")))
    return min(found)
