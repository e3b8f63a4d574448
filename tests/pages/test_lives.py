"""A few synthetic lives in a release's report: whom they show, in what order, and how."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import few
from tests.pages.browser import Opened, needs_browser, opened
from tests.pages.test_release import EVIL, contrast
from tests.release.made import released
from understudy.pages import charts
from understudy.pages.lives import MOST_EACH, SHOWN, chosen
from understudy.pages.page import field_of
from understudy.pages.release import release_page
from understudy.schema import Categorical, Declaration, Id, Integer, Numeric, Schema, Timestamp

WHO = Id(name="who")
SEX = Categorical(name="sex", values=("F", EVIL), missing=False, of="person")
BORN = Integer(name="born", min=1900, max=1999, of="person")
YEAR = Integer(name="year", min=2000, max=2020)
WHEN = Timestamp(name="when", min="2020-01-01", max="2020-12-31")
WARD = Categorical(name="ward it's.in[0]", values=tuple("abc"))
CODE = Categorical(name="code", values=tuple(f"D{i}" for i in range(40)))
COST = Numeric(name="cost", edges=tuple(float(x) for x in range(0, 50, 2)))


def made(*columns: Declaration, order_by: tuple[str, ...], most: int = 20) -> us.Release:
    """Make a release of 60 people with one to ``most`` rows."""
    schema = Schema("visits", (WHO, *columns), order_by=order_by)
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(60), np.geomspace(1, most, 60).round().astype(int))
    codes = {
        name: rng.integers(0, size, 60)[who]
        if name in schema.own
        else rng.integers(0, size, len(who))
        for name, size in schema.domain.items()
    }
    return released(codes, who, schema, rng)


def drawn(release: us.Release) -> list[dict[str, Any]]:
    """Return the specifications of the timelines of a release's report."""
    page = release_page(release).html()
    (found,) = re.findall(r'<script type="application/json" id="charts">(.*?)</script>', page)
    specs = [chart["spec"] for chart in json.loads(found)]
    return [spec for spec in specs if "synthetic person" in spec["data"]["values"][0]]


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=60))
def test_people_of_all_sizes_are_chosen_each_once(sizes: list[int]) -> None:
    who = np.repeat(np.arange(len(sizes)), sizes)
    found = chosen(who)
    assert len(found) == len(set(found)) == min(SHOWN, len(sizes))
    assert chosen(who[::-1]) == found
    shown = [sizes[i] for i in found]
    assert shown == sorted(shown, reverse=True)
    classes = {n.bit_length() for n in sizes}
    assert len({n.bit_length() for n in shown}) == min(SHOWN, len(classes))


def test_rows_are_in_order_and_are_those_of_the_release() -> None:
    release = made(SEX, BORN, YEAR, WARD, order_by=("year",))
    (spec,) = drawn(release)
    rows = spec["data"]["values"]
    captions = list(dict.fromkeys(row["synthetic person"] for row in rows))
    assert len(captions) == SHOWN
    columns = release.columns
    for caption in captions:
        person = int(re.findall(r"person (\d+), ", caption)[0])
        theirs = columns["who"] == person
        years = [row["year"] for row in rows if row["synthetic person"] == caption]
        told = [y for y in years if y is not None]
        assert told == sorted(told)
        assert years[: len(told)] == told
        assert sorted(told) == sorted(y for y in columns["year"][theirs].tolist() if y is not None)
        assert f"sex {columns['sex'][theirs][0]}" in caption
        assert f"{theirs.sum()} row" in caption


def test_one_in_memory_and_one_on_disk_show_the_same(tmp_path: Path) -> None:
    release = made(SEX, BORN, WHEN, WARD, COST, order_by=("when",))
    for form in ("parquet", "csv"):
        again = us.Release.read(release.save(tmp_path / form, format=form))
        assert drawn(again) == drawn(release)


