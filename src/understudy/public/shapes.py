"""Archetypes of a public table: its rows clustered, its people by their most common cluster.

A mixture of Gaussians is fitted to the feature columns, scaled to mean 0 and deviation 1; scaler
and mixture stay together.  Ordered columns count by their codes, lists by which people have which
values.  The result is a label for every cell of the features, which is all that the vault needs,
and a description of the public people of each archetype.  Saved as JSON and Parquet, which hold no
code; and no id of a public person is kept.
"""

from __future__ import annotations

import json
import math
import warnings
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from understudy.engine import DuckDB
from understudy.errors import (
    MissingFileError,
    MissingPackageError,
    OutputExistsError,
    QuestionError,
    UsageError,
)
from understudy.public.kind_choice import best_count
from understudy.public.table import read_public

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.graph import Clique
    from understudy.public.table import PublicTable

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_CELLS = 2_000_000
"""The most cells of the feature columns."""
ENOUGH_ROWS = 60_000
"""The most public rows that a mixture is fitted to."""
TRIED_ROWS = 15_000
"""The most public rows that a mixture is fitted to where several numbers of kinds are tried."""
MOST_TOGETHER = 4_000_000
"""The most numbers of people × codes that are held at once."""
LIKENESS = 2
"""The coordinates of a value of a list: how alike its people are to those of other values."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixture:
    """A mixture of Gaussians over scaled features."""

    mean: Floats
    deviation: Floats
    """What each feature was divided by: its column's standard deviation."""
    weights: Floats
    centres: Floats
    factors: Floats
    """The upper Cholesky factor of each precision: z = (x − centre) @ factor is standard."""

    @classmethod
    def fitted(cls, features: Floats, count: int, widths: Sequence[int] = ()) -> Mixture:
        """Fit ``count`` Gaussians, deterministically, so that a run can be resumed.

        Features that lie together in one column, as many as each of ``widths`` says, are scaled
        together, by the first of them; otherwise each by itself.
        """
        try:
            from sklearn.mixture import GaussianMixture  # noqa: PLC0415
        except ImportError:
            raise MissingPackageError(
                "archetypes need scikit-learn", hint="pip install 'understudy[archetypes]'"
            ) from None
        # The library refuses a single row.
        features = np.repeat(features, 2, axis=0) if len(features) == 1 else features
        mean, deviation = features.mean(axis=0), features.std(axis=0)
        firsts = np.cumsum([0, *widths])[:-1] if widths else np.arange(len(deviation))
        deviation = np.repeat(deviation[firsts], widths or 1)
        deviation = np.where(deviation > 0, deviation, 1.0)
        model = GaussianMixture(count, random_state=0, reg_covar=1e-4)
        # The linear algebra library's threads would wait for each other longer than they work.
        with threadpool_limits(1), warnings.catch_warnings():
            # A fit that has not converged is as public as one that has.
            warnings.simplefilter("ignore")
            model.fit((features - mean) / deviation)
        return cls(
            mean=mean,
            deviation=deviation,
            weights=model.weights_,
            centres=model.means_,
            factors=model.precisions_cholesky_,
        )

    def logs(self, features: Floats) -> Floats:
        """Return the log-density of every component at every point."""
        scaled = (features - self.mean) / self.deviation
        found = []
        for weight, centre, factor in zip(self.weights, self.centres, self.factors, strict=True):
            apart = ((scaled - centre) @ factor) ** 2
            volume = np.log(np.diag(factor)).sum() - 0.5 * len(centre) * math.log(2 * math.pi)
            found.append(np.log(weight) + volume - 0.5 * apart.sum(axis=1))
        return np.stack(found, axis=1)

    def labels(self, features: Floats) -> Ints:
        """Return the component that is likeliest at every point."""
        parts = np.array_split(features, 1 + len(features) // ENOUGH_ROWS)
        found: Ints = np.concatenate([self.logs(part).argmax(axis=1) for part in parts])
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shapes:
    """The archetypes of a public table."""

    features: Clique
    sizes: tuple[int, ...]
    mixture: Mixture
    labels: Ints
    """The archetype of every cell of the features, the last column varying fastest."""
    people: Ints
    """The number of public people of each archetype."""
    rows: Ints
    """The number of rows of each archetype's people."""
    joint: Floats
    """The share of each feature cell in an archetype's rows: archetypes × cells."""
    others: dict[str, Floats]
    """The same for every other column separately."""

    @property
    def count(self) -> int:
        """The number of archetypes."""
        return len(self.people)

    @classmethod
    def of(
        cls,
        public: PublicTable,
        features: Clique,
        count: int | None,
        *,
        deviation: float = 0.0,
        by_position: bool = False,
    ) -> Shapes:
        """Find the archetypes of a public table, their number by held-out people if it is None.

        ``deviation`` is that of the noise of their counts.  Values of a list are near each other
        if the same people have them; ``by_position``, as in the document, if the list has them so.
        """
        people = public.known_people("what kinds of people there are")
        sizes, cells = public.schema.domain.shape(features), public.schema.domain.cells(features)
        if cells > MOST_CELLS:
            raise QuestionError(
                f"the features {' × '.join(features)} have too many cells",
                got=f"{cells:,}",
                allowed=f"at most {MOST_CELLS:,}",
            )
        everyone = int(people[-1]) + 1
        if count is not None and count > everyone:
            raise UsageError(
                "there are more archetypes than public people",
                got=count,
                allowed=f"at most {everyone}",
            )
        where = [coordinates(public, name, by_position=by_position) for name in features]
        points = _points(where, [public.codes[name] for name in features])
        widths = [each.shape[1] for each in where]

        def labelled(kinds: int) -> Ints:
            seen = _some(points[people % 2 == 0], TRIED_ROWS)
            return Mixture.fitted(seen, min(kinds, len(seen)), widths).labels(points)

        if count is None:
            cell = public.cells(features)
            count = best_count(cell, people, labelled, deviation=deviation)
        mixture = Mixture.fitted(_some(points, ENOUGH_ROWS), count, widths)
        labels = mixture.labels(_points(where, np.unravel_index(np.arange(cells), sizes)))
        return cls._seen(public, features, sizes, mixture, labels)

    @classmethod
    def _seen(
        cls,
        public: PublicTable,
        features: Clique,
        sizes: tuple[int, ...],
        mixture: Mixture,
        labels: Ints,
    ) -> Shapes:
        count, cells = len(mixture.weights), public.cells(features)
        kind = kinds(public, features, labels, count)
        people = public.known_people("what kinds of people there are")
        joint = np.zeros((count, len(labels)))
        np.add.at(joint, (kind[people], cells), 1.0)
        rows = joint.sum(axis=1)
        return cls(
            features=features,
            sizes=sizes,
            mixture=mixture,
            labels=labels,
            people=np.bincount(kind, minlength=count),
            rows=rows.astype(np.int64),
            joint=joint / np.maximum(rows, 1)[:, None],
            others={
                name: _shares(kind[people], public.codes[name], count, size)
                for name, size in public.schema.domain.items()
                if name not in features
            },
        )

    def kinds(self, public: PublicTable) -> Ints:
        """Return the archetype of every public person."""
        return kinds(public, self.features, self.labels, self.count)

    def save(self, folder: str | Path) -> Path:
        """Save the archetypes to a new folder: shapes.json, labels.parquet and joint.parquet."""
        target = Path(folder)
        if target.exists():
            raise OutputExistsError(f"{target} exists already", hint="choose another folder")
        target.mkdir(parents=True)
        kind, cell = np.nonzero(self.joint)
        with closing(DuckDB()) as engine:
            engine.write({"archetype": self.labels}, target / "labels.parquet", types={})
            shares = {"archetype": kind, "cell": cell, "share": self.joint[kind, cell]}
            engine.write(shares, target / "joint.parquet", types={})
        held = {f.name: getattr(self.mixture, f.name).tolist() for f in fields(Mixture)}
        facts = {
            "features": list(self.features),
            "sizes": list(self.sizes),
            "people": self.people.tolist(),
            "rows": self.rows.tolist(),
            "mixture": held,
            "others": {name: shares.tolist() for name, shares in self.others.items()},
        }
        (target / "shapes.json").write_text(json.dumps(facts), encoding="utf-8")
        return target

    @classmethod
    def load(cls, folder: str | Path) -> Shapes:
        """Load saved archetypes."""
        source = Path(folder)
        try:
            facts = json.loads((source / "shapes.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise MissingFileError(
                f"{source} holds no saved archetypes", allowed="a folder with shapes.json"
            ) from None
        labels = read_public(source / "labels.parquet")["archetype"].astype(np.int64)
        shares = read_public(source / "joint.parquet")
        joint = np.zeros((len(facts["people"]), len(labels)))
        joint[shares["archetype"], shares["cell"]] = shares["share"]
        return cls(
            features=tuple(facts["features"]),
            sizes=tuple(facts["sizes"]),
            mixture=Mixture(**{n: np.array(v) for n, v in facts["mixture"].items()}),
            labels=labels,
            people=np.array(facts["people"], dtype=np.int64),
            rows=np.array(facts["rows"], dtype=np.int64),
            joint=joint,
            others={name: np.array(shares) for name, shares in facts["others"].items()},
        )


def kinds(public: PublicTable, features: Clique, labels: Ints, count: int) -> Ints:
    """Return every public person's most common label, the first in case of ties."""
    most: Ints = rows_by_label(public, features, labels, count).argmax(axis=1)
    return most


def rows_by_label(public: PublicTable, features: Clique, labels: Ints, count: int) -> Ints:
    """Count the rows of every public person by label: people × labels."""
    people = public.known_people("what kinds of people there are")
    keys = people * count + labels[public.cells(features)]
    return np.bincount(keys, minlength=(int(people[-1]) + 1) * count).reshape(-1, count)


def _shares(kinds: Ints, codes: Ints, count: int, size: int) -> Floats:
    counts = np.bincount(kinds * size + codes, minlength=count * size).reshape(count, size)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def coordinates(public: PublicTable, name: str, *, by_position: bool) -> Floats:
    """Return where each code of a column lies: codes × coordinates.

    Codes of ordered columns lie at their numbers.  Those of a list are near each other if the same
    people have them (correspondence analysis of people × codes), or by their position in the list.
    """
    size, ordered = public.schema.domain[name], public.schema[name].ordered_count
    if by_position or ordered or size <= LIKENESS:
        return np.arange(size, dtype=np.float64)[:, None]
    people, together = public.known_people("what kinds of people there are"), np.zeros((size, size))
    people_of, mass = np.bincount(people), np.zeros(size)
    at_once = max(1, MOST_TOGETHER // size)
    for first in range(0, len(people_of), at_once):
        low, high = np.searchsorted(people, (first, first + at_once))
        whose = people[low:high] - first
        cells = whose * size + public.codes[name][low:high]
        shares = np.bincount(cells, 1 / people_of[people[low:high]], minlength=at_once * size)
        shares = shares.reshape(at_once, size)
        together += shares.T @ shares
        mass += shares.sum(axis=0)
    # What all people have in common tells no codes apart.  It is taken out first: where people fall
    # into two halves, it weighs as much as what does, and the two would come out mixed.
    together -= np.outer(mass, mass) / len(people_of)
    # Rare codes are drawn to the middle, so that no kind is made of them alone.
    mass = np.sqrt(mass + mass.mean())
    values, vectors = np.linalg.eigh(together / np.outer(mass, mass))
    found = vectors[:, ::-1][:, :LIKENESS] * np.sqrt(np.abs(values[::-1][:LIKENESS]))
    return np.asarray(found / mass[:, None])


def _points(where: Sequence[Floats], codes: Sequence[Ints]) -> Floats:
    """Return the points of rows, or cells, by the coordinates of their codes."""
    return np.concatenate([each[code] for each, code in zip(where, codes, strict=True)], axis=1)


def _some(points: Floats, most: int) -> Floats:
    return points[:: 1 + len(points) // most]
