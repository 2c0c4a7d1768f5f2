"""Programs over UDP on the kernel, beside what they print of themselves."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from guests import results_of

if TYPE_CHECKING:
    from cclab import Results
    from cclab.measure.points import Measured

pytestmark = pytest.mark.usefixtures("kernel")

LINK = """
duration = "6s"

[network.bottleneck]
rate  = "10Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "50p" }
"""

SENDER = """
import socket, sys, time
host, port, count, size, pause = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(count):
    out.sendto(b"x" * size, (host, port))
    time.sleep(pause)
time.sleep(0.5)  # the run may end with this program, and what is on its way with it
"""

SEGMENTED = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
for number in range(40):
    parts = b"".join(bytes([number, part]) * 500 for part in range(9))
    out.sendto(parts + b"x" * 500, (sys.argv[1], int(sys.argv[2])))
    time.sleep(0.05)
time.sleep(0.5)
"""

RECEIVER = """
import json, socket, sys, time
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.bind((sys.argv[1], int(sys.argv[2])))
at.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
count = payload = 0
while True:
    got = at.recv(1 << 16)
    last = time.monotonic()
    first = last if count == 0 else first
    count, payload = count + 1, payload + len(got)
    told = {"count": count, "payload": payload, "seconds": last - first}
    print(json.dumps(told), flush=True)
"""


def python(folder: Path, name: str, source: str, *arguments: object) -> str:
    """A command of a study: `source` with arguments, run by this Python."""
    script = folder / f"{name}.py"
    script.write_text(source)
    return json.dumps([sys.executable, str(script), *map(str, arguments)])


def flow(results: Results, name: str = "udp") -> dict[str, Any]:
    """The numbers of a flow of the first run."""
    rows = results.runs[0].metrics["flows"]
    found: dict[str, Any] = next(row for row in rows if row["name"] == name)
    return found


def codes(run: Measured) -> list[str]:
    """The warnings of a run."""
    return [warning["code"] for warning in run.metrics["warnings"]]


def last_line(results: Results) -> dict[str, Any]:
    """What the receiving program of the first run said last."""
    printed = results.runs[0].trace.text("udp.server.stdout")
    said: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return said


def is_without_tcp(row: dict[str, Any]) -> bool:
    """Whether what TCP alone has is empty."""
    names = ("cc", "cc_in_force", "retransmits", "srtt_mean_s", "cwnd_mean_segments", "limited")
    return all(row[name] is None for name in names)


@pytest.mark.parametrize("offered", [8, 12])
def test_iperf3_measures_what_is_measured_of_it(tmp_path: Path, offered: int) -> None:
    """On a link of 10 Mbit/s, which carries 8 of them and loses a quarter of 12."""
    results = results_of(
        tmp_path,
        f"""{LINK}
[[flow]]
name    = "udp"
rtt     = "40ms"
command = ["iperf3", "-c", "{{dst}}", "-u", "-b", "{offered}M", "-t", "4", "--json"]
""",
    )
    row, run = flow(results), results.runs[0]
    told = json.loads(run.trace.text("udp.stdout"))["end"]["sum_received"]
    # Its two sides agree over TCP, which carries less.
    assert row["transport"] == "udp"
    assert is_without_tcp(row)
    assert row["goodput_bps"] == pytest.approx(told["bits_per_second"], rel=0.001)
    # A first datagram, of 4 bytes, tells the other side the port, and is in none of its sums.
    assert row["datagrams"]["sent"] == told["packets"] + 1
    assert row["datagrams"]["lost"] == told["lost_packets"]
    assert row["datagrams"]["jitter_s"] * 1e3 == pytest.approx(told["jitter_ms"], rel=0.1)
    assert row["datagrams"]["delay_p99_s"] >= row["datagrams"]["delay_p50_s"] >= 0.020
    assert row["back"]["received"] == 1
    assert run.metrics["jain"] == 1
    assert "limited-by-application" not in codes(run)
    # 1490 bytes with headers carry 1448.
    lost = max(0, 1 - 10 / offered * 1448 / 1490)
    assert row["datagrams"]["loss"] == pytest.approx(lost, abs=0.03)


def test_a_sender_of_equal_datagrams_is_exact(tmp_path: Path) -> None:
    """All of a thousand bytes of x: the kernel's identification tells them apart. 1 ms apart on an
    idle link, each takes its transmission and the propagation, to the nanosecond."""
    results = results_of(
        tmp_path,
        f"""{LINK}
[[flow]]
name    = "udp"
rtt     = "40ms"
start   = "500ms"
command = {python(tmp_path, "send", SENDER, "{dst}", "{port}", 500, 1000, 0.001)}
server  = {python(tmp_path, "receive", RECEIVER, "{dst}", "{port}")}
""",
    )
    row, said = flow(results), last_line(results)
    datagrams = row["datagrams"]
    assert (datagrams["sent"], datagrams["received"], datagrams["lost"]) == (500, 500, 0)
    assert (datagrams["received"], datagrams["bytes_received"]) == (said["count"], said["payload"])
    expected = said["payload"] * 8 / said["seconds"]
    assert row["goodput_bps"] == pytest.approx(expected, rel=0.001)
    # 1042 bytes with headers at 10 Mbit/s, and half of 40 ms.
    delay = 1042 * 8 / 10e6 + 0.020
    assert datagrams["delay_mean_s"] == pytest.approx(delay, abs=1e-6)
    assert datagrams["delay_p99_s"] == pytest.approx(delay, rel=0.008)
    assert datagrams["jitter_s"] == pytest.approx(0, abs=1e-6)


