"""How much memory DuckDB may use follows the machine, and can be set."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from understudy.budget import Unit
from understudy.engine import DuckDB, engine_for
from understudy.engine.duckdb import memory
from understudy.errors import UsageError
from understudy.public import PublicTable
from understudy.schema import Integer, Schema

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(memory.VARIABLE, raising=False)


@pytest.mark.parametrize(
    ("held", "limit"), [(24 * 10**9, "6000MB"), (2 * 10**9, "1200MB"), (10**12, "250000MB")]
)
def test_it_is_a_quarter_of_the_machines_and_no_less_than_before(
    monkeypatch: pytest.MonkeyPatch, held: int, limit: str
) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: held)
    assert memory.memory_limit() == limit


@pytest.mark.parametrize(
    ("held", "processors", "limit"),
    [(24 * 10**9, 2, 1200), (24 * 10**9, 5, 3000), (24 * 10**9, 64, 6000), (2 * 10**9, 64, 1200)],
)
def test_a_public_table_is_read_sparingly(
    monkeypatch: pytest.MonkeyPatch, held: int, processors: int, limit: int
) -> None:
    monkeypatch.setattr(memory, "machine_bytes", lambda: held)
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    seen = []

    def fetched(engine: DuckDB, query: str) -> Any:
        seen.append(fetch(engine, "SELECT current_setting('memory_limit') AS m")["m"][0])
        return fetch(engine, query)

    fetch = DuckDB.fetch
    monkeypatch.setattr(DuckDB, "fetch", fetched)
    schema = Schema("t", (Integer(name="a", min=0, max=1),))
    PublicTable.read({"a": [0, 1]}, schema=schema, unit=Unit.each_row())
    units = {"MiB": 2**20 / 10**6, "GiB": 2**30 / 10**6}
    told = [float(text.split()[0]) * units[text.split()[1]] for text in seen]
    assert told
    assert told == pytest.approx([limit] * len(told), rel=0.05)


def test_a_container_may_have_less_than_its_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = memory.machine_bytes()
    for text, found in (("max\n", whole), ("1000000\n", 10**6)):
        (tmp_path / "memory.max").write_text(text)
        paths = (tmp_path / "memory.max", tmp_path / "no such file")
        monkeypatch.setattr(memory, "_CONTROL_GROUPS", paths)
        assert memory.machine_bytes() >= found
    assert memory.machine_bytes() == 10**6


def test_the_environment_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "300MiB")
    for engine in (DuckDB(), engine_for({"a": [1]}, sparing=True)):
        with closing(engine):
            (limit,) = engine.fetch("SELECT current_setting('memory_limit') AS m")["m"]
        assert limit == "300.0 MiB"


@pytest.mark.parametrize("said", ["a lot", "8", "-1GB", "8GB; SET x = 1"])
def test_what_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv(memory.VARIABLE, said)
    with pytest.raises(UsageError, match=r"is not a size .*such as 500MB or 8GB"):
        DuckDB()
