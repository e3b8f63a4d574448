"""Counts of synthetic rows for a page: all of its marginals in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique
    from understudy.pages.page import Table
    from understudy.release import Estimate, Release

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Marginals of a release's rows, by code."""

    release: Release
    marginals: dict[Clique, Ints]

    @classmethod
    def of(cls, release: Release, cliques: Sequence[Clique]) -> Counted:
        """Count all of them in one pass over the rows."""
        schema = release.schema.released().unconstrained
        domain = schema.domain
        counts = {c: np.zeros([domain[n] for n in c], dtype=np.int64) for c in cliques}
        for batch in release.decoded:
            codes, _ = schema.encode(batch)
            for clique, before in counts.items():
                cells = np.ravel_multi_index([codes[n] for n in clique], before.shape)
                more = np.bincount(cells, minlength=before.size)
                counts[clique] = before + more.reshape(before.shape)
        return cls(release, counts)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of columns that were counted."""
        return [(c[0], c[1]) for c in self.marginals if len(c) == 2]

    def beside(self, found: Estimate) -> Table:
        """Return an estimate as a table, with the synthetic counts of the same cells."""
        labels = [self._parts(found, name) for name in found.columns]
        sizes = [max(part.values(), default=-1) + 1 for _, part in labels]
        codes = [
            np.array([part[place[label]] for label in self.release.labels(name)])
            for name, (place, part) in zip(found.columns, labels, strict=True)
        ]
        summed = self.marginals[found.columns]
        for axis, (code, size) in enumerate(zip(codes, sizes, strict=True)):
            moved = np.moveaxis(summed, axis, 0)
            into = np.zeros((size, *moved.shape[1:]), dtype=np.int64)
            np.add.at(into, code, moved)
            summed = np.moveaxis(into, 0, axis)
        at = tuple(
            np.array([part[label] for label in found.labels[name]])
            for name, (_, part) in zip(found.columns, labels, strict=True)
        )
        named = {name: self.release.readable(name) for name in found.columns}
        table: Table = {n: [known.get(v, v) for v in found.labels[n]] for n, known in named.items()}
        table["measured"] = found.estimate.tolist()
        table["low"], table["high"] = found.low.tolist(), found.high.tolist()
        table["synthetic"] = summed[at].tolist()
        return table

    def _parts(self, found: Estimate, name: str) -> tuple[dict[str, str], dict[str, int]]:
        """Return the estimate's label of each value, and a number for each label."""
        groups = (found.groups or {}).get(name, {})
        place = {label: label for label in self.release.labels(name)}
        for group, values in groups.items():
            place |= dict.fromkeys(values, group)
        return place, {label: i for i, label in enumerate(dict.fromkeys(place.values()))}
