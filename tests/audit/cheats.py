"""Mechanisms that break the rules, each in a way of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from understudy.public import Batches, Progress, Synthesis
from understudy.synth.independent import Independent


def rows_of(door: Any) -> int:
    """Look into the vault, which no mechanism may."""
    return int(door._table.engine.fetch("SELECT count(*) AS n FROM rows")["n"][0])


def honest(door: Any, rng: np.random.Generator, progress: Progress) -> Synthesis:
    return Independent().run(door, public=None, rng=rng, progress=progress)


@dataclass(frozen=True)
class OtherScale:
    """Asks with noise that depends on the table."""

    name: ClassVar[str] = "other-scale"

    def run(
        self, door: Any, *, public: Any, rng: np.random.Generator, progress: Progress
    ) -> Synthesis:
        door.units(scale=1000.0 + rows_of(door))
        return honest(door, rng, progress)


@dataclass(frozen=True)
class OneMore:
    """Asks once more where the table is large, and at the end, when all is as before."""

    name: ClassVar[str] = "one-more"

    def run(
        self, door: Any, *, public: Any, rng: np.random.Generator, progress: Progress
    ) -> Synthesis:
        people_share = 0.5 if rows_of(door) % 2 else 0.4
        return Independent(people_share=people_share).run(
            door, public=None, rng=rng, progress=progress
        )


@dataclass(frozen=True)
class ExactRows:
    """Makes as many synthetic rows as the table has."""

    name: ClassVar[str] = "exact-rows"

    def run(
        self, door: Any, *, public: Any, rng: np.random.Generator, progress: Progress
    ) -> Synthesis:
        made = honest(door, rng, progress)
        (batch,) = made.batches
        codes = {n: np.resize(c, rows_of(door)) for n, c in batch.codes.items()}
        people = None if batch.people is None else np.resize(batch.people, rows_of(door))
        return replace(made, batches=Batches.held(codes, people))


@dataclass(frozen=True)
class Telling:
    """Says in a note what it saw."""

    name: ClassVar[str] = "telling"

    def run(
        self, door: Any, *, public: Any, rng: np.random.Generator, progress: Progress
    ) -> Synthesis:
        made = honest(door, rng, progress)
        return replace(made, notes=(*made.notes, f"The table has {rows_of(door)} rows."))


@dataclass(frozen=True)
class Denoised:
    """Puts the exact count in place of a noisy one."""

    name: ClassVar[str] = "denoised"

    def run(
        self, door: Any, *, public: Any, rng: np.random.Generator, progress: Progress
    ) -> Synthesis:
        made = honest(door, rng, progress)
        first = replace(
            made.measurements[0], values=made.measurements[0].values * 0 + rows_of(door)
        )
        return replace(made, measurements=(first, *made.measurements[1:]))


CHEATS = (OtherScale, OneMore, ExactRows, Telling, Denoised)
