"""MST and AIM of smartnoise-synth, as shipped, with the domain declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from _peers.job import Job, Took, answer, asked, read, timed
from snsynth.aim import AIMSynthesizer  # type: ignore[import-not-found]
from snsynth.mst import MSTSynthesizer  # type: ignore[import-not-found]
from snsynth.transform import LabelTransformer, TableTransformer  # type: ignore[import-not-found]

SYNTHESIZERS = {"mst": MSTSynthesizer, "aim": AIMSynthesizer}


def declared(sizes: dict[str, int]) -> Any:
    """Fit its transformer to a table that lists every code, in the place of private rows."""
    listed = np.arange(max(sizes.values()))
    public = pd.DataFrame({name: listed % size for name, size in sizes.items()})
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in sizes])
    transformer.fit(public)
    return transformer


def run(job: Job) -> Took:
    """Fit a synthesizer; the transformer costs nothing, so it has the whole budget.

    It takes the true number of rows for public, both to fit and to draw as many.
    """
    codes, sizes = read(job.table)
    rows = pd.DataFrame(codes)
    np.random.seed(job.seed)  # noqa: NPY002  this is what it draws from

    def fit() -> Any:
        synthesizer = SYNTHESIZERS[job.mechanism](epsilon=job.epsilon, delta=job.delta)
        synthesizer.fit(rows, transformer=declared(sizes))
        return synthesizer

    def sample(synthesizer: Any) -> dict[str, Any]:
        drawn = synthesizer.sample(len(rows))
        return {name: drawn[name].to_numpy() for name in sizes}

    return timed(fit, sample, job)


if __name__ == "__main__":
    answer(run(asked()))
