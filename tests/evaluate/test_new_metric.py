"""A new metric is one object and one entry of the registry: nothing else knows of it."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

import understudy.evaluate
from tests.cli.place import Place
from tests.evaluate.tables import random_table
from understudy.contests.metrics import METRICS as CONTESTS
from understudy.errors import QuestionError, UsageError
from understudy.evaluate import (
    METRICS,
    Figure,
    Metric,
    Option,
    Results,
    Section,
    Tables,
    compare,
    one_way,
)
from understudy.evaluate.sections import Dots

Changes = dict[str, float]


def commonest_share(tables: Tables, *, of: str) -> Changes:
    """Return, for each side, the share of rows that have a column's commonest real value."""
    sides = {"real": tables.real, "synthetic": tables.synthetic}
    value = int(tables.real.counts([of]).argmax())
    return {side: float(table.histogram([of])[value]) for side, table in sides.items()}


def gap(found: Changes) -> float:
    return abs(found["real"] - found["synthetic"])


def chart(found: Results[Changes]) -> Section:
    return Section(
        title="The commonest value",
        paragraphs=("How far its share is off.",),
        parts=(
            Dots(
                title="Off by",
                about="The difference of shares.",
                label="what",
                value="difference",
                labels=["commonest value"],
                **found.columns(lambda each: [gap(each)]),
            ),
        ),
    )


TOY: Metric[Changes] = Metric(
    name="commonest",
    title="commonest value",
    about="How far the share of a column's commonest value is off.",
    compute=commonest_share,
    plain=lambda found: {**found, "gap": gap(found)},
    options=(Option(name="of", called="commonest-of", help="the column"),),
    figures=(
        Figure(name="commonest, off by", of=gap, title="commonest value", axis="gap", lower=True),
    ),
    scale="Commonest value: 0 is the same.",
    section=chart,
)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, TOY.name, TOY)


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    here = Place(tmp_path / "here", capsys)
    # Of 120 real rows 80 are red; here are three of four.
    lines = [f"{i},{'red' if i % 4 else 'blue'},{i % 4}" for i in range(40)]
    (here / "made.csv").write_text("\n".join(["taxi,colour,hour", *lines, ""]))
    return here


def evaluate(here: Place, *more: str) -> list[str]:
    known = f"--private={here / 'trips.csv'}", f"--schema={here / 'schema.toml'}", "--unit=taxi"
    return ["evaluate", str(here / "made.csv"), *known, *more]


@pytest.mark.usefixtures("toy")
def test_it_is_in_the_text_the_plain_data_and_the_page(place: Place) -> None:
    asked = evaluate(place, "--commonest-of=colour")
    text = place.fine(*asked)
    line = next(line for line in text.splitlines() if line.startswith("commonest, off by"))
    assert line.split()[3] == "0.08333"
    assert len(line.split()) == 7  # three yardsticks too
    assert "Commonest value: 0 is the same." in text
    facts = place.facts(*asked)
    expected = {"real": 80 / 120, "synthetic": 30 / 40, "gap": 30 / 40 - 80 / 120}
    assert facts["synthetic"]["commonest"] == pytest.approx(expected)
    assert facts["synthetic"]["summary"]["commonest, off by"] == pytest.approx(1 / 12)
    assert set(facts["yardsticks"]["resample"]["commonest"]) == set(expected)
    place.fine(*asked, f"--report={place / 'page.html'}")
    page = html.unescape((place / "page.html").read_text(encoding="utf-8"))
    assert ">Other metrics</h2>" in page
    assert '<td>commonest value</td><td class="number">0.08333</td>' in page
    assert ">The commonest value</h2><p>How far its share is off.</p>" in page
    assert "The difference of shares." in page


@pytest.mark.usefixtures("toy")
def test_it_is_computed_only_where_it_is_asked_for(place: Place) -> None:
    assert place.facts(*evaluate(place))["synthetic"]["commonest"] is None
    assert "commonest, off by" not in place.fine(*evaluate(place))
    place.fine(*evaluate(place, f"--report={place / 'page.html'}"))
    assert "The commonest value" not in (place / "page.html").read_text(encoding="utf-8")
    told = place.say(*evaluate(place, "--commonest-of=color"))
    assert told.code == QuestionError.exit_code
    assert "got color; allowed: colour, hour" in told.line


@pytest.mark.usefixtures("toy")
def test_it_is_listed_with_its_options(place: Place) -> None:
    text = place.fine("metrics")
    assert f"commonest  {TOY.about}\n  --commonest-of COLUMN  the column" in text


def test_it_is_unknown_where_it_is_not_registered(place: Place) -> None:
    told = place.say(*evaluate(place, "--commonest-of=colour"))
    assert told.code == UsageError.exit_code
    assert "commonest" not in place.fine("metrics")


def test_in_python_it_is_passed_with_its_settings() -> None:
    real, made = random_table(0), random_table(1, skew=2)
    found = compare(real, made, metrics=METRICS | {TOY.name: TOY}, of="fare")
    tables = Tables(real=real, synthetic=made)
    assert found.synthetic["commonest"] == commonest_share(tables, of="fare")
    assert found.synthetic["pairs"] == compare(real, made).synthetic["pairs"]


def test_the_example_for_contributors_runs() -> None:
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = re.findall("```python\n(.*?)```", text, flags=re.DOTALL)
    names = dict(vars(understudy.evaluate))
    exec(code, names)  # noqa: S102  a text of our own
    focus: Metric[float] = names["FOCUS"]
    real, made = random_table(0), random_table(1, skew=2)
    found = compare(real, made, metrics={focus.name: focus}, of="fare")
    assert found.synthetic["focus"] == one_way(real, made)["fare"]
    assert "\nfocus " in found.table()


def test_an_option_reads_what_its_kind_says() -> None:
    number = Option(name="most", called="most-rows", kind="number", metavar="N", help="how many")
    assert (number.usage, number.value("12")) == ("--most-rows N", 12)
    with pytest.raises(UsageError, match=r"--most-rows needs a whole number \(got many\)"):
        number.value("many")
    assert Option(name="by", kind="columns").value("a, b") == ("a", "b")
    assert Option(name="by").value("a, b") == "a, b"
    assert Option(name="own", read=str.upper).value("a") == "A"


def test_figures_are_of_metrics_that_measure_yardsticks() -> None:
    with pytest.raises(QuestionError, match="commonest has figures, but measures no yardsticks"):
        replace(TOY, yardsticks=False)


def test_names_are_told_apart() -> None:
    every = METRICS | CONTESTS
    assert len(every) == len(METRICS) + len(CONTESTS)
    assert all(name == metric.name for name, metric in every.items())
    for metric in every.values():
        assert metric.title
        assert metric.about.endswith(".")
    figures = [figure.name for metric in every.values() for figure in metric.figures]
    assert len(set(figures)) == len(figures)
    flags = [option.flag for m in every.values() for option in m.options if option.help]
    assert len(set(flags)) == len(flags)
