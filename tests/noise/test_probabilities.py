"""The sampler's own probabilities, read off its decisions, against exact ones.

Rounding |z|·s falls as the tail bits rise, so the steps beyond k are given to the tails
below one threshold.  Bisection over 127 bits (63 of the word, 64 appended) finds it through
`draw` itself, and with it the implemented probability of every number of steps.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.audit.effort import THOROUGH, few
from understudy.audit import FixedEntropy
from understudy.noise import Entropy, Shape, draw, lattice

SHAPES: tuple[Shape, ...] = ("gaussian", "laplace")
BITS = 127
Sampler = Callable[[Shape, float, int, Entropy], NDArray[np.int64]]


def tailed(tail: int) -> Entropy:
    """Give the 127 bits of a tail, then ones: the tail is the exact end of an interval."""
    stream = (tail >> 64).to_bytes(8, "little") + (tail & (2**64 - 1)).to_bytes(8, "little")
    given = iter([stream[:8], stream[8:]])
    return lambda count: next(given, b"\xff" * count)


def threshold(shape: Shape, scale: float, steps: int, guess: mpmath.mpf | None = None) -> int:
    """Find how many of the 2¹²⁷ tails the sampler rounds to more than so many steps.

    It is looked for near a guess first.
    """
    low, high = 0, 2**BITS
    tails = [] if guess is None else [int(guess) - 2**10, int(guess) + 2**10]
    while low < high:
        middle = tails.pop() if tails else (low + high) // 2
        if not low <= middle < high:
            continue
        if draw(shape, scale, 1, entropy=tailed(middle))[0] > steps:
            low = middle + 1
        else:
            high = middle
    return low


def beyond(shape: Shape, scale: float, steps: int) -> mpmath.mpf:
    """Give the exact probability of more than so many steps, given the sign."""
    z = (steps + mpmath.mpf("0.5")) / mpmath.mpf(scale)
    return mpmath.erfc(z / mpmath.sqrt(2)) if shape == "gaussian" else mpmath.exp(-z)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", few((17.3, 16.0), usual=1))
def test_implemented_probabilities_are_the_exact_ones_to_126_bits(
    shape: Shape, scale: float
) -> None:
    """Steps from 0 to far out in the tail: at nine σ a tail probability is about 2⁻⁶⁰."""
    far = 9 if shape == "gaussian" else 30
    with mpmath.workprec(400):
        for steps in [0, 1, *(math.ceil(far * scale * k / 4) for k in few((4, 1, 2, 3), usual=2))]:
            exact = beyond(shape, scale, steps) * mpmath.mpf(2) ** BITS
            near = None if THOROUGH else exact
            assert abs(threshold(shape, scale, steps, near) - exact) <= 1


def test_a_probability_off_by_a_trillionth_would_be_seen() -> None:
    """The test above can fail: a scale wrong in the twelfth digit moves a threshold far."""
    with mpmath.workprec(400):
        wrong = beyond("gaussian", 16.0 * (1 + 1e-12), 15) * mpmath.mpf(2) ** BITS
        assert abs(threshold("gaussian", 16.0, 15) - wrong) > 2.0**80


# Stated power, on 10⁶ draws


def deviation(shape: Shape, drawn: NDArray[np.int64], scale: float) -> float:
    """Give how many of its standard errors the estimate of the scale is off.

    The estimates are sufficient: the mean of z² (variance 2) for a Gaussian, of |z| (variance
    1) for Laplace, each but for the rounding, which at a scale of 1,000 adds below 1e-7.
    """
    z = drawn / scale
    if shape == "gaussian":
        return float((np.mean(z**2) - 1) * math.sqrt(len(z) / 2))
    return float((np.mean(np.abs(z)) - 1) * math.sqrt(len(z)))


def honest(shape: Shape, scale: float, size: int, entropy: Entropy) -> NDArray[np.int64]:
    return draw(shape, scale, size, entropy=entropy)


def wide(shape: Shape, scale: float, size: int, entropy: Entropy) -> NDArray[np.int64]:
    return draw(shape, scale * 1.01, size, entropy=entropy)


def narrow(shape: Shape, scale: float, size: int, entropy: Entropy) -> NDArray[np.int64]:
    return draw(shape, scale * 0.99, size, entropy=entropy)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("sampler", "accepted"), [(honest, True), (wide, False), (narrow, False)])
def test_a_million_draws_tell_a_sampler_one_percent_off(
    shape: Shape, sampler: Sampler, accepted: bool
) -> None:
    """Rejected beyond 4.5 standard errors: 7e-6 false alarms, power above 1 − 1e-7.

    A scale 1 % off moves the statistic by 14 standard errors for a Gaussian and by 10 for
    Laplace, so that the misses lie beyond 5 of them.  The entropy is fixed, so the test
    gives the same answer every time.
    """
    drawn = sampler(shape, 1000.0, 10**6, FixedEntropy(2024))
    assert (abs(deviation(shape, drawn, 1000.0)) < 4.5) == accepted


@pytest.mark.parametrize("shape", SHAPES)
def test_signs_are_fair_and_tell_nothing_of_sizes(shape: Shape) -> None:
    drawn = draw(shape, 1000.0, 10**6, entropy=FixedEntropy(31))
    signs, sizes = np.sign(drawn), np.abs(drawn)
    assert abs(signs.sum()) < 4.5 * math.sqrt(len(drawn))
    assert abs(np.corrcoef(signs, sizes)[0, 1]) < 4.5 / math.sqrt(len(drawn))


def test_a_redrawing_sampler_would_bend_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why bits are appended: a sampler that redraws an ambiguous draw misses its threshold."""

    def redraw(shape: Shape, scale: float, tail: int, entropy: Entropy) -> int:
        fresh = hashlib.sha256(str(tail).encode()).digest()[:8]
        return abs(int(draw(shape, scale, 1, entropy=lambda count: fresh[:count])[0]))

    scale, steps = 2.0**40, 2**40
    exact = beyond("laplace", scale, steps) * mpmath.mpf(2) ** BITS
    assert abs(threshold("laplace", scale, steps) - exact) <= 2.0**70
    monkeypatch.setattr(lattice, "refine", redraw)
    assert abs(threshold("laplace", scale, steps) - exact) > 2.0**72
