"""Flows beside each other, and percentiles: held against the run, tshark and numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import cclab
from cclab.errors import InputError
from judges import packets

if TYPE_CHECKING:
    from pathlib import Path

# One flow is alone for five seconds, the other at the end.
STUDY = """
duration = "20s"
seed     = 4

[network.bottleneck]
rate  = "20Mbit"
delay = "5ms"
queue = { limit = "1bdp" }

[[flow]]
name     = "first"
cc       = "reno"
rtt      = "30ms"
duration = "15s"

[[flow]]
name  = "second"
cc    = "cubic"
rtt   = "60ms"
start = "5s"

[trace]
capture = ["bottleneck", "first.sender"]
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run."""
    folder = tmp_path_factory.mktemp("together")
    (folder / "study.toml").write_text(STUDY)
    return cclab.run(folder / "study.toml", out=folder / "store").runs[0].trace.captures


PORTS = ("40000", "40001")


def segments(capture: Path, port: str) -> list[tuple[float, int]]:
    """Times and lengths of a flow's segments as tshark has them, each sequence number once."""
    fields = ("frame.time_relative", "tcp.len", "tcp.seq")
    told = packets(capture, *fields, only=f"tcp.len > 0 && tcp.srcport == {port}")
    first = {seq: (float(at), int(size)) for at, size, seq in reversed(told)}
    return list(first.values())


def carried(capture: Path, from_s: float, to_s: float) -> list[int]:
    """Bytes of either flow within a time."""
    of_both = [segments(capture, port) for port in PORTS]
    return [sum(size for at, size in of if from_s <= at < to_s) for of in of_both]


def jain(values: list[int]) -> float:
    """By its definition."""
    return float(sum(values) ** 2 / (len(values) * sum(value**2 for value in values)))


def test_the_interval_asked_for_is_counted_to_the_byte(captures: Path) -> None:
    capture = captures / "bottleneck.pcapng"
    together = cclab.analyze(capture, interval=(6.5, 13.25)).together
    asked = together["asked"]
    expected = carried(capture, 6.5, 13.25)
    assert [flow["bytes"] for flow in asked["flows"]] == expected
    assert asked["jain"] == pytest.approx(jain(expected), rel=1e-12)
    assert asked["throughput_bps"] == pytest.approx(sum(expected) * 8 / 6.75, rel=1e-12)
    assert [flow["share"] for flow in asked["flows"]] == pytest.approx(
        [of / sum(expected) for of in expected]
    )


def test_jains_index_is_that_of_the_flows_that_are_there(captures: Path) -> None:
    together = cclab.analyze(captures / "bottleneck.pcapng", interval=(1, 4)).together
    assert [flow["connection"] for flow in together["asked"]["flows"]] == [1]
    assert together["asked"]["jain"] == 1


def test_overlap_and_congestion_are_where_the_study_has_them(captures: Path) -> None:
    capture = captures / "bottleneck.pcapng"
    together = cclab.analyze(capture).together
    assert (together["flows"], together["left_out"]) == (2, 0)
    times = [[at for at, _ in segments(capture, port)] for port in PORTS]
    begins, ends = max(map(min, times)), min(map(max, times))
    assert 5 < begins < 5.2
    assert 15 < ends < 18
    # A bin of the grid at either end.
    overlap = together["overlap"]
    assert (overlap["from_s"], overlap["to_s"]) == pytest.approx((begins, ends), abs=0.5)
    congested = together["congested"]
    assert overlap["from_s"] <= congested["from_s"] < congested["to_s"] <= overlap["to_s"]
    assert congested["to_s"] - congested["from_s"] > 0.8 * (ends - begins)
    assert congested["again_or_late_packets"] > 0
    assert congested["throughput_bps"] > 0.9 * 20e6 * 1448 / 1514
    # Borders are printed in seconds: a segment may lie on either side of one.
    expected = carried(capture, congested["from_s"], congested["to_s"])
    got = [flow["bytes"] for flow in congested["flows"]]
    assert got == pytest.approx(expected, abs=2 * 1448)


def test_one_flow_has_nothing_to_be_held_against(captures: Path) -> None:
    together = cclab.analyze(captures / "first.sender.pcapng").together
    assert together["flows"] == 1
    assert together["overlap"] is None
    assert together["congested"] is None


@pytest.mark.parametrize(
    ("interval", "complaint"),
    [
        ((5, 2), "ends after that"),
        ((25, 30), "the capture ends at"),
        (("5s", "9s"), "two numbers, of seconds"),
    ],
)
def test_an_interval_that_cannot_be_is_refused(
    captures: Path, interval: tuple[float, float], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        cclab.analyze(captures / "bottleneck.pcapng", interval=interval)


def test_percentiles_are_those_of_the_samples(captures: Path) -> None:
    capture = cclab.analyze(captures / "first.sender.pcapng")
    row = capture.connections.row(0, named=True)
    samples = capture.series("rtt", connection=1)["rtt_s"].to_numpy()
    assert row["rtt_samples"] == len(samples) > 1000
    for percent in (5, 50, 95, 99):
        expected = np.percentile(samples, percent, method="inverted_cdf")
        assert row[f"rtt_p{percent:02}_s"] == pytest.approx(expected, rel=0.008)
    assert row["rtt_p05_s"] < row["rtt_p50_s"] < row["rtt_p95_s"] <= row["rtt_p99_s"]


def test_goodput_is_over_the_time_with_data(captures: Path) -> None:
    row = cclab.analyze(captures / "first.sender.pcapng").connections.row(0, named=True)
    told = packets(captures / "first.sender.pcapng", "frame.time_epoch", only="tcp.len > 0")
    times = [float(at) for [at] in told]
    assert row["data_s"] == pytest.approx(max(times) - min(times), abs=1e-6)
    assert row["goodput_bps"] == pytest.approx(row["unique_bytes"] * 8 / row["data_s"])
