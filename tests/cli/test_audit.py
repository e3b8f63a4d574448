"""The audit command: a table of what was tried, or one line about a broken promise."""

from __future__ import annotations

import json
import re

import pytest

from tests.audit.cheats import Telling
from tests.audit.effort import THOROUGH
from understudy.cli import audit
from understudy.cli.main import main
from understudy.synth import MECHANISMS
from understudy.vault import discovery

USUAL = ("independent", "usercounts")
"""Mechanisms that are audited quickly; `tests/audit` has the others."""
FACTS = {"mechanism": "none", "pairs": 1, "reach": 0.0, "seed": 1}


def test_an_audit_says_what_it_tried(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = {name: MECHANISMS[name] for name in MECHANISMS if THOROUGH or name in USUAL}
    assert len(registered) >= len(USUAL)
    monkeypatch.setattr(audit, "MECHANISMS", registered)
    assert main(["audit", "--pairs", "2", "--statistical", "--runs", "12", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["kept"] is True
    for facts in told["mechanisms"]:
        assert facts["pairs"] == 2
        assert facts["reach"] <= 1 + 1e-9
        assert len(facts["containers"]) == 2
        assert facts["mu_at_least"] <= facts["claimed_mu"]
    assert [facts["mechanism"] for facts in told["mechanisms"]] == list(registered)
    found = told["discovery"]
    assert found["failure_at_least"] <= found["claimed_failure"]
    assert found["mu_at_least"] <= found["claimed_mu"]


def test_an_audit_as_a_table_and_again_by_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["audit", "--mechanism", "independent", "--pairs", "2", "--seed", "7"]
    assert main(asked) == 0
    first = capsys.readouterr().out
    assert (
        "Every promise was kept; seed 7. Tables were stored in 2 kinds of container."
        in " ".join(first.split())
    )
    assert main(asked) == 0
    assert capsys.readouterr().out == first


def test_a_broken_promise_is_one_line_and_exit_17(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MECHANISMS, Telling.name, Telling)
    assert main(["audit", "--mechanism", Telling.name, "--pairs", "9"]) == 17
    told = capsys.readouterr()
    assert "telling made a different release on a neighbour (got manifest)" in told.err
    assert len(told.err.splitlines()) == 1


def test_discovery_is_audited_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_tried", lambda _: [{**FACTS, "containers": []}])
    assert main(["audit", "--statistical", "--runs", "400"]) == 0
    assert "Discovery told values of 0.0" in capsys.readouterr().out
    monkeypatch.setattr(discovery, "value_weight", lambda _: 2**16)
    # Half of the runs tell a loss of 2 from the claim of 1 by eight standard errors.
    assert main(["audit", "--statistical", "--runs", "1200"]) == 17
    broken = r"discovery (tells values of one person alone more often|loses more privacy) than it"
    assert re.search(broken, capsys.readouterr().err)


@pytest.mark.parametrize("wrong", [["--pairs", "0"], ["--runs", "1"], ["--mechanism", "none"]])
def test_an_audit_that_cannot_be(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *wrong]) == 2
    assert capsys.readouterr().err.startswith("understudy: ")
