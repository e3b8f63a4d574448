"""Schema files: TOML of our own, and the metadata files that people already have.

What kind of file it is follows from its ending and its keys, and is never guessed from
rows: ``.toml`` is ours, ``.yaml`` is dpsynth's domain, and a ``.json`` is told apart by
its keys (a contest's ``runs`` and ``schema``, SDV's ``METADATA_SPEC_VERSION``, ours, the
census contest's ``maxval``, private-pgm's ``{column: size}``).
"""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from understudy.errors import MissingFileError, SchemaError
from understudy.schema.importers import contests as contest
from understudy.schema.importers import peers
from understudy.schema.importers.lists import with_lists

if TYPE_CHECKING:
    from pathlib import Path

    from understudy.schema.encoding.reading import Array

Plain = dict[str, Any]
LISTS = (".txt", ".csv")
"""The endings of code lists that are not JSON."""


def read_schema(path: Path, *, public: Mapping[str, Array] | None) -> Plain:
    """Read any supported schema file as the plain data of our own format."""
    data = _load(path)
    name, suffix = path.stem, path.suffix.lower()
    if suffix in {".yaml", ".yml"}:
        return peers.from_dpsynth(data, name=name)
    if suffix == ".toml" or ("columns" in data and "METADATA_SPEC_VERSION" not in data):
        return with_lists(data, lambda file: read_list(path.parent / file))
    if isinstance(data.get("schema"), dict):
        return contest.from_parameters(data, name=name)
    if "METADATA_SPEC_VERSION" in data:
        return peers.from_sdv(data, name=name, public=public)
    if data and all(isinstance(v, dict) and "maxval" in v for v in data.values()):
        return contest.from_specification(data, name=name)
    if data and all(isinstance(v, int) and not isinstance(v, bool) for v in data.values()):
        return peers.from_pgm(data, name=name)
    raise SchemaError(
        f"{path.name} is not a supported schema file",
        got=f"keys {', '.join(map(repr, list(data)[:4]))}",
        allowed="our TOML, a contest's parameters.json, or metadata of SDV, dpsynth or private-pgm",
    )


def _load(path: Path) -> Plain:
    data = _parsed(path, path.suffix.lower())
    if not isinstance(data, dict) or not all(isinstance(name, str) for name in data):
        raise SchemaError(
            f"{path.name} has no table of columns",
            got=type(data).__name__,
            allowed="a table whose keys are strings",
        )
    return data


def read_json(path: Path) -> object:
    """Read a JSON file, such as a code list."""
    return _parsed(path, ".json")


def read_list(path: Path) -> object:
    """Read a code list: JSON, a text with a code in each line, or the first column of a CSV."""
    return _parsed(path, path.suffix.lower() if path.suffix.lower() in LISTS else ".json")


def _parsed(path: Path, suffix: str) -> object:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SchemaError(f"{path.name} is not UTF-8 text") from None
    except (OSError, ValueError):  # the name itself may be invalid
        raise MissingFileError(f"cannot read the schema file {path}") from None
    try:
        return _parse(text, suffix)
    except (ValueError, RecursionError) as error:
        place = str(error).splitlines()[0]
        raise SchemaError(f"{path.name} does not parse", got=place) from None


def _parse(text: str, suffix: str) -> object:
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix in {".yaml", ".yml"}:
        import yaml  # noqa: PLC0415  only needed for such a file

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from None
    if suffix == ".txt":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if suffix == ".csv":
        # The first line is the header.
        return [row[0].strip() for row in list(csv.reader(text.splitlines()))[1:] if any(row)]
    return json.loads(text)


def write_toml(data: Plain) -> str:
    """Write the plain data of a schema as TOML.

    >>> print(write_toml({"name": "t", "columns": {"a b": {"kind": "id"}}}))
    name = "t"
    <BLANKLINE>
    [columns."a b"]
    kind = "id"
    <BLANKLINE>
    """
    lines = [f"name = {toml_value(data['name'])}"]
    if "order_by" in data:
        lines.append(f"order_by = {toml_value(data['order_by'])}")
    lines.append("")
    if "csv" in data:
        lines += ["[csv]", *(f"{k} = {toml_value(v)}" for k, v in data["csv"].items()), ""]
    for name, column in data["columns"].items():
        lines += [
            f"[columns.{_key(name)}]",
            *(f"{k} = {toml_value(v)}" for k, v in column.items()),
            "",
        ]
    for constraint in data.get("constraints", []):
        lines += ["[[constraints]]", *(f"{k} = {toml_value(v)}" for k, v in constraint.items()), ""]
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: object) -> str:
    """Write a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, (int, float)):
        return repr(value)
    # A JSON string is a TOML string but for the one control character JSON leaves bare.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
