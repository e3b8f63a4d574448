"""How a public CSV file is written, guessed from its beginning: never done to a private one."""

from __future__ import annotations

import gzip
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from understudy.engine.sources import CSV, source

BEGINNING = 2**16
"""How many bytes are looked at."""
DELIMITERS = (",", ";", "\t", "|")


def sniffed(data: object) -> tuple[str, str]:
    """Return the delimiter and the encoding of a public file; of others, comma and UTF-8."""
    place = source(data) if isinstance(data, str) else data
    if not isinstance(place, Path) or not place.name.lower().endswith(CSV) or not place.is_file():
        return DELIMITERS[0], "utf-8"
    opener = gzip.open if place.name.lower().endswith(".gz") else open
    try:
        with opener(place, "rb") as file:
            first = file.read(BEGINNING)
    except (OSError, EOFError):  # the engine says what is wrong with it
        return DELIMITERS[0], "utf-8"
    return guessed(first)


def guessed(first: bytes) -> tuple[str, str]:
    """Guess from the beginning of a file; its last line may be cut off."""
    whole = first[: first.rfind(b"\n") + 1] or first
    if whole.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return DELIMITERS[0], "utf-8"  # which it is not, as its reader will say
    try:
        text, encoding = whole.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        text, encoding = whole.decode("latin-1"), "latin-1"
    header = text.partition("\n")[0]
    # The first of those that occur as often: a comma, unless another one is more frequent.
    return max(DELIMITERS, key=header.count), encoding
