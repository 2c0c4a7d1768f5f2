"""`cclab analyze`: its numbers beside those of tcptrace and tshark, and its command line."""

from __future__ import annotations

import gzip
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cclab
from cclab.cli.main import DONE, WRONG_INPUT
from conftest import ROOT
from guests import results_of
from judges import packets, tcptrace_reports

if TYPE_CHECKING:
    from cclab import Results
    from conftest import Cli
    from judges import Report

    Row = dict[str, Any]

NETWORK = """
[network.bottleneck]
rate   = "10Mbit"
delay  = "5ms"
queue  = { kind = "droptail", limit = "30p" }
loss   = "0.5%"
outage = { start = "1200ms", duration = "300ms" }

[[flow]]
name     = "short"
cc       = "cubic"
rtt      = "20ms"
transfer = "2000003B"
MORE

[[flow]]
name     = "long"
cc       = "reno"
rtt      = "80ms"
MORE

[trace]
capture = ["bottleneck", "short.sender", "short.receiver", "long.sender", "long.receiver"]
"""
POINTS = ["bottleneck", "short.sender", "short.receiver", "long.sender", "long.receiver"]

SAME = {
    "packets": "total packets",
    "pure_acks": "pure acks sent",
    "data_packets": "actual data pkts",
    "total_bytes": "actual data bytes",
    "unique_bytes": "unique bytes sent",
    "out_of_order_packets": "outoforder pkts",
    "window_probes": "zwnd probe pkts",
    "zero_windows": "zero win adv",
    "segment_max_bytes": "max segm size",
    "segment_min_bytes": "min segm size",
    "window_max_bytes": "max win adv",
    "initial_window_bytes": "initial window",
    "initial_window_packets": "initial window pkts",
    "mss_announced_bytes": "mss requested",
    "rtt_samples": "RTT samples",
}
"""Ours, by the name of tcptrace's number that is the same."""

RTT = {
    "rtt_min_s": "RTT min",
    "rtt_mean_s": "RTT avg",
    "rtt_max_s": "RTT max",
    "rtt_stdev_s": "RTT stdev",
}
"""tcptrace's are in milliseconds with one digit after the point."""


@pytest.fixture(scope="module")
def simulations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of simulated runs, with window scaling and without."""
    folder = tmp_path_factory.mktemp("simulations")
    return {
        "sim": simulated(folder / "scaled", "linux-6.12"),
        "sim-unscaled": simulated(folder / "unscaled", "ns3-3.1x"),
    }


@pytest.fixture(scope="module")
def guests(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of runs on the kernel, with window scaling and without."""
    folder = tmp_path_factory.mktemp("guests")
    return {
        "linux": emulated(folder / "scaled", ""),
        "linux-unscaled": emulated(
            folder / "unscaled", 'sysctl = { "net.ipv4.tcp_window_scaling" = 0 }'
        ),
    }


@pytest.fixture
def entry(request: pytest.FixtureRequest, run: str) -> Path:
    """The folder of the run of that name."""
    of_sim = run.startswith("sim")
    entries: dict[str, Path] = request.getfixturevalue("simulations" if of_sim else "guests")
    return entries[run]


def simulated(folder: Path, stack: str) -> Path:
    """The two flows on the simulator."""
    folder.mkdir()
    file = folder / "study.toml"
    head = f'duration = "5s"\nseed = 5\nstack = "{stack}"\n'
    file.write_text(head + NETWORK.replace("MORE", ""))
    return cclab.run(file, out=folder / "store").runs[0].entry


def emulated(folder: Path, more: str) -> Path:
    """The two flows on the kernel, delay added on the sending hosts, each with the keys `more`."""
    flow = f'delay_at = "sender"\n{more}'
    study = 'duration = "5s"\nseed = 5\n' + NETWORK.replace("MORE", flow)
    return results_of(folder, study).runs[0].entry


def rows_of(capture: Path) -> list[tuple[Row, Row]]:
    """Both directions of each connection in `capture`, in which nothing was skipped."""
    document = cclab.analyze(capture).document
    assert document["problems"] == []
    rows = document["connections"]
    return list(zip(rows[::2], rows[1::2], strict=True))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("run", ["sim", "sim-unscaled", "linux", "linux-unscaled"])
def test_tcptrace_gives_the_same_numbers(entry: Path, run: str, point: str) -> None:
    capture = entry / f"{point}.pcapng"
    pairs = rows_of(capture)
    reports = tcptrace_reports(capture)
    assert len(pairs) == len(reports) == (2 if point == "bottleneck" else 1)
    for pair, report in zip(pairs, reports, strict=True):
        assert pair[0]["packets"] + pair[1]["packets"] == report.total_packets
        assert pair[0]["window_scaling"] is not run.endswith("unscaled")
        for row, column in zip(pair, report.columns, strict=True):
            assert_same(row, column, report)


