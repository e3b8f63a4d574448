"""Archetypes through the whole house: what a person moves, what is asked, what comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import understudy as us
from tests.audit.effort import tried
from tests.public.whole import Made
from tests.session.sameness import same
from tests.vault.obvious import Obvious
from tests.vault.worlds import KEY
from understudy.audit import FixedEntropy
from understudy.audit.tape import Tape
from understudy.budget import Bounding, Budget, Currency, Gaussian, Norm, Sample, Weights
from understudy.door import UnitMode
from understudy.engine import DuckDB
from understudy.errors import BudgetError, QuestionError, UnderstudyError, UsageError
from understudy.ledger import Ledger, State
from understudy.public import PublicTable, Shapes
from understudy.schema import Categorical, Id, Integer, Schema
from understudy.synth import mechanism_from_dict, mechanism_to_dict
from understudy.synth.archetypes import Archetypes
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault.counts import exact

FIRMS = ("red", "blue", "green", "pink")


def schema_of(outside: Any = "other") -> Schema:
    sizes = {"area": 6, "hour": 6, "paid": 3, "fare": 5}
    whole = (Integer(name=n, min=0, max=s - 1, missing=False) for n, s in sizes.items())
    firm = Categorical(name="firm", values=FIRMS, missing=False, outside=outside)
    return Schema("trips", (Id(name="taxi"), firm, *whole))


SCHEMA = schema_of()
NAMES = tuple(SCHEMA.domain)
UNIT = us.Unit("taxi")
FEATURES = ("area", "hour")
MOST = 10
CAPPED = Weights(MOST)
PURE, GAUSSIAN = Budget(epsilon=2.0, delta=0.0), Budget(epsilon=2.0, delta=1e-6)
VAST, VAST_GAUSSIAN = Budget(epsilon=1e4, delta=0.0), Budget(epsilon=1e4, delta=1e-6)
KINDS = Archetypes(features=FEATURES, kinds=2, attribute="firm")
PLAIN = Archetypes(features=FEATURES, kinds=2, attribute="firm", marginals=())
PUBLISHED = Archetypes(features=FEATURES, kinds=2, attribute="firm", published=True)
BOTH_NOISES = pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=[Currency.PURE, "gaussian"])


def trips(
    seed: int, *, late: float, people: int = 60, firms: int = 4, skew: bool = False
) -> dict[str, Any]:
    """Taxis of the day, and of the night at the other end of town; the rest follows from these."""
    rng = np.random.default_rng(seed)
    night = rng.random(people) < late
    each = 2 + np.minimum(rng.geometric(0.3, people), MOST - 2)
    whose = np.repeat(np.arange(people), each)
    rows = len(whose)
    hour = rng.integers(3, size=rows)
    if skew:
        hour = np.minimum(hour, rng.integers(3, size=rows))
    area = np.where(night[whose], 4, 0) + rng.integers(2, size=rows)
    hour = np.where(night[whose], 5 - hour, hour)
    own = np.minimum(rng.integers(firms, size=people), rng.integers(firms, size=people))
    return {
        "taxi": 7000 + whose,
        "firm": np.array([*FIRMS, "rogue"], dtype=object)[own[whose]],
        "area": area,
        "hour": hour,
        "paid": area // 2,
        "fare": (area + hour) // 2 % 5,
    }


# Most private taxis drive by night, most public ones by day; only private ones are rogues.
PRIVATE, PUBLIC = trips(1, late=0.85, skew=True, firms=5), trips(2, late=0.25)
PEOPLE = 60


def session(tmp_path: Path, **other: Any) -> us.Session:
    asked: dict[str, Any] = {
        "private": PRIVATE,
        "public": PUBLIC,
        "schema": SCHEMA,
        "unit": UNIT,
        "bounding": Weights(MOST),
        "budget": GAUSSIAN,
        "ledger": tmp_path / "trips.ledger",
    }
    return us.open(i_know=True, **asked | other)


def read(tmp_path: Path) -> State:
    with closing(Ledger(tmp_path / "trips.ledger")) as ledger:
        return ledger.state()


def asked_of(tmp_path: Path) -> list[str]:
    return [r.what for r in read(tmp_path).runs[1].reservations]


def told(release: us.Release) -> dict[str, Any]:
    details: dict[str, Any] = release.manifest["mechanism"]
    return details


def public_table(data: dict[str, Any] = PUBLIC, unit: us.Unit = UNIT) -> PublicTable:
    return PublicTable.read(data, schema=SCHEMA, unit=unit)


def nights(table: dict[str, Any], name: str = "taxi") -> NDArray[np.bool_]:
    """Who drives by night, most of the time."""
    whose = np.unique(table[name], return_inverse=True)[1]
    late = np.bincount(whose, np.asarray(table["area"], dtype=int) >= 3) / np.bincount(whose)
    return np.asarray(late > 0.5)


def pair(table: dict[str, Any]) -> NDArray[np.float64]:
    cells = 6 * np.asarray(table["area"], dtype=int) + np.asarray(table["hour"], dtype=int)
    return np.bincount(cells, minlength=36) / len(cells)


def firms_of(release: us.Release) -> dict[int, set[str]]:
    own: dict[int, set[str]] = {}
    for who, firm in zip(release.columns["taxi"], release.columns["firm"], strict=True):
        own.setdefault(int(who), set()).add(str(firm))
    return own


def check_values(release: us.Release) -> None:
    """All values are the schema's, and what is not asked about comes from public rows."""
    columns = release.columns
    for name, size in (("area", 6), ("hour", 6), ("paid", 3), ("fare", 5)):
        assert set(np.unique(columns[name])) <= set(range(size))
    assert set(columns["firm"]) <= {*FIRMS, "(other)"}
    rest = ("area", "hour", "paid", "fare")
    there = set(zip(*(PUBLIC[n].tolist() for n in rest), strict=True))
    assert set(zip(*(columns[n].tolist() for n in rest), strict=True)) <= there


