"""Help of every command: it names every option, and nothing heavy is imported for it."""

from __future__ import annotations

import argparse
import json
import subprocess
from functools import cache

import pytest

from tests.audit.effort import THOROUGH
from tests.cli.place import process
from understudy.cli.main import main, parser
from understudy.errors import UsageError

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


@cache
def helped(*asked: str) -> dict[str, list[str]]:
    """Ask for the help of commands in one process, and after each for what is imported."""
    done = process(
        code="import contextlib, io, json\n"
        "from understudy.cli.main import main\n"
        "def helped(command):\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "        try: main([command, '--help'])\n"
        "        except SystemExit as left: assert left.code == 0\n"
        f"    print('HEAVY', *(m for m in {HEAVY} if m in sys.modules), file=out)\n"
        "    return out.getvalue().splitlines()\n"
        f"print(json.dumps({{command: helped(command) for command in {asked}}}))\n"
        "sys.exit()"
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("command", sorted(commands()))
def test_help_names_every_option_and_imports_nothing_heavy(command: str) -> None:
    together = (command,) if THOROUGH else tuple(sorted(commands()))
    *text, last = helped(*together)[command]
    assert last == "HEAVY"
    assert text[0].startswith(f"usage: understudy {command}")
    words = set(" ".join(text).replace("[", " ").replace("]", " ").replace(",", " ").split())
    for action in commands()[command]._actions:
        for name in action.option_strings or [str(action.metavar or action.dest)]:
            assert name in words


def test_a_bare_command_shows_help() -> None:
    done = process()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: understudy [-h] [--version]")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["snyth"], "synth"),
        (["ledger", "a.ledger", "--crate"], "--create"),
        (["synth", "a.csv", "--epsilom=3"], "--epsilon"),
        (["completion", "bosh"], "bash"),
    ],
)
def test_a_word_that_is_almost_right(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == UsageError.exit_code
    told = capsys.readouterr().err
    assert f"Hint: did you mean {meant!r}?" in told
    assert "choose from" not in told
    assert main(["zzz"]) == UsageError.exit_code
    assert "Hint: understudy --help" in capsys.readouterr().err


def test_the_tab_key_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = (
        "COMP_WORDS=(understudy sy) COMP_CWORD=1; _understudy; echo ${COMPREPLY[@]}; "
        "COMP_WORDS=(understudy synth --led) COMP_CWORD=2; _understudy; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(
        ["/bin/bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["synth", "--ledger"]
    for shell in ("zsh", "fish"):
        assert main(["completion", shell]) == 0
        told = capsys.readouterr().out
        assert all(name in told for name in commands())


def test_windows_is_told_what_to_use() -> None:
    done = process("--version", code="sys.platform = 'win32'")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: Understudy does not run on Windows"
    )
