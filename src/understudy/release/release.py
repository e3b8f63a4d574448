"""A release: synthetic rows, the noisy measurements they rest on, and a manifest.

Everything here is public.  A release is written as one folder that appears whole or not at
all, with the manifest, which holds every other file's checksum, written last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from understudy.engine import DuckDB
from understudy.engine.duckdb.writing import write_batches
from understudy.errors import UsageError
from understudy.graph import load, save
from understudy.public import Accuracy
from understudy.release.arguments import check_whole, conditions_of
from understudy.release.constraints import Checked
from understudy.release.contents import Contents
from understudy.release.display import release_html, release_text, to_arrow, to_pandas, to_polars
from understudy.release.estimates import estimate, part_labels
from understudy.release.evidence import load_evidence, save_evidence
from understudy.release.files import check_target, checksum, new_folder
from understudy.release.from_disk import MANIFEST, Stored, read_manifest
from understudy.release.histograms import histogram
from understudy.release.known_facts import known_kept
from understudy.release.people import Apart
from understudy.release.quality import Quality, quality
from understudy.release.replicates import noise_within, replicas
from understudy.release.sampling import Amount, sampled
from understudy.release.statistic import Statistic
from understudy.schema import Categorical, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Measurement
    from understudy.public import Progress
    from understudy.release.estimates import Estimate
    from understudy.schema import Array

Format = Literal["parquet", "csv"]
FORMATS: tuple[Format, ...] = ("parquet", "csv")
SCHEMA, EVIDENCE, MODEL = "schema.toml", "evidence.npz", "model.npz"
DOCUMENT = ".json"


_NOISY: dict[str, type] = {
    "measurement": np.int64,
    "clique": object,
    "counted": object,
    "place": np.int64,
    "label": object,
    "value": np.float64,
    "standard_error": np.float64,
}
_TEXTS = {name: "VARCHAR" for name, kind in _NOISY.items() if kind is object}


@dataclass(frozen=True, slots=True, eq=False)
class Release(Contents):
    """A synthetic table that anyone may see, the noisy numbers behind it, and its guarantee.

    `rows`, `columns`, `to_arrow` and `to_polars` are the synthetic rows, `people` has one line for
    each person, `sample` draws more rows, and `histogram` counts them.  `estimate` returns what was
    measured, with standard errors.  `save` writes all of it as a folder, which `read` reads.

    >>> import tempfile, understudy as us
    >>> from understudy.schema import Categorical, Schema
    >>> release = us.open(
    ...     private={"colour": ["red"] * 700 + ["blue"] * 300},
    ...     schema=Schema("shop", (Categorical(name="colour", values=("red", "blue")),)),
    ...     unit=us.Unit.each_row(),
    ...     bounding=us.Weights(1),
    ...     budget=us.Budget(epsilon=1.0, delta=1e-6),
    ...     ledger=tempfile.mkdtemp() + "/shop.ledger",
    ... ).run(us.Independent())
    >>> list(release.columns), list(release.estimate("colour").labels["colour"])
    (['colour'], ['red', 'blue', '(missing)', '(other)'])
    """

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Read a saved release; raise if it has changed since."""
        where = Path(folder)
        manifest = read_manifest(where)
        schema = Schema.read(where / SCHEMA)
        files = {Path(name).stem: where / name for name in manifest["files"] if _is_table(name)}
        measurements, merged = load_evidence(where / EVIDENCE)
        model = load(where / MODEL) if MODEL in manifest["files"] else None
        types = sql_types(schema)
        rows = Stored(files["rows"], manifest["rows"], types=types)
        stored: Stored | Apart = rows
        if "people" in files:
            people = Stored(files["people"], int(manifest["people"]), types=types)
            stored = Apart(rows, people, columns=list(types))
        told = {
            Path(name).stem: json.loads((where / name).read_text(encoding="utf-8"))
            for name in manifest["files"]
            if name.endswith(DOCUMENT)
        }
        known = Accuracy.read(where, manifest)
        return cls(schema, stored, measurements, manifest, model, merged, told, known)

    def __repr__(self) -> str:
        """Describe the release, what it promises and what it cost; show no rows."""
        return release_text(self)

    def _repr_html_(self) -> str:
        """Describe the release in a notebook."""
        return release_html(self)

    @property
    def rows(self) -> Any:  # noqa: ANN401  a pandas DataFrame, which is not required
        """The synthetic rows as a pandas DataFrame.

        Where people have a table of their own, these are their ids and the columns of rows.
        """
        return self.as_frame(self.row_columns, what="release.rows", instead="release.columns")

    @property
    def people(self) -> Any:  # noqa: ANN401  a pandas DataFrame, which is not required
        """The synthetic people as a pandas DataFrame: their ids, and what is their own."""
        found = self.people_columns
        return self.as_frame(found, what="release.people", instead="release.people_columns")

    def as_frame(
        self, columns: Mapping[str, Array], *, what: str = "a data frame", instead: str = "columns"
    ) -> Any:  # noqa: ANN401  a pandas DataFrame, which is not required
        """Return columns of this release as a pandas DataFrame, with the types it declares."""
        categories = {
            c.name: c.written
            for c in self.schema.released_columns
            if isinstance(c, Categorical) and all(isinstance(v, str) for v in c.values)
        }
        types = sql_types(self.schema)
        zones = zones_of(self.schema)
        return to_pandas(
            columns, types, categories=categories, zones=zones, what=what, instead=instead
        )

    def to_arrow(self, *, people: bool = False) -> Any:  # noqa: ANN401  an Arrow table, which is not required
        """Return the synthetic rows, or people, as an Arrow table."""
        columns = self.people_columns if people else self.row_columns
        return to_arrow(columns, sql_types(self.schema), zones_of(self.schema))

    def to_polars(self, *, people: bool = False) -> Any:  # noqa: ANN401  a polars DataFrame, which is not required
        """Return the synthetic rows, or people, as a polars DataFrame."""
        columns = self.people_columns if people else self.row_columns
        return to_polars(columns, sql_types(self.schema), zones_of(self.schema))

    def estimate(
        self,
        *columns: str,
        by: str | Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        counted: str | None = None,
        share: bool = False,
        mean: str | None = None,
        total: str | None = None,
        ratio: tuple[str, str] | None = None,
        quantile: tuple[str, float] | None = None,
    ) -> Estimate:
        """Estimate counts by some columns, or another statistic, with standard errors.

        The estimates come from the noisy measurements, not from synthetic rows.  So all columns
        that are named must have been measured together; `histogram` counts synthetic rows by any
        columns.  ``where`` chooses rows as in `sample`.  ``share=True`` divides each count by that
        of all rows, or of all with the same values of ``by``, which is otherwise the same as more
        columns.  ``mean`` and ``total`` name a column of numbers, ``ratio`` two whose sums are
        divided, and ``quantile`` one and a level, such as ``("fare", 0.5)`` for its median.
        ``counted`` chooses what is counted where it is not rows.
        """
        asked = {"mean": mean, "total": total, "ratio": ratio, "quantile": quantile}
        statistic = Statistic.of(share=share, **asked)
        return estimate(self, columns, by=by, where=where, counted=counted, statistic=statistic)

    @property
    def quality(self) -> Quality:
        """How much of each column, and of each measured pair, stands out from its noise."""
        cliques = [measured.clique for measured in self.measurements]
        return quality(self.estimate, list(self.schema.domain), cliques)

    def histogram(self, *columns: str) -> Array:
        """Count the synthetic rows in every cell of some columns, or of all, by code."""
        return histogram(self, columns)

    def sample(
        self,
        rows: int | None = None,
        *,
        people: int | None = None,
        seed: int | None = None,
        where: Mapping[str, object] | None = None,
    ) -> Any:  # noqa: ANN401  a pandas DataFrame, which is not required
        """Draw new rows at no privacy cost, by default as many as the release has.

        They are a pandas DataFrame, as `rows` is.  ``people`` draws whole people in place of a
        number of rows.  ``where`` maps columns to the value, the list of values, or the range such
        as ``{"min": 0, "below": 15}``, that all rows must have, of a column in bins whole bins;
        people are chosen by their own columns only.  The same seed gives the same rows; without a
        seed they differ every time.
        """
        drawn = self.sample_columns(rows, people=people, seed=seed, where=where)
        return self.as_frame(drawn, what="release.sample()", instead="release.sample_columns()")

    def replicates(
        self, count: int = 50, *, rows: int | None = None, seed: int | None = None
    ) -> Iterator[Any]:
        """Draw tables as they would come out if all were measured again, at no privacy cost.

        Each is a pandas DataFrame with a number of rows of its own, since that is noisy too, unless
        it is publicly known.  With ``rows`` all have that many, which is for shares and means.  An
        analysis that is run on every one has an interval: `understudy.combine` computes it.  Where
        rows were drawn person by person, as by `Lives`, replicates are for analyses of rows: they
        have no ids of people.
        """
        check_whole("count", count, least=1, needed=True)
        check_whole("rows", rows)
        check_whole("seed", seed)
        rng, alone, noise = np.random.default_rng(seed), self.is_by_person, noise_within(self)
        drawn = (
            sampled(
                each,
                Amount(rows=size if rows is None else rows),
                where={},
                rng=rng,
                alone=alone,
                noise=noise,
            )
            for each, size in replicas(self, count, rng)
        )
        what = "release.replicates()"
        return (self.as_frame(each, what=what, instead="estimate") for each in drawn)

    def sample_columns(
        self,
        rows: int | None = None,
        *,
        people: int | None = None,
        seed: int | None = None,
        where: Mapping[str, object] | None = None,
    ) -> dict[str, Array]:
        """Draw new rows as `sample` does, column by column; pandas is not needed."""
        check_whole("seed", seed)
        chosen = conditions_of(where)
        asked = len(self) if rows is None and people is None else rows
        amount = Amount(rows=asked, people=people)
        return sampled(self, amount, where=chosen, rng=np.random.default_rng(seed))

    def save(
        self,
        folder: str | Path,
        *,
        format: Format = "parquet",  # noqa: A002
        progress: Progress = lambda _stage, _done: None,
    ) -> Path:
        """Write the release as a new folder; nothing is ever overwritten.

        One batch of rows is in memory at a time, unless all are already.
        """
        target = Path(folder)
        check_target(target)
        if format not in FORMATS:
            raise UsageError("unknown format", got=format, allowed=", ".join(FORMATS))
        with new_folder(target) as partial:
            self._write(partial, format, progress)
        return target

    def _write(self, folder: Path, form: Format, progress: Progress) -> None:
        engine = DuckDB()
        try:
            types = sql_types(self.schema)
            checked = Checked(self.schema, self.ids if self.schema.constraints else ())
            batches = self._told(progress, checked)
            write_batches(engine, batches, folder / f"rows.{form}", types=types)
            if isinstance(self.decoded, Apart):
                people = folder / f"people.{form}"
                write_batches(engine, iter(self.decoded.people), people, types=types)
            engine.write(self._noisy_table(), folder / f"measurements.{form}", types=_TEXTS)
        finally:
            engine.close()
        (folder / SCHEMA).write_text(self.schema.released().to_toml(), encoding="utf-8")
        save_evidence(folder / EVIDENCE, self.measurements, self.merged)
        if self.model is not None:
            save(self.model, folder / MODEL)
        for name, told in self.documents.items():
            text = json.dumps(told, indent=2, ensure_ascii=False)
            (folder / f"{name}{DOCUMENT}").write_text(text + "\n", encoding="utf-8")
        files = {p.name: checksum(p) for p in sorted(folder.iterdir())}
        known = {"known": known_kept(self)} if "known" in self.manifest else {}
        whole = {**self.manifest, **checked.facts(), **known, "files": files}
        manifest = json.dumps(whole, indent=2, ensure_ascii=False)
        (folder / MANIFEST).write_text(manifest + "\n", encoding="utf-8")

    def _told(self, progress: Progress, checked: Checked) -> Iterator[dict[str, Array]]:
        """Yield the rows batch by batch, check what is written, and report progress."""
        done = 0
        apart = self.decoded if isinstance(self.decoded, Apart) else None
        rows = self.decoded if apart is None else apart.rows
        for size, batch in zip(rows.sizes, rows, strict=True):
            progress("writing the release", done / max(len(self), 1))
            checked.add(batch if apart is None else apart.with_own(batch))
            yield batch
            done += size
        # The batches are then merged, with no progress to report.
        progress("writing the release", 1)

    def _noisy_table(self) -> dict[str, Array]:
        """Return the measurements as one long table, one row per noisy number."""
        error = np.sqrt(2.0) if self.manifest["guarantee"]["delta"] == 0 else 1.0
        # Empty arrays first: a mechanism may measure no marginal at all.
        parts: dict[str, list[Array]] = {
            name: [np.empty(0, dtype=kind)] for name, kind in _NOISY.items()
        }
        for number, measured in enumerate(self.measurements):
            size = len(measured.values)
            columns = {
                "measurement": np.full(size, number),
                "clique": np.full(size, " × ".join(measured.clique), dtype=object),
                "counted": np.full(size, measured.counted, dtype=object),
                "place": np.arange(size),
                "label": self.cells(measured),
                "value": measured.values,
                "standard_error": np.full(size, measured.scale * error),
            }
            for name, column in columns.items():
                parts[name].append(column)
        return {name: np.concatenate(pieces) for name, pieces in parts.items()}

    def labels(self, column: str, merged: NDArray[np.int64] | None = None) -> tuple[str, ...]:
        """Return the labels of a column's codes; of merged codes, the label of each group."""
        known = self.schema.unconstrained[column]
        own = known.labels()
        return tuple(own if merged is None else part_labels(own, merged, known.values_count)[0])

    def readable(self, column: str) -> dict[str, str]:
        """Return what each label of a column is called in reports."""
        known = self.schema.unconstrained[column]
        return dict(zip(known.labels(), known.readable(), strict=True))

    def cells(self, measured: Measurement) -> Array:
        """Return a label for each number of a measurement."""
        if measured.rows is not None and len(measured.rows.cells) > measured.rows.count:
            sizes = np.diff(measured.rows.starts)
            return np.array([f"(sum of {n} cells)" for n in sizes], dtype=object)
        named = [
            np.array(self.labels(name, measured.merged.get(name)), dtype=object)
            for name in measured.clique
        ]
        if not named:
            return np.array([""], dtype=object)
        shape = [len(labels) for labels in named]
        cells = np.arange(np.prod(shape)) if measured.rows is None else measured.rows.cells
        first, *others = (
            labels[codes]
            for labels, codes in zip(named, np.unravel_index(cells, shape), strict=True)
        )
        return reduce(lambda whole, labels: whole + " × " + labels, others, first)


def _is_table(name: str) -> bool:
    return name in {f"{table}.{form}" for table in ("people", "rows") for form in FORMATS}


def sql_types(schema: Schema) -> dict[str, str]:
    """Return the types of the released columns on disk."""
    return {c.name: c.disk_type for c in schema.released_columns}


def zones_of(schema: Schema) -> dict[str, str]:
    """Return the time zones of columns that declare one."""
    return {c.name: c.zone for c in schema.timestamps if c.zone is not None}
