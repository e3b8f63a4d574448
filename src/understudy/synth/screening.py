"""Screening: a small first question, whether the table can be read as it is declared.

Dates written 31.12.2024 under a schema that says ISO 8601 are all missing, and a column of null ids
leaves nobody to count: a run would spend its whole budget on noise.  So a share of the budget, 1 %
by default, asks first.  Each person has weight 1, shared by their rows, and each column's weight is
split into what is declared, what is null and what is neither.  A run stops only on clear evidence:
a table too small to tell is not stopped.

- A column stops the run where more than half of its cells that are not null cannot be read; where
  undeclared values have a code of their own, *other*, more than nine tenths.
- Too few people stop it: those whose number cannot be told from none.  All marginals of such a run
  would be noise.

Where that seems so but is not clear, four times the share asks again, for those columns or for the
number of people alone.

Privacy: one or two door calls, composed by the ledger; whether the run goes on follows from their
answers alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import numpy as np

from understudy.budget import Currency, epsilon_of, scale_upper, split
from understudy.door import Door, Query
from understudy.errors import UnreadableError
from understudy.schema.columns import Screened
from understudy.schema.columns.screened import READ, UNREAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from understudy.public import Progress

    Weights = NDArray[np.float64]

AnyDoor = TypeVar("AnyDoor", bound=Door)
FREE = {"schema", "unit", "two_tables", "bounding", "budget", "currency", "close"}
"""What a door has that neither costs anything nor tells what is left."""

SHARE = 0.01
"""The share of a run's budget, unless another one is set."""
MOST, MOST_OTHER = 0.5, 0.9
"""A larger share of undeclared values stops a run; the second where they have a code."""
CLEAR = {Currency.GDP: 4.0, Currency.PURE: 7.0}
"""By how many standard errors a share must be larger: Laplace's tails are longer."""
FEW = 3.0
"""So few standard errors of people are not told from none."""
AGAIN = 4
"""How much more of the budget asks for the number of people again."""


class _Screening:
    """A door that looks before it says what there is to spend, or answers anything.

    What a mechanism refuses by schema and settings alone still costs nothing.
    """

    def __init__(self, door: Door, look: Callable[[], None]) -> None:
        self._door = door
        self._looks = [look]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the door has
        while name not in FREE and self._looks:
            self._looks.pop()()
        return getattr(self._door, name)


def screening(door: Door, look: Callable[[], None]) -> Door:
    """Return a door that looks first; looking raises, or lets the door follow what it asked."""
    return cast("Door", _Screening(door, look))


def screen(door: AnyDoor, *, share: float, progress: Progress) -> AnyDoor:
    """Ask a door onto `Schema.screened` how much can be read, and raise if that is too little."""
    progress("checking that columns can be read as declared", 0)
    price = split(door.grains, door.currency, [share, 1 - share])[0]
    again = price * door.currency.root(AGAIN)
    found, error = _asked(door, list(door.schema.domain), price)
    doubtful = _doubtful(door, found, error)
    people = float(np.mean([weights.sum() for weights in found.values()]))
    if people < FEW * error * math.sqrt(3 / len(found)):
        _count_people(door, price=again)
    elif doubtful and not _clear(door, found, error):
        found, error = _asked(door, doubtful, again)
    unread = _clear(door, found, error)
    if unread:
        _stop_for(door, {name: found[name] for name in unread})
    return door


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


def _count_people(door: Door, *, price: float) -> None:
    """Ask for the number of people alone, and stop if it is not told from none."""
    scale = scale_upper(price, door.currency, bound=Fraction(1))
    error = door.currency.deviation(scale)
    if door.units(scale=scale) >= FEW * error:
        return
    who = "rows" if door.unit.is_row else f"people with an id ({door.unit})"
    raise UnreadableError(
        f"there are hardly any {who}",
        got=f"too few to be told from none, with noise of {error:,.0f}; {_spent(door)}",
        hint="check that the unit names the id's column, and that its cells are not null; "
        "--screening 0, or screening=0 in Python, runs without this question",
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
