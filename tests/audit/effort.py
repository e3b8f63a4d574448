"""How hard the audits try: quickly with every test, thoroughly by `make audit`."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("UNDERSTUDY_AUDIT") == "1"


def effort(usual: int, thorough: int) -> int:
    """Choose how often something is tried."""
    return thorough if THOROUGH else usual
