"""What flows that belong together should have together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.explain.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.documents.scenario import Flow
    from cclab.explain import FlowExplanation


@dataclass(frozen=True, repr=False)
class GroupExplanation(Shown):
    """A group of flows."""

    name: str
    flows: list[str]
    """Names of its flows."""
    variants: list[str]
    """Of its flows, each once."""
    bottlenecks: list[str]
    """Of its flows, each once."""
    expected_sum_bps: float | None
    """The expected sum over its flows, in payload; None if one of them has no expectation."""
    binds: list[str]
    """Names of the lowest limits of its flows with an expectation, each once."""


def explain_groups(specs: list[Flow], flows: Sequence[FlowExplanation]) -> list[GroupExplanation]:
    """The groups of a scenario's flows, in the order of their first ones."""
    members: dict[str, list[FlowExplanation]] = {}
    for spec, flow in zip(specs, flows, strict=True):
        group = group_of(spec)
        if group is not None:
            members.setdefault(group, []).append(flow)
    return [_group(name, inside) for name, inside in members.items()]


def group_of(spec: Flow) -> str | None:
    """The group that a flow of a scenario is in: the one written, or that of its `count`."""
    name, dot, _ = spec["name"].partition(".")
    return spec.get("group") or (name if dot else None)


def folded(names: Sequence[str]) -> str:
    """The names of flows in a line: those of one `count` as one."""
    stems: dict[str, int] = {}
    for name in names:
        stem, dot, _ = name.partition(".")
        key = f"{stem}.*" if dot else name
        stems[key] = stems.get(key, 0) + 1
    return ", ".join(
        f"{stem} ({number} flows)" if stem.endswith(".*") else stem
        for stem, number in stems.items()
    )


def _group(name: str, flows: Sequence[FlowExplanation]) -> GroupExplanation:
    expected = [flow.expected_bps for flow in flows]
    known = [bps for bps in expected if bps is not None]
    return GroupExplanation(
        name=name,
        flows=[flow.name for flow in flows],
        variants=list(dict.fromkeys(flow.cc for flow in flows)),
        bottlenecks=list(dict.fromkeys(f.bottleneck for f in flows if f.bottleneck is not None)),
        expected_sum_bps=math.fsum(known) if len(known) == len(expected) else None,
        binds=list(
            dict.fromkeys(
                flow.binds
                for flow in flows
                if flow.binds is not None and flow.expected_bps is not None
            )
        ),
    )
