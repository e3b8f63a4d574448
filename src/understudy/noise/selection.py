"""Selection: the exponential mechanism, exactly.

Candidate i is chosen with probability proportional to exp(rate·scoreᵢ), by the Gumbel
trick: the largest of rate·scoreᵢ + gᵢ with gᵢ = −ln(−ln uᵢ).  Scores are whole numbers and
the rate is a fraction, so the sum is known exactly but for uᵢ, of which 64 bits are drawn
first.  Where the intervals of the leaders overlap, more bits are appended to each and the
comparison is made with arbitrary precision.  Tied by ``tests/noise/test_selection.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.errors import QuestionError
from understudy.noise.entropy import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from understudy.noise.entropy import Entropy


@dataclass(slots=True)
class _Contender:
    """A candidate with the bits of its uniform number known so far."""

    index: int
    score: int
    prefix: int

    def interval(self, mp: Any, rate: Any, bits: int) -> tuple[Any, Any]:  # noqa: ANN401
        """Give certain ends of rate·score + g."""
        slack = mp.mpf(2) ** (40 - mp.prec)
        low = _gumbel(mp, self.prefix, bits)
        high = _gumbel(mp, self.prefix + 1, bits)
        base = rate * self.score
        spread = slack * (1 + abs(base) + sum(abs(g) for g in (low, high) if mp.isfinite(g)))
        return base + low - spread, base + high + spread


def _gumbel(mp: Any, prefix: int, bits: int) -> Any:  # noqa: ANN401
    """Give the Gumbel number at u = prefix·2⁻ᵇⁱᵗˢ, infinite at the ends."""
    if prefix == 0:
        return -mp.inf
    if prefix == 1 << bits:
        return mp.inf
    return -mp.log(-mp.log(mp.mpf(prefix) / mp.mpf(2) ** bits))


def choose(scores: Sequence[int], rate: Fraction, *, entropy: Entropy = SYSTEM) -> int:
    """Choose an index with probability proportional to exp(rate·score)."""
    import mpmath  # noqa: PLC0415

    if not scores:
        raise QuestionError("nothing to select from", got="no candidate", allowed="at least one")
    mp = mpmath.mp.clone()
    top = max(scores)
    bits = 64
    field = [
        _Contender(i, score - top, int.from_bytes(entropy(8), "little"))
        for i, score in enumerate(scores)
    ]
    while True:
        mp.prec = 128 + bits
        exact = mp.mpf(rate.numerator) / rate.denominator
        ends = [c.interval(mp, exact, bits) for c in field]
        best = max(low for low, _ in ends)
        field = [c for c, (_, high) in zip(field, ends, strict=True) if high >= best]
        if len(field) == 1:
            return field[0].index
        bits += 64
        for contender in field:
            fresh = int.from_bytes(entropy(8), "little")
            contender.prefix = contender.prefix << 64 | fresh
