"""The custodian's report: it says what it is, shows what was found, and stays where it is put."""

from __future__ import annotations

import base64
import html
import io
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pypdf import PdfReader

from tests.audit.effort import effort
from tests.pages.browser import Opened, needs_browser, opened
from understudy.contests.metrics import METRICS as CONTESTS
from understudy.errors import OutputExistsError, UsageError
from understudy.evaluate import CHOOSING, METRICS, Coded, boosting, compare, page_facts
from understudy.pages import Page, check_place, custodian_report
from understudy.pages.custodian import BANNER, custodian_page, overall
from understudy.pages.frontiers import undominated

EVIL = "<script>alert(1)</script>"
QUOTED = """it's "so" </script><img src=x onerror=alert(2)> & \\ $synthetic"""
SIZES = {EVIL: 4, "a.b[0]": 3, QUOTED: 5, "hour": 24}
ROLES: dict[str, Any] = {
    "place": EVIL,
    "time": "hour",
    "edge": (EVIL, QUOTED),
    "pie": [EVIL],
    "slices": "a.b[0]",
}


def table(seed: int, *, rows: int = 900, sizes: dict[str, int] | None = None) -> Coded:
    rng = np.random.default_rng(seed)
    sizes = sizes or SIZES
    codes = {n: (k * rng.random(rows) ** (1 + seed / 4)).astype(np.int64) for n, k in sizes.items()}
    return Coded(
        codes=codes,
        sizes=sizes,
        people=rng.integers(0, 60, rows),
        own=tuple(name for name in (EVIL, "a.b[0]") if name in sizes),
        ordering=tuple(name for name in ("hour",) if name in sizes),
        numbers={
            f"{QUOTED} miles": rng.gamma(2, 600, rows),
            "hour": codes["hour"].astype(np.float64),
        }
        if "hour" in sizes
        else {},
    )


def facts(*runs: tuple[str, dict[str, Any] | None], **asked: Any) -> dict[str, Any]:
    """Give plain facts, as the command line does."""
    sizes = asked.pop("sizes", SIZES)
    real, made = table(0, sizes=sizes), [table(i + 1, sizes=sizes) for i in range(len(runs))]
    found = [compare(real, each, metrics=METRICS | CONTESTS, **asked) for each in made]
    return {
        "private": f"trips-{QUOTED}.csv",
        "schema": "schema.toml",
        "unit": "taxi",
        "rows": real.rows,
        "people": real.headcount,
        "runs": [
            {
                "name": name,
                "file": f"out/{name}",
                "people": each.headcount if i else None,
                "manifest": manifest,
                "comparison": found[i].to_dict(),
            }
            for i, ((name, manifest), each) in enumerate(zip(runs, made, strict=True))
        ],
        "counts": {
            name: {
                "labels": [f"{QUOTED} {i}" for i in range(size)],
                "real": real.counts([name]).tolist(),
                "runs": [each.counts([name]).tolist() for each in made],
            }
            for name, size in sizes.items()
        },
        "metrics": page_facts(found),
    }


def promised(epsilon: float, name: str = "mst") -> dict[str, Any]:
    return {"mechanism": {"name": name}, "guarantee": {"epsilon": epsilon, "delta": 1e-6}}


@pytest.fixture(scope="module")
def several() -> dict[str, Any]:
    runs = (("one", promised(1)), (QUOTED, promised(1, "aim")), ("column", promised(8)))
    asked = {"targets": [EVIL, "hour"], "classifier": True, "outcomes": ["hour"]}
    with pytest.MonkeyPatch.context() as patch:
        # How well rows are told apart is no business of the page.
        patch.setattr(boosting, "ROUNDS", effort(4, boosting.ROUNDS))
        return facts(*runs, ("file.csv", None), **ROLES, **asked)


@pytest.fixture(scope="module")
def text(several: dict[str, Any]) -> str:
    return custodian_page(several).html()


def visible(text: str) -> str:
    """Give the words of a page without its programs."""
    return html.unescape(
        re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.DOTALL)
    )


def drawn(page: Page) -> list[list[dict[str, Any]]]:
    """Give the rows of every chart of a page."""
    return [chart["spec"]["data"]["values"] for chart in page._charts]


