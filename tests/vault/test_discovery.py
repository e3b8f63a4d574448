"""Discovery: what people's values weigh, what is told of them, and that nothing else is."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import effort, few, tried
from tests.vault.texts import (
    KEY,
    SCHEMA,
    Held,
    People,
    held,
    opened,
    searches,
    slowly,
    weighed,
    weights_of,
    worlds,
)
from understudy.audit import FixedEntropy
from understudy.budget import (
    GRAIN,
    Budget,
    Currency,
    Norm,
    ResolvedUnit,
    Unit,
    failure_upper,
    threshold_upper,
)
from understudy.door import Derived, Discover, Found, Query, Search, View, ViewDoor, plan
from understudy.engine import CodedTable, DuckDB
from understudy.errors import (
    BudgetError,
    BudgetExhaustedError,
    EngineError,
    LedgerMismatchError,
    MissingColumnError,
    QuestionError,
    SchemaError,
    UnderstudyError,
)
from understudy.ledger import Ledger, Run
from understudy.noise import SYSTEM, draw
from understudy.schema import Id, Integer, Schema, Text
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault.discovery import present, thresholds, told
from understudy.vault.sensitivity import charge

RICH = Budget(epsilon=1e6, delta=0.999, failure=0.99)
CROWD: People = {
    **{f"p{i}": [("common", "x"), ("usual", "x")] for i in range(60)},
    **{f"q{i}": [("usual", "y"), (None, "y")] for i in range(40)},
    "lone": [(f"secret {i}", "nowhere") for i in range(9)],
}


def found_by(people: People, search: Search, **more: Any) -> Found:
    """Ask one search of a door in memory."""
    with door_onto(people, **more) as door:
        (found,) = door.discover([search])
    return found


@contextmanager
def door_onto(
    people: People,
    *,
    path: Path | None = None,
    budget: Budget = RICH,
    entropy: Any = SYSTEM,
    unit: Unit | None = None,
) -> Iterator[PrivateDoor]:
    """Open a door onto people, with a ledger of its own, or a run of one that is there."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "l.ledger" if path is None else path
        new = not place.exists()
        ledger = Ledger.create(place, budget=budget, key=KEY) if new else Ledger(place)
        with closing(ledger), opened(people, unit=unit) as table:
            if new:
                ledger.bind(name="texts", unit=ResolvedUnit.of("id"))
            run = ledger.begin(budget, {}) if new else ledger.reopen()
            yield PrivateDoor(table, run=run, bounding=Norm(), entropy=entropy)


def search_of(column: str = "code", **other: Any) -> Search:
    asked: dict[str, Any] = {"column": column, "most": 4, "scale": 1.0, "threshold": 20.0}
    return Search(**asked | other)


# Weights


@given(worlds, searches)
@tried(60, usual=6)
def test_the_engine_weighs_what_the_obvious_version_does(people: People, search: Search) -> None:
    with opened(people) as table:
        assert weighed(table, search) == slowly(people, search)


@given(worlds, held, searches)
@tried(40, usual=6)
def test_one_person_more_adds_their_own_weights_and_moves_nobody_elses(
    people: People, newcomer: Held, search: Search
) -> None:
    with opened(people) as before, opened({**people, "newcomer": newcomer}) as after:
        here, there = weighed(before, search), weighed(after, search)
    moved = {v: there[v] - here.get(v, 0) for v in there if there[v] != here.get(v, 0)}
    assert set(here) <= set(there)
    assert moved == weights_of("newcomer", newcomer, search)
    # In exact integers: Σ w² ≤ 1, which is what 1/σ is charged for.
    assert sum(w**2 for w in moved.values()) <= 2**32
    spent = Fraction(sum(w**2 for w in moved.values()), 2**32) / Fraction(search.scale) ** 2
    cost = charge(Discover(searches=(search,)), SCHEMA, Currency.GDP).grains(Currency.GDP)
    assert spent <= cost * GRAIN
    assert len(moved) <= search.most


coded = st.lists(
    st.tuples(st.from_regex(r"\A[EI]1[01][.]?[0-9]?\Z"), st.none()), min_size=1, max_size=8
)


