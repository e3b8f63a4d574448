"""A simulator of the taxi trips of a made-up city.

Nothing here is drawn from real data: the map, the companies, the taxis and the trips all come from
a seeded pseudo-random generator.  The seed alone fixes the city (its map, companies and first
taxis); the seed and the year fix the trips.  From one year to the next some taxis are replaced,
some change company and the areas' popularity shifts a little.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

PAYMENTS: Final = ("Cash", "Credit Card", "Mobile", "Prcard", "No Charge", "Dispute", "Unknown")
PAYMENT_NAMES: Final = np.array(PAYMENTS, dtype=object)

FIRST_YEAR: Final = 2000
LAST_YEAR: Final = 9999
TURNOVER: Final = 0.08
SWITCHING: Final = 0.03
OCCASIONAL: Final = 0.08
BLOCK_ROWS: Final = 1 << 18

# The distinct random streams of one seed, so that adding draws to one leaves the others alone.
MAP_STREAM, FLEET_STREAM, MOOD_STREAM, TRIP_STREAM = range(4)

# The ids are 1,000,000 + (number * ID_STRIDE + offset) mod ID_SPAN: the stride shares no factor
# with the span, so no id returns before nine million arrivals, and none tells who came first.
ID_BASE: Final = 1_000_000
ID_SPAN: Final = 9_000_000
ID_STRIDE: Final = 3_456_791

NIGHT, MORNING, MIDDAY, EVENING = range(4)
PERIODS: Final = np.repeat([NIGHT, MORNING, MIDDAY, EVENING], [6, 5, 6, 7])
WEEKDAY_DEMAND: Final = np.array(
    [4, 2, 1.5, 1, 1, 2, 4, 8, 11, 10, 8, 8, 9, 9, 9, 9, 10, 12, 13, 12, 10, 9, 8, 6]
)
WEEKEND_DEMAND: Final = np.array(
    [11, 10, 8, 5, 3, 2, 2, 3, 4, 5, 7, 8, 9, 9, 9, 9, 9, 10, 11, 12, 11, 11, 12, 12]
)
SHIFT_SHARES: Final = np.array([0.5, 0.3, 0.2])
SHIFT_PEAKS: Final = np.array([11.0, 18.0, 0.5])
# One row for each shift, Monday first: the night shift lives on Fridays and Saturdays.
WEEK: Final = np.array(
    [
        [1.0, 1.05, 1.05, 1.1, 1.15, 0.8, 0.7],
        [0.9, 0.9, 1.0, 1.05, 1.25, 1.2, 0.7],
        [0.6, 0.6, 0.7, 0.9, 1.5, 1.8, 1.1],
    ]
)
MILES_PER_HOUR: Final = np.repeat([26.0, 21.0, 14.0, 16.0, 12.0, 19.0], [6, 1, 3, 6, 3, 5])
PAYMENT_SHARES: Final = np.array([0.44, 0.39, 0.06, 0.06, 0.01, 0.002, 0.038])
# The chance that a tip is recorded, for each payment: drivers hardly ever enter a cash tip.
TIPPING: Final = np.array([0.02, 0.95, 0.75, 0.4, 0.0, 0.0, 0.05])
# Most trips carry no extras; the rest pay for more passengers, or a toll.
EXTRAS: Final = np.array([0.0] * 15 + [1.0, 1.0, 1.5, 2.0, 3.5])
FARE_BANDS: Final = np.array([8.0, 15.0, 30.0])

WHOLE: Final = ("id", "company", "next_company", "switch_day", "home", "shift")
TAXI: Final = np.dtype(
    [(name, np.int64) for name in WHOLE]
    + [("pace", np.float64), ("activity", np.float64), ("occasional", np.bool_)]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class City:
    """A simulated city: nothing in it was ever a real taxi, trip or person."""

    taxis: int = 3000
    trips_per_year: int = 400_000
    areas: int = 77
    companies: int = 57
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise on sizes that the map, the ids or the tables could not hold."""
        limits = {
            "taxis": (1, 100_000),
            "trips_per_year": (1, 999_999_999),
            "areas": (1, 1000),
            "companies": (1, 1000),
            "seed": (0, 2**63 - 1),
        }
        for name, (low, high) in limits.items():
            if not low <= getattr(self, name) <= high:
                message = f"{name} must lie in {low}..{high}, not {getattr(self, name)}"
                raise ValueError(message)

    def year(self, year: int) -> dict[str, np.ndarray]:
        """Return all trips of one year, in a shuffled order."""
        chunks = self.chunks(year, rows=BLOCK_ROWS)
        first = next(chunks)
        # Whole columns are set aside at once: joining a list of chunks would hold the year twice.
        table = {name: np.empty(self.trips_per_year, part.dtype) for name, part in first.items()}
        for number, chunk in enumerate(chain([first], chunks)):
            start = number * BLOCK_ROWS
            for name, part in chunk.items():
                table[name][start : start + len(part)] = part
        return table

    def chunks(self, year: int, *, rows: int) -> Iterator[dict[str, np.ndarray]]:
        """Yield the trips of one year in chunks of at most `rows`, each a fair sample of the year.

        The trips are reproducible for the same `rows`; another `rows` gives other trips of the
        same distribution, with the same number of trips for each taxi.
        """
        if rows < 1:
            message = f"rows must be at least 1, not {rows}"
            raise ValueError(message)
        if not FIRST_YEAR <= year <= LAST_YEAR:
            message = f"year must lie in {FIRST_YEAR}..{LAST_YEAR}, not {year}"
            raise ValueError(message)
        return _chunks(self, year, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What never changes in a city: its map and its companies."""

    miles: Floats
    popularity: Floats
    nightlife: Floats
    centrality: Floats
    airport: int
    company_shares: Floats
    company_area: Ints
    company_taste: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class _Season:
    """What holds for one year: the fleet, and cumulative tables to draw its trips from."""

    year: int
    plan: _Plan
    fleet: np.ndarray
    weekend: NDArray[np.bool_]
    days: Floats
    hours: Floats
    pickups: Floats
    dropoffs: Floats
    payments: Floats
    company_names: np.ndarray


def _stream(city: City, stream: int, year: int = 0) -> np.random.Generator:
    """Return the generator for one purpose and year of a city."""
    return np.random.default_rng([city.seed, stream, year])


def _cumulative(weights: Floats) -> Floats:
    """Return row-wise cumulative shares, each row raised by its number.

    The flattened table is then sorted as a whole, so that one binary search serves all rows.
    """
    table = weights.reshape(-1, weights.shape[-1]).cumsum(axis=1)
    table /= table[:, -1:]
    return table + np.arange(len(table))[:, None]


def _draw(rng: np.random.Generator, table: Floats, rows: Ints) -> Ints:
    """Draw one column of a cumulative table for each of the given rows."""
    width = table.shape[1]
    found = np.searchsorted(table.ravel(), rows + rng.random(len(rows)), side="right")
    # Adding the row can round a draw just below one up to one, which is the next row's.
    columns: Ints = np.minimum(found - rows * width, width - 1)
    return columns


def _plan(city: City) -> _Plan:
    """Lay out the map and the companies, which depend on the seed alone."""
    rng = _stream(city, MAP_STREAM)
    side = int(np.ceil(np.sqrt(city.areas)))
    cells = np.arange(city.areas)
    grid = np.stack([cells % side, cells // side], axis=1)
    # The city stays about 15 miles wide however finely it is divided.
    spots = (grid + rng.uniform(-0.3, 0.3, grid.shape)) * (15.0 / side)
    miles = np.abs(spots[:, None, :] - spots[None, :, :]).sum(axis=2)
    from_centre = miles[int(np.argmin(np.square(spots - spots.mean(axis=0)).sum(axis=1)))]
    centrality = np.exp(-from_centre / 1.2)
    popularity = (0.01 + centrality) * rng.lognormal(0.0, 0.6, city.areas)
    airport = int(np.argmax(from_centre))
    popularity[airport] = 0.12 * popularity.sum()
    popularity /= popularity.sum()
    taste = rng.normal(0.0, 1.0, (city.companies, len(PAYMENTS)))
    taste *= np.array([0.3, 0.5, 0.8, 0.8, 0.3, 0.3, 0.8])
    return _Plan(
        miles=miles,
        popularity=popularity,
        nightlife=popularity * rng.lognormal(0.0, 1.0, city.areas) * np.exp(-from_centre / 4.0),
        centrality=centrality,
        airport=airport,
        company_shares=np.power(np.arange(1, city.companies + 1, dtype=np.float64), -1.1),
        company_area=rng.integers(0, city.areas, city.companies),
        company_taste=taste,
    )


def _newcomers(
    rng: np.random.Generator, city: City, plan: _Plan, first: int, size: int
) -> np.ndarray:
    """Return `size` new taxis, numbered from `first` in order of arrival."""
    taxis = np.zeros(size, dtype=TAXI)
    numbers = first + np.arange(size, dtype=np.int64)
    taxis["id"] = ID_BASE + (numbers * ID_STRIDE + city.seed % ID_SPAN) % ID_SPAN
    one_row = np.zeros(size, dtype=np.int64)
    taxis["company"] = _draw(rng, _cumulative(plan.company_shares), one_row)
    homes = np.sqrt(plan.popularity) * np.exp(-plan.miles / 3.0)
    taxis["home"] = _draw(rng, _cumulative(homes), plan.company_area[taxis["company"]])
    taxis["shift"] = _draw(rng, _cumulative(SHIFT_SHARES), one_row)
    taxis["pace"] = rng.lognormal(0.0, 0.08, size)
    taxis["occasional"] = rng.random(size) < OCCASIONAL
    eager = rng.lognormal(0.0, 1.2, size)
    # The tail bends down, since one car can only drive so much.
    eager /= 1.0 + eager / 25.0
    taxis["activity"] = np.where(taxis["occasional"], rng.uniform(1.0, 5.0, size), eager)
    return taxis


def _fleet(city: City, plan: _Plan, year: int) -> np.ndarray:
    """Return the taxis of one year, by living through all the years before it."""
    fleet = _newcomers(_stream(city, FLEET_STREAM), city, plan, 0, city.taxis)
    arrived = city.taxis
    shares = _cumulative(plan.company_shares)
    for past in range(FIRST_YEAR, year + 1):
        rng = _stream(city, FLEET_STREAM, past)
        if past > FIRST_YEAR:
            fleet["company"] = fleet["next_company"]
            gone = np.flatnonzero(rng.random(city.taxis) < TURNOVER)
            fleet[gone] = _newcomers(rng, city, plan, arrived, len(gone))
            arrived += len(gone)
        choices = _draw(rng, shares, np.zeros(city.taxis, dtype=np.int64))
        switching = rng.random(city.taxis) < SWITCHING
        fleet["next_company"] = np.where(switching, choices, fleet["company"])
        fleet["switch_day"] = rng.integers(60, 300, city.taxis)
    return fleet


def _trip_counts(rng: np.random.Generator, city: City, fleet: np.ndarray) -> Ints:
    """Share the year's trips out among the taxis, a few each for the occasional ones."""
    occasional = fleet["occasional"]
    activity = fleet["activity"]
    few, many = activity[occasional].sum(), activity[~occasional].sum()
    # In a city with hardly any trips the regular taxis still get half of them.
    rest = max(city.trips_per_year - few, 0.5 * city.trips_per_year)
    shares = np.where(occasional, activity, activity * (rest / max(many, 1e-9)))
    return rng.multinomial(city.trips_per_year, shares / shares.sum())


def _calendar(year: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the cumulative day and hour tables of the shifts, and which days are weekend days."""
    first = np.datetime64(f"{year}-01-01", "D")
    size = int((np.datetime64(f"{year + 1}-01-01", "D") - first).astype(np.int64))
    # The epoch, 1 January 1970, was a Thursday.
    weekday = (first.astype(np.int64) + np.arange(size) + 3) % 7
    summer = 1.0 + 0.15 * np.sin(2.0 * np.pi * (np.arange(size) - 80) / size)
    gap = np.abs(np.arange(24)[None, :] - SHIFT_PEAKS[:, None])
    gap = np.minimum(gap, 24.0 - gap)
    presence = 0.06 + np.exp(-0.5 * np.square(gap / 3.2))
    demand = np.stack([WEEKDAY_DEMAND, WEEKEND_DEMAND])
    hours = presence[:, None, :] * demand[None, :, :]
    return _cumulative(WEEK[:, weekday] * summer), _cumulative(hours), weekday >= 5


def _journeys(city: City, plan: _Plan, year: int) -> tuple[Floats, Floats]:
    """Return the cumulative pickup and dropoff tables for each period of the day and area."""
    mood = np.exp(_stream(city, MOOD_STREAM, year).normal(0.0, 0.1, city.areas))
    popularity = plan.popularity * mood
    centre = 1.0 + 2.0 * plan.centrality
    homely = popularity / centre
    sources = np.stack([plan.nightlife * mood, homely, popularity, popularity * centre])
    targets = np.stack([homely, popularity * centre, popularity, np.sqrt(popularity * homely)])
    sources /= sources.sum(axis=1, keepdims=True)
    near = np.sqrt(popularity) * np.exp(-plan.miles / 1.2)
    near /= near.sum(axis=1, keepdims=True)
    pickups = 0.4 * near[None, :, :] + 0.6 * sources[:, None, :]
    reach = np.exp(-plan.miles / 2.0) + 0.01
    # Nobody flies from and to the same airport, so a trip within its area is rare.
    reach[plan.airport, plan.airport] *= 0.05
    return _cumulative(pickups), _cumulative(targets[:, None, :] * reach[None, :, :])


def _payment_table(plan: _Plan, year: int) -> Floats:
    """Return the cumulative payment table for each company and fare band."""
    trend = float(np.clip(year - 2019, -15, 15))
    drift = np.array([-0.05, 0.03, 0.10, 0.02, 0.0, 0.0, 0.0]) * trend
    dearness = np.array([-0.25, 0.30, 0.10, 0.15, 0.0, 0.1, 0.0])
    bands = np.arange(len(FARE_BANDS) + 1)[:, None] * dearness[None, :]
    logits = np.log(PAYMENT_SHARES) + drift + plan.company_taste[:, None, :] + bands[None, :, :]
    return _cumulative(np.exp(logits))


def _season(city: City, year: int) -> _Season:
    """Prepare everything that the trips of one year are drawn from."""
    plan = _plan(city)
    days, hours, weekend = _calendar(year)
    pickups, dropoffs = _journeys(city, plan, year)
    names = [f"Company {number:02d}" for number in range(1, city.companies + 1)]
    return _Season(
        year=year,
        plan=plan,
        fleet=_fleet(city, plan, year),
        weekend=weekend,
        days=days,
        hours=hours,
        pickups=pickups,
        dropoffs=dropoffs,
        payments=_payment_table(plan, year),
        company_names=np.array(names, dtype=object),
    )


def _chunks(city: City, year: int, rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Deal the year's trips out without replacement, so that each chunk is a fair sample."""
    season = _season(city, year)
    rng = _stream(city, TRIP_STREAM, year)
    left = _trip_counts(rng, city, season.fleet)
    remaining = city.trips_per_year
    while remaining:
        size = min(rows, remaining)
        dealt = rng.multivariate_hypergeometric(left, size, method="marginals")
        left = left - dealt
        remaining -= size
        taxis = np.repeat(np.arange(city.taxis), dealt)
        rng.shuffle(taxis)
        yield _trips(rng, season, taxis)


def _trips(rng: np.random.Generator, season: _Season, taxis: Ints) -> dict[str, np.ndarray]:
    """Draw one trip for each of the given places in the fleet."""
    fleet, size = season.fleet, len(taxis)
    shift = fleet["shift"][taxis]
    day = _draw(rng, season.days, shift)
    weekend = season.weekend[day]
    hour = _draw(rng, season.hours, shift * 2 + weekend)
    clock = day * 86_400 + hour * 3600 + rng.integers(0, 3600, size)
    switched = day >= fleet["switch_day"][taxis]
    company = np.where(switched, fleet["next_company"][taxis], fleet["company"][taxis])
    block = PERIODS[hour] * len(season.plan.miles)
    pickup = _draw(rng, season.pickups, block + fleet["home"][taxis])
    dropoff = _draw(rng, season.dropoffs, block + pickup)
    apart = season.plan.miles[pickup, dropoff] * np.exp(rng.normal(0.05, 0.12, size))
    miles = np.rint(10.0 * (apart + rng.gamma(2.0, 0.45, size))) / 10.0
    speed = MILES_PER_HOUR[hour] * (1.0 + 0.15 * weekend) * fleet["pace"][taxis]
    seconds = 40.0 + 3600.0 * miles / speed * np.exp(rng.normal(0.0, 0.2, size))
    fare = np.rint(20.0 * (3.25 + 2.25 * miles + 0.2 * seconds / 60.0)) / 20.0
    bands = len(FARE_BANDS) + 1
    payment = _draw(rng, season.payments, company * bands + np.digitize(fare, FARE_BANDS))
    tips = _tips(rng, fare, payment)
    at_airport = (pickup == season.plan.airport) | (dropoff == season.plan.airport)
    extras = 4.0 * at_airport + EXTRAS[rng.integers(0, len(EXTRAS), size)]
    table = {
        "taxi_id": fleet["id"][taxis],
        "pickup_time": np.datetime64(f"{season.year}-01-01", "s") + clock.astype("timedelta64[s]"),
        "company": season.company_names[company],
        "pickup_area": (pickup + 1).astype(np.int16),
        "dropoff_area": (dropoff + 1).astype(np.int16),
        "payment": PAYMENT_NAMES[payment],
        "miles": miles,
        "seconds": np.rint(seconds).astype(np.int32),
        "fare": fare,
        "tips": tips,
        "total": np.rint(100.0 * (fare + tips + extras)) / 100.0,
    }
    _lose(rng, table)
    return table


def _tips(rng: np.random.Generator, fare: Floats, payment: Ints) -> Floats:
    """Return the recorded tips in whole cents, about a fifth of the fare where there is one."""
    rate = np.clip(rng.normal(0.2, 0.03, len(fare)), 0.1, 0.3)
    tipped = rng.random(len(fare)) < TIPPING[payment]
    return np.rint(100.0 * fare * rate * tipped) / 100.0


def _lose(rng: np.random.Generator, table: dict[str, np.ndarray]) -> None:
    """Lose some of the values in place, as the records of a real city would."""
    size = len(table["taxi_id"])
    nowhere = rng.random(size) < 0.05
    table["pickup_area"][nowhere] = -1
    # A trip without a pickup often lacks the dropoff too; in all, about 8 % lack the dropoff.
    table["dropoff_area"][rng.random(size) < np.where(nowhere, 0.5, 0.058)] = -1
    table["company"][rng.random(size) < 0.02] = ""
    table["miles"][rng.random(size) < 0.02] = 0.0
    table["seconds"][rng.random(size) < 0.01] = -1
    unpriced = rng.random(size) < 0.005
    table["fare"][unpriced] = np.nan
    table["total"][unpriced] = np.nan
