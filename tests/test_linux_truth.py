"""Runs on the kernel are what the study says, judged by programs of others and by arithmetic."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from guests import results_of
from judges import numbers, packets, tcptrace

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

pytestmark = pytest.mark.usefixtures("kernel")

PAYLOAD, ON_LINK = 1448, 1514
"""Bytes of a full segment: of data, and on an Ethernet link with all headers."""
PING = 98
"""Bytes of ping's packets on a link: 56 of data, and the headers of ICMP, IP and Ethernet."""


def flow(results: Results, name: str) -> dict[str, Any]:
    """The row of `flows.parquet` of the flow `name` in the only run."""
    return results.samples(0, "flows").row(by_predicate=pl.col("name") == name, named=True)


def link(results: Results, name: str = "bottleneck") -> dict[str, Any]:
    """The row of `links.parquet` of the link `name` in the only run."""
    return results.samples(0, "links").row(by_predicate=pl.col("name") == name, named=True)


# Round trips


@pytest.mark.parametrize(
    ("rate", "access", "serialisation_us"),
    [
        pytest.param("100Mbit", "", 2 * PING * 8 / 100, id="a bottleneck"),
        pytest.param(
            "40Mbit",
            'rate = "100Mbit"',
            2 * PING * 8 * (1 / 40 + 2 / 100),
            id="a bottleneck and access links",
        ),
        pytest.param("1Tbit", "", 0, id="infinitely fast"),
    ],
)
def test_ping_shows_the_base_rtt_to_the_microsecond(
    tmp_path: Path, rate: str, access: str, serialisation_us: float
) -> None:
    rtts = {"a": 1_234, "b": 8_000, "c": 50_000, "d": 66_556, "e": 400_000}
    flows = "".join(
        f'[[flow]]\nname = "{name}"\nrtt = "{rtt}us"\nstart = "{index}s"\n'
        f'command = ["ping", "-c", "3", "-i", "0.1", "{{dst}}"]\n'
        + ('delay_at = "sender"\n' if name == "c" else "")
        for index, (name, rtt) in enumerate(rtts.items())
    )
    results = results_of(
        tmp_path,
        f'[network.bottleneck]\nrate = "{rate}"\ndelay = "300us"\nqueue = {{ limit = "100p" }}\n'
        f'[network.access]\ndelay = "100us"\n{access}\n{flows}',
    )
    for name, rtt in rtts.items():
        told = results.runs[0].trace.text(f"{name}.stdout")
        assert "3 packets transmitted, 3 received, 0% packet loss" in told
        measured = re.search(r"rtt min/avg/max/mdev = ([\d.]+)/[\d.]+/([\d.]+)/", told)
        assert measured is not None, told
        for shown in measured.groups():
            # ping counts whole microseconds, both when it sends and when it receives.
            assert abs(float(shown) * 1000 - (rtt + serialisation_us)) <= 1, (name, told)


# A full link


