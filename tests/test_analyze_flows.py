"""TCP beside UDP in one capture: one time for all, shares of all, a page that shows all."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.utils import wrpcap

import cclab
from browser import Chromium, in_browser
from cclab.captures.series import page, xplot
from cclab.cli.exits import DONE, RUN_FAILED
from conftest import files_of
from xplot_graphs import Graph, screen

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

HERE, THERE = "10.0.0.1", "10.0.0.2"
# An Initial packet of QUIC version 1, as far as its headers go.
INITIAL = bytes.fromhex("c000000001 08 0102030405060708 08 1112131415161718 00 449e") + bytes(1176)
SEGMENTS = 40
LATE = (12, 25)
"""Segments that are captured behind their next five: they were lost before the capture point."""


def packets() -> list[IP]:
    """A ping, a call, a connection with holes that are filled late, and two more conversations."""
    made = []

    def at(seconds: float, packet: IP) -> None:
        packet.time = 100.0 + seconds
        made.append(packet)

    def segment(flags: str, seq: int, size: int = 0, *, back: bool = False, ack: int = 1) -> IP:
        source, destination = (THERE, HERE) if back else (HERE, THERE)
        sport, dport = (5201, 5000) if back else (5000, 5201)
        header = TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=ack, window=60000)
        return IP(src=source, dst=destination) / header / bytes(size)

    at(0.0, IP(src=HERE, dst=THERE) / ICMP() / bytes(56))
    for n in range(50):
        at(0.5 + 0.05 * n, IP(src=HERE, dst=THERE) / UDP(sport=4000, dport=4001) / bytes(400))
    at(1.0, segment("S", 0, ack=0))
    at(1.00004, segment("SA", 0, back=True))
    at(1.00005, segment("A", 1))
    order = [n for n in range(SEGMENTS) if n not in LATE]
    for n in LATE:
        order.insert(order.index(n + 5) + 1, n)
    highest = 0
    for place, n in enumerate(order):
        at(1.1 + 0.05 * place, segment("A", 1 + 1000 * n, 1000))
        seen = set(order[: place + 1])
        highest = next(k for k in range(SEGMENTS + 1) if k not in seen)
        at(1.10004 + 0.05 * place, segment("A", 1, back=True, ack=1 + 1000 * highest))
    at(4.0, IP(src=HERE, dst=THERE) / UDP(sport=50000, dport=443) / INITIAL)
    at(4.03, IP(src=THERE, dst=HERE) / UDP(sport=443, dport=50000) / INITIAL)
    at(4.5, IP(src=HERE, dst=THERE) / UDP(sport=6000, dport=53) / bytes(40))
    return sorted(made, key=lambda packet: packet.time)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of it in a file."""
    path = tmp_path_factory.mktemp("captures") / "beside.pcap"
    wrpcap(str(path), packets(), linktype=101)
    return path


def test_time_begins_with_the_first_packet_for_tcp_and_udp(capture: Path) -> None:
    analyzed = cclab.analyze(capture)
    assert analyzed.started_ns == 100_000_000_000
    size = analyzed.series("size", conversation=1)
    assert size["time_s"][0] == pytest.approx(0.5, abs=1e-6)
    sequence = analyzed.series("time-sequence", connection=1)
    assert sequence["time_s"][0] == pytest.approx(1.0, abs=1e-6)
    whole = analyzed.together["whole"]
    # A bin of the grid before.
    assert whole["from_s"] == pytest.approx(0.5, abs=0.07)
    asked = cclab.analyze(capture, interval=(0.4, 0.9)).together["asked"]
    assert [(flow["conversation"], flow["bytes"]) for flow in asked["flows"]] == [(1, 8 * 400)]


def test_share_and_fairness_are_of_tcp_and_udp(capture: Path) -> None:
    analyzed = cclab.analyze(capture)
    share = analyzed.series("share", bin_s=0.5)
    sent = share.group_by("connection", "conversation").agg(
        bits=(pl.col("throughput_bps") * pl.col("bin_s")).sum()
    )
    bits = {row[:2]: round(row[2]) for row in sent.rows()}
    assert bits == {
        (1, None): SEGMENTS * 8000,
        (None, 1): 50 * 3200,
        (None, 2): len(INITIAL) * 8,
        (None, 3): 320,
    }
    jain = analyzed.series("jain", bin_s=0.5)
    # From 1.5 to 2 s: ten segments of 1000 bytes, and as many datagrams of 400.
    [row] = jain.filter(pl.col("time_s") == 1.5).to_dicts()
    assert row["flows"] == 2
    assert row["jain"] == pytest.approx(14**2 / (2 * (10**2 + 4**2)))
    # The lookup of 40 bytes is no flow to be held against the others.
    [row] = jain.filter(pl.col("time_s") == 4.0).to_dicts()
    assert row["flows"] == 1
    together = analyzed.together
    assert (together["flows"], together["left_out"]) == (3, 1)


def test_shares_are_told_in_a_pipe_in_whole_lines(cli: Cli, capture: Path) -> None:
    # As many a CI has it: rich then takes a pipe for a terminal of 80 columns.
    told = cli("analyze", capture, TERM="dumb", FORCE_COLOR="1", NO_COLOR="1")
    assert told.returncode == DONE, told.stderr
    text = re.sub(r"\x1b\[[0-9;]*m", "", told.stdout)
    assert "    connection 1: 65.4%, UDP 1: 32.7%, UDP 2: 2.0%\n" in text
    lines = text.splitlines()
    of_tcp = next(line for line in lines if "in flight, max" in line)
    assert of_tcp.split()[:2] == ["#", "from"]
    assert of_tcp.endswith("limited by")
    [row] = [line for line in lines if re.match(r"  1 +10.0.0.1:5000 ", line)]
    assert row.endswith("   application")


