"""What must hold for a number to be comparable."""

from __future__ import annotations

from cclab.verification.declared import Condition
from cclab.verification.sides import NANOSECONDS

WHOLE = Condition(
    "captures do not cover the whole run (trace.from, trace.until)",
    lambda flow, _: flow.run.covered == (0, flow.run.end_ns),
)
ON_ITS_WAY = Condition(
    "routes change: the flow does not cross this link all the time",
    lambda flow, seen: not flow.run.routes_change or seen.capture.place in ("sender", "receiver"),
)
SEEN = Condition("the capture shows nothing of the flow", lambda _, seen: bool(seen.rows))
ONE = Condition(
    "a program opened several connections, whose times and rates are none of one connection",
    lambda _, seen: len(seen.rows) == 1,
)
ENDED = Condition(
    "the flow had not ended: what was under way had not passed this point",
    lambda flow, _: flow.ended,
)
DIRECT = Condition(
    "the sender's capture point lies behind the delay that `delay_at` adds",
    lambda flow, seen: seen.capture.place != "sender" or not flow.delayed_at_sender,
)
UNHELD = Condition(
    "the flow had not ended, and what its host delays (`delay_at`) had not passed this point",
    lambda flow, seen: flow.ended or DIRECT.holds(flow, seen),
)
UNLOST = Condition(
    "packets are lost on the host, where a kernel's capture point has those that a sender lost "
    "no more, and those that a receiver loses still",
    lambda flow, seen: not flow.loses_packets_at(seen.capture.place),
)
READ_IN_TIME = Condition(
    "in real time a kernel's counters are read some time after the run's end: of a flow that had "
    "not ended they have more",
    lambda flow, _: flow.ended or not flow.run.in_real_time,
)
BULK = Condition(
    "a program opens as many connections as it likes, and ends when it likes",
    lambda f, _: not f.is_program,
)
CLEAN = Condition(
    "segments were sent again or acknowledged selectively: a sender then samples the RTT from "
    "SACKs and timestamps too, a capture does not",
    lambda flow, seen: (
        flow.row["retransmits"] == 0
        and all(row["sacks"] == 0 and row["retransmitted_syn_fin"] == 0 for row in seen.back)
        and all(row["retransmitted_syn_fin"] == 0 for row in seen.rows)
    ),
)
LONG_TIMER = Condition(
    "the stack's timeout may be shorter than its smoothed RTT and 200 ms, which tells timeouts "
    "apart in a capture",
    lambda flow, _: (
        flow.run.scenario["stack"] != "ns2"
        and not any("rto" in name for name in flow.written.get("sysctl") or {})
    ),
)
FINE_CLOCK = Condition(
    "the stack (`ns2`, `ns3-3.1x`) measures round trips by a clock of whole ticks",
    lambda flow, _: flow.run.on_kernel or not flow.run.scenario["stack"].startswith("ns"),
)
FULL = Condition(
    "the flow had no full segment to send",
    lambda flow, seen: seen.sum("unique_bytes") >= 2 * flow.row["mss_bytes"],
)
SIMULATED = Condition(
    "a kernel counts the segments that marked acknowledgements deliver",
    lambda flow, _: not flow.run.on_kernel,
)
FULL_SEGMENTS = Condition(
    "a kernel counts segments in flight, and not all were full",
    lambda flow, seen: (
        not flow.run.on_kernel
        or seen.sum("data_packets") * flow.row["mss_bytes"] - seen.sum("total_bytes")
        < flow.row["mss_bytes"]
    ),
)
TIMED = Condition(
    "a kernel's agent notes times too late for data that came that soon one after the other",
    lambda flow, _: not flow.run.on_kernel or flow.lasted_ns > 2 * flow.lasted_late_ns,
)
ACTIVE = Condition(
    "a kernel's agent notes times too late for a flow that was over that soon",
    lambda flow, _: (
        not flow.run.on_kernel
        or (flow.metrics["elapsed_s"] or 0.0) * NANOSECONDS > 4 * flow.run.slack_ns
    ),
)
QUEUE_TOLD = Condition(
    'the study does not record queue events (trace.events = ["queue"])',
    lambda flow, _: flow.run.table("queue_events") is not None,
)
STEADY = Condition(
    "there is no time in which all flows were active",
    lambda flow, _: flow.run.steady_ns is not None,
)
SAMPLED = Condition(
    "the trace has no samples of the flow while captures cover the run",
    lambda flow, _: not flow.samples.is_empty(),
)
BEGUN = Condition(
    "captures begin after the run did (trace.from): what was before is not in them",
    lambda flow, _: flow.run.covered[0] == 0,
)