def assert_same(row: Row, column: dict[str, float], report: Report) -> None:
    """Checks one direction against tcptrace's column."""
    # What tcptrace shows as 0 was not seen.
    differing = {
        ours: (row[ours], column[theirs])
        for ours, theirs in SAME.items()
        if (row[ours] or 0) != column[theirs]
    }
    assert not differing
    # SYNs and FINs that were sent again are data to tcptrace, of one byte each.
    again = row["retransmitted_syn_fin"]
    assert row["retransmitted_bytes"] + again == column["rexmt data bytes"]
    assert 0 <= column["rexmt data pkts"] - row["retransmitted_packets"] <= again
    assert row["rtt_ambiguous"] == column.get("ambiguous acks", 0)

    if row["end"] != "reset":
        # It counts RSTs among the packets whose windows it averages, but not their windows.
        assert math.floor(row["window_mean_bytes"]) == column["avg win adv"]
    if row["zero_windows"] == 0:
        assert row["window_min_bytes"] == column["min win adv"]
    # Its outstanding data are one byte more than those in flight.
    assert row["outstanding_max_bytes"] + 1 == column["max owin"]
    assert math.floor(row["outstanding_mean_bytes"] + 1) == column["avg owin"]

    # It reads times in whole microseconds.
    assert abs(row["elapsed_s"] - report.elapsed_s) < 2e-6
    rounding = 0.5 + column["throughput"] * 2e-6 / row["elapsed_s"]
    assert abs(row["throughput_bps"] / 8 - column["throughput"]) <= rounding
    for ours, theirs in RTT.items():
        if ours == "rtt_stdev_s" and row["rtt_samples"] == 2:
            # It takes that of two samples for 0.
            assert column[theirs] == 0
            continue
        if ours == "rtt_min_s" and row[ours] is not None and row[ours] < 1e-6:
            # A minimum of 0 is none yet to it, and the next sample replaces it.
            assert column[theirs] <= row["rtt_max_s"] * 1e3 + 0.052
            continue
        assert abs((row[ours] or 0) * 1e3 - column[theirs]) <= 0.052, (ours, row[ours])


@pytest.mark.parametrize("run", ["sim", "linux", "linux-unscaled"])
def test_the_captures_have_what_is_to_be_compared(entry: Path, run: str) -> None:
    [(there, back)] = rows_of(entry / "short.sender.pcapng")
    assert there["unique_bytes"] == 2_000_003
    assert there["retransmitted_packets"] > 5
    assert there["rtt_ambiguous"] > 0
    assert there["rtt_samples"] > 300
    assert there["timer_retransmits"] > 0, "the outage is longer than any RTT"
    assert back["window_max_bytes"] > 65_535 or run == "linux-unscaled"
    [(there, _)] = rows_of(entry / "short.receiver.pcapng")
    assert there["out_of_order_packets"] > 5
    assert there["unique_bytes"] == 2_000_003


@pytest.mark.parametrize("run", ["sim", "linux"])
@pytest.mark.parametrize("flow", ["short", "long"])
def test_tshark_sees_the_same_duplicate_acks_and_windows(entry: Path, run: str, flow: str) -> None:
    capture = entry / f"{flow}.sender.pcapng"
    [(there, back)] = rows_of(capture)
    duplicates = packets(capture, "frame.number", only="tcp.analysis.duplicate_ack")
    assert there["duplicate_acks"] == len(duplicates) > 10
    scaled = "tcp.srcport < 6000 && tcp.flags.syn == 0 && tcp.flags.reset == 0"
    windows = [int(value) for [value] in packets(capture, "tcp.window_size", only=scaled)]
    assert back["window_mean_bytes"] == pytest.approx(sum(windows) / len(windows), rel=1e-12)


def test_delay_added_before_the_capture_point_is_not_in_the_rtt(
    simulations: dict[str, Path], guests: dict[str, Path]
) -> None:
    # With `delay_at = "sender"` packets are captured after they were delayed.
    [(there, _)] = rows_of(guests["linux"] / "long.sender.pcapng")
    assert there["rtt_min_s"] < 0.02
    [(there, _)] = rows_of(simulations["sim"] / "long.sender.pcapng")
    assert there["rtt_min_s"] > 0.08


def test_the_frame_has_every_column_and_the_page_defines_it(results: Results) -> None:
    capture = cclab.analyze(results.runs[0].entry / "bottleneck.pcapng")
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
    capture = results.runs[0].entry / "bottleneck.pcapng"
    table = cli("analyze", capture)
    assert table.returncode == DONE, table.stderr
    assert "2 TCP connections" in table.stdout
    assert "10.0.0.2:40001" in table.stdout
    told = json.loads(cli("analyze", capture, "--json").stdout)
    assert told["schema"] == "cclab-analyze/2"
    lines = cli("analyze", capture, "--csv").stdout.splitlines()
    assert lines[0] == ",".join(told["connections"][0])
    assert len(lines) == 5

    packed = tmp_path / "cut short.pcapng.gz"
    packed.write_bytes(gzip.compress(capture.read_bytes()[:-10]))
    done = cli("analyze", packed)
    assert done.returncode == DONE
    assert done.stderr.startswith("cut-off: 1\n")


def test_a_capture_comes_through_a_pipe_as_well(cli: Cli, results: Results, tmp_path: Path) -> None:
    capture = results.runs[0].entry / "bottleneck.pcapng"
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
    capture = results.runs[0].entry / "bottleneck.pcapng"
    writer = subprocess.Popen(
        ["sh", "-c", 'cat "$0"; exec sleep 60', capture], stdout=subprocess.PIPE
    )
    command = [sys.executable, "-m", "cclab", "analyze", "-", "--csv"]
    with writer, subprocess.Popen(command, stdin=writer.stdout, stdout=subprocess.PIPE) as reader:
        while not _ignores_interrupts(reader):
            assert reader.poll() is None
            time.sleep(0.01)
        for process in (reader, writer):
            process.send_signal(signal.SIGINT)
        told = reader.communicate(timeout=60)[0].decode()
    assert (reader.returncode, told) == (DONE, cli("analyze", capture, "--csv").stdout)


def _ignores_interrupts(process: subprocess.Popen[bytes]) -> bool:
    status = Path(f"/proc/{process.pid}/status").read_text()
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) & 1 << (signal.SIGINT - 1))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["study file.toml"], "not a packet capture: it begins with"),
        (["missing.pcap"], "missing.pcap: No such file"),
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
