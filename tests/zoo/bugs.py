"""All the bugs of the zoo: counting, reading, mechanisms, noise, ledger, silence, promise."""

from __future__ import annotations

from tests.zoo.adaptive import ADAPTIVE
from tests.zoo.constraining import CONSTRAINING
from tests.zoo.counting import COUNTING
from tests.zoo.deriving import DERIVING
from tests.zoo.failing import FAILING
from tests.zoo.growing import GROWING
from tests.zoo.joining import JOINING
from tests.zoo.kinds import KINDS_OF_PEOPLE
from tests.zoo.merging import MERGING
from tests.zoo.one_reading import ONE_READING
from tests.zoo.people_counts import PEOPLE_COUNTS
from tests.zoo.promising import PROMISING
from tests.zoo.screening import SCREENING
from tests.zoo.sealing import SEALING
from tests.zoo.silence import SILENCE
from tests.zoo.spending import SPENDING
from tests.zoo.two_round import TWO_ROUND

BUGS = (
    *COUNTING,
    *ONE_READING,
    *ADAPTIVE,
    *PEOPLE_COUNTS,
    *KINDS_OF_PEOPLE,
    *MERGING,
    *CONSTRAINING,
    *DERIVING,
    *JOINING,
    *TWO_ROUND,
    *GROWING,
    *SPENDING,
    *FAILING,
    *SILENCE,
    *PROMISING,
    *SEALING,
    *SCREENING,
)