@contextmanager
def door_onto(
    private: dict[str, Any], budget: Budget, bounding: Bounding = CAPPED
) -> Iterator[PrivateDoor]:
    """A door whose noise is the same every time."""
    with closing(DuckDB()) as engine:
        table = PrivateTable(engine, private, schema=SCHEMA, unit=UNIT, key=KEY)
        yield PrivateDoor(table, run=Tape(budget), bounding=bounding, entropy=FixedEntropy(1))


def made(
    mechanism: Archetypes, door: Any, public: PublicTable | None = None, seed: int = 0
) -> Made:
    rng = np.random.default_rng(seed)
    known = public_table() if public is None else public
    return Made.of(mechanism.run(door, public=known, rng=rng, progress=lambda *_: None))


def answering(kinds: list[float], values: list[float], budget: Budget = GAUSSIAN) -> Any:
    """A door that gives just these counts."""
    answers = iter((kinds, values))
    return SimpleNamespace(
        schema=SCHEMA,
        unit=UNIT,
        bounding=Weights(MOST),
        budget=budget,
        currency=budget.currency,
        grains=budget.grains,
        unit_mode=lambda *_, **__: np.array(next(answers)),
        close=lambda: None,
    )


def one_each(release: Made) -> NDArray[np.int32]:
    """The attribute of every synthetic person, of whom each has one."""
    assert release.people is not None
    pairs = set(zip(release.people.tolist(), release.codes["firm"].tolist(), strict=True))
    assert len(pairs) == release.people.max() + 1 == len(np.unique(release.people))
    return np.array([firm for _, firm in sorted(pairs)])


# What a person moves

TOWN = Shapes.of(public_table(), FEATURES, 4)
OTHERS: list[tuple[str, tuple[Any, ...]]] = [
    ("ann", ("red", 0, 0)),
    ("ann", ("red", 5, 5)),
    ("bob", ("rogue", 5, 4)),
    ("eve", ("blue", 1, 1)),
    ("eve", ("pink", 1, 1)),
]


