"""The docs name things that exist: tests, files, modules, functions, pages.

A proof that leans on a test which was renamed or removed is noticed here, and so is a link to
nowhere, a page that the site does not show, or a public name without an entry.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shlex
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

import understudy as us
from understudy.cli.main import parser
from understudy.door import Door
from understudy.errors import UsageError
from understudy.schema.columns import KINDS as DECLARED

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PROOFS = DOCS / "proofs"
PAGES = [DOCS / "promise.md", *sorted(PROOFS.glob("*.md"))]
"""The pages about privacy, which must lean on tests."""
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
TEST = re.compile(r"\b(tests/[\w/.]+\.py)(?:::(\w+))?")
SOURCE = re.compile(r"\bsrc/[\w/.]*\w")
NAME = re.compile(r"\bunderstudy(?!\.toml\b)(?:\.\w+)+")
"""A dotted name; understudy.toml is a run file."""
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^ *understudy +(.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
BLOCK = re.compile(r"<(li|ol|ul|td|h[1-6])[ >]")
ENTRY = re.compile(r"^::: understudy\.(?:\w+\.)*(\w+)$", re.MULTILINE)
KINDS = [*(kind.__name__ for kind in DECLARED.values()), "Remainder"]
"""Every kind of column that a schema may declare, and the one that a split becomes."""
FOR_MECHANISMS = (
    *("Mechanism", "Door", "Query", "Candidate", "Merge", "Rows", "Search", "Found"),
    *("Measurement", "Synthesis", "Batches", "Batch"),
)
"""What a mechanism is given, asks and returns."""
QUESTIONS = [
    name
    for name, value in vars(Door).items()
    if inspect.isfunction(value) and name[0] != "_" and name != "close"
]


@lru_cache
def functions(path: Path) -> frozenset[str]:
    """Give the names of a test module's functions and classes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def missing_tests(text: str) -> list[str]:
    """Give the tests that a text names and that are not there."""
    missing = []
    for found in TEST.finditer(text):
        path, name = ROOT / found[1], found[2]
        if not path.is_file() or (name is not None and name not in functions(path)):
            missing.append(found[0])
    return missing