def test_a_full_link_carries_its_rate(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
duration = "9s"
warmup   = "4s"

[network.bottleneck]
rate  = "50Mbit"
delay = "2ms"
queue = { limit = "1bdp" }

[[flow]]
name  = "one"
rtt   = "20ms"
start = "0s"

[sweep]
"flow.one.cc"                    = ["cubic", "vegas", "hybla", "cubic", "htcp", "vegas", "illinois"]
"network.bottleneck.queue.kind"  = ["droptail", "droptail", "droptail", "droptail", "droptail",
                                    "fq_codel", "pie"]
"network.bottleneck.queue.limit" = ["1bdp", "1bdp", "1bdp", "90p", "90p", "1000p", "1000p"]
zip = [["flow.one.cc", "network.bottleneck.queue.kind", "network.bottleneck.queue.limit"]]
""",
    )
    shares = (results.flows["steady_goodput_bps"] * ON_LINK / PAYLOAD / 50e6).to_list()
    assert len(shares) == 7
    assert all(abs(share - 1) < 0.005 for share in shares), shares
    # Goodput is what arrives in order: what waited at the window's beginning counts in it.
    carried = [run.metrics["bottleneck"]["utilization"] for run in results.runs]
    assert max(carried) <= 1, "more than the link can carry"


# Two flows that lose packets, their hosts captured


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two transfers through random losses, an overflowing queue and an outage."""
    return results_of(
        tmp_path_factory.mktemp("lossy"),
        """
[network]
by = "kernel"
[network.bottleneck]
rate   = "20Mbit"
delay  = "2ms"
queue  = { limit = "20p" }
loss   = "0.2%"
outage = { start = "1500ms", duration = "50ms" }

[[flow]]
name     = "a"
cc       = "cubic"
rtt      = "20ms"
transfer = "4000003B"

[[flow]]
name     = "b"
cc       = "reno"
rtt      = "50ms"
transfer = "2MB"

[trace]
capture = ["a.sender", "a.receiver", "b.sender", "b.receiver", "bottleneck"]
events  = ["ack", "queue", "drop"]
""",
    )


TRANSFERS = {"a": 4_000_003, "b": 2_000_000}
FORWARD = "tcp.dstport < 6000"
"""Packets of the direction that carries data."""


@pytest.mark.parametrize("name", TRANSFERS)
def test_tcptrace_and_the_trace_agree_exactly(lossy: Results, name: str) -> None:
    row = flow(lossy, name)
    [seen] = tcptrace(lossy.runs[0].trace.capture(f"{name}.sender"))
    assert seen.unique_bytes == row["acked_bytes"] == TRANSFERS[name]
    assert seen.data_segments == row["segments_sent"]
    assert seen.retransmissions == row["retransmits"]
    assert seen.retransmissions > 10, "too few losses to show anything"


@pytest.mark.parametrize("name", TRANSFERS)
def test_a_finished_transfer_arrived_whole(lossy: Results, name: str) -> None:
    [arrived] = tcptrace(lossy.runs[0].trace.capture(f"{name}.receiver"))
    assert arrived.unique_bytes == flow(lossy, name)["received_bytes"] == TRANSFERS[name]


@pytest.mark.parametrize("name", TRANSFERS)
def test_what_did_not_arrive_is_what_was_lost(lossy: Results, name: str) -> None:
    trace = lossy.runs[0].trace
    data = f"{FORWARD} && tcp.len > 0"
    sent, arrived = (
        Counter(number - 1 for number in numbers(trace.capture(f"{name}.{end}"), "tcp.seq", data))
        for end in ("sender", "receiver")
    )
    drops = lossy.samples(0, "drops").filter(pl.col("flow") == name, pl.col("wire_len_bytes") > 66)
    assert Counter(drops["offset_bytes"].to_list()) == sent - arrived
    assert not arrived - sent


def test_events_and_summaries_agree(lossy: Results) -> None:
    drops = lossy.samples(0, "drops")
    forward = link(lossy)
    for reason in ("queue", "random", "outage"):
        rows = drops.filter(pl.col("reason") == reason)
        assert rows["link"].unique().to_list() == ["bottleneck"]
        assert len(rows) == forward[f"{reason}_drops"] > 0
    during = drops.filter(pl.col("reason") == "outage")["time_s"]
    assert during.is_between(1.5, 1.55).all()
    events = lossy.samples(0, "queue_events")
    for name in ("bottleneck", "bottleneck.reverse"):
        summary, own = link(lossy, name), events.filter(pl.col("link") == name)
        leaving = own.filter(pl.col("action") == "dequeue")
        assert len(leaving) == summary["delivered_packets"]
        assert leaving["wire_len_bytes"].sum() == summary["tx_bytes"]
        # Where packets are lost on the line, what the queue then drops has come as far as it.
        entered = len(own) - len(leaving)
        inside = summary["delivered_packets"] + summary["in_flight_packets"]
        assert entered == inside + summary["queue_drops"]
    offered = events.filter(pl.col("link") == "bottleneck", pl.col("action") == "enqueue")
    assert not offered["time_s"].is_between(1.5, 1.5499).any(), "entered in the outage"
    assert forward["backlog_max_bytes"] == 20 * ON_LINK


def test_the_bottleneck_capture_has_what_it_delivered(lossy: Results) -> None:
    capture = lossy.runs[0].trace.capture("bottleneck")
    forward = numbers(capture, "frame.len", FORWARD)
    back = numbers(capture, "frame.len", f"!({FORWARD})")
    there, return_ = link(lossy), link(lossy, "bottleneck.reverse")
    assert len(forward) == there["delivered_packets"]
    # Captures begin at the IP header, links count Ethernet's 14 bytes too.
    assert sum(forward) + 14 * len(forward) == there["tx_bytes"]
    assert len(back) == return_["delivered_packets"]


@pytest.mark.parametrize("name", TRANSFERS)
def test_each_acknowledgement_is_in_the_trace_at_its_time(lossy: Results, name: str) -> None:
    acks = lossy.samples(0, "acks").filter(pl.col("flow") == name)
    seen: dict[int, float] = {}
    capture = lossy.runs[0].trace.capture(f"{name}.sender")
    only = f"!({FORWARD}) && tcp.flags.syn == 0"
    for time, number in packets(capture, "frame.time_epoch", "tcp.ack", only=only):
        # The last one also acknowledges the FIN.
        seen.setdefault(min(int(number) - 1, TRANSFERS[name]), float(time))
    advances = acks.filter(pl.col("newly_acked_bytes") > 0)
    assert advances["snd_una_bytes"].to_list() == sorted(set(seen) - {0})
    for row in advances.iter_rows(named=True):
        assert abs(seen[row["snd_una_bytes"]] - row["time_s"]) < 1e-6
    assert advances["newly_acked_bytes"].sum() == TRANSFERS[name]


# What flows ask for


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Flows that each ask for something else, at a queue that marks."""
    return results_of(
        tmp_path_factory.mktemp("features"),
        """
duration = "5s"

[network.bottleneck]
rate  = "20Mbit"
delay = "2ms"
queue = { kind = "codel", limit = "1000p", ecn = true }

[[flow]]
name = "window"
rwnd = "20kB"
[[flow]]
name = "small"
mss  = "536B"
[[flow]]
name        = "every"
delayed_ack = 1
[[flow]]
name = "usual"
[[flow]]
name = "marked"
ecn  = true
[[flow]]
name = "bare"
[flow.sysctl]
"net.ipv4.tcp_sack"           = 0
"net.ipv4.tcp_timestamps"     = 0
"net.ipv4.tcp_window_scaling" = 0

[trace]
capture = ["window.sender", "small.sender", "every.receiver", "usual.receiver", "marked.sender",
           "marked.receiver", "bare.sender"]
""",
    )


def capture(results: Results, point: str) -> Path:
    """The capture at `point` in the only run."""
    return results.runs[0].trace.capture(point)


BACK = "tcp.srcport < 6000 && tcp.flags.syn == 0"
"""Acknowledgements."""


def test_the_window_is_never_above_rwnd(features: Results) -> None:
    windows = numbers(capture(features, "window.sender"), "tcp.window_size", BACK)
    # The kernel sets a window of its own at the first full segment, until the agent hears of it.
    assert all(window == 13 * PAYLOAD for window in windows[2:])
    assert all(window <= 15 * PAYLOAD for window in windows)
    flying = numbers(capture(features, "window.sender"), "tcp.analysis.bytes_in_flight", FORWARD)
    assert 18_000 < max(flying) <= 20_000
    assert flow(features, "window")["limited_rwnd_s"] > 0.5


def test_segments_are_as_large_as_the_mss(features: Results) -> None:
    here = capture(features, "small.sender")
    assert packets(here, "tcp.options.mss_val", only="tcp.flags.syn == 1") == [["536"]] * 2
    # 12 bytes are timestamps.
    assert max(numbers(here, "tcp.len")) == 524 == flow(features, "small")["mss_bytes"]


def test_acknowledgements_are_as_often_as_asked(features: Results) -> None:
    def ratio(name: str) -> float:
        here = capture(features, f"{name}.receiver")
        segments = len(numbers(here, "tcp.len", f"{FORWARD} && tcp.len > 0"))
        return len(numbers(here, "tcp.ack", BACK)) / segments

    assert ratio("every") == pytest.approx(1, abs=0.01)
    assert 0.5 <= ratio("usual") < 0.75


def test_ecn_is_negotiated_and_marks_are_answered(features: Results) -> None:
    sender, receiver = (capture(features, f"marked.{end}") for end in ("sender", "receiver"))
    flags = packets(sender, "tcp.flags.ece", "tcp.flags.cwr", only="tcp.flags.syn == 1")
    assert flags == [["1", "1"], ["1", "0"]]
    marks = len(packets(receiver, "frame.number", only="ip.dsfield.ecn == 3"))
    assert marks == link(features)["marks"] > 5
    assert not packets(sender, "frame.number", only="ip.dsfield.ecn == 3")
    assert packets(sender, "frame.number", only=f"{BACK} && tcp.flags.ece == 1")
    assert packets(receiver, "frame.number", only=f"{FORWARD} && tcp.flags.cwr == 1")
    row = flow(features, "marked")
    assert row["ecn_echoes"] > 0
    assert row["retransmits"] == 0, "marked, not lost"
    bare = packets(capture(features, "bare.sender"), "tcp.flags.ece", only="tcp.flags.syn == 1")
    assert bare == [["0"], ["0"]], "nobody asked for it"


def test_settings_are_in_force(features: Results) -> None:
    here = capture(features, "bare.sender")
    options = packets(here, "tcp.option_kind", only="tcp.flags.syn == 1")
    assert options == [["2"], ["2"]], "no options but the MSS"
    assert max(numbers(here, "tcp.len")) == 1460
    # Permitted by both sides unless a study says otherwise: MSS, SACK, timestamps, window scale.
    usual = packets(
        capture(features, "window.sender"), "tcp.option_kind", only="tcp.flags.syn == 1"
    )
    assert all({"2", "4", "8", "3"} <= set(kinds.split(",")) for [kinds] in usual)


def test_writes_come_at_their_rate(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
duration = "3s"

[network.bottleneck]
rate  = "20Mbit"
delay = "2ms"
queue = { limit = "60p" }

[[flow]]
name              = "one"
start             = "0s"
write_size        = "1000B"
writes_per_second = 50

[trace]
capture = ["one.sender"]
""",
    )
    here = capture(results, "one.sender")
    assert set(numbers(here, "tcp.len", f"{FORWARD} && tcp.len > 0")) == {1000}
    times = [float(t) for [t] in packets(here, "frame.time_epoch", only="tcp.len > 0")]
    # The first is due at time zero and waits for the handshake.
    assert len(times) == 3 * 50
    assert all(abs(time - index * 0.02) < 1e-6 for index, time in enumerate(times) if index)
    assert flow(results, "one")["limited_application_s"] > 2


