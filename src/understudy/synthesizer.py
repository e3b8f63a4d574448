"""A synthesizer: a session with the `fit` and `sample` interface of scikit-learn and SDV."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from understudy.errors import UsageError
from understudy.opening import open as open_session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.budget import Bounding, Budget, Unit
    from understudy.release import Release
    from understudy.schema import Schema
    from understudy.synth import Mechanism

PARAMETERS = (
    "mechanism",
    "schema",
    "unit",
    "bounding",
    "budget",
    "ledger",
    "public",
    "i_know",
    "known",
    "screening",
)
MOST_SHOWN = 120
"""The most characters of a setting that are shown."""


class Synthesizer:
    """A session with `fit` and `sample`, for users of scikit-learn or SDV.

    All that affects privacy is passed explicitly, as in `understudy.open`; the mechanism defaults
    to `Auto`.  The private table is passed to `fit` and is not kept.  **Every `fit` spends its
    budget again**, and the ledger adds them up: a cross-validation or a search over settings with
    ten fits costs ten budgets.  `sample` costs nothing.

    >>> import tempfile, understudy as us
    >>> from understudy.schema import Categorical, Schema
    >>> synthesizer = us.Synthesizer(
    ...     us.Independent(),
    ...     schema=Schema("shop", (Categorical(name="colour", values=("red", "blue")),)),
    ...     unit=us.Unit.each_row(),
    ...     bounding=us.Weights(1),
    ...     budget=us.Budget(epsilon=1.0, delta=1e-6),
    ...     ledger=tempfile.mkdtemp() + "/shop.ledger",
    ... )
    >>> synthesizer = synthesizer.fit({"colour": ["red"] * 700 + ["blue"] * 300})
    >>> len(synthesizer.sample(10, seed=1))
    10
    """

    release_: Release
    """The release, once `fit` has made it."""

    def __init__(
        self,
        mechanism: Mechanism | type[Mechanism] | str | None = None,
        *,
        schema: Schema | str | Path,
        unit: Unit | str | Sequence[str],
        bounding: Bounding | str,
        budget: Budget,
        ledger: str | Path,
        public: object = None,
        i_know: bool = False,
        known: Sequence[Any] = (),
        screening: float = 0.0,
    ) -> None:
        """Store the settings as they are; nothing is read or spent before `fit`."""
        self.mechanism = mechanism
        self.schema = schema
        self.unit = unit
        self.bounding = bounding
        self.budget = budget
        self.ledger = ledger
        self.public = public
        self.i_know = i_know
        self.known = known
        self.screening = screening

    def fit(self, private: object, y: object = None) -> Self:
        """Run the mechanism on a private table, and store the release as ``release_``.

        Fitting twice spends twice.  ``y`` is ignored; scikit-learn pipelines pass one.
        """
        del y
        session = open_session(
            private=private,
            public=self.public,
            schema=self.schema,
            unit=self.unit,
            bounding=self.bounding,
            budget=self.budget,
            ledger=self.ledger,
            i_know=self.i_know,
            known=self.known,
            screening=self.screening,
        )
        self.release_ = session.run(self.mechanism or "auto")
        return self

    def sample(
        self,
        n: int | None = None,
        *,
        people: int | None = None,
        seed: int | None = None,
        where: Mapping[str, object] | None = None,
    ) -> Any:  # noqa: ANN401  a pandas DataFrame where pandas is installed
        """Return synthetic rows: the release's own, or ``n`` new ones, at no privacy cost.

        They are a pandas DataFrame, or a dict of columns where pandas is not installed.  ``people``
        asks for whole people in place of rows.  ``where`` fixes the values of some columns; the
        same ``seed`` gives the same rows.
        """
        if not hasattr(self, "release_"):
            raise UsageError(
                "this synthesizer has no release yet",
                got="sample before fit",
                hint="call fit(private) first; it spends the budget",
            )
        release = self.release_
        own = all(given is None for given in (n, people, seed, where))
        if find_spec("pandas") is not None:
            if own:
                return release.as_frame(release.columns)
            return release.sample(n, people=people, seed=seed, where=where)
        if own:
            return dict(release.columns)
        return release.sample_columns(n, people=people, seed=seed, where=where)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  scikit-learn's own
        """Return the settings by name, as scikit-learn expects; ``deep`` makes no difference."""
        del deep
        return {name: getattr(self, name) for name in PARAMETERS}

    def set_params(self, **settings: Any) -> Self:  # noqa: ANN401  whatever a setting is
        """Change settings by name; an existing release stays as it is."""
        unknown = [name for name in settings if name not in PARAMETERS]
        if unknown:
            raise UsageError(
                "unknown parameter of Synthesizer",
                got=", ".join(unknown),
                allowed=", ".join(PARAMETERS),
            )
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Show the settings; of a table in memory, only its type."""
        given = [f"{name}={_shown(getattr(self, name))}" for name in PARAMETERS[1:-4]]
        if self.public is not None:
            words = isinstance(self.public, (str, Path))
            given.append(
                f"public={self.public!r}" if words else f"public={type(self.public).__name__}"
            )
        return f"Synthesizer({', '.join([_shown(self.mechanism), *given])})"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"
