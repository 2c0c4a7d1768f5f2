"""The README's worked example, made again: what a newcomer compares first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from conftest import Cli

ROOT = Path(__file__).parent.parent


def table_of(text: str) -> list[str]:
    """The rows of the first table that has a goodput column."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    first = next(i for i, row in enumerate(rows) if "goodput (Mbit/s)" in row)
    return rows[first : first + 6]


def test_the_study_in_the_readme_is_the_example() -> None:
    readme = (ROOT / "README.md").read_text()
    shown = re.search(r"```toml\n(.*?)```", readme, re.DOTALL)
    assert shown is not None
    assert shown.group(1) == (ROOT / "examples/quickstart.toml").read_text()


def test_what_follows_pip_install_needs_no_file_of_the_repository(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (ROOT / "README.md").read_text()
    block = re.search(r"(    pip install cclab .*\n(?:    .*\n)+)", readme)
    assert block is not None
    lines = [line.partition("#")[0].split() for line in block.group(1).splitlines()]
    own = [words[1:] for words in lines if words[0] == "cclab"]
    assert [words[0] for words in own] == ["run", "new"]
    monkeypatch.chdir(tmp_path)
    for words in own:
        at = ["--set", "duration=10s"] if words[0] == "run" else []
        done = cli(*words, *at)
        assert done.returncode == 0, (words, done.stderr)


def test_the_table_in_the_readme_is_what_the_example_gives(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", ROOT / "examples/quickstart.toml", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert table_of((tmp_path / "report/table.md").read_text()) == table_of(
        (ROOT / "README.md").read_text()
    )
    readme = (ROOT / "README.md").read_text()
    doubts = re.search(r"settle it:\n\n((?:    .*\n)+)", readme)
    assert doubts is not None
    assert _unfolded(doubts.group(1)) in _unfolded(done.stdout + done.stderr)


def _unfolded(text: str) -> str:
    return " ".join(text.split())
