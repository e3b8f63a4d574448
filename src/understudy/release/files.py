"""Files and folders that appear whole or not at all, and never replace another."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import OutputExistsError, StorageError, UnderstudyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""The error codes of file systems without hard links."""


def check_target(target: Path) -> None:
    """Raise if a target exists or cannot be created, before any budget is spent."""
    failed: UnderstudyError | None = None
    try:
        target.lstat()
        failed = OutputExistsError(
            f"{target} exists already", hint="choose another path; nothing is ever overwritten"
        )
    except (FileNotFoundError, NotADirectoryError):
        above = next(folder for folder in target.absolute().parents if folder.exists())
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            failed = StorageError(f"cannot create a folder in {above}", hint="choose another path")
    except (OSError, ValueError) as error:
        failed = _trouble(target, error)
    if failed is not None:
        raise failed


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a hidden folder beside the target, and rename it when all of it is on disk."""

    def publish(partial: Path) -> None:
        partial.chmod(0o755)
        for path in (*partial.iterdir(), partial):
            _sync(path)
        partial.rename(target)

    with _partial(target, publish) as partial:
        yield partial


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield a path in a hidden folder, and rename the file when it is on disk.

    Anything else in that folder is deleted.
    """

    def publish(partial: Path) -> None:
        written = partial / target.name
        _sync(written)
        _give_name(written, target)

    with _partial(target, publish) as partial:
        yield partial / target.name


def _give_name(written: Path, target: Path) -> None:
    """Name a file by a hard link, since a rename would replace an existing file."""
    try:
        os.link(written, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        check_target(target)
        written.rename(target)


@contextmanager
def _partial(target: Path, publish: Callable[[Path], None]) -> Iterator[Path]:
    """Make a hidden folder beside the target, and publish its contents when it is filled."""
    failed: UnderstudyError | None = None
    partial = _hidden(target)
    try:
        yield partial
        publish(partial)
        _sync(target.parent)
    except OSError as error:
        failed = _trouble(target, error)
    finally:
        if partial.exists():
            shutil.rmtree(partial, ignore_errors=True)
    if failed is not None:
        raise failed


def _hidden(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except (OSError, ValueError) as error:
        failed = _trouble(target, error)
    raise failed


def _trouble(target: Path, error: OSError | ValueError) -> UnderstudyError:
    code = error.errno if isinstance(error, OSError) else None
    if code in {errno.EEXIST, errno.ENOTEMPTY} and os.path.lexists(target):
        return OutputExistsError(f"{target} exists already")
    why = error.strerror if isinstance(error, OSError) else "invalid name"
    return StorageError(f"cannot write {target}", got=why)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum(path: Path) -> dict[str, Any]:
    """Return a file's SHA-256 and its size."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}
