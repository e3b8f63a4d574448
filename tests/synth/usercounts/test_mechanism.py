"""UserCounts through the whole house: what a resident moves, what is asked, what comes out."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing
from fractions import Fraction
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
from tests.session.sameness import same
from tests.synth.crowds import door_to, random_crowd
from tests.vault.obvious import People
from tests.vault.worlds import KEY, opened
from tests.vault.worlds import SCHEMA as WORLD
from understudy.budget import Budget, Currency, Event, Gaussian, Laplace, ResolvedUnit, Weights
from understudy.door import UnitCounts
from understudy.errors import (
    BudgetExhaustedError,
    MissingColumnError,
    QuestionError,
    UnderstudyError,
    UsageError,
)
from understudy.ledger import Ledger, State
from understudy.public import PublicTable
from understudy.schema import Id, Integer, Schema
from understudy.synth import mechanism_from_dict, mechanism_to_dict
from understudy.synth.usercounts.mechanism import CountsPlan
from understudy.synth.usercounts.posterior import posterior
from understudy.vault import PrivateDoor
from understudy.vault.counts import exact
from understudy.vault.sensitivity import charge

SCHEMA = Schema(
    "calls",
    (
        Id(name="resident"),
        Integer(name="area", min=0, max=2, missing=False),
        Integer(name="year", min=2017, max=2018, missing=False),
        Integer(name="month", min=1, max=6, missing=False),
        Integer(name="kind", min=0, max=3, missing=False),
    ),
)
NAMES = tuple(SCHEMA.domain)
TIME = ("year", "month")
PURE, GAUSSIAN = Budget(epsilon=4.0, delta=0.0), Budget(epsilon=4.0, delta=1e-6)
VAST = Budget(epsilon=1e5, delta=0.0)
UNIT = us.Unit("resident")
EACH = 20
COUNTS = us.UserCounts(time=TIME, neighbours=1)


def calls(seed: int, year: int, people: int = 150) -> dict[str, Any]:
    """Residents of 1 to 20 calls, mostly from home and about the same."""
    rng = np.random.default_rng(seed)
    each = np.minimum(rng.geometric(0.3, people), EACH)
    whose = np.repeat(np.arange(people), each)
    rows = len(whose)
    home, usual = rng.integers(3, size=people)[whose], rng.integers(3, size=people)[whose]
    return {
        "resident": whose,
        "area": np.where(rng.random(rows) < 0.8, home, rng.integers(3, size=rows)),
        "year": np.full(rows, year),
        "month": 1 + np.minimum(rng.integers(6, size=rows), rng.integers(6, size=rows)),
        "kind": np.where(rng.random(rows) < 0.7, usual, rng.integers(4, size=rows)),
    }


# The public year is one that the schema does not even have.
PRIVATE, PUBLIC = calls(1, 2018), calls(2, 2015)
WITHOUT_AND_WITH = pytest.mark.parametrize("public", [None, PUBLIC], ids=["alone", "public data"])
BOTH_NOISES = pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=[Currency.PURE, "gaussian"])
FORMS = pytest.mark.parametrize(
    ("public", "published"),
    [(None, False), (PUBLIC, False), (PUBLIC, True)],
    ids=["alone", "public data", "published"],
)


def session(tmp_path: Path, **other: Any) -> us.Session:
    asked: dict[str, Any] = {
        "private": PRIVATE,
        "schema": SCHEMA,
        "unit": UNIT,
        "bounding": Weights(EACH),
        "budget": PURE,
        "ledger": tmp_path / "calls.ledger",
    }
    return us.open(i_know=True, **asked | other)


def read(tmp_path: Path) -> State:
    with closing(Ledger(tmp_path / "calls.ledger")) as ledger:
        return ledger.state()


def check_spent(tmp_path: Path) -> None:
    """One question was asked, for all of the budget but for rounding."""
    (run,) = read(tmp_path).runs.values()
    assert run.closed
    assert len(run.reservations) == 1
    assert (1 - 1e-9) * run.cap <= run.spent <= run.cap


def histogram(table: dict[str, Any]) -> NDArray[np.int64]:
    """Count the rows of every cell; all of them must be inside the schema."""
    cell = np.zeros(len(table["area"]), dtype=np.int64)
    for name, low, size in (("area", 0, 3), ("year", 2017, 2), ("month", 1, 6), ("kind", 0, 4)):
        code = np.asarray(table[name]) - low
        assert np.all((code >= 0) & (code < size))
        cell = cell * size + code
    return np.bincount(cell, minlength=144)


def noisy_of(release: us.Release) -> NDArray[np.float64]:
    return np.stack([m.values for m in release.measurements], axis=1)


def told(release: us.Release) -> dict[str, Any]:
    details: dict[str, Any] = release.manifest["mechanism"]
    return details


def plan_of(mechanism: us.UserCounts, public: PublicTable | None, budget: Budget) -> CountsPlan:
    schema = SCHEMA if public is None else public.schema
    door: Any = SimpleNamespace(schema=schema, budget=budget, unit=UNIT)
    return mechanism._plan(door, public)


def public_table(data: dict[str, Any] = PUBLIC, unit: us.Unit = UNIT) -> PublicTable:
    return PublicTable.read(data, schema=SCHEMA, unit=unit)


# What a resident moves, and what that costs

OTHERS: People = {"ann": [(0, 0, 0)] * 3, "bob": [(i, 1, 1) for i in range(3)]}
ALL = [(i, j, k) for i in range(3) for j in range(2) for k in range(4)]


def question(*, most: int, upwards: bool = True, times: tuple[int, ...] = (1, 2, 4)) -> UnitCounts:
    return UnitCounts(
        clique=("a", "b", "c"),
        cells=np.arange(24),
        times=times,
        most=most,
        scale=1.0,
        upwards=upwards,
    )


@pytest.mark.parametrize("upwards", [False, True])
@pytest.mark.parametrize("most", [1, 7, 20, 24])
def test_a_resident_with_twenty_calls_in_twenty_cells_moves_what_is_declared(
    most: int, upwards: bool
) -> None:
    asked = question(most=most, upwards=upwards)
    with opened(OTHERS) as before, opened({**OTHERS, "resident": ALL[:20]}) as after:
        moved = exact(asked, after) - exact(asked, before)
    counted = min(most, 20)
    assert sorted(moved.tolist()) == [0] * (72 - counted) + [1] * counted
    # L1 is k, and L2 its root.
    for currency in (Currency.PURE, Currency.GDP):
        (event,) = charge(asked, WORLD, currency).events
        assert bound(event) == (Fraction(most), 1.0)
    assert np.abs(moved).sum() == (moved**2).sum() <= most


@pytest.mark.parametrize("most", [3, 12])
def test_who_came_often_is_in_one_count_a_cell_and_in_no_more_cells(most: int) -> None:
    """One to five calls in each of twenty cells; groups from one, two and four calls."""
    own = [cell for i, cell in enumerate(ALL[:20]) for _ in range(1 + i % 5)]
    with opened({"resident": own}) as table:
        moved = exact(question(most=most), table).reshape(24, 3)
    assert moved.sum() == most
    assert moved.sum(axis=1).max() == 1


def test_which_cells_of_a_resident_count_is_no_matter_of_who_else_is_there() -> None:
    """A crowd in the last cells draws nobody's choice to them, nor away."""
    crowd: People = {f"one {i}": [ALL[23 - i % 4]] for i in range(40)}
    asked = question(most=5)
    moved = []
    for others in ({}, OTHERS, crowd):
        with opened({**others, "nobody": ALL[:1]}) as before:
            without = exact(asked, before)
        with opened({**others, "nobody": ALL[:1], "resident": ALL}) as after:
            moved.append((exact(asked, after) - without).tolist())
    assert moved[0] == moved[1] == moved[2]


