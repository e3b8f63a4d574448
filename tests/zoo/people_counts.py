"""Bugs of counting people: cells that count too often, noise for too few of them, a late look."""

from __future__ import annotations

from tests.zoo.bug import Bug

TESTS = "tests/synth/usercounts/test_mechanism.py"
SPENT = f"{TESTS}::test_a_run_spends_its_budget_and_is_what_follows_from_its_measurements"
DECLARED = f"{TESTS}::test_a_resident_with_twenty_calls_in_twenty_cells_moves_what_is_declared"
OFTEN = f"{TESTS}::test_who_came_often_is_in_one_count_a_cell_and_in_no_more_cells"
ASKED = f"{TESTS}::test_what_is_asked_is_the_same_whoever_is_in_the_private_table"

PEOPLE_COUNTS = (
    Bug(
        name="noise is for people in one cell, as the document has it",
        kind="more is spent than there is",
        file="synth/usercounts/mechanism.py",
        old="scale = scale_upper(price, door.currency, bound=Fraction(plan.most))",
        new="scale = scale_upper(price, door.currency, bound=Fraction(1))",
        caught_by=SPENT,
    ),
    Bug(
        name="Laplace noise is for the root of as many cells as people have",
        kind="more is spent than there is",
        file="synth/usercounts/mechanism.py",
        old="bound=Fraction(plan.most))",
        new="bound=Fraction(plan.most**0.5 if door.budget.delta == 0 else plan.most))",
        caught_by=SPENT,
    ),
    Bug(
        name="all cells of people count, with noise for some of them",
        kind="more is spent than there is",
        file="synth/usercounts/mechanism.py",
        old="            most=plan.most,\n            scale=scale,",
        new="            most=len(plan.cells),\n            scale=scale,",
        caught_by=SPENT,
    ),
    Bug(
        name="people in many cells are charged for the root of as many",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="return Fraction(question.most)",
        new="return Fraction(question.most**0.5)",
        caught_by=DECLARED,
    ),
    Bug(
        name="people who came often are counted in every group that they reach",
        kind="the sensitivity is too small",
        file="vault/counts.py",
        old='    np.add.at(counts, (place[counted], column[counted]), found["people"][counted])\n',
        new="""    for group, least in enumerate(times):
        reached = counted & (found["times"] >= least)
        np.add.at(counts, (place[reached], group), found["people"][reached])
""",
        caught_by=OFTEN,
    ),
    Bug(
        name="people are counted once for every row that they have in a cell",
        kind="the sensitivity is too small",
        file="vault/counts.py",
        old='f"SELECT place, n AS times, count(*) AS people FROM ({chosen})',
        new='f"SELECT place, n AS times, CAST(sum(n) AS BIGINT) AS people FROM ({chosen})',
        caught_by=OFTEN,
    ),
    Bug(
        name="so many cells of people count for every number of times that they came",
        kind="the bound on a person is not kept",
        file="vault/counts.py",
        old="OVER (PARTITION BY person ORDER BY {hashed}) AS turn",
        new="OVER (PARTITION BY person, n ORDER BY {hashed}) AS turn",
        caught_by=OFTEN,
    ),
    Bug(
        name="of people's cells those count where most other people are",
        kind="one person's arrival moves another's rows",
        file="vault/counts.py",
        old="""AS turn "
            f"FROM ({table.named(tallied)}) AS t"
        )
""",
        new="""AS turn "
            f"FROM ({table.named(tallied)}) AS t"
        )
        crowd = f"(SELECT count(*) FROM ({tallied}) AS o WHERE o.place = t.place)"
        chosen = chosen.replace("ORDER BY", f"ORDER BY {crowd} DESC,")
""",
        caught_by=f"{TESTS}"
        "::test_which_cells_of_a_resident_count_is_no_matter_of_who_else_is_there",
    ),
    Bug(
        name="cells that the private table has are asked about too",
        kind="the domain is read from the data",
        file="synth/usercounts/mechanism.py",
        old="        there[visits.cells] = True\n",
        new="""        there[visits.cells] = True
        table = door._table  # type: ignore[attr-defined]
        cell = table.packed(space.matched)
        there[table.engine.fetch(f"SELECT DISTINCT {cell} AS c FROM rows")["c"]] = True
""",
        caught_by=ASKED,
    ),
    Bug(
        name="how many cells of a person count is looked up in the private table",
        kind="an exact number is taken as public",
        file="synth/usercounts/mechanism.py",
        old="most=self.most or (1 if once else UNKNOWN_MOST),",
        new="""most=int(
                    door._table.engine.fetch(  # type: ignore[attr-defined]
                        "SELECT max(n) AS n FROM sizes"
                    )["n"][0]
                ),""",
        caught_by=ASKED,
    ),
    Bug(
        name="the private table is kept at hand while answers are worked on",
        kind="a private value or count is seen",
        file="synth/usercounts/mechanism.py",
        old="        door.close()\n        progress(",
        new="        progress(",
        caught_by=f"{TESTS}::test_the_table_is_let_go_before_the_answers_are_worked_on",
    ),
    Bug(
        name="synthetic residents have more calls than the cap",
        kind="the bound on a person is not kept",
        file="synth/usercounts/mechanism.py",
        old=".each(total, self.most_each)",
        new=".each(total)",
        caught_by=f"{TESTS}::test_without_a_cap_nobody_is_cut",
    ),
)
