"""Numbers that need several captures or flows: those of two points, or of all flows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import polars as pl

from cclab.verification.bounds import rate_slack
from cclab.verification.conditions import ON_ITS_WAY, READ_IN_TIME, TIMED, UNLOST, WHOLE
from cclab.verification.numbers import goodput_seen
from cclab.verification.sides import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cclab.verification.declared import Value
    from cclab.verification.sides import Captured, Flow, Run, Seen

    Captures = Mapping[str, Captured]
    """The captures of a run, by their points."""


class Because(StrEnum):
    """Why numbers across captures are not compared, beyond the conditions of a single flow."""

    NO_BOTTLENECK = "no capture at the bottleneck"
    OTHERS = "packets of others than flows passed it too"
    OTHER_MARKS = "other links marked packets too"
    NO_PAIR = "only one of the flow's hosts was captured"
    NO_RECEIVERS = "not every receiver was captured"
    NO_DROPS = 'the study does not record drops (trace.events = ["drop"])'
    COPIED = "links copied packets"
    PROGRAM = "a program ends when it likes: what was under way is not lost"
    UNDER_WAY = "the flow had not ended: what was under way is not lost"
    NOT_SEEN = "the capture shows nothing of the flow's only connection"
    SHORT = "the first segment is as short as those without data"
    SEVERAL = "a program opened several connections"
    NOT_ONE_EACH = "not every flow is one connection that passes the bottleneck"
    ANY_WIRE = "all that took the way back may have been on its wire at the end"
    ANY_SHARES = (
        "any shares would be as near to the trace's index as the flows' rates are known, or there "
        "is one flow"
    )


@dataclass(frozen=True)
class Both:
    """The values of both sides, and the allowed size of capture - trace."""

    trace: Value
    capture: Value
    least: float = 0.0
    most: float = 0.0


@dataclass(frozen=True)
class Across:
    """A number across captures."""

    name: str
    unit: str
    point: str
    """Where it is compared, in words."""
    of_trace: str
    of_capture: str
    why: str
    """How closely the two agree, and why."""
    needs: Callable[[Run, Captures, Flow | None], str | None]
    """Why the number cannot be compared in a run (for a flow, if it is one of flows); None if it
    can."""
    both: Callable[[Run, Captures, Flow | None], Both | Because]
    """Both values, or why no capture could contradict the trace."""
    of_flows: bool = False


def _not_whole(run: Run) -> str | None:
    if run.covered != (0, run.end_ns):
        return WHOLE.unless
    return None


def _lacking(captures: Captures, points: list[str], absent: Because) -> str | None:
    """Why some of `points` lack a complete capture; None if all have one."""
    if any(point not in captures for point in points):
        return absent
    whys = (captures[point].incomplete for point in points)
    return next((why for why in whys if why is not None), None)


def _no_bottleneck(run: Run, captures: Captures, _flow: Flow | None) -> str | None:
    if run.routes_change:
        return ON_ITS_WAY.unless
    return _lacking(captures, ["bottleneck"], Because.NO_BOTTLENECK) or _not_whole(run)


def _mixed(run: Run, captures: Captures, flow: Flow | None) -> str | None:
    why = _no_bottleneck(run, captures, flow)
    if why is not None:
        return why
    if run.in_real_time and not all(flow.ended for flow in run.flows):
        return READ_IN_TIME.unless
    capture = captures["bottleneck"]
    owned = sum(row["packets"] for row in _ways(run, capture, 0) + _ways(run, capture, 1))
    return None if owned == capture.packets else Because.OTHERS


def _ways(run: Run, capture: Captured, link: int) -> list[dict[str, Any]]:
    """The directions of connections that take the bottleneck (0), or its way back (1)."""
    return [
        row
        for flow in run.flows
        for seen in (capture.of(flow),)
        for row in _over(run, flow, seen, link)
    ]


def _over(run: Run, flow: Flow, seen: Seen, link: int) -> list[dict[str, Any]]:
    """The flow's directions of connections that take a link."""
    if run.link_under_study is None:
        return seen.rows if (flow.written["direction"] == "reverse") == link else seen.back
    data, acks = run.crossings[flow.index]
    return [*(seen.rows if link in data else ()), *(seen.back if link in acks else ())]


def _delivered(run: Run, captures: Captures, _flow: Flow | None) -> Both:
    link = run.links[0]
    seen = sum(row["packets"] for row in _ways(run, captures["bottleneck"], 0))
    # In the simulator what is on the wire has left the queue, and is not delivered.
    return Both(link["delivered_packets"], seen, 0.0, float(link["in_flight_packets"]))


def _delivered_back(run: Run, captures: Captures, _flow: Flow | None) -> Both | Because:
    capture, delivered = captures["bottleneck"], run.links[1]["delivered_packets"]
    seen = sum(row["packets"] for row in _ways(run, capture, 1))
    wire = _on_the_wire_back(run, capture) if run.on_kernels_network else 0.0
    if 0 < delivered <= wire:
        return Because.ANY_WIRE
    return Both(delivered, seen, -wire, 0.0)


