"""For the site's API page: doctests within a docstring's prose are shown as code."""  # noqa: INP001

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import griffe

if TYPE_CHECKING:
    from re import Match

BLOCK = re.compile(r"(?:^|(?<=\n\n))>>> .*?(?=\n\n|\Z)", re.DOTALL)
"""From the first prompt of a paragraph to its end."""


class Doctests(griffe.Extension):
    """Puts every doctest of a docstring between fences, without which Markdown quotes it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401  griffe's own
        """Rewrite a docstring as it is read; the source stays as it is."""
        if obj.docstring is not None:
            obj.docstring.value = BLOCK.sub(fenced, obj.docstring.value)


def fenced(block: Match[str]) -> str:
    r"""Put a doctest between fences.

    >>> BLOCK.sub(fenced, "Adds.\n\n>>> 1 + 1\n2")
    'Adds.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    return f"```pycon\n{block[0]}\n```"
