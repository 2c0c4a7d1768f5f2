"""The manual page cclab(1): all of the help, in macros that those who read it know."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cclab import __version__
from cclab.cli.exits import MEANINGS
from conftest import ROOT
from verbs import VERBS

if TYPE_CHECKING:
    from pathlib import Path


def write(file: Path) -> None:
    """Writes the page, of a day in 2026."""
    subprocess.run(
        [sys.executable, ROOT / "wheels/manual.py", file],
        env={**os.environ, "SOURCE_DATE_EPOCH": "1790000000"},
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, written anew."""
    file = tmp_path_factory.mktemp("manual") / "cclab.1"
    write(file)
    return file


def test_two_who_read_manual_pages_complain_of_nothing(page: Path) -> None:
    for words in (["mandoc", "-Tlint", "-Wwarning"], ["man", "--warnings", "--local-file"]):
        done = subprocess.run(
            [*words, page],
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), words
        assert words[0] == "man" or done.stdout == ""


def test_it_has_every_verb_with_its_options_and_every_exit_code(page: Path) -> None:
    shown = subprocess.run(
        ["man", "--local-file", page],
        env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"cclab {__version__}" in shown
    verbs = re.split(r"^   cclab ", shown, flags=re.MULTILINE)[1:]
    assert len(verbs) == len(VERBS)
    for verb, text in zip(VERBS, verbs, strict=True):
        assert text.startswith(" ".join(verb.words))
        for option, _ in verb.options:
            assert re.search(rf"^       {re.escape(option)}\b", text, re.MULTILINE), option
    for code, meaning in MEANINGS.items():
        assert re.search(rf"^ +{code} +{meaning}$", shown, re.MULTILINE)


def test_of_equal_sources_and_dates_it_is_the_same_bytes(page: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.1"
    write(again)
    assert again.read_bytes() == page.read_bytes()
    assert b'"2026-09-21"' in page.read_bytes()
