"""A contest's own files: the table's columns, the required runs, and lists of codes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.budget import Budget
from understudy.errors import SchemaError
from understudy.schema import Categorical, Schema
from understudy.schema.importers.files import read_json
from understudy.schema.importers.lists import groups_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestRun:
    """One entry of ``runs`` in a parameters.json."""

    budget: Budget
    most_rows: int | None
    """None where counts are submitted, or the number of rows is unlimited."""
    most_each: int


def read_parameters(path: Path) -> tuple[Schema, list[ContestRun]]:
    """Read a contest's parameters.json: its schema and the runs that it requires."""
    schema = Schema.read(path)
    try:
        read = json.loads(path.read_text(encoding="utf-8-sig"))
        _check_periods(read["schema"].get("periods", []))
        runs = [
            ContestRun(
                budget=Budget(epsilon=run["epsilon"], delta=run["delta"]),
                most_rows=_count(run["max_records"]) if "max_records" in run else None,
                most_each=_count(run["max_records_per_individual"]),
            )
            for run in read["runs"]
        ]
    except (KeyError, TypeError, ValueError):
        runs = []
    if not runs or len({run.budget.epsilon for run in runs}) < len(runs):
        raise SchemaError(
            f"{path.name} has no valid list of runs",
            allowed="runs of different epsilon, each with epsilon, delta, "
            "max_records_per_individual and, for rows, max_records",
        )
    return schema, runs


def _check_periods(periods: list[dict[str, int]]) -> None:
    years, months = ({p[part] for p in periods} for part in ("year", "month"))
    if len(periods) != len(years) * len(months):
        raise SchemaError("periods must be the same months of every year", got=f"{len(periods)}")


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(value)
    return value


def with_codes(
    declared: Schema, lists: str | Path | None, groups: Mapping[str, str | Path]
) -> Schema:
    """Declare the codes that a file lists for columns, and the groups that codes belong to.

    A value outside its column's list, which may be of another year, becomes the last code, which
    codebooks use for unknown values: a submission must contain listed codes only.
    """
    listed = {} if lists is None else read_json(Path(lists))
    if not isinstance(listed, dict) or not all(map(_is_list, listed.values())):
        raise SchemaError(
            "a file of code lists must be a JSON object", allowed="column → [code, …]"
        )
    known = {c.name: c for c in declared.columns}
    unknown = sorted(set(groups) - set(listed))
    if unknown:
        raise SchemaError(
            "groups need a column with a code list",
            got=", ".join(unknown),
            allowed=", ".join(listed) or "none, as no code lists are given",
        )
    columns = []
    for name, values in listed.items():
        belongs = read_json(Path(groups[name])) if name in groups else {}
        if not isinstance(belongs, dict):
            raise SchemaError(f"column {name!r}: groups must be an object", allowed="code → group")
        named = tuple(groups_of(name, values, belongs)) if belongs else ()
        if name in known:
            columns.append(
                Categorical(
                    name=name,
                    values=tuple(values),
                    missing=False,
                    other=values[-1] if values else None,
                    groups=named,
                )
            )
    return declared.with_columns(*columns)


def _is_list(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(v, (str, int, float)) for v in values)
