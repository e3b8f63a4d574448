"""A source in another order each time it is read, and weights joined by place, as once was done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa

from understudy.door import Measure
from understudy.engine.spark.workers import work_by_person
from understudy.vault import PrivateTable, counts, norm
from understudy.vault.marginals import marginals


def unstable(frame: Any) -> Any:
    """Give the same rows, those of a part in another order each time they are worked out."""

    def shuffled(batches: Iterator[Any]) -> Iterator[Any]:
        held = list(batches)
        if held:
            rows = pa.Table.from_batches(held)
            order = np.random.default_rng().permutation(len(rows))
            yield from rows.take(order).combine_chunks().to_batches()

    return frame.mapInArrow(shuffled, frame.schema)


def after_weighing(then: Callable[[], None]) -> None:
    """Have something done once, between the weighing of rows and their counting."""
    real, asker = norm.normed, cast("Any", counts)

    def normed(question: Measure, table: PrivateTable) -> str:
        asker.normed = real
        name = real(question, table)
        then()
        return name

    asker.normed = normed


def weigh_by_place(question: Measure, table: PrivateTable) -> None:
    """Weigh rows, and join the weights by a number that is worked out from a row's place."""
    engine: Any = table.engine
    work: list[Any] = []
    engine.weigh = lambda _, weigh_rows, **__: work.append(partial(norm._weigh, *weigh_rows.args))
    try:
        norm.normed(question, table)
    finally:
        del engine.weigh
    listed = ", ".join(table.code.values())
    engine.view("placed", f"SELECT monotonically_increasing_id() AS person, {listed} FROM rows")
    rows = engine._session.table("placed").repartition("person").sortWithinPartitions("person")
    weighed = partial(work_by_person, work[0], norm.PART)
    engine._keep("by_place", rows.mapInArrow(weighed, "person bigint, w bigint"))
    engine.view("joined", f"SELECT {listed}, w FROM placed JOIN by_place USING (person)")


def counted_by_place(question: Measure, table: PrivateTable) -> list[int]:
    """Count rows with the weights that were joined to them."""
    found = dict(marginals(table, [q.clique for q in question.queries], "joined"))
    return [
        int(n)
        for q in question.queries
        for n in (q.rows.sums(found[q.clique]) if q.rows else found[q.clique])
    ]
