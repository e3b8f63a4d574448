"""Releases follow known totals: rows and people, with constraints, in new rows and on disk too."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import few
from tests.release.made import released
from tests.session.sameness import same
from understudy.errors import LedgerMismatchError, SchemaError
from understudy.pages.release import release_page
from understudy.schema import Categorical, Id, Integer, Numeric, Schema, Timestamp

COUNTIES = {"a": "x", "b": "x", "c": "y", "d": "y"}
SCHEMA = Schema(
    "clinic",
    (
        Id(name="who"),
        Categorical(name="sex", values=("F", "M"), of="person", missing=False, outside="drop"),
        Categorical(name="town", values=tuple(COUNTIES), of="person"),
        Categorical(name="county", values=("x", "y"), of="person"),
        Integer(name="month", min=1, max=12),
        Categorical(name="ward", values=("birth", "heart", "eyes")),
        Categorical(name="nurse", values=("p", "q")),
        Numeric(name="paid", edges=(0.0, 5.0, 10.0), missing=False),
        Numeric(name="due", edges=(0.0, 5.0, 10.0), missing=False),
        Numeric(name="both", edges=(0.0, 5.0, 20.0), missing=False),
    ),
    order_by=("month",),
    constraints=(
        us.Determines("town", "county", COUNTIES, name="home"),
        us.Never({"sex": "M", "ward": "birth"}, name="no men give birth"),
        us.Never({"ward": "eyes", "nurse": "q"}, name="eyes are p's"),
        us.Sum("both", ("paid", "due"), name="in all"),
    ),
)
FREE = tuple(c for c in SCHEMA.constraints if c.columns != ("sex", "ward"))
BUDGET = us.Budget(epsilon=1.0, delta=1e-6)


def clinic(people: int = 150) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(people), rng.integers(1, 6, people))
    sex, town = (
        rng.choice(["F", "M"], people),
        rng.choice(list("abcd"), people, p=[0.7, 0.1, 0.1, 0.1]),
    )
    ward = rng.choice(["heart", "eyes"], len(who))
    ward[(sex[who] == "F") & (rng.random(len(who)) < 0.3)] = "birth"
    return {
        "who": who,
        "sex": sex[who],
        "town": town[who],
        "month": rng.integers(1, 13, len(who)),
        "ward": ward,
        "nurse": np.where(ward == "eyes", "p", rng.choice(["p", "q"], len(who))),
        "paid": rng.uniform(0, 10, len(who)),
        "due": rng.uniform(0, 10, len(who)),
    }


PRIVATE = clinic()
PEOPLE = {("x", "F"): 61, ("x", "M"): 7, ("y", "F"): 1, ("y", "M"): 90}
MONTHS = {month: 20 + month for month in range(1, 13)}
KNOWN = (us.Known(("county", "sex"), PEOPLE, of="people", name="census"), us.Known("month", MONTHS))


def session(folder: Path, schema: Schema = SCHEMA, known: Any = KNOWN, **more: Any) -> us.Session:
    given: dict[str, Any] = {
        "private": PRIVATE,
        "unit": "who",
        "bounding": "norm",
        "budget": BUDGET,
    }
    return us.open(**given | more, schema=schema, known=known, ledger=folder / "a.ledger")


def people_of(rows: Any) -> Counter[tuple[str, str]]:
    _, first = np.unique(rows["who"], return_index=True)
    return Counter(zip(rows["county"][first].tolist(), rows["sex"][first].tolist(), strict=True))


@pytest.fixture(scope="module", params=few(["mst", "lives"], usual=1))
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    folder = tmp_path_factory.mktemp(request.param)
    return session(folder).run(request.param)


def test_rows_and_people_follow_and_obey(release: us.Release, tmp_path: Path) -> None:
    rows = release.columns
    assert people_of(rows) == PEOPLE
    assert Counter(rows["month"].tolist()) == MONTHS
    assert np.unique(np.stack([rows["who"], rows["sex"] == "F"]), axis=1).shape[1] == 159
    manifest = json.loads((release.save(tmp_path / "out") / "manifest.json").read_text("utf-8"))
    assert {each["rows_that_break_it"] for each in manifest["constraints"]} == {0}
    assert [each["largest_difference"] for each in manifest["known"]] == [0, 0]
    assert manifest["known"][0]["says"] == "people by county and sex, 4 counts, 159 in all."
    page = release_page(release).html()
    assert "Known totals" in page
    assert "rows by month, 12 counts, 318 in all." in page


def test_new_rows_and_people_follow_the_shares(release: us.Release) -> None:
    rows = release.sample_columns(636, seed=1)
    assert Counter(rows["month"].tolist()) == {month: 2 * n for month, n in MONTHS.items()}
    assert Counter(release.sample_columns(31, seed=1, where={"month": [9, 11]})["month"]) in (
        {9: 15, 11: 16},
        {9: 14, 11: 17},
    )
    people = people_of(release.sample_columns(people=318, seed=1))
    assert people == {cell: 2 * count for cell, count in PEOPLE.items()}
    some = people_of(release.sample_columns(people=34, seed=1, where={"county": "x"}))
    assert set(some) <= {("x", "F"), ("x", "M")}
    # By what is not counted, nothing is followed.
    assert set(release.sample_columns(20, seed=1, where={"ward": "eyes"})["ward"]) == {"eyes"}


def test_a_run_that_is_resumed_follows_the_same_totals(tmp_path: Path) -> None:
    first = session(tmp_path).run("mst")
    assert same(first, session(tmp_path).resume())
    assert (
        people_of(
            us.session.reopen_session(tmp_path / "a.ledger", private=PRIVATE)[0].resume().columns
        )
        == PEOPLE
    )
    with pytest.raises(LedgerMismatchError, match="another set of known totals"):
        session(tmp_path, known=KNOWN[:1]).resume()


def test_every_row_is_a_person_and_a_combination_that_no_row_had(tmp_path: Path) -> None:
    schema = Schema(
        "clinic", tuple(c for c in SCHEMA.columns if c.name in {"sex", "ward", "nurse"})
    )
    known = [us.Known(("sex", "ward"), {("F", "birth"): 5, ("M", "(other)"): 2}, of="people")]
    made = session(tmp_path, schema, known, unit="each-row", bounding="weights:1").run(
        "independent"
    )
    rows = made.columns
    assert Counter(rows["sex"].tolist()) == {"F": 5, "M": 2}
    assert made.histogram("sex", "ward")[0, 0] == 5
    assert made.histogram("sex", "ward")[1, 4] == 2


def test_shares_leave_the_number_of_rows_as_it_was(tmp_path: Path) -> None:
    known = [us.Known("ward", {"birth": 10**6, "heart": 10**6, "eyes": 2 * 10**6}, scaled=True)]
    schema = Schema(SCHEMA.name, SCHEMA.columns, constraints=(*FREE, us.UniquePerPerson("month")))
    made = session(tmp_path, schema, known).run("mst")
    wards = made.histogram("ward")
    assert (np.abs(wards - len(made) * np.array([1, 1, 2, 0, 0]) / 4) < 1).all()
    made.save(tmp_path / "out")
    kept = us.Release.read(tmp_path / "out").manifest
    assert kept["known"][0]["largest_difference"] < 1
    assert "of which the shares are known" in kept["known"][0]["says"]
    assert {each["rows_that_break_it"] for each in kept["constraints"]} == {0}


def test_people_without_rows_count_in_a_table_of_their_own(tmp_path: Path) -> None:
    who = np.unique(PRIVATE["who"], return_index=True)[1]
    own = {name: PRIVATE[name][who] for name in ("who", "sex", "town")}
    rows = {name: PRIVATE[name] for name in PRIVATE if name not in {"sex", "town"}}
    known = [us.Known("sex", {"F": 300, "M": 200}, of="people"), us.Known("nurse", {"p": 90})]
    tables = {"people": own, "rows": rows}
    made = session(tmp_path, known=known, private=tables).run("lives")
    assert Counter(made.people_columns["sex"].tolist()) == {"F": 300, "M": 200}
    assert (len(made), made.manifest["people"]) == (90, 500)
    with pytest.raises(SchemaError, match="count fewer rows than people"):
        session(tmp_path, known=known)


def test_rows_that_are_known_are_there_though_noise_left_none() -> None:
    rng = np.random.default_rng(0)
    none = {name: np.zeros(0, dtype=np.int32) for name in SCHEMA.domain}
    nobody = np.zeros(0, dtype=np.int64)
    for known in (KNOWN, KNOWN[:1]):
        made = released(none, nobody, SCHEMA, rng, known=known)
        assert people_of(made.columns) == PEOPLE
        assert len(made) == (318 if len(known) > 1 else 159)
    shares = [us.Known("month", MONTHS, scaled=True)]
    assert len(released(none, nobody, SCHEMA, rng, known=shares)) == 0


MOMENTS = Schema(
    "stays",
    (
        Id(name="who"),
        *(Timestamp(name=n, min="2020-01-01", max="2020-12-31") for n in ("start", "end")),
    ),
    constraints=(us.Order("start", "end", name="in time"),),
)
DAY = MOMENTS.timestamps[1].modelled[1]


@pytest.mark.parametrize(
    ("schema", "known", "said"),
    [
        (SCHEMA, [us.Known("ward", {"eyes": 1}, of="people")], "people are counted by columns of"),
        (SCHEMA, [us.Known("sex", {"F": 1})], "rows are not counted by people's own columns"),
        (SCHEMA, [us.Known("both", {3: 1})], "'rows by both' and the constraint 'in all'"),
        (
            MOMENTS,
            [us.Known(DAY.name, {DAY.labels()[0]: 1})],
            "and the constraint 'in time' cannot both be kept",
        ),
        (
            SCHEMA,
            [us.Known(("month", "nurse"), {(1, "p"): 2}), us.Known("month", {2: 2})],
            "contradict each other (got 'rows by month, nurse' and 'rows by month', by month)",
        ),
        (
            SCHEMA,
            [us.Known("month", {1: 2}), us.Known("paid", {1: 3})],
            "contradict each other (got 'rows by month' and 'rows by paid', in total)",
        ),
        (
            SCHEMA,
            [
                us.Known(("month", "paid"), {(1, 1): 2}),
                us.Known(("paid", "due"), {(1, 1): 2}),
                us.Known(("due", "month"), {(1, 1): 2}),
            ],
            "share columns in a circle (got 'rows by month, paid'",
        ),
        (
            SCHEMA,
            [us.Known("ward", {"birth": 2})],
            "(got 'rows by ward', and sex of each person, and 'no men give birth', \"eyes are",
        ),
        (
            Schema("clinic", SCHEMA.columns, constraints=FREE),
            [us.Known("ward", {"eyes": 2}), us.Known("nurse", {"q": 2})],
            "(got 'rows by ward', 'rows by nurse' and \"eyes are p's\"). Hint: count by all of",
        ),
        (
            Schema("clinic", SCHEMA.columns, constraints=FREE),
            [us.Known(("ward", "nurse"), {("eyes", "q"): 2})],
            'count what constraints forbid (got a combination that "eyes are p\'s" do not',
        ),
        (
            SCHEMA,
            [us.Known(("town", "county"), {("a", "y"): 2}, of="people")],
            "count what constraints forbid (got a combination that 'home' do not allow)",
        ),
        (
            Schema("clinic", SCHEMA.columns, constraints=(us.UniquePerPerson("month"),)),
            [us.Known("month", {1: 2}, scaled=True)],
            "'rows by month' and the constraint 'unique per person: month'",
        ),
        (
            Schema("clinic", SCHEMA.columns, constraints=(us.UniquePerPerson("month"),)),
            [us.Known("ward", {"eyes": 2})],
            "'rows by ward' and the constraint 'unique per person: month'",
        ),
    ],
)
def test_what_cannot_be_followed_is_refused_before_anything_is_spent(
    schema: Schema, known: Any, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SchemaError) as refused:
        session(tmp_path, schema, known)
    assert said in str(refused.value)
    assert not (tmp_path / "a.ledger").exists()