def test_every_column_of_rows_may_be_shown_categories_first_and_few_kinds_of_each() -> None:
    release = made(COST, SEX, YEAR, CODE, WARD, order_by=("year",), most=40)
    specs = drawn(release)
    shown = [list(spec["data"]["values"][0])[2:] for spec in specs]
    assert [names[0] for names in shown] == ["code", field_of(WARD.name), "cost"]
    for spec, names in zip(specs, shown, strict=True):
        look = spec["layer"][1]["encoding"]
        kinds = look["color"]["scale"]["domain"]
        assert {row[names[-1]] for row in spec["data"]["values"]} == set(kinds)
        assert len(kinds) == len(set(look["color"]["scale"]["range"])) <= len(charts.SHAPES)
        assert len(kinds) == len(set(look["shape"]["scale"]["range"]))


def test_of_a_long_life_the_beginning_is_shown() -> None:
    (spec,) = drawn(made(YEAR, WARD, order_by=("year",), most=3 * MOST_EACH))
    rows = [row["synthetic person"] for row in spec["data"]["values"]]
    assert rows.count(rows[0]) == MOST_EACH
    assert rows[0].endswith(f" rows\nthe first {MOST_EACH} shown")


def test_what_has_no_order_or_no_people_shows_none() -> None:
    assert drawn(made(SEX, YEAR, WARD, order_by=())) == []


DRAWN: dict[str, tuple[tuple[Declaration, ...], tuple[str, ...], str]] = {
    "moments": ((SEX, WHEN, WARD, COST), ("when",), "temporal"),
    "no events": ((BORN, SEX, YEAR), ("year",), "quantitative"),
    "two columns": ((SEX, YEAR, COST, CODE), ("year", "cost"), "quantitative"),
    "nothing own": ((YEAR, WARD), ("year",), "quantitative"),
}


@pytest.mark.parametrize("case", few(DRAWN, usual=2))
@needs_browser
def test_they_are_drawn_by_day_and_by_night(driver: Any, tmp_path: Path, case: str) -> None:
    columns, order_by, kind = DRAWN[case]
    release = made(*columns, order_by=order_by)
    assert {spec["encoding"]["x"]["type"] for spec in drawn(release)} == {kind}
    page = opened(driver, us.report(release, tmp_path / "report.html"))
    assert page.complaints() == []
    lines, marks = page.run(
        "const heads = [...document.querySelectorAll('h3')];"
        "let at = heads.find(h => h.textContent === 'A few synthetic lives');"
        "while (!at.querySelector('svg')) at = at.nextElementSibling;"
        "return ['.mark-line path', '.mark-symbol.role-mark path']"
        ".map(s => at.querySelectorAll(s).length)"
    )
    assert lines == SHOWN
    rows = drawn(release)[0]["data"]["values"]
    time = drawn(release)[0]["encoding"]["x"]["field"]
    assert marks == sum(row[time] is not None for row in rows)


@needs_browser
def test_what_people_are_is_not_cut_off_on_a_phone(driver: Any, tmp_path: Path) -> None:
    region = Categorical(name="region", values=("north of the river", "south"), of="person")
    sex = Categorical(name="sex", values=("female", "male"), of="person")
    release = made(sex, BORN, region, YEAR, WARD, order_by=("year",), most=3 * MOST_EACH)
    Opened(driver).at(400)
    page = opened(driver, us.report(release, tmp_path / "report.html"))
    told = page.run("return [...document.querySelectorAll('svg text')].map(t => t.textContent)")
    assert any(text.startswith("person 59") for text in told)
    assert [text for text in told if "…" in text] == []


@pytest.mark.parametrize("paper", ["#f3f5f8", "#1d232c"])
def test_marks_stand_out_from_the_paper(paper: str) -> None:
    def rgb(text: str) -> str:
        return " ".join(str(int(text[i : i + 2], 16)) for i in (1, 3, 5))

    for colour in (*charts.HUES, *charts.RAMP):
        assert contrast(rgb(colour), rgb(paper)) > 3
