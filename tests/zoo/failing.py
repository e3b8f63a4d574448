"""Bugs of failure probabilities: how they are computed, added up and promised; and of discovery."""

from __future__ import annotations

from tests.zoo.bug import Bug

FAILURE = "tests/ledger/test_failure.py"
THRESHOLD = "tests/budget/test_threshold.py"
SPREAD = "tests/vault/test_spread.py"
DISCOVERY = "tests/vault/test_discovery.py"
ALONE = f"{DISCOVERY}::test_one_person_more_adds_their_own_weights_and_moves_nobody_elses"
COMPUTED = f"{THRESHOLD}::test_the_failure_is_what_an_independent_computation_says"

FAILING = (
    Bug(
        name="the threshold is for a person with one value, however many they have",
        kind="costs add up to too little",
        file="budget/threshold.py",
        old="for count in range(1, most + 1):\n        weight",
        new="for count in range(1, 2):\n        weight",
        caught_by=COMPUTED,
    ),
    Bug(
        name="one of many values is thought to pass no more often than one alone",
        kind="costs add up to too little",
        file="budget/threshold.py",
        old="-mp.expm1(count * mp.log1p(-tail))",
        new="-mp.expm1(mp.log1p(-tail))",
        caught_by=COMPUTED,
    ),
    Bug(
        name="a value that just reaches the threshold is forgotten",
        kind="costs add up to too little",
        file="budget/threshold.py",
        old='+ mp.mpf("0.5")) /',
        new='- mp.mpf("0.5")) /',
        caught_by=f"{THRESHOLD}::test_it_is_rounded_up_by_less_than_a_grain",
    ),
    Bug(
        name="Gaussian noise may use all of delta, and failures come on top",
        kind="more is promised than holds",
        file="budget/budget.py",
        old="return mu_lower(self.epsilon, self.gaussian_delta) if",
        new="return mu_lower(self.epsilon, self.delta) if",
        caught_by=f"{FAILURE}::test_both_parts_together_are_within_delta",
    ),
    Bug(
        name="a run may fail more often than its share of delta allows",
        kind="more is spent than there is",
        file="ledger/ledger.py",
        old="if run.failure + failure > run.budget.failure_grains:",
        new="if failure > run.budget.delta * 2**80:",
        caught_by=f"{FAILURE}::test_a_run_cannot_have_more_failure_than_its_share",
    ),
    Bug(
        name="each run may have the ledger's whole share for failures",
        kind="more is spent than there is",
        file="ledger/ledger.py",
        old="if budget.failure_grains > state.failure_left:",
        new="if budget.failure_grains > state.budget.failure_grains:",
        caught_by=f"{FAILURE}::test_shares_of_several_runs_add_up_to_no_more_than_the_ledgers",
    ),
    Bug(
        name="a release on a discovered schema promises its own run alone",
        kind="more is promised than holds",
        file="ledger/state.py",
        old="if n < number and run.discovers",
        new="if n < 0 and run.discovers",
        caught_by=f"{FAILURE}::test_a_release_promises_its_run_and_the_discoveries_before_it",
    ),
    Bug(
        name="a whole person is promised k·mu though answers may fail",
        kind="more is promised than holds",
        file="release/guarantee.py",
        old="    if budget.failure:\n        return [",
        new="    if budget.failure > 1:\n        return [",
        caught_by=f"{FAILURE}"
        "::test_a_group_of_units_is_promised_what_as_many_steps_of_epsilon_and_delta_say",
    ),
    Bug(
        name="each of a person's values weighs one, however many there are",
        kind="the bound on a person is not kept",
        file="budget/threshold.py",
        old="return math.isqrt(2 ** (2 * FRACTION_BITS) // count)",
        new="return 2**FRACTION_BITS // count * count",
        caught_by=f"{THRESHOLD}"
        "::test_squares_of_a_persons_weights_sum_to_at_most_one_and_hardly_less",
    ),
    Bug(
        name="all of a person's values count, with the weights of a few",
        kind="the bound on a person is not kept",
        file="vault/discovery.py",
        old="FROM ({placed}) AS p WHERE turn <= {most}",
        new="FROM ({placed}) AS p",
        caught_by=ALONE,
    ),
    Bug(
        name="a person's values count once for every row",
        kind="the bound on a person is not kept",
        file="vault/discovery.py",
        old="WHERE {brought} GROUP BY p.person, value",
        new="WHERE {brought} GROUP BY p.person, value, random()",
        caught_by=f"{DISCOVERY}::test_rows_with_the_same_value_count_once",
    ),
    Bug(
        name="a prefix counts once for every value of a person that it is of",
        kind="the bound on a person is not kept",
        file="vault/discovery.py",
        old='who = "" if table.unit.is_row else "DISTINCT h.person, "',
        new='who = "" if table.unit.is_row else "h.person, "',
        caught_by=f"{DISCOVERY}"
        "::test_one_person_more_brings_prefixes_of_their_own_values_and_moves_nobody_elses",
    ),
    Bug(
        name="of a person's values those count that most others have",
        kind="one person's arrival moves another's rows",
        file="vault/discovery.py",
        old="{table.hash_sql(f'{of_column} || value')} AS h",
        new="CAST(100000 - count(*) OVER (PARTITION BY value) AS STRING) AS h",
        caught_by=f"{DISCOVERY}::test_the_engine_weighs_what_the_obvious_version_does",
    ),
    Bug(
        name="values are told by their exact weight",
        kind="an exact number is taken as public",
        file="vault/discovery.py",
        old="passed = noisy >= event.least",
        new="passed = held.weights * (event.steps // ONE) >= event.least",
        caught_by=f"{DISCOVERY}"
        "::test_weights_have_the_samplers_own_noise_in_the_order_of_keyed_hashes",
    ),
    Bug(
        name="noise is drawn in the order of exact weights",
        kind="an exact number is taken as public",
        file="vault/discovery.py",
        old="FROM {relation} ORDER BY name",
        new="FROM {relation} ORDER BY w DESC, name",
        caught_by=f"{DISCOVERY}"
        "::test_weights_have_the_samplers_own_noise_in_the_order_of_keyed_hashes",
    ),
    Bug(
        name="values are told in the order in which the engine holds them",
        kind="an exact number is taken as public",
        file="vault/discovery.py",
        old="answers.append(sorted([value, weights[name]] for value, name in pairs))",
        new="answers.append([[value, weights[name]] for value, name in pairs])",
        caught_by=f"{DISCOVERY}::test_odd_texts_are_told_stored_and_replayed_as_they_are",
    ),
    Bug(
        name="where no value is told, the error names those that nearly were",
        kind="a private value or count is seen",
        file="vault/discovery.py",
        old="        table.engine.drop(held.relation)\n",
        new="""        if not weights:
            from understudy.errors import QuestionError
            there = table.engine.fetch(f"SELECT value FROM {held.relation}")["value"]
            raise QuestionError("no value passes the threshold", got=", ".join(there))
        table.engine.drop(held.relation)
""",
        caught_by="tests/leaks/test_canaries.py::test_a_value_that_few_have_is_never_seen",
    ),
    Bug(
        name="a person's cells count once for every value in them",
        kind="the bound on a person is not kept",
        file="vault/discovery.py",
        old='("person, ", "DISTINCT ")',
        new='("person, ", "")',
        caught_by=f"{SPREAD}::test_the_engine_spreads_people_as_the_obvious_version_does",
    ),
    Bug(
        name="kinds are counted of values, and not of people",
        kind="one person is counted as several",
        file="vault/discovery.py",
        old="AS v GROUP BY person",
        new="AS v GROUP BY person, k1, k2",
        caught_by=f"{SPREAD}::test_the_engine_counts_kinds_as_the_obvious_version_does",
    ),
    Bug(
        name="of two tables, texts count of rows whose person is in no table of people",
        kind="one person is counted as several",
        file="vault/discovery.py",
        old='JOIN people AS p "\n                f"ON p.id = t.id WHERE',
        new='LEFT JOIN people AS p "\n                f"ON p.id = t.id WHERE',
        caught_by="tests/vault/test_two_texts.py"
        "::test_the_engine_counts_people_of_the_table_of_people_and_nobody_else",
    ),
    Bug(
        name="kinds of a column are charged as one number",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="Fraction(len(KINDS_OF_VALUE) * len(question.columns))",
        new="Fraction(len(question.columns))",
        caught_by=f"{SPREAD}::test_one_person_more_moves_them_by_what_is_charged_and_nobody_else",
    ),
)
