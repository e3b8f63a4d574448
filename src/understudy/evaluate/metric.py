"""A metric: one object that defines what is compared, its options, and how results are shown.

Everything that walks a registry of metrics reads it from here: a comparison computes results and
writes them as text and as plain data, the command line takes a metric's options, and the
custodian's page shows its figures and its section.  Results are exact and private: they are for
the custodian only, and no message of a metric may quote one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from understudy.errors import QuestionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from understudy.evaluate.sections import Group, Results, Section
    from understudy.evaluate.table import Coded
    from understudy.evaluate.values import Values
    from understudy.schema import Schema

R = TypeVar("R")
"""What a metric computes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting of a metric: a keyword of `compare`, and an option of ``understudy evaluate``."""

    name: str
    """The keyword."""
    help: str | None = None
    """The help text of the command line; without it, there is no such option."""
    kind: Literal["column", "columns", "flag", "number"] = "column"
    """A flag turns the metric on and is not passed on to it."""
    needed: bool = True
    """Whether the metric is computed only if this is given."""
    called: str | None = None
    """The option's name on the command line, if it differs from the keyword."""
    metavar: str = "COLUMN"
    read: Callable[[str], object] | None = None
    """How the command line's text is parsed, if not by its kind."""

    @property
    def flag(self) -> str:
        """Return the option as it is written on the command line."""
        return f"--{(self.called or self.name).replace('_', '-')}"

    @property
    def usage(self) -> str:
        """Return the option with its value's placeholder."""
        return self.flag if self.kind == "flag" else f"{self.flag} {self.metavar}"

    def value(self, text: str) -> object:
        """Parse a text of the command line as the setting."""
        if self.read is not None:
            return self.read(text)
        if self.kind == "number":
            try:
                return int(text)
            except ValueError:
                raise UsageError(f"{self.flag} needs a whole number", got=text) from None
        return column_list(text) if self.kind == "columns" else text


