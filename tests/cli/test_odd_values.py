"""Whatever a discovered value is, it does no harm: in TOML, SQL, CSV, a report or a terminal."""

from __future__ import annotations

import csv
import tempfile
import tomllib
import unicodedata
from argparse import Namespace
from contextlib import closing, redirect_stdout
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import tried
from tests.cli.place import Place
from tests.release.made import released
from tests.vault.test_discovery import door_onto, search_of
from tests.vault.texts import FORMULAS, ODD, read
from understudy.cli.discover import _tell, commented
from understudy.engine import CodedTable, DuckDB
from understudy.ledger import Ledger
from understudy.schema import Categorical, Id, Schema
from understudy.synth.discovery import Discovered, Finding

HARMFUL = (
    "<script>alert(1)</script>", "</script><b>", "<!--", "]]>", "&lt;", "<img src=x onerror=y>",
    '""" x = 1', "'''", "a = [1]", "[columns.x]", "# note", "\\", "\\u0041", "$name", "{0}", "%s",
    "'; DROP TABLE rows; --", "a;b", 'a"b,c', "[red]x[/red]", "[/]", "\x1b[31mred", "a\rb", "a\nb",
    "\u202eevil", "\u2066a", "\ud800", "x" * 199, "e\u0301" * 60, "\u200b", "\U000e0041",
    "(other)", "(missing)", "null", "__proto__", "toString",
)  # fmt: skip
texts = st.one_of(
    st.sampled_from([*HARMFUL, *ODD, *FORMULAS]),
    st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=9),
    st.tuples(st.sampled_from("=+-@\t"), st.text("A1+(|!)", max_size=5)).map("".join),
)
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_unseen(letter: str) -> bool:
    return (
        unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"}
        or unicodedata.bidirectional(letter) in BIDI
        or letter in "\u061c\u200e\u200f\ufeff"
    )


def told(given: list[str]) -> tuple[str, ...]:
    """Discover the texts, all of which thirty people have."""
    people: Any = {f"p{i}": [(text, None) for text in given] for i in range(30)}
    with door_onto(people) as door:
        (found,) = door.discover([search_of(most=len(given), scale=0.01, threshold=2.0)])
    return found.values


class Tags(HTMLParser):
    """The tags of a page, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1 + sum(name.startswith("on") for name, _ in attrs)


@given(st.lists(texts, min_size=1, max_size=12, unique=True))
@example(list(HARMFUL))
@tried(6)
def test_no_value_does_harm_anywhere(given: list[str]) -> None:
    values = told(given)
    assert set(values) == {value for text in given if (value := read(text, "code")) is not None}
    assert not any(is_unseen(letter) for value in values for letter in value)
    if not values:
        return
    column = Categorical(name="code", values=values)
    schema = Schema("t", (Id(name="who"), column))
    check_toml(schema, column)
    check_sql(schema, values)
    check_release(schema, values)


def check_toml(schema: Schema, column: Categorical) -> None:
    """A reason is noisy numbers and words, but were it a value, it would do no harm either."""
    finding = Finding(column=column, reason=" ".join(map(str, column.values)), share=0.5)
    found = Discovered(schema=schema, findings=(finding,), run=1)
    written = commented(found)
    assert Schema.from_dict(tomllib.loads(written)) == schema
    assert written.encode("utf-8").decode() == written
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "l", StringIO()
        with closing(Ledger.create(path, budget=us.Budget(epsilon=1.0, delta=1e-6))) as ledger:
            ledger.begin(us.Budget(epsilon=1.0, delta=1e-6), {})
            state = ledger.state()
        with redirect_stdout(out):
            _tell(Namespace(ledger="l", json=False, quiet=False), Path(), found, state)
    shown = out.getvalue()
    assert len(shown.splitlines()) == 6
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


def check_sql(schema: Schema, values: tuple[Any, ...]) -> None:
    data = {"who": np.arange(len(values)), "code": np.array(values, dtype=object)}
    with closing(DuckDB()) as engine:
        CodedTable(engine, data, schema=schema, unit=us.Unit("who"))
        codes = engine.fetch("SELECT c0 FROM rows")["c0"]
    assert sorted(codes.tolist()) == list(range(len(values)))


def check_release(schema: Schema, values: tuple[Any, ...]) -> None:
    """Rows come back as they were, from CSV too; a page has the tags of one with plain values."""
    codes = {"code": np.arange(len(values))}
    plain = Schema("t", (Id(name="who"), Categorical(name="code", values=_plain(len(values)))))
    pages = []
    with tempfile.TemporaryDirectory() as folder:
        for name, declared in (("odd", schema), ("plain", plain)):
            rng = np.random.default_rng(0)
            release = released(codes, np.arange(len(values)), declared, rng)
            place = release.save(Path(folder) / name, format="csv")
            pages.append(Tags(us.report(us.Release.read(place), place / "page.html").read_text()))
        with (Path(folder) / "odd" / "rows.csv").open(newline="", encoding="utf-8") as file:
            rows = [row["code"] for row in csv.DictReader(file)]
        frame = pd.read_csv(Path(folder) / "odd" / "rows.csv", dtype=str, keep_default_na=False)
    assert sorted(rows) == sorted(frame["code"]) == sorted(values)
    assert not any(row.startswith("=") and row != "=" for row in rows)
    assert pages[0].tags == pages[1].tags


def _plain(count: int) -> tuple[str, ...]:
    return tuple(f"v{i:02d}" for i in range(count))


def test_a_line_break_in_a_columns_name_breaks_no_line_that_is_printed(place: Place) -> None:
    name = "hour\nof day"
    trips, schema = pd.read_csv(place / "trips.csv"), place / "schema.toml"
    trips.rename(columns={"hour": name}).to_parquet(place / "trips.parquet")
    schema.write_text(schema.read_text().replace("[columns.hour]", '[columns."hour\\nof day"]'))
    checked = place.fine("check", *place.synth("trips.parquet", out=None, mechanism="mst")[1:])
    assert "hour of day" in checked
    assert not any(line.startswith("of day") for line in checked.splitlines())
