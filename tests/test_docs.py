"""The documents about privacy name things that exist: tests, files, modules, functions.

A proof that leans on a test which was renamed or removed is noticed here.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import lru_cache
from pathlib import Path

import pytest

from understudy.door import Door

ROOT = Path(__file__).parent.parent
PROOFS = ROOT / "docs" / "proofs"
PAGES = [ROOT / "PRIVACY.md", *sorted(PROOFS.glob("*.md"))]
TEST = re.compile(r"\b(tests/[\w/.]+\.py)(?:::(\w+))?")
SOURCE = re.compile(r"\bsrc/[\w/.]*\w")
NAME = re.compile(r"\bunderstudy(?:\.\w+)+")
LINK = re.compile(r"\]\(([^)#]+)\)")
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


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_test_that_a_page_leans_on_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert TEST.search(text)
    assert missing_tests(text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_name_and_link_on_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert missing_names(text) == []
    for target in LINK.findall(text):
        assert (page.parent / target).exists(), target


def test_every_question_of_the_door_has_its_proof() -> None:
    assert len(QUESTIONS) == 7
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


def test_names_that_are_not_there_are_seen() -> None:
    """The checks can fail."""
    named = "`tests/test_docs.py::test_nothing`, `tests/nowhere.py`, `tests/test_docs.py`"
    assert missing_tests(named) == ["tests/test_docs.py::test_nothing", "tests/nowhere.py"]
    wrong = "understudy.vault.nothing and src/understudy/nothing.py but understudy.door.Door"
    assert missing_names(wrong) == ["understudy.vault.nothing", "src/understudy/nothing.py"]
