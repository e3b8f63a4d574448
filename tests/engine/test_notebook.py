"""The notebook of the docs in a real kernel, where DuckDB has ways of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.audit.effort import few

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "first-release.ipynb"
WITHOUT = "import sys; sys.modules['ipywidgets'] = None"
BAR = """
from understudy.engine.duckdb import DuckDB
engine = DuckDB()
{"bar": engine.fetch("SELECT current_setting('enable_progress_bar') AS bar")["bar"].tolist()}
"""
v4: Any = nbformat.v4  # has no types


class Watched(NotebookClient):
    """Keeps all that a cell ever displayed, also what was replaced later."""

    def __init__(self, notebook: Any, **settings: Any) -> None:
        super().__init__(notebook, **settings)
        self.displayed: list[str] = []

    def process_message(self, message: Any, cell: Any, index: int) -> Any:
        if message["msg_type"] in {"display_data", "update_display_data"}:
            self.displayed.append(message["content"]["data"]["text/plain"])
        return super().process_message(message, cell, index)


@pytest.fixture(scope="module", params=few(("with ipywidgets", "without ipywidgets"), usual=1))
def executed(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Execute the notebook, with the package that DuckDB asks for in a notebook and without."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    first = WITHOUT if request.param.startswith("without") else "import ipywidgets"
    notebook.cells = [v4.new_code_cell(first), *notebook.cells, v4.new_code_cell(BAR)]
    client = Watched(notebook, timeout=600, kernel_name="python3")
    client.execute(cwd=str(tmp_path_factory.mktemp("notebook")))
    return client


def outputs(client: Watched) -> str:
    """Return all that cells leave on the page, as text."""
    return json.dumps([cell.get("outputs", []) for cell in client.nb.cells], ensure_ascii=False)


def test_a_notebook_gives_a_release(executed: Watched) -> None:
    said = outputs(executed)
    assert "synthetic rows" in said
    assert "clinic, unit patient, nothing left" in said
    assert "maternity" in said


def test_progress_is_shown_in_place_and_ends(executed: Watched) -> None:
    assert executed.displayed[0] == "Understudy: starting"
    assert "Understudy: reading the private table" in executed.displayed
    assert executed.displayed[-1].startswith("Understudy: done after")
    # One line on the page, which was replaced.
    assert outputs(executed).count("Understudy: done after") == 2  # as text and as HTML
    assert "reading the private table" not in outputs(executed)


def test_no_progress_of_a_private_query_is_shown_there(executed: Watched) -> None:
    assert executed.nb.cells[-1].outputs[-1]["data"]["text/plain"] == "{'bar': [False]}"
