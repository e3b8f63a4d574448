"""The release report: all of it from the release, nothing from elsewhere, seen in a browser."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains

import understudy as us
from tests.pages.browser import Opened, needs_browser, opened
from understudy.door import Measurement, Rows
from understudy.errors import MissingFileError, MissingPackageError, OutputExistsError
from understudy.pages import page as frame
from understudy.pages.release import release_page
from understudy.release.guarantee import rounded_up
from understudy.schema import Categorical, Id, Integer, Schema

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
SCHEMA = Schema(
    f"trips {EVIL}",
    (
        Id(name="taxi"),
        Categorical(name="area", values=("north", "south", "east", EVIL, "west", "middle")),
        Integer(name="hour", min=0, max=23),
        Categorical(name="a.b[0]", values=("red", "blue")),
    ),
)


def made(folder: Path, mechanism: Any, *, delta: float = 1e-6, unit: str = "taxi") -> us.Release:
    rng = np.random.default_rng(5)
    count = 2000
    areas = np.array(["north", "south", "east", EVIL, "west", "middle"], dtype=object)
    table = {
        "taxi": rng.integers(0, 300, count),
        "area": areas[rng.integers(0, 6, count)],
        "hour": rng.integers(0, 24, count),
        "a.b[0]": np.array(["red", "blue"], dtype=object)[rng.integers(0, 2, count)],
    }
    session = us.open(
        private=table,
        schema=SCHEMA,
        unit=us.Unit(unit) if unit else us.Unit.each_row(),
        bounding=us.Weights(10),
        budget=us.Budget(epsilon=5, delta=delta),
        ledger=folder / "trips.ledger",
    )
    return session.run(mechanism)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    return made(tmp_path_factory.mktemp("release"), us.MST())


@pytest.fixture(scope="module")
def written(release: us.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = release.save(tmp_path_factory.mktemp("saved") / "out")
    return us.report(folder, folder / "report.html")


@pytest.fixture(scope="module")
def page(driver: Any, written: Path) -> Opened:
    return opened(driver, written)


def test_it_says_what_was_promised_and_asked_in_the_manifests_own_words(
    release: us.Release, written: Path
) -> None:
    text = html.unescape(written.read_text(encoding="utf-8"))
    assert release.manifest["guarantee"]["words"] in text
    for charge in release.manifest["charges"]:
        assert charge["asked"] in text
    for note in release.manifest["notes"]:
        assert note in text
    assert release.manifest["ledger"]["head"] in text


def test_it_says_what_an_attacker_gains(release: us.Release, written: Path) -> None:
    text = html.unescape(written.read_text(encoding="utf-8"))
    promise = release.manifest["guarantee"]
    assert "What an attacker gains</h3>" in text
    for share in (promise["attacker"][0]["true_positive_rate"], promise["best_accuracy"]):
        assert f"<td>{rounded_up(100 * share)} %</td>" in text
    assert f"with probability {rounded_up(promise['probabilistic_delta'])}." in text
    assert promise["probabilistic_delta"] > promise["delta"]
    found = rounded_up(100 * promise["attacker"][-1]["true_positive_rate"])
    assert f"they accuse 5; of 100 who are, they then find at most {found}." in text
    assert f"finds at most {found} % of those who are" in promise["words"]


def test_whatever_comes_from_a_table_is_escaped(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    assert "<img src=x" not in text
    assert "<script>alert" not in text
    assert text.count("<script") == 3
    assert text.count("</script>") == 3


def test_it_names_no_place_to_load_from(written: Path) -> None:
    text = re.sub(r"<script>.*?</script>", "", written.read_text(encoding="utf-8"), flags=re.DOTALL)
    tags = r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["']?([^"'> ]+)"""
    told = re.findall(tags, text)
    assert told == ["data:,"]
    assert "default-src 'none'" in text


def test_one_in_memory_and_one_on_disk_have_the_same_report(
    release: us.Release, written: Path
) -> None:
    there = release_page(us.Release.read(written.parent)).html()
    here = release_page(release).html()
    # Only what is on disk has files, with checksums.
    assert here.split("The release itself</h2>")[0] == there.split("The release itself</h2>")[0]


