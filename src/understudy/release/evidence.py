"""Evidence on disk: all noisy answers, in the form that the program reads.

``measurements.parquet``, beside it, is for people; this file also has the cells of each sum and
the merged codes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.door import Measurement, Rows
from understudy.errors import MalformedFileError, QuestionError
from understudy.graph.storage import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

FORMAT = "understudy-evidence-1"


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """Arrays by name, without duplicates."""

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    _names: dict[bytes, str] = field(default_factory=dict)

    def name(self, array: NDArray[Any]) -> str:
        """Keep an array, unless it is kept already, and return its name."""
        name = self._names.setdefault(array.tobytes(), str(len(self.arrays)))
        self.arrays[name] = array
        return name


def save_evidence(
    path: Path, measurements: Sequence[Measurement], merged: Mapping[str, Ints]
) -> None:
    """Write measurements, and each code's number in the model, to a new file."""
    kept = _Kept()
    told = [
        {
            "clique": m.clique,
            "scale": m.scale,
            "counted": m.counted,
            "group": m.group,
            "values": kept.name(m.values),
            "rows": None if m.rows is None else [kept.name(m.rows.starts), kept.name(m.rows.cells)],
            "weights": None if m.weights is None else kept.name(m.weights),
            "merged": {name: kept.name(codes) for name, codes in m.merged.items()},
            "left": None if m.left is None else kept.name(m.left),
            "bias": m.bias,
            "unsure": None if m.unsure is None else kept.name(m.unsure),
        }
        for m in measurements
    ]
    model = {name: kept.name(codes) for name, codes in merged.items()}
    header = np.array(json.dumps({"format": FORMAT, "measurements": told, "merged": model}))
    with path.open("wb") as file:
        np.savez_compressed(file, header=header, **kept.arrays)  # type: ignore[arg-type]


def load_evidence(path: Path) -> tuple[tuple[Measurement, ...], dict[str, Ints]]:
    """Read measurements, and each code's number in the model; raise if the file is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            header = json.loads(str(held["header"]))
            if header["format"] != FORMAT:
                raise ValueError(header["format"])
            measurements = tuple(_measurement(told, held) for told in header["measurements"])
            return measurements, {n: held[k] for n, k in header["merged"].items()}
    except (*UNREADABLE, QuestionError):
        failed = MalformedFileError(
            f"{path} is not a release's evidence file, or is damaged", hint="save the release again"
        )
    raise failed


def _measurement(told: Mapping[str, Any], held: Mapping[str, NDArray[Any]]) -> Measurement:
    # Releases of earlier versions do not say what bounding left.
    rows, weights, left, unsure = (
        told["rows"],
        told["weights"],
        told.get("left"),
        told.get("unsure"),
    )
    return Measurement(
        clique=tuple(told["clique"]),
        values=held[told["values"]],
        scale=float(told["scale"]),
        rows=None if rows is None else Rows(*(held[name] for name in rows)),
        weights=None if weights is None else held[weights],
        group=told["group"],
        counted=told["counted"],
        merged={name: held[kept] for name, kept in told["merged"].items()},
        left=None if left is None else held[left],
        bias=float(told.get("bias", 0.0)),
        unsure=None if unsure is None else held[unsure],
    )