@BOTH_NOISES
def test_the_documents_noise_costs_twenty_times_as_much_and_is_refused(
    tmp_path: Path, budget: Budget
) -> None:
    with (
        closing(Ledger.create(tmp_path / "calls.ledger", budget=budget, key=KEY)) as ledger,
        opened(OTHERS) as table,
    ):
        ledger.bind(name="world", unit=ResolvedUnit.of("id"))
        door = PrivateDoor(table, run=ledger.begin(budget, {}), bounding=Weights(1))

        def ask(most: int) -> None:
            scale = (1 + 1e-12) / budget.price
            door.unit_counts(
                ("a", "b", "c"), cells=np.arange(24), times=(1, 2), most=most, scale=scale
            )

        with pytest.raises(BudgetExhaustedError):
            ask(20)
        state = ledger.state().runs[1]
        assert (state.spent, state.reservations, state.answers) == (0, [], {})
        cost = charge(question(most=20), WORLD, budget.currency).grains(budget.currency)
        assert cost == 20 * charge(question(most=1), WORLD, budget.currency).grains(budget.currency)
        # For a person in one cell it is the right one.
        ask(1)
        assert ledger.state().runs[1].spent > 0.999 * budget.grains


def bound(event: Event) -> tuple[Fraction, float]:
    """The L1 bound and the scale of Laplace noise, or the squared L2 bound and Gaussian's."""
    if isinstance(event, Laplace):
        return event.sensitivity, event.scale
    assert isinstance(event, Gaussian)
    return event.squared_sensitivity, event.sigma


