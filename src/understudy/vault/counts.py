"""Exact counts: the integers behind each question.  They never leave the vault."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Norm, Sample, Weights
from understudy.door import (
    Candidate,
    Discover,
    Distances,
    Kinds,
    Measure,
    Merge,
    Query,
    Rows,
    Search,
    Select,
    Spread,
    Total,
    UnitCounts,
    UnitMode,
    Units,
    View,
    seen,
    viewed_schema,
)
from understudy.errors import QuestionError
from understudy.vault.candidates import distances
from understudy.vault.derivation import viewed
from understudy.vault.discovery import kinds, spread
from understudy.vault.marginals import cells, marginals
from understudy.vault.norm import normed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import AnyQuestion, Question
    from understudy.schema import Schema
    from understudy.vault.table import PrivateTable

    Whole = NDArray[np.int64]

OWN_TYPES = {Query, Rows, Candidate, Merge, View, Search, Weights, Sample, Norm, NoneType}


def check(schema: Schema, question: AnyQuestion) -> None:
    """Raise if a question does not fit the schema, before anything is spent."""
    _check_types(question)
    if isinstance(question, (Discover, Spread, Kinds)):
        _check_texts(schema, question)
        return
    _check_merged(schema, question)
    schema = seen(schema, question)
    match question:
        case Measure():
            for query in question.queries:
                size = cells(schema, query.clique)
                if query.rows is not None and query.rows.cells.max() >= size:
                    raise QuestionError(f"query rows hold cells outside {' × '.join(query.clique)}")
        case UnitMode():
            size = cells(schema, question.clique)
            if question.labels is not None and (
                question.labels.shape != (size,) or question.labels.max() < 0
            ):
                raise QuestionError(
                    "labels must have one entry per cell, and one that is not negative",
                    got=question.labels.shape,
                    allowed=f"({size},)",
                )
        case UnitCounts():
            size = cells(schema, question.clique)
            if question.cells.min() < 0 or question.cells.max() >= size:
                raise QuestionError(f"cells lie outside {' × '.join(question.clique)}")
        case Select() | Distances():
            for candidate in question.candidates:
                size = cells(schema, candidate.clique)
                if candidate.expected.shape != (size,):
                    raise QuestionError(
                        "an expectation must have one number per cell",
                        got=candidate.expected.shape,
                        allowed=f"({size},)",
                    )


def _check_texts(schema: Schema, question: Discover | Spread | Kinds) -> None:
    """Raise if a discovery names a column that is not text."""
    texts = [column.name for column in schema.texts]
    match question:
        case Discover():
            asked = [search.column for search in question.searches]
        case Spread():
            asked = [question.column]
        case Kinds():
            asked = [*question.columns]
    unknown = [column for column in asked if column not in texts]
    if unknown:
        raise QuestionError(
            "a discovery names columns that the schema does not declare as text",
            got=", ".join(unknown),
            allowed=", ".join(texts) or "none",
        )


def _check_merged(schema: Schema, question: Question) -> None:
    """Raise unless merged codes cover a modelled column, each column only once."""
    if not isinstance(question, (Measure, Select, Distances)):
        return
    merged = question.merged
    schema = schema if question.view is None else viewed_schema(schema, question.view)
    if len({merge.column for merge in merged}) < len(merged):
        raise QuestionError("a column's codes may be merged only once")
    for merge in merged:
        size = cells(schema, (merge.column,))
        if len(merge.codes) != size:
            raise QuestionError(
                f"merged codes of {merge.column} must map every code",
                got=f"{len(merge.codes)} codes",
                allowed=f"{size}",
            )


def _check_types(question: AnyQuestion) -> None:
    """Raise on a caller's own subclasses: their methods would receive exact counts."""
    parts: list[object] = []
    match question:
        case Measure():
            parts = [question.bounding, *question.queries, *question.merged, question.view]
            parts += [q.rows for q in question.queries if q.rows is not None]
        case Select() | Distances():
            parts = [question.bounding, *question.candidates, *question.merged, question.view]
        case Discover():
            parts = [*question.searches]
    for part in parts:
        if type(part) not in OWN_TYPES:
            raise QuestionError("a question must be made of the door's own types", got=type(part))


