"""Bugs of constraints: rows judged by others' rows, and rows that break what is said of them."""

from __future__ import annotations

from tests.zoo.bug import Bug

NEIGHBOURS = "tests/vault/test_constraints.py::test_whoever_comes_changes_nobody_elses_rows"
EACH_ROW = "tests/vault/test_constraints.py::test_each_row_is_judged_by_itself"
KEEPING = "tests/schema/constraints/test_keeping.py"
OBEYS = f"{KEEPING}::test_every_row_obeys_and_those_that_did_are_as_they_were"
IMPOSSIBLE = (
    "tests/synth/measure/test_impossible.py::test_impossible_cells_are_those_that_no_row_can_be_in"
)
OTHERS_MOVE = "one person's arrival moves another's rows"
PROMISED = "more is promised than holds"

CONSTRAINING = (
    Bug(
        name="rows that break a constraint are kept unless there are many of them",
        kind=OTHERS_MOVE,
        file="engine/obeying.py",
        old='return f"(SELECT * FROM {relation} WHERE NOT ({broken})) AS e"',
        new="""few = f"sum(CASE WHEN {broken} THEN 1 ELSE 0 END) OVER () < 9"
    counted = f"(SELECT *, {few} AS few FROM {relation}) AS e"
    return f"(SELECT * FROM {counted} WHERE e.few OR NOT ({broken})) AS e\"""",
        caught_by=NEIGHBOURS,
    ),
    Bug(
        name="a row that breaks a constraint is moved to the largest code that others have",
        kind=OTHERS_MOVE,
        file="engine/obeying.py",
        old='            kept = [f"e.{name}" for name in others]\n',
        new="""            own = held[last]
            moved = f"CASE WHEN {moved} = {own} THEN {own} ELSE max({own}) OVER () END"
            kept = [f"e.{name}" for name in others]
""",
        caught_by=EACH_ROW,
    ),
    Bug(
        name="rows that break a constraint are counted all the same",
        kind=PROMISED,
        file="engine/obeying.py",
        old='return f"(SELECT * FROM {relation} WHERE NOT ({broken})) AS e"',
        new='return f"(SELECT * FROM {relation} WHERE NOT ({broken}) OR 1 = 1) AS e"',
        caught_by=f"{KEEPING}::test_private_rows_that_break_one_are_dropped_or_moved",
    ),
    Bug(
        name="a constraint that shares no column with another is not mended",
        kind=PROMISED,
        file="schema/constraints/keeper.py",
        old="if all(name in out for name in solver.columns):\n",
        new="if solver.relations[1:] and all(name in out for name in solver.columns):\n",
        caught_by=OBEYS,
    ),
    Bug(
        name="a sum leaves out its last part",
        kind=PROMISED,
        file="schema/constraints/keeper.py",
        old="        column = self._columns[constraint.total]\n",
        new="        parts, column = parts[:-1], self._columns[constraint.total]\n",
        caught_by=OBEYS,
    ),
    Bug(
        name="a determined column keeps what was drawn for it before its source was mended",
        kind=PROMISED,
        file="schema/constraints/keeper.py",
        old="""                out = mended(solver, out, rng, fixed)
        return self.filled(out)
""",
        new="""                out = mended(solver, out, rng, fixed)
        return out | {n: c for n, c in self.filled(dict(codes)).items() if n in self.computed}
""",
        caught_by=OBEYS,
    ),
    Bug(
        name="numbers of one bin may be above those that they are said to be below",
        kind=PROMISED,
        file="schema/constraints/ordering.py",
        old="        wrong = np.flatnonzero((numbers[name] < least) | (numbers[name] > most))\n",
        new="        wrong = np.flatnonzero(numbers[name] > most)\n",
        caught_by=f"{KEEPING}::test_numbers_within_bins_are_in_order_and_stay_in_their_bins",
    ),
    Bug(
        name="a model's zeros are those of the constraint's columns the other way round",
        kind=PROMISED,
        file="synth/measure/impossible.py",
        old="cells=np.flatnonzero(~allowed)",
        new="cells=np.flatnonzero(~allowed.T)",
        caught_by=IMPOSSIBLE,
    ),
    Bug(
        name="merged codes are impossible where one of them is",
        kind=PROMISED,
        file="schema/constraints/relations.py",
        old="            np.logical_or.at(wide, group,",
        new="            wide[:] = True\n            np.logical_and.at(wide, group,",
        caught_by=IMPOSSIBLE,
    ),
    Bug(
        name="the manifest says that all rows obey, whatever was written",
        kind=PROMISED,
        file="release/constraints.py",
        old="            self._broken[label] += int(rows.sum())\n",
        new="            self._broken[label] += 0 * int(rows.sum())\n",
        caught_by="tests/release/test_constraints.py"
        "::test_rows_that_break_a_constraint_are_counted",
    ),
    Bug(
        name="constraints are proposed from the private table",
        kind="the domain is read from the data",
        file="cli/init.py",
        old="    patterns = patterns_in(table, schema)\n",
        new="    patterns = patterns_in(read_public(options.private) if table else None, schema)\n",
        caught_by="tests/cli/test_init.py::test_the_private_table_is_never_opened",
    ),
)
