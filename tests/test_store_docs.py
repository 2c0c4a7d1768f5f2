"""The examples in docs/store.md do what they say."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import cclab
from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from cclab.store import compact
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCS = (ROOT / "docs/store.md").read_text()


def blocks(language: str) -> list[str]:
    """The examples in a language."""
    return re.findall(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)


@pytest.fixture
def compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Works in a folder with the compacted results of a short quickstart."""
    monkeypatch.chdir(tmp_path)
    short = ["duration=2s", "warmup=500ms"]
    results = cclab.run(ROOT / "examples/quickstart.toml", set=short, repeat=2)
    compact.compact(results.store)


@pytest.mark.usefixtures("compacted")
def test_every_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    shares, windows = blocks("sql")
    found = _asked(shares)
    assert [row[:3] for row in found] == [("cubic", 0.02, 2), ("reno", 0.02, 2), ("reno", 0.1, 4)]
    assert len(_asked(windows)) == 4
    seen: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "docs/store.md", "exec"), seen)
    assert seen["means"].to_dict() == pytest.approx(
        {cc: sum(v) / len(v) for cc, v in _goodputs().items()}
    )
    assert seen["largest"].height == 4
    assert 0 < seen["shares"]["share"].max() <= 1
    commands = re.findall(r"^    cclab (query results.*|store ls results.*)$", DOCS, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        assert invoke(shlex.split(command)) == DONE, capsys.readouterr().err


def _asked(question: str) -> list[Any]:
    """What DuckDB answers."""
    with duckdb.connect() as connection:
        return connection.execute(question).fetchall()


def _goodputs() -> dict[str, list[float]]:
    """What each variant got, by another way than the examples'."""
    rows = _asked("SELECT cc, goodput_bps FROM 'results/quickstart/catalog/flows.parquet'")
    found: dict[str, list[float]] = {}
    for cc, goodput in rows:
        found.setdefault(cc, []).append(goodput)
    return found