def counts(rows: list[tuple[str, tuple[Any, ...]]], outside: str) -> list[NDArray[np.int64]]:
    """The exact counts that the mechanism asks for, of archetypes and of firms."""
    table = {
        "taxi": np.array([who for who, _ in rows], dtype=object),
        "firm": np.array([row[0] for _, row in rows], dtype=object),
        "area": np.array([row[1] for _, row in rows]),
        "hour": np.array([row[2] for _, row in rows]),
        "paid": np.zeros(len(rows), dtype=int),
        "fare": np.zeros(len(rows), dtype=int),
    }
    with closing(DuckDB()) as engine:
        held = PrivateTable(engine, table, schema=schema_of(outside), unit=UNIT, key=KEY)
        return [
            exact(UnitMode(clique=FEATURES, scale=1.0, labels=TOWN.labels), held),
            exact(UnitMode(clique=("firm",), scale=1.0), held),
        ]


def cell_of(label: int) -> tuple[int, int]:
    cell = int(np.flatnonzero(TOWN.labels == label)[0])
    return cell // 6, cell % 6


TIED = [("red", *cell_of(label)) for label in np.unique(TOWN.labels)]


@pytest.mark.parametrize("outside", ["other", "drop"])
@pytest.mark.parametrize(
    "rows",
    [
        [("red", 0, 0)],
        [("rogue", 3, 3)],
        TIED * 3,
        [(firm, 2, 2) for firm in FIRMS],
        [(firm, 2, 2) for firm in (*FIRMS, "rogue", "other rogue")] * 2,
        [("rogue", 0, 0), ("other rogue", 0, 0), ("red", 5, 5)],
        [("red", 1, 1)] * 200 + [("rogue", 5, 5)] * 199,
    ],
    ids=["one row", "unknown", "tied", "tied firms", "tied unknown", "two unknown", "many rows"],
)
def test_a_person_moves_each_histogram_by_one_in_one_cell(
    rows: list[tuple[Any, ...]], outside: str
) -> None:
    before = counts(OTHERS, outside)
    after = counts([*OTHERS, *(("taxi", row) for row in rows)], outside)
    kept = outside == "other" or any(row[0] in FIRMS for row in rows)
    for few, many in zip(before, after, strict=True):
        assert few.shape == many.shape
        assert sorted((many - few).tolist()) == [0] * (len(few) - 1) + [int(kept)]
    # Of unknown firms there is at most one count, which everyone shares.
    assert len(after[1]) == 4 + (outside == "other")


def test_a_tie_goes_to_the_label_whose_hash_comes_first() -> None:
    names = [f"taxi {i}" for i in range(12)]
    found = counts([(name, row) for name in names for row in TIED], "other")[0]
    hashed = Obvious({}, {}, KEY).hashed
    labels = np.unique(TOWN.labels).tolist()
    wanted = Counter(min((hashed(name, str(k)), k) for k in labels)[1] for name in names)
    assert len(wanted) > 1
    assert found.tolist() == [wanted[k] for k in range(4)]


any_row = st.tuples(st.sampled_from((*FIRMS, "rogue", "x")), st.integers(0, 5), st.integers(0, 5))


@given(st.lists(any_row, min_size=1, max_size=12), st.sampled_from(["other", "drop"]))
@tried(25)
def test_whoever_comes_or_goes_moves_one_count_at_most(
    rows: list[tuple[Any, ...]], outside: str
) -> None:
    before = counts(OTHERS, outside)
    after = counts([("new", row) for row in rows] + OTHERS, outside)
    for few, many in zip(before, after, strict=True):
        moved = many - few
        assert np.abs(moved).sum() <= 1
        assert moved.min() >= 0


# End to end


