"""What `cclab analyze` says of UDP and QUIC, beside what tshark says."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from typing import TYPE_CHECKING

import polars as pl
import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.utils import wrpcap

import cclab
from browser import in_browser
from cclab.captures.series import TALKS
from cclab.captures.series.figures import TALKS as FIGURES
from cclab.cli.exits import DONE, WRONG_INPUT
from conftest import ROOT, files_of

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

HERE, THERE = "10.0.0.1", "10.0.0.2"
# An Initial packet of QUIC version 1 with connection IDs of 8 bytes, as far as its headers go.
INITIAL = bytes.fromhex("c000000001 08 0102030405060708 08 1112131415161718 00 449e") + bytes(1176)


def packets() -> list[IP]:
    """A small TCP connection, a call of 100 datagrams answered by tens, QUIC, and three pings."""
    made = []

    def at(seconds: float, packet: IP) -> None:
        packet.time = seconds
        made.append(packet)

    at(0.0, IP(src=HERE, dst=THERE) / TCP(sport=5000, dport=5201, flags="S", seq=9))
    at(0.1, IP(src=HERE, dst=THERE) / TCP(sport=5000, dport=5201, flags="A", seq=10) / bytes(592))
    for n in range(100):
        size = 172 if n % 2 else 572
        at(1.0 + n * 0.02, IP(src=HERE, dst=THERE) / UDP(sport=4000, dport=4001) / bytes(size))
        if n % 10 == 0:
            back = IP(src=THERE, dst=HERE) / UDP(sport=4001, dport=4000) / bytes(40)
            at(1.005 + n * 0.02, back)
    at(4.0, IP(src=HERE, dst=THERE) / UDP(sport=50000, dport=443) / INITIAL)
    at(4.1, IP(src=THERE, dst=HERE) / UDP(sport=443, dport=50000) / INITIAL)
    at(4.2, IP(src=HERE, dst=THERE) / UDP(sport=50000, dport=443) / (b"\x41" + bytes(99)))
    for n in range(3):
        at(5.0 + n, IP(src=HERE, dst=THERE) / ICMP() / bytes(56))
    return made


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of it in a file."""
    path = tmp_path_factory.mktemp("captures") / "mixed.pcap"
    wrpcap(str(path), packets(), linktype=101)
    return path


