"""The completion command: a script that lets a shell complete commands and options.

source <(understudy completion bash)
"""

from __future__ import annotations

import argparse

from understudy.cli.main import parser

_BASH = """_understudy() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    elif [[ "$word" == -* ]]; then
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$word"))
    else COMPREPLY=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _understudy understudy"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def run(options: argparse.Namespace) -> None:
    """Print the script of a shell."""
    commands = _commands()
    if options.shell == "fish":
        lines = [
            "complete -c understudy -n __fish_use_subcommand -f -a " + repr(" ".join(commands))
        ]
        lines += [
            f"complete -c understudy -n '__fish_seen_subcommand_from {name}' -l {flag[2:]}"
            for name, flags in commands.items()
            for flag in flags
        ]
        print("\n".join(lines))
        return
    cases = [f'            {n}) words="{" ".join(flags)}" ;;' for n, flags in commands.items()]
    script = _BASH.format(commands=" ".join(commands), cases="\n".join(cases))
    print((_ZSH if options.shell == "zsh" else "") + script)


def _commands() -> dict[str, list[str]]:
    """Return every command's long options."""
    # The metrics' options are added only where evaluate is what is asked for.
    every = _parsers() | {"evaluate": _parsers("evaluate")["evaluate"]}
    return {
        name: [o for o in command._option_string_actions if o.startswith("--")]  # noqa: SLF001
        for name, command in every.items()
    }


def _parsers(*words: str) -> dict[str, argparse.ArgumentParser]:
    (found,) = (
        action
        for action in parser(words)._actions  # noqa: SLF001  argparse names no other way
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
    )
    return dict(found.choices)
