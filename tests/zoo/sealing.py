"""Bugs of what is published and what is thrown: heads of the ledger, and errors."""

from __future__ import annotations

from tests.zoo.bug import Bug

ERRORS = "tests/leaks/test_errors.py"
VERIFY = "tests/ledger/test_verify.py"
ANY_FAULT = f"{ERRORS}::test_nothing_is_behind_an_error_whatever_fails_at_whichever_step"
SEALED = """\
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
"""

SEALING = (
    Bug(
        name="a failed store keeps the noisy answer in the error's context",
        kind="an answer is drawn twice",
        file="errors.py",
        old=SEALED,
        new="""\
        except UnderstudyError as error:
            failure = error
        except BaseException as error:  # noqa: BLE001
            failure = bare(error)
        raise failure.with_traceback(None)

    @wraps(call)
    def seal(*given: P.args, **named: P.kwargs) -> T:
        return attempted(*given, **named)
""",
        caught_by=f"{ANY_FAULT}[drawn, forbid]",
    ),
    Bug(
        name="an interrupt keeps the frames that hold counts",
        kind="a private value or count is seen",
        file="errors.py",
        old=SEALED,
        new=SEALED.replace("except BaseException", "except Exception"),
        caught_by=f"{ANY_FAULT}[counted, interrupt]",
    ),
    Bug(
        name="a second interrupt keeps the first, and the frames that hold counts",
        kind="a private value or count is seen",
        file="errors.py",
        old="            error.__traceback__ = error.__context__ = error.__cause__ = None\n",
        new="",
        caught_by=f"{ERRORS}::test_a_second_interrupt_finds_nothing_behind_the_first",
    ),
    Bug(
        name="an answer that could not be stored stays in the ledger's memory",
        kind="an answer is drawn twice",
        file="ledger/journal.py",
        old="                # An answer that was not stored must not be kept here either.\n"
        "                self._fresh = []\n",
        new="                pass\n",
        caught_by=f"{ANY_FAULT}[drawn, read_on]",
    ),
    Bug(
        name="counts that were kept can be read off the door that an error has passed",
        kind="a private value or count is seen",
        file="vault/door.py",
        old="            self._table.forget()\n            raise\n",
        new="            raise\n",
        caught_by=f"{ERRORS}::test_counts_that_were_kept_are_not_behind_an_error_either",
    ),
    Bug(
        name="the message of an unforeseen failure to read a table is passed on",
        kind="a private value or count is seen",
        file="session/session.py",
        old="    @sealed\n    def _read(",
        new="    def _read(",
        caught_by=f"{ERRORS}"
        "::test_a_table_that_fails_to_be_read_in_an_unforeseen_way_is_told_by_place",
    ),
    Bug(
        name="the chain is not keyed, so that guesses can be tested against a published head",
        kind="a private value or count is seen",
        file="ledger/journal.py",
        old="digest = hashlib.sha256(text).digest() if key is None else",
        new="digest = hashlib.sha256(text).digest() if key is not None else",
        caught_by=f"{VERIFY}::test_a_head_tests_no_guess_of_what_is_in_the_ledger",
    ),
    Bug(
        name="the key of the chain is the same for every ledger",
        kind="a private value or count is seen",
        file="ledger/journal.py",
        old="hmac.digest(str(first).encode(), ",
        new="hmac.digest(str(bool(first)).encode(), ",
        caught_by=f"{VERIFY}::test_every_link_is_an_hmac_under_a_key_of_the_first_entry",
    ),
    Bug(
        name="a manifest is verified by its run's number, whatever its head",
        kind="the ledger can be tampered with",
        file="ledger/verification.py",
        old="if e.chain == head), None)",
        new="if e.run == run), None)",
        caught_by=f"{VERIFY}::test_nothing_before_a_head_can_be_changed_even_with_the_key",
    ),
    Bug(
        name="a manifest with the right head may name another budget",
        kind="the ledger can be tampered with",
        file="ledger/verification.py",
        old='"run": run, **told}.items():',
        new='"run": run}.items():',
        caught_by=f"{VERIFY}::test_a_manifest_that_says_another_thing_under_the_same_head_is_seen",
    ),
    Bug(
        name="a ledger that was put back is told, but the command ends well",
        kind="the ledger can be tampered with",
        file="cli/ledger.py",
        old="    if error is not None:\n        raise error\n",
        new="",
        caught_by="tests/cli/test_verify.py"
        "::test_a_ledger_that_was_put_back_is_told_after_all_that_was_found",
    ),
)
