"""Rows from marginals that were measured elsewhere: no private table is opened, nothing is spent.

Each table holds noisy counts of one marginal: a column for each of its columns, with values or the
labels that `Release.estimate` gives, a column ``count`` and a column ``standard_error``.  The graph
engine fits a model to all of them, and rows are drawn from it.  What was promised of the
counts was promised by whoever measured them; it is declared here, recorded, and not checked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import Norm, Unit, resolve
from understudy.errors import MissingFileError, UsageError, nearest
from understudy.graph import Measurement, Rows, estimate
from understudy.opening import unit_of
from understudy.public import Synthesis, followed, read_public
from understudy.release import build
from understudy.schema import Schema
from understudy.synth.generate.assignment import EACH_ITS_OWN, drawn

if TYPE_CHECKING:
    from understudy.budget import AnyUnit, Budget
    from understudy.public import Progress
    from understudy.release import Release
    from understudy.schema import Array, Column

COUNT, ERROR = "count", "standard_error"
ENDINGS = (".csv", ".csv.gz", ".parquet")


def from_marginals(
    marginals: object,
    *,
    schema: Schema | str | Path,
    unit: AnyUnit | str,
    promised: Budget,
    promised_by: str,
    rows: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Make a release from noisy marginals that were measured elsewhere.

    ``marginals`` is a folder of CSV or Parquet files, or a list of tables or files.  ``promised``
    and ``unit`` are what whoever measured them promised, and ``promised_by`` says who that
    is: it stands in the manifest and in the report.  ``rows`` is the number of rows to draw, by
    default what the counts add up to.  Rows are all that is drawn: each is its own person.

        release = us.from_marginals(
            "marginals/",
            schema="trips.toml",
            unit="taxi_id",
            promised=us.Budget(epsilon=1.0, delta=1e-9),
            promised_by="the statistics office, release of May 2026",
        )
    """
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    laplace = promised.delta == 0
    measured: list[Measurement] = []
    for name, table in _tables(marginals).items():
        measured += _measurements(name, table, declared, laplace=laplace)
    rng = np.random.default_rng(seed)
    with followed(progress) as told:
        told("fitting the model", 0)
        fit = estimate(declared.domain, measured, total=rows)
        told("drawing rows", 0)
        count = max(1, round(fit.model.total if rows is None else rows))
        batches = drawn(fit.model.urn(count, rng), count, EACH_ITS_OWN, rng=rng)
    synthesis = Synthesis(
        batches=batches,
        measurements=tuple(measured),
        notes=(
            f"The marginals were measured elsewhere, by {promised_by}: the promise is theirs. "
            "Understudy opened no private table, spent nothing, and has not checked the promise.",
        ),
        model=fit.model,
    )
    release = build(
        synthesis,
        schema=declared,
        unit=Unit.each_row(),
        bounding=Norm(),
        budget=promised,
        mechanism={"name": "from_marginals", "settings": {"rows": rows}},
        charges=(),
        ledger={"run": "none", "head": "none"},
        rng=rng,
    )
    _credit(release.manifest["guarantee"], promised_by, unit_of(unit), declared)
    return release


def _credit(guarantee: dict[str, Any], by: str, unit: AnyUnit, schema: Schema) -> None:
    """Say in the guarantee whose it is."""
    person = resolve(unit, schema)
    for name in ("whole_person", "whole_person_words"):
        guarantee.pop(name, None)
    guarantee |= {
        "promised_by": by,
        "unit": str(person),
        "neighbours": f"one {person} more or less, with all of its rows",
        "bounding": f"as {by} did",
        "words": f"Promised by {by}, and not checked by Understudy, which opened no private table: "
        f"the marginals are differentially private with epsilon {guarantee['epsilon']:g} and delta "
        f"{guarantee['delta']:g}, for every {person} with all of its rows.",
    }


def _tables(given: object) -> dict[str, Mapping[str, Array]]:
    """Read all tables, each with a name for messages."""
    if isinstance(given, (str, Path)):
        folder = Path(given)
        files = [p for p in sorted(folder.glob("*")) if p.name.lower().endswith(ENDINGS)]
        if not files:
            raise MissingFileError(
                f"{folder} is no folder of marginals", allowed="a folder of CSV or Parquet files"
            )
        return {path.name: read_public(path) for path in files}
    if not isinstance(given, Sequence) or not given:
        raise UsageError(
            "no marginals", got=type(given).__name__, allowed="a folder, or a list of tables"
        )
    return {
        Path(each).name if isinstance(each, (str, Path)) else f"table {i + 1}": read_public(each)
        for i, each in enumerate(given)
    }


def _measurements(
    name: str, table: Mapping[str, Array], schema: Schema, *, laplace: bool
) -> list[Measurement]:
    """Return a marginal's counts, those with the same standard error together."""
    clique = tuple(column for column in table if column not in (COUNT, ERROR))
    _check(name, table, clique, schema)
    codes = [_codes(schema[column], table[column], name) for column in clique]
    shape = schema.domain.shape(clique)
    cells = np.ravel_multi_index(codes, shape) if clique else np.zeros(len(table[COUNT]), np.int64)
    counts, errors = (np.asarray(table[each], dtype=np.float64) for each in (COUNT, ERROR))
    sound = np.isfinite(counts).all() and np.isfinite(errors).all() and (errors > 0).all()
    if not sound or len(np.unique(cells)) < len(cells):
        raise UsageError(
            f"{name}: counts must be numbers, standard errors above 0, and every cell there once"
        )
    found = []
    for error in np.unique(errors):
        here = errors == error
        order = np.argsort(cells[here])
        whole = here.all() and len(cells) == math.prod(shape)
        asked = None if whole else Rows(np.arange(here.sum() + 1), cells[here][order])
        scale = float(error) / (math.sqrt(2) if laplace else 1.0)
        values = counts[here][order]
        found.append(Measurement(clique=clique, values=values, scale=scale, rows=asked))
    return found


def _check(name: str, table: Mapping[str, Array], clique: Sequence[str], schema: Schema) -> None:
    unknown = [column for column in clique if column not in schema.domain]
    if unknown:
        raise UsageError(
            f"{name} has a column that the schema does not model",
            got=unknown[0],
            allowed=", ".join([*schema.domain, COUNT, ERROR]),
            hint=nearest(unknown[0], [*schema.domain, COUNT, ERROR]),
        )
    missing = [column for column in (COUNT, ERROR) if column not in table]
    if missing:
        raise UsageError(f"{name} lacks a column", got=f"no {missing[0]}", allowed=missing[0])


def _codes(column: Column, values: Array, name: str) -> Array:
    """Read values or labels: first as labels, since a bin is one."""
    labels = {label: code for code, label in enumerate(column.labels())}
    texts = [str(value) for value in np.asarray(values, dtype=object).tolist()]
    if all(text in labels for text in texts):
        return np.array([labels[text] for text in texts], dtype=np.int64)
    codes = column.encode(np.asarray(values)).astype(np.int64)
    if (codes < 0).any():
        raise UsageError(f"{name}: a value of {column.name} is none that the schema declares")
    return codes