def test_an_application_keeps_to_its_schedule(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
duration = "6s"

[network.bottleneck]
rate  = "10Mbit"
delay = "10ms"
queue = { limit = "60p" }

[[flow]]
name        = "one"
start       = "0s"
application = { kind = "scheduled", schedule = [
  { at = "1s", rate = "0" },
  { at = "3s", rate = "1448kbit" },
  { at = "5s", rate = "unlimited" },
] }

[trace]
capture = ["one.sender"]
""",
    )
    here = capture(results, "one.sender")
    first, *_ = packets(here, "frame.time_epoch")
    sent = packets(here, "frame.time_epoch", "tcp.len", only=f"{FORWARD} && tcp.len > 0")
    since = [(float(time) - float(first[0]), int(size)) for time, size in sent]

    def bytes_in(begin: float, end: float) -> int:
        return sum(size for time, size in since if begin <= time < end)

    assert bytes_in(0, 1) > 1_000_000
    # What was in the send buffer still left.
    assert bytes_in(1.5, 3) == 0
    # A segment of 1448 bytes each 8 ms: 250 in two seconds.
    assert bytes_in(3, 4.999) == 250 * 1448
    assert bytes_in(5, 6) > 1_000_000


def test_routers_forward_so_many_packets_a_second(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
duration = "4s"

[network]
router_packet_rate = 6000
router_backlog     = 100

[network.bottleneck]
rate  = "100Mbit"
delay = "200us"
queue = { limit = "1000p" }

[[flow]]
name = "one"
mss  = "400B"

[trace]
capture = ["one.receiver"]
""",
    )
    here = capture(results, "one.receiver")
    times = [float(time) for [time] in packets(here, "frame.time_epoch")]
    # Data and acknowledgements together, whatever their size, which is both 400 and 66 bytes.
    late = sum(2 <= time < 4 for time in times)
    assert late == pytest.approx(2 * 6000, rel=0.01)
    # Each is served alone: no two arrive closer than the processor's time for one.
    data = [float(t) for [t] in packets(here, "frame.time_epoch", only="tcp.len > 0")]
    gaps = [after - before for before, after in pairwise(data)]
    assert min(gaps) == pytest.approx(1 / 6000, rel=0.01)


