"""Date-times: a part of one as a column of its own, or a whole one modelled as three columns.

A moment has too many values to be modelled.  Its month, its weekday and its hour have few, and
say when a city is awake.  On the way out a date of that month and weekday is drawn, and the
minutes, so that encode(decode(codes)) is the codes (``schema/columns/test_timestamp.py``).  What is
not among the three is gone: a particular day, such as a holiday, looks like its neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns.column import NULLS, Column, Compound, check_outside
from understudy.schema.columns.days import first_days, month_of, months_of, number_of, until
from understudy.schema.columns.epochs import check_no_epoch
from understudy.schema.columns.integer import Integer
from understudy.schema.encoding import reading
from understudy.schema.encoding.calendar import PARTS, DatePart, compile_format
from understudy.schema.encoding.expressions import part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.schema.columns.column import Draw
    from understudy.schema.encoding.cell import Cell
    from understudy.schema.encoding.reading import Array, Codes

Resolution = Literal["second", "minute", "hour", "day"]
RESOLUTIONS: dict[Resolution, int] = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
"""Seconds of each, the coarsest first."""
MOST_MONTHS = 64
"""Of more months there are too many dates for a column of them."""
_PARTS = {"month": "month_index", "weekday": "weekday", "hour": "hour"}
"""The suffixes of the modelled columns' names, and the part of a date-time that each holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DateTime(Column):
    """A part of a date-time: its hour, weekday, week, month and so on.

    >>> when = DateTime(name="hour", source="pickup_time", part="hour")
    >>> when.encode(np.array(["2020-02-03 04:05:06", "never"], dtype=object)).tolist()
    [4, 24]
    """

    kind: ClassVar[str] = "datetime"
    part: str
    min: int | None = None
    max: int | None = None
    format: str | None = None
    """The format of texts, as for strptime; ISO 8601 where it is None."""

    def __post_init__(self) -> None:
        """Raise on unknown parts, and on missing ends where the calendar defines none."""
        check_outside(self.name, self.outside, ("nearest", "other", "drop"))
        if self.part not in PARTS:
            raise SchemaError(
                f"column {self.name!r}: unknown date-time part",
                got=repr(self.part),
                allowed=", ".join(PARTS),
            )
        check_format(self.name, self.format)
        low, high = PARTS[self.part]
        for end, default in (("min", low), ("max", high)):
            if getattr(self, end) is None:
                if default is None:
                    raise SchemaError(
                        f"column {self.name!r}: part {self.part!r} needs min and max",
                        hint="the calendar does not define where your table begins and ends",
                    )
                object.__setattr__(self, end, default)
        self.as_integer()

    def as_integer(self) -> Integer:
        """Return the Integer column of the part's values."""
        low, high = self.min or 0, self.max or 0
        return Integer(
            name=self.name,
            min=low,
            max=high,
            outside=self.outside,
            missing=self.missing,
            of=self.of,
        )

    @property
    def values_count(self) -> int:
        """The number of values of the part."""
        return self.as_integer().values_count

    def bounds(self) -> tuple[Array, Array]:
        """Return every value of the part twice: a code has one number."""
        return self.as_integer().bounds()

    @property
    def date_part(self) -> DatePart:
        """The part, and the format of the date-time."""
        return DatePart(self.part, self.format)

    @property
    def disk_type(self) -> str:
        """64-bit integers."""
        return "BIGINT"

    def released(self) -> Integer:
        """Return the Integer column of the part's values: a release has no date-time of it."""
        return self.as_integer()

    def encode(self, values: Array) -> Codes:
        """Read the date-time, take the part, and count from the lower end."""
        seconds, absent = reading.seconds(values, self.format, self.null_keys)
        return self.as_integer().from_whole(reading.part(seconds, self.part), absent)

    def encode_sql(self, cell: Cell) -> str:
        """Read the date-time, take the part, and count from the lower end."""
        seconds, absent = cell.seconds(self.format, self.null_keys)
        part = cell.take(part_of(seconds, self.part, cell.dialect))
        return self.as_integer().from_whole_sql(part, cell.take(absent))

    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Return the part as an integer, None for missing and other."""
        return self.as_integer().decode(codes, rng)

    def value_labels(self) -> list[str]:
        """Return the part's values as text; a month with its year."""
        counted = range(self.min or 0, (self.max or 0) + 1)
        if self.part == "month_index":
            return [str(np.datetime64(v, "M")) for v in counted]
        return [str(v) for v in counted]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timestamp(Compound):
    """A date-time that is modelled as month, weekday and hour, and released as one.

    >>> when = Timestamp(name="when", min="2020-01-15", max="2021-12-31", resolution="minute")
    >>> [f"{column.name}: {column.size}" for column in when.modelled]
    ['when_month: 25', 'when_weekday: 8', 'when_hour: 25']
    """

    kind: ClassVar[str] = "timestamp"
    min: str
    """The first day of the table, as 2020-01-31."""
    max: str
    """The last day."""
    resolution: Resolution = "second"
    """The resolution of the output; with ``day`` there is no hour."""
    format: str | None = None
    """The format of texts, as for strptime; ISO 8601 where it is None."""
    parts: tuple[str, ...] = ()
    """The names of the modelled columns; if empty, the column's own name with suffixes."""
    zone: str | None = None
    """The time zone of data frames, such as Europe/Berlin; it is modelled, and written, in UTC."""

    def __post_init__(self) -> None:
        """Raise on invalid days, resolutions, formats and parts."""
        check_outside(self.name, self.outside, ("nearest", "other", "drop"))
        if self.resolution not in RESOLUTIONS:
            raise SchemaError(
                f"column {self.name!r}: unknown resolution",
                got=repr(self.resolution),
                allowed=", ".join(map(repr, reversed(RESOLUTIONS))),
            )
        check_format(self.name, self.format)
        first, last = (day_of(self.name, end) for end in (self.min, self.max))
        if first > last:
            raise SchemaError(
                f"column {self.name!r}: the last day is before the first",
                got=f"{self.min} to {self.max}",
                allowed="min <= max",
            )
        check_zone(self.name, self.zone)
        several = len({part.lower() for part in self.parts}) == len(self._kinds)
        if self.parts and (not several or len(self.parts) != len(self._kinds) or "" in self.parts):
            raise SchemaError(
                f"column {self.name!r}: parts needs one name per modelled column",
                got=", ".join(map(repr, self.parts)),
                allowed=f"{len(self._kinds)} different names, for " + ", ".join(self._kinds),
            )

    @property
    def _kinds(self) -> list[str]:
        return list(_PARTS)[: 2 if self.resolution == "day" else 3]

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names of the modelled columns."""
        return self.parts or tuple(f"{self.name}_{kind}" for kind in self._kinds)

    @classmethod
    def expanded(cls, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Allow TOML's own dates, which need no quotes."""
        del name
        return {k: v.isoformat() if isinstance(v, date) else v for k, v in given.items()}

    @property
    def disk_type(self) -> str:
        """A date-time without a zone."""
        return "TIMESTAMP"

    @property
    def summary(self) -> str:
        """What happens to the column, for the comments of a drafted schema."""
        return (
            "Moments, modelled as month, weekday and hour. From which day to which does the\n"
            "private table go? Set min and max to that; days beyond count as the nearest month."
        )

    def released(self) -> Timestamp:
        """Return the declaration of the output: one format, empty where missing."""
        return replace(self, source="", format=None, nulls=NULLS)

    @property
    def modelled(self) -> tuple[DateTime, ...]:
        """The columns with codes: the month, the weekday, and perhaps the hour."""
        months = tuple(month_of(day_of(self.name, end)) for end in (self.min, self.max))
        return tuple(
            DateTime(
                name=name,
                source=self.table_column,
                part=_PARTS[kind],
                min=months[0] if kind == "month" else None,
                max=months[1] if kind == "month" else None,
                format=self.format,
                outside=self.outside,
                missing=self.missing,
                nulls=self.nulls,
            )
            for name, kind in zip(self.part_names, self._kinds, strict=True)
        )

    @property
    def clock(self) -> DateTime | None:
        """The column of its dates, by which a person's rows are ordered; None of too many days.

        It is in the order of time, as the parts are not: Monday the 29th comes after Wednesday the
        3rd.  Days beyond the ends are those nearest to them, unless months have a code for others:
        then it has all days of the first and the last month, as months do.  It drops no row that
        months keep.
        """
        months = self.modelled[0]
        if months.values_count > MOST_MONTHS:
            return None
        first, last = (number_of(day_of(self.name, end)) for end in (self.min, self.max))
        if self.outside == "other":
            first, last = self.first_day, int(first_days(np.array((months.max or 0) + 1))) - 1
        return replace(
            months,
            name=f"({self.name}: date)",
            part="date",
            min=first,
            max=last,
            outside="other" if self.outside == "other" else "nearest",
        )

    @property
    def first_day(self) -> int:
        """The number of the first day of the first month, from 1970 on."""
        return int(first_days(np.array(self.modelled[0].min or 0)))

    @property
    def in_order(self) -> list[str]:
        """The columns by whose codes moments are ordered: the clock, and what is within a day."""
        clock = [] if self.clock is None else [self.clock.name]
        return [*clock, *self.part_names[2 if clock else 0 :]]

    def on_dates(self) -> dict[str, Codes]:
        """Return the codes of the month and the weekday of every code of the clock."""
        assert self.clock is not None  # noqa: S101  asked only where there is one
        months, weekdays = self.modelled[:2]
        days = np.arange(self.clock.min or 0, (self.clock.max or 0) + 1)
        month = months_of(days) - (months.min or 0)
        rest = np.arange(self.undated)
        return {
            months.name: np.append(month, months.values_count + rest).astype(np.int32),
            weekdays.name: np.append((days + 3) % 7, weekdays.values_count + rest).astype(np.int32),
        }

    @property
    def undated(self) -> int:
        """The number of the clock's last codes, which are of no date."""
        return 0 if self.clock is None else self.clock.size - self.clock.values_count

    def on_clock(self, codes: Codes, other: Timestamp) -> Codes:
        """Return the codes of dates that have those of another's clock, of as many months."""
        mine, theirs = self.clock, other.clock
        assert mine is not None  # noqa: S101  asked only where there are both
        assert theirs is not None  # noqa: S101
        began = (theirs.min or 0) - other.first_day - (mine.min or 0) + self.first_day
        days = np.clip(codes.astype(np.int64) + began, 0, mine.values_count - 1)
        none = codes.astype(np.int64) - theirs.values_count + mine.values_count
        return np.where(codes < theirs.values_count, days, none).astype(np.int32)

    @property
    def is_declared(self) -> NDArray[np.bool_]:
        """Whether every code of the clock is of a day from the first to the last, or of none."""
        assert self.clock is not None  # noqa: S101  asked only where there is one
        days = np.arange(self.clock.min or 0, (self.clock.max or 0) + 1)
        first, last = (number_of(day_of(self.name, end)) for end in (self.min, self.max))
        none = np.ones(self.undated, dtype=np.bool_)
        return np.append((first <= days) & (days <= last), none)

    def joined(self, codes: Mapping[str, Codes], draw: Draw, rng: np.random.Generator) -> Array:
        """Draw date-times for the codes of all parts, NaT where there is no month.

        Without a weekday all dates of the month are equally likely, and without an hour all hours.
        Where there are codes of the clock, dates are these, unless month or weekday have changed.
        """
        del draw
        months, *others = self.modelled
        first, known = months.min or 0, codes[months.name] < months.values_count
        month = np.where(known, codes[months.name], 0).astype(np.int64) + first
        dates = self._dates(month, codes[others[0].name], rng)
        if self.clock is not None and self.clock.name in codes:
            told = codes[self.clock.name].astype(np.int64)
            kept = told < self.clock.values_count
            for name, part in self.on_dates().items():
                kept &= part[told] == codes[name]
            dates = np.where(kept, told + (self.clock.min or 0), dates)
        seconds = dates * 86400
        if self.resolution != "day":
            hour = codes[others[1].name]
            seconds += np.where(hour < 24, hour, rng.integers(0, 24, len(hour))) * 3600
            step = RESOLUTIONS[self.resolution]
            seconds += rng.integers(0, 3600 // step, len(hour)) * step
        drawn: Array = seconds.astype("datetime64[s]").astype("datetime64[us]")
        drawn[~known] = np.datetime64("NaT")
        return drawn

    def _dates(self, month: Array, weekday: Codes, rng: np.random.Generator) -> Array:
        """Draw dates of months and weekdays, as days since 1970, between the ends if possible."""
        whole = first_days(month), first_days(month + 1)
        low = np.maximum(whole[0], number_of(day_of(self.name, self.min)))
        high = np.minimum(whole[1], number_of(day_of(self.name, self.max)) + 1)
        any_day = rng.integers(low, high)
        wanted = np.where(weekday < 7, weekday, (any_day + 3) % 7)
        # The first or last month of a table may be too short to contain the weekday.
        lacking = low + until(low, wanted) >= high
        low, high = np.where(lacking, whole[0], low), np.where(lacking, whole[1], high)
        start = low + until(low, wanted)
        drawn: Array = start + 7 * rng.integers(0, (high - start + 6) // 7)
        return drawn


def check_format(name: str, text: str | None) -> None:
    """Raise unless a format is valid, and reads the text of a typed date-time as that one."""
    check_no_epoch(name, text)
    compile_format(text)
    other = reading.misread(text)
    if other is not None:
        raise SchemaError(
            f"column {name!r}: the format reads {other} differently from ISO 8601",
            got=repr(text),
            hint="a typed date-time and its text must mean the same; use a format "
            "with the month after the year",
        )


def check_zone(name: str, zone: str | None) -> None:
    """Raise unless a time zone is known to the system's database."""
    try:
        _ = zone is None or ZoneInfo(zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise SchemaError(
            f"column {name!r}: unknown time zone",
            got=repr(zone),
            allowed="a name of the time zone database, such as 'Europe/Berlin'",
        ) from None


def day_of(name: str, text: str) -> date:
    """Read a declared day.

    >>> day_of("when", "2020-02-29")
    datetime.date(2020, 2, 29)
    """
    try:
        # Python also accepts weeks and days without hyphens, which a reader of a schema would not.
        return date.fromisoformat(text if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else "")
    except ValueError:
        raise SchemaError(
            f"column {name!r}: min and max of a timestamp must be days",
            got=repr(text),
            allowed="a date in the years 1 to 9999, such as '2020-01-31'",
        ) from None
