"""Opening a session from what people write: words for units and boundings, budgets with a meaning.

`open` is `understudy.session.open_session` with two differences.  It takes names where the other
takes objects: ``unit="taxi_id"``, ``bounding="weights:150"``.  And it refuses a budget that hardly
protects anyone, unless it is told that this is known.  So does `discover`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import AnyUnit, Bounding, Budget, Norm, Sample, Unit, Weights
from understudy.errors import BudgetError, UsageError, nearest
from understudy.public import LOG
from understudy.schema import Schema
from understudy.session import discovered, open_session
from understudy.synth.screening import SHARE

if TYPE_CHECKING:
    from understudy.schema.known import Known
    from understudy.session import Session
    from understudy.synth.discovery import Discovery

EACH_ROW = "each-row"
I_KNOW = "add --i-know"
BOUNDINGS = "norm, weights:C or sample:C, where C is a whole number"
WEAK = 5.0
"""A larger epsilon gets a warning."""
MEANINGLESS = 20.0
"""A larger one is refused."""
MOST_SCREENING = 0.1
NEAR_ONE = 0.01
"""So does a delta that is expected to give away more people than this; from one on it is refused.
Where the number of people is unknown, a delta above this is refused."""


def open(  # noqa: A001  as `understudy.open`
    *,
    private: object,
    public: object = None,
    schema: Schema | str | Path | Mapping[str, Any],
    unit: AnyUnit | str | Sequence[str],
    bounding: Bounding | str,
    budget: Budget,
    ledger: str | Path,
    known: Sequence[Known | Mapping[str, Any] | str | Path] = (),
    i_know: bool = False,
    screening: float = 0.0,
) -> Session:
    """Open a session; nothing is read or spent before `Session.run`.

    ``private`` and ``public`` are paths of CSV or Parquet files, tables in memory (pandas, polars,
    Arrow, a dict of columns), a `Database` or a `SparkTable`.  Either may be two of these, a table
    of people and one of their rows: ``private={"people": "patients.csv", "rows": "visits.csv"}``.
    A public table is not protected at all: it must be one that anyone may see.

    The unit is a `Unit` or its columns' names, the bounding a `Norm`, `Weights` or `Sample` or its
    words: ``"norm"``, ``"weights:150"``.  The ledger is created if it does not exist, with this
    budget as the table's total.  An epsilon above 20 or a delta of 0.01 or more protects hardly
    anyone, and is refused unless ``i_know`` is true.

    ``known`` are counts that everyone knows, as `Known`, as plain data or as paths of CSV files:
    the release's rows follow them.

    With ``screening=0.01`` a run first spends that share of its budget to ask whether columns can
    be read as the schema declares them, and stops with an `UnreadableError` if not.  By default it
    does not ask.

        session = us.open(
            private="trips-2020.parquet",
            public="trips-2019.parquet",
            schema="trips.toml",
            unit="taxi_id",
            bounding="norm",
            budget=us.Budget(epsilon=1.0, delta=1e-9),
            ledger="trips.ledger",
        )
        release = session.run("auto")
    """
    _check_budget(budget, i_know=i_know)
    return open_session(
        private=private,
        public=public,
        schema=_schema(schema),
        unit=unit_of(unit),
        bounding=bounding_of(bounding),
        budget=budget,
        ledger=_path(ledger),
        known=known,
        screening=screening_of(screening),
    )


def discover(
    *,
    private: object,
    unit: AnyUnit | str | Sequence[str],
    budget: Budget,
    ledger: str | Path,
    name: str,
    schema: Schema | str | Path | None = None,
    total: Budget | None = None,
    settings: Discovery | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    i_know: bool = False,
) -> Schema:
    """Discover a schema from a private table, under a ledger's promise.

    The table is all that `understudy.open` takes, two tables of people and rows included.
    Column names are public; nothing else is.  Columns that ``schema`` declares are not asked about.
    A ``delimiter`` and an ``encoding`` are those of CSV files, where they are neither a comma and
    UTF-8 nor the schema's.
    The budget needs a share for failure probabilities: ``us.Budget(epsilon=0.2, delta=1e-7,
    failure=5e-8)``.  One that protects hardly anyone is refused as by `understudy.open`, unless
    ``i_know`` is true.  A ledger that does not exist is created with ``total``, which other runs
    will share.  A discovery that was interrupted is continued by the same call.

        schema = us.discover(
            private="visits.csv",
            unit=us.Unit("patient_id"),
            budget=us.Budget(epsilon=0.2, delta=1e-7, failure=5e-8),
            ledger="visits.ledger",
            name="visits",
            total=us.Budget(epsilon=1.0, delta=1e-6, failure=5e-8),
        )
    """
    _check_budget(budget, i_know=i_know)
    return discovered(
        private=private,
        unit=unit_of(unit),
        budget=budget,
        ledger=ledger,
        name=name,
        schema=schema,
        total=total,
        settings=settings,
        delimiter=delimiter,
        encoding=encoding,
    ).schema


def screening_of(share: object) -> float:
    """Return the share of a run's budget for its first question; raise if it is too large."""
    if not isinstance(share, (int, float)) or not 0 <= share <= MOST_SCREENING:
        raise BudgetError(
            "screening must be a share of the budget",
            got=repr(share) if isinstance(share, (int, float, str)) else type(share).__name__,
            allowed=f"0, which does not ask, up to {MOST_SCREENING:g}; {SHARE:g} is usual",
        )
    return float(share)


