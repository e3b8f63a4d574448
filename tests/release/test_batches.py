"""A release is the same rows batch by batch and all at once, and is written without being held."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import THOROUGH, effort, one_in, tried
from understudy.door import Measurement
from understudy.errors import EngineError, StorageError
from understudy.public import Batch, Batches, Draw, PublicTable, Synthesis, Within, batches
from understudy.release import build
from understudy.schema import Categorical, Id, Integer, Numeric, Schema, Split

SCHEMA = Schema(
    "shop",
    (
        Id(name="who", min=1000),
        Categorical(name="colour", values=("red", "blue, or so", 'the "third"')),
        Categorical(name="member", values=(False, True), outside="drop", missing=False),
        Integer(name="age", min=0, max=9),
        Numeric(name="price", edges=(0.0, 1.5, 9.0)),
        Numeric(name="weight", edges=(0.0, 10.0, 20.0), whole=True),
        Split(name="wage", parts=("hundreds", "rest"), step=100, max=899),
    ),
)
PRICES = np.array([0.25, 0.5, 2.0])
WITHIN = Within(
    PublicTable(
        schema=SCHEMA,
        codes={"price": np.array([0, 0, 1], dtype=np.int32)},
        people=None,
        numbers={"price": PRICES},
    )
)
ROOT = Path(__file__).parents[2]


def draws() -> Draw:
    """Draw codes by chance; the last rows alone have missing values."""

    def draw(rows: int, rng: np.random.Generator) -> Batch:
        few = {c.name: c.values_count for c in SCHEMA.modelled}
        codes = {n: rng.integers(0, size, rows).astype(np.int32) for n, size in few.items()}
        if rows % 2:
            codes["age"][-1] = 10
        return Batch(codes, rng.integers(0, 50, rows))

    return draw


def made(rows: int, seed: int = 0, begin: Any = draws) -> us.Release:
    rng = np.random.default_rng(seed)
    measured = Measurement(clique=("member",), values=np.zeros(2), scale=1.0)
    return build(
        Synthesis(
            batches=Batches.drawn(rows, begin, people=50, rng=rng),
            measurements=(measured,),
            within=WITHIN,
        ),
        schema=SCHEMA,
        unit=us.Unit("who"),
        bounding=us.Weights(5),
        budget=us.Budget(epsilon=1, delta=1e-9),
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={"run": 1, "head": "abc"},
        rng=rng,
    )


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a batch be of a hundred rows."""
    monkeypatch.setattr(batches, "AT_ONCE", 100)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("rows", "form"),
    list(product([0, 99, 100, 1001], ["parquet", "csv"]))
    if THOROUGH
    else [(0, "parquet"), (99, "csv"), (100, "parquet"), (1001, "csv"), (1001, "parquet")],
)
def test_the_file_is_the_same_whether_rows_were_looked_at_or_not(
    tmp_path: Path, rows: int, form: Any
) -> None:
    unseen = made(rows).save(tmp_path / "unseen", format=form)
    seen = made(rows)
    assert len(seen.columns["who"]) == len(seen) == rows
    seen.save(tmp_path / "seen", format=form)
    for name in (f"rows.{form}", "manifest.json"):
        assert (unseen / name).read_bytes() == (tmp_path / "seen" / name).read_bytes()


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_file_holds_the_columns_row_by_row(tmp_path: Path, form: Any) -> None:
    release = made(1001)
    folder = release.save(tmp_path / "out", format=form)
    with duckdb.connect() as connection:
        read = f"read_{form}('{folder / f'rows.{form}'}')"
        found = connection.execute(f"SELECT * FROM {read}").fetchall()
    assert found == list(zip(*(c.tolist() for c in release.columns.values()), strict=True))
    assert set(np.unique(release.columns["price"])) == {0.25, 0.5, 2.0}


@given(st.integers(0, 200), st.integers(7, 90), st.integers(0, 2**32))
@tried(25)
def test_batches_of_any_size_are_the_columns(rows: int, at_once: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "AT_ONCE", at_once)
        release, again = made(rows, seed), made(rows, seed)
    parts = list(release.decoded)
    assert [len(part["who"]) for part in parts] == list(release.decoded.sizes)
    for name, column in again.columns.items():
        assert [v for part in parts for v in part[name].tolist()] == column.tolist()
    sliced = list(again.decoded)
    assert [len(part["age"]) for part in sliced] == [len(part["age"]) for part in parts]
    assert release.histogram("age", "member").tolist() == again.histogram("age", "member").tolist()
    assert release.manifest["rows"] == rows == len(release)


@pytest.mark.usefixtures("few")
def test_nothing_is_drawn_before_it_is_asked_for_nor_again_when_it_is_held() -> None:
    times = 0

    def counting() -> Draw:
        nonlocal times
        times += 1
        return draws()

    release = made(1000, begin=counting)
    assert len(release) == release.manifest["rows"] == 1000
    assert times == 0
    release.histogram("age")
    assert times == 1
    assert release.columns is release.columns
    release.histogram("age")
    assert times == 2


