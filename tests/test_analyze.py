"""`cclab analyze`: its table and its command line. Its numbers are tested in test_agreement.py."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.cli.exits import DONE, INTERRUPTED, WRONG_INPUT
from conftest import ROOT
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from cclab import Results
    from conftest import Cli


def test_the_frame_has_every_column_and_the_page_defines_it(results: Results) -> None:
    capture = cclab.analyze(results.runs[0].trace.capture("bottleneck"))
    frame = capture.connections
    assert frame.columns == list(capture.document["connections"][0])
    assert len(frame) == 4
    assert set(frame["source_port"]) == {40000, 40001, 5001, 5002}
    assert frame["window_scaling"].all()
    page = (ROOT / "docs/analyze-tables.md").read_text()
    for column in frame.columns:
        assert f"| `{column}` |" in page, f"docs/analyze-tables.md: nothing on {column}"


def test_a_capture_without_connections_has_a_frame_with_all_columns(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 ffff0000 65000000"))
    capture = cclab.analyze(empty)
    assert (capture.packets, capture.problems) == (0, [])
    assert len(capture.connections) == 0
    assert "limited_by" in capture.connections.columns


def test_the_command_prints_a_table_csv_or_json(cli: Cli, results: Results, tmp_path: Path) -> None:
    capture = results.runs[0].trace.capture("bottleneck")
    table = cli("analyze", capture)
    assert table.returncode == DONE, table.stderr
    assert "2 TCP connections" in table.stdout
    assert "10.0.0.2:40001" in table.stdout
    told = json.loads(cli("analyze", capture, "--json").stdout)
    assert told["schema"] == "cclab-analyze/3"
    lines = cli("analyze", capture, "--csv").stdout.splitlines()
    assert lines[0] == ",".join(told["connections"][0])
    assert len(lines) == 5

    packed = tmp_path / "cut short.pcapng.gz"
    packed.write_bytes(gzip.compress(capture.read_bytes()[:-10]))
    done = cli("analyze", packed)
    assert done.returncode == DONE
    assert done.stderr.startswith("cut-off: 1\n")


def test_a_capture_comes_through_a_pipe_as_well(cli: Cli, results: Results, tmp_path: Path) -> None:
    capture = results.runs[0].trace.capture("bottleneck")
    from_file = cli("analyze", capture, "--csv")
    with subprocess.Popen(["cat", capture], stdout=subprocess.PIPE) as pipe:
        piped = cli("analyze", "-", "--csv", stdin=pipe.stdout)
    assert (piped.returncode, piped.stdout) == (DONE, from_file.stdout)

    os.mkfifo(tmp_path / "named")
    with subprocess.Popen(["cp", capture, tmp_path / "named"]):
        named = cli("analyze", "named", "--csv")
    assert (named.returncode, named.stdout) == (DONE, from_file.stdout)

    refused = cli("analyze", "-", stdin=subprocess.DEVNULL)
    assert refused.returncode == WRONG_INPUT
    assert refused.stderr.startswith("error: standard input: not a packet capture: it is empty")


def test_an_interrupt_ends_the_program_that_captures_and_what_it_wrote_is_analyzed(
    cli: Cli, results: Results
) -> None:
    capture = results.runs[0].trace.capture("bottleneck")
    writer = subprocess.Popen(
        ["sh", "-c", 'cat "$0"; exec sleep 3600', capture], stdout=subprocess.PIPE
    )
    command = [sys.executable, "-m", "cclab", "analyze", "-", "--csv"]
    with writer, subprocess.Popen(command, stdin=writer.stdout, stdout=subprocess.PIPE) as reader:
        while not _read_all(writer):
            assert reader.poll() is None
            time.sleep(0.01)
        for process in (reader, writer):
            process.send_signal(signal.SIGINT)
        told = reader.communicate(timeout=PATIENCE_S)[0].decode()
    assert (reader.returncode, told) == (DONE, cli("analyze", capture, "--csv").stdout)


def test_an_interrupt_ends_an_analysis_into_whose_pipe_nothing_is_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "cclab", "analyze", str(pipe)]
    # The pipe opens as soon as somebody reads from it.
    with subprocess.Popen(command, stderr=subprocess.PIPE) as reader, pipe.open("wb"):
        reader.send_signal(signal.SIGINT)
        told = reader.communicate(timeout=PATIENCE_S)[1].decode()
    assert reader.returncode == INTERRUPTED
    assert told.endswith("error: interrupted\n")


def test_an_interrupt_of_a_program_that_captured_nothing_is_no_wrong_input() -> None:
    """What had not begun was told to be no capture, as if the user had named a wrong file."""
    writer = subprocess.Popen(["sh", "-c", "printf '\\n'; exec sleep 3600"], stdout=subprocess.PIPE)
    command = [sys.executable, "-m", "cclab", "analyze", "-"]
    with writer, subprocess.Popen(command, stdin=writer.stdout, stderr=subprocess.PIPE) as reader:
        # A byte that is read says that it is an analysis that the interrupt meets.
        while not _read_all(writer):
            assert reader.poll() is None
            time.sleep(0.01)
        for process in (reader, writer):
            process.send_signal(signal.SIGINT)
        told = reader.communicate(timeout=PATIENCE_S)[1].decode()
    assert (reader.returncode, told) == (INTERRUPTED, "error: interrupted\n")


def test_of_several_captures_it_says_what_would_be_right(cli: Cli) -> None:
    done = cli("analyze", "a.pcap", "b c.pcap", "--csv")
    assert (done.returncode, done.stdout) == (WRONG_INPUT, "")
    assert done.stderr == (
        "error: 2 files, and a call is of one capture: call cclab analyze for each, or make one "
        "capture of several of the same place by `mergecap -w all.pcapng a.pcap 'b c.pcap'`\n"
    )
    many = cli("analyze", *(f"{n}.pcap" for n in range(100)))
    assert "`mergecap -w all.pcapng 0.pcap 1.pcap ...`" in many.stderr
    # An option that there is not is one still.
    assert "--cvs" in cli("analyze", "a.pcap", "--cvs").stderr


def _read_all(writer: subprocess.Popen[bytes]) -> bool:
    """Whether it has written all, and nothing is left in the pipe: somebody reads it by then."""
    assert writer.stdout is not None
    left = bytearray(4)
    fcntl.ioctl(writer.stdout.fileno(), termios.FIONREAD, left)
    done = Path(f"/proc/{writer.pid}/comm").read_text() == "sleep\n"
    return done and not any(left)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["study file.toml"], "not a packet capture: it begins with"),
        (["missing.pcap"], "missing.pcap: there is no such file"),
        (["study file.toml", "--json", "--csv"], "--json and --csv: one of them"),
        (["study file.toml", "--max-connections", "0"], "--max-connections 0: at least 1"),
    ],
)
@pytest.mark.usefixtures("study")
def test_what_cannot_be_analyzed_is_refused(cli: Cli, arguments: list[str], complaint: str) -> None:
    refused = cli("analyze", *arguments)
    assert refused.returncode == WRONG_INPUT
    assert complaint in refused.stderr
    assert refused.stderr.startswith("error: ")
    assert refused.stdout == ""
    assert "Traceback" not in refused.stderr