def test_a_sender_delays_as_many_packets_as_it_may_hold(tmp_path: Path) -> None:
    head = (
        'duration = "5s"\n[network]\nby = "kernel"\n'
        '[network.bottleneck]\nrate = "100Mbit"\nqueue = { limit = "1000p" }\n'
    )
    access = '[network.access]\nrate = "100Mbit"\n'
    one = '[[flow]]\nname = "a"\ncc = "reno"\nrtt = "100ms"\nrwnd = "8MB"\ndelay_at = "sender"\n'
    limited = results_of(tmp_path / "limited", head + access + one + "delay_limit = 100\n")
    free = results_of(tmp_path / "free", head + access + one)
    most = pl.col("in_flight_bytes").max()
    held = [float(of.samples(0).select(most).item()) / PAYLOAD for of in (limited, free)]
    # Nothing else delays: what is outstanding is there, but for what the links carry.
    assert 90 <= held[0] <= 102
    assert held[1] > 500
    # TCP hears at once of a packet that its own host cannot take, and sends it later.
    assert flow(limited, "a")["retransmits"] == 0


def test_red_marks(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
duration = "3s"

[network.bottleneck]
rate  = "20Mbit"
delay = "5ms"
queue = { kind = "red", limit = "100kB", min = "15kB", max = "45kB", ecn = true }

[[flow]]
name  = "marked"
ecn   = true

[trace]
capture = ["bottleneck"]
""",
    )
    marked = packets(capture(results, "bottleneck"), "frame.number", only="ip.dsfield.ecn == 3")
    assert len(marked) == link(results)["marks"] > 2


# Topologies


def test_a_chain_carries_several_flows_both_ways(tmp_path: Path) -> None:
    names = ["there.1", "there.2", "there.3", "back"]
    points = json.dumps([f"{name}.receiver" for name in names])
    results = results_of(
        tmp_path,
        f"""
[network]
topology = "chain"
[network.access]
delay = "1ms"
[network.bottleneck]
rate  = "20Mbit"
delay = "2ms"
queue = {{ limit = "60p" }}

[[flow]]
name     = "there"
count    = 3
transfer = "1MB"
[[flow]]
name      = "back"
rtt       = "30ms"
direction = "reverse"
transfer  = "2MB"

[trace]
capture = {points}
""",
    )
    for index, name in enumerate(names):
        here = capture(results, f"{name}.receiver")
        [seen] = tcptrace(here)
        row = flow(results, name)
        assert seen.unique_bytes == row["received_bytes"] == (2 if name == "back" else 1) * 10**6
        # A reverse flow's data come from the sink, where addresses are others.
        hosts = {tuple(pair) for pair in packets(here, "ip.src", "ip.dst", only="tcp.len > 0")}
        pair = (f"10.0.0.{index + 1}", f"10.1.0.{index + 1}")
        assert hosts == {pair}, name
        base = 0.030 if name == "back" else 0.008
        assert base < row["rtt_min_s"] < base + 0.010
    assert link(results, "bottleneck.reverse")["tx_bytes"] > 2_000_000
    assert link(results)["tx_bytes"] > 3_000_000


def test_a_parking_lot_carries_each_flow_where_it_crosses(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
duration = "6s"
warmup   = "2s"

[network]
topology    = "parking-lot"
bottlenecks = 2
by          = "kernel"
[network.bottleneck]
rate  = "20Mbit"
delay = "2ms"
queue = { limit = "60p" }

[[flow]]
name = "whole"
[[flow]]
name    = "first"
crosses = [1, 1]
[[flow]]
name    = "second"
crosses = [2, 2]

[trace]
events = ["queue"]
""",
    )
    crossed = (
        results.samples(0, "queue_events")
        .filter(~pl.col("link").str.ends_with(".reverse"))
        .group_by("link")
        .agg(pl.col("flow").unique().sort())
    )
    assert dict(crossed.iter_rows()) == {
        "bottleneck": ["first", "whole"],
        "bottleneck2": ["second", "whole"],
    }
    goodput = dict(results.flows.select("name", "steady_goodput_bps").iter_rows())
    for short in ("first", "second"):
        together = (goodput["whole"] + goodput[short]) * ON_LINK / PAYLOAD
        assert together == pytest.approx(20e6, rel=0.02)
    base = {"whole": 0.008, "first": 0.004, "second": 0.004}
    for name, rtt in base.items():
        assert flow(results, name)["rtt_min_s"] > rtt


