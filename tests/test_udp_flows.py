"""Flows over UDP that the kernel backends send themselves, beside the simulator's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import cclab

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("kernel")

STUDY = """
duration = "6s"

[network.bottleneck]
rate  = "6Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "20p" }

[[flow]]
name        = "voice"
transport   = "udp"
rtt         = "40ms"
application = { kind = "constant-rate", rate = "2Mbit", payload = "1000B" }

[[flow]]
name        = "gaps"
transport   = "udp"
rtt         = "40ms"
start       = "103ms"
duration    = "4s"
application = { kind = "on-off", rate = "2Mbit", on = "200ms", off = "300ms", payload = "700B" }

[[flow]]
name        = "video"
transport   = "udp"
rtt         = "60ms"
start       = "57ms"
application = { kind = "video", i_frame = "30kB", p_frame = "6kB", group = 15, deadline = "80ms" }
"""


def flows(folder: Path, backend: str, study: str) -> dict[str, dict[str, Any]]:
    """The numbers of each flow of `study` on `backend`."""
    folder.mkdir()
    file = folder / "study.toml"
    file.write_text(f'backend = "{backend}"\n{study}')
    rows = cclab.run(file, out=folder / "store").runs[0].metrics["flows"]
    return {row["name"]: row for row in rows}


def test_sources_send_on_the_kernel_what_they_send_in_the_simulator(tmp_path: Path) -> None:
    simulated = flows(tmp_path / "simulated", "sim", STUDY)
    kernel = flows(tmp_path / "kernel", "linux", STUDY)
    for name, row in kernel.items():
        like = simulated[name]
        assert row["transport"] == "udp"
        assert row["cc"] is None
        assert row["back"] is None
        ours, theirs = row["datagrams"], like["datagrams"]
        for exact in ("sent", "bytes_sent"):
            assert ours[exact] == theirs[exact], (name, exact)
        assert ours["received"] == pytest.approx(theirs["received"], rel=0.02)
        assert ours["delay_mean_s"] == pytest.approx(theirs["delay_mean_s"], rel=0.05)
        assert row["started_s"] == pytest.approx(like["started_s"], abs=1e-6)
        assert row["ended_s"] == pytest.approx(like["ended_s"], abs=1e-6)
    ours, theirs = kernel["video"]["frames"], simulated["video"]["frames"]
    assert ours["sent"] == theirs["sent"] == 179
    # The first frame of each group is larger than the queue.
    assert ours["lost"] > 0
    assert ours["shown"] < ours["complete"]
    for key in ("complete", "late", "lost", "shown"):
        assert ours[key] == pytest.approx(theirs[key], abs=9), key
    assert ours["freezes"] == pytest.approx(theirs["freezes"], abs=2)


def test_delays_in_an_idle_network_are_exact(tmp_path: Path) -> None:
    """Also where the sending host's own link takes its time, and with no duration of the run."""
    study = """
[network.bottleneck]
rate  = "10Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "20p" }

[network.access]
rate = "100Mbit"

[[flow]]
name        = "one"
transport   = "udp"
rtt         = "50ms"
start       = "0s"
transfer    = "100kB"
application = { kind = "constant-rate", rate = "1Mbit", payload = "1000B" }
"""
    row = flows(tmp_path / "kernel", "linux", study)["one"]
    datagrams = row["datagrams"]
    assert (datagrams["sent"], datagrams["received"], datagrams["lost"]) == (100, 100, 0)
    # 1042 bytes with headers over 10 Mbit/s and twice 100 Mbit/s, and half of 50 ms.
    bits = 1042 * 8
    delay = bits / 10e6 + 2 * bits / 100e6 + 0.025
    assert datagrams["delay_mean_s"] == pytest.approx(delay, abs=2e-6)
    assert datagrams["jitter_s"] == pytest.approx(0, abs=1e-6)
    assert row["ended_s"] == pytest.approx(99 * 0.008, abs=1e-6)
    assert row["fct_s"] == pytest.approx(99 * 0.008 + delay, abs=1e-5)
