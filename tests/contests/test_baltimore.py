"""The recipe baltimore-911: the contest's files in, its counts out, in its order and rules."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.budget import Currency, Unit
from understudy.cli.main import main
from understudy.contests import Recipe, read_parameters, run_recipe
from understudy.contests.metrics import pie_score
from understudy.errors import MissingColumnError, QuestionError, SchemaError, UsageError
from understudy.evaluate import read_counts, read_private
from understudy.ledger import Ledger

DELTA = 1.2244024187236405e-11
PLACES, TYPES = 4, 6
MONTHS = range(1, 13)


def parameters(path: Path, *, epsilons: tuple[float, ...] = (1.0, 10.0), **changes: Any) -> Path:
    runs = [{"epsilon": e, "delta": DELTA, "max_records_per_individual": 20} for e in epsilons]
    schema = {
        "periods": [{"year": 2019, "month": m} for m in MONTHS],
        "neighborhood": [{"name": f"N{i}", "code": i} for i in range(PLACES)],
        "incident_type": [{"name": f"T{i}", "code": i} for i in range(TYPES)],
    }
    path.write_text(json.dumps({"runs": runs, "schema": schema | changes}))
    return path


def calls(path: Path, year: int, *, rows: int = 4000) -> Path:
    rng = np.random.default_rng(year)
    columns = {
        "year": np.full(rows, year),
        "month": rng.integers(1, 13, rows),
        "day": rng.integers(1, 29, rows),
        "neighborhood": (PLACES * rng.random(rows) ** 2).astype(int),
        "incident_type": (TYPES * rng.random(rows) ** 3).astype(int),
        "sim_resident": rng.integers(0, 900, rows),
    }
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(c.tolist() for c in columns.values()), strict=True))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("contest")
    manifest = run_recipe(
        "baltimore-911",
        private=calls(folder / "2019.csv", 2019),
        public=calls(folder / "2018.csv", 2018),
        parameters=parameters(folder / "parameters.json"),
        ledger=folder / "ledger",
        out=folder / "submission.csv",
    )
    return folder, manifest


def test_a_line_for_each_epsilon_place_and_period_in_order_and_a_whole_count_a_type(
    made: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = made
    with (folder / "submission.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    types = [str(i) for i in range(TYPES)]
    assert header == ["epsilon", "neighborhood", "year", "month", *types]
    wanted = [(e, n, 2019, m) for e in (1, 10) for n in range(PLACES) for m in MONTHS]
    assert [tuple(map(float, line[:4])) for line in lines] == wanted
    assert all(count.isdigit() for line in lines for count in line[4:])


def test_each_epsilon_is_booked_and_public_calls_chose_noise_without_a_delta(
    made: tuple[Path, dict[str, Any]],
) -> None:
    folder, manifest = made
    with closing(Ledger(folder / "ledger")) as ledger:
        state = ledger.state()
    assert [run.budget.epsilon for run in state.runs.values()] == [1.0, 10.0]
    assert state.currency == Currency.PURE
    assert state.budget.epsilon == pytest.approx(11)
    assert [run["guarantee"]["delta"] for run in manifest["runs"]] == [0, 0]
    assert all(run["mechanism"]["noise"] == "laplace" for run in manifest["runs"])


def test_the_counts_are_near_the_truth_at_a_large_epsilon(
    made: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = made
    recipe = Recipe.named("baltimore-911")
    schema = recipe.schema(read_parameters(folder / "parameters.json")[0])
    real = read_private(folder / "2019.csv", schema=schema, unit=Unit("sim_resident"))
    score = {}
    for epsilon in (1.0, 10.0):
        counts = read_counts(
            folder / "submission.csv", schema=schema, across="incident_type", epsilon=epsilon
        )
        score[epsilon] = pie_score(real, counts, **recipe.score).mean
        assert abs(len(counts.codes["month"]) - 4000) < 400
    assert score[10.0] > 0.8
    assert score[10.0] > score[1.0] > 0.5


def test_evaluate_reads_the_submission(
    made: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = made
    files = {"private": "2019.csv", "parameters": "parameters.json"}
    options = [f"--{name}={folder / file}" for name, file in files.items()]
    chosen = ["--recipe=baltimore-911", "--epsilon=10", "--json"]
    assert main(["evaluate", str(folder / "submission.csv"), *options, *chosen]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["synthetic"]["pies"]["pies"] == PLACES * 12


@pytest.mark.parametrize(("noise", "delta"), [("gaussian", DELTA), ("laplace", 0.0)])
def test_noise_may_be_settled(tmp_path: Path, noise: Any, delta: float) -> None:
    manifest = run_recipe(
        "baltimore-911",
        private=calls(tmp_path / "2019.csv", 2019, rows=300),
        public=calls(tmp_path / "2018.csv", 2018, rows=300),
        parameters=parameters(tmp_path / "parameters.json", epsilons=(2.0,)),
        ledger=tmp_path / "ledger",
        out=tmp_path / "submission.csv",
        noise=noise,
    )
    assert manifest["runs"][0]["guarantee"]["delta"] == delta


def test_as_published_is_with_laplace_noise_and_twenty_cells_a_person(tmp_path: Path) -> None:
    manifest = run_recipe(
        "baltimore-911",
        private=calls(tmp_path / "2019.csv", 2019, rows=300),
        public=calls(tmp_path / "2018.csv", 2018, rows=300),
        parameters=parameters(tmp_path / "parameters.json", epsilons=(2.0,)),
        ledger=tmp_path / "ledger",
        out=tmp_path / "submission.csv",
        published=True,
    )
    (run,) = manifest["runs"]
    assert run["guarantee"]["delta"] == 0
    assert run["mechanism"]["most"] == 20
    assert run["mechanism"]["scale"] == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("changes", "error", "what"),
    [
        (
            {"periods": [{"year": 2019, "month": 1}, {"year": 2020, "month": 2}]},
            SchemaError,
            "same months of every year",
        ),
        ({"neighborhood": None}, SchemaError, "not declared as in the contests' files"),
        (
            {"incident_type": [{"name": "T", "code": i} for i in range(4000)]},
            QuestionError,
            "too many cells",
        ),
    ],
)
def test_parameters_that_cannot_be_are_refused_and_nothing_is_spent(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], what: str
) -> None:
    with pytest.raises(error, match=what):
        run_recipe(
            "baltimore-911",
            private=calls(tmp_path / "2019.csv", 2019, rows=50),
            parameters=parameters(tmp_path / "parameters.json", **changes),
            ledger=tmp_path / "ledger",
            out=tmp_path / "submission.csv",
        )
    assert not (tmp_path / "submission.csv").exists()
    if (tmp_path / "ledger").exists():
        with closing(Ledger(tmp_path / "ledger")) as ledger:
            assert not any(run.reservations for run in ledger.state().runs.values())


def test_public_calls_with_other_columns_are_refused_before_the_ledger_is_made(
    tmp_path: Path,
) -> None:
    (tmp_path / "2018.csv").write_text("year,month\n2018,1\n")
    with pytest.raises(MissingColumnError):
        run_recipe(
            "baltimore-911",
            private=calls(tmp_path / "2019.csv", 2019, rows=50),
            public=tmp_path / "2018.csv",
            parameters=parameters(tmp_path / "parameters.json"),
            ledger=tmp_path / "ledger",
            out=tmp_path / "submission.csv",
        )
    assert not (tmp_path / "ledger").exists()


def test_counts_that_are_none_are_refused(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, _ = made
    schema = Recipe.named("baltimore-911").schema(read_parameters(folder / "parameters.json")[0])
    (tmp_path / "short.csv").write_text("epsilon,neighborhood,year,month,0\n1.0,0,2019,1,7\n")
    with pytest.raises(MissingColumnError, match="lacks columns of counts"):
        read_counts(tmp_path / "short.csv", schema=schema, across="incident_type", epsilon=1.0)
    (tmp_path / "words.csv").write_text(
        (folder / "submission.csv").read_text().replace("1.0,0,2019,1,", "1.0,0,2019,1,x", 1)
    )
    with pytest.raises(UsageError, match="not whole numbers"):
        read_counts(tmp_path / "words.csv", schema=schema, across="incident_type", epsilon=1.0)
