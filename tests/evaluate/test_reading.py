"""Reading: private and synthetic rows as codes of one schema, in an order of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import few
from understudy.errors import MissingColumnError, MissingFileError, UsageError
from understudy.evaluate import compare, read_private, read_synthetic
from understudy.schema import Categorical, DateTime, Id, Integer, Numeric, Schema

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = Schema(
    "trips",
    (
        Id(name="taxi"),
        Categorical(name="colour", source="paint", values=("red", "blue")),
        DateTime(name="hour", source="begun", part="hour"),
        Numeric(name="fare", edges=(0.0, 10.0, 90.0), whole=True),
        Integer(name="age", min=0, max=3),
    ),
)
TAXI = us.Unit("taxi")


def table(rows: int = 60) -> dict[str, Any]:
    number = np.arange(rows)
    return {
        "taxi": number % 7 + 100,
        "paint": np.array(["red", "blue", "green", None], dtype=object)[number % 4],
        "begun": np.datetime64("2020-01-01T00", "s") + (number % 24) * np.timedelta64(1, "h"),
        "fare": number % 100,
        "age": number % 5,
    }


def test_private_rows_come_as_codes_with_their_people() -> None:
    found = read_private(table(), schema=SCHEMA, unit=TAXI)
    assert (found.rows, found.sizes) == (60, SCHEMA.domain)
    assert found.people is not None
    assert np.bincount(found.people).tolist() == np.bincount(np.arange(60) % 7).tolist()
    codes, _ = SCHEMA.encode(table())
    for name, own in codes.items():
        assert (
            found.counts([name]).tolist() == np.bincount(own, minlength=found.sizes[name]).tolist()
        )
    # Whose rows are whose is kept.
    third = codes["fare"][table()["taxi"] == 102]
    assert sorted(found.codes["fare"][found.people == 2]) == sorted(third)


def test_the_order_of_a_table_decides_nothing() -> None:
    shuffled = np.random.default_rng(5).permutation(60)
    other = {name: column[shuffled] for name, column in table().items()}
    for unit in (TAXI, us.Unit.each_row()):
        one, two = (read_private(t, schema=SCHEMA, unit=unit) for t in (table(), other))
        for name in SCHEMA.domain:
            assert one.codes[name].tolist() == two.codes[name].tolist()
        if unit.is_row:
            assert one.people is two.people is None
        else:
            assert one.people is not None
            assert two.people is not None
            assert one.people.tolist() == two.people.tolist()


def test_an_empty_table_is_read() -> None:
    nothing = {name: column[:0] for name, column in table().items()}
    found = read_private(nothing, schema=SCHEMA, unit=TAXI)
    assert found.rows == 0
    assert found.people is not None
    assert len(found.people) == 0


FORMS = [
    *(("parquet", TAXI), ("csv", us.Unit("taxi", "hour")), ("csv", us.Unit.each_row())),
    *(("csv", TAXI), ("parquet", us.Unit("taxi", "hour")), ("parquet", us.Unit.each_row())),
]


@pytest.mark.parametrize(("form", "unit"), few(FORMS, usual=3), ids=str)
def test_a_release_is_encoded_as_the_private_table_is(
    tmp_path: Path, form: Any, unit: us.Unit
) -> None:
    release = us.open(
        i_know=True,
        private=table(),
        schema=SCHEMA,
        unit=unit,
        bounding=us.Weights(20),
        budget=us.Budget(epsilon=1e6, delta=0),
        ledger=tmp_path / "l.ledger",
    ).run(us.Independent())
    release.save(tmp_path / "out", format=form)
    made = read_synthetic(tmp_path / "out", schema=SCHEMA, unit=unit)
    assert made.rows == len(release)
    assert (made.people is None) == unit.is_row
    real = read_private(table(), schema=SCHEMA, unit=unit)
    # With no noise to speak of every column is as it was, whatever its kind.
    found = compare(real, made)
    assert max(found.synthetic["columns"].values()) < 0.02
    for name in SCHEMA.domain:
        assert made.counts([name]).tolist() == pytest.approx(real.counts([name]).tolist(), abs=1)


def submission(path: Path, *epsilons: object) -> Path:
    lines = [f"{e},{i % 3},red,{i % 24},{i},1" for e in epsilons for i in range(10)]
    path.write_text("\n".join(["epsilon,taxi,colour,hour,fare,age", *lines, ""]))
    return path


def test_rows_of_one_epsilon_are_chosen(tmp_path: Path) -> None:
    path = submission(tmp_path / "s.csv", "1.0", "0.5", "1.0", 10)
    for epsilon, rows in ((1.0, 20), (0.5, 10), (10.0, 10)):
        found = read_synthetic(path, schema=SCHEMA, unit=TAXI, epsilon=epsilon)
        assert (found.rows, found.sizes) == (rows, SCHEMA.domain)
        assert found.people is not None
        assert found.people.max() == 2
    with pytest.raises(UsageError, match=r"several epsilons \(got 0.5, 1, 10\)"):
        read_synthetic(path, schema=SCHEMA, unit=TAXI)
    with pytest.raises(UsageError, match=r"got 2; allowed: 0.5, 1, 10"):
        read_synthetic(path, schema=SCHEMA, unit=TAXI, epsilon=2)
    alone = submission(tmp_path / "one.csv", 1)
    assert read_synthetic(alone, schema=SCHEMA, unit=TAXI).rows == 10


def test_an_epsilon_is_chosen_from_a_submission_only(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("taxi,colour,hour,fare,age\n1,red,2,3,1\n")
    with pytest.raises(UsageError, match="no column of that name"):
        read_synthetic(path, schema=SCHEMA, unit=TAXI, epsilon=1)
    # A folder with rows in it is as good.
    assert read_synthetic(tmp_path, schema=SCHEMA, unit=TAXI).rows == 1


def test_rows_that_do_not_tell_whose_they_are_are_a_person_each(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("colour,hour,fare,age\nred,2,3,1\nblue,3,4,2\n")
    assert read_synthetic(path, schema=SCHEMA, unit=TAXI).people is None
    path.write_text("taxi,hour,fare,age\n1,2,3,1\n")
    for unit in (TAXI, us.Unit.each_row()):
        with pytest.raises(MissingColumnError, match="'colour'"):
            read_synthetic(path, schema=SCHEMA, unit=unit)


def test_what_is_not_there_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="is not a release"):
        read_synthetic(tmp_path, schema=SCHEMA, unit=TAXI)
    with pytest.raises(MissingFileError, match=r"none\.csv"):
        read_synthetic(tmp_path / "none.csv", schema=SCHEMA, unit=TAXI)
