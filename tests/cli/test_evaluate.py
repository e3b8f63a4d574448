"""The evaluate command: for the custodian only, and it says so."""

from __future__ import annotations

import html
import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.audit.effort import THOROUGH, effort, few
from tests.cli.place import Place
from tests.contests.taxis import write_parameters, write_trips
from understudy.contests import Recipe
from understudy.contests.metrics import METRICS as CONTESTS
from understudy.errors import (
    MalformedFileError,
    MissingColumnError,
    MissingFileError,
    OutputExistsError,
    QuestionError,
    UnderstudyError,
    UsageError,
)
from understudy.evaluate import CHOOSING, METRICS, NOTICE

pytestmark = pytest.mark.usefixtures("plain_reports")

NAME = "chicago-taxi-adagrid"


def evaluate(here: Place, /, *synthetic: str, **changes: Any) -> list[str]:
    options: dict[str, Any] = {
        "private": here / "trips.csv",
        "schema": here / "schema.toml",
        "unit": "taxi",
    } | changes
    given = [f"--{n.replace('_', '-')}={v}" for n, v in options.items() if v is not None]
    return ["evaluate", *(str(here / name) for name in synthetic or ("out",)), *given]


@pytest.mark.parametrize("form", few(["csv", "parquet"], usual=1))
def test_a_release_is_held_against_the_private_table(place: Place, form: str) -> None:
    place.fine(*place.synth(epsilon=200, format=form))
    text = place.fine(*evaluate(place))
    assert text.startswith(NOTICE)
    for part in ("columns, mean", "pairs, largest", "resample", "10 % of rows", "colour × hour"):
        assert part in text
    assert CHOOSING in text
    facts = place.facts(*evaluate(place))
    assert (facts["notice"], facts["choosing"]) == (NOTICE, CHOOSING)
    assert facts["rows"] == 120
    assert facts["synthetic"]["trips"] is facts["synthetic"]["pies"] is None
    assert facts["synthetic"]["columns"]["hour"] < 0.2
    assert place.facts(*evaluate(place)) == facts


def test_a_file_that_is_the_table_itself_differs_in_nothing(place: Place) -> None:
    trip = {"place": "colour", "time": "hour", "edge": "colour, hour"}
    schema = (place / "schema.toml").read_text() + '[columns.fare]\nkind="integer"\nmin=0\nmax=1\n'
    schema += '[columns.tip]\nkind="integer"\nmin=0\nmax=1\n'
    (place / "wide.toml").write_text(schema)
    lines = [f"{i % 30},{'red' if i % 3 else 'blue'},{i % 4},{i % 2},0" for i in range(120)]
    (place / "wide.csv").write_text("\n".join(["taxi,colour,hour,fare,tip", *lines, ""]))
    own = {"schema": place / "wide.toml", "private": place / "wide.csv"}
    facts = place.facts(*evaluate(place, "wide.csv", **own, **trip))
    assert set(facts["synthetic"]["columns"].values()) == {0}
    assert facts["synthetic"]["trips"]["score"] == pytest.approx(1000)
    assert "trip score" in place.fine(*evaluate(place, "wide.csv", **own, **trip))
    facts = place.facts(*evaluate(place, "wide.csv", **own, unit="each-row"))
    assert set(facts["synthetic"]["columns"].values()) == {0}


def test_a_pie_score_is_told_where_it_is_asked_for(place: Place) -> None:
    pie = {"pie": "hour", "slices": "colour"}
    facts = place.facts(*evaluate(place, "trips.csv", **pie))
    assert facts["notice"] == NOTICE
    assert facts["synthetic"]["pies"] == {"mean": 1, "pies": 5, "score": 5}  # one is for no hour
    assert facts["synthetic"]["trips"] is None
    for each in facts["yardsticks"].values():
        assert each["pies"]["pies"] == 5
        assert 0 <= each["pies"]["mean"] <= 1
    text = place.fine(*evaluate(place, "trips.csv", **pie))
    assert text.startswith(NOTICE)
    assert "pie score, mean" in text


