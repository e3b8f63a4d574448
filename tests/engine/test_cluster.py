"""A cluster of its own, a master and workers in processes that are killed in the middle of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import understudy as us
from tests.audit.effort import in_audit
from tests.engine.cluster_run import booked, fixed, told
from tests.leaks.canaries import WORD

if TYPE_CHECKING:
    from tests.engine.cluster_story import Story

pytestmark = in_audit


@pytest.fixture(scope="module")
def here(story: Story) -> dict[str, Any]:
    """The same run on the same table by DuckDB."""
    ledger = story.tables / "here.ledger"
    release = fixed(story.tables / "table", ledger, seed=1).run(us.Independent())
    return {"release": told(release), "booked": [list(b) for b in booked(ledger)]}


def test_a_worker_killed_in_the_middle_of_a_count_changes_nothing(
    story: Story, here: dict[str, Any]
) -> None:
    assert story.lost["active"] == 2
    assert story.lost["done_after"] < story.lost["of"]
    # The noise is the same, so the sums are so just if all of the counts are.
    assert story.ended["release"]["measurements"] == here["release"]["measurements"]


def test_each_question_is_charged_once(story: Story, here: dict[str, Any]) -> None:
    assert story.ended["booked"] == here["booked"]
    assert [what for what, _ in story.ended["booked"]][-1] == "2 marginals"
    assert all(answered for _, answered in story.ended["booked"])


def test_with_all_workers_gone_the_run_ends_with_a_hint_and_no_charge(story: Story) -> None:
    assert story.all_lost["active"] >= 1
    assert story.all_lost["done_after"] < story.all_lost["of"]
    assert story.refused["error"] == "EngineError"
    assert story.refused["text"].startswith("the cluster has no workers. Hint: start")
    assert story.refused["alone"]
    # The question that was being counted is not booked.
    assert story.booked == story.ended["booked"][:-1]


def test_resumed_on_new_workers_it_goes_on_where_it_was(story: Story) -> None:
    assert story.resumed["booked"] == story.ended["booked"]
    here = fixed(story.tables / "table", story.tables / "copy.ledger", seed=2)
    assert story.resumed["release"] == told(here.resume())


def test_no_log_of_the_cluster_holds_a_cell(story: Story) -> None:
    assert story.torn["error"] == "MalformedFileError"
    assert story.torn["alone"]
    logs = [p for p in story.logs.rglob("*") if p.is_file() and "conf" not in p.parts]
    assert {p.name for p in logs} >= {"stderr", "0.log"}
    assert not [p.name for p in logs if WORD.encode() in p.read_bytes()]
    assert WORD not in f"{story.printed}{story.torn}"
