"""Noise on a lattice: the continuous draw, rounded to whole steps, exactly.

**What is drawn.**  With z an ideal standard Gaussian (or Laplace) number, the sampler
returns round(s·z) for s = σS, where the lattice has steps of 1/S.  Adding it to a whole
number x gives round(x + s·z): post-processing of the ideal mechanism, so its accounting is
exact, and there are no low-order bits to tell anything (DESIGN §4.3).

**How.**  The top bit of 64 random ones is the sign; the other 63, v, say that the tail
probability p of |z| lies in [v, v+1]·2⁻⁶⁴ (for Laplace: in [v, v+1]·2⁻⁶³ of both tails).
|z| falls as p rises, so a float64 estimate at the middle of the interval is off by at most
the interval's half-width in z plus rounding.  Where that error, times s, could cross a
rounding boundary, or v = 0, the draw is *ambiguous*: more bits are appended to the same v
(never a fresh draw, which would bend the distribution) until exact arithmetic decides.

**Error bound.**  On the interval, |dz/dp| = 1/φ(z) ≤ √(π/2)/p, by the Mills bound p ≤
√(π/2)·φ(z), hence half-width ≤ 2⁻⁶⁵·1.2534/p_low; for Laplace |dz/dp| = 1/p.  Float64:
p is off by 2⁻⁵³ relative, which moves z by at most 1.26·2⁻⁵³; the quantile and the logarithm
are good to a few units of 2⁻⁵² relative; a product adds 2⁻⁵³.  All of it is far within
(|z|+1)·2⁻⁴⁸.  Tied by ``tests/noise/test_lattice.py``, which compares every
branch with exact arithmetic.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.errors import BudgetError
from understudy.noise.entropy import SYSTEM
from understudy.noise.quantile import upper_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.noise.entropy import Entropy

Shape = Literal["gaussian", "laplace"]

STEPS = 16
"""A scale is at least this many steps of its lattice."""
LARGEST = 2.0**52
"""A scale of more steps than this would exceed the exact integers of float64."""
FINEST = 2**24
"""With more steps per unit than this, counts in steps would overflow int64."""
_CHUNK = 1 << 16
_SIGN = np.uint64(1 << 63)
_MILLS = 1.2534


def steps_per_unit(scale: float, *, at_least: int) -> int:
    """Return the smallest power of two S ≥ ``at_least`` with scale·S ≥ 16.

    >>> steps_per_unit(100.0, at_least=1), steps_per_unit(1.0, at_least=1)
    (1, 16)
    """
    if not 0 < scale < math.inf:
        raise BudgetError("a noise scale must be positive", got=scale, allowed="a number above 0")
    steps = at_least
    while scale * steps < STEPS:
        steps *= 2
    if scale * steps > LARGEST or steps > FINEST:
        raise BudgetError(
            "noise scale out of range", got=scale, allowed=f"2^-20 to {LARGEST / at_least:g}"
        )
    return steps


def draw(shape: Shape, scale: float, size: int, *, entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
    """Draw noise as whole numbers of steps, given the scale in steps."""
    if not 1 <= scale <= LARGEST:
        raise BudgetError("noise scale out of range, in steps", got=scale, allowed="1 to 2^52")
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _CHUNK):
        piece = out[start : start + _CHUNK]
        words = np.frombuffer(entropy(8 * len(piece)), dtype="<u8")
        piece[:] = _round(shape, scale, words, entropy)
    return out


def _round(
    shape: Shape, scale: float, words: NDArray[np.uint64], entropy: Entropy
) -> NDArray[np.int64]:
    tails = words & ~_SIGN
    z, slope = _estimate(shape, tails)
    with np.errstate(divide="ignore"):
        error = scale * (slope / tails + (z + 1) * 2.0**-48)
    x = z * scale
    nearest = np.rint(x)
    steps = nearest.astype(np.int64)
    # The outermost interval has v = 0 and so an infinite error: it is among these.
    for i in np.flatnonzero(np.abs(x - nearest) + error >= 0.5):
        steps[i] = refine(shape, scale, int(tails[i]), entropy)
    signed: NDArray[np.int64] = np.where(words >= _SIGN, -steps, steps)
    return signed


def _estimate(shape: Shape, tails: NDArray[np.uint64]) -> tuple[Any, float]:
    """Estimate |z| at the middle of each interval; the half-width is at most slope / v."""
    middle = tails.astype(np.float64) + 0.5
    if shape == "gaussian":
        return upper_quantile(middle * 2.0**-64), 0.5 * _MILLS
    return -np.log(middle * 2.0**-63), 0.5


def refine(shape: Shape, scale: float, tail: int, entropy: Entropy) -> int:
    """Decide an ambiguous draw exactly, appending bits to the tail it already has.

    With v·2⁻ᵇ ≤ p ≤ (v+1)·2⁻ᵇ known, the steps are certain when both ends round alike.
    A boundary b − ½ is compared in probability: |z|·s > t exactly when p < tail(t/s).
    """
    import mpmath  # noqa: PLC0415  one draw in a billion needs it

    mp = mpmath.mp.clone()
    bits = 64 if shape == "gaussian" else 63
    while True:
        mp.prec = bits + 128
        low, high = mp.mpf(tail) / mp.mpf(2) ** bits, mp.mpf(tail + 1) / mp.mpf(2) ** bits
        if tail > 0:
            least = _steps(mp, shape, mp.mpf(scale), high)
            if _survival(mp, shape, (least + mp.mpf("0.5")) / mp.mpf(scale)) <= low:
                return least
        tail = tail << 64 | int.from_bytes(entropy(8), "little")
        bits += 64


def _survival(mp: Any, shape: Shape, z: Any) -> Any:  # noqa: ANN401
    """Return the tail probability beyond z, in the measure that v counts."""
    return mp.erfc(z / mp.sqrt(2)) / 2 if shape == "gaussian" else mp.exp(-z)


def _steps(mp: Any, shape: Shape, scale: Any, p: Any) -> int:  # noqa: ANN401
    """Return round(scale·|z|) for the |z| with this tail probability."""
    if shape == "laplace":
        guess = int(mp.nint(-mp.log(p) * scale))
    else:
        guess = int(mp.nint(scale * mp.mpf(upper_quantile(np.array([float(p)])).item())))
    half = mp.mpf("0.5")
    # The guess is at most a step off; walk to where the boundaries enclose p.
    while _survival(mp, shape, (guess + half) / scale) > p:
        guess += 1
    while guess > 0 and _survival(mp, shape, (guess - half) / scale) <= p:
        guess -= 1
    return guess
