"""The labs: notebooks that run, on the kernel too, and are stored as people read them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from nbmake.nb_run import NotebookRun

import cclab
import cclab.kernel
from labs import FOLDER, stored
from waiting import PATIENCE_S

LABS = sorted(FOLDER.glob("*.ipynb"))
NAMES = [lab.stem for lab in LABS]

PARTS = ("question", "theory", "prediction", "study", "kernel", "verdict", "exercises")
"""Cells that every lab has, by their ids."""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The labs and what lies beside them, as a reader has them: without the repository."""
    left = shutil.ignore_patterns("results", "*.py", ".ipynb_checkpoints")
    return Path(shutil.copytree(FOLDER, tmp_path / "desk", ignore=left))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", NAMES)
def test_a_lab_runs_on_simulator_and_kernel(desk: Path, name: str) -> None:
    done = NotebookRun(desk / f"{name}.ipynb", PATIENCE_S).execute()
    assert done.error is None, done.error.summary
    cells = {cell.id: cell for cell in done.nb.cells}
    backends = {cclab.load(folder).plan.backend for folder in (desk / "results").iterdir()}
    assert "linux" in backends
    assert cclab.kernel.not_built() not in str(cells["kernel"].outputs)
    assert cells["kernel"].outputs, "what the kernel did is shown"
    verdict = "".join(out.data["text/html"] for out in cells["verdict"].outputs)
    assert "<td>met</td>" in verdict
    assert "<td>not met</td>" not in verdict
    shown = [kind for cell in cells.values() for kind in kinds_of(cell)]
    assert "image/svg+xml" in shown or "image/png" in shown


def kinds_of(cell: Any) -> list[str]:
    """The kinds of what a cell shows."""
    return [kind for out in cell.get("outputs", []) for kind in out.get("data", ())]


@pytest.mark.usefixtures("home")
def test_a_lab_runs_without_a_kernel_and_says_how_to_get_one(desk: Path) -> None:
    done = NotebookRun(desk / "01-slow-start.ipynb", PATIENCE_S).execute()
    assert done.error is None, done.error.summary
    (cell,) = (cell for cell in done.nb.cells if cell.id == "kernel")
    assert "please run: cclab kernel build" in str(cell.outputs)


@pytest.mark.parametrize("name", NAMES)
def test_a_lab_is_stored_without_what_it_showed(name: str) -> None:
    text = (FOLDER / f"{name}.ipynb").read_text()
    assert text == stored(text), "python tests/labs.py writes the labs as they are stored"


def test_what_jupyter_adds_to_a_lab_is_not_stored() -> None:
    plain = (FOLDER / LABS[0].name).read_text()
    lab = json.loads(plain)
    lab["metadata"]["language_info"]["version"] = "3.13.1"
    lab["metadata"]["widgets"] = {}
    for cell in lab["cells"]:
        cell["metadata"] = {"collapsed": True}
        if cell["cell_type"] == "code":
            cell["execution_count"] = 7
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["shown"]}]
    assert stored(json.dumps(lab)) == plain


@pytest.mark.parametrize("name", NAMES)
def test_a_lab_asks_lets_predict_measures_and_checks(name: str) -> None:
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text())["cells"]
    texts = {cell["id"]: "".join(cell["source"]) for cell in cells}
    assert [part for part in texts if part in PARTS] == list(PARTS)
    assert "**Question.**" in texts["question"]
    assert "# your prediction" in texts["prediction"]
    assert "[expect]" in texts["study"]
    assert 2 <= len(re.findall(r"^\d\. ", texts["exercises"], re.MULTILINE)) <= 3


def test_the_teachers_page_tells_of_every_lab() -> None:
    page = (FOLDER / "README.md").read_text()
    assert len(LABS) == 8
    for name in NAMES:
        assert f"]({name}.ipynb)" in page, name
