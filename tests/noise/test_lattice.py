"""The lattice sampler: every draw is round(scale·z), exactly, and comes from the system.

`exact_steps` is the slow obvious version: it knows the whole interval of the draw and
finds its rounding with arbitrary precision.  The fast sampler must agree with it, draw by
draw, on words chosen to be as hard as they come.
"""

from __future__ import annotations

import math
import multiprocessing
import os

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import chisquare, kstest, norm

from tests.audit.effort import effort, few, tried
from understudy.audit import FixedEntropy
from understudy.errors import BudgetError
from understudy.noise import SYSTEM, Entropy, Shape, draw, lattice, steps_per_unit

SHAPES: tuple[Shape, ...] = ("gaussian", "laplace")


def quantile(shape: Shape, p: mpmath.mpf) -> mpmath.mpf:
    """|z| with tail probability p, in the measure that the 63 bits count."""
    if shape == "laplace":
        return -mpmath.log(p)
    return mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p)


def exact_steps(shape: Shape, scale: float, word: int, more: bytes) -> int:
    """Decide a draw from its word and the bits after it, the slow way, at 700 bits."""
    with mpmath.workprec(700):
        bits = 64 if shape == "gaussian" else 63
        tail = word & (2**63 - 1)
        for start in range(0, len(more), 8):
            low, high = (mpmath.mpf(tail + k) / mpmath.mpf(2) ** bits for k in (0, 1))
            if tail > 0:
                ends = {int(mpmath.floor(scale * quantile(shape, p) + 0.5)) for p in (low, high)}
                if len(ends) == 1:
                    steps = ends.pop()
                    return -steps if word >> 63 else steps
            tail = tail << 64 | int.from_bytes(more[start : start + 8], "little")
            bits += 64
    raise AssertionError("not decided within the bits given")


def replay(word: int, more: bytes) -> Entropy:
    """Give the word first, then the bits after it."""
    stream = word.to_bytes(8, "little") + more
    place = 0

    def entropy(count: int) -> bytes:
        nonlocal place
        place += count
        assert place <= len(stream), "more bits were asked for than can be needed"
        return stream[place - count : place]

    return entropy


words = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 63).map(lambda k: 1 << k),
    st.integers(0, 63).map(lambda k: (1 << k) - 1),
    st.integers(0, 5),
    st.integers(2**63, 2**63 + 5),
)


@given(
    st.sampled_from(SHAPES),
    st.one_of(st.floats(16, 1e5), st.floats(1e5, 2.0**52)),
    words,
    st.binary(min_size=32, max_size=32).map(lambda b: b + b"\x5a" * 32),
)
@tried(150, usual=20)
def test_each_draw_is_the_exact_rounding(
    shape: Shape, scale: float, word: int, more: bytes
) -> None:
    drawn = draw(shape, scale, 1, entropy=replay(word, more))
    assert drawn[0] == exact_steps(shape, scale, word, more)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", few((16.0, 65536.5, 16.3, 1000.0), usual=2))
def test_draws_beside_a_rounding_boundary_are_refined(shape: Shape, scale: float) -> None:
    """Words on both sides of a boundary, and on it, to the last bit."""
    bits = 64 if shape == "gaussian" else 63
    for steps in (0, 1, 7, 40):
        with mpmath.workprec(300):
            z = (steps + mpmath.mpf("0.5")) / scale
            p = mpmath.erfc(z / mpmath.sqrt(2)) / 2 if shape == "gaussian" else mpmath.exp(-z)
            boundary = int(mpmath.floor(p * mpmath.mpf(2) ** bits))
        for word in range(boundary - 2, boundary + 3):
            for more in few((b"\x00" * 64, b"\xff" * 64, bytes(range(64))), usual=2):
                drawn = draw(shape, scale, 1, entropy=replay(word, more))
                assert drawn[0] == exact_steps(shape, scale, word, more)
                assert drawn[0] in (steps, steps + 1)