@given(
    st.dictionaries(st.sampled_from("pqrs"), coded, max_size=4),
    coded,
    st.sampled_from([(3,), (3, 1), (4, 3, 1)]),
    st.sets(st.sampled_from(["E", "E11", "E10.1", "I10", "I"]), max_size=3),
    st.integers(1, 4),
)
@tried(40, usual=6)
def test_one_person_more_brings_prefixes_of_their_own_values_and_moves_nobody_elses(
    people: People, newcomer: Held, prefixes: tuple[int, ...], known: set[str], most: int
) -> None:
    search = search_of(prefixes=prefixes, known=tuple(sorted(known)), most=most)
    with opened(people) as before, opened({**people, "newcomer": newcomer}) as after:
        here, there = weighed(before, search), weighed(after, search)
    moved = {v: there[v] - here.get(v, 0) for v in there if there[v] != here.get(v, 0)}
    assert set(here) <= set(there)
    assert moved == weights_of("newcomer", newcomer, search)
    assert not known & set(there)
    assert all(len(value) <= prefixes[-1] for value in there)
    # In exact integers, as for values themselves: what is charged does not depend on prefixes.
    assert sum(w**2 for w in moved.values()) <= 2**32
    assert len(moved) <= most
    whole = replace(search, prefixes=())
    costs = [charge(Discover(searches=(s,)), SCHEMA, Currency.GDP) for s in (search, whole)]
    assert costs[0] == costs[1]


