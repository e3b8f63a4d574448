"""Questions: what may be asked of a private table, as frozen records.

A question is public: everything in it was declared, came from public data, or follows
from earlier noisy answers.  Its `plan` is a hash of all of it; the ledger stores answers
under it, and only the byte-identical question may be asked again under an open charge.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from understudy.budget import Bounding, Capped
from understudy.budget.bounding import bounding_to_dict
from understudy.door.checks import LARGEST, check_clique, keep, number, positive_scale, whole
from understudy.door.discovery import Discover, Kinds, Spread
from understudy.door.views import View, viewed_schema
from understudy.errors import QuestionError
from understudy.graph import frozen
from understudy.schema import Integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.graph import Clique, Rows
    from understudy.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Merge:
    """Merged codes of one column: code c becomes ``codes[c]``, from 0 without a gap.

    A row's new code depends on its own code alone, so a person moves counts of merged codes by no
    more than counts of the column's own.
    """

    column: str
    codes: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Raise if the new codes have a gap, and store an immutable copy."""
        keep(self, "codes", frozen(self.codes, np.int64))
        check_clique((self.column,))
        counted = np.unique(self.codes)
        if self.codes.ndim != 1 or not np.array_equal(counted, np.arange(max(1, len(counted)))):
            raise QuestionError(
                f"merged codes of {self.column} must be 0, 1, … without a gap",
                got=f"{self.codes.size} codes",
            )

    @property
    def size(self) -> int:
        """The number of merged codes."""
        return int(self.codes.max()) + 1

    def declaration(self) -> Integer:
        """Return the declaration of the column of merged codes."""
        return Integer(name=self.column, min=0, max=self.size - 1, missing=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """Sums of cells of one clique's marginal, all with noise of one scale.

    Without ``rows`` every cell is a row of its own.  The scale is σ in a ledger of ``gdp``
    and Laplace's scale in one of ``pure``, in table rows.  Queries of a call on the same
    clique are priced together, cell by cell.
    """

    clique: Clique
    scale: float
    rows: Rows | None = None

    def __post_init__(self) -> None:
        """Raise on an invalid clique or noise scale."""
        keep(self, "scale", positive_scale(self.scale))
        check_clique(self.clique)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """Noisy sums over weighted row marginals; the price is the most it may cost."""

    queries: tuple[Query, ...]
    bounding: Bounding
    price: float
    merged: tuple[Merge, ...] = ()
    """Columns whose codes are merged before anything is counted."""
    view: View | None = None
    """The view that the cliques refer to; None for the table itself."""

    def __post_init__(self) -> None:
        """Raise if there is no query."""
        keep(self, "price", number(self.price))
        if not self.queries:
            raise QuestionError("a measurement needs at least one query")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitMode:
    """How many people have this label as their most common one.

    The label is the cell of a clique, or what ``labels`` says of the cell; a negative
    label counts for nothing.  One person moves one count by 1.
    """

    clique: Clique
    scale: float
    labels: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Raise on an invalid clique or noise scale, and store an immutable copy of the labels."""
        keep(self, "scale", positive_scale(self.scale))
        check_clique(self.clique)
        if self.labels is not None:
            keep(self, "labels", frozen(self.labels, np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitCounts:
    """How many people were in each of these cells exactly t times.

    Of a person's cells among these, at most ``most`` count, chosen by the keyed hash; each adds 1
    to at most one of its counts.  With ``upwards``, t stands for t and more, up to the next of
    ``times``; the largest has no upper end.
    """

    clique: Clique
    cells: NDArray[np.int64]
    times: tuple[int, ...]
    most: int
    scale: float
    upwards: bool = False

    def __post_init__(self) -> None:
        """Raise on invalid times or cells, and store an immutable copy of the cells."""
        keep(self, "upwards", bool(self.upwards))
        keep(self, "scale", positive_scale(self.scale))
        check_clique(self.clique)
        keep(self, "cells", frozen(self.cells, np.int64))
        keep(self, "most", whole("the number of cells a person may touch", self.most))
        times = tuple(int(t) if isinstance(t, (int, np.integer)) else 0 for t in self.times)
        if not times or len(set(times)) < len(times) or min(times) < 1:
            raise QuestionError("times must be distinct positive integers", got=self.times)
        keep(self, "times", times)
        if not len(self.cells) or len(np.unique(self.cells)) < len(self.cells):
            raise QuestionError(
                "at least one cell is needed, and no cell twice", got=f"{len(self.cells)} cells"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Candidate:
    """A marginal and what a model expects of it, in rows; the score is weight·(L1 − penalty)."""

    clique: Clique
    expected: NDArray[np.float64]
    weight: float = 1.0
    penalty: float = 0.0

    def __post_init__(self) -> None:
        """Store an immutable float64 expectation and plain numbers; raise if out of range."""
        check_clique(self.clique)
        keep(self, "expected", frozen(self.expected, np.float64))
        keep(self, "weight", number(self.weight))
        keep(self, "penalty", number(self.penalty))
        # Beyond this, sums in steps of the finest noise could overflow int64, and void the proof.
        size = float(np.abs(self.expected).sum()) + abs(self.penalty)
        if not size < LARGEST or not 0 < self.weight < math.inf:
            raise QuestionError(
                "a candidate's expectation, weight or penalty is out of range",
                allowed="finite numbers, a weight above 0, fewer than 2^36 rows in all",
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Select:
    """Which candidate marginal the model gets most wrong, with exp(ε·score / 2Δ)."""

    candidates: tuple[Candidate, ...]
    epsilon: float
    bounding: Capped
    merged: tuple[Merge, ...] = ()
    """Columns whose codes are merged before anything is counted."""
    view: View | None = None
    """The view that the cliques refer to; None for the table itself."""

    def __post_init__(self) -> None:
        """Raise on a bounding without a cap, no candidates, or an invalid epsilon."""
        _check_candidates(self.candidates, self.bounding)
        keep(self, "epsilon", positive_scale(self.epsilon))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distances:
    """How far each candidate marginal is from its expectation: noisy L1 distances less penalties.

    One person moves each of them by at most the cap, up or down.  Weights are ignored.
    """

    candidates: tuple[Candidate, ...]
    scale: float
    bounding: Capped
    merged: tuple[Merge, ...] = ()
    """Columns whose codes are merged before anything is counted."""
    view: View | None = None
    """The view that the cliques refer to; None for the table itself."""

    def __post_init__(self) -> None:
        """Raise on a bounding without a cap, no candidates, or an invalid scale."""
        _check_candidates(self.candidates, self.bounding)
        keep(self, "scale", positive_scale(self.scale))


def _check_candidates(candidates: tuple[Candidate, ...], bounding: object) -> None:
    """Raise unless the bounding bounds L1 and there are candidates."""
    if not isinstance(bounding, Capped):
        raise QuestionError(
            "a selection needs a cap on a person's rows",
            got=bounding,
            allowed="Weights or Sample",
            hint="Norm bounds the L2 norm, which does not bound an L1 score",
        )
    if not candidates:
        raise QuestionError("nothing to select from", got="no candidate")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Total:
    """The noisy number of rows, at most ``cap`` per person."""

    cap: int
    scale: float

    def __post_init__(self) -> None:
        """Raise on an invalid cap or noise scale."""
        keep(self, "scale", positive_scale(self.scale))
        keep(self, "cap", whole("the cap on a person's rows", self.cap))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Units:
    """The noisy number of people."""

    scale: float

    def __post_init__(self) -> None:
        """Raise on an invalid noise scale."""
        keep(self, "scale", positive_scale(self.scale))


Question = Measure | UnitMode | UnitCounts | Select | Distances | Total | Units | Spread | Kinds
"""Questions whose answers are numbers."""
AnyQuestion = Question | Discover


def merged_schema(schema: Schema, merged: Sequence[Merge]) -> Schema:
    """Return the schema of the compressed domain: a column of merged codes is an Integer."""
    new = {merge.column: merge.declaration() for merge in merged}
    columns = [new.get(column.name, column) for column in schema.modelled]
    return replace(schema, columns=(*schema.ids, *columns), order_by=(), constraints=())


def seen(schema: Schema, question: AnyQuestion) -> Schema:
    """Return the schema that a question's cliques refer to: a view's, with merged codes."""
    if not isinstance(question, (Measure, Select, Distances)):
        return schema
    schema = schema if question.view is None else viewed_schema(schema, question.view)
    return merged_schema(schema, question.merged) if question.merged else schema


_DESCRIBED: WeakKeyDictionary[Candidate, Any] = WeakKeyDictionary()
"""Candidates are immutable, and most are asked about many times."""


def describe(question: object) -> Any:  # noqa: ANN401  plain data, as JSON takes it
    """Write a question as plain data; arrays by their length and hash."""
    if isinstance(question, tuple):
        return [describe(part) for part in question]
    if isinstance(question, Candidate) and question in _DESCRIBED:
        return _DESCRIBED[question]
    if isinstance(question, np.ndarray):
        held = np.ascontiguousarray(question)
        digest = hashlib.sha256(held.tobytes()).hexdigest()
        return {"array": held.dtype.str, "shape": list(held.shape), "sha256": digest}
    if not is_dataclass(question):
        return question
    if isinstance(question, Bounding):
        return bounding_to_dict(question)
    parts = {f.name: describe(getattr(question, f.name)) for f in fields(question)}
    for name, unused in (("merged", []), ("view", None), ("everyone", False), ("prefixes", [])):
        # As before there were such fields, so that older runs can be resumed.
        if name in parts and parts[name] == unused:
            del parts[name]
    told = {"question": type(question).__name__, **parts}
    if isinstance(question, Candidate):
        _DESCRIBED[question] = told
    return told


def plan(question: AnyQuestion) -> str:
    """Return the hash of a question's full description."""
    text = json.dumps(describe(question), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
