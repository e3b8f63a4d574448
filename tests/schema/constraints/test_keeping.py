"""Constraints are kept: random sets of them, against all rows that there can be."""

from __future__ import annotations

from contextlib import closing
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.schema.constraints.worlds import COLUMNS, FREE, broken, constraints, every_row
from understudy.budget import Unit
from understudy.engine import CodedTable, engine_for
from understudy.errors import SchemaError
from understudy.schema import Array, Codes, Integer, Numeric, Schema, Timestamp
from understudy.schema.constraints import Constraint, Keeper, Never, Order, Relation, solving
from understudy.schema.constraints.solving import conflict

SEEDS = st.integers(0, 2**32)


def declared(said: tuple[Constraint, ...]) -> Schema | None:
    """The schema with constraints, None if it is refused because they conflict."""
    try:
        return Schema("small", COLUMNS, constraints=said)
    except SchemaError as error:
        if "circle" in error.what or "together" in error.what:
            return None
        raise


def some(schema: Schema, rows: int, rng: np.random.Generator) -> dict[str, Codes]:
    return {n: rng.integers(0, size, rows).astype(np.int32) for n, size in schema.domain.items()}


def values(schema: Schema, codes: dict[str, Codes], rng: np.random.Generator) -> dict[str, Array]:
    """Values of allowed codes, as a release has them."""
    keeper, everything = schema.keeper, schema.unconstrained.modelled
    found = {c.name: c.decode(codes[c.name], rng) for c in everything if not keeper.is_sum(c.name)}
    keeper.finish(found, codes, rng)
    return found


@tried(30)
@given(constraints())
def test_a_schema_is_refused_exactly_where_no_row_obeys(said: tuple[Constraint, ...]) -> None:
    schema = declared(said)
    if schema is None:
        return
    rows = every_row(schema)
    obeying = ~np.logical_or.reduce([r.broken(rows) for r in schema.keeper.relations])
    assert obeying.any()


@tried(30)
@given(constraints())
def test_what_conflicts_is_named_and_nothing_too_much(said: tuple[Constraint, ...]) -> None:
    relations = []
    for constraint in said:
        try:
            relations += Keeper(COLUMNS, [constraint]).declared
        except SchemaError:
            assume(False)
    rows = every_row(FREE)

    def possible(names: set[str]) -> bool:
        told = [r.broken(rows) for r in relations if r.name in names]
        return not told or bool((~np.logical_or.reduce(told)).any())

    named = set(conflict(relations))
    everything = {r.name for r in relations}
    assert possible(everything) == (not named)
    if named:
        assert not possible(named)
        assert all(possible(named - {name}) for name in named)


@tried(30)
@given(constraints(), SEEDS)
def test_every_row_obeys_and_those_that_did_are_as_they_were(
    said: tuple[Constraint, ...], seed: int
) -> None:
    schema, rng = declared(said), np.random.default_rng(seed)
    assume(schema is not None)
    assert schema is not None
    codes = some(schema, 200, rng)
    before = np.logical_or.reduce([r.broken(codes) for r in schema.keeper.relations])
    kept = schema.keeper.kept(codes, rng)
    assert not any(r.broken(kept).any() for r in schema.keeper.relations)
    exchanged = any(isinstance(constraint, Order) for constraint in said)
    for name, was in codes.items():
        assert exchanged or np.array_equal(was[~before], kept[name][~before])
        assert kept[name].min() >= 0
        assert kept[name].max() < schema.domain[name]
    rows = values(schema, kept, rng)
    assert set(broken(schema, rows).values()) <= {0}
    for column in schema.modelled:
        assert np.array_equal(column.encode(rows[column.name]), kept[column.name]), column.name


@tried(15)
@given(constraints(), SEEDS)
def test_what_is_fixed_stays_where_it_can_be_completed(
    said: tuple[Constraint, ...], seed: int
) -> None:
    schema, rng = declared(said), np.random.default_rng(seed)
    assume(schema is not None)
    assert schema is not None
    own = schema.keeper.own({n: c for n, c in some(schema, 50, rng).items() if n in "ab"}, rng)
    codes = some(schema, 50, rng) | own
    kept = schema.keeper.kept(codes, rng, fixed=("a", "b"))
    assert not any(r.broken(kept).any() for r in schema.keeper.relations)
    assert all(np.array_equal(kept[name], own[name]) for name in ("a", "b"))


@tried(15)
@given(constraints(), SEEDS)
def test_private_rows_that_break_one_are_dropped_or_moved(
    said: tuple[Constraint, ...], seed: int
) -> None:
    schema, rng = declared(said), np.random.default_rng(seed)
    assume(schema is not None)
    assert schema is not None
    codes = some(FREE, 60, rng)
    table = {c.name: c.decode(codes[c.name], rng) for c in FREE.modelled}
    table["d"] = table["d"].astype(np.int64)
    with closing(engine_for(table)) as engine:
        found = CodedTable(engine, table, schema=schema, unit=Unit.each_row(), numbers=True)
        rows = engine.fetch("SELECT * FROM rows")
    got = {name: rows[code] for name, code in found.code.items()}
    assert not any(r.broken(got).any() for r in schema.keeper.declared)
    broke = np.logical_or.reduce([r.broken(codes) for r in schema.keeper.declared])
    if not any(r.moves for r in schema.keeper.declared):
        assert len(rows["c0"]) == (~broke).sum()
    whole = np.sort(_keys({n: c[~broke] for n, c in codes.items()}, schema))
    assert np.isin(whole, _keys(got, schema)).all(), "rows that break nothing are as they were"


