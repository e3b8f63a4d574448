"""Bugs of ledger and silence: what is kept, in which order, and what is told."""

from __future__ import annotations

from tests.zoo.bug import Bug

DOOR = "tests/vault/test_door.py"
ENGINE = "tests/engine/test_duckdb.py"
LEDGER = "tests/ledger/test_ledger.py"
JOURNAL = "tests/ledger/test_journal.py"
SESSION = "tests/session/test_session.py"
CANARIES = "tests/leaks/test_canaries.py"
REPLAYED = f"{DOOR}::test_a_resumed_run_replays_its_answers_and_draws_nothing"
COST = f"{SESSION}::test_a_run_gives_rows_and_says_what_they_cost"

SILENCE = (
    Bug(
        name="a closed door still holds the counts that were kept",
        kind="a private value or count is seen",
        file="vault/door.py",
        old="        self._closed = True\n        self._table.forget()\n",
        new="        self._closed = True\n",
        caught_by="tests/vault/test_candidates.py::test_a_closed_door_has_forgotten_what_was_kept",
    ),
    Bug(
        name="a resumed run draws fresh noise for an answer it has",
        kind="an answer is drawn twice",
        file="vault/door.py",
        old="            return stored\n",
        new="""            again = exact(question, self._table)
            return self._noisy(question, again).astype("<i8").tobytes()
""",
        caught_by=REPLAYED,
    ),
    Bug(
        name="an answer is handed over and not kept, so that asking again redraws it",
        kind="an answer is drawn twice",
        file="vault/door.py",
        old="        self._run.store(ordinal, digest, stored)\n",
        new="",
        caught_by=REPLAYED,
    ),
    Bug(
        name="a kept answer is given to another question",
        kind="an answer is drawn twice",
        file="ledger/ledger.py",
        old="if stored[0] != plan:",
        new="if stored[0] is None:",
        caught_by=f"{LEDGER}::test_a_stored_answer_is_replayed_and_none_other_is_taken",
    ),
    Bug(
        name="the noise is drawn before the charge is on disk",
        kind="the books are not kept in order",
        file="vault/door.py",
        old="""        self._run.reserve(ordinal, digest, what, cost)
        stored = drawn()
""",
        new="""        stored = drawn()
        self._run.reserve(ordinal, digest, what, cost)
""",
        caught_by=f"{DOOR}::test_a_charge_is_on_disk_before_noise_is_drawn",
    ),
    Bug(
        name="a count that fails is charged all the same, and the charge tells of it",
        kind="the books are not kept in order",
        file="vault/door.py",
        old="""        drawn = self._counted(question)
        self._run.reserve(ordinal, digest, what, cost)
""",
        new="""        self._run.reserve(ordinal, digest, what, cost)
        drawn = self._counted(question)
""",
        caught_by=f"{DOOR}::test_an_unforeseen_failure_is_told_without_its_message",
    ),
    Bug(
        name="an answer is kept that was never charged",
        kind="the books are not kept in order",
        file="ledger/ledger.py",
        old="if not run.covers(ordinal, plan):",
        new="if not run.reservations:",
        caught_by=f"{LEDGER}::test_an_answer_without_a_charge_is_not_stored",
    ),
    Bug(
        name="a charge may be lost when the power fails",
        kind="the books are not kept in order",
        file="ledger/journal.py",
        old="PRAGMA synchronous = EXTRA",
        new="PRAGMA synchronous = OFF",
        caught_by=f"{JOURNAL}::test_writes_are_durable_before_they_return",
    ),
    Bug(
        name="a changed entry is believed",
        kind="the ledger can be tampered with",
        file="ledger/journal.py",
        old="if number != len(known) + 1 or chain != link:",
        new="if number != len(known) + 1:",
        caught_by=f"{JOURNAL}::test_any_change_of_any_field_of_any_entry_is_noticed",
    ),
    Bug(
        name="the answers themselves are not part of the chain",
        kind="the ledger can be tampered with",
        file="ledger/journal.py",
        old='.encode() + b"\\x00" + payload',
        new='.encode() + b"\\x00"',
        caught_by=f"{JOURNAL}::test_any_change_of_any_field_of_any_entry_is_noticed",
    ),
    Bug(
        name="the last charges can be cut off the ledger",
        kind="the ledger can be tampered with",
        file="ledger/journal.py",
        old='if (self._one("SELECT max(seq) FROM sqlite_sequence") or 0) != len(known):',
        new="if len(known) < 1:",
        caught_by=f"{JOURNAL}::test_entries_cut_off_at_the_end_are_missed",
    ),
    Bug(
        name="a ledger of taxis is taken for single rows",
        kind="the ledger can be tampered with",
        file="ledger/ledger.py",
        old='(("table", name, state.name), ("unit", unit, state.unit)):',
        new='(("table", name, state.name),):',
        caught_by=f"{LEDGER}::test_a_ledger_is_for_one_table_and_one_unit",
    ),
    Bug(
        name="a date that is not in the calendar stops the run",
        kind="a value decides whether the run fails",
        file="schema/encoding/expressions.py",
        old='dialect.seconds.format(f"TRY_CAST({date} AS TIMESTAMP)")',
        new='dialect.seconds.format(f"CAST({date} AS TIMESTAMP)")',
        caught_by="tests/schema/test_sql.py::test_seconds_of_texts",
    ),
    Bug(
        name="many rows in one cell are too many for the type of a count",
        kind="a value decides whether the run fails",
        file="engine/duckdb/engine.py",
        old='f"CAST(sum(w) AS BIGINT) AS n FROM (SELECT {keys}, w',
        new='f"CAST(sum(w) AS INTEGER) AS n FROM (SELECT {keys}, w',
        caught_by=f"{DOOR}::test_many_rows_in_one_cell_are_counted[in the engine]",
    ),
    Bug(
        name="the engine's own words about a file are passed on",
        kind="a private value or count is seen",
        file="engine/duckdb/engine.py",
        old="return malformed() if database is None",
        new="return EngineError(str(error)) if database is None",
        caught_by=f"{CANARIES}::test_a_refused_file_names_no_line_and_no_value[too many fields]",
    ),
    Bug(
        name="the engine's own error hangs behind ours",
        kind="a private value or count is seen",
        file="engine/duckdb/engine.py",
        old="database=self._database)\n        raise failure",
        new="database=self._database)\n            raise failure from error",
        caught_by=f"{ENGINE}::test_an_interrupted_query_is_an_interrupt",
    ),
    Bug(
        name="the columns that are there are listed, in a file without a header its values",
        kind="a private value or count is seen",
        file="engine/attached.py",
        old='got="no " + ", ".join(map(repr, missing)),',
        new='got="no " + ", ".join(map(repr, missing)), allowed=", ".join(found),',
        caught_by=f"{CANARIES}::test_a_refused_file_names_no_line_and_no_value"
        "[no header, different cells]",
    ),
    Bug(
        name="the message of an unforeseen failure is passed on by the vault",
        kind="a private value or count is seen",
        file="errors.py",
        old='place = f"{type(error).__name__} in {last.name}, line {last.lineno}"',
        new='place = f"{error!r} in {last.name}, line {last.lineno}"',
        caught_by=f"{DOOR}::test_an_unforeseen_failure_is_told_without_its_message",
    ),
    Bug(
        name="the message of an unforeseen failure is printed by the command line",
        kind="a private value or count is seen",
        file="cli/main.py",
        old='place = f"{type(error).__name__} in {last.name}, line {last.lineno}"',
        new='place = f"{type(error).__name__} in {last.name}, line {last.lineno}: {error}"',
        caught_by="tests/cli/test_errors.py::test_a_fault_is_told_by_kind_and_place",
    ),
    Bug(
        name="exact counts are left in the frames of a failure",
        kind="a private value or count is seen",
        file="vault/door.py",
        old="    @sealed\n    def _answer(",
        new="    def _answer(",
        caught_by=f"{DOOR}::test_no_frame_of_a_failure_holds_a_count",
    ),
    Bug(
        name="an asker's own code is given exact counts",
        kind="a private value or count is seen",
        file="vault/counts.py",
        old="if type(part) not in OWN_TYPES:",
        new="if not isinstance(part, tuple(OWN_TYPES)):",
        caught_by=f"{DOOR}::test_records_of_an_askers_own_making_are_refused",
    ),
    Bug(
        name="exact counts are written to the ledger",
        kind="a private value or count is seen",
        file="vault/door.py",
        old="self._run.reserve(ordinal, digest, what, cost)",
        new="""counts = exact(question, self._table).tolist()  # type: ignore[arg-type]
        self._run.reserve(ordinal, digest, f"{what} {counts}", cost)""",
        caught_by=COST,
    ),
    Bug(
        name="the exact number of people is written to the manifest",
        kind="a private value or count is seen",
        file="session/session.py",
        old='"head": state.head},',
        new='"head": state.head, "people": int(\n                '
        'table.engine.fetch("SELECT count(*) AS n FROM people")["n"][0])},',
        caught_by=COST,
    ),
    Bug(
        name="synthetic people are given the ids of private ones",
        kind="a private value or count is seen",
        file="session/session.py",
        old="""        with closed_unless_charged(run):
            synthesis = run_screened(
                mechanism,
                self._door(table, run),
                share=request.get("screening", 0.0),
                first=partial(self._screened, table, run),
                public=public,
                rng=rng,
                progress=progress,
            )
""",
        new="""        own = table.engine.fetch("SELECT id FROM people")["id"].astype(np.int64)
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
            held = list(synthesis.batches)
            codes = {n: np.concatenate([b.codes[n] for b in held]) for n in held[0].codes}
            people = np.concatenate([np.zeros(0, dtype=np.int64), *(b.people for b in held)])
            made = type(synthesis.batches).held(codes, own[people % len(own)] - 1)
            object.__setattr__(synthesis, "batches", made)
""",
        caught_by=f"{SESSION}::test_a_release_has_ids_of_its_own",
    ),
    Bug(
        name="a session shows its private table when it is printed",
        kind="a private value or count is seen",
        file="session/session.py",
        old="private: object = field(repr=False, compare=False)",
        new="private: object = field(compare=False)",
        caught_by=f"{SESSION}::test_a_session_never_shows_its_rows",
    ),
    Bug(
        name="private rows are left behind in a temporary folder",
        kind="a private value or count is seen",
        file="engine/duckdb/spill.py",
        old="        shutil.rmtree(self.path, ignore_errors=True)\n        self._lock.close()",
        new="        self._lock.close()",
        caught_by=f"{ENGINE}::test_the_folder_for_spilling_is_private_and_goes",
    ),
)
