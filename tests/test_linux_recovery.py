"""Losses repaired without RACK, and without SACK, as the kernel repairs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import cclab

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("kernel")

STUDY = """
backend  = "{backend}"
duration = "60s"
repeat   = 2

[network.bottleneck]
rate  = "10Mbit"
delay = "10ms"
queue = {{ limit = "1000p" }}
loss  = {{ rate = "4%", at = "sender" }}

[[flow]]
name        = "one"
cc          = "reno"
transfer    = "2MB"
rwnd        = "24kB"
delayed_ack = 1

[flow.sysctl]
"net.ipv4.tcp_wmem" = "4096 4194304 4194304"
{settings}

[trace]
events = ["ack"]
"""
"""
Neither buffer grows, and each segment is acknowledged: what is left to differ is how losses are
repaired. Runs lose some 55 packets, retransmissions among them, and have two to four timeouts.
"""


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param('"net.ipv4.tcp_recovery" = 0', id="without RACK"),
        pytest.param('"net.ipv4.tcp_sack" = 0', id="without SACK"),
        pytest.param(
            '"net.ipv4.tcp_sack" = 0\n"net.ipv4.tcp_timestamps" = 0',
            id="without SACK and timestamps",
        ),
    ],
)
def test_windows_are_the_kernels_after_every_acknowledgement(tmp_path: Path, settings: str) -> None:
    windows = {}
    for backend in ("sim", "linux"):
        file = tmp_path / f"{backend}.toml"
        file.write_text(STUDY.format(backend=backend, settings=settings))
        results = cclab.run(file, out=tmp_path / backend)
        assert all(rtos >= 2 for rtos in results.flows["rtos"]), "no retransmission was lost"
        for run in range(2):
            acks = results.samples(run, "acks").filter(pl.col("snd_nxt_bytes") > 0)
            # The last one acknowledges the FIN, which one side counts as a byte.
            rows = acks.select("snd_una_bytes", "cwnd_bytes", "ssthresh_bytes")[:-1].rows()
            windows[backend, run] = rows
    for run in range(2):
        assert len(windows["sim", run]) > 1300
        assert windows["sim", run] == windows["linux", run]