# Changes during a run


@pytest.mark.parametrize("place", ["sender", "receiver"])
def test_an_outage_loses_what_passes_its_place(tmp_path: Path, place: str) -> None:
    results = results_of(
        tmp_path,
        f"""
[network.bottleneck]
rate   = "20Mbit"
delay  = "2ms"
queue  = {{ limit = "60p" }}
outage = {{ start = "500ms", duration = "100ms", at = "{place}" }}

[[flow]]
name     = "one"
rtt      = "20ms"
start    = "0s"
transfer = "2MB"

[trace]
capture = ["one.sender", "one.receiver", "bottleneck"]
events  = ["drop"]
""",
    )
    lost = results.samples(0, "drops").filter(pl.col("reason") == "outage")
    assert len(lost) > 10
    assert lost["time_s"].is_between(0.5, 0.6).all()
    assert set(lost["link"].unique()) != {"bottleneck"}
    assert flow(results, "one")["received_bytes"] == 2_000_000
    # What reached the receiver's kernel is acknowledged at once, or soon: not in the outage.
    times = packets(capture(results, "one.receiver"), "frame.time_epoch", only=BACK)
    between = [t for [t] in times if 0.55 < float(t) < 0.6]
    assert not between


def test_timeouts_are_those_that_a_capture_shows(tmp_path: Path) -> None:
    """TCP_INFO of Linux 6.1 counts them by a patch of ours."""
    results = results_of(
        tmp_path,
        """
duration = "8s"

[network]
by = "kernel"
[network.bottleneck]
rate   = "10Mbit"
delay  = "5ms"
queue  = { limit = "100p" }
outage = [{ start = "2s", duration = "2s" }]

[[flow]]
name = "one"
rtt  = "40ms"

[trace]
capture = ["one.sender"]
""",
    )
    sent: dict[str, list[float]] = {}
    for at, number in packets(
        capture(results, "one.sender"), "frame.time_epoch", "tcp.seq", only="tcp.len > 0"
    ):
        sent.setdefault(number, []).append(float(at))
    # The first that was lost is sent again at each timeout, until one comes through.
    _, *again = max(sent.values(), key=len)
    gaps = [later - earlier for earlier, later in pairwise(again)]
    # Timers are kept in a wheel, whose slots are wider the later they are due.
    assert gaps[1] == pytest.approx(2 * gaps[0], rel=0.03)
    assert flow(results, "one")["rtos"] == len(again)


