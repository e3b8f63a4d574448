"""Bugs of merged codes and of special numbers: other cells than were weighed, paid or asked."""

from __future__ import annotations

from tests.zoo.bug import Bug

MERGED = "tests/vault/test_merged.py"
REFUSED = f"{MERGED}::test_merged_codes_that_do_not_fit_are_refused_and_cost_nothing"

MERGING = (
    Bug(
        name="Norm weighs people by their own codes, and counts merged ones",
        kind="the bound on a person is not kept",
        file="vault/counts.py",
        old="weighted = normed(question, table) if",
        new="weighted = normed(question, viewed(source, question.view)) if",
        caught_by=f"{MERGED}::test_under_norm_people_are_weighed_by_the_cells_that_are_asked",
    ),
    Bug(
        name="codes merged in one way are seen as they are merged in another",
        kind="the bound on a person is not kept",
        file="vault/table.py",
        old='return f"merged_{self._place}_{self.code[name]}"',
        new='return f"merged_{self.code[name]}"',
        caught_by=f"{MERGED}"
        "::test_ways_to_merge_a_column_that_are_asked_in_turn_are_each_seen_in_their_own_way",
    ),
    Bug(
        name="counts that are kept of a column's own codes answer for merged ones",
        kind="the bound on a person is not kept",
        file="vault/table.py",
        old="""            table._place = f"{self._place}_{1 + len(self.views)}"  # noqa: SLF001
            for""",
        new="""            for""",
        caught_by=f"{MERGED}::test_and_so_are_their_distances",
    ),
    Bug(
        name="counts of merged codes get the noise that was meant for others",
        kind="the noise drawn is not the noise charged",
        file="vault/door.py",
        old="unit, domain = question.bounding.unit_weight, seen(self.schema, question).domain",
        new="unit, domain = question.bounding.unit_weight, self.schema.domain",
        caught_by=f"{MERGED}"
        "::test_an_answer_of_merged_codes_is_the_count_and_the_samplers_own_noise",
    ),
    Bug(
        name="questions of other merged codes are the same question",
        kind="the books are not kept in order",
        file="door/questions.py",
        old="describe(getattr(question, f.name)) for f in fields(question)}",
        new='describe(getattr(question, f.name)) for f in fields(question) if f.name != "merged"}',
        caught_by=f"{MERGED}"
        "::test_a_stored_answer_is_replayed_for_the_same_merged_codes_and_no_others",
    ),
    Bug(
        name="merged codes may leave out codes that somebody has",
        kind="a value decides whether the run fails",
        file="vault/counts.py",
        old="if len(merge.codes) != size:",
        new="if len(merge.codes) > size:",
        caught_by=REFUSED,
    ),
    Bug(
        name="merged codes may be a record of the asker's own",
        kind="a private value or count is seen",
        file="vault/counts.py",
        old="parts = [question.bounding, *question.queries, *question.merged, question.view]",
        new="parts = [question.bounding, *question.queries, question.view]",
        caught_by=REFUSED,
    ),
    Bug(
        name="a special number is looked for after the bins, and 999998 for none is a top income",
        kind="the domain is read from the data",
        file="schema/columns/numeric.py",
        old="""code = f"CASE {' '.join(listed)} ELSE {code} END\"""",
        new="""inside = f"CASE {' '.join(listed)} ELSE {inside} END"
            code = self.in_range_sql(read, inside, low=low, high=high, last=self.bins - 1)""",
        caught_by="tests/schema/test_encoders_agree.py::test_every_number_of_a_split_agrees",
    ),
)
