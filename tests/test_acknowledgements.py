"""Each acknowledgement of Linux's stack in the simulator is the kernel's, to the nanosecond."""

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
duration = "{duration}"
seed     = {seed}

[network.bottleneck]
rate  = "{rate}"
delay = "2ms"
queue = {queue}

[network.access]
rate  = "1Gbit"
delay = "1ms"

{flows}

[trace]
events = ["ack"]
"""
COLUMNS = (
    "time_ns", "flow", "snd_una_bytes", "newly_acked_bytes", "cwnd_bytes", "ssthresh_bytes",
    "rtt_ns", "srtt_ns", "rto_ns", "rwnd_bytes", "pacing_rate_bps", "in_recovery",
)  # fmt: skip
"""What is the sender's at an acknowledgement, on both sides before it sends anything on it."""


def flow(name: str, cc: str, rtt: str, more: str = "") -> str:
    return f'[[flow]]\nname = "{name}"\ncc = "{cc}"\nrtt = "{rtt}"\n{more}\n'


@pytest.mark.parametrize(
    ("rate", "queue", "flows", "duration"),
    [
        pytest.param("2Mbit", '{ limit = "5p" }', flow("a", "reno", "40ms"), "8s", id="short"),
        pytest.param(
            "50Mbit",
            '{ limit = "1333p" }',
            flow("a", "cubic", "160ms"),
            "6s",
            id="a queue deeper than buffers",
        ),
        pytest.param(
            "10Mbit",
            '{ limit = "267p" }',
            flow("a", "hybla", "160ms"),
            "6s",
            id="cut at the receiver's window",
        ),
        pytest.param(
            "20Mbit",
            '{ kind = "codel", limit = "200p", ecn = true }',
            flow("a", "reno", "30ms", "ecn = true") + flow("b", "cubic", "30ms", "ecn = true"),
            "6s",
            id="marks",
        ),
        pytest.param(
            "10Mbit",
            '{ limit = "34p" }',
            flow("a", "cubic", "20ms") + flow("b", "reno", "60ms") + flow("c", "vegas", "40ms"),
            "10s",
            id="three",
        ),
        pytest.param(
            "30Mbit",
            '{ limit = "100p" }',
            flow("a", "westwood", "25ms", 'transfer = "3MB"'),
            "6s",
            id="a transfer",
        ),
    ],
)
def test_each_is_the_kernels(
    tmp_path: Path, rate: str, queue: str, flows: str, duration: str
) -> None:
    sides = {}
    for backend in ("sim", "linux"):
        file = tmp_path / f"{backend}.toml"
        file.write_text(
            STUDY.format(
                backend=backend, duration=duration, seed=3, rate=rate, queue=queue, flows=flows
            )
        )
        (run,) = cclab.run(file, out=tmp_path / backend).runs
        # The handshake's is of no data.
        frame = run.trace.rows("acks").filter(pl.col("snd_nxt_bytes") > 0)
        sides[backend] = frame.select(COLUMNS)
    simulated, kernel = sides["sim"], sides["linux"]
    assert kernel.height > 500
    assert simulated.height == kernel.height
    same = kernel.height - 1  # the last may be of the FIN, which one side counts as a byte
    for column in COLUMNS:
        differs = simulated[column][:same].ne_missing(kernel[column][:same]).arg_true()
        assert differs.is_empty(), (
            f"{column} differs at acknowledgement {differs[0]}: {simulated.row(differs[0])} in the "
            f"simulator, {kernel.row(differs[0])} in the kernel"
        )
