"""The discover command: from a private file to a release, without a line written by hand."""

from __future__ import annotations

import csv
import tomllib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import THOROUGH, effort
from understudy.errors import (
    BudgetError,
    BudgetExhaustedError,
    LedgerMismatchError,
    MissingColumnError,
    OutputExistsError,
    UsageError,
)
from understudy.ledger import Ledger
from understudy.schema import Categorical, Schema, Text
from understudy.session import discovered
from understudy.synth.discovery import Discovery
from understudy.synth.screening import SHARE
from understudy.vault import PrivateDoor

if TYPE_CHECKING:
    from tests.cli.place import Place

pytestmark = pytest.mark.usefixtures("plain_reports")

ODD = ("it's", '"q"', "<b>&", "[red]x[/]", "a\\n", "日本", "#c", "E11.9")
BUDGET = us.Budget(epsilon=6.0, delta=2e-6, failure=1e-6)
TOTAL = us.Budget(epsilon=20.0, delta=4e-6, failure=1e-6)
QUICKLY = () if THOROUGH else ("--mechanism=independent",)
"""What the draft says chooses a mechanism, which takes its time; an audit does as it says."""


def visits(path: Path, people: int = 400) -> Path:
    """Write a private table: odd codes, numbers, days and a few values that only one person has."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["patient", "code", "lab", "day", "kept"])
        for i in range(people):
            for _ in range(3):
                code = ODD[int(rng.integers(len(ODD)))]
                day = np.datetime64("2020-01-10") + int(rng.integers(90))
                out.writerow([f"p{i}", code, f"{rng.normal(50, 9):.1f}", day, i % 2])
            out.writerow([f"p{i}", f"only {i}", "", "", i % 2])
    return path


def command(place: Place, **changes: Any) -> list[str]:
    options: dict[str, Any] = {
        "unit": "patient",
        "epsilon": BUDGET.epsilon,
        "delta": BUDGET.delta,
        "failure": BUDGET.failure,
        "ledger": place / "v.ledger",
        "total": TOTAL.epsilon,
        "out": place / "drafted",
    }
    given = {k: v for k, v in (options | changes).items() if v is not None}
    return ["discover", str(place / "visits.csv"), *(f"--{k}={v}" for k, v in given.items())]


@pytest.fixture
def there(place: Place) -> Place:
    visits(place / "visits.csv")
    (place / "drafted").mkdir()
    return place


@pytest.mark.usefixtures("whole_reports")
def test_from_a_private_file_to_a_report_without_a_line_by_hand(there: Place) -> None:
    shown = there.fine(*command(there, epsilon=9))
    assert "only 1" not in shown
    text = (there / "drafted" / "schema.toml").read_text(encoding="utf-8")
    schema = Schema.read(there / "drafted" / "schema.toml")
    code = schema["code"]
    assert isinstance(code, Categorical)
    assert set(code.values) == set(ODD)
    assert "run 1 of the ledger" in text
    assert text.count("# Cost: ") == 4
    assert text.count("# about ") == 4
    assert "only 1" not in text
    assert [c.kind for c in schema.columns] == [
        *("id", "categorical", "numeric", "timestamp", "integer")
    ]
    # What a person has in all rows is their own, and what differs in time orders these.
    assert (schema.own, schema.order_by) == (("kept",), ("day",))
    assert "# Rows of a person are put in order: " in text
    drafted = tomllib.loads((there / "drafted" / "understudy.toml").read_text(encoding="utf-8"))
    assert [drafted[k] for k in ("unit", "screening", "mechanism")] == ["patient", SHARE, "auto"]
    there.fine("check", there / "drafted" / "understudy.toml", *QUICKLY)
    there.fine("synth", there / "drafted" / "understudy.toml", "--format", "csv", *QUICKLY)
    out = there / "drafted" / "visits-release"
    with (out / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["code"] for row in rows} <= {*ODD, "", "(other)"}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<b>&" not in page.replace("<b>&amp;", "")
    facts = there.facts("ledger", there / "v.ledger", "--verify", out)
    assert facts["agrees"] is True
    # The release's schema was discovered: both runs are promised together.
    manifest = us.Release.read(out).manifest
    assert manifest["guarantee"]["epsilon"] > max(BUDGET.epsilon, drafted["epsilon"])
    assert manifest["guarantee"]["failure"] >= BUDGET.failure
    assert any("run 1 of the ledger discovered" in note for note in manifest["notes"])
    assert [run["mechanism"] for run in facts["runs_without_manifest"]] == ["discover"]
    # A discovery is not resumed as a release.
    told = there.say("resume", there / "v.ledger", "--run", "1", "--out", there / "release")
    assert told.code == UsageError.exit_code
    assert "repeat 'understudy discover'" in told.line


def test_people_may_have_a_table_of_their_own(there: Place) -> None:
    """Columns of either table are asked for; a name that both have is told apart."""
    with (there / "patients.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["patient", "sex", "day"])
        out.writerows([f"p{i}", "FM"[i % 2], f"19{50 + i % 40}-06-07"] for i in range(500))
    there.fine(*command(there), "--people", there / "patients.csv")
    schema = Schema.read(there / "drafted" / "schema.toml")
    assert [c.name for c in schema.columns] == [
        *("patient", "sex", "day_of_person", "code", "lab", "day", "kept")
    ]
    assert schema.own[0] == "sex"
    assert "kept" not in schema.own
    (born, _) = schema.timestamps
    assert (born.source, born.of, born.min[:2]) == ("day", "person", "19")
    drafted = tomllib.loads((there / "drafted" / "understudy.toml").read_text(encoding="utf-8"))
    named = {"people": str(there / "patients.csv"), "rows": str(there / "visits.csv")}
    assert drafted["private"] == named
    # The range that was discovered of so few days of birth leaves most of them out.
    asked = ("--format", "csv", "--screening", "0")
    there.fine("synth", there / "drafted" / "understudy.toml", *asked, *QUICKLY)
    made = us.Release.read(there / "drafted" / "visits-release")
    assert list(made.people.columns) == ["patient", "sex", "day_of_person"]
    assert set(made.rows["patient"]) <= set(made.people["patient"])
    # People without rows are made by Lives.
    assert QUICKLY or len(made.people) > made.rows["patient"].nunique()


def test_of_two_tables_each_must_have_what_is_named_of_it(there: Place) -> None:
    (there / "patients.csv").write_text("patient,sex\np1,F\n")
    for column, told in (
        ('[columns.code]\nkind = "text"\nof = "person"\n', "no 'code'"),
        ('[columns.sex]\nkind = "text"\n', "no 'sex'"),
        ('[columns.colour]\nkind = "ignored"\n[columns.lab]\nkind = "text"\n', "no 'colour'"),
        ('[columns.sex]\nkind = "text"\nof = "nobody"\n', "unknown owner"),
    ):
        (there / "partial.toml").write_text(f'name = "v"\n{column}')
        words = command(there, schema=there / "partial.toml", people=there / "patients.csv")
        assert told in there.say(*words).line
    assert not (there / "v.ledger").exists()


def test_columns_of_a_partial_schema_are_not_asked_about(there: Place) -> None:
    partial = 'name = "v"\n[columns.lab]\nkind = "numeric"\nmin = 0\nmax = 99\nbins = 3\n'
    (there / "partial.toml").write_text(partial + '[columns.kept]\nkind = "ignored"\n')
    facts = there.facts(*command(there, schema=there / "partial.toml", name="v", epsilon=4))
    assert [c["column"] for c in facts["columns"]] == ["code", "day"]
    assert facts["warnings"] == []
    schema = Schema.read(there / "drafted" / "schema.toml")
    assert schema["lab"].size == 4
    asked = there.facts("ledger", there / "v.ledger")["runs"][0]["questions"]
    assert not any("lab" in question["asked"] for question in asked)


def test_prefixes_of_a_partial_schema_are_asked_for_and_rows_keep_them(there: Place) -> None:
    partial = 'name = "visits"\n[columns.code]\nkind = "text"\nprefixes = [4, 1]\n'
    (there / "partial.toml").write_text(partial)
    there.fine(*command(there, schema=there / "partial.toml"))
    text = (there / "drafted" / "schema.toml").read_text(encoding="utf-8")
    assert "prefixes = [4, 1]" in text
    assert "of length 4 reach" in text
    code = Schema.read(there / "drafted" / "schema.toml")["code"]
    assert isinstance(code, Categorical)
    # Everybody has an "only 1", "only 2", …, which nobody else has.
    assert set(code.values) == {*ODD, "only"}
    there.fine("synth", there / "drafted" / "understudy.toml", "--format", "csv", *QUICKLY)
    out = there / "drafted" / "visits-release"
    with (out / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = [row["code"] for row in csv.DictReader(file)]
    assert set(rows) <= {*ODD, "only", "", "(other)"}
    assert 0.15 < rows.count("only") / len(rows) < 0.35
    assert Schema.read(out / "schema.toml")["code"] == code


def test_a_file_in_latin_1_is_read_so_if_it_is_said(there: Place) -> None:
    with (there / "visits.csv").open("w", newline="", encoding="latin-1") as file:
        out = csv.writer(file)
        out.writerow(["patient", "größe"])
        out.writerows([f"p{i}", "Köln" if i % 2 else "Düren"] for i in range(400))
    assert there.say(*command(there)).code == 4
    there.fine(*command(there, encoding="latin-1"))
    schema = Schema.read(there / "drafted" / "schema.toml")
    assert schema.encoding == "latin-1"
    assert schema["größe"] == Categorical(name="größe", values=("Düren", "Köln"))


def test_dates_of_another_format_are_mentioned_and_can_be_declared(there: Place) -> None:
    with (there / "visits.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, delimiter=";")
        out.writerow(["patient", "day", "sure"])
        out.writerows(
            [f"p{i}", f"{1 + j * 9:02d}.{1 + i % 2:02d}.2024", "TRUE" if i % 3 else "false"]
            for i in range(400)
            for j in range(3)
        )
    told = there.say(*command(there))
    assert '--delimiter ";"' in told.line
    facts = there.facts(*command(there, delimiter=";", epsilon=9))
    assert [c["kind"] for c in facts["columns"]] == ["categorical", "categorical"]
    assert 'format = "%d.%m.%Y"' in facts["columns"][0]["reason"]
    schema = Schema.read(there / "drafted" / "schema.toml")
    assert schema["sure"] == Categorical(name="sure", values=(False, True), of="person")
    assert schema.delimiter == ";"
    (there / "partial.toml").write_text(
        'name = "visits"\n[columns.day]\nkind = "text"\nformat = "%d.%m.%Y"\n'
    )
    changes = {"schema": there / "partial.toml", "out": there / "again", "ledger": there / "w"}
    there.fine(*command(there, delimiter=";", **changes))
    (day,) = Schema.read(there / "again" / "schema.toml").timestamps
    assert (day.format, day.min, day.max) == ("%d.%m.%Y", "2024-01-01", "2024-02-19")
    assert day.resolution == "day"


def test_prefixes_that_are_none_are_refused_and_nothing_is_spent(there: Place) -> None:
    (there / "partial.toml").write_text(
        'name = "visits"\n[columns.code]\nkind = "text"\nprefixes = [1, 3]\n'
    )
    told = there.say(*command(there, schema=there / "partial.toml"))
    assert "the longest first" in told.line
    assert not (there / "v.ledger").exists()


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"unit": "nobody"}, MissingColumnError, "no 'nobody'"),
        ({"unit": None}, UsageError, "--unit"),
        ({"total": None}, UsageError, "does not exist"),
        ({"failure": "0"}, BudgetError, "share for failure probabilities"),
        ({"total": 5}, BudgetExhaustedError, "less budget left"),
        ({"epsilon": 30, "total": 40}, BudgetError, "an epsilon this large protects hardly anyone"),
        ({"delta": 0.02}, BudgetError, "add --i-know"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_spent(
    there: Place, changes: dict[str, Any], error: Any, match: str
) -> None:
    told = there.say(*command(there, **changes))
    assert match in told.line
    assert told.code == error.exit_code
    assert list((there / "drafted").iterdir()) == []
    if (there / "v.ledger").exists():
        left = there.facts("ledger", there / "v.ledger")["left_epsilon"]
        assert left == pytest.approx(changes.get("total", TOTAL.epsilon))


def test_a_large_budget_is_spent_if_that_is_known_and_warned_of(there: Place) -> None:
    out = there.fine(*command(there, epsilon=30, total=40), "--i-know")
    assert "  warning  epsilon 30 is a weak promise" in out


def test_a_partial_schema_that_contradicts_the_header_is_refused(there: Place) -> None:
    (there / "partial.toml").write_text('name = "v"\n[columns.colour]\nkind = "text"\n')
    told = there.say(*command(there, schema=there / "partial.toml"))
    assert told.code == MissingColumnError.exit_code
    assert "no 'colour'" in told.line
    assert not (there / "v.ledger").exists()


def test_files_that_are_there_are_not_overwritten(there: Place) -> None:
    (there / "drafted" / "schema.toml").write_text("mine")
    told = there.say(*command(there))
    assert told.code == OutputExistsError.exit_code
    assert not (there / "v.ledger").exists()


def test_init_without_public_data_points_to_it(place: Place) -> None:
    told = place.say("init", place / "new", "--unit", "taxi")
    assert "understudy discover" in told.line


# From Python


def test_discover_gives_a_schema_and_an_interrupted_one_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, path = visits(tmp_path / "visits.csv", effort(200, 400)), tmp_path / "v.ledger"
    asked: dict[str, Any] = {
        "private": private, "unit": us.Unit("patient"), "budget": BUDGET, "ledger": path,
        "name": "visits", "total": TOTAL,
    }  # fmt: skip

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PrivateDoor, "discover", cut)
        with pytest.raises(KeyboardInterrupt):
            us.discover(**asked)
    with closing(Ledger(path)) as ledger:
        before = ledger.state()
    assert len(before.runs[1].answers) > 0
    schema = us.discover(**asked)
    assert isinstance(schema, us.Schema)
    with closing(Ledger(path)) as ledger:
        after = ledger.state()
    assert list(after.runs) == [1]
    assert after.runs[1].closed
    assert after.runs[1].reservations[: len(before.runs[1].reservations)] == (
        before.runs[1].reservations
    )
    # A finished discovery is not asked again by mistake: it is a new run, and is paid for.
    again = discovered(**asked | {"budget": us.Budget(epsilon=1.0, delta=1e-6, failure=1e-13)})
    assert again.run == 2
    with pytest.raises(LedgerMismatchError, match="another unit"):
        us.discover(**asked | {"unit": us.Unit.each_row()})


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"most": 5000}, {"bins": 0}, {"rounds": 1.5}])
def test_settings_that_cannot_be_are_refused_before_anything_is_spent(wrong: Any) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(wrong))} is out of bounds"):
        Discovery(**wrong)


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (us.Budget(epsilon=30.0, delta=2e-6, failure=1e-6), "protects hardly anyone"),
        (us.Budget(epsilon=1.0, delta=0.02, failure=1e-6), "give people away"),
    ],
)
def test_a_budget_that_protects_hardly_anyone_is_refused_as_open_does(
    tmp_path: Path, budget: us.Budget, told: str
) -> None:
    asked: dict[str, Any] = {
        "private": visits(tmp_path / "visits.csv", 20), "unit": "patient", "budget": budget,
        "ledger": tmp_path / "v.ledger", "name": "visits",
        "total": us.Budget(epsilon=40.0, delta=0.03, failure=1e-6),
    }  # fmt: skip
    with pytest.raises(BudgetError, match=f"{told}.*i_know=True"):
        us.discover(**asked)
    assert not (tmp_path / "v.ledger").exists()
    if THOROUGH or "hardly" in told:
        assert us.discover(**asked, i_know=True).name == "visits"


def test_a_row_a_person(tmp_path: Path) -> None:
    schema = us.discover(
        private=visits(tmp_path / "visits.csv"),
        unit=us.Unit.each_row(),
        budget=BUDGET,
        ledger=tmp_path / "l",
        name="rows",
        schema=Schema("rows", (Text(name="code"),)),
        total=TOTAL,
    )
    assert set(schema["code"].labels()) >= set(ODD)
