"""Help of every command: it names every option, and nothing heavy is imported for it."""

from __future__ import annotations

import argparse

import pytest

from tests.cli.place import process
from understudy.cli.main import parser

HEAVY = ("numpy", "duckdb", "scipy", "rich", "pandas", "pyarrow", "sqlite3", "mpmath", "yaml")


def commands() -> dict[str, argparse.ArgumentParser]:
    """Give every command's parser."""
    (found,) = (
        action.choices
        for action in parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return dict(found)


def test_the_commands_are_those_that_are_known() -> None:
    assert set(commands()) >= {"init", "check", "synth", "sample", "report", "resume", "ledger"}


@pytest.mark.parametrize("command", sorted(commands()))
def test_help_names_every_option_and_imports_nothing_heavy(command: str) -> None:
    done = process(
        command,
        "--help",
        code="import atexit\n"
        f"atexit.register(lambda: print('HEAVY', *(m for m in {HEAVY} if m in sys.modules)))",
    )
    assert (done.returncode, done.stderr) == (0, "")
    *text, last = done.stdout.splitlines()
    assert last == "HEAVY"
    assert text[0].startswith(f"usage: understudy {command}")
    words = set(" ".join(text).replace("[", " ").replace("]", " ").replace(",", " ").split())
    for action in commands()[command]._actions:
        for name in action.option_strings or [str(action.metavar or action.dest)]:
            assert name in words