def column_list(text: str) -> tuple[str, ...]:
    """Return the column names in a comma-separated list.

    >>> column_list("pickup, dropoff")
    ('pickup', 'dropoff')
    """
    return tuple(part.strip() for part in text.split(","))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Raw:
    """The raw values of both tables.  It has no repr, so that no value shows in a traceback."""

    real: Values
    synthetic: Values
    largest: Mapping[str, int] | None = None
    """The largest code of columns of whole numbers from 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tables:
    """The two tables that a metric compares.  It has no repr, as they have none."""

    real: Coded
    synthetic: Coded
    raw: Raw | None = None
    seed: int = 0
    """For metrics that draw at random: the same for every table of a comparison."""

    @property
    def values(self) -> Raw:
        """Return raw values; raise if there are none."""
        if self.raw is None:
            raise QuestionError("no raw values to compare", hint="pass raw=Raw(…) to compare")
        return self.raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Generic[R]):
    """One number of a result: a line of the text, an entry of the summary, a row of the page."""

    name: str
    """Its name in the text and in the summary, unique among all metrics."""
    of: Callable[[R], float | None]
    """None where a result has no such number."""
    is_part: bool = False
    """Whether it is a part of the figure above it; the text indents it."""
    title: str | None = None
    """Its name on the page; without one, the page does not show it."""
    best: float | None = None
    """Its value for the real table itself; the page then draws shares of it."""
    axis: str | None = None
    """Its name in a chart of runs by epsilon; without one, there is no such chart."""
    lower: bool = False
    """Whether a lower figure is closer to the real table."""

    @property
    def line(self) -> str:
        """Return its name as the text has it."""
        return f"  {self.name}" if self.is_part else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A further table of the text."""

    title: str
    rows: Mapping[str, Sequence[float | None]]
    """None stands for a number that does not exist."""
    head: Sequence[str] | None = None
    """The names of its columns, where they are not those of the tables compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Generic[R]):
    """A metric of a synthetic table against the real one."""

    name: str
    """Its key in plain data."""
    title: str
    """Its name in sentences."""
    about: str
    """What it measures, in one sentence."""
    compute: Callable[..., R | None]
    """Return the result for `Tables`, or None where there is none; settings are keywords."""
    plain: Callable[[R], Any]
    """Return a result as plain data, as JSON takes it."""
    options: Sequence[Option] = ()
    """A metric without needed options is always computed."""
    raw: bool = False
    """Whether it needs raw values besides codes."""
    yardsticks: bool = True
    """Whether yardsticks are measured too.  A metric without them has no figures."""
    whole_people: bool = False
    """Whether yardsticks are drawn by people, each with all of their rows, rather than by rows."""
    figures: Sequence[Figure[R]] = ()
    scale: str | None = None
    """How to read its figures, in a few words above the text's table."""
    group: Group | None = None
    """The page's table for its figures; None is for the last one."""
    lines: Callable[[Sequence[R]], Lines | None] | None = None
    """Return another table of the text, from the results for all tables, in order."""
    section: Callable[[Results[R]], Section | None] | None = None
    """Return a section of the page, from the results for all runs and yardsticks."""
    check: Callable[[Schema, Mapping[str, Any]], None] | None = None
    """Raise if these settings do not fit a schema, before a table is read."""
    suggest: Callable[[Coded, Schema], Mapping[str, object]] | None = None
    """Return default settings for a page, chosen from the real table."""

    def __post_init__(self) -> None:
        """Raise if there are figures that no summary would contain."""
        if self.figures and not self.yardsticks:
            raise QuestionError(f"{self.name} has figures, but measures no yardsticks")

    def settings(self, given: Mapping[str, object]) -> dict[str, Any] | None:
        """Return this metric's own settings; None if it is not to be computed.

        A setting that is None or False is not given.
        """
        own = {
            option.name: given[option.name]
            for option in self.options
            if given.get(option.name) is not None and given[option.name] is not False
        }
        needed = [option.name for option in self.options if option.needed]
        missing = [name for name in needed if name not in own]
        if missing and own:
            raise QuestionError(
                f"{with_article(self.title)} needs {_listed(needed)}: name all of them or none",
                got=", ".join(own),
            )
        flags = {option.name for option in self.options if option.kind == "flag"}
        return None if missing else {k: v for k, v in own.items() if k not in flags}

    def check_settings(self, schema: Schema, settings: Mapping[str, Any]) -> None:
        """Raise if the settings do not fit this schema, before any table is read."""
        if self.check is not None:
            self.check(schema, settings)
            return
        named: list[str] = []
        for option in self.options:
            if option.name in settings and option.kind in {"column", "columns"}:
                value = settings[option.name]
                named += [value] if isinstance(value, str) else value
        check_modelled(schema, [name for name in named if name not in schema.unconstrained.domain])

    def summary(self, result: R | None) -> dict[str, float]:
        """Return the figures of a result, by their names in the text."""
        if result is None:
            return {}
        found = {figure.line: figure.of(result) for figure in self.figures}
        return {line: value for line, value in found.items() if value is not None}


def check_modelled(schema: Schema, unknown: Sequence[str]) -> None:
    """Raise if there are columns that a schema does not model."""
    if unknown:
        raise QuestionError(
            "the schema does not model these columns",
            got=", ".join(unknown),
            allowed=", ".join(schema.unconstrained.domain),
        )


def check_known(metrics: Iterable[Metric[Any]], settings: Mapping[str, object]) -> None:
    """Raise if there are settings that no metric takes."""
    known = [option.name for metric in metrics for option in metric.options]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise QuestionError(
            "unknown settings",
            got=", ".join(unknown),
            allowed=", ".join(known) or "none",
            hint="pass metrics=METRICS | …; those of contests are in understudy.contests.metrics",
        )


def with_article(title: str) -> str:
    """Return a title with its article.

    >>> with_article("excerpt score"), with_article("trip score")
    ('an excerpt score', 'a trip score')
    """
    return f"{'an' if title[0] in 'aeiou' else 'a'} {title}"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
