"""Whatever leaves a process, searched for canaries."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.leaks.canaries import NUMBER, WORD
from understudy.errors import UnderstudyError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def chain(error: BaseException | None, seen: list[BaseException] | None = None) -> list[Any]:
    """Give an error and all that hangs behind it, by cause and by context."""
    found = [] if seen is None else seen
    if error is not None and not any(error is e for e in found):
        found.append(error)
        chain(error.__cause__, found)
        chain(error.__context__, found)
        for part in getattr(error, "exceptions", ()):
            chain(part, found)
    return found


def clean(text: str | bytes) -> bool:
    """Say whether neither canary is in a text, however the text is encoded."""
    if isinstance(text, bytes):
        words = [c.encode(e) for c in (WORD, NUMBER) for e in ("utf-8", "utf-16-le", "utf-16-be")]
        return not any(word in text for word in words)
    return WORD not in text and NUMBER not in text


@dataclass
class Watch:
    """A place of its own for a run, all of which is looked through afterwards."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    caplog: pytest.LogCaptureFixture

    @property
    def inputs(self) -> Path:
        return self.folder / "in"

    def session(self, private: object, **other: Any) -> us.Session:
        asked: dict[str, Any] = {
            "schema": self.folder / "schema.toml",
            "unit": us.Unit("id"),
            "bounding": us.Weights(2),
            "budget": us.Budget(epsilon=1.0, delta=1e-6),
            "ledger": self.folder / "t.ledger",
        }
        return us.open(private=private, **asked | other)

    def run(self, private: object, **other: Any) -> UnderstudyError | None:
        """Run on a table and save the release; give the error, if there was one."""
        return self.act(
            lambda: (
                self.session(private, **other)
                .run(us.Independent())
                .save(self.folder / "out", format="csv")
            )
        )

    def act(self, call: Callable[[], object]) -> UnderstudyError | None:
        """Do something with a private table, and look for canaries in all that it left."""
        caught: BaseException | None = None
        try:
            call()
        except BaseException as error:  # noqa: BLE001  whatever it is, it is looked at
            caught = error
        self.look()
        if caught is None:
            return None
        assert isinstance(caught, UnderstudyError), type(caught)
        assert len(str(caught).splitlines()) == 1
        assert clean("".join(traceback.format_exception(caught)))
        for behind in chain(caught):
            assert clean(str(behind))
            assert clean(repr(behind))
            assert clean(repr(vars(behind)))
        return caught

    def look(self) -> None:
        """Look for canaries in output, logs, and every file but the private table itself."""
        out, err = self.capsys.readouterr()
        assert clean(out)
        assert clean(err)
        for record in self.caplog.records:
            assert clean(record.getMessage())
            assert clean(repr(vars(record)))
        for path in self.folder.rglob("*"):
            if path.is_relative_to(self.inputs) or not path.is_file():
                continue
            assert clean(path.read_bytes()), path.name
            if path.suffix == ".parquet":
                # Its pages are packed; look at the values too.
                assert clean(repr(pq.read_table(path).to_pydict())), path.name
        assert list((self.folder / "tmp").iterdir()) == []

    def command(self, private: Path) -> list[str]:
        """Write the command line of a run."""
        options = {
            "--schema": self.folder / "schema.toml",
            "--unit": "id",
            "--bounding": "sample:2",
            "--epsilon": 1,
            "--delta": 1e-6,
            "--ledger": self.folder / "t.ledger",
            "--out": self.folder / "out",
        }
        return ["synth", str(private), *(str(p) for pair in options.items() for p in pair)]
