"""The programs of interactive pages: their types are Python's, and no file of theirs is left out.

`make lint` checks the programs themselves; the tests of each page run them in a browser.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from cclab.pages import embedded, uplot
from conftest import ROOT
from javascript.shapes import DOCUMENTS, FOLDER, declarations

if TYPE_CHECKING:
    from pathlib import Path

UPLOT = ROOT / "python/cclab/pages/uplot/uPlot.iife.min.js"
PROGRAMS = sorted(FOLDER.glob("tsconfig.*.json"))


def files_of(configuration: Path) -> list[Path]:
    """The files of the program that a configuration of tsc names."""
    patterns: list[str] = json.loads(configuration.read_text())["include"]
    programs = [FOLDER / pattern for pattern in patterns if pattern.endswith(".js")]
    folders = [pattern.parent.resolve() for pattern in programs]
    return [file for folder in folders for file in sorted(folder.glob("*.js"))]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_types_that_programs_are_checked_with_are_those_of_python(name: str) -> None:
    remedy = "in tests/, please run: python -m javascript.shapes"
    assert (FOLDER / name).read_text() == declarations(DOCUMENTS[name]), remedy


def test_every_program_in_the_package_is_checked() -> None:
    checked = {file for program in PROGRAMS for file in files_of(program)}
    assert checked == set((ROOT / "python").rglob("*.js")) - {UPLOT}


@pytest.mark.parametrize("configuration", PROGRAMS, ids=lambda file: file.name)
def test_a_page_uses_all_that_its_files_define(configuration: Path) -> None:
    text = "\n".join(file.read_text() for file in files_of(configuration))
    code = re.sub(r"(?s:/\*.*?\*/)|//.*", "", text)
    defined = re.findall(r"^(?:const|let|function|class) (\w+)", code, re.MULTILINE)
    assert len(defined) > 50
    assert [name for name in defined if len(re.findall(rf"\b{name}\b", code)) == 1] == []


def test_uplot_is_the_version_whose_types_programs_are_checked_with() -> None:
    tools = json.loads((FOLDER / "package.json").read_text())["devDependencies"]
    assert tools["uplot"] == uplot.VERSION
    assert f"(v{uplot.VERSION})" in UPLOT.read_text()[:80]


def test_the_lock_of_the_tools_names_no_host() -> None:
    locked = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    assert not any("resolved" in package for package in locked.values())
    own = {name.removeprefix("node_modules/"): package for name, package in locked.items() if name}
    tools = json.loads((FOLDER / "package.json").read_text())["devDependencies"]
    assert {name: own[name]["version"] for name in tools} == tools


def test_nothing_in_embedded_data_ends_its_element() -> None:
    text = embedded({"title": "</script><b>", "places": (1, 2.5)})
    assert "<" not in text
    assert json.loads(text) == {"title": "</script><b>", "places": [1, 2.5]}
