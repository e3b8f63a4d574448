"""What a command prints: lines for people, or one JSON object for programs."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import argparse


def tell(options: argparse.Namespace, facts: dict[str, Any], lines: list[str]) -> None:
    """Print the facts as JSON if --json is given, and otherwise the lines, unless --quiet is.

    A column's name may have a line break in it: what is one line stays one.
    """
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        print("\n".join(" ".join(line.splitlines()) for line in lines))


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to the stderr of the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one line, as errors are written."""
        self.stream = sys.stderr
        super().emit(record)


_STDERR = _Stderr()
_STDERR.setFormatter(logging.Formatter("understudy: %(message)s"))


def listen(*, verbose: bool) -> None:
    """Print what is logged to stderr: with --verbose every stage, otherwise errors only.

    Warnings are part of what a command prints.
    """
    logger = logging.getLogger("understudy")
    logger.addHandler(_STDERR)
    _STDERR.setLevel(logging.INFO if verbose else logging.ERROR)
    logger.setLevel(logging.INFO if verbose else logging.NOTSET)
