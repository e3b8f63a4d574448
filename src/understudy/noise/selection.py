"""Selection: the exponential mechanism, exactly.

Candidate i is chosen with probability proportional to exp(rate·scoreᵢ), by the Gumbel
trick: the largest of rate·scoreᵢ + gᵢ with gᵢ = −ln(−ln uᵢ).  Scores are whole numbers and
the rate is a fraction, so the sum is known exactly but for uᵢ, of which 64 bits w are drawn
first: u lies in [w, w+1]·2⁻⁶⁴.  Keys are estimated in float64 at the interval's middle; all
whose error bars reach the best one's are *contenders*.  Where there are several, more bits
are appended to each of their uᵢ and the comparison is made with arbitrary precision.

**Error bound.**  |dg/du| = 1/f(u) with f(u) = −u·ln u concave, so on an interval f is least
at one of its ends and the half-width in g is at most 2⁻⁶⁵ over that.  Float64 rounding of
rate·score, g and their sum is far within (|rate·score| + |g| + 1)·2⁻⁴⁸.  Tied by
``tests/noise/test_selection.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import QuestionError
from understudy.noise.entropy import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from understudy.noise.entropy import Entropy

    Floats = NDArray[np.float64]


def choose(scores: Sequence[int], rate: Fraction, *, entropy: Entropy = SYSTEM) -> int:
    """Choose an index with probability proportional to exp(rate·score)."""
    if not scores:
        raise QuestionError("nothing to select from", got="no candidate", allowed="at least one")
    top = max(scores)
    words = np.frombuffer(entropy(8 * len(scores)), dtype="<u8")
    up, down = rate.numerator, rate.denominator
    bases = np.array([(score - top) * up / down for score in scores])
    gumbel, error = _estimate(words)
    error = error + (np.abs(bases) + np.abs(gumbel) + 1) * 2.0**-48
    keys = bases + gumbel
    leaders = np.flatnonzero(keys + error >= np.max(keys - error))
    if len(leaders) == 1:
        return int(leaders[0])
    field = {int(i): int(words[i]) for i in leaders}
    return _decide({i: scores[i] - top for i in field}, field, rate, entropy)


def _minus_log(words: Floats, beyond: Floats) -> Floats:
    """Return −ln u for u = words·2⁻⁶⁴, from 1 − u = beyond·2⁻⁶⁴ where that is smaller."""
    upper = words > beyond
    near_one: Floats = -np.log1p(-np.where(upper, beyond, 0.0) * 2.0**-64)
    return np.where(upper, near_one, -np.log(np.where(upper, 1.0, words) * 2.0**-64))


def _estimate(words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """Estimate each Gumbel number at its interval's middle, and bound the half-width."""
    below, beyond = words.astype(np.float64), (~words).astype(np.float64)
    gumbel = -np.log(_minus_log(below + 0.5, beyond + 0.5))
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [
            low * 2.0**-64 * _minus_log(low, high)
            for low, high in ((below, beyond + 1), (below + 1, beyond))
        ]
        # At the outermost words an end has f = 0, or 0·∞: the half-width is infinite.
        least = np.fmin(*(np.where(np.isnan(end), 0.0, end) for end in ends))
        return gumbel, 2.0**-65 / np.maximum(least, 0.0)


def _decide(
    scores: dict[int, int], prefixes: dict[int, int], rate: Fraction, entropy: Entropy
) -> int:
    """Append bits to the contenders' numbers until one certainly leads."""
    import mpmath  # noqa: PLC0415  few choices are close enough to need it

    mp = mpmath.mp.clone()
    bits = 64
    while len(prefixes) > 1:
        bits += 64
        mp.prec = bits + 128
        prefixes = {
            i: prefix << 64 | int.from_bytes(entropy(8), "little") for i, prefix in prefixes.items()
        }
        slope = mp.mpf(rate.numerator) / rate.denominator
        ends = {i: _ends(mp, slope * scores[i], p, bits) for i, p in prefixes.items()}
        best = max(low for low, _ in ends.values())
        prefixes = {i: p for i, p in prefixes.items() if ends[i][1] >= best}
    return next(iter(prefixes))


def _ends(mp: Any, base: Any, prefix: int, bits: int) -> tuple[Any, Any]:  # noqa: ANN401
    """Return certain bounds of a key, from the known bits of its uniform variable."""
    low, high = _gumbel(mp, prefix, bits), _gumbel(mp, prefix + 1, bits)
    known = sum(abs(g) for g in (low, high) if mp.isfinite(g))
    slack = (1 + abs(base) + known) * mp.mpf(2) ** (40 - mp.prec)
    return base + low - slack, base + high + slack


def _gumbel(mp: Any, prefix: int, bits: int) -> Any:  # noqa: ANN401
    """Return the Gumbel value at u = prefix·2⁻ᵇⁱᵗˢ, infinite at the ends."""
    if prefix == 0:
        return -mp.inf
    if prefix == 1 << bits:
        return mp.inf
    return -mp.log(-mp.log(mp.mpf(prefix) / mp.mpf(2) ** bits))