def test_its_banner_says_what_it_is(text: str) -> None:
    assert BANNER == "Contains private information: do not publish."
    assert f'<p class="banner">{BANNER}</p>' in text
    assert "not part of any release" in text


def test_it_says_what_is_compared(text: str, several: dict[str, Any]) -> None:
    seen = visible(text)
    for part in (several["private"], "schema.toml", "taxi", "900", "60", "not told", "mst", "aim"):
        assert part in seen, part
    assert "out/file.csv" in seen


def test_it_says_that_choosing_by_it_is_not_paid_for_before_it_names_a_winner(text: str) -> None:
    seen = visible(text)
    assert seen.count(CHOOSING) == 1
    assert 0 < seen.index(CHOOSING) < seen.index("Not beaten by another")


def test_every_part_is_there_with_the_figures_that_were_found(
    text: str, several: dict[str, Any]
) -> None:
    seen = visible(text)
    for part in (
        "Privacy and utility of each run",
        "trip score",
        "trips: k-marginal",
        "mean pie score",
        "resample",
        "10 % of rows",
        "1 % of rows",
        "Distance of every column",
        "The worst pairs",
        "triples, and the mean of all",
        "Train on synthetic rows, test on real ones",
        "most frequent value",
        "standard deviations, mean error",
        "Quantiles of each column",
        "associations of pairs (Cramér's V), mean error",
        "Can real and synthetic rows be told apart?",
        "What gives them away",
        "Regressions on real and on synthetic rows",
    ):
        assert part in seen, part
    for run in several["runs"]:
        made = run["comparison"]["synthetic"]
        for found in (made["summary"]["pairs, mean"], made["trips"]["score"]):
            assert f"{found:,.4g}" in seen
        assert f"{made['numbers']['hour']['synthetic']['mean']:.4g}" in seen
        assert f"{run['comparison']['classifier']['synthetic']:.4g}" in seen
        for each in run["comparison"]["predictions"]:
            assert f"{each['synthetic']:.4g}" in seen


def test_parts_that_were_not_asked_for_are_not_there() -> None:
    seen = visible(custodian_page(facts(("one", promised(1)))).html())
    for part in ("Privacy and utility of each run", "Contests' scores", "Train on synthetic"):
        assert part not in seen
    assert "by the mean of all runs" not in seen
    alone = visible(custodian_page(facts(("one", None), sizes={"a": 3})).html())
    assert "Pairs and triples" not in alone
    assert "columns, mean" in alone
    two = visible(custodian_page(facts(("one", None), sizes={"a": 3, "b": 2})).html())
    assert "The worst pairs" in two
    assert "triples, and the mean" not in two


def test_associations_are_drawn_both_ways_round_beside_their_difference(
    several: dict[str, Any],
) -> None:
    charts = [c["spec"] for c in custodian_page(several)._charts if "hconcat" in c["spec"]]
    assert len(charts) == len(several["runs"])
    for spec, run in zip(charts, several["runs"], strict=True):
        assert [view["title"] for view in spec["hconcat"]] == ["real", "synthetic", "difference"]
        scales = [view["encoding"]["color"]["scale"]["domain"] for view in spec["hconcat"]]
        assert scales[0] == scales[1] == [0, 1]
        assert scales[2][0] == -scales[2][1]
        cells = {(c["down"], c["across"]): c for c in spec["data"]["values"]}
        assert len(cells) == len(SIZES) * (len(SIZES) - 1)
        for each in run["comparison"]["synthetic"]["associations"]:
            a, b = each["columns"]
            for cell in (cells[a, b], cells[b, a]):
                assert cell["real"] == pytest.approx(each["real"], rel=1e-5)
                told = cell["real"] + cell["difference"]
                assert told == pytest.approx(each["synthetic"], abs=1e-5)


