"""Archetypes of public people: what a cell's label is, what is saved, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from tests.synth.crowds import crowd, random_crowd
from understudy.budget import Unit
from understudy.errors import MissingFileError, OutputExistsError, QuestionError, UsageError
from understudy.public import PublicTable, Shapes, read_public
from understudy.public.kind_choice import FEWEST, PRIORS, SPREAD, likelihood
from understudy.public.shapes import Mixture, coordinates, kinds
from understudy.schema import Categorical, Id, Integer, Schema

SIZES = {"a": 30, "b": 4, "c": 3}
FEATURES = ("a", "b")


def blobs(seed: int, centres: int, people: int = 90) -> PublicTable:
    """People of a few kinds: rows near a centre of their own, far from the other centres."""
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(people), 6)
    kind = rng.integers(centres, size=people)[whose]
    a = np.clip(np.rint(3 + 24 * kind / max(centres - 1, 1) + rng.normal(size=len(whose))), 0, 29)
    c = rng.integers(3, size=len(whose))
    return crowd(whose, SIZES, a=a.astype(np.int64), b=kind % 4, c=c)


def tables() -> list[PublicTable]:
    return [random_crowd(np.random.default_rng(1), SIZES, 60), blobs(2, 3)]


def points(public: PublicTable) -> NDArray[np.float64]:
    return np.stack([public.codes[n].astype(np.float64) for n in FEATURES], axis=1)


def slow_log(mixture: Mixture, part: int, point: NDArray[np.float64]) -> float:
    """The log-density of one Gaussian at one point, by its covariance."""
    scaled = (point - mixture.mean) / mixture.deviation
    factor = mixture.factors[part]
    covariance = np.linalg.inv(factor @ factor.T)
    apart = scaled - mixture.centres[part]
    squared = apart @ np.linalg.solve(covariance, apart)
    volume = np.log(np.linalg.det(2 * np.pi * covariance))
    return float(np.log(mixture.weights[part]) - 0.5 * (squared + volume))


# Labels


@pytest.mark.parametrize("public", tables(), ids=["random", "blobs"])
def test_a_cells_label_is_the_part_of_the_mixture_that_is_likeliest_there(
    public: PublicTable,
) -> None:
    shapes = Shapes.of(public, FEATURES, 5)
    assert shapes.labels.shape == (30 * 4,)
    for cell in range(30 * 4):
        point = np.array([cell // 4, cell % 4], dtype=np.float64)
        logs = [slow_log(shapes.mixture, part, point) for part in range(5)]
        assert logs[int(shapes.labels[cell])] >= max(logs) - 1e-6
        assert shapes.mixture.logs(point[None])[0] == pytest.approx(logs, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("public", tables(), ids=["random", "blobs"])
def test_raw_codes_are_labelled_as_scaled_ones_are_predicted(public: PublicTable) -> None:
    """The scaler stays with the mixture: the document's code left it out."""
    shapes = Shapes.of(public, FEATURES, 4)
    scaler = StandardScaler().fit(points(public))
    model = GaussianMixture(4, random_state=0, reg_covar=1e-4)
    model.fit(scaler.transform(points(public)))
    predicted = model.predict(scaler.transform(points(public)))
    assert shapes.labels[public.cells(FEATURES)].tolist() == predicted.tolist()
    # Without it, labels would be others.
    assert (model.predict(points(public)) != predicted).mean() > 0.1


def test_people_of_different_kinds_get_different_archetypes() -> None:
    public = blobs(3, 3)
    shapes = Shapes.of(public, FEATURES, 3)
    own = shapes.kinds(public)
    middle = public.codes["a"].reshape(-1, 6).mean(axis=1)
    found = {tuple(np.unique(own[np.abs(middle - at) < 4])) for at in (3, 15, 27)}
    assert found == {(0,), (1,), (2,)}


@pytest.mark.parametrize("public", tables(), ids=["random", "blobs"])
def test_a_person_is_of_the_most_common_label_of_their_rows(public: PublicTable) -> None:
    shapes = Shapes.of(public, FEATURES, 5)
    assert public.people is not None
    own: dict[int, Counter[int]] = {}
    for person, cell in zip(public.people, public.cells(FEATURES), strict=True):
        own.setdefault(int(person), Counter())[int(shapes.labels[cell])] += 1
    wanted = []
    for held in own.values():
        most = max(held.values())
        wanted.append(min(label for label, n in held.items() if n == most))
    assert shapes.kinds(public).tolist() == wanted
    # And so many people and rows there are of each, in just these cells.
    rows = np.zeros((5, 120))
    others = np.zeros((5, 3))
    for person, cell, c in zip(
        public.people, public.cells(FEATURES), public.codes["c"], strict=True
    ):
        rows[wanted[int(person)], cell] += 1
        others[wanted[int(person)], c] += 1
    assert shapes.people.tolist() == [wanted.count(k) for k in range(5)]
    assert shapes.rows.tolist() == rows.sum(axis=1).tolist()
    each = np.maximum(rows.sum(axis=1), 1)[:, None]
    assert np.allclose(shapes.joint, rows / each)
    assert list(shapes.others) == ["c"]
    assert np.allclose(shapes.others["c"], others / each)


