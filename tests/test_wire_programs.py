"""Programs on the simulator's network, and what is recorded of them."""

from __future__ import annotations

import hashlib
import json
import random
import re
from typing import TYPE_CHECKING

import pytest

from guests import LINK, flows, results_of
from judges import packets

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("kernel")

PAYLOAD, ON_LINK = 1448, 1514
"""Bytes of a full segment: of data, and on an Ethernet link with all headers."""
PING = 98
"""Bytes of ping's packets on a link: 56 of data, and the headers of ICMP, IP and Ethernet."""


def test_programs_talk_over_the_wire(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        f"""
        duration = "4s"
        {LINK}
        [[flow]]
        name = "tcp"
        start = "0s"
        command = ["iperf3", "-c", "{{dst}}", "-t", "2", "--json"]
        [[flow]]
        name = "udp"
        start = "0s"
        command = ["iperf3", "-u", "-b", "2M", "-c", "{{dst}}", "-t", "2", "--json"]
        [[flow]]
        name = "echo"
        start = "3s"
        command = ["ping", "-c", "2", "-i", "0.1", "{{dst}}"]
        """,
    )
    of = flows(results)
    assert [of[name]["transport"] for name in ("tcp", "udp", "echo")] == ["tcp", "udp", "nothing"]
    told = json.loads(results.runs[0].trace.text("tcp.stdout"))["end"]
    assert told["sum_received"]["bytes"] == pytest.approx(of["tcp"]["received_bytes"], rel=0.01)
    sent = results.samples(0, "datagrams").filter(flow="udp").row(0, named=True)
    told = json.loads(results.runs[0].trace.text("udp.stdout"))["end"]
    assert told["sum"]["packets"] <= sent["sent"] <= told["sum"]["packets"] + 2
    assert sent["received"] >= told["sum"]["packets"] - told["sum"]["lost_packets"]
    echoes = results.runs[0].trace.text("echo.stdout")
    shown = re.search(r"rtt min/avg/max/mdev = ([\d.]+)/", echoes)
    assert shown is not None, echoes
    assert abs(float(shown[1]) * 1000 - (10_000 + 2 * PING * 8 / 20)) <= 1


def test_zeros_among_what_programs_say_arrive(tmp_path: Path) -> None:
    # Zeros at the end of a frame are not kept; those before other bytes, and the others, are.
    dice = random.Random(1)
    said = b"".join(
        dice.randbytes(size) if dice.random() < 0.5 else bytes(size)
        for size in (dice.randrange(1, 5000) for _ in range(150))
    )
    (tmp_path / "said").write_bytes(said)
    (tmp_path / "client.py").write_text(
        f"""
import socket, sys
with open("{tmp_path}/said", "rb") as said, socket.create_connection((sys.argv[1], 5001)) as ends:
    ends.sendfile(said)
    ends.shutdown(socket.SHUT_WR)
    print(ends.recv(99).decode())
"""
    )
    (tmp_path / "server.py").write_text(
        """
import hashlib, socket
ends, _ = socket.create_server(("", 5001)).accept()
heard = hashlib.sha256()
while some := ends.recv(99999):
    heard.update(some)
ends.send(heard.hexdigest().encode())
"""
    )
    results = results_of(
        tmp_path,
        f"""
        duration = "2s"
        {LINK}
        [[flow]]
        name = "a"
        start = "0s"
        command = ["python3", "{tmp_path}/client.py", "{{dst}}"]
        server = ["python3", "{tmp_path}/server.py"]
        [trace]
        capture = ["a.receiver"]
        snaplen = "64KiB"
        """,
    )
    trace = results.runs[0].trace
    assert trace.text("a.stdout") == hashlib.sha256(said).hexdigest() + "\n"
    there = "tcp.dstport == 5001"
    rows = packets(trace.capture("a.receiver"), "tcp.seq", "tcp.payload", only=there)
    seen = bytearray(len(said))
    for seq, data in rows:
        at, piece = int(seq) - 1, bytes.fromhex(data)
        seen[at : at + len(piece)] = piece
    assert bytes(seen[: len(said)]) == said


