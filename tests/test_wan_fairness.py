"""What tcpdump at the senders and tcptrace, the means of the study of 2011, say of our runs."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

import cclab
from conftest import ROOT
from judges import tcptrace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("kernel")

DROPS = ROOT / "studies" / "wan-fairness-2011" / "drops.toml"


def mean_rtt_s(capture: Path, folder: Path) -> float:
    """The mean RTT of the data in `capture` as tcptrace prints it, in milliseconds."""
    classic = folder / "capture.pcap"
    subprocess.run(["editcap", "-F", "pcap", str(capture), str(classic)], check=True)
    command = ["tcptrace", "-l", "-r", "-n", str(classic)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    means = re.findall(r"RTT avg:\s+([\d.]+) ms", told)
    return float(means[0]) / 1e3


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
        capture = run.entry / f"{flow['name']}.sender.pcapng"
        (seen,) = tcptrace(capture)
        assert seen.unique_bytes == flow["bytes_received"] == 10_000_000
        assert seen.data_segments == flow["segments_sent"]
        assert seen.retransmissions == flow["retransmits"] > 0
        rtt_s = mean_rtt_s(capture, tmp_path)
        if delay_at == "sender":
            # netem has delayed a packet before tcpdump sees it.
            assert rtt_s < 0.02 < 0.1 < flow["srtt_mean_s"]
        else:
            assert rtt_s > 0.1