@pytest.mark.parametrize(("epsilon", "sigma"), [(1.0, 27.7), (2.0, 14.2), (10.0, 3.18)])
def test_noise_for_twenty_cells_is_twenty_times_as_large_or_its_root(
    epsilon: float, sigma: float
) -> None:
    for delta, scale in ((0.0, 20 / epsilon), (1.2244024187236405e-11, sigma)):
        budget = Budget(epsilon=epsilon, delta=delta)
        with door_to(OTHERS, bounding=Weights(1), budget=budget) as door:
            made = us.UserCounts(most=20).run(
                door, public=None, rng=np.random.default_rng(0), progress=lambda *_: None
            )
            (booked,) = door._run.state().reservations
        (event,) = booked.charge.events
        assert made.details["scale"] == pytest.approx(scale, rel=3e-3)
        assert {m.scale for m in made.measurements} == {made.details["scale"]}
        assert bound(event) == (Fraction(20), made.details["scale"])
        assert booked.grains <= budget.grains


# End to end


def slow_rows(plan: CountsPlan, release: us.Release, currency: Currency) -> NDArray[np.float64]:
    """The rows that a release's measurements lead to expect, before they are rounded."""
    scale, rows = float(told(release)["scale"]), np.zeros(144)
    for group, measured in enumerate(release.measurements):
        if plan.public is None:
            expected = plan.space.guessed(measured.values)
        else:
            noise = scale * (1 if currency == Currency.GDP else np.sqrt(2))
            expected = plan.space.levelled(
                plan.public[plan.cells, group], measured.values, plan.cells, noise
            )
        people = posterior(measured.values, expected, scale=scale, currency=currency)
        rows[plan.cells] += plan.rows_each[group] * people
    return rows


