"""The notebook in `docs/` runs, shows what it showed when it was saved, and no value of the data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.paths import ROOT
from treeanon.cli.demo import command as demo

SAVED = ROOT / "docs" / "notebook.ipynb"


def kinds(notebook: Any) -> list[list[str]]:
    """What each cell puts out: the kinds of its results; not how far work is told to be, which short work is not."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [
        sorted(kind for one in cell["outputs"] if one["output_type"] == "execute_result" for kind in one["data"])
        for cell in cells
    ]


def test_the_notebook_runs_and_shows_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(demo, ["hospital", "--quiet"]).exit_code == 0
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    found = nbformat.read(SAVED, as_version=4)
    where = {"metadata": {"path": str(tmp_path / "hospital")}}
    nbclient.NotebookClient(found, timeout=600, kernel_name="python3", resources=where).execute()
    saved = json.loads(SAVED.read_text())
    assert kinds(found) == kinds(saved)
    people = (tmp_path / "hospital" / "patients.ndjson").read_text().splitlines()
    texts = {text for line in people[:200] for key in ("name", "ssn") for text in [json.loads(line)[key]]}
    for notebook in (found, saved):
        outputs = json.dumps([cell.get("outputs") for cell in notebook["cells"]])
        # Only what draws the progress is empty in the end.
        assert "notebook-release" in outputs and not re.search(r"\[#+\.*\]", outputs)
        assert not {text for text in texts if str(text) in outputs}
