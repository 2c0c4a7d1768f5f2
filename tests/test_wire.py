"""Hosts of the kernel on the simulator's network, which backend `linux` has by default."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import polars as pl
import pytest

import cclab
from conftest import ROOT, files_of
from guests import assert_windows_change_nothing, flows, guest_of, processes_in, results_of, start
from judges import packets
from waiting import await_that

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

pytestmark = pytest.mark.usefixtures("kernel")

PAYLOAD, ON_LINK = 1448, 1514
"""Bytes of a full segment: of data, and on an Ethernet link with all headers."""
PING = 98
"""Bytes of ping's packets on a link: 56 of data, and the headers of ICMP, IP and Ethernet."""


def test_ping_takes_as_long_as_arithmetic_says_to_the_nanosecond(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
        duration = "2s"
        [network.access]
        rate = "1Gbit"
        [network.bottleneck]
        rate = "10Mbit"
        delay = "7ms"
        queue = { limit = "100p" }
        [[probe]]
        name = "p"
        kind = "ping"
        interval = "100ms"
        rtt = "20ms"
        """,
    )
    on_links = 2 * PING * 8 * (100 + 2 * 1)
    echoes = results.samples(0, "probe_samples")["rtt_s"].to_list()
    assert len(echoes) == 20
    assert {round(rtt * 1e9) for rtt in echoes[:-1]} == {round(20e6 + on_links)}


EVERYTHING = """
duration = "3s"
seed = 5
[network.bottleneck]
rate = "20Mbit"
delay = "5ms"
queue = { kind = "fq_codel", limit = "200p" }
loss = "0.3%"
jitter = "1ms"
slots = { every = ["0.2ms", "2ms"], packets = 8, bytes = "9kB" }
duplicate = "0.5%"
corrupt = "0.1%"
[[flow]]
name = "a"
cc = "cubic"
ecn = true
rtt = "30ms"
[[flow]]
name = "b"
cc = "bbr"
rtt = "50ms"
[[flow]]
name = "u"
transport = "udp"
application = { kind = "constant-rate", rate = "2Mbit" }
[[probe]]
name = "p"
kind = "udp"
interval = "50ms"
[[traffic]]
name = "web"
kind = "poisson"
load = 0.1
rtt = "30ms"
sizes = { kind = "pareto", mean = "30kB", shape = 1.5 }
[trace]
events = ["ack", "queue", "drop"]
capture = ["bottleneck", "a.sender", "u.receiver", "a.right.access", "web.left.access"]
snaplen = "64KiB"
interval = "20ms"
"""


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Real TCP, datagrams and a probe beside cross traffic, through all sorts of trouble."""
    return results_of(tmp_path_factory.mktemp("everything"), EVERYTHING)


@pytest.mark.parametrize("window_ns", [1, 40_000, 3_000_000])
def test_the_length_of_windows_changes_no_byte(
    everything: Results, tmp_path: Path, window_ns: int
) -> None:
    assert_windows_change_nothing(everything, tmp_path / "run", window_ns)


def test_the_same_study_leaves_the_same_bytes(everything: Results, tmp_path: Path) -> None:
    again = results_of(tmp_path, EVERYTHING, jobs=1)
    assert files_of(again.store.runs) == files_of(everything.store.runs)


def test_what_happens_on_the_network_is_recorded(everything: Results) -> None:
    of = flows(everything)
    assert of["a"]["cc_in_force"] == "cubic"
    assert of["b"]["cc_in_force"] == "bbr"
    assert of["a"]["ecn_echoes"] > 0
    assert of["u"]["transport"] == "udp"
    (link,) = everything.samples(0, "links").filter(name="bottleneck").to_dicts()
    assert link["duplicates"] > 0
    assert link["random_drops"] > 0
    drops = everything.samples(0, "drops")
    lost = sum(link[f"{kind}_drops"] for kind in ("queue", "random", "listed", "outage", "corrupt"))
    assert drops.filter(link="bottleneck").height == lost
    full = drops.filter(flow="a", wire_len_bytes=ON_LINK)["offset_bytes"]
    assert len(full) > 3
    # Not multiples of the payload: Linux 6.1 has a segment in between that is not full.
    capture = everything.runs[0].trace.capture("a.sender")
    sent_at = packets(capture, "tcp.seq", only=f"ip.src == 10.0.0.1 and tcp.len == {PAYLOAD}")
    assert set(full) <= {int(number) - 1 for (number,) in sent_at}
    assert full.max() < of["a"]["received_bytes"] + 1e6
    (web,) = everything.samples(0, "traffic").to_dicts()
    assert web["ended"] > 5
    sent = everything.samples(0, "datagrams").row(0, named=True)
    assert sent["sent"] > sent["received"] > 0.9 * sent["sent"]


def test_captures_have_checksums_that_hold(everything: Results) -> None:
    """As tshark judges them: the kernel leaves them to its interfaces."""
    for point in ("bottleneck", "a.sender", "u.receiver", "a.right.access", "web.left.access"):
        file = everything.runs[0].trace.capture(point)
        options = ["-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
        fields = ("tcp.checksum.status", "udp.checksum.status")
        rows = packets(file, *fields, only="tcp or udp", options=options)
        states = {state for row in rows for state in row if state}
        assert states == {"1"}, point


@pytest.mark.parametrize("cc", ["cubic", "reno", "bbr"])
def test_one_flow_gets_what_it_gets_on_the_kernels_own_network(tmp_path: Path, cc: str) -> None:
    study = f"""
        duration = "20s"
        [network]
        by = "{{by}}"
        [network.bottleneck]
        rate = "20Mbit"
        delay = "20ms"
        queue = {{{{ limit = "1bdp" }}}}
        [[flow]]
        name = "a"
        cc = "{cc}"
        start = "0s"
        """
    ours = results_of(tmp_path / "ours", study.format(by="simulator"))
    theirs = results_of(tmp_path / "theirs", study.format(by="kernel"))
    received = [flows(results)["a"]["received_bytes"] for results in (ours, theirs)]
    assert received[0] == pytest.approx(received[1], rel=0.005)


@pytest.mark.parametrize(
    "network",
    [
        pytest.param(
            '[network.bottleneck]\nrate = "20Mbit"\ndelay = "5ms"\n'
            'queue = { kind = "dualpi2", limit = "500p" }',
            id="dualpi2",
        ),
        pytest.param(
            '[network.bottleneck]\nrate = "20Mbit"\ndelay = "5ms"\nqueue = { limit = "100p" }\n'
            "loss = { packets = [20, 40] }\n"
            '[network.bottleneck.reverse]\nrate = "2Mbit"\ndelay = "30ms"\nloss = "1%"',
            id="listed losses, and a way back that loses",
        ),
        pytest.param(
            '[network.bottleneck]\ndelay = "5ms"\nqueue = { limit = "200p" }\n'
            'trace = "lte.trace"\njitter = "1ms"',
            id="a trace of opportunities, and jitter that keeps the order",
        ),
        pytest.param(
            '[network.bottleneck]\nrate = "20Mbit"\ndelay = "5ms"\nqueue = { limit = "100p" }\n'
            'jitter = { distribution = "wifi", average = "2ms" }\n'
            'slots = { every = ["0.8ms", "5ms"], packets = 16 }\n'
            'schedule = { at = "1s", jitter = "1ms" }',
            id="Wi-Fi's jitter, which changes, and slots",
        ),
        pytest.param(
            'topology = "parking-lot"\nbottlenecks = 3\n'
            '[network.bottleneck]\nrate = "20Mbit"\ndelay = "5ms"\nqueue = { limit = "100p" }',
            id="parking lot",
        ),
        pytest.param(
            'topology = "chain"\n'
            '[network.bottleneck]\nrate = "20Mbit"\ndelay = "5ms"\nqueue = { limit = "100p" }\n'
            'schedule = [{ at = "1s", rate = "5Mbit" }]',
            id="chain, rate that changes",
        ),
    ],
)
def test_what_no_kernel_does_of_a_network_works_under_its_tcp(tmp_path: Path, network: str) -> None:
    # Ten packets in 10 ms: 12 Mbit/s.
    (tmp_path / "lte.trace").write_text("".join(f"{ms}\n" for ms in range(1, 11)))
    results = results_of(
        tmp_path,
        f"""
        duration = "3s"
        [network]
        {network}
        [[flow]]
        name = "a"
        cc = "cubic"
        [[flow]]
        name = "b"
        cc = "dctcp"
        """,
    )
    of = flows(results)
    assert all(row["received_bytes"] > 500_000 for row in of.values())
    (link,) = results.samples(0, "links").filter(name="bottleneck").to_dicts()
    assert link["tx_bytes"] * 8 <= 20e6 * 3 * 1.001


def test_a_graph_has_hosts_of_the_kernel(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
        duration = "3s"
        [network]
        topology = "graph"
        [[network.link]]
        from = "a"
        to = "r"
        rate = "100Mbit"
        delay = "1ms"
        queue = { limit = "100p" }
        [[network.link]]
        from = "r"
        to = "b"
        rate = "20Mbit"
        delay = "5ms"
        queue = { kind = "codel", limit = "100p" }
        bottleneck = true
        [[flow]]
        name = "there"
        from = "a"
        to = "b"
        [[flow]]
        name = "back"
        from = "b"
        to = "a"
        cc = "bbr"
        """,
    )
    assert all(2e6 < row["received_bytes"] < 7.5e6 for row in flows(results).values())


def test_transfers_end_the_run_when_the_last_byte_is_acknowledged(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
        [network.bottleneck]
        rate = "20Mbit"
        delay = "5ms"
        queue = { limit = "100p" }
        [[flow]]
        name = "a"
        transfer = "1MB"
        start = "0s"
        [[flow]]
        name = "b"
        transfer = "3MB"
        start = "0s"
        """,
    )
    of = flows(results)
    assert [of[name]["received_bytes"] for name in "ab"] == [1_000_000, 3_000_000]
    assert max(row["ended_s"] for row in of.values()) < 3
    samples = results.samples(0, "queue_samples")["time_s"].to_list()
    assert max(samples) >= max(row["last_byte_s"] for row in of.values())


def test_named_queues_are_those_of_the_window_after_the_warm_up(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
        duration = "4s"
        warmup = "1s"
        [network.bottleneck]
        rate = "10Mbit"
        delay = "5ms"
        queue = { kind = "dualpi2", limit = "500p" }
        [[flow]]
        name = "a"
        cc = "cubic"
        [[flow]]
        name = "b"
        cc = "reno"
        """,
    )
    bands = results.runs[0].metrics["bottleneck"]["bands"]
    classic = next(band for band in bands if band["name"] == "C")
    assert 0 < classic["window_queue_delay_mean_s"] < 0.1
    assert classic["window_drops"] + classic["window_ecn_marks"] > 0


def test_a_run_without_a_duration_is_sampled_at_its_interval(tmp_path: Path) -> None:
    study = """
        [network]
        by = "{by}"
        [network.bottleneck]
        rate = "10Mbit"
        delay = "5ms"
        queue = {{ limit = "100p" }}
        [[flow]]
        name = "a"
        transfer = "1MB"
        start = "0s"
        [trace]
        interval = "100ms"
        """
    sampled = []
    for by in ("simulator", "kernel"):
        results = results_of(tmp_path / by, study.format(by=by))
        times = results.samples(0, "queue_samples").filter(link="bottleneck")["time_s"].to_list()
        assert len(times) == len(set(times))
        sampled.append(times[:-1])
    assert sampled[0] == sampled[1]
    assert len(sampled[0]) >= 8


@pytest.mark.parametrize("backend", ["sim", "linux"])
def test_queue_events_leave_out_no_bottleneck_and_no_way_back(tmp_path: Path, backend: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        """
        duration = "2s"
        [network]
        topology = "parking-lot"
        bottlenecks = 2
        [network.bottleneck]
        rate = "10Mbit"
        delay = "5ms"
        queue = { limit = "20p" }
        [[flow]]
        name = "there"
        [[flow]]
        name = "back"
        direction = "reverse"
        crosses = [2, 2]
        [trace]
        events = ["queue"]
        """
    )
    results = cclab.run(file, backend=backend, out=tmp_path / "store")
    events = results.samples(0, "queue_events")
    links = results.samples(0, "links").filter(pl.col("name").str.starts_with("bottleneck"))
    assert len(links) == 4
    assert sorted(events["link"].unique()) == sorted(links["name"])
    for link in links.iter_rows(named=True):
        own = events.filter(link=link["name"])
        leaving = own.filter(action="dequeue")
        # The last may still be on its way to the line.
        assert 0 <= leaving["wire_len_bytes"].sum() - link["tx_bytes"] < 1514
        assert len(leaving) > 100
        samples = results.samples(0, "queue_samples").filter(link=link["name"])
        # What the queue refuses does not enter it.
        waiting = samples["backlog_packets"][-1]
        assert len(own) - len(leaving) == len(leaving) + waiting
    assert links["queue_drops"].sum() > 0


@pytest.mark.parametrize("backend", ["sim", "linux"])
@pytest.mark.parametrize("name", ["lte", "home-uplink", "l4s", "two-kernels", "wifi"])
def test_an_example_runs_on_either_backend_as_it_is(
    tmp_path: Path, name: str, backend: str
) -> None:
    short = ["duration=4s", "warmup=1s", "repeat=1"]
    file = ROOT / "examples" / f"{name}.toml"
    results = cclab.run(file, backend=backend, out=tmp_path / "store", set=short)
    assert not results.failures
    for run in results.runs:
        assert run.metrics["bottleneck"]["utilization"] > 0.5
        assert all(flow["bytes_received"] > 100_000 for flow in run.metrics["flows"])
    if name == "home-uplink":
        # Behind fq_codel the call waits for nobody.
        behind = [run.metrics["flows"][1]["datagrams"]["delay_mean_s"] for run in results.runs]
        assert behind[1] < behind[0] - 0.02


def test_a_guest_that_is_killed_ends_its_run_with_one_message(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        EVERYTHING.replace('"3s"', '"3000s"').replace("seed", 'backend = "linux"\nseed')
    )
    command = start("run", file, "--out", "store", cwd=tmp_path)
    guest = guest_of(tmp_path / "store")
    os.kill(guest, signal.SIGKILL)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 3
    assert re.search(r"the guest of kernel \S+ ended with signal: 9", errors)
    await_that(lambda: not processes_in(tmp_path), "the end of all processes")


def test_a_study_without_the_key_is_on_the_simulators_network(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        'backend = "linux"\nduration = "1s"\n[network.bottleneck]\nrate = "1Mbit"\n'
        'delay = "5ms"\nqueue = { limit = "100p" }\n[[flow]]\nname = "a"\n'
    )
    (run,) = cclab.Study.load(file).plan().runs
    assert "by" not in run.scenario["network"]
    for by, of_ours in (("simulator", True), ("kernel", False)):
        (other,) = cclab.Study.load(file).plan(set=[f"network.by={by}"]).runs
        assert (other.version == run.version) is of_ours
        assert ("core" in other.version) is of_ours
