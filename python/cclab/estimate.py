"""About how much work a scenario is. Nothing but the plan's forecast depends on it."""

from __future__ import annotations

from typing import Any

PACKETS_PER_CPU_SECOND = 2_000_000
"""Data packets that one CPU simulates in a second, to within a small factor."""

_NS = 1e-9
_MTU = 1500
_HEADERS = 52
_WITHOUT_END_S = 60.0


def packets(scenario: dict[str, Any]) -> float:
    """Data packets of a run: what the bottleneck carries, unless the transfers are less."""
    flows = scenario["flows"]
    payload = min((flow["mss"] or _MTU - _HEADERS for flow in flows), default=_MTU - _HEADERS)
    transfers = [flow["transfer"] for flow in flows]
    finite: float | None = None if None in transfers else sum(transfers) / payload
    rate = scenario["network"]["bottleneck"]["rate"]
    if rate is None:
        return finite or 0.0
    span = scenario["duration"]
    if span is None and finite is not None:
        return finite
    seconds_long = _WITHOUT_END_S if span is None else span * _NS
    carried: float = rate / 8 / (payload + _HEADERS) * seconds_long
    return carried if finite is None else min(finite, carried)


def seconds(count: float, cpus: int) -> float:
    """Real seconds that `count` packets take on `cpus` processors."""
    return count / PACKETS_PER_CPU_SECOND / max(cpus, 1)
