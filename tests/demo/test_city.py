"""Tests of the simulated city."""

from __future__ import annotations

import numpy as np
import pytest

from tests.audit.effort import effort
from understudy.demo import PAYMENTS, City
from understudy.schema import Schema, Timestamp

SMALL = City(taxis=400, trips_per_year=40_000, areas=30, companies=12, seed=7)
COLUMNS = {
    "taxi_id": np.dtype(np.int64),
    "pickup_time": np.dtype("datetime64[s]"),
    "company": np.dtype(object),
    "pickup_area": np.dtype(np.int16),
    "dropoff_area": np.dtype(np.int16),
    "payment": np.dtype(object),
    "miles": np.dtype(np.float64),
    "seconds": np.dtype(np.int32),
    "fare": np.dtype(np.float64),
    "tips": np.dtype(np.float64),
    "total": np.dtype(np.float64),
}
Table = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def trips() -> Table:
    """Return one year of the small city."""
    return SMALL.year(2019)


@pytest.fixture(scope="module")
def later() -> Table:
    """Return the next year of the same city."""
    return SMALL.year(2020)


def equal(left: Table, right: Table) -> bool:
    """Say whether two tables hold the same values, counting NaN as equal to itself."""
    return left.keys() == right.keys() and all(
        np.array_equal(left[name], right[name], equal_nan=left[name].dtype.kind == "f")
        for name in left
    )


def areas(table: Table, column: str) -> np.ndarray:
    """Return the share of each known area in a column."""
    counts = np.bincount(table[column][table[column] > 0], minlength=SMALL.areas + 1)
    shares: np.ndarray = counts / counts.sum()
    return shares


def test_seed_and_year_fix_the_trips(trips: Table, later: Table) -> None:
    """The same seed and year give the same trips, and another of either gives others."""
    assert equal(trips, SMALL.year(2019))
    assert not equal(trips, later)
    other = City(taxis=400, trips_per_year=40_000, areas=30, companies=12, seed=8)
    assert not equal(trips, other.year(2019))


def test_columns_have_their_types_and_one_length(trips: Table) -> None:
    """Every column is there, in order, with its type and the length of the year."""
    assert {name: values.dtype for name, values in trips.items()} == COLUMNS
    assert list(trips) == list(COLUMNS)
    assert {len(values) for values in trips.values()} == {SMALL.trips_per_year}


def test_values_lie_in_their_ranges(trips: Table) -> None:
    """Ids have seven digits, areas are on the map, and amounts are on their grids."""
    assert trips["taxi_id"].min() >= 1_000_000
    assert trips["taxi_id"].max() <= 9_999_999
    for column in ("pickup_area", "dropoff_area"):
        assert set(np.unique(trips[column])) == {-1, *range(1, SMALL.areas + 1)}
    assert set(trips["payment"]) == set(PAYMENTS)
    names = {f"Company {number:02d}" for number in range(1, SMALL.companies + 1)}
    assert set(trips["company"]) <= names | {""}
    assert (trips["miles"] >= 0).all()
    assert np.array_equal(trips["miles"], np.round(trips["miles"], 1))
    assert (trips["seconds"] >= -1).all()
    fare = trips["fare"][~np.isnan(trips["fare"])]
    assert fare.min() >= 3.25
    assert np.array_equal(fare, np.rint(fare * 20) / 20)
    assert np.isfinite(trips["tips"]).all()
    assert (trips["tips"] >= 0).all()


@pytest.mark.parametrize("year", [2000, 2019, 2020, 2031])
def test_trips_fall_within_the_calendar_year(year: int) -> None:
    """Every trip begins within the year that was asked for, leap or not."""
    times = City(taxis=20, trips_per_year=5000, areas=4, companies=2).year(year)["pickup_time"]
    assert (times.astype("datetime64[Y]") == np.datetime64(str(year), "Y")).all()


def test_total_adds_up_and_is_missing_with_the_fare(trips: Table) -> None:
    """The total is at least fare and tips, in cents, and is NaN exactly where the fare is."""
    assert np.array_equal(np.isnan(trips["total"]), np.isnan(trips["fare"]))
    extras = (trips["total"] - trips["fare"] - trips["tips"])[~np.isnan(trips["fare"])]
    assert extras.min() > -0.005
    assert extras.max() < 10