def _on_the_wire_back(run: Run, capture: Captured) -> float:
    """The most packets that can be on the way back at the end of the run.

    At most as many of the shortest as the wire holds, and as many as the flows had reason to send.
    """
    bottleneck = run.scenario["network"]["bottleneck"]
    triggered = [waiting["change"] for waiting in bottleneck.get("triggered", [])]
    changes = [*bottleneck.get("schedule", []), *triggered]
    delays = [bottleneck["delay"], *(c["delay"] for c in changes if "delay" in c)]
    rates = [run.links[1]["rate_bps"] or 0, *(c["rate"] for c in changes if "rate" in c)]
    holds: float = max(delays) / NANOSECONDS * max(rates) / (8 * _LEAST_HEADERS) + 1
    sent = sum(_under_way_back(capture.of(flow), max(delays)) for flow in run.flows)
    return min(holds, sent)


def _under_way_back(seen: Seen, delay_ns: int) -> float:
    """The most packets that a flow can have on the wire of the way back at the end of the run.

    They are acknowledgements of packets that passed the bottleneck within the longest round trip
    from there, or data in flight. Two more are for a SYN or FIN, and for a window update or a
    delayed acknowledgement.
    """
    flow = seen.flow
    if flow.written["direction"] == "reverse":
        in_flight = flow.all_samples["in_flight_bytes"]
        if in_flight.is_empty():
            return math.inf
        return math.ceil(int(in_flight[-1]) / max(int(flow.row["mss_bytes"]), 1)) + 2
    passed = 0
    for row, place in zip(seen.rows, seen.places, strict=True):
        longest = row["rtt_max_s"]
        if longest is None:
            passed += row["packets"]
            continue
        since = flow.run.end_ns - longest * NANOSECONDS - delay_ns
        passed += len(
            seen.capture.segments.filter(
                pl.col("connection") == row["connection"],
                pl.col("sender") == place % 2,
                pl.col("time_ns") >= since,
            )
        )
    return passed + 2 * max(len(seen.rows), 1)


def _no_marks(run: Run, captures: Captures, flow: Flow | None) -> str | None:
    if any(link["marks"] for link in run.links[2:]):
        return Because.OTHER_MARKS
    return _no_bottleneck(run, captures, flow)


def _marks(run: Run, captures: Captures, _flow: Flow | None) -> Both:
    there, back = run.links[:2]
    inside = float(there["in_flight_packets"] + back["in_flight_packets"])
    seen = sum(row["ce_packets"] for row in captures["bottleneck"].rows)
    return Both(there["marks"] + back["marks"], seen, -inside, 0.0)


def _no_pair(run: Run, captures: Captures, flow: Flow | None) -> str | None:
    assert flow is not None
    ends = [f"{flow.name}.{end}" for end in ("sender", "receiver")]
    why = _lacking(captures, ends, Because.NO_PAIR)
    if why is not None:
        return why
    if run.table("drops") is None:
        return Because.NO_DROPS
    network = run.scenario["network"]
    if any(link.get("duplicate") for link in (network["bottleneck"], network["access"])):
        return Because.COPIED
    if any(flow.loses_packets_at(end) for end in ("sender", "receiver")):
        return UNLOST.unless
    if flow.is_program:
        return Because.PROGRAM
    if not flow.ended:
        return Because.UNDER_WAY
    seen = captures[f"{flow.name}.sender"].of(flow)
    if len(seen.rows) != 1:
        return Because.NOT_SEEN
    payload = seen.data["payload"]
    if payload.is_empty() or payload[0] <= _MOST_HEADERS - _LEAST_HEADERS:
        return Because.SHORT
    return _not_whole(run)


def _lost(run: Run, captures: Captures, flow: Flow | None) -> Both:
    assert flow is not None
    drops = run.table("drops")
    assert drops is not None
    own = drops.filter(pl.col("flow") == flow.index)
    # Without data the offset is 0: of acknowledgements, SYNs and FINs.
    lost = own.filter((pl.col("offset_bytes") > 0) | (pl.col("wire_len_bytes") > _MOST_HEADERS))
    sent, got = (
        captures[f"{flow.name}.{end}"].of(flow).sum("data_packets")
        for end in ("sender", "receiver")
    )
    return Both(len(lost), sent - got)


_LEAST_HEADERS = 20 + 20
_MOST_HEADERS = 14 + 20 + 60
"""Bytes of headers on a link, of the shortest and the longest: Ethernet, IPv4, TCP and options."""


def _no_receivers(run: Run, captures: Captures, _flow: Flow | None) -> str | None:
    receivers = [f"{flow.name}.receiver" for flow in run.flows]
    why = _lacking(captures, receivers, Because.NO_RECEIVERS)
    if why is not None:
        return why
    if any(flow.is_program for flow in run.flows):
        return Because.SEVERAL
    for flow in run.flows:
        seen = captures[f"{flow.name}.receiver"].of(flow)
        for condition in (UNLOST, TIMED, READ_IN_TIME):
            if flow.row["received_bytes"] > 0 and not condition.holds(flow, seen):
                return condition.unless
    return _not_whole(run)


