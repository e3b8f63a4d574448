"""A door onto a view: other columns or one row a person, the same promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.budget import Unit, Weights, resolve
from understudy.door.questions import Query
from understudy.door.views import viewed_schema
from understudy.errors import QuestionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from understudy.budget import Bounding, Budget, Capped, Currency, ResolvedUnit
    from understudy.door.discovery import Found, Reading, Search
    from understudy.door.door import Door
    from understudy.door.questions import Candidate, Merge
    from understudy.door.views import View
    from understudy.graph import Clique, Measurement
    from understudy.schema import Schema

ROUNDED_UP = 1 + 1e-9


class ViewDoor:
    """A door onto a view; it forwards every query to the door behind it.

    It holds nothing private and gives no guarantee of its own.  In a table of people everybody has
    one row.
    """

    def __init__(self, door: Door, view: View, *, reserve: int = 0) -> None:
        """Wrap a door; ``reserve`` grains of the budget are kept for what is asked elsewhere."""
        if door.unit.is_row:
            raise QuestionError("a view needs people with rows of their own", got="a row a person")
        self._door, self._view, self._reserve = door, view, reserve
        self.schema: Schema = viewed_schema(door.schema, view)

    @property
    def unit(self) -> ResolvedUnit:
        """Who is protected: in a table of people each row is a person."""
        return resolve(Unit.each_row(), self.schema) if self._view.people else self._door.unit

    @property
    def two_tables(self) -> bool:
        """Whether people have a table of their own, so that some may have no rows."""
        return self._door.two_tables

    @property
    def bounding(self) -> Bounding:
        """The contribution bounding of `measure`."""
        return Weights(1) if self._view.people else self._door.bounding

    @property
    def budget(self) -> Budget:
        """The run's whole budget."""
        return self._door.budget

    @property
    def currency(self) -> Currency:
        """Gaussian noise in ``gdp``, Laplace noise in ``pure``."""
        return self._door.currency

    @property
    def grains(self) -> int:
        """What may still be spent through this door, in grains."""
        return max(0, self._door.grains - self._reserve)

    def _only(self, view: View | None) -> View:
        """Return the view itself, or one with more derived columns."""
        if view and (view.people, view.derived[: len(self._view.derived)]) != (
            self._view.people,
            self._view.derived,
        ):
            raise QuestionError("a view has no views of its own", hint="ask the door behind it")
        return view or self._view

    def measure(
        self,
        queries: Sequence[Query],
        *,
        price: float,
        merged: tuple[Merge, ...] = (),
        view: View | None = None,
    ) -> tuple[Measurement, ...]:
        """Measure noisy linear queries over marginals of the view."""
        return self._door.measure(queries, price=price, merged=merged, view=self._only(view))

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
        return self._door.select(
            candidates, epsilon=epsilon, bounding=bounding, merged=merged, view=self._only(view)
        )

    def distances(
        self,
        candidates: Sequence[Candidate],
        *,
        scale: float,
        bounding: Capped,
        merged: tuple[Merge, ...] = (),
        view: View | None = None,
    ) -> NDArray[np.float64]:
        """Measure how far each candidate is from the model, less its penalty, in rows."""
        return self._door.distances(
            candidates, scale=scale, bounding=bounding, merged=merged, view=self._only(view)
        )

    def total(self, *, cap: int, scale: float) -> float:
        """Count the rows, at most ``cap`` per person; in a table of people, the people."""
        if self._view.people:
            return self.units(scale=scale)
        return self._door.total(cap=cap, scale=scale)

    def units(self, *, scale: float) -> float:
        """Count the people of the view."""
        if not self._view.everyone:
            return self._door.units(scale=scale)
        # One count that a person moves by 1.  The price has a margin; what is charged is exact.
        (counted,) = self.measure([Query(clique=(), scale=scale)], price=ROUNDED_UP / scale)
        return float(counted.values[0])

    def unit_mode(
        self, clique: Clique, *, scale: float, labels: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Count the people who have each label as their most common one, in the table itself."""
        return self._door.unit_mode(clique, scale=scale, labels=labels)

    def unit_counts(
        self,
        clique: Clique,
        *,
        cells: NDArray[np.int64],
        times: tuple[int, ...],
        most: int,
        scale: float,
        upwards: bool = False,
    ) -> NDArray[np.float64]:
        """Count the people who were in a cell t times, in the table itself."""
        return self._door.unit_counts(
            clique, cells=cells, times=times, most=most, scale=scale, upwards=upwards
        )

    def discover(self, searches: Sequence[Search]) -> tuple[Found, ...]:
        """Tell which values of columns of text many people have, in the table itself."""
        return self._door.discover(searches)

    def spread(
        self, column: str, *, reading: Reading, edges: Sequence[float], most: int, scale: float
    ) -> NDArray[np.float64]:
        """Weigh people by cells of a column of text, in the table itself."""
        return self._door.spread(column, reading=reading, edges=edges, most=most, scale=scale)

    def kinds(self, columns: Sequence[str], *, scale: float) -> NDArray[np.float64]:
        """Count people by the kinds of their values in columns of text, in the table itself."""
        return self._door.kinds(columns, scale=scale)

    def close(self) -> None:
        """End the queries, of the door behind it too."""
        self._door.close()
