"""Models on disk: they come back as they were, and nothing else is taken for one."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.audit.effort import tried
from tests.graph.brute import DOMAIN, EVERY, Case, cases, modelled, random_case
from understudy.errors import MalformedFileError, MissingFileError
from understudy.graph import Clique, Domain, Model, junction_tree, load, save
from understudy.graph.storage import FORMAT

Array = np.ndarray[Any, Any]
CHAIN: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d")]


@pytest.fixture
def model() -> Model:
    return modelled(random_case(DOMAIN, CHAIN, seed=0), total=1000.0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "model.npz"


@given(case=cases())
@tried(100)
def test_a_model_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    """Tree, tables and rows drawn with one seed, bit for bit."""
    model = modelled(case, total=100.0)
    place = tmp_path_factory.mktemp("models") / "model.npz"
    save(model, place)
    back = load(place)
    assert back.tree == model.tree
    assert list(back.tree.domain.sizes) == list(model.tree.domain.sizes)
    for clique in model.tree.cliques:
        assert np.array_equal(back.tables[clique], model.tables[clique])
    drawn, again = (m.sample(50, np.random.default_rng(1)) for m in (model, back))
    assert all(np.array_equal(drawn[n], again[n]) for n in drawn)


def test_names_and_paths_of_any_kind(tmp_path: Path) -> None:
    """Names that a file could take for its own, and a path without the usual ending."""
    domain = Domain({"0": 2, "header": 3, "naïve ½": 2, "": 2, "a/b": 1})
    model = modelled(random_case(domain, [("0", "header"), ("naïve ½", "")], seed=1), total=1.0)
    place = tmp_path / "my model"
    save(model, place)
    assert [p.name for p in tmp_path.iterdir()] == ["my model"]
    back = load(place)
    assert back.tree == model.tree
    assert np.array_equal(back.marginal(["header"]), model.marginal(["header"]))


def test_a_file_that_is_there_is_replaced(model: Model, place: Path) -> None:
    save(modelled(random_case(DOMAIN, [EVERY], seed=2), total=1.0), place)
    save(model, place)
    assert load(place).tree == model.tree


def test_nothing_in_a_file_is_a_pickle(model: Model, place: Path) -> None:
    """Every array is of plain numbers or text, which is all that is read."""
    save(model, place)
    with np.load(place, allow_pickle=False) as held:
        kinds = {held[name].dtype.kind for name in held.files}
    assert kinds == {"f", "U"}


# What is no model.


def contents(place: Path) -> dict[str, Any]:
    with np.load(place, allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def refused(place: Path) -> None:
    with pytest.raises(MalformedFileError, match=r"not an Understudy model, or is damaged\. Hint:"):
        load(place)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"the model file cannot be read \(got .*gone"):
        load(tmp_path / "gone.npz")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="cannot be read"):
        load(tmp_path)


def test_a_save_that_fails_leaves_the_old_model_and_nothing_beside_it(place: Path) -> None:
    tree = junction_tree(Domain({"a": 2}), [])
    save(Model(tree, {("a",): np.array([1.0, 2.0])}), place)
    before = place.read_bytes()
    with pytest.raises(KeyError):
        save(Model(tree, {}), place)
    # What cannot be written fails when half of the file is there.
    endless: Any = (None for _ in range(0))
    with pytest.raises(TypeError):
        save(Model(tree, {("a",): endless}), place)
    assert place.read_bytes() == before
    assert [p.name for p in place.parent.iterdir()] == [place.name]


@pytest.mark.parametrize(
    "content",
    [b"", b"a,b\n1,2\n", b"PK\x03\x04", b"\x93NUMPY", b"\x80\x04K\x01.", b"\x00" * 1000],
    ids=["empty", "text", "zip's first bytes", "npy's first bytes", "pickle", "zeros"],
)
def test_a_file_of_another_kind(place: Path, content: bytes) -> None:
    place.write_bytes(content)
    refused(place)


def test_an_array_alone(place: Path) -> None:
    with place.open("wb") as file:
        np.save(file, np.ones(3))
    refused(place)


def test_another_zip(place: Path) -> None:
    with zipfile.ZipFile(place, "w") as file:
        file.writestr("header", "{}")
        file.writestr("header.npy", "no array")
    refused(place)


def test_a_torn_file(model: Model, place: Path) -> None:
    """Cut anywhere, as by a full disk."""
    save(model, place)
    whole = place.read_bytes()
    for length in range(0, len(whole), 37):
        place.write_bytes(whole[:length])
        refused(place)


def test_a_damaged_file_is_refused_or_is_the_model_it_was(model: Model, place: Path) -> None:
    """Any byte changed: by a bad disk, say."""
    save(model, place)
    whole = place.read_bytes()
    refusals = 0
    for i in range(len(whole)):
        place.write_bytes(whole[:i] + bytes([whole[i] ^ 0x55]) + whole[i + 1 :])
        try:
            back = load(place)
        except MalformedFileError:
            refusals += 1
            continue
        assert back.tree == model.tree
        assert all(np.array_equal(back.tables[c], model.tables[c]) for c in model.tables)
    assert refusals > len(whole) / 2


class Trap:
    """What a pickle calls when it is opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize("name", ["header", "0"])
