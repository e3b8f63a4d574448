"""Each row a person, on a cluster whose workers are killed, over a source of no fixed order.

Rows that were on a lost worker are worked out again, and then come in another order.  A weight
that was looked up by a row's place would be another row's; it is worked out beside the row.
``make test`` has rows worked out again without a cluster (`tests.engine.test_each_row`), and
``make audit`` kills workers.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from tests.audit.effort import in_audit
from tests.engine.cluster_rows import counted, opened

if TYPE_CHECKING:
    from tests.engine.cluster_story import Story

pytestmark = in_audit


def test_a_worker_killed_between_weighing_and_counting_or_while_counting_changes_nothing(
    story: Story,
) -> None:
    told, here = story.rows, opened(story.tables / "table")
    with closing(here.engine):
        expected = counted(here)
    assert told["calm"] == expected
    assert told["between"] == expected
    assert told["done"] < told["of"]
    assert told["middle"] == expected


def test_weights_by_place_would_have_been_other_rows_weights(story: Story) -> None:
    """The source presses: as it was once done, the answer is right until a worker is lost."""
    told = story.rows
    assert told["by_place_calm"] == told["calm"]
    assert told["by_place"] != told["calm"]
