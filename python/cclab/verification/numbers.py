"""The numbers of a flow that both a trace and a capture have, and where each can be compared.

Each is declared once, in `NUMBERS`; docs/verify.md is the same list in words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cclab.verification.bounds import (
    BINS,
    COUNTED,
    DEQUEUED,
    EXACT,
    FLIGHT,
    NOTED,
    PASSED,
    RATE,
    RTT,
    STEADY_RATE,
    THROUGHPUT,
    TIMERS,
    WINDOW,
    last_sample,
    sampled,
)
from cclab.verification.conditions import (
    ACTIVE,
    BEGUN,
    BULK,
    CLEAN,
    DIRECT,
    ENDED,
    FINE_CLOCK,
    FULL,
    FULL_SEGMENTS,
    LONG_TIMER,
    ONE,
    QUEUE_TOLD,
    READ_IN_TIME,
    SAMPLED,
    SEEN,
    SIMULATED,
    STEADY,
    TIMED,
    UNHELD,
    UNLOST,
    WHOLE,
)
from cclab.verification.declared import Number, Value
from cclab.verification.sides import NANOSECONDS, Flow, Seen

if TYPE_CHECKING:
    from collections.abc import Callable


def _row(column: str) -> Callable[[Flow, Seen], Value]:
    return lambda flow, _: flow.row[column]


def _seconds(column: str) -> Callable[[Flow, Seen], Value]:
    return lambda flow, _: _in_seconds(flow.row[column])


def _metric(name: str) -> Callable[[Flow, Seen], Value]:
    return lambda flow, _: flow.metrics[name]


def _limited(name: str) -> Callable[[Flow, Seen], Value]:
    return lambda flow, _: (flow.metrics["limited"] or {}).get(name)


def _of_only(column: str) -> Callable[[Flow, Seen], Value]:
    return lambda _, seen: seen.only[column]


def _in_seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / NANOSECONDS


def _largest(table: str, column: str) -> Callable[[Flow, Seen], Value]:
    def largest(flow: Flow, _seen: Seen) -> Value:
        maxima: list[int] = []
        for frame in (flow.samples, flow.run.table("acks") if table == "acks" else None):
            if frame is None:
                continue
            begin, end = flow.run.covered
            own = frame.filter(
                pl.col("flow") == flow.index, pl.col("time_ns").is_between(begin, end)
            )
            most = own[column].max()
            if isinstance(most, int):
                maxima.append(most)
        return max(maxima, default=None)

    return largest


def _ended_seen(flow: Flow, seen: Seen) -> Value:
    return _in_seconds(seen.acknowledged_ns(flow.row["acked_bytes"]))


def _elapsed_seen(flow: Flow, seen: Seen) -> Value:
    if seen.syn_ns is None:
        return None
    if not flow.ended:
        return (flow.run.end_ns - seen.syn_ns) / NANOSECONDS
    ended = seen.acknowledged_ns(flow.row["acked_bytes"])
    return None if ended is None else (ended - seen.syn_ns) / NANOSECONDS


def _throughput_seen(flow: Flow, seen: Seen) -> Value:
    elapsed = _elapsed_seen(flow, seen)
    return None if not elapsed else 8 * seen.acked_bytes / elapsed


def goodput_seen(_flow: Flow, seen: Seen) -> Value:
    data, first, last = seen.arrived
    if first is None or last is None or last <= first:
        return None
    return 8 * data / ((last - first) / NANOSECONDS)


def _started_seen(_flow: Flow, seen: Seen) -> Value:
    return _in_seconds(seen.syn_ns)


def _steady_seen(flow: Flow, seen: Seen) -> Value:
    steady = flow.run.steady_ns
    assert steady is not None
    begin, end = (seen.arrived_by(t)[0] for t in steady)
    return 8 * (end - begin) / ((steady[1] - steady[0]) / NANOSECONDS)


_AGAIN = ("retransmit", "spurious")

_COUNTERS: tuple[tuple[str, str, str, str, Callable[[Seen, int], int]], ...] = (
    ("bytes_acked", "byte", "sender", "snd_una_bytes", Seen.acked_by),
    ("bytes_received", "byte", "receiver", "received_bytes", lambda s, t: s.arrived_by(t)[0]),
    ("segments_sent", "1", "sender", "segments_sent", Seen.sent_by),
    ("retransmits", "1", "sender", "retransmits", lambda s, t: s.sent_by(t, *_AGAIN)),
)
"""Name, unit, point and column in flow_samples of a sampled number; its value in the capture by
then."""


def _at_last_sample(
    name: str, unit: str, point: str, column: str, by: Callable[[Seen, int], int]
) -> Number:
    return Number(
        f"{name} at a sample",
        unit,
        (point,),
        # Once the FIN is acknowledged, the simulator's snd_una is beyond the data.
        trace=lambda flow, _: min(
            last_sample(flow)[column],
            flow.row["acked_bytes"] if column == "snd_una_bytes" else last_sample(flow)[column],
        ),
        capture=lambda flow, seen: by(seen, last_sample(flow)["time_ns"]),
        of_trace=f"`{column}` of the last of flow_samples while captures cover the run",
        of_capture="the same of what was seen until then",
        bound=sampled(by),
        conditions=(BEGUN, SEEN, ONE, SAMPLED, DIRECT, UNLOST),
    )


def _rtt_min(flow: Flow, seen: Seen) -> Value:
    if flow.run.on_kernel:
        least: Value = seen.only["rtt_min_s"]
        return least
    known = [seen.first_rtts.min(), seen.syn_rtt_s]
    return min((rtt for rtt in known if isinstance(rtt, float)), default=None)


def _rtt_p95(flow: Flow, seen: Seen) -> Value:
    if flow.run.times_the_last:
        high: Value = seen.only["rtt_p95_s"]
        return high
    return seen.first_rtts.quantile(0.95, "nearest")


def _dequeued(flow: Flow, _seen: Seen) -> Value:
    events = flow.run.table("queue_events")
    assert events is not None
    begin, end = flow.run.covered
    return len(
        events.filter(
            pl.col("flow") == flow.index,
            pl.col("link") == 0,
            pl.col("action").cast(pl.Utf8) == "dequeue",
            pl.col("time_ns").is_between(begin, end),
        )
    )


def _dequeued_seen(flow: Flow, seen: Seen) -> Value:
    way = seen.back if flow.written["direction"] == "reverse" else seen.rows
    return sum(int(row["packets"]) for row in way)


def _connections(flow: Flow, seen: Seen) -> Value:
    there = "segments_sent" if seen.capture.place == "sender" else "received_bytes"
    # A SYN that nobody answered is a connection that a capture may show.
    return 1 if flow.row[there] > 0 else min(len(seen.rows), 1)


NUMBERS: tuple[Number, ...] = (
    Number(
        "connections",
        "1",
        ("sender", "receiver"),
        trace=_connections,
        capture=lambda _, seen: len(seen.rows),
        of_trace="1 for each flow that sent (at its sender) or got (at its receiver) data",
        of_capture="connections between the flow's addresses and ports",
        bound=EXACT,
        conditions=(WHOLE, BULK),
    ),
    Number(
        "bytes_acked",
        "byte",
        ("sender",),
        trace=_row("acked_bytes"),
        capture=lambda _, seen: seen.acked_bytes,
        of_trace="`acked_bytes` of flows",
        of_capture="the highest acknowledgement, without the FIN",
        bound=EXACT,
        conditions=(WHOLE, SEEN, ONE, UNHELD, READ_IN_TIME),
    ),
    Number(
        "bytes_received",
        "byte",
        ("receiver",),
        trace=_row("received_bytes"),
        capture=lambda _, seen: seen.arrived[0],
        of_trace="`received_bytes` of flows",
        of_capture="data that were seen, up to the first hole",
        bound=EXACT,
        conditions=(WHOLE, SEEN, ONE, UNLOST, READ_IN_TIME),
    ),
    Number(
        "unique_bytes",
        "byte",
        ("sender", "bottleneck", "receiver"),
        trace=_row("acked_bytes"),
        capture=lambda _, seen: seen.sum("unique_bytes"),
        of_trace="`acked_bytes` of flows",
        of_capture="`unique_bytes`",
        bound=EXACT,
        conditions=(WHOLE, SEEN, ENDED, BULK),
    ),
    Number(
        "segments_sent",
        "1",
        ("sender",),
        trace=_row("segments_sent"),
        capture=lambda _, seen: seen.sum("data_packets"),
        of_trace="`segments_sent` of flows",
        of_capture="`data_packets`",
        bound=COUNTED,
        conditions=(WHOLE, SEEN, UNHELD, UNLOST, READ_IN_TIME),
    ),
    Number(
        "retransmits",
        "1",
        ("sender",),
        trace=_row("retransmits"),
        capture=lambda _, seen: seen.sum("retransmitted_packets"),
        of_trace="`retransmits` of flows",
        of_capture="`retransmitted_packets`",
        bound=COUNTED,
        conditions=(WHOLE, SEEN, UNHELD, UNLOST, READ_IN_TIME),
    ),
    Number(
        "rtos",
        "1",
        ("sender",),
        trace=_row("rtos"),
        capture=lambda _, seen: seen.sum("rto_events"),
        of_trace="`rtos` of flows",
        of_capture="`rto_events`",
        bound=TIMERS,
        conditions=(WHOLE, SEEN, DIRECT, LONG_TIMER, UNLOST, READ_IN_TIME),
    ),
    Number(
        "started_s",
        "s",
        ("sender",),
        trace=_metric("started_s"),
        capture=_started_seen,
        of_trace="`started_ns` of flows",
        of_capture="time of the first SYN",
        bound=NOTED,
        conditions=(WHOLE, SEEN, ONE, DIRECT, UNLOST),
    ),
    Number(
        "ended_s",
        "s",
        ("sender",),
        trace=_metric("ended_s"),
        capture=_ended_seen,
        of_trace="`ended_ns` of flows",
        of_capture="time of the first acknowledgement of all data",
        bound=NOTED,
        conditions=(WHOLE, SEEN, ONE, ENDED, BULK),
    ),
    Number(
        "elapsed_s",
        "s",
        ("sender",),
        trace=_metric("elapsed_s"),
        capture=_elapsed_seen,
        of_trace="`elapsed_s` of the metrics",
        of_capture="from the first SYN to the acknowledgement of all data, or to the run's end",
        bound=NOTED,
        conditions=(WHOLE, SEEN, ONE, DIRECT, BULK, UNLOST),
    ),
    Number(
        "throughput_bps",
        "bit/s",
        ("sender",),
        trace=_metric("throughput_bps"),
        capture=_throughput_seen,
        of_trace="`throughput_bps` of the metrics",
        of_capture="acknowledged data over that time",
        bound=THROUGHPUT,
        conditions=(WHOLE, SEEN, ONE, ENDED, DIRECT, BULK, UNLOST, ACTIVE),
        relative=True,
    ),
    Number(
        "goodput_bps",
        "bit/s",
        ("receiver",),
        trace=_metric("goodput_bps"),
        capture=goodput_seen,
        of_trace="`goodput_bps` of the metrics",
        of_capture="data up to the first hole, over the time from the first of them to the last",
        bound=RATE,
        conditions=(WHOLE, SEEN, ONE, BULK, UNLOST, TIMED, READ_IN_TIME),
        relative=True,
    ),
    Number(
        "steady_goodput_bps",
        "bit/s",
        ("receiver",),
        trace=_metric("steady_goodput_bps"),
        capture=_steady_seen,
        of_trace="`steady_goodput_bps` of the metrics",
        of_capture="data up to the first hole that came within the steady window, over its length",
        bound=STEADY_RATE,
        conditions=(WHOLE, SEEN, ONE, STEADY, SAMPLED, BULK, UNLOST),
    ),
    Number(
        "rtt_min_s",
        "s",
        ("sender",),
        trace=_seconds("rtt_min_ns"),
        capture=_rtt_min,
        of_trace="`rtt_min_ns` of flows",
        of_capture="`rtt_min_s`; in the simulator, whose sender times the first of segments that "
        "are acknowledged together, the least RTT of those",
        bound=RTT,
        conditions=(WHOLE, SEEN, ONE, DIRECT, FINE_CLOCK),
    ),
    Number(
        "rtt_p95_s",
        "s",
        ("sender",),
        trace=_metric("rtt_p95_s"),
        capture=_rtt_p95,
        of_trace="`rtt_p95_s` of the metrics",
        of_capture="`rtt_p95_s`; of a stack of the simulator that is not Linux's, whose samples "
        "are of the first of segments that are acknowledged together, the percentile of those",
        bound=BINS,
        conditions=(WHOLE, SEEN, ONE, DIRECT, CLEAN, FINE_CLOCK),
    ),
    Number(
        "rtt_mean_s",
        "s",
        ("sender",),
        trace=_metric("srtt_mean_s"),
        capture=_of_only("rtt_mean_s"),
        of_trace="`srtt_mean_s` of the metrics: the mean of a smoothed RTT",
        of_capture="`rtt_mean_s`",
        bound=None,
        conditions=(WHOLE, SEEN, ONE, DIRECT),
        relative=True,
    ),
    Number(
        "mss_bytes",
        "byte",
        ("sender", "bottleneck", "receiver"),
        trace=_row("mss_bytes"),
        capture=lambda _, seen: max(row["segment_max_bytes"] for row in seen.rows),
        of_trace="`mss_bytes` of flows",
        of_capture="`segment_max_bytes`",
        bound=EXACT,
        conditions=(SEEN, FULL),
    ),
    Number(
        "rwnd_max_bytes",
        "byte",
        ("sender",),
        trace=_largest("acks", "rwnd_bytes"),
        capture=lambda _, seen: seen.window_bytes,
        of_trace="the largest `rwnd_bytes` of flow_samples and acks",
        of_capture="`window_max_bytes` of the way back",
        bound=WINDOW,
        conditions=(BEGUN, SEEN, DIRECT),
    ),
    Number(
        "in_flight_max_bytes",
        "byte",
        ("sender",),
        trace=_largest("acks", "in_flight_bytes"),
        capture=_of_only("outstanding_max_bytes"),
        of_trace="the largest `in_flight_bytes` of flow_samples and acks",
        of_capture="`outstanding_max_bytes`",
        bound=FLIGHT,
        conditions=(WHOLE, SEEN, ONE, DIRECT, FULL_SEGMENTS, READ_IN_TIME),
    ),
    Number(
        "ecn_echoes",
        "1",
        ("sender",),
        trace=_row("ecn_echoes"),
        capture=lambda _, seen: sum(row["ece_packets"] for row in seen.back),
        of_trace="`ecn_echoes` of flows",
        of_capture="`ece_packets` of the way back",
        bound=EXACT,
        conditions=(WHOLE, SEEN, SIMULATED),
    ),
    *(_at_last_sample(*counter) for counter in _COUNTERS),
    Number(
        "bytes_passed at a sample",
        "byte",
        ("bottleneck",),
        trace=lambda flow, _: last_sample(flow)["received_bytes"],
        capture=lambda flow, seen: seen.arrived_by(last_sample(flow)["time_ns"])[0],
        of_trace="`received_bytes` of the last of flow_samples while captures cover the run",
        of_capture="data up to the first hole that were seen until then",
        bound=PASSED,
        conditions=(BEGUN, SEEN, ONE, SAMPLED, BULK),
    ),
    Number(
        "dequeued_packets",
        "1",
        ("bottleneck",),
        trace=_dequeued,
        capture=_dequeued_seen,
        of_trace="rows of queue_events that leave the bottleneck, of the flow",
        of_capture="`packets` of the flow that way",
        bound=DEQUEUED,
        conditions=(SEEN, QUEUE_TOLD),
    ),
    *(
        Number(
            f"limited.{name}",
            "1",
            ("sender", "bottleneck", "receiver"),
            trace=_limited(name),
            capture=_of_only(f"limited_{name}"),
            of_trace=f"`limited.{name}` of the metrics",
            of_capture=f"`limited_{name}`, an estimate",
            bound=None,
            conditions=(WHOLE, SEEN, ONE),
        )
        for name in ("cwnd", "rwnd", "application")
    ),
)
"""The numbers of a flow at one point."""
