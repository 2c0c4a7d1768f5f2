"""What hosts of the kernel do at the edge of the simulator's network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from cclab.errors import InputError
from guests import LINK, flows, results_of
from judges import packets

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("kernel")

PAYLOAD, ON_LINK = 1448, 1514
"""Bytes of a full segment: of data, and on an Ethernet link with all headers."""
PING = 98
"""Bytes of ping's packets on a link: 56 of data, and the headers of ICMP, IP and Ethernet."""


def test_a_host_that_delays_what_it_sends_delays_nothing_else(tmp_path: Path) -> None:
    """The same arithmetic as with the delay at the router, one way after the other."""
    study = f"""
        duration = "2s"
        {LINK}
        [[flow]]
        name = "a"
        rtt = "60ms"
        start = "0s"
        delay_at = "AT"
        transport = "udp"
        application = {{ kind = "constant-rate", rate = "1Mbit", payload = "1kB" }}
        [[flow]]
        name = "p"
        rtt = "60ms"
        delay_at = "AT"
        command = ["ping", "-c", "3", "-i", "0.1", "{{dst}}"]
        start = "0s"
        """
    on_link = (1000 + 42) * 8 / 20e6
    for at, one_way in (("sender", 0.055), ("router", 0.030)):
        results = results_of(tmp_path / at, study.replace("AT", at))
        mean = results.runs[0].metrics["flows"][0]["datagrams"]["delay_mean_s"]
        assert mean == pytest.approx(one_way + on_link, abs=5e-6)
        echoes = results.runs[0].trace.text("p.stdout")
        shown = re.search(r"rtt min/avg/max/mdev = ([\d.]+)/", echoes)
        assert shown is not None, echoes
        assert 60_000 + 2 * PING * 8 / 20 - 1 <= float(shown[1]) * 1000 < 61_000


def test_hosts_handle_so_many_packets(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        f"""
        duration = "3s"
        {LINK.replace("20Mbit", "1Gbit")}
        [[flow]]
        name = "a"
        packet_rate = 2000
        start = "0s"
        [trace]
        capture = ["a.receiver"]
        """,
    )
    seen = packets(results.runs[0].trace.capture("a.receiver"), "frame.time_epoch")
    late = [float(time) for [time] in seen if 1 <= float(time) < 3]
    # Data and acknowledgements together.
    assert len(late) == pytest.approx(2 * 2000, rel=0.02)


def test_short_segments_wait_for_acknowledgements_unless_told_not_to(tmp_path: Path) -> None:
    study = f"""
        duration = "3s"
        {LINK}
        [[flow]]
        name = "a"
        rtt = "100ms"
        start = "0s"
        write_size = "100B"
        writes_per_second = 100
        nodelay = NODELAY
        """
    sent = []
    for nodelay in ("true", "false"):
        results = results_of(tmp_path / nodelay, study.replace("NODELAY", nodelay))
        sent.append(results.runs[0].metrics["flows"][0]["segments_sent"])
    # One write each, or all of a round trip's.
    assert sent[0] > 280
    assert sent[1] < 40


def test_hosts_of_a_chain_are_those_of_one_flow_each(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
        duration = "2s"
        [network]
        topology = "chain"
        [network.bottleneck]
        rate = "20Mbit"
        delay = "5ms"
        queue = { limit = "100p" }
        [[flow]]
        name = "a"
        rwnd = "20kB"
        [[flow]]
        name = "b"
        sndbuf = "30kB"
        [[flow]]
        name = "c"
        sysctl = { "net.ipv4.tcp_sack" = 0 }
        """,
    )
    assert all(row["received_bytes"] > 500_000 for row in flows(results).values())


def test_a_limit_of_what_a_host_delays_is_refused(tmp_path: Path) -> None:
    study = f"""
        duration = "2s"
        {LINK}
        [[flow]]
        name = "a"
        rtt = "50ms"
        delay_at = "sender"
        delay_limit = 100
        """
    with pytest.raises(
        InputError, match=r'delay_limit: .*--backend netns or network\.by = "kernel" has it'
    ):
        results_of(tmp_path, study)
