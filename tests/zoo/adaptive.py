"""Bugs of AdaGrid and of Norm: rows asked twice, weights a unit too large, people past the cap."""

from __future__ import annotations

from tests.zoo.bug import Bug

NORM = "tests/vault/test_norm.py"
GRID = "tests/synth/measure/test_granularity.py"
PEOPLE = "tests/synth/measure/test_population.py"
ADAGRID = "tests/synth/test_adagrid.py"
EXTREME = f"{NORM}::test_extreme_people_together_are_weighed_as_the_slow_version_weighs_them"
COLUMNS = f"{GRID}::test_every_column_has_norm_one_whatever_was_plausible"

ADAPTIVE = (
    Bug(
        name="a coarse row is asked with the noise of a fine one",
        kind="the sensitivity is too small",
        file="synth/measure/granularity.py",
        old="scale=widened(scale, Fraction(square), currency),",
        new="scale=scale,",
        caught_by=COLUMNS,
    ),
    Bug(
        name="coarse rows forget the one over root n of their children",
        kind="the sensitivity is too small",
        file="synth/measure/granularity.py",
        old="family.square * children",
        new="family.square",
        caught_by=f"{GRID}::test_the_documents_example_has_six_fine_rows_and_seven_coarse_ones",
    ),
    Bug(
        name="a cell that is counted finely is in the coarse rows too",
        kind="the sensitivity is too small",
        file="synth/measure/granularity.py",
        old="places = np.where(coarse, family.places[at], -1)",
        new="places = family.places[at].copy()",
        caught_by=COLUMNS,
    ),
    Bug(
        name="a column of more than norm 1 is not noticed before it is asked",
        kind="the sensitivity is too small",
        file="synth/measure/granularity.py",
        old="if not np.all(total == common):",
        new="if total.min() < common:",
        caught_by=f"{GRID}::test_a_grid_whose_columns_do_not_have_norm_one_is_refused",
    ),
    Bug(
        name="the noise of a coarse row is rounded down",
        kind="the sensitivity is too small",
        file="synth/measure/granularity.py",
        old="    while Fraction(near) ** power < Fraction(scale) ** power * square:\n"
        "        near = math.nextafter(near, math.inf)\n",
        new="",
        caught_by=f"{GRID}::test_a_scale_is_widened_to_the_next_number_that_is_enough",
    ),
    Bug(
        name="for Laplace noise coarse rows are taken by their L2 norm",
        kind="the sensitivity is too small",
        file="synth/measure/granularity.py",
        old="    power = currency.power\n    near = scale * currency.root(float(square))",
        new="    power = 2\n    near = scale * math.sqrt(square)",
        caught_by=COLUMNS,
    ),
    Bug(
        name="Norm rounds the weight of a query's noise down",
        kind="the bound on a person is not kept",
        file="vault/norm.py",
        old="math.ceil(Fraction(2) ** bits / Fraction(q.scale) ** 2)",
        new="math.floor(Fraction(2) ** bits / Fraction(q.scale) ** 2)",
        caught_by=EXTREME,
    ),
    Bug(
        name="Norm rounds a person's weight up",
        kind="the bound on a person is not kept",
        file="vault/norm.py",
        old="weight -= ~_within(weight, digits, bound)",
        new="weight -= ~_within(weight - 1, digits, bound)",
        caught_by=EXTREME,
    ),
    Bug(
        name="Norm takes a sum of cells for the cells themselves",
        kind="the bound on a person is not kept",
        file="vault/tallies.py",
        old="        if rows is None:\n",
        new="        if cells:\n",
        caught_by=EXTREME,
    ),
    Bug(
        name="Norm counts a person's length on the last query only",
        kind="the bound on a person is not kept",
        file="vault/norm.py",
        old="digits[i] += low * part",
        new="digits[i] = low * part",
        caught_by=EXTREME,
    ),
    Bug(
        name="Norm weighs the parts of people, not people",
        kind="the bound on a person is not kept",
        file="engine/duckdb/engine.py",
        old="WHERE person % {count} = {{}} ORDER BY person",
        new="WHERE rowid % {count} = {{}} ORDER BY person",
        caught_by=f"{NORM}::test_people_are_weighed_whole_however_few_rows_are_looked_at_together",
    ),
    Bug(
        name="Norm squares what is too large to be squared",
        kind="the bound on a person is not kept",
        file="vault/norm.py",
        old="starts, dtype=np.int64) < MOST_ADDED",
        new="starts, dtype=np.int64) > 0",
        caught_by=f"{NORM}::test_who_adds_more_than_can_be_squared_weighs_nothing",
    ),
    Bug(
        name="Norm loses what does not fit in its digits",
        kind="the bound on a person is not kept",
        file="vault/norm.py",
        old="(2**DIGIT - 1 if i < 2 else -1)",
        new="(2**DIGIT - 1)",
        caught_by=f"{NORM}::test_digits_add_up_to_the_product",
    ),
    Bug(
        name="Norm weighs people by sums in floating point",
        kind="the bound on a person is not kept",
        file="vault/norm.py",
        old="+ 1, ONE).astype(np.int64)\n    for _ in range(2):",
        new=", ONE).astype(np.int64)\n    for _ in range(0):",
        caught_by=f"{NORM}::test_a_weight_just_short_of_its_price_is_rounded_down",
    ),
    Bug(
        name="Norm weighs people for the first question, and keeps that for all others",
        kind="the bound on a person is not kept",
        file="engine/duckdb/engine.py",
        old='CREATE OR REPLACE TABLE {name} AS"\n',
        new='CREATE TABLE IF NOT EXISTS {name} AS"\n',
        caught_by=f"{NORM}::test_the_door_books_the_price_and_weighs_for_each_question_anew",
    ),
    Bug(
        name="Norm weighs people, and their rows are counted whole",
        kind="the bound on a person is not kept",
        file="vault/norm.py",
        old="SELECT {', '.join(codes)}, w FROM",
        new="SELECT {', '.join(codes)}, CAST({ONE} AS INTEGER) AS w FROM",
        caught_by=f"{NORM}::test_without_any_one_of_them_no_question_moves_by_more_than_its_price",
    ),
    Bug(
        name="a question under Norm is charged less than its price",
        kind="costs add up to too little",
        file="vault/sensitivity.py",
        old="Gaussian(squared_sensitivity=Fraction(question.price) ** 2, sigma=1.0)",
        new="Gaussian(squared_sensitivity=Fraction(question.price) ** 2, "
        "sigma=float(len(question.queries)))",
        caught_by=f"{NORM}::test_the_charge_is_exactly_the_square_of_the_price",
    ),
    Bug(
        name="Norm is taken for pure epsilon, where an L2 bound is none",
        kind="the sensitivity is too small",
        file="vault/sensitivity.py",
        old="        if currency == Currency.PURE:\n",
        new='        if currency == "none":\n',
        caught_by=f"{NORM}::test_pure_epsilon_is_refused",
    ),
    Bug(
        name="a clique that is asked several times is paid for once",
        kind="more is spent than there is",
        file="synth/measure/rounds.py",
        old="times = [sum(map(self._times, cliques)) for cliques in rounds]",
        new="times = [len(cliques) for cliques in rounds]",
        caught_by=f"{ADAGRID}::test_a_clique_asked_several_times_has_less_noise_and_costs_as_many",
    ),
    Bug(
        name="every round under Norm is given the price of all of them",
        kind="more is spent than there is",
        file="synth/measure/rounds.py",
        old="price = split(price_grains(self._price, currency), currency, times)[number]",
        new="price = self._price",
        caught_by=f"{ADAGRID}::test_under_norm_copies_shift_noise_and_rounds_keep_to_their_prices",
    ),
    Bug(
        name="Laplace noise is calibrated as if costs added up in squares",
        kind="more is spent than there is",
        file="synth/measure/rounds.py",
        old="scale = cap * door.currency.root(times) / self._price * SLACK",
        new="scale = cap * math.sqrt(times) / self._price * SLACK",
        caught_by=f"{ADAGRID}::test_pure_epsilon_is_spent_to_the_last_by_laplace_noise",
    ),
    Bug(
        name="the most rows of a person, by which rows are counted, is looked up in the table",
        kind="an exact number is taken as public",
        file="synth/measure/population.py",
        old="cap = _cap(classes, public if known else None, rows_price)",
        new="""private = door._table.engine  # type: ignore[attr-defined]
    cap = int(private.fetch("SELECT max(n) AS n FROM sizes")["n"][0])""",
        caught_by=f"{PEOPLE}"
        "::test_under_norm_rows_are_counted_with_the_cap_that_public_people_suggest",
    ),
    Bug(
        name="the private table is read as the public one",
        kind="an exact number is taken as public",
        file="session/session.py",
        old="PublicTable.read(self.public,",
        new="PublicTable.read(self.private,",
        caught_by=f"{ADAGRID}::test_values_within_a_bin_are_public_ones_where_asked_for",
    ),
    Bug(
        name="synthetic people have more rows than the cap",
        kind="the bound on a person is not kept",
        file="synth/measure/population.py",
        old="return sizes.each(rows, most)",
        new="return sizes.each(rows)",
        caught_by=f"{ADAGRID}::test_nobody_has_more_rows_than_the_cap",
    ),
)
