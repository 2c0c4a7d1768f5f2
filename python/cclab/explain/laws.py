"""Closed-form expectations: what a flow's throughput should be, by published formulas.

Rates are in bit/s of payload, windows in segments, times in seconds, `p` is the probability
that a packet is lost or marked, seen from outside the flow (independent of its own sending).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RENO_LIKE = frozenset({"reno", "newreno", "sack"})
"""Variants with the window rule that the formulas for Reno model."""


def window_limit(window_bytes: float, rtt_s: float) -> float:
    """A window every round trip: `W / RTT`."""
    return window_bytes * 8 / rtt_s


def mathis(payload_bytes: float, rtt_s: float, p: float, segments_per_step: int = 1) -> float:
    """The macroscopic model of Mathis, Semke, Mahdavi and Ott (1997), equation 3.

    `MSS / RTT * C / sqrt(p)` with `C = sqrt(3/2)`, or `sqrt(3/4)` where the window takes a step for
    two segments (a stack that counts delayed acknowledgements, not the segments that they cover):
    AIMD without timeouts, one loss a cycle.
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


def aimd_window(p: float, b: float) -> float:
    """The mean window of AIMD that adds a segment a round trip and gives up the share `b`.

    `sqrt((2 - b) / 2bp)` segments (Floyd, Handley and Padhye 2000); Reno's for `b = 1/2`.
    """
    return math.sqrt((2 - b) / (2 * b * p))


def cubic_window(
    p: float, rtt_s: float, *, c: float = 0.4, beta: float = 0.7, friendly: bool = True
) -> float:
    """The mean window of CUBIC, in segments (RFC 9438 sections 5.1 and 5.2).

    `(C (3 + beta) / 4 (1 - beta))^0.25 (RTT / p)^0.75`, which is `1.054 (RTT / p)^0.75` with the
    RFC's `C` and `beta`; where it is `friendly`, never below AIMD's of the same mean.
    """
    if beta >= 1:
        return math.inf
    concave = math.pow(c * (3 + beta) / (4 * (1 - beta)), 0.25) * math.pow(rtt_s / p, 0.75)
    return max(concave, reno_window(p)) if friendly else concave


def highspeed_window(p: float, low_window: float = 38) -> float:
    """The mean window of HighSpeed TCP, in segments (RFC 3649 section 5).

    `0.12 / p^0.835` where that is above `low_window`; Reno's else.
    """
    fast = 0.12 * math.pow(p, -0.835)
    return max(fast, reno_window(p)) if fast > low_window else reno_window(p)


def scalable_window(p: float, *, a: float = 0.01, b: float = 0.125, lwnd: float = 16) -> float:
    """The mean window of Scalable TCP, in segments: `a / bp` (RFC 3649 section 4: `0.08 / p`).

    Reno's where that is no more than `lwnd`.
    """
    fast = a / (b * p)
    return max(fast, reno_window(p)) if fast > lwnd else reno_window(p)


def scalable_window_of_linux(p: float, *, a: float = 0.01, b: float = 0.125) -> float:
    """The same for the module of Linux, which has no `lwnd`.

    It adds a segment for the window or for `1/a` segments, whichever are less, and always gives up
    the share `b`: AIMD's window for that `b`, or `a / bp`, whichever is larger.
    """
    return max(aimd_window(p, b), a / (b * p))


_RFC_3649 = "(RFC 3649 section 4)"


def response_window(
    cc: str, p: float, rtt_s: float, params: Mapping[str, float], *, counts_segments: bool
) -> tuple[float, str] | None:
    """The mean window of `cc` in segments under loss `p`, and the source; None if none is known.

    `params` are the variant's, `counts_segments` says whether it is the form of Linux's modules.
    """
    if cc == "cubic":
        window = cubic_window(
            p,
            rtt_s,
            c=params.get("c", 0.4),
            beta=params.get("beta", 0.7),
            friendly=params.get("tcp_friendliness", 1) != 0,
        )
        known = window, "CUBIC's response function (RFC 9438 section 5)"
        return known if math.isfinite(window) else None
    if cc == "highspeed":
        window = highspeed_window(p, params.get("low_window", 38))
        return window, "HighSpeed's response function (RFC 3649 section 5)"
    if cc == "scalable" and counts_segments:
        window = scalable_window_of_linux(p, a=params.get("a", 0.01), b=params.get("b", 0.125))
        return window, f"Scalable's response function {_RFC_3649}, AIMD below 1/a as in Linux"
    if cc == "scalable":
        window = scalable_window(
            p,
            a=params.get("a", 0.01),
            b=params.get("b", 0.125),
            lwnd=params.get("lwnd", 16),
        )
        return window, f"Scalable's response function {_RFC_3649}"
    if cc in RENO_LIKE:
        return reno_window(p), "the response function of AIMD (RFC 3649 section 3)"
    return None