@BOTH_NOISES
@WITHOUT_AND_WITH
def test_a_run_spends_its_budget_and_is_what_follows_from_its_measurements(
    tmp_path: Path, public: Any, budget: Budget
) -> None:
    mechanism = us.UserCounts(time=TIME, most_each=6)
    release = session(tmp_path, public=public, budget=budget).run(mechanism)
    check_spent(tmp_path)
    known = None if public is None else public_table()
    plan = plan_of(mechanism, known, budget)
    rows = slow_rows(plan, release, budget.currency)
    found = histogram(release.columns)
    assert len(release) == found.sum() > 100
    # Whole numbers next to these, so that kinds of an area and month keep their total.
    assert np.abs(found - rows).max() < 1
    assert np.abs((found - rows).reshape(-1, 4).sum(axis=1)).max() < 0.5 + 1e-9
    # People have ids, all of them, and not too many rows.
    sizes = np.bincount(release.columns["resident"])[1:]
    assert 1 <= sizes.min() <= sizes.max() <= 6
    assert told(release)["noise"] == ("laplace" if budget is PURE else "gaussian")
    assert (told(release)["most"], told(release)["cells"]) == (plan.most, len(plan.cells))
    assert all(m.rows is not None for m in release.measurements)
    assert [m.counted for m in release.measurements] == [
        f"people there {t} times or more" for t in plan.groups
    ]


@WITHOUT_AND_WITH
def test_with_a_great_budget_counts_are_those_of_the_table(tmp_path: Path, public: Any) -> None:
    """All times apart, and all cells of everyone."""
    mechanism = us.UserCounts(time=TIME, most=EACH, groups=tuple(range(1, EACH + 1)))
    release = session(tmp_path, public=public, budget=VAST).run(mechanism)
    true, found = histogram(PRIVATE), histogram(release.columns)
    (rows,) = {tuple(m.rows.cells.tolist()) for m in release.measurements if m.rows is not None}
    cells = list(rows)
    assert found[cells].tolist() == true[cells].tolist()
    assert found.sum() == true[cells].sum() > 0.95 * true.sum()
    if public is None:
        assert cells == list(range(144))


@WITHOUT_AND_WITH
def test_without_a_cap_nobody_is_cut(tmp_path: Path, public: Any) -> None:
    release = session(tmp_path, public=public, budget=VAST).run(COUNTS)
    people = release.columns["resident"]
    assert people.min() == 1
    assert len(np.unique(people)) == people.max()
    if public is None:
        # Everyone is in one cell: who else was there is not known.
        cells = np.stack([np.asarray(release.columns[n]) for n in NAMES], axis=1)
        pairs = {(who, *cell) for who, cell in zip(people, map(tuple, cells), strict=True)}
        assert len(pairs) == people.max()
    capped = session(tmp_path / "capped", public=public, budget=VAST).run(
        us.UserCounts(time=TIME, neighbours=1, most_each=2)
    )
    assert np.bincount(people).max() > 2 == np.bincount(capped.columns["resident"]).max()


@WITHOUT_AND_WITH
@BOTH_NOISES
def test_when_every_row_is_a_person_there_are_no_people(
    tmp_path: Path, budget: Budget, public: Any
) -> None:
    held = session(tmp_path, unit=us.Unit.each_row(), public=public, budget=budget)
    release = held.run(us.UserCounts(time=TIME, most_each=3))
    check_spent(tmp_path)
    assert list(release.columns) == list(NAMES)
    assert histogram(release.columns).sum() == len(release) > 0
    if public is not None:
        # A row is in one cell, once; public rows tell that.
        assert told(release)["most"] == 1
        assert len(release) == pytest.approx(len(PRIVATE["area"]), rel=0.25)


def test_an_empty_table_gives_a_table_all_the_same(tmp_path: Path) -> None:
    empty = {name: column[:0] for name, column in PRIVATE.items()}
    for place, public in (("alone", None), ("public", PUBLIC)):
        # Noise alone makes up some fifteen rows: half the table has a chance of about e^-20.
        budget = Budget(epsilon=40.0, delta=0.0)
        held = session(tmp_path / place, private=empty, public=public, budget=budget)
        release = held.run(COUNTS)
        assert set(release.columns) == {"resident", *NAMES}
        assert len(release) < 0.5 * len(PRIVATE["area"])


