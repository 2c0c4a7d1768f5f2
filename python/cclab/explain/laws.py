"""Closed-form expectations: what a flow's throughput should be, by published formulas.

Rates are in bit/s of payload, windows in segments, times in seconds, `p` is the probability
that a packet is lost or marked, seen from outside the flow (independent of its own sending).
"""

from __future__ import annotations

import math

RENO_LIKE = frozenset({"reno", "newreno", "sack"})
"""Variants with the window rule that the formulas for Reno model."""


def window_limit(window_bytes: float, rtt_s: float) -> float:
    """A window every round trip: `W / RTT`."""
    return window_bytes * 8 / rtt_s


def mathis(payload_bytes: float, rtt_s: float, p: float, segments_per_step: int = 1) -> float:
    """The macroscopic model of Mathis, Semke, Mahdavi and Ott (1997), equation 3.

    `MSS / RTT * C / sqrt(p)` with `C = sqrt(3/2)`, or `sqrt(3/4)` where the window takes a
    step for two segments (delayed acknowledgements that are counted, not what they cover): AIMD
    without timeouts, one loss a cycle.
    """
    return payload_bytes * 8 / rtt_s * math.sqrt(1.5 / (segments_per_step * p))


def padhye(
    payload_bytes: float,
    rtt_s: float,
    p: float,
    rto_s: float,
    window_segments: float,
    segments_per_step: int = 1,
) -> float:
    """The model of Padhye, Firoiu, Towsley and Kurose (1998), equation 30: timeouts included."""
    b = segments_per_step
    timeouts = rto_s * min(1.0, 3 * math.sqrt(3 * b * p / 8)) * p * (1 + 32 * p * p)
    segments = 1 / (rtt_s * math.sqrt(2 * b * p / 3) + timeouts)
    return min(window_segments / rtt_s, segments) * payload_bytes * 8


def reno_window(p: float) -> float:
    """The mean window of AIMD, in segments: `sqrt(3 / 2p)` (RFC 3649 section 3: `1.22 / p^0.5`)."""
    return math.sqrt(1.5 / p)


def cubic_window(p: float, rtt_s: float) -> float:
    """The mean window of CUBIC, in segments (RFC 9438 sections 5.1 and 5.2).

    `1.054 (RTT / p)^0.75` from `C = 0.4` and `beta = 0.7`, never below AIMD's of the same mean.
    """
    c, beta = 0.4, 0.7
    concave = math.pow(c * (3 + beta) / (4 * (1 - beta)), 0.25) * math.pow(rtt_s / p, 0.75)
    return max(concave, reno_window(p))


def highspeed_window(p: float) -> float:
    """The mean window of HighSpeed TCP, in segments (RFC 3649 section 5).

    `0.12 / p^0.835` below `p = 0.0015`, where the window is above 38; Reno's else.
    """
    return max(0.12 * math.pow(p, -0.835), reno_window(p)) if p < 0.0015 else reno_window(p)


def scalable_window(p: float) -> float:
    """The mean window of Scalable TCP, in segments: `0.08 / p` (RFC 3649 section 4), or Reno's."""
    return max(0.08 / p, reno_window(p))


def response_window(cc: str, p: float, rtt_s: float) -> tuple[float, str] | None:
    """The mean window of `cc` in segments under loss `p`, and the source; None if none is known."""
    if cc == "cubic":
        return cubic_window(p, rtt_s), "CUBIC's response function (RFC 9438 section 5)"
    if cc == "highspeed":
        return highspeed_window(p), "HighSpeed's response function (RFC 3649 section 5)"
    if cc == "scalable":
        return scalable_window(p), "Scalable's response function (RFC 3649 section 4)"
    if cc in RENO_LIKE:
        return reno_window(p), "the response function of AIMD (RFC 3649 section 3)"
    return None
