"""Display: releases and tables of them as short texts, as HTML, and as other libraries' tables.

Nothing here is private.  All that is put into HTML is escaped, and there is no script in it.
"""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import MissingPackageError

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
_POLARS = {
    "BIGINT": "Int64",
    "DOUBLE": "Float64",
    "BOOLEAN": "Boolean",
    "VARCHAR": "String",
    "TIMESTAMP": "Datetime",
}


def shortened(text: object, most: int = WIDEST) -> str:
    """Write a text on one line, of so many characters at most.

    >>> shortened("one  line", most=20), shortened("far too long", most=8)
    ('one line', 'far too…')
    """
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def numbered(numbers: Array, precision: float) -> list[str]:
    """Write numbers, down to the second digit of a precision.

    >>> numbered(np.array([1234.5678, -0.25]), precision=3.2)
    ['1,234.6', '-0.2']
    """
    sound = np.isfinite(precision) and precision > 0
    digits = int(np.clip(1 - np.floor(np.log10(precision)), 0, 6)) if sound else 0
    return [f"{number:,.{digits}f}" for number in numbers]


def named(names: Sequence[str], most: int = MOST_NAMES, *, width: int = WIDEST) -> str:
    """Name the first of many.

    >>> named(["a", "b", "c"], most=2), named([])
    ('a, b and 1 more', 'none')
    """
    told = ", ".join(shortened(name, width) for name in names[:most]) or "none"
    return f"{told} and {len(names) - most} more" if len(names) > most else told


def text_table(texts: Texts, right: int, more: int = 0) -> str:
    """Align columns of texts, of which so many at the end are numbers; say how many rows follow.

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
    """Write columns of texts as a table in HTML."""
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
    """Write sentences as a list in HTML; nothing where there are none."""
    inner = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{inner}</ul>" if inner else ""


def release_text(release: Contents) -> str:
    """Tell what a release is, a fact a line."""
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
    """Tell what a release is as a table in HTML."""
    body = "".join(
        f'<tr><th style="text-align: left">{escape(k)}</th>'
        f'<td style="text-align: left">{escape(v)}</td></tr>'
        for k, v in _facts(release).items()
    )
    notes = html_list(release.manifest.get("notes", ()))
    return f"<b>Release</b><table><tbody>{body}</tbody></table>{notes}"


def _facts(release: Contents) -> dict[str, str]:
    manifest, domain = release.manifest, release.schema.domain
    promise, mechanism = manifest["guarantee"], manifest["mechanism"]
    chosen = mechanism.get("chosen", {}).get("name")
    shares = [charge["share"] for charge in manifest.get("charges", ())]
    return {
        "table": shortened(manifest["table"]),
        "rows": f"{len(release):,} synthetic ones",
        "columns": f"{len(domain)}: {named(list(domain))}",
        "promise": shortened(
            f"epsilon = {promise['epsilon']:g}, delta = {promise['delta']:g} "
            f"for {promise['neighbours']}",
            200,
        ),
        "mechanism": shortened(mechanism["name"] + (f", which chose {chosen}" if chosen else "")),
        "cost": f"{100 * sum(shares):.3g} % of that budget; questions asked: {len(shares)}",
        "measurements": f"{len(release.measurements)} noisy marginals or parts of them",
    }


def to_pandas(columns: Mapping[str, Array], *, what: str, instead: str) -> Any:  # noqa: ANN401  not required
    """Put columns into a pandas DataFrame."""
    return _package("pandas", what, instead).DataFrame(dict(columns))


def to_arrow(columns: Mapping[str, Array], types: Mapping[str, str]) -> Any:  # noqa: ANN401  not required
    """Put columns into an Arrow table, those with a declared type as that one."""
    arrow = _package("pyarrow", "release.to_arrow()", "release.columns")
    made = {
        name: arrow.array(
            _moments(column),
            type=arrow.type_for_alias(_ARROW[types[name]]) if name in types else None,
            # Where a number is none, it is missing, as it is on disk.
            from_pandas=True,
        )
        for name, column in columns.items()
    }
    return arrow.table(made)


def to_polars(columns: Mapping[str, Array], types: Mapping[str, str]) -> Any:  # noqa: ANN401  not required
    """Put columns into a polars DataFrame, those with a declared type as that one."""
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
    return polars.DataFrame(made)


def _moments(column: Array) -> Array:
    """Give moments by the microsecond, which all libraries know, and other columns as they are."""
    return column.astype("datetime64[us]") if column.dtype.kind == "M" else column


def _package(name: str, what: str, instead: str) -> Any:  # noqa: ANN401  a module that is not required
    try:
        return import_module(name)
    except ImportError:
        missing = name
    raise MissingPackageError(
        f"{what} needs {missing}", hint=f"pip install {missing}, or use {instead}"
    )