@pytest.mark.usefixtures("few")
def test_whoever_waits_is_told_how_much_is_written(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    made(200).save(tmp_path / "out", progress=lambda *seen: told.append(seen))
    assert told == [("writing the release", done) for done in (0.0, 0.5, 1)]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("error", "seen"),
    [(EngineError, EngineError), (KeyboardInterrupt, KeyboardInterrupt), (OSError, StorageError)],
)
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_failure_in_the_middle_leaves_nothing(
    tmp_path: Path, error: type[BaseException], seen: type[BaseException], form: Any
) -> None:
    def failing() -> Draw:
        draw, left = draws(), 3

        def batch(rows: int, rng: np.random.Generator) -> Batch:
            nonlocal left
            left -= 1
            if not left:
                raise error("why")
            return draw(rows, rng)

        return batch

    with pytest.raises(seen):
        made(1000, begin=failing).save(tmp_path / "out", format=form)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("mechanism", "unit"),
    one_in(3, product([us.Independent(), us.MST()], [us.Unit("who"), us.Unit.each_row()])),
)
def test_a_resumed_run_writes_the_same_file(tmp_path: Path, mechanism: Any, unit: us.Unit) -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(0, 10, 700)
    private = {"who": np.arange(700) // 2, "age": age, "price": 0.9 * age}
    session = us.open(
        private=private,
        schema=Schema("shop", (SCHEMA.ids[0], SCHEMA["age"], SCHEMA["price"])),
        unit=unit,
        bounding=us.Sample(2),
        budget=us.Budget(epsilon=20, delta=1e-6),
        ledger=tmp_path / "ledger",
    )
    first = session.run(mechanism)
    assert len(first.decoded.sizes) > 1
    again = session.resume(1)
    for form in ("parquet", "csv"):
        one = first.save(tmp_path / f"one-{form}", format=form)
        two = again.save(tmp_path / f"two-{form}", format=form)
        name = f"rows.{form}"
        assert (one / name).read_bytes() == (two / name).read_bytes()


@pytest.mark.parametrize("name", ["odd *[a]?.d", "it's", "who=1"])
@pytest.mark.usefixtures("few")
def test_a_folder_of_any_name_is_written_to(tmp_path: Path, name: str) -> None:
    folder = made(250).save(tmp_path / name / "out")
    assert pyarrow.parquet.read_table(folder / "rows.parquet").num_rows == 250
    assert sorted(p.name for p in folder.iterdir()) == [
        "evidence.npz",
        "manifest.json",
        "measurements.parquet",
        "rows.parquet",
        "schema.toml",
    ]


PEAK = """
import resource, sys, tempfile
import numpy as np
import understudy as us
from understudy.door import Measurement
from understudy.graph import Domain, Model, junction_tree
from understudy.public import Synthesis, batches as each
from understudy.release import build
from understudy.schema import Id, Integer, Schema
from understudy.synth.generate.assignment import drawn, evenly

each.AT_ONCE, *numbers = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
columns = [Integer(name=n, min=0, max=99, missing=False) for n in "abc"]
schema = Schema("t", (Id(name="who"), *columns))
domain = Domain(schema.domain)
tree = junction_tree(domain, [("a", "b"), ("c",)])
model = Model(tree, {c: np.ones(domain.shape(c)) / domain.cells(c) for c in tree.cliques})
measured = Measurement(clique=("a",), values=np.zeros(100), scale=1.0)
for rows in numbers:
    urn = model.urn(rows, rng)
    batches = drawn(urn, rows, evenly(rows, people=10**6, cap=20), rng=rng)
    release = build(
        Synthesis(batches=batches, measurements=(measured,)),
        schema=schema, unit=us.Unit("who"), bounding=us.Weights(20),
        budget=us.Budget(epsilon=1, delta=1e-9), mechanism={}, charges=[], ledger={}, rng=rng,
    )
    with tempfile.TemporaryDirectory() as folder:
        release.save(folder + "/out")
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)
"""


def test_memory_does_not_grow_with_the_number_of_rows() -> None:
    """2 or 6 million rows more of four columns would be 62 or 190 MB, on top of about 15 or 50."""
    numbers = (1_000_000, 2_000_000, 8_000_000) if THOROUGH else (100_000, 200_000, 2_200_000)
    words = [sys.executable, "-c", PEAK, *map(str, numbers)]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    # The engine may draw bars between them.
    peaks = [int(peak) for peak in re.findall(r"peak (\d+)", done.stdout)]
    assert len(peaks) == 2
    assert peaks[1] < peaks[0] + effort(45, 80), peaks
