"""Models on disk: one npz file, its tables as arrays and the rest as JSON."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from understudy.errors import MalformedFileError, MissingFileError, QuestionError
from understudy.graph.junction import joined
from understudy.graph.kernels import summed
from understudy.graph.model import Model
from understudy.schema.domain import Domain

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "understudy-model-1"
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
    ArithmeticError,
    MemoryError,
    BadZipFile,
    zlib.error,
)
"""The exceptions that reading a file that is not a model can raise."""


def save(model: Model, path: Path) -> None:
    """Write a model to a file, replacing an existing one."""
    tree = model.tree
    header = {"format": FORMAT, "columns": tree.domain.sizes, "cliques": tree.cliques}
    held = {str(i): model.tables[c] for i, c in enumerate(tree.cliques)}
    held["header"] = np.array(json.dumps(header))
    # Written beside it first: a full disk leaves the old file intact.
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb") as file:
            np.savez_compressed(file, **held)  # type: ignore[arg-type]
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def load(path: Path) -> Model:
    """Read a model; raise on any other file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            header = json.loads(str(held["header"]))
            if header["format"] != FORMAT:
                raise ValueError(header["format"])
            sizes = {str(name): int(size) for name, size in header["columns"].items()}
            cliques = [tuple(c) for c in header["cliques"]]
            tables = {c: held[str(i)] for i, c in enumerate(cliques)}
        model = Model(joined(Domain(sizes), cliques), tables)
        _check(model)
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise MissingFileError("the model file cannot be read", got=path) from error
    except (*UNREADABLE, QuestionError) as error:
        raise MalformedFileError(
            f"{path} is not an Understudy model, or is damaged", hint="save the model again"
        ) from error
    return model


def _check(model: Model) -> None:
    """Raise unless the tables are the marginals of one distribution."""
    for clique in model.tree.cliques:
        table = model.tables[clique]
        whole = table.dtype == np.float64 and table.shape == model.tree.domain.shape(clique)
        if not (whole and np.all(table >= 0) and table.sum() < np.inf):
            raise ValueError(clique)
    for edge in model.tree.edges:
        child, parent = (
            summed(model.tables[c], c, edge.separator) for c in (edge.child, edge.parent)
        )
        if not np.allclose(child, parent, rtol=1e-6, atol=1e-6 * model.total):
            raise ValueError(edge)