def _jain(shares: list[float]) -> float | None:
    """Jain's index; None where there is nothing to share."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares > 0 else None


def _jain_at_receivers(run: Run, captures: Captures, _flow: Flow | None) -> Both | Because:
    shares, off = [], 0.0
    for flow in _rivals(run):
        seen = captures[f"{flow.name}.receiver"].of(flow)
        goodput = goodput_seen(flow, seen) if seen.rows else 0.0
        if seen.rows and seen.arrived[0] == 0:
            goodput = 0.0
        if goodput is not None:
            shares.append(float(goodput))
        # What got nothing has no rate to be off.
        if flow.row["received_bytes"] > 0:
            off = max(off, rate_slack(flow, seen))
    return _indices(run, shares, off)


def _jain_at_bottleneck(run: Run, captures: Captures, _flow: Flow | None) -> Both | Because:
    shares, off = [], 0.0
    for flow in _rivals(run):
        seen = captures["bottleneck"].of(flow)
        rates = [row["goodput_bps"] for row in seen.rows]
        share = sum(rate for rate in rates if rate is not None)
        shares.append(share)
        goodput = flow.metrics["goodput_bps"] or 0.0
        flight = max((row["outstanding_max_bytes"] or 0 for row in seen.rows), default=0)
        got = flow.row["received_bytes"]
        trips = max((row["rtt_max_s"] or 0.0 for row in seen.rows), default=0.0)
        lasted = 8 * got / goodput if goodput > 0 else 0.0
        off = max(off, flight / got + trips / lasted if got > flight and lasted > trips else 1.0)
    return _indices(run, shares, off)


def _rivals(run: Run) -> list[Flow]:
    """The flows that Jain's index is taken over: those that started, of one direction."""
    ways = {flow.metrics["direction"] for flow in run.flows}
    way = "forward" if "forward" in ways else "reverse"
    return [
        flow
        for flow in run.flows
        if flow.row["started_ns"] is not None and flow.metrics["direction"] == way
    ]


def _indices(run: Run, shares: list[float], off: float) -> Both | Because:
    """Jain's index of both sides, if each rate is off by a share of at most `off`.

    The square of the sum and the sum of the squares each change by (1 +- off)^2 at most.
    """
    index, seen = run.measured.metrics["jain"], _jain(shares)
    if index is None or not shares:
        return Both(index, seen)
    if off >= 1:
        return Because.ANY_SHARES
    factor = ((1 + off) / (1 - off)) ** 2
    # Of n flows it is from 1 / n to 1, whatever their shares.
    if index / factor <= 1 / len(shares) and index * factor >= 1:
        return Because.ANY_SHARES
    return Both(index, seen, index / factor - index - 1e-9, index * factor - index + 1e-9)


def _no_jain_at_bottleneck(run: Run, captures: Captures, flow: Flow | None) -> str | None:
    why = _no_bottleneck(run, captures, flow)
    if why is not None:
        return why
    seen = captures["bottleneck"]
    if any(len(seen.of(flow).rows) != 1 for flow in run.flows):
        return Because.NOT_ONE_EACH
    if any(not TIMED.holds(flow, seen.of(flow)) for flow in run.flows):
        return TIMED.unless
    if not all(flow.ended for flow in run.flows) and run.in_real_time:
        return READ_IN_TIME.unless
    return None


ACROSS: tuple[Across, ...] = (
    Across(
        "delivered_packets",
        "1",
        "bottleneck",
        "`delivered_packets` of the bottleneck",
        "`packets` of all connections that way",
        "equal; in the simulator the capture has what was on the wire at the end of the run too",
        _mixed,
        _delivered,
    ),
    Across(
        "delivered_packets back",
        "1",
        "bottleneck",
        "`delivered_packets` of the bottleneck's way back",
        "`packets` of all connections that way",
        "equal; a kernel counts what left, and the capture has what arrived: at most as many less "
        "as a wire of that rate and delay holds, and as there was reason to send: an "
        "acknowledgement of each packet that passed in the last round trip, data in flight",
        _mixed,
        _delivered_back,
    ),
    Across(
        "ecn_marks",
        "1",
        "bottleneck",
        "`marks` of the bottleneck and its way back",
        "`ce_packets` of all connections",
        "equal; what was marked and waited or was on the wire at the end is the trace's alone",
        _no_marks,
        _marks,
    ),
    Across(
        "data_lost",
        "1",
        "sender, receiver",
        "rows of drops with data",
        "`data_packets` at the sender less those at the receiver",
        "equal",
        _no_pair,
        _lost,
        of_flows=True,
    ),
    Across(
        "jain",
        "1",
        "receivers",
        "`jain` of the metrics",
        "Jain's index of the goodputs at all receivers",
        "as closely as the goodputs agree",
        _no_receivers,
        _jain_at_receivers,
    ),
    Across(
        "jain",
        "1",
        "bottleneck",
        "`jain` of the metrics",
        "Jain's index of the connections' `goodput_bps`",
        "if each flow's goodput is off by its largest flight over its data, and by its largest RTT"
        " over its time, the index follows",
        _no_jain_at_bottleneck,
        _jain_at_bottleneck,
    ),
)
"""The numbers across captures."""
