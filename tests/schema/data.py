"""Where the real data files are, for tests that use them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_file(*parts: str) -> Path:
    """Give the path of a data file, or skip the test where there is none."""
    folder = os.environ.get("UNDERSTUDY_DATA")
    if not folder:
        pytest.skip("UNDERSTUDY_DATA is not set")
    path = Path(folder, *parts)
    if not path.is_file():
        pytest.skip(f"UNDERSTUDY_DATA has no {'/'.join(parts)}")
    return path