def unit_of(given: object) -> AnyUnit:
    """Return a unit from itself, from column names, or from ``"each-row"``.

    >>> print(unit_of("tailnum, week"), unit_of(["tailnum", "week"]), unit_of("each-row"))
    tailnum × week tailnum × week row
    """
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",")]
    if isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        return Unit.each_row() if list(given) == [EACH_ROW] else Unit(*given)
    if not isinstance(given, AnyUnit):
        raise UsageError(
            "invalid unit",
            got=type(given).__name__,
            allowed='us.Unit("taxi_id"), a column\'s name, a list of names, or "each-row"',
        )
    return given


def bounding_of(given: object, *, allowed: str = BOUNDINGS) -> Bounding:
    """Return a bounding from itself, or from its kind and its cap.

    >>> bounding_of("weights:5")
    Weights(cap=5)
    """
    if isinstance(given, Bounding):
        return given
    if not isinstance(given, str):
        got = repr(given) if isinstance(given, (int, float)) else type(given).__name__
        such = 'such as us.Norm(), us.Weights(150) or "weights:150"'
        raise UsageError("invalid bounding", got=got, allowed=such)
    kind, colon, cap = given.partition(":")
    if kind == Norm.kind and not colon:
        return Norm()
    if kind == Norm.kind:
        raise BudgetError("norm takes no cap", got=given, allowed=allowed)
    kinds: dict[str, type[Weights | Sample]] = {Weights.kind: Weights, Sample.kind: Sample}
    if kind not in kinds:
        hint = nearest(kind, [Norm.kind, *kinds])
        raise BudgetError("unknown bounding", got=given, allowed=allowed, hint=hint)
    if not re.fullmatch("[0-9]{1,10}", cap):
        needs = f"{kind} needs a cap: a whole number, of at most 10 digits"
        raise BudgetError(needs, got=given, allowed=allowed)
    return kinds[kind](int(cap))


def bounding_words(bounding: Bounding) -> str:
    """Return what `bounding_of` reads as this bounding.

    >>> bounding_words(Weights(5)), bounding_words(Norm())
    ('weights:5', 'norm')
    """
    return bounding.kind if isinstance(bounding, Norm) else f"{bounding.kind}:{bounding.cap}"


def refuse(budget: Budget, *, people: int | None, i_know: bool, how: str) -> None:
    """Raise if a budget protects hardly anyone, unless that is known."""
    if i_know:
        return
    hint = f"choose a smaller one; {how} if this is what you want, as for a test on public rows"
    if budget.epsilon > MEANINGLESS:
        raise BudgetError(
            "an epsilon this large protects hardly anyone",
            got=f"epsilon {budget.epsilon:g}",
            allowed=f"at most {MEANINGLESS:g}; 1 is usual, and above {WEAK:g} the promise is weak",
            hint=hint,
        )
    given_away = budget.delta * (people or 1 / NEAR_ONE)
    if given_away >= 1:
        several = "" if people is None else f", times {people:,} people of the public table"
        raise BudgetError(
            "a delta this large may give people away entirely",
            got=f"delta {budget.delta:g}{several}",
            allowed="far below 1 / (number of people)",
            hint=hint,
        )


def dangers(budget: Budget, *, people: int | None) -> Iterator[str]:
    """Say in sentences where a budget promises little."""
    if people is not None and budget.delta * people > NEAR_ONE:
        yield (
            f"delta times the number of people is {budget.delta * people:.2g}: that many may be "
            f"revealed entirely. Choose delta below {NEAR_ONE / people:.0e}."
        )
    if budget.epsilon > WEAK:
        likelier = f"{math.exp(min(budget.epsilon, 700)):.3g}"
        if budget.epsilon < MEANINGLESS:
            likelier = f"{float(likelier):,.0f}"
        yield (
            f"epsilon {budget.epsilon:g} is a weak promise: one person's rows may make an outcome "
            f"{likelier} times as likely."
        )


def _check_budget(budget: object, *, i_know: bool) -> None:
    """Raise unless it is a budget that protects people, or that is known; warn of a weak one."""
    if not isinstance(budget, Budget):
        raise UsageError(
            "invalid budget",
            got=repr(budget) if isinstance(budget, (int, float, str)) else type(budget).__name__,
            allowed="such as us.Budget(epsilon=1.0, delta=1e-9)",
        )
    refuse(budget, people=None, i_know=i_know, how="i_know=True")
    for danger in dangers(budget, people=None):
        LOG.warning("%s", danger)


def _schema(given: object) -> Schema:
    if isinstance(given, Schema):
        return given
    if isinstance(given, Mapping):
        return Schema.from_dict(dict(given))
    return Schema.read(_path(given, "schema"))


def _path(given: object, what: str = "ledger") -> Path:
    if not isinstance(given, (str, Path)):
        raise UsageError(f"invalid {what}", got=type(given).__name__, allowed="a file's path")
    return Path(given)