def _keys(codes: dict[str, Array], schema: Schema) -> Array:
    return np.ravel_multi_index(
        [codes[n].astype(np.int64) for n in schema.domain], tuple(schema.domain.values())
    )


def test_relations_that_would_be_searched_forever_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight people have seven chairs, and no two of them the same one."""
    monkeypatch.setattr(solving, "MOST_STEPS", 500)
    chairs = np.arange(7)
    relations = [
        Relation(f"{a} and {b}", (a, b), (chairs, chairs), ~np.eye(7, dtype=bool))
        for a, b in combinations("abcdefgh", 2)
    ]
    with pytest.raises(SchemaError, match="too entangled"):
        solving.Solver.of(relations).nearest({}, {})
    assert solving.Solver.of(relations[:3]).nearest({}, {}) is not None


def test_the_likeliest_outcome_is_drawn() -> None:
    columns = (
        Integer(name="a", min=0, max=1, missing=False),
        Integer(name="b", min=0, max=2, missing=False),
    )
    schema = Schema("t", columns, constraints=(Never({"a": 1, "b": 0}),))
    rng = np.random.default_rng(0)
    a = np.repeat([0, 1, 1, 1], [3000, 6000, 3000, 4000]).astype(np.int32)
    b = np.repeat([0, 1, 2, 0], [3000, 6000, 3000, 4000]).astype(np.int32)
    kept = schema.keeper.kept({"a": a, "b": b}, rng)
    counts = {
        (x, y): int(((kept["a"] == x) & (kept["b"] == y)).sum()) for x in (0, 1) for y in (0, 1, 2)
    }
    # 4,000 rows that cannot be go to (0, 0), (1, 1) and (1, 2) as 3 : 6 : 3.
    assert counts[0, 1] == counts[0, 2] == counts[1, 0] == 0
    assert abs(counts[0, 0] - 4000) < 150
    assert abs(counts[1, 1] - 8000) < 150


def test_numbers_within_bins_are_in_order_and_stay_in_their_bins() -> None:
    columns = tuple(
        Numeric(name=n, edges=(0.0, 10.0, 20.0), whole=n == "b", missing=False) for n in "abc"
    )
    schema = Schema("t", columns, constraints=(Order("a", "b"), Order("b", "c", name="bc")))
    rng = np.random.default_rng(0)
    codes = schema.keeper.kept(some(schema, 5000, rng), rng)
    rows = values(schema, codes, rng)
    assert (rows["a"] <= rows["b"]).all()
    assert (rows["b"] <= rows["c"]).all()
    for column in columns:
        assert np.array_equal(column.encode(rows[column.name]), codes[column.name])


MOMENTS = (
    Timestamp(name="start", min="2020-01-10", max="2020-03-20"),
    Timestamp(name="end", min="2020-01-10", max="2020-03-25", resolution="minute"),
    Timestamp(name="paid", min="2020-01-01", max="2020-04-25", resolution="day"),
    Timestamp(name="born", min="1980-01-01", max="2020-02-15", resolution="day", of="person"),
    Timestamp(name="died", min="2020-01-05", max="2020-12-31", resolution="day", of="person"),
)
IN_TIME = Schema(
    "trips",
    MOMENTS,
    constraints=(
        Order("born", "start", "end", "died", name="within a life"),
        Order("end", "paid", name="paid in the end"),
    ),
)


def moments(codes: dict[str, Codes], rng: np.random.Generator) -> dict[str, Array]:
    return {c.name: c.joined(codes, lambda p, k: p.decode(k, rng), rng) for c in MOMENTS}


@tried(20)
@given(SEEDS, st.booleans())
def test_moments_are_in_order_whatever_is_fixed(seed: int, fixed: bool) -> None:
    rng = np.random.default_rng(seed)
    own = ("born_month", "born_weekday", "died_month", "died_weekday") if fixed else ()
    codes = some(IN_TIME, 300, rng)
    codes |= IN_TIME.keeper.own({name: codes[name] for name in own}, rng)
    codes = IN_TIME.keeper.kept(codes, rng, fixed=own)
    rows = moments(codes, rng)
    before = {name: rows[name].copy() for name in ("born", "died")}
    IN_TIME.keeper.finish(rows, codes, rng, fixed=own)
    found = IN_TIME.keeper.broken(codes, rows)
    if fixed:
        for name, was in before.items():
            np.testing.assert_array_equal(rows[name], was)
        # Who died before they were born, on a day of the same month, cannot be helped here.
        sound = ~(before["born"] > before["died"])
        assert not any((mask & sound).any() for mask in found.values())
    else:
        assert not any(mask.any() for mask in found.values())


def test_an_end_in_the_same_hour_is_minutes_after_its_start() -> None:
    rng = np.random.default_rng(0)
    codes = some(IN_TIME, 2000, rng)
    codes |= {f"{n}_month": np.ones(2000, dtype=np.int32) for n in ("start", "end")}
    codes |= {f"{n}_weekday": np.full(2000, 3, dtype=np.int32) for n in ("start", "end")}
    codes |= {f"{n}_hour": np.full(2000, 13, dtype=np.int32) for n in ("start", "end")}
    rows = moments(codes, rng)
    IN_TIME.keeper.finish(rows, codes, rng)
    took = (rows["end"] - rows["start"])[~np.isnat(rows["start"])]
    assert (took < np.timedelta64(1, "h")).mean() > 0.9
