"""MST and AIM of dpmm, as shipped, with the domain declared and no step before the mechanism."""

from __future__ import annotations

from typing import Any

import pandas as pd
from _peers.job import Job, Took, answer, asked, read, timed
from dpmm.pipelines import AIMPipeline, MSTPipeline  # type: ignore[import-not-found]

PIPELINES = {"mst": MSTPipeline, "aim": AIMPipeline}
MODEL_MEGABYTES = {"mst": None, "aim": 80}
"""The pipeline lifts AIM's own limit of 80 MB; here it is again."""


def run(job: Job) -> Took:
    """Fit a pipeline that bins nothing, so that the mechanism has the whole budget."""
    codes, sizes = read(job.table)
    rows = pd.DataFrame(codes)

    def fit() -> Any:
        pipeline = PIPELINES[job.mechanism](
            epsilon=job.epsilon,
            delta=job.delta,
            max_model_size=MODEL_MEGABYTES[job.mechanism],
            disable_processing=True,
        )
        pipeline.fit(rows, domain=sizes, random_state=job.seed)
        return pipeline

    def sample(pipeline: Any) -> dict[str, Any]:
        # It must be told how many rows to draw, so it gets the true number for nothing.
        drawn = pipeline.generate(n_records=len(rows), random_state=job.seed)
        return {name: drawn[name].to_numpy() for name in sizes}

    return timed(fit, sample, job)


if __name__ == "__main__":
    answer(run(asked()))