@FORMS
def test_resuming_gives_the_same_release(tmp_path: Path, public: Any, published: bool) -> None:
    held = session(tmp_path, public=public)
    first = held.run(us.UserCounts(time=TIME, most_each=5, published=published))
    spent = read(tmp_path).runs[1].spent
    assert same(held.resume(1), first)
    assert read(tmp_path).runs[1].spent == spent


def test_settings_survive_being_written_down() -> None:
    mechanism = us.UserCounts(time=TIME, most=3, groups=(1, 3), most_each=9, published=True)
    assert mechanism_from_dict(mechanism_to_dict(mechanism)) == mechanism
    lists: dict[str, Any] = {"time": list(TIME), "groups": [1, 3]}
    given_ = mechanism_from_dict({"name": "usercounts", "settings": lists})
    assert given_ == us.UserCounts(time=TIME, groups=(1, 3))


# Privacy: what is asked, and when


@FORMS
def test_what_is_asked_is_the_same_whoever_is_in_the_private_table(
    tmp_path: Path, public: Any, published: bool
) -> None:
    few = None if public is None else {n: c[:9] for n, c in public.items()}
    mechanism = us.UserCounts(time=TIME, neighbours=1, published=published)
    plans = set()
    for number, private in enumerate((PRIVATE, calls(7, 2017, people=3))):
        place = tmp_path / str(number)
        release = session(place, private=private, public=few).run(mechanism)
        (reserved,) = read(place).runs[1].reservations
        plans.add(reserved.plan)
        details = told(release)
        assert bound(reserved.charge.events[0]) == (details["most"], details["scale"])
        assert noisy_of(release).shape == (details["cells"], len(details["groups"]))
    assert len(plans) == 1


def test_the_table_is_let_go_before_the_answers_are_worked_on() -> None:
    seen: list[tuple[str, bool]] = []
    with door_to(OTHERS, bounding=Weights(1), budget=PURE) as door:
        us.UserCounts().run(
            door,
            public=None,
            rng=np.random.default_rng(0),
            progress=lambda stage, done: seen.append((stage, door._closed)),
        )
    assert seen == [("counting people", False), ("adding up", True), ("drawing rows", True)]


# As the document does


