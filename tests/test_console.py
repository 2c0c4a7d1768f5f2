"""The two streams: tables that keep their words on a terminal, plain lines in a pipe."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

import pytest
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from cclab.cli import console, drawn
from cclab.cli.exits import RUN_FAILED
from cclab.report import tables
from cclab.tabular import Table
from conftest import STUDY
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from conftest import Cli

_LONG_NAME = "a-flow-with-a-rather-long-name"


def _on_a_terminal(columns: int, *arguments: str) -> str:
    """What `cclab` shows on a terminal of so many columns."""
    ours, theirs = os.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
        child = subprocess.Popen(
            [sys.executable, "-m", "cclab", *arguments],
            env={**environment, "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            pass  # The terminal ends with its last process.
        assert child.wait(PATIENCE_S) == 0, shown
    finally:
        os.close(ours)
    return shown.decode()


def test_no_word_of_the_table_is_cut_on_a_terminal(study: Path, tmp_path: Path) -> None:
    study.write_text(STUDY.replace('name = "long"', f'name = "{_LONG_NAME}"'))
    for columns in (80, 50, 20):
        shown = _on_a_terminal(columns, "run", str(study), "--out", str(tmp_path / "out"))
        assert "…" not in shown
        assert _LONG_NAME in shown
        words = ["goodput (Mbit/s)", "share", "retransmits", "srtt (ms)", "limited by"]
        for word in (*words, "utilization", "queue delay (ms)", "Jain"):
            assert word in shown


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize(
    "words", [(), ("--table", "runs"), ("--group-by", "cc"), ("--columns", "run,goodput,jain")]
)
def test_answers_fold_on_terminals_of_every_width(
    columns: int, words: tuple[str, ...], results: Results
) -> None:
    shown = _on_a_terminal(columns, "query", str(results.store.path), *words)
    # A heading begins each part, which has rows.
    assert not re.search(r"─ \s*$", shown)
    heads = [line for line in re.split("[\r\n]+", shown) if "run " in line or "cc " in line]
    assert heads
    if words == () and columns == 80:
        assert all("name" in line for line in heads)
        assert len(heads) == 2


def test_rows_are_red_by_their_numbers_in_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = drawn.Output(file=screen, force_terminal=True, width=20, color_system="standard")
    monkeypatch.setattr(drawn, "stdout", lambda: console)
    monkeypatch.setattr(screen, "isatty", lambda: True)
    rows = [[[name, "x" * 9, "y" * 9]] for name in "abcd"]
    drawn.print_rows(Table(["is", "left", "right"], [False] * 3, rows, 0, 0), {1, 3})
    lines = screen.getvalue().splitlines()
    assert [line[7] for line in lines if line.startswith("\x1b[31m")] == ["b", "d", "b", "d"]


def test_no_word_of_what_is_expected_is_cut_on_a_terminal(study: Path) -> None:
    for columns in (80, 50):
        shown = _on_a_terminal(columns, "explain", str(study))
        assert "…" not in shown
        for word in ("base RTT", "bottleneck", "rwnd", "expected", "bound by"):
            assert word in shown


@pytest.mark.parametrize("columns", [40, 80])
def test_a_capture_folds_into_tables_that_have_rows(columns: int, results: Results) -> None:
    [capture, *_] = sorted(results.store.path.rglob("*.pcapng"))
    shown = _on_a_terminal(columns, "analyze", str(capture))
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).splitlines()]
    rules = [at for at, line in enumerate(lines) if line and not line.strip("─")]
    assert len(rules) > 1
    assert all(lines[at - 1].startswith("#") and lines[at + 1] for at in rules)
    # A table without columns would be lines of blanks.
    assert all(any(lines[at : at + 3]) for at in range(len(lines) - 2))


def test_a_table_folds_into_tables_that_have_every_column(results: Results) -> None:
    whole = tables.table(results)

    def fits(table: Table) -> bool:
        return len(table.headings) <= 5

    folded = whole.folded(fits)
    assert all(fits(part) for part in folded)
    names = whole.headings[: whole.keys + 1]
    shown = [h for part in folded for h in part.headings if h not in names]
    assert shown == whole.headings[whole.keys + 1 :]
    assert all(part.headings[: whole.keys] == whole.headings[: whole.keys] for part in folded)
    assert whole.folded(lambda _: True) == [whole]


def test_a_pipe_gets_whole_lines_without_padding(cli: Cli, study: Path, tmp_path: Path) -> None:
    done = cli("run", study, "--out", tmp_path / "out")
    assert "Check before you trust these numbers:" in done.stderr
    told = (*done.stderr.splitlines(), *done.stdout.splitlines())
    for plan in (cli("plan", study), cli("list", "metrics")):
        told += (*plan.stdout.splitlines(),)
    assert [line for line in told if line != line.rstrip()] == []
    assert [line for line in told if "until each flow has" in line and line.endswith("`repeat`")]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize(
    "message",
    ["", "a line", "  [bold]two[/]\nlines \n", "tab\tand \x1b[31m", "±延 " * 60, "odd\udcff"],
)
def test_a_line_in_a_pipe_is_what_rich_would_write(
    message: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    for say in (console.tell, lambda text: drawn.stdout().print(text, soft_wrap=True)):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))
        say(message)
        written.append(raw.getvalue())
    assert written[0] == written[1]


def _with(streams: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`cclab`, as a shell calls it with these `streams`."""
    command = ["sh", "-c", f'exec "$0" -m cclab "$@" {streams}', sys.executable, *words]
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=buffered)


def test_who_closed_standard_error_gets_the_result_all_the_same() -> None:
    done = _with("2>&-", "list", "variants", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)
    assert _with("2>&-", "run", "no-such-file.toml").returncode == 2


@pytest.mark.parametrize("words", [["--version"], ["list", "variants"], ["schema"]])
@pytest.mark.parametrize(
    ("to", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_what_cannot_be_written_is_told_once(to: str, why: str, words: list[str]) -> None:
    done = _with(to, *words)
    assert (done.returncode, done.stderr) == (RUN_FAILED, f"error: cannot write: {why}\n")


@pytest.mark.parametrize(
    "groups",
    [
        [],
        [[["a", "1", "one word"]], [["b", "12,345", "延迟"]]],
        [[["a", "1", "x"], ["", "22", "a longer one"]], [], [["b", "3", "é…"], ["", "4", ""]]],
    ],
)
def test_a_table_looks_as_rich_draws_it(
    groups: list[list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    headings, numeric = ["key", "rate (Mbit/s)", "flow"], [False, True, False]
    theirs = RichTable(box=SIMPLE_HEAD)
    for heading, number in zip(headings, numeric, strict=True):
        theirs.add_column(Text(heading), justify="right" if number else "left", no_wrap=True)
    for group in groups:
        for row in group:
            theirs.add_row(*map(Text, row))
        if any(len(rows) > 1 for rows in groups):
            theirs.add_section()
    by_rich = Console(file=io.StringIO(), width=80)
    by_rich.print(theirs)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    drawn.print_table("A title", Table(headings, numeric, groups, 1, 0))
    stream.flush()
    shown = stream.buffer.getvalue().decode().splitlines()
    assert shown[0] == "A title"
    assert isinstance(by_rich.file, io.StringIO)
    assert shown[1:] == [line.rstrip() for line in by_rich.file.getvalue().splitlines()]
