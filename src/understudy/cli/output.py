"""What a command prints: lines for people, or one JSON object for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def tell(options: argparse.Namespace, facts: dict[str, Any], lines: list[str]) -> None:
    """Print the facts as JSON if --json is given, and the lines otherwise."""
    print(json.dumps(facts) if options.json else "\n".join(lines))
