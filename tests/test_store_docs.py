"""The examples in docs/store.md do what they say."""

from __future__ import annotations

import hashlib
import re
import shlex
import sqlite3
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import cclab
from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

DOCS = (ROOT / "docs/store.md").read_text()


def blocks(language: str) -> list[str]:
    """The examples in a language."""
    return re.findall(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)


@pytest.fixture
def quickstart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """Works in a folder with the results of a short quickstart."""
    monkeypatch.chdir(tmp_path)
    short = ["duration=2s", "warmup=500ms"]
    return cclab.run(ROOT / "examples/quickstart.toml", set=short, repeat=2)


def test_every_example_runs(quickstart: Results, capsys: pytest.CaptureFixture[str]) -> None:
    seen: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "docs/store.md", "exec"), seen)
    goodputs: dict[str, list[float]] = {}
    for cc, goodput in quickstart.flows.select("cc", "goodput_bps").iter_rows():
        goodputs.setdefault(cc, []).append(goodput)
    expected = {cc: sum(v) / len(v) for cc, v in goodputs.items()}
    assert seen["means"]["goodput_bps"].to_dict() == pytest.approx(expected)
    summary = {cc: (n, mean) for cc, n, mean in seen["summary"].fetchall()}
    assert {cc: n for cc, (n, _) in summary.items()} == {cc: len(v) for cc, v in goodputs.items()}
    assert {cc: mean for cc, (_, mean) in summary.items()} == pytest.approx(expected)
    assert seen["largest"].height == len(quickstart.runs) == 4
    windows = dict(seen["largest"].iter_rows())
    for run in quickstart.runs:
        assert windows[run.run.id] == run.table("flow_samples")["cwnd_bytes"].max()
    assert 0 < seen["shares"]["share"].max() <= 1
    commands = re.findall(
        r"^    (cclab (?:query results|store ls).*|sqlite3 .*)$", DOCS, re.MULTILINE
    )
    assert len(commands) == 7
    for command in commands:
        program, *words = shlex.split(command)
        if program == "cclab":
            assert invoke(words) == DONE, capsys.readouterr().err
        else:
            with closing(sqlite3.connect(words[0])) as index:
                assert len(index.execute(words[1]).fetchall()) == 4


def test_the_digests_are_where_the_page_says(quickstart: Results) -> None:
    folder = quickstart.store.path
    index = (folder / "index.sqlite").read_bytes()
    assert hashlib.sha256(index[:-64]).hexdigest().encode() == index[-64:]
    for file in (folder / "runs").iterdir():
        content, comment = file.read_bytes(), zipfile.ZipFile(file).comment
        said = dict(line.split(b" ") for line in comment.splitlines()[1:])
        assert hashlib.sha256(content[:-79]).hexdigest().encode() == said[b"sha256"]
        assert said[b"run"].decode() == file.stem
