"""The keyed chain: what a published head gives away, what it holds fast, and what it cannot."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.ledger.chains import NEW, OLD, forge, key_of, link, mark_of, rows_of
from tests.ledger.files import raw, refused
from understudy.budget import Budget, Currency, ResolvedUnit, noise_charge
from understudy.errors import LedgerMismatchError, MalformedFileError
from understudy.ledger import Ledger, new_key

if TYPE_CHECKING:
    from collections.abc import Callable

TOTAL = Budget(epsilon=2.0, delta=1e-6)
SMALL = Budget(epsilon=0.5, delta=1e-6)
CHARGE = noise_charge(50.0, Currency.GDP, bound=Fraction(1))
RUN = 6
"""The entries of a run of two questions."""


def spend(path: Path, *, answer: bytes = b"12345678", close: bool = True) -> dict[str, Any]:
    """Make a run of two questions, and give what its manifest would say."""
    with closing(Ledger(path)) as ledger:
        run = ledger.begin(SMALL, {"mechanism": {"name": "none"}})
        for ordinal in range(2):
            run.reserve(ordinal, f"plan {ordinal}", "number of people", CHARGE)
            run.store(ordinal, f"plan {ordinal}", answer)
        if close:
            run.close()
        state = ledger.state()
        return {
            "table": state.name,
            "guarantee": {"unit": str(state.unit), **SMALL.to_dict()},
            "ledger": {
                "run": run.number,
                "total": state.budget.to_dict(),
                "head": state.runs[run.number].head,
            },
        }


def new(path: Path, *, name: str = "trips", unit: str = "taxi", key: str | None = None) -> Path:
    with closing(Ledger.create(path, budget=TOTAL, key=key)) as ledger:
        ledger.bind(name=name, unit=ResolvedUnit.of(unit))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return new(tmp_path / "a.ledger")


def verified(path: Path, manifest: dict[str, Any]) -> tuple[int, int, int, int, int]:
    with closing(Ledger(path)) as ledger:
        at = ledger.verify(manifest)
    return at.run, at.entry, at.entries_since, at.charges_since, at.grains_since


def not_found(path: Path, manifest: dict[str, Any], meaning: str) -> None:
    with closing(Ledger(path)) as ledger, pytest.raises(LedgerMismatchError) as caught:
        ledger.verify(manifest)
    assert "no entry of the ledger" in caught.value.what
    assert meaning in (caught.value.hint or "")
    assert "comes on top of what it shows as spent" in (caught.value.hint or "")


# The key


def test_every_link_is_an_hmac_under_a_key_of_the_first_entry(path: Path) -> None:
    spend(path)
    assert mark_of(path) == NEW
    rows, before = rows_of(path), ""
    key = key_of(rows[0][4])
    assert json.loads(rows[0][4])["key"]
    for row in rows:
        before = link(key, before, row)
        assert row[-1] == before
    assert len(rows) == 2 + RUN


def test_a_head_tests_no_guess_of_what_is_in_the_ledger(path: Path) -> None:
    """Somebody who has guessed every entry but the key, and has every head, knows no more."""
    spend(path)
    rows = rows_of(path)
    body = json.loads(rows[0][4])
    wrong = [key_of(json.dumps(body | {"key": new_key()})), key_of("{}"), b"", bytes(32)]
    before = ""
    for row in rows:
        for key in (None, *wrong):
            assert link(key, before, row) != row[-1]
        before = row[-1]


def test_two_ledgers_that_differ_in_their_keys_alone_share_no_link(tmp_path: Path) -> None:
    heads = []
    for i in range(2):
        path = new(tmp_path / f"{i}.ledger")
        spend(path)
        heads += [row[-1] for row in rows_of(path)]
    assert len(set(heads)) == 2 * (2 + RUN)


@pytest.mark.parametrize(("made", "said"), [(NEW, OLD), (OLD, NEW)])
def test_a_ledger_with_the_mark_of_the_other_chain_is_refused(
    path: Path, made: int, said: int
) -> None:
    spend(path)
    if made == OLD:
        forge(path, mark=OLD)
    with raw(path, hands_off=True) as connection:
        connection.execute(f"PRAGMA application_id = {said}")
    refused(path, "entry 1 breaks the hash chain")


# Ledgers from before


def test_an_old_ledger_opens_goes_on_and_is_verified_as_it_was(path: Path) -> None:
    spend(path)
    forge(path, mark=OLD)
    before = rows_of(path)
    first = {row[-1] for row in before}
    with closing(Ledger(path)) as ledger:
        assert not ledger.keyed
        old = ledger.state()
    manifest = spend(path)
    assert mark_of(path) == OLD
    assert rows_of(path)[: len(before)] == before
    chain = ""
    for row in rows_of(path):
        chain = link(None, chain, row)
        assert row[-1] == chain
    with closing(Ledger(path)) as ledger:
        assert ledger.state().runs[1] == old.runs[1]
    assert manifest["ledger"]["head"] not in first
    assert verified(path, manifest) == (2, 2 + 2 * RUN, 0, 0, 0)


@pytest.mark.parametrize("number", range(1, 3 + RUN))
def test_a_change_of_an_old_ledger_is_noticed(path: Path, number: int) -> None:
    spend(path)
    forge(path, mark=OLD)
    with raw(path) as connection:
        connection.execute("UPDATE entries SET body = body || ' ' WHERE number = ?", (number,))
    refused(path, f"entry {number} breaks the hash chain")


def test_a_new_ledger_has_a_key(path: Path) -> None:
    with closing(Ledger(path)) as ledger:
        assert ledger.keyed


# A manifest that agrees


def test_a_manifest_is_found_and_what_came_after_it_is_counted(path: Path) -> None:
    one, two = spend(path), spend(path)
    cost = CHARGE.grains(Currency.GDP)
    assert verified(path, one) == (1, 2 + RUN, RUN, 2, 2 * cost)
    assert verified(path, two) == (2, 2 + 2 * RUN, 0, 0, 0)
    spend(path, close=False)
    assert verified(path, two) == (2, 2 + 2 * RUN, RUN - 1, 2, 2 * cost)


# Manifests that do not


def test_an_older_copy_put_back_is_seen_by_the_manifests_made_after_it(path: Path) -> None:
    one = spend(path)
    old = shutil.copy(path, path.with_name("old"))
    two = spend(path)
    shutil.copy(old, path)
    assert verified(path, one)[0] == 1
    not_found(path, two, "an older copy of the ledger was restored")
    # A run that was open in the copy, and is not yet closed.
    spend(path, close=False)
    not_found(path, two, "an older copy of the ledger was restored")


@pytest.mark.parametrize("answer", [b"12345678", b"87654321"])
def test_a_copy_that_went_another_way_is_seen(path: Path, answer: bytes) -> None:
    one = spend(path)
    other = Path(shutil.copy(path, path.with_name("other")))
    with closing(Ledger(other)) as ledger:
        ledger.begin(SMALL, {"mechanism": {"name": "some"}}).close()
    two = spend(path)
    spend(other, answer=answer)
    assert verified(other, one)[0] == 1
    not_found(other, two, "a copy of the ledger that has since diverged")


def test_another_ledger_is_seen(path: Path) -> None:
    manifest = spend(path)
    same = new(path.with_name("same"))
    not_found(same, manifest, "or with another ledger")
    spend(same)
    not_found(same, manifest, "or with another ledger of this table")
    for i, (name, unit) in enumerate((("rides", "taxi"), ("trips", "driver"))):
        other = new(path.with_name(f"other-{i}"), name=name, unit=unit)
        spend(other)
        not_found(other, manifest, "this is another ledger: that release is of trips, unit taxi")
    Ledger.create(path.with_name("unbound"), budget=TOTAL).close()
    not_found(path.with_name("unbound"), manifest, "this is another ledger")


def _changed(place: int, column: int) -> Callable[[list[tuple[Any, ...]]], list[tuple[Any, ...]]]:
    def change(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        row = list(rows[place])
        more = json.dumps(json.loads(row[4]) | {"more": 1})
        row[column] = more if column == 4 else b"another!"
        return [*rows[:place], tuple(row), *rows[place + 1 :]]

    return change


@pytest.mark.parametrize("mark", [NEW, OLD])
@pytest.mark.parametrize("column", [4, 5], ids=["body", "payload"])
@pytest.mark.parametrize("place", range(2 + RUN))
def test_nothing_before_a_head_can_be_changed_even_with_the_key(
    path: Path, place: int, column: int, mark: int
) -> None:
    """The ledger itself has nothing to say against it: it was forged with care."""
    manifest = spend(path)
    forge(path, mark=mark)
    if mark == OLD:
        manifest["ledger"]["head"] = rows_of(path)[-1][-1]
    assert verified(path, manifest)[0] == 1
    forge(path, _changed(place, column), mark=mark)
    not_found(path, manifest, "has since diverged")


@pytest.mark.parametrize("place", [3, 4, 1 + RUN])
def test_nothing_before_a_head_can_be_left_out(path: Path, place: int) -> None:
    manifest = spend(path)
    forge(path, lambda rows: [*rows[:place], *rows[place + 1 :]])
    not_found(path, manifest, "another")


def test_a_ledger_chained_anew_without_a_key_has_none_of_its_heads(path: Path) -> None:
    manifest = spend(path)
    forge(path, mark=OLD)
    not_found(path, manifest, "has since diverged")


def test_what_came_after_the_last_manifest_can_be_taken_back_unseen(path: Path) -> None:
    """The limit that the promise names: no manifest, no sight."""
    manifest = spend(path)
    before = rows_of(path)
    spend(path)
    forge(path, lambda rows: rows[: len(before)])
    assert rows_of(path) == before
    assert verified(path, manifest) == (1, 2 + RUN, 0, 0, 0)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("run", {"ledger": {"run": 2}}),
        ("run", {"ledger": {"run": "1"}}),
        ("table", {"table": "rides"}),
        ("unit", {"guarantee": {"unit": "driver"}}),
        ("epsilon", {"guarantee": {"epsilon": 0.25}}),
        ("delta", {"guarantee": {"delta": 1e-9}}),
        ("total epsilon", {"ledger": {"total": {"epsilon": 3.0, "delta": 1e-6}}}),
        ("total delta", {"ledger": {"total": {"epsilon": 2.0, "delta": 1e-9}}}),
    ],
)
def test_a_manifest_that_says_another_thing_under_the_same_head_is_seen(
    path: Path, what: str, change: dict[str, Any]
) -> None:
    manifest = spend(path)
    spend(path)
    for part, other in change.items():
        manifest[part] = manifest[part] | other if isinstance(other, dict) else other
    with closing(Ledger(path)) as ledger, pytest.raises(LedgerMismatchError) as caught:
        ledger.verify(manifest)
    assert caught.value.what.endswith(f"have the same head, but not the same {what}")
    assert "the manifest was edited" in str(caught.value)


@pytest.mark.parametrize("number", [1, 2])
def test_the_head_of_an_entry_of_no_run_is_no_manifests(path: Path, number: int) -> None:
    manifest = spend(path)
    manifest["ledger"]["head"] = rows_of(path)[number - 1][-1]
    with (
        closing(Ledger(path)) as ledger,
        pytest.raises(LedgerMismatchError, match=r"not the same run \(got 1; allowed: none\)"),
    ):
        ledger.verify(manifest)


@pytest.mark.parametrize(
    "part", ["table", "guarantee", "ledger", "unit", "epsilon", "delta", "run", "total", "head"]
)
def test_a_manifest_without_what_is_compared_is_told(path: Path, part: str) -> None:
    manifest = spend(path)
    for place in (manifest, manifest["guarantee"], manifest["ledger"]):
        place.pop(part, None)
    wrong: list[Any] = [manifest, {}, {"ledger": "x", "guarantee": {}}, [], None, "manifest"]
    wrong.append(spend(path) | {"ledger": {"head": 5, "run": 1, "total": TOTAL.to_dict()}})
    with closing(Ledger(path)) as ledger:
        for told in wrong:
            with pytest.raises(MalformedFileError, match="not an Understudy manifest") as caught:
                ledger.verify(told)
            assert caught.value.__context__ is None
