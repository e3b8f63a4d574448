"""Bugs of views: what is derived of one person depends on others, or a person counts twice."""

from __future__ import annotations

from tests.zoo.bug import Bug

LIVES = "tests/synth/lives/test_mechanism.py"
WITHOUT = "::test_given_the_same_answers_the_same_is_asked_without_the_person_of_most_rows"
VIEWS = "tests/vault/test_views.py"
ONE_MORE = f"{VIEWS}::test_one_person_more_adds_exactly_their_rows"

DERIVING = (
    Bug(
        name="the row before a person's first one is another person's",
        kind="one person's arrival moves another's rows",
        file="vault/derivation.py",
        old='f"lag({code}) {window} AS before_{code}"',
        new='f"lag({code}) OVER (ORDER BY person, {order}) AS before_{code}"',
        caught_by=ONE_MORE,
    ),
    Bug(
        name="a person's place in order is counted through all people",
        kind="one person's arrival moves another's rows",
        file="vault/derivation.py",
        old='f"row_number() {window} AS place"',
        new='f"row_number() OVER (ORDER BY {order}) AS place"',
        caught_by=ONE_MORE,
    ),
    Bug(
        name="a person's rows that tie are ordered by how many people there are",
        kind="one person's arrival moves another's rows",
        file="vault/derivation.py",
        old="{_number('h', 1)} AS number",
        new="1 + count(*) OVER () * {PRIME // 9} AS number",
        caught_by=ONE_MORE,
    ),
    Bug(
        name="ties between a person's most common codes go by the engine's order",
        kind="the bound on a person is not kept",
        file="vault/derivation.py",
        old='turn = f"row_number() OVER (PARTITION BY person ORDER BY k DESC, {hashed})"',
        new='turn = f"row_number() OVER (PARTITION BY person ORDER BY k DESC, code + 0 * length({hashed}))"',  # noqa: E501
        caught_by=f"{VIEWS}::test_the_engine_derives_what_the_obvious_version_does[unordered]",
    ),
    Bug(
        name="in a table of people everybody counts with all of their rows",
        kind="the bound on a person is not kept",
        file="vault/derivation.py",
        old="""table.engine.table(name, f"SELECT {', '.join(taken)} FROM {people}")""",
        new="""table.engine.table(
            name, f"SELECT {', '.join(taken)} FROM rows JOIN {people} USING (person)"
        )""",
        caught_by=ONE_MORE,
    ),
    Bug(
        name="a question of people is asked of the rows of the table",
        kind="the bound on a person is not kept",
        file="vault/candidates.py",
        old="table = viewed(table, question.view).merged(question.merged)",
        new="table = table.merged(question.merged)",
        caught_by=f"{VIEWS}::test_questions_of_a_view_are_counted_as_the_obvious_version_does",
    ),
    Bug(
        name="people of a view are weighed by the rows of the table itself",
        kind="the bound on a person is not kept",
        file="vault/table.py",
        old='name = f"bounded_{self._place}_{bounding.kind}_{bounding.cap}"',
        new='name = f"bounded_{bounding.kind}_{bounding.cap}"',
        caught_by=f"{VIEWS}::test_views_do_not_share_what_is_kept_of_their_rows",
    ),
    Bug(
        name="people are divided into classes up to the size that somebody has",
        kind="the domain is read from the data",
        file="synth/lives/persons.py",
        old="        view = View(derived=derived, people=True, everyone=everyone)\n",
        new="""        (most,) = door._table.engine.fetch("SELECT max(n) AS n FROM sizes")["n"]
        starts = tuple(class_starts(int(most)).tolist())
        view = View(derived=(Derived(name=ROWS, kind="rows", starts=starts),), people=True)
""",
        caught_by=f"{LIVES}{WITHOUT}",
    ),
    Bug(
        name="the model of people spends what is meant for rows",
        kind="more is spent than there is",
        file="synth/lives/persons.py",
        old="reserve = door.grains - price_grains(price, door.currency)",
        new="reserve = 0",
        caught_by=f"{LIVES}::test_people_habits_and_rows_share_the_budget_as_was_said",
    ),
)