# What netem does to packets


@pytest.mark.parametrize(
    ("channel", "lost"),
    [
        # The state turns behind each packet, and the first finds it good: every second is lost.
        pytest.param('p = "100%", r = "100%"', 50, id="the states alternate"),
        pytest.param('p = "0%", r = "100%"', 0, id="good for ever"),
        pytest.param('p = "100%", r = "0%"', 99, id="bad from the second on"),
        pytest.param('p = "100%", r = "0%", good = "100%", bad = "0%"', 1, id="the first alone"),
    ],
)
def test_a_channel_of_two_states_loses_what_finds_it_so(
    tmp_path: Path, channel: str, lost: int
) -> None:
    # Pings are lost on their way there alone, and nothing is sent again.
    results = results_of(
        tmp_path,
        '[network.bottleneck]\nrate = "100Mbit"\nqueue = { limit = "100p" }\n'
        f"loss = {{ {channel} }}\n"
        '[[flow]]\nname = "a"\n'
        'command = ["ping", "-c", "100", "-i", "0.002", "-W", "1", "{dst}"]\n'
        '[trace]\nevents = ["drop"]\n',
    )
    told = results.runs[0].trace.text("a.stdout")
    assert f"100 packets transmitted, {100 - lost} received" in told
    drops = results.samples(0, "drops")
    assert drops["reason"].to_list() == ["burst"] * lost
    assert link(results)["random_drops"] == lost


