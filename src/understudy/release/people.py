"""People of a release: what is each person's own, from a table of people or from their rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from understudy.public import Batches
from understudy.release.rows import Owners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.release.from_disk import Stored
    from understudy.release.rows import Decoded
    from understudy.schema import Array, Codes, Schema

    Ints = NDArray[np.int64]
    Tally = tuple[Ints, Ints, Ints]
    """People, cells, and how many rows of the person are in the cell."""


class Joined:
    """The rows of a table of rows, each with its person's own columns from a table of people."""

    def __init__(
        self, rows: Decoded | Stored, people: Decoded | Stored, *, columns: Sequence[str]
    ) -> None:
        """Read nothing yet; ``columns`` are the released ones of both tables, in order."""
        self.rows, self.people = rows, people
        self.sizes = rows.sizes
        """The rows of each batch."""
        self._names = columns

    @classmethod
    def of(
        cls, rows: Batches, people: Batches, schema: Schema, decode: Callable[..., Decoded]
    ) -> Self:
        """Decode both: what is a person's own once, so that a birthday is one day in all rows."""
        names = [column.name for column in schema.released_columns]
        held, lines = decode(rows, of="row"), decode(people, of="person")
        if schema.constraints:
            held.owners = Owners(people, lines)
        return cls(held, lines, columns=names)

    @cached_property
    def columns(self) -> dict[str, Array]:
        """All rows, column by column; kept in memory after the first access."""
        return self._with_own(self.rows.columns)

    def __iter__(self) -> Iterator[dict[str, Array]]:
        """Yield the rows a batch at a time; all people are in memory."""
        return map(self._with_own, self.rows)

    def _with_own(self, batch: dict[str, Array]) -> dict[str, Array]:
        ids = [name for name in batch if name not in self._names]
        people = self.people.columns
        # People are in the order of their ids.
        whose = np.searchsorted(people[ids[0]], batch[ids[0]])
        named = {name: batch[name] for name in ids}
        return named | {n: batch[n] if n in batch else people[n][whose] for n in self._names}


class Apart(Joined):
    """The same, released as the two tables that they are."""


def lines_of(
    batches: Batches, schema: Schema, people: Mapping[str, Codes] | None = None
) -> Batches:
    """Return one line a person, with their own columns: those given, or else by their rows."""
    if people is None:
        codes, numbers = _own_codes(batches, schema)
    else:
        codes, numbers = dict(people), np.arange(len(next(iter(people.values()))))
    # Of what is drawn here nothing is secret, and a run that is resumed draws the same.
    return Batches.held(schema.keeper.own(codes, np.random.default_rng(0)), numbers)


def _own_codes(batches: Batches, schema: Schema) -> tuple[dict[str, Codes], Ints]:
    """Return the codes that each person's first row has in their own columns, and whose they are.

    The first row is as good as any.  The most common code would not do: of somebody whose rows are
    drawn by themselves it is nearly always everybody's most common one.
    """
    people: list[Ints] = []
    found: dict[str, list[Codes]] = {name: [] for name in schema.own}
    for batch in batches:
        assert batch.people is not None  # noqa: S101  there are ids
        each, first = np.unique(batch.people, return_index=True)
        people.append(each)
        for name, codes in found.items():
            codes.append(batch.codes[name][first])
    # Of who has rows in several batches, the first ones count.
    each, first = np.unique(np.concatenate(people), return_index=True)
    return {name: np.concatenate(codes)[first] for name, codes in found.items()}, each


def own_values(columns: dict[str, Array], schema: Schema, ids: Sequence[str]) -> dict[str, Array]:
    """Return one line a person of a table that has both: ids, and their most common own values.

    Values of one bin count together, and the first of them is taken.
    """
    codes, kept = schema.released().encode(columns)
    rows = np.flatnonzero(kept)
    _, first, person = np.unique(columns[ids[0]][rows], return_index=True, return_inverse=True)
    found = {name: columns[name][rows[first]] for name in ids}
    for column in schema.released_columns:
        if column.of == "person":
            parts = tuple(part.name for part in column.modelled)
            held: tuple[Codes, ...] = tuple(codes[name] for name in parts)
            cells: Ints = np.ravel_multi_index(held, schema.domain.shape(parts))
            _, common = _most_common(*_tallied(person, cells, np.ones_like(person)))
            (there,) = np.nonzero(cells == common[person])
            _, place = np.unique(person[there], return_index=True)
            found[column.name] = columns[column.name][rows[there[place]]]
    return found


def _tallied(person: Ints, cell: Ints, count: Ints) -> Tally:
    """Add up the counts of each person and cell.

    >>> [part.tolist() for part in _tallied(*np.array([[1, 0, 1], [5, 3, 5], [1, 1, 2]]))]
    [[0, 1], [3, 5], [1, 3]]
    """
    order = np.lexsort((cell, person))
    person, cell, count = person[order], cell[order], count[order]
    starts = np.flatnonzero(np.diff(person, prepend=-1) | np.diff(cell, prepend=-1))
    return person[starts], cell[starts], np.add.reduceat(count, starts) if len(count) else count


def _most_common(person: Ints, cell: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return people in order, and the cell of most of each one's rows; of equal ones the first.

    >>> person, cell, count = np.array([[0, 0, 1, 1], [3, 4, 5, 6], [1, 2, 7, 7]])
    >>> [part.tolist() for part in _most_common(person, cell, count)]
    [[0, 1], [4, 5]]
    """
    order = np.lexsort((cell, -count, person))
    first = order[np.flatnonzero(np.diff(person[order], prepend=-1))]
    return person[first], cell[first]