def test_the_worst_columns_come_first_with_counts_of_both_tables(several: dict[str, Any]) -> None:
    page = custodian_page(several)
    columns = [run["comparison"]["synthetic"]["columns"] for run in several["runs"]]
    worst = sorted(SIZES, key=lambda name: -sum(each[name] for each in columns))
    dots = next(rows for rows in drawn(page) if rows[0].get("label") in SIZES)
    assert list(dict.fromkeys(row["label"] for row in dots)) == worst
    bars = next(rows for rows in drawn(page) if "share" in rows[0])
    counted = several["counts"][worst[0]]
    real = [row for row in bars if row["table"] == "real"]
    at = [counted["labels"].index(row["value"]) for row in real]
    assert [row["rows"] for row in real] == [counted["real"][i] for i in at]
    assert [row["share"] for row in real] == pytest.approx(
        [counted["real"][i] / 900 for i in at], rel=1e-5
    )


def test_people_are_drawn_as_they_were_found(several: dict[str, Any]) -> None:
    page = custodian_page(several)
    people = [run["comparison"]["synthetic"]["people"] for run in several["runs"]]
    bars = next(rows for rows in drawn(page) if "people" in rows[0])
    assert sum(row["people"] for row in bars if row["table"] == "real") == 60
    classes = {f"{c['least']}–{c['most']}": c for c in people[0]["rows_per_person"]["classes"]}
    for row in bars:
        if row["table"] == "one":
            assert row["people"] == classes[row["value"]]["synthetic"]
    (agree,) = (
        chart["spec"]["data"]["values"]
        for chart in page._charts
        if "two random rows of a person agree" in chart["spec"]["description"]
    )
    assert {row["label"] for row in agree} == {QUOTED, "hour"}
    again = several["runs"][0]["comparison"]["yardsticks"]["resample"]["people"]
    for row in agree:
        expected = {
            "one": people[0]["repeats"][row["label"]]["synthetic"],
            "real": people[0]["repeats"][row["label"]]["real"],
            "resample": again["repeats"][row["label"]]["synthetic"],
        }
        if row["which"] in expected:
            assert row["value"] == pytest.approx(expected[row["which"]], rel=1e-5)
    seen = visible(page.html())
    for name in ("rows per person", "gaps"):
        assert f"{several['runs'][0]['comparison']['synthetic']['summary'][name]:,.4g}" in seen


def test_runs_are_told_apart_whatever_their_names(several: dict[str, Any]) -> None:
    # A run may be called as a column of our tables is, or as another one.
    page = custodian_page(several)
    dots = next(rows for rows in drawn(page) if rows[0].get("label") in SIZES)
    named = list(dict.fromkeys(row["which"] for row in dots))
    assert named[:5] == ["one", QUOTED, "out/column", "file.csv", "resample"]
    same = facts(("same", None), ("same", None), ("same", None), ("resample", None))
    seen = visible(custodian_page(same).html())
    assert "out/same (again)" in seen
    assert "out/resample" in seen


def test_runs_that_are_not_beaten_are_marked(several: dict[str, Any]) -> None:
    page = custodian_page(several)
    errors, trips, pies = (rows for rows in drawn(page) if "epsilon" in rows[0])
    assert [row["epsilon"] for row in errors] == [1, 1, 8]
    # Our tables lie farther off with every run.
    for rows in (errors, trips, pies):
        assert [row["standing"][:3] for row in rows] == ["not", "bea", "bea"]
    assert errors[0]["run"] == "one · mst"


@pytest.mark.parametrize(
    ("prices", "errors", "best"),
    [
        ([1], [0.5], [True]),
        ([1, 1], [0.5, 0.5], [True, True]),
        ([1, 2], [0.5, 0.5], [True, False]),
        ([2, 1, 3], [0.1, 0.2, 0.2], [True, True, False]),
    ],
)
def test_a_run_is_beaten_by_one_that_is_no_worse_and_better_in_something(
    prices: list[float], errors: list[float], best: list[bool]
) -> None:
    assert undominated(prices, errors) == best


def test_whatever_comes_from_a_table_is_escaped(text: str) -> None:
    assert EVIL not in text
    assert "<img src=x" not in text
    assert text.count("<script") == 3
    assert text.count("</script>") == 3
    assert html.escape(QUOTED) in text


