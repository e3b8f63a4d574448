"""The exponential mechanism: implemented probabilities against exact ones."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tests.audit.effort import effort, tried
from understudy.audit import FixedEntropy
from understudy.errors import QuestionError
from understudy.noise import choose, selection


class Words(FixedEntropy):
    """Entropy that gives the words named first, and fixed bits after them."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(0)
        self._words = [w.to_bytes(8, "little") for w in words]

    def __call__(self, count: int) -> bytes:
        if not self._words:
            return super().__call__(count)
        given, self._words = self._words[: count // 8], self._words[count // 8 :]
        return b"".join(given)


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=6),
    st.fractions(min_value=Fraction(1, 1000), max_value=3),
    st.data(),
)
@tried(150)
def test_the_choice_is_the_largest_of_score_plus_gumbel(
    scores: list[int], rate: Fraction, data: st.DataObject
) -> None:
    """Against the slow obvious version at 400 bits, with uniform numbers given."""
    prefixes = data.draw(
        st.lists(st.integers(1, 2**64 - 2), min_size=len(scores), max_size=len(scores))
    )
    chosen = choose(scores, rate, entropy=Words(prefixes))
    with mpmath.workprec(400):
        slope = mpmath.mpf(rate.numerator) / rate.denominator
        keys = [
            slope * s - mpmath.log(-mpmath.log((mpmath.mpf(p) + 0.5) / mpmath.mpf(2) ** 64))
            for s, p in zip(scores, prefixes, strict=True)
        ]
        # Within one unit of the last of 64 bits either may rightly win.
        gap = max(keys) - keys[chosen]
        spread = 2 / (mpmath.mpf(min(*prefixes, *(2**64 - 1 - p for p in prefixes))))
        assert gap <= spread


def test_equal_words_are_told_apart_by_more_bits() -> None:
    """A tie in the first 64 bits is decided by the bits appended, in both directions."""
    for more, winner in (([0, 2**64 - 1], 1), ([2**64 - 1, 0], 0)):
        assert choose([3, 3], Fraction(1), entropy=Words([5, 5, *more])) == winner


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_the_outermost_words_are_refined(word: int) -> None:
    high, low = 2**63, 2**62
    assert choose([0, 0], Fraction(1), entropy=Words([word, word, high, low])) == 0
    assert choose([0, 0], Fraction(1), entropy=Words([word, word, low, high])) == 1


def test_shares_follow_the_exact_probabilities_and_a_wrong_rate_is_seen() -> None:
    """Power: 20,000 choices reject a rate off by 15 % at p < 1e-6, and 8,000 one off by 24 %.

    The entropy is fixed, so the test gives the same answer every time.
    """
    scores, rate, runs = [0, 1, 2, 5], Fraction(1, 2), effort(8000, 20_000)
    wrong = 1 + effort(24, 15) / 100
    entropy = FixedEntropy(11)
    counted = np.bincount([choose(scores, rate, entropy=entropy) for _ in range(runs)], minlength=4)

    def p_value(claimed: float) -> float:
        weights = np.exp(claimed * np.array(scores))
        return float(chisquare(counted, runs * weights / weights.sum()).pvalue)

    assert p_value(0.5) > 1e-3
    assert p_value(0.5 * wrong) < 1e-6
    assert p_value(0.5 / wrong) < 1e-6


def test_close_calls_are_decided_by_more_bits_and_rightly() -> None:
    """Keys that agree to 60 bits: the float estimate must hand over to exact arithmetic."""
    word = 2**63 + 12345
    for step in (-3, -1, 1, 3):
        chosen = choose([0, 0], Fraction(1), entropy=Words([word, word + step]))
        assert chosen == (1 if step > 0 else 0)


@given(st.integers(0, 2**64 - 1))
@tried(200)
def test_the_error_bound_covers_the_interval(word: int) -> None:
    gumbel, error = selection._estimate(np.array([word], dtype=np.uint64))
    with mpmath.workprec(300):
        for end in (word, word + 1):
            if 0 < end < 2**64:
                true = -mpmath.log(-mpmath.log(mpmath.mpf(end) / mpmath.mpf(2) ** 64))
                allowed = float(error[0]) + (abs(float(gumbel[0])) + 1) * 2.0**-48
                assert abs(true - float(gumbel[0])) <= allowed
            else:
                assert np.isinf(error[0])


