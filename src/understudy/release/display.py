"""Display: releases and tables of them as short texts, as HTML, and as other libraries' tables.

Nothing here is private.  All text in HTML is escaped, and there is no script in it.
"""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import MissingPackageError
from understudy.release.guarantee import delta_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.release.contents import Contents
    from understudy.schema import Array

    Texts = dict[str, list[str]]

MOST_LINES = 10
"""The most rows of a table that are shown."""
MOST_NAMES = 8
WIDEST = 40
_ARROW = {
    "BIGINT": "int64",
    "DOUBLE": "float64",
    "BOOLEAN": "bool",
    "VARCHAR": "string",
    "TIMESTAMP": "timestamp[us]",
}
_NULLABLE = {"BIGINT": ("int64", "Int64"), "BOOLEAN": ("bool", "boolean")}
"""pandas' types of what may be missing: without a missing value, and with one."""
_POLARS = {
    "BIGINT": "Int64",
    "DOUBLE": "Float64",
    "BOOLEAN": "Boolean",
    "VARCHAR": "String",
    "TIMESTAMP": "Datetime",
}


def shortened(text: object, most: int = WIDEST) -> str:
    """Return a text on one line, of at most ``most`` characters.

    >>> shortened("one  line", most=20), shortened("far too long", most=8)
    ('one line', 'far too…')
    """
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def numbered(numbers: Array, precision: float) -> list[str]:
    """Format numbers, down to the second significant digit of a precision.

    >>> numbered(np.array([1234.5678, -0.25]), precision=3.2)
    ['1,234.6', '-0.2']
    """
    sound = np.isfinite(precision) and precision > 0
    digits = int(np.clip(1 - np.floor(np.log10(precision)), 0, 6)) if sound else 0
    return [f"{number:,.{digits}f}" for number in numbers]


def named(names: Sequence[str], most: int = MOST_NAMES, *, width: int = WIDEST) -> str:
    """List the first names, and say how many more there are.

    >>> named(["a", "b", "c"], most=2), named([])
    ('a, b and 1 more', 'none')
    """
    told = ", ".join(shortened(name, width) for name in names[:most]) or "none"
    return f"{told} and {len(names) - most} more" if len(names) > most else told


def text_table(texts: Texts, right: int, more: int = 0) -> str:
    """Align columns of texts, the last ``right`` of them to the right; say how many rows follow.

    >>> print(text_table({"a": ["x", "yy"], "n": ["1", "10"]}, right=1, more=3))
    a    n
    x    1
    yy  10
    … 3 more
    """
    left = len(texts) - right
    columns = []
    for place, (name, column) in enumerate(texts.items()):
        cells = [shortened(name), *map(shortened, column)]
        width = max(map(len, cells))
        columns.append([c.ljust(width) if place < left else c.rjust(width) for c in cells])
    lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    return "\n".join([*lines, *([f"… {more:,} more"] if more else [])])


def html_table(texts: Texts, right: int, more: int = 0) -> str:
    """Return columns of texts as an HTML table."""
    left = len(texts) - right

    def line(cells: Sequence[str], tag: str) -> str:
        side = ["left" if place < left else "right" for place in range(len(cells))]
        inner = "".join(
            f'<{tag} style="text-align: {s}">{escape(shortened(c))}</{tag}>'
            for s, c in zip(side, cells, strict=True)
        )
        return f"<tr>{inner}</tr>"

    body = "".join(line(cells, "td") for cells in zip(*texts.values(), strict=True))
    after = f"<p>… {more:,} more</p>" if more else ""
    head = line(list(texts), "th")
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{after}"


def html_list(lines: Sequence[str]) -> str:
    """Return sentences as an HTML list; nothing where there are none."""
    inner = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{inner}</ul>" if inner else ""


def release_text(release: Contents) -> str:
    """Describe a release, one fact per line."""
    facts = _facts(release)
    width = max(map(len, facts))
    notes = [f"note: {shortened(note, 200)}" for note in release.manifest.get("notes", ())]
    return "\n".join(
        [
            "Release",
            *(f"  {k.ljust(width)}  {v}" for k, v in facts.items()),
            *map("  ".__add__, notes),
        ]
    )


def release_html(release: Contents) -> str:
    """Describe a release as an HTML table."""
    body = "".join(
        f'<tr><th style="text-align: left">{escape(k)}</th>'
        f'<td style="text-align: left">{escape(v)}</td></tr>'
        for k, v in _facts(release).items()
    )
    notes = html_list(release.manifest.get("notes", ()))
    return f"<b>Release</b><table><tbody>{body}</tbody></table>{notes}"


