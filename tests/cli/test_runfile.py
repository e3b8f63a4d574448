"""Run files: every key is an option, and an option is in the place of its key."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from tests.cli.drafted import refused, runfile, table, written
from tests.cli.place import Place
from tests.contests.people import census_files, excerpt_files, read_rows
from understudy.cli.arguments import _OF_A_RECIPE
from understudy.cli.main import parser
from understudy.cli.runfile import _KINDS, with_runfile
from understudy.errors import (
    BudgetError,
    MissingFileError,
    OutputExistsError,
    UnderstudyError,
    UsageError,
)
from understudy.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    Case = tuple[Callable[[Place], list[str]], type[UnderstudyError], tuple[str, ...]]

pytestmark = pytest.mark.usefixtures("plain_reports")

EVERY: dict[str, Any] = {
    "public": "public.csv",
    "null_ids": "one",
    "format": "csv",
    "bounding": "sample:3",
    "epsilon": 30.5,
    "settings": {"people_share": 0.25},
}
"""Keys that are not those of the place's own run file."""


def request(place: Place, name: str = "trips.ledger") -> dict[str, Any]:
    """Give what the last run in a ledger was asked."""
    with closing(Ledger(place / name)) as ledger:
        state = ledger.state()
    run = state.runs[max(state.runs)]
    return {**run.request, "budget": run.budget.to_dict(), "unit": state.unit}


# All that it may say


def test_a_run_file_says_all_that_synth_needs(place: Place) -> None:
    table(place)
    out = place.fine("synth", runfile(place, **EVERY))
    assert f"synthetic rows in {place / 'out'}\n" in out
    assert (place / "out" / "rows.csv").exists()
    asked = request(place)
    assert asked["budget"] == {"epsilon": 30.5, "delta": 1e-6}
    assert asked["bounding"] == {"kind": "sample", "cap": 3}
    assert asked["mechanism"]["name"] == "independent"
    assert asked["mechanism"]["settings"]["people_share"] == 0.25
    assert asked["note"]["public"] == str(place / "public.csv")
    assert asked["note"]["private"] == str(place / "trips.csv")
    assert asked["unit"].nulls == "one"


def test_a_run_file_is_the_same_run_as_its_options(place: Place) -> None:
    place.fine("synth", runfile(place, epsilon=50))
    place.fine(*place.synth(epsilon=50, ledger=place / "b.ledger", out=place / "b"))
    one, other = request(place), request(place, "b.ledger")
    for asked in (one, other):
        del asked["sampling_seed"], asked["note"]["out"]
    assert one == other


def test_every_key_is_an_option_of_synth() -> None:
    options = vars(parser().parse_args(["synth", "x.toml"]))
    # A table of people is part of what is private: private = {people = …, rows = …}.
    assert set(_KINDS) == set(options) - {"command", "json", "quiet", "verbose", "people"}


def test_an_option_is_in_the_place_of_its_key(place: Place) -> None:
    table(place)
    (place / "mine.toml").write_text("people_share = 0.5\n")
    said = {
        "schema": place / "rides.toml",
        "unit": "taxi,hour",
        "null_ids": "drop",
        "bounding": "weights:2",
        "epsilon": 40,
        "delta": 1e-7,
        "ledger": place / "mine.ledger",
        "settings": place / "mine.toml",
        "out": place / "mine",
        "format": "parquet",
    }
    options = [f"--{name.replace('_', '-')}={value}" for name, value in said.items()]
    place.fine("synth", runfile(place, **EVERY), *options)
    assert place.names() >= {"mine", "mine.ledger"}
    assert not place.names() & {"out", "trips.ledger"}
    assert (place / "mine" / "rows.parquet").exists()
    asked = request(place, "mine.ledger")
    assert asked["budget"] == {"epsilon": 40, "delta": 1e-7}
    assert asked["bounding"] == {"kind": "weights", "cap": 2}
    assert asked["schema"]["name"] == "rides"
    assert asked["mechanism"]["settings"]["people_share"] == 0.5
    assert str(asked["unit"]) == "taxi × hour"
    assert asked["unit"].nulls == "drop"
    told = place.say("synth", runfile(place, "m.toml"), "--mechanism=magic")
    assert "got magic" in told.line


