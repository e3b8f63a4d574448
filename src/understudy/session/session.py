"""The composition root: opens vault and ledger, hands a door to a mechanism."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from understudy.budget import (
    AnyUnit,
    Bounding,
    Budget,
    Currency,
    Norm,
    ResolvedUnit,
    Weights,
    bounding_from_dict,
    bounding_to_dict,
    resolve,
)
from understudy.engine import CodedTable, check_apart, engine_for, read_once
from understudy.engine.two_tables import check_two_tables, tables_of, two_tables
from understudy.errors import BudgetError, LedgerMismatchError, UnreadableError, UsageError, sealed
from understudy.ledger import Ledger, new_key
from understudy.public import PublicTable, following, silent
from understudy.release import build
from understudy.release.known import totals_of
from understudy.schema import Schema
from understudy.schema.known import Known, known_totals
from understudy.synth import mechanism_from_dict, mechanism_of, mechanism_to_dict
from understudy.synth.screening import run_screened
from understudy.vault import PrivateDoor, PrivateTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from understudy.engine import Engine
    from understudy.ledger import Run
    from understudy.public import Progress
    from understudy.release import Release
    from understudy.synth import Mechanism


T = TypeVar("T")
_SUCH = {
    "unit": 'us.Unit("taxi_id")',
    "bounding": "us.Norm() or us.Weights(150)",
    "budget": "us.Budget(epsilon=1.0, delta=1e-9)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A private table with its schema, unit, bounding, budget and ledger; made by `open`.

    `run` spends the budget on a mechanism and returns a `Release`; `resume` continues an
    interrupted run at no extra cost.  A session's repr shows neither the private nor the public
    table.
    """

    private: object = field(repr=False, compare=False)
    public: object = field(default=None, repr=False, compare=False)
    """A table that anyone may see, with the private one's columns; None if there is none."""
    schema: Schema
    unit: AnyUnit
    """Who is protected: declared by the caller, then resolved to columns of the table."""
    bounding: Bounding
    budget: Budget
    ledger: Path
    total: Budget | None = None
    """The table's total, if the ledger does not exist yet; None for this run's budget."""
    known: tuple[Known, ...] = ()
    """Counts that everyone knows, which the release's rows follow."""
    screening: float = 0.0
    """The share of a run's budget that first asks whether columns can be read as declared."""

    def __post_init__(self) -> None:
        """Resolve the unit, and raise on arguments that cannot be combined."""
        check_apart(self.private, self.public)
        for name, kind in (("unit", AnyUnit), ("bounding", Bounding), ("budget", Budget)):
            if not isinstance(getattr(self, name), kind):
                got = type(getattr(self, name)).__name__
                raise UsageError(f"invalid {name}", got=got, allowed=f"such as {_SUCH[name]}")
        if isinstance(self.bounding, Norm) and self.budget.currency == Currency.PURE:
            raise BudgetError(
                "Norm bounds contributions in L2, but pure epsilon-DP needs an L1 bound",
                hint="use Weights or Sample, or a delta above 0",
            )
        object.__setattr__(self, "unit", self.person)
        self.schema.keeper.check_asked()
        totals_of(
            self.schema, self.person, self.known, two_tables=two_tables(self.private) is not None
        )

    @property
    def person(self) -> ResolvedUnit:
        """Who is protected, resolved to columns of the table."""
        return resolve(self.unit, self.schema)

    def check_columns(self) -> None:
        """Check that the private table has the columns that are needed, without reading any row."""
        with closing(engine_for(self.private)) as engine:
            self._read(CodedTable, engine, rows=False)

    @following
    def run(
        self,
        mechanism: Mechanism | type[Mechanism] | str = "auto",
        *,
        progress: Progress = silent,
        note: dict[str, Any] | None = None,
    ) -> Release:
        """Run a mechanism on this session's budget, and return its release.

        A mechanism may be given by its name, ``"mst"``, or class, ``us.MST``, for its own settings.
        ``progress`` is called with each stage and how much of it is done; without it, a notebook
        shows them.  ``note`` is stored with the run in the ledger, for whoever resumes it.
        """
        mechanism = mechanism_of(mechanism)
        if two_tables(self.private) is not None:
            # Columns that are still to be discovered are not drawn.
            check_two_tables(self.schema, self.person)
        public = self._public(progress)
        with self._vault(progress, create=True) as (table, ledger):
            ledger.bind(name=self.schema.name, unit=self.person)
            request = {
                "mechanism": mechanism_to_dict(mechanism),
                "bounding": bounding_to_dict(self.bounding),
                "schema": self.schema.to_dict(),
                **({"known": [k.to_plain() for k in self.known]} if self.known else {}),
                **({"tables": 2} if table.two_tables else {}),
                # A document's budget has no share for it, and a stream cannot be read twice.
                **(
                    {"screening": self.screening}
                    if self.screening
                    and not any(map(read_once, tables_of(self.private)))
                    and not getattr(mechanism, "published", False)
                    else {}
                ),
                # Seeds the drawing of rows, so that a resumed run draws the same ones.
                "sampling_seed": str(secrets.randbits(128)),
                "note": note or {},
            }
            return self._finish(
                mechanism, table, ledger.begin(self.budget, request), public, progress
            )

    @following
    def resume(self, number: int | None = None, *, progress: Progress = silent) -> Release:
        """Continue an unfinished run, or rebuild the release of a finished one.

        Stored answers are replayed; nothing is drawn or charged twice.
        """
        public = self._public(progress)
        with self._vault(progress, create=False) as (table, ledger):
            run = ledger.reopen(number)
            ledger.bind(name=self.schema.name, unit=self.person)
            request = run.state().request
            for what, asked, found in (
                ("schema", self.schema.to_dict(), request["schema"]),
                ("bounding", bounding_to_dict(self.bounding), request["bounding"]),
                (
                    "set of known totals",
                    [k.to_plain() for k in self.known],
                    request.get("known", []),
                ),
                ("number of private tables", 1 + table.two_tables, request.get("tables", 1)),
            ):
                # As text: the order of columns decides what a mechanism asks.
                if json.dumps(asked) != json.dumps(found):
                    raise LedgerMismatchError(
                        f"run {run.number} was started with another {what}",
                        hint=f"resume it with the {what} it was started with",
                    )
            return self._finish(
                mechanism_from_dict(request["mechanism"]), table, run, public, progress
            )

    def ask(
        self,
        program: Callable[[PrivateDoor], T],
        request: dict[str, Any],
        progress: Progress,
        *,
        again: bool = False,
    ) -> tuple[T, int]:
        """Give the door to a program that makes no release; return its result and the run's number.

        A run that asked the very same and is still open is continued; with ``again``, one that is
        finished too, whose answers are then replayed at no cost.
        """
        with self._vault(progress, create=True) as (table, ledger):
            ledger.bind(name=self.schema.name, unit=self.person)
            run = _same_run(ledger, self.budget, request, again=again)
            with closed_unless_charged(run):
                found = program(self._door(table, run))
            run.close()
            return found, run.number

    @contextmanager
    def _vault(self, progress: Progress, *, create: bool) -> Iterator[tuple[PrivateTable, Ledger]]:
        """Open ledger and private table; an invalid table leaves the ledger untouched."""
        with ExitStack() as opened:
            missing = create and not os.path.exists(self.ledger)  # noqa: PTH110  it raises for no name
            ledger = None if missing else opened.enter_context(closing(Ledger(self.ledger)))
            key = new_key() if ledger is None else ledger.state().key
            engine = opened.enter_context(closing(engine_for(self.private)))
            progress("reading the private table", 0)
            table = self._read(PrivateTable, engine, key=key)
            # However the run ends, a traceback that holds the table holds no counts.
            opened.callback(table.forget)
            if ledger is None:
                ledger = Ledger.create(self.ledger, budget=self.total or self.budget, key=key)
                opened.enter_context(closing(ledger))
            yield table, ledger

    @sealed
    def _read(self, kind: Callable[..., T], engine: Engine, **more: object) -> T:
        """Open the private table; its errors are stripped of the frames that saw its rows."""
        return kind(engine, self.private, **{"schema": self.schema, "unit": self.person} | more)

    def _door(self, table: PrivateTable, run: Run) -> PrivateDoor:
        """Make the one door that a mechanism gets."""
        return PrivateDoor(table, run=run, bounding=self.bounding, let_go=table.engine.close)

    def _screened(
        self, table: PrivateTable, run: Run, ask: Callable[[PrivateDoor], T]
    ) -> tuple[T, PrivateDoor]:
        """Ask first how much of the table can be read; return the answer, and the door after that.

        That is asked of a table of its own, in which no row is dropped and no value moved.
        """
        with closing(engine_for(self.private)) as engine:
            seen = self._read(
                PrivateTable, engine, schema=self.schema.screened, key=run.ledger().key
            )
            with closing(PrivateDoor(seen, run=run, bounding=Weights(1))) as first:
                return ask(first), PrivateDoor(
                    table, run=run, bounding=self.bounding, let_go=table.engine.close, after=first
                )

    def _public(self, progress: Progress) -> PublicTable | None:
        """Read the public table before the vault is opened: an invalid one costs nothing."""
        if self.public is None or isinstance(self.public, PublicTable):
            return self.public
        progress("reading the public table", 0)
        return PublicTable.read(self.public, schema=self.schema, unit=self.unit)

    def _finish(
        self,
        mechanism: Mechanism,
        table: PrivateTable,
        run: Run,
        public: PublicTable | None,
        progress: Progress,
    ) -> Release:
        request = run.state().request
        rng = np.random.default_rng(int(request["sampling_seed"]))
        with closed_unless_charged(run):
            synthesis = run_screened(
                mechanism,
                self._door(table, run),
                share=request.get("screening", 0.0),
                first=partial(self._screened, table, run),
                public=public,
                rng=rng,
                progress=progress,
            )
        run.close()
        whole = run.ledger()
        state = whole.runs[run.number]
        return build(
            synthesis,
            schema=self.schema,
            unit=self.person,
            bounding=self.bounding,
            budget=state.budget,
            promised=whole.promised(run.number),
            discoveries=whole.discoveries(run.number),
            mechanism=mechanism_to_dict(mechanism),
            charges=[(r.what, r.charge) for r in state.reservations],
            ledger={"run": run.number, "total": state.total.to_dict(), "head": state.head},
            rng=rng,
            two_tables=table.two_tables,
            known=self.known,
        )


