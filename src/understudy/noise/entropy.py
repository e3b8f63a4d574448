"""Entropy: where random bits come from.  Outside `audit` that is the operating system."""

from __future__ import annotations

import os
from collections.abc import Callable

Entropy = Callable[[int], bytes]
"""Returns n random bytes."""

SYSTEM: Entropy = os.urandom
"""The operating system's generator: no seed, no state here, nothing for a fork to copy."""
