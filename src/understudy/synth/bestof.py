"""Best of several: run some mechanisms, and publish the one whose rows are nearest.

Every candidate is charged.  The run's budget is split among them, in equal parts, and a share is
kept for the distances by which one is chosen.  So the run's promise covers all that was asked,
whatever was published, and whoever looks at all of the candidates learns no more than was paid for.

Why not private selection: choosing among runs without paying for each (Liu and Talwar 2019,
Papernot and Steinke 2022) needs a random number of runs, and costs about three times one run's ε
in the worst case, or a bound in Rényi terms that Gaussian accounting cannot add up exactly.  For
the two to four candidates that are sensible here, paying for all of them costs no more.

Privacy: each candidate is a program over the same door, then come the questions of
`understudy.synth.accuracy`.  The ledger composes them; the choice is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from understudy.budget import epsilon_of
from understudy.errors import UsageError
from understudy.synth.accuracy import Shares, measured
from understudy.synth.plain import mechanism_from_dict, mechanism_of, mechanism_to_dict
from understudy.synth.settings import check_shares

if TYPE_CHECKING:
    import numpy as np

    from understudy.budget import Budget
    from understudy.door import Door
    from understudy.public import Accuracy, Progress, PublicTable, Synthesis

IN_ORDER = ("auto", "mst", "aim", "independent")
"""What `first` takes candidates from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOf:
    """Run several mechanisms, and publish the one whose pairs of columns are least wrong.

    Every candidate is charged: each of N has an N-th of the budget, less the share for choosing,
    and so about √N times the noise.  That is worth it where mechanisms differ more than that, and
    nothing else says which of them to use (`docs/how-to/quality.md`).

        release = session.run(us.BestOf(candidates=(us.MST(), us.AIM(rounds=5))))

    >>> [each["name"] for each in BestOf(candidates=("mst", "aim")).candidates]
    ['mst', 'aim']
    """

    name: ClassVar[str] = "bestof"

    candidates: tuple[dict[str, Any], ...] = IN_ORDER[:2]  # type: ignore[assignment]
    """Mechanisms, or their names; stored as plain data, with name and settings."""
    choice_share: float = 0.1
    """The share of the budget for the distances that decide."""

    def __post_init__(self) -> None:
        """Raise unless there is a choice; write candidates as plain data."""
        check_shares(self, "choice_share")
        plain = tuple(
            mechanism_to_dict(
                mechanism_from_dict({"settings": {}, **given})
                if isinstance(given, dict)
                else mechanism_of(given)
            )
            for given in self.candidates
        )
        nested = any(each["name"] == self.name for each in plain)
        if len(plain) < 2 or nested:
            raise UsageError(
                "the best of several needs at least two mechanisms, none of them this one",
                got=", ".join(each["name"] for each in plain) or "none",
                allowed="such as ('auto', 'mst')",
            )
        object.__setattr__(self, "candidates", plain)

    @classmethod
    def first(cls, count: int) -> BestOf:
        """Choose among the first of a list: auto, mst, aim, independent."""
        if not 2 <= count <= len(IN_ORDER):
            raise UsageError(
                "cannot choose the best of this many",
                got=count,
                allowed=f"2 to {len(IN_ORDER)}, of {', '.join(IN_ORDER)}; or their names",
            )
        return cls(candidates=cast("tuple[dict[str, Any], ...]", IN_ORDER[:count]))

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Run every candidate on its share, measure how far each is, and return the nearest."""
        made: list[Synthesis] = []
        whole, count = door.grains, len(self.candidates)
        for i, plain in enumerate(self.candidates):
            # What earlier candidates did not spend is shared with the later ones.
            later = count - 1 - i
            choosing = int(whole * self.choice_share)
            reserve = choosing + (door.grains - choosing) * later // (later + 1)
            part = cast("Door", Part(door, reserve))
            name = f"{i + 1} of {count}, {plain['name']}"
            made.append(
                mechanism_from_dict(plain).run(
                    part,
                    public=public,
                    rng=rng,
                    progress=lambda stage, done, name=name: progress(f"{name}: {stage}", done),  # type: ignore[misc]
                )
            )
        progress("choosing the nearest", 0)
        domain = door.schema.domain
        shares = [Shares.of(((b.codes, b.people) for b in each.batches), domain) for each in made]
        told = measured(door, shares)
        door.close()
        return self._chosen(made, told)

    def _chosen(self, made: list[Synthesis], told: tuple[Accuracy, ...]) -> Synthesis:
        """Return the nearest, with what is known of all of them."""
        means = [each.mean_pair or each.mean_column for each in told]
        best = min(range(len(means)), key=lambda i: means[i].distance)
        names = [plain["name"] for plain in self.candidates]
        what = "columns" if told[0].mean_pair is None else "pairs of columns"
        others = ", ".join(f"{names[i]} by {means[i]}" for i in range(len(means)) if i != best)
        why = (
            f"Its {what} are wrong by {means[best]} on average, by noisy distances of total "
            f"variation; those of the others, {others}. The budget paid for all of them."
        )
        candidates = [
            {"mechanism": plain, "mean": {"distance": m.distance, "low": m.low, "high": m.high}}
            for plain, m in zip(self.candidates, means, strict=True)
        ]
        details = {"chosen": self.candidates[best], "why": why, "candidates": candidates}
        return replace(made[best], details={**made[best].details, **details})


class Part:
    """A door that keeps a reserve back, and stays open for those who come after.

    It holds nothing private; what a run may spend is the ledger's to say.
    """

    def __init__(self, door: Door, reserve: int) -> None:
        """Wrap a door; its budget is what it has now, less the reserve."""
        self._door, self._reserve = door, reserve
        whole, currency = door.budget, door.currency
        epsilon = epsilon_of(self.grains, currency, whole.gaussian_delta)
        self.budget: Budget = replace(whole, epsilon=epsilon)

    @property
    def grains(self) -> int:
        """What may be spent through this door, in grains."""
        return max(0, self._door.grains - self._reserve)

    def close(self) -> None:
        """Do nothing: others ask after this one."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever a door has
        """Forward every question to the door behind it."""
        return getattr(self._door, name)
