"""Bugs of archetypes: labels from private rows, counts without noise, prices beyond the budget."""

from __future__ import annotations

from tests.zoo.bug import Bug

TESTS = "tests/synth/archetypes/test_mechanism.py"
SPENT = f"{TESTS}::test_a_run_spends_its_budget_and_people_have_a_firm_each"
GREAT = f"{TESTS}::test_with_a_great_budget_rows_are_weighed_and_people_follow_the_private_counts"
ASKED = f"{TESTS}::test_what_is_asked_is_the_same_whoever_is_in_the_private_table"
FOLLOWS = f"{TESTS}::test_all_that_comes_out_follows_from_the_answers_and_public_data"
MOVES = f"{TESTS}::test_a_person_moves_each_histogram_by_one_in_one_cell"

KINDS_OF_PEOPLE = (
    Bug(
        name="archetypes count for cells only that the private table has",
        kind="the domain is read from the data",
        file="synth/archetypes/mechanism.py",
        old="scale=scales[0], labels=shapes.labels)\n",
        new="""scale=scales[0], labels=np.where(
            np.isin(
                np.arange(len(shapes.labels)),
                door._table.engine.fetch(  # type: ignore[attr-defined]
                    f"SELECT DISTINCT {door._table.packed(shapes.features)} AS c FROM rows"
                )["c"],
            ),
            shapes.labels,
            -1,
        ))
""",
        caught_by=ASKED,
    ),
    Bug(
        name="both histograms of people have the noise of one alone",
        kind="more is spent than there is",
        file="synth/archetypes/mechanism.py",
        old="bound=Fraction(1)) for price in each]",
        new='bound=Fraction(1)) for _, price in zip(each, [prices["people"]] * 2)]',
        caught_by=SPENT,
    ),
    Bug(
        name="people are counted for the whole budget, and marginals for most of it again",
        kind="more is spent than there is",
        file="synth/archetypes/mechanism.py",
        old='split(price_grains(prices["people"], door.currency), door.currency, parts)',
        new="split(door.grains, door.currency, parts)",
        caught_by=GREAT,
    ),
    Bug(
        name="the number of rows is asked at the price of the marginals too",
        kind="more is spent than there is",
        file="synth/archetypes/mechanism.py",
        old='rows_price=prices.get("rows"), people_price=None)',
        new='rows_price=prices["marginals"], people_price=None)',
        caught_by=f"{GREAT}[norm]",
    ),
    Bug(
        name="people are counted by their attribute without noise",
        kind="a private value or count is seen",
        file="synth/archetypes/mechanism.py",
        old="        values = door.unit_mode((self.attribute,), scale=scales[1])\n",
        new="""        values = np.zeros(door.schema.domain[self.attribute])
        table = door._table  # type: ignore[attr-defined]
        found = table.engine.fetch(
            f"SELECT {table.packed((self.attribute,))} AS v, count(DISTINCT person) AS n "
            "FROM rows GROUP BY v"
        )
        values[found["v"]] = found["n"]
""",
        caught_by=SPENT,
    ),
    Bug(
        name="counts of people are made to add up to the exact number of people",
        kind="an exact number is taken as public",
        file="synth/archetypes/mechanism.py",
        old="        return ArchetypeCounts(kinds=kinds, values=values, scales=tuple(scales))\n",
        new="""        table = door._table  # type: ignore[attr-defined]
        exact = int(table.engine.fetch("SELECT count(*) AS n FROM sizes")["n"][0])
        kinds, values = (c + (exact - c.sum()) / len(c) for c in (kinds, values))
        return ArchetypeCounts(kinds=kinds, values=values, scales=tuple(scales))
""",
        caught_by=FOLLOWS,
    ),
    Bug(
        name="columns that were not asked about are drawn from private rows",
        kind="a private value or count is seen",
        file="synth/archetypes/mechanism.py",
        old="        door.close()\n        progress(",
        new="""        table = door._table  # type: ignore[attr-defined]
        rows = table.engine.fetch("SELECT * FROM rows")
        know = rng.integers(len(rows["person"]), size=len(known))
        known = replace(
            known,
            codes={
                n: c if n in features or n == self.attribute else rows[table.code[n]][know]
                for n, c in known.codes.items()
            },
        )
        door.close()
        progress(""",
        caught_by=FOLLOWS,
    ),
    Bug(
        name="the private table is kept at hand while people are chosen",
        kind="a private value or count is seen",
        file="synth/archetypes/mechanism.py",
        old="        door.close()\n        progress(",
        new="        progress(",
        caught_by=f"{TESTS}::test_the_table_is_let_go_before_the_answers_are_worked_on",
    ),
    Bug(
        name="people whose labels tie count for every one of these",
        kind="the bound on a person is not kept",
        file="vault/counts.py",
        old='f"SELECT label, row_number() OVER (PARTITION BY person ORDER BY n DESC, {hashed}) "',
        new='f"SELECT label, rank() OVER (PARTITION BY person ORDER BY n DESC) "',
        caught_by=MOVES,
    ),
    Bug(
        name="a person counts for a label of every number of rows that they have",
        kind="one person is counted as several",
        file="vault/counts.py",
        old='f"SELECT label, row_number() OVER (PARTITION BY person',
        new='f"SELECT label, row_number() OVER (PARTITION BY person, n',
        caught_by=MOVES,
    ),
)