@BOTH_NOISES
@pytest.mark.parametrize("mechanism", [KINDS, PLAIN], ids=["marginals", "plain"])
def test_a_run_spends_its_budget_and_people_have_a_firm_each(
    tmp_path: Path, mechanism: Archetypes, budget: Budget
) -> None:
    release = session(tmp_path, budget=budget).run(mechanism)
    (run,) = read(tmp_path).runs.values()
    assert run.closed
    assert (1 - 1e-6) * run.cap <= run.spent <= run.cap
    people = ["people by most common area × hour", "people by most common firm"]
    assert asked_of(tmp_path) == [*people, *(["1 marginals"] if mechanism is KINDS else [])]
    assert told(release)["weighed"] == (mechanism is KINDS)
    check_values(release)
    assert all(len(own) == 1 for own in firms_of(release).values())
    assert (told(release)["archetypes"], told(release)["features"]) == (2, list(FEATURES))


@pytest.mark.parametrize(
    ("bounding", "budget"),
    [
        (Weights(MOST), VAST),
        (Sample(MOST), VAST),
        (Weights(MOST), VAST_GAUSSIAN),
        (Sample(MOST), VAST_GAUSSIAN),
        (Norm(), VAST_GAUSSIAN),
    ],
    ids=["weights, pure", "sample, pure", "weights", "sample", "norm"],
)
def test_with_a_great_budget_rows_are_weighed_and_people_follow_the_private_counts(
    tmp_path: Path, bounding: Bounding, budget: Budget
) -> None:
    release = session(tmp_path, budget=budget, bounding=bounding).run(KINDS)
    assert told(release)["weighed"]
    (run,) = read(tmp_path).runs.values()
    assert (1 - 1e-6) * run.cap <= run.spent <= run.cap
    rows = ["number of rows"] if isinstance(bounding, Norm) else []
    assert asked_of(tmp_path)[2:] == [*rows, "1 marginals"]
    check_values(release)
    own = firms_of(release)
    assert len(own) == pytest.approx(PEOPLE, abs=8)
    assert len(release) == pytest.approx(len(PRIVATE["taxi"]), rel=0.2)
    # 50 private taxis drive by night, and 15 public ones.
    assert nights(release.columns).sum() == pytest.approx(nights(PRIVATE).sum(), abs=8)
    assert nights(PRIVATE).sum() > 25 + nights(PUBLIC).sum()
    wanted = Counter(dict(zip(PRIVATE["taxi"], PRIVATE["firm"], strict=True)).values())
    wanted["(other)"] = wanted.pop("rogue")
    found = Counter(firm for (firm,) in own.values())
    assert all(abs(found[firm] - wanted[firm]) <= 7 for firm in wanted | found)


@pytest.mark.parametrize("bounding", [Weights(MOST), Sample(MOST), Norm()])
def test_marginals_bring_the_pairs_nearer_to_the_private_ones(bounding: Bounding) -> None:
    far = {}
    for mechanism in (KINDS, PLAIN):
        with door_onto(PRIVATE, VAST_GAUSSIAN, bounding) as door:
            release = made(mechanism, door)
        assert release.details["weighed"] == (mechanism is KINDS)
        far[mechanism] = 0.5 * np.abs(pair(release.codes) - pair(PRIVATE)).sum()
    assert far[KINDS] < 0.6 * far[PLAIN]
    assert far[KINDS] < 0.12


def test_marginals_that_would_be_mostly_noise_are_not_asked_for(tmp_path: Path) -> None:
    for epsilon, weighed in ((0.02, False), (50.0, True)):
        place = tmp_path / str(epsilon)
        release = session(place, budget=Budget(epsilon=epsilon, delta=1e-6)).run(KINDS)
        assert told(release)["weighed"] == weighed
        assert len(asked_of(place)) == 2 + weighed
        (run,) = read(place).runs.values()
        assert (1 - 1e-6) * run.cap <= run.spent <= run.cap


def test_marginals_are_those_that_are_named() -> None:
    mechanism = Archetypes(features=FEATURES, kinds=2, marginals=(("fare",), ("paid",)))
    with door_onto(PRIVATE, VAST_GAUSSIAN) as door:
        release = made(mechanism, door)
    assert [m.clique for m in release.measurements if m.counted == "rows"] == [("fare",), ("paid",)]


