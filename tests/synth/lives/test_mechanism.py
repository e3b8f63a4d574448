"""Lives: people who are people, rows that follow one another, and the same promise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import THOROUGH, effort, few
from tests.session.sameness import same
from tests.synth.planted import heavy
from understudy.audit import replay
from understudy.errors import BudgetError, UsageError
from understudy.evaluate import Coded, compare_people, read_private
from understudy.schema import Categorical, Id, Integer, Numeric, Schema
from understudy.synth.lives import histories, raking
from understudy.synth.lives.raking import Raked

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = (
    Id(name="who"),
    Categorical(name="sex", values=("F", "M"), missing=False, of="person"),
    Integer(name="born", min=0, max=9, missing=False, of="person"),
    Integer(name="year", min=0, max=11, missing=False),
    Categorical(name="ward", values=tuple("abcde"), missing=False),
    Integer(name="pain", min=0, max=9, missing=False),
)
CLINIC = Schema("clinic", COLUMNS, order_by=("year",))
LEFT_OUT = set() if THOROUGH else {"born", "pain"}
NARROW = replace(CLINIC, columns=tuple(c for c in COLUMNS if c.name not in LEFT_OUT))
NOTHING_OWN = CLINIC.with_columns(
    Categorical(name="sex", values=("F", "M"), missing=False),
    Integer(name="born", min=0, max=9, missing=False),
)
VAST = us.Budget(epsilon=1e4, delta=1e-6)
USUAL = us.Budget(epsilon=2.0, delta=1e-6)
BOUNDINGS: tuple[us.Norm | us.Weights | us.Sample, ...] = (us.Norm(), us.Weights(4), us.Sample(3))
NOISES = [
    pytest.param(epsilon, bounding, id=f"{bounding.kind}-{epsilon}")
    for i, epsilon in enumerate((0.02, 0.3, 3.0))
    for j, bounding in enumerate(BOUNDINGS)
    if THOROUGH or i == j
]
"""Every epsilon and every bounding; each with each in ``make audit``."""


@cache
def clinic(people: int = 1500, seed: int = 0) -> dict[str, Any]:
    """Patients of a sex and a year of birth, seen at most once a year, who change wards rarely."""
    rng = np.random.default_rng(seed)
    sex, born = rng.integers(0, 2, people), rng.integers(0, 10, people)
    sizes = 1 + rng.binomial(7, 0.2 + 0.05 * born)
    start = (rng.random(people) * (13 - sizes)).astype(int)
    rows: dict[str, list[Any]] = {c.name: [] for c in COLUMNS}
    for i in range(people):
        ward, pain = (2 * sex[i] + rng.integers(0, 3)) % 5, rng.normal(born[i], 1.5)
        for year in range(start[i], start[i] + sizes[i]):
            ward = ward if rng.random() < 0.85 else rng.integers(0, 5)
            pain += rng.normal(0, 0.7)
            row = (f"p{i}", "FM"[sex[i]], born[i], year, "abcde"[ward], int(np.clip(pain, 0, 9)))
            for name, value in zip(rows, row, strict=True):
                rows[name].append(value)
    return {name: np.array(column) for name, column in rows.items()}


def session(tmp_path: Path, **other: Any) -> us.Session:
    given = {
        "private": clinic(),
        "schema": CLINIC,
        "unit": us.Unit("who"),
        "bounding": us.Norm(),
        "budget": VAST,
        "ledger": tmp_path / "clinic.ledger",
    }
    return us.open(i_know=True, **{**given, **other})


def people_of(release: us.Release, schema: Schema) -> Coded:
    codes, _ = schema.released().encode(release.columns)
    _, who = np.unique(np.asarray(release.columns["who"]), return_inverse=True)
    return Coded(
        codes=codes, sizes=schema.domain, people=who, own=schema.own, ordering=schema.ordering
    )


def real(schema: Schema = CLINIC) -> Coded:
    return read_private(clinic(), schema=schema, unit=us.Unit("who"))


@pytest.fixture(scope="module", autouse=True)
def mended_briefly() -> Iterator[None]:
    """Offer rows other codes twice: what is looked at here takes no more of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raking, "SWEEPS", effort(2, 8))
        yield


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    """A release of next to no noise."""
    return session(tmp_path_factory.mktemp("exact")).run(us.Lives())


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[us.Session, us.Release]:
    """A session and its release, of noise as it usually is."""
    private = clinic(effort(150, 1500))
    opened = session(tmp_path_factory.mktemp("usual"), budget=USUAL, private=private)
    return opened, opened.run(us.Lives())


