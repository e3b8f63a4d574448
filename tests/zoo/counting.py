"""Bugs of counting: whose rows they are, how many of them count, in which domain."""

from __future__ import annotations

from tests.zoo.bug import Bug

SENSITIVITY = "tests/vault/test_sensitivity.py"
SESSION = "tests/session/test_session.py"
ENGINE = "tests/engine/test_duckdb.py"
EACH_ROW = "tests/engine/test_each_row.py"
AGAIN = "test_rows_that_are_worked_out_again_in_another_order_keep_their_own_weights"
DOOR = "tests/vault/test_door.py"
COUNTED = f"{SENSITIVITY}::test_the_engine_counts_what_the_obvious_version_counts"
APART = (
    f"{SENSITIVITY}::test_distances_cost_the_cap_for_every_candidate_and_one_person_moves_them_all"
)
KEPT = "tests/vault/test_candidates.py"
CAPPED = f"{SENSITIVITY}::test_a_person_one_beyond_every_cap_counts_for_no_more_than_the_cap"
ALONE = f"{SENSITIVITY}::test_a_person_alone_moves_no_more_than_is_charged"

COUNTING = (
    Bug(
        name="the list of values is completed from the private rows",
        kind="the domain is read from the data",
        file="engine/attached.py",
        old="        columns = [\n            replace(c, name=code",
        new="""        from understudy.schema import Categorical

        wider = []
        for c in self._columns:
            if isinstance(c, Categorical):
                asked = f"SELECT DISTINCT {self._ours[c.table_column]} AS v FROM {self.taken}"
                known = {*c.keys, *c.null_keys}
                more = {v.strip() for v in e.fetch(asked)["v"].tolist() if isinstance(v, str)}
                c = replace(c, values=(*c.values, *sorted(more - known)))
            wider.append(c)
        self._columns = wider
        columns = [
            replace(c, name=code""",
        caught_by=f"{ENGINE}::test_csv_is_read_by_the_letter",
    ),
    Bug(
        name="a table of counts ends at the largest value found",
        kind="the domain is read from the data",
        file="vault/marginals.py",
        old="counts = np.zeros(cells(table.schema, clique), dtype=np.int64)",
        new='counts = np.zeros(found["cell"][here].max(initial=0) + 1, dtype=np.int64)',
        caught_by=COUNTED,
    ),
    Bug(
        name="a number beyond the declared bounds is not pulled inside",
        kind="the domain is read from the data",
        file="schema/columns/column.py",
        old="WHEN {number} > {high} THEN {above} ELSE",
        new="ELSE",
        caught_by="tests/schema/test_encoders_agree.py::test_every_number_agrees",
    ),
    Bug(
        name="the type of a CSV column is guessed from its cells",
        kind="the domain is read from the data",
        file="engine/duckdb/files.py",
        old="""f"{literal(n)}: 'VARCHAR'" for n in names)""",
        new="""f"{literal(n)}: 'VARCHAR'" for n in names)
    if not lower.endswith(".gz"):
        return f"read_csv({options}, header = true)\"""",
        caught_by=f"{ENGINE}::test_csv_columns_are_texts_whatever_they_hold",
    ),
    Bug(
        name="the number of rows is told without noise",
        kind="an exact number is taken as public",
        file="vault/door.py",
        old='return float(self._values(Total(cap=cap, scale=scale), "number of rows")[0])',
        new="return float(exact(Total(cap=cap, scale=scale), self._table)[0])",
        caught_by=f"{SESSION}::test_a_run_gives_rows_and_says_what_they_cost",
    ),
    Bug(
        name="the release has as many rows as the private table",
        kind="an exact number is taken as public",
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
        new="""        true = int(table.engine.fetch("SELECT count(*) AS n FROM rows")["n"][0])
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
            made = type(synthesis.batches).held(
                {n: np.resize(c, true) for n, c in codes.items()}, np.resize(people, true)
            )
            object.__setattr__(synthesis, "batches", made)
""",
        caught_by=f"{SESSION}::test_a_release_has_the_noisy_number_of_rows",
    ),
    Bug(
        name="all counts of a table share one draw of noise, so that their differences are exact",
        kind="an exact number is taken as public",
        file="vault/door.py",
        old="scale * steps, len(part), entropy=self._entropy)",
        new="scale * steps, 1, entropy=self._entropy)",
        caught_by=f"{DOOR}::test_an_answer_is_the_count_and_the_samplers_own_noise",
    ),
    Bug(
        name="the number of rows forgets the cap on a person",
        kind="the bound on a person is not kept",
        file="vault/counts.py",
        old='capped = f"CASE WHEN n < {question.cap} THEN n ELSE {question.cap} END"',
        new='capped = "n"',
        caught_by=f"{SESSION}::test_a_persons_rows_count_up_to_a_cap",
    ),
    Bug(
        name="a selection forgets the cap on a person",
        kind="the bound on a person is not kept",
        file="vault/candidates.py",
        old="weighted = table.bounded(question.bounding)",
        new="weighted = table.bounded(type(question.bounding)(2**31 - 1))",
        caught_by=COUNTED,
    ),
    Bug(
        name="counts that are kept for one bounding answer for another",
        kind="the bound on a person is not kept",
        file="vault/table.py",
        old="return self._kept[self._place, weighted]",
        new='return self._kept[self._place, ""]',
        caught_by=f"{KEPT}::test_another_bounding_or_other_merged_codes_are_counted_on_their_own",
    ),
    Bug(
        name="distances that are known for some merged codes answer for others",
        kind="the domain is read from the data",
        file="vault/table.py",
        old="return self._kept[self._place, weighted]",
        new='return self._kept["0", weighted]',
        caught_by=f"{KEPT}::test_what_is_kept_gives_the_distances_that_rows_give",
    ),
    Bug(
        name="rows that are counted here weigh one each",
        kind="the bound on a person is not kept",
        file="vault/marginals.py",
        old='table.layout(clique)), weights=rows["w"], minlength=size)',
        new="table.layout(clique)), minlength=size) * 2**16",
        caught_by=CAPPED,
    ),
    Bug(
        name="rows that were weighed for an earlier question answer a later one",
        kind="the bound on a person is not kept",
        file="vault/table.py",
        old="""        return self.engine.fetch(f"SELECT {', '.join(self.code.values())}, w FROM""",
        new="""        held = self.__dict__.setdefault("_held", {})
        if weighted in held:
            return held[weighted]
        codes = ", ".join(self.code.values())
        held[weighted] = self.engine.fetch(f"SELECT {codes}, w FROM {weighted}")
        return held[weighted]
        return self.engine.fetch(f"SELECT {codes}, w FROM""",
        caught_by="tests/vault/test_norm.py"
        "::test_the_door_books_the_price_and_weighs_for_each_question_anew",
    ),
    Bug(
        name="weights are rounded up, so that a person weighs more than the cap",
        kind="the bound on a person is not kept",
        file="vault/table.py",
        old="ELSE floor(CAST({one * cap} AS DOUBLE) / n) END",
        new="ELSE ceil(CAST({one * cap} AS DOUBLE) / n) END",
        caught_by=CAPPED,
    ),
    Bug(
        name="a person with one row more than the cap is not weighed down",
        kind="the bound on a person is not kept",
        file="vault/table.py",
        old='weight = f"CASE WHEN n <= {cap} THEN {one}',
        new='weight = f"CASE WHEN n <= {cap} + 1 THEN {one}',
        caught_by=CAPPED,
    ),
    Bug(
        name="a sample keeps one row too many of a person",
        kind="the bound on a person is not kept",
        file="vault/table.py",
        old="AS placed WHERE place <= {cap}",
        new="AS placed WHERE place <= {cap} + 1",
        caught_by=CAPPED,
    ),
    Bug(
        name="one cell too many of a person is counted",
        kind="the bound on a person is not kept",
        file="vault/counts.py",
        old="WHERE turn <= {question.most} GROUP",
        new="WHERE turn <= {question.most} + 1 GROUP",
        caught_by=CAPPED,
    ),
    Bug(
        name="a person counts for every label and not for the most common one alone",
        kind="the bound on a person is not kept",
        file="vault/counts.py",
        old="WHERE place = 1 GROUP BY label",
        new="GROUP BY label",
        caught_by=CAPPED,
    ),
    Bug(
        name='1, "1" and 1.0 are three people',
        kind="one person is counted as several",
        file="schema/encoding/expressions.py",
        old="ELSE coalesce(nullif(regexp_extract({t}, '^{WHOLE}{END}', 1), ''), {t}) END",
        new="ELSE {t} END",
        caught_by=f"{ENGINE}::test_a_number_and_its_texts_are_one_person",
    ),
    Bug(
        name="a blank before an id makes another person",
        kind="one person is counted as several",
        file="schema/encoding/expressions.py",
        old="""return f"trim(BOTH ' ' FROM CAST({x} AS STRING))\"""",
        new="""return f"CAST({x} AS STRING)\"""",
        caught_by=f"{ENGINE}::test_a_number_and_its_texts_are_one_person",
    ),
    Bug(
        name="every row without an id is a person of its own",
        kind="one person is counted as several",
        file="engine/attached.py",
        old="return readings, f\"coalesce({texts[0]}, '')\" if",
        new='return readings, f"coalesce({texts[0]}, CAST(k AS VARCHAR))" if',
        caught_by=f"{SESSION}::test_people_are_counted_by_the_unit",
    ),
    Bug(
        name="a person of a week is split into the moments of the week",
        kind="one person is counted as several",
        file="budget/unit.py",
        old="return UnitColumn(column.table_column, *column.date_part)",
        new="return UnitColumn(column.table_column)",
        caught_by=f"{SESSION}::test_a_date_time_column_in_a_unit_is_its_part_and_not_its_moment",
    ),
    Bug(
        name='the two-part ids ("1", "23") and ("12", "3") are one person',
        kind="different people are taken for one",
        file="engine/attached.py",
        old="""f"CAST(length({t}) AS STRING) || ':' || {t}" for t in texts""",
        new="""f"{t}" for t in texts""",
        caught_by=f"{SESSION}::test_parts_of_an_id_are_kept_apart",
    ),
    Bug(
        name="large ids lose their last digit where one id is missing",
        kind="different people are taken for one",
        file="engine/duckdb/in_memory.py",
        old="values = series.to_numpy(dtype=dtype.numpy_dtype, na_value=0)",
        new="values = series.to_numpy(dtype=float, na_value=0)",
        caught_by=f"{ENGINE}::test_a_missing_id_costs_no_whole_number_its_digits",
    ),
    Bug(
        name="ids of bytes that are no text are all the same",
        kind="different people are taken for one",
        file="schema/encoding/reading.py",
        old="return value.hex().upper()",
        new='return value.decode("utf-8", "replace")',
        caught_by=f"{SESSION}::test_different_binary_ids_are_different_people",
    ),
    Bug(
        name="a tie between labels goes to whichever comes first in the file",
        kind="one person's arrival moves another's rows",
        file="vault/counts.py",
        old="ORDER BY n DESC, {hashed})",
        new="ORDER BY n DESC)",
        caught_by="tests/synth/archetypes/test_mechanism.py"
        "::test_a_tie_goes_to_the_label_whose_hash_comes_first",
    ),
    Bug(
        name="the first rows of the file are kept of a person",
        kind="one person's arrival moves another's rows",
        file="vault/table.py",
        old="(PARTITION BY person ORDER BY h, {codes}) AS place",
        new="(PARTITION BY person) AS place",
        caught_by=COUNTED,
    ),
    Bug(
        name="the choice of rows depends on a person's place in the file",
        kind="one person's arrival moves another's rows",
        file="engine/encoding.py",
        old="""who = "CAST(length(id) AS STRING) || ':' || id\"""",
        new="""who = "CAST(person AS STRING)\"""",
        caught_by=COUNTED,
    ),
    Bug(
        name="the sensitivity grows with the cap and not with its square",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="squared_sensitivity=cap**2 * worst",
        new="squared_sensitivity=cap * worst",
        caught_by=f"{SENSITIVITY}::test_the_bound_is_reached_so_no_smaller_charge_would_do",
    ),
    Bug(
        name="the number of rows is charged by the cap and not by its square",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="return Fraction(question.cap) ** power",
        new="return Fraction(question.cap)",
        caught_by=ALONE,
    ),
    Bug(
        name="Laplace noise is charged by the L2 norm",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="power = currency.power\n    least",
        new="power = 2\n    least",
        caught_by="tests/budget/test_accounting.py"
        "::test_on_columns_that_do_not_overlap_the_cost_is_reached",
    ),
    Bug(
        name="several sums that hold one cell are charged as one",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="return np.bincount(query.rows.cells, minlength=size)",
        new="return np.minimum(1, np.bincount(query.rows.cells, minlength=size))",
        caught_by=ALONE,
    ),
    Bug(
        name="on Spark a batch of rows takes the place of those before it",
        kind="one person's arrival moves another's rows",
        file="engine/spark/workers.py",
        old="sums[i] += np.bincount(index",
        new="sums[i] = np.bincount(index",
        caught_by="tests/engine/test_spark_guest.py"
        "::test_however_rows_come_their_weights_are_summed_by_cell",
    ),
    Bug(
        name="on Spark a row that is a person is given the weight of another row",
        kind="one person's arrival moves another's rows",
        file="engine/spark/workers.py",
        old="yield _done(work, pa.Table.from_batches([batch]))",
        new="""yield _done(
            lambda rows: {**(done := work(rows)), "w": np.roll(done["w"], 1)},
            pa.Table.from_batches([batch]),
        )""",
        caught_by=f"{EACH_ROW}::{AGAIN}",
    ),
    Bug(
        name="a person in twenty cells is charged as if in one",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="return Fraction(question.most)",
        new="return Fraction(1)",
        caught_by=f"{SENSITIVITY}::test_a_person_with_twenty_cells_costs_twenty_not_one",
    ),
    Bug(
        name="many distances are charged as if they were one",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="return len(question.candidates) * Fraction(question.bounding.cap) ** power",
        new="return Fraction(question.bounding.cap) ** power",
        caught_by=APART,
    ),
    Bug(
        name="many distances are charged for the root of as many where noise is Laplace",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="len(question.candidates) * Fraction(",
        new="Fraction(len(question.candidates) ** (power / 2)) * Fraction(",
        caught_by=APART,
    ),
    Bug(
        name="a table of counts asked twice is charged once",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="by_clique.setdefault(frozenset(query.clique), []).append(query)",
        new="by_clique[frozenset(query.clique)] = [query]",
        caught_by=f"{SENSITIVITY}::test_the_same_clique_in_another_order_is_priced_safely",
    ),
    Bug(
        name="a sum may count one cell twice",
        kind="the sensitivity is too small",
        file="graph/measurement.py",
        old="if c.min() < 0 or np.any(pairs[1:] == pairs[:-1]):",
        new="if c.min() < 0:",
        caught_by=f"{DOOR}::test_rows_that_are_no_sets",
    ),
)
