"""How often a circuit breaker like that of RFC 8083 would have ended a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FACTOR = 10.0
"""A sender is beyond ten times the rate of TCP: an order of magnitude (RFC 8083, section 4.3)."""


def fired(samples: dict[str, NDArray[np.float64]], interval_s: float, intervals: int) -> float:
    """How often the breaker would have opened, had a report come every `interval_s` seconds.

    It opens where `intervals` reports in a row tell of congestion (section 4.3): some packets were
    lost, and more left than ten times the simplified TCP throughput equation allows, a packet in
    RTT sqrt(2p/3); or where as many tell that nothing arrived of what was sent (section 4.2). Then
    it counts anew. Lost are what TCP sent again. `samples` has `time`, `segments_sent`,
    `retransmits`, `srtt` and `received`, counted from the start of the flow. Not a number without a
    whole interval.
    """
    time = samples["time"]
    if len(time) < 2 or time[-1] - time[0] < interval_s:
        return float("nan")
    # An interval begins with the first sample at or past its time: instants are whole nanoseconds.
    edges = np.arange(time[0], time[-1] + 1e-9, interval_s)
    at = np.searchsorted(time, edges - 1e-9)
    lasted = np.diff(time[at])
    sent, again, arrived = (
        np.diff(samples[name][at]) for name in ("segments_sent", "retransmits", "received")
    )
    srtt = samples["srtt"][at[1:]]
    lost = np.divide(again, sent, out=np.zeros_like(sent), where=sent > 0)
    beyond = (lost > 0) & (sent / lasted * srtt * np.sqrt(2 * lost / 3) > _FACTOR)
    unheard = (sent > 0) & (arrived == 0)
    times, rows = 0, [0, 0]
    for kinds in zip(beyond, unheard, strict=True):
        rows = [row + 1 if kind else 0 for row, kind in zip(rows, kinds, strict=True)]
        if max(rows) == intervals:
            times, rows = times + 1, [0, 0]
    return float(times)