def test_prefixes_are_those_of_values_that_are_not_known_by_any() -> None:
    people: People = {
        "p": [("E11.8", None), ("E11.7", None), ("E10", None), ("E78.0", None), ("I10", None)],
        "q": [("E11.8", None), ("NAB", None), ("2.01", None), ("E11.8x", None)],
    }
    half = math.isqrt(2**31)
    with opened(people) as table:
        by_three = weighed(table, search_of(prefixes=(3,), known=("I10", "E78.0")))
        assert by_three == {
            "E11": half + math.isqrt(2**32 // 3),
            "E10": half,
            "NAB": math.isqrt(2**32 // 3),
            "2": math.isqrt(2**32 // 3),
        }
        by_one = weighed(table, search_of(prefixes=(3, 1), known=("I10", "E11", "E10", "2")))
        assert by_one == {"E": 2**16, "N": 2**16}
        # What a prefix means must be a value: a person's NAB is not brought as NA.
        assert weighed(table, search_of(prefixes=(2,), known=("E1", "E7", "I1", "2."))) == {}
    with opened(people, unit=Unit.each_row()) as table:
        assert weighed(table, search_of(most=1, prefixes=(3,)))["E11"] == 4 * 2**16


def test_a_person_with_more_values_than_count_weighs_no_more() -> None:
    rows = [(f"v{i}", None) for i in range(50)]
    for most in (1, 3, 50):
        found = slowly({"p": rows}, search_of(most=most))
        with opened({"p": rows}) as table:
            assert weighed(table, search_of(most=most)) == found
        assert len(found) == most
        assert 0.99 < sum(w**2 for w in found.values()) / 2**32 <= 1


def test_rows_with_the_same_value_count_once() -> None:
    people: People = {"p": [("a", None)] * 7 + [("b", None)] * 2, "q": [("a", None), (" a", None)]}
    with opened(people) as table:
        found = weighed(table, search_of())
    assert found == {"a": math.isqrt(2**31) + 2**16, "b": math.isqrt(2**31)}


def test_no_name_of_a_column_does_harm() -> None:
    """Names are arbitrary texts too: they are in the hash, and in the SQL."""
    name = """a{b} "c" 'd' {0} %s"""
    schema = Schema("t", (Id(name="id"), Text(name=name, nulls=("?", "7.0"))))
    data = {"id": np.arange(4) % 2, name: np.array(["x", "?", "7", "x"], dtype=object)}
    with closing(DuckDB()) as engine:
        table = PrivateTable(engine, data, schema=schema, unit=Unit("id"), key=KEY)
        assert weighed(table, search_of(name)) == {"x": 2**17}


def test_where_each_row_is_a_person_each_weighs_one() -> None:
    with opened(CROWD, unit=Unit.each_row()) as table:
        assert weighed(table, search_of(most=1))["usual"] == 100 * 2**16


def test_known_values_leave_their_weight_to_others() -> None:
    with opened(CROWD) as table:
        assert weighed(table, search_of())["common"] == 60 * math.isqrt(2**31)
        known = weighed(table, search_of(known=("usual", "not there")))
    assert known["common"] == 60 * 2**16
    assert "usual" not in known


# What is told


def test_values_that_many_have_are_told_in_the_order_of_their_texts() -> None:
    with door_onto(CROWD) as door:
        code, place = door.discover([search_of(), search_of("place", most=1)])
    assert (code.column, code.values) == ("code", ("common", "usual"))
    true = [60 / math.sqrt(2), 60 / math.sqrt(2) + 40]
    assert np.abs(code.weights - true).max() < 8
    assert place.values == ("x", "y")
    assert np.abs(place.weights - [60, 40]).max() < 8


def test_weights_have_the_samplers_own_noise_in_the_order_of_keyed_hashes() -> None:
    search = search_of(scale=7.3, threshold=6.0)
    found = found_by(CROWD, search, entropy=FixedEntropy(3))
    (event,) = thresholds(Discover(searches=(search,)))
    with opened(CROWD) as table:
        (there,) = present(Discover(searches=(search,)), table)
        rows = table.engine.fetch(f"SELECT value, name FROM {there.relation}")
    value = dict(zip(rows["name"].tolist(), rows["value"].tolist(), strict=True))
    exact = slowly(CROWD, search)
    noise = draw("gaussian", 7.3 * event.steps, len(value), entropy=FixedEntropy(3))
    noisy = {
        value[name]: exact[value[name]] * (event.steps // 2**16) + int(drawn)
        for name, drawn in zip(sorted(value), noise, strict=True)
    }
    expected = sorted((v, n) for v, n in noisy.items() if n >= event.least)
    # Noise alone decides of the values that one person has, and here it lets one of them pass.
    assert any(v.startswith("secret") for v, _ in expected)
    assert [v for v, _ in expected] == list(found.values)
    assert [n / event.steps for _, n in expected] == found.weights.tolist()


def test_the_order_of_rows_and_people_decides_nothing() -> None:
    search = search_of(scale=40.0, threshold=1.0)
    shuffled: People = {p: list(reversed(CROWD[p])) for p in sorted(CROWD, reverse=True)}
    here, there = (found_by(p, search, entropy=FixedEntropy(3)) for p in (CROWD, shuffled))
    assert here.values == there.values
    assert here.weights.tolist() == there.weights.tolist()


def test_of_values_below_the_threshold_nothing_is_stored(tmp_path: Path) -> None:
    """Neither they, nor their number, nor that there are any."""
    answers = []
    worlds: dict[str, People] = {"lone": {"p": CROWD["lone"]}, "none": {"p": [(None, None)]}}
    for name, people in worlds.items():
        path = tmp_path / f"{name}.ledger"
        with door_onto(people, path=path) as door:
            (found,) = door.discover([search_of(threshold=60.0)])
        assert found.values == ()
        assert found.weights.tolist() == []
        with closing(Ledger(path)) as ledger:
            answers.append(ledger.state().runs[1].answers[0])
        assert b"secret" not in path.read_bytes()
    assert answers[0] == answers[1]


def test_values_stay_in_the_engine_unless_they_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes into this process is a hash and a weight each, and the values that are told."""
    seen: list[str] = []
    fetch = DuckDB.fetch

    def watched(self: DuckDB, sql: str) -> Any:
        found = fetch(self, sql)
        seen.append(repr([column.tolist() for column in found.values()]))
        return found

    monkeypatch.setattr(DuckDB, "fetch", watched)
    found = found_by(CROWD, search_of(threshold=30.0))
    assert found.values == ("common", "usual")
    assert "common" in "".join(seen)
    assert "secret" not in "".join(seen)


@pytest.mark.parametrize("most", few((4, 1), usual=1))
def test_values_of_a_lone_person_are_told_as_often_as_is_charged(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst case, at the vault: nobody else has any of the person's values."""
    people: People = {"p": [(f"v{i}", None) for i in range(most)]}
    search = search_of(most=most, scale=3.0, threshold=threshold_upper(0.3, sigma=3.0, most=most))
    question, runs, often = Discover(searches=(search,)), effort(100, 300), 0
    with opened(people) as table:
        # Who is there is looked up once, and let go of never.
        there = present(question, table)
        monkeypatch.setattr(table.engine, "drop", lambda _: None)
        for _ in range(runs):
            often += told(question, there, table, SYSTEM) != b"[[]]"
    (event,) = thresholds(question)
    charged = charge(question, SCHEMA, Currency.GDP).failure * GRAIN
    exact = failure_upper(most=most, sigma=event.sigma, steps=event.steps, least=event.least)
    assert charged == exact * GRAIN
    assert abs(often / runs - float(charged)) < 5 * math.sqrt(0.3 * 0.7 / runs)


ODD_CROWD: People = {
    f"p{i}": [(text, None) for text in ("it's", '"x"', "<b>&amp;", "日本", "a\\n", "[red]", "%s")]
    for i in range(60)
}


def test_odd_texts_are_told_stored_and_replayed_as_they_are(tmp_path: Path) -> None:
    path, search = tmp_path / "l.ledger", search_of(most=9, threshold=5.0)
    with door_onto(ODD_CROWD, path=path) as door:
        (found,) = door.discover([search])
    assert set(found.values) == {text for text, _ in ODD_CROWD["p0"]}
    assert list(found.values) == sorted(found.values)

    def none(count: int) -> bytes:
        raise AssertionError(f"{count} bytes were drawn")

    with door_onto({}, path=path, entropy=none) as door:
        (again,) = door.discover([search])
        assert again.values == found.values
        assert again.weights.tolist() == found.weights.tolist()
        left = door.grains
    with door_onto({}, path=path) as door, pytest.raises(LedgerMismatchError, match="asked before"):
        door.discover([search_of(most=8)])
    assert left < RICH.grains


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([("free text " + str(i), None) for i in range(5)], "all distinct"),
        ([(None, None)], "all null"),
        ([("NA", None), ("", None)], "null words"),
        ([("x" * 201, None)], "too long"),
        ([("a\tb\x00", None), ("a\u202eb", None)], "control characters"),
    ],
)
def test_columns_without_common_values_tell_nothing(rows: Held, what: str) -> None:
    del what
    people: People = {
        f"p{i}": [(t if t is None or "free" not in t else f"{t} {i}", None) for t, _ in rows]
        for i in range(50)
    }
    assert found_by(people, search_of(threshold=10.0)).values == ()


def test_a_column_of_one_value_tells_it() -> None:
    people: People = {f"p{i}": [("only", None)] for i in range(50)}
    assert found_by(people, search_of()).values == ("only",)


def test_nobody_is_told_of_an_empty_table() -> None:
    assert found_by({}, search_of()).values == ()


# What it costs


def test_both_parts_are_charged_column_by_column(tmp_path: Path) -> None:
    asked = [search_of(scale=2.0), search_of("place", most=1, scale=5.0, threshold=40.0)]
    question = Discover(searches=tuple(asked))
    cost = charge(question, SCHEMA, Currency.GDP)
    assert cost.grains(Currency.GDP) == math.ceil(
        (Fraction(1, 4) + Fraction(1) / Fraction(5.0) ** 2) / GRAIN
    )
    alone = [charge(Discover(searches=(s,)), SCHEMA, Currency.GDP).failure for s in asked]
    assert cost.failure == sum(alone)
    with door_onto(CROWD, path=tmp_path / "l") as door:
        door.discover(asked)
        assert door.grains == RICH.grains - cost.grains(Currency.GDP)
    with closing(Ledger(tmp_path / "l")) as ledger:
        run = ledger.reopen().state()
    assert (run.spent, run.failure) == (cost.grains(Currency.GDP), cost.failure)
    assert run.reservations[0].what == "values of code, place"


def refused(people: People, search: Search, budget: Budget, path: Path) -> UnderstudyError:
    with (
        door_onto(people, path=path, budget=budget) as door,
        pytest.raises(UnderstudyError) as error,
    ):
        door.discover([search])
    with closing(Ledger(path)) as ledger:
        assert ledger.reopen().state().reservations == []
    return error.value


def test_what_cannot_be_paid_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    share = Budget(epsilon=5.0, delta=1e-6, failure=1e-7)
    low = refused(CROWD, search_of(threshold=2.0), share, tmp_path / "low")
    assert isinstance(low, BudgetExhaustedError)
    assert "raise the threshold" in str(low)
    none = refused(CROWD, search_of(), Budget(epsilon=5.0, delta=1e-6), tmp_path / "none")
    assert "--failure" in str(none)
    pure = refused(CROWD, search_of(), Budget(epsilon=5.0, delta=0), tmp_path / "pure")
    assert isinstance(pure, BudgetError)
    assert "pure epsilon" in str(pure)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"most": 0}, "number of values of a person must be a positive integer"),
        ({"most": 1001}, "too many values of a person .*at most 1000"),
        ({"most": True}, "must be a positive integer"),
        ({"scale": 0}, "noise scale must be positive"),
        ({"threshold": 0}, "threshold must be positive"),
        ({"threshold": math.inf}, "threshold must be positive"),
        ({"threshold": "9"}, "threshold must be positive"),
        ({"known": ("a", "a")}, "known values must be distinct texts"),
        ({"known": (1,)}, "known values must be distinct texts"),
        ({"prefixes": (1, 3)}, "the longest first"),
        ({"prefixes": (0,)}, "the longest first"),
    ],
)
def test_searches_that_are_none(given: dict[str, Any], match: str) -> None:
    with pytest.raises((BudgetError, QuestionError, SchemaError), match=match):
        search_of(**given)