def test_the_last_words_of_programs_reach_one_another_and_no_record(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(
        """
import signal, socket, sys
def ask(*_):
    ends.send(b"bye")
    print(ends.recv(9).decode(), flush=True)
    sys.exit()
ends = socket.create_connection((sys.argv[1], 5001))
signal.signal(signal.SIGINT, ask)
while True:
    ends.send(bytes(1000))
    signal.sigtimedwait([], 0.01)
"""
    )
    (tmp_path / "server.py").write_text(
        """
import socket
ends, _ = socket.create_server(("", 5001)).accept()
while b"bye" not in ends.recv(99999):
    pass
ends.send(b"good bye")
ends.recv(9)
"""
    )
    results = results_of(
        tmp_path,
        f"""
        duration = "1s"
        {LINK}
        [[flow]]
        name = "a"
        start = "0s"
        command = ["python3", "{tmp_path}/client.py", "{{dst}}"]
        server = ["python3", "{tmp_path}/server.py"]
        [trace]
        events = ["queue", "drop"]
        capture = ["bottleneck", "a.sender", "a.receiver"]
        """,
    )
    trace = results.runs[0].trace
    assert trace.text("a.stdout") == "good bye\n"
    for table in ("queue_events", "queue_samples"):
        assert max(results.samples(0, table)["time_s"].to_list()) <= 1
    for point in ("bottleneck", "a.sender", "a.receiver"):
        rows = packets(trace.capture(point), "frame.time_epoch")
        assert max(float(time) for [time] in rows) <= 1
        assert float(rows[-1][0]) > 0.9
    (link,) = results.samples(0, "links").filter(name="bottleneck").to_dicts()
    events = results.samples(0, "queue_events").filter(link="bottleneck", action="dequeue")
    assert link["tx_bytes"] == events["wire_len_bytes"].sum()


def test_datagrams_in_fragments_count_once_and_only_whole(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
        duration = "4s"
        [network.bottleneck]
        rate = "20Mbit"
        delay = "5ms"
        queue = { limit = "100p" }
        loss = "10%"
        [[flow]]
        name = "a"
        start = "0s"
        command = ["iperf3", "-u", "-l", "4000", "-b", "4M", "-c", "{dst}", "-t", "3", "--json"]
        [trace]
        capture = ["a.sender", "a.receiver"]
        """,
    )
    trace = results.runs[0].trace
    told = json.loads(trace.text("a.stdout"))["end"]["sum"]
    assert told["packets"] > 300
    row = results.samples(0, "datagrams").row(0, named=True)
    assert told["packets"] <= row["sent"] <= told["packets"] + 2
    # Each of three fragments is lost with 10%.
    assert row["received"] / row["sent"] == pytest.approx(0.9**3, abs=0.08)
    left = packets(
        trace.capture("a.sender"), "ip.len", only="ip.flags.mf == 1 or ip.frag_offset > 0"
    )
    assert len(left) == pytest.approx(3 * row["sent"], abs=9)


def test_a_fair_queue_tells_the_connections_of_a_program_apart(tmp_path: Path) -> None:
    """Three connections of one program beside one flow: a quarter of the link each."""
    results = results_of(
        tmp_path,
        """
        duration = "8s"
        warmup = "3s"
        [network.bottleneck]
        rate = "20Mbit"
        delay = "5ms"
        queue = { kind = "fq", limit = "1000p" }
        [[flow]]
        name = "many"
        start = "0s"
        command = ["iperf3", "-P", "3", "-c", "{dst}", "-t", "7", "--json"]
        [[flow]]
        name = "one"
        start = "0s"
        """,
    )
    # While all send: the program begins later, by what its connections have to agree upon.
    many, one = (flow["steady_goodput_bps"] for flow in results.runs[0].metrics["flows"])
    assert one / (many + one) == pytest.approx(0.25, abs=0.01)
