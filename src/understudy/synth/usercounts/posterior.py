"""The posterior of a count, given its noisy answer and its expectation.

A count x is taken to be negative binomial with an expected value m and variance m + φ·m², or,
once in a while, anything at all, with a probability that falls as 1/x²: otherwise no answer,
however large, could reveal what was not expected.  Its noisy answer y is x plus noise of a known
shape.  The posterior mean follows by summing over x; φ is the one of a few under which all answers
together are likeliest.  The expectations are public or follow from noisy answers, so nothing here
is charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.budget import Currency

    Floats = NDArray[np.float64]

SPREADS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""The values of φ that are tried."""
ENOUGH = 20_000
"""The maximum number of answers that φ is chosen by."""
FAR = 8.0
"""Counts more than this many standard deviations away are neglected."""
WIDEST = 2**11
"""Counts above this are treated as if they and their noise were Gaussian."""
UNFORESEEN = 1e-4
"""The probability that a count is not as expected."""
AT_ONCE = 2_000_000
LEAST = 1e-6


def posterior(noisy: Floats, expected: Floats, *, scale: float, currency: Currency) -> Floats:
    """Return the posterior mean of every count."""
    expected = np.maximum(expected, LEAST)
    some = slice(None, None, 1 + len(noisy) // ENOUGH)
    likely = [
        _updated(noisy[some], expected[some], spread=s, scale=scale, currency=currency)[1]
        for s in SPREADS
    ]
    best = SPREADS[int(np.argmax(likely))]
    return _updated(noisy, expected, spread=best, scale=scale, currency=currency)[0]


def _updated(
    noisy: Floats, expected: Floats, *, spread: float, scale: float, currency: Currency
) -> tuple[Floats, float]:
    """Return the posterior means for one φ, and the log-likelihood of all answers."""
    noise = currency.deviation(scale)
    variance = expected + spread * expected**2
    # By summation; but where counts are large, as if they and the noise were Gaussian.
    foreseen = expected + variance / (variance + noise**2) * (noisy - expected)
    apart = (noisy - expected) ** 2 / (variance + noise**2)
    near = -0.5 * (apart + np.log(2 * np.pi * (variance + noise**2)))
    near = np.maximum(near, _noise(noisy - expected, scale, currency))
    far = _anything(np.maximum(noisy, noise))
    likely = np.logaddexp(near, far)
    mean = foreseen + np.exp(far - likely) * (np.maximum(noisy, 0.0) - foreseen)
    top = np.maximum(noisy + FAR * noise, expected + FAR * np.sqrt(variance))
    width, below = 16, -np.inf
    while width <= WIDEST:
        fit = np.flatnonzero((below < top) & (top <= width))
        counts = np.arange(width + 1)
        for start in range(0, len(fit), AT_ONCE // width):
            block = fit[start : start + AT_ONCE // width]
            weights = _chances(counts, expected[block], spread)
            weights += _noise(noisy[block, None] - counts, scale, currency)
            peak = weights.max(axis=1)
            shares = np.exp(weights - peak[:, None])
            whole = shares.sum(axis=1)
            likely[block] = peak + np.log(whole)
            mean[block] = shares @ counts / whole
        width, below = 2 * width, width
    return np.maximum(mean, 0.0), float(likely.sum())


def _chances(counts: NDArray[np.int64], expected: Floats, spread: float) -> Floats:
    """Return the log-probability of each count, one row per expectation."""
    size = 1 / spread
    # Γ(x + size) / (Γ(size) · x!), from one count to the next.
    steps = np.log((counts[:-1] + size) / counts[1:])
    fixed = np.concatenate(([0.0], np.cumsum(steps)))
    failed, hit = np.log(size / (size + expected)), np.log(expected / (size + expected))
    foreseen = fixed + size * failed[:, None] + counts * hit[:, None] + np.log1p(-UNFORESEEN)
    return np.asarray(np.logaddexp(foreseen, _anything(counts)))


def _anything(counts: NDArray[Any]) -> Floats:
    """Return the log-probability of each count that was not expected."""
    return np.asarray(np.log(UNFORESEEN * 6 / np.pi**2) - 2 * np.log1p(counts))


def _noise(away: Floats, scale: float, currency: Currency) -> Floats:
    """Return the log-density of noise."""
    if currency.noise == "gaussian":
        return np.asarray(-0.5 * (away / scale) ** 2 - np.log(np.sqrt(2 * np.pi) * scale))
    return np.asarray(-np.abs(away) / scale - np.log(2 * scale))
