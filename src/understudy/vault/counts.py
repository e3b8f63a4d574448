"""Exact counts: the integers behind each question.  They never leave the vault.

Marginals are counted by GROUPING SETS of the outermost cliques, many in one pass, each packed
into one whole number a row; a marginal inside another is summed from it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Norm, Sample, Weights
from understudy.budget.bounding import FRACTION_BITS
from understudy.door import (
    Candidate,
    Measure,
    Merge,
    Query,
    Rows,
    Select,
    Total,
    UnitCounts,
    UnitMode,
    Units,
    seen,
)
from understudy.errors import QuestionError
from understudy.vault.norm import normed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from understudy.door import Question
    from understudy.graph import Clique
    from understudy.schema import Schema
    from understudy.vault.table import PrivateTable

    Whole = NDArray[np.int64]

MOST_CELLS = 10**8
AT_ONCE = 32
"""How many marginals are counted in one pass over the rows; an engine plans no more with ease."""


def cells(schema: Schema, clique: Clique) -> int:
    """Give the number of cells of a clique, refusing unknown columns and giants."""
    unknown = [name for name in clique if name not in schema.domain]
    if unknown:
        raise QuestionError(
            "a question names columns that the schema does not model",
            got=", ".join(unknown),
            allowed=", ".join(schema.domain),
        )
    size = math.prod(schema.domain[name] for name in clique)
    if size > MOST_CELLS:
        raise QuestionError(
            f"the marginal of {' × '.join(clique)} is too large",
            got=f"{size:,} cells",
            allowed=f"at most {MOST_CELLS:,}",
            hint="drop a column of it, or declare fewer values or bins",
        )
    return size


def check(schema: Schema, question: Question) -> None:
    """Refuse a question that does not fit the schema, before anything is spent."""
    _check_types(question)
    _check_merged(schema, question)
    schema = seen(schema, question)
    match question:
        case Measure():
            for query in question.queries:
                size = cells(schema, query.clique)
                if query.rows is not None and query.rows.cells.max() >= size:
                    raise QuestionError(f"rows name cells beyond {' × '.join(query.clique)}")
        case UnitMode():
            size = cells(schema, question.clique)
            if question.labels is not None and (
                question.labels.shape != (size,) or question.labels.max() < 0
            ):
                raise QuestionError(
                    "labels must name every cell", got=question.labels.shape, allowed=f"({size},)"
                )
        case UnitCounts():
            size = cells(schema, question.clique)
            if question.cells.min() < 0 or question.cells.max() >= size:
                raise QuestionError(f"cells lie beyond {' × '.join(question.clique)}")
        case Select():
            for candidate in question.candidates:
                size = cells(schema, candidate.clique)
                if candidate.expected.shape != (size,):
                    raise QuestionError(
                        "an expectation must have a number a cell",
                        got=candidate.expected.shape,
                        allowed=f"({size},)",
                    )
        case Total() | Units():
            pass


def _check_merged(schema: Schema, question: Question) -> None:
    """Refuse merged codes that are not those of a column, each named once."""
    merged = question.merged if isinstance(question, (Measure, Select)) else ()
    if len({merge.column for merge in merged}) < len(merged):
        raise QuestionError("a column's codes are merged once")
    for merge in merged:
        size = cells(schema, (merge.column,))
        if len(merge.codes) != size:
            raise QuestionError(
                f"merged codes of {merge.column} must name every code of it",
                got=f"{len(merge.codes)} codes",
                allowed=f"{size}",
            )


def _check_types(question: Question) -> None:
    """Refuse records of types of the asker's own: their methods would be given exact counts."""
    parts: list[object] = []
    match question:
        case Measure():
            parts = [question.bounding, *question.queries, *question.merged]
            parts += [q.rows for q in question.queries if q.rows is not None]
        case Select():
            parts = [question.bounding, *question.candidates, *question.merged]
        case _:
            pass
    for part in parts:
        if type(part) not in {Query, Rows, Candidate, Merge, Weights, Sample, Norm}:
            raise QuestionError("a question is made of the door's own records", got=type(part))


def outermost(cliques: Iterable[Clique]) -> list[Clique]:
    """Keep the cliques that lie within no other."""
    distinct = sorted({frozenset(c): c for c in cliques}.values(), key=len, reverse=True)
    outer: list[Clique] = []
    for clique in distinct:
        if not any(set(clique) <= set(o) for o in outer):
            outer.append(clique)
    return outer


def marginals(table: PrivateTable, cliques: Sequence[Clique], weighted: str) -> dict[Clique, Whole]:
    """Count the marginals of many cliques over a table of weighted rows."""
    full: dict[Clique, Whole] = {}
    outer = outermost(cliques)
    for start in range(0, len(outer), AT_ONCE):
        full |= _counted(table, outer[start : start + AT_ONCE], weighted)
    return {c: _project(table.schema, full, c) for c in cliques}