def test_a_delta_of_0_is_in_the_place_of_one_above(place: Place) -> None:
    facts = place.facts("synth", runfile(place, epsilon=50), "--delta=0")
    assert facts["guarantee"]["delta"] == 0
    assert facts["guarantee"]["accounting"] == "pure epsilon"
    # And a file may say it too.
    other = runfile(place, epsilon=50, delta=0, ledger="b.ledger", out="b")
    assert place.facts("synth", other)["guarantee"]["delta"] == 0


def test_settings_of_a_file_are_in_the_place_of_the_tables(place: Place) -> None:
    told = place.say("synth", runfile(place, settings={"magic": 1}))
    assert "independent has no such setting (got magic" in told.line
    (place / "empty.toml").write_text("")
    place.fine("check", runfile(place, settings={"magic": 1}), f"--settings={place / 'empty.toml'}")


def test_a_mark_at_its_beginning_is_no_trouble(place: Place) -> None:
    path = runfile(place)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    place.fine("check", path)


# Where its files are


@pytest.mark.parametrize("stands", ["/", "place", "inner"])
def test_paths_are_relative_to_the_file_wherever_one_stands(
    place: Place, monkeypatch: pytest.MonkeyPatch, stands: str
) -> None:
    table(place)
    (place / "inner").mkdir()
    inside = {
        name: f"../{file}"
        for name, file in (
            ("private", "trips.csv"),
            ("public", "public.csv"),
            ("schema", "schema.toml"),
        )
    }
    path = runfile(place, "inner/run.toml", epsilon=50, **inside)
    folder = {"/": Path("/"), "place": place.folder, "inner": place / "inner"}[stands]
    monkeypatch.chdir(folder)
    named = path if stands == "/" else path.relative_to(folder)
    place.fine("synth", named)
    assert {p.name for p in (place / "inner").iterdir()} == {"run.toml", "trips.ledger", "out"}


def test_options_are_relative_to_where_one_stands(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "inner").mkdir()
    monkeypatch.chdir(place / "inner")
    runfile(place, epsilon=50)
    place.fine("synth", "../run.toml", "--out=mine")
    assert (place / "inner" / "mine").is_dir()
    assert (place / "trips.ledger").exists()


def test_tables_of_databases_are_placed_where_they_are_files(place: Place) -> None:
    server = "postgresql://ada@localhost/city#trips"
    for table_name, meant in (
        ("sqlite:city.db#trips", f"sqlite:{place / 'city.db'}#trips"),
        ("sqlite:/far/city.db#trips", "sqlite:/far/city.db#trips"),
        (server, server),
        ("/far/trips.csv", "/far/trips.csv"),
        ("trips.csv", str(place / "trips.csv")),
    ):
        options = parser().parse_args(["synth", str(runfile(place, private=table_name))])
        with_runfile(options)
        assert options.private == meant


def test_a_run_of_a_run_file_is_resumed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.folder)
    runfile(place, format="csv", epsilon=50)
    place.fine("synth", "run.toml")
    rows, spent = (place / "out" / "rows.csv").read_text(), place.spent()
    for path in (place / "out").iterdir():
        path.unlink()
    (place / "out").rmdir()
    monkeypatch.chdir("/")
    place.fine("resume", place / "trips.ledger")
    assert sorted((place / "out" / "rows.csv").read_text().split()) == sorted(rows.split())
    assert place.spent() == spent


def test_a_second_run_does_not_overwrite_the_first(place: Place) -> None:
    path = runfile(place, epsilon=50)
    place.fine("synth", path)
    refused(place, ["synth", str(path)], OutputExistsError, ("out exists already",))


# Recipes


def test_a_recipe_in_a_run_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {name: Path(file).name for name, file in excerpt_files(place.folder, 60).items()}
    path = place / "acs.toml"
    path.write_text(written({**asked, "recipe": "acs-2019", "noise": "laplace"}))
    monkeypatch.chdir("/")
    facts = place.facts("synth", path)
    assert facts["files"] == [str(place / "submission.csv")]
    (run,) = facts["runs"]
    assert (run["guarantee"]["epsilon"], run["guarantee"]["delta"]) == (1, 0)
    assert facts["ledger"]["file"] == str(place / "acs.ledger")
    # An option is in the place of a key here too.
    more = [f"--{name}={place / name}" for name in ("ledger", "out")]
    facts = place.facts("synth", path, "--epsilon=2", "--delta=1e-6", "--noise=gaussian", *more)
    assert facts["runs"][0]["guarantee"]["delta"] == 1e-6


