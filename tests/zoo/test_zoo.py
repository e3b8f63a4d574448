"""The zoo itself: every bug has one place and one test, and a catch is a catch."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.audit.effort import in_audit, one_in
from tests.zoo.bug import KINDS, Bug
from tests.zoo.bugs import BUGS
from tests.zoo.zoo import (
    ROOT,
    SOURCE,
    changed,
    check_import,
    copied,
    judged,
    placed,
    plant,
    released,
)

NAMED = {bug.name: bug for bug in BUGS}
QUICK = NAMED["the sensitivity grows with the cap and not with its square"]


@cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(n.name for n in tree.body if isinstance(n, ast.FunctionDef))


@pytest.mark.parametrize("file", sorted({bug.file for bug in BUGS}))
def test_every_bug_has_one_place_and_a_test_that_is_there(file: str) -> None:
    for bug in (b for b in BUGS if b.file == file):
        assert bug.new in placed(bug, SOURCE), bug.name
        assert bug.old != bug.new, bug.name
        where, _, name = bug.caught_by.partition("::")
        assert name.partition("[")[0] in functions_of(where), bug.name


@pytest.mark.parametrize("bug", one_in(6, BUGS), ids=lambda bug: bug.name)
def test_a_file_with_a_bug_is_python(bug: Bug) -> None:
    """The zoo itself looks at all of them before it begins."""
    assert changed(bug, SOURCE) == placed(bug, SOURCE)


def test_there_are_many_bugs_all_different_and_some_of_every_kind() -> None:
    assert len(BUGS) >= 60
    assert len(NAMED) == len(BUGS)
    assert len({(b.file, b.old, b.new) for b in BUGS}) == len(BUGS)
    kinds = Counter(bug.kind for bug in BUGS)
    assert set(kinds) == set(KINDS)


def test_a_planted_bug_is_caught(tmp_path: Path) -> None:
    copied(tmp_path)
    check_import(tmp_path)
    outcome = released(QUICK)
    assert outcome.caught, outcome.why


# Of what pytest says, a test below has the words.
@in_audit
@pytest.mark.parametrize(
    "new",
    [
        pytest.param("squared_sensitivity=capp**2 * worst", id="a name that is none"),
        pytest.param("squared_sensitivity=(cap * cap) * worst", id="harmless"),
        pytest.param(
            'squared_sensitivity=__import__("no_such_module").cap * worst',
            id="an import that fails",
        ),
    ],
)
def test_what_is_no_bug_is_not_caught(new: str) -> None:
    harmless = Bug(
        name="none", kind="", file=QUICK.file, old=QUICK.old, new=new, caught_by=QUICK.caught_by
    )
    assert not released(harmless).caught


def test_a_snippet_that_is_not_there_once_is_told(tmp_path: Path) -> None:
    package = copied(tmp_path)
    for old, times in (("no such line", "0 times"), ("cap", "times in vault")):
        bug = Bug(name="n", kind="", file=QUICK.file, old=old, new="", caught_by="")
        with pytest.raises(ValueError, match=times):
            plant(bug, package)


@pytest.mark.parametrize(
    ("code", "output", "caught"),
    [
        (1, "E   assert 1 == 2\n1 failed in 0.1s", True),
        (1, "E   assert 1 == 2\n1 failed, 1 error in 0.1s", False),
        (1, "E   NameError: name 'x' is not defined\n1 failed in 0.1s", False),
        (1, "E   hypothesis.errors.DeadlineExceeded: too slow\n1 failed in 0.1s", False),
        (0, "1 passed in 0.1s", False),
        (2, "E   assert 1 == 2\n1 failed in 0.1s", False),
        (4, "ERROR: not found: no_such_test", False),
        (5, "no tests ran in 0.1s", False),
        (None, "took too long", False),
    ],
)
def test_only_a_failed_test_has_caught_something(
    code: int | None, output: str, caught: bool
) -> None:
    assert judged(code, output)[0] == caught
