"""Arguments of the command line, parsed: a unit, a bounding, a mechanism."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import Budget, Unit
from understudy.errors import MissingFileError, UsageError
from understudy.opening import EACH_ROW, bounding_of
from understudy.schema.known import Known
from understudy.synth import mechanism_from_dict
from understudy.synth.adagrid import AdaGrid
from understudy.synth.bestof import BestOf

if TYPE_CHECKING:
    import argparse

    from understudy.budget import Bounding
    from understudy.synth import Mechanism

BOUNDINGS = "weights:C, sample:C, weights:public or norm"
PUBLIC_CAP = "weights:public"
"""Weights with a cap that the mechanism chooses from the public table."""
OF_PEOPLE = "people:"
"""Before the name of a file that counts people."""
_OF_A_RUN = ("schema", "unit", "bounding", "epsilon", "delta", "ledger")
_OF_SYNTH = (*_OF_A_RUN, "out")
_OF_A_RECIPE = ("parameters", "ledger", "out")
_ONLY_OF_A_RECIPE = ("parameters", "lists", "groups", "noise")
_NOT_OF_A_RECIPE = (
    *("people", "schema", "unit", "null_ids", "mechanism", "format", "best_of"),
    *("known", "screening"),
)


def unit(text: str, nulls: Any) -> Unit:  # noqa: ANN401  argparse has checked the choice
    """Parse a unit: column names, or ``each-row``."""
    if text == EACH_ROW:
        return Unit.each_row()
    return Unit(*(name.strip() for name in text.split(",")), nulls=nulls or "drop")


def private(options: argparse.Namespace) -> str | dict[str, str]:
    """Return the private table; two, where people have one of their own."""
    if options.people is None:
        return str(options.private)
    return {"people": options.people, "rows": options.private}


def bounding(text: str) -> Bounding:
    """Parse a bounding: its kind, and its cap where it has one."""
    return bounding_of(text, allowed=BOUNDINGS)


def known(options: argparse.Namespace) -> tuple[Known, ...]:
    """Parse known totals: files of counts, or the tables of a run file."""
    return tuple(
        _counts(each) if isinstance(each, str) else Known.from_plain(each)
        for each in options.known or ()
    )


def _counts(text: str) -> Known:
    file = text.removeprefix(OF_PEOPLE)
    return Known.read(file) if file == text else Known.read(file, of="people")


def of_recipe(options: argparse.Namespace) -> dict[str, Any]:
    """Parse all options of a recipe's runs but where these are written."""
    return {
        "private": options.private,
        "parameters": options.parameters,
        "public": options.public,
        "ledger": Path(options.ledger),
        "budget": budget_of_recipe(options),
        **lists_of_recipe(options),
        "published": options.published,
        "bounding": None if options.bounding is None else bounding(options.bounding),
        "noise": options.noise,
        "settings": read_settings(options.settings),
    }


def lists_of_recipe(options: argparse.Namespace) -> dict[str, Any]:
    """Parse a recipe's code lists and groups of codes."""
    groups = {}
    for text in options.groups or ():
        column, mark, file = text.partition("=")
        if not mark or not column or not file:
            raise UsageError("--groups needs a column and a file", got=text, allowed="COLUMN=FILE")
        groups[column] = Path(file)
    return {"lists": None if options.lists is None else Path(options.lists), "groups": groups}


def budget_of_recipe(options: argparse.Namespace) -> Budget | None:
    """Parse a budget that replaces the recipe's own."""
    given = [options.epsilon is not None, options.delta is not None]
    if any(given) and not all(given):
        raise UsageError("a budget needs both epsilon and delta", hint="give both, or neither")
    return Budget(epsilon=options.epsilon, delta=options.delta) if all(given) else None