class Another(Search):
    """A caller's own search, which could say one thing to the charge and another to the count."""


def test_questions_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with door_onto(CROWD, path=tmp_path / "l") as door:
        for asked, match in (
            ([], "at least one column"),
            ([search_of(), search_of()], "none twice"),
            ([search_of("id")], r"does not declare as text .*got id; allowed: code, place"),
            ([search_of("nowhere")], "does not declare as text"),
            ([Another(column="code", most=1, scale=1.0, threshold=9.0)], "own types"),
            ([search_of(scale=1e-9)], "out of range"),
        ):
            with pytest.raises((QuestionError, BudgetError), match=match):
                door.discover(asked)
        door.close()
        with pytest.raises(QuestionError, match="door is closed"):
            door.discover([search_of()])
    with closing(Ledger(tmp_path / "l")) as ledger:
        assert ledger.reopen().state().reservations == []


def test_a_plan_tells_all_that_is_asked_apart() -> None:
    asked = [
        Discover(searches=(s,))
        for s in (
            search_of(),
            search_of("place"),
            search_of(most=3),
            search_of(scale=1.5),
            search_of(threshold=21.0),
            search_of(known=("a",)),
            search_of(known=("b",)),
            search_of(prefixes=(3,)),
            search_of(prefixes=(3, 1)),
        )
    ]
    assert len({plan(q) for q in asked}) == len(asked)
    assert plan(asked[0]) == plan(Discover(searches=(search_of(),)))


