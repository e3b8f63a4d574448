"""Every command, end to end."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.audit.effort import THOROUGH, effort, few, in_audit
from tests.cli.place import Place, Told, process
from understudy.budget import Budget, ResolvedUnit
from understudy.cli import demo
from understudy.cli.main import main
from understudy.errors import BudgetError
from understudy.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.usefixtures("plain_reports")

COMMANDS = ("demo", "synth", "recipes", "resume", "ledger", "evaluate", "audit")
HEAVY = ("numpy", "duckdb", "scipy", "rich", "pandas", "pyarrow", "sqlite3", "mpmath", "yaml")


def release(folder: Path) -> dict[str, Any]:
    """Check a release's files against its manifest, and give the manifest."""
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    names = {p.name for p in folder.iterdir()}
    assert names == {"manifest.json", "report.html", *manifest["files"]}
    for name, said in manifest["files"].items():
        content = (folder / name).read_bytes()
        assert said == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    return manifest


# demo


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"understudy {us.__version__}\n"


@pytest.mark.usefixtures("whole_reports")
def test_demo_goes_the_whole_road_and_says_each_command(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, ran = place / "demo", demo._ran

    def hurried(words: Sequence[str]) -> dict[str, Any]:
        # What is chosen runs below; to rehearse it too takes its time.
        return ran([*words, "--mechanism=independent"] if words[0] == "check" else words)

    if not THOROUGH:
        monkeypatch.setattr(demo, "_ran", hurried)
    out = place.fine("demo", folder, "--trips", str(effort(800, 5000)), "--epsilon", "2")
    commands = [line.split()[2] for line in out.splitlines() if line.startswith("$ understudy")]
    assert commands == ["init", "check", "synth", "evaluate"]
    told = out.partition("\n\n")[2].splitlines()
    assert "synthetic trips of a simulated city" in told[0]
    assert len(told) == 6
    assert "epsilon 2, delta 1e-09 for every taxi_id with all of its rows" in out
    assert {p.name for p in folder.iterdir()} == {
        "public-2019.parquet",
        "private-2020.parquet",
        "schema.toml",
        "understudy.toml",
        "private-2020.ledger",
        "private-2020-release",
        "custodian-only.html",
    }
    for page in ("private-2020-release/report.html", "custodian-only.html"):
        assert str(folder / page) in out

    manifest = release(folder / "private-2020-release")
    rows = pq.read_table(folder / "private-2020-release" / "rows.parquet")
    assert manifest["rows"] == rows.num_rows > 0
    assert manifest["mechanism"]["name"] == "auto"
    declared = us.Schema.read(folder / "schema.toml")
    assert rows.column_names == ["taxi_id", *(c.name for c in declared.released_columns)]
    # Of eight taxis noise may leave no moment at all.
    assert {moment.year for moment in rows["pickup_time"].to_pylist() if moment} <= {2020}

    ledger = folder / "private-2020.ledger"
    assert "nothing left" in place.fine("ledger", ledger)
    if THOROUGH:  # another run of Auto is resumed in `tests/synth/test_auto.py`
        place.fine("resume", ledger, "--out", place / "again")
        assert pq.read_table(place / "again" / "rows.parquet") == rows


@pytest.mark.usefixtures("whole_reports")
def test_demo_of_a_clinic_makes_people(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """By Lives, which takes its time: usually only its name is seen, and another one runs.

    Lives runs in `tests/demo/test_clinic.py`, by the tutorial's own commands.
    """
    folder = place / "demo"
    ran, mechanism = demo._ran, "lives" if THOROUGH else "independent"
    asked: list[str] = []

    def hurried(words: Sequence[str]) -> dict[str, Any]:
        asked.extend(words[:1] if "lives" in words else ())
        return ran([mechanism if word == "lives" else word for word in words])

    monkeypatch.setattr(demo, "_ran", hurried)
    out = place.fine("demo", folder, "--table=clinic", "--patients=400", "--epsilon=20")
    assert "synthetic visits of a simulated clinic" in out
    assert "epsilon 20, delta 1e-09 for every patient_id with all of its rows" in out
    assert asked == ["check", "synth"]
    assert f"  Mechanism  {mechanism}" in out
    declared = us.Schema.read(folder / "schema.toml")
    assert declared.own == ("sex", "born", "insurer", "smoker")
    assert declared.order_by == ("month",)
    rows = pq.read_table(folder / "private-2020-release" / "rows.parquet").to_pandas()
    people = rows[["patient_id", *declared.own]].drop_duplicates()
    assert len(people) == len(set(rows["patient_id"]))
    page = (folder / "private-2020-release" / "report.html").read_text()
    assert "A few synthetic lives" in page
    patients, visits = (pd.read_csv(folder / name) for name in ("patients.csv", "visits.csv"))
    private = pd.read_parquet(folder / "private-2020.parquet")
    assert len(patients) == 400
    assert visits.merge(patients)[list(private)].equals(private)


@in_audit
def test_demo_says_it_in_json_and_from_anywhere(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.folder)
    facts = place.facts("demo", "demo", "--trips", "300")
    assert facts["rows"] == release(place / "demo" / "private-2020-release")["rows"]
    assert facts["ledger"]["new"] is True
    # What is kept for `resume` does not depend on where one stood.
    monkeypatch.chdir("/")
    place.fine("resume", place / "demo" / "private-2020.ledger", "--out", place / "again")


# synth


def parquet(place: Place) -> str:
    frame = pd.read_csv(place / "trips.csv")
    frame.to_parquet(place / "trips.parquet")
    return "trips.parquet"


def gzipped(place: Place) -> str:
    pd.read_csv(place / "trips.csv").to_csv(place / "trips.csv.gz", index=False)
    return "trips.csv.gz"


def plain(_: Place) -> str:
    return "trips.csv"


FORMS = [
    *((plain, "parquet"), (parquet, "csv"), (gzipped, "parquet")),
    *((plain, "csv"), (parquet, "parquet"), (gzipped, "csv")),
]


@pytest.mark.parametrize(("make", "form"), few(FORMS, usual=3))
def test_synth_reads_and_writes_both_forms(
    place: Place, make: Callable[[Place], str], form: str
) -> None:
    out = place.fine(*place.synth(make(place), epsilon=50, format=form))
    assert "created by this run" in out
    manifest = release(place / "out")
    tables = {f"rows.{form}", f"measurements.{form}"}
    assert set(manifest["files"]) == tables | {"schema.toml", "evidence.npz", "model.npz"}
    path = place / "out" / f"rows.{form}"
    frame = pd.read_csv(path) if form == "csv" else pd.read_parquet(path)
    assert list(frame.columns) == ["taxi", "colour", "hour"]
    assert len(frame) == manifest["rows"]
    assert 60 < len(frame) < 180
    assert frame.groupby("taxi").size().max() <= 4
    assert set(frame["colour"].dropna()) <= {"red", "blue", "(other)"}


def test_synth_with_a_unit_of_two_columns(place: Place) -> None:
    facts = place.facts(*place.synth(unit="taxi, hour"))
    assert facts["guarantee"]["unit"] == "taxi × hour"
    with closing(Ledger(place / "trips.ledger")) as ledger:
        assert ledger.state().unit == ResolvedUnit.of("taxi", "hour")


def test_synth_with_each_row_a_person(place: Place) -> None:
    facts = place.facts(*place.synth(unit="each-row", bounding="sample:1", delta=0))
    assert facts["guarantee"]["unit"] == "row"
    assert facts["guarantee"]["accounting"] == "pure epsilon"
    assert "taxi" not in pq.read_table(place / "out" / "rows.parquet").column_names


def test_null_ids_are_dropped_or_one_person(place: Place) -> None:
    table = pa.table({"taxi": [None] * 400, "colour": ["red"] * 400, "hour": [1] * 400})
    pq.write_table(table, place / "nobody.parquet")
    for rule, rows in (("drop", 0), ("one", 400)):
        place.fine(
            *place.synth(
                "nobody.parquet",
                null_ids=rule,
                bounding="sample:400",
                epsilon=1e6,
                delta=0,
                ledger=place / f"{rule}.ledger",
                out=place / rule,
            )
        )
        assert release(place / rule)["rows"] == pytest.approx(rows, abs=2)


def test_sampling_bounds_everyone(place: Place) -> None:
    place.fine(*place.synth(bounding="sample:2", epsilon=200))
    manifest = release(place / "out")
    assert manifest["rows"] == pytest.approx(60, abs=20)
    assert "at most 2 rows of a person" in manifest["guarantee"]["bounding"]


def test_runs_add_up_on_one_ledger(place: Place) -> None:
    place.fine("ledger", place / "trips.ledger", "--create", "--epsilon=3", "--delta=1e-6")
    first = place.facts(*place.synth())
    assert first["ledger"]["new"] is False
    second = place.facts(*place.synth(out=place / "second"))
    left = [f["ledger"]["left"].split()[1] for f in (first, second)]
    assert 3 > float(left[0]) > float(left[1]) > 1


def test_progress_is_shown_on_a_terminal_and_only_on_stderr(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    told = place.say(*place.synth())
    assert told.code == 0
    for stage in ("reading the private table", "measuring marginals", "writing the release"):
        assert stage in told.err
    assert "reading" not in told.out
    assert place.say(*place.synth(out=place / "b", ledger=place / "b.ledger"), "--json").err == ""


# resume


def test_resume_writes_a_lost_release_again_and_spends_nothing(place: Place) -> None:
    place.fine(*place.synth(format="csv"))
    rows = (place / "out" / "rows.csv").read_bytes()
    kept = release(place / "out")
    spent = place.spent()
    for path in (place / "out").iterdir():
        path.unlink()
    (place / "out").rmdir()
    facts = place.facts("resume", place / "trips.ledger")
    assert sorted((place / "out" / "rows.csv").read_bytes().splitlines()) == sorted(
        rows.splitlines()
    )
    assert facts["rows"] == kept["rows"]
    assert facts["ledger"]["new"] is False
    assert release(place / "out")["charges"] == kept["charges"]
    assert place.spent() == spent


def test_resume_goes_on_with_a_run_that_was_cut_off(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Ledger.begin

    def cut(*arguments: Any) -> Any:
        store(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "begin", cut)
    told = place.say(*place.synth())
    assert told.code == 130
    assert "understudy resume" in told.line
    monkeypatch.undo()
    before = place.spent()
    assert before is not None
    assert before[1:] == (1, 0)
    (place / "trips.csv").rename(place / "moved.csv")
    place.fine("resume", place / "trips.ledger", "--run", "1", "--private", place / "moved.csv")
    assert release(place / "out")["rows"] >= 0
    after = place.spent()
    assert after is not None
    assert after[1:] == (1, 3)


# ledger


def test_a_ledger_is_made_shown_and_counted(place: Place) -> None:
    path = place / "trips.ledger"
    assert "not yet bound to a table" in place.fine(
        "ledger", path, "--create", "--epsilon=2", "--delta=1e-6"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    empty = place.facts("ledger", path)
    assert (empty["table"], empty["unit"], empty["runs"]) == (None, None, [])
    assert empty["total"] == {"epsilon": 2.0, "delta": 1e-6}
    assert empty["left_epsilon"] == pytest.approx(2.0)

    place.fine(*place.synth())
    shown = place.fine("ledger", path)
    for part in ("trips, unit taxi", "total epsilon 2 at delta 1e-06", "2 marginals", "(closed)"):
        assert part in shown
    facts = place.facts("ledger", path)
    (run,) = facts["runs"]
    assert (facts["table"], facts["unit"], run["state"]) == ("trips", "taxi", "closed")
    assert run["spent_epsilon"] == pytest.approx(1.0)
    assert [q["answered"] for q in run["questions"]] == [True] * 3
    assert 0 < facts["left_epsilon"] < 2


def test_a_ledger_with_a_share_for_failures_shows_both_parts_of_delta(place: Place) -> None:
    path = place / "trips.ledger"
    share = ("--epsilon=2", "--delta=1e-6", "--failure=4e-7")
    shown = place.fine("ledger", path, "--create", *share)
    assert "at delta 1e-06 (4e-07 of it for failure probabilities)" in " ".join(shown.split())
    assert "and failure probability 4e-07 left" in " ".join(shown.split())
    facts = place.facts("ledger", path)
    assert facts["total"] == {"epsilon": 2.0, "delta": 1e-6, "failure": 4e-7}
    assert facts["left_failure"] == pytest.approx(4e-7)
    place.fine(*place.synth())
    manifest = release(place / "out")
    assert manifest["ledger"]["total"] == facts["total"]
    assert "failure" not in manifest["guarantee"]
    assert "failure probability" in place.fine("ledger", path)
    assert place.facts("ledger", path, "--verify", place / "out")["agrees"] is True
    told = place.say(
        "ledger", place / "b", "--create", "--epsilon=2", "--delta=0", "--failure=1e-9"
    )
    assert told.code == BudgetError.exit_code
    assert "pure epsilon-DP has no failure" in told.line


def test_an_open_run_is_abandoned(place: Place) -> None:
    path = place / "trips.ledger"
    with closing(Ledger.create(path, budget=Budget(epsilon=1.0, delta=1e-6))) as ledger:
        request = {"mechanism": {"name": "independent", "settings": {}}}
        ledger.begin(Budget(epsilon=1.0, delta=1e-6), request)
    assert "(open)" in place.fine("ledger", path)
    assert place.facts("ledger", path)["left_epsilon"] == 0
    assert "(closed)" in place.fine("ledger", path, "--abandon", "1")
    assert place.facts("ledger", path)["left_epsilon"] == pytest.approx(1.0)
    # Twice does no harm.
    place.fine("ledger", path, "--abandon", "1")


def test_names_are_shown_as_they_are(place: Place) -> None:
    declared = (place / "schema.toml").read_text().replace('"trips"', '"[red]tr[/]ips"')
    (place / "[b]s.toml").write_text(declared)
    path = place / "[bold]l.ledger"
    place.fine(*place.synth(schema=place / "[b]s.toml", ledger=path, unit="taxi"))
    shown = place.fine("ledger", path).replace("\n", "")
    assert "[bold]l.ledger" in shown
    assert "[red]tr[/]ips" in shown


# help


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    # Measured as the best of 3 on two shared cores: 0.08 s for `understudy synth --help`,
    # and as much for the others; half a second is allowed.  Machines are noisy, so what is
    # held is the reason for it.
    # `test_help.py` asks all of them.
    for command in ((), *((c,) for c in few(COMMANDS, usual=1))):
        done = process(
            *command,
            "--help",
            code="import atexit\n"
            f"atexit.register(lambda: print('HEAVY', *(m for m in {HEAVY} if m in sys.modules)))",
        )
        assert (done.returncode, done.stderr) == (0, "")
        *text, last = done.stdout.splitlines()
        assert last == "HEAVY"
        assert text[0].startswith("usage: understudy" if command else "usage: ")
        assert all(c in done.stdout for c in (() if command else COMMANDS))


def test_the_installed_command_is_the_same() -> None:
    script = Path(sys.executable).parent / "understudy"
    done = subprocess.run([script, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: understudy")


def test_help_and_abbreviations_in_this_process(place: Place) -> None:
    for arguments in (["--help"], *([c, "--help"] for c in COMMANDS)):
        with pytest.raises(SystemExit) as left:
            place.say(*arguments)
        assert left.value.code == 0
    # An option may be cut short; what it means is not.
    told = place.say("ledger", str(place / "none"), "--js")
    assert json.loads(told.line)["error"] == "MissingFileError"


# Readers who leave, and outputs that take nothing


@pytest.fixture
def spent(place: Place) -> Place:
    with closing(
        Ledger.create(place / "trips.ledger", budget=Budget(epsilon=1, delta=0))
    ) as ledger:
        ledger.bind(name="trips", unit=ResolvedUnit.of("taxi", "hour"))
        ledger.begin(Budget(epsilon=1, delta=0), {"mechanism": {"name": "independent"}})
    return place


@pytest.mark.parametrize("options", few([[], ["--json"]], usual=1))
def test_a_reader_who_leaves_first(spent: Place, options: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = process("ledger", spent / "trips.ledger", *options, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_output_that_is_full(spent: Place) -> None:
    with Path("/dev/full").open("w") as full:
        done = process("ledger", spent / "trips.ledger", stdout=full)
    assert done.returncode == 13
    assert done.stderr == (
        "understudy: cannot use a file or folder (got No space left on device)\n"
    )


def test_an_output_that_is_closed_or_knows_few_letters(spent: Place) -> None:
    code = "import os; os.close(1); sys.stdout = None"
    done = process("ledger", spent / "trips.ledger", code=code)
    assert (done.returncode, done.stderr) == (0, "")
    few = {**os.environ, "PYTHONIOENCODING": "ascii"}
    (spent / "trips.ledger").rename(spent / "ö.ledger")
    done = process("ledger", spent / "ö.ledger", env=few)
    assert (done.returncode, done.stderr) == (0, "")
    assert "taxi \\xd7 hour" in done.stdout


def test_an_interrupt_stops_it_with_130(place: Place) -> None:
    # The signal comes from within, in the midst of the work, and so never too early or late.
    code = (
        "import os, signal\n"
        "from understudy.demo import City\n"
        "City.year = lambda self, year: os.kill(os.getpid(), signal.SIGINT)"
    )
    done = process("demo", place / "demo", code=code)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "understudy: interrupted\n"


# How much is said


def test_quiet_says_nothing_and_verbose_says_each_stage_on_stderr(place: Place) -> None:
    assert place.say(*place.synth(), "--quiet") == Told(0, "", "")
    again = place.say(*place.synth(), "--quiet")
    assert again.err.startswith("understudy: ")
    asked = place.synth(out=place / "b", ledger=place / "b.ledger")
    verbose = place.say(*asked, "--verbose")
    assert "synthetic rows" in verbose.out
    assert "understudy: reading the private table\n" in verbose.err
    assert "understudy: writing the release\n" in verbose.err