def _counted(table: PrivateTable, outer: Sequence[Clique], weighted: str) -> dict[Clique, Whole]:
    """Count some marginals in one pass, each packed into one whole number a row."""
    keys = ", ".join(f"{table.packed(c)} AS k{i}" for i, c in enumerate(outer))
    names = [f"k{i}" for i in range(len(outer))]
    sets = ", ".join(f"({k})" for k in names)
    which = " ".join(f"WHEN grouping({k}) = 0 THEN {i}" for i, k in enumerate(names))
    rows = table.as_seen(weighted, {name for clique in outer for name in clique})
    found = table.engine.fetch(
        f"SELECT CASE {which} END AS which, coalesce({', '.join(names)}) AS cell, "
        f"CAST(sum(w) AS BIGINT) AS n FROM (SELECT {keys}, w FROM {rows}) AS r "
        f"GROUP BY GROUPING SETS ({sets})"
    )
    full = {}
    for i, clique in enumerate(outer):
        here = found["which"] == i
        counts = np.zeros(cells(table.schema, clique), dtype=np.int64)
        counts[found["cell"][here]] = found["n"][here]
        full[clique] = counts
    return full


def _project(schema: Schema, full: dict[Clique, Whole], clique: Clique) -> Whole:
    """Sum a marginal out of the smallest counted one that holds it."""
    if clique in full:
        return full[clique]
    holders = [o for o in full if set(clique) <= set(o)]
    outer = min(holders, key=lambda o: full[o].size)
    shaped = full[outer].reshape([schema.domain[n] for n in outer])
    summed = shaped.sum(axis=tuple(i for i, n in enumerate(outer) if n not in clique))
    left = [n for n in outer if n in clique]
    return np.ascontiguousarray(summed.transpose([left.index(n) for n in clique])).reshape(-1)


def exact(question: Question, table: PrivateTable) -> Whole:
    """Count what a question asks, in whole steps of its bounding's unit weight."""
    match question:
        case Measure():
            return _measure(question, table)
        case UnitMode():
            return _unit_mode(question, table)
        case UnitCounts():
            return _unit_counts(question, table)
        case Select():
            return _distances(question, table)
        case Total():
            return _total(question, table)
        case Units():
            return table.engine.fetch("SELECT count(*) AS n FROM sizes")["n"].astype(np.int64)


def _measure(question: Measure, table: PrivateTable) -> Whole:
    table, bounding = table.merged(question.merged), question.bounding
    weighted = normed(question, table) if isinstance(bounding, Norm) else table.bounded(bounding)
    found = marginals(table, [q.clique for q in question.queries], weighted)
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
    cell = table.packed(question.clique)
    label, join, size = "cell", "", cells(table.schema, question.clique)
    if question.labels is not None:
        size = int(question.labels.max()) + 1
        table.hold("labels", {"cell": np.arange(len(question.labels)), "label": question.labels})
        label, join = "label", "JOIN labels USING (cell) WHERE label >= 0"
    tallied = (
        f"SELECT person, {label} AS label, count(*) AS n "
        f"FROM (SELECT person, {cell} AS cell FROM rows) AS r {join} GROUP BY person, {label}"
    )
    hashed = table.hash_sql("CAST(label AS VARCHAR)")
    placed = (
        f"SELECT label, row_number() OVER (PARTITION BY t.person ORDER BY n DESC, {hashed}) "
        f"AS place FROM ({tallied}) AS t JOIN people AS p ON p.person = t.person"
    )
    found = table.engine.fetch(
        f"SELECT label, count(*) AS n FROM ({placed}) AS m WHERE place = 1 GROUP BY label"
    )
    counts = np.zeros(size, dtype=np.int64)
    counts[found["label"]] = found["n"]
    return counts


def _unit_counts(question: UnitCounts, table: PrivateTable) -> Whole:
    table.hold("asked", {"cell": question.cells, "place": np.arange(len(question.cells))})
    cell = table.packed(question.clique)
    tallied = (
        f"SELECT person, place, count(*) AS n FROM (SELECT person, {cell} AS cell FROM rows) "
        "AS r JOIN asked USING (cell) GROUP BY person, place"
    )
    hashed = table.hash_sql("CAST(cell AS VARCHAR)")
    chosen = (
        f"SELECT t.place, n, row_number() OVER (PARTITION BY t.person ORDER BY {hashed}) AS turn "
        f"FROM ({tallied}) AS t JOIN people AS p ON p.person = t.person JOIN asked USING (place)"
    )
    found = table.engine.fetch(
        f"SELECT place, n AS times, count(*) AS people FROM ({chosen}) AS c "
        f"WHERE turn <= {question.most} GROUP BY place, n"
    )
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


def _distances(question: Select, table: PrivateTable) -> Whole:
    """Give the L1 distances less the penalties, in steps of 2⁻¹⁶ of a row."""
    table = table.merged(question.merged)
    weighted = table.bounded(question.bounding)
    found = marginals(table, [c.clique for c in question.candidates], weighted)
    step = 2**FRACTION_BITS
    up = step // question.bounding.unit_weight
    distances = [
        int(np.abs(found[c.clique] * up - np.rint(c.expected * step).astype(np.int64)).sum())
        - round(c.penalty * step)
        for c in question.candidates
    ]
    return np.array(distances, dtype=np.int64)
