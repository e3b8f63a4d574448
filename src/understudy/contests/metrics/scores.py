"""The table of the custodian's page in which the contests' scores stand."""

from __future__ import annotations

from understudy.evaluate.sections import Group

SCORES = Group(
    title="Contests' scores",
    about="The measures of NIST's contests: the higher, the closer to real.",
    caption="Scores, and those of the yardsticks",
    label="score",
    chart="Scores",
)
