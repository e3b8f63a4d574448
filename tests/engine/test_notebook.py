"""A run in a real notebook kernel, where DuckDB has ways of its own."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient

if TYPE_CHECKING:
    from pathlib import Path

RUN = """
import understudy as us
from understudy.schema import Id, Integer, Schema
session = us.open(
    private={{"who": [str(i) for i in range(40)], "a": [i % 2 for i in range(40)]}},
    schema=Schema("notebook", (Id(name="who"), Integer(name="a", min=0, max=1))),
    unit=us.Unit("who"),
    bounding=us.Weights(1),
    budget=us.Budget(epsilon=5.0, delta=1e-6),
    ledger={ledger!r},
)
release = session.run(us.Independent())
sorted(release.columns)
"""
BAR = """
from understudy.engine.duckdb import DuckDB
DuckDB().fetch("SELECT current_setting('enable_progress_bar') AS bar")["bar"].tolist()
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What a kernel says to each cell of a notebook."""
    folder: Path = tmp_path_factory.mktemp("notebook")
    cells = [RUN.format(ledger=str(folder / "notebook.ledger")), BAR]
    v4: Any = nbformat.v4  # has no types
    notebook = v4.new_notebook(cells=list(map(v4.new_code_cell, cells)))
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute(cwd=str(folder))
    return [cell.outputs[-1]["data"]["text/plain"] for cell in notebook.cells]


def test_a_run_in_a_notebook_gives_a_release(said: list[Any]) -> None:
    """The package that DuckDB asks for in a notebook is not among ours."""
    assert find_spec("ipywidgets") is None
    assert said[0] == "['a', 'who']"


def test_no_progress_of_a_private_query_is_shown_there(said: list[Any]) -> None:
    assert said[1] == "[False]"
