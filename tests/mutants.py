"""Mutation testing of the privacy rooms: small changes to the code, each of which a test must see.

    python tests/mutants.py [NUMBER] [ROOM…]

So many of all possible mutants are tried, one at a time, in a copy of the house: each against
the tests of its room, the cheapest first.  Which ones is settled by a hash of what they are, so
that a sample is the same every time, a smaller one is part of a larger one, and a change to the
code moves few of them.  A mutant is caught when a test fails, takes far too long, or cannot be
imported.  A survivor must be explained in ``docs/mutants.md``, under its own code.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.zoo.zoo import AT_ONCE, SOURCE, check_import, copied, tested  # noqa: E402  as above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Change = Callable[[Any], None]

EXPLAINED = ROOT / "docs" / "mutants.md"
NUMBER = 150
SEED = "understudy"
SHORTEST = 60.0
PATIENCE = 3.0
"""A stage that takes so many times what it takes without a mutant has caught it."""

SLOW = {
    "budget": [
        "tests/budget/test_calibration.py::test_every_rule_keeps_the_budget_and_gdp_needs_least",
        "tests/budget/test_calibration.py::test_the_epsilon_of_a_selection_is_within_its_price_and_near_it",
        "tests/budget/test_gaussian.py::test_against_dp_accounting_on_a_grid_never_below_and_hardly_above",
        "tests/budget/test_gaussian.py::test_epsilon_and_mu_are_inverse_and_lean_to_the_safe_side",
    ],
    "noise": [
        "tests/noise/test_lattice.py::test_each_draw_is_the_exact_rounding",
        "tests/noise/test_probabilities.py",
    ],
    "vault": [
        f"tests/vault/test_sensitivity.py::test_{name}"
        for name in (
            "the_engine_counts_what_the_obvious_version_counts",
            "a_person_alone_moves_no_more_than_is_charged",
            "and_the_largest_single_count_is_within_the_bound",
            "one_persons_arrival_adds_their_own_counts_and_moves_nobody_elses",
        )
    ],
    "ledger": [
        "tests/ledger/test_ledger.py::TestLedgerMachine",
        "tests/ledger/test_ledger.py::TestPureLedgerMachine",
        "tests/ledger/test_race.py",
    ],
}
"""Tests of a room that take long: they run only for what the others have let through."""


def _quick(room: str, *first: str) -> list[str]:
    """Name the tests of a room that are not slow, some files before the others."""
    files = sorted(path.name for path in (ROOT / "tests" / room).glob("test_*.py"))
    files.sort(key=lambda name: name not in {f"test_{file}.py" for file in first})
    return [*(f"tests/{room}/{name}" for name in files), *(f"--deselect={n}" for n in SLOW[room])]


STAGES: dict[str, list[list[str]]] = {
    "budget": [_quick("budget", "budget", "calibration", "gaussian"), SLOW["budget"]],
    "noise": [_quick("noise", "selection", "lattice"), SLOW["noise"]],
    "door": [
        ["tests/door", *_quick("vault", "door")],
        SLOW["vault"],
        ["tests/session/test_session.py"],
    ],
    "vault": [
        _quick("vault", "door"),
        [*SLOW["vault"], "tests/budget/test_accounting.py"],
        ["tests/session/test_session.py"],
    ],
    "ledger": [_quick("ledger", "ledger"), [*SLOW["ledger"], "tests/session/test_session.py"]],
}
"""The tests that a room's mutants must get past, stage by stage."""

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.USub: ast.UAdd,
    ast.Invert: ast.UAdd,
}
PAIRS = [
    ("min", "max"),
    ("ceil", "floor"),
    ("all", "any"),
    ("fmin", "fmax"),
    ("maximum", "minimum"),
]
RENAMED = dict(PAIRS) | {b: a for a, b in PAIRS} | {"rint": "floor", "nint": "floor"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change to one file, known by what it changes and not by where that stands."""

    file: str
    function: str
    statement: str
    what: str
    text: str
    """The whole file, changed."""

    @property
    def room(self) -> str:
        """The room it is in."""
        return self.file.partition("/")[0]

    @property
    def code(self) -> str:
        """A short name that stays while the statement does."""
        whole = f"{self.file}\n{self.function}\n{self.statement}\n{self.what}"
        return hashlib.sha256(f"{SEED}\n{whole}".encode()).hexdigest()[:10]

    def __str__(self) -> str:
        """Show it in a line."""
        return f"{self.code} {self.file} {self.function}: {self.statement}: {self.what}"

    def row(self) -> str:
        """Show it as a row of the table of survivors, but for the reason."""
        mutation = f"{self.what} in `{self.statement}`".replace("|", "∣")
        return f"| {self.code} | `{self.file}` | `{self.function}` | {mutation} |  |"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant."""

    mutant: Mutant
    caught_by: str | None
    seconds: float


def mutants(room: str) -> Iterator[Mutant]:
    """List every mutant of a room."""
    for path in sorted((SOURCE / room).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        file = path.relative_to(SOURCE).as_posix()
        twins: Counter[str] = Counter()
        for function, statement, node in _places(tree, "", ""):
            for change in _changes(node):
                before, text, after = _applied(node, change, tree)
                what = f"`{before}` → `{after}`"
                mutant = Mutant(file, function or "the module", statement, what, text)
                twins[mutant.code] += 1
                if twins[mutant.code] > 1:
                    mutant = replace(mutant, what=f"{what}, place {twins[mutant.code]}")
                yield mutant


def _places(node: ast.AST, function: str, statement: str) -> Iterator[tuple[str, str, ast.AST]]:
    """Walk through the code, but not through annotations, type aliases or words of errors."""
    if isinstance(node, ast.stmt):
        statement = ast.unparse(node).partition("\n")[0].rstrip(":")
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        function = f"{function}.{node.name}".lstrip(".")
    if _is_left_alone(node, function):
        return
    yield function, statement, node
    skipped = {"value"} if _is_switch(node) else {"annotation", "returns"}
    for name, value in ast.iter_fields(node):
        if name not in skipped:
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from _places(part, function, statement)


def _is_switch(node: ast.AST) -> bool:
    """Whether a node is an argument by name that is True or False: it is changed as a whole."""
    return isinstance(node, ast.keyword) and isinstance(getattr(node.value, "value", None), bool)


def _is_left_alone(node: ast.AST, function: str) -> bool:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        return not function and isinstance(node.value.op, ast.BitOr)
    if isinstance(node, ast.keyword):
        # How a record is laid out and written, not what it does.
        return node.arg in {"slots", "kw_only"}
    return isinstance(node, ast.Raise)


def _applied(node: ast.AST, change: Change, tree: ast.AST) -> tuple[str, str, str]:
    """Change a node in its tree, write both down, and change it back."""
    kept = {k: list(v) if isinstance(v, list) else v for k, v in vars(node).items()}
    before = _shown(node)
    change(node)
    after, text = _shown(node), ast.unparse(ast.fix_missing_locations(tree))
    vars(node).update(kept)
    return before, text, after


def _shown(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0].rstrip(":")


def _changes(node: ast.AST) -> Iterator[Change]:
    """Give what could be changed of a node."""
    match node:
        case ast.Compare():
            for i, op in enumerate(node.ops):
                yield _set_item("ops", i, SWAPPED[type(op)]())
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() | ast.UnaryOp():
            if type(node.op) in SWAPPED:
                yield _set("op", SWAPPED[type(node.op)]())
        case ast.keyword(value=ast.Constant(value=bool(held))):
            yield _set("value", ast.Constant(not held))
        case ast.Constant(value=bool(held)):
            yield _set("value", not held)
        case ast.Constant(value=int(number) | float(number)):
            yield _set("value", number + 1)
        case ast.IfExp():
            yield _set("test", ast.UnaryOp(ast.Not(), node.test))
        case ast.If():
            yield from _changed_if(node)
        case ast.Expr(value=ast.Call()):
            yield _set("value", ast.Constant(...))
        case ast.Call():
            yield from _changed_call(node)
        case _:
            pass


def _changed_if(node: ast.If) -> Iterator[Change]:
    if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    # A comparison is turned round, or its edge moved, by itself.
    if not isinstance(node.test, ast.Compare):
        yield _set("test", ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node.body[-1], (ast.Raise, ast.Return, ast.Continue)):
        yield _set("test", ast.Constant(value=False))


def _changed_call(node: ast.Call) -> Iterator[Change]:
    match node.func:
        case ast.Name(id=name) if name in RENAMED:
            yield _set("func", ast.Name(RENAMED[name]))
        case ast.Attribute(attr=name) if name in RENAMED:
            yield _set("func", ast.Attribute(node.func.value, RENAMED[name]))
        case ast.Attribute(attr="nextafter"):
            yield _set("args", [node.args[0], ast.UnaryOp(ast.USub(), node.args[1])])
        case _:
            pass


def _set(field: str, value: object) -> Change:
    return lambda node: setattr(node, field, value)


def _set_item(field: str, place: int, value: object) -> Change:
    return lambda node: getattr(node, field).__setitem__(place, value)


def sample(number: int, rooms: Sequence[str]) -> list[Mutant]:
    """Choose so many mutants of some rooms."""
    every = [mutant for room in STAGES for mutant in mutants(room)]
    ordered = sorted(every, key=lambda mutant: mutant.code)
    return [mutant for mutant in ordered if mutant.room in rooms][:number]


def explained() -> set[str]:
    """Read the codes of the survivors that have a reason, which is the last cell of their row."""
    text = EXPLAINED.read_text(encoding="utf-8")
    return set(re.findall(r"^\| ([0-9a-f]{10}) \|.*\| [^|]*[^| ][^|]* \|$", text, re.MULTILINE))


def patience(room: str) -> list[float]:
    """Run a room's tests where nothing is changed, and say how long each stage may take."""
    allowed = []
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        copied(Path(name))
        check_import(Path(name))
        for nodes in STAGES[room]:
            start = time.monotonic()
            code, output = tested(Path(name), nodes, 60 * SHORTEST)
            if code != 0:
                raise RuntimeError(f"the tests fail where nothing is changed:\n{output[-2000:]}")
            allowed.append(max(SHORTEST, PATIENCE * (time.monotonic() - start)))
    return allowed


def tried(mutant: Mutant, allowed: Sequence[float]) -> Outcome:
    """Put a mutant into a copy, and see whether a test catches it."""
    start, caught_by = time.monotonic(), None
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        (copied(Path(name)) / mutant.file).write_text(mutant.text, encoding="utf-8")
        for nodes, longest in zip(STAGES[mutant.room], allowed, strict=True):
            code, output = tested(Path(name), nodes, longest)
            if code != 0:
                caught_by = _blamed(code, output)
                break
    outcome = Outcome(mutant, caught_by, time.monotonic() - start)
    told = f"caught by {caught_by}" if caught_by else "SURVIVED"
    print(f"{mutant}\n    {told}, {outcome.seconds:.0f} s", flush=True)
    return outcome


def _blamed(code: int | None, output: str) -> str:
    """Name the test that failed, or say what happened instead."""
    if code is None:
        return "the clock"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return failed[1] if code == 1 and failed else "the import, which fails"


def main(words: Sequence[str]) -> int:
    """Try a sample, and fail where a survivor has no reason."""
    numbers, rooms = [w for w in words if w.isdigit()], [w for w in words if not w.isdigit()]
    if unknown := set(rooms) - set(STAGES):
        print(f"no such room: {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
        return 2
    chosen = sample(int(numbers[0]) if numbers else NUMBER, rooms or list(STAGES))
    present = sorted({mutant.room for mutant in chosen})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        allowed = dict(zip(present, pool.map(patience, present), strict=True))
        outcomes = list(pool.map(lambda m: tried(m, allowed[m.room]), chosen))
    return report(outcomes)


def report(outcomes: Sequence[Outcome]) -> int:
    """Say what survived, and whether all of it is explained."""
    reasons = explained()
    survivors = [o.mutant for o in outcomes if o.caught_by is None]
    nameless = [m for m in survivors if m.code not in reasons]
    for outcome in outcomes:
        if outcome.caught_by is not None and outcome.mutant.code in reasons:
            print(f"caught though it is explained, so its row can go: {outcome.mutant}")
    for mutant in nameless:
        print(mutant.row())
    caught = len(outcomes) - len(survivors)
    end = f"{len(nameless)} of them not explained, see above" if nameless else "all explained"
    print(f"{len(outcomes)} mutants: {caught} caught, {len(survivors)} survived, {end}")
    return 1 if nameless or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
