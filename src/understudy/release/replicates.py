"""Replicates: tables as they would come out if everything were measured again.

A parametric bootstrap of what was measured.  The release's model is taken for the truth: each
answer is what the model says, with as much bias of contribution bounding as may remain, plus new
noise of the same scale; a model is fitted to these answers, and rows are drawn from it.  An
analysis that is run on every replicate varies as much as bias, noise, fit and sampling make it
vary; `combine` turns that into intervals.

The number of rows varies too: it was counted with noise of its own, or follows from the answers.
Where it is publicly known, it stays the same.

What no replicate can show is what the model leaves out: correlations that were not measured.
Everything used is public, so it costs nothing.

Where rows were drawn person by person, replicates are rows of nobody: the model knows no people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.door import Rows
from understudy.errors import UsageError
from understudy.graph import Zeros, estimate, totals
from understudy.release.known_facts import known_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Measurement
    from understudy.graph import Model
    from understudy.release.contents import Contents

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

COUNTED = "number of rows"
"""What the charge of a noisy number of rows is called."""
MOST_ITERATIONS = 200
DROWNED = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Replica:
    """What the model says of every answer, and how noisy the answers are."""

    model: Model
    asked: tuple[Measurement, ...]
    """The measurements over the model's cells; their values are what the model says."""
    tables: tuple[Floats, ...]
    """What the model says of each one's clique, on the scale of its answers."""
    rows: float
    rows_error: float | None
    """The standard error of the number of rows; None where it follows from the answers."""
    laplace: bool

    @classmethod
    def of(cls, release: Contents) -> Replica:
        """Take the answers that a release's model was fitted to."""
        if release.model is None:
            raise UsageError(
                "this release has no model to fit again",
                got=f"the mechanism {release.manifest['mechanism']['name']}",
                hint="replicates need rows drawn from a model, such as by Pairs, Lives or AIM; "
                "release.estimate gives intervals of what was measured",
            )
        model, rows = release.model, max(1.0, release.model.total)
        counted = [m for m in release.measurements if m.counted == "rows"]
        over = [r for r in (_over_model(m, release) for m in counted) if r is not None]
        read = totals(model.tree.domain, [m for m in over if m.group is not None])
        factors = {g: max(DROWNED, found / rows) for g, found in read.items()}
        every = model.marginals({m.clique for m in over})
        tables = [factors.get(m.group, 1.0) * every[m.clique] for m in over]
        return cls(
            model=model,
            asked=tuple(
                replace(m, values=_said(m, table)) for m, table in zip(over, tables, strict=True)
            ),
            tables=tuple(tables),
            rows=rows,
            rows_error=rows_error(release),
            laplace=release.manifest["guarantee"]["delta"] == 0,
        )

    def fitted(self, rng: np.random.Generator) -> Model:
        """Fit a model to answers with new noise, and with what remains of bounding's bias."""
        noise, sizes = (rng.laplace if self.laplace else rng.normal), self.model.tree.domain.sizes
        biases = {name: rng.normal(size=size) for name, size in sizes.items()}
        answers = []
        for m, table in zip(self.asked, self.tables, strict=True):
            said = _said(m, _biased(table, m, biases)) if m.bias else m.values
            answers.append(replace(m, values=said + noise(0.0, m.scale, len(said))))
        return estimate(
            self.model.tree.domain,
            answers,
            total=max(1.0, self._rows(answers, rng)),
            zeros=[
                Zeros(clique=c, cells=np.flatnonzero(t.reshape(-1) == 0))
                for c, t in self.model.tables.items()
            ],
            start=self.model,
            most=MOST_ITERATIONS,
        ).model

    def _rows(self, answers: Sequence[Measurement], rng: np.random.Generator) -> float:
        """Draw how many rows are counted when all is measured again."""
        if self.rows_error is not None:
            return self.rows + rng.normal(0.0, self.rows_error)
        alone = [m for m in answers if m.group is None]
        return totals(self.model.tree.domain, alone).get(None, self.rows)


def replicas(
    release: Contents, count: int, rng: np.random.Generator
) -> Iterator[tuple[Contents, int]]:
    """Return releases whose models were fitted to new noise, each with its number of rows.

    A release that was drawn person by person may have other than its model's number of rows, since
    people are known in more detail: its number varies by as large a share.
    """
    replica, fixed = Replica.of(release), _rows_known(release)

    def drawn() -> tuple[Contents, int]:
        model = replica.fitted(rng)
        size = len(release) if fixed else len(release) * model.total / replica.rows
        return replace(release, model=model), max(1, round(size))

    return (drawn() for _ in range(count))