def chooser(options: argparse.Namespace, mechanism: Mechanism) -> AdaGrid | None:
    """Return the mechanism if it chooses the cap, or None if the cap is given."""
    if options.bounding != PUBLIC_CAP:
        return None
    if not isinstance(mechanism, AdaGrid):
        raise UsageError(
            f"{PUBLIC_CAP} needs a mechanism that can choose a cap",
            got=f"--mechanism {mechanism.name}",
            allowed=f"--mechanism {AdaGrid.name}",
            hint="or give the cap itself: weights:C",
        )
    if options.public is None:
        raise UsageError(
            f"{PUBLIC_CAP} needs a public table to choose the cap from",
            got="no --public",
            allowed="--public FILE",
            hint="or give the cap itself: weights:C",
        )
    return mechanism


def mechanism(name: str | None, settings: str | dict[str, Any] | None) -> Mechanism:
    """Make the named mechanism, with the given settings or those of a TOML file."""
    return mechanism_from_dict({"name": name or "auto", "settings": read_settings(settings)})


def read_settings(settings: str | dict[str, Any] | None) -> dict[str, Any]:
    """Return the given settings, or those of a TOML file."""
    if isinstance(settings, str):
        return read_toml(Path(settings), "settings file")
    return settings or {}


def chosen(options: argparse.Namespace) -> Mechanism:
    """Make the mechanism of `synth`, or what chooses among several."""
    if getattr(options, "best_of", None) is None:
        return mechanism(options.mechanism, options.settings)
    if options.mechanism not in {None, "auto"} or options.settings:
        raise UsageError(
            "--best-of names its mechanisms itself",
            got="--mechanism or --settings too",
            hint='--best-of mst,aim; for settings of each, mechanism = "bestof" in a run file',
        )
    asked = str(options.best_of)
    if asked.lstrip("-").isdigit():
        return BestOf.first(int(asked))
    names = [name.strip() for name in asked.split(",")]
    return mechanism_from_dict(
        {"name": BestOf.name, "settings": {"candidates": [{"name": name} for name in names]}}
    )


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a TOML file that a person has written."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        place = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
    except (OSError, ValueError):  # the name itself may be invalid
        raise MissingFileError(f"cannot read the {what} {path}") from None
    raise UsageError(f"{path.name} does not parse", got=place, allowed="TOML: name = value")


def check_run(options: argparse.Namespace) -> None:
    """Raise if options of `check` are missing or cannot be combined."""
    _check_together(options, _OF_A_RUN, ("parameters", "ledger"), "check")


def check_synth(options: argparse.Namespace) -> None:
    """Raise if options of `synth` are missing or cannot be combined."""
    _check_together(options, _OF_SYNTH, _OF_A_RECIPE, "synth")


def _check_together(
    options: argparse.Namespace, needed: tuple[str, ...], by_recipe: tuple[str, ...], command: str
) -> None:
    """Raise unless all options that are needed are given, and no other that says the same."""
    if options.recipe is None:
        _need(options, needed, command, "without --recipe")
        stray = [name for name in _ONLY_OF_A_RECIPE if getattr(options, name) is not None]
        stray += ["published"] * options.published
        why = "need --recipe"
    else:
        _need(options, by_recipe, command, "with --recipe")
        stray = [name for name in _NOT_OF_A_RECIPE if getattr(options, name, None) is not None]
        why = "the recipe or --parameters sets"
        _refuse_public_cap(options)
    if stray:
        raise UsageError(f"options that {why}", got=_flags(stray), hint="omit them")


def _refuse_public_cap(options: argparse.Namespace) -> None:
    if options.bounding == PUBLIC_CAP:
        raise UsageError(
            "a recipe's cap cannot be chosen from a public table",
            got=f"--bounding {PUBLIC_CAP}",
            allowed="weights:C, sample:C or norm",
            hint="omit --bounding to use the recipe's own caps",
        )


def _need(
    options: argparse.Namespace, names: tuple[str, ...], command: str, when: str = "here"
) -> None:
    missing = [name for name in names if getattr(options, name) is None]
    if missing:
        raise UsageError(
            f"the following arguments are required {when}: {_flags(missing)}",
            hint=f"understudy {command} --help; or set them in a run file: understudy init --help",
        )


def _flags(names: list[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)
