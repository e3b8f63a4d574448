"""A contest's submission: rows or counts of several releases in CSV, one release per epsilon.

``NAME.manifest.json``, beside it, has the manifest of every release in it.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.engine import DuckDB
from understudy.engine.duckdb.writing import append
from understudy.release.files import checksum, new_file
from understudy.release.histograms import histogram_columns
from understudy.release.release import sql_types

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from understudy.release.release import Release
    from understudy.schema import Array


def manifest_path(target: Path) -> Path:
    """Return the path of a submission's manifest."""
    return target.with_name(f"{target.name}.manifest.json")


@dataclass(slots=True)
class Submission:
    """A CSV file to which releases are appended, so that only one of them is in memory."""

    path: Path
    """Its path; other names in its folder are free to use."""
    order: Sequence[str]
    """The columns of the file, with ``epsilon`` where it has several."""
    counts: str | None = None
    """The column whose values become columns of counts; None for rows."""
    null: str = ""
    """What a missing value is written as."""
    manifests: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, release: Release, *, epsilon: float, most: int | None, rng: np.random.Generator
    ) -> int:
        """Append a release's counts, or its rows, at most ``most``; return the number of lines."""
        if self.counts is None:
            kept = _chosen(release, most, rng)
            columns = {n: np.asarray(c)[kept] for n, c in release.columns.items()}
            order = list(self.order)
        else:
            by = [n for n in self.order if n not in ("epsilon", self.counts)]
            columns = histogram_columns(release, by, self.counts)
            order = ["epsilon", *columns]
        lines = len(next(iter(columns.values())))
        columns["epsilon"] = np.full(lines, float(epsilon))
        part = self.path.with_name("part.csv")
        with closing(DuckDB()) as engine:
            engine.write(
                {n: columns[n] for n in order},
                part,
                types=sql_types(release.schema),
                null=self.null,
                header=not self.manifests,
            )
        append(part, self.path)
        self.manifests.append({**release.manifest, "rows_submitted": lines})
        return lines


def _chosen(release: Release, most: int | None, rng: np.random.Generator) -> Array:
    """Choose rows at random if there are too many; drop those of ids outside their range."""
    inside = np.ones(len(release), dtype=bool)
    for column in release.schema.ids:
        if column.max is not None and column.name in release.columns:
            inside &= release.columns[column.name] <= column.max
    rows = np.flatnonzero(inside)
    return (
        rows
        if most is None or len(rows) <= most
        else np.sort(rng.choice(rows, most, replace=False))
    )


def write_manifest(
    target: Path, files: Sequence[Path], runs: list[dict[str, Any]], facts: dict[str, Any]
) -> dict[str, Any]:
    """Write the manifest of a submission, with that of each release in it, and return it."""
    manifest = {
        "what": "synthetic rows made by Understudy; none of them is anybody's",
        **facts,
        "runs": runs,
        "files": {file.name: checksum(file) for file in files},
    }
    with new_file(manifest_path(target)) as partial:
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        partial.write_text(text + "\n", encoding="utf-8")
    return manifest