def test_it_names_no_place_to_load_from(text: str) -> None:
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    told = re.findall(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["']?([^"'> ]+)""", outside)
    assert told == ["data:,"]
    assert not re.search(r"https?://", outside)
    assert "default-src 'none'" in outside


def test_its_file_is_new_and_its_owners_alone(several: dict[str, Any], tmp_path: Path) -> None:
    path = custodian_report(several, tmp_path / "far" / "report.html")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    with pytest.raises(OutputExistsError):
        custodian_report(several, path)


def test_it_never_lies_in_a_release(several: dict[str, Any], tmp_path: Path) -> None:
    release = tmp_path / "release"
    (release / "deep").mkdir(parents=True)
    (release / "manifest.json").write_text("{}")
    (tmp_path / "link").symlink_to(release / "deep")
    for place in ("release/r.html", "release/deep/r.html", "release/new/r.html", "link/r.html"):
        with pytest.raises(UsageError, match=r"must not lie in a release .*allowed: a new file"):
            custodian_report(several, tmp_path / place)
    assert sorted(p.name for p in release.rglob("*")) == ["deep", "manifest.json"]
    check_place(tmp_path / "release" / ".." / "r.html")


@pytest.fixture(scope="module")
def written(several: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return custodian_report(several, tmp_path_factory.mktemp("custodian") / "report.html")


@pytest.fixture(scope="module")
def seen(driver: Any, written: Path) -> Opened:
    Opened(driver).at(1300)
    return opened(driver, written)


@needs_browser
def test_charts_are_drawn_whatever_columns_are_called_and_nothing_is_loaded(seen: Opened) -> None:
    assert seen.complaints() == []
    assert seen.loaded() == []
    drawn = seen.run(
        "return [...document.querySelectorAll('.chart')].filter(c => !c.closest('[hidden]'))"
        ".map(c => c.querySelectorAll('svg').length)"
    )
    assert len(drawn) > 3
    assert set(drawn) == {1}
    assert seen.beyond() == []


@needs_browser
def test_its_banner_stays_in_sight_and_is_on_every_sheet_that_is_printed(seen: Opened) -> None:
    seen.run("window.scrollTo(0, document.body.scrollHeight)")
    top, bottom = seen.run(
        "const b = document.querySelector('.banner').getBoundingClientRect();"
        "return [b.top, b.bottom]"
    )
    assert top == 0
    assert bottom > 20
    printed = PdfReader(io.BytesIO(base64.b64decode(seen.driver.print_page())))
    sheets = [" ".join(page.extract_text().split()) for page in printed.pages]
    assert len(sheets) > 2
    assert all(BANNER in sheet for sheet in sheets)
    # Every chart is on paper, also those that a page shows one at a time, and no column is cut off.
    assert seen.run("return document.querySelectorAll('.chart:not(:has(svg))').length") == 0
    seen.at(700, media="print")
    assert seen.beyond() == []
    seen.at(1300)


@needs_browser
def test_nothing_is_cut_off_on_a_phone(driver: Any, written: Path) -> None:
    """Drawn anew, at that width: the last of those that look at this page."""
    Opened(driver).at(400)
    page = opened(driver, written)
    assert page.beyond() == []
    assert page.run("return document.documentElement.scrollWidth") <= 400
    matrices = page.run(
        "return [...document.querySelectorAll('.chart')].map(c => "
        "[...c.querySelectorAll('text')].map(t => t.textContent))"
        ".filter(t => ['real', 'synthetic', 'difference'].every(w => t.includes(w))).length"
    )
    assert matrices == 1
    assert page.complaints() == []


def test_one_figure_says_how_much_of_the_real_rows_a_run_is_worth(several: dict[str, Any]) -> None:
    def with_pairs(distance: float) -> dict[str, Any]:
        summaries = {"1 % of rows": 0.4, "10 % of rows": 0.1, "resample": 0.025}
        told = {name: {"summary": {"pairs, mean": value}} for name, value in summaries.items()}
        made = {"summary": {"pairs, mean": distance}}
        return {"run": {"comparison": {"synthetic": made, "yardsticks": told}}}

    for distance, worth in (
        (0.2, "about 3.2 %"),
        (0.1, "about 10 %"),
        (0.05, "about 32 %"),
        (0.5, "less than 1 %"),
        (0.02, "all"),
    ):
        (told,) = overall(with_pairs(distance))
        assert f"a sample of {worth} of the real rows" in told
    assert visible(custodian_page(several).html()).count("Overall, ") == len(several["runs"])