def slow_asked(public: dict[str, Any], neighbours: int) -> dict[tuple[int, ...], set[int]]:
    """The cells to ask about, and the times there: a public person, cell and period at a time."""
    tally: Counter[tuple[int, ...]] = Counter()
    for who, area, month, kind in zip(
        *(public[n].tolist() for n in ("resident", "area", "month", "kind")), strict=True
    ):
        tally[who, area, month - 1, kind] += 1
    asked: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for (_, area, month, kind), times in tally.items():
        for year in range(2):
            for period in range(12):
                if abs(period - (6 * year + month)) <= neighbours:
                    asked[area, period // 6, period % 6, kind].add(times)
    for times_ in asked.values():
        times_ |= {1, 2}
    return asked


@BOTH_NOISES
def test_published_clips_and_rounds_every_count_before_adding_up(
    tmp_path: Path, budget: Budget
) -> None:
    # One of them calls five times about the same.
    few = {n: np.append(c[:40], [c[0]] * 4) for n, c in PUBLIC.items()}
    mechanism = us.UserCounts(time=TIME, neighbours=1, most_each=EACH, published=True)
    release = session(tmp_path, public=few, budget=budget).run(mechanism)
    check_spent(tmp_path)
    asked = slow_asked(few, 1)
    wanted = np.zeros((3, 2, 6, 4), dtype=np.int64)
    for measured in release.measurements:
        times = int(measured.counted.split()[2])
        assert measured.counted == f"people there {times} times"
        assert measured.rows is not None
        for cell, value in zip(measured.rows.cells.tolist(), measured.values, strict=True):
            place = tuple(int(p) for p in np.unravel_index(cell, wanted.shape))
            if times in asked[place]:
                wanted[place] += times * max(0, round(float(value)))
    assert histogram(release.columns).tolist() == wanted.reshape(-1).tolist()
    assert len(wanted[wanted > 0]) > 30
    assert told(release)["groups"][-1] > 4
    # The right noise: for as many cells as a resident may have calls.
    assert told(release)["most"] == EACH
    assert np.bincount(release.columns["resident"]).max() <= EACH


def test_published_counts_those_who_came_just_so_often(tmp_path: Path) -> None:
    mechanism = us.UserCounts(time=TIME, neighbours=9, most=EACH, published=True)
    few = {n: c[:40] for n, c in PUBLIC.items()}
    often = {n: np.repeat(c, 1 + 8 * (np.arange(len(c)) % 2)) for n, c in PRIVATE.items()}
    release = session(tmp_path, private=often, public=few, budget=VAST).run(mechanism)
    own = Counter(zip(*(often[n].tolist() for n in ("resident", *NAMES)), strict=True))
    asked = slow_asked(few, 9)
    wanted = sum(
        times
        for (_, area, year, month, kind), times in own.items()
        if times in asked.get((area, year - 2017, month - 1, kind), ())
    )
    assert len(release) == wanted > 0


# The support


@given(st.integers(0, 2**32), st.integers(1, 25), st.integers(0, 7))
@tried(15)
def test_plausible_cells_and_times_are_those_of_the_slow_way(
    seed: int, people: int, neighbours: int
) -> None:
    data = calls(seed, 2015, people=people)
    public, asked = public_table(data), slow_asked(data, neighbours)
    cells = sorted(int(np.ravel_multi_index(c, (3, 2, 6, 4))) for c in asked)
    found = plan_of(us.UserCounts(time=TIME, neighbours=neighbours), public, PURE)
    assert found.cells.tolist() == cells
    published = us.UserCounts(time=TIME, neighbours=neighbours, published=True)
    plan = plan_of(published, public, PURE)
    assert plan.cells.tolist() == cells
    assert plan.groups == tuple(sorted(set().union(*asked.values())))
    assert plan.asked is not None
    for row, cell in zip(plan.asked, cells, strict=True):
        place = tuple(int(p) for p in np.unravel_index(cell, (3, 2, 6, 4)))
        assert {t for t, there in zip(plan.groups, row, strict=True) if there} == asked[place]
    # As many cells as the busiest public person has, where no cap is given.
    own = zip(*(data[n] for n in ("resident", "area", "month", "kind")), strict=True)
    assert plan.most == max(Counter(who for who, *_ in set(own)).values())


def test_without_time_cells_are_those_of_public_data_alone() -> None:
    public = random_crowd(np.random.default_rng(0), {"a": 5, "b": 6}, 4)
    plan = plan_of(us.UserCounts(neighbours=3), public, PURE)
    assert plan.cells.tolist() == sorted(set(public.cells(("a", "b")).tolist()))


def test_all_cells_are_asked_about_without_public_data() -> None:
    plan = plan_of(us.UserCounts(time=TIME, groups=(1, 2, 5)), None, PURE)
    assert plan.cells.tolist() == list(range(144))
    # A person of two to four times stands for three rows.
    assert (plan.rows_each.tolist(), plan.public, plan.asked) == ([1.0, 3.0, 5.0], None, None)


def test_what_is_given_is_asked() -> None:
    given_ = us.UserCounts(time=TIME, most=7, groups=(1, 4))
    for public in (None, public_table()):
        plan = plan_of(given_, public, GAUSSIAN)
        assert (plan.most, plan.groups) == (7, (1, 4))


# What is refused, before anything is spent


@pytest.mark.parametrize(
    ("settings_", "what", "got", "allowed"),
    [
        (
            {"times": (0, 1)},
            "times must be positive and increasing",
            (0, 1),
            "integers such as 1, 2, 5",
        ),
        (
            {"times": (2, 1)},
            "times must be positive and increasing",
            (2, 1),
            "integers such as 1, 2, 5",
        ),
        (
            {"groups": (1, 1)},
            "groups must be positive and increasing",
            (1, 1),
            "integers such as 1, 2, 5",
        ),
        (
            {"groups": (-3,)},
            "groups must be positive and increasing",
            (-3,),
            "integers such as 1, 2, 5",
        ),
        ({"most": 0}, "most must be at least 1", 0, None),
        ({"most_each": 0}, "most_each must be at least 1", 0, None),
        ({"neighbours": -1}, "neighbours must be at least 0", -1, None),
    ],
)
def test_settings_that_are_none(
    settings_: dict[str, Any], what: str, got: object, allowed: str | None
) -> None:
    with pytest.raises(UsageError) as caught:
        us.UserCounts(**settings_)
    assert (caught.value.what, caught.value.got, caught.value.allowed) == (what, got, allowed)


def wide(*sizes: int) -> Schema:
    columns = [
        Integer(name=n, min=0, max=s - 1, missing=False)
        for n, s in zip(("area", "month", "kind"), sizes, strict=True)
    ]
    return Schema("calls", (Id(name="resident"), *columns))


UNKNOWN = "time names columns that the schema does not model"
TOO_MANY = "the histogram of all columns has too many cells"


@pytest.mark.parametrize(
    ("mechanism", "other", "refusal"),
    [
        (
            {"time": ("year", "week", "day")},
            {"public": PUBLIC},
            QuestionError(UNKNOWN, got="day, week", allowed="area, year, month, kind"),
        ),
        (
            {"time": ("week",)},
            {},
            QuestionError(UNKNOWN, got="week", allowed="area, year, month, kind"),
        ),
        (
            {},
            {"schema": wide(100, 100, 11)},
            QuestionError(
                TOO_MANY, got="110,000", allowed="at most 100,000 without a public table"
            ),
        ),
        (
            {},
            {"schema": wide(500, 500, 50), "public": PUBLIC},
            QuestionError(TOO_MANY, got="12,500,000", allowed="at most 10,000,000"),
        ),
        (
            {"published": True},
            {},
            UsageError("published = True needs a public table, as in the document"),
        ),
        (
            {},
            {"public": {n: c for n, c in PUBLIC.items() if n != "resident"}},
            UsageError(
                "the public table does not show how often people are in a cell",
                got="a table without the unit's columns",
            ),
        ),
    ],
    ids=["time", "time alone", "domain alone", "domain", "published", "no ids"],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(
    tmp_path: Path, mechanism: dict[str, Any], other: dict[str, Any], refusal: UnderstudyError
) -> None:
    held = session(tmp_path, **other)
    with pytest.raises(type(refusal)) as caught:
        held.run(us.UserCounts(**mechanism))
    found = caught.value
    assert (found.what, found.got, found.allowed) == (refusal.what, refusal.got, refusal.allowed)
    state = read(tmp_path)
    assert state.left == state.total
    assert all(run.spent == 0 and not run.reservations for run in state.runs.values())


def test_public_data_with_other_columns_are_refused_before_there_is_a_ledger(
    tmp_path: Path,
) -> None:
    held = session(tmp_path, public={n: c for n, c in PUBLIC.items() if n != "kind"})
    with pytest.raises(MissingColumnError, match="kind"):
        held.run(COUNTS)
    assert not (tmp_path / "calls.ledger").exists()


def test_a_domain_of_just_the_limit_is_asked_about() -> None:
    door: Any = SimpleNamespace(schema=wide(100, 100, 10), budget=PURE, unit=UNIT)
    assert len(us.UserCounts()._plan(door, None).cells) == 100_000


def test_the_charge_is_the_bound_over_the_scale(tmp_path: Path) -> None:
    release = session(tmp_path, public=PUBLIC).run(COUNTS)
    (reserved,) = read(tmp_path).runs[1].reservations
    scale, most = Fraction(told(release)["scale"]), Fraction(told(release)["most"])
    assert 0 <= Fraction(reserved.grains, 2**80) - most / scale < Fraction(1, 2**79)