def noise_within(release: Contents) -> dict[str, Floats]:
    """Return the noise of the rows of every code of columns of which codes were merged.

    The model knows the merged codes; how they share their rows was measured too.
    """
    rows = max(1.0, release.model.total) if release.model is not None else 1.0
    counted = [m for m in release.measurements if m.counted == "rows"]
    read = totals(release.schema.domain, [m for m in counted if m.group is not None])
    found = {}
    for name, codes in release.merged.items():
        if int(codes.max()) + 1 == len(codes):
            continue
        precision = np.zeros(len(codes))
        for m in counted:
            if m.clique == (name,) and m.rows is None and len(m.values) == len(codes):
                part = 1.0 if m.left is None else m.left
                part = part * max(DROWNED, read.get(m.group, rows) / rows)
                precision += (part / m.scale) ** 2
        if precision.all():
            found[name] = len(release) / rows * precision**-0.5
    return found


def rows_error(release: Contents) -> float | None:
    """Return the standard error of a release's number of rows, as its manifest tells it.

    People's sizes tell it with about as much bias as remains; without them it is that of the first
    count of all rows.  None where rows were not counted by themselves.
    """
    crowd = release.manifest["mechanism"].get("crowd", {})
    if "rows_standard_error" in crowd:
        return float(crowd["rows_standard_error"])
    charges = release.manifest["charges"]
    noises = [noise for each in charges if each["asked"] == COUNTED for noise in each["events"]]
    if not noises:
        return None
    first = noises[0]
    return float(first["sigma"] if "sigma" in first else math.sqrt(2) * first["scale"])


def _rows_known(release: Contents) -> bool:
    """Return whether the number of rows is publicly known; where each is a person, of people."""
    known = known_of(release.manifest)
    return any(not k.scaled and (k.of == "rows" or not release.ids) for k in known)


def _said(m: Measurement, table: Floats) -> Floats:
    """Return a measurement's answers, given its clique's table."""
    cells = table.reshape(-1)
    return cells if m.rows is None else m.matrix(cells.size).forward(cells)


def _biased(table: Floats, m: Measurement, biases: Mapping[str, Floats]) -> Floats:
    """Return a table of which bounding left more of some codes than of others.

    Each code has as much more or less, in units of the measurement's bias, wherever it is counted.
    """
    more = np.zeros_like(table)
    for axis, name in enumerate(m.clique):
        more += np.expand_dims(biases[name], [a for a in range(table.ndim) if a != axis])
    return table * np.maximum(0.0, 1 + m.bias / math.sqrt(max(1, table.ndim)) * more)


def _over_model(m: Measurement, release: Contents) -> Measurement | None:
    """Restate a measurement over the model's cells; None if it says nothing of them alone.

    A sum of k answers has √k times their noise, and is weighted by 1/√k.
    """
    finer = [n for n in m.clique if n in release.merged and n not in m.merged]
    if m.left is not None:
        m = _weighted(m, m.left)
    if not finer:
        return replace(m, merged={}, left=None)
    if len(m.clique) > 1 or (m.rows is not None and len(m.rows.cells) > m.rows.count):
        return None
    codes = release.merged[m.clique[0]]
    held = codes if m.rows is None else codes[m.rows.cells]
    count = np.bincount(held, minlength=int(codes.max()) + 1)
    if (count == 0).any():
        return None
    roots, cells = np.sqrt(count), np.arange(len(count))
    weights = np.ones(len(held)) if m.weights is None else m.weights
    # What is left is the same for all codes that are merged.
    each = np.bincount(held, weights=weights) / count
    return replace(
        m,
        values=np.bincount(held, weights=m.values) / roots,
        rows=Rows(np.arange(len(count) + 1), cells),
        weights=each / roots,
        merged={},
        left=None,
    )


def _weighted(m: Measurement, left: Floats) -> Measurement:
    """Return a measurement whose rows count only what bounding left of them."""
    rows = m.rows or Rows(np.arange(len(left) + 1), np.arange(len(left)))
    weights = np.repeat(left, np.diff(rows.starts))
    return replace(m, rows=rows, weights=weights * (1.0 if m.weights is None else m.weights))