def test_missing_shares(trips: Table) -> None:
    """Each column lacks about the share of values that it is meant to lack."""
    shares = {
        "company": (np.mean(trips["company"] == ""), 0.02),
        "pickup": (np.mean(trips["pickup_area"] == -1), 0.05),
        "dropoff": (np.mean(trips["dropoff_area"] == -1), 0.08),
        "seconds": (np.mean(trips["seconds"] == -1), 0.01),
        "fare": (np.mean(np.isnan(trips["fare"])), 0.005),
    }
    for name, (found, meant) in shares.items():
        assert found == pytest.approx(meant, rel=0.25), name


def test_trips_per_taxi_have_a_heavy_tail(trips: Table) -> None:
    """A few taxis drive a lot, and some drive only one to five trips."""
    counts = np.sort(np.unique(trips["taxi_id"], return_counts=True)[1])
    assert counts[-1] > 8 * np.median(counts)
    assert counts[-len(counts) // 10 :].sum() > 0.3 * counts.sum()
    assert 0.02 < np.mean(counts <= 5) < 0.25


def test_a_taxi_has_one_company_or_switches_once(trips: Table) -> None:
    """No taxi has more than two companies in a year, and few have two."""
    known = trips["company"] != ""
    pairs = set(zip(trips["taxi_id"][known], trips["company"][known], strict=True))
    companies = np.unique([taxi for taxi, _ in pairs], return_counts=True)[1]
    assert companies.max() <= 2
    assert 0 < np.mean(companies == 2) < 0.1


def test_taxis_keep_to_a_shift(trips: Table) -> None:
    """The share of night trips differs between taxis far more than chance would make it."""
    hours = trips["pickup_time"].astype("datetime64[h]").astype(np.int64) % 24
    night = (hours >= 21) | (hours < 5)
    place, counts = np.unique(trips["taxi_id"], return_inverse=True, return_counts=True)[1:]
    shares = (np.bincount(place, weights=night) / counts)[counts >= 100]
    assert np.quantile(shares, 0.95) > 3 * np.quantile(shares, 0.25)
    assert np.bincount(hours, minlength=24)[3:6].sum() < np.bincount(hours)[17:20].sum() / 3


def test_fare_and_seconds_grow_with_miles(trips: Table) -> None:
    """Longer trips cost more and take longer."""
    whole = (trips["miles"] > 0) & (trips["seconds"] > 0) & ~np.isnan(trips["fare"])
    miles = trips["miles"][whole]
    assert np.corrcoef(miles, trips["fare"][whole])[0, 1] > 0.9
    assert np.corrcoef(miles, trips["seconds"][whole])[0, 1] > 0.7


def test_dropoff_depends_on_pickup(trips: Table) -> None:
    """The joint table of pickup and dropoff is far from the product of its margins."""
    known = (trips["pickup_area"] > 0) & (trips["dropoff_area"] > 0)
    joint = np.zeros((SMALL.areas, SMALL.areas))
    np.add.at(joint, (trips["pickup_area"][known] - 1, trips["dropoff_area"][known] - 1), 1.0)
    joint /= joint.sum()
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert np.abs(joint - product).sum() / 2 > 0.15


def test_popularity_is_skewed(trips: Table) -> None:
    """The five busiest of thirty areas take more than half of the pickups."""
    assert np.sort(areas(trips, "pickup_area"))[-5:].sum() > 0.5


def test_tips_follow_the_payment(trips: Table) -> None:
    """Cash tips are mostly zero, and card tips are about a fifth of the fare."""
    cash = trips["payment"] == "Cash"
    assert np.mean(trips["tips"][cash] == 0) > 0.95
    card = (trips["payment"] == "Credit Card") & (trips["tips"] > 0) & ~np.isnan(trips["fare"])
    assert 0.15 < np.median(trips["tips"][card] / trips["fare"][card]) < 0.25


def test_payment_depends_on_fare_and_year(trips: Table, later: Table) -> None:
    """Cash fades as fares grow, and as the years pass."""
    cash = trips["payment"] == "Cash"
    assert np.mean(cash[trips["fare"] < 8]) > 1.5 * np.mean(cash[trips["fare"] > 30])
    assert np.mean(later["payment"] == "Cash") < np.mean(cash)


def test_next_year_is_the_same_city_with_a_mild_drift(trips: Table, later: Table) -> None:
    """Most taxis and habits remain, some taxis go and come, and the areas shift a little."""
    before, after = np.unique(trips["taxi_id"]), np.unique(later["taxi_id"])
    assert 0.8 < np.mean(np.isin(after, before)) < 0.99
    assert 0.8 < np.mean(np.isin(before, after)) < 0.99
    for column in ("pickup_area", "dropoff_area"):
        assert 0.005 < np.abs(areas(trips, column) - areas(later, column)).sum() / 2 < 0.12


def test_trip_numbers_of_a_taxi_are_alike_in_both_years(trips: Table, later: Table) -> None:
    """A taxi that stays keeps its activity, so last year says much about this year."""
    before = dict(zip(*np.unique(trips["taxi_id"], return_counts=True), strict=True))
    after = dict(zip(*np.unique(later["taxi_id"], return_counts=True), strict=True))
    both = sorted(before.keys() & after.keys())
    pairs = [[before[taxi] for taxi in both], [after[taxi] for taxi in both]]
    assert np.corrcoef(pairs)[0, 1] > 0.9


def test_chunks_obey_the_limit_and_add_up(trips: Table) -> None:
    """The chunks are full but for the last, and hold each taxi as often as the year does."""
    chunks = list(SMALL.chunks(2019, rows=7000))
    assert [len(chunk["taxi_id"]) for chunk in chunks] == [7000] * 5 + [5000]
    assert all({n: v.dtype for n, v in chunk.items()} == COLUMNS for chunk in chunks)
    taxis = np.concatenate([chunk["taxi_id"] for chunk in chunks])
    assert np.array_equal(np.sort(taxis), np.sort(trips["taxi_id"]))
    for chunk in chunks:
        shift = areas(chunk, "pickup_area") - areas(trips, "pickup_area")
        assert np.abs(shift).sum() / 2 < 0.06
    again = next(SMALL.chunks(2019, rows=7000))
    assert equal(chunks[0], again)


@pytest.mark.parametrize(
    "city",
    [
        City(taxis=1, trips_per_year=1, areas=1, companies=1, seed=0),
        City(taxis=50, trips_per_year=3, areas=2, companies=1),
        City(taxis=3, trips_per_year=500, areas=200, companies=150),
    ],
)
def test_tiny_cities_work(city: City) -> None:
    """The smallest sizes still give whole tables."""
    assert len(city.year(2020)["total"]) == city.trips_per_year


def test_a_schema_drafted_from_one_year_can_be_of_the_next(trips: Table, later: Table) -> None:
    """Every month has its trips, where without the days all would be of the last December."""
    trips, later = ({n: c[:: effort(8, 1)] for n, c in t.items()} for t in (trips, later))
    days = ("2020-01-01", "2020-12-31")
    schema = Schema.from_public(trips, name="city", ids=("taxi_id",), days=days)
    assert schema.columns[1] == Timestamp(name="pickup_time", min=days[0], max=days[1])
    codes, kept = schema.encode(later)
    assert kept.all()
    months = later["pickup_time"].astype("datetime64[M]").astype(np.int64) % 12
    assert codes["pickup_time_month"].tolist() == months.tolist()
    assert np.bincount(months).min() > 0
    last, _ = Schema.from_public(trips, name="city", ids=("taxi_id",)).encode(later)
    assert set(last["pickup_time_month"].tolist()) == {11}


def test_bad_sizes_are_refused() -> None:
    """Sizes, years and row limits out of range raise at once, before any chunk is asked for."""
    with pytest.raises(ValueError, match="taxis"):
        City(taxis=0)
    with pytest.raises(ValueError, match="areas"):
        City(areas=40_000)
    with pytest.raises(ValueError, match="year"):
        SMALL.chunks(1999, rows=10)
    with pytest.raises(ValueError, match="rows"):
        SMALL.chunks(2019, rows=0)
