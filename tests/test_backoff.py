"""Gaps between a sender's attempts by hand, and whose double where all is lost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cclab
from cclab.errors import InputError
from cclab.quantities import expressions
from cclab.quantities.backoff import doublings
from cclab.quantities.names import evaluated

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
title    = "All is lost"
duration = "30s"
trace    = { interval = "1ms" }

[network.bottleneck]
rate     = "5Mbit"
queue    = { limit = "1bdp" }
schedule = [{ at = "5s", loss = "100%" }]

[[flow]]
name = "x"
rtt  = "50ms"

[[flow]]
name        = "steady"
transport   = "udp"
rtt         = "50ms"
application = { kind = "constant-rate", rate = "8kbit", payload = "1000B" }
"""


def gaps(*lengths: float, until: float) -> float:
    """Doublings of departures with these gaps between them, and samples 10 ms apart until then."""
    departures = 1.0 + np.cumsum([0.0, *lengths])
    time = np.arange(round(until * 100) + 1) / 100
    return doublings(time, (departures[None, :] <= time[:, None] + 1e-9).sum(axis=1).astype(float))


@pytest.mark.parametrize(
    ("lengths", "until", "times"),
    [
        ([0.2, 0.4, 0.8, 1.6], 4.1, 3),
        # The last gap is not over and has no end yet; long enough, it counts.
        ([0.2, 0.4, 0.8, 1.6], 7.2, 4),
        ([0.2, 0.4, 0.8, 1.6], 6.0, 3),
        ([1.0, 1.0, 1.0, 1.0], 5.5, 0),
        ([0.2, 0.4, 0.2, 0.4, 0.2, 0.4], 2.9, 1),
        # A timer that ticks every 10 ms.
        ([0.21, 0.41, 0.81], 2.5, 2),
        ([0.2, 0.36, 0.65], 2.3, 0),
    ],
)
def test_only_gaps_that_double_one_after_the_other_count(
    lengths: list[float], until: float, times: int
) -> None:
    assert gaps(*lengths, until=until) == times


@pytest.mark.parametrize("samples", [0, 1])
def test_fewer_than_two_samples_have_no_gap(samples: int) -> None:
    assert math.isnan(doublings(np.ones(samples), np.ones(samples)))


def test_who_sends_no_more_has_doubled_as_often_as_fits() -> None:
    # 10 ms between samples: 20, 40, 80, 160, 320 and 640 ms are less than the 2 s of silence.
    assert gaps(until=3.0) == 6
    # Behind a gap of 200 ms: 400, 800 and 1,600 ms.
    assert gaps(0.2, until=4.1) == 3


def test_a_timer_that_backs_off_doubles_and_a_steady_source_does_not(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    point = cclab.run(tmp_path / "study.toml", out=tmp_path / "out").points[0]
    assert evaluated("doublings(5, 30)", point, 0, "x") >= 4
    assert evaluated("doublings(5, 30)", point, 0, "steady") == 0


def test_what_was_not_measured_is_replaced() -> None:
    names = {"known": 3.0, "unknown": math.nan, "some": np.array([1.0, math.nan])}
    assert expressions.value("or_else(known, 9)", names) == 3.0
    assert expressions.value("or_else(unknown, 9)", names) == 9.0
    assert list(expressions.value("or_else(some, 9)", names)) == [1.0, 9.0]
    with pytest.raises(InputError, match="or_else"):
        expressions.value("or_else(known)", names)
