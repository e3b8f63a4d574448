"""Tables that Spark reads, as codes and as weighted counts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import understudy as us
from tests.engine.tables import KEY
from understudy.door import Measure, Query
from understudy.engine import engine_for
from understudy.vault import PrivateTable
from understudy.vault.counts import exact


def codes(data: object, declared: us.Schema, unit: us.Unit) -> list[tuple[Any, ...]]:
    """Give all of a table's rows as codes, with their person's id, in an order of their own."""
    with closing(engine_for(data)) as engine:
        read = PrivateTable(engine, data, schema=declared, unit=unit, key=KEY)
        listed = ", ".join(read.code.values())
        found = engine.fetch(f"SELECT id, {listed} FROM ({read.named('SELECT * FROM rows')}) AS r")
        return sorted(zip(*(column.tolist() for column in found.values()), strict=True))


def all_columns(declared: us.Schema) -> Measure:
    queries = tuple(Query(clique=(name,), scale=2.0) for name in declared.domain)
    return Measure(queries=queries, bounding=us.Norm(), price=1.0)


def weighed(data: object, declared: us.Schema) -> list[int]:
    """Count all columns with people weighed by the question."""
    question = all_columns(declared)
    with closing(engine_for(data)) as engine:
        read = PrivateTable(engine, data, schema=declared, unit=us.Unit("id"), key=KEY)
        return [int(n) for n in exact(question, read)]


def opened(data: object, declared: us.Schema) -> None:
    with closing(engine_for(data)) as engine:
        PrivateTable(engine, data, schema=declared, unit=us.Unit("id"), key=KEY)


def failing(spark: Any, path: Path) -> dict[str, Any]:
    """Make tables that fail with a canary in the words of their failure."""
    from pyspark.sql.functions import udf

    def fail(cell: str) -> str:
        raise ValueError(cell)

    frame = spark.read.parquet(str(path))
    return {
        "function": frame.withColumn("amount", udf(fail, useArrow=False)("colour")),
        "cast": frame.withColumn("amount", frame["colour"].cast("int")),
        "query": frame.selectExpr("* EXCEPT (count)", "CAST(colour AS DATE) AS count"),
        "raised": frame.withColumn("amount", _raised(frame)),
    }


def _raised(frame: Any) -> Any:
    from pyspark.sql.functions import raise_error

    return raise_error(frame["colour"])
