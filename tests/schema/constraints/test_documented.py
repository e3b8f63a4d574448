"""The schema file on the page about constraints is one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from understudy.schema import Schema
from understudy.schema.constraints import Order, Sum

PAGE = Path(__file__).parents[3] / "docs" / "constraints.md"


def test_the_schema_file_on_the_page_declares_what_the_page_says() -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    read = Schema.from_dict(tomllib.loads(text))
    assert read.constraints == (
        Sum("trip_total", ("fare", "tips"), tolerance=0.5, name="what is paid"),
        Order("tips", "fare", otherwise="nearest"),
    )
    assert list(read.domain) == ["fare", "tips"]