def test_replicates_are_rows_of_nobody_about_as_in_the_release(exact: us.Release) -> None:
    (table,) = exact.replicates(1, seed=3)
    assert list(table.columns) == [c for c in exact.rows.columns if c not in exact.ids]
    assert len(table) == len(exact)
    for name in ("ward", "sex"):
        there, found = (t[name].value_counts(normalize=True) for t in (exact.rows, table))
        np.testing.assert_allclose(found.sort_index(), there.sort_index(), atol=0.05)


def test_each_column_is_drawn_with_its_pairs_with_all_before_it(
    usual: tuple[us.Session, us.Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those before the ward and the pain are the sex, the year of birth, the year, and a ward."""
    pairs = []

    def raked(**given: Any) -> Raked:
        pairs.append((len(given["shape"]), len(given["others"])))
        return Raked(**given)

    monkeypatch.setattr(histories, "Raked", raked)
    opened, _ = usual
    opened.resume(1)
    assert [given + others for given, others in pairs] == [3, 4]
    monkeypatch.setattr(histories, "TRIED_ROWS", 100)
    opened.resume(1)
    assert [others for _, others in pairs[2:]] == [0, 0]


def test_with_little_noise_people_come_out_as_they_are(tmp_path: Path, exact: us.Release) -> None:
    found = compare_people(real(), people_of(exact, CLINIC))
    assert found.constant == 1.0
    assert found.people == pytest.approx(1, abs=0.01)
    assert found.rows_per_person < 0.05
    assert max(found.own.values()) < 0.05
    assert all(each.error < 0.05 for each in found.repeats.values())
    assert found.transitions["ward"] < 0.07
    assert found.gaps is not None
    assert found.gaps < 0.05
    today = session(tmp_path, ledger=tmp_path / "pairs.ledger").run(us.Pairs())
    without = compare_people(real(), people_of(today, CLINIC))
    # What is declared as a person's own is theirs in rows of any mechanism; what they do is not.
    assert without.constant == 1.0
    assert without.repeats["ward"].error > 4 * found.repeats["ward"].error


@pytest.mark.parametrize(("epsilon", "bounding"), NOISES)
def test_whatever_the_noise_people_are_constant_and_in_order(
    tmp_path: Path, epsilon: float, bounding: Any
) -> None:
    budget = us.Budget(epsilon=epsilon, delta=1e-6)
    private = clinic(effort(60, 300))
    release = session(tmp_path, bounding=bounding, budget=budget, private=private).run(us.Lives())
    found = release.columns
    who = np.asarray(found["who"])
    for name in ("sex", "born"):
        pairs = set(zip(who.tolist(), np.asarray(found[name]).tolist(), strict=True))
        assert len(pairs) == len(set(who.tolist()))
    year = np.asarray(found["year"])
    together = who[1:] == who[:-1]
    assert (year[1:] >= year[:-1])[together].all()
    assert together.sum() == len(who) - len(set(who.tolist()))


def test_a_value_within_a_bin_is_one_value_of_a_person(tmp_path: Path) -> None:
    """A weight of a few kilograms more or less, and a day of birth."""
    schema = CLINIC.with_columns(Numeric(name="born", edges=(0, 5, 10), missing=False, of="person"))
    release = session(tmp_path, schema=schema, budget=USUAL, private=clinic(effort(400, 1500))).run(
        us.Lives()
    )
    pairs = set(
        zip(*(np.asarray(release.columns[n]).tolist() for n in ("who", "born")), strict=True)
    )
    assert len(pairs) == len({who for who, _ in pairs}) < len(release)
    assert len({born for _, born in pairs}) > 10
    assert release.people["who"].is_unique
    more = release.sample_columns(people=50)
    pairs = set(zip(*(np.asarray(more[n]).tolist() for n in ("who", "born")), strict=True))
    assert len(pairs) == 50


def test_more_rows_are_those_of_whole_people(usual: tuple[us.Session, us.Release]) -> None:
    _, release = usual
    more = release.sample_columns(2000, where={"sex": "F"})
    assert set(more["sex"].tolist()) == {"F"}
    pairs = set(zip(more["who"].tolist(), more["born"].tolist(), strict=True))
    assert len(pairs) == len(set(more["who"].tolist()))


def test_at_most_one_row_a_year_where_nobody_has_two(exact: us.Release) -> None:
    who, year = (np.asarray(exact.columns[name]).tolist() for name in ("who", "year"))
    assert len(set(zip(who, year, strict=True))) == len(who)


@pytest.mark.parametrize(
    "schema",
    [
        replace(CLINIC, order_by=()),
        NOTHING_OWN,
        Schema("clinic", tuple(c for c in COLUMNS if c.name in {"who", "sex", "ward"})),
        Schema("clinic", tuple(c for c in COLUMNS if c.name in {"who", "ward"})),
        Schema("clinic", tuple(c for c in COLUMNS if c.name in {"who", "sex"})),
    ],
    ids=["no order", "nothing own", "two columns", "one event", "only own"],
)
def test_both_declarations_are_optional(tmp_path: Path, schema: Schema) -> None:
    # Noise of as small a share of rows: of fewer people, of more of a budget.
    private = clinic(effort(150, 1500))
    budget = us.Budget(epsilon=effort(20, 2), delta=1e-6)
    release = session(tmp_path, schema=schema, budget=budget, private=private).run(us.Lives())
    assert 0.8 < len(release.columns["who"]) / len(private["who"]) < 1.2


def test_where_each_row_is_a_person_it_is_pairs(tmp_path: Path) -> None:
    made = [
        session(
            tmp_path,
            private=clinic(effort(100, 1500)),
            unit=us.Unit.each_row(),
            bounding=us.Weights(1),
            ledger=tmp_path / f"{mechanism.name}.ledger",
        ).run(mechanism)
        for mechanism in (us.Lives(), us.Pairs())
    ]
    asked = [[charge["asked"] for charge in release.manifest["charges"]] for release in made]
    assert asked[0] == asked[1]


def test_a_run_that_is_resumed_draws_the_same_people(usual: tuple[us.Session, us.Release]) -> None:
    opened, first = usual
    assert same(first, opened.resume(1))


def test_people_habits_and_rows_share_the_budget_as_was_said(tmp_path: Path) -> None:
    opened = session(tmp_path, budget=USUAL, private=clinic(effort(100, 1500)))
    opened.run(us.Lives(persons_share=0.2, habits_share=0.1, transitions_share=0.3))
    (run,) = us.Ledger(tmp_path / "clinic.ledger").state().runs.values()
    costs = [(r.what, r.grains / run.cap) for r in run.reservations]
    # Rows begin where their number is asked for, and all of the run's budget is spent.
    begun = next(i for i, (what, _) in enumerate(costs) if "number of rows" in what)
    before = [cost for _, cost in costs[:begun]]
    assert before[0] == pytest.approx(0.1, abs=1e-6)
    assert sum(before[1:]) == pytest.approx(0.2, abs=1e-6)
    assert costs[-1][1] == pytest.approx(0.3, abs=1e-3)
    assert sum(cost for _, cost in costs) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("order", [(), ("a",)])
@pytest.mark.parametrize("leaves", few((True, False), usual=1))
def test_given_the_same_answers_the_same_is_asked_without_the_person_of_most_rows(
    leaves: bool, order: tuple[str, ...]
) -> None:
    pair = heavy(leaves=leaves)
    found = replay(us.Lives(), replace(pair, schema=replace(pair.schema, order_by=order)))
    assert found.questions >= 6
    assert found.reach == pytest.approx(1)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(BudgetError, match="persons_share must be above 0 and below 1"):
        us.Lives(persons_share=0.0)
    with pytest.raises(UsageError, match="lives draws each person's rows"):
        us.Lives(ids_by=("sex",))
    with pytest.raises(BudgetError, match="habits_share \\+ transitions_share must be below 1"):
        us.Lives(persons_share=0.6, habits_share=0.5)
