"""A suite of two flows, for tests of what is said of suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
title    = "Two flows"
duration = "10s"
warmup   = "3s"

[network.bottleneck]
rate  = "5Mbit"
queue = { limit = "1bdp" }

[[flow]]
name  = "x"
rtt   = "40ms"
start = { at = "0s", spread = "1s" }

[[flow]]
name  = "rival"
rtt   = "40ms"
start = { at = "0s", spread = "1s" }

[sweep]
"flow.x.cc"                      = ["cubic"]
"network.bottleneck.queue.limit" = ["0.5bdp", "2bdp"]
"""

SUITE = """
title     = "A suite"
source    = "this test"
version   = 3
standards = ["cubic", "reno"]
despite   = ["bottleneck-not-full", "too-few-loss-cycles", "no-congestion-signal", "flow-stalled",
             "incomplete-transfer"]

[[scenario]]
name    = "two"
title   = "Two flows"
study   = "two.toml"
subject = ["flow.x.cc"]
repeat  = 4
despite = ["not-converged"]
quick   = { repeat = 2 }

[[criterion]]
id         = "loss"
clause     = "1"
obligation = "MUST"
text       = "loses little"
scenario   = "two"
measure    = "share of packets dropped"
value      = "bottleneck_drop_rate"
unit       = "share"
better     = "lower"
margin     = 1.0
slack      = 0.01

[[criterion]]
id         = "rival"
clause     = "2"
obligation = "SHOULD"
text       = "leaves the other flow something"
scenario   = "two"
at         = { "network.bottleneck.queue.limit" = "2bdp" }
measure    = "goodput of the other flow"
value      = "window_goodput_bps"
flow       = "rival"
unit       = "bit/s"
better     = "higher"
margin     = 0.3
above      = 1e5

[[absent]]
id         = "3"
clause     = "3"
obligation = "own"
text       = "is kind"
why        = "nobody can measure it | or could"
"""


def write(folder: Path, suite: str = SUITE) -> Path:
    """Puts the suite, or another of the same study, into a folder; returns that."""
    folder.mkdir(exist_ok=True)
    (folder / "two.toml").write_text(STUDY)
    (folder / "suite.toml").write_text(suite)
    return folder