def census(place: Place, **keys: Any) -> Path:
    """Write a run file of the recipe census-1940."""
    asked = census_files(place.folder, 60)
    groups = {column: Path(file).name for column, file in asked.pop("groups").items()}
    told = {name: Path(file).name for name, file in asked.items()}
    budget = {"epsilon": 2, "delta": 1e-6}
    path = place / "census.toml"
    given = {**told, **budget, "recipe": "census-1940", "groups": groups, **keys}
    path.write_text(written({k: v for k, v in given.items() if v is not None}))
    return path


def test_code_lists_and_groups_of_a_run_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    path = census(place)
    monkeypatch.chdir("/")
    assert "rows at epsilon 2, delta 1e-06" in place.fine("synth", path)
    header, _ = read_rows(place / "1940.csv")
    assert read_rows(place / "submission.csv")[0] == header
    manifest = json.loads((place / "submission.csv.manifest.json").read_text())
    assert "CITY" in manifest["runs"][0]["mechanism"]["support"]


def test_groups_of_the_command_line_are_in_the_place_of_the_tables(place: Place) -> None:
    told = place.say("synth", census(place), "--groups=CITY=none.json")
    assert told.code == MissingFileError.exit_code
    assert "none.json" in told.line


@pytest.mark.parametrize(("said", "more"), [(True, []), (False, ["--published"])])
def test_a_noise_that_is_as_published(place: Place, said: bool, more: list[str]) -> None:
    out = place.fine("synth", census(place, published=said, lists=None, groups={}), *more)
    assert "synthetic rows in" in out
    manifest = json.loads((place / "submission.csv.manifest.json").read_text())
    assert manifest["published"] is True


# What is refused


def of(content: str | bytes, *more: str) -> Callable[[Place], list[str]]:
    def make(place: Place) -> list[str]:
        path = place / "run.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return ["synth", str(path), *more]

    return make


def keyed(*more: str, **keys: Any) -> Callable[[Place], list[str]]:
    return lambda place: ["synth", str(runfile(place, **keys)), *more]


def folder(place: Place) -> list[str]:
    (place / "f.toml").mkdir()
    return ["synth", str(place / "f.toml")]


def wrong(name: str, value: Any, got: str, allowed: str) -> Case:
    said = (f"run.toml: invalid value for {name} (got {got}; allowed: {allowed})",)
    return keyed(**{name: value}), UsageError, said


