"""Numbers of which no single capture of a single flow tells: of two points, or of all flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from cclab.verification.bounds import rate_slack
from cclab.verification.conditions import READ_IN_TIME, TIMED, UNLOST
from cclab.verification.numbers import goodput_seen
from cclab.verification.sides import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cclab.verification.declared import Value
    from cclab.verification.sides import Captured, Flow, Run

    Captures = Mapping[str, Captured]
    """The captures of a run, by their points."""


@dataclass(frozen=True)
class Both:
    """The values of both sides, and how far capture - trace may be from nothing."""

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
    """Why it cannot be compared in a run, of a flow if it is of flows; None if it can."""
    both: Callable[[Run, Captures, Flow | None], Both]
    of_flows: bool = False


def _not_whole(run: Run) -> str | None:
    if run.covered != (0, run.end_ns):
        return "captures do not cover the whole run (trace.from, trace.until)"
    return None


def _no_bottleneck(run: Run, captures: Captures, _flow: Flow | None) -> str | None:
    if "bottleneck" not in captures:
        return "no capture at the bottleneck"
    return _not_whole(run)


def _mixed(run: Run, captures: Captures, flow: Flow | None) -> str | None:
    why = _no_bottleneck(run, captures, flow)
    if why is not None:
        return why
    if run.in_real_time and not all(flow.ended for flow in run.flows):
        return READ_IN_TIME.unless
    capture = captures["bottleneck"]
    owned = sum(row["packets"] for row in _ways(run, capture, 0) + _ways(run, capture, 1))
    return None if owned == capture.packets else "packets of others than flows passed it too"


def _ways(run: Run, capture: Captured, link: int) -> list[dict[str, Any]]:
    """The directions of connections that take the bottleneck (0), or its way back (1)."""
    return [
        row
        for flow in run.flows
        for seen in (capture.of(flow),)
        for row in (seen.rows if (flow.written["direction"] == "reverse") == link else seen.back)
    ]


def _delivered(run: Run, captures: Captures, _flow: Flow | None) -> Both:
    link = run.links[0]
    seen = sum(row["packets"] for row in _ways(run, captures["bottleneck"], 0))
    # In the simulator what is on the wire has left the queue, and is not delivered.
    return Both(link["delivered_packets"], seen, 0.0, float(link["in_flight_packets"]))


def _delivered_back(run: Run, captures: Captures, _flow: Flow | None) -> Both:
    link = run.links[1]
    seen = sum(row["packets"] for row in _ways(run, captures["bottleneck"], 1))
    wire = 0.0
    if run.on_kernel:
        bottleneck = run.scenario["network"]["bottleneck"]
        changes = bottleneck.get("schedule") or []
        delays = [bottleneck["delay"], *(c["delay"] for c in changes if c.get("delay"))]
        rates = [link["rate_bps"] or 0, *(c["rate"] for c in changes if c.get("rate"))]
        wire = max(delays) / NANOSECONDS * max(rates) / (8 * _LEAST_HEADERS) + 1
    return Both(link["delivered_packets"], seen, -wire, 0.0)


def _no_marks(run: Run, captures: Captures, flow: Flow | None) -> str | None:
    if any(link["marks"] for link in run.links[2:]):
        return "other links marked packets too"
    return _no_bottleneck(run, captures, flow)


def _marks(run: Run, captures: Captures, _flow: Flow | None) -> Both:
    there, back = run.links[:2]
    inside = float(there["in_flight_packets"] + back["in_flight_packets"])
    seen = sum(row["ce_packets"] for row in captures["bottleneck"].rows)
    return Both(there["marks"] + back["marks"], seen, -inside, 0.0)


def _no_pair(run: Run, captures: Captures, flow: Flow | None) -> str | None:
    assert flow is not None
    if any(f"{flow.name}.{end}" not in captures for end in ("sender", "receiver")):
        return "only one of the flow's hosts was captured"
    if run.table("drops") is None:
        return 'the study does not record drops (trace.events = ["drop"])'
    network = run.scenario["network"]
    if any(network[link].get("duplicate") for link in ("bottleneck", "access")):
        return "links copied packets"
    if any(flow.loses_packets_at(end) for end in ("sender", "receiver")):
        return UNLOST.unless
    if flow.is_program:
        return "a program ends when it likes: what was under way is not lost"
    if not flow.ended:
        return "the flow had not ended: what was under way is not lost"
    seen = captures[f"{flow.name}.sender"].of(flow)
    if len(seen.rows) != 1:
        return "the capture shows nothing of the flow"
    payload = seen.data["payload"]
    if payload.is_empty() or payload[0] <= _MOST_HEADERS - _LEAST_HEADERS:
        return "the first segment is as short as those without data"
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
    if any(f"{flow.name}.receiver" not in captures for flow in run.flows):
        return "not every receiver was captured"
    if any(flow.is_program for flow in run.flows):
        return "a program opened several connections"
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


def _jain_at_receivers(run: Run, captures: Captures, _flow: Flow | None) -> Both:
    shares, off = [], 0.0
    for flow in run.flows:
        if flow.row["started_ns"] is None:
            continue
        seen = captures[f"{flow.name}.receiver"].of(flow)
        goodput = goodput_seen(flow, seen) if seen.rows else 0.0
        if seen.rows and seen.arrived[0] == 0:
            goodput = 0.0
        if goodput is not None:
            shares.append(float(goodput))
            off = max(off, rate_slack(flow, seen))
    return Both(run.measured.metrics["jain"], _jain(shares), *_around(run, off))


def _jain_at_bottleneck(run: Run, captures: Captures, _flow: Flow | None) -> Both:
    shares, off = [], 0.0
    for flow in run.flows:
        if flow.row["started_ns"] is None:
            continue
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
    return Both(run.measured.metrics["jain"], _jain(shares), *_around(run, off))


def _around(run: Run, off: float) -> tuple[float, float]:
    """How far Jain's index may be, if each rate is off by a share of at most `off`.

    The square of the sum and the sum of the squares each change by (1 +- off)^2 at most.
    """
    index = run.measured.metrics["jain"]
    if index is None or off >= 1:
        return -1.0, 1.0
    factor = ((1 + off) / (1 - off)) ** 2
    return index / factor - index - 1e-9, index * factor - index + 1e-9


def _no_jain_at_bottleneck(run: Run, captures: Captures, flow: Flow | None) -> str | None:
    seen = captures.get("bottleneck")
    if seen is not None and any(len(seen.of(flow).rows) != 1 for flow in run.flows):
        return "not every flow is one connection that passes the bottleneck"
    if seen is not None and any(not TIMED.holds(flow, seen.of(flow)) for flow in run.flows):
        return TIMED.unless
    if not all(flow.ended for flow in run.flows) and run.in_real_time:
        return READ_IN_TIME.unless
    return _no_bottleneck(run, captures, flow)


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
        "as a wire of that rate and delay holds",
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
