"""What tcpdump at the senders and tcptrace, the means of the study of 2011, say of our runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

import cclab
from conftest import ROOT
from judges import tcptrace_reports

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("kernel")

DROPS = ROOT / "studies" / "wan-fairness-2011" / "drops.toml"


@pytest.mark.parametrize("delay_at", ["sender", "router"])
def test_tcptrace_sees_what_the_study_printed(tmp_path: Path, delay_at: str) -> None:
    results = cclab.run(
        DROPS,
        backend="linux",
        repeat=1,
        out=tmp_path / "store",
        set=[
            "flow.s1.cc=cubic",
            "flow.s1.rtt=100.6ms",
            "flow.s1.rwnd=187392B",
            "flow.s2.rwnd=624640B",
            "flow.transfer=10MB",
            f"flow.delay_at={delay_at}",
            'network.bottleneck.outage=[{ start = "800ms", duration = "100ms" }]',
            'trace.capture=["s1.sender", "s2.sender"]',
        ],
    )
    (run,) = results.runs
    for flow in run.metrics["flows"]:
        capture = run.trace.capture(f"{flow['name']}.sender")
        (report,) = tcptrace_reports(capture)
        told = report.columns[0]
        data, acks = cclab.analyze(capture).document["connections"]
        assert told["unique bytes sent"] == flow["bytes_received"] == 10_000_000
        assert told["actual data pkts"] == flow["segments_sent"]
        # The columns of the study's tables.
        assert data["elapsed_s"] == pytest.approx(report.elapsed_s, abs=2e-6)
        assert data["packets"] + acks["packets"] == report.total_packets
        assert math.floor(data["window_mean_bytes"]) == told["avg win adv"]
        assert data["throughput_bps"] / 8 == pytest.approx(told["throughput"], abs=1)
        assert 1e3 * data["rtt_mean_s"] == pytest.approx(told["RTT avg"], abs=0.051)
        assert data["retransmitted_packets"] == told["rexmt data pkts"] == flow["retransmits"] > 0
        if delay_at == "sender":
            # netem has delayed a packet before it is captured.
            assert data["rtt_mean_s"] < 0.02 < 0.1 < flow["srtt_mean_s"]
        else:
            assert data["rtt_mean_s"] > 0.1
