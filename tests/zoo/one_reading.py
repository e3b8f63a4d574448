"""Bugs of reading: one person's odd cell recodes everybody, and a name means another column."""

from __future__ import annotations

from tests.zoo.bug import Bug

REPLAY = "tests/audit/test_replay.py"
CONTAINERS = "tests/audit/test_containers.py"
NAMES = "tests/engine/test_names.py"
LEDGER = "tests/ledger/test_ledger.py"
REPLAYED = f"{REPLAY}::test_a_mechanism_does_the_same_on_a_neighbour_given_the_same_answers"
ODD_CELL = f"{CONTAINERS}::test_an_odd_cell_moves_counts_by_one_person"
ODD_DATE = f"{CONTAINERS}::test_an_odd_date_is_another_person_where_a_week_of_someone_is_a_person"

ONE_READING = (
    Bug(
        name="a column with an empty cell is read as texts, and the text true is no number",
        kind="one person's arrival moves another's rows",
        file="schema/encoding/expressions.py",
        old="TRY_CAST({t} AS DOUBLE) {truth} END",
        new="TRY_CAST({t} AS DOUBLE) END",
        caught_by=f"{REPLAYED}[independent]",
    ),
    Bug(
        name="short floats are made long ones where one is missing, and 0.7 lies below 0.7",
        kind="one person's arrival moves another's rows",
        file="engine/duckdb/in_memory.py",
        old="taken = values.astype(np.float32, copy=False) if short else reading.widened(values)",
        new="""taken = values.astype(np.float32, copy=False) if short else reading.widened(values)
        if absent is not None and absent.any():
            taken = values.astype(np.float64)""",
        caught_by=f"{ODD_CELL}[dict of masked arrays-null]",
    ),
    Bug(
        name="one text in a column of date-times, and the format reads none of them",
        kind="one person's arrival moves another's rows",
        file="schema/encoding/cell.py",
        old="for form in dict.fromkeys((written, None)):",
        new="for form in (written,):",
        caught_by=f"{CONTAINERS}::test_date_times_of_pandas_below_which_one_text_was_put[who-red]",
    ),
    Bug(
        name="one text in a column of date-times, and all weeks of everybody are one person",
        kind="different people are taken for one",
        file="schema/encoding/expressions.py",
        old="for form in dict.fromkeys((written, None)):",
        new="for form in (written,):",
        caught_by=f"{ODD_DATE}[pandas, inferred types]",
    ),
    Bug(
        name="categories are read by pandas, which makes floats of long ids where one is missing",
        kind="different people are taken for one",
        file="engine/duckdb/in_memory.py",
        old="        known = reading.texts(_pandas(",
        new="""        return _numpy(np.asarray(series.to_numpy()))
        known = reading.texts(_pandas(""",
        caught_by=f"{CONTAINERS}"
        "::test_ids_of_many_digits_are_told_apart_beside_a_missing_one[pandas, category]",
    ),
    Bug(
        name="a unit is resolved twice, and the second time names another column",
        kind="one person is counted as several",
        file="budget/unit.py",
        old="return unit.resolved(schema) if isinstance(unit, Unit) else unit",
        new="""if isinstance(unit, ResolvedUnit) and not unit.is_row:
        unit = Unit(*unit.columns, nulls=unit.nulls)
    return unit.resolved(schema) if isinstance(unit, Unit) else unit""",
        caught_by=f"{NAMES}::test_a_unit_is_resolved_once_however_often_it_is_handed_on",
    ),
    Bug(
        name="a column of the table that is called id takes the place of the unit",
        kind="one person is counted as several",
        file="engine/attached.py",
        old='source = f"SELECT {listed} FROM {self._name} AS s"',
        new='source = f"SELECT s.*, {listed} FROM {self._name} AS s"',
        caught_by=f"{NAMES}::test_a_column_of_one_of_our_names_is_a_column_as_any_other[id]",
    ),
    Bug(
        name="a column of the table that is called when:week takes the place of the week",
        kind="one person is counted as several",
        file="engine/attached.py",
        old="        needed = [c.table_column",
        new="""        parts = (type(p)(str(p)) if str(p) in found else p for p in unit.parts)
        self._unit = unit = replace(unit, parts=tuple(parts))
        needed = [c.table_column""",
        caught_by=f"{NAMES}::test_a_column_called_as_a_part_of_a_date_is_not_that_part",
    ),
    Bug(
        name="two columns whose names differ in capitals are taken, and one stands for both",
        kind="different people are taken for one",
        file="engine/duckdb/in_memory.py",
        old="if str(name).lower() in known or column.values",
        new="if str(name) in table or column.values",
        caught_by=f"{NAMES}::test_columns_that_differ_in_capitals_only_are_refused",
    ),
    Bug(
        name="a ledger does not tell whether rows without an id are dropped or one person",
        kind="the ledger can be tampered with",
        file="ledger/ledger.py",
        old='("unit", unit, state.unit)):\n                if asked != found:',
        new='("unit", unit, state.unit)):\n                if str(asked) != str(found):',
        caught_by=f"{LEDGER}::test_a_ledger_is_for_one_table_and_one_unit",
    ),
    Bug(
        name="a ledger does not tell in which format the dates of its unit are read",
        kind="the ledger can be tampered with",
        file="ledger/ledger.py",
        old='("unit", unit, state.unit)):\n                if asked != found:',
        new="""("unit", unit, state.unit)):
                nulls = [getattr(each, "nulls", None) for each in (asked, found)]
                if str(asked) != str(found) or nulls[0] != nulls[1]:""",
        caught_by=f"{LEDGER}::test_a_ledger_tells_formats_of_dates_apart",
    ),
)
