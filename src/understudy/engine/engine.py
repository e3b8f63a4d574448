"""What an engine does: it keeps tables where they are, and runs SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.schema import Array
    from understudy.schema.encoding.dialect import Dialect, Kind

Columns = dict[str, "Array"]
PerPersonWork = Callable[[Columns], Columns]
"""A function of the rows of whole people: arrays in, arrays out."""

Cell = Sequence[tuple[str, int]]
"""Columns of codes, and how many each may have: a cell's index, the last column fastest."""


def index_sql(cell: Cell) -> str:
    """Compose the index of a row's cell."""
    number = "CAST(0 AS BIGINT)"
    for column, size in cell:
        number = f"({number} * {size} + {column})"
    return number


class Engine(Protocol):
    """Where tables are stored and counted, for as long as it is open.

    No exception of the backend ever leaves an engine, not even chained to one that does: it may
    quote a cell.  ``reading_input`` says that the input is to blame for a failure.
    """

    @property
    def dialect(self) -> Dialect:
        """The functions whose names differ between engines."""

    def attach(
        self, data: object, *, name: str, delimiter: str, quote_mark: str, encoding: str = "utf-8"
    ) -> dict[str, Kind]:
        """Register a table under a name, and return its columns' kinds."""

    def declare(self, name: str, texts: Sequence[str]) -> None:
        """Register a list of texts under a name."""

    def load(self, name: str, columns: Mapping[str, Array]) -> None:
        """Create a small public table from arrays, replacing any of that name."""

    def table(self, name: str, sql: str, *, reading_input: bool = False) -> None:
        """Run a query once and store its rows under a name, replacing any of that name."""

    def view(self, name: str, sql: str, *, reading_input: bool = False) -> None:
        """Register a query as a view, replacing any of that name."""

    def drop(self, name: str) -> None:
        """Drop a table."""

    def weigh(
        self,
        name: str,
        work: PerPersonWork,
        *,
        rows: str,
        columns: Sequence[str],
        at_once: int,
        by_row: bool,
    ) -> None:
        """Weigh people by their rows, and store the weights as a table (person, w).

        ``work`` gets some columns of the table ``rows``, and ``person``: whole people, the rows of
        each together, about ``at_once`` rows in all.  It returns ``person`` and ``w``.  With
        ``by_row`` each row is a person: ``work`` gets the columns only, and returns those of the
        rows that have a weight, with ``w`` beside them.
        """

    def tally(self, cells: Sequence[Cell], *, rows: str) -> Columns:
        """Sum the weights ``w`` of a relation by cell, for each of some kinds of cells.

        Returned are ``which`` (the position of the kind), ``cell`` (the index) and ``n``, the sum.
        """

    def fetch(self, sql: str, *, reading_input: bool = False) -> Columns:
        """Run a query and return its columns; a NULL is NaN, NaT or None."""

    def close(self) -> None:
        """Release everything; calling it again does nothing."""
