"""The vault's side of the door: charge, count, add noise, journal — in one place.

The order of a call: has it been answered before (then that answer, and nothing is drawn);
can the run pay for it; count; book the charge, durable; draw; store the answer, durable;
hand over.  A count that fails has cost nothing.

A draw that could not be stored is lost, and the question may be asked again under its charge.
So it must be lost indeed: no error that leaves the door, an interrupt included, has anything
behind it from which a count or a draw could be read.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Norm, Weights
from understudy.budget.bounding import FRACTION_BITS
from understudy.door import (
    KINDS_OF_VALUE,
    Discover,
    Distances,
    Found,
    Kinds,
    Measure,
    Measurement,
    Select,
    Spread,
    Total,
    UnitCounts,
    UnitMode,
    Units,
    plan,
    seen,
)
from understudy.errors import QuestionError, sealed
from understudy.noise import SYSTEM, choose, draw, steps_per_unit
from understudy.vault.counts import check, exact
from understudy.vault.discovery import present, thresholds, told
from understudy.vault.sensitivity import charge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from understudy.budget import Bounding, Budget, Capped, Charge, Currency, ResolvedUnit
    from understudy.door import (
        AnyQuestion,
        Candidate,
        Clique,
        Merge,
        Query,
        Question,
        Reading,
        Search,
        View,
    )
    from understudy.ledger import Run
    from understudy.noise import Entropy
    from understudy.schema import Schema
    from understudy.vault.table import PrivateTable

    Noised = UnitMode | UnitCounts | Distances | Total | Units | Spread | Kinds
    """Questions whose numbers all have noise of one scale."""
    Part = tuple[int, float, int, int]
    Whole = NDArray[np.int64]
    Noisy = NDArray[np.float64]


class PrivateDoor:
    """A door onto one private table, for one run of a ledger."""

    def __init__(
        self,
        table: PrivateTable,
        *,
        run: Run,
        bounding: Bounding,
        entropy: Entropy = SYSTEM,
        let_go: Callable[[], None] = lambda: None,
        after: PrivateDoor | None = None,
    ) -> None:
        """Open a door for a run; questions that it has already answered are replayed in order.

        ``let_go`` closes the table when the mechanism closes the door.  A door ``after`` another
        one of the same run has that one's next question to ask, and what it has left to spend.
        """
        state = run.state()
        self._table, self._run, self._bounding, self._budget = table, run, bounding, state.budget
        self._entropy, self._let_go, self._closed = entropy, let_go, False
        self._asked: int = after._asked if after else 0  # noqa: SLF001  a door too
        self._left: int = after._left if after else state.cap  # noqa: SLF001  a door too

    @property
    def schema(self) -> Schema:
        """The declared columns."""
        return self._table.schema

    @property
    def unit(self) -> ResolvedUnit:
        """Who is protected."""
        return self._table.unit

    @property
    def two_tables(self) -> bool:
        """Whether people have a table of their own, so that some may have no rows."""
        return self._table.two_tables

    @property
    def bounding(self) -> Bounding:
        """The contribution bounding of `measure`."""
        return self._bounding

    @property
    def budget(self) -> Budget:
        """The run's whole budget."""
        return self._budget

    @property
    def currency(self) -> Currency:
        """Gaussian noise in ``gdp``, Laplace noise in ``pure``."""
        return self._budget.currency

    @property
    def grains(self) -> int:
        """What the run may still spend; a replayed question counts as charged."""
        return self._left

    def measure(
        self,
        queries: Sequence[Query],
        *,
        price: float,
        merged: tuple[Merge, ...] = (),
        view: View | None = None,
    ) -> tuple[Measurement, ...]:
        """Measure noisy linear queries over weighted row marginals, for at most a price."""
        # In a view of people everybody has one row, and nobody is clipped.
        bounding = Weights(1) if view is not None and view.people else self.bounding
        question = Measure(
            queries=tuple(queries), bounding=bounding, price=price, merged=tuple(merged), view=view
        )
        # People are clipped for this question alone, so its total agrees with no other's.
        group = f"question {self._asked}" if isinstance(bounding, Norm) else None
        noisy = self._ask(question, f"{len({q.clique for q in queries})} marginals{_of(view)}")
        out, start = [], 0
        for query, (size, _, _, steps) in zip(
            question.queries, self._lattice(question), strict=True
        ):
            values = noisy[start : start + size] / steps
            start += size
            out.append(
                Measurement(
                    clique=query.clique,
                    values=values,
                    scale=query.scale,
                    rows=query.rows,
                    group=group,
                )
            )
        return tuple(out)

    def unit_mode(
        self, clique: Clique, *, scale: float, labels: NDArray[np.int64] | None = None
    ) -> Noisy:
        """Count the people who have each label as their most common one."""
        question = UnitMode(clique=clique, scale=scale, labels=labels)
        return self._values(question, f"people by most common {' × '.join(clique)}")

    def unit_counts(
        self,
        clique: Clique,
        *,
        cells: NDArray[np.int64],
        times: tuple[int, ...],
        most: int,
        scale: float,
        upwards: bool = False,
    ) -> Noisy:
        """Count the people who were in a cell exactly t times: an array cells × times.

        With ``upwards``, t stands for t and more, up to the next of ``times``.
        """
        question = UnitCounts(
            clique=clique, cells=cells, times=times, most=most, scale=scale, upwards=upwards
        )
        what = f"people by {' × '.join(clique)} and times" if clique else "people by number of rows"
        return self._values(question, what).reshape(len(cells), len(times))

    def select(
        self,
        candidates: Sequence[Candidate],
        *,
        epsilon: float,
        bounding: Capped,
        merged: tuple[Merge, ...] = (),
        view: View | None = None,
    ) -> int:
        """Select the candidate that the model gets most wrong."""
        question = Select(
            candidates=tuple(candidates),
            epsilon=epsilon,
            bounding=bounding,
            merged=tuple(merged),
            view=view,
        )
        return int(
            self._ask(question, f"one of {len(question.candidates)} marginals{_of(view)}")[0]
        )

    def distances(
        self,
        candidates: Sequence[Candidate],
        *,
        scale: float,
        bounding: Capped,
        merged: tuple[Merge, ...] = (),
        view: View | None = None,
    ) -> Noisy:
        """Measure how far each candidate is from the model, less its penalty, in rows."""
        question = Distances(
            candidates=tuple(candidates),
            scale=scale,
            bounding=bounding,
            merged=tuple(merged),
            view=view,
        )
        return self._values(
            question, f"distances of {len(question.candidates)} marginals{_of(view)}"
        )

    def total(self, *, cap: int, scale: float) -> float:
        """Count the rows, at most ``cap`` per person."""
        return float(self._values(Total(cap=cap, scale=scale), "number of rows")[0])

    def units(self, *, scale: float) -> float:
        """Count the people who have rows."""
        return float(self._values(Units(scale=scale), "number of people")[0])

    def discover(self, searches: Sequence[Search]) -> tuple[Found, ...]:
        """Tell which values of columns of text many people have, with noisy weights."""
        question = Discover(searches=tuple(searches))
        names = ", ".join(search.asked for search in question.searches)
        answers = json.loads(self._stored(question, f"values of {names}"))
        return tuple(
            Found(
                column=search.column,
                values=tuple(value for value, _ in answer),
                weights=np.array([weight for _, weight in answer]) / event.steps,
            )
            for search, event, answer in zip(
                question.searches, thresholds(question), answers, strict=True
            )
        )

    def spread(
        self, column: str, *, reading: Reading, edges: Sequence[float], most: int, scale: float
    ) -> Noisy:
        """Weigh people by the cells between edges in which they have numbers or moments."""
        question = Spread(
            column=column, reading=reading, edges=tuple(edges), most=most, scale=scale
        )
        return self._values(question, f"{column} by {len(question.edges) + 1} cells")

    def kinds(self, columns: Sequence[str], *, scale: float) -> Noisy:
        """Count the people all of whose values are of a kind: an array columns × kinds."""
        question = Kinds(columns=tuple(columns), scale=scale)
        noisy = self._values(question, f"kinds of {', '.join(question.columns)}")
        return noisy.reshape(len(question.columns), len(KINDS_OF_VALUE))

    def close(self) -> None:
        """End the queries: the private table is released before the answers are processed."""
        self._closed = True
        self._table.forget()
        self._let_go()

    def _values(self, question: Noised, what: str) -> Noisy:
        noisy = self._ask(question, what)
        return noisy / self._lattice(question)[0][-1]

    def _ask(self, question: Question, what: str) -> Whole:
        """Ask a question whose answer is numbers."""
        return np.frombuffer(self._stored(question, what), dtype="<i8").astype(np.int64)

    def _stored(self, question: AnyQuestion, what: str) -> bytes:
        """Return an answer as the ledger stores it."""
        if self._closed:
            raise QuestionError("the door is closed", hint="ask all questions before door.close()")
        check(self.schema, question)
        if not isinstance(question, Discover):
            self._lattice(question)
        cost = charge(question, self.schema, self.currency)
        try:
            stored = self._answer(question, self._asked, plan(question), what, cost)
        except BaseException:
            self._table.forget()
            raise
        self._asked += 1
        self._left -= cost.grains(self.currency)
        return stored

    @sealed
    def _answer(
        self, question: AnyQuestion, ordinal: int, digest: str, what: str, cost: Charge
    ) -> bytes:
        """Count, book, draw, store: the one place where an exact count is held."""
        stored = self._run.answer(ordinal, digest)
        if stored is not None:
            return stored
        self._run.check(ordinal, digest, cost)
        drawn = self._counted(question)
        self._run.reserve(ordinal, digest, what, cost)
        stored = drawn()
        self._run.store(ordinal, digest, stored)
        return stored

    def _counted(self, question: AnyQuestion) -> Callable[[], bytes]:
        """Count, and return what draws the noise and gives the answer as it is stored."""
        if isinstance(question, Discover):
            there = present(question, self._table)
            return lambda: told(question, there, self._table, self._entropy)
        counted = exact(question, self._table)
        return lambda: self._noisy(question, counted).astype("<i8").tobytes()

    def _lattice(self, question: Question) -> list[Part]:
        """Return the parts of an answer, each of one scale; raise if a scale is out of range.

        A part is a count of numbers (-1 for all), their noise scale, and the steps per row of the
        exact and of the noisy ones.
        """
        if isinstance(question, Select):
            return []
        if isinstance(question, Measure):
            unit, domain = question.bounding.unit_weight, seen(self.schema, question).domain
            sizes = [
                math.prod(domain[n] for n in q.clique) if q.rows is None else q.rows.count
                for q in question.queries
            ]
            scales = [q.scale for q in question.queries]
        else:
            unit = 2**FRACTION_BITS if isinstance(question, (Distances, Spread)) else 1
            sizes, scales = [-1], [question.scale]
        return [
            (size, scale, unit, steps_per_unit(scale, at_least=unit))
            for size, scale in zip(sizes, scales, strict=True)
        ]

    def _noisy(self, question: Question, counted: Whole) -> Whole:
        """Add noise to exact counts, part by part, or make the noisy choice."""
        if isinstance(question, Select):
            return np.array([_chosen(question, counted, self._entropy)], dtype=np.int64)
        out, start = [], 0
        for size, scale, unit, steps in self._lattice(question):
            part = counted[start:] if size < 0 else counted[start : start + size]
            start += len(part)
            noise = draw(self.currency.noise, scale * steps, len(part), entropy=self._entropy)
            out.append(part * (steps // unit) + noise)
        return np.concatenate(out)


def _of(view: View | None) -> str:
    return " of people" if view is not None and view.people else ""


def _chosen(question: Select, distances: Whole, entropy: Entropy) -> int:
    """Choose by exp(ε·w·distance / 2Δ) with Δ = max w·C, all in whole numbers."""
    ratios = [c.weight.as_integer_ratio() for c in question.candidates]
    common = math.lcm(*{down for _, down in ratios})
    weights = [up * (common // down) for up, down in ratios]
    scores = [w * d for w, d in zip(weights, distances.tolist(), strict=True)]
    reach = max(weights) * question.bounding.cap * 2**FRACTION_BITS
    return choose(scores, Fraction(question.epsilon) / (2 * reach), entropy=entropy)