PIES = {"pie": ["pickup_community_area", "shift"], "slices": "payment_type"}


def contest(here: Place) -> dict[str, Any]:
    parameters = write_parameters(here / "parameters.json", 1)
    private = write_trips(here / "private.csv", 500, 1)
    given = {"recipe": NAME, "parameters": parameters, "private": private}
    return given | {"schema": None, "unit": None}


def test_a_recipe_may_score_pies(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = replace(Recipe.named(NAME), score=PIES)
    monkeypatch.setattr(Recipe, "named", lambda _: recipe)
    found = place.facts(*evaluate(place, "private.csv", **contest(place)))["synthetic"]
    assert found["trips"] is None
    assert found["pies"]["mean"] == 1
    assert found["pies"]["score"] == found["pies"]["pies"] > 1


def test_options_add_a_score_to_those_of_a_recipe(place: Place) -> None:
    pie = PIES | {"pie": " , ".join(PIES["pie"])}
    found = place.facts(*evaluate(place, "private.csv", **contest(place), **pie))["synthetic"]
    assert found["trips"]["score"] == pytest.approx(1000)
    assert found["pies"]["mean"] == 1


CENSUS = """
name = "census"

[columns.CITY]
kind = "integer"
min = 0
max = 3

[columns.SEX]
kind = "categorical"
values = ["1", "2"]

[columns.INCWAGE]
kind = "numeric"
edges = [0, 500, 1000000]

[columns.AGEP]
kind = "integer"
min = 0
max = 99
"""


def people(here: Place, *, sex: str = "1") -> dict[str, Any]:
    """Write a table with the columns of two contests, and give the options to read it by."""
    (here / "census.toml").write_text(CENSUS)
    lines = [f"{i % 4},{1 + i % 2},{i % 7 * 100},{i % 50}" for i in range(120)]
    lines.append(f"0,{sex},0,0")
    (here / "census.csv").write_text("\n".join(["CITY,SEX,INCWAGE,AGEP", *lines, ""]))
    private = here / "census.csv"
    return {"schema": here / "census.toml", "private": private, "unit": "each-row"}


def test_scores_of_raw_values_are_told_where_they_are_asked_for(place: Place) -> None:
    own = evaluate(place, "census.csv", **people(place))
    for flags in (("--excerpts",), ("--census",), ("--excerpts", "--census")):
        facts = place.facts(*own, *flags)
        assert facts["notice"] == NOTICE
        for each in (facts["synthetic"], *facts["yardsticks"].values()):
            assert (each["excerpts"] is not None) == ("--excerpts" in flags)
            assert (each["census"] is not None) == ("--census" in flags)
    same = facts["synthetic"]
    assert same["excerpts"]["score"] == 1000
    assert set(same["excerpts"]["features"]) == {"CITY", "SEX", "INCWAGE", "AGEP"}
    assert same["census"] == dict.fromkeys(("triples", "conjunctions", "wages", "score"), 1e6)
    assert facts["yardsticks"]["1 % of rows"]["excerpts"]["score"] < 1000
    text = place.fine(*own, "--excerpts", "--census")
    assert text.startswith(NOTICE)
    for line in ("excerpt score ", "census score ", "  conjunctions ", "  wages "):
        assert f"\n{line}" in text


def test_a_release_is_scored_by_raw_values(place: Place) -> None:
    own = people(place)
    changes = {"schema": own["schema"], "unit": "each-row", "bounding": "weights:1"}
    place.fine(*place.synth("census.csv", **changes, epsilon=500))
    found = place.facts(*evaluate(place, **own), "--excerpts")["synthetic"]
    assert 0 < found["excerpts"]["score"] < 1000


def test_a_recipe_may_ask_for_scores_of_raw_values(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = replace(Recipe.named(NAME), score=PIES | {"excerpts": True, "census": False})
    monkeypatch.setattr(Recipe, "named", lambda _: recipe)
    found = place.facts(*evaluate(place, "private.csv", **contest(place)))["synthetic"]
    assert found["excerpts"]["score"] == 1000
    assert found["pies"]["mean"] == 1
    assert found["census"] is None
    told = place.say(*evaluate(place, "private.csv", **contest(place)), "--census")
    assert "the schema does not model these columns (got CITY, INCWAGE, SEX" in told.line


def test_a_census_of_no_whole_numbers_is_refused_and_no_value_is_quoted(place: Place) -> None:
    told = place.say(*evaluate(place, "census.csv", **people(place, sex="secret")), "--census")
    assert told.code == QuestionError.exit_code
    assert "column SEX has values that are not whole numbers" in told.line
    assert "secret" not in told.line


def test_help_says_whose_eyes_it_is_for(place: Place) -> None:
    with pytest.raises(SystemExit):
        place.say("evaluate", "--help")
    assert "Custodian-only" in " ".join(place.capsys.readouterr().out.split())


def test_metrics_are_listed_with_their_options(place: Place) -> None:
    lines = place.fine("metrics").splitlines()
    for line in (
        "columns  The total",
        "trips  The score",
        "  --edge COLUMN,COLUMN  ",
        "  --census",
    ):
        assert any(each.startswith(line) for each in lines)
    listed = place.facts("metrics")["metrics"]
    assert [each["name"] for each in listed] == [*METRICS, *CONTESTS]
    (predictions,) = (each for each in listed if each["name"] == "predictions")
    assert [each["option"] for each in predictions["options"]] == ["--target COLUMN[,COLUMN…]"]


def test_a_submission_is_scored_by_its_recipe(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not THOROUGH:  # fewer marginals take less time, and are scored alike
        whole = Recipe.named(NAME)
        few_cliques = whole.settings | {"cliques": [["payment_type", "shift", "company_id"]]}
        monkeypatch.setattr(Recipe, "named", lambda _: replace(whole, settings=few_cliques))
    # Budgets so large that noise never leaves a run without rows.
    own = {"recipe": NAME, "parameters": write_parameters(place / "parameters.json", 3000, 30_000)}
    private = write_trips(place / "private.csv", effort(800, 2000), 1)
    given = [f"--{k}={v}" for k, v in own.items()]
    place.fine(
        "synth",
        private,
        *given,
        f"--public={write_trips(place / 'public.csv', effort(500, 1000), 2)}",
        f"--ledger={place / 'taxi.ledger'}",
        f"--out={place / 'submission.csv'}",
    )
    manifest = json.loads((place / "submission.csv.manifest.json").read_text())
    asked = {"private": private, "schema": None, "unit": None, **own}
    for run, epsilon in zip(manifest["runs"], ("3000", "30000.0"), strict=True):
        facts = place.facts(*evaluate(place, "submission.csv", **asked, epsilon=epsilon))
        assert facts["synthetic"]["rows"] == run["rows_submitted"]
        assert 0 < facts["synthetic"]["trips"]["score"] < 1000
    told = place.say(*evaluate(place, "submission.csv", **asked))
    assert "several epsilons (got 3000, 30000). Hint: choose one with --epsilon" in told.line
    told = place.say(*evaluate(place, "submission.csv", **asked, epsilon=3))
    assert "no rows of that epsilon (got 3; allowed: 3000, 30000)" in told.line


def runs(here: Place) -> list[Path]:
    """Make two releases, of different promises."""
    for name, epsilon in (("weak", 300), ("strong", 100)):
        here.fine(*here.synth(epsilon=epsilon, out=here / name, ledger=here / f"{name}.ledger"))
    return [here / "weak", here / "strong"]


def test_several_tables_are_told_one_after_the_other_each_by_its_name(place: Place) -> None:
    weak, strong = runs(place)
    text = place.fine(*evaluate(place, "weak", "strong"))
    head = f"{NOTICE}\n{CHOOSING}\n\n"
    first, second = text.split(f"\n\n\n{head}")
    assert first.startswith(f"{head}{weak}\n")
    assert second.startswith(f"{strong}\n")
    alone = place.fine(*evaluate(place, "strong"))
    assert alone == f"{head}{second.removeprefix(str(strong)).lstrip()}"
    found = place.facts(*evaluate(place, "weak", "strong"))
    assert [each.pop("file") for each in found] == [str(weak), str(strong)]
    assert found == [place.facts(*evaluate(place, name)) for name in ("weak", "strong")]


def test_a_report_holds_what_was_found_and_nothing_else_does(place: Place) -> None:
    runs(place)
    before = place.names()
    pie = {"pie": "hour", "slices": "colour"}
    page = place / "report.html"
    said = place.fine(*evaluate(place, "weak", "strong", report=page, **pie))
    assert said.startswith(f"{page}: {NOTICE}")
    assert len(said.splitlines()) == 1
    assert place.names() == before | {"report.html"}
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert '<p class="banner">Contains private information: do not publish.</p>' in text
    apart = "Can real and synthetic rows be told apart?"
    for part in ("weak · independent", "strong · independent", "mean pie score", apart):
        assert part in text
    asked = evaluate(place, "weak", "strong", **pie, target="colour,hour")
    found = place.facts(*asked, "--classifier")
    for each in found:
        assert f'<td class="number">{each["classifier"]["synthetic"]:.4g}</td>' in text
        for figure in ("pairs, mean", "columns, largest"):
            assert f'<td class="number">{each["synthetic"]["summary"][figure]:.4g}</td>' in text
        for told in each["predictions"]:
            assert f">{told['synthetic']:.4g}</td>" in text
    assert [told["target"] for told in found[0]["predictions"]] == ["colour", "hour"]
    other = place / "deep" / "other.html"
    facts = place.facts(*evaluate(place, "weak", report=other))
    assert facts == {"notice": NOTICE, "choosing": CHOOSING, "report": str(other)}
    assert "Privacy and utility of each run" not in other.read_text(encoding="utf-8")


def test_a_report_never_goes_out_with_a_release(place: Place) -> None:
    weak, _ = runs(place)
    before = sorted(weak.iterdir())
    for target in (weak / "report2.html", weak / "new" / "report.html"):
        told = place.say(*evaluate(place, "strong", report=target))
        assert told.code == UsageError.exit_code
        assert "must not lie in a release" in told.line
        assert "allowed: a new file outside every release's folder" in told.line
    assert sorted(weak.iterdir()) == before
    told = place.say(*evaluate(place, "strong", report=place / "schema.toml"))
    assert told.code == OutputExistsError.exit_code


def test_a_report_of_a_file_tells_no_promise_and_of_a_submission_its_own(place: Place) -> None:
    page = place / "file.html"
    (place / "rows.csv").write_text("colour,hour\nred,1\nblue,2\n")
    place.fine(*evaluate(place, "rows.csv", report=page))
    text = page.read_text(encoding="utf-8")
    assert text.count("<td>not told</td>") == 4  # people, mechanism, epsilon, delta
    promise = {"guarantee": {"epsilon": 2.5, "delta": 0}, "mechanism": {"name": "usercounts"}}
    (place / "rows.csv.manifest.json").write_text(json.dumps({"runs": [promise]}))
    page = place / "submission.html"
    place.fine(*evaluate(place, "rows.csv", report=page))
    text = page.read_text(encoding="utf-8")
    assert text.count("<td>not told</td>") == 1
    assert ">2.5</td>" in text
    for manifest in ("{", "[]", '{"runs": [{}]}', '{"runs": [{"mechanism": {}}]}'):
        (place / "rows.csv.manifest.json").write_text(manifest)
        told = place.say(*evaluate(place, "rows.csv", report=place / "new.html"))
        assert told.code == MalformedFileError.exit_code
        assert "is not an Understudy manifest" in told.line


def test_columns_that_are_named_are_predicted(place: Place) -> None:
    text = place.fine(*evaluate(place, "trips.csv", target=" hour "))
    line = text.splitlines()[-1].split()
    (found,) = place.facts(*evaluate(place, "trips.csv", target="hour"))["predictions"]
    assert found["target"] == line[0] == "hour"
    assert line[1] == f"{found['synthetic']:.5f}"


SEVERAL: dict[str, tuple[str, type[UnderstudyError], str]] = {
    "one of them not there": ("none", MissingFileError, "no such file or folder"),
    "one of them twice": ("trips.csv", UsageError, "a synthetic table is named twice"),
}


@pytest.mark.parametrize("case", SEVERAL)
def test_several_tables_are_looked_for_before_any_is_read(place: Place, case: str) -> None:
    other, error, said = SEVERAL[case]
    told = place.say(*evaluate(place, "trips.csv", other, private="none.csv"))
    assert told.code == error.exit_code
    assert said in told.line


CASES: dict[str, tuple[dict[str, Any], type[UnderstudyError], str]] = {
    "nothing there": ({"synthetic": "none"}, MissingFileError, "none"),
    "a folder of something else": ({"synthetic": "."}, MissingFileError, "is not a release"),
    "no private table": ({"private": "none.csv"}, MissingFileError, "none.csv"),
    "no schema": ({"schema": None}, UsageError, "--schema"),
    "no unit": ({"unit": None}, UsageError, "--unit"),
    "a private table of other columns": ({"private": "P/other.csv"}, MissingColumnError, "'hour'"),
    "synthetic rows of other columns": ({"synthetic": "other.csv"}, MissingColumnError, "'hour'"),
    "half of a trip": ({"place": "colour", "time": "hour"}, UsageError, "got --place, --time"),
    "an edge of one column": (
        {"place": "colour", "time": "hour", "edge": "hour"},
        UsageError,
        "--edge needs two columns (got hour",
    ),
    "a trip of unknown columns": (
        {"place": "color", "time": "hour", "edge": "colour,hour"},
        QuestionError,
        "got color; allowed: colour, hour",
    ),
    "a pie without slices": ({"pie": "hour"}, UsageError, "a pie score needs all of its options"),
    "slices without a pie": ({"slices": "hour"}, UsageError, "--pie COLUMN,COLUMN… --slices"),
    "slices of the pie's own column": (
        {"pie": "colour,hour", "slices": "hour"},
        QuestionError,
        "got pies of colour, hour; slices of hour",
    ),
    "a pie of unknown columns": (
        {"pie": "color, hour", "slices": "colour"},
        QuestionError,
        "got color; allowed: colour, hour",
    ),
    "a target that is not there": (
        {"target": "hour,color"},
        QuestionError,
        "got color; allowed: colour, hour",
    ),
    "no target at all": ({"target": ""}, QuestionError, "columns to predict"),
    "an epsilon of no submission": ({"epsilon": 1}, UsageError, "no column of that name"),
    "a recipe without parameters": ({"recipe": NAME}, UsageError, "--recipe needs --parameters"),
    "an unknown recipe": (
        {"recipe": "soup", "parameters": "x", "schema": None, "unit": None},
        UsageError,
        "unknown recipe",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_evaluated_is_told_in_one_line(place: Place, case: str) -> None:
    changes, error, said = CASES[case]
    (place / "other.csv").write_text("taxi,colour\n1,red\n")
    changes = {
        k: v.replace("P/", f"{place.folder}/") if isinstance(v, str) else v
        for k, v in changes.items()
    }
    told = place.say(*evaluate(place, changes.pop("synthetic", "trips.csv"), **changes))
    assert told.code == error.exit_code
    assert said in told.line
