"""Small worlds: every table of a few people with a few rows on a few cells.

Exact answers are sums over people: what a person adds is what a table of that person alone
holds, whoever else is there.  So a person's arrival moves an answer by just that, and it is
enough to hold every single person against the declared sensitivity, and every table against
the sum of its people.  Distances, asked for or selected by, are no sums; they are held against
marginals, which are, so that a person moves them by no more than their own rows weigh.  All this
is asked of the columns' own codes, and of merged ones.
"""

from __future__ import annotations

import itertools
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from understudy.audit.distance import check_distance
from understudy.budget import Norm, Sample, Unit, Weights
from understudy.budget.bounding import FRACTION_BITS
from understudy.door import (
    Candidate,
    Distances,
    Measure,
    Merge,
    Query,
    Rows,
    Select,
    Total,
    UnitCounts,
    UnitMode,
    Units,
)
from understudy.engine import DuckDB
from understudy.errors import AuditError
from understudy.schema import Integer, Schema
from understudy.vault import PrivateTable
from understudy.vault.counts import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from understudy.budget import Bounding, Capped
    from understudy.door import Question

    Person = tuple[int, ...]
    """The cell of each of a person's rows, in order."""
    Answers = list[NDArray[np.int64]]

MOST_CELLS = 6
KEY = "5" * 32
SCHEMA = Schema(
    "small-world",
    (
        Integer(name="a", min=0, max=2, missing=False),
        Integer(name="b", min=0, max=1, missing=False),
    ),
)
BOTH = ("a", "b")
PRICE = 8.0
"""Enough for every cap."""
NORM_PRICE = 1.5
"""Enough for one row under `Norm`, and too little for two: people with more are clipped."""
COARSE = Rows(np.array([0, 3, 6, 8]), np.array([0, 1, 2, 2, 3, 4, 4, 5]))
MERGED = (Merge(column="a", codes=np.array([0, 1, 0])),)
MERGED_CELLS = 4
MERGED_COARSE = Rows(np.array([0, 3, 5]), np.array([0, 1, 2, 2, 3]))
CAPPED: tuple[Capped, ...] = (Weights(1), Sample(1), Weights(3))
BOUNDINGS: tuple[Bounding, ...] = (*CAPPED, Norm())
QUESTIONS: tuple[Question, ...] = (
    *(
        Measure(
            queries=(
                Query(clique=BOTH, scale=2.0),
                Query(clique=("a",), scale=1.0),
                Query(clique=BOTH, scale=3.0, rows=rows),
                Query(clique=(), scale=5.0),
            ),
            bounding=bounding,
            price=NORM_PRICE if isinstance(bounding, Norm) else PRICE,
            merged=merged,
        )
        for merged, rows in (((), COARSE), (MERGED, MERGED_COARSE))
        for bounding in BOUNDINGS
    ),
    UnitMode(clique=BOTH, scale=1.0),
    UnitMode(clique=BOTH, scale=1.0, labels=np.array([0, 0, 1, 1, -1, 2])),
    UnitCounts(clique=BOTH, cells=np.array([0, 1, 4]), times=(1, 2), most=1, scale=1.0),
    UnitCounts(clique=("a",), cells=np.array([0, 2]), times=(2,), most=2, scale=1.0),
    UnitCounts(clique=BOTH, cells=np.arange(6), times=(2, 1), most=1, scale=1.0, upwards=True),
    Total(cap=1, scale=1.0),
    Total(cap=2, scale=1.0),
    Units(scale=1.0),
)
EXPECTED = np.array([1.5, 0.0, 2.0, 0.25, 3.0, 0.0])
"""A model's expectation: too few rows in some cells, and too many in others."""
PENALTIES = (0.5, -0.25)


def _candidates(cells: int) -> tuple[Candidate, ...]:
    """Return two candidates of one clique: the expectation, and its reverse."""
    expected = EXPECTED[:cells]
    return tuple(
        Candidate(clique=BOTH, expected=e, penalty=p)
        for e, p in zip((expected, expected[::-1]), PENALTIES, strict=True)
    )


APART: tuple[Select | Distances, ...] = tuple(
    question
    for merged, cells in (((), MOST_CELLS), (MERGED, MERGED_CELLS))
    for bounding in CAPPED
    for question in (
        Select(candidates=_candidates(cells), epsilon=1.0, bounding=bounding, merged=merged),
        Distances(candidates=_candidates(cells), scale=2.0, bounding=bounding, merged=merged),
    )
)
"""Questions whose exact answers are distances of marginals, not sums over people."""


def every_world(people: int, rows: int, cells: int) -> Iterator[tuple[Person, ...]]:
    """Enumerate all tables of up to ``people`` people with 1 to ``rows`` rows each, in some cells.

    >>> len(list(every_world(people=2, rows=1, cells=3)))
    10
    """
    kinds: list[Person] = [
        person
        for size in range(1, rows + 1)
        for person in itertools.combinations_with_replacement(range(cells), size)
    ]
    for count in range(people + 1):
        yield from itertools.combinations_with_replacement(kinds, count)


def check_small_worlds(people: int, rows: int, cells: int, part: int = 0, parts: int = 1) -> int:
    """Compare every small world with the sum of its people, and every person with the sensitivity.

    With several parts, each checks every n-th world only.
    """
    alone: dict[tuple[int, Person], Answers] = {}
    nobody = _answers({})
    checked = 0
    for world in itertools.islice(every_world(people, rows, cells), part, None, parts):
        for place, person in enumerate(world):
            if (place, person) not in alone:
                alone[place, person] = _answers({place: person})
                for question, there, gone in zip(
                    (*QUESTIONS, *APART), alone[place, person], nobody, strict=True
                ):
                    check_distance(question, there - gone, SCHEMA)
        found = _answers(dict(enumerate(world)))
        for i, question in enumerate(QUESTIONS):
            sums = [alone[place, person][i] for place, person in enumerate(world)]
            if not np.array_equal(found[i], np.sum([0 * found[i], *sums], axis=0)):
                raise AuditError("people affect each other's counts", got=type(question).__name__)
        checked += 1
    return checked


def _answers(people: dict[int, Person]) -> Answers:
    """Count every question on a table in a real engine; compare distances with marginals."""
    rows = [(f"p{place}", cell) for place, person in people.items() for cell in person]
    cells = np.array([cell for _, cell in rows], dtype=np.int64)
    data = {"id": np.array([who for who, _ in rows], dtype=object), "a": cells // 2, "b": cells % 2}
    with closing(DuckDB()) as engine:
        table = PrivateTable(engine, data, schema=SCHEMA, unit=Unit("id"), key=KEY)
        answers = [exact(question, table) for question in (*QUESTIONS, *APART)]
    counted = {
        (bool(question.merged), question.bounding): answer
        for question, answer in zip(QUESTIONS, answers, strict=False)
        if isinstance(question, Measure)
    }
    for question, found in zip(APART, answers[len(QUESTIONS) :], strict=True):
        _check_apart(question, found, counted[bool(question.merged), question.bounding])
    return answers


def _check_apart(
    question: Select | Distances, found: NDArray[np.int64], measured: NDArray[np.int64]
) -> None:
    """Raise unless the distances are those of the first marginal of a measurement."""
    step = 2**FRACTION_BITS
    for candidate, distance in zip(question.candidates, found, strict=True):
        marginal = measured[: len(candidate.expected)] * (step // question.bounding.unit_weight)
        apart = np.abs(marginal - candidate.expected * step).sum() - candidate.penalty * step
        if int(distance) != int(apart):
            raise AuditError(
                f"a distance of a {type(question).__name__} does not match its marginal"
            )
