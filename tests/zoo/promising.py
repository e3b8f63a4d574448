"""Bugs of the promise: what a release says of itself, in words and figures."""

from __future__ import annotations

from tests.zoo.bug import Bug

GUARANTEE = "tests/release/test_guarantee.py"
NO_STRONGER = f"{GUARANTEE}::test_the_words_are_those_of_epsilon_and_delta_and_no_stronger"
TOGETHER = "tests/test_distances.py::test_distances_are_told_and_charged_and_the_promises_add_up"
WHOLE = f"{GUARANTEE}::test_a_whole_persons_price_is_that_of_all_of_its_parts"

PROMISING = (
    Bug(
        name="the words promise probabilistic DP again: e^epsilon, but for a chance of delta",
        kind="more is promised than holds",
        file="release/guarantee.py",
        old="""        "P(S with it) ≤ e^epsilon · P(S without it) + delta, and "
        "P(S without it) ≤ e^epsilon · P(S with it) + delta; "
""",
        new="""        "S is at most e^epsilon times more or less likely with it, "
        "but for a chance of at most delta; "
""",
        caught_by=NO_STRONGER,
    ),
    Bug(
        name="the chance of a larger loss is told to be delta",
        kind="more is promised than holds",
        file="release/guarantee.py",
        old="return min(1.0, noise + budget.failure)",
        new="return min(noise, budget.delta)",
        caught_by=NO_STRONGER,
    ),
    Bug(
        name="a whole person's price is that of a part",
        kind="more is promised than holds",
        file="release/guarantee.py",
        old="{k: budget.grains * k**2 for k in _counts(unit)}",
        new="{k: budget.grains for k in _counts(unit)}",
        caught_by=WHOLE,
    ),
    Bug(
        name="the prices of a whole person's parts add up as if they were independent runs",
        kind="more is promised than holds",
        file="release/guarantee.py",
        old="{k: budget.grains * k**2 for k in _counts(unit)}",
        new="{k: budget.grains * k for k in _counts(unit)}",
        caught_by=WHOLE,
    ),
    Bug(
        name="distances and the release they are about promise together what distances do alone",
        kind="more is promised than holds",
        file="distances.py",
        old="for n in (*asked, made, *state.discoveries(made)))",
        new="for n in asked)",
        caught_by=TOGETHER,
    ),
)