def test_nothing_is_overwritten_and_what_is_no_release_is_refused(
    release: us.Release, written: Path, tmp_path: Path
) -> None:
    with pytest.raises(OutputExistsError):
        us.report(release, written)
    with pytest.raises(MissingFileError, match=r"is not a release \(got no manifest.json in it\)"):
        us.report(tmp_path, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("mechanism", "delta", "unit"),
    [
        (us.Independent(), 0.0, "taxi"),
        (us.UserCounts(), 0.0, "taxi"),
        (us.AdaGrid(), 1e-6, ""),
        (us.AIM(), 1e-6, "taxi"),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_every_kind_of_release_has_one(
    tmp_path: Path, mechanism: Any, delta: float, unit: str
) -> None:
    release = made(tmp_path, mechanism, delta=delta, unit=unit)
    text = us.report(release, tmp_path / "report.html").read_text(encoding="utf-8")
    assert ("Rows per person" in text) == bool(unit)
    assert ("What a whole person is promised" in text) == (not unit)
    assert release.manifest["guarantee"].get("whole_person_words", "") in html.unescape(text)
    assert "What epsilon means here" in text


def test_kinds_of_people_are_named_by_their_first_cell_and_how_many_more(
    release: us.Release,
) -> None:
    sums = Rows(np.array([0, 2, 3]), np.array([0, 2, 1]))
    measured = Measurement(
        clique=("a.b[0]",), values=np.array([70.0, 9.0]), scale=2.0, rows=sums, counted="people"
    )
    page = release_page(replace(release, measurements=(measured,))).html()
    assert "red and 1 more" in page
    assert "Counted: people" in page


@needs_browser
def test_charts_are_drawn_and_nothing_is_complained_of_or_loaded(page: Opened) -> None:
    assert page.complaints() == []
    assert page.loaded() == []
    drawn = page.run(
        "return [...document.querySelectorAll('.chart')].filter(c => !c.closest('[hidden]'))"
        ".map(c => c.querySelectorAll('svg').length)"
    )
    assert drawn
    assert set(drawn) == {1}


@needs_browser
def test_every_choice_shows_its_chart(page: Opened) -> None:
    for select in page.find(".choice select"):
        count = len(select.find_elements("css selector", "option"))
        assert count > 1
        for i in range(count):
            shown = page.driver.execute_async_script(
                """const [select, i, done] = arguments;
                select.value = i; select.dispatchEvent(new Event("change"));
                const box = select.closest(".choice").nextElementSibling;
                const wait = () => {
                  const seen = [...box.children].filter((c) => !c.hidden);
                  if (seen.length === 1 && seen[0].querySelector("svg")) done(seen.length);
                  else setTimeout(wait, 20);
                };
                wait();""",
                select,
                str(i),
            )
            assert shown == 1
    assert page.complaints() == []


@needs_browser
def test_the_slider_goes_through_time(page: Opened) -> None:
    (slider,) = page.find("#s4 ~ .chosen input[type=range], #s4 ~ figure input[type=range]")[:1]
    title = "return arguments[0].closest('.chart').querySelector('.role-title text').textContent"
    before = page.run(title, slider)
    told = "const t = arguments[0].parentElement.querySelector('output'); return t.textContent"
    assert page.run(told, slider) == slider.get_attribute("aria-valuetext") == "0"
    assert before == "hour: 0"
    slider.send_keys("\ue014")
    assert page.run(title, slider) != before
    assert page.run(told, slider) == slider.get_attribute("aria-valuetext") == "1"


@needs_browser
def test_all_that_can_be_used_is_reached_by_the_keyboard(page: Opened) -> None:
    page.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    wanted = page.run(
        "window.left = new Set([...document.querySelectorAll('a, select, summary, input, .chart')]"
        ".filter(e => e.offsetParent !== null || e.className === 'skip'));"
        "document.addEventListener('focusin', e => window.left.delete(e.target));"
        "return window.left.size"
    )
    assert wanted > 20
    ActionChains(page.driver).send_keys("\ue004" * (wanted + 40)).perform()
    assert page.run("return [...window.left].map(e => e.outerHTML.slice(0, 300))") == []


@needs_browser
def test_charts_use_the_width_they_have(page: Opened) -> None:
    shares = page.run(
        "return [...document.querySelectorAll('.chart')].filter(c => c.offsetParent !== null)"
        ".map(c => c.querySelector('svg').getBoundingClientRect().width / c.clientWidth)"
    )
    assert max(shares) <= 1
    # Maps and curves keep their proportions.
    assert sum(share > 0.9 for share in shares) >= 3


def test_an_installation_without_the_drawing_program_says_so(
    release: us.Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(frame, "_ROOM", tmp_path)
    with pytest.raises(MissingPackageError, match="this installation lacks the program that draws"):
        release_page(release).html()


@needs_browser
def test_paper_holds_every_column_and_every_pair(driver: Any, written: Path) -> None:
    """Opened anew: nothing was chosen yet."""
    Opened(driver).plain()
    page = opened(driver, written)
    names = [e.get_attribute("textContent") for e in page.find(".choice option")]
    words = page.printed()
    for name in names:
        assert " ".join(name.split()) in words
    # Not only their titles: the labels of a column that was never chosen.
    assert {"red", "blue"} <= {*words.split()}
    assert page.run("return document.querySelectorAll('.chart:not(:has(svg))').length") == 0
    page.at(700, media="print")
    assert page.beyond() == []
    # Back on the screen, one of several is seen again.
    page.at(1300)
    assert len(page.find(".chosen > [hidden]")) == len(names) - len(page.find(".choice"))


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_paper_by_day_and_by_night(
    written: Path, driver: Any, scheme: str
) -> None:
    Opened(driver).at(1200, scheme=scheme)
    page = opened(driver, written)
    ink, paper = page.run(
        "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    )
    assert contrast(ink, paper) > 7
    soft = page.run("return getComputedStyle(document.querySelector('dt')).color")
    assert contrast(soft, paper) > 4.5
    label = page.run(
        "return getComputedStyle(document.querySelector('.role-axis-label text')).fill"
    )
    assert contrast(label, paper) > 4.5
    bright = luminance(paper)
    assert bright > 0.8 if scheme == "light" else bright < 0.2


def luminance(colour: str) -> float:
    """Give the relative luminance of a colour, as the guidelines for accessible pages do."""
    parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


# On a phone

ROOM = """
return [...document.querySelectorAll('.chart')].filter(c => c.offsetParent !== null)
    .map(c => [c.querySelector('svg').getBoundingClientRect().right, c.scrollWidth - c.clientWidth])
"""
SCALES = """
return [...document.querySelectorAll('.chart svg')].filter(c => c.getBoundingClientRect().width)
    .map(c => c.getBoundingClientRect().width / c.viewBox.baseVal.width)
"""


@pytest.fixture(scope="module")
def phone(driver: Any, written: Path) -> Opened:
    """Come last: the page that others look at is left."""
    Opened(driver).at(400)
    return opened(driver, written)


@needs_browser
def test_nothing_is_cut_off_on_a_phone(phone: Opened) -> None:
    assert phone.run("return document.documentElement.scrollWidth") <= 400
    charts = phone.run(ROOM)
    assert len(charts) > 3
    for right, beyond in charts:
        assert right <= 400
        assert beyond <= 1
    # Drawn for a phone, and not only shrunk until nobody can read it.
    assert min(phone.run(SCALES)) > 0.6
    phone.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert phone.beyond() == []
    assert phone.run("return document.documentElement.scrollWidth") <= 400


@needs_browser
def test_both_heat_maps_of_a_pair_are_seen_on_a_phone(phone: Opened) -> None:
    texts = phone.run(
        "return [...document.querySelectorAll('.chart')].filter(c => c.offsetParent !== null)"
        ".map(c => [...c.querySelectorAll('text')].filter(t => "
        "t.getBoundingClientRect().right <= 400).map(t => t.textContent))"
    )
    assert any({"measured", "synthetic"} <= {*shown} for shown in texts)