def test_when_every_row_is_a_person_there_are_no_people(tmp_path: Path) -> None:
    held = session(tmp_path, unit=us.Unit.each_row(), bounding=Weights(1), budget=VAST)
    release = held.run(PLAIN)
    assert list(release.columns) == list(NAMES)
    assert len(release) == pytest.approx(len(PRIVATE["taxi"]), rel=0.1)
    late = np.asarray(release.columns["area"], dtype=int) >= 3
    assert late.mean() == pytest.approx((PRIVATE["area"] >= 3).mean(), abs=0.05)


@pytest.mark.parametrize("mechanism", [KINDS, PLAIN, PUBLISHED], ids=["kinds", "plain", "as was"])
def test_resuming_gives_the_same_release(tmp_path: Path, mechanism: Archetypes) -> None:
    held = session(tmp_path, budget=VAST_GAUSSIAN)
    first = held.run(mechanism)
    spent = read(tmp_path).runs[1].spent
    assert same(held.resume(1), first)
    assert read(tmp_path).runs[1].spent == spent


def test_the_rest_of_a_row_follows_what_tells_it_or_else_the_features() -> None:
    """No public row is of a rogue: what is paid is then told by the hour."""
    mechanism = Archetypes(
        features=("hour",), kinds=2, attribute="firm", conditionals=(("paid", ("firm",)),)
    )
    door = answering([30, 30], [20, 0, 0, 0, 40])
    release = made(mechanism, door)
    rogue = release.codes["firm"] == 4
    assert rogue.mean() > 0.4
    there = set(zip(PUBLIC["hour"].tolist(), PUBLIC["paid"].tolist(), strict=True))
    found = zip(release.codes["hour"][rogue], release.codes["paid"][rogue], strict=True)
    assert {(int(hour), int(paid)) for hour, paid in found} <= there
    # What was made before tells what comes after it.
    ordered = Archetypes(
        features=("hour",),
        kinds=2,
        attribute="firm",
        conditionals=(("area", ("hour",)), ("paid", ("area",))),
    )
    release = made(ordered, answering([30, 30], [20, 0, 0, 0, 40]))
    assert release.codes["paid"].tolist() == (release.codes["area"] // 2).tolist()


# How many, and of which kind


@pytest.mark.parametrize("kinds", [[50.0, 10.0], [10.0, 50.0], [60.0, -3.0]])
def test_there_are_as_many_people_of_each_kind_and_firm_as_were_counted(kinds: list[float]) -> None:
    shapes = Shapes.of(public_table(), FEATURES, 2)
    release = made(PLAIN, answering(kinds, [-8.0, 40.0, 0.0, 20.0, 0.0]))
    firms = np.bincount(one_each(release), minlength=5)
    assert firms[[0, 2, 4]].tolist() == [0, 0, 0]
    assert firms[[1, 3]] == pytest.approx([40, 20], abs=4.1)
    assert release.people is not None
    label = shapes.labels[6 * release.codes["area"] + release.codes["hour"]]
    first = np.unique(release.people, return_index=True)[1]
    assert np.bincount(label[first], minlength=2) == pytest.approx(np.maximum(kinds, 0), abs=4.1)


def test_an_attribute_need_not_be_named() -> None:
    with door_onto(PRIVATE, VAST_GAUSSIAN) as door:
        release = made(Archetypes(features=FEATURES, kinds=2, marginals=()), door)
        assert len(door._run.state().reservations) == 1
    assert release.people is not None
    assert release.people.max() + 1 == pytest.approx(PEOPLE, abs=2)
    assert list(release.codes) == list(NAMES)


@pytest.mark.parametrize("attribute", ["firm", None])
def test_without_settings_the_first_columns_make_as_many_archetypes_as_suit(
    attribute: str | None,
) -> None:
    with door_onto(PRIVATE, GAUSSIAN) as door:
        release = made(Archetypes(kinds=None, attribute=attribute, marginals=()), door)
    names = [n for n in NAMES if n != attribute][:3]
    assert release.details["features"] == names
    assert release.details["archetypes"] == Shapes.of(public_table(), tuple(names), None).count


@pytest.mark.parametrize("mechanism", [KINDS, PLAIN, PUBLISHED], ids=["kinds", "plain", "as was"])
def test_a_row_limit_makes_for_fewer_people_of_as_many_rows(mechanism: Archetypes) -> None:
    made_of: dict[int, Made] = {}
    for most in (20_000_000, 100):
        fields = mechanism_to_dict(mechanism)["settings"] | {"most_rows": most}
        limited = mechanism_from_dict({"name": "archetypes", "settings": fields})
        assert isinstance(limited, Archetypes)
        with door_onto(PRIVATE, VAST_GAUSSIAN) as door:
            made_of[most] = made(limited, door)
    few, many = made_of[100], made_of[20_000_000]
    assert few.people is not None
    assert many.people is not None
    assert 60 <= len(few.people) <= 100
    assert len(few.people) / (few.people.max() + 1) == pytest.approx(
        len(many.people) / (many.people.max() + 1), rel=0.25
    )
    assert many.people.max() + 1 == pytest.approx(PEOPLE, abs=5)


def test_nobody_has_more_rows_than_the_cap_and_firms_stay_one_each(tmp_path: Path) -> None:
    mechanism = Archetypes(features=FEATURES, kinds=2, attribute="firm", most_each=3)
    release = session(tmp_path, budget=VAST_GAUSSIAN).run(mechanism)
    assert np.bincount(release.columns["taxi"]).max() == 3
    assert all(len(own) == 1 for own in firms_of(release).values())


@pytest.mark.parametrize("budget", [PURE, Budget(epsilon=0.01, delta=1e-9)])
def test_an_empty_table_or_all_noise_gives_a_table_all_the_same(
    tmp_path: Path, budget: Budget
) -> None:
    empty = {name: column[:0] for name, column in PRIVATE.items()}
    release = session(tmp_path, private=empty, budget=budget).run(KINDS)
    assert set(release.columns) == {"taxi", *NAMES}
    check_values(release)


# Privacy: what is asked, and when


@pytest.mark.parametrize("mechanism", [PLAIN, PUBLISHED], ids=["plain", "as was"])
def test_what_is_asked_is_the_same_whoever_is_in_the_private_table(mechanism: Archetypes) -> None:
    plans = set()
    for private in (PRIVATE, trips(9, late=0.0, people=3)):
        with door_onto(private, GAUSSIAN) as door:
            made(mechanism, door)
            plans.add(tuple((r.plan, r.grains) for r in door._run.state().reservations))
    (plan,) = plans
    assert len(plan) == 2


@pytest.mark.parametrize("mechanism", [KINDS, PLAIN, PUBLISHED], ids=["kinds", "plain", "as was"])
def test_all_that_comes_out_follows_from_the_answers_and_public_data(
    mechanism: Archetypes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A door onto three other people that gives the same answers makes the same release."""
    with door_onto(PRIVATE, GAUSSIAN) as door:
        first = made(mechanism, door)
    people = iter([m.values for m in first.measurements if m.counted != "rows"])
    rows = tuple(m for m in first.measurements if m.counted == "rows")
    assert len(rows) == (mechanism is KINDS)
    with door_onto(trips(9, late=0.0, people=3), GAUSSIAN) as other:
        monkeypatch.setattr(other, "unit_mode", lambda *_, **__: next(people))
        monkeypatch.setattr(other, "measure", lambda *_, **__: rows)
        second = made(mechanism, other)
    for name in NAMES:
        assert np.array_equal(first.codes[name], second.codes[name])
    assert first.people is not None
    assert second.people is not None
    assert first.people.tolist() == second.people.tolist()


def test_the_table_is_let_go_before_the_answers_are_worked_on() -> None:
    seen: list[tuple[str, bool]] = []
    with door_onto(PRIVATE, GAUSSIAN) as door:
        PLAIN.run(
            door,
            public=public_table(),
            rng=np.random.default_rng(0),
            progress=lambda stage, done: seen.append((stage, door._closed)),
        )
    assert seen == [
        ("finding archetypes", False),
        ("counting people", False),
        ("choosing people", True),
        ("drawing rows", True),
    ]


# As the document does


@pytest.mark.parametrize(
    ("epsilon", "sigmas"), [(1.0, ["51.23", "5.194"]), (10.0, ["5.123", "4.674"])]
)
def test_published_has_the_documents_noise(
    tmp_path: Path, epsilon: float, sigmas: list[str]
) -> None:
    budget = Budget(epsilon=epsilon, delta=2.5e-5)
    release = session(tmp_path, budget=budget).run(PUBLISHED)
    run = read(tmp_path).runs[1]
    found = []
    for reserved in run.reservations:
        (event,) = reserved.charge.events
        assert isinstance(event, Gaussian)
        assert event.squared_sensitivity == 1
        found.append(f"{event.sigma:.4g}")
    assert found == sigmas
    assert run.spent <= run.cap
    check_values(release)


def test_published_takes_the_noisy_number_of_each_kind_and_a_firm_for_every_row() -> None:
    shapes = Shapes.of(public_table(), FEATURES, 2)
    release = made(PUBLISHED, answering([80.0, -3.0], [50.0, -20.0, 0.0, 10.0, -1.0]))
    assert release.people is not None
    sizes = np.bincount(release.people)
    assert sizes.tolist() == [shapes.rows[0] // shapes.people[0]] * 80
    # Rows are those of the archetype's public people, each drawn by itself.
    cells = release.codes["area"] * 6 + release.codes["hour"]
    assert np.all(shapes.joint[0][cells] > 0)
    # max(0, ·) as weights, row by row.
    drawn = np.bincount(release.codes["firm"], minlength=5) / len(release.people)
    assert drawn == pytest.approx([5 / 6, 0, 0, 1 / 6, 0], abs=0.07)
    assert drawn[[1, 2, 4]].max() == 0
    several = len(set(zip(release.people.tolist(), release.codes["firm"].tolist(), strict=True)))
    assert several > 1.3 * 80


# What is refused, before anything is spent


@pytest.mark.parametrize(
    ("mechanism", "other", "refusal"),
    [
        ({}, {"public": None}, UsageError("archetypes needs a public table", got="none")),
        (
            {},
            {"public": {n: c for n, c in PUBLIC.items() if n != "taxi"}},
            UsageError(
                "the public table does not show what kinds of people there are",
                got="a table without the unit's columns",
            ),
        ),
        (
            {"kinds": 61},
            {},
            UsageError(
                "there are more archetypes than public people", got=61, allowed="at most 60"
            ),
        ),
        (
            {"features": ("area", "week")},
            {},
            QuestionError(
                "settings name columns that the schema does not model",
                got="week",
                allowed=", ".join(NAMES),
            ),
        ),
        (
            {"conditionals": (("paid", ("a",)), ("b", ())), "marginals": (("c", "area"),)},
            {},
            QuestionError(
                "settings name columns that the schema does not model",
                got="a, b, c",
                allowed=", ".join(NAMES),
            ),
        ),
        (
            {"attribute": "company"},
            {},
            QuestionError(
                "settings name columns that the schema does not model",
                got="company",
                allowed=", ".join(NAMES),
            ),
        ),
        (
            {"features": ("firm", "area")},
            {},
            UsageError("the attribute cannot be a feature", got="firm"),
        ),
        (
            {"published": True},
            {"budget": PURE},
            UsageError(
                "published = True needs an attribute and Gaussian noise, as in the document"
            ),
        ),
        (
            {"published": True, "attribute": None},
            {},
            UsageError(
                "published = True needs an attribute and Gaussian noise, as in the document"
            ),
        ),
    ],
    ids=[
        "alone",
        "no ids",
        "kinds",
        "features",
        "the rest",
        "firm",
        "both",
        Currency.PURE,
        "no firm",
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(
    tmp_path: Path, mechanism: dict[str, Any], other: dict[str, Any], refusal: UnderstudyError
) -> None:
    asked: dict[str, Any] = {"features": FEATURES, "kinds": 2, "attribute": "firm"}
    held = session(tmp_path, **other)
    with pytest.raises(type(refusal)) as caught:
        held.run(Archetypes(**asked | mechanism))
    found = caught.value
    assert (found.what, found.got, found.allowed) == (refusal.what, refusal.got, refusal.allowed)
    state = read(tmp_path)
    assert state.left == state.total
    assert all(run.spent == 0 and not run.reservations for run in state.runs.values())


@pytest.mark.parametrize(
    "mechanism",
    [
        {"marginals": (("area", "area"),)},
        {"conditionals": (("fare", ("paid",)), ("paid", FEATURES))},
    ],
    ids=["a column twice", "a column not there yet"],
)
def test_cliques_and_orders_that_cannot_be_cost_nothing(
    tmp_path: Path, mechanism: dict[str, Any]
) -> None:
    asked: dict[str, Any] = {"features": FEATURES, "kinds": 2, "attribute": "firm"}
    with pytest.raises((QuestionError, UsageError)):
        session(tmp_path).run(Archetypes(**asked | mechanism))
    assert read(tmp_path).left == read(tmp_path).total


def test_marginals_of_any_sizes_are_asked_cell_by_cell(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"features": FEATURES, "kinds": 2, "attribute": "firm"}
    wide = (("fare",), ("area",), ("area", "fare"))
    budget = us.Budget(epsilon=200.0, delta=1e-6)
    release = session(tmp_path, budget=budget).run(Archetypes(**asked, marginals=wide))
    assert release.manifest["mechanism"]["weighed"]
    told = [m for m in release.measurements if m.counted == "rows"]
    assert [m.clique for m in told] == sorted(wide, key=len)
    assert all(m.rows is None for m in told)


@pytest.mark.parametrize(
    ("settings_", "error"),
    [
        ({"kinds": 0}, UsageError),
        ({"most_rows": 0}, UsageError),
        ({"most_each": 0}, UsageError),
        ({"marginals_share": 0.0}, BudgetError),
        ({"marginals_share": 1.0}, BudgetError),
        ({"marginals_share": 0.99}, BudgetError),
        ({"kinds_share": 1.0}, BudgetError),
        ({"rows_share": 0.0}, BudgetError),
    ],
    ids=str,
)
def test_settings_that_are_none(settings_: dict[str, Any], error: type[UnderstudyError]) -> None:
    with pytest.raises(error):
        Archetypes(**settings_)


def test_settings_survive_being_written_down() -> None:
    mechanism = Archetypes(
        features=FEATURES,
        kinds=None,
        attribute="firm",
        conditionals=(("paid", ("area",)), ("fare", FEATURES)),
        marginals=(("area", "hour"),),
        most_each=9,
    )
    written = mechanism_to_dict(mechanism)
    assert mechanism_from_dict(written) == mechanism
    lists: dict[str, Any] = {"conditionals": [["paid", ["area"]]], "marginals": [["area", "hour"]]}
    assert mechanism_from_dict({"name": "archetypes", "settings": lists}) == Archetypes(
        conditionals=(("paid", ("area",)),), marginals=(("area", "hour"),)
    )


# Archetypes that were saved


def test_saved_archetypes_take_the_place_of_those_found(tmp_path: Path) -> None:
    folder = Shapes.of(public_table(), FEATURES, 2).save(tmp_path / "saved")
    found = []
    for shapes in (None, str(folder)):
        mechanism = Archetypes(features=FEATURES, kinds=2, attribute="firm", shapes=shapes)
        with door_onto(PRIVATE, GAUSSIAN) as door:
            found.append(made(mechanism, door))
    for name in NAMES:
        assert np.array_equal(found[0].codes[name], found[1].codes[name])


def test_saved_archetypes_of_other_features_are_refused(tmp_path: Path) -> None:
    folder = Shapes.of(public_table(), ("area", "fare"), 2).save(tmp_path / "saved")
    mechanism = Archetypes(features=FEATURES, kinds=2, shapes=str(folder))
    with door_onto(PRIVATE, GAUSSIAN) as door, pytest.raises(UsageError, match="other features"):
        made(mechanism, door)
