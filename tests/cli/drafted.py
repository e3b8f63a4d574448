"""A public table to draft from, run files, and refusals: what tests of several commands share."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

from understudy.schema.importers.files import toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.cli.place import Place
    from understudy.errors import UnderstudyError

HEADER = ("taxi", "colour", "hour", "when", "tip")


def lines(year: int, count: int = 120) -> list[str]:
    """Write rows of 30 taxis, with moments of all months of a year."""
    return [
        f"{i % 30},{'red' if i % 3 else 'blue'},{i % 4},"
        f"{year}-{1 + i % 12:02}-{1 + i % 28:02} {i % 24:02}:{i * 7 % 60:02}:00,{i % 10 / 4}"
        for i in range(count)
    ]


def table(place: Place, name: str = "public.csv", year: int = 2019, count: int = 120) -> Path:
    """Write a CSV file of such rows."""
    path = place / name
    path.write_text("\n".join([",".join(HEADER), *lines(year, count), ""]))
    return path


def runfile(place: Place, name: str = "run.toml", **keys: Any) -> Path:
    """Write a run file about the place's table; None leaves a key out."""
    given: dict[str, Any] = {
        "private": "trips.csv",
        "schema": "schema.toml",
        "unit": "taxi",
        "bounding": "weights:4",
        "epsilon": 1,
        "delta": 1e-6,
        "ledger": "trips.ledger",
        "mechanism": "independent",
        "out": "out",
    }
    if isinstance(keys.get("epsilon"), (int, float)) and keys["epsilon"] > 20:
        given["i_know"] = True
    path = place / name
    path.write_text(written({k: v for k, v in (given | keys).items() if v is not None}))
    return path


def written(keys: Mapping[str, Any]) -> str:
    """Write keys as TOML, tables after all else."""
    plain = [f"{k} = {toml_value(v)}" for k, v in keys.items() if not isinstance(v, dict)]
    for name, inner in keys.items():
        if isinstance(inner, dict):
            plain += [f"[{name}]", *(f"{k} = {toml_value(v)}" for k, v in inner.items())]
    return "\n".join([*plain, ""])


def read(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def refused(
    place: Place, arguments: list[str], kind: type[UnderstudyError], said: tuple[str, ...]
) -> None:
    """See that a command line is refused in one line, as text and as JSON, and leaves nothing."""
    before = place.spent(), place.names()
    told = place.say(*arguments)
    assert told.line.startswith("understudy: ")
    for part in said:
        assert part in told.line
    assert told.code == kind.exit_code
    assert (place.spent(), place.names()) == before

    as_json = place.say(*arguments, "--json")
    facts = json.loads(as_json.line)
    assert as_json.code == facts["exit_code"] == kind.exit_code
    assert facts["error"] == kind.__name__
    assert (place.spent(), place.names()) == before