def test_datagrams_that_a_program_hands_over_together_are_counted_apart(tmp_path: Path) -> None:
    """As QUIC programs do: the kernel cuts ten datagrams of what one call sends."""
    results = results_of(
        tmp_path,
        f"""{LINK}
[[flow]]
name    = "udp"
rtt     = "40ms"
start   = "500ms"
command = {python(tmp_path, "send", SEGMENTED, "{dst}", "{port}")}
server  = {python(tmp_path, "receive", RECEIVER, "{dst}", "{port}")}
""",
    )
    datagrams, said = flow(results)["datagrams"], last_line(results)
    assert (datagrams["sent"], datagrams["received"], datagrams["lost"]) == (400, 400, 0)
    assert datagrams["duplicates"] == 0
    assert (datagrams["received"], datagrams["bytes_received"]) == (said["count"], said["payload"])


def test_losses_in_the_hosts_themselves_are_losses(tmp_path: Path) -> None:
    """At the sender, where they never leave it, and at the receiver, whose firewall drops them. The
    datagrams go in fragments: the receiver has no use for one that lacks any."""
    results = results_of(
        tmp_path,
        LINK.replace(
            "[network.bottleneck]",
            '[network]\nby = "kernel"\n[network.bottleneck]\n'
            'loss = [{ rate = "10%", at = "sender" }, '
            '{ rate = "10%", at = "receiver" }]',
        )
        + f"""
[[flow]]
name    = "udp"
rtt     = "40ms"
start   = "500ms"
command = {python(tmp_path, "send", SENDER, "{dst}", "{port}", 400, 4000, 0.01)}
server  = {python(tmp_path, "receive", RECEIVER, "{dst}", "{port}")}
""",
    )
    datagrams, said = flow(results)["datagrams"], last_line(results)
    assert datagrams["sent"] == 400
    assert datagrams["bytes_sent"] == 400 * 4000
    assert (datagrams["received"], datagrams["bytes_received"]) == (said["count"], said["payload"])
    # Each of three fragments is lost with 10% on leaving; the receiver counts whole datagrams.
    assert datagrams["loss"] == pytest.approx(1 - 0.9**3 * 0.9, abs=0.1)


def test_quic_is_measured_as_it_measures_itself(tmp_path: Path) -> None:
    upload = str(ROOT / "tests/quic_upload.py")
    results = results_of(
        tmp_path,
        LINK.replace("6s", "8s")
        + f"""
[[flow]]
name    = "udp"
rtt     = "40ms"
start   = "500ms"
command = {json.dumps([sys.executable, upload, "client", "{dst}", "{port}", "1000000"])}
server  = {json.dumps([sys.executable, upload, "server", "{dst}", "{port}"])}

[[flow]]
name = "tcp"
rtt  = "40ms"
""",
    )
    row, trace = flow(results), results.runs[0].trace
    server = json.loads(trace.text("udp.server.stdout"))
    client = json.loads(trace.text("udp.stdout"))
    assert row["transport"] == "udp"
    assert is_without_tcp(row)
    assert row["datagrams"]["received"] == server["datagrams"]
    assert row["goodput_bps"] == pytest.approx(server["payload"] * 8 / server["seconds"], rel=0.01)
    # Headers of QUIC, and what it sends again, are payload of UDP.
    assert 1 < row["bytes_received"] / server["stream"] < 1.1
    assert row["back"]["received"] == client["datagrams"]
    assert row["back"]["bytes_received"] == client["payload"]
    shares = results.summaries[0].flows
    assert all(one.share is not None and 0.05 < one.share.mean < 0.95 for one in shares)


def test_a_program_of_which_nothing_is_seen_is_said_so_and_in_no_share(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        f"""{LINK}
[[flow]]
name    = "icmp"
rtt     = "40ms"
command = ["ping", "-c", "5", "-i", "0.2", "{{dst}}"]

[[flow]]
name = "tcp"
rtt  = "40ms"
""",
    )
    run = results.runs[0]
    row = flow(results, "icmp")
    assert row["transport"] is None
    assert is_without_tcp(row)
    assert row["goodput_bps"] is None
    assert row["throughput_bps"] is None
    assert run.metrics["jain"] == 1
    assert "nothing-seen" in codes(run)
    assert "limited-by-application" not in codes(run)
    icmp, tcp = results.summaries[0].flows
    assert icmp.share is None
    assert tcp.share is not None
    assert tcp.share.mean == 1


def test_what_is_seen_of_datagrams_does_not_change_the_run(tmp_path: Path) -> None:
    """Two runs of one seed, one of them captured: equal bytes."""
    study = f"""seed = 3{LINK}
[[flow]]
name    = "udp"
rtt     = "40ms"
command = ["iperf3", "-c", "{{dst}}", "-u", "-b", "9M", "-t", "2"]
[[flow]]
name = "tcp"
rtt  = "40ms"
"""
    plain = results_of(tmp_path / "plain", study).runs[0]
    seen = results_of(
        tmp_path / "seen",
        study + '[trace]\nevents = ["ack", "queue"]\ncapture = ["udp.sender", "udp.receiver"]\n',
    ).runs[0]
    for table in ("flows", "flow_samples", "links", "histograms"):
        name = f"{table}.parquet"
        assert plain.trace.bytes(name) == seen.trace.bytes(name), name
