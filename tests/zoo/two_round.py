"""Bugs of two rounds: noise for other weights than were asked, a price twice, support from rows."""

from __future__ import annotations

from tests.zoo.bug import Bug

WEIGHTED = "tests/synth/measure/test_weighted_round.py"
TWO_ROUNDS = "tests/synth/tworound/test_mechanism.py"

TWO_ROUND = (
    Bug(
        name="weights are taken as they are, and their length is not made 1",
        kind="more is spent than there is",
        file="synth/measure/weighted_round.py",
        old="noise = door.bounding.cap * level * max(sigma or 0.0, SLACK / price)",
        new="noise = door.bounding.cap * max(sigma or 0.0, SLACK / price)",
        caught_by=f"{WEIGHTED}::test_gaussian_noise_is_that_of_weights_of_length_one",
    ),
    Bug(
        name="Laplace noise is for weights of length 1, where their sum is to be 1",
        kind="more is spent than there is",
        file="synth/measure/weighted_round.py",
        old="level = door.currency.norm(weights.values())",
        new="level = sum(w * w for w in weights.values()) ** 0.5",
        caught_by=f"{WEIGHTED}::test_laplace_noise_is_that_of_weights_of_sum_one",
    ),
    Bug(
        name="the document's noise is taken even where it is less than a round's price allows",
        kind="more is spent than there is",
        file="synth/measure/weighted_round.py",
        old="max(sigma or 0.0, SLACK / price)",
        new="(sigma or SLACK / price)",
        caught_by=f"{WEIGHTED}::test_a_noise_that_is_smaller_than_the_prices_is_not_taken",
    ),
    Bug(
        name="cells of a coarse group are asked with the group and once more alone",
        kind="more is spent than there is",
        file="synth/measure/weighted_round.py",
        old="    return Rows(np.concatenate(([0], np.cumsum(sizes))), order)",
        new="""    alone = len(order) + 1 + np.arange(len(order))
    starts = np.concatenate(([0], np.cumsum(sizes), alone))
    return Rows(starts, np.concatenate((order, order)))""",
        caught_by=f"{WEIGHTED}::test_a_clique_in_groups_has_the_noise_of_one_that_is_not",
    ),
    Bug(
        name="round 2 is asked for the price of round 1, whatever is left",
        kind="more is spent than there is",
        file="synth/tworound/mechanism.py",
        old='price=prices["second"],',
        new='price=prices["first"],',
        caught_by=f"{TWO_ROUNDS}::test_the_rounds_share_the_budget_as_was_said",
    ),
    Bug(
        name="codes that the private table has are supported, whatever was answered",
        kind="the domain is read from the data",
        file="synth/measure/compression.py",
        old="        found = cls(\n",
        new="""        table = door._table  # type: ignore[attr-defined]
        for support in supports:
            code = table.code[support.column]
            there = table.engine.fetch(f"SELECT DISTINCT {code} AS c FROM rows")["c"]
            own = [c in there for c in range(len(support.codes))]
            number = {True: 0, False: sum(own)}
            for c, held in enumerate(own):
                support.codes[c] = number[held]
                number[True] += held
        found = cls(
""",
        caught_by=f"{TWO_ROUNDS}::test_support_is_found_from_noisy_answers_alone",
    ),
    Bug(
        name="the private table is kept at hand while a model is fitted to two rounds",
        kind="a private value or count is seen",
        file="synth/tworound/mechanism.py",
        old="        door.close()\n",
        new="",
        caught_by=f"{TWO_ROUNDS}::test_the_table_is_let_go_before_the_answers_are_worked_on",
    ),
)
