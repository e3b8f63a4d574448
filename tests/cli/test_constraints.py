"""Constraints from a draft to an evaluation: proposed, switched on, checked, kept and compared."""

from __future__ import annotations

import csv
import json
import tomllib

import pytest

import understudy as us
from tests.audit.effort import THOROUGH
from tests.cli.drafted import runfile
from tests.cli.place import Place
from tests.schema.importers.test_patterns import trips
from understudy.schema.importers.patterns import MOST


@pytest.fixture
def city(place: Place) -> Place:
    for name, seed in (("public.csv", 0), ("private.csv", 1)):
        table = trips(600, seed)
        del table["constant"], table["key"], table["number"], table["noise"]
        table = {"who": [f"p{i % 200}" for i in range(600)], **table}
        if name == "public.csv":
            table["total"][:6] += 1
        with (place / name).open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(table)
            lines.writerows(zip(*table.values(), strict=True))
    return place


def drafted(city: Place) -> str:
    public, private = f"--public={city / 'public.csv'}", f"--private={city / 'private.csv'}"
    return city.fine("init", city / "draft", public, private, "--unit=who", "--epsilon=4")


def switched_on(text: str) -> str:
    """Remove the mark of every line that can be switched on, as the comment says."""
    return "\n".join(
        line.removeprefix("# ") if line[:2] == "# " else line for line in text.splitlines()
    )


def test_from_proposals_in_a_draft_to_an_evaluation(city: Place) -> None:
    out = drafted(city)
    assert "proposed: 4 constraints (determines, sum, order, never), as comments at the end" in out
    path = city / "draft" / "schema.toml"
    text = path.read_text(encoding="utf-8")
    assert "constraints" not in tomllib.loads(text)
    head, _, proposals = text.partition("## Constraints")
    assert "## In 99 % of 600 public rows total = fare + tips + tolls.\n# [[con" in proposals
    path.write_text(head + switched_on(f"## {proposals}"), encoding="utf-8")
    run = city / "draft" / "understudy.toml"
    facts = city.facts("check", run, "--mechanism=independent")
    assert [(each["name"], each["broken"]) for each in facts["constraints"]] == [
        ("determines: town, county", 0),
        ("sum: total, fare, tips, tolls", 6),
        ("order: start, end", 0),
        ("sex M, never pregnant yes", 0),
    ]
    if THOROUGH:  # what is said of a rule is seen below too
        out = city.fine("check", run, "--mechanism=independent")
        told = "total = fare + tips + tolls. 6 of 600 public rows break it"
        assert f"  rule     sum: total, fare, tips, tolls: {told}\n" in out
    release = city / "out"
    city.fine("synth", run, "--mechanism=independent", f"--out={release}")
    kept = json.loads((release / "manifest.json").read_text(encoding="utf-8"))["constraints"]
    assert [each["rows_that_break_it"] for each in kept] == [0] * 4
    options = [f"--private={city / 'private.csv'}", f"--schema={path}", "--unit=who"]
    evaluated = city.facts("evaluate", release, *options)
    assert {each["synthetic"] for each in evaluated["constraints"]} == {0}
    assert "county" in evaluated["synthetic"]["columns"]
    page = city / "report.html"
    city.fine("evaluate", release, *options, f"--report={page}")
    assert "Shares of rows that break a constraint" in page.read_text(encoding="utf-8")


def test_a_draft_and_what_init_says_tell_of_more_than_are_proposed(place: Place) -> None:
    years = [[str(1800 + i % 50), *(str(int(i % 50 == d)) for d in range(50))] for i in range(2000)]
    with (place / "years.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["year", *(f"d{d}" for d in range(50))], *years])
    asked = f"--public={place / 'years.csv'}", "--unit=each-row"
    told = "the public rows suggest more constraints of kind determines than these"
    assert f"  {told}\n" in place.fine("init", place / "draft", *asked)
    text = (place / "draft" / "schema.toml").read_text(encoding="utf-8")
    assert text.endswith(f"\n## {told}.\n")
    proposals = text.partition("## Constraints")[2]
    assert len(tomllib.loads(switched_on(f"## {proposals}"))["constraints"]) == MOST


def test_check_needs_no_people_in_the_public_table(city: Place) -> None:
    drafted(city)
    path = city / "draft" / "schema.toml"
    said = '[[constraints]]\nname = "paid"\nsum = { total = ["fare", "tips"] }\n'
    path.write_text(path.read_text(encoding="utf-8") + said, encoding="utf-8")
    rows = list(csv.reader((city / "public.csv").read_text().splitlines()))
    run = city / "draft" / "understudy.toml"
    for left, told in (({0}, "of 600 public rows break it"), ({0, 8}, "cannot tell")):
        names = [i for i in range(len(rows[0])) if i not in left]
        with (city / "less.csv").open("w", newline="") as file:
            csv.writer(file).writerows([[row[i] for i in names] for row in rows])
        public = f"--public={city / 'less.csv'}"
        out = city.fine("check", run, "--mechanism=independent", public)
        assert [told in line for line in out.splitlines() if "rule     paid" in line] == [True]


def test_the_command_line_asks_by_itself(place: Place) -> None:
    rule = '\n[[constraints]]\ndetermines = { hour = "colour" }\nasked = true\n'
    path = place / "schema.toml"
    path.write_text(path.read_text(encoding="utf-8") + rule, encoding="utf-8")
    given = runfile(place, epsilon=15)
    assert "colour follows from hour" not in place.fine("check", given)
    assert place.spent() is None
    facts = place.facts("synth", given)
    assert facts["guarantee"]["epsilon"] == pytest.approx(15, abs=1e-6)
    release = us.Release.read(place / "out")
    (rule_told,) = release.schema.constraints
    assert isinstance(rule_told, us.Determines)
    assert rule_told.asked
    assert len(rule_told.pairs) == 4
