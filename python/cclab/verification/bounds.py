"""How far a capture may be from a trace, and why."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cclab.verification.conditions import CLEAN
from cclab.verification.declared import Bound
from cclab.verification.sides import NANOSECONDS, Flow, Seen

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl


def _zero(_flow: Flow, _seen: Seen) -> float:
    return 0.0


EXACT = Bound("equal", _zero, _zero)


def _late(flow: Flow, _seen: Seen) -> float:
    return flow.run.slack_ns / NANOSECONDS


_CLOCK = (
    "equal to 2 ns in the simulator; a kernel's agent notes the time when it is woken: within "
    "0.1 ms in virtual time, within its latest timer and 1 ms in real time"
)
ROUNDING_S = 2e-9
NOTED = Bound(
    _CLOCK,
    lambda flow, seen: -_late(flow, seen) - ROUNDING_S,
    lambda flow, seen: _late(flow, seen) + ROUNDING_S,
)


def _left_at_the_end(flow: Flow, seen: Seen) -> float:
    """Segments that left in the last instant of a run on a kernel.

    Its counters are read a moment after the end, and captures end with it.
    """
    if flow.ended or not flow.run.on_kernel or flow.last_snd_nxt is None or len(seen.rows) != 1:
        return 0.0
    beyond = flow.last_snd_nxt - seen.sent_bytes
    return float(-(-max(beyond, 0) // max(flow.row["mss_bytes"], 1)))


COUNTED = Bound(
    "equal; of a kernel, whose counters are read a moment after the run's end, the capture may lack"
    " what left in that moment: the trace's last snd_nxt tells how much",
    lambda flow, seen: -_left_at_the_end(flow, seen),
    _zero,
)
TIMERS = Bound(
    "a tail loss probe may come as late as a timeout: at most the trace's probes more; timeouts of"
    " a SYN are the trace's alone, and those of a FIN may be",
    lambda _, seen: -float(seen.sum("retransmitted_syn_fin")),
    lambda flow, _: float(flow.row["tail_loss_probes"]),
)


def rate_slack(flow: Flow, _seen: Seen) -> float:
    """The share by which a rate differs if the agent notes both ends of its time late.

    It is below one half where `TIMED` holds.
    """
    late = flow.lasted_late_ns
    return late / flow.lasted_ns + 1e-9 if late else 1e-9


RATE = Bound(
    "equal to a share of 1e-9; on a kernel as exactly as its agent notes the two ends of the time, "
    "and of a flow that did not end within 1 ms",
    lambda flow, seen: -rate_slack(flow, seen),
    rate_slack,
)


def _active_slack(flow: Flow, seen: Seen) -> float:
    # Less than one half, where `ACTIVE` holds.
    late = 2 * _late(flow, seen)
    return late / float(flow.metrics["elapsed_s"]) + 1e-9 if late else 1e-9


THROUGHPUT = Bound(
    "equal to a share of 1e-9; on a kernel as exactly as its agent notes start and end",
    lambda flow, seen: -_active_slack(flow, seen),
    _active_slack,
)


def _clean(flow: Flow, seen: Seen) -> bool:
    return CLEAN.holds(flow, seen)


_MICROSECOND = 1e-6 + 1e-9


def _host(flow: Flow, seen: Seen) -> float:
    """What a host in real time may add to an RTT between its capture point and its TCP."""
    return _MICROSECOND + (_late(flow, seen) if flow.run.in_real_time else 0.0)


RTT = Bound(
    "equal to 1 us, the unit of a kernel, and in real time as long as the agent's timers are late;"
    " where segments were sent again or acknowledged selectively a sender has samples that a "
    "capture has not (SACKs, timestamps): no less",
    lambda flow, seen: -_host(flow, seen),
    lambda flow, seen: _host(flow, seen) if _clean(flow, seen) else math.inf,
)


def _p95_slack(flow: Flow, seen: Seen, ranks: float) -> float:
    """By how much a bin, and `ranks` samples more or less, may move the percentile."""
    rtts = timed(flow, seen)
    if len(rtts) == 0:
        return 0.0
    middle = float(rtts.quantile(0.95, "nearest") or 0.0)
    share = min(max(0.95 + ranks / len(rtts), 0.0), 1.0)
    return float(rtts.quantile(share, "nearest") or 0.0) - middle


def _bins(flow: Flow, seen: Seen) -> float:
    return 0.016 * float(flow.metrics["rtt_p95_s"] or 0) + _host(flow, seen)


BINS = Bound(
    "within the bins of both histograms, 1.6 %, and what `rtt_min_s` may differ, where neither has "
    "two samples more than the other",
    lambda flow, seen: -_bins(flow, seen) - _p95_slack(flow, seen, 2),
    lambda flow, seen: _bins(flow, seen) - _p95_slack(flow, seen, -2),
)
WINDOW = Bound(
    "the trace has it at samples and events, the capture in every segment: at least as large",
    _zero,
    lambda _flow, _seen: math.inf,
)
FLIGHT = Bound(
    "the trace leaves out what was acknowledged selectively or is taken for lost, and has it at "
    "samples and events: at least as large, but for the FIN; a kernel counts whole segments",
    lambda flow, _: -float(flow.row["mss_bytes"]) if flow.run.on_kernel else -1.0,
    lambda _flow, _seen: math.inf,
)


def _steady_slack(flow: Flow, seen: Seen) -> float:
    steady = flow.run.steady_ns
    assert steady is not None
    slack = flow.run.slack_ns
    near = [seen.arrived_by(t + slack)[0] - seen.arrived_by(t - 1 - slack)[0] for t in steady]
    length = (steady[1] - steady[0]) / NANOSECONDS
    between = sum(_between_samples(flow, seen, t) for t in steady)
    return 8 * (sum(near) + between) / length + 1e-3


def _between_samples(flow: Flow, seen: Seen, now_ns: int) -> int:
    """What arrived between the samples around an instant that was not sampled.

    The simulator samples every such instant.
    """
    if not flow.run.on_kernel:
        return 0
    times = flow.all_samples["time_ns"]
    if any(abs(time - now_ns) <= 1 for time in times):
        return 0
    before = max((time for time in times if time < now_ns), default=0)
    after = min((time for time in times if time > now_ns), default=flow.run.end_ns)
    return seen.arrived_by(after)[0] - seen.arrived_by(before)[0]


STEADY_RATE = Bound(
    "equal; what arrived at the very instants of the window's ends, and on a kernel within its "
    "agent's delay of them, may count or not; between the two samples around an end that was not "
    "sampled the trace interpolates",
    lambda flow, seen: -_steady_slack(flow, seen),
    _steady_slack,
)


def sampled(by: Callable[[Seen, int], int]) -> Bound:
    """What happened at the instant of the sample may count or not.

    A kernel's samples are taken within its agent's delay after it.
    """

    def since(flow: Flow, seen: Seen, apart_ns: int) -> float:
        at = last_sample(flow)["time_ns"]
        return float(by(seen, at) - by(seen, at + apart_ns))

    return Bound(
        "equal; what happened at the instant of the sample, and on a kernel within its agent's "
        "delay of it, may count or not",
        lambda flow, seen: since(flow, seen, flow.run.slack_ns),
        lambda flow, seen: since(flow, seen, -1 - flow.run.slack_ns),
    )


def _passed(flow: Flow, seen: Seen, apart_ns: int) -> float:
    at = last_sample(flow)["time_ns"]
    return float(seen.arrived_by(at + apart_ns)[0] - seen.arrived_by(at)[0])


PASSED = Bound(
    "what arrived had passed before, and what passed was sent: from nothing more to all that was "
    "sent and had not arrived; what passed at the instant of the sample may count or not",
    lambda flow, seen: -_passed(flow, seen, flow.run.slack_ns),
    lambda flow, seen: (
        float(last_sample(flow)["snd_nxt_bytes"] - last_sample(flow)["received_bytes"])
        - _passed(flow, seen, -1 - flow.run.slack_ns)
    ),
)
DEQUEUED = Bound(
    "equal; on a kernel the packets at the two ends of the captured time may count or not",
    lambda flow, _: -2.0 if flow.run.on_kernel else 0.0,
    lambda flow, _: 2.0 if flow.run.on_kernel else 0.0,
)


def last_sample(flow: Flow) -> dict[str, Any]:
    return flow.samples.row(-1, named=True)


def timed(flow: Flow, seen: Seen) -> pl.Series:
    """RTTs as the sender takes them, of a flow without losses.

    Of segments that are acknowledged together Linux's samples (the `rtt_us` of its rate samples)
    are of the last, on a kernel and in the simulator, and those of other stacks of the first.
    """
    if flow.run.times_the_last:
        timed = seen.acks["rtt_ns"].drop_nulls()
        return timed / NANOSECONDS
    return seen.first_rtts