@given(
    st.one_of(st.integers(1, 2**128 - 2), st.integers(1, 99), st.integers(2**128 - 99, 2**128 - 2)),
    st.fractions(min_value=-(10**9), max_value=0),
)
@tried(100)
def test_the_ends_of_a_key_are_certain(prefix: int, base: Fraction) -> None:
    """Held against three times the digits: no rounding carries an end past the truth."""
    mp = mpmath.mp.clone()
    mp.prec = 128 + 128
    low, high = selection._ends(mp, mp.mpf(base.numerator) / base.denominator, prefix, 128)
    with mpmath.workprec(768):
        fixed = mpmath.mpf(base.numerator) / base.denominator
        ends = [
            fixed - mpmath.log(-mpmath.log(mpmath.mpf(number) / mpmath.mpf(2) ** 128))
            for number in (prefix, prefix + 1)
        ]
        assert low < ends[0] < ends[1] < high
        # And they are hardly wider than what is not known, so that more bits do decide.
        assert high - low < ends[1] - ends[0] + mpmath.mpf(2) ** -150


@pytest.mark.parametrize(("bits", "winner"), [(0, 1), (2**64 - 1, 0)])
@pytest.mark.parametrize("word", [2**64 - 2, 1])
def test_a_number_known_but_roughly_wins_or_loses_by_its_further_bits(
    word: int, bits: int, winner: int
) -> None:
    """The first is known to a few bits only, the second well: neither may be left out."""
    far = 1.5 * 2.0**-64
    middle = -np.log(-np.log(far)) if word == 1 else -np.log(-np.log1p(-far))
    even = -np.log(np.log(2))
    # At the middle of its interval the first would have just the second's key.
    score, rate = round(10**6 * float(even - middle)), Fraction(1, 10**6)
    assert choose([score, 0], rate, entropy=Words([word, 2**63, bits, 0])) == winner


def test_close_calls_between_different_scores_are_decided_rightly() -> None:
    """Words chosen so that the keys all but meet, though the scores do not."""
    scores, rate, seen = [0, 7], Fraction(1, 5), set()
    with mpmath.workprec(400):
        whole, gap = mpmath.mpf(2) ** 128, mpmath.mpf(7) / 5
        for word in (2**61, 2**62 + 99, 3 * 2**61):
            key = gap - mpmath.log(-mpmath.log(mpmath.mpf(word) / 2**64))
            near = int(mpmath.exp(-mpmath.exp(-key)) * 2**64)
            for step in (-2, -1, 0, 1, 2):
                more = [2**62, 2**61]
                drawn = [(near + step) * 2**64 + more[0], word * 2**64 + more[1]]
                keys = [-mpmath.log(-mpmath.log(d / whole)) for d in drawn]
                right = int(keys[1] + gap > keys[0])
                chosen = choose(scores, rate, entropy=Words([near + step, word, *more]))
                assert chosen == right
                seen.add(chosen)
    assert seen == {0, 1}


def test_hardly_any_choice_needs_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error bar much wider than it must be would be right, and slow."""

    def decide(*given: object) -> int:
        raise AssertionError(f"more bits for {given}")

    monkeypatch.setattr(selection, "_decide", decide)
    entropy = FixedEntropy(7)
    for _ in range(300):
        choose([0, 1, 2, 5], Fraction(1, 2), entropy=entropy)


def test_scores_of_any_size_do_not_overflow() -> None:
    huge = 10**40
    assert choose([huge, 0], Fraction(1)) == 0
    assert choose([-huge, -huge * 2], Fraction(1, huge)) in (0, 1)


def test_nothing_to_choose_from() -> None:
    with pytest.raises(QuestionError, match="nothing to select from"):
        choose([], Fraction(1))
