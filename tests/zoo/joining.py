"""Bugs of two tables: a person counts twice, or what is theirs depends on others."""

from __future__ import annotations

from tests.zoo.bug import Bug

TWO = "tests/vault/test_two_tables.py"
ONE_MORE = f"{TWO}::test_one_person_more_adds_exactly_their_line_and_their_rows"
OBVIOUS = f"{TWO}::test_the_engine_joins_and_derives_what_the_obvious_version_does"
PERSONS = "tests/synth/lives/test_persons.py"

JOINING = (
    Bug(
        name="who stands twice in the table of people is there twice, and so are their rows",
        kind="one person is counted as several",
        file="engine/encoding.py",
        old="""each_once = f"SELECT id, {', '.join(firsts)} FROM ({placed}) AS t GROUP BY id\"""",
        new="each_once = f\"SELECT id, {', '.join(firsts)} FROM ({placed}) AS t "
        "GROUP BY id, {', '.join(c for c, _ in own)}\"",
        caught_by=ONE_MORE,
    ),
    Bug(
        name="who stands twice has the code that is most common among all people",
        kind="one person's arrival moves another's rows",
        file="engine/encoding.py",
        old='f"count(*) OVER (PARTITION BY id, {c}) AS k_{c}"',
        new='f"count(*) OVER (PARTITION BY {c}) AS k_{c}"',
        caught_by=f"{OBVIOUS}[ordered]",
    ),
    Bug(
        name="between two lines of a person the smaller code decides, and not the keyed hash",
        kind="the bound on a person is not kept",
        file="engine/encoding.py",
        old='f"row_number() OVER (PARTITION BY id ORDER BY k_{c} DESC, "',
        new='f"row_number() OVER (PARTITION BY id ORDER BY k_{c} DESC, {c}, "',
        caught_by=f"{OBVIOUS}[ordered]",
    ),
    Bug(
        name="rows without a person in the table of people count as those of somebody else",
        kind="different people are taken for one",
        file="engine/encoding.py",
        old='f"{encoded} JOIN people AS p ON p.id = e.id "',
        new='f"{encoded} JOIN people AS p ON p.id = e.id OR p.person = 0 "',
        caught_by=f"{OBVIOUS}[ordered]",
    ),
    Bug(
        name="in a table of everyone people count with all of their rows",
        kind="the bound on a person is not kept",
        file="vault/derivation.py",
        old='"FROM everyone AS o LEFT JOIN sizes AS s ON s.person = o.person) AS e"',
        new='"FROM everyone AS o LEFT JOIN (rows JOIN sizes USING (person)) AS s "\n'
        '        "ON s.person = o.person) AS e"',
        caught_by=ONE_MORE,
    ),
    Bug(
        name="the number of people without rows is counted without noise",
        kind="an exact number is taken as public",
        file="synth/lives/persons.py",
        old="        return cls(looks, door.schema, everyone=everyone)\n",
        new="""        if everyone:
            asked = "SELECT count(*) AS n FROM everyone ANTI JOIN sizes USING (person)"
            (none,) = door._table.engine.fetch(asked)["n"]
            globals()["_without_rows"] = lambda *_: int(none)
        return cls(looks, door.schema, everyone=everyone)
""",
        caught_by=f"{PERSONS}::test_given_the_same_answers_the_same_is_asked_without_a_person",
    ),
)
