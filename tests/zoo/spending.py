"""Bugs of spending: what is drawn, what it costs, and whether there is enough left."""

from __future__ import annotations

from tests.zoo.bug import Bug

DOOR = "tests/vault/test_door.py"
LATTICE = "tests/noise/test_lattice.py"
LEDGER = "tests/ledger/test_ledger.py"
GAUSSIAN = "tests/budget/test_gaussian.py"
BUDGET = "tests/budget/test_budget.py"
RATE = f"{DOOR}::test_a_selection_is_by_half_of_epsilon_over_the_farthest_that_a_person_moves_it"
NOISE = f"{DOOR}::test_an_answer_is_the_count_and_the_samplers_own_noise"
EXACT = f"{LATTICE}::test_each_draw_is_the_exact_rounding"

SPENDING = (
    Bug(
        name="scores are thought to move one way only, and the half is left out",
        kind="a selection is charged too little",
        file="vault/door.py",
        old="Fraction(question.epsilon) / (2 * reach)",
        new="Fraction(question.epsilon) / reach",
        caught_by=RATE,
    ),
    Bug(
        name="the weights of candidates are left out of a selection's sensitivity",
        kind="a selection is charged too little",
        file="vault/door.py",
        old="reach = max(weights) *",
        new="reach = common *",
        caught_by=RATE,
    ),
    Bug(
        name="a selection is charged half",
        kind="a selection is charged too little",
        file="budget/gaussian.py",
        old="return mu_of_pure_upper(epsilon / 2)",
        new="return mu_of_pure_upper(epsilon / 4)",
        caught_by=f"{GAUSSIAN}::test_selection_is_covered_wherever_its_range_lies",
    ),
    Bug(
        name="the best candidate is taken without noise",
        kind="a selection is charged too little",
        file="noise/selection.py",
        old="keys = bases + gumbel",
        new="keys = bases + 0 * gumbel",
        caught_by="tests/noise/test_selection.py::test_the_choice_is_the_largest_of_score_plus_gumbel",
    ),
    Bug(
        name="an expectation that is no number passes the check",
        kind="a selection is charged too little",
        file="door/questions.py",
        old="if not size < LARGEST or not 0",
        new="if size >= LARGEST or not 0",
        caught_by=f"{DOOR}::test_questions_that_do_not_fit_are_refused_and_cost_nothing",
    ),
    Bug(
        name="less noise is drawn than is charged",
        kind="the noise drawn is not the noise charged",
        file="vault/door.py",
        old="draw(self.currency.noise, scale",
        new="draw(self.currency.noise, 0.99 * scale",
        caught_by=NOISE,
    ),
    Bug(
        name="distances in steps of 2⁻¹⁶ get the noise of whole rows, one step for each",
        kind="the noise drawn is not the noise charged",
        file="vault/door.py",
        old="unit = 2**FRACTION_BITS if isinstance(question, (Distances, Spread)) else 1",
        new="unit = 1",
        caught_by=NOISE,
    ),
    Bug(
        name="Gaussian noise is drawn where pure epsilon is promised",
        kind="the noise drawn is not the noise charged",
        file="vault/door.py",
        old="draw(self.currency.noise, ",
        new='draw("gaussian", ',
        caught_by=NOISE,
    ),
    Bug(
        name="whole rows of noise leave the fraction of a weighted count to be seen",
        kind="the noise is not exact",
        file="vault/door.py",
        old="out.append(part * (steps // unit) + noise)",
        new="out.append(part * (steps // unit) + noise // steps * steps)",
        caught_by=NOISE,
    ),
    Bug(
        name="the noise is one percent too small",
        kind="the noise is not exact",
        file="noise/lattice.py",
        old="x = z * scale\n",
        new="x = 0.99 * z * scale\n",
        caught_by=EXACT,
    ),
    Bug(
        name="the noise is a float of a statistics library",
        kind="the noise is not exact",
        file="noise/lattice.py",
        old="piece[:] = _round(shape, scale, words, entropy)",
        new="piece[:] = np.rint(scale * np.random.default_rng().standard_normal(len(piece)))",
        caught_by=EXACT,
    ),
    Bug(
        name="a draw near a rounding boundary is thrown away and drawn again",
        kind="the noise is not exact",
        file="noise/lattice.py",
        old="steps[i] = refine(shape, scale, int(tails[i]), entropy)",
        new='steps[i] = refine(shape, scale, int.from_bytes(entropy(8), "little") >> 1, entropy)',
        caught_by=f"{LATTICE}::test_draws_beside_a_rounding_boundary_are_refined",
    ),
    Bug(
        name="the noise has a fixed seed",
        kind="the noise can be guessed",
        file="noise/entropy.py",
        old="SYSTEM: Entropy = os.urandom",
        new='SYSTEM: Entropy = __import__("random").Random(20200101).randbytes',
        caught_by=f"{LATTICE}::test_the_system_is_the_only_source_unless_an_audit_says_otherwise",
    ),
    Bug(
        name="forked processes share a generator, and so their noise",
        kind="the noise can be guessed",
        file="noise/entropy.py",
        old="SYSTEM: Entropy = os.urandom",
        new='SYSTEM: Entropy = __import__("random").Random(os.urandom(32)).randbytes',
        caught_by=f"{LATTICE}::test_forked_processes_draw_differently",
    ),
    Bug(
        name="the budget is counted in mu and what is spent in its square",
        kind="costs add up to too little",
        file="budget/budget.py",
        old="return math.floor(self.currency.cost(self.price) / GRAIN)",
        new="return math.floor(Fraction(self.price) / GRAIN)",
        caught_by=f"{BUDGET}::test_squared_mu_adds_up_over_several_epsilons",
    ),
    Bug(
        name="of several costs of a question only the largest is charged",
        kind="costs add up to too little",
        file="budget/charges.py",
        old="grains_upper(sum((_cost(e, currency) for e in self.events), Fraction(0)))",
        new="grains_upper(max(_cost(e, currency) for e in self.events))",
        caught_by=f"{BUDGET}::test_the_cost_is_the_sum_of_its_parts_rounded_up_once",
    ),
    Bug(
        name="costs are rounded down",
        kind="costs add up to too little",
        file="budget/budget.py",
        old="return math.ceil(cost / GRAIN)",
        new="return math.floor(cost / GRAIN)",
        caught_by=f"{BUDGET}::test_the_cost_is_the_sum_of_its_parts_rounded_up_once",
    ),
    Bug(
        name="the delta that is promised is rounded to the nearest number",
        kind="costs add up to too little",
        file="budget/gaussian.py",
        old="return near if mp.mpf(near) >= value else math.nextafter(near, math.inf)",
        new="return near",
        caught_by=f"{GAUSSIAN}::test_delta_is_rounded_up_from_the_exact_value",
    ),
    Bug(
        name="the price of a question is not compared with its cost",
        kind="more is spent than there is",
        file="vault/sensitivity.py",
        old="if grains > price_grains(question.price, currency):",
        new="if price_grains(question.price, currency) < 0:",
        caught_by="tests/vault/test_sensitivity.py::test_queries_beyond_their_price_are_refused",
    ),
    Bug(
        name="the last question may cost more than is left",
        kind="more is spent than there is",
        file="ledger/ledger.py",
        old="if run.spent + grains > run.cap:",
        new="if run.spent >= run.cap:",
        caught_by=f"{DOOR}::test_a_run_cannot_pay_more_than_its_cap",
    ),
    Bug(
        name="every run is given the whole total",
        kind="more is spent than there is",
        file="ledger/ledger.py",
        old="if budget.grains > state.left:",
        new="if budget.grains > state.total:",
        caught_by=f"{LEDGER}::test_a_run_is_refused_more_than_is_left_and_told_what_is",
    ),
    Bug(
        name="a finished run gives back what it spent",
        kind="more is spent than there is",
        file="ledger/state.py",
        old="return self.spent if self.closed else self.cap",
        new="return 0 if self.closed else self.cap",
        caught_by=f"{LEDGER}::test_a_cap_is_held_until_the_run_is_closed",
    ),
    Bug(
        name="any question may be asked under a charge that is open",
        kind="more is spent than there is",
        file="ledger/state.py",
        old="any(r.ordinal == ordinal and r.plan == plan for",
        new="any(r.ordinal == ordinal for",
        caught_by=f"{LEDGER}::test_another_question_in_its_place_is_charged_anew",
    ),
    Bug(
        name="two processes read what is left before either has booked",
        kind="more is spent than there is",
        file="ledger/journal.py",
        old='        with self._begun("BEGIN IMMEDIATE") as entries:\n            yield entries',
        new="""        entries = self.entries()
        with self._begun("BEGIN IMMEDIATE"):
            yield entries""",
        caught_by="tests/ledger/test_race.py::test_only_one_gets_the_last_of_the_budget",
    ),
    Bug(
        name="a process does not see what others have spent",
        kind="more is spent than there is",
        file="ledger/journal.py",
        old='version = self._one("PRAGMA data_version")\n',
        new="""version = self._one("PRAGMA data_version")
        if self._known:
            return list(self._known)
""",
        caught_by=f"{LEDGER}::test_two_open_ledgers_of_one_file_share_what_is_left",
    ),
)
