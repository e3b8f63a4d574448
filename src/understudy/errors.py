"""One family of exceptions, whose text holds public facts only.

Every error says what was asked, what was got, what is allowed and, where there is one,
a hint, on a single line.  None of them ever carries a value, a line number or a count of
a private table: those who raise them have only structure and declarations to speak of.

`sealed` is for functions that handle private things.  An error keeps the frames it went
through, and the errors it was raised in the handling of; their variables hold counts and noisy
answers.  So what leaves a sealed function is raised anew, without any of that.
"""

from __future__ import annotations

import difflib
import traceback
from functools import wraps
from typing import TYPE_CHECKING, ClassVar, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

P = ParamSpec("P")
T = TypeVar("T")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the hint that names the known word most like this one, None if none is like it.

    >>> nearest("colunm", ["column", "row"])
    "did you mean 'column'?"
    """
    lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), lower, n=1)
    return f"did you mean {lower[found[0]]!r}?" if found else None


class UnderstudyError(Exception):
    """The base class: what is wrong, what was got, what is allowed, a hint.

    >>> print(BudgetError("epsilon must be positive", got=-1, allowed="a number above 0"))
    epsilon must be positive (got -1; allowed: a number above 0)
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self, what: str, *, got: object = None, allowed: str | None = None, hint: str | None = None
    ) -> None:
        """Store the four parts, and build the message from them."""
        self.what = what
        self.got = got
        self.allowed = allowed
        self.hint = hint
        super().__init__(self._text())

    def _text(self) -> str:
        facts = [] if self.got is None else [f"got {self.got}"]
        if self.allowed is not None:
            facts.append(f"allowed: {self.allowed}")
        text = f"{self.what} ({'; '.join(facts)})" if facts else self.what
        text = f"{text}. Hint: {self.hint}" if self.hint else text
        return " ".join(text.split())


class UsageError(UnderstudyError):
    """An argument, option or setting is invalid."""

    exit_code = 2


class MissingFileError(UnderstudyError):
    """A file does not exist or cannot be read."""

    exit_code = 3


class MalformedFileError(UnderstudyError):
    """A data file is malformed; neither line nor value is named."""

    exit_code = 4


class MissingColumnError(UnderstudyError):
    """A table lacks a column that the schema or the unit needs."""

    exit_code = 5


class SchemaError(UnderstudyError):
    """A schema does not parse, or contradicts itself."""

    exit_code = 6


class BudgetError(UnderstudyError):
    """A budget, price, noise scale or contribution bound is invalid."""

    exit_code = 7


class BudgetExhaustedError(UnderstudyError):
    """The ledger has less budget left than was requested."""

    exit_code = 8


class LedgerLockedError(UnderstudyError):
    """Another process has locked the ledger, or is working on the run."""

    exit_code = 9


class LedgerDamagedError(UnderstudyError):
    """The file is not a ledger, is corrupt, or was modified outside Understudy."""

    exit_code = 10


class LedgerMismatchError(UnderstudyError):
    """The ledger belongs to another table, unit, currency or run, or does not match a manifest."""

    exit_code = 11


class OutputExistsError(UnderstudyError):
    """The output folder already exists; nothing is ever overwritten."""

    exit_code = 12


class StorageError(UnderstudyError):
    """A disk is full or not writable."""

    exit_code = 13


class QuestionError(UnderstudyError):
    """An invalid query: unknown columns, or shapes that do not match."""

    exit_code = 14


class MissingPackageError(UnderstudyError):
    """An optional package that is needed is not installed."""

    exit_code = 15


class EngineError(UnderstudyError):
    """The engine failed for a reason unrelated to any value."""

    exit_code = 16


class AuditError(UnderstudyError):
    """The audit found that a guarantee does not hold."""

    exit_code = 17


class DatabaseError(UnderstudyError):
    """A database cannot be opened or read, or has no such table."""

    exit_code = 18


class UnreadableError(UnderstudyError):
    """A first question found that the table cannot be read as declared; its cost is spent."""

    exit_code = 19


class InternalError(UnderstudyError):
    """A bug in Understudy; its cause is named by type and location, never by message."""

    exit_code = 70


def bare(error: BaseException) -> BaseException:
    """Return the same failure as a new error: without frames, context, cause, notes or more.

    An unexpected error is named by type and location only: its message may hold anything.
    """
    if isinstance(error, UnderstudyError):
        got = None if error.got is None else str(error.got)
        return type(error)(error.what, got=got, allowed=error.allowed, hint=error.hint)
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt()
    if isinstance(error, SystemExit):
        return SystemExit(error.code if isinstance(error.code, int | None) else 1)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{type(error).__name__} in {last.name}, line {last.lineno}"
    return InternalError(
        "something went wrong in Understudy itself", got=place, hint="please report it"
    )


def sealed(call: Callable[P, T]) -> Callable[P, T]:
    """Strip frames and chained errors from all that a function raises, interrupts included."""

    def attempted(*given: P.args, **named: P.kwargs) -> T:
        try:
            return call(*given, **named)
        except BaseException as error:  # noqa: BLE001  whatever it is, it is stripped
            failure = bare(error)
        raise failure

    @wraps(call)
    def seal(*given: P.args, **named: P.kwargs) -> T:
        try:
            return attempted(*given, **named)
        except BaseException as error:  # noqa: BLE001
            # An interrupt may arrive while another error is being stripped, and then chains it.
            # None can arrive before this line is done, since it calls nothing.
            error.__traceback__ = error.__context__ = error.__cause__ = None
            failure = error
        raise failure

    return seal
