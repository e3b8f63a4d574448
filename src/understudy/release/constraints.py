"""Constraints of a release: what they say, and how many of its rows break each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.schema.breaking import broken_among, broken_rows
from understudy.schema.constraints import ConstantPerPerson, UniquePerPerson, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.schema import Array, Codes, Schema


def constraint_facts(schema: Schema) -> list[dict[str, Any]]:
    """Return each constraint's name, and what it says."""
    return [{"name": c.label, "says": sentence(c)} for c in schema.constraints]


class Checked:
    """Counts the rows that break each constraint, batch by batch."""

    def __init__(self, schema: Schema, ids: Sequence[str]) -> None:
        """Take the schema of a release, and the columns that identify its people."""
        self._schema, self._free = schema.released(), schema.released().unconstrained
        self._ids = ids[:1]
        self._broken = {c.label: 0 for c in schema.constraints}
        of_people = (ConstantPerPerson, UniquePerPerson)
        self._whole = any(isinstance(c, of_people) for c in schema.constraints) and bool(ids)
        """Whether what is said of people is checked in the end, of all of their rows."""
        self._codes: list[dict[str, Codes]] = []
        self._people: list[Array] = []

    def add(self, batch: Mapping[str, Array]) -> None:
        """Check the rows of a batch, each with its person's own columns."""
        if not self._broken:
            return
        codes, kept = self._free.encode(batch)
        values = {name: column[kept] for name, column in batch.items()}
        for label, rows in broken_rows(self._schema, codes, values).items():
            self._broken[label] += int(rows.sum())
        if self._whole:
            self._codes.append(codes)
            self._people.append(batch[self._ids[0]][kept])

    def broken(self) -> dict[str, int]:
        """Return the number of rows that break each constraint, by its label."""
        if not self._codes:
            return self._broken
        codes = {n: np.concatenate([each[n] for each in self._codes]) for n in self._codes[0]}
        people = np.unique(np.concatenate(self._people), return_inverse=True)[1]
        found = broken_among(self._schema, codes, people)
        return self._broken | {label: int(rows.sum()) for label, rows in found.items()}

    def facts(self) -> dict[str, Any]:
        """Return the manifest's account of the constraints, if there are any."""
        said, broken = constraint_facts(self._schema), self.broken()
        told = [{**each, "rows_that_break_it": broken[each["name"]]} for each in said]
        return {"constraints": told} if told else {}
