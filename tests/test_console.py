"""The two streams: tables that keep their words on a terminal, plain lines in a pipe."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

from cclab.report import tables
from conftest import STUDY
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from cclab.tabular import Table
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
