"""A run that is asked for: codes in a file in, synthetic codes in a file and seconds out.

Every peer's own Python imports this, so it leans on NumPy and the standard library alone.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Codes = NDArray[np.int64]
Model = TypeVar("Model")

SIZES = " sizes"
"""Where a file keeps the columns' sizes; no column has a blank before its name."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one run is asked: a mechanism, a table, a budget."""

    mechanism: str
    table: str
    """The file of codes."""
    epsilon: float
    delta: float
    seed: int
    """For what can be seeded; exact noise cannot."""
    out: str
    """The file for the synthetic codes."""

    def text(self) -> str:
        """Write the job as one argument of a command line."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, kw_only=True)
class Took:
    """What one run took: seconds to fit and to draw rows, and GB at its peak."""

    fit: float
    sample: float
    peak: float


def asked() -> Job:
    """Read the job from the command line."""
    return Job(**json.loads(sys.argv[1]))


def read(path: str) -> tuple[dict[str, Codes], dict[str, int]]:
    """Read a table's codes, and its sizes in the order of its columns."""
    with np.load(path) as held:
        sizes: dict[str, int] = json.loads(str(held[SIZES]))
        return {name: held[name].astype(np.int64) for name in sizes}, sizes


def write(path: str, codes: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> None:
    """Write a table's codes and sizes."""
    columns: dict[str, Any] = {name: codes[name].astype(np.int32) for name in sizes}
    columns[SIZES] = np.array(json.dumps(dict(sizes)))
    np.savez(path, **columns)


def peak() -> float:
    """Give the most memory this process has held, in GB.

    A process begins at the peak of the one that started it, which must therefore stay small.
    """
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def timed(
    fit: Callable[[], Model], sample: Callable[[Model], Mapping[str, NDArray[Any]]], job: Job
) -> Took:
    """Fit and draw rows, by the clock; write the rows."""
    begun = time.perf_counter()
    model = fit()
    fitted = time.perf_counter()
    codes = sample(model)
    took = Took(fit=fitted - begun, sample=time.perf_counter() - fitted, peak=peak())
    write(job.out, codes, read(job.table)[1])
    return took


def answer(took: Took) -> None:
    """Say what a run took, as the last line of its output."""
    print(json.dumps(asdict(took)))