def test_round_trips_of_microseconds_have_digits(cli: Cli, capture: Path) -> None:
    told = cli("analyze", capture).stdout
    assert "RTT min (µs)" in told
    [row] = [line for line in told.splitlines() if re.match(r"  1 +10.0.0.1:5000 ", line)]
    assert " 40.0 " in row


def test_what_was_sent_again_and_what_came_late_are_told_apart(cli: Cli, capture: Path) -> None:
    told = cli("analyze", capture).stdout
    words = re.sub(r"  +", "  ", told)
    assert "sent again  late" in words
    [row] = [line for line in words.splitlines() if re.match(r"  1  10.0.0.1:5000", line)]
    assert f"  0  {len(LATE)}  " in row


def test_a_page_of_an_interval_is_written(cli: Cli, capture: Path, tmp_path: Path) -> None:
    done = cli("analyze", capture, "--out", "out", "--interval", "1s", "2s")
    assert done.returncode == DONE, done.stderr
    html = (tmp_path / "out" / "index.html").read_text()
    assert "as asked for" in html
    assert "connection 1: " in html


def test_a_page_of_an_interval_without_tcp_is_written(tmp_path: Path) -> None:
    udp = tmp_path / "udp.pcap"
    wrpcap(str(udp), [packet for packet in packets() if TCP not in packet], linktype=101)
    analyzed = cclab.analyze(udp, interval=(0.5, 2))
    assert analyzed.together["asked"]["again_or_late_packets"] is None
    assert "as asked for" in analyzed.write(tmp_path / "out").read_text()


def test_what_ends_an_analysis_is_told_and_leaves_no_folder(
    capture: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from cclab.cli.main import invoke

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(page, "html", full)
    assert invoke(["analyze", str(capture), "--out", str(tmp_path / "out")]) == RUN_FAILED
    assert "No space left on device" in capsys.readouterr().err
    assert files_of(tmp_path) == {}


def test_directions_without_series_are_counted_by_kind(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = cclab.analyze(capture).write(tmp_path / "all").read_text()
    assert "no series here" not in html
    monkeypatch.setattr("cclab.captures.series.folder.MOST_CONNECTIONS", 1)
    html = cclab.analyze(capture).write(tmp_path / "one").read_text()
    assert re.findall(r"[-\d,]+ directions? with[^<]*", html) == [
        "3 directions with less payload have no series here."
    ]


def test_every_panel_of_the_page_shows_something(capture: Path, tmp_path: Path) -> None:
    written = cclab.analyze(capture).write(tmp_path / "out")
    with Chromium(tmp_path / "user") as chromium:
        assert chromium.complaints(written) == []
    script = """
      const seen = {};
      for (const button of document.querySelectorAll("button.choice")) {
        button.click();
        seen[button.value] = [...document.querySelectorAll("figure.chart")].map((f) =>
          [f.dataset.panel, f.querySelector("canvas:not(.swatch)").height]);
      }
      document.querySelector("[data-do=capture]").click();
      setTimeout(() => {
        const result = document.createElement("pre");
        result.id = "result";
        result.textContent = JSON.stringify(
          { seen, span: document.getElementById("span").textContent });
        document.body.append(result);
      }, 100);
    """
    after = in_browser(written, script, tmp_path)
    result = json.loads(re.findall(r'<pre id="result">(.*?)</pre>', after, re.DOTALL)[0])
    assert all(height > 99 for panels in result["seen"].values() for _, height in panels)
    shown = {name: [panel for panel, _ in panels] for name, panels in result["seen"].items()}
    of_all = ["share", "jain"]
    assert shown["udp1"] == ["throughput", "inter-arrival", "size", *of_all]
    # One datagram has none before it.
    assert shown["udp2-back"] == ["throughput", "size", *of_all]
    assert result["span"].startswith("0.000000 s to 4.5")


def test_the_axis_of_active_flows_has_whole_numbers(capture: Path) -> None:
    figure = cclab.analyze(capture).figure("jain")
    assert figure is not None
    figure.draw_without_rendering()
    below = figure.axes[1]
    low, high = below.get_ylim()
    assert [tick for tick in below.get_yticks() if low <= tick <= high] == [0, 1, 2]


def test_xplot_has_graphs_of_datagrams_and_reads_them(capture: Path, tmp_path: Path) -> None:
    out = cclab.analyze(capture).write(tmp_path / "out", formats=["xplot"]).parent
    graphs = sorted(file.name for file in out.glob("udp1*.xpl"))
    assert graphs == ["udp1_iat.xpl", "udp1_tput.xpl", "udp1_tsg.xpl"]
    bars = Graph.read((out / "udp1_tsg.xpl").read_text()).bars("white")
    assert bars[:2] == [("100.500000", 0, 400), ("100.550000", 400, 800)]
    assert len(bars) == 50
    assert len(Graph.read((out / "udp1_iat.xpl").read_text()).dots["red"]) == 49
    with screen(tmp_path) as shown:
        for graph in graphs:
            assert len(shown.shows(out / graph)) > 1
    analyzed = cclab.analyze(capture)
    alone = analyzed.talks.talk(3)
    assert {name for name, _ in xplot.files_of_talk(alone)} == {
        f"udp3_{suffix}.xpl" for suffix in ("tsg", "tput", "iat")
    }