def test_an_ambiguous_draw_appends_bits_and_never_redraws(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    refine = lattice.refine

    def watched(shape: Shape, scale: float, tail: int, entropy: Entropy) -> int:
        steps = refine(shape, scale, tail, entropy)
        seen.append((tail, steps))
        return steps

    monkeypatch.setattr(lattice, "refine", watched)
    # A scale so large that about half of all draws are ambiguous.
    drawn = draw("gaussian", 2.0**46, effort(100, 200), entropy=FixedEntropy(5))
    assert len(seen) > 20
    for tail, steps in seen:
        z = float(-ndtri((tail + 0.5) / 2.0**64))
        assert abs(steps / 2.0**46 - z) < 1e-9
    assert {abs(int(d)) for d in drawn} >= {s for _, s in seen}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_error_bound_covers_the_float_arithmetic(shape: Shape) -> None:
    """The estimate at an interval's middle is far within (|z|+1)·2⁻⁴⁸ of the truth."""
    rng = np.random.default_rng(1)
    tails = (2.0 ** rng.uniform(0, 63, effort(400, 1000))).astype(np.uint64)
    estimate, _ = lattice._estimate(shape, tails)
    with mpmath.workprec(200):
        for tail, z in zip(tails.tolist(), estimate, strict=True):
            p = (mpmath.mpf(tail) + 0.5) / mpmath.mpf(2) ** (64 if shape == "gaussian" else 63)
            true = quantile(shape, p)
            # The quantile of a p rounded to float64, plus the function's own error.
            assert abs(mpmath.mpf(float(z)) - true) <= (abs(true) + 1) * mpmath.mpf(2) ** -49


@pytest.mark.parametrize("shape", SHAPES)
def test_a_million_draws_reject_one_percent_of_scale_and_accept_the_truth(shape: Shape) -> None:
    """Power: a chi-square over 16 bins of 10⁶ draws sees a 1 % scale error at p < 1e-9.

    The seed is fixed, so the test gives the same answer every time.
    """
    scale = 1000.0
    drawn = draw(shape, scale, 10**6, entropy=FixedEntropy(7))

    def p_value(claimed: float) -> float:
        shares = np.linspace(0, 1, 17)[1:-1]
        cuts = (
            norm.ppf(shares)
            if shape == "gaussian"
            else np.where(shares < 0.5, np.log(2 * shares), -np.log(2 * (1 - shares)))
        )
        # Cuts at half steps, where no draw lies, with their exact probabilities.
        cuts = (np.floor(cuts * claimed) + 0.5) / claimed
        below = (
            norm.cdf(cuts)
            if shape == "gaussian"
            else np.where(cuts < 0, np.exp(cuts) / 2, 1 - np.exp(-cuts) / 2)
        )
        expected = np.diff(np.concatenate([[0.0], below, [1.0]])) * len(drawn)
        counted = np.histogram(drawn, np.concatenate([[-np.inf], cuts * claimed, [np.inf]]))[0]
        return float(chisquare(counted, expected).pvalue)

    assert p_value(scale) > 1e-3
    assert p_value(scale * 1.01) < 1e-9
    assert p_value(scale * 0.99) < 1e-9


def test_neighbouring_draws_are_not_copies() -> None:
    drawn = draw("gaussian", 1e6, 200_000, entropy=FixedEntropy(3)) / 1e6
    for lag in (1, 2, 65536):
        assert abs(np.corrcoef(drawn[lag:], drawn[:-lag])[0, 1]) < 5 / math.sqrt(len(drawn))
    assert kstest(drawn, "norm").pvalue > 1e-3


def test_the_system_is_the_only_source_unless_an_audit_says_otherwise() -> None:
    assert SYSTEM is os.urandom
    first, second = (draw("gaussian", 1e9, 100) for _ in range(2))
    assert not np.array_equal(first, second)


def _drawn_in_child(queue: multiprocessing.Queue[list[int]]) -> None:
    queue.put(draw("gaussian", 1e9, 50).tolist())


def test_forked_processes_draw_differently() -> None:
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[list[int]] = context.Queue()
    children = [context.Process(target=_drawn_in_child, args=(queue,)) for _ in range(3)]
    for child in children:
        child.start()
    drawn = [queue.get(timeout=600) for _ in children]
    for child in children:
        child.join(timeout=600)
    seen = [value for answers in drawn for value in answers] + draw("gaussian", 1e9, 50).tolist()
    assert len(set(seen)) == len(seen)


@given(st.floats(2.0**-20, 1e9), st.sampled_from([1, 2**16]))
def test_the_lattice_is_the_coarsest_that_is_fine_enough(scale: float, least: int) -> None:
    steps = steps_per_unit(scale, at_least=least)
    assert math.log2(steps) == int(math.log2(steps))
    assert scale * steps >= lattice.STEPS
    assert steps == least or scale * steps / 2 < lattice.STEPS


@pytest.mark.parametrize("scale", [0, -1.0, math.inf, math.nan])
def test_scales_that_are_none(scale: float) -> None:
    with pytest.raises(BudgetError, match="noise scale must be positive"):
        steps_per_unit(scale, at_least=1)


@pytest.mark.parametrize("scale", [1e-9, 1e40])
def test_scales_out_of_reach(scale: float) -> None:
    with pytest.raises(BudgetError, match="out of range"):
        steps_per_unit(scale, at_least=2**16)


def test_scales_in_steps_out_of_reach() -> None:
    with pytest.raises(BudgetError, match="out of range, in steps"):
        draw("gaussian", 0.5, 1)


@pytest.mark.parametrize(
    ("scale", "least", "steps"),
    [(16.0, 1, 1), (15.999, 1, 2), (1.0, 2**16, 2**16), (2.0**-20, 1, 2**24), (2.0**52, 1, 1)],
)
def test_scales_at_the_edge(scale: float, least: int, steps: int) -> None:
    assert steps_per_unit(scale, at_least=least) == steps


@pytest.mark.parametrize(
    ("scale", "least"),
    [
        (math.nextafter(2.0**-20, 0), 1),
        (math.nextafter(2.0**52, math.inf), 1),
        (2.0**36 + 1, 2**16),
    ],
)
def test_scales_just_beyond_it(scale: float, least: int) -> None:
    with pytest.raises(BudgetError, match="out of range"):
        steps_per_unit(scale, at_least=least)


def test_scales_in_steps_at_the_edge_and_beyond() -> None:
    """Above 2⁵² a step is less than float64 can tell, and the rounding would not be exact."""
    for shape in SHAPES:
        for scale in (1.0, 2.0**52):
            assert len(draw(shape, scale, 3)) == 3
        for scale in (math.nextafter(1.0, 0), math.nextafter(2.0**52, math.inf), math.nan):
            with pytest.raises(BudgetError, match="out of range, in steps"):
                draw(shape, scale, 1)