@contextmanager
def closed_unless_charged(run: Run) -> Iterator[None]:
    """Close a run that fails before its first charge, or is stopped: it keeps nothing reserved."""
    try:
        yield
    except Exception as error:
        if isinstance(error, UnreadableError) or not run.state().reservations:
            run.close()
        raise


def _same_run(ledger: Ledger, budget: Budget, request: dict[str, Any], *, again: bool) -> Run:
    """Begin a run, or continue one that asks the very same."""
    for number, run in ledger.state().runs.items():
        same = json.dumps(run.request) == json.dumps(request) and run.budget == budget
        if same and (again or not run.closed):
            return ledger.reopen(number)
    return ledger.begin(budget, request)


def open_session(
    *,
    private: object,
    public: object = None,
    schema: Schema | str | Path,
    unit: AnyUnit,
    bounding: Bounding,
    budget: Budget,
    ledger: str | Path,
    known: Sequence[Any] = (),
    screening: float = 0.0,
) -> Session:
    """Open a session; nothing is read or spent before `Session.run`.

    ``private`` and ``public`` are paths of CSV or Parquet files, tables in memory (pandas, polars,
    Arrow, a dict of columns), a `Database` or a `SparkTable`.  Either may be two of these, a table
    of people and one of their rows: ``private={"people": "patients.csv", "rows": "visits.csv"}``.
    The ledger is created if it does not exist, with this budget as the table's total.

        session = us.open(
            private="trips-2020.parquet",
            public="trips-2019.parquet",
            schema="trips.toml",
            unit=us.Unit("taxi_id"),
            bounding=us.Norm(),
            budget=us.Budget(epsilon=1.0, delta=1e-9),
            ledger="trips.ledger",
        )
        release = session.run(us.Auto())
    """
    return Session(
        private=private,
        public=public,
        schema=schema if isinstance(schema, Schema) else Schema.read(schema),
        unit=unit,
        bounding=bounding,
        budget=budget,
        ledger=Path(ledger),
        known=known_totals(known),
        screening=screening,
    )


def reopen_session(
    ledger: str | Path, *, number: int | None = None, private: object = None, public: object = None
) -> tuple[Session, dict[str, Any]]:
    """Open the session that a run was started with, and return the note stored with it."""
    path = Path(ledger)
    with closing(Ledger(path)) as held:
        state, run = held.state(), held.reopen(number).state()
    if state.unit is None:
        raise LedgerMismatchError(
            f"the ledger {path} has not been assigned to a table and unit yet"
        )
    note = run.request["note"]
    return Session(
        private=private if private is not None else note.get("private"),
        public=public if public is not None else note.get("public"),
        schema=Schema.from_dict(run.request["schema"]),
        unit=state.unit,
        bounding=bounding_from_dict(run.request["bounding"]),
        budget=run.budget,
        ledger=path,
        known=known_totals(run.request.get("known", ())),
    ), note