def _facts(release: Contents) -> dict[str, str]:
    manifest, domain = release.manifest, release.schema.unconstrained.domain
    promise, mechanism = manifest["guarantee"], manifest["mechanism"]
    chosen = mechanism.get("chosen", {}).get("name")
    shares = [charge["share"] for charge in manifest.get("charges", ())]
    return {
        "table": shortened(manifest["table"]),
        **({"people": f"{manifest['people']:,} synthetic people"} if release.two_tables else {}),
        "rows": f"{len(release):,} synthetic rows",
        "columns": f"{len(domain)}: {named(list(domain))}",
        "promise": shortened(
            f"epsilon = {promise['epsilon']:g}, "
            f"delta = {delta_words(promise['delta'], promise.get('failure', 0.0))} "
            f"for {promise['neighbours']}",
            200,
        ),
        "mechanism": shortened(mechanism["name"] + (f", which chose {chosen}" if chosen else "")),
        "cost": f"{100 * sum(shares):.3g} % of that budget, in {len(shares)} queries",
        "measurements": f"{len(release.measurements)} noisy marginals or parts of them",
    }


def to_pandas(
    columns: Mapping[str, Array],
    types: Mapping[str, str] | None = None,
    *,
    categories: Mapping[str, list[str]] | None = None,
    zones: Mapping[str, str] | None = None,
    what: str,
    instead: str,
) -> Any:  # noqa: ANN401  not required
    """Return columns as a pandas DataFrame, with the types that are declared.

    Integers and booleans with missing values are of pandas' nullable types, and columns with a list
    of texts are categorical.
    """
    pandas = _package("pandas", what, instead)
    made, lists, types = {}, categories or {}, types or {}
    for name, column in columns.items():
        if name in lists:
            made[name] = pandas.Categorical(column, categories=lists[name])
        elif column.dtype == object and types.get(name) in _NULLABLE:
            has_none = any(value is None for value in column.tolist())
            plain, nullable = _NULLABLE[types[name]]
            made[name] = pandas.array(column, dtype=nullable) if has_none else column.astype(plain)
        elif zones and name in zones:
            moments = pandas.Series(_moments(column)).dt
            made[name] = moments.tz_localize("UTC").dt.tz_convert(zones[name])
        else:
            made[name] = column
    return pandas.DataFrame(made)


def to_arrow(
    columns: Mapping[str, Array], types: Mapping[str, str], zones: Mapping[str, str]
) -> Any:  # noqa: ANN401  not required
    """Return columns as an Arrow table, with the declared types and time zones."""
    arrow = _package("pyarrow", "release.to_arrow()", "release.columns")
    declared = {name: arrow.type_for_alias(_ARROW[each]) for name, each in types.items()}
    declared |= {name: arrow.timestamp("us", tz=zone) for name, zone in zones.items()}
    made = {
        name: arrow.array(
            _moments(column),
            type=declared.get(name),
            # NaN is a missing value, as it is on disk.
            from_pandas=True,
        )
        for name, column in columns.items()
    }
    return arrow.table(made)


def to_polars(
    columns: Mapping[str, Array], types: Mapping[str, str], zones: Mapping[str, str]
) -> Any:  # noqa: ANN401  not required
    """Return columns as a polars DataFrame, with the declared types and time zones."""
    polars = _package("polars", "release.to_polars()", "release.columns")
    made = [
        polars.Series(
            name,
            column.tolist() if column.dtype == object else _moments(column),
            dtype=getattr(polars, _POLARS[types[name]]) if name in types else None,
            nan_to_null=column.dtype.kind == "f",
            strict=False,
        )
        for name, column in columns.items()
    ]
    frame = polars.DataFrame(made)
    return frame.with_columns(
        polars.col(name).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        for name, zone in zones.items()
        if name in columns
    )


def _moments(column: Array) -> Array:
    """Convert date-times to microseconds, which all libraries support; return others unchanged."""
    return column.astype("datetime64[us]") if column.dtype.kind == "M" else column


def _package(name: str, what: str, instead: str) -> Any:  # noqa: ANN401  a module that is not required
    try:
        return import_module(name)
    except ImportError:
        missing = name
    raise MissingPackageError(
        f"{what} needs {missing}", hint=f"pip install {missing}, or use {instead}"
    )
