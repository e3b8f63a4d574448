"""Public tables and doors for tests of mechanisms' parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from tests.vault.obvious import People
from tests.vault.worlds import opened
from understudy.audit import FixedEntropy
from understudy.audit.tape import Tape
from understudy.budget import Bounding, Budget
from understudy.public import PublicTable
from understudy.schema import Integer, Schema
from understudy.vault import PrivateDoor

RICH = Budget(epsilon=1e9, delta=1e-9)


def schema_of(**sizes: int) -> Schema:
    columns = tuple(Integer(name=n, min=0, max=s - 1, missing=False) for n, s in sizes.items())
    return Schema("crowd", columns)


def crowd(
    people: Sequence[int] | NDArray[np.int64],
    sizes: dict[str, int],
    **codes: Sequence[int] | NDArray[np.int64],
) -> PublicTable:
    """A public table of rows whose people rise from 0."""
    return PublicTable(
        schema=schema_of(**sizes),
        codes={name: np.asarray(values, dtype=np.int32) for name, values in codes.items()},
        people=np.asarray(people, dtype=np.int64),
        numbers={},
    )


def random_crowd(rng: np.random.Generator, sizes: dict[str, int], people: int) -> PublicTable:
    """People of one to thirty rows, each with a taste of their own."""
    each = np.minimum(rng.geometric(0.15, people), 30)
    whose = np.repeat(np.arange(people), each)
    codes = {}
    for name, size in sizes.items():
        usual = rng.integers(size, size=people)[whose]
        codes[name] = np.where(
            rng.random(len(whose)) < 0.6, usual, rng.integers(size, size=len(whose))
        )
    return crowd(whose, sizes, **codes)


@contextmanager
def door_to(
    people: People, *, bounding: Bounding, budget: Budget = RICH, seed: int = 1
) -> Iterator[PrivateDoor]:
    """A door onto a small world whose run is kept in memory, its noise fixed."""
    with opened(people) as table:
        yield PrivateDoor(table, run=Tape(budget), bounding=bounding, entropy=FixedEntropy(seed))


def events(door: PrivateDoor) -> list[tuple[str, int]]:
    """What was asked of a door, and the grains booked for it."""
    return [(r.what, r.grains) for r in door._run.state().reservations]