REFUSED: dict[str, Case] = {
    "an unknown key": (
        keyed(epsylon=1),
        UsageError,
        (
            "run.toml has an unknown key",
            "got epsylon; allowed: private, public, schema, ",
            ", epsilon, delta, screening, published, i_know, settings, groups",
            "Hint: did you mean 'epsilon'?",
        ),
    ),
    "an option of another command": (keyed(json=True), UsageError, ("got json; allowed: ",)),
    "an option by its letters": (of('null-ids = "drop"'), UsageError, ("got null-ids",)),
    "a number for a text": wrong("unit", 3, "3", "a string"),
    "a list for a text": wrong("unit", ["taxi"], "['taxi']", "a string"),
    "a text for a number": wrong("epsilon", "1", "'1'", "a number"),
    "a truth for a number": wrong("delta", True, "True", "a number"),
    "a truth for a text": wrong("unit", False, "False", "a string"),
    "a truth for a table": wrong(
        "public", False, "False", "a string, or {people = …, rows = …}"
    ),
    "a number for a truth": wrong("published", 1, "1", "true or false"),
    "a text for a table": wrong("settings", "s.toml", "'s.toml'", "a table"),
    "a list for a table": wrong("groups", ["CITY=x"], "['CITY=x']", "a table"),
    "a form of no kind": wrong("format", "xlsx", "'xlsx'", "'parquet' or 'csv'"),
    "a rule of no kind": wrong("null_ids", "each", "'each'", "'drop' or 'one'"),
    "a noise of no kind": wrong("noise", "pink", "'pink'", "'laplace' or 'gaussian'"),
    "no private table": (
        keyed(private=None),
        UsageError,
        ("run.toml names no private table", 'allowed: private = "FILE"', "Hint: add the line"),
    ),
    "nothing at all": (of(""), UsageError, ("run.toml names no private table",)),
    "a file that is not there": (
        lambda p: ["synth", str(p / "none.toml")],
        MissingFileError,
        ("cannot read the run file", "none.toml"),
    ),
    "a folder": (
        folder,
        MissingFileError,
        ("cannot read the run file", "f.toml"),
    ),
    "a file that does not parse": (
        of("private = ["),
        UsageError,
        ("run.toml does not parse", "allowed: TOML: name = value"),
    ),
    "a key that is said twice": (
        of('unit = "a"\nunit = "b"\n'),
        UsageError,
        ("run.toml does not parse",),
    ),
    "a file of no text": (
        of(b"\xff\xfe"),
        UsageError,
        ("run.toml does not parse", "got not UTF-8 text"),
    ),
    "keys left out": (
        of('private = "trips.csv"\nunit = "taxi"\ndelta = 0'),
        UsageError,
        (
            "the following arguments are required without --recipe: "
            "--schema, --bounding, --epsilon, --ledger, --out",
            "Hint: understudy synth --help; or set them in a run file: understudy init --help",
        ),
    ),
    "keys of a recipe left out": (
        of('private = "trips.csv"\nrecipe = "acs-2019"'),
        UsageError,
        ("required with --recipe: --parameters, --ledger, --out",),
    ),
    "a recipe's key without a recipe": (
        keyed(lists="x.json"),
        UsageError,
        ("options that need --recipe", "got --lists"),
    ),
    "a recipe that is published, without one": (
        keyed(published=True),
        UsageError,
        ("options that need --recipe", "got --published"),
    ),
    "a key that is the recipe's own": (
        of(written(dict.fromkeys(("private", "unit", *_OF_A_RECIPE, "recipe"), "x"))),
        UsageError,
        ("options that the recipe or --parameters sets", "got --unit"),
    ),
    "an epsilon of nothing": (keyed(epsilon=0), BudgetError, ("epsilon must be positive", "got 0")),
    "an epsilon that is no number": (
        of('private="trips.csv"\nepsilon=nan\n' + written(
            {"schema": "schema.toml", "unit": "taxi", "bounding": "norm", "delta": 1e-6,
             "ledger": "l", "out": "o"}
        )),
        BudgetError,
        ("epsilon must be positive", "got nan"),
    ),
    "a mechanism of no name": (keyed(mechanism="magic"), UsageError, ("got magic",)),
    "a setting of no name": (
        keyed(settings={"magic": 1}),
        UsageError,
        ("independent has no such setting", "got magic"),
    ),
    "a private table that is not there": (
        keyed(private="none.csv"),
        MissingFileError,
        ("there is no file", "place/none.csv"),
    ),
    "a private table that is a run file": (
        keyed(private="run.toml"),
        MissingFileError,
        ("run.toml", "allowed: .csv"),
    ),
    "a schema that is not there": (
        keyed(schema="none.toml"),
        MissingFileError,
        ("cannot read the schema file", "place/none.toml"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_run_file_that_cannot_be_is_told_in_one_line(place: Place, case: str) -> None:
    make, kind, said = REFUSED[case]
    arguments = make(place)
    refused(place, arguments, kind, said)


def test_check_rehearses_a_recipe_of_a_run_file(place: Place) -> None:
    facts = place.facts("check", census(place))
    assert facts["recipe"] == "census-1940"
    assert all(run["mechanism"] == "tworound" for run in facts["runs"])


def test_frames_are_as_the_file_says(place: Place) -> None:
    place.fine("synth", runfile(place, epsilon=200, unit="each-row", bounding="weights:1"))
    rows = pd.read_parquet(place / "out" / "rows.parquet")
    assert list(rows.columns) == ["colour", "hour"]
    assert 60 < len(rows) < 180
