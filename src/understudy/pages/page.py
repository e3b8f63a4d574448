"""A page: sections of text, tables and charts in one HTML file that loads nothing.

Whatever comes from a table, a schema or a manifest is escaped here, in one place.  A chart is a
Vega-Lite specification; the program that draws it is part of the package (`setup.py` puts it
there) and is written into every page.  Beside every chart stands its table, for those who cannot
see it, and for those who do not trust it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ROOM = files("understudy.pages")
MOST_ROWS = 60
"""A table beside a chart has no more rows than this."""
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data:; form-action 'none'; base-uri 'none'"
)
"""The browser itself enforces that nothing is loaded and nothing sent."""

Cell = str | int | float | None
Table = dict[str, list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture of a table: what it shows in words, the columns, and how they are drawn."""

    title: str
    about: str
    """What it shows, in a sentence or two; the text alternative of the picture."""
    data: Table
    spec: Mapping[str, Any]
    """A Vega-Lite specification without its data."""


@dataclass(slots=True)
class Page:
    """An HTML page that grows section by section."""

    title: str
    about: str
    banner: str | None = None
    """A warning at the top, and on every sheet when the page is printed."""
    _parts: list[str] = field(default_factory=list)
    _links: list[tuple[str, str]] = field(default_factory=list)
    _charts: list[dict[str, Any]] = field(default_factory=list)

    def section(self, title: str, *paragraphs: str) -> None:
        """Begin a section."""
        name = f"s{len(self._links)}"
        self._links.append((name, title))
        self._parts.append(f'<h2 id="{name}">{escape(title)}</h2>')
        self.text(*paragraphs)

    def heading(self, title: str) -> None:
        """Begin a part of a section."""
        self._parts.append(f"<h3>{escape(title)}</h3>")

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs."""
        self._parts += [f"<p>{escape(text)}</p>" for text in paragraphs]

    def facts(self, facts: Mapping[str, object]) -> None:
        """Add a list of names and values."""
        listed = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(_shown(value))}</dd>"
            for name, value in facts.items()
        )
        self._parts.append(f"<dl>{listed}</dl>")

    def table(
        self, table: Mapping[str, Sequence[Any]], *, caption: str, folded: bool = False
    ) -> None:
        """Add a table; a folded one is collapsed at first."""
        drawn = f'<div class="wide" tabindex="0">{_table(table, caption)}</div>'
        summary = f"<details><summary>{escape(caption)}</summary>{drawn}</details>"
        self._parts.append(summary if folded else drawn)

    def chart(self, chart: Chart) -> None:
        """Add a chart, with its table."""
        self._parts.append(self._figure(chart))

    def choice(self, title: str, charts: Sequence[Chart]) -> None:
        """Add charts of which one is visible at a time, beginning with the first."""
        if len(charts) == 1:
            self.chart(charts[0])
        if len(charts) < 2:
            return
        name = f"choice{len(self._parts)}"
        options = "".join(
            f'<option value="{i}">{escape(chart.title)}</option>' for i, chart in enumerate(charts)
        )
        figures = "".join(
            f"<div{' hidden' if i else ''}>{self._figure(chart)}</div>"
            for i, chart in enumerate(charts)
        )
        self._parts.append(
            f'<p class="choice"><label for="{name}">{escape(title)}</label> '
            f'<select id="{name}">{options}</select></p><div class="chosen">{figures}</div>'
        )

    def _figure(self, chart: Chart) -> str:
        name = f"c{len(self._charts)}"
        values = records(chart.data)
        spec = {"data": {"values": values}, "description": chart.about, **chart.spec}
        self._charts.append({"name": name, "spec": spec})
        rows = len(values)
        first = {column: cells[:MOST_ROWS] for column, cells in chart.data.items()}
        more = f", the first {MOST_ROWS} of {rows} rows" if rows > MOST_ROWS else ""
        return (
            f'<figure aria-labelledby="{name}-title"><h4 id="{name}-title">{escape(chart.title)}'
            f'</h4><div class="chart" id="{name}" tabindex="0" role="group" '
            f'aria-label="{escape(chart.about)}"></div><figcaption>{escape(chart.about)}'
            f"</figcaption><details><summary>The same as a table{more}</summary>"
            f'<div class="wide" tabindex="0">{_table(first, chart.title)}</div></details></figure>'
        )

    def html(self) -> str:
        """Return the page as HTML."""
        links = "".join(f'<li><a href="#{n}">{escape(t)}</a></li>' for n, t in self._links)
        banner = "" if self.banner is None else f'<p class="banner">{escape(self.banner)}</p>'
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
            f"<title>{escape(self.title)}</title><style>{_packed('page.css')}</style></head>"
            f'<body><a class="skip" href="#content">To the content</a>{banner}<header>'
            f"<h1>{escape(self.title)}</h1><p>{escape(self.about)}</p></header>"
            f'<nav aria-label="Sections"><ol>{links}</ol></nav>'
            f'<main id="content">{"".join(self._parts)}</main>'
            "<noscript><p>Charts need JavaScript; their tables do not.</p></noscript>"
            f'<script type="application/json" id="charts">{_embedded(self._charts)}</script>'
            f"<script>{_script(_packed('vega.js'))}</script>"
            f"<script>{_script(_packed('page.js'))}</script></body></html>\n"
        )


def _packed(name: str) -> str:
    """Return the text of a file of this package."""
    try:
        return (_ROOM / name).read_text(encoding="utf-8")
    except OSError:
        raise MissingPackageError(
            "this installation lacks the program that draws charts",
            got=f"no {name}",
            hint="install Understudy from its wheel, or with 'make install' in a clone",
        ) from None


def _script(code: str) -> str:
    """Escape what would end a script early."""
    return re.sub("</(?=script)", r"<\\/", code, flags=re.IGNORECASE)


def _embedded(data: object) -> str:
    """Return data as JSON that cannot be parsed as HTML."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def field_of(name: str) -> str:
    """Return a column's name in a specification, where quotes, dots and brackets are syntax.

    >>> field_of("pickup area"), field_of("it's")
    ('pickup area', '~69742773')
    """
    return name if re.fullmatch(r"[\w ×:%-]+", name) else f"~{name.encode().hex()}"


