"""Check that the tests reach every `raise` of the privacy rooms.

As a plugin (``pytest -p tests.raises``) it makes each `raise` of those rooms record that it was
reached, in the file ``.raises``; as a command it prints the ones that no test reached.  A tool
that traces every line would tell the same, for half as much time again on every test.
"""

from __future__ import annotations

import ast
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

ROOMS = ("budget", "noise", "ledger", "door", "vault", "session", "engine", "schema", "release")
ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "understudy"
RECORD = ROOT / ".raises"
_RECORDER = "_record_raise"


class _Recording(ast.NodeTransformer):
    """Put a call that records the line before each `raise`."""

    def visit_Raise(self, node: ast.Raise) -> list[ast.stmt]:
        call = ast.parse(f"{_RECORDER}({node.lineno})").body[0]
        for part in ast.walk(call):
            ast.copy_location(part, node)
        return [call, node]


class _Loader(SourceFileLoader):
    """Load a module whose raises record themselves; bytecode is neither read nor kept."""

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.get_filename(fullname))
        tree = _Recording().visit(ast.parse(source))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        name = str(Path(self.path).relative_to(SOURCE))
        vars(module)[_RECORDER] = lambda line: REACHED.add(f"{name}:{line}")
        super().exec_module(module)


class _Finder:
    """Find the modules of the privacy rooms as usual, and load them with `_Loader`."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parts = name.split(".")
        if parts[0] != "understudy" or len(parts) < 2 or parts[1] not in ROOMS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


REACHED: set[str] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Begin before anything of the project is imported."""
    sys.meta_path.insert(0, _Finder)


def pytest_unconfigure() -> None:
    """Add what this process reached to the record."""
    # At once: several processes write to it.
    with RECORD.open("ab", buffering=0) as record:
        record.write("".join(f"{line}\n" for line in sorted(REACHED)).encode())


def main() -> int:
    """Print the raises that no test reached."""
    reached = set(RECORD.read_text(encoding="utf-8").split())
    every = []
    for path in sorted(p for room in ROOMS for p in (SOURCE / room).rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        lines = sorted(node.lineno for node in nodes if isinstance(node, ast.Raise))
        every += [f"{path.relative_to(SOURCE)}:{line}" for line in lines]
    missed = [line for line in every if line not in reached]
    count = len(every)
    print(
        f"{count - len(missed)} of {count} raises in the privacy rooms and their neighbours reached"
    )
    print("\n".join(missed))
    return 1 if missed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