def test_a_copy_of_every_packet_passes(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        '[network]\nby = "kernel"\n'
        '[network.bottleneck]\nrate = "100Mbit"\nqueue = { limit = "100p" }\nduplicate = "100%"\n'
        '[[flow]]\nname = "a"\ncommand = ["ping", "-c", "100", "-i", "0.002", "{dst}"]\n',
    )
    # What comes to the other end twice is answered twice, on a way back that copies nothing;
    # ping leaves with the first answer to its last packet.
    assert link(results)["delivered_packets"] == 200
    assert link(results, "bottleneck.reverse")["delivered_packets"] == 200
    told = results.runs[0].trace.text("a.stdout")
    assert re.search(r"100 received, \+(99|100) duplicates, 0% packet loss", told), told


PATH = '[network.bottleneck]\nrate = "100Mbit"\ndelay = "2ms"\nqueue = { limit = "100p" }\n'
ROUND_TRIP_MS = 4 + 2 * PING * 8 / 100e3
"""Of a ping over that path."""


def test_packets_that_are_held_back_are_late_by_as_much(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        f'{PATH}reorder = {{ probability = "20%", delay = "7ms" }}\n'
        '[[flow]]\nname = "a"\ncommand = ["ping", "-c", "150", "-i", "0.02", "{dst}"]\n',
    )
    told = results.runs[0].trace.text("a.stdout")
    rtts = [float(rtt) for rtt in re.findall(r"time=([\d.]+) ms", told)]
    assert len(rtts) == 150
    late = [rtt for rtt in rtts if rtt > 6]
    assert abs(len(late) - 30) < 4 * (150 * 0.2 * 0.8) ** 0.5
    for rtt in rtts:
        expected = ROUND_TRIP_MS + (7 if rtt > 6 else 0)
        assert rtt == pytest.approx(expected, abs=0.02)