# Resuming


def test_a_charge_whose_draw_was_lost_is_asked_under_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "l.ledger"

    def lost(*_: object) -> None:
        raise OSError("the disk is full")

    with door_onto(CROWD, path=path) as door, monkeypatch.context() as patch:
        patch.setattr(Run, "store", lost)
        with pytest.raises(UnderstudyError) as error:
            door.discover([search_of()])
    assert error.value.__context__ is None
    assert "secret" not in str(error.value)
    with closing(Ledger(path)) as ledger:
        before = ledger.reopen().state()
        assert (len(before.reservations), before.answers) == (1, {})
    with door_onto(CROWD, path=path) as door:
        (found,) = door.discover([search_of()])
        assert found.values == ("common", "usual")
    with closing(Ledger(path)) as ledger:
        after = ledger.reopen().state()
        assert after.reservations == before.reservations
        assert list(after.answers) == [0]
        assert json.loads(after.answers[0][1])[0][0][0] == "common"


def test_a_failing_engine_tells_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = DuckDB.load

    def failing(self: DuckDB, name: str, data: Any) -> None:
        if name == "told":
            self.run("SELECT CAST(value AS INTEGER) FROM present_0")
        load(self, name, data)

    monkeypatch.setattr(DuckDB, "load", failing)
    with door_onto(CROWD, path=tmp_path / "l") as door, pytest.raises(EngineError) as error:
        door.discover([search_of()])
    assert "secret" not in str(error.value)
    assert error.value.__context__ is None


# Beside other questions


def test_only_the_vault_reads_columns_of_text() -> None:
    """A public table, or one that is evaluated, need not have them."""
    schema = Schema("t", (Id(name="id"), Integer(name="a", min=0, max=1), Text(name="code")))
    data = {"id": np.arange(3), "a": np.arange(3) % 2}
    with closing(DuckDB()) as engine:
        assert CodedTable(engine, data, schema=schema, unit=Unit("id")).text == {}
    with closing(DuckDB()) as engine, pytest.raises(MissingColumnError, match="no 'code'"):
        PrivateTable(engine, data, schema=schema, unit=Unit("id"), key=KEY)


def test_a_view_asks_the_table_itself() -> None:
    with door_onto(CROWD) as door:
        rows = Derived(name="rows", kind="rows", starts=(1, 2))
        (found,) = ViewDoor(door, View(derived=(rows,), people=True)).discover([search_of()])
    assert found.values == ("common", "usual")


def test_columns_of_text_need_no_other_columns(tmp_path: Path) -> None:
    with door_onto(CROWD, path=tmp_path / "l") as door:
        assert abs(door.units(scale=0.05) - 101) < 1
        assert door.schema.modelled == ()
        with pytest.raises(SchemaError, match="no column that could be modelled"):
            door.measure([Query(clique=("code",), scale=1.0)], price=1.0)


def test_a_text_is_read_as_every_cell_is() -> None:
    """A number and its text are one value, whatever the column's type."""
    engine = DuckDB()
    try:
        data = {"id": np.arange(4), "code": np.array([1.0, 1.0, 2.5, np.nan]), "place": ["x"] * 4}
        table = PrivateTable(engine, data, schema=SCHEMA, unit=Unit("id"), key=KEY)
        assert weighed(table, search_of()) == {"1": 2**17, "2.5": 2**16}
    finally:
        engine.close()