def test_a_pickle_inside_is_not_opened(model: Model, place: Path, name: str) -> None:
    save(model, place)
    held = contents(place) | {name: np.array([Trap()], dtype=object)}
    with place.open("wb") as file:
        np.savez(file, **held)
    refused(place)
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as file_:
        file_.writestr(f"{name}.npy", pickle.dumps(Trap()))
    place.write_bytes(raw.getvalue())
    refused(place)


def header(model: Model, **changed: Any) -> Array:
    """Write a model's header, with something changed in it."""
    held = {"format": FORMAT, "columns": model.tree.domain.sizes, "cliques": model.tree.cliques}
    return np.array(json.dumps(held | changed))


def test_a_header_as_it_should_be_is_taken(model: Model, place: Path) -> None:
    """What the next test changes is what it is refused for."""
    save(model, place)
    np.savez(place, **(contents(place) | {"header": header(model)}))
    assert load(place).tree == model.tree


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "understudy-model-0"},
        {"format": None},
        {"columns": {}},
        {"columns": []},
        {"columns": {"a": 2, "b": 3, "c": 4}},
        {"columns": {"a": 2, "b": 3, "c": 4, "d": 3}},
        {"columns": {"a": 2, "b": 3, "c": 4, "d": 0}},
        {"columns": {"a": 2, "b": 3, "c": 4, "d": None}},
        {"cliques": []},
        {"cliques": [["a", "b"], ["c", "d"]]},
        {"cliques": [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]},
        {"cliques": [["a", "b"], ["b", "c"], ["c", "z"]]},
        {"cliques": [[["a"], "b"]]},
        {"cliques": 7},
    ],
    ids=str,
)
def test_a_header_that_makes_no_model(model: Model, place: Path, changed: dict[str, Any]) -> None:
    save(model, place)
    np.savez(place, **(contents(place) | {"header": header(model, **changed)}))
    refused(place)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"format": "' + FORMAT + '"}', "[" * 10**5])
def test_a_header_that_is_none(model: Model, place: Path, text: str) -> None:
    save(model, place)
    np.savez(place, **(contents(place) | {"header": np.array(text)}))
    refused(place)


def test_a_header_that_is_missing(model: Model, place: Path) -> None:
    save(model, place)
    held = contents(place)
    del held["header"]
    np.savez(place, **held)
    refused(place)


def test_a_table_that_is_missing(model: Model, place: Path) -> None:
    save(model, place)
    held = contents(place)
    del held["1"]
    np.savez(place, **held)
    refused(place)


SPOILED: dict[str, Callable[[Array], Array]] = {
    "turned": np.transpose,
    "flat": np.ravel,
    "of single precision": lambda t: t.astype(np.float32),
    "of whole numbers": lambda t: np.round(t).astype(np.int64),
    "of another total": lambda t: t * 2,
    "at odds with its neighbours": lambda t: t[::-1, ::-1],
    "with a negative cell": lambda t: np.where(t == t.max(), -t, t),
    "with a cell that is no number": lambda t: np.where(t == t.max(), np.nan, t),
    "with an infinite cell": lambda t: np.where(t == t.max(), np.inf, t),
}


@pytest.mark.parametrize("kind", SPOILED)
@pytest.mark.parametrize("name", ["0", "1", "2"])
def test_a_table_that_no_model_has(model: Model, place: Path, name: str, kind: str) -> None:
    save(model, place)
    held = contents(place)
    held[name] = SPOILED[kind](held[name])
    np.savez(place, **held)
    refused(place)


def test_a_model_of_no_rows_is_one(place: Path) -> None:
    tree = junction_tree(Domain({"a": 2}), [])
    save(Model(tree, {("a",): np.zeros(2)}), place)
    assert load(place).total == 0


@pytest.mark.parametrize("value", [np.inf, np.nan, -1.0])
def test_tables_that_agree_on_what_cannot_be(place: Path, value: float) -> None:
    tree = junction_tree(Domain({"a": 2}), [])
    save(Model(tree, {("a",): np.full(2, value)}), place)
    refused(place)
