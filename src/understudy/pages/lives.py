"""A few synthetic lives: a line for a person, and a mark for each of their rows, in order.

They are synthetic people of the release, chosen by their number of rows alone.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.pages import charts

if TYPE_CHECKING:
    from understudy.pages.page import Chart, Page, Table
    from understudy.release import Release
    from understudy.schema import Array, Schema
    from understudy.schema.columns import Released

SHOWN = 6
"""The number of people shown, where there are as many."""
MOST_EACH = 60
"""The most rows of a person that are shown: the first ones."""
MOST_CHARTS = 8
MOST_KINDS = len(charts.SHAPES)
CAPTION, MOST_LINES = 30, 5
"""The most characters of a line of several of a person's own columns, which a phone has room for,
and the most such lines."""
PERSON, NUMBER = "synthetic person", "row number"


def add_lives(page: Page, release: Release, ids: Array) -> None:
    """Show a few people of a release whose schema orders their rows; ``ids`` has each row's."""
    if not release.schema.order_by or not len(ids):
        return
    lives = _Lives.of(release, chosen(ids))
    few = len(lives.captions)
    page.heading("A few synthetic lives")
    page.text(
        f"{few} of {len(np.unique(ids)):,} synthetic people, chosen by nothing but their number of "
        "rows, some with few and some with many; nobody here is real. A line is a person, "
        f"and a mark is a row, in the order of {', '.join(release.schema.order_by)}."
    )
    page.choice("Colour and shape show", lives.charts())