def test_jitter_lets_packets_overtake_one_another(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        f'{PATH}jitter = {{ max = "30ms", reorder = true }}\n'
        '[[flow]]\nname = "a"\ncommand = ["ping", "-c", "200", "-i", "0.002", "{dst}"]\n',
    )
    told = results.runs[0].trace.text("a.stdout")
    replies = re.findall(r"icmp_seq=(\d+) ttl=\d+ time=([\d.]+) ms", told)
    assert len(replies) == 200
    order = [int(number) for number, _ in replies]
    assert order != sorted(order), "none overtook another"
    rtts = [float(rtt) for _, rtt in replies]
    # From nothing to 30 ms, all of it as likely, and none waits for the one before it.
    assert ROUND_TRIP_MS - 0.02 < min(rtts) < ROUND_TRIP_MS + 1
    assert ROUND_TRIP_MS + 29 < max(rtts) < ROUND_TRIP_MS + 30.02
    assert abs(sum(rtts) / 200 - ROUND_TRIP_MS - 15) < 4 * 30 / (12 * 200) ** 0.5


def test_the_rate_follows_its_schedule(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
duration = "9s"

[network.bottleneck]
rate     = "20Mbit"
delay    = "2ms"
queue    = { limit = "60p" }
schedule = [{ at = "3s", rate = "5Mbit" }, { at = "6s", rate = "40Mbit", delay = "7ms" }]

[[flow]]
name  = "one"
cc    = "cubic"
start = "0s"

[trace]
events = ["ack"]
""",
    )
    received = dict(_received(results))
    for begin, end, rate in ((1, 3, 20e6), (4, 6, 5e6), (7, 9, 40e6)):
        goodput = (received[end] - received[begin]) * 8 / (end - begin)
        assert goodput * ON_LINK / PAYLOAD == pytest.approx(rate, rel=0.005), begin
    acks = results.samples(0, "acks").select("time_s", "rtt_s").drop_nulls()
    before = min(rtt for time, rtt in acks.iter_rows() if time < 6)
    after = min(rtt for time, rtt in acks.iter_rows() if time > 6.1)
    assert after - before == pytest.approx(0.010, abs=0.0007)


# Programs


def test_iperf3_and_the_trace_agree(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
duration = "6s"

[network.bottleneck]
rate  = "20Mbit"
delay = "2ms"
queue = { limit = "60p" }

[[flow]]
name    = "probe"
rtt     = "20ms"
start   = "0s"
command = ["iperf3", "-c", "{dst}", "-t", "4", "--congestion", "reno", "--json"]

[trace]
capture = ["probe.sender"]
""",
    )
    told = json.loads(results.runs[0].trace.text("probe.stdout"))["end"]
    row = flow(results, "probe")
    here = capture(results, "probe.sender")
    seen = tcptrace(here)
    # One connection carries iperf3's own conversation.
    assert len(seen) == 2
    # The run ends with the program, which does not wait for the last acknowledgements.
    acked: dict[str, int] = {}
    for port, number in packets(here, "tcp.dstport", "tcp.ack", only="ip.src == 10.1.0.1"):
        acked[port] = max(acked.get(port, 0), int(number) - 1)
    assert sum(acked.values()) == row["acked_bytes"]
    assert sum(one.data_segments for one in seen) == row["segments_sent"]
    assert sum(one.retransmissions for one in seen) == row["retransmits"]
    # iperf3 asks a moment before the end.
    assert 0.95 * row["retransmits"] <= told["sum_sent"]["retransmits"] <= row["retransmits"]
    assert row["cc_in_force"] == told["sender_tcp_congestion"] == "reno"
    # iperf3's own conversation is small; the rest is what it says its server received.
    arrived = told["sum_received"]
    assert 0 < row["received_bytes"] - arrived["bytes"] < 1000
    ours = dict(_received(results))
    steady = (ours[3.9] - ours[1.0]) * 8 / 2.9
    assert steady == pytest.approx(arrived["bits_per_second"], rel=0.02)
    assert steady * ON_LINK / PAYLOAD == pytest.approx(20e6, rel=0.005)


def _received(results: Results) -> list[tuple[float, int]]:
    """Time in tenths of a second, and bytes received by then, of the only flow."""
    samples = results.samples(0, "flow_samples").select("time_s", "received_bytes")
    return [(round(at, 1), received) for at, received in samples.iter_rows()]
