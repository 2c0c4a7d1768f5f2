"""A flow's send buffer: it holds a flow on a long fast path, and lets it fill the path, alike on
the simulator and on the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.errors import InputError
from cclab.explain import explain

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

RTT_S = 0.6
RATE_BPS = 100e6
SMALL, MIDDLE, LARGE = 1e6, 4e6, 32e6
"""Bytes; 7.5 MB fill the path."""

STUDY = """\
title    = "100 Mbit/s over 600 ms"
duration = "25s"
warmup   = "15s"
seed     = 7

[network.bottleneck]
rate  = "100Mbit"
delay = "300ms"
queue = { kind = "droptail", limit = "1bdp" }

[[flow]]
name   = "a"
start  = "0s"
rwnd   = "64MB"
sndbuf = "1MB"

[sweep]
"flow.a.sndbuf" = ["1MB", "4MB", "32MB"]
"""


@pytest.fixture(scope="module", params=["sim", "linux"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The study on a backend."""
    if request.param == "linux":
        request.getfixturevalue("kernel")
    folder = tmp_path_factory.mktemp("sndbuf")
    (folder / "long.toml").write_text(STUDY)
    return cclab.run(folder / "long.toml", backend=request.param, out=folder / "out")


def test_a_small_buffer_holds_a_flow_and_a_large_one_lets_it_fill_the_path(
    results: Results,
) -> None:
    steady: dict[float, float] = {
        run.run.scenario["flows"][0]["sndbuf"]: run.metrics["flows"][0]["steady_goodput_bps"]
        for run in results.runs
    }
    assert sorted(steady) == [SMALL, MIDDLE, LARGE]
    for size in (SMALL, MIDDLE):
        # Memory of packets beside their payload, and pauses until a third is free.
        assert 0.6 < steady[size] / (size * 8 / RTT_S) < 1.0
    assert steady[LARGE] > 0.9 * RATE_BPS


def test_what_is_expected_of_a_buffer_is_what_it_lets_go(results: Results) -> None:
    for run in results.runs:
        flow = explain(run.run.scenario).flows[0]
        assert flow.expected_bps is not None
        steady = run.metrics["flows"][0]["steady_goodput_bps"]
        # Packets cut into bursts take more memory than is expected, which tells of a small buffer.
        assert steady == pytest.approx(flow.expected_bps, rel=0.25)


def test_what_is_in_flight_fits_the_buffer(results: Results) -> None:
    for number, run in enumerate(results.runs):
        samples = results.samples(number)
        most = (samples["snd_nxt_bytes"] - samples["snd_una_bytes"]).max()
        assert isinstance(most, int)
        # The last packet goes in whole.
        assert most <= run.run.scenario["flows"][0]["sndbuf"] + 65_536


def test_the_simulators_buffer_is_the_kernels(kernel: Path, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(STUDY.replace(', "32MB"', ""))
    seen = [
        [
            run.metrics["flows"][0][name]
            for run in cclab.run(
                tmp_path / "long.toml", backend=backend, out=tmp_path / backend
            ).runs
            for name in ("steady_goodput_bps", "segments_sent", "bytes_received")
        ]
        for backend in ("sim", "linux")
    ]
    assert seen[0] == seen[1]


def test_the_buffer_is_no_part_of_runs_without_one(tmp_path: Path) -> None:
    """Their names, and so their results, stay what they were."""
    (tmp_path / "long.toml").write_text(STUDY.replace('sndbuf = "1MB"', "").partition("[sweep]")[0])
    plan = cclab.Study.load(tmp_path / "long.toml").plan()
    assert "sndbuf" not in plan.runs[0].scenario["flows"][0]


def test_flows_that_share_a_host_have_one_buffer(tmp_path: Path) -> None:
    """In a chain on a network of the kernel's own the sending host is that of all flows."""
    two = STUDY.partition("[sweep]")[0].replace(
        "[network.", '[network]\ntopology = "chain"\nby = "kernel"\n[network.'
    )
    (tmp_path / "two.toml").write_text(two + '[[flow]]\nname = "b"\nsndbuf = "2MB"\nstart = "0s"\n')
    with pytest.raises(InputError, match=r"flow\.b\.sndbuf: sndbuf different from .* flow a: .*"):
        cclab.run(tmp_path / "two.toml", backend="linux", out=tmp_path / "out")
