"""The folder an engine spills private rows to: private, removed, and swept up after a kill.

A killed process cannot remove its folder.  Each folder holds a lock that the system lets go
of when its process ends, whatever ends it; the next engine to start removes the folders of
this user whose lock is free.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from understudy.errors import StorageError

PREFIX = "understudy-"
YOUNG = 60.0
"""A folder younger than this, in seconds, may not have its lock yet, and is left alone."""


class Spill:
    """A private folder for as long as its engine lives."""

    def __init__(self) -> None:
        """Remove what killed processes left behind, and create a folder."""
        why = None
        try:
            sweep(Path(tempfile.gettempdir()))
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._lock = (self.path / "lock").open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            why = error.strerror
        if why is not None:
            raise StorageError(
                "cannot create a temporary folder", got=why, hint="set TMPDIR to another folder"
            )

    def close(self) -> None:
        """Remove the folder and release its lock; calling it again does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep(folder: Path) -> None:
    """Remove the spill folders of this user whose process is gone."""
    for path in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):  # another process removed it first, or it is not a spill folder
            facts = path.lstat()
            if facts.st_uid != os.getuid() or time.time() - facts.st_mtime < YOUNG:
                continue
            lock = os.open(path / "lock", os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
