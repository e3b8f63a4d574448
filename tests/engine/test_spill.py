"""What an engine spills is private, goes when it goes, and is swept up after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from understudy.engine.duckdb.spill import YOUNG, Spill, sweep


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(path: Path) -> None:
    past = time.time() - 2 * YOUNG
    os.utime(path, (past, past))


def test_a_folder_is_private_and_removed(place: Path) -> None:
    spill = Spill()
    assert spill.path.stat().st_mode & 0o777 == 0o700
    (spill.path / "rows").write_bytes(b"private")
    spill.close()
    assert not list(place.iterdir())


def test_a_living_engines_folder_is_left_alone_however_old(place: Path) -> None:
    spill = Spill()
    aged(spill.path)
    sweep(place)
    assert spill.path.exists()
    spill.close()


def test_a_killed_process_is_swept_up_after_but_not_at_once(place: Path) -> None:
    program = (
        "import time; from understudy.engine.duckdb.spill import Spill; s = Spill(); "
        "(s.path / 'rows').write_bytes(b'private'); print(s.path, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        process.send_signal(signal.SIGKILL)
    sweep(place)
    assert (left / "rows").exists()
    aged(left)
    Spill().close()
    assert not left.exists()


def test_folders_that_are_none_of_ours_are_left_alone(place: Path) -> None:
    other = place / "understudy-mine"
    other.mkdir()
    aged(other)
    sweep(place)
    assert other.exists()
