"""Auto: the choice follows from people, columns, budget and public data, and the run says why."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from understudy.errors import BudgetError, UsageError
from understudy.ledger import Ledger
from understudy.schema import Integer

TIGHT = us.Budget(epsilon=1.0, delta=1e-9)
ROWS = us.Unit.each_row()


def schema(columns: int) -> us.Schema:
    return us.Schema(
        "t", tuple(Integer(name=f"c{i}", min=0, max=3, missing=False) for i in range(columns))
    )


def chosen(people: float, columns: int = 14, **more: Any) -> str:
    given: dict[str, Any] = {"unit": ROWS, "budget": TIGHT, "people": people} | more
    return us.auto(schema(columns), **given).mechanism.name


def public(columns: int, *, people: bool) -> us.PublicTable:
    table: dict[str, Any] = {f"c{i}": np.arange(40) % 4 for i in range(columns)}
    unit = us.Unit("who") if people else ROWS
    return us.PublicTable.read(
        table | {"who": np.arange(40) // 4}, schema=schema(columns), unit=unit
    )


def test_more_people_allow_for_more() -> None:
    names = [chosen(people) for people in (0, -50.0, 100, 1_000, 48_842, 400_000, 10**9)]
    assert names == [*["independent"] * 3, "tworound", "tworound", "aim", "aim"]
    few, more = (us.auto(schema(14), unit=ROWS, budget=TIGHT, people=n) for n in (5_000, 48_842))
    assert isinstance(few.mechanism, us.TwoRound)
    assert isinstance(more.mechanism, us.TwoRound)
    assert (few.mechanism.more_pairs, more.mechanism.more_pairs) == (0.0, 1.0)


def test_the_choice_is_by_people_for_each_row_of_noise() -> None:
    """Noise of 28 pairs at this budget is √28/μ, and 28/ε where it is Laplace's."""
    for budget, noise in (
        (TIGHT, np.sqrt(28) / TIGHT.price),
        (us.Budget(epsilon=2.0, delta=0), 28 / 2.0),
    ):
        for signal, below, above in ((10, "independent", "tworound"), (5_000, "tworound", "aim")):
            assert chosen(signal * noise * 0.999, budget=budget) == below
            assert chosen(signal * noise * 1.001, budget=budget) == above


def test_a_column_alone_has_no_pairs_and_very_many_have_too_many() -> None:
    assert chosen(10**9, columns=1) == "independent"
    assert chosen(10**9, columns=40) == "aim"
    assert chosen(10**9, columns=41) == "tworound"


def test_rows_are_given_to_people_by_what_public_people_keep_to() -> None:
    """Everyone keeps to their c0, but for one row of 40; c1 is the same for all, c2 goes about."""
    who = np.arange(40) // 4
    columns: dict[str, Any] = {"c0": who % 4, "c1": np.full(40, 2), "c2": np.arange(40) % 4}
    columns["c0"][0] = 3
    known = us.PublicTable.read(columns | {"who": who}, schema=schema(3), unit=us.Unit("who"))
    choice = us.auto(
        schema(3), unit=us.Unit("who"), budget=TIGHT, people=5_000, public=known
    ).mechanism
    assert isinstance(choice, us.AdaGrid)
    assert choice.ids_by == ("c0",)


def test_public_people_are_for_adagrid_and_public_rows_for_values_within_bins() -> None:
    known = public(3, people=True)
    for people in (5_000, 10**7):
        given: Any = {"budget": TIGHT, "people": people, "public": known}
        assert us.auto(schema(3), unit=us.Unit("who"), **given).mechanism == us.AdaGrid(
            within="public"
        )
    for people in (5_000, 10**7):
        choice = us.auto(
            schema(3), unit=ROWS, budget=TIGHT, people=people, public=public(3, people=False)
        )
        assert choice.mechanism.name != "adagrid"
        assert choice.to_dict()["chosen"]["settings"]["within"] == "public"


@pytest.mark.parametrize("people", [20, 3_000, 10**6])
def test_it_says_why_in_one_paragraph(people: int) -> None:
    choice = us.auto(schema(5), unit=ROWS, budget=TIGHT, people=people)
    assert choice.why.startswith(f"There are about {people:,} people and 5 columns. ")
    assert "noise of about 17 rows" in choice.why
    assert choice.why.endswith(f"({choice.mechanism.name}).")
    assert "\n" not in choice.why


