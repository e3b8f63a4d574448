"""One registry of mechanisms: exports, help, the command line and releases all read it."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import understudy as us
from tests.cli.place import Place
from understudy.budget import price_lower, scale_upper
from understudy.door import Door
from understudy.errors import UsageError
from understudy.public import Batches, Progress, PublicTable, Synthesis
from understudy.synth import MECHANISMS, mechanism_from_dict, mechanism_to_dict


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A toy: a row of one code for each of a noisy number of people."""

    name: ClassVar[str] = "constant"

    code: int = 0
    """The code of every column."""

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Count people, and make a row for each."""
        price = price_lower(door.grains, door.currency)
        scale = scale_upper(price, door.currency, bound=Fraction(1))
        rows = max(1, round(door.units(scale=scale)))
        codes = {n: np.full(rows, self.code, dtype=np.int32) for n in door.schema.domain}
        return Synthesis(batches=Batches.held(codes, np.arange(rows)), measurements=())


def test_a_toy_mechanism_needs_one_file_and_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path / "place", capsys)
    monkeypatch.setitem(MECHANISMS, Constant.name, Constant)
    toy = Constant(code=1)
    assert mechanism_from_dict(mechanism_to_dict(toy)) == toy
    with pytest.raises(SystemExit):
        place.fine("synth", "--help")
    assert "constant" in capsys.readouterr().out

    place.fine(*place.synth(mechanism="constant"))
    manifest = json.loads((place / "out" / "manifest.json").read_text())
    assert manifest["mechanism"]["name"] == "constant"
    assert [charge["asked"] for charge in manifest["charges"]] == ["number of people"]
    settings = place / "settings.toml"
    settings.write_text("colour = 1")
    told = place.say(*place.synth(mechanism="constant", settings=settings, out=place / "again"))
    assert "constant has no such setting (got colour; allowed: code)" in told.err


def test_an_unknown_mechanism_is_refused_with_all_that_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        mechanism_from_dict({"name": "magic", "settings": {}})
    assert caught.value.allowed == ", ".join(MECHANISMS)


def test_every_mechanism_is_registered_by_its_own_name() -> None:
    assert [MECHANISMS[name].name for name in MECHANISMS] == list(MECHANISMS)


def test_every_registered_mechanism_can_be_had_from_the_top() -> None:
    """At run time the package reads the registry; type checkers read the file as it stands."""
    tree = ast.parse(Path(us.__file__).read_text(encoding="utf-8"))
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    for class_name, module in MECHANISMS.homes.items():
        assert getattr(us, class_name).__module__.startswith(module)
        assert class_name in imported, f"import {class_name} in understudy/__init__.py"
        assert class_name in us.__all__, f"list {class_name} in understudy.__all__"