def test_of_labels_that_are_as_common_the_first_counts() -> None:
    public = crowd([0, 0, 1, 1, 1], {"a": 3}, a=[2, 1, 0, 2, 2])
    assert kinds(public, ("a",), np.array([3, 2, 0]), 4).tolist() == [0, 0]
    assert kinds(public, ("a",), np.array([3, 0, 1]), 4).tolist() == [0, 1]


def test_a_column_of_one_value_is_no_obstacle() -> None:
    public = crowd([0, 0, 1, 2], {"a": 4, "b": 2}, a=[0, 1, 3, 3], b=[1, 1, 1, 1])
    shapes = Shapes.of(public, FEATURES, 2)
    assert np.isfinite(shapes.mixture.logs(points(public))).all()
    assert shapes.people.sum() == 3


def test_a_table_of_one_row_is_one_person_of_one_kind() -> None:
    shapes = Shapes.of(crowd([0], {"a": 4, "b": 2}, a=[3], b=[1]), FEATURES, None)
    assert (shapes.count, shapes.people.tolist()) == (1, [1])


# Their number


@pytest.mark.parametrize("centres", [2, 5])
def test_a_number_that_is_left_open_is_about_that_of_the_kinds_there_are(centres: int) -> None:
    public = blobs(4, centres)
    shapes = Shapes.of(public, FEATURES, None)
    assert shapes.count in {centres, 5}
    # What is fitted then is fitted to everyone.
    assert np.array_equal(shapes.labels, Shapes.of(public, FEATURES, shapes.count).labels)


def test_the_more_noise_the_less_further_kinds_are_worth() -> None:
    public = blobs(4, 5)
    assert public.people is not None
    cells, worth = public.cells(FEATURES), []
    for deviation in (0.0, 20.0, 1e4):
        few, more = (
            likelihood(
                cells, public.people, Shapes.of(public, FEATURES, k).labels[cells], k, deviation=d
            )
            for k, d in ((2, deviation), (5, deviation))
        )
        worth.append(more - few)
    assert worth == sorted(worth, reverse=True)
    assert worth[0] > worth[2] + 0.1


def slow_likelihood(cells: list[int], people: list[int], labels: list[int], count: int) -> float:
    """The mean log-likelihood of a row of people of odd number, one after the other; no noise."""
    kind = {}
    for person in set(people):
        own = Counter(k for k, p in zip(labels, people, strict=True) if p == person)
        kind[person] = min(own, key=lambda k: (-own[k], k))
    rows = list(zip(cells, people, strict=True))
    seen = [(kind[p], c) for c, p in rows if p % 2 == 0]
    alone, each = Counter(seen), Counter(c for _, c in seen)
    many = Counter(k for k, _ in seen)
    half = Counter(kind[p] for p in kind if p % 2 == 0)
    shares = [max(2.0 * half[k], FEWEST) for k in range(count)]
    distinct = len(set(cells))
    told = []
    for prior in PRIORS:
        total = sum(np.log(shares[kind[p]] / sum(shares)) for p in kind if p % 2)
        for c, p in rows:
            if p % 2:
                common = (each[c] + SPREAD) / (len(seen) + SPREAD * distinct)
                total += np.log((alone[kind[p], c] + prior * common) / (many[kind[p]] + prior))
        told.append(total / sum(p % 2 for p in people))
    return float(max(told))


@pytest.mark.parametrize("seed", range(3))
def test_held_out_people_are_as_likely_as_counted_one_by_one(seed: int) -> None:
    public = blobs(seed, 3, people=20)
    assert public.people is not None
    cells, labels = public.cells(FEATURES), np.arange(len(public)) * 7 % 11 % 4
    found = likelihood(cells, public.people, labels, 4, deviation=0.0)
    slow = slow_likelihood(cells.tolist(), public.people.tolist(), labels.tolist(), 4)
    assert found == pytest.approx(slow, rel=1e-9)
    # Noise costs something.
    assert likelihood(cells, public.people, labels, 4, deviation=20.0) < found


def test_values_of_a_list_are_near_if_the_same_people_have_them_wherever_they_are_listed() -> None:
    """Half of the people have the even ones, the others the odd ones."""
    rng = np.random.default_rng(1)
    whose = np.repeat(np.arange(200), 8)
    areas = 2 * rng.integers(0, 5, len(whose)) + whose % 2
    listed = Categorical(name="a", values=tuple("abcdefghij"), missing=False, outside="drop")
    schema = Schema("t", (Id(name="who"), listed))
    table = {"who": whose, "a": np.array(listed.values, dtype=object)[areas]}
    public = PublicTable.read(table, schema=schema, unit=Unit("who"))
    where = coordinates(public, "a", by_position=False)
    assert where.shape == (10, 2)
    assert len({float(x) > 0 for x in where[::2, 0]}) == 1
    assert len({float(x) > 0 for x in where[1::2, 0]}) == 1
    assert (where[0, 0] > 0) != (where[1, 0] > 0)
    assert coordinates(public, "a", by_position=True).reshape(-1).tolist() == list(range(10))
    # So two kinds are the even and the odd.
    labels = Shapes.of(public, ("a",), 2).labels
    assert len({*labels[::2].tolist()}) == len({*labels[1::2].tolist()}) == 1