def exact(question: Question, table: PrivateTable) -> Whole:  # noqa: PLR0911  one a kind
    """Return a question's exact answer, in whole steps of its bounding's unit weight."""
    match question:
        case Measure():
            return _measure(question, table)
        case UnitMode():
            return _unit_mode(question, table)
        case UnitCounts():
            return _unit_counts(question, table)
        case Select() | Distances():
            return distances(question, table)
        case Total():
            return _total(question, table)
        case Units():
            return table.engine.fetch("SELECT count(*) AS n FROM sizes")["n"].astype(np.int64)
        case Spread():
            return spread(question, table)
        case Kinds():
            return kinds(question, table)


def _measure(question: Measure, source: PrivateTable) -> Whole:
    table, bounding = viewed(source, question.view).merged(question.merged), question.bounding
    weighted = normed(question, table) if isinstance(bounding, Norm) else table.bounded(bounding)
    found = dict(marginals(table, [q.clique for q in question.queries], weighted))
    sums = [
        found[q.clique] if q.rows is None else q.rows.sums(found[q.clique])
        for q in question.queries
    ]
    return np.concatenate(sums)


def _total(question: Total, table: PrivateTable) -> Whole:
    capped = f"CASE WHEN n < {question.cap} THEN n ELSE {question.cap} END"
    found = table.engine.fetch(f"SELECT CAST(coalesce(sum({capped}), 0) AS BIGINT) AS n FROM sizes")
    return found["n"].astype(np.int64)


def _unit_mode(question: UnitMode, table: PrivateTable) -> Whole:
    label, join, size = "cell", "", cells(table.schema, question.clique)
    if question.labels is not None:
        size = int(question.labels.max()) + 1
        table.engine.load(
            "labels", {"cell": np.arange(len(question.labels)), "label": question.labels}
        )
        label, join = "label", "JOIN labels USING (cell) WHERE label >= 0"
    asked = (
        f"SELECT {label} AS label, count(*) AS n "
        f"FROM (SELECT {table.packed(question.clique)} AS cell FROM rows) AS r {join} "
        f"GROUP BY {label}"
    )
    if not table.unit.is_row:
        tallied = (
            f"SELECT person, {label} AS label, count(*) AS n "
            f"FROM (SELECT person, {table.packed(question.clique)} AS cell FROM rows) AS r {join} "
            f"GROUP BY person, {label}"
        )
        hashed = table.hash_sql("CAST(label AS STRING)")
        placed = (
            f"SELECT label, row_number() OVER (PARTITION BY person ORDER BY n DESC, {hashed}) "
            f"AS place FROM ({table.named(tallied)}) AS t"
        )
        asked = f"SELECT label, count(*) AS n FROM ({placed}) AS m WHERE place = 1 GROUP BY label"
    found = table.engine.fetch(asked)
    counts = np.zeros(size, dtype=np.int64)
    counts[found["label"]] = found["n"]
    return counts


def _unit_counts(question: UnitCounts, table: PrivateTable) -> Whole:
    table.engine.load("asked", {"cell": question.cells, "place": np.arange(len(question.cells))})
    asked = (
        "SELECT place, 1 AS times, count(*) AS people "
        f"FROM (SELECT {table.packed(question.clique)} AS cell FROM rows) AS r "
        "JOIN asked USING (cell) GROUP BY place"
    )
    if not table.unit.is_row:
        tallied = (
            "SELECT person, place, cell, count(*) AS n "
            f"FROM (SELECT person, {table.packed(question.clique)} AS cell FROM rows) AS r "
            "JOIN asked USING (cell) GROUP BY person, place, cell"
        )
        hashed = table.hash_sql("CAST(cell AS STRING)")
        chosen = (
            f"SELECT place, n, row_number() OVER (PARTITION BY person ORDER BY {hashed}) AS turn "
            f"FROM ({table.named(tallied)}) AS t"
        )
        asked = (
            f"SELECT place, n AS times, count(*) AS people FROM ({chosen}) AS c "
            f"WHERE turn <= {question.most} GROUP BY place, n"
        )
    found = table.engine.fetch(asked)
    times = np.array(question.times, dtype=np.int64)
    order = np.argsort(times)
    reached = np.searchsorted(times[order], found["times"], side="right") - 1
    column = order[reached]
    counted = reached >= 0
    if not question.upwards:
        counted &= times[column] == found["times"]
    counts = np.zeros((len(question.cells), len(question.times)), dtype=np.int64)
    place = found["place"].astype(np.int64)
    np.add.at(counts, (place[counted], column[counted]), found["people"][counted])
    return counts.reshape(-1)
