"""One family of exceptions, whose text holds public facts only.

Every error says what was asked, what was got, what is allowed and, where there is one,
a hint, on a single line.  None of them ever carries a value, a line number or a count of
a private table: those who raise them have only structure and declarations to speak of.

`sealed` is for functions that handle private things.  An error keeps the frames it went
through, and the errors it was raised in the handling of; their variables hold counts and noisy
answers.  So what leaves a sealed function is raised anew, without any of that.
"""

from __future__ import annotations

import traceback
from functools import wraps
from typing import TYPE_CHECKING, ClassVar, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


class UnderstudyError(Exception):
    """The root of the family: a fact, what was got, what is allowed, a hint.

    >>> print(BudgetError("epsilon must be positive", got=-1, allowed="a number above 0"))
    epsilon must be positive (got -1; allowed: a number above 0)
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self, what: str, *, got: object = None, allowed: str | None = None, hint: str | None = None
    ) -> None:
        """Keep the four parts; the message is made of them."""
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
    """An argument, an option or a setting is not what it can be."""

    exit_code = 2


class MissingFileError(UnderstudyError):
    """A file that was named is not there or may not be read."""

    exit_code = 3


class MalformedFileError(UnderstudyError):
    """A data file is not well-formed; neither line nor value is named."""

    exit_code = 4


class MissingColumnError(UnderstudyError):
    """A table lacks a column that the schema or the unit needs."""

    exit_code = 5


class SchemaError(UnderstudyError):
    """A schema does not parse, or contradicts itself."""

    exit_code = 6


class BudgetError(UnderstudyError):
    """A budget, price, scale or bound that cannot be."""

    exit_code = 7


class BudgetExhaustedError(UnderstudyError):
    """The ledger has less left than was asked for."""

    exit_code = 8


class LedgerLockedError(UnderstudyError):
    """Another process holds the ledger, or the run in it."""

    exit_code = 9


class LedgerDamagedError(UnderstudyError):
    """The ledger is not a ledger, is torn, or was changed by another hand."""

    exit_code = 10


class LedgerMismatchError(UnderstudyError):
    """The ledger belongs to another table, unit, currency or run, or a manifest is not of it."""

    exit_code = 11


class OutputExistsError(UnderstudyError):
    """The output folder is there already; nothing is ever overwritten."""

    exit_code = 12


class StorageError(UnderstudyError):
    """A disk is full or may not be written to."""

    exit_code = 13


class QuestionError(UnderstudyError):
    """A question the door does not take: unknown columns, shapes that do not fit."""

    exit_code = 14


class MissingPackageError(UnderstudyError):
    """An optional package is needed for what was asked."""

    exit_code = 15


class EngineError(UnderstudyError):
    """The engine failed for a reason that has nothing to do with a value."""

    exit_code = 16


class AuditError(UnderstudyError):
    """The audit found that a promise is not kept."""

    exit_code = 17


class DatabaseError(UnderstudyError):
    """A database that was named cannot be opened or read, or has no such table."""

    exit_code = 18


class InternalError(UnderstudyError):
    """A fault of Understudy's own; its cause is named by type and place, never by message."""

    exit_code = 70


def bare(error: BaseException) -> BaseException:
    """Return the same failure as a new error: without frames, context, cause, notes or more.

    An unforeseen one is told by type and place, since its message may hold anything.
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
    """Let no error leave a function with frames or other errors behind it, interrupts neither."""

    def attempted(*given: P.args, **named: P.kwargs) -> T:
        try:
            return call(*given, **named)
        except BaseException as error:  # noqa: BLE001  whatever it is, it leaves bare
            failure = bare(error)
        raise failure

    @wraps(call)
    def seal(*given: P.args, **named: P.kwargs) -> T:
        try:
            return attempted(*given, **named)
        except BaseException as error:  # noqa: BLE001
            # An interrupt may come while another error is made bare, and has that behind it.
            # None comes before this line is done, since it calls nothing.
            error.__traceback__ = error.__context__ = error.__cause__ = None
            failure = error
        raise failure

    return seal
