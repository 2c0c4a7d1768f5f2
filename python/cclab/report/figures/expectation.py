"""The closed-form expectation beside what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from cclab.errors import StudyError
from cclab.explain import explain

if TYPE_CHECKING:
    from cclab.plan import Run

LOOK: dict[str, Any] = {"color": "0.45", "linewidth": 1.2}
"""How an expectation is drawn."""

_SAYS_NOTHING = frozenset({"link", "share"})
"""Bounds that a link sets: how flows share it is what is measured, not what is expected."""


def expected_bps(run: Run) -> dict[str, float]:
    """The expected throughput of the flows of a run that something other than links binds.

    None of flows that the simulator cannot describe, such as programs.
    """
    try:
        flows = explain(run.scenario).flows
    except StudyError:
        return {}
    return {
        flow.name: flow.expected_bps
        for flow in flows
        if flow.expected_bps is not None and flow.binds not in _SAYS_NOTHING
    }


def handle(**more: Any) -> Line2D:
    """Its entry in a legend."""
    return Line2D([], [], label="expected", **LOOK, **more)