def records(data: Table) -> list[dict[str, Any]]:
    """Return a table's rows as plain numbers and texts, by their names in a specification."""
    columns = {field_of(name): [_plain(cell) for cell in cells] for name, cells in data.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(cell: object) -> Cell:
    if isinstance(cell, (bool, np.bool_)):
        return str(cell)
    if isinstance(cell, (int, np.integer)):
        return int(cell)
    if isinstance(cell, (float, np.floating)):
        return float(f"{cell:.6g}") if np.isfinite(cell) else None
    return None if cell is None else str(cell)


def _table(table: Mapping[str, Sequence[Any]], caption: str) -> str:
    head = "".join(
        f'<th scope="col"{_aligned(next(iter(cells), None))}>{escape(name)}</th>'
        for name, cells in table.items()
    )
    rows = "".join(
        f"<tr>{''.join(_cell(cell) for cell in row)}</tr>"
        for row in zip(*table.values(), strict=True)
    )
    return (
        f"<table><caption><span>{escape(caption)}</span></caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _cell(cell: object) -> str:
    return f"<td{_aligned(cell)}>{escape(_shown(cell))}</td>"


def _aligned(cell: object) -> str:
    """Return the class of a cell that has a number, or of such a column's heading."""
    return ' class="number"' if isinstance(_plain(cell), (int, float)) else ""


def figure(value: float, digits: int = 4) -> str:
    """Return a number as people write it, without an exponent unless it is very small.

    >>> figure(1160.4, 3), figure(999.7, 3), figure(0.01234, 3), figure(1e-9)
    ('1,160', '1,000', '0.0123', '1e-09')
    """
    short = f"{value:,.{digits}g}"
    return f"{value:,.0f}" if abs(value) >= 1000 or "e+" in short else short


def _shown(value: object) -> str:
    plain = _plain(value)
    if isinstance(plain, float):
        return figure(value if isinstance(value, float) else plain)  # rounded once
    return f"{plain:,}" if isinstance(plain, int) else "" if plain is None else plain