def chosen(ids: Array) -> list[Any]:
    """Choose people from all classes of sizes (1, 2–3, 4–7, …), those with most rows first.

    >>> chosen(np.repeat([7, 8, 9, 10], [1, 1, 5, 2]))
    [9, 10, 8, 7]
    """
    names, sizes = np.unique(ids, return_counts=True)
    order = np.lexsort((names, sizes))
    magnitude = np.floor(np.log2(sizes[order]))
    classes = [order[magnitude == m] for m in np.unique(magnitude)[::-1]]
    if len(classes) > SHOWN:
        classes = [classes[i] for i in np.linspace(0, len(classes) - 1, SHOWN).round().astype(int)]
    turns = Counter[int]()
    while turns.total() < min(SHOWN, sum(map(len, classes))):
        for i, people in enumerate(classes):
            turns[i] += turns[i] < len(people) and turns.total() < SHOWN
    found = [
        people[(2 * j + 1) * len(people) // (2 * turns[i])]
        for i, people in enumerate(classes)
        for j in reversed(range(turns[i]))
    ]
    return list(names[found].tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Lives:
    """The rows of some people, one after the other and each in order."""

    schema: Schema
    captions: list[str]
    whose: list[int]
    """The number of each row's person."""
    values: dict[str, list[Any]]
    """The values of the columns that order rows."""
    codes: dict[str, Array]

    @classmethod
    def of(cls, release: Release, people: list[Any]) -> _Lives:
        """Find the rows of some people, in one pass over all of them."""
        schema, name = release.schema.released().unconstrained, release.ids[0]
        parts = [
            {n: column[np.isin(batch[name], people)] for n, column in batch.items()}
            for batch in release.decoded
        ]
        rows = {n: np.concatenate([part[n] for part in parts]) for n in parts[0]}
        codes, _ = schema.encode(rows)
        values = {n: [_value(v) for v in rows[n].tolist()] for n in schema.order_by}
        order: list[int] = []
        captions = []
        own = [c for c in schema.released_columns if c.of == "person"]
        for person in people:
            theirs = np.flatnonzero(rows[name] == person)
            first = theirs[0]
            told = [f"{c.name} {_label(c, codes, first)}" for c in own]
            head = [f"person {person}", f"{len(theirs):,} row{'s' * (len(theirs) > 1)}"]
            if len(theirs) > MOST_EACH:
                head.append(f"the first {MOST_EACH} shown")
            captions.append("\n".join([*_lines(head), *_lines(told)]))
            ranked = sorted(theirs, key=lambda i: [_place(values[n][i]) for n in values])
            order += map(int, ranked[:MOST_EACH])
        numbers = {person: i for i, person in enumerate(people)}
        return cls(
            schema=schema,
            captions=captions,
            whose=[numbers[rows[name][i]] for i in order],
            values={n: [found[i] for i in order] for n, found in values.items()},
            codes={n: found[order] for n, found in codes.items()},
        )

    def charts(self) -> list[Chart]:
        """Draw the same people once for every column of rows that tells something of them."""
        events = [
            c
            for c in self.schema.released_columns
            if c.of == "row" and c.name not in self.schema.order_by and len(c.modelled) == 1
        ]
        # Categories first: they say the most of what happens.
        events.sort(key=lambda c: c.modelled[0].ordered_count > 0)
        return [self._chart(c) for c in events[:MOST_CHARTS]] or [self._chart(None)]

    def _chart(self, column: Released | None) -> Chart:
        data: Table = {PERSON: [self.captions[i] for i in self.whose], **self.values}
        time = self.schema.order_by[0]
        if len(self.values) > 1:
            time = NUMBER
            data[time] = [self.whose[:i].count(who) + 1 for i, who in enumerate(self.whose)]
        about = (
            f"The rows of {len(self.captions)} synthetic people, by {time}; those of the same "
            f"{time} are stacked, and those without one are in the table only"
        )
        if column is None:
            return charts.timelines("Rows", f"{about}.", data, person=PERSON, time=time)
        labels = [_label(column, self.codes, i) for i in range(len(self.whose))]
        kinds, colours = self._kinds(column)
        data[column.name] = labels
        by = column.name
        if kinds != labels:
            by = f"{column.name}, grouped"
            data[by] = kinds
        return charts.timelines(
            column.name,
            f"{about}; colour and shape are those of {column.name}.",
            data,
            person=PERSON,
            time=time,
            by=by,
            kinds=colours,
        )

    def _kinds(self, column: Released) -> tuple[list[str], dict[str, str]]:
        """Group a column's values, unless they are few; also give each group a colour, in order."""
        (part,) = column.modelled
        codes, names = self.codes[part.name], part.readable()
        seen, counts = np.unique(codes, return_counts=True)
        if len(seen) <= MOST_KINDS:
            group = {c: names[c] for c in seen}
        elif not part.ordered_count:
            often = np.sort(seen[np.argsort(-counts, kind="stable")[: MOST_KINDS - 1]])
            group = {c: names[c] for c in often}
        else:
            group = {c: names[c] for c in seen if c >= part.ordered_count}
            inside = seen[seen < part.ordered_count]
            for some in np.array_split(inside, MOST_KINDS - len(group)):
                ends = dict.fromkeys(names[c] for c in (some[0], some[-1]))
                group |= dict.fromkeys(some, " to ".join(ends))
        kinds = [group.get(c, "another value") for c in codes]
        ranked = list(dict.fromkeys([*(group[c] for c in sorted(group)), *kinds]))
        if not part.ordered_count:
            return kinds, dict(zip(ranked, charts.HUES, strict=False))
        steps = np.linspace(0, MOST_KINDS - 1, len(ranked)).round().astype(int)
        return kinds, {kind: charts.RAMP[i] for kind, i in zip(ranked, steps, strict=True)}


def _label(column: Released, codes: dict[str, Array], row: int) -> str:
    """Return a row's value in words; a column that is modelled as several has their words."""
    return " ".join(part.readable()[codes[part.name][row]] for part in column.modelled)


def _lines(told: list[str]) -> list[str]:
    """Put facts on lines of about the same length."""
    lines: list[str] = []
    for fact in told:
        if lines and len(lines[-1]) + len(fact) + 2 <= CAPTION:
            lines[-1] += f", {fact}"
        else:
            lines.append(fact)
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], "…"]


def _value(cell: object) -> object:
    """Return a value that orders rows: a number, or a moment as text; None where it is missing."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    return cell if isinstance(cell, (int, float)) else str(cell).replace(" ", "T")


def _place(value: Any) -> tuple[bool, Any]:  # noqa: ANN401  what orders rows
    """Return what a value is sorted by: missing ones are last."""
    return value is None, 0 if value is None else value
