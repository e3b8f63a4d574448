"""Fixed entropy, for tests of samplers only: the one place where noise can be seeded.

Nothing outside `audit` and the tests can reach it, and no session takes an entropy.
"""

from __future__ import annotations

import hashlib


class FixedEntropy:
    """Bytes of SHAKE-256 over a seed: the same every time, and useless for privacy.

    >>> FixedEntropy(1)(4) == FixedEntropy(1)(4) != FixedEntropy(2)(4)
    True
    """

    def __init__(self, seed: int) -> None:
        """Start at the beginning of the seed's stream."""
        self._seed = seed
        self._calls = 0

    def __call__(self, count: int) -> bytes:
        """Return the next bytes."""
        self._calls += 1
        return hashlib.shake_256(f"{self._seed}/{self._calls}".encode()).digest(count)
