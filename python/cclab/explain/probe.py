"""What probes measure on an empty path, and what they add to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.explain.shown import Shown
from cclab.explain.traffic import under_study_bps

if TYPE_CHECKING:
    from cclab.documents.description import ProbeFacts
    from cclab.documents.scenario import Probe
    from cclab.explain.limits import RatedLink

_NS = 1e-9


@dataclass(frozen=True, repr=False)
class ProbeExplanation(Shown):
    """A probe."""

    name: str
    kind: str
    data: list[str]
    """Names of the links that its requests cross; its answers come back over their ways back."""
    interval_s: float
    base_rtt_s: float
    idle_rtt_s: float
    """The round trip on the empty path: propagation, and the transmission of request and answer."""
    packet_bytes: int
    """Bytes of a packet on a link; an answer is as long as its request."""
    load_bps: float
    """What it adds each way."""
    bottleneck_share: float | None
    """Its packets over the rate of the link under study, in the slower direction that it crosses;
    None if it crosses neither."""


def explain_probe(spec: Probe, facts: ProbeFacts, links: list[RatedLink]) -> ProbeExplanation:
    """Explains one probe, `spec` of the scenario, of which the simulator says `facts`."""
    rates = [under_study_bps(i, links) for i in (*facts["data"], *facts["acks"])]
    slowest = min((rate for rate in rates if rate is not None), default=None)
    return ProbeExplanation(
        name=facts["name"],
        kind=facts["kind"],
        data=[links[i].name for i in facts["data"]],
        interval_s=spec["interval"] * _NS,
        base_rtt_s=facts["base_rtt_s"],
        idle_rtt_s=facts["idle_rtt_s"],
        packet_bytes=facts["packet_bytes"],
        load_bps=facts["load_bps"],
        bottleneck_share=None if slowest is None else facts["load_bps"] / slowest,
    )
