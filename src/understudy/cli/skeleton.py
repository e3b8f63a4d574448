"""The texts that `init` writes: a schema with a comment on every line, or one to fill in."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from understudy.schema import Id, Ignored, Schema, Text
from understudy.schema.importers.files import toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.schema.importers.people import Proposal

_MEANS = {
    "kind": "the kind of column: see the page on schemas",
    "values": "all values that are distinguished; any other becomes (other)",
    "min": "the lowest value; lower ones count as this",
    "max": "the highest value; higher ones count as this",
    "edges": "where bins begin and end; values within a bin are drawn uniformly",
    "whole": "whether released values are whole numbers",
    "digits": "how many decimals released values have",
    "resolution": "the precision of released date-times",
    "format": "how date-times are written",
    "zone": "the time zone of the release's data frames; hours are modelled in UTC",
    "outside": "what happens to values outside",
    "missing": "whether values may be missing",
    "source": "the column of the private table",
    "part": "which part of the date-time",
    "of": "whose the value is; a person has one value in all of their rows",
    "order_by": "what orders a person's rows",
}
_CHOICES = """\
#   kind = "categorical"       or:  values_from = "codes.txt", a code in each line
#   values = ["red", "blue"]
#
#   kind = "integer"
#   min = 0
#   max = 120
#
#   kind = "numeric"
#   edges = [0, 10, 100, 1000]
#   digits = 2
#
#   kind = "timestamp"
#   min = "2024-01-01"
#   max = "2024-12-31"
#   resolution = "day"
#   format = "%d.%m.%Y"        where it is not 2024-12-31\
"""


def to_fill_in(header: Sequence[str], name: str) -> Schema:
    """Return a schema of a header's columns, of none of which anything is known."""
    return Schema(name, tuple(Text(name=column) for column in header))


def skeleton(schema: Schema) -> str:
    """Return a schema's TOML to fill in, with the kinds that there are above its columns."""
    lines = schema.to_toml().splitlines()
    out = [
        f"# The columns of {toml_value(schema.name)[1:-1]}, to be filled in; no table was read.",
        '# A column of the kind "ignored" is neither counted nor released. Replace its line by one',
        "# of these, with the values or ends that the column may have to your knowledge; do not",
        "# look them up in the private table, or 'understudy discover' them at a cost:",
        "#",
        _CHOICES,
        "#",
        '# Add of = "person" to what is the same in all rows of a person.',
        "",
    ]
    for line in lines:
        told = {
            f'kind = "{Text.kind}"': f'kind = "{Ignored.kind}"  # to be filled in',
            f'kind = "{Id.kind}"': f"{line}  # tells people apart: given anew in the output",
        }
        out.append(told.get(line, line))
    return "\n".join(out) + "\n"


def commented(schema: Schema, source: str, proposal: Proposal, remarks: Mapping[str, str]) -> str:
    """Return the schema as TOML, with a comment on every column and on each key's first use."""
    out = [
        f"# The columns of {toml_value(schema.name)[1:-1]}, drafted by 'understudy init' from "
        f"{toml_value(source)[1:-1]}.",
        "# Private rows were not read, so nothing here reveals them. A column that is not declared",
        "# here does not exist for Understudy: it is neither measured nor released.",
        "# Check every column: does it list all values that the private table may have?",
        "",
    ]
    seen: set[str] = set()
    for line in schema.to_toml().splitlines():
        key = line.partition(" = ")[0]
        if line.startswith("[columns."):
            out.append(_about(schema, line, proposal.own, remarks))
        if key == "order_by" and proposal.why_order:
            out.append(f"# Proposed: {proposal.why_order}")
        if " = " in line and key in _MEANS and key not in seen:
            seen.add(key)
            out.append(f"# {key}: {_MEANS[key]}")
        out.append(line)
    return "\n".join(out) + "\n"


def _about(schema: Schema, line: str, why: Mapping[str, str], remarks: Mapping[str, str]) -> str:
    """Say what a column is drafted as, why it is a person's own, and what is wrong with it."""
    (name,) = tomllib.loads(line + "\n")["columns"]
    summary = {c.name: c for c in schema.columns}[name].summary
    told = [*summary.splitlines(), *([f"A person's own: {why[name]}"] if name in why else [])]
    told += [f"NOTE: {remarks[name]}."] if name in remarks else []
    return "\n".join(f"# {sentence}" for sentence in told)