def is_there(name: str) -> bool:
    """Say whether a dotted name can be imported, as a module or as something in one."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return bool(module) and is_there(module) and hasattr(importlib.import_module(module), last)
    return True


def missing_names(text: str) -> list[str]:
    """Give the modules, names in modules and source files that are not there."""
    names = [name for name in NAME.findall(text) if not is_there(name)]
    return names + [path for path in SOURCE.findall(text) if not (ROOT / path).exists()]


@lru_cache
def anchors(page: Path) -> frozenset[str]:
    """Give the places of a page that can be linked to, as code hosts and the site name them."""
    titles = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    plain = (re.sub(r"[^\w\- ]", "", title.lower()).strip() for title in titles)
    return frozenset(re.sub(r"[ -]+", "-", title) for title in plain)


def dead_links(page: Path, text: str) -> list[str]:
    """Give the relative links of a page that lead to no file, or to no heading of it."""
    dead = []
    for target in LINK.findall(FENCE.sub("", text)):
        path, _, anchor = target.partition("#")
        if re.match(r"https?://", target):
            continue
        there = (page.parent / path).resolve() if path else page
        known = there.exists() and there.is_relative_to(ROOT)
        if not known or (anchor and anchor not in anchors(there)):
            dead.append(target)
    return dead


def shown(nav: object) -> list[str]:
    """Give the pages of a nav, whatever sections they are in."""
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [page for part in inner for page in shown(part)]  # type: ignore[attr-defined]


def commands(text: str) -> list[list[str]]:
    """Give the words of every command that stands on a line of its own, but for shortened ones."""
    found = COMMAND.findall(re.sub(r"\\\n *", "", text))
    return [shlex.split(re.sub(r" +# .*", "", line)) for line in found if "…" not in line]


def blocks(text: str) -> tuple[Counter[str], Counter[str]]:
    """Count lists, cells and headings as a code host shows them, and as the site does."""
    # Their blocks of code are different, and not in question.
    plain = FENCE.sub("", text)
    host = MarkdownIt("commonmark").enable("table").render(plain)
    site = importlib.import_module("markdown").markdown(plain, extensions=["tables"])
    return Counter(BLOCK.findall(host)), Counter(BLOCK.findall(site))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_test_that_a_page_leans_on_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert TEST.search(text)
    assert missing_tests(text) == []


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_name_and_link_on_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert missing_tests(text) == []
    assert missing_names(text) == []
    assert dead_links(page, text) == []


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_on_a_page_is_understood(page: Path) -> None:
    for words in commands(page.read_text(encoding="utf-8")):
        assert parser(words).parse_args(words).command == words[0]


def test_a_command_that_is_not_understood_is_seen() -> None:
    text = "    understudy synth a.csv \\\n      --nothing  # a comment\nunderstudy ledger FILE …\n"
    assert commands(text) == [["synth", "a.csv", "--nothing"]]
    with pytest.raises(UsageError):
        parser().parse_args(commands(text)[0])


def test_every_question_of_the_door_has_its_proof() -> None:
    assert len(QUESTIONS) == 10
    for question in QUESTIONS:
        text = (PROOFS / f"{question}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# `{question}`")


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda p: p.name)
def test_every_proof_has_its_parts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for part in ("## Statement", "## Proof", "∎", "## Numerics", "## Tied to the code by"):
        assert part in text, part
    assert "Neighbours" in text
    assert "::test_" in text.split("## Tied to the code by")[1]


def test_every_page_is_in_the_sites_nav_once() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(shown(site["nav"])) == sorted(pages)


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_reads_the_same_on_a_code_host_and_on_the_site(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    host, site = blocks(text)
    assert host == site
    # In a table the site shows the backslash too, and a code host needs it.
    assert r"\|" not in text


def test_a_page_that_would_not_is_seen() -> None:
    """A list within a list needs four blanks on the site; a line must not begin as a list does."""
    for text in ("1. one\n   - two\n", "- a proof that goes to\n  0. And so on.\n"):
        host, site = blocks(text)
        assert host != site


def test_every_public_name_has_an_entry_on_the_api_page() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    assert "`understudy.__version__`" in text
    entries = [*ENTRY.findall(text), "__version__"]
    assert sorted(entries) == sorted([*us.__all__, *KINDS, *FOR_MECHANISMS])


@pytest.mark.parametrize("name", sorted({*us.__all__} - {"__version__"}))
def test_every_public_name_has_a_docstring_of_its_own(name: str) -> None:
    thing = getattr(us, name)
    text = inspect.getdoc(thing) or ""
    # A dataclass without a docstring is given its own signature for one.
    assert text, name
    assert not text.startswith(f"{thing.__name__}("), name
    assert text.split("\n\n")[0].rstrip().endswith((".", ":")), text


def test_names_that_are_not_there_are_seen() -> None:
    """The checks can fail."""
    named = "`tests/test_docs.py::test_nothing`, `tests/nowhere.py`, `tests/test_docs.py`"
    assert missing_tests(named) == ["tests/test_docs.py::test_nothing", "tests/nowhere.py"]
    wrong = "understudy.vault.nothing and src/understudy/nothing.py but understudy.door.Door"
    assert missing_names(wrong) == ["understudy.vault.nothing", "src/understudy/nothing.py"]


def test_links_to_nowhere_are_seen() -> None:
    here = DOCS / "aim.md"
    wrong = "[a](nowhere.md) [b](mst.md#nothing) [c](../../outside.md) [d](#nothing)"
    assert dead_links(here, wrong) == [
        "nowhere.md",
        "mst.md#nothing",
        "../../outside.md",
        "#nothing",
    ]
    right = "[a](mst.md) [b](adagrid.md#how-well-it-does) [c](../README.md) [d](https://semver.org)"
    assert dead_links(here, right) == []
