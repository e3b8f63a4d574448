"""A place with a schema and a private table, and the command lines about them."""

from __future__ import annotations

import atexit
import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.audit.effort import THOROUGH
from understudy.cli.main import main
from understudy.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

_MADE: dict[str, Path] = {}
"""Copies of places, by what was made there."""
SCHEMA = """
name = "trips"

[columns.taxi]
kind = "id"

[columns.colour]
kind = "categorical"
values = ["red", "blue"]

[columns.hour]
kind = "integer"
min = 0
max = 3
"""


@dataclass
class Told:
    """What a command line said."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line of an error, which is all that there is."""
        assert self.out == ""
        assert len(self.err.splitlines()) == 1, self.err
        assert self.err.endswith("\n")
        assert "Traceback" not in self.err
        return self.err.strip()


@dataclass
class Place:
    """A folder with a schema and a private table of 30 taxis with 4 rows each."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def __post_init__(self) -> None:
        """Write the files."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "schema.toml").write_text(SCHEMA)
        (self.folder / "rides.toml").write_text(SCHEMA.replace("trips", "rides"))
        lines = [f"{i % 30},{'red' if i % 3 else 'blue'},{i % 4}" for i in range(120)]
        (self.folder / "trips.csv").write_text("\n".join(["taxi,colour,hour", *lines, ""]))

    def __truediv__(self, name: str) -> Path:
        """Give a path within."""
        return self.folder / name

    def synth(self, private: str | Path = "trips.csv", **changes: Any) -> list[str]:
        """Write a command line of `synth`; None leaves an option out."""
        options: dict[str, Any] = {
            "schema": self / "schema.toml",
            "unit": "taxi",
            "mechanism": "independent",
            "bounding": "weights:4",
            "epsilon": 1,
            "delta": 1e-6,
            "ledger": self / "trips.ledger",
            "out": self / "out",
        }
        options |= changes
        given = [f"--{n.replace('_', '-')}={v}" for n, v in options.items() if v is not None]
        # What a test of exact counts needs, and a custodian must ask for.
        epsilon = options["epsilon"]
        known = ["--i-know"] if isinstance(epsilon, (int, float)) and epsilon > 20 else []
        return ["synth", str(self / str(private)), *given, *known]

    def say(self, *arguments: str | Path) -> Told:
        """Run a command line in this process."""
        self.capsys.readouterr()
        code = main([str(a) for a in arguments])
        out, err = self.capsys.readouterr()
        return Told(code, out, err)

    def fine(self, *arguments: str | Path) -> str:
        """Run a command line that goes well, and give what it prints."""
        told = self.say(*arguments)
        assert (told.code, told.err) == (0, "")
        return told.out

    def facts(self, *arguments: str | Path) -> Any:
        """Run a command line with --json, and give its one object."""
        out = self.fine(*arguments, "--json")
        assert len(out.splitlines()) == 1
        return json.loads(out)

    def spent(self, name: str = "trips.ledger") -> tuple[int, int, int] | None:
        """Say what a ledger has left, and how many runs and questions it knows; None if absent."""
        path = self / name
        if not path.exists():
            return None
        with closing(Ledger(path)) as ledger:
            state = ledger.state()
        asked = sum(len(run.reservations) for run in state.runs.values())
        return state.left, len(state.runs), asked

    def once(self, what: str, make: Callable[[], object]) -> None:
        """Make something here, or copy what was made elsewhere; an audit makes it every time.

        What is kept for `resume` names the files of the place where it was made.
        """
        if what in _MADE and not THOROUGH:
            shutil.copytree(_MADE[what], self.folder, dirs_exist_ok=True)
            return
        make()
        if not THOROUGH:
            kept = tempfile.TemporaryDirectory()
            atexit.register(kept.cleanup)
            _MADE[what] = shutil.copytree(self.folder, Path(kept.name) / "made")

    def names(self) -> set[str]:
        """Name everything here, hidden things too."""
        return {p.name for p in self.folder.iterdir()}


def process(*arguments: str | Path, code: str = "", **options: Any) -> Any:
    """Run a command line in a process of its own, after some code."""
    program = f"import sys\n{code}\nfrom understudy.cli.main import main\nsys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        check=False,
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
    )