@pytest.mark.parametrize(("people", "most"), [(1, 1), (2, 2), (4, 2), (6, 5)])
def test_few_people_are_of_few_kinds(people: int, most: int) -> None:
    whose = np.repeat(np.arange(people), 5)
    public = crowd(whose, {"a": 30, "b": 4}, a=np.arange(len(whose)) % 30, b=whose % 4)
    assert 1 <= Shapes.of(public, FEATURES, None).count <= most


def test_the_same_table_gives_the_same_archetypes() -> None:
    one, other = (Shapes.of(tables()[0], FEATURES, 4) for _ in range(2))
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.mixture.factors, other.mixture.factors)


# Saved


def test_what_is_saved_is_loaded_exactly(tmp_path: Path) -> None:
    public = tables()[0]
    shapes = Shapes.of(public, FEATURES, 7)
    assert shapes.save(tmp_path / "new" / "shapes") == tmp_path / "new" / "shapes"
    found = Shapes.load(tmp_path / "new" / "shapes")
    assert (found.features, found.sizes, found.count) == (FEATURES, (30, 4), 7)
    for name in ("labels", "people", "rows", "joint"):
        kept, loaded = getattr(shapes, name), getattr(found, name)
        assert kept.dtype == loaded.dtype
        assert np.array_equal(kept, loaded), name
    for name in ("mean", "deviation", "weights", "centres", "factors"):
        assert np.array_equal(getattr(shapes.mixture, name), getattr(found.mixture, name)), name
    assert np.array_equal(shapes.others["c"], found.others["c"])
    assert np.array_equal(found.kinds(public), shapes.kinds(public))


def test_no_id_is_saved_and_nothing_is_pickled(tmp_path: Path) -> None:
    ids = 987_654_000 + np.arange(40)
    table = {"taxi": np.repeat(ids, 2), "a": np.arange(80) % 9, "b": np.arange(80) % 5}
    columns = (Integer(name=n, min=0, max=9, missing=False) for n in FEATURES)
    schema = Schema("taxis", (Id(name="taxi"), *columns))
    public = PublicTable.read(table, schema=schema, unit=Unit("taxi"))
    Shapes.of(public, FEATURES, 3).save(tmp_path / "saved")
    files = sorted(p.name for p in (tmp_path / "saved").iterdir())
    assert files == ["joint.parquet", "labels.parquet", "shapes.json"]
    written = b"".join((tmp_path / "saved" / n).read_bytes() for n in files)
    assert b"98765" not in written
    facts = json.loads((tmp_path / "saved" / "shapes.json").read_text(encoding="utf-8"))
    assert set(facts) == {"features", "sizes", "people", "rows", "mixture", "others"}
    for name in files[:2]:
        raw = (tmp_path / "saved" / name).read_bytes()
        assert raw[:4] == raw[-4:] == b"PAR1"
        for column in read_public(tmp_path / "saved" / name).values():
            # Numbers of archetypes and cells, and shares; ids are far beyond.
            assert column.dtype != object
            assert column.max() < 100


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    shapes = Shapes.of(tables()[0], FEATURES, 2)
    shapes.save(tmp_path / "saved")
    with pytest.raises(OutputExistsError):
        shapes.save(tmp_path / "saved")


@pytest.mark.parametrize("written", [None, "not JSON"])
def test_a_folder_without_archetypes_is_told(tmp_path: Path, written: str | None) -> None:
    if written is not None:
        (tmp_path / "shapes.json").write_text(written, encoding="utf-8")
    with pytest.raises(MissingFileError, match="holds no saved archetypes"):
        Shapes.load(tmp_path)


# Refused


def test_more_archetypes_than_people_are_refused() -> None:
    public = random_crowd(np.random.default_rng(1), SIZES, 7)
    assert Shapes.of(public, FEATURES, 7).count == 7
    with pytest.raises(UsageError, match="more archetypes than public people") as caught:
        Shapes.of(public, FEATURES, 8)
    assert (caught.value.got, caught.value.allowed) == (8, "at most 7")


def test_features_of_too_many_cells_are_refused() -> None:
    public = crowd([0, 1], {"a": 2000, "b": 1001}, a=[0, 1], b=[0, 1])
    with pytest.raises(QuestionError, match="a × b have too many cells") as caught:
        Shapes.of(public, FEATURES, 1)
    assert caught.value.got == "2,002,000"


def test_a_table_that_does_not_tell_its_people_is_refused() -> None:
    known = tables()[0]
    public = PublicTable(schema=known.schema, codes=known.codes, people=None, numbers={})
    with pytest.raises(UsageError, match="what kinds of people there are"):
        Shapes.of(public, FEATURES, 2)