VAST = us.Budget(epsilon=1e6, delta=1e-9)


def session(folder: Path, budget: us.Budget = VAST) -> us.Session:
    table = {f"c{i}": np.arange(60) * (i + 1) % 4 for i in range(3)}
    return us.open(
        private=table,
        schema=schema(3),
        unit=ROWS,
        bounding=us.Weights(1),
        budget=budget,
        ledger=folder / "t.ledger",
    )


def test_people_are_counted_for_a_hundredth_and_what_was_chosen_is_run(tmp_path: Path) -> None:
    release = session(tmp_path).run(us.Auto())
    told = release.manifest["mechanism"]
    assert (told["name"], told["settings"]) == ("auto", {"people": None, "people_share": 0.01})
    assert told["chosen"]["name"] == "aim"
    assert told["rounds"] > 0
    assert told["why"].startswith("There are about 60 people and 3 columns. ")
    first, *others = release.manifest["charges"]
    assert first["asked"] == "number of people"
    assert first["share"] == pytest.approx(0.01)
    assert 0.9 < sum(c["share"] for c in others) < 0.99 + 1e-9
    assert "support" in told


def test_a_number_that_is_given_is_not_asked_for(tmp_path: Path) -> None:
    release = session(tmp_path, TIGHT).run(us.Auto(people=1))
    assert release.manifest["mechanism"]["chosen"]["name"] == "independent"
    asked = [c["asked"] for c in release.manifest["charges"]]
    assert asked.count("number of people") == 1, "what independent asks itself"
    assert sum(c["share"] for c in release.manifest["charges"]) == pytest.approx(1, abs=1e-6)


def test_a_run_is_resumed_as_it_was_chosen(tmp_path: Path) -> None:
    held = session(tmp_path)
    first = held.run(us.Auto())
    again = held.resume(1)
    assert again.manifest["mechanism"] == first.manifest["mechanism"]
    assert all(again.columns[n].tolist() == first.columns[n].tolist() for n in first.columns)
    with closing(Ledger(tmp_path / "t.ledger")) as ledger:
        assert len(ledger.state().runs) == 1


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"people": -1}, UsageError, "a number of people is 0 or more (got -1)"),
        ({"people_share": 0.0}, BudgetError, "a share lies between 0 and 1 (got 0.0)"),
        ({"people_share": 1.0}, BudgetError, "a share lies between 0 and 1 (got 1.0)"),
    ],
)
def test_settings_that_are_none(settings: dict[str, Any], error: type, text: str) -> None:
    with pytest.raises(error) as raised:
        us.Auto(**settings)
    assert str(raised.value) == text


def wide(size: int, *, people: bool) -> tuple[us.Schema, us.PublicTable]:
    """Columns of many codes, public rows of which suggest a model of many cells."""
    names = [f"c{i}" for i in range(24)]
    made = us.Schema("t", tuple(Integer(name=n, min=0, max=size - 1, missing=False) for n in names))
    codes = np.random.default_rng(0).integers(0, size, 400)
    table: dict[str, Any] = {n: (codes + i) % size for i, n in enumerate(names)}
    unit = us.Unit("who") if people else ROWS
    return made, us.PublicTable.read(table | {"who": np.arange(400)}, schema=made, unit=unit)


def test_what_a_public_table_suggests_is_not_chosen_where_it_is_too_large() -> None:
    """Else the run would be refused after people were counted, and again whenever it is resumed."""
    made, known = wide(1_000, people=True)
    given: Any = {"budget": TIGHT, "people": 50_000, "public": known}
    assert not us.AdaGrid(within="public").fits(known)
    assert us.auto(made, unit=us.Unit("who"), **given).mechanism.name != "adagrid"
    settings = us.TwoRound(model_limit=100)
    assert not settings.fits(made, known)
    assert us.TwoRound().fits(schema(3), None)


def test_mst_takes_the_place_of_two_rounds_that_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(us.TwoRound, "fits", lambda *_: False)
    choice = us.auto(schema(14), unit=ROWS, budget=TIGHT, people=48_842)
    assert choice.mechanism == us.MST()
    assert choice.why.endswith("(mst).")
