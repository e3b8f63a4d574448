"""Rows from marginals that were measured elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli.main import main
from understudy.errors import MissingFileError, UsageError
from understudy.schema import Categorical, Id, Integer, Schema

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = Schema(
    "shop",
    (
        Id(name="who"),
        Categorical(name="colour", values=("red", "blue"), missing=False, outside="drop"),
        Integer(name="hour", min=0, max=2, missing=False, outside="drop"),
    ),
)
COUNTS = np.array([[500, 100, 50], [100, 900, 350]])


def tables(error: float = 3.0) -> list[pd.DataFrame]:
    rng = np.random.default_rng(1)
    cells = [(c, h) for c in ("red", "blue") for h in range(3)]
    pair = pd.DataFrame(cells, columns=["colour", "hour"])
    pair["count"] = COUNTS.ravel() + rng.normal(0, error, 6)
    pair["standard_error"] = error
    one = pd.DataFrame({"colour": ["blue", "red"], "count": [1349.0, 652.0]})
    one["standard_error"] = [1.0, 2.0]
    return [pair.sample(frac=1, random_state=0), one]


def made(marginals: object, **changes: Any) -> us.Release:
    given: dict[str, Any] = {
        "schema": SCHEMA,
        "unit": "who",
        "promised": us.Budget(epsilon=1.0, delta=1e-6),
        "promised_by": "the statistics office",
        "seed": 1,
    }
    return us.from_marginals(marginals, **given | changes)


def test_rows_follow_the_marginals_and_the_manifest_says_whose_promise_it_is() -> None:
    release = made(tables())
    assert len(release) == pytest.approx(2000, abs=20)
    assert np.abs(release.histogram("colour", "hour") - COUNTS).max() < 20
    promise = release.manifest["guarantee"]
    assert promise["promised_by"] == "the statistics office"
    assert promise["words"].startswith("Promised by the statistics office, and not checked")
    assert "for every who with all of its rows" in promise["words"]
    assert release.manifest["charges"] == []
    assert "opened no private table" in release.manifest["notes"][0]
    assert len(made(tables(), rows=77)) == 77
    assert release.quality.facts()["pairs"]["mostly signal"] == ["colour × hour"]


def test_files_and_labels_of_a_release_are_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "marginals"
    folder.mkdir()
    pair, one = tables()
    pair.to_parquet(folder / "pair.parquet", index=False)
    one.to_csv(folder / "one.csv", index=False)
    assert made(folder).manifest["rows"] == made([pair, one]).manifest["rows"]
    found = made(folder).estimate("colour", "hour").to_pandas()
    again = found.rename(columns={"estimate": "count"})[
        ["colour", "hour", "count", "standard_error"]
    ]
    assert np.abs(made([again]).histogram("colour", "hour") - COUNTS).max() < 20


def test_the_command_writes_a_release_and_its_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "marginals").mkdir()
    tables()[0].to_csv(tmp_path / "marginals" / "pair.csv", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    asked = [
        "fit", str(tmp_path / "marginals"), f"--schema={tmp_path / 'schema.toml'}", "--unit=who",
        "--epsilon=1", "--delta=1e-6", "--promised-by=the office", f"--out={tmp_path / 'out'}",
    ]  # fmt: skip
    assert main(asked) == 0
    assert "no private table was opened" in capsys.readouterr().out
    assert "Promised by the office" in (tmp_path / "out" / "report.html").read_text()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["mechanism"]["name"] == "from_marginals"
    assert len(us.Release.read(tmp_path / "out")) == manifest["rows"]
    assert main(asked[:3]) == UsageError.exit_code
    assert "required: --unit, --epsilon" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("marginals", "said"),
    [
        ([], "no marginals"),
        ([{"color": ["red"], "count": [1], "standard_error": [1]}], "did you mean 'colour'"),
        ([{"colour": ["red"], "count": [1]}], "lacks a column .got no standard_error"),
        ([{"colour": ["red"], "count": [1], "standard_error": [0]}], "standard errors above 0"),
        ([{"colour": ["red", "red"], "count": [1, 2], "standard_error": [1, 1]}], "there once"),
        ([{"colour": ["green"], "count": [1], "standard_error": [1]}], "none that the schema"),
    ],
)
def test_what_is_no_marginal_is_told(marginals: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        made(marginals)


def test_a_folder_without_tables(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no folder of marginals"):
        made(tmp_path)
