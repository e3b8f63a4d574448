"""Values that no two rows of a person share, as the years of a panel.

Rows are exchanged between people until nobody has a value twice: every column's counts, and every
pair's, stay as they were drawn, and so does everyone's number of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.public import Batches
from understudy.schema.constraints import UniquePerPerson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.schema import Codes, Schema

    Ints = NDArray[np.int64]

MOST_ROUNDS = 100


def with_unique(batches: Batches, schema: Schema, rng: np.random.Generator) -> Batches:
    """Return rows of which no two of a person share a value that is unique per person.

    Where more rows have a value than there are people, the rest of them are left out.
    """
    columns = [c.column for c in schema.constraints if isinstance(c, UniquePerPerson)]
    if not columns or batches.people is None:
        return batches
    batch = batches.whole()
    assert batch.people is not None  # noqa: S101  there are people
    codes, people = batch.codes, batch.people.copy()
    values = [codes[name] for name in columns]
    _exchange(values, people, rng)
    kept = np.ones(len(people), dtype=bool)
    for value in values:
        _give_away(value, people, kept)
    # Who was given a row may have another of its values already.
    for value in values:
        rows = np.flatnonzero(kept)
        kept[rows[_repeated(value[rows], people[rows])]] = False
    return Batches.held({name: code[kept] for name, code in codes.items()}, people[kept])


def _repeated(values: Codes, people: Ints) -> NDArray[np.bool_]:
    """Return the rows whose person has the value in an earlier row."""
    order = np.lexsort((values, people))
    same = (np.diff(people[order]) == 0) & (np.diff(values[order]) == 0)
    found = np.zeros(len(people), dtype=bool)
    found[order[1:][same]] = True
    return found


def _exchange(values: list[Codes], people: Ints, rng: np.random.Generator) -> None:
    """Exchange the people of rows, in place, while that leaves fewer values twice."""
    for _ in range(MOST_ROUNDS):
        repeated = np.logical_or.reduce([_repeated(value, people) for value in values])
        rows = np.flatnonzero(repeated)
        if not len(rows) or len(rows) == len(people):
            return
        others = np.unique(rng.integers(len(people), size=len(rows)))
        others = rng.permutation(others[~repeated[others]])
        rows = rng.permutation(rows)[: len(others)]
        others = others[: len(rows)]
        good = people[rows] != people[others]
        for value in values:
            had = np.sort(_keys(value, people, value))
            for one, other in ((rows, others), (others, rows)):
                wanted = _keys(value[one], people[other], value)
                place = np.minimum(np.searchsorted(had, wanted), len(had) - 1)
                good &= had[place] != wanted
        rows, others = rows[good], others[good]
        people[rows], people[others] = people[others], people[rows]


def _keys(values: Codes, people: Ints, among: Codes) -> Ints:
    found: Ints = people * (int(among.max(initial=0)) + 1) + values
    return found


def _give_away(values: Codes, people: Ints, kept: NDArray[np.bool_]) -> None:
    """Give rows that are still repeated to people without the value, or leave them out."""
    left = np.flatnonzero(_repeated(values, people))
    for value in np.unique(values[left]):
        rows = left[values[left] == value]
        without = np.setdiff1d(people, people[values == value])[: len(rows)]
        people[rows[: len(without)]] = without
        kept[rows[len(without) :]] = False
