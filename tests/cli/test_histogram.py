"""histogram counts a release's rows as a file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.cli.place import SCHEMA, Place
from understudy.errors import UsageError
from understudy.release import Release

pytestmark = pytest.mark.usefixtures("plain_reports")


def test_counts_of_a_release_are_a_file(place: Place) -> None:
    place.fine(*place.synth(epsilon=50))
    release = Release.read(place / "out")
    place.fine("histogram", place / "out", "--by=hour,colour", f"--out={place / 'long.csv'}")
    long = pd.read_csv(place / "long.csv")
    assert list(long) == ["hour", "colour", "rows"]
    assert np.array_equal(long["rows"], release.histogram("hour", "colour").reshape(-1))
    facts = place.facts(
        "histogram",
        place / "out",
        "--by=hour",
        "--across=colour",
        f"--out={place / 'wide.parquet'}",
    )
    wide = pd.read_parquet(place / "wide.parquet")
    assert facts["lines"] == len(wide) == release.schema.domain["hour"]
    assert list(wide)[1:] == release.schema["colour"].labels()
    assert wide.iloc[:, 1:].to_numpy().sum() == len(release)


def test_what_follows_from_other_columns_is_counted_too(place: Place) -> None:
    said = 'kind = "categorical"\nvalues = ["warm", "cold"]'
    more = '[[constraints]]\ndetermines = { colour = "tone" }\nvalues = [["red", "warm"]]\n'
    text = f"{SCHEMA}\n[columns.tone]\n{said}\n{more}"
    (place / "more.toml").write_text(text, encoding="utf-8")
    place.fine(*place.synth(epsilon=50, schema=place / "more.toml"))
    place.fine("histogram", place / "out", "--by=hour,tone", f"--out={place / 'long.csv'}")
    counts = pd.read_csv(place / "long.csv").groupby("tone")["rows"].sum()
    tones = Release.read(place / "out").columns["tone"].tolist()
    assert counts["warm"] == tones.count("warm") > 0


@pytest.mark.parametrize(
    "words",
    [
        ["--by=hours"],
        ["--by=hour,hour"],
        ["--by=hour", "--across=hour"],
        ["--by=hour", "--out=a.x"],
    ],
)
def test_what_cannot_be_counted(place: Place, words: list[str]) -> None:
    place.fine(*place.synth(epsilon=50))
    out = [] if any("--out" in word for word in words) else [f"--out={place / 'a.csv'}"]
    told = place.say("histogram", place / "out", *words, *out)
    assert told.code == UsageError.exit_code
    assert not (place / "a.csv").exists()
