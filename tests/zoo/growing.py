"""Bugs of trees and of models that grow: what is chosen, when it stops, and what rounds cost."""

from __future__ import annotations

from tests.zoo.bug import Bug

TREE = "tests/synth/test_mst.py"
GROWTH = "tests/synth/aim/test_growth.py"
AIM = "tests/synth/aim/test_mechanism.py"
SHARED = f"{TREE}::test_columns_choices_and_pairs_share_the_budget_as_was_said"
PRICES = f"{GROWTH}::test_each_round_costs_its_price_and_the_last_one_what_is_left"
WITHOUT = "::test_given_the_same_answers_the_same_is_asked_without_the_person_of_most_rows"

PAIRS = "tests/synth/pairs/test_mechanism.py"

GROWING = (
    Bug(
        name="pairs are chosen by the exact counts",
        kind="a selection is charged too little",
        file="synth/pairs/looks.py",
        old="            place = self._door.select(candidates, epsilon=epsilon, "
        "bounding=self._bounding)\n",
        new="""            from understudy.door import Select
            from understudy.vault.candidates import distances

            place = self._door.select(candidates, epsilon=epsilon, bounding=self._bounding)
            question = Select(
                candidates=tuple(candidates),
                epsilon=epsilon,
                bounding=self._bounding,
                merged=self._door._merged,
            )
            found = distances(question, self._door._door._table)
            place = int(np.argmax(found * [c.weight for c in candidates]))
""",
        caught_by=f"{PAIRS}{WITHOUT}[leaves]",
    ),
    Bug(
        name="choosing stops by the exact number of rows",
        kind="an exact number is taken as public",
        file="synth/pairs/looks.py",
        old="        none = Candidate(clique=(), expected="
        "np.array([self._kept * self._model.total]))\n",
        new="""        engine = self.columns.door._table.engine
        (held,) = engine.fetch("SELECT count(*) AS n FROM rows")["n"]
        none = Candidate(clique=(), expected=np.array([float(held)]))
""",
        caught_by=f"{PAIRS}{WITHOUT}[leaves]",
    ),
    Bug(
        name="the second look is free of charge",
        kind="more is spent than there is",
        file="synth/pairs/looks.py",
        old="            self._measure(self._last(), self._left)\n",
        new="            self._measure(self._last(), 2 * self._left)\n",
        caught_by=f"{PAIRS}::test_columns_choices_and_looks_share_the_budget_as_was_said",
    ),
    Bug(
        name="further pairs are chosen by the exact distances",
        kind="an exact number is taken as public",
        file="synth/pairs/gains.py",
        old="        values = door.distances(asked, scale=scale, bounding=bounding)\n",
        new="""        from understudy.door import Select
        from understudy.vault.candidates import distances

        door.distances(asked, scale=scale, bounding=bounding)
        question = Select(
            candidates=tuple(asked), epsilon=1.0, bounding=bounding, merged=door._merged
        )
        values = distances(question, door._door._table) / 2**16
""",
        caught_by=f"{PAIRS}::test_and_so_are_further_pairs_without_the_only_person_who_ties_any"
        "[leaves]",
    ),
    Bug(
        name="a look spends all that is left for looks, and leaves as much",
        kind="more is spent than there is",
        file="synth/pairs/gains.py",
        old="        grains = 0 if looks == 1 else grains - price_grains(price, door.currency)\n",
        new="        grains = 0 if looks == 1 else grains\n",
        caught_by=f"{PAIRS}::test_further_looks_share_what_choosing_may_cost",
    ),
    Bug(
        name="columns are asked again at twice what is left",
        kind="more is spent than there is",
        file="synth/pairs/looks.py",
        old="            self.columns = self.columns.again(price=price)\n",
        new="            self.columns = self.columns.again(price=2 * price)\n",
        caught_by=f"{PAIRS}::test_where_noise_drowns_every_pair_columns_are_asked_again",
    ),
    Bug(
        name="AIM asks for the marginal that is most wrong by the exact counts",
        kind="a selection is charged too little",
        file="synth/aim/growth.py",
        old="return listed[self._door.select(listed, epsilon=epsilon, bounding=bounding)]",
        new="""from understudy.door import Select
            from understudy.vault.candidates import distances

            question = Select(
                candidates=tuple(listed),
                epsilon=epsilon,
                bounding=bounding,
                merged=self._door._merged,
            )
            found = distances(question, self._door._door._table)
            return listed[int(np.argmax(found * [c.weight for c in listed]))]""",
        caught_by=f"{AIM}{WITHOUT}[exponential-leaves]",
    ),
    Bug(
        name="AIM's rounds become larger where the model is no nearer to the private table",
        kind="an exact number is taken as public",
        file="synth/aim/growth.py",
        old="        return bool(moved > np.minimum(noise, chosen.expected).sum())",
        new="""        from understudy.door import Candidate, Select
        from understudy.vault.candidates import distances

        now = Candidate(
            clique=chosen.clique, expected=self.model.marginal(chosen.clique).reshape(-1)
        )
        question = Select(
            candidates=(Candidate(clique=chosen.clique, expected=chosen.expected), now),
            epsilon=1.0,
            bounding=self._columns.crowd.bounding,
            merged=self._door._merged,
        )
        before, after = distances(question, self._door._door._table)
        return bool(after < before / 2)""",
        caught_by=f"{AIM}{WITHOUT}[exponential-leaves]",
    ),
    Bug(
        name="AIM leaves out columns of which the private table has but one code",
        kind="the domain is read from the data",
        file="synth/aim/mechanism.py",
        old="            candidates(self._workload(columns.domain), columns.domain, "
        "self.most_cells),",
        new="""            {
                clique: weight
                for clique, weight in candidates(
                    self._workload(columns.domain), columns.domain, self.most_cells
                ).items()
                if all(
                    door._table.engine.fetch(
                        f"SELECT count(DISTINCT {door._table.code[n]}) AS n FROM rows"
                    )["n"][0]
                    > 1
                    for n in clique
                )
            },""",
        caught_by=f"{AIM}{WITHOUT}[exponential-leaves]",
    ),
    Bug(
        name="MST chooses pairs with a cap of as many rows as anybody has",
        kind="an exact number is taken as public",
        file="synth/mst.py",
        old="            bounding=columns.crowd.bounding,",
        new="""            bounding=type(columns.crowd.bounding)(
                int(door._table.engine.fetch("SELECT max(n) AS n FROM sizes")["n"][0])
            ),""",
        caught_by=f"{TREE}{WITHOUT}[leaves]",
    ),
    Bug(
        name="every pair of a tree is chosen for the price of all choices",
        kind="more is spent than there is",
        file="synth/select/cliques.py",
        old="        epsilon = selection_epsilon_lower(share, door.currency)",
        new="        epsilon = selection_epsilon_lower(price, door.currency)",
        caught_by=SHARED,
    ),
    Bug(
        name="MST asks for its pairs at the price of the whole run, whatever was spent before",
        kind="more is spent than there is",
        file="synth/mst.py",
        old="price=price_lower(door.grains, door.currency),",
        new="price=price_lower(door.budget.grains, door.currency),",
        caught_by=SHARED,
    ),
    Bug(
        name="a round of AIM pays for its choice, and asks for the price of the whole round",
        kind="more is spent than there is",
        file="synth/aim/growth.py",
        old="        choice, price = split(grains, self._door.currency, [share, 1 - share])",
        new="""        choice, _ = split(grains, self._door.currency, [share, 1 - share])
        (price,) = split(grains, self._door.currency, [1.0])""",
        caught_by=PRICES,
    ),
    Bug(
        name="rounds of AIM become larger, however little is left",
        kind="more is spent than there is",
        file="synth/aim/growth.py",
        old="""            last = left < 2 * each
            each = left if last else each
""",
        new="            last = left <= each\n",
        caught_by=f"{GROWTH}::test_nothing_is_left_however_many_rounds_there_are",
    ),
    Bug(
        name="noisy distances of many candidates have the noise of one alone",
        kind="more is spent than there is",
        file="synth/aim/growth.py",
        old="bound = len(asked) * Fraction(bounding.cap) ** self._door.currency.power",
        new="bound = Fraction(bounding.cap) ** self._door.currency.power",
        caught_by=PRICES,
    ),
    Bug(
        name="noisy distances have the noise for people of one row",
        kind="more is spent than there is",
        file="synth/aim/growth.py",
        old="bound = len(asked) * Fraction(bounding.cap) ** self._door.currency.power",
        new="bound = Fraction(len(asked))",
        caught_by=f"{GROWTH}"
        "::test_distances_have_noise_for_as_many_as_are_asked_and_for_a_persons_rows",
    ),
    Bug(
        name="more rounds than the budget allows are refused when columns are paid for already",
        kind="the books are not kept in order",
        file="synth/aim/mechanism.py",
        old="""            check_rounds(door, prices["rounds"], rounds)
        columns = Compressed.ask(
            door,
            public,
            [WeightedMarginal(clique=(name,)) for name in door.schema.domain],
            prices=prices,
            rule=self.rule,
            progress=progress,
        )
""",
        new="""            pass
        columns = Compressed.ask(
            door,
            public,
            [WeightedMarginal(clique=(name,)) for name in door.schema.domain],
            prices=prices,
            rule=self.rule,
            progress=progress,
        )
        if "rounds" in prices:
            check_rounds(door, prices["rounds"], rounds)
""",
        caught_by=f"{AIM}::test_what_cannot_be_is_refused_before_anything_is_spent",
    ),
    Bug(
        name="the private table is kept at hand while a tree is fitted",
        kind="a private value or count is seen",
        file="synth/mst.py",
        old="        door.close()\n",
        new="",
        caught_by=f"{TREE}::test_the_table_is_let_go_before_the_model_is_fitted",
    ),
    Bug(
        name="the private table is kept at hand while AIM's last model is fitted",
        kind="a private value or count is seen",
        file="synth/aim/mechanism.py",
        old="        door.close()\n",
        new="",
        caught_by=f"{AIM}::test_the_table_is_let_go_before_the_last_fit",
    ),
)
