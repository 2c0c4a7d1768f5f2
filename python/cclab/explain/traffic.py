"""What cross traffic offers the network, and what it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import units
from cclab.explain.shown import Shown

if TYPE_CHECKING:
    from cclab.documents.description import TrafficFacts
    from cclab.documents.scenario import Application, PaceChange, Traffic
    from cclab.explain.limits import RatedLink

_NS = 1e-9
_KEYS_PER_WRITE = (1 - 0.3**8) / (1 - 0.3)
"""The mean number of keystrokes sent together: each next one follows with probability 0.3, up to
eight."""
_UNLIMITED = float("inf")
_DATAGRAMS = ("constant-rate", "on-off", "random")
_UNYIELDING = (*_DATAGRAMS, "poisson")
"""Kinds of which as much comes whatever the network does to it."""


@dataclass(frozen=True, repr=False)
class TrafficExplanation(Shown):
    """A source of cross traffic."""

    name: str
    kind: str
    data: list[str]
    """Names of the links that its data crosses."""
    base_rtt_s: float
    offered_bps: float
    """Bits a second on a link, headers and framing included, in the direction of its data."""
    yields: bool
    """Whether it waits for answers, so that a slow network makes it offer less."""
    bottleneck_share: float | None
    """The offered rate over the rate of the link under study; None if it does not cross that link.
    """
    reason: str
    """How that is reckoned, in words."""


def explain_traffic(
    spec: Traffic, facts: TrafficFacts, links: list[RatedLink]
) -> TrafficExplanation:
    """Explains one source, `spec` of the scenario, of which the simulator says `facts`."""
    offered, reason = offered_load(spec, facts)
    under_study = (under_study_bps(i, links) for i in facts["data"])
    crossed = next((bps for bps in under_study if bps is not None), None)
    return TrafficExplanation(
        name=facts["name"],
        kind=facts["kind"],
        data=[links[i].name for i in facts["data"]],
        base_rtt_s=facts["base_rtt_s"],
        offered_bps=offered,
        yields=facts["kind"] not in _UNYIELDING,
        bottleneck_share=None if crossed is None else offered / crossed,
        reason=reason,
    )


def under_study_bps(index: int, links: list[RatedLink]) -> float | None:
    """The rate of a link that is the study's bottleneck, one of a row of them, or its way back;
    None of another, and of one that is infinitely fast."""
    link = links[index]
    named = link.name.removesuffix(".reverse").rstrip("0123456789") == "bottleneck"
    return link.rate_bps if index in (0, 1) or named else None


def offered_load(spec: Traffic, facts: TrafficFacts) -> tuple[float, str]:
    """Bits a second on a link in the direction of the data, and their derivation in words."""
    kind, params, rtt = spec["kind"], spec["params"], facts["base_rtt_s"]
    # Of segments of a mean size, the part that is full.
    inflated = 1 + facts["header_bytes"] / facts["payload_bytes"]
    size = facts["mean_size_bytes"] or 0.0
    if kind == "on-off":
        share = params["on"] / (params["on"] + params["off"])
        rate = params["rate"]
        return rate * share, f"{units.told_rate(rate)} for {share:.0%} of the time"
    if kind in _DATAGRAMS:
        return params["rate"], f"packets of {params['packet_size']:g} bytes"
    if kind == "poisson":
        rate = params["flows_per_second"]
        return (
            rate * size * 8 * inflated,
            f"{rate:.4g} transfers a second of {size:,.0f} bytes on average, with their headers",
        )
    if kind == "ping-flood":
        # 20 bytes of IP and 8 of ICMP.
        packet = params["payload"] + 28 + facts["framing_bytes"]
        distance = min(params["interval"], rtt) or params["interval"]
        return packet * 8 / distance, f"{packet:g} bytes at most every {units.told_time(distance)}"
    clients = params["clients"]
    if kind == "request-response":
        cycle = params["think"] + rtt
        return (
            clients * size * 8 * inflated / cycle if cycle > 0 else float("inf"),
            f"{clients:g} clients with at most an answer of {size:,.0f} bytes on average every "
            f"{units.told_time(cycle)}",
        )
    write = _KEYS_PER_WRITE + facts["header_bytes"]
    return (
        clients * write * 8 / params["interval"],
        f"{clients:g} clients who type every {units.told_time(params['interval'])} on average",
    )


def application_limit(application: Application, rtt_s: float) -> tuple[float, str]:
    """The most payload that an application writes, in bit/s, and its derivation in words."""
    if application["kind"] == "on-off":
        share = application["on"] / (application["on"] + application["off"])
        rate = application["rate"]
        return rate * share, f"it writes {units.told_rate(rate)} for {share:.0%} of the time"
    if application["kind"] == "request-response":
        cycle = application["think"] * _NS + rtt_s
        response = application["response"]
        every = units.told_time(cycle)
        why = f"it writes {response:,} bytes, waits for them to arrive, and pauses: {every}"
        return response * 8 / cycle if cycle > 0 else float("inf"), why
    if application["kind"] == "frames":
        parts = (application["group"] - 1) * application["p_frame"]
        size = (application["i_frame"] + parts) / application["group"]
        per_second = application["frame_rate"]
        why = f"it makes {per_second:g} frames a second of {size:,.0f} bytes in the mean"
        return size * 8 * per_second, why
    if application["kind"] == "scheduled":
        return _scheduled_limit(application["schedule"])
    interval = application["interval"] * _NS
    why = f"someone types {_KEYS_PER_WRITE:.2f} bytes every {units.told_time(interval)} on average"
    return _KEYS_PER_WRITE * 8 / interval, why


def _scheduled_limit(schedule: list[PaceChange]) -> tuple[float, str]:
    """The largest rate of an application that keeps to such changes."""
    begins = schedule[0]["at"] > 0
    rates = [_UNLIMITED] if begins else []
    told = ["at first as much as there is room for"] if begins else []
    for change in schedule:
        rate = change.get("rate", _UNLIMITED)
        what = "as much as there is room for" if rate == _UNLIMITED else units.told_rate(rate)
        rates.append(rate)
        told.append(f"from {units.told_time(change['at'] * _NS)} on {what if rate else 'nothing'}")
    return max(rates), "it writes " + ", ".join(told)