@pytest.fixture(scope="module")
def without_tcp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without TCP."""
    path = tmp_path_factory.mktemp("captures") / "udp.pcap"
    wrpcap(str(path), [packet for packet in packets() if TCP not in packet], linktype=101)
    return path


def test_conversations_have_rates_sizes_and_gaps(capture: Path) -> None:
    analyzed = cclab.analyze(capture)
    assert (analyzed.packets, analyzed.tcp_packets, analyzed.udp_packets) == (118, 2, 113)
    assert analyzed.other_packets == {"icmp": 3}
    call, answer, quic, _ = analyzed.conversations.to_dicts()
    assert (call["packets"], call["total_bytes"]) == (100, 37_200)
    assert (answer["packets"], answer["total_bytes"]) == (10, 400)
    # From 1.0 s to 2.98 s.
    assert call["rate_bps"] == pytest.approx(37_200 * 8 / 1.98, rel=1e-6)
    assert call["gap_mean_s"] == pytest.approx(0.02, rel=1e-5)
    assert call["gap_p99_s"] == pytest.approx(0.02, rel=0.008)
    assert (call["size_min_bytes"], call["size_max_bytes"]) == (172, 572)
    assert (quic["speaks"], quic["quic_version"]) == ("quic", "v1")
    assert (quic["quic_initial_packets"], quic["packets"]) == (1, 2)
    page = (ROOT / "docs/analyze-tables.md").read_text()
    for column in analyzed.conversations.columns:
        assert f"| `{column}` |" in page, f"docs/analyze-tables.md: nothing on {column}"


def test_tshark_counts_the_same(capture: Path) -> None:
    fields = ["frame.time_relative", "udp.srcport", "udp.stream", "udp.length", "quic.version"]
    done = subprocess.run(
        ["tshark", "-nr", str(capture), "-Y", "udp", "-T", "fields", "-E", "occurrence=f"]
        + [word for field in fields for word in ("-e", field)],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [dict(zip(fields, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
    analyzed = cclab.analyze(capture)
    for own in analyzed.conversations.to_dicts():
        theirs = [
            row
            for row in rows
            if int(row["udp.stream"]) + 1 == own["conversation"]
            and int(row["udp.srcport"]) == own["source_port"]
        ]
        assert own["packets"] == len(theirs)
        assert own["total_bytes"] == sum(int(row["udp.length"]) - 8 for row in theirs)
        times = [float(row["frame.time_relative"]) for row in theirs]
        gaps = [after - before for before, after in itertools.pairwise(times)]
        if gaps:
            assert own["gap_max_s"] == pytest.approx(max(gaps), abs=1e-6)
        versions = {row["quic.version"] for row in theirs} - {""}
        assert versions == ({"0x00000001"} if own["speaks"] == "quic" else set())


def test_the_command_says_what_a_capture_without_tcp_holds(cli: Cli, without_tcp: Path) -> None:
    told = cli("analyze", without_tcp)
    assert told.returncode == DONE, told.stderr
    words = "0 TCP connections in 0 of 116 packets; 2 conversations over UDP in 113; 3 icmp"
    assert words in " ".join(told.stdout.split())
    assert "QUIC v1" in told.stdout
    lines = cli("analyze", without_tcp, "--csv", "--udp").stdout.splitlines()
    document = json.loads(cli("analyze", without_tcp, "--json").stdout)
    assert lines[0] == ",".join(document["conversations"][0])
    assert len(lines) == 5
    # To the last packet, which is a ping.
    assert document["lasted_s"] == pytest.approx(6.0)
    wrong = cli("analyze", without_tcp, "--udp")
    assert wrong.returncode == WRONG_INPUT
    assert "give --csv too" in wrong.stderr


def test_series_of_a_conversation_add_up(capture: Path, without_tcp: Path) -> None:
    analyzed = cclab.analyze(capture)
    rates = analyzed.series("throughput", conversation=1, bin_s=0.5)
    assert rates["time_s"].to_list() == pytest.approx([1.0, 1.5, 2.0, 2.5])
    assert (rates["throughput_bps"] * rates["bin_s"]).sum() == pytest.approx(37_200 * 8)
    assert rates["mean_bps"].to_list()[-1] == pytest.approx(37_200 * 8 / 1.98, rel=1e-6)
    sizes = analyzed.series("size", conversation=2, sender=0)
    assert sizes["payload_bytes"].to_list() == [len(INITIAL), 100]
    assert sizes["quic_long"].to_list() == ["initial", None]
    gaps = analyzed.series("inter-arrival", conversation=1, sender=1)
    assert gaps["gap_s"].to_list() == pytest.approx([0.2] * 9, abs=1e-6)
    # Without TCP the first datagram is where time begins.
    alone = cclab.analyze(without_tcp).series("size", conversation=1)
    assert alone["time_s"][0] == 0
    with pytest.raises(cclab.InputError, match="no series called 'rtt' of a conversation"):
        analyzed.series("rtt", conversation=1)
    with pytest.raises(cclab.InputError, match="no conversation 3 in the capture; they are 1 to 2"):
        analyzed.figure("size", conversation=3)
    with pytest.raises(cclab.InputError, match="leave one out"):
        analyzed.series("throughput", conversation=1, connection=1)


def test_the_folder_has_the_conversations_and_its_page_opens_on_the_largest(
    capture: Path, tmp_path: Path
) -> None:
    page = cclab.analyze(capture).write(tmp_path / "out", formats=["csv"])
    files = files_of(page.parent)
    for name in ("udp1", "udp1-back", "udp2", "udp2-back"):
        assert {f"{name}_{kind.name}.svg" for kind in FIGURES} - set(files) <= {
            # One datagram has nothing before it.
            "udp2-back_inter-arrival.svg"
        }
        assert {f"{name}_{kind.name}.csv" for kind in TALKS} <= set(files)
    assert len(pl.read_parquet(page.parent / "datagrams.parquet")) == 113
    script = """
      const result = document.createElement("pre");
      result.id = "result";
      result.textContent = JSON.stringify({
        chosen: document.getElementById("chosen").textContent,
        pressed: document.querySelector("button.choice[aria-pressed=true]").value,
        panels: [...document.querySelectorAll("#panels figure.chart")].map((f) => f.dataset.panel),
      });
      document.body.append(result);
    """
    after = in_browser(page, script, tmp_path)
    result = json.loads(re.findall(r'<pre id="result">(.*?)</pre>', after, re.DOTALL)[0])
    assert result["chosen"] == "Conversation 1: 10.0.0.1:4000 → 10.0.0.2:4001, UDP"
    assert result["pressed"] == "udp1"
    assert result["panels"] == ["throughput", "inter-arrival", "size"]
