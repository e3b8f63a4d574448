"""The custodian's page's table of the contests' scores."""

from __future__ import annotations

from understudy.evaluate.sections import Group

SCORES = Group(
    title="Contests' scores",
    about="The scores of NIST's contests: higher is closer to the real table.",
    caption="Scores, and those of the yardsticks",
    label="score",
    chart="Scores",
)
