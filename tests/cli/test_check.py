"""check validates a run and prices it: nothing is spent, and no private row is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.cli.drafted import refused, runfile, table
from tests.cli.place import SCHEMA, Place
from understudy.budget import Currency
from understudy.errors import (
    BudgetError,
    LedgerDamagedError,
    MalformedFileError,
    MissingColumnError,
    MissingFileError,
    SchemaError,
    UnderstudyError,
    UsageError,
)
from understudy.rehearsal import rehearsal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Case = tuple[Callable[[Place], list[str]], type[UnderstudyError], tuple[str, ...]]

pytestmark = pytest.mark.usefixtures("plain_reports")

MOMENTS = (
    SCHEMA
    + """
[columns.when]
kind = "timestamp"
min = "2019-01-01"
max = "2019-12-31"
"""
)
MALFORMED = b'taxi,colour,hour\n1,red\n"a,b\n\xff\xfe,1,2,3,4,5,6\n'


def checking(place: Place, private: str = "trips.csv", **changes: Any) -> list[str]:
    """Write a command line of `check`, which is one of `synth` but for --out."""
    return ["check", *place.synth(private, **{"out": None} | changes)[1:]]


def contents(place: Place) -> dict[str, bytes]:
    """Read all files here."""
    return {p.name: p.read_bytes() for p in place.folder.iterdir() if p.is_file()}


@pytest.fixture
def city(place: Place) -> Place:
    """Make a place with a public table, of the same columns and one more."""
    table(place)
    return place


# What it says


def test_a_run_is_told_in_words(city: Place) -> None:
    asked = checking(city, public=city / "public.csv", epsilon=4, delta=4e-4)
    out = city.fine(*asked).splitlines()
    assert out[:3] == [
        "The private table has the columns of the schema and the unit; none of its rows was read.",
        "Rehearsed on the public table, 120 rows of 30 people, by independent:",
        "  marginal  cells  noise per cell  error by noise alone",
    ]
    assert [line.split()[:2] for line in out[3:5]] == [["colour", "4"], ["hour", "5"]]
    assert out[5] == "  model    0.0 MB"
    assert out[6].startswith("  signal   Of 2 columns: ")
    out = [line for line in out if not line.startswith("  signal")]
    assert out[6].startswith("  error    0.")
    assert " of a pair's rows are in the wrong cell, on average; worst: colour × " in out[6]
    assert out[7] == (
        "  promise  epsilon 4, delta 0.0004, for every taxi with all of its rows; bounded by rows "
        "of a person with more than 4 are weighed down to 4 in all"
    )
    assert out[8] == (
        f"  ledger   {city / 'trips.ledger'} does not exist yet; this run's budget would become "
        "the table's total"
    )
    assert out[9].startswith("  note     Columns are independent")
    assert out[-2] == (
        "  warning  delta times the number of people is 0.012: that many may be revealed "
        "entirely. Choose delta below 3e-04."
    )
    assert out[-1] == (
        "Nothing was spent. On the private table choices may differ; the noise is the same."
    )


def test_the_facts_are_one_object(city: Place) -> None:
    facts = city.facts(*checking(city, public=city / "public.csv"))
    assert list(facts) == [
        "rehearsed_on",
        "people",
        "mechanism",
        "marginals",
        "model_bytes",
        "expected_pair_error",
        "boundings",
        "worst_pairs",
        "quality",
        "signal",
        "constraints",
        "known",
        "crowd",
        "ledger",
        "warnings",
        "notes",
    ]
    assert (facts["people"], facts["mechanism"]) == (30, "independent")
    assert 0 <= facts["expected_pair_error"] <= 1
    assert facts["model_bytes"] > 0
    for marginal in facts["marginals"]:
        assert marginal["counted"] == "rows"
        assert 0 < marginal["error_by_noise"] <= 1


@pytest.mark.parametrize(
    ("changes", "public"),
    [({}, True), ({"delta": 0}, False), ({"bounding": "sample:2"}, False)],
    ids=["public", Currency.PURE, "sample"],
)
def test_noise_and_size_are_those_that_synth_then_has(
    city: Place, changes: dict[str, Any], *, public: bool
) -> None:
    changes = {**changes, "epsilon": 20}
    if public:
        changes["public"] = city / "public.csv"
    facts = city.facts(*checking(city, **changes))
    city.fine(*city.synth(**changes))
    noisy = pd.read_parquet(city / "out" / "measurements.parquet").groupby("clique")
    asked = {" × ".join(m["columns"]): m for m in facts["marginals"]}
    assert set(asked) == set(noisy.groups) == {"colour", "hour"}
    for clique, rows in noisy:
        assert asked[str(clique)]["cells"] == len(rows)
        assert set(rows["standard_error"]) == {asked[str(clique)]["standard_error"]}
    model = us.Release.read(city / "out").model
    assert model is not None
    assert facts["model_bytes"] == sum(t.nbytes for t in model.tables.values())


def test_less_noise_is_less_error(city: Place) -> None:
    errors = []
    for epsilon in (0.01, 1000):
        facts = city.facts(*checking(city, public=city / "public.csv", epsilon=epsilon))
        errors.append((facts["expected_pair_error"], facts["marginals"][0]["error_by_noise"]))
    (much, noise), (little, silence) = errors
    assert 0 <= little < much <= 1
    assert 0 < silence < noise <= 1


def test_the_mechanism_that_is_chosen_is_named(city: Place) -> None:
    facts = city.facts(*checking(city, public=city / "public.csv", mechanism=None, epsilon=20))
    assert facts["mechanism"] == "pairs"


def test_it_says_how_well_people_will_be_known(place: Place) -> None:
    given = checking(place, mechanism=None, bounding="norm", epsilon=20)
    crowd = place.facts(*given)["crowd"]
    off = 1.96 * crowd["people_standard_error"]
    assert abs(crowd["people"] - 10_000) < 3 * off
    assert {"from", "to", "people"} == set(crowd["classes"][0])
    assert f"  people   total within {off:,.0f}, " in place.fine(*given)


def test_without_public_data_it_is_rehearsed_on_drawn_rows_and_says_so(place: Place) -> None:
    facts = place.facts(*checking(place))
    told = "10,000 rows made up, one a person: nothing says what people are like"
    assert facts["rehearsed_on"] == told
    assert (facts["people"], facts["expected_pair_error"]) == (None, None)
    out = place.fine(*checking(place))
    assert f"Rehearsed on {told}, by independent:" in out
    assert "  error  " not in out


def test_a_public_table_that_tells_nobody_apart_does_not_serve(city: Place) -> None:
    (city / "public.csv").write_text("colour,hour\nred,1\nblue,2\n")
    facts = city.facts(*checking(city, public=city / "public.csv"))
    assert facts["rehearsed_on"].startswith("10,000 rows made up")
    rows = {"unit": "each-row", "bounding": "weights:1"}
    facts = city.facts(*checking(city, public=city / "public.csv", **rows))
    assert facts["rehearsed_on"] == "the public table, 2 rows of 2 people"


@pytest.mark.parametrize("public", [True, False], ids=["public", "drawn"])
def test_a_unit_with_a_part_of_a_moment_is_rehearsed_too(city: Place, *, public: bool) -> None:
    (city / "moments.toml").write_text(MOMENTS)
    table(city, "moments.csv")
    more: dict[str, Any] = {"public": city / "public.csv"} if public else {}
    facts = city.facts(
        *checking(city, "moments.csv", schema=city / "moments.toml", unit="taxi,when:week", **more)
    )
    assert facts["people"] == (100 if public else None)
    assert [point["parts"] for point in facts["whole_person"]] == [2, 4, 12, 52]
    assert facts["warnings"][0] == (
        "the unit is finer than a person (taxi × when:week): a person with several units is "
        "protected in each of them, and less in all of them together."
    )


@pytest.mark.parametrize(
    ("delta", "told"),
    [
        (1e-9, "k·mu: epsilon = 12.2 for 10, 274 for 100, 17700 for 1,000, each at delta = 1e-09."),
        (0, "k·epsilon: epsilon = 10 for 10, 100 for 100, 1000 for 1,000."),
    ],
    ids=["gdp", "pure"],
)
def test_a_whole_person_is_priced_where_the_unit_is_a_part(
    city: Place, delta: float, told: str
) -> None:
    rows: dict[str, Any] = {"unit": "each-row", "bounding": "weights:1", "delta": delta}
    (line,) = [x for x in city.fine(*checking(city, **rows)).splitlines() if "k·" in x]
    assert line == (
        "  person   The promise is for one row, which may be only a part of a person. For a person "
        f"with k rows it is weaker, and costs {told}"
    )
    whole = city.facts(*checking(city, **rows))["whole_person"]
    assert [point["parts"] for point in whole] == [10, 100, 1000]
    assert "k·" not in city.fine(*checking(city))


def test_a_run_file_says_it_all(city: Place) -> None:
    run = runfile(city, public="public.csv")
    facts = city.facts("check", run)
    assert facts["people"] == 30
    assert facts["ledger"].startswith(f"{city / 'trips.ledger'} does not exist yet")
    # What only synth needs may be left out.
    city.fine("check", runfile(city, out=None))


def test_a_cap_may_be_chosen_from_public_rows(city: Place) -> None:
    chosen: dict[str, Any] = {
        "public": city / "public.csv",
        "bounding": "weights:public",
        "mechanism": "adagrid",
    }
    out = city.fine(*checking(city, epsilon=9, **chosen))
    assert "weighed down to" in out


# Only the private table's structure is looked at


@pytest.mark.parametrize("rows", [MALFORMED, b"taxi,colour,hour\n"], ids=["malformed", "none"])
def test_rows_are_not_read_so_that_even_malformed_ones_are_no_trouble(
    place: Place, rows: bytes
) -> None:
    (place / "trips.csv").write_bytes(rows)
    place.fine(*checking(place))


def test_malformed_rows_are_refused_only_by_synth(place: Place) -> None:
    (place / "trips.csv").write_bytes(MALFORMED)
    refused(place, place.synth(), MalformedFileError, ())


def test_of_a_parquet_file_only_the_header_is_looked_at(place: Place) -> None:
    path = place / "trips.parquet"
    columns = {"taxi": list(range(9999)), "colour": ["red"] * 9999, "hour": [1] * 9999}
    pq.write_table(pa.table(columns), path, compression="none")
    torn = bytearray(path.read_bytes())
    torn[8 : len(torn) // 2] = bytes(len(torn) // 2 - 8)
    path.write_bytes(torn)
    place.fine(*checking(place, "trips.parquet"))


def test_what_private_rows_hold_changes_nothing(city: Place) -> None:
    asked = ("rehearsed_on", "people", "mechanism", "model_bytes", "ledger")
    first = city.facts(*checking(city))
    (city / "trips.csv").write_text("hour,taxi,more,colour\n" + "9,1,1,green\n" * 50)
    second = city.facts(*checking(city))
    for name in asked:
        assert first[name] == second[name]
    keys = ("columns", "cells", "standard_error")
    told = [[{k: m[k] for k in keys} for m in facts["marginals"]] for facts in (first, second)]
    assert told[0] == told[1]


# Nothing is spent


def test_no_ledger_is_made_and_nothing_is_left_behind(
    city: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    before = contents(city)
    city.fine(*checking(city, public=city / "public.csv"))
    assert contents(city) == before
    assert list(scratch.iterdir()) == []


def test_a_ledger_stays_as_it_is_to_the_byte(place: Place) -> None:
    place.fine("ledger", place / "trips.ledger", "--create", "--epsilon=3", "--delta=1e-6")
    place.fine(*place.synth())
    before, spent = contents(place), place.spent()
    place.fine(*checking(place))
    assert contents(place) == before
    assert place.spent() == spent


def test_what_a_ledger_has_left_is_told(place: Place) -> None:
    path = place / "trips.ledger"
    place.fine("ledger", path, "--create", "--epsilon=1.2", "--delta=1e-6")
    assert place.facts(*checking(place))["ledger"] == (
        f"{path} has epsilon 1.2 at delta 1e-06 left, enough for this run"
    )
    place.fine(*place.synth())
    short = place.facts(*checking(place))["ledger"]
    assert short.startswith(f"{path} has epsilon 0.")
    assert short.endswith(" at delta 1e-06 left: NOT ENOUGH FOR THIS RUN")
    assert f"  ledger   {short[:30]}" in place.fine(*checking(place))
    # Another currency is not enough either, however much of it there is.
    assert "NOT ENOUGH" in place.facts(*checking(place, epsilon=0.1, delta=0))["ledger"]


def test_a_ledger_of_another_table_or_unit_is_told(place: Place) -> None:
    path = place / "trips.ledger"
    place.fine("ledger", path, "--create", "--epsilon=9", "--delta=1e-6")
    place.fine(*place.synth())
    told = f"{path} BELONGS TO ANOTHER TABLE: trips, unit taxi"
    assert place.facts(*checking(place, schema=place / "rides.toml"))["ledger"] == told
    assert place.facts(*checking(place, unit="taxi,hour"))["ledger"] == told


# Warnings


def test_nothing_is_warned_of_without_need(city: Place) -> None:
    facts = city.facts(*checking(city, public=city / "public.csv"))
    assert facts["warnings"] == []
    assert [note.split()[0] for note in facts["notes"]] == ["Columns", "Contributions"]


def test_people_who_were_made_up_say_nothing_of_delta(city: Place) -> None:
    told = "delta times the (noisy) number of people is"
    facts = city.facts(*checking(city, delta=1e-3))
    assert facts["people"] is None
    assert not [note for note in facts["notes"] if note.startswith(told)]
    # Whoever declares how many people there are, or shows them, is warned of them, once.
    for known in ({"people_count": 100, "rows_per_person": 2}, {"public": city / "public.csv"}):
        facts = city.facts(*checking(city, delta=1e-3, **known))
        assert not [note for note in facts["notes"] if note.startswith(told)]
        assert [w for w in facts["warnings"] if w.startswith("delta times the number of people")]
    # The people of a run are counted, here with so little noise that they are not missed.
    city.fine(*city.synth(delta=1e-3, epsilon=50))
    notes = us.Release.read(city / "out").manifest["notes"]
    assert [note for note in notes if note.startswith(told)]


WARNED: dict[str, tuple[dict[str, Any], str]] = {
    "delta is near one in the number of people": (
        {"delta": 0.001, "public": "public.csv"},
        "delta times the number of people is 0.03: that many may be revealed entirely. Choose "
        "delta below 3e-04.",
    ),
    "epsilon is large": (
        {"epsilon": 6},
        "epsilon 6 is a weak promise: one person's rows may make an outcome 403 times as likely.",
    ),
    "epsilon is beyond numbers": (
        {"epsilon": 1000, "delta": 0},
        "epsilon 1000 is a weak promise: one person's rows may make an outcome 1.01e+304 times ",
    ),
    "each row is a person, and there are ids": (
        {"unit": "each-row", "bounding": "weights:1"},
        "each row is treated as one person, but the schema has ids (taxi): a person with several "
        "rows has row-level protection only. Should the unit be the id?",
    ),
    "the unit has a column that is modelled": (
        {"unit": "taxi,hour"},
        "the unit is finer than a person (taxi × hour): a person with several units is protected "
        "in each of them, and less in all of them together.",
    ),
}


@pytest.mark.parametrize("case", WARNED)
def test_a_doubtful_promise_is_warned_of(city: Place, case: str) -> None:
    changes, said = WARNED[case]
    here: dict[str, Any] = {k: city / v if k == "public" else v for k, v in changes.items()}
    facts = city.facts(*checking(city, **here))
    assert sum(w.startswith(said) for w in facts["warnings"]) == 1


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"epsilon": 5}, "is a weak promise"),
        ({"delta": 3e-4, "public": "P"}, "delta times the num"),
    ],
)
def test_at_the_very_edge_nothing_is_said(city: Place, changes: dict[str, Any], word: str) -> None:
    here: dict[str, Any] = {k: city / "public.csv" if v == "P" else v for k, v in changes.items()}
    facts = city.facts(*checking(city, **here))
    assert not any(word in w for w in facts["warnings"])


def test_a_large_model_is_warned_of(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "LARGE", 1)
    facts = place.facts(*checking(place))
    assert "the model takes 0.0 GB: choose smaller cliques." in facts["warnings"]


# What is refused


def asking(private: str = "trips.csv", **changes: Any) -> Callable[[Place], list[str]]:
    return lambda place: checking(place, private, **changes)


def with_table(content: bytes, name: str = "t.csv") -> Callable[[Place], list[str]]:
    def make(place: Place) -> list[str]:
        (place / name).write_bytes(content)
        return checking(place, name)

    return make


def with_public(content: str) -> Callable[[Place], list[str]]:
    def make(place: Place) -> list[str]:
        (place / "p.csv").write_text(content)
        return checking(place, public=place / "p.csv", unit="each-row", bounding="weights:1")

    return make


def no_ledger(place: Place) -> list[str]:
    (place / "other.ledger").write_text("this is no ledger, but long enough\n" * 99)
    return checking(place, ledger=place / "other.ledger")


LACKING = "the table lacks columns that the schema or the unit names"
REFUSED: dict[str, Case] = {
    "a table that lacks a column": (
        with_table(b"taxi,Colour,hour\n1,red,2\n"),
        MissingColumnError,
        (LACKING, "got no 'colour'", "Hint: names must match exactly"),
    ),
    "a table that lacks the unit": (
        with_table(b"colour,hour\nred,2\n"),
        MissingColumnError,
        (LACKING, "got no 'taxi'"),
    ),
    "a parquet file that is none": (
        with_table(b"PAR1", "t.parquet"),
        MalformedFileError,
        ("the table is malformed", "or Parquet"),
    ),
    "a table without a header": (
        with_table(b"\xff\xfe\n"),
        MalformedFileError,
        ("does not begin with a line of distinct column names",),
    ),
    "an empty table": (with_table(b""), MalformedFileError, ("does not begin with a line",)),
    "a table that is not there": (asking("none.csv"), MissingFileError, ("there is no file",)),
    "a public table that is not there": (
        asking(public="none.csv"),
        MissingFileError,
        ("there is no file none.csv",),
    ),
    "a public table that lacks a column": (
        with_public("taxi,hour\n1,2\n"),
        MissingColumnError,
        (LACKING, "got no 'colour'"),
    ),
    "a public table without rows": (
        with_public("taxi,colour,hour\n"),
        UsageError,
        ("the public table has no rows that the schema can read",),
    ),
    "a schema that is not there": (
        asking(schema="none.toml"),
        MissingFileError,
        ("cannot read the schema file none.toml",),
    ),
    "a schema of no columns": (asking(schema="/dev/null"), SchemaError, ("",)),
    "a ledger that is none": (no_ledger, LedgerDamagedError, ("ledger",)),
    "no epsilon": (asking(epsilon=0), BudgetError, ("epsilon must be positive",)),
    "norm without a delta": (
        asking(bounding="norm", delta=0),
        BudgetError,
        ("Norm bounds contributions in L2, but pure epsilon-DP needs an L1 bound",),
    ),
    "a bounding of no kind": (asking(bounding="none"), BudgetError, ("unknown bounding",)),
    "a mechanism of no name": (asking(mechanism="magic"), UsageError, ("got magic",)),
    "settings of no mechanism": (
        asking(settings="none.toml"),
        MissingFileError,
        ("cannot read the settings file none.toml",),
    ),
    "a cap by public rows and none of them": (
        asking(bounding="weights:public", mechanism="adagrid"),
        UsageError,
        ("weights:public needs a public table to choose the cap from",),
    ),
    "a cap by a mechanism that chooses none": (
        asking(bounding="weights:public", public="p.csv"),
        UsageError,
        ("weights:public needs a mechanism that can choose a cap",),
    ),
    "options left out": (
        lambda p: ["check", str(p / "trips.csv"), "--unit=taxi", "--delta=0"],
        UsageError,
        (
            "the following arguments are required without --recipe: "
            "--schema, --bounding, --epsilon, --ledger",
            "Hint: understudy check --help; or set them in a run file: understudy init --help",
        ),
    ),
    "keys left out": (
        lambda p: ["check", str(runfile(p, unit=None))],
        UsageError,
        ("the following arguments are required without --recipe: --unit",),
    ),
    "an option of synth only": (
        lambda p: [*checking(p), "--out=x"],
        UsageError,
        ("unrecognized arguments: --out=x",),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_checked_is_told_in_one_line(place: Place, case: str) -> None:
    make, kind, said = REFUSED[case]
    refused(place, make(place), kind, said)


def test_a_refusal_is_said_before_anything_is_rehearsed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    told = place.say(*checking(place, "none.csv"))
    assert "reading the private table's header" in told.err
    assert "rehearsal" not in told.err
    assert "rehearsal: measuring marginals" in place.say(*checking(place)).err
    assert json.loads(place.say(*checking(place, "none.csv"), "--json").line)["exit_code"] == 3


def test_a_column_that_the_public_table_is_not_read_by_is_warned_of(place: Place) -> None:
    public = place / "public.csv"
    public.write_text("taxi,colour,hour\n" + "".join(f"{i},mauve,{i % 4}\n" for i in range(50)))
    told = place.fine("check", runfile(place, public="public.csv", epsilon=9))
    assert "warning  100% of the public rows have no value of colour" in told


def of_colours(place: Place, colours: list[str], **keys: Any) -> list[str]:
    """Check a run with a public table of these colours, and return the warnings of them."""
    schema = SCHEMA.replace(
        'values = ["red", "blue"]', 'values = ["red", "blue"]\n' + keys.pop("more", "")
    )
    (place / "schema.toml").write_text(schema)
    rows = "".join(f"{i},{colours[i % len(colours)]},{i % 4}\n" for i in range(100))
    (place / "public.csv").write_text("taxi,colour,hour\n" + rows)
    facts = place.facts("check", runfile(place, public="public.csv", epsilon=9))
    return [w.partition(":")[0] for w in facts["warnings"] if "colour" in w]


def test_nulls_of_a_column_that_may_be_missing_are_not_undeclared_values(place: Place) -> None:
    assert of_colours(place, ["", "", "NA", "red"]) == []
    assert of_colours(place, [""]) == []
    # Of the values that are there, most are not declared.
    assert of_colours(place, ["", "", "NA", "mauve", "mauve", "red"]) == [
        "67% of the public rows with a value of colour have one that the schema does not declare"
    ]
    assert of_colours(place, ["", "", "NA", "mauve", "red"], more='outside = "other"') == []


def test_nulls_of_a_column_that_must_not_be_missing_are_warned_of(place: Place) -> None:
    told = of_colours(place, ["", "", "NA", "red"], more='missing = false\noutside = "other"')
    assert told == ["75% of the public rows have no value of colour that the schema declares"]


def test_dates_of_another_format_are_undeclared_values_beside_nulls(place: Place) -> None:
    (place / "schema.toml").write_text(MOMENTS)
    days = ("03.04.2019", "", "2019-04-03")
    for shown, warned in (((0, 0, 1), 1), ((2, 1, 1), 0)):
        rows = "".join(f"{i},red,{i % 4},{days[shown[i % 3]]}\n" for i in range(99))
        (place / "public.csv").write_text("taxi,colour,hour,when\n" + rows)
        (place / "trips.csv").write_text("taxi,colour,hour,when\n")
        facts = place.facts("check", runfile(place, public="public.csv", epsilon=9))
        of_days = [w for w in facts["warnings"] if "a value of when have one" in w]
        assert len(of_days) == warned


def test_the_private_table_is_not_rehearsed_on(place: Place) -> None:
    told = place.say("check", runfile(place, public="trips.csv"))
    assert told.code == 2
    assert "the private table is named as the public one" in told.line


# People made up from what is declared


def crowd_check(place: Place, bounding: str, *more: str) -> dict[str, Any]:
    asked = [a for a in place.synth(bounding=bounding, epsilon=2) if not a.startswith("--out")]
    facts: dict[str, Any] = place.facts("check", *asked[1:], *more)
    return facts


def test_without_public_people_check_says_that_it_cannot_tell(place: Place) -> None:
    facts = crowd_check(place, "norm")
    assert any("cannot tell" in warning for warning in facts["warnings"])
    assert facts["expected_pair_error"] is None
    assert facts["boundings"] == {}


def test_people_made_up_rank_boundings_by_what_would_come_out(place: Place) -> None:
    """A cap of one row of fifty loses most rows, and one of 5,000 drowns them in noise."""
    like = ("--people-count=400", "--rows-per-person=50")
    wide = crowd_check(place, "weights:5000", *like)
    assert wide["rehearsed_on"] == "400 people made up, with 50 rows each on average"
    assert set(wide["boundings"]) == {"weights:25", "weights:50", "norm"}
    assert wide["expected_pair_error"] > 3 * min(wide["boundings"].values())
    assert not any("cannot tell" in warning for warning in wide["warnings"])
    told = place.fine(
        "check",
        *(a for a in place.synth(bounding="weights:5000", epsilon=2)[1:] if "--out" not in a),
        *like,
    )
    (line,) = (line for line in told.splitlines() if line.startswith("  compared "))
    ranked = line.removeprefix("  compared ").partition(": that error by bounding")[0].split(", ")
    assert not ranked[0].startswith("weights:5000 ")
    assert any(each.startswith("weights:5000 ") for each in ranked)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--people-count=5"], "both their number and their rows"),
        (["--people-count=0", "--rows-per-person=3"], "cannot make up such people"),
        (["--people-count=2000000", "--rows-per-person=3"], "at most 1,000,000 rows"),
    ],
)
def test_people_that_cannot_be_made_up(place: Place, options: list[str], said: str) -> None:
    asked = [a for a in place.synth() if not a.startswith("--out")]
    refused(place, ["check", *asked[1:], *options], UsageError, (said,))
