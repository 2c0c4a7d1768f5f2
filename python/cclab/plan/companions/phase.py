"""Phase effects: shares that a start some milliseconds earlier or later would turn over.

Where nothing is random, packets of one flow can arrive at a full droptail queue just before a
place is free, again and again, and those of another just after (Floyd and Jacobson, On Traffic
Phase Effects in Packet-Switched Gateways, 1992). The share then belongs to the phase, not to the
variants. The check runs such a point again with one flow's start shifted by parts of its round
trip: what a shift so small turns over was not a property of what the study compares.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.documents import describe
from cclab.metrics import shares
from cclab.plan.runs import Run

if TYPE_CHECKING:
    from cclab.documents.scenario import Link, Scenario, Start
    from cclab.plan import Plan, Point

SHIFTS = (0.21, 0.43, 0.71)
"""Parts of a base RTT by which the last flow's start is shifted: no simple ratios, which could
fall on the same phase again."""

ABRUPT = 0.1
"""A change of a flow's share of all goodput above this is not what some milliseconds of an
experiment of many round trips can explain: their part of its time is far less."""

_DETERMINISTIC = frozenset(row["name"] for row in json.loads(_core.qdiscs()) if not row["draws"])
"""Disciplines that decide by what waits alone."""
_LEAST_SHIFT_NS = 1_000_000


def runs_of(plan: Plan) -> dict[int, list[Run]]:
    """The shifted runs that `plan` needs, by sweep point; none where chance breaks the phase."""
    return {
        index: shifted
        for index, point in enumerate(plan.points)
        if point.runs and (shifted := _shifted(point))
    }


def warning(metrics: dict[str, Any], shifted: list[dict[str, Any]]) -> dict[str, str] | None:
    """The warning for a point, from the metrics of its first run and of its shifted runs."""
    before = _shares(metrics)
    worst, flow, shares = 0.0, "", (0.0, 0.0)
    for again in shifted:
        after = _shares(again)
        for name, share in before.items():
            change = abs(after.get(name, 0.0) - share)
            if change > worst:
                worst, flow, shares = change, name, (share, after.get(name, 0.0))
    if worst <= ABRUPT:
        return None
    return {
        "code": "phase-effects",
        "message": (
            f"a start shifted by less than a round trip moves the share of {flow} from "
            f"{shares[0]:.0%} to {shares[1]:.0%}: the phase of arrivals at the queue, not the "
            "variants, decides it"
        ),
        "remedy": (
            "break the phase: let starts differ by seed (start = { at, spread }) and repeat, add "
            "a little random cross traffic, or use a queue that drops at random"
        ),
    }


def _shifted(point: Point) -> list[Run]:
    first, scenario = point.runs[0], point.scenario
    if first.backend != "sim" or not _in_step(scenario):
        return []
    last = len(scenario["flows"]) - 1
    rtt_s = describe(scenario)["flows"][last]["base_rtt_s"]
    return [_with_start(first, last, int(part * rtt_s * 1e9)) for part in SHIFTS]


def _in_step(scenario: Scenario) -> bool:
    """Whether several flows share a queue and nothing in the scenario is random."""
    flows, network = scenario["flows"], scenario["network"]
    links = [network["bottleneck"], network["access"]]
    if "graph" in network:
        links += [edge["link"] for edge in network["graph"]["links"]]
    links += [link["reverse"] for link in links if "reverse" in link]
    random = ("loss", "jitter", "reorder", "duplicate", "corrupt")
    return (
        len(flows) > 1
        and not scenario.get("traffic")
        and all(flow["start"]["spread"] == 0 for flow in flows)
        and all(not flow.get("application") for flow in flows)
        and all(link["queue"]["kind"] in _DETERMINISTIC for link in links)
        and not any(link.get(key) for link in links for key in random)
        and not any(_draws_slots(link) for link in links)
    )


def _draws_slots(link: Link) -> bool:
    """Whether packets wait for slots behind `link` that open after random times."""
    slots = link.get("slots")
    return slots is not None and slots["every"][0] < slots["every"][1]


def _with_start(run: Run, index: int, shift_ns: int) -> Run:
    flows = [*run.scenario["flows"]]
    start = flows[index]["start"]
    later: Start = {**start, "at": start["at"] + max(shift_ns, _LEAST_SHIFT_NS)}
    flows[index] = {**flows[index], "start": later}
    scenario: Scenario = {**run.scenario, "flows": flows}
    name = _core.run_id(json.dumps(scenario), run.seed, run.backend, run.version)
    return Run(name, run.seed, run.backend, run.version, scenario)


def _shares(metrics: dict[str, Any]) -> dict[str, float]:
    """What results call the share of each flow that has one, by its name."""
    flows = zip(metrics["flows"], shares(metrics), strict=True)
    return {flow["name"]: share for flow, share in flows if share is not None}
