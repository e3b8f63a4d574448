"""Screening: a small first question, whether the table can be read as it is declared.

Dates written 31.12.2024 under a schema that says ISO 8601 are all missing, and a column of null ids
leaves nobody to count: a run would spend its whole budget on noise.  So a share of the budget,
where one is set, asks first.  Each person has weight 1, shared by their rows, and each column's
weight is split into what is declared, what is null and what is neither.

- A column stops the run where more than half of its cells that are not null cannot be read; where
  undeclared values have a code of their own, *other*, more than nine tenths.  It does so only on
  clear evidence: where that seems so but is not clear, four times the share asks again, for those
  columns alone.  A table too small to tell is not stopped.
- Too few people to be told from none stop nothing, since a small table may be meant; the release
  has a note of it.

Privacy: one or two door calls, composed by the ledger; whether the run goes on, and with which
note, follows from their answers alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from understudy.budget import Currency, epsilon_of, scale_upper, split
from understudy.door import Query
from understudy.errors import UnreadableError
from understudy.schema.columns import Screened
from understudy.schema.columns.screened import READ, UNREAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from understudy.door import Door
    from understudy.public import Progress, PublicTable, Synthesis
    from understudy.synth.mechanism import Mechanism

    Notes = tuple[str, ...]
    Weights = NDArray[np.float64]

FREE = {"schema", "unit", "two_tables", "bounding", "budget", "currency"}
"""What a door has that neither costs anything nor tells what is left."""

SHARE = 0.01
"""The share of a run's budget that drafts of run files set; by default nothing is asked."""
MOST, MOST_OTHER = 0.5, 0.9
"""A larger share of undeclared values stops a run; the second where they have a code."""
CLEAR = {Currency.GDP: 4.0, Currency.PURE: 7.0}
"""By how many standard errors a share must be larger: Laplace's tails are longer."""
FEW = 3.0
"""So few standard errors of people are not told from none."""
AGAIN = 4
"""How much more of the budget asks again for columns of which it is not clear."""


class _Screening:
    """A door that looks before it says what there is to spend, or answers anything.

    What a mechanism refuses by schema and settings alone still costs nothing.
    """

    def __init__(self, door: Door, look: Callable[[], tuple[Notes, Door]]) -> None:
        self._door = door
        self._look: Callable[[], tuple[Notes, Door]] | None = look
        self.notes: Notes = ()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the door has
        if name not in FREE and self._look is not None:
            self.notes, self._door = self._look()
            self._look = None
        return getattr(self._door, name)

    def close(self) -> None:
        """End the queries; what was not asked yet is not asked any more."""
        self._look = None
        self._door.close()


def run_screened(
    mechanism: Mechanism,
    door: Door,
    *,
    share: float,
    first: Callable[[Callable[[Door], Notes]], tuple[Notes, Door]],
    public: PublicTable | None,
    rng: np.random.Generator,
    progress: Progress,
) -> Synthesis:
    """Run a mechanism; with a share of the budget, its door asks first how much can be read.

    ``first`` has that asked at a door onto `Schema.screened`, and returns the one that follows it.
    """
    if not share:
        return mechanism.run(door, public=public, rng=rng, progress=progress)

    def ask(screened: Door) -> Notes:
        return screen(screened, share=share, progress=progress)

    screening = _Screening(door, lambda: first(ask))
    made = mechanism.run(cast("Door", screening), public=public, rng=rng, progress=progress)
    return replace(made, notes=(*made.notes, *screening.notes))


def screen(door: Door, *, share: float, progress: Progress) -> Notes:
    """Ask a door onto `Schema.screened` how much can be read, and raise if that is too little.

    Return what a reader of the release should know.
    """
    progress("checking that columns can be read as declared", 0)
    price = split(door.grains, door.currency, [share, 1 - share])[0]
    found, error = _asked(door, list(door.schema.domain), price)
    notes = _few(door, found, error)
    doubtful = _doubtful(door, found, error)
    if doubtful and not notes and not _clear(door, found, error):
        found, error = _asked(door, doubtful, price * door.currency.root(AGAIN))
    unread = _clear(door, found, error)
    if unread:
        _stop_for(door, {name: found[name] for name in unread})
    return notes


def _few(door: Door, found: Mapping[str, Weights], error: float) -> Notes:
    """Say so if the number of people cannot be told from none."""
    people = float(np.mean([weights.sum() for weights in found.values()]))
    noise = error * math.sqrt((UNREAD + 1) / len(found))
    if people >= FEW * noise:
        return ()
    who = "rows" if door.unit.is_row else "people"
    check = "that the table is the right one"
    if not door.unit.is_row:
        check = f"that the unit ({door.unit}) names the id's column and that its cells are not null"
    return (
        f"The number of {who} could not be told from none (noise {noise:,.0f}): if there should be "
        f"more, check {check}.",
    )


def _asked(door: Door, names: list[str], price: float) -> tuple[dict[str, Weights], float]:
    """Ask for the weights of columns by what became of their cells, and their standard error."""
    scale = scale_upper(price, door.currency, bound=Fraction(len(names)))
    answers = door.measure([Query(clique=(name,), scale=scale) for name in names], price=price)
    return {a.clique[0]: a.values for a in answers}, door.currency.deviation(scale)


def _doubtful(door: Door, found: Mapping[str, Weights], error: float) -> list[str]:
    """Return the columns of which too much seems to be unreadable."""
    return [
        name
        for name, weights in found.items()
        if weights[UNREAD] > FEW * error and _beyond(door, name, weights) > 0
    ]


def _clear(door: Door, found: Mapping[str, Weights], error: float) -> list[str]:
    """Return the columns of which clearly too much is unreadable."""
    return [
        name
        for name, weights in found.items()
        for most in (_most(door, name),)
        if _beyond(door, name, weights) > CLEAR[door.currency] * error * math.hypot(most, 1 - most)
    ]


def _beyond(door: Door, name: str, weights: Weights) -> float:
    """Return by how much unreadable cells are too many, of those that are not null."""
    most = _most(door, name)
    return float((1 - most) * weights[UNREAD] - most * weights[READ])


def _most(door: Door, name: str) -> float:
    column = door.schema[name]
    assert isinstance(column, Screened)  # noqa: S101  it is a door onto a screened schema
    return MOST_OTHER if column.column.outside == "other" else MOST


def _stop_for(door: Door, unread: Mapping[str, Weights]) -> NoReturn:
    """Name the columns that cannot be read, and say what that cost."""
    shares = {
        name: min(1.0, float(v[UNREAD] / (v[UNREAD] + max(0.0, v[READ]))))
        for name, v in unread.items()
    }
    told = [
        f"{name} (about {share:.0%} of the cells that are not null)"
        for name, share in shares.items()
    ]
    raise UnreadableError(
        "columns cannot be read as the schema declares them",
        got=f"{', '.join(told)}; {_spent(door)}",
        hint="compare their format, list or range with the table's; --screening 0, or screening=0 "
        "in Python, runs without this question",
    )


def _spent(door: Door) -> str:
    """Say what was spent of the run's budget."""
    budget = door.budget
    spent = budget.grains - door.grains
    epsilon = epsilon_of(spent, door.currency, budget.gaussian_delta)
    return (
        f"spent {spent / budget.grains:.1%} of the run's budget, epsilon {epsilon:.3g} alone; the "
        "rest is not spent"
    )
